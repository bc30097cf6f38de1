/*
 * What keeps a routine from being cut, statement by statement: its instructions and special
 * registers. waits.h has the loops, ptx_study.h the calls.
 */
#ifndef PTX_CUT_REFUSE_H
#define PTX_CUT_REFUSE_H

#include "ptx/cut/ptx_cut.h"
#include "ptx/ptx_module.h"

enum { VERDICT_DETAIL = 200 };

struct verdict {
    enum ptx_whole reason; /* PTX_CUT: nothing */
    uint32_t line;
    char detail[VERDICT_DETAIL];
};

/* Sets the verdict to a place in the text: the statement from `first` to before `end`. */
void verdict_set(struct verdict *verdict, const struct ptx_module *module, enum ptx_whole reason,
                 const struct ptx_token *first, const struct ptx_token *end);

/* The first statement of the routine that cannot be in a piece. */
void refuse_routine(const struct ptx_module *module, const struct ptx_routine *routine,
                    struct verdict *ret_verdict);

/* For a function without a body in the module: PTX_CUT if it is harmless. */
enum ptx_whole refuse_external(struct ptx_name name);

/* Is the special register the number of the block, or of the blocks? */
bool refuse_is_block_number(const struct ptx_operand *operand);

#endif
