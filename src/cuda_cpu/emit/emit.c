/* The frame of a unit: declarations, bodies, entries, tables. */
#include "cuda_cpu/emit/emit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COPIED = 1024 };

static void note(const struct ptx_operand *operand, enum ptx_type type, bool is_arithmetic)
{
    bool is_real = type == PTX_F32 || type == PTX_F64;

    if (operand->kind == PTX_OP_VECTOR || operand->kind == PTX_OP_PAIR) {
        for (unsigned i = 0; i < operand->n_parts; i++)
            note(&operand->parts[i], operand->kind == PTX_OP_VECTOR ? type : PTX_B32, is_arithmetic);
    } else if (operand->kind == PTX_OP_REGISTER) {
        /* A register wider than the type keeps its bits. */
        is_real = is_real && ptx_type_size(type) == ptx_type_size(operand->type) && !operand->component;
        operand->reg->used[operand->index] |=
            (uint8_t)((is_real ? EMIT_REAL : EMIT_OTHER) | (is_real && !is_arithmetic ? EMIT_RAW_REAL : 0));
    }
}

/* The type in which a statement defines its first operand. */
static enum ptx_type defined_type(const struct ptx_statement *s)
{
    switch (s->match.row->operands[0]) {
    case 'T':
    case 'V':
    case 'C':
        return s->match.types[0];
    case 'M':
        return s->operands[0].kind == PTX_OP_VECTOR ? PTX_B32 : s->match.types[0];
    default:
        return PTX_B32;
    }
}

void emit_study_registers(const struct unit_routine *routine)
{
    for (size_t i = 0; i < routine->routine->n; i++) {
        const struct ptx_statement *s = &routine->routine->statements[i];
        enum ptx_family family;

        if (s->kind != PTX_STATEMENT_OPERATION || !s->n_operands || s->match.row->operands[0] == '=')
            continue;
        family = s->match.row->family;
        note(&s->operands[0], defined_type(s), family == PTX_ARITH || family == PTX_CONVERT);
    }
}

int emit_number_registers(const struct ptx_routine *routine, size_t **ret_first, size_t *ret_n)
{
    size_t ids = 0;

    for (const struct ptx_register *reg = routine->registers; reg; reg = reg->next)
        if (reg->id >= ids)
            ids = reg->id + 1;
    *ret_first = calloc(ids + 1, sizeof **ret_first);
    *ret_n = 0;
    if (!*ret_first)
        return -ENOMEM;
    for (const struct ptx_register *reg = routine->registers; reg; reg = reg->next) {
        (*ret_first)[reg->id] = *ret_n;
        *ret_n += reg->count ? reg->count : 1;
    }
    return 0;
}

static void emit_head(const struct unit *unit, size_t index, bool is_staged, FILE *out)
{
    const struct ptx_routine *routine = unit->routines[index].routine;

    if (routine->is_entry) {
        fprintf(out,
                "DEVICE %s f%zu(struct device_thread *t, unsigned char *P, const uint32_t tid_x, "
                "const uint32_t tid_y, const uint32_t tid_z, ENTRY_FORMALS",
                is_staged ? "int" : "void", index);
        if (is_staged)
            fprintf(out, ", struct frame%zu *const F, struct barrier_stage *const S", index);
        fputs(")", out);
        return;
    }
    fprintf(out, "static void f%zu(struct device_thread *t", index);
    for (const struct ptx_variable *v = routine->returns; v; v = v->next)
        fprintf(out, ", unsigned char *v%u", v->id);
    for (const struct ptx_variable *v = routine->parameters; v; v = v->next)
        fprintf(out, ", unsigned char *v%u", v->id);
    fputs(")", out);
}

const char *emit_storage_name(enum emit_storage storage)
{
    static const char *const names[] = {
        [EMIT_U8] = "uint8_t", [EMIT_U16] = "uint16_t", [EMIT_U32] = "uint32_t", [EMIT_U64] = "uint64_t",
        [EMIT_F32] = "float",  [EMIT_F64] = "double",   [EMIT_W128] = "wide128"};

    return names[storage];
}

