/*
 * Assigns GPUs to tasks with decided modes: bin packing, with the response-time test in place of a
 * bin's size. Tasks are placed in order of priority. A response depends on less urgent tasks only
 * through the length of their pieces, so later placements add no more than that. Taking the
 * shortest response spreads the tasks and leaves room on each GPU. Taking the longest response that
 * meets the deadline keeps one GPU free for a long task. Sets that both orders miss are left to the
 * search.
 */
#include <string.h>

#include "analysis/plan/plan_search.h"

/* Is this response better than the best so far? */
static bool is_better(baton_nsec response, baton_nsec best, baton_nsec deadline, bool tight)
{
    if (tight && response <= deadline && best <= deadline)
        return response > best;
    return response < best;
}

/* The option of task i, given the choices of more urgent tasks. */
static unsigned char fit_task(struct planner *planner, const struct mode_test *test, size_t i, bool tight,
                              unsigned char choice[])
{
    const struct pipeline_task *task = &test->pipeline->tasks[i];
    struct mode_run run = {.choice = choice, .n_fixed = i + 1, .n_run = i + 1, .cap = PLANNER_CAP};
    size_t best = task->n_options;
    baton_nsec best_response = 0;
    struct gpu_cells cells;

    plan_search_cells(planner, test->pipeline, choice, i, SIZE_MAX, &cells);
    for (size_t o = 0; o < task->n_options; o++) {
        if (planner_barred(planner, i)[o] || plan_symmetry_repeats(&cells, task, o))
            continue;
        choice[i] = (unsigned char)o;
        (void)test->class->run(test->state, &run, planner->responses);
        planner->outcome->tests++;
        if (best == task->n_options ||
            is_better(planner->responses[i], best_response, task->deadline, tight)) {
            best = o;
            best_response = planner->responses[i];
        }
    }
    return (unsigned char)best;
}

bool planner_fit(struct planner *planner, const struct mode_test *test, bool tight,
                 unsigned char ret_choice[])
{
    for (size_t i = 0; i < test->pipeline->n_tasks; i++)
        ret_choice[i] = fit_task(planner, test, i, tight, ret_choice);
    return plan_search_verdict(planner, test, ret_choice, PLANNER_CAP);
}

/* Is any decision left? If not, ret_choice is the only choice. */
static bool is_open(const struct planner *planner, const struct pipeline *pipeline,
                    unsigned char ret_choice[])
{
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        size_t n = 0;

        for (size_t o = 0; o < pipeline->tasks[i].n_options; o++) {
            if (planner_barred(planner, i)[o])
                continue;
            ret_choice[i] = (unsigned char)o;
            if (++n > 1)
                return true;
        }
    }
    return false;
}

bool planner_place(struct planner *planner, const struct mode_test *test, uint64_t max_nodes,
                   unsigned char ret_choice[])
{
    bool found;

    if (!is_open(planner, test->pipeline, ret_choice))
        return plan_search_verdict(planner, test, ret_choice, 1);
    if (planner_fit(planner, test, false, ret_choice))
        return true;
    if (planner_fit(planner, test, true, planner->trial)) {
        memcpy(ret_choice, planner->trial, test->pipeline->n_tasks);
        return true;
    }
    found = !plan_search_hopeless(planner, test) && plan_search(planner, test, max_nodes, ret_choice);
    plan_search_end(planner, test);
    return found;
}

void planner_settle(struct planner *planner, const struct mode_test *test, unsigned char choice[])
{
    const struct pipeline *pipeline = test->pipeline;

    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        const struct pipeline_task *task = &pipeline->tasks[i];
        struct mode_ratio best = {0, 1};
        unsigned char before = choice[i];
        unsigned char settled = before;
        struct gpu_cells cells;

        if (!task->options[before].dominated)
            continue;
        plan_search_cells(planner, pipeline, choice, pipeline->n_tasks, i, &cells);
        for (size_t o = 0; o < task->n_options; o++) {
            if (!task->options[o].assigned || task->options[o].gpus != task->options[before].gpus ||
                plan_symmetry_repeats(&cells, task, o))
                continue;
            choice[i] = (unsigned char)o;
            if (planner_improves(planner, test, choice, settled == before, &best))
                settled = (unsigned char)o;
        }
        choice[i] = best.response <= best.deadline ? settled : before;
    }
}
