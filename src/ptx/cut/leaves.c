/* Exits that the loop itself brings about: retried, ticket (waits.h). */
#include "ptx/cut/ptx_loop.h"

enum { LONGEST_CHAIN = 16, DEEPEST_CONDITION = 8 };

enum comparison { EQ, NE, LT, LE, GT, GE, NO_COMPARISON };

static enum comparison negated(enum comparison op)
{
    static const enum comparison of[] = {NE, EQ, GE, GT, LE, LT, NO_COMPARISON};

    return of[op];
}

static enum comparison swapped(enum comparison op)
{
    static const enum comparison of[] = {EQ, NE, GT, GE, LT, LE, NO_COMPARISON};

    return of[op];
}

static enum comparison comparison_of(const struct ptx_loop *loop, const struct ptx_statement *setp)
{
    static const struct {
        const char *name;
        enum comparison op;
    } names[] = {{"eq", EQ}, {"ne", NE}, {"lt", LT}, {"le", LE}, {"gt", GT},
                 {"ge", GE}, {"lo", LT}, {"ls", LE}, {"hi", GT}, {"hs", GE}};

    switch (ptx_type_class(setp->match.types[0])) {
    case PTX_BITS:
    case PTX_UNSIGNED:
    case PTX_SIGNED:
        break;
    default:
        return NO_COMPARISON;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (ptx_has(loop->flow->module, setp, names[i].name))
            return names[i].op;
    return NO_COMPARISON;
}

static bool same_register(const struct ptx_operand *a, const struct ptx_operand *b)
{
    return a->kind == PTX_OP_REGISTER && b->kind == PTX_OP_REGISTER && flow_register(a) == flow_register(b) &&
           a->component == b->component;
}

/* The statement whose result the operand is a copy of; *ret_offset: what was added to it. */
static const struct ptx_statement *origin_of(const struct ptx_loop *loop, const struct ptx_operand *operand,
                                             int64_t *ret_offset)
{
    const struct ptx_operand *at = operand;

    *ret_offset = 0;
    for (unsigned i = 0; i < LONGEST_CHAIN; i++)
        if (!loop_step_back(loop, &at, ret_offset))
            return at->kind == PTX_OP_REGISTER ? loop_only_def(loop, flow_register(at)) : NULL;
    return NULL;
}

static bool is_fixed_address(const struct ptx_loop *loop, const struct ptx_operand *address)
{
    return address->kind == PTX_OP_ADDRESS && loop_is_fixed(loop, &address->parts[0]);
}

static bool same_address(const struct ptx_operand *a, const struct ptx_operand *b)
{
    const struct ptx_operand *x = a->parts;
    const struct ptx_operand *y = b->parts;

    if (a->kind != PTX_OP_ADDRESS || b->kind != PTX_OP_ADDRESS || a->bits != b->bits)
        return false;
    return same_register(x, y) ||
           (x->kind == PTX_OP_VARIABLE && y->kind == PTX_OP_VARIABLE && x->variable == y->variable);
}

/* The operand is what the exchange returned in the round before, or what a load from there gave. */
static bool was_read_there(const struct ptx_loop *loop, const struct ptx_operand *expected,
                           const struct ptx_statement *exchange)
{
    int64_t offset;
    const struct ptx_statement *from = origin_of(loop, expected, &offset);

    if (!from || offset != 0)
        return false;
    return from == exchange || (from->match.row->family == PTX_LOAD && from->match.vector == 1 &&
                                same_address(&from->operands[1], &exchange->operands[1]));
}

static bool same_value(const struct ptx_loop *loop, const struct ptx_operand *a, const struct ptx_operand *b)
{
    const struct ptx_operand *x = a;
    int64_t offset = 0;

    for (unsigned i = 0; i < LONGEST_CHAIN; i++) {
        const struct ptx_operand *y = b;
        int64_t other = 0;

        for (unsigned k = 0; k < LONGEST_CHAIN; k++) {
            if (same_register(x, y) && offset == other)
                return true;
            if (!loop_step_back(loop, &y, &other))
                break;
        }
        if (!loop_step_back(loop, &x, &offset))
            return false;
    }
    return false;
}

/* found == expected, where found = atom.cas [fixed], expected, any and expected was read there. */
static bool is_retried(const struct ptx_loop *loop, const struct ptx_operand *found,
                       const struct ptx_operand *expected)
{
    int64_t offset;
    const struct ptx_statement *exchange = origin_of(loop, found, &offset);

    if (!exchange || offset != 0 || exchange->match.row->family != PTX_ATOMIC ||
        !loop_is(loop, exchange, "atom", "cas") || exchange->n_operands < 4)
        return false;
    return is_fixed_address(loop, &exchange->operands[1]) &&
           same_value(loop, expected, &exchange->operands[2]) &&
           was_read_there(loop, &exchange->operands[2], exchange);
}

/* taken >= bound, where taken = atom.add [fixed], a positive constant. */
static bool is_ticket(const struct ptx_loop *loop, const struct ptx_operand *taken,
                      const struct ptx_operand *bound, enum comparison op)
{
    int64_t offset;
    const struct ptx_statement *addition = origin_of(loop, taken, &offset);

    if ((op != GT && op != GE) || !addition || addition->match.row->family != PTX_ATOMIC ||
        !loop_is(loop, addition, "atom", "add") || addition->n_operands < 3 ||
        ptx_type_class(addition->match.types[0]) == PTX_FLOAT ||
        ptx_type_class(addition->match.types[0]) == PTX_PACKED)
        return false;
    return is_fixed_address(loop, &addition->operands[1]) && addition->operands[2].kind == PTX_OP_INT &&
           (int64_t)addition->operands[2].bits > 0 && addition->operands[2].bits < 1 << 30 &&
           loop_is_fixed(loop, bound);
}

static bool comparison_leaves(const struct ptx_loop *loop, const struct ptx_statement *setp, bool holds)
{
    const struct ptx_operand *a = &setp->operands[1];
    const struct ptx_operand *b = &setp->operands[2];
    enum comparison op = comparison_of(loop, setp);

    if (!holds)
        op = negated(op);
    if (op == EQ && (is_retried(loop, a, b) || is_retried(loop, b, a)))
        return true;
    return is_ticket(loop, a, b, op) || is_ticket(loop, b, a, swapped(op));
}

static bool leaves_when(const struct ptx_loop *loop, const struct ptx_operand *predicate, bool value,
                        unsigned depth);

/* One of several conditions, combined so that each alone is enough. */
static bool setp_leaves(const struct ptx_loop *loop, const struct ptx_statement *setp, bool value,
                        unsigned depth)
{
    bool is_joined = setp->n_operands > 3;

    if (is_joined && !ptx_has(loop->flow->module, setp, value ? "or" : "and"))
        return false;
    return comparison_leaves(loop, setp, value) ||
           (is_joined && leaves_when(loop, &setp->operands[3], value, depth + 1));
}

/*
 * Is the loop left when the predicate has this value, and does the loop itself bring that value
 * about?
 */
static bool leaves_when(const struct ptx_loop *loop, const struct ptx_operand *predicate, bool value,
                        unsigned depth)
{
    const struct ptx_statement *def;

    if (predicate->kind != PTX_OP_REGISTER || depth > DEEPEST_CONDITION)
        return false;
    def = loop_only_def(loop, flow_register(predicate));
    value ^= predicate->is_negated;
    if (!def || def->n_operands < 2)
        return false;
    if (def->match.row->family == PTX_SETP) {
        if (def->operands[0].kind == PTX_OP_PAIR) {
            if (def->n_operands > 3)
                return false;
            if (!same_register(&def->operands[0].parts[0], predicate))
                value = !value;
        }
        return setp_leaves(loop, def, value, depth);
    }
    if (loop_is(loop, def, "mov", "pred"))
        return leaves_when(loop, &def->operands[1], value, depth + 1);
    if (loop_is(loop, def, "not", "pred"))
        return leaves_when(loop, &def->operands[1], !value, depth + 1);
    if (loop_is(loop, def, value ? "or" : "and", "pred") && def->n_operands == 3)
        return leaves_when(loop, &def->operands[1], value, depth + 1) ||
               leaves_when(loop, &def->operands[2], value, depth + 1);
    return false;
}

bool loop_leaves(const struct ptx_loop *loop)
{
    const struct ptx_blocks *blocks = &loop->flow->blocks;

    for (size_t i = 0; i < loop->n; i++) {
        const struct ptx_block *block = &blocks->blocks[loop->members[i]];
        const struct ptx_statement *last =
            block->end > block->begin ? &loop->flow->routine->statements[block->end - 1] : NULL;
        bool jumps_out;
        bool falls_out;

        if (!last || last->kind != PTX_STATEMENT_OPERATION || !last->guard || last->is_flat ||
            !loop_passes(loop, loop->members[i]))
            continue;
        if (last->match.row->family == PTX_BRANCH) {
            jumps_out = !loop_has(loop, last->operands[0].label);
            falls_out = block->end == loop->flow->routine->n || !loop_has(loop, block->end);
        } else {
            jumps_out = last->match.row->family == PTX_RETURN || last->match.row->family == PTX_EXIT;
            falls_out = false;
        }
        if (jumps_out != falls_out && leaves_when(loop, last->guard, jumps_out, 0))
            return true;
    }
    return false;
}
