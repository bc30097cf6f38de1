/*
 * Runs a study. Threads of this process, and under MPI the other processes, take units one at a
 * time; this process writes the results. A single process works in the same way without others.
 *
 * Threads: `jobs` workers and the caller. Two locks: `store` guards the database; `lock` guards the
 * list of units and the points that wait to be written. `store` is never taken under `lock`.
 */
#ifndef STUDY_RUN_H
#define STUDY_RUN_H

#include <stdatomic.h>

#include "base/nsec.h"
#include "study/store/store.h"
#include "study/run/transport.h"

struct study_run_state {
    uint64_t points, tests; /* new in this run: cells and tested sets */
    double fraction;        /* of the work, old and new */
    double before;          /* the part that existed at the start */
    baton_nsec elapsed;
};

struct study_run_options {
    unsigned jobs;                           /* worker threads of this process */
    unsigned shard, shards;                  /* units with index % shards == shard; 0 of 1: all */
    const struct study_transport *transport; /* of rank 0; NULL: alone */
    const atomic_bool *stop;                 /* set by a signal handler */
    /* called from time to time; may be NULL */
    void (*progress)(void *context, const struct study_run_state *state);
    void *context;
};

/* 0 when the study is complete, -EINTR when stopped, -errno. Results so far are in the store. */
int study_run(const struct study_spec *spec, struct store *store, const struct study_run_options *options,
              struct study_run_state *ret_state);

/* The work of the other processes: take units from rank 0 until there are none. */
int study_serve(const struct study_spec *spec, const struct study_transport *transport,
                const atomic_bool *stop);

#endif
