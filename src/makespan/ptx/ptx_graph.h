/* The control-flow graph of one PTX function: basic blocks and where each may go. */
#ifndef MAKESPAN_PTX_GRAPH_H
#define MAKESPAN_PTX_GRAPH_H

#include "makespan/ptx/ptx_scan.h"

struct ptx_block {
    size_t begin, end;             /* instructions */
    size_t first, n;               /* its successors in ptx_graph::successors */
    bool is_end;                   /* control may leave the function here */
    double weight;                 /* of its instructions, calls included */
    const struct ptx_label *label; /* that stands before it, or NULL */
};

struct ptx_graph {
    /* n of them, in the arena; the first is empty and leads to where the function begins. */
    struct ptx_block *blocks;
    size_t n;
    size_t *successors; /* blocks, in the arena */
};

/* 0, -ENOMEM or INPUT_REJECTED (a branch to no label of the function). Weights are left 0. */
int ptx_graph_make(const char *path, const struct ptx_function *function, struct arena *arena,
                   struct ptx_graph *ret_graph, struct input_error *ret_error);

#endif
