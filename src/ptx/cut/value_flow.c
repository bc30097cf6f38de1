#include "ptx/cut/value_flow.h"

#include <errno.h>

typedef void (*visitor)(void *context, uint32_t reg, bool is_write);

uint32_t flow_number(struct ptx_routine *routine)
{
    uint32_t n = N_CELLS;

    for (struct ptx_register *reg = routine->registers; reg; reg = reg->next) {
        reg->user = n;
        n += reg->count ? reg->count : 1;
    }
    return n;
}

uint32_t flow_register(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OP_REGISTER ? operand->reg->user + operand->index : 0;
}

static void visit_operand(const struct ptx_operand *operand, bool is_write, visitor visit, void *context)
{
    bool is_address = operand->kind == PTX_OP_ADDRESS || operand->kind == PTX_OP_OBJECT;

    if (operand->kind == PTX_OP_REGISTER)
        visit(context, flow_register(operand), is_write);
    for (unsigned i = 0; i < operand->n_parts; i++)
        visit_operand(&operand->parts[i], is_write && !is_address, visit, context);
}

static void visit_flat(const struct ptx_operand *operand, visitor visit, void *context)
{
    visit_operand(operand, false, visit, context);
    if (operand->may_write)
        visit_operand(operand, true, visit, context);
}

void flow_visit(const struct flow *flow, size_t i, visitor visit, void *context)
{
    const struct ptx_statement *statement = &flow->routine->statements[i];
    const struct effect *effect = &flow->effects[i];

    if (statement->kind == PTX_STATEMENT_LABEL)
        return;
    for (unsigned cell = 0; cell < N_CELLS; cell++) {
        if (effect->reads >> cell & 1)
            visit(context, cell, false);
        if (effect->writes >> cell & 1)
            visit(context, cell, true);
    }
    if (statement->guard)
        visit_operand(statement->guard, false, visit, context);
    for (unsigned k = 0; k < statement->n_operands; k++) {
        if (statement->is_flat)
            visit_flat(&statement->operands[k], visit, context);
        else
            visit_operand(&statement->operands[k], effect_is_result(statement, k), visit, context);
    }
    if (statement->callee && !statement->is_flat)
        visit_operand(statement->callee, false, visit, context);
}

static void count(void *context, uint32_t reg, bool is_write)
{
    uint32_t *first = context;

    first[reg + 1] += is_write;
}

struct placing {
    struct flow *flow;
    uint32_t *next;
    uint32_t statement;
};

static void place(void *context, uint32_t reg, bool is_write)
{
    struct placing *placing = context;

    if (is_write)
        placing->flow->defs[placing->next[reg]++] = placing->statement;
}

int flow_make(const struct ptx_module *module, struct ptx_routine *routine,
              const struct effect_summary summaries[], struct arena *arena, struct flow *ret_flow)
{
    struct flow flow = {.module = module, .routine = routine};
    struct placing placing = {.flow = &flow};
    int r = ptx_blocks_make(routine, arena, &flow.blocks);

    if (r)
        return r;
    flow.n_registers = flow_number(routine);
    flow.effects = arena_calloc(arena, routine->n + 1, sizeof *flow.effects);
    flow.def_first = arena_calloc(arena, (size_t)flow.n_registers + 1, sizeof *flow.def_first);
    placing.next = arena_calloc(arena, (size_t)flow.n_registers + 1, sizeof *placing.next);
    if (!flow.effects || !flow.def_first || !placing.next)
        return -ENOMEM;
    for (size_t i = 0; i < routine->n; i++)
        if (routine->statements[i].kind == PTX_STATEMENT_OPERATION)
            flow.effects[i] = effect_of(module, &routine->statements[i], summaries);
    for (size_t i = 0; i < routine->n; i++)
        flow_visit(&flow, i, count, flow.def_first);
    for (uint32_t i = 0; i < flow.n_registers; i++) {
        flow.def_first[i + 1] += flow.def_first[i];
        placing.next[i] = flow.def_first[i];
    }
    flow.defs = arena_calloc(arena, (size_t)flow.def_first[flow.n_registers] + 1, sizeof *flow.defs);
    if (!flow.defs)
        return -ENOMEM;
    for (size_t i = 0; i < routine->n; i++) {
        placing.statement = (uint32_t)i;
        flow_visit(&flow, i, place, &placing);
    }
    *ret_flow = flow;
    return 0;
}
