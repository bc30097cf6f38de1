#include "ptx/cut/ptx_loop.h"

bool loop_has(const struct ptx_loop *loop, size_t statement)
{
    return loop->scratch->region[loop->flow->blocks.block_of[statement]] == loop->id;
}

bool loop_spend(const struct ptx_loop *loop, size_t steps)
{
    size_t *budget = loop->request->budget;

    *budget -= steps < *budget ? steps : *budget;
    return *budget > 0;
}

size_t loop_defs(const struct ptx_loop *loop, uint32_t reg, size_t *ret_only)
{
    const struct flow *flow = loop->flow;
    size_t n = 0;

    (void)loop_spend(loop, flow->def_first[reg + 1] - flow->def_first[reg]);
    for (uint32_t i = flow->def_first[reg]; i < flow->def_first[reg + 1]; i++)
        if (loop_has(loop, flow->defs[i])) {
            *ret_only = flow->defs[i];
            n++;
        }
    return n;
}

const struct ptx_statement *loop_only_def(const struct ptx_loop *loop, uint32_t reg)
{
    const struct ptx_statement *statement;
    size_t at = 0;

    if (reg < N_CELLS || loop_defs(loop, reg, &at) != 1)
        return NULL;
    statement = &loop->flow->routine->statements[at];
    if (statement->guard || statement->is_flat || !loop_passes(loop, loop->flow->blocks.block_of[at]))
        return NULL;
    return statement;
}

/* Is there a way from the head back to it that avoids the blocks for which avoid() holds? */
static bool goes_round(const struct ptx_loop *loop,
                       bool (*avoid)(const struct ptx_loop *loop, size_t block, size_t x), size_t x)
{
    const struct ptx_blocks *blocks = &loop->flow->blocks;
    struct loop_scratch *scratch = loop->scratch;
    size_t stamp = ++scratch->walks;
    size_t n = 0;

    if (avoid(loop, loop->head, x))
        return false;
    if (!loop_spend(loop, loop->n))
        return true;
    scratch->work[n++] = loop->head;
    while (n) {
        const struct ptx_block *block = &blocks->blocks[scratch->work[--n]];

        for (size_t i = 0; i < block->n; i++) {
            size_t to = blocks->successors[block->first + i];

            if (to == loop->head)
                return true;
            if (scratch->region[to] != loop->id || scratch->visited[to] == stamp || avoid(loop, to, x))
                continue;
            scratch->visited[to] = stamp;
            scratch->work[n++] = to;
        }
    }
    return false;
}

static bool is_block(const struct ptx_loop *loop, size_t block, size_t x)
{
    (void)loop;
    return block == x;
}

bool loop_passes(const struct ptx_loop *loop, size_t block)
{
    struct loop_scratch *scratch = loop->scratch;

    if (scratch->passed[block] != loop->id) {
        scratch->passed[block] = loop->id;
        scratch->is_passed[block] = !goes_round(loop, is_block, block);
    }
    return scratch->is_passed[block];
}

static bool is_moving(const struct ptx_loop *loop, size_t block, size_t x)
{
    (void)x;
    return loop->scratch->moving[block] == loop->id;
}

bool loop_passes_moving(const struct ptx_loop *loop)
{
    return !goes_round(loop, is_moving, 0);
}

bool loop_is_fixed(const struct ptx_loop *loop, const struct ptx_operand *operand)
{
    size_t ignored;

    if (operand->kind == PTX_OP_INT || operand->kind == PTX_OP_VARIABLE)
        return true;
    return operand->kind == PTX_OP_REGISTER && !operand->is_negated &&
           loop_defs(loop, flow_register(operand), &ignored) == 0;
}

bool loop_is(const struct ptx_loop *loop, const struct ptx_statement *statement, const char *opcode,
             const char *modifier)
{
    return ptx_token_is(&loop->flow->module->source, statement->opcode, opcode) &&
           (!modifier || ptx_has(loop->flow->module, statement, modifier));
}

bool loop_step_back(const struct ptx_loop *loop, const struct ptx_operand **at, int64_t *offset)
{
    const struct ptx_statement *def =
        (*at)->kind == PTX_OP_REGISTER ? loop_only_def(loop, flow_register(*at)) : NULL;
    bool is_sum;

    if (!def)
        return false;
    if (loop_is(loop, def, "mov", NULL) && def->n_operands == 2 && def->operands[1].kind == PTX_OP_REGISTER) {
        *at = &def->operands[1];
        return true;
    }
    is_sum = loop_is(loop, def, "add", NULL);
    if ((!is_sum && !loop_is(loop, def, "sub", NULL)) || def->match.row->family != PTX_VALUE ||
        def->n_operands != 3 || ptx_has(loop->flow->module, def, "sat") ||
        ptx_type_class(def->match.types[0]) == PTX_PACKED) /* the halves wrap separately */
        return false;
    if (def->operands[2].kind == PTX_OP_INT && def->operands[1].kind == PTX_OP_REGISTER) {
        *offset += is_sum ? (int64_t)def->operands[2].bits : -(int64_t)def->operands[2].bits;
        *at = &def->operands[1];
        return true;
    }
    if (is_sum && def->operands[1].kind == PTX_OP_INT && def->operands[2].kind == PTX_OP_REGISTER) {
        *offset += (int64_t)def->operands[1].bits;
        *at = &def->operands[2];
        return true;
    }
    return false;
}
