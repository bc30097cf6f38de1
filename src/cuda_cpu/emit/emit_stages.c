/*
 * Kernels in stages. A kernel that waits only where all threads of its block do (bar.sync 0) needs
 * no stack per thread. A thread that arrives saves the registers that are still needed in its frame
 * and returns. The loop over the threads calls it again when all have arrived. The frame also holds
 * the thread's local variables.
 */
#include "cuda_cpu/emit/emit.h"
#include "ptx/flow_graph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BITS = 1 << 28 };

/* The study of one routine. Sets of registers are rows of `words` 64-bit words. */
struct stages {
    const struct ptx_routine *routine;
    size_t *first;                      /* by id of a range: number of its first register */
    const struct ptx_register **ranges; /* by id */
    size_t n_ids, n_registers, words;
    uint32_t *row; /* by statement: its set, for labels and barriers */
    uint64_t *sets;
    size_t n_rows;
    uint64_t *now; /* the set at the statement being visited */
    bool has_changed;
};

static size_t number_of(const struct stages *s, const struct ptx_operand *operand)
{
    return s->first[operand->reg->id] + operand->index;
}

static void add_uses(struct stages *s, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OP_REGISTER) {
        size_t k = number_of(s, operand);

        s->now[k / 64] |= UINT64_C(1) << k % 64;
    }
    for (unsigned i = 0; i < operand->n_parts; i++)
        add_uses(s, &operand->parts[i]);
}

static void remove_written(struct stages *s, const struct ptx_operand *operand)
{
    if (operand->kind == PTX_OP_REGISTER && !operand->component && operand->reg->vector == 1) {
        size_t k = number_of(s, operand);

        s->now[k / 64] &= ~(UINT64_C(1) << k % 64);
    }
    for (unsigned i = 0; i < operand->n_parts; i++)
        remove_written(s, &operand->parts[i]);
}

static void join_target(void *context, size_t successor)
{
    struct stages *s = context;

    if (s->routine->statements[successor].kind == PTX_STATEMENT_LABEL)
        for (size_t w = 0; w < s->words; w++)
            s->now[w] |= s->sets[s->row[successor] * s->words + w];
}

static void keep(struct stages *s, size_t i)
{
    uint64_t *set = s->sets + s->row[i] * s->words;

    if (memcmp(set, s->now, s->words * sizeof *set) != 0) {
        memcpy(set, s->now, s->words * sizeof *set);
        s->has_changed = true;
    }
}

static bool falls_through(const struct ptx_statement *statement)
{
    enum ptx_family family = statement->match.row->family;

    return statement->guard || (family != PTX_BRANCH && family != PTX_INDEXED && family != PTX_RETURN &&
                                family != PTX_EXIT && family != PTX_TRAP);
}

/* From the set behind the statement to the one before it. */
static void step_back(struct stages *s, size_t i)
{
    const struct ptx_statement *statement = &s->routine->statements[i];
    bool writes;

    if (statement->kind == PTX_STATEMENT_LABEL) {
        keep(s, i);
        return;
    }
    writes = statement->n_operands && statement->match.row->operands[0] != '=';
    if (!falls_through(statement))
        memset(s->now, 0, s->words * sizeof *s->now);
    if (statement->match.row->family == PTX_BRANCH || statement->n_targets)
        ptx_successors(s->routine, i, join_target, s);
    if (writes && !statement->guard)
        remove_written(s, &statement->operands[0]);
    if (statement->match.row->family == PTX_BARRIER)
        keep(s, i);
    for (unsigned k = writes; k < statement->n_operands; k++)
        add_uses(s, &statement->operands[k]);
    if (writes && statement->operands[0].kind == PTX_OP_ADDRESS)
        add_uses(s, &statement->operands[0]);
    if (statement->guard)
        add_uses(s, statement->guard);
    if (statement->callee)
        add_uses(s, statement->callee);
}

static int number_registers(struct stages *s)
{
    int r = emit_number_registers(s->routine, &s->first, &s->n_registers);

    if (r < 0)
        return r;
    for (const struct ptx_register *reg = s->routine->registers; reg; reg = reg->next)
        if (reg->id >= s->n_ids)
            s->n_ids = reg->id + 1;
    s->ranges = calloc(s->n_ids + 1, sizeof *s->ranges);
    s->row = calloc(s->routine->n + 1, sizeof *s->row);
    if (!s->ranges || !s->row)
        return -ENOMEM;
    for (const struct ptx_register *reg = s->routine->registers; reg; reg = reg->next)
        s->ranges[reg->id] = reg;
    s->words = s->n_registers / 64 + 1;
    for (size_t i = 0; i < s->routine->n; i++) {
        const struct ptx_statement *statement = &s->routine->statements[i];

        if (statement->kind == PTX_STATEMENT_LABEL || statement->match.row->family == PTX_BARRIER)
            s->row[i] = (uint32_t)s->n_rows++;
    }
    if ((uint64_t)s->n_rows * s->words * 64 > MOST_BITS)
        return -E2BIG;
    s->sets = calloc(s->n_rows * s->words + 1, sizeof *s->sets);
    s->now = calloc(s->words, sizeof *s->now);
    return s->sets && s->now ? 0 : -ENOMEM;
}

