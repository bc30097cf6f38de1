#include "makespan/search/grid.h"

#include "makespan/search/bound.h"

/*
 * Cycles of a multiprocessor that executes at most `groups` groups. Of these, `chains` groups are
 * followed one after the other from start to end. Each adds one path of instructions, and the rest
 * of the work adds what it can block.
 */
static uint64_t chain_bound(const struct problem *problem, const struct grid *grid, uint64_t groups,
                            uint64_t chains)
{
    uint64_t warps = groups * (problem->warps / grid->resident) - chains;
    uint64_t others[N_UNITS];
    size_t count[N_UNITS];

    kernel_count(problem->units, problem->n, count);
    for (size_t u = 0; u < N_UNITS; u++)
        others[u] = count[u] * warps;
    return chains * problem->n + bound_blocking(problem, others);
}

/* If the multiprocessor that ends last executes x groups in all: its own work bounds it. */
static uint64_t bound_own(const struct problem *problem, const struct grid *grid, uint64_t x)
{
    return chain_bound(problem, grid, x, (x + grid->resident - 1) / grid->resident);
}

/*
 * The same by the work of the others. Until its last group starts, no multiprocessor has an empty
 * place. So the least loaded of the others has at most an equal share of what is left. Then at most
 * `resident` groups remain to be ended.
 */
static uint64_t bound_others(const struct problem *problem, const struct grid *grid, uint64_t x)
{
    uint64_t least = (grid->groups - x) / (grid->multiprocessors - 1);

    return chain_bound(problem, grid, least, least / grid->resident) + bound_cheap(problem);
}

uint64_t grid_bound(const struct problem *problem, const struct grid *grid, uint64_t upper)
{
    uint64_t places = grid->multiprocessors * grid->resident;
    uint64_t low = grid->resident;
    uint64_t high, own, others;

    if (grid->resident == 1)
        return (grid->groups + grid->multiprocessors - 1) / grid->multiprocessors * upper;
    if (grid->groups <= places)
        return upper;
    if (grid->multiprocessors == 1)
        return bound_own(problem, grid, grid->groups);
    /*
     * x is not known, so the bound is the largest over x of the smaller of the two. The first never
     * falls with x, the second never rises. So find the last x at which the own bound is still the
     * smaller one.
     */
    high = grid->groups - (grid->multiprocessors - 1) * grid->resident;
    while (low < high) {
        uint64_t x = low + (high - low + 1) / 2;

        if (bound_own(problem, grid, x) <= bound_others(problem, grid, x))
            low = x;
        else
            high = x - 1;
    }
    own = bound_own(problem, grid, low);
    if (low == grid->groups - (grid->multiprocessors - 1) * grid->resident)
        return own;
    others = bound_others(problem, grid, low + 1);
    return own > others ? own : others;
}
