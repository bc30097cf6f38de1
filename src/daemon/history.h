/*
 * Recent events, for `baton trace`: a ring of the daemon's decisions, and a ring of the runs of
 * clients that have left. Fixed memory; the oldest entries are overwritten, and readers learn how
 * many they missed.
 */
#ifndef DAEMON_HISTORY_H
#define DAEMON_HISTORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/nsec.h"
#include "wire/frame.h"
#include "wire/page.h"

#define HISTORY_RECORDS  16384
#define HISTORY_RUNS     16384
#define HISTORY_DEPARTED 256
#define HISTORY_KERNELS  1024 /* runs of further kernels are kept without a name */

struct history_client {
    uint32_t client;
    pid_t pid;
    uid_t uid;
    unsigned priority;
    uint64_t period, deadline; /* nanoseconds; 0: none */
    char name[65];
};

/*
 * A kernel that runs of departed clients refer to. Kept per user: other users may not see the
 * names.
 */
struct history_kernel {
    uid_t uid;
    char name[PAGE_KERNEL];
};

struct history {
    struct trace_record records[HISTORY_RECORDS];
    uint64_t n_records; /* ever written */
    struct trace_record runs[HISTORY_RUNS];
    uid_t run_uids[HISTORY_RUNS];
    uint64_t n_runs;
    uint64_t forgotten; /* runs that departed clients had overwritten in their own rings */
    struct history_client departed[HISTORY_DEPARTED];
    uint64_t n_departed;
    struct history_kernel kernels[HISTORY_KERNELS];
    uint32_t n_kernels;
};

void history_add(struct history *history, baton_nsec at, enum record_kind kind, uint32_t client,
                 uint32_t engine);

/* What lasted from an instant to another: a wait for a token, or a token that was held. */
void history_add_span(struct history *history, const struct trace_record *record);

/*
 * A job that took longer than its bound (RECORD_EXCEED, whatever the kind says): client, job,
 * instants, and the rule as engine.
 */
void history_add_exceeded(struct history *history, const struct trace_record *record);

/* A planning: the task (index, or UINT32_MAX: a task had left) and what was decided. */
void history_add_planned(struct history *history, baton_nsec at, baton_nsec length, uint32_t task,
                         enum admission_verdict verdict);

/* The engine of each of a page's leases, for its runs; UINT32_MAX: none. */
struct history_engines {
    uint32_t of_lease[PAGE_LEASES];
};

/* Copies the runs of a page before it is freed. */
void history_keep(struct history *history, const struct history_client *client, const struct page *page,
                  const struct history_engines *engines);

/*
 * Up to n records from *cursor on, of the ring or of the kept runs (only those of uid; (uid_t)-1:
 * all). Answers how many, advances *cursor, and says in *ret_lost how many before it were
 * overwritten. Of the kept runs, *ret_lost also counts those overwritten in the rings of the
 * clients that left them.
 */
size_t history_read(const struct history *history, uint64_t *cursor, struct trace_record *ret_records,
                    size_t n, uint32_t *ret_lost);
size_t history_read_runs(const struct history *history, uid_t uid, uint64_t *cursor,
                         struct trace_record *ret_records, size_t n, uint32_t *ret_lost);

/*
 * The same from the page of a connected client. The client may write meanwhile; a torn run is left
 * out.
 */
size_t history_read_page(const struct page *page, uint32_t client, const struct history_engines *engines,
                         uint64_t *cursor, struct trace_record *ret_records, size_t n, uint32_t *ret_lost);

/*
 * The kernel of this number in the kept runs; NULL: none, or it is another user's ((uid_t)-1 sees
 * all).
 */
const struct history_kernel *history_kernel(const struct history *history, uid_t uid, uint64_t number);

#endif
