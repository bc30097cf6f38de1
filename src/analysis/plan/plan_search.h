/* GLOBAL's branch and bound; only planner.c needs it. */
#ifndef ANALYSIS_PLAN_SEARCH_H
#define ANALYSIS_PLAN_SEARCH_H

#include "analysis/plan/planner.h"

#define PLANNER_CAP 20 /* periods (deadlines): how far hopeless responses are still compared */

struct planner {
    baton_nsec *responses;
    unsigned char *trial;
    bool *tried;     /* GEMA, by task * PIPELINE_MAX_OPTIONS + option: it was taken before */
    bool *out;       /* GLOBAL, likewise: no schedulable choice below this node has it */
    size_t *refuted; /* a stack of what was put into out, as indices into it */
    size_t n_refuted;
    size_t *left;    /* by task: its options that are not refuted */
    size_t doubtful; /* the task that refuted a node last */
    uint64_t max_nodes;
    struct plan_outcome *outcome;
};

/*
 * Begins a search on the test's pipeline. True: its root is refuted, there is no schedulable choice. Only options that may be part of one are
 * left; plan_search() and, in any case, plan_search_end() follow.
 */
bool plan_search_hopeless(struct planner *planner, const struct mode_test *test);
void plan_search_end(struct planner *planner, const struct mode_test *test);

/* Looks for a schedulable choice; true with ret_choice filled, else ret_choice is untouched. */
bool plan_search(struct planner *planner, const struct mode_test *test, uint64_t max_nodes,
                 unsigned char ret_choice[]);

#endif
