/*
 * Runs a study: threads of this process, and under MPI the other processes, take units one at a time; this process writes what they find.
 * One process alone is the same with no others.
 *
 * Threads: `jobs` workers and the caller. Two locks: `store` guards the database, `lock` the list of units and the points that wait to be
 * written; `store` is never taken under `lock`.
 */
#ifndef STUDY_RUN_H
#define STUDY_RUN_H

#include <stdatomic.h>

#include "base/nsec.h"
#include "study/store/store.h"
#include "study/run/transport.h"

struct study_run_state {
    uint64_t points, tests; /* new ones of this run: cells and sets tested */
    double fraction;        /* of the work, found or new */
    double before;          /* what of it was there at the start */
    baton_nsec elapsed;
};

struct study_run_options {
    unsigned jobs;                           /* worker threads here */
    unsigned shard, shards;                  /* units with index % shards == shard; 0 of 1: all */
    const struct study_transport *transport; /* of rank 0; NULL: alone */
    const atomic_bool *stop;                 /* set by a signal handler */
    void (*progress)(void *context, const struct study_run_state *state); /* now and then; may be NULL */
    void *context;
};

/* 0 when all of it is done, -EINTR when stopped, -errno; what was found until then is in the store. */
int study_run(const struct study_spec *spec, struct store *store, const struct study_run_options *options,
              struct study_run_state *ret_state);

/* What the other processes do: take units from rank 0 until there are none. */
int study_serve(const struct study_spec *spec, const struct study_transport *transport,
                const atomic_bool *stop);

#endif
