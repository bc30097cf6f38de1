#include "oracle.h"

#include <stdlib.h>
#include <string.h>

/* How many instructions of the unit (N_UNITS: of any) are in the cycle so far. */
static unsigned in_cycle(const uint32_t cycles[], const uint8_t units[], size_t n, uint32_t cycle,
                         unsigned unit)
{
    unsigned count = 0;

    for (size_t i = 0; i < n; i++)
        count += cycles[i] == cycle && (unit == N_UNITS || units[i] == unit);
    return count;
}

unsigned oracle_evaluate(const struct problem *problem, const uint16_t order[], uint32_t ret_cycles[])
{
    size_t n = problem->n * problem->warps;
    uint32_t *cycles = calloc(n, sizeof cycles[0]);
    uint8_t *units = calloc(n, 1);
    uint32_t *next = calloc(problem->warps, sizeof next[0]);
    uint32_t *ready = calloc(problem->warps, sizeof ready[0]);
    unsigned makespan = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned unit = problem->units[next[order[i]]++];
        uint32_t cycle = ready[order[i]];

        while (in_cycle(cycles, units, i, cycle, unit) >= problem->capacity[unit] ||
               (problem->issue && in_cycle(cycles, units, i, cycle, N_UNITS) >= problem->issue))
            cycle++;
        units[i] = (uint8_t)unit;
        cycles[i] = cycle;
        ready[order[i]] = cycle + 1;
        makespan = cycle + 1 > makespan ? cycle + 1 : makespan;
    }
    if (ret_cycles)
        memcpy(ret_cycles, cycles, n * sizeof cycles[0]);
    free(cycles);
    free(units);
    free(next);
    free(ready);
    return makespan;
}

bool oracle_is_work_conserving(const struct problem *problem, const uint16_t order[], const uint32_t cycles[])
{
    size_t n = problem->n * problem->warps;
    uint32_t end = 0;

    for (size_t i = 0; i < n; i++)
        end = cycles[i] + 1 > end ? cycles[i] + 1 : end;
    for (uint32_t cycle = 0; cycle < end; cycle++) {
        unsigned used[N_UNITS] = {0}, all = 0;

        for (unsigned pass = 0; pass < 2; pass++) {
            for (unsigned w = 0; w < problem->warps; w++) {
                size_t done = 0;
                bool executes = false;

                for (size_t i = 0; i < n; i++) {
                    done += order[i] == w && cycles[i] < cycle;
                    executes |= order[i] == w && cycles[i] == cycle;
                }
                if (pass == 0 && executes) {
                    used[problem->units[done]]++;
                    all++;
                } else if (pass == 1 && !executes && done < problem->n &&
                           used[problem->units[done]] < problem->capacity[problem->units[done]] &&
                           (!problem->issue || all < problem->issue)) {
                    return false; /* it waits although there is room */
                }
            }
        }
        for (unsigned u = 0; u < N_UNITS; u++) {
            if (used[u] > problem->capacity[u])
                return false;
        }
        if (problem->issue && all > problem->issue)
            return false;
    }
    return true;
}

/* What follows from these positions; remembered in a table over all positions of all warps. */
static unsigned worst(const struct problem *problem, uint16_t memo[], unsigned position[])
{
    size_t index = 0;
    unsigned best = 0;
    bool done = true;

    for (unsigned w = 0; w < problem->warps; w++) {
        index = index * (problem->n + 1) + position[w];
        done = done && position[w] == problem->n;
    }
    if (done)
        return 0;
    if (memo[index])
        return memo[index];
    /* Every set of warps that fits and to which no warp can be added. */
    for (unsigned set = 1; set < 1u << problem->warps; set++) {
        unsigned used[N_UNITS] = {0}, all = 0;
        bool fits = true;

        for (unsigned w = 0; w < problem->warps && fits; w++) {
            if (!(set >> w & 1))
                continue;
            fits = position[w] < problem->n &&
                   used[problem->units[position[w]]]++ < problem->capacity[problem->units[position[w]]] &&
                   (all++ < problem->issue || !problem->issue);
        }
        for (unsigned w = 0; w < problem->warps && fits; w++)
            fits = set >> w & 1 || position[w] == problem->n ||
                   used[problem->units[position[w]]] >= problem->capacity[problem->units[position[w]]] ||
                   (problem->issue && all >= problem->issue);
        if (!fits)
            continue;
        for (unsigned w = 0; w < problem->warps; w++)
            position[w] += set >> w & 1;
        all = 1 + worst(problem, memo, position);
        best = all > best ? all : best;
        for (unsigned w = 0; w < problem->warps; w++)
            position[w] -= set >> w & 1;
    }
    memo[index] = (uint16_t)best;
    return best;
}

unsigned oracle_worst(const struct problem *problem)
{
    unsigned *position = calloc(problem->warps, sizeof position[0]);
    size_t size = 1;
    uint16_t *memo;
    unsigned answer;

    for (unsigned w = 0; w < problem->warps; w++)
        size *= problem->n + 1;
    memo = calloc(size, sizeof memo[0]);
    answer = worst(problem, memo, position);
    free(memo);
    free(position);
    return answer;
}
