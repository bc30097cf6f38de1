/*
 * The control flow of one function: blocks, their successors and dominators, and the loops of any
 * region of it. Blocks that the entry does not reach have no dominator and belong to no loop.
 */
#ifndef SPIRV_FLOW_H
#define SPIRV_FLOW_H

#include "spirv/module.h"

enum { FLOW_NONE = UINT32_MAX };

struct flow_block {
    uint32_t label;       /* id */
    size_t begin, end;    /* instructions: OpLabel to the terminator, both included */
    uint32_t *successors; /* blocks */
    uint32_t n_successors;
    uint32_t dominator; /* immediate; the entry's is itself; FLOW_NONE: not reached */
    uint32_t order;     /* in reverse post-order */
};

struct flow {
    struct flow_block *blocks;
    uint32_t n_blocks;
    uint32_t *by_order; /* reached blocks in reverse post-order */
    uint32_t n_reached;
};

/* 0; 1: a branch to what is no block of the function; -ENOMEM. */
int flow_build(struct arena *arena, const struct spirv_module *module, const struct spirv_function *function,
               struct flow *ret_flow);

/* The block that the instruction is in; FLOW_NONE: in none. */
uint32_t flow_block_at(const struct flow *flow, size_t instruction);

/*
 * The loops of a region: its strongly connected sets of blocks. loop[i] becomes the number of block
 * i's loop, FLOW_NONE where it is in none or not in the region. -ENOMEM, or the number of loops.
 */
int64_t flow_loops(struct arena *arena, const struct flow *flow, const bool *in_region, uint32_t *ret_loop);

bool flow_dominates(const struct flow *flow, uint32_t above, uint32_t below);

#endif
