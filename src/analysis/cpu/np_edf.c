#include "analysis/cpu/np_edf.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/cpu/plain_cost.h"

__extension__ typedef unsigned __int128 wide; /* products of two durations */

static wide greatest_common_divisor(wide a, wide b)
{
    while (b != 0) {
        wide rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/*
 * sum C/T <= 1, exact while the common denominator fits in 128 bits. Beyond that, each further term
 * is rounded up to the denominator reached, so a set that exceeds 1 is never accepted.
 */
static bool utilisation_at_most_one(const struct np_edf_task tasks[], size_t n)
{
    wide numerator = 0;
    wide denominator = 1;

    for (size_t i = 0; i < n; i++) {
        wide cost = (wide)tasks[i].cost;
        wide period = (wide)tasks[i].period;
        wide factor = period / greatest_common_divisor(denominator, period);

        assert(factor > 0); /* because periods are */
        if (denominator <= ((wide)1 << 62) / factor) {
            denominator *= factor;
            numerator *= factor;
            numerator += cost * (denominator / period);
        } else {
            /* too coarse for rounding: refine by a power of two first */
            if (denominator < (wide)1 << 61) {
                wide refine = ((wide)1 << 62) / denominator;

                denominator *= refine;
                numerator *= refine;
            }
            numerator += (cost * denominator + period - 1) / period;
        }
        if (numerator > denominator)
            return false;
    }
    return true;
}

/* C_i + sum_{j before i in order} floor((L-1)/T_j) C_j, limited to the largest duration. */
static baton_nsec demand_in(const struct np_edf_task tasks[], const size_t order[], size_t position,
                            baton_nsec window)
{
    wide demand = (wide)tasks[order[position]].cost;

    for (size_t k = 0; k < position; k++) {
        const struct np_edf_task *task = &tasks[order[k]];

        demand += (wide)((window - 1) / task->period) * (wide)task->cost;
    }
    return demand < (wide)NSEC_MAX ? (baton_nsec)demand : NSEC_MAX;
}

/*
 * Condition 2 for one task, from the largest window down. The demand never decreases with L, so
 * demand(L) <= L decides all of [demand(L), L] at once. The search continues below, as in Zhang and
 * Burns' QPA for preemptive EDF. Each iteration passes at least one step of the demand.
 */
static bool blocking_holds_for(const struct np_edf_task tasks[], const size_t order[], size_t position,
                               baton_nsec *ret_window, baton_nsec *ret_demand)
{
    baton_nsec shortest = tasks[order[0]].period;
    baton_nsec window = tasks[order[position]].period - 1;

    while (window > shortest) {
        baton_nsec demand = demand_in(tasks, order, position, window);

        if (demand > window) {
            *ret_window = window;
            *ret_demand = demand;
            return false;
        }
        window = demand - 1;
    }
    return true;
}

static int compare_periods(const void *a, const void *b, void *context)
{
    const struct np_edf_task *tasks = context;
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;

    if (tasks[left].period != tasks[right].period)
        return tasks[left].period < tasks[right].period ? -1 : 1;
    return left < right ? -1 : 1;
}

void np_edf_test(const struct np_edf_task tasks[], size_t n, size_t order[], struct np_edf_result *ret_result)
{
    struct np_edf_result result = {.blocking_holds = true};

    for (size_t i = 0; i < n; i++) {
        order[i] = i;
        result.utilisation += (double)tasks[i].cost / (double)tasks[i].period;
    }
    result.utilisation_holds = utilisation_at_most_one(tasks, n);
    qsort_r(order, n, sizeof order[0], compare_periods, (void *)tasks);
    for (size_t k = 1; k < n && result.blocking_holds; k++) {
        result.blocking_holds = blocking_holds_for(tasks, order, k, &result.window, &result.demand);
        result.task = order[k];
    }
    *ret_result = result;
}

static const char *reason_of(struct analysis_result *result, const struct task_set *set,
                             const struct np_edf_result *test)
{
    const char *first = test->utilisation_holds ? "holds" : "fails";

    if (test->blocking_holds)
        return plain_reason(result, "condition 1 fails (utilisation %.6f, at most 1); condition 2 holds",
                            test->utilisation);
    return plain_reason(
        result,
        "condition 1 %s (utilisation %.6f, at most 1); condition 2 fails for %.60s: in a window of "
        "%.6f ms it and the tasks of shorter period may need %.6f ms",
        first, test->utilisation, set->tasks[test->task].name, nsec_to_ms(test->window),
        nsec_to_ms(test->demand));
}

static int read_tasks(const struct task_set *set, const struct analysis_request *request,
                      struct np_edf_task tasks[], struct input_error *ret_error)
{
    for (size_t i = 0; i < set->n_tasks; i++) {
        const struct task *task = &set->tasks[i];
        int r;

        if (task->deadline != task->period) {
            char found[40];

            (void)snprintf(found, sizeof found, "%.6f ms", nsec_to_ms(task->deadline));
            return input_reject(ret_error, "", task->line, task->column, found,
                                "a deadline equal to the period, %.6f ms (np-edf)", nsec_to_ms(task->period));
        }
        tasks[i].period = task->period;
        r = plain_cost(set, i, request, &tasks[i].cost, ret_error);
        if (r != 0)
            return r;
    }
    return 0;
}

static int run(const struct task_set *set, const struct analysis_request *request,
               struct analysis_result *ret_result, struct input_error *ret_error)
{
    struct analysis_result result;
    struct np_edf_result test;
    struct np_edf_task *tasks;
    size_t *order;
    int r = plain_result(set, request, &result);

    if (r < 0)
        return r;
    tasks = arena_calloc(&result.arena, set->n_tasks + 1, sizeof tasks[0]);
    order = arena_calloc(&result.arena, set->n_tasks + 1, sizeof order[0]);
    r = tasks && order ? read_tasks(set, request, tasks, ret_error) : -ENOMEM;
    if (r != 0) {
        arena_done(&result.arena);
        return r;
    }
    np_edf_test(tasks, set->n_tasks, order, &test);
    result.schedulable = test.utilisation_holds && test.blocking_holds;
    if (!result.schedulable)
        result.reason = reason_of(&result, set, &test);
    /* the test bounds responses by deadlines and no more tightly */
    for (size_t i = 0; i < set->n_tasks; i++) {
        result.tasks[i].response = result.schedulable ? tasks[i].period : ANALYSIS_UNBOUNDED;
        result.tasks[i].tardiness = result.schedulable ? 0 : ANALYSIS_UNBOUNDED;
    }
    *ret_result = result;
    return 0;
}

/*
 * Shows why every job of a task ends within its period T in a schedulable set. Lists what can run
 * in a window of T before its deadline. The window holds its own C, and floor(T / T_j) C_j for jobs
 * of other tasks with a deadline inside it. It also holds the rest of the longest job with a later
 * deadline, which started one tick earlier. All of these fit by condition 2 for that job's task in
 * the window T + 1. Without such a job they fit by condition 1. What remains of T is slack.
 */
static void explain_window(const struct np_edf_task tasks[], size_t n, size_t self,
                           struct analysis_explanation *e)
{
    baton_nsec window = tasks[self].period;
    baton_nsec left = window - tasks[self].cost;
    size_t blocker = n;

    e->terms[e->n_terms++] = (struct analysis_term){"processor", "own", ANALYSIS_JOB, self, tasks[self].cost};
    for (size_t j = 0; j < n; j++) {
        baton_nsec amount = window / tasks[j].period * tasks[j].cost;

        if (tasks[j].period > window && (blocker == n || tasks[j].cost > tasks[blocker].cost))
            blocker = j;
        if (j == self || amount == 0)
            continue;
        e->terms[e->n_terms++] = (struct analysis_term){"processor", "from", ANALYSIS_JOB, j, amount};
        left -= amount;
    }
    if (blocker < n && tasks[blocker].cost > 1 && left > 0) {
        baton_nsec amount = tasks[blocker].cost - 1 < left ? tasks[blocker].cost - 1 : left;

        e->terms[e->n_terms++] =
            (struct analysis_term){"processor", "blocking by", ANALYSIS_JOB, blocker, amount};
        left -= amount;
    }
    if (left > 0)
        e->terms[e->n_terms++] = (struct analysis_term){"processor", "slack", ANALYSIS_JOB, self, left};
    e->bounded = true;
}

static int explain(const struct task_set *set, const struct analysis_request *request, size_t task,
                   struct analysis_explanation *ret_explanation, struct input_error *ret_error)
{
    struct analysis_explanation e = {0};
    struct np_edf_result test;
    struct np_edf_task *tasks;
    size_t *order;
    int r;

    arena_init(&e.arena, 0);
    tasks = arena_calloc(&e.arena, set->n_tasks + 1, sizeof tasks[0]);
    order = arena_calloc(&e.arena, set->n_tasks + 1, sizeof order[0]);
    e.terms = arena_calloc(&e.arena, set->n_tasks + 3, sizeof e.terms[0]);
    r = tasks && order && e.terms ? read_tasks(set, request, tasks, ret_error) : -ENOMEM;
    if (r != 0) {
        arena_done(&e.arena);
        return r;
    }
    np_edf_test(tasks, set->n_tasks, order, &test);
    if (test.utilisation_holds && test.blocking_holds)
        explain_window(tasks, set->n_tasks, task, &e);
    *ret_explanation = e;
    return 0;
}

const struct analysis analysis_np_edf = {
    .name = "np-edf",
    .summary = "non-preemptive EDF on one processor, both conditions (Jeffay, Stanat, Martel 1991)",
    .run = run,
    .explain = explain,
};
