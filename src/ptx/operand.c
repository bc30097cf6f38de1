/*
 * Operands: registers, constants, addresses, vectors. Names are resolved here; types are checked in
 * operand_check.c.
 */
#include "ptx/reader.h"

#include <errno.h>
#include <string.h>

enum { DEEPEST = 4 };

static int read_nested(struct ptx_reader *reader, struct ptx_operand *ret_operand, unsigned depth);

static int copy_parts(struct ptx_reader *reader, const struct ptx_operand *parts, unsigned n,
                      struct ptx_operand *operand)
{
    operand->parts = arena_calloc(&reader->module->arena, n ? n : 1, sizeof *parts);
    if (!operand->parts)
        return -ENOMEM;
    memcpy(operand->parts, parts, n * sizeof *parts);
    operand->n_parts = n;
    return 0;
}

/*
 * A word that nothing has declared may be a label that follows. The operand must then stay at its
 * address, so only scalars may be labels.
 */
static int read_name(struct ptx_reader *reader, struct ptx_operand *operand)
{
    struct ptx_name name = ptx_name_of(reader, reader->at);
    const struct ptx_symbol *symbol;

    if (ptx_name_is(name, "_")) {
        operand->kind = PTX_OP_SINK;
    } else if ((operand->reg = ptx_find_register(reader, name, &operand->index))) {
        operand->kind = PTX_OP_REGISTER;
        operand->type = operand->reg->type;
    } else if ((symbol = ptx_find(reader, name)) && symbol->kind == PTX_SYMBOL_VARIABLE) {
        operand->kind = PTX_OP_VARIABLE;
        operand->variable = symbol->object;
    } else if (symbol && symbol->kind == PTX_SYMBOL_ROUTINE) {
        operand->kind = PTX_OP_ROUTINE;
        operand->routine = symbol->object;
    } else if ((operand->special = ptx_find_special(name))) {
        operand->kind = PTX_OP_SPECIAL;
        operand->type = operand->special->type;
        if (operand->special->name[0] == '%' && name.length > strlen(operand->special->name))
            for (uint32_t i = (uint32_t)strlen(operand->special->name); i < name.length; i++)
                operand->bits = operand->bits * 10 + (unsigned)(name.text[i] - '0');
    } else if (name.text[0] == '%' && !symbol) {
        if (!reader->is_outline)
            return ptx_bad(reader, "a declared register");
        operand->reg = ptx_add_implicit(reader, reader->at);
        if (!operand->reg)
            return -ENOMEM;
        operand->kind = PTX_OP_REGISTER;
    } else {
        operand->kind = PTX_OP_LABEL;
        operand->bits = 1; /* ptx_read_operation() resolves it */
    }
    reader->at++;
    return 0;
}

static int read_component(struct ptx_reader *reader, struct ptx_operand *operand)
{
    static const char *const names[] = {".x", ".y", ".z", ".w", ".r", ".g", ".b", ".a"};
    bool wants = operand->kind == PTX_OP_SPECIAL
                     ? operand->special->has_components
                     : operand->kind == PTX_OP_REGISTER && operand->reg->vector > 1;

    if (reader->at->kind != PTX_TOKEN_DOT) {
        if (wants && operand->kind == PTX_OP_SPECIAL)
            return ptx_bad(reader, ".x, .y or .z");
        return 0;
    }
    for (unsigned i = 0; wants && i < 8; i++)
        if (ptx_accept(reader, names[i])) {
            operand->component = (uint8_t)(i % 4 + 1);
            if (operand->kind == PTX_OP_REGISTER && i % 4 >= operand->reg->vector)
                break;
            return 0;
        }
    return ptx_bad(reader, "a component that this operand has");
}

static int read_number(struct ptx_reader *reader, struct ptx_operand *operand)
{
    bool is_negative = false;

    while (ptx_at(reader, "-") || ptx_at(reader, "+"))
        is_negative ^= ptx_token_is(&reader->module->source, reader->at++, "-");
    operand->bits = reader->at->value;
    if (reader->at->kind == PTX_TOKEN_INT) {
        operand->kind = PTX_OP_INT;
        operand->bits = is_negative ? 0 - operand->bits : operand->bits;
    } else if (reader->at->kind == PTX_TOKEN_F32) {
        operand->kind = PTX_OP_F32;
        operand->bits ^= (uint64_t)is_negative << 31;
    } else if (reader->at->kind == PTX_TOKEN_F64) {
        operand->kind = PTX_OP_F64;
        operand->bits ^= (uint64_t)is_negative << 63;
    } else {
        return ptx_bad(reader, "an operand");
    }
    reader->at++;
    return 0;
}

/* {a, b, ...} */
static int read_vector(struct ptx_reader *reader, struct ptx_operand *operand, unsigned depth)
{
    struct ptx_operand parts[8];
    unsigned n = 0;
    int r = ptx_expect(reader, "{");

    while (!r) {
        if (n == sizeof parts / sizeof parts[0])
            return ptx_bad(reader, "at most 8 elements");
        r = read_nested(reader, &parts[n++], depth + 1);
        if (!r && !ptx_accept(reader, ","))
            break;
    }
    if (!r)
        r = ptx_expect(reader, "}");
    operand->kind = PTX_OP_VECTOR;
    return r ? r : copy_parts(reader, parts, n, operand);
}

