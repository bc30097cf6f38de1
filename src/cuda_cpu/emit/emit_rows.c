/*
 * Rows without checks. In a kernel that is one straight run of statements, addresses usually grow
 * by a constant from thread to thread. The threads of a row have equal tid.y and tid.z. Then the
 * first and the last thread of a row decide for all of them. They tell whether each address stays
 * in the space, and whether each condition is the same. Such a row runs a body without checks and
 * without the branch to the end, which the compiler can turn into vector instructions. Every other
 * row runs the ordinary body.
 *
 * A value is uniform (the same in the whole row) or steps by a constant from thread to thread. The
 * arithmetic is modulo 2^32 or 2^64, and a step is exact only if nothing wraps between the ends. So
 * a value may be widened from 32 to 64 bits once; the difference of the two ends shows whether it
 * wrapped.
 */
#include "cuda_cpu/emit/emit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PROBES = 48, MOST_STEP = 1 << 16 };

enum value_kind { VALUE_OTHER, VALUE_UNIFORM, VALUE_STEPS };

struct value {
    enum value_kind kind;
    int64_t step;    /* from thread to thread */
    bool is_widened; /* from 32 to 64 bits */
};

static const struct value unknown = {VALUE_OTHER, 0, false};
static const struct value uniform_value = {VALUE_UNIFORM, 0, false};

enum probe_kind { PROBE_ADDRESS, PROBE_SAME, PROBE_NOT_TAKEN, PROBE_NUMBER };

/* What is computed for the first and the last thread of a row. */
struct row_probe {
    enum probe_kind kind;
    const struct ptx_operand *operand;
    enum ptx_type type; /* of a number */
    int64_t step, low, high;
    unsigned bytes;
};

struct rows {
    const struct unit_routine *routine;
    const struct ptx_module *module;
    size_t end; /* the straight run: [0, end) */
    size_t *first;
    struct value *values; /* by register */
    uint8_t *writes;      /* by register: 0, 1, 2 for more */
    size_t *written_at;   /* by register: statement */
    bool *is_needed;      /* by statement: the probes use its result */
    uint32_t *probe_of;   /* by statement: 1 + probe of its address; 0: none */
    struct row_probe probes[MOST_PROBES];
    unsigned n;
};

static bool is(const struct ptx_statement *s, const char *opcode)
{
    return strcmp(s->match.row->opcode, opcode) == 0;
}

static struct value value_of(const struct rows *r, const struct ptx_operand *o)
{
    static const char *const uniform[] = {"%tid", "%ntid", "%ctaid", "%nctaid"};

    switch (o->kind) {
    case PTX_OP_REGISTER:
        return o->component || o->is_negated ? unknown : r->values[r->first[o->reg->id] + o->index];
    case PTX_OP_INT:
    case PTX_OP_F32:
    case PTX_OP_F64:
    case PTX_OP_VARIABLE:
        return uniform_value;
    case PTX_OP_SPECIAL:
        if (strcmp(o->special->name, "%tid") == 0 && o->component <= 1)
            return (struct value){VALUE_STEPS, 1, false};
        for (unsigned i = 0; i < sizeof uniform / sizeof uniform[0]; i++)
            if (strcmp(o->special->name, uniform[i]) == 0)
                return uniform_value;
        return unknown;
    default:
        return unknown;
    }
}

static struct value sum_of(struct value a, struct value b, int sign)
{
    struct value sum = {VALUE_STEPS, a.step + sign * b.step, a.is_widened || b.is_widened};

    if (a.kind == VALUE_OTHER || b.kind == VALUE_OTHER)
        return unknown;
    if (a.kind == VALUE_UNIFORM && b.kind == VALUE_UNIFORM)
        return a;
    /* Two widened values could wrap at different threads. */
    return a.kind == VALUE_STEPS && b.kind == VALUE_STEPS && sum.is_widened ? unknown : sum;
}

