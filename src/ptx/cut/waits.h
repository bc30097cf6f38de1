/*
 * Which kernels wait for other blocks. Pieces of a launch run one after the other, so a block that
 * waits for a block of a later piece would wait for ever.
 *
 * Waiting takes a loop. For each loop of the control-flow graph, without the loops inside it, the
 * question is whether it ends without help from other blocks. Assume that the memory that other
 * blocks write does not change. A loop that then ends, or that never ends for reasons of its own,
 * does not wait:
 *
 * 1. What decides about its end does not depend on sources (effect.h) read within the loop. The
 *    loop does the same whatever other blocks do.
 * 2. Every round passes an exit that the loop itself brings about. Either *retried*: an atomic
 *    compare-and-swap on a fixed address found the value that the same loop read there last. While
 *    memory does not change, the second round succeeds. Or *ticket*: an atomic addition to a fixed
 *    address has returned at least a fixed bound. The loop itself moves the counter there.
 * 3. Only plain loads decide, the loop has no fence, and every round moves on (lists, rows,
 *    bisections). That is, a register that decides about the end, or about the address that is
 *    read, gets a value computed from its own. A loop that waits reads the same place again.
 *
 * Everything else counts as waiting. So does a loop that polls until a count is reached. It ends,
 * but a program that then reports an error would report it in every piece. Plain loads are sources
 * only in kernels that write global memory, because another block cannot change what no block
 * writes. Locks count as waiting, although a program that releases what it takes would end: the
 * analysis does not prove the release.
 */
#ifndef PTX_CUT_WAITS_H
#define PTX_CUT_WAITS_H

#include "ptx/cut/value_flow.h"

enum waits_answer {
    WAITS_NO,
    WAITS_MAYBE,     /* *ret_source and *ret_head say where */
    WAITS_TOO_LARGE, /* the work is beyond the budget */
};

struct waits_request {
    const struct flow *flow;
    const struct effect_summary *summaries;
    bool kernel_writes; /* the kernel writes global memory: plain loads are sources */
    bool kernel_polls;  /* the kernel has strong sources, perhaps in other routines */
    size_t *budget;     /* steps that are left for the whole module; updated */
};

/*
 * An enum waits_answer or -ENOMEM. *ret_source: the statement that reads the source; *ret_head:
 * where the loop begins.
 */
int ptx_waits_find(const struct waits_request *request, size_t *ret_source, size_t *ret_head);

#endif
