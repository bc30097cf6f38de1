/*
 * Loops over plain memory that walk: lists, rows, trees, bisections. Every round must compute, from
 * its own value, a register that decides about the loop's end or about the address that is read.
 */
#include "ptx/cut/ptx_loop.h"

enum { DEEPEST = 12, MOST_NODES = 96, MOST_HALVES = 64 };

/* How a value depends on a register within the loop. */
enum {
    DIRECT = 1,  /* it is computed from the register */
    IN_LOAD = 2, /* it is loaded from an address that is computed from the register */
    LOADS = 4,   /* it depends on a source */
    CHANGES = 8, /* an operation on the way usually gives another value than its operand */
};

struct tree {
    const struct ptx_loop *loop;
    uint32_t reg;
    unsigned nodes;
};

/* A register moves on if the predicate has this value. */
struct half {
    size_t block;
    uint32_t predicate;
    bool value;
};

struct halves {
    struct half list[MOST_HALVES];
    unsigned n;
};

static bool is_change(const struct ptx_loop *loop, const struct ptx_statement *statement)
{
    static const char *const opcodes[] = {"add", "sub", "mad", "mul", "shl", "shr", "xor",   "not",
                                          "neg", "div", "rem", "shf", "fma", "bfe", "mul24", "mad24"};

    return effect_opcode_is(loop->flow->module, statement, opcodes, sizeof opcodes / sizeof opcodes[0]);
}

static unsigned look(struct tree *tree, const struct ptx_operand *operand, bool in_load, unsigned depth);

static unsigned look_at_parts(struct tree *tree, const struct ptx_operand *operand, bool in_load,
                              unsigned depth)
{
    unsigned found = 0;

    for (unsigned i = 0; i < operand->n_parts; i++)
        found |= look(tree, &operand->parts[i], in_load, depth + 1);
    return found;
}

static unsigned look(struct tree *tree, const struct ptx_operand *operand, bool in_load, unsigned depth)
{
    const struct ptx_loop *loop = tree->loop;
    const struct ptx_statement *def;
    unsigned found = 0;
    bool is_source;

    if (operand->n_parts)
        return look_at_parts(tree, operand, in_load, depth);
    if (operand->kind != PTX_OP_REGISTER)
        return 0;
    if (flow_register(operand) == tree->reg)
        return in_load ? IN_LOAD : DIRECT;
    if (depth > DEEPEST || ++tree->nodes > MOST_NODES)
        return 0;
    def = loop_only_def(loop, flow_register(operand));
    if (!def)
        return 0;
    is_source = loop->flow->effects[def - loop->flow->routine->statements].sources != 0;
    for (unsigned i = 0; i < def->n_operands; i++)
        if (!effect_is_result(def, i))
            found |= look(tree, &def->operands[i], in_load || is_source, depth + 1);
    if (is_source)
        found |= LOADS;
    if (found & (DIRECT | IN_LOAD) && (is_source || is_change(loop, def)))
        found |= CHANGES;
    return found;
}

static bool moves_on(unsigned found)
{
    if (found & DIRECT)
        return found & CHANGES && !(found & LOADS);
    return found & IN_LOAD;
}

/* Does the value of the operand, given to the register, move the register on? */
static bool value_moves(const struct ptx_loop *loop, const struct ptx_operand *operand, uint32_t reg)
{
    struct tree tree = {.loop = loop, .reg = reg};

    return moves_on(look(&tree, operand, false, 0));
}

/* The same for the statement that defines the register. */
static bool statement_moves(const struct ptx_loop *loop, const struct ptx_statement *statement, uint32_t reg)
{
    bool is_source = loop->flow->effects[statement - loop->flow->routine->statements].sources != 0;
    struct tree tree = {.loop = loop, .reg = reg};
    unsigned found = 0;

    for (unsigned i = 0; i < statement->n_operands; i++)
        if (!effect_is_result(statement, i))
            found |= look(&tree, &statement->operands[i], is_source, 0);
    if (is_source)
        found |= LOADS;
    if (found & (DIRECT | IN_LOAD) && (is_source || is_change(loop, statement)))
        found |= CHANGES;
    return moves_on(found);
}