static struct value product_of(struct value a, struct value b, const struct ptx_operand *factor)
{
    if (a.kind == VALUE_UNIFORM && b.kind == VALUE_UNIFORM)
        return a;
    if (a.kind != VALUE_STEPS || factor->kind != PTX_OP_INT || factor->bits > MOST_STEP)
        return unknown;
    a.step *= (int64_t)factor->bits;
    return a;
}

static struct value widened(struct value v)
{
    if (v.kind == VALUE_STEPS && v.is_widened)
        return unknown;
    v.is_widened = v.kind == VALUE_STEPS;
    return v;
}

static bool is_integer(enum ptx_type type)
{
    return (ptx_type_size(type) == 4 || ptx_type_size(type) == 8) && ptx_type_class(type) != PTX_FLOAT &&
           type != PTX_F16X2 && type != PTX_BF16X2;
}

/* A function of its operands: uniform if all of them are. */
static struct value value_of_any(const struct rows *r, const struct ptx_statement *s)
{
    for (unsigned i = 1; i < s->n_operands; i++)
        if (value_of(r, &s->operands[i]).kind != VALUE_UNIFORM)
            return unknown;
    return uniform_value;
}

static struct value compute(const struct rows *r, const struct ptx_statement *s)
{
    const struct ptx_operand *o = s->operands;
    struct value a = s->n_operands > 1 ? value_of(r, &o[1]) : unknown;
    struct value b = s->n_operands > 2 ? value_of(r, &o[2]) : unknown;
    struct value any = value_of_any(r, s);
    bool is_wide = ptx_has(r->module, s, "wide");

    if (any.kind == VALUE_UNIFORM || !is_integer(s->match.types[0]) || ptx_has(r->module, s, "sat") ||
        ptx_has(r->module, s, "hi"))
        return any;
    if (is(s, "mov"))
        return a;
    if (is(s, "add") || is(s, "sub"))
        return sum_of(a, b, is(s, "add") ? 1 : -1);
    if (is(s, "mul") || is(s, "mad")) {
        struct value product = product_of(a, b, &o[2]);

        if (is_wide)
            product = widened(product);
        return is(s, "mul") ? product : sum_of(product, value_of(r, &o[3]), 1);
    }
    if (is(s, "shl") && o[2].kind == PTX_OP_INT && o[2].bits < 16)
        return product_of(a, b, &(struct ptx_operand){.kind = PTX_OP_INT, .bits = UINT64_C(1) << o[2].bits});
    if (is(s, "cvt") && is_integer(s->match.types[1]) && ptx_type_size(s->match.types[0]) == 8 &&
        ptx_type_size(s->match.types[1]) == 4)
        return widened(a);
    if (is(s, "cvt") && is_integer(s->match.types[1]) &&
        ptx_type_size(s->match.types[0]) == ptx_type_size(s->match.types[1]))
        return a;
    return any;
}

static bool add_probe(struct rows *r, struct row_probe probe)
{
    if (r->n == MOST_PROBES)
        return false;
    r->probes[r->n++] = probe;
    return true;
}

/* Compares a value that steps with one that does not: uniform if both ends of the row agree. */
static bool look_at_comparison(struct rows *r, const struct ptx_statement *s, struct value *ret_value)
{
    static const char *const steady[] = {"lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"};
    enum ptx_type type = s->match.types[0];
    struct value a = value_of(r, &s->operands[1]);
    struct value b = s->n_operands > 2 ? value_of(r, &s->operands[2]) : unknown;
    bool is_steady = false;

    *ret_value = value_of_any(r, s);
    if (ret_value->kind == VALUE_UNIFORM || s->operands[0].kind != PTX_OP_REGISTER)
        return true;
    for (unsigned i = 0; i < sizeof steady / sizeof steady[0]; i++)
        is_steady = is_steady || ptx_has(r->module, s, steady[i]);
    if (!is_steady || s->n_operands != 3 || !is_integer(type) || ptx_type_class(type) == PTX_BITS ||
        a.kind + b.kind != VALUE_UNIFORM + VALUE_STEPS || a.kind == VALUE_OTHER || b.kind == VALUE_OTHER)
        return true;
    *ret_value = uniform_value;
    return add_probe(r, (struct row_probe){.kind = PROBE_NUMBER,
                                           .operand = &s->operands[a.kind == VALUE_STEPS ? 1 : 2],
                                           .type = type,
                                           .step = a.kind == VALUE_STEPS ? a.step : b.step}) &&
           add_probe(r, (struct row_probe){.kind = PROBE_SAME, .operand = &s->operands[0]});
}

