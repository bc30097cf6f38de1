#include "makespan/search/bound.h"

uint64_t bound_blocking(const struct problem *problem, const uint64_t others[N_UNITS])
{
    uint64_t blocked = 0;
    uint64_t pool = 0;

    for (size_t u = 0; u < N_UNITS; u++) {
        uint64_t capacity = problem->capacity[u];

        if (problem->issue && capacity >= problem->issue) {
            pool += others[u];
        } else {
            blocked += others[u] / capacity;
            /* What is left over cannot fill the unit, but may still help to fill the cap. */
            pool += others[u] % capacity;
        }
    }
    return blocked + (problem->issue ? pool / problem->issue : 0);
}

uint64_t bound_cheap(const struct problem *problem)
{
    size_t count[N_UNITS];
    uint64_t others[N_UNITS];

    kernel_count(problem->units, problem->n, count);
    for (size_t u = 0; u < N_UNITS; u++)
        others[u] = (uint64_t)count[u] * (problem->warps - 1);
    return problem->n + bound_blocking(problem, others);
}