/* Back over copies to a selection between two values; NULL: there is none. */
static const struct ptx_statement *selection_of(const struct ptx_loop *loop,
                                                const struct ptx_statement *statement)
{
    for (unsigned i = 0; statement && i < DEEPEST; i++) {
        if (loop_is(loop, statement, "selp", NULL) && statement->n_operands == 4)
            return statement;
        if (!loop_is(loop, statement, "mov", NULL) || statement->n_operands != 2 ||
            statement->operands[1].kind != PTX_OP_REGISTER)
            return NULL;
        statement = loop_only_def(loop, flow_register(&statement->operands[1]));
    }
    return NULL;
}

static void add_half(struct halves *halves, size_t block, const struct ptx_operand *predicate, bool value)
{
    if (halves->n < MOST_HALVES && predicate->kind == PTX_OP_REGISTER)
        halves->list[halves->n++] =
            (struct half){block, flow_register(predicate), value ^ predicate->is_negated};
}

/* One definition of a register that decides: does it move, always or under a condition? */
static bool definition_moves(const struct ptx_loop *loop, size_t block, const struct ptx_statement *statement,
                             uint32_t reg, struct halves *halves)
{
    const struct ptx_statement *selection = selection_of(loop, statement);
    bool first;
    bool second;

    if (!selection) {
        if (!statement_moves(loop, statement, reg))
            return false;
        if (statement->guard)
            add_half(halves, block, statement->guard, true);
        return !statement->guard;
    }
    if (statement->guard)
        return false;
    first = value_moves(loop, &selection->operands[1], reg);
    second = value_moves(loop, &selection->operands[2], reg);
    if (first != second)
        add_half(halves, block, &selection->operands[3], first);
    return first && second;
}

static bool block_moves(const struct ptx_loop *loop, size_t block, struct halves *halves)
{
    const struct ptx_block *at = &loop->flow->blocks.blocks[block];

    for (size_t i = at->begin; i < at->end; i++) {
        const struct ptx_statement *statement = &loop->flow->routine->statements[i];

        if (statement->kind != PTX_STATEMENT_OPERATION || statement->is_flat || !statement->n_operands ||
            !effect_is_result(statement, 0) || statement->operands[0].kind != PTX_OP_REGISTER)
            continue;
        if (loop->scratch->in_slice[flow_register(&statement->operands[0])] == loop->id &&
            definition_moves(loop, block, statement, flow_register(&statement->operands[0]), halves))
            return true;
    }
    return false;
}

/* Two registers of one block, one of which moves if a predicate holds, the other if it does not. */
static void join_halves(const struct ptx_loop *loop, const struct halves *halves)
{
    for (unsigned i = 0; i < halves->n; i++)
        for (unsigned k = 0; k < i; k++)
            if (halves->list[i].block == halves->list[k].block &&
                halves->list[i].predicate == halves->list[k].predicate &&
                halves->list[i].value != halves->list[k].value)
                loop->scratch->moving[halves->list[i].block] = loop->id;
}

/* A fence, or waiting for time to pass, makes sense only if other blocks are expected to write. */
static bool has_fence(const struct ptx_loop *loop, const struct ptx_block *block)
{
    for (size_t i = block->begin; i < block->end; i++) {
        const struct ptx_statement *statement = &loop->flow->routine->statements[i];

        if (statement->kind == PTX_STATEMENT_OPERATION &&
            (statement->match.row->family == PTX_FENCE || statement->match.row->family == PTX_SLEEP ||
             loop_is(loop, statement, "fence", NULL)))
            return true;
    }
    return false;
}

bool loop_moves(const struct ptx_loop *loop)
{
    struct halves halves = {.n = 0};

    for (size_t i = 0; i < loop->n; i++) {
        const struct ptx_block *block = &loop->flow->blocks.blocks[loop->members[i]];

        if (!loop_spend(loop, 8 * (block->end - block->begin)) || has_fence(loop, block))
            return false;
        if (block_moves(loop, loop->members[i], &halves))
            loop->scratch->moving[loop->members[i]] = loop->id;
    }
    join_halves(loop, &halves);
    return loop_passes_moving(loop);
}
