/*
 * Where jobs begin and end, and the times that follow: response, occupying and pending times (GPES,
 * Sec. V; docs/statistics.md, "Measures of a job"). For periodic work also jitter, misses and
 * tardiness. Pure accounting over instants that the caller gives; client/session.c adds the lock,
 * the counters and the messages.
 *
 * A job's response lasts from its release to its end. Its release is, in this order:
 * - the instant that the program states: baton_job_begin_at();
 * - with period p, the last of the instants `begin of the previous job + k p` not after its own
 *   begin. This holds if the previous job was still running then: the job queued behind it. A begin
 *   nearer to the next of these instants than to the end of that job means that the program skipped
 *   the release. It then waited for the next one. "Upon a deadline miss, the application releases a
 *   new job while starting a new period at the moment" (GPU-SPARC, Sec. V), so the instants count
 *   from each begin anew;
 * - else the instant at which it begins. An idle program that begins late (a relative sleep, a
 *   sensor, a new phase) released its job late. The difference from the period is its jitter.
 *
 * Releases that passed without a job are skipped: one long stall is one miss, with its tardiness.
 *
 * The first jobs may be declared as warm-up. They build kernels and touch memory for the first
 * time. No profile and no bound includes them, and no statistic counts them.
 */
#ifndef CLIENT_JOBS_H
#define CLIENT_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "client/occupied.h"

#define JOBS_KEPT 65536 /* response times kept for the percentiles: those of the newest jobs */

struct jobs {
    baton_nsec period, deadline; /* 0: none */
    uint64_t n, misses;
    bool running;
    baton_nsec begin_at, release_at, previous_begin_at, previous_end_at;
    baton_nsec grid_at;           /* the origin of the next job's release instants */
    uint64_t warm_up, warm;       /* jobs declared as warm-up; those still to come */
    struct occupied compute, any; /* of the running job: execution engines; engines of any kind */
    /*
     * Sums and maxima over finished jobs: response = compute + copy + pending, of each job and so
     * of the sums.
     */
    baton_nsec response_sum, compute_sum, copy_sum, pending_sum;
    baton_nsec response_max, jitter_max, tardiness_max;
    struct jobs_worst { /* the same maxima since jobs_reset_worst() */
        baton_nsec response, jitter, tardiness;
    } worst;
    baton_nsec last_response, last_pending; /* of the newest job that counts */
    baton_nsec *responses;                  /* owned; ring of JOBS_KEPT, grows as needed */
    size_t room;
};

void jobs_init(struct jobs *jobs, baton_nsec period, baton_nsec deadline);
void jobs_done(struct jobs *jobs);

/* The next n jobs are warm-up. */
void jobs_warm_up(struct jobs *jobs, uint64_t n);

/* Restores the state after jobs_init() and jobs_warm_up(): forgets all jobs so far. */
void jobs_restart(struct jobs *jobs);

/* Does the running job, or else the next one, count in the statistics? */
bool jobs_counting(const struct jobs *jobs);

/* Ignored while a job runs. */
void jobs_begin(struct jobs *jobs, baton_nsec at);

/*
 * The same for a job whose release the program states. -EINVAL, and no job begins: the release is
 * after `at`, before the release of the previous job, or negative.
 */
int jobs_begin_released(struct jobs *jobs, baton_nsec release_at, baton_nsec at);

/*
 * One run on an execution or copy engine. Outside of a job it is ignored; of a run that began
 * before its job, only the part inside counts.
 */
void jobs_ran(struct jobs *jobs, bool copy, baton_nsec begin_at, baton_nsec end_at);

/* Ignored while no job runs. */
void jobs_end(struct jobs *jobs, baton_nsec at);

/* Clears `worst`; the maxima over all jobs stay. */
void jobs_reset_worst(struct jobs *jobs);

/* The instant by which the running job must end; NSEC_MAX: no deadline. */
baton_nsec jobs_deadline_at(const struct jobs *jobs);

/*
 * The response time that permille/1000 of the kept jobs do not exceed (nearest rank); 0 without
 * jobs.
 */
baton_nsec jobs_percentile(const struct jobs *jobs, unsigned permille);

#endif
