/*
 * What one statement does to memory, as far as waiting for other blocks is concerned.
 *
 * A *source* is a value that another block may change while the kernel runs. It is strong if the
 * instruction is made for communication between blocks: volatile, atomics, and relaxed or acquire
 * beyond the scope of the block. Otherwise it is plain. Memory that only the block or the thread
 * sees (shared, local, the parameters of calls) is no source. It is a *cell*, treated as one
 * register per space.
 */
#ifndef PTX_CUT_EFFECT_H
#define PTX_CUT_EFFECT_H

#include "ptx/ptx_module.h"

enum { SOURCE_PLAIN = 1, SOURCE_STRONG = 2 }; /* bits */

/* Cells, as bits and as the first registers of a flow. */
enum { CELL_CARRY, CELL_LOCAL, CELL_SHARED, CELL_PARAM, N_CELLS };

struct effect {
    uint8_t sources;       /* bits */
    uint8_t reads, writes; /* cells: bit 1 << CELL_... */
    bool writes_global;
};

/* Effects of a routine with all that it calls; kept in an array by ptx_routine::user. */
struct effect_summary {
    uint8_t sources;
    bool writes_global;
    bool may_exit; /* it may end the thread */
};

/* The effect of an operation. summaries[] holds those of the functions that the routine calls. */
struct effect effect_of(const struct ptx_module *module, const struct ptx_statement *statement,
                        const struct effect_summary summaries[]);

/* In a statement that is not flat: does operand i take a result? */
bool effect_is_result(const struct ptx_statement *statement, unsigned i);

/*
 * Does the instruction compute from its operands alone, although the table has no full row for it?
 */
bool effect_is_pure(const struct ptx_module *module, const struct ptx_statement *statement);

/* Is one of the words among the modifiers? */
bool effect_has_any(const struct ptx_module *module, const struct ptx_statement *statement,
                    const char *const words[], size_t n);

/* Is the opcode one of the words? */
bool effect_opcode_is(const struct ptx_module *module, const struct ptx_statement *statement,
                      const char *const words[], size_t n);

#endif
