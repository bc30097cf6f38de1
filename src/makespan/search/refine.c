#include "makespan/search/refine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define PILOT_MEMORY    ((size_t)1 << 18)
#define MOST_CANDIDATES 128 /* cut positions to try in one round */

/* The bound that the pilot gets with these cuts; UINT32_MAX if there is none within the limits. */
static unsigned pilot_bound(const struct problem *pilot, const uint8_t cuts[], baton_nsec until_at)
{
    const struct relax_settings limits = {.memory = 8 * PILOT_MEMORY, .until_at = until_at};
    struct relax relax;
    unsigned bound;

    if (relax_build(pilot, cuts, &limits, &relax))
        return UINT32_MAX;
    bound = relax_start(&relax);
    relax_done(&relax);
    return bound;
}

/*
 * The best further cut: the lowest bound for the pilot, then the smallest real table. Returns n if
 * none improves on `bound`.
 */
static size_t best_cut(const struct problem *problem, const struct problem *pilot, uint8_t cuts[],
                       size_t memory, baton_nsec until_at, unsigned *bound)
{
    size_t best = problem->n;
    size_t best_size = SIZE_MAX;
    size_t stride = problem->n / MOST_CANDIDATES + 1;

    for (size_t i = 1; i < problem->n; i += stride) {
        unsigned value;
        size_t size;

        if (cuts[i] || problem->units[i] != problem->units[i - 1])
            continue;
        cuts[i] = 1;
        size = relax_size(problem, cuts);
        if (size <= memory) {
            value = pilot_bound(pilot, cuts, until_at);
            if (value < *bound || (value == *bound && best < problem->n && size < best_size)) {
                *bound = value;
                best = i;
                best_size = size;
            }
        }
        cuts[i] = 0;
        if (until_at && clock_now() > until_at)
            return problem->n;
    }
    return best;
}

int refine_cuts(const struct problem *problem, size_t memory, baton_nsec until_at, uint8_t ret_cuts[])
{
    struct problem pilot = *problem;
    uint8_t *cuts = calloc(problem->n, 1);
    size_t found = 0;
    unsigned bound;

    if (!cuts)
        return -ENOMEM;
    while (pilot.warps > 1 && relax_size(&pilot, NULL) > PILOT_MEMORY)
        pilot.warps--;
    bound = pilot_bound(&pilot, cuts, until_at);
    for (; pilot.warps > 1 && found < RELAX_MAX_SEGMENTS; found++) {
        size_t cut = best_cut(problem, &pilot, cuts, memory, until_at, &bound);

        if (cut == problem->n)
            break;
        cuts[cut] = 1;
    }
    memcpy(ret_cuts, cuts, problem->n);
    free(cuts);
    return found ? 0 : REFINE_NONE;
}
