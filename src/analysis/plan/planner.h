/*
 * Mode assignment: which option (how many GPUs, which placement) each task of a pipeline gets. This
 * is GPU-SPARC Sec. IV-C and IV-D, generalised from "one or all GPUs" to any list of options. It
 * works with every mode_test and allocates nothing after planner_new().
 */
#ifndef ANALYSIS_PLANNER_H
#define ANALYSIS_PLANNER_H

#include "analysis/pipeline/mode_test.h"

enum plan_policy {
    POLICY_GEMA,   /* greedy: the step that lowers max R/D most, until schedulable (Algorithm 1) */
    POLICY_LOCAL,  /* each task takes the option in which it is shortest by itself */
    POLICY_GLOBAL, /* exact: a schedulable choice if one exists */
    POLICY_SINGLE, /* every task takes its option 0 */
};

extern const char *const plan_policy_names[]; /* by value, NULL-ended */

struct planner;

struct planner *planner_new(size_t max_tasks);
void planner_free(struct planner *planner);

struct plan_outcome {
    bool schedulable;
    bool complete;  /* GLOBAL: false when the search reached the node limit without an answer */
    uint64_t tests; /* full or partial runs of the test */
    uint64_t nodes; /* GLOBAL: nodes of the search tree visited */
};

/*
 * Fills ret_choice[0 .. n_tasks). The test keeps the state of its last run. max_nodes bounds
 * GLOBAL's search (0: unlimited). If GEMA finds no schedulable choice, ret_choice is the last one
 * tried, as in the paper.
 */
void planner_choose(struct planner *planner, const struct mode_test *test, enum plan_policy policy,
                    uint64_t max_nodes, unsigned char ret_choice[], struct plan_outcome *ret_outcome);

#endif
