/* GLOBAL's branch and bound; only planner.c needs it. */
#ifndef ANALYSIS_PLAN_SEARCH_H
#define ANALYSIS_PLAN_SEARCH_H

#include "analysis/plan/planner.h"

#define PLANNER_CAP 20 /* periods (deadlines): how far hopeless responses are still compared */

struct planner {
    baton_nsec *responses;
    unsigned char *trial;
    bool *tried;         /* by task * PIPELINE_MAX_OPTIONS + option */
    unsigned char *hint; /* by task: the option that was not refuted last time */
    size_t doubtful;     /* the task that refuted a node last */
    struct plan_outcome *outcome;
};

/* Does the bound at the root refute every choice at once? */
bool plan_search_hopeless(struct planner *planner, const struct mode_test *test);

/* Looks for a schedulable choice; true with ret_choice filled, else ret_choice is untouched. */
bool plan_search(struct planner *planner, const struct mode_test *test, uint64_t max_nodes,
                 unsigned char ret_choice[]);

#endif