int emit_study_stages(const struct unit_routine *routine, struct stages **ret_stages)
{
    struct stages *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->routine = routine->routine;
    r = number_registers(s);
    if (r < 0) {
        emit_free_stages(s);
        return r;
    }
    do {
        s->has_changed = false;
        memset(s->now, 0, s->words * sizeof *s->now);
        for (size_t i = s->routine->n; i-- > 0;)
            step_back(s, i);
    } while (s->has_changed);
    *ret_stages = s;
    return 0;
}

void emit_free_stages(struct stages *s)
{
    if (!s)
        return;
    free(s->first);
    free(s->ranges);
    free(s->row);
    free(s->sets);
    free(s->now);
    free(s);
}

/* Is the register in the set of barrier i? */
static bool is_kept(const struct stages *s, size_t i, size_t k)
{
    return s->sets[s->row[i] * s->words + k / 64] >> k % 64 & 1;
}

static bool is_barrier(const struct ptx_statement *statement)
{
    return statement->kind == PTX_STATEMENT_OPERATION && statement->match.row->family == PTX_BARRIER;
}

static bool is_kept_anywhere(const struct stages *s, size_t k)
{
    for (size_t i = 0; i < s->routine->n; i++)
        if (is_barrier(&s->routine->statements[i]) && is_kept(s, i, k))
            return true;
    return false;
}

static void emit_name(FILE *out, const struct ptx_register *reg, uint32_t index, unsigned component)
{
    fprintf(out, "r%u_%u", reg->id, index);
    if (component)
        fprintf(out, "_%u", component);
}

void emit_frame(const struct stages *s, size_t index, FILE *out)
{
    fprintf(out, "struct frame%zu {\nuint32_t at, carry;\n", index);
    for (unsigned bytes = 16; bytes; bytes /= 2) /* the widest first, so that there are no gaps */
        for (const struct ptx_register *reg = s->routine->registers; reg; reg = reg->next)
            for (uint32_t i = 0; i < (reg->count ? reg->count : 1) && ptx_type_size(reg->type) == bytes;
                 i++) {
                if (!is_kept_anywhere(s, s->first[reg->id] + i))
                    continue;
                for (unsigned c = reg->vector > 1; c <= (reg->vector > 1 ? reg->vector : 0); c++) {
                    fprintf(out, "%s ", emit_storage_name(emit_storage_of(reg, i)));
                    emit_name(out, reg, i, c);
                    fputs(";\n", out);
                }
            }
    for (const struct ptx_variable *v = s->routine->variables; v; v = v->next)
        if (v->space == PTX_LOCAL)
            fprintf(out, "unsigned char v%u[%" PRIu64 "] __attribute__((aligned(%u)));\n", v->id,
                    v->size ? v->size : 1, v->alignment < 16 ? 16 : v->alignment);
    fputs("};\n", out);
}

/* Copies registers that are needed behind barrier i to the frame, or from it. */
static void emit_transfer(const struct stages *s, size_t i, bool is_saved, FILE *out)
{
    for (size_t id = 0; id < s->n_ids; id++) {
        const struct ptx_register *reg = s->ranges[id];

        for (uint32_t k = 0; reg && k < (reg->count ? reg->count : 1); k++)
            for (unsigned c = reg->vector > 1;
                 is_kept(s, i, s->first[id] + k) && c <= (reg->vector > 1 ? reg->vector : 0); c++) {
                fputs(is_saved ? "F->" : "", out);
                emit_name(out, reg, k, c);
                fputs(is_saved ? " = " : " = F->", out);
                emit_name(out, reg, k, c);
                fputs("; ", out);
            }
    }
}

void emit_resume(const struct stages *s, FILE *out)
{
    fputs("switch (F->at) {\n", out);
    for (size_t i = 0; i < s->routine->n; i++)
        if (is_barrier(&s->routine->statements[i])) {
            fprintf(out, "case %zu: t->carry = F->carry; ", i + 1);
            emit_transfer(s, i, false, out);
            fprintf(out, "goto R%zu;\n", i);
        }
    fputs("}\n", out);
}

/* bar.sync 0 or bar.red on barrier 0, among all threads of the block. */
void emit_stage_barrier(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    bool reduces = emit_has(e, "red");

    fputs("S->arrived++; ", e->out);
    if (reduces) {
        fputs("S->trues += ", e->out);
        emit_source(e, &s->operands[s->n_operands - 1], PTX_PRED, false);
        fputs("; ", e->out);
    }
    fprintf(e->out, "F->at = %zu; F->carry = t->carry; ", e->index + 1);
    emit_transfer(e->stages, e->index, true, e->out);
    fprintf(e->out, "return 1;\nR%zu:;\n", e->index);
    if (reduces) {
        emit_begin(e, &s->operands[0], s->match.types[0] == PTX_PRED ? PTX_PRED : PTX_U32, false);
        fputs(emit_has(e, "popc")  ? "S->last_trues"
              : emit_has(e, "and") ? "S->last_trues == S->last_arrived"
                                   : "S->last_trues != 0",
              e->out);
        emit_end(e);
    }
}
