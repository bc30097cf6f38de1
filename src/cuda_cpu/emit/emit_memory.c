/* Loads, stores, atomics, copies, and addresses of spaces. */
#include "cuda_cpu/emit/emit.h"

#include <inttypes.h>
#include <string.h>

static bool is_volatile(const struct emitter *e)
{
    return emit_has(e, "volatile") || emit_has(e, "relaxed") || emit_has(e, "acquire") ||
           emit_has(e, "release") || emit_has(e, "mmio");
}

static void emit_load(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    enum ptx_type type = s->match.types[0];
    unsigned size = ptx_type_size(type);
    const struct ptx_operand *d = &s->operands[0];

    fputs("{ const unsigned char *q_ = ", e->out);
    emit_pointer(e, &s->operands[1], ptx_statement_space(e->module, s), size * s->match.vector);
    fputs("; ", e->out);
    for (unsigned i = 0; i < s->match.vector; i++) {
        const struct ptx_operand *part = d->kind == PTX_OP_VECTOR ? &d->parts[i] : d;

        emit_begin(e, part, type, false);
        fprintf(e->out, "%s(%s, q_ + %u)", is_volatile(e) ? "READ_V" : "READ", emit_c_type(type), i * size);
        emit_end(e);
    }
    if (emit_has(e, "acquire"))
        fputs("__atomic_thread_fence(__ATOMIC_SEQ_CST); ", e->out);
    fputs("}\n", e->out);
}

static void emit_store(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    enum ptx_type type = s->match.types[0];
    unsigned size = ptx_type_size(type);
    const struct ptx_operand *value = &s->operands[1];

    fputs("{ unsigned char *q_ = ", e->out);
    emit_pointer(e, &s->operands[0], ptx_statement_space(e->module, s), size * s->match.vector);
    fputs("; ", e->out);
    if (emit_has(e, "release"))
        fputs("__atomic_thread_fence(__ATOMIC_SEQ_CST); ", e->out);
    for (unsigned i = 0; i < s->match.vector; i++) {
        fprintf(e->out, "%s(%s, q_ + %u, ", is_volatile(e) ? "WRITE_V" : "WRITE", emit_c_type(type),
                i * size);
        emit_source(e, value->kind == PTX_OP_VECTOR ? &value->parts[i] : value, type, true);
        fputs("); ", e->out);
    }
    fputs("}\n", e->out);
}

/* cp.async copies at once. Bytes beyond the source become zero. */
static void emit_copy(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    uint64_t bytes = s->operands[2].bits;

    fprintf(e->out, "{ uint32_t n_ = %" PRIu64 ", m_ = ", bytes);
    if (s->n_operands > 3)
        emit_source(e, &s->operands[3], PTX_U32, false);
    else
        fprintf(e->out, "%" PRIu64, bytes);
    fputs("; unsigned char *d_ = ", e->out);
    emit_pointer(e, &s->operands[0], PTX_SHARED, bytes == 4 || bytes == 8 ? (unsigned)bytes : 16);
    fputs("; if (m_ > n_) m_ = n_; if (m_) __builtin_memcpy(d_, ", e->out);
    emit_pointer(e, &s->operands[1], PTX_GLOBAL, bytes == 4 || bytes == 8 ? (unsigned)bytes : 16);
    fputs(", m_); __builtin_memset(d_ + m_, 0, n_ - m_); }\n", e->out);
}

void emit_memory(struct emitter *e)
{
    switch (e->statement->match.row->family) {
    case PTX_LOAD:
        e->is_checked = emit_group_check(e);
        emit_load(e);
        break;
    case PTX_STORE:
        e->is_checked = emit_group_check(e);
        emit_store(e);
        break;
    default:
        emit_copy(e);
        break;
    }
    e->is_checked = false;
}

/* The operation, found among the modifiers. */
static const char *operation(const struct emitter *e)
{
    static const char *const names[] = {"and", "or", "xor", "exch", "add", "inc", "dec", "min", "max", "cas"};

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (emit_has(e, names[i]))
            return names[i];
    return "add";
}

void emit_atomic(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    enum ptx_type type = s->match.types[0];
    enum ptx_space space = ptx_statement_space(e->module, s);
    bool has_result = s->match.row->family == PTX_ATOMIC;
    const struct ptx_operand *sources = s->operands + has_result;
    bool is_cas = emit_has(e, "cas");

    if (has_result)
        emit_begin(e, &s->operands[0], type, false);
    else
        fputs("(void)", e->out);
    fprintf(e->out, "atom_%s_%s(", operation(e), ptx_type_name(type));
    emit_pointer(e, &sources[0], space, ptx_type_size(type));
    for (unsigned i = 1; i <= (is_cas ? 2U : 1U); i++) {
        fputs(", ", e->out);
        emit_source(e, &sources[i], type, true);
    }
    fprintf(e->out, ", %d)", space == PTX_SHARED);
    if (has_result)
        emit_end(e);
    else
        fputs(";\n", e->out);
}

/* cvta and isspacep. Global, constant, local and parameter addresses are already generic. */
void emit_space(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    enum ptx_space space = ptx_statement_space(e->module, s);
    const struct ptx_operand *a = &s->operands[1];

    if (strcmp(s->match.row->opcode, "isspacep") == 0) {
        fputs("{ const uint64_t a_ = ", e->out);
        emit_source(e, a, PTX_U64, false);
        fputs("; const uint8_t s_ = a_ - (uint64_t)SHARED_BASE < SHARED_SIZE, "
              "l_ = a_ - t->stack_low < t->stack_high - t->stack_low || a_ - (uint64_t)t->frames < "
              "t->frames_bytes, "
              "c_ = a_ - t->constants < t->constants_end - t->constants; ",
              e->out);
        emit_begin(e, &s->operands[0], PTX_PRED, false);
        fputs(space == PTX_SHARED  ? "s_"
              : space == PTX_LOCAL ? "l_"
              : space == PTX_CONST ? "c_"
              : space == PTX_PARAM ? "a_ - (uint64_t)t->parameters < t->parameter_bytes"
                                   : "!s_ & !l_ & !c_",
              e->out);
        emit_end(e);
        fputs("}\n", e->out);
        return;
    }
    emit_begin(e, &s->operands[0], PTX_U64, false);
    if (space == PTX_SHARED)
        fputs(emit_has(e, "to") ? "-(uint64_t)SHARED_BASE + " : "(uint64_t)SHARED_BASE + ", e->out);
    emit_source(e, a, PTX_U64, false);
    emit_end(e);
}
