#include "spirv/spirv_loop.h"

/* Does every round pass the block? */
static bool on_every_round(const struct spirv_loop *loop, uint32_t block)
{
    for (uint32_t b = 0; b < loop->flow->n_blocks; b++)
        for (uint32_t s = 0; loop->loop_of[b] == loop->number && s < loop->flow->blocks[b].n_successors; s++)
            if (loop->flow->blocks[b].successors[s] == loop->header &&
                !spirv_flow_dominates(loop->flow, block, b))
                return false;
    return true;
}

static bool is_zero(const struct spirv_instruction *i)
{
    for (size_t at = 3; at < i->n_words; at++)
        if (i->words[at])
            return false;
    return true;
}

/* A value that does not change in the loop and is not the constant 0. */
static bool is_step(const struct spirv_loop *loop, uint32_t id)
{
    const struct spirv_instruction *i = spirv_loop_define(loop, id);

    for (int depth = 0; i && depth < LOOP_DEEPEST; depth++) {
        if (i->opcode == OP_CONSTANT)
            return !is_zero(i);
        if (i->opcode == OP_LOAD && i->n_words >= 4 &&
            spirv_storage_of(loop->finder->module, i->words[3]) == STORAGE_INPUT)
            return true;
        if (!spirv_loop_has(loop, i))
            return true;
        if (i->opcode != OP_UCONVERT && i->opcode != OP_SCONVERT && i->opcode != OP_COMPOSITE_EXTRACT)
            return false;
        i = spirv_loop_define(loop, i->words[3]);
    }
    return false;
}

/* The value behind conversions and additions of constants. */
static const struct spirv_instruction *stripped(const struct spirv_loop *loop, uint32_t id)
{
    const struct spirv_instruction *i = spirv_loop_define(loop, id);

    for (int depth = 0; i && depth < LOOP_DEEPEST && i->n_words >= 4; depth++) {
        const struct spirv_instruction *second =
            i->n_words >= 5 ? spirv_loop_define(loop, i->words[4]) : NULL;
        bool shifted =
            (i->opcode == OP_IADD || i->opcode == OP_ISUB) && second && second->opcode == OP_CONSTANT;

        if (!shifted && i->opcode != OP_UCONVERT && i->opcode != OP_SCONVERT && i->opcode != OP_BITCAST)
            break;
        i = spirv_loop_define(loop, i->words[3]);
    }
    return i;
}

static bool reads_variable(const struct spirv_loop *loop, uint32_t id, uint32_t variable)
{
    const struct spirv_instruction *i = spirv_loop_define(loop, id);

    return i && i->opcode == OP_LOAD && i->n_words >= 4 && i->words[3] == variable;
}

/* Is the value `from` plus or minus a step? from: a phi, or a variable that is loaded. */
static bool is_moved(const struct spirv_loop *loop, uint32_t id, uint32_t from, bool variable)
{
    const struct spirv_instruction *i = spirv_loop_define(loop, id);

    for (int depth = 0; i && depth < LOOP_DEEPEST && i->n_words >= 4; depth++) {
        if ((i->opcode == OP_IADD || i->opcode == OP_ISUB) && i->n_words >= 5) {
            bool first = variable ? reads_variable(loop, i->words[3], from) : i->words[3] == from;
            bool second = variable ? reads_variable(loop, i->words[4], from) : i->words[4] == from;

            return (first && is_step(loop, i->words[4])) ||
                   (second && i->opcode == OP_IADD && is_step(loop, i->words[3]));
        }
        if (i->opcode != OP_UCONVERT && i->opcode != OP_SCONVERT)
            return false;
        i = spirv_loop_define(loop, i->words[3]);
    }
    return false;
}

static bool phi_moves(const struct spirv_loop *loop, const struct spirv_instruction *phi)
{
    size_t at = (size_t)(phi - loop->finder->module->instructions);

    if (spirv_flow_block_at(loop->flow, at) != loop->header)
        return false;
    for (size_t w = 3; w + 1 < phi->n_words; w += 2) {
        const struct spirv_instruction *label = spirv_loop_define(loop, phi->words[w + 1]);

        if (label && spirv_loop_has(loop, label) && !is_moved(loop, phi->words[w], phi->result, false))
            return false;
    }
    return true;
}

/*
 * Does each round store the variable moved by a step, and does the loop store nothing else there?
 */