/* False: an access about which the ends of the row say nothing. */
static bool look_at_access(struct rows *r, size_t i, const struct ptx_statement *s)
{
    const struct ptx_operand *address = s->match.row->family == PTX_LOAD ? &s->operands[1] : &s->operands[0];
    const struct ptx_operand *base = address->parts;
    enum ptx_space space = ptx_statement_space(r->module, s);
    unsigned bytes = ptx_type_size(s->match.types[0]) * s->match.vector;
    int64_t offset = (int64_t)address->bits;
    struct value v = value_of(r, base);

    if (base->kind == PTX_OP_VARIABLE)
        return base->variable->space == PTX_PARAM && s->match.row->family == PTX_LOAD;
    if (base->kind != PTX_OP_REGISTER || ptx_type_size(base->type) != 8 || v.kind == VALUE_OTHER ||
        s->guard || (space != PTX_GLOBAL && space != PTX_GENERIC && space != PTX_CONST) || v.step % bytes ||
        offset > 1 << 20 || offset < -(1 << 20) || offset % bytes || ptx_has(r->module, s, "volatile") ||
        ptx_has(r->module, s, "relaxed") || ptx_has(r->module, s, "acquire") ||
        ptx_has(r->module, s, "release") || ptx_has(r->module, s, "mmio"))
        return false;
    for (unsigned k = 0; k < r->n; k++) {
        struct row_probe *probe = &r->probes[k];

        if (probe->kind != PROBE_ADDRESS || probe->operand->reg != base->reg ||
            probe->operand->index != base->index)
            continue;
        probe->low = offset < probe->low ? offset : probe->low;
        probe->high = offset + bytes > probe->high ? offset + bytes : probe->high;
        probe->bytes = bytes > probe->bytes ? bytes : probe->bytes;
        r->probe_of[i] = k + 1;
        return v.step % probe->bytes == 0;
    }
    r->probe_of[i] = r->n + 1;
    return add_probe(r, (struct row_probe){.kind = PROBE_ADDRESS,
                                           .operand = base,
                                           .step = v.step,
                                           .low = offset < 0 ? offset : 0,
                                           .high = offset + bytes,
                                           .bytes = bytes});
}

static void define(struct rows *r, const struct ptx_statement *s, struct value value)
{
    const struct ptx_operand *o = &s->operands[0];

    if (o->kind == PTX_OP_REGISTER && !o->component && o->reg->vector == 1 && !s->guard) {
        size_t k = r->first[o->reg->id] + o->index;

        if (r->writes[k] == 1)
            r->values[k] = value;
    }
}

