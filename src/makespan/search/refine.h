/* Where to cut runs of equal letters so that the relaxed table becomes tighter at little cost. */
#ifndef MAKESPAN_REFINE_H
#define MAKESPAN_REFINE_H

#include "base/nsec.h"
#include "makespan/search/relax.h"

/* Answer of refine_cuts(): no cut that fits is known to help. */
#define REFINE_NONE 1

/*
 * Tries single cuts on the same kernel with fewer warps, where a table takes milliseconds. Adds the
 * best cut as long as the real table stays within `memory` bytes. Writes cuts[n] for relax_build().
 * 0, REFINE_NONE or -ENOMEM.
 */
int refine_cuts(const struct problem *problem, size_t memory, baton_nsec until_at, uint8_t ret_cuts[]);

#endif
