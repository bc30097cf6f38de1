/*
 * Instructions that compute: a call of the function that the table names, with conversions around
 * it.
 */
#include "cuda_cpu/emit/emit.h"

#include <string.h>

static enum ptx_type wide_of(enum ptx_type type)
{
    return type == PTX_U16 ? PTX_U32 : type == PTX_S16 ? PTX_S32 : type == PTX_U32 ? PTX_U64 : PTX_S64;
}

/* The type of an operand by its letter in the table. */
static enum ptx_type letter_type(const struct ptx_match *match, char letter)
{
    switch (letter) {
    case 'T':
        return match->types[0];
    case 'U':
        return match->types[1];
    case 'W':
        return wide_of(match->types[0]);
    case 's':
        return PTX_B64;
    case 'p':
    case 'P':
        return PTX_PRED;
    default:
        return PTX_B32;
    }
}

/*
 * Does .ftz apply to an operand of this type? In conversions: to f32. In slct: to the selector.
 * Elsewhere: to all.
 */
static bool flushes(const struct emitter *e, enum ptx_type type)
{
    if (type != PTX_F32 && (e->statement->match.row->family == PTX_CONVERT ||
                            (type != PTX_F64 && type != PTX_F16 && type != PTX_F16X2)))
        return false;
    return emit_has(e, "ftz");
}

static bool is_real(enum ptx_type type)
{
    enum ptx_class class = ptx_type_class(type);

    return class == PTX_FLOAT || type == PTX_F16X2 || type == PTX_BF16X2;
}

static void emit_input(struct emitter *e, const struct ptx_operand *operand, enum ptx_type type, bool exact)
{
    bool flush = flushes(e, type);

    if (flush)
        fprintf(e->out, "ftz_%s(", ptx_type_name(type));
    emit_source(e, operand, type, exact);
    if (flush)
        fputs(")", e->out);
}

/* Only a statement that looks at bits needs the one NaN that PTX defines. */
static bool sees_bits(const struct ptx_statement *statement)
{
    static const char *const blind[] = {"min", "max", "testp", "cvt"};

    if (statement->match.row->family == PTX_ARITH || statement->match.row->family == PTX_CONVERT)
        return false;
    for (unsigned i = 0; i < sizeof blind / sizeof blind[0]; i++)
        if (strcmp(statement->match.row->opcode, blind[i]) == 0)
            return false;
    return true;
}

void emit_value(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    const char *shape = s->match.row->operands;
    const char *function = s->match.function;
    enum ptx_type type = letter_type(&s->match, shape[0]);
    bool is_arithmetic =
        s->match.row->family == PTX_ARITH || (s->match.row->family == PTX_CONVERT && is_real(type));
    bool saturates = is_real(type) && emit_has(e, "sat") && strncmp(function, "cvt_pack", 8) != 0;
    bool is_select = strcmp(s->match.row->opcode, "slct") == 0;
    unsigned at = 1;
    const char *separator = "";

    emit_begin(e, &s->operands[0], type, is_arithmetic);
    if (saturates)
        e->closing += (unsigned)(fprintf(e->out, "sat_%s(", ptx_type_name(type)) > 0);
    if (emit_has(e, "relu") && s->match.row->family == PTX_ARITH)
        e->closing += (unsigned)(fprintf(e->out, "relu_%s(", ptx_type_name(type)) > 0);
    if (flushes(e, type) && !is_select)
        e->closing += (unsigned)(fprintf(e->out, "ftz_%s(", ptx_type_name(type)) > 0);
    if (strncmp(function, "mad_r", 5) == 0) /* mad of floating-point numbers is fma */
        fprintf(e->out, "fma%s(", function + 3);
    else
        fprintf(e->out, "%s(", function);
    if (s->match.row->family == PTX_CARRY)
        fputs("&t->carry, ", e->out);
    for (const char *c = strchr(shape, '=') + 1; *c && at < s->n_operands; c++) {
        if (*c == ' ' || *c == '?')
            continue;
        fputs(separator, e->out);
        if (is_select && *c != 'U')
            emit_source(e, &s->operands[at++], letter_type(&s->match, *c), true);
        else
            emit_input(e, &s->operands[at++], letter_type(&s->match, *c), sees_bits(s));
        separator = ", ";
    }
    fputs(")", e->out);
    emit_end(e);
}

/* The comparison: the first one among the modifiers. */
static void comparison(const struct emitter *e, char ret_name[8])
{
    const struct ptx_token *dot = e->statement->opcode + 1;

    (void)snprintf(ret_name, 8, "%.*s", (int)dot->length - 1, e->module->source.text + dot->offset + 1);
}

static const char *combination(const struct emitter *e)
{
    return emit_has(e, "and") ? " & " : emit_has(e, "or") ? " | " : emit_has(e, "xor") ? " ^ " : NULL;
}