static void emit_registers(struct emitter *e)
{
    for (const struct ptx_register *reg = e->routine->routine->registers; reg; reg = reg->next)
        for (uint32_t i = 0; i < (reg->count ? reg->count : 1); i++) {
            enum emit_storage s = emit_storage_of(reg, i);

            if (!(reg->used[i] & (PTX_IS_READ | PTX_IS_WRITTEN)))
                continue;
            for (unsigned c = 1; reg->vector > 1 && c <= reg->vector; c++)
                fprintf(e->out, "%s r%u_%u_%u = 0;\n", emit_storage_name(s), reg->id, i, c);
            if (reg->vector == 1)
                fprintf(e->out, s == EMIT_W128 ? "%s r%u_%u = {0, 0};\n" : "%s r%u_%u = 0;\n",
                        emit_storage_name(s), reg->id, i);
        }
}

static void emit_variables(struct emitter *e)
{
    for (const struct ptx_variable *v = e->routine->routine->variables; v; v = v->next)
        if (e->stages && v->space == PTX_LOCAL)
            fprintf(e->out, "unsigned char *const v%u = F->v%u;\n", v->id, v->id);
        else if (v->space != PTX_SHARED)
            fprintf(e->out, "unsigned char v%u[%" PRIu64 "] __attribute__((aligned(%u)));\n", v->id,
                    v->size ? v->size : 1, v->alignment < 16 ? 16 : v->alignment);
}

static void emit_operation(struct emitter *e)
{
    static void (*const families[])(struct emitter *) = {
        [PTX_VALUE] = emit_value,       [PTX_ARITH] = emit_value,     [PTX_CARRY] = emit_value,
        [PTX_SETP] = emit_compare,      [PTX_SET] = emit_compare,     [PTX_MOVE] = emit_move,
        [PTX_CONVERT] = emit_value,     [PTX_LOAD] = emit_memory,     [PTX_STORE] = emit_memory,
        [PTX_ATOMIC] = emit_atomic,     [PTX_REDUCE] = emit_atomic,   [PTX_SPACE] = emit_space,
        [PTX_COPY] = emit_memory,       [PTX_BRANCH] = emit_flow,     [PTX_INDEXED] = emit_flow,
        [PTX_CALL] = emit_call,         [PTX_RETURN] = emit_flow,     [PTX_EXIT] = emit_flow,
        [PTX_TRAP] = emit_flow,         [PTX_BARRIER] = emit_barrier, [PTX_WARP] = emit_warp,
        [PTX_MBARRIER] = emit_mbarrier, [PTX_FENCE] = emit_flow,      [PTX_SLEEP] = emit_flow,
        [PTX_NOTHING] = emit_flow,      [PTX_TEXTURE] = emit_texture, [PTX_SURFACE] = emit_surface,
        [PTX_STACK] = emit_flow,        [PTX_REFUSED] = emit_flow,
    };

    if (e->statement->guard) {
        fputs("if (", e->out);
        emit_source(e, e->statement->guard, PTX_PRED, false);
        fputs(") { ", e->out);
    }
    families[e->statement->match.row->family](e);
    if (e->statement->guard)
        fputs("}\n", e->out);
}

static void emit_body(struct emitter *e, size_t index)
{
    const struct ptx_routine *routine = e->routine->routine;

    emit_head(e->unit, index, e->stages != NULL, e->out);
    if (routine->is_entry)
        fputs("\n{\n", e->out);
    else
        fputs("\n{\nENTRY_LOCALS\n", e->out);
    emit_registers(e);
    emit_variables(e);
    if (e->stages)
        emit_resume(e->stages, e->out);
    for (e->index = 0; e->index < routine->n; e->index++) {
        e->statement = &routine->statements[e->index];
        if (e->statement->kind == PTX_STATEMENT_LABEL)
            fprintf(e->out, "L%zu: __attribute__((unused));\n", e->index);
        else
            emit_operation(e);
    }
    fputs(e->stages ? "return 0;\n}\n\n" : "}\n\n", e->out);
}

/*
 * For rows without checks: the function that computes one thread's values for the probes, and the
 * body.
 */