static bool variable_moves(const struct spirv_loop *loop, uint32_t variable)
{
    const struct spirv_module *module = loop->finder->module;
    bool every_round = false;

    if (spirv_loop_escapes(loop, variable))
        return false;
    for (uint32_t b = 0; b < loop->flow->n_blocks; b++)
        for (size_t n = loop->flow->blocks[b].begin;
             loop->loop_of[b] == loop->number && n < loop->flow->blocks[b].end; n++) {
            const struct spirv_instruction *i = &module->instructions[n];

            if (i->opcode != OP_STORE || i->n_words < 3 ||
                spirv_loop_variable(module, i->words[1]) != variable)
                continue;
            if (i->words[1] != variable || !is_moved(loop, i->words[2], variable, true))
                return false;
            every_round = every_round || on_every_round(loop, b);
        }
    return every_round;
}

static bool moves(const struct spirv_loop *loop, uint32_t id)
{
    const struct spirv_instruction *i = stripped(loop, id);
    const struct spirv_instruction *variable;

    if (!i || !spirv_loop_has(loop, i))
        return false;
    if (i->opcode == OP_PHI)
        return phi_moves(loop, i);
    if (i->opcode != OP_LOAD || i->n_words < 4)
        return false;
    variable = spirv_loop_define(loop, i->words[3]);
    return variable && variable->opcode == OP_VARIABLE && variable->words[3] == STORAGE_FUNCTION &&
           variable_moves(loop, variable->result);
}

/*
 * Is the result of a compare-and-exchange compared with its comparand, which was read from the same
 * place in this round or the last?
 */
static bool is_retry(const struct spirv_loop *loop, uint32_t result, uint32_t compared)
{
    const struct spirv_instruction *cas = stripped(loop, result);
    const struct spirv_instruction *value = stripped(loop, compared);

    if (!cas || cas->opcode != OP_ATOMIC_LOAD + 3 || cas->n_words < 9 || !spirv_loop_has(loop, cas) ||
        !value || stripped(loop, cas->words[8]) != value || !spirv_loop_has(loop, value))
        return false;
    if ((value->opcode == OP_LOAD || value->opcode == OP_ATOMIC_LOAD) && value->n_words >= 4)
        return value->words[3] == cas->words[3];
    if (value->opcode != OP_PHI)
        return false;
    for (size_t w = 3; w + 1 < value->n_words; w += 2) {
        const struct spirv_instruction *label = spirv_loop_define(loop, value->words[w + 1]);

        if (label && spirv_loop_has(loop, label) && stripped(loop, value->words[w]) != cas)
            return false;
    }
    return true;
}

static bool compares_moving(const struct spirv_loop *loop, const struct spirv_instruction *i)
{
    if (i->opcode < OP_IEQUAL || i->opcode > OP_SLESS_THAN_EQUAL || i->n_words < 5)
        return false;
    if (moves(loop, i->words[3]) || moves(loop, i->words[4]))
        return true;
    return (i->opcode == OP_IEQUAL || i->opcode == OP_INOT_EQUAL) &&
           (is_retry(loop, i->words[3], i->words[4]) || is_retry(loop, i->words[4], i->words[3]));
}

/*
 * Does the loop itself make the condition become `leaving`? Of "and" and "or" one side is enough if
 * it decides alone.
 */
static bool ends_by_itself(const struct spirv_loop *loop, uint32_t condition, bool leaving, int depth)
{
    enum { LOGICAL_OR = 166, LOGICAL_AND = 167, LOGICAL_NOT = 168 };
    const struct spirv_instruction *i = spirv_loop_define(loop, condition);

    if (!i || i->n_words < 4 || depth > 8)
        return false;
    if (i->opcode == LOGICAL_NOT)
        return ends_by_itself(loop, i->words[3], !leaving, depth + 1);
    if (i->opcode == (leaving ? LOGICAL_OR : LOGICAL_AND) && i->n_words >= 5)
        return ends_by_itself(loop, i->words[3], leaving, depth + 1) ||
               ends_by_itself(loop, i->words[4], leaving, depth + 1);
    return compares_moving(loop, i);
}

bool spirv_loop_ends(const struct spirv_loop *loop)
{
    const struct spirv_module *module = loop->finder->module;

    for (uint32_t b = 0; loop->header != SPIRV_NO_BLOCK && b < loop->flow->n_blocks; b++) {
        const struct spirv_flow_block *block = &loop->flow->blocks[b];
        const struct spirv_instruction *last = &module->instructions[block->end];

        if (loop->loop_of[b] != loop->number || last->opcode != OP_BRANCH_CONDITIONAL ||
            !on_every_round(loop, b))
            continue;
        for (uint32_t s = 0; s < 2; s++)
            if (loop->loop_of[block->successors[s]] != loop->number &&
                ends_by_itself(loop, last->words[1], s == 0, 0))
                return true;
    }
    return false;
}
