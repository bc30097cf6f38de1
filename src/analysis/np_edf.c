#include "analysis/np_edf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
 * sum C/T <= 1, exactly while the common denominator fits 128 bits. Where it does not, each further term is rounded up to the
 * denominator reached, so a set that exceeds 1 is never accepted.
 */
static bool utilisation_at_most_one(const struct np_edf_task tasks[], size_t n)
{
    wide numerator = 0;
    wide denominator = 1;

    for (size_t i = 0; i < n; i++) {
        wide cost = (wide)tasks[i].cost;
        wide period = (wide)tasks[i].period;
        wide factor = period / greatest_common_divisor(denominator, period);

        if (denominator <= ((wide)1 << 62) / factor) {
            denominator *= factor;
            numerator *= factor;
            numerator += cost * (denominator / period);
        } else {
            if (denominator < (wide)1 << 61) { /* too coarse to round in: refine by a power of two first */
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

/* C_i + sum_{j before i in order} floor((L-1)/T_j) C_j, cut at the largest duration. */
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
 * Condition 2 for one task, from the largest window down. The demand never falls with L, so demand(L) <= L settles all of
 * [demand(L), L] at once and the search goes on below it (as Zhang and Burns' QPA does for preemptive EDF); each step passes
 * at least one step of the demand.
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