static void emit_row_functions(struct emitter *e, const struct rows *rows, size_t index)
{
    static const char formals[] = "struct device_thread *t, unsigned char *P, const uint32_t tid_x, "
                                  "const uint32_t tid_y, const uint32_t tid_z, ENTRY_FORMALS, uint64_t *A";
    const struct ptx_routine *routine = e->routine->routine;

    for (unsigned body = 0; body < 2; body++) {
        fprintf(e->out, "DEVICE void %c%zu(%s)\n{\n", body ? 'g' : 'c', index, formals);
        emit_registers(e);
        e->rows = body ? rows : NULL;
        for (e->index = 0; e->index < routine->n; e->index++) {
            e->statement = &routine->statements[e->index];
            if (e->statement->kind == PTX_STATEMENT_OPERATION &&
                (body ? e->statement->match.row->family != PTX_BRANCH : emit_is_needed(rows, e->index)))
                emit_operation(e);
        }
        e->rows = NULL;
        if (!body)
            emit_probe_values(e, rows);
        fputs("}\n", e->out);
    }
}

/* Does the entry take the address of a parameter? */
static bool takes_parameter(const struct ptx_routine *routine)
{
    for (size_t i = 0; i < routine->n; i++) {
        const struct ptx_statement *s = &routine->statements[i];

        for (unsigned k = 0; s->kind == PTX_STATEMENT_OPERATION && k < s->n_operands; k++)
            if (s->operands[k].kind == PTX_OP_VARIABLE && s->operands[k].variable->is_formal)
                return true;
    }
    return false;
}

/*
 * Copies the parameters. No pointer refers to the copy, so the compiler may keep it in registers.
 */
static void emit_parameters(const struct ptx_routine *routine, FILE *out)
{
    if (routine->parameter_bytes && routine->parameter_bytes <= MOST_COPIED && !takes_parameter(routine))
        fprintf(out,
                "unsigned char copy[%u] __attribute__((aligned(16)));\n__builtin_memcpy(copy, P, %u);\nP = "
                "copy;\n",
                routine->parameter_bytes, routine->parameter_bytes);
}

/* A row runs without checks if its first and last thread show that no access strays. */
static void emit_fast_row(const struct rows *rows, size_t index, FILE *out)
{
    fprintf(out,
            "{ uint64_t A[%u], B[%u];\nc%zu(t, P, 0, y, z, ENTRY_ACTUALS, A);\n"
            "c%zu(t, P, ntid_x - 1, y, z, ENTRY_ACTUALS, B);\nif (",
            emit_probes(rows), emit_probes(rows), index, index);
    emit_row_condition(rows, out);
    fprintf(
        out,
        ") {\nt->tid[0] = 0;\nfor (uint32_t x = 0; x < ntid_x; x++) g%zu(t, P, x, y, z, ENTRY_ACTUALS, A);\n"
        "continue;\n} }\n",
        index);
}

/* The loop over the threads of a block, up to the work of one thread. */
static void emit_loop(const struct unit_routine *routine, size_t index, const struct rows *rows,
                      const char *each, FILE *out)
{
    bool needs_place = routine->all_facts & (UNIT_CALLS | UNIT_LANE);

    fputs("for (uint32_t z = 0; z < ntid_z; z++)\nfor (uint32_t y = 0; y < ntid_y; y++) {\nt->tid[2] = z; "
          "t->tid[1] = y;\n",
          out);
    if (rows)
        emit_fast_row(rows, index, out);
    fprintf(
        out, "for (uint32_t x = 0; x < ntid_x; x++%s) {\n%st->tid[0] = x;\n%s", each[0] ? ", F++" : "", each,
        needs_place
            ? "t->index = (z * ntid_y + y) * ntid_x + x; t->lane = t->index & 31; t->warp = t->index >> 5;\n"
            : "");
}

/*
 * How an entry runs: one thread at a time, or all threads of a block. The latter if no thread
 * waits, or if all wait together.
 */
