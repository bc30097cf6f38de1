/* One loop of a routine, and the questions about it that waits.c, leaves.c, ptx_moves.c share. */
#ifndef PTX_CUT_PTX_LOOP_H
#define PTX_CUT_PTX_LOOP_H

#include "ptx/cut/waits.h"

/* Reused from loop to loop. Stamps are loop ids or slice numbers; 0: never. */
struct loop_scratch {
    size_t *region;      /* [block]: the innermost loop that was examined */
    size_t *passed;      /* [block]: the loop for which is_passed holds */
    bool *is_passed;     /* [block] */
    size_t *visited;     /* [block]: stamp of a walk */
    size_t *moving;      /* [block]: the loop in which the block moves on */
    size_t *work;        /* [block]: a stack */
    size_t *in_slice;    /* [register]: the loop whose end depends on it */
    uint32_t *registers; /* [register]: a stack */
    size_t walks;        /* stamps given */
};

struct ptx_loop {
    const struct flow *flow;
    const struct waits_request *request;
    struct loop_scratch *scratch;
    size_t id; /* in region */
    size_t head;
    const size_t *members; /* blocks */
    size_t n;
    uint8_t sources; /* sources that decide about its end */
    size_t source;   /* the statement of one of these sources */
};

bool loop_has(const struct ptx_loop *loop, size_t statement);

/* Subtracts steps from the budget; false when none are left. */
bool loop_spend(const struct ptx_loop *loop, size_t steps);

/* How many statements of the loop define the register; *ret_only is the last of them. */
size_t loop_defs(const struct ptx_loop *loop, uint32_t reg, size_t *ret_only);

/* The one statement that defines the register in the loop: unguarded, passed in every round. */
const struct ptx_statement *loop_only_def(const struct ptx_loop *loop, uint32_t reg);

/* Does every round, from the head back to it, pass the block? */
bool loop_passes(const struct ptx_loop *loop, size_t block);

/* The same for all blocks that are marked in scratch->moving. */
bool loop_passes_moving(const struct ptx_loop *loop);

/* A constant, a special register or variable, or a register that the loop does not define. */
bool loop_is_fixed(const struct ptx_loop *loop, const struct ptx_operand *operand);

/*
 * Follows copies and additions of constants back from the operand, one step within the loop. True:
 * `*at` was such a value, and is now what it was computed from. *offset gets what was added.
 */
bool loop_step_back(const struct ptx_loop *loop, const struct ptx_operand **at, int64_t *offset);

/* Is the statement this opcode, with this modifier (NULL: any)? */
bool loop_is(const struct ptx_loop *loop, const struct ptx_statement *statement, const char *opcode,
             const char *modifier);

/* leaves.c: does every round pass an exit that the loop itself brings about? */
bool loop_leaves(const struct ptx_loop *loop);

/* ptx_moves.c: does every round move on? */
bool loop_moves(const struct ptx_loop *loop);

#endif
