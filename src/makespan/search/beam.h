/*
 * Good lower bounds fast: beam search. In each cycle it keeps the `width` states that promise the
 * longest run. A state is judged by the relaxed table if there is one, else by the cheap bound of
 * the remaining work. It reports the longest run that it completed.
 */
#ifndef MAKESPAN_BEAM_H
#define MAKESPAN_BEAM_H

#include "base/nsec.h"
#include "makespan/search/relax.h"

/* Answer of beam_run(). */
#define BEAM_TIMED_OUT 1

/*
 * Writes the string (n * W entries, warps from 0) of the best run found. relax may be NULL. Choices
 * are sampled where a cycle has very many; the seed makes that reproducible. 0, BEAM_TIMED_OUT
 * (nothing written) or -ENOMEM.
 */
int beam_run(const struct problem *problem, const struct relax *relax, size_t width, uint64_t seed,
             baton_nsec until_at, uint16_t ret_order[]);

#endif