static void emit_entry(const struct unit *unit, size_t index, bool is_staged, const struct rows *rows,
                       FILE *out)
{
    const struct unit_routine *routine = &unit->routines[index];
    bool switches = unit_switches(routine) && !is_staged;

    fprintf(out, "static void %c%zu(struct device_thread *t, unsigned char *P)\n{\nENTRY_LOCALS\n",
            switches ? 't' : 'b', index);
    emit_parameters(routine->routine, out);
    if (switches) {
        fprintf(out, "f%zu(t, P, t->tid[0], t->tid[1], t->tid[2], ENTRY_ACTUALS);\n}\n", index);
    } else if (is_staged) {
        fprintf(out,
                "struct barrier_stage stage = {0}, *const S = &stage;\nuint32_t is_first = 1;\ndo {\n"
                "struct frame%zu *F = (struct frame%zu *)t->frames;\nS->arrived = S->trues = 0;\n",
                index, index);
        emit_loop(routine, index, NULL, "if (is_first) F->at = 0; else if (F->at == STAGE_ENDED) continue;\n",
                  out);
        fprintf(out,
                "if (!f%zu(t, P, x, y, z, ENTRY_ACTUALS, F, S)) F->at = STAGE_ENDED;\n}\n}\n"
                "S->last_arrived = S->arrived; S->last_trues = S->trues; is_first = 0;\n"
                "} while (S->arrived);\n}\n",
                index);
    } else {
        emit_loop(routine, index, rows, "", out);
        fprintf(out, "f%zu(t, P, x, y, z, ENTRY_ACTUALS);\n}\n}\n}\n", index);
    }
}

static void emit_tables(const struct unit *unit, const bool *is_staged, FILE *out)
{
    size_t n = 0;

    fputs("static const struct device_entry entries[] = {\n", out);
    for (size_t i = 0; i < unit->n_routines; i++) {
        if (!unit->routines[i].routine->is_entry)
            continue;
        if (is_staged[i])
            fprintf(out, "{0, b%zu, sizeof(struct frame%zu)},\n", i, i);
        else
            fprintf(out, unit_switches(&unit->routines[i]) ? "{t%zu, 0, 0},\n" : "{0, b%zu, 0},\n", i);
        n++;
    }
    fputs("{0, 0, 0}};\nstatic struct device_function functions[] = {\n", out);
    for (size_t i = 0; i < unit->n_functions; i++)
        fprintf(out, "{(uint64_t)f%u, UINT64_C(%" PRIu64 ")},\n", unit->functions[i],
                unit->routines[unit->functions[i]].shape);
    fprintf(out,
            "{0, 0}};\n__attribute__((visibility(\"default\"))) const struct device_code baton_device_code = "
            "{DEVICE_ABI, %zu, %zu, 0, "
            "entries, functions};\n",
            n, unit->n_functions);
}

/* One routine; for an entry also the code that runs it. */
static int emit_routine(const struct unit *unit, size_t index, bool *ret_staged, FILE *out)
{
    struct emitter e = {
        .out = out, .unit = unit, .routine = &unit->routines[index], .module = unit->routines[index].module};
    struct emit_check *checks;
    struct stages *stages = NULL;
    struct rows *rows = NULL;
    int r = 0;

    emit_study_registers(e.routine);
    if (unit_is_staged(unit, e.routine))
        r = emit_study_stages(e.routine, &stages);
    else if (e.routine->routine->is_entry && !unit_switches(e.routine) &&
             !(e.routine->all_facts & (UNIT_CALLS | UNIT_LANE)))
        r = emit_study_rows(e.routine, &rows);
    if (r == -ENOMEM || emit_plan_checks(e.routine, &checks) < 0) {
        emit_free_stages(stages);
        emit_free_rows(rows);
        return -ENOMEM;
    }
    *ret_staged = stages != NULL;
    e.stages = stages;
    e.checks = checks;
    if (stages)
        emit_frame(stages, index, out);
    emit_body(&e, index);
    if (rows)
        emit_row_functions(&e, rows, index);
    if (e.routine->routine->is_entry)
        emit_entry(unit, index, stages != NULL, rows, out);
    free(checks);
    emit_free_rows(rows);
    emit_free_stages(stages);
    return 0;
}

int emit_unit(const struct unit *unit, FILE *out)
{
    bool *is_staged = calloc(unit->n_routines + 1, sizeof *is_staged);
    int r = is_staged ? 0 : -ENOMEM;

    for (size_t i = 0; i < unit->n_routines && !r; i++)
        if (!unit->routines[i].routine->is_entry) {
            emit_head(unit, i, false, out);
            fputs(";\n", out);
        }
    for (size_t i = 0; i < unit->n_routines && !r; i++)
        r = emit_routine(unit, i, &is_staged[i], out);
    if (!r)
        emit_tables(unit, is_staged, out);
    free(is_staged);
    return r;
}
