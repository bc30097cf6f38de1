/*
 * The control-flow graph of one routine: basic blocks and their successors. Used where paths matter
 * (makespan, cutting). flow_graph.h answers the same for single statements.
 */
#ifndef PTX_BLOCKS_H
#define PTX_BLOCKS_H

#include "ptx/ptx_module.h"

struct ptx_block {
    size_t begin, end; /* statements; labels are at the beginning only */
    size_t first, n;   /* its successors in ptx_blocks::successors, none twice */
    bool is_end;       /* control may leave the routine here */
};

struct ptx_blocks {
    /*
     * n of them. The first is empty: it leads to where the routine begins, and no block leads to
     * it.
     */
    struct ptx_block *blocks;
    size_t n;
    size_t *successors; /* blocks */
    size_t *block_of;   /* [statement] */
};

/* Scratch of ptx_blocks_components(), reused by consecutive calls, not by concurrent ones. */
struct ptx_blocks_search {
    size_t *number, *low, *open;
    bool *is_open;
    struct ptx_blocks_visit *stack;
};

int ptx_blocks_search_make(const struct ptx_blocks *blocks, struct arena *arena,
                           struct ptx_blocks_search *ret_search);

/*
 * Strongly connected components of the blocks b with region[b] == id that can be reached from
 * `start`. Edges back to the start are left out, so that the loops within a loop appear when the
 * start is the loop's head.
 *
 * ret_order[] gets the blocks component by component, each component before those that lead to it.
 * ret_last[i] marks the last block of a component. Both have room for all blocks of the region.
 * Returns the number of blocks reached. Tarjan's algorithm without recursion, because a kernel may
 * have a million blocks.
 */
size_t ptx_blocks_components(const struct ptx_blocks *blocks, struct ptx_blocks_search *search,
                             const size_t region[], size_t id, size_t start, size_t ret_order[],
                             bool ret_last[]);

/* Is a component of n blocks a cycle? */
bool ptx_blocks_is_cycle(const struct ptx_blocks *blocks, const size_t members[], size_t n);

/* Everything is in the arena. 0 or -ENOMEM. */
int ptx_blocks_make(const struct ptx_routine *routine, struct arena *arena, struct ptx_blocks *ret_blocks);

#endif
