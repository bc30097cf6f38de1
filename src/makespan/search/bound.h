/* Cheap safe upper bounds on the worst-case makespan: arithmetic only, for any size. */
#ifndef MAKESPAN_BOUND_H
#define MAKESPAN_BOUND_H

#include <stdint.h>

#include "makespan/kernel.h"

/*
 * In every cycle the warp that ends last either executes or waits: for capacity[u] others on its
 * unit, or for `issue` others in all. So the makespan is at most n plus the number of cycles in
 * which the others can block. Without a cap on issue that is n + sum_u floor((W - 1) count_u /
 * capacity_u). With a cap, units at least as wide as the cap share one pool of work that blocks
 * `issue` at a time.
 */
uint64_t bound_cheap(const struct problem *problem);

/* Cycles that others[u] instructions of other warps can block one warp: the sum above. */
uint64_t bound_blocking(const struct problem *problem, const uint64_t others[N_UNITS]);

#endif