/* c0 = a ? b; for pairs of halves also c1. The third operand is combined with the result. */
static void emit_comparison(struct emitter *e, enum ptx_type type)
{
    const struct ptx_statement *s = e->statement;
    bool is_pair = type == PTX_F16X2 || type == PTX_BF16X2;
    const char *name = type == PTX_F16X2 ? "f16" : type == PTX_BF16X2 ? "bf16" : ptx_type_name(type);
    char compare[8];

    comparison(e, compare);
    fprintf(e->out, "{ const %s a_ = ", emit_c_type(type));
    emit_input(e, &s->operands[1], type, false);
    fputs(", b_ = ", e->out);
    emit_input(e, &s->operands[2], type, false);
    if (is_pair)
        fprintf(e->out, "; uint8_t c0_ = cmp_%s_%s(LOW(a_), LOW(b_)), c1_ = cmp_%s_%s(HIGH(a_), HIGH(b_));",
                compare, name, compare, name);
    else
        fprintf(e->out, "; uint8_t c0_ = cmp_%s_%s(a_, b_), c1_ = !c0_;", compare, name);
    if (combination(e) && s->n_operands > 3) {
        fputs(" const uint8_t p_ = ", e->out);
        emit_source(e, &s->operands[3], PTX_PRED, false);
        fprintf(e->out, "; c0_ = c0_%sp_; c1_ = c1_%sp_;", combination(e), combination(e));
    }
    fputs(" ", e->out);
}

void emit_compare(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    const struct ptx_operand *d = &s->operands[0];

    if (s->match.row->family == PTX_SETP) {
        emit_comparison(e, s->match.types[0]);
        emit_begin(e, d->kind == PTX_OP_PAIR ? &d->parts[0] : d, PTX_PRED, false);
        fputs("c0_", e->out);
        emit_end(e);
        if (d->kind == PTX_OP_PAIR) {
            emit_begin(e, &d->parts[1], PTX_PRED, false);
            fputs("c1_", e->out);
            emit_end(e);
        }
    } else {
        enum ptx_type type = s->match.types[0];
        bool is_pair = s->match.types[1] == PTX_F16X2 || s->match.types[1] == PTX_BF16X2;
        const char *one = type == PTX_F32                          ? "1.0f"
                          : type == PTX_F16 || type == PTX_F16X2   ? "0x3c00"
                          : type == PTX_BF16 || type == PTX_BF16X2 ? "0x3f80"
                          : is_pair                                ? "0xffff"
                                                                   : "-1";

        emit_comparison(e, s->match.types[1]);
        emit_begin(e, d, type, false);
        if (is_pair)
            fprintf(e->out, "pack16(c0_ ? %s : 0, c1_ ? %s : 0)", one, one);
        else
            fprintf(e->out, "(%s)(c0_ ? %s : 0)", emit_c_type(type), one);
        emit_end(e);
    }
    fputs("}\n", e->out);
}

static enum ptx_type bits_of(unsigned size)
{
    return size == 1 ? PTX_B8 : size == 2 ? PTX_B16 : size == 4 ? PTX_B32 : PTX_B64;
}

/* {a, b, ...} = x through a copy in memory; the least significant part comes first. */
static void emit_unpack(struct emitter *e, const struct ptx_operand *d, enum ptx_type type)
{
    unsigned size = ptx_type_size(type) / d->n_parts;

    fprintf(e->out, "{ const %s x_ = ", emit_c_type(type));
    emit_source(e, &e->statement->operands[1], type, true);
    fputs("; ", e->out);
    for (unsigned i = 0; i < d->n_parts; i++) {
        if (d->parts[i].kind == PTX_OP_SINK)
            continue;
        emit_begin(e, &d->parts[i], bits_of(size), false);
        if (type == PTX_B128)
            fprintf(e->out, "(%s)(x_.%s >> %u)", emit_c_type(bits_of(size)), i * size >= 8 ? "high" : "low",
                    i * size % 8 * 8);
        else
            fprintf(e->out, "(%s)(x_ >> %u)", emit_c_type(bits_of(size)), i * size * 8);
        emit_end(e);
    }
    fputs("}\n", e->out);
}

static void emit_parts(struct emitter *e, const struct ptx_operand *a, unsigned size, unsigned first,
                       unsigned end)
{
    for (unsigned i = first; i < end; i++) {
        fprintf(e->out, "%s((uint64_t)(%s)(", i > first ? " | " : "", emit_c_type(bits_of(size)));
        emit_source(e, &a->parts[i], bits_of(size), true);
        fprintf(e->out, ") << %u)", (i - first) * size * 8);
    }
}

static void emit_pack(struct emitter *e, const struct ptx_operand *a, enum ptx_type type)
{
    unsigned size = ptx_type_size(type) / a->n_parts;

    emit_begin(e, &e->statement->operands[0], type, false);
    if (type == PTX_B128) {
        fputs("(wide128){", e->out);
        emit_parts(e, a, size, 0, a->n_parts / 2);
        fputs(", ", e->out);
        emit_parts(e, a, size, a->n_parts / 2, a->n_parts);
        fputs("}", e->out);
    } else {
        fprintf(e->out, "(%s)(", emit_c_type(type));
        emit_parts(e, a, size, 0, a->n_parts);
        fputs(")", e->out);
    }
    emit_end(e);
}

void emit_move(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    enum ptx_type type = s->match.types[0];

    if (s->operands[0].kind == PTX_OP_VECTOR) {
        emit_unpack(e, &s->operands[0], type);
    } else if (s->operands[1].kind == PTX_OP_VECTOR) {
        emit_pack(e, &s->operands[1], type);
    } else {
        emit_begin(e, &s->operands[0], type, false);
        emit_source(e, &s->operands[1], type, true);
        emit_end(e);
    }
}