/* False: the kernel cannot have rows without checks. */
static bool look_at(struct rows *r, size_t i)
{
    const struct ptx_statement *s = &r->routine->routine->statements[i];
    struct value value = {0};

    switch (s->match.row->family) {
    case PTX_VALUE:
    case PTX_ARITH:
    case PTX_SET:
    case PTX_CONVERT:
    case PTX_MOVE:
        define(r, s, s->operands[0].kind == PTX_OP_REGISTER ? compute(r, s) : value);
        return true;
    case PTX_SETP:
        if (!look_at_comparison(r, s, &value))
            return false;
        define(r, s, value);
        return true;
    case PTX_SPACE:
        if (!is(s, "cvta") || ptx_statement_space(r->module, s) != PTX_GLOBAL)
            return false;
        define(r, s, value_of(r, &s->operands[1]));
        return true;
    case PTX_LOAD:
        if (s->operands[1].parts->kind == PTX_OP_VARIABLE && s->operands[0].kind == PTX_OP_REGISTER)
            define(r, s, uniform_value);
        return look_at_access(r, i, s);
    case PTX_STORE:
        return look_at_access(r, i, s);
    case PTX_BRANCH:
        return s->guard && s->operands[0].label >= r->end &&
               r->writes[r->first[s->guard->reg->id] + s->guard->index] == 1 &&
               r->values[r->first[s->guard->reg->id] + s->guard->index].kind == VALUE_UNIFORM &&
               add_probe(r, (struct row_probe){.kind = PROBE_NOT_TAKEN, .operand = s->guard});
    case PTX_RETURN:
    case PTX_EXIT:
        return !s->guard;
    case PTX_NOTHING:
        return true;
    default:
        return false;
    }
}

static void count_writes(struct rows *r, const struct ptx_operand *o, size_t i)
{
    if (o->kind == PTX_OP_REGISTER) {
        size_t k = r->first[o->reg->id] + o->index;

        r->writes[k] = r->writes[k] ? 2 : 1;
        r->written_at[k] = i;
    }
    for (unsigned k = 0; k < o->n_parts; k++)
        count_writes(r, &o->parts[k], i);
}

static void need(struct rows *r, const struct ptx_operand *o)
{
    if (o->kind == PTX_OP_REGISTER && r->writes[r->first[o->reg->id] + o->index]) {
        size_t i = r->written_at[r->first[o->reg->id] + o->index];
        const struct ptx_statement *s = &r->routine->routine->statements[i];

        if (!r->is_needed[i]) {
            r->is_needed[i] = true;
            for (unsigned k = 1; k < s->n_operands; k++)
                need(r, &s->operands[k]);
        }
    }
    for (unsigned k = 0; k < o->n_parts; k++)
        need(r, &o->parts[k]);
}

/* One straight run, and only the end behind its first label. */
static bool is_straight(struct rows *r)
{
    const struct ptx_routine *f = r->routine->routine;

    while (r->end < f->n && f->statements[r->end].kind == PTX_STATEMENT_OPERATION)
        r->end++;
    for (size_t i = r->end; i < f->n; i++)
        if (f->statements[i].kind == PTX_STATEMENT_OPERATION &&
            f->statements[i].match.row->family != PTX_RETURN &&
            f->statements[i].match.row->family != PTX_EXIT)
            return false;
    return r->end > 0;
}

static bool study(struct rows *r)
{
    const struct ptx_routine *f = r->routine->routine;
    bool has_access = false;

    if (!is_straight(r))
        return false;
    for (size_t i = 0; i < r->end; i++)
        if (f->statements[i].n_operands && f->statements[i].match.row->operands[0] != '=')
            count_writes(r, &f->statements[i].operands[0], i);
    for (size_t i = 0; i < r->end; i++)
        if (!look_at(r, i))
            return false;
    for (unsigned k = 0; k < r->n; k++) {
        has_access = has_access || r->probes[k].kind == PROBE_ADDRESS;
        need(r, r->probes[k].operand);
    }
    return has_access;
}

int emit_study_rows(const struct unit_routine *routine, struct rows **ret_rows)
{
    struct rows *r = calloc(1, sizeof *r);
    size_t n = 0;
    int result = r ? emit_number_registers(routine->routine, &r->first, &n) : -ENOMEM;

    *ret_rows = NULL;
    if (result == 0) {
        r->routine = routine;
        r->module = routine->module;
        r->values = calloc(n + 1, sizeof *r->values);
        r->writes = calloc(n + 1, sizeof *r->writes);
        r->written_at = calloc(n + 1, sizeof *r->written_at);
        r->is_needed = calloc(routine->routine->n + 1, sizeof *r->is_needed);
        r->probe_of = calloc(routine->routine->n + 1, sizeof *r->probe_of);
        if (!r->values || !r->writes || !r->written_at || !r->is_needed || !r->probe_of)
            result = -ENOMEM;
        else if (study(r)) {
            *ret_rows = r;
            return 0;
        }
    }
    emit_free_rows(r);
    return result;
}

