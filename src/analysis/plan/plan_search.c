/*
 * GLOBAL by branch and bound: options are fixed in priority order, the most urgent task first.
 *
 * Why pruning is safe. Let options be fixed for tasks 0 .. d. Two tests may refute the node:
 *
 *   (1) run: the response of a task i <= d with the options of 0 .. i as fixed, less urgent fixed tasks blocking as chosen, and tasks
 *       > d blocking with the elementwise least over their options (the longest piece on the bus, on each GPU, of each lane).
 *   (2) floor: the response of a task t > d in each of its options, where a task between d and t that is not fixed interferes with one
 *       load per unit: the least total length over its options, without jitter or carry-in.
 *
 * Claim: in every completion of the node the response of i (of t, in the option that the completion gives it) is at least the value
 * computed here; so if that value exceeds the deadline, no completion is schedulable. (Where an iteration is cut short, a node takes an iterate below
 * the least fixed point, a leaf a point above it: the claim holds all the more.)
 *
 * Proof. A response is a composition of least fixed points of functions that never decrease in: blocking lengths; each load's
 * length, jitter and span; the more urgent tasks' finish bounds (which are responses themselves). Sums, minima, maxima, top-k sums,
 * SHARE (a minimum of such, see holistic_share.c), floor and ceiling of those, NC and CI are all non-decreasing, and so is the
 * least fixed point of a non-decreasing function in its parameters; a response beyond the cap counts as infinite, which keeps
 * the order. By induction in priority order: the first task's only difference between node and completion is the blocking, which
 * is least elementwise in the node (the k-th longest of a union of lists is monotone in each list). Each further task sees
 * finish bounds of more urgent tasks that are not larger, and blocking that is not larger. In (2) a task not fixed interferes in the
 * completion with stages p of total length at least the demand C of its unit: sum_p NC_p(x) >= NC(x) of one load of length
 * sum_p C_p without jitter, because NC grows with jitter and sum_p min(C_p, z) >= min(sum_p C_p, z); extras are >= 0; every
 * stage counts at least one lane, at least once, on each GPU where the demand counts; gap terms are >= 0. For the printed test
 * sum_p ceil((J_p + w) / T) alpha_p >= ceil(w / T) sum_p alpha_p. The weights for unequal GPUs are the same for all options.  QED
 *
 * tests/analysis/test_planner.c compares with all 2^n choices.
 */
#include "analysis/plan/plan_search.h"

#include <string.h>

/* Does some option of task t survive test (2)? */
static bool has_hope(struct planner *planner, const struct mode_test *test, const struct mode_run *run,
                     size_t t)
{
    const struct pipeline_task *task = &test->pipeline->tasks[t];

    for (size_t tries = 0; tries < task->n_options; tries++) {
        unsigned char option = (unsigned char)((planner->hint[t] + tries) % task->n_options);

        planner->outcome->tests++;
        if (test->class->floor(test->state, run, t, option) <= task->deadline) {
            planner->hint[t] = option;
            return true;
        }
    }
    planner->doubtful = t;
    return false;
}

/* Is the node with the first n_fixed options of trial refuted? */
static bool refuted(struct planner *planner, const struct mode_test *test, size_t n_fixed)
{
    const struct pipeline *pipeline = test->pipeline;
    struct mode_run run = {
        .choice = planner->trial, .n_fixed = n_fixed, .n_run = n_fixed, .cap = 1, .until_miss = true};

    planner->outcome->nodes++;
    if (n_fixed > 0) {
        size_t ran = test->class->run(test->state, &run, planner->responses);

        planner->outcome->tests++;
        if (ran < n_fixed || planner->responses[n_fixed - 1] > pipeline->tasks[n_fixed - 1].deadline)
            return true;
    }
    /* The task that refuted last is the likeliest to refute again. */
    if (planner->doubtful >= n_fixed && planner->doubtful < pipeline->n_tasks &&
        !has_hope(planner, test, &run, planner->doubtful))
        return true;
    for (size_t t = n_fixed; t < pipeline->n_tasks; t++) {
        if (t != planner->doubtful && !has_hope(planner, test, &run, t))
            return true;
    }
    return false;
}

/* Depth first; n_fixed grows by one per level. True: trial is schedulable. */
static bool descend(struct planner *planner, const struct mode_test *test, uint64_t max_nodes, size_t n_fixed)
{
    const struct pipeline *pipeline = test->pipeline;

    if (max_nodes && planner->outcome->nodes >= max_nodes) {
        planner->outcome->complete = false;
        return false;
    }
    if (refuted(planner, test, n_fixed))
        return false;
    if (n_fixed == pipeline->n_tasks)
        return true;
    for (size_t o = 0; o < pipeline->tasks[n_fixed].n_options; o++) {
        planner->trial[n_fixed] = (unsigned char)o;
        if (descend(planner, test, max_nodes, n_fixed + 1))
            return true;
    }
    return false;
}

bool plan_search_hopeless(struct planner *planner, const struct mode_test *test)
{
    memset(planner->hint, 0, test->pipeline->n_tasks);
    planner->doubtful = test->pipeline->n_tasks;
    return refuted(planner, test, 0);
}

bool plan_search(struct planner *planner, const struct mode_test *test, uint64_t max_nodes,
                 unsigned char ret_choice[])
{
    size_t n = test->pipeline->n_tasks;

    memset(planner->hint, 0, n);
    planner->doubtful = n;
    if (!descend(planner, test, max_nodes, 0))
        return false;
    memcpy(ret_choice, planner->trial, n);
    return true;
}
