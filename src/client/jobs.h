/*
 * Where jobs begin and end, and what that says: response, occupying and pending times (GPES, Sec. V; docs/layer.md, "Measures of a job"),
 * and for periodic work jitter, misses and tardiness. Pure accounting over instants that the caller gives; client/session.c adds the lock,
 * the counters and the messages.
 *
 * Release of a job that begins at b, with period p: the first begin sets the grid.
 * - Begun before the next point of the grid: released when it began, and the grid moves there.
 * - Else released at the last point not after b. If the previous job ended only after its own next point, this one
 *   queued behind it, and the grid moves to b: "upon a deadline miss, the application releases a new job while starting a new
 *   period at the moment" (GPU-SPARC, Sec. V). A program that keeps to its old grid instead moves it back with its next
 *   begin, by the first rule.
 * Releases that passed without a job of their own are skipped, not owed: one long stall is one miss (with its tardiness).
 */
#ifndef CLIENT_JOBS_H
#define CLIENT_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "client/occupied.h"

#define JOBS_KEPT 65536 /* response times kept for the percentiles: of the last so many jobs */

struct jobs {
    baton_nsec period, deadline; /* 0: none */
    uint64_t n, misses;
    bool running;
    baton_nsec begin_at, release_at, previous_begin_at, previous_end_at;
    baton_nsec grid_at;           /* a point of the grid of releases */
    struct occupied compute, any; /* of the running job: execution engines; engines of any kind */
    /* Sums and maxima over finished jobs: response = compute + copy + pending, of each job and so of the sums. */
    baton_nsec response_sum, compute_sum, copy_sum, pending_sum;
    baton_nsec response_max, jitter_max, tardiness_max;
    baton_nsec *responses; /* owned; ring of JOBS_KEPT, grows as needed */
    size_t room;
};

void jobs_init(struct jobs *jobs, baton_nsec period, baton_nsec deadline);
void jobs_done(struct jobs *jobs);

/* Ignored while one runs. */
void jobs_begin(struct jobs *jobs, baton_nsec at);

/* One run on an execution or copy engine. Outside a job it counts for none; of one that began before its job, the part inside. */
void jobs_ran(struct jobs *jobs, bool copy, baton_nsec begin_at, baton_nsec end_at);

/* Ignored when none runs. */
void jobs_end(struct jobs *jobs, baton_nsec at);

/* The instant by which the running job must be done; NSEC_MAX: none. */
baton_nsec jobs_deadline_at(const struct jobs *jobs);

/* The response time that a share of 1/1000 x permille of the kept jobs do not exceed (nearest rank); 0 without jobs. */
baton_nsec jobs_percentile(const struct jobs *jobs, unsigned permille);

#endif