/* [a], [a + 4], [object, {x, y}], [object, sampler, {x, y}] */
static int read_address(struct ptx_reader *reader, struct ptx_operand *operand, unsigned depth)
{
    struct ptx_operand parts[3];
    unsigned n = 1;
    int r = ptx_expect(reader, "[");

    if (!r)
        r = read_nested(reader, &parts[0], depth + 1);
    operand->kind = PTX_OP_ADDRESS;
    if (!r && (ptx_at(reader, "+") || ptx_at(reader, "-"))) {
        r = ptx_constant(reader, &operand->bits);
    }
    while (!r && n < 3 && ptx_accept(reader, ",")) {
        operand->kind = PTX_OP_OBJECT;
        r = read_nested(reader, &parts[n++], depth + 1);
    }
    if (!r)
        r = ptx_expect(reader, "]");
    return r ? r : copy_parts(reader, parts, n, operand);
}

static int read_nested(struct ptx_reader *reader, struct ptx_operand *ret_operand, unsigned depth)
{
    int r;

    *ret_operand = (struct ptx_operand){.token = reader->at};
    if (depth > DEEPEST)
        return ptx_bad(reader, "operands nested at most %d deep", DEEPEST);
    if (ptx_accept(reader, "!"))
        ret_operand->is_negated = true;
    if (ptx_at(reader, "{"))
        return read_vector(reader, ret_operand, depth);
    if (ptx_at(reader, "["))
        return read_address(reader, ret_operand, depth);
    if (reader->at->kind != PTX_TOKEN_WORD)
        return read_number(reader, ret_operand);
    r = read_name(reader, ret_operand);
    if (!r)
        r = read_component(reader, ret_operand);
    if (!r && ret_operand->kind == PTX_OP_VARIABLE && depth == 0 &&
        (ptx_at(reader, "+") || ptx_at(reader, "-")))
        r = ptx_constant(reader, &ret_operand->bits);
    return r;
}

int ptx_read_operand(struct ptx_reader *reader, struct ptx_operand *ret_operand)
{
    int r = read_nested(reader, ret_operand, 0);

    if (!r && ptx_accept(reader, "|")) {
        struct ptx_operand parts[2] = {*ret_operand};

        r = read_nested(reader, &parts[1], 1);
        ret_operand->kind = PTX_OP_PAIR;
        ret_operand->reg = NULL;
        if (!r)
            r = copy_parts(reader, parts, 2, ret_operand);
    }
    return r;
}

/* One name of a flat statement; the other tokens say nothing that is needed. */
static int read_flat_one(struct ptx_reader *reader, struct ptx_operand *operand)
{
    int r;

    *operand = (struct ptx_operand){.token = reader->at};
    r = read_name(reader, operand);
    if (!r && operand->kind == PTX_OP_SPECIAL && reader->at->kind == PTX_TOKEN_DOT)
        r = read_component(reader, operand) == -ENOMEM ? -ENOMEM : 0;
    return r;
}

/* What an instruction writes is its first operand, never an address. */
int ptx_read_flat(struct ptx_reader *reader, struct ptx_statement *statement)
{
    const struct ptx_token *end = reader->at;
    size_t room = 0;
    unsigned braces = 0;
    bool is_first = true;
    bool in_address = false;

    for (; !ptx_token_is(&reader->module->source, end, ";") && end->kind != PTX_TOKEN_END; end++)
        room += end->kind == PTX_TOKEN_WORD;
    if (end->kind == PTX_TOKEN_END) {
        reader->at = end;
        return ptx_bad(reader, "; behind the instruction");
    }
    statement->is_flat = true;
    statement->n_operands = 0;
    statement->operands = arena_calloc(&reader->module->arena, room ? room : 1, sizeof *statement->operands);
    if (!statement->operands)
        return -ENOMEM;
    while (reader->at < end) {
        int r = 0;

        if (reader->at->kind != PTX_TOKEN_WORD) {
            braces += ptx_at(reader, "{");
            braces -= braces && ptx_at(reader, "}");
            in_address = ptx_at(reader, "[") || (in_address && !ptx_at(reader, "]"));
            is_first &= braces || in_address || !ptx_at(reader, ",");
            reader->at++;
            continue;
        }
        r = read_flat_one(reader, &statement->operands[statement->n_operands]);
        if (!r && statement->operands[statement->n_operands].kind == PTX_OP_LABEL)
            r = ptx_expect_label(reader, &statement->operands[statement->n_operands]);
        if (r)
            return r;
        statement->operands[statement->n_operands].may_write = is_first && !in_address;
        if (statement->operands[statement->n_operands].kind == PTX_OP_REGISTER)
            statement->operands[statement->n_operands]
                .reg->used[statement->operands[statement->n_operands].index] |= PTX_IS_READ;
        statement->n_operands++;
    }
    return 0;
}

int ptx_read_targets(struct ptx_reader *reader, const struct ptx_token *name)
{
    struct ptx_targets *targets = arena_calloc(&reader->module->arena, 1, sizeof *targets);
    const struct ptx_token *end = reader->at;
    unsigned room = 1;
    int r;

    if (!targets)
        return -ENOMEM;
    reader->at++;
    for (; !ptx_token_is(&reader->module->source, end, ";") && end->kind != PTX_TOKEN_END; end++)
        room += ptx_token_is(&reader->module->source, end, ",");
    targets->labels = arena_calloc(&reader->module->arena, room, sizeof *targets->labels);
    if (!targets->labels)
        return -ENOMEM;
    do {
        struct ptx_operand *label = &targets->labels[targets->n++];
        struct ptx_name ignored;

        label->kind = PTX_OP_LABEL;
        label->token = reader->at;
        r = targets->n > room ? ptx_bad(reader, ";") : ptx_expect_word(reader, "a label", &ignored);
        if (!r)
            r = ptx_expect_label(reader, label);
    } while (!r && ptx_accept(reader, ","));
    if (!r)
        r = ptx_expect(reader, ";");
    return r ? r : ptx_declare(reader, PTX_SYMBOL_TARGETS, name, targets);
}
