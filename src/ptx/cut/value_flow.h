/*
 * Where the values of a routine come from. It has the routine's registers with dense numbers, the
 * statements that define each, the effect of each statement, and its blocks.
 *
 * Numbers below N_CELLS are the cells of effect.h. A vector register is one register.
 */
#ifndef PTX_CUT_VALUE_FLOW_H
#define PTX_CUT_VALUE_FLOW_H

#include "ptx/blocks.h"
#include "ptx/cut/effect.h"

struct flow {
    const struct ptx_module *module;
    const struct ptx_routine *routine;
    struct ptx_blocks blocks;
    uint32_t n_registers;
    struct effect *effects; /* [statement]; of labels: nothing */
    uint32_t *def_first;    /* [register + 1]: range in defs */
    uint32_t *defs;         /* statements, in order */
};

/* Everything is in the arena. 0 or -ENOMEM. */
int flow_make(const struct ptx_module *module, struct ptx_routine *routine,
              const struct effect_summary summaries[], struct arena *arena, struct flow *ret_flow);

/* Numbers the registers of the routine (ptx_register::user). Done once per routine. */
uint32_t flow_number(struct ptx_routine *routine);

/* Calls visit(context, register, is_write) for everything that statement i reads or writes. */
void flow_visit(const struct flow *flow, size_t i, void (*visit)(void *context, uint32_t reg, bool is_write),
                void *context);

/* The number of a register operand; 0 (a cell) when the operand is none. */
uint32_t flow_register(const struct ptx_operand *operand);

#endif
