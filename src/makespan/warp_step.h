/* What one work-conserving cycle may issue: how many warps on each unit. */
#ifndef MAKESPAN_STEP_H
#define MAKESPAN_STEP_H

#include "makespan/kernel.h"

#define STEP_MAX_SHARES 256

/*
 * Given how many warps wait for each unit, lists every E with E[u] <= min(waiting[u], capacity[u])
 * and the largest sum that the cap on issue allows. Without a cap there is exactly one. Returns how
 * many (0: more than STEP_MAX_SHARES).
 */
size_t step_shares(const struct problem *problem, const unsigned waiting[N_UNITS],
                   unsigned ret_shares[STEP_MAX_SHARES][N_UNITS]);

#endif
