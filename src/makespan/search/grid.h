/*
 * From one multiprocessor to a grid. A multiprocessor holds up to `resident` groups. A group frees
 * its place when its last warp ends. A waiting group takes a place in the next cycle, on any
 * multiprocessor that has one. Groups are otherwise independent. No order among groups or warps is
 * assumed, so a group may be starved while others come and go.
 *
 * docs/makespan.md has the proof of every case.
 */
#ifndef MAKESPAN_GRID_H
#define MAKESPAN_GRID_H

#include <stdint.h>

#include "makespan/kernel.h"

/* Largest numbers for which no sum overflows, given KERNEL_MAX_ELEMENTS. */
#define GRID_MAX_GROUPS          UINT64_C(1000000000000)
#define GRID_MAX_MULTIPROCESSORS UINT64_C(1000000)

struct grid {
    /* Groups on one multiprocessor at a time; divides problem->warps, which are all of theirs. */
    unsigned resident;
    uint64_t multiprocessors;
    uint64_t groups; /* of the grid */
};

/*
 * No execution of the grid takes more cycles. `upper` bounds the makespan of problem->warps warps
 * that start together on one multiprocessor, in `resident` groups with their barriers. Barriers
 * change nothing else here.
 *   resident = 1: ceil(groups / multiprocessors) x upper.
 *   every group has a place at once: upper.
 *   else: see grid.c; arithmetic on the counts of instructions, as bound_cheap().
 */
uint64_t grid_bound(const struct problem *problem, const struct grid *grid, uint64_t upper);

#endif
