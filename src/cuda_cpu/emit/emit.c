/* The frame: declarations, bodies, entries, tables. */
#include "cuda_cpu/emit/emit.h"

#include <inttypes.h>
#include <string.h>

static void note(const struct ptx_operand *operand, enum ptx_type type, bool is_arithmetic)
{
    bool is_real = type == PTX_F32 || type == PTX_F64;

    if (operand->kind == PTX_OP_VECTOR || operand->kind == PTX_OP_PAIR) {
        for (unsigned i = 0; i < operand->n_parts; i++)
            note(&operand->parts[i], operand->kind == PTX_OP_VECTOR ? type : PTX_B32, is_arithmetic);
    } else if (operand->kind == PTX_OP_REGISTER) {
        /* A wider register than the type keeps bits. */
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

static void emit_head(const struct unit *unit, size_t index, FILE *out)
{
    const struct ptx_routine *routine = unit->routines[index].routine;

    if (routine->is_entry) {
        fprintf(out,
                "DEVICE void f%zu(struct device_thread *t, unsigned char *P, uint32_t tid_x, uint32_t tid_y, "
                "uint32_t tid_z)",
                index);
        return;
    }
    fprintf(out, "static void f%zu(struct device_thread *t", index);
    for (const struct ptx_variable *v = routine->returns; v; v = v->next)
        fprintf(out, ", unsigned char *v%u", v->id);
    for (const struct ptx_variable *v = routine->parameters; v; v = v->next)
        fprintf(out, ", unsigned char *v%u", v->id);
    fputs(")", out);
}

static void emit_registers(struct emitter *e)
{
    static const char *const storage[] = {
        [EMIT_U8] = "uint8_t", [EMIT_U16] = "uint16_t", [EMIT_U32] = "uint32_t", [EMIT_U64] = "uint64_t",
        [EMIT_F32] = "float",  [EMIT_F64] = "double",   [EMIT_W128] = "wide128"};

    for (const struct ptx_register *reg = e->routine->routine->registers; reg; reg = reg->next)
        for (uint32_t i = 0; i < (reg->count ? reg->count : 1); i++) {
            enum emit_storage s = emit_storage_of(reg, i);

            if (!(reg->used[i] & (PTX_IS_READ | PTX_IS_WRITTEN)))
                continue;
            for (unsigned c = 1; reg->vector > 1 && c <= reg->vector; c++)
                fprintf(e->out, "%s r%u_%u_%u = 0;\n", storage[s], reg->id, i, c);
            if (reg->vector == 1)
                fprintf(e->out, s == EMIT_W128 ? "%s r%u_%u = {0, 0};\n" : "%s r%u_%u = 0;\n", storage[s],
                        reg->id, i);
        }
}

static void emit_variables(struct emitter *e)
{
    for (const struct ptx_variable *v = e->routine->routine->variables; v; v = v->next)
        if (v->space != PTX_SHARED)
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

    emit_head(e->unit, index, e->out);
    fputs("\n{\nconst uint64_t SPACE = t->space, SPACE_SIZE = t->space_size, SHARED_SIZE = t->shared_size;\n"
          "unsigned char *const SHARED_BASE = t->shared, *const G = t->variables;\n"
          "(void)SPACE; (void)SPACE_SIZE; (void)SHARED_SIZE; (void)SHARED_BASE; (void)G;\n",
          e->out);
    emit_registers(e);
    emit_variables(e);
    for (e->index = 0; e->index < routine->n; e->index++) {
        e->statement = &routine->statements[e->index];
        if (e->statement->kind == PTX_STATEMENT_LABEL)
            fprintf(e->out, "L%zu: __attribute__((unused));\n", e->index);
        else
            emit_operation(e);
    }
    fputs("}\n\n", e->out);
}

/* The two ways to run an entry: one thread, and all threads of a block where none of them waits. */
static void emit_entry(const struct unit *unit, size_t index, FILE *out)
{
    const struct unit_routine *routine = &unit->routines[index];
    bool switches = routine->all_facts & (UNIT_BARRIER | UNIT_WARP | UNIT_SPIN);
    bool needs_place = routine->all_facts & (UNIT_CALLS | UNIT_LANE);

    if (switches) {
        fprintf(out,
                "static void t%zu(struct device_thread *t, unsigned char *P) { f%zu(t, P, t->tid[0], "
                "t->tid[1], t->tid[2]); }\n",
                index, index);
        return;
    }
    fprintf(out,
            "static void b%zu(struct device_thread *t, unsigned char *P)\n{\n"
            "const uint32_t nx = t->ntid[0], ny = t->ntid[1], nz = t->ntid[2];\n"
            "for (uint32_t z = 0; z < nz; z++)\nfor (uint32_t y = 0; y < ny; y++) {\nt->tid[2] = z; "
            "t->tid[1] = y;\n"
            "for (uint32_t x = 0; x < nx; x++) {\nt->tid[0] = x;\n%sf%zu(t, P, x, y, z);\n}\n}\n}\n",
            index,
            needs_place
                ? "t->index = (z * ny + y) * nx + x; t->lane = t->index & 31; t->warp = t->index >> 5;\n"
                : "",
            index);
}

static void emit_tables(const struct unit *unit, FILE *out)
{
    size_t n = 0;

    fputs("static const struct device_entry entries[] = {\n", out);
    for (size_t i = 0; i < unit->n_routines; i++) {
        bool switches = unit->routines[i].all_facts & (UNIT_BARRIER | UNIT_WARP | UNIT_SPIN);

        if (!unit->routines[i].routine->is_entry)
            continue;
        fprintf(out, switches ? "{t%zu, 0},\n" : "{0, b%zu},\n", i);
        n++;
    }
    fputs("{0, 0}};\nstatic struct device_function functions[] = {\n", out);
    for (size_t i = 0; i < unit->n_functions; i++)
        fprintf(out, "{(uint64_t)f%u, UINT64_C(%" PRIu64 ")},\n", unit->functions[i],
                unit->routines[unit->functions[i]].shape);
    fprintf(out,
            "{0, 0}};\n__attribute__((visibility(\"default\"))) const struct device_code baton_device_code = "
            "{DEVICE_ABI, %zu, %zu, 0, "
            "entries, functions};\n",
            n, unit->n_functions);
}

int emit_unit(const struct unit *unit, FILE *out)
{
    for (size_t i = 0; i < unit->n_routines; i++)
        if (!unit->routines[i].routine->is_entry) {
            emit_head(unit, i, out);
            fputs(";\n", out);
        }
    for (size_t i = 0; i < unit->n_routines; i++) {
        struct emitter e = {
            .out = out, .unit = unit, .routine = &unit->routines[i], .module = unit->routines[i].module};

        emit_study_registers(e.routine);
        emit_body(&e, i);
        if (e.routine->routine->is_entry)
            emit_entry(unit, i, out);
    }
    emit_tables(unit, out);
    return 0;
}
