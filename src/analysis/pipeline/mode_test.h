/*
 * A schedulability test that planners can drive. Responses are computed in priority order. A
 * response depends on the options of more urgent tasks (all of their work). Of less urgent tasks
 * only the longest piece that may block counts. holistic.h and holistic_printed.h provide one test
 * each.
 */
#ifndef ANALYSIS_MODE_TEST_H
#define ANALYSIS_MODE_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/pipeline/pipeline.h"
#include "base/nsec.h"

#define MODE_UNBOUNDED ((baton_nsec)1 << 60)

/* A value of max R/D as a fraction, compared exactly. */
struct mode_ratio {
    baton_nsec response, deadline;
};

/* -1, 0, 1 as a is less, equal, greater. */
int mode_ratio_compare(struct mode_ratio a, struct mode_ratio b);

struct mode_run {
    const unsigned char *choice; /* per task: its option; read for tasks < n_fixed */
    /*
     * Tasks from this one on are not chosen yet: only what they do in every option counts (see
     * narrow).
     */
    size_t n_fixed;
    size_t n_run; /* tasks 0 .. n_run - 1 are tested; at most n_fixed */
    /*
     * Responses beyond cap periods count as MODE_UNBOUNDED. If cap > 1 they count as the cap
     * itself, so that a planner can compare hopeless choices. Such values, and those of less urgent
     * tasks, are no bounds.
     */
    unsigned cap;
    /* Stop early: */
    bool until_miss;                /* at the first response beyond its deadline */
    const struct mode_ratio *limit; /* at the first R/D that is not below it; NULL: none */
};

/* Does the run stop at this response? */
bool mode_run_stops(const struct mode_run *run, baton_nsec response, baton_nsec deadline);

struct mode_test_class {
    const char *name;
    /* Attaches a pipeline (borrowed until the next call) and forgets all results. */
    void (*attach)(void *state, const struct pipeline *pipeline);
    /*
     * Tests and fills ret_responses[0 .. returned). returned < n_run only after an early stop; its
     * last entry is then the response that stopped the run.
     */
    size_t (*run)(void *state, const struct mode_run *run, baton_nsec ret_responses[]);
    /*
     * False: `task` misses its deadline in `option` under every choice for the tasks from n_fixed
     * on. Needs a previous run with the same choice for the first n_fixed tasks.
     */
    bool (*hopeful)(void *state, const struct mode_run *run, size_t task, unsigned char option);
    /*
     * While `task` is not chosen, consider only its options with out[option] false (at least one)
     * from now on. attach() forgets it. Answers whether the results of more urgent tasks may
     * change.
     */
    bool (*narrow)(void *state, size_t task, const bool out[]);
};

struct mode_test {
    const struct mode_test_class *class;
    void *state;
    const struct pipeline *pipeline;
};

#endif
