/*
 * The exact worst case: depth-first search over exact states for a schedule of at least `target`
 * cycles. A state from which the relaxed table (relax.h) allows too few cycles is cut. A state that
 * was searched without success is stored with the bound that this proved. The bound holds for every
 * later visit and every other target.
 */
#ifndef MAKESPAN_EXACT_H
#define MAKESPAN_EXACT_H

#include "base/nsec.h"
#include "makespan/search/relax.h"
#include "makespan/state.h"

/*
 * Longer runs are not searched (EXACT_OUT_OF_MEMORY): the search goes as deep as the run is long.
 */
#define EXACT_MAX_CYCLES 16384u

struct exact;

/* Answers of exact_search(). */
enum exact_answer {
    EXACT_NONE = 1, /* proven: no schedule is that long */
    EXACT_OUT_OF_TIME,
    EXACT_OUT_OF_MEMORY,
    EXACT_OUT_OF_EFFORT,
};

/*
 * relax and space are borrowed. memory: bytes for what is remembered and for open choices, never
 * exceeded. NULL: no memory.
 */
struct exact *exact_new(const struct relax *relax, const struct state_space *space, size_t memory);
void exact_free(struct exact *exact);

/*
 * Looks for a schedule of at least target cycles until until_at (0: no limit), entering at most
 * `effort` states (0: no limit). What was learned stays. 0: found, its states are in ret_path (room
 * for the relaxed bound + 1 entries) and *ret_n; it may be longer than asked for. Else an
 * exact_answer.
 */
int exact_search(struct exact *exact, unsigned target, uint64_t effort, baton_nsec until_at,
                 state_id ret_path[], size_t *ret_n);

/* States entered so far. */
uint64_t exact_entered(const struct exact *exact);

#endif
