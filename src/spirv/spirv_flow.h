/*
 * The control flow of one function: blocks, their successors and dominators, and the loops of any
 * region of it. Blocks that the entry does not reach have no dominator and belong to no loop.
 */
#ifndef SPIRV_SPIRV_FLOW_H
#define SPIRV_SPIRV_FLOW_H

#include "spirv/spirv_module.h"

#define SPIRV_NO_BLOCK UINT32_MAX

struct spirv_flow_block {
    uint32_t label;       /* id */
    size_t begin, end;    /* instructions: OpLabel to the terminator, both included */
    uint32_t *successors; /* blocks */
    uint32_t n_successors;
    uint32_t dominator; /* immediate; the entry's is itself; SPIRV_NO_BLOCK: not reached */
    uint32_t order;     /* in reverse post-order */
};

struct spirv_flow {
    struct spirv_flow_block *blocks;
    uint32_t n_blocks;
    uint32_t *by_order; /* reached blocks in reverse post-order */
    uint32_t n_reached;
};

/* 0; 1: a branch to something that is no block of the function; -ENOMEM. */
int spirv_flow_build(struct arena *arena, const struct spirv_module *module,
                     const struct spirv_function *function, struct spirv_flow *ret_flow);

/* The block that the instruction is in; SPIRV_NO_BLOCK: in none. */
uint32_t spirv_flow_block_at(const struct spirv_flow *flow, size_t instruction);

/*
 * The loops of a region: its strongly connected sets of blocks. Writes the number of block i's loop
 * to loop[i], or SPIRV_NO_BLOCK if it is in no loop or not in the region. -ENOMEM, or the number of
 * loops.
 */
int64_t spirv_flow_loops(struct arena *arena, const struct spirv_flow *flow, const bool *in_region,
                         uint32_t *ret_loop);

bool spirv_flow_dominates(const struct spirv_flow *flow, uint32_t above, uint32_t below);

#endif