void emit_free_rows(struct rows *r)
{
    if (!r)
        return;
    free(r->first);
    free(r->values);
    free(r->writes);
    free(r->written_at);
    free(r->is_needed);
    free(r->probe_of);
    free(r);
}

bool emit_is_needed(const struct rows *r, size_t i)
{
    return r->is_needed[i];
}

bool emit_row_pointer(struct emitter *e, const struct ptx_operand *address)
{
    const struct row_probe *probe;

    if (!e->rows || !e->rows->probe_of[e->index])
        return false;
    probe = &e->rows->probes[e->rows->probe_of[e->index] - 1];
    fprintf(e->out,
            "(unsigned char *)(A[%u] + (uint64_t)tid_x * UINT64_C(%" PRIu64 ") + UINT64_C(%" PRIu64 "))",
            e->rows->probe_of[e->index] - 1, (uint64_t)probe->step, address->bits);
    return true;
}

unsigned emit_probes(const struct rows *r)
{
    return r->n;
}

void emit_probe_values(struct emitter *e, const struct rows *r)
{
    for (unsigned k = 0; k < r->n; k++) {
        const struct row_probe *probe = &r->probes[k];

        fprintf(e->out, "A[%u] = ", k);
        if (probe->kind == PROBE_NUMBER && ptx_type_class(probe->type) == PTX_SIGNED)
            fputs(ptx_type_size(probe->type) == 4 ? "(uint64_t)(int64_t)(int32_t)" : "", e->out);
        emit_source(e, probe->operand,
                    probe->kind == PROBE_ADDRESS  ? PTX_U64
                    : probe->kind == PROBE_NUMBER ? (ptx_type_size(probe->type) == 4 ? PTX_U32 : PTX_U64)
                                                  : PTX_PRED,
                    false);
        fputs(";\n", e->out);
    }
}

void emit_row_condition(const struct rows *r, FILE *out)
{
    for (unsigned k = 0; k < r->n; k++) {
        const struct row_probe *p = &r->probes[k];

        fputs(k ? "\n& " : "", out);
        switch (p->kind) {
        case PROBE_ADDRESS:
            fprintf(out,
                    "(A[%u] + (uint64_t)(ntid_x - 1) * UINT64_C(%" PRIu64 ") == B[%u] & !(A[%u] & %u) & "
                    "row_is_inside(A[%u], B[%u], UINT64_C(%" PRIu64 "), UINT64_C(%" PRIu64
                    "), SPACE, SPACE_SIZE))",
                    k, (uint64_t)p->step, k, k, p->bytes - 1, k, k, (uint64_t)p->low, (uint64_t)p->high);
            break;
        case PROBE_SAME:
            fprintf(out, "(A[%u] == B[%u])", k, k);
            break;
        case PROBE_NOT_TAKEN:
            fprintf(out, "!A[%u]", k);
            break;
        case PROBE_NUMBER:
            fprintf(out,
                    "(A[%u] + (uint64_t)(ntid_x - 1) * UINT64_C(%" PRIu64
                    ") == B[%u] & (%sB[%u] %s %sA[%u]))",
                    k, (uint64_t)p->step, k, ptx_type_class(p->type) == PTX_SIGNED ? "(int64_t)" : "", k,
                    p->step < 0 ? "<=" : ">=", ptx_type_class(p->type) == PTX_SIGNED ? "(int64_t)" : "", k);
            break;
        }
    }
}
