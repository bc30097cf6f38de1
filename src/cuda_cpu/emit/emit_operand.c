/* Operands as C expressions. */
#include "cuda_cpu/emit/emit.h"

#include <inttypes.h>
#include <string.h>

static const char *const c_types[] = {
    [PTX_NONE] = "uint32_t",
#define PTX_TYPE(id, name, size, class, c_name) [PTX_##id] = c_name,
#include "ptx/types.def"
#undef PTX_TYPE
};

const char *emit_c_type(enum ptx_type type)
{
    return c_types[type];
}

bool emit_has(const struct emitter *e, const char *modifier)
{
    return ptx_has(e->module, e->statement, modifier);
}

unsigned emit_line(const struct emitter *e)
{
    return e->statement->opcode->line;
}

enum emit_storage emit_storage_of(const struct ptx_register *reg, uint32_t index)
{
    bool is_real = (reg->used[index] & (EMIT_REAL | EMIT_OTHER)) == EMIT_REAL;

    switch (ptx_type_size(reg->type)) {
    case 1:
        return EMIT_U8;
    case 2:
        return EMIT_U16;
    case 4:
        return reg->type == PTX_F32 || is_real ? EMIT_F32 : EMIT_U32;
    case 8:
        return reg->type == PTX_F64 || is_real ? EMIT_F64 : EMIT_U64;
    default:
        return EMIT_W128;
    }
}

bool emit_is_loose(const struct ptx_register *reg, uint32_t index)
{
    return emit_storage_of(reg, index) == EMIT_F32 && (reg->used[index] & EMIT_REAL) &&
           !(reg->used[index] & (EMIT_OTHER | EMIT_RAW_REAL));
}

void emit_register(struct emitter *e, const struct ptx_operand *operand)
{
    fprintf(e->out, "r%u_%u", operand->reg->id, operand->index);
    if (operand->component)
        fprintf(e->out, "_%u", operand->component);
}

static void emit_special(struct emitter *e, const struct ptx_operand *operand)
{
    static const struct {
        const char *name, *text;
    } specials[] = {
        {"%laneid", "t->lane"},
        {"%warpid", "t->warp"},
        {"%nwarpid", "t->warps"},
        {"%smid", "0u"},
        {"%nsmid", "1u"},
        {"%gridid", "t->grid_id"},
        {"%lanemask_eq", "(1u << t->lane)"},
        {"%lanemask_le", "(uint32_t)((2ull << t->lane) - 1)"},
        {"%lanemask_lt", "((1u << t->lane) - 1)"},
        {"%lanemask_ge", "(uint32_t)(0xffffffffull << t->lane)"},
        {"%lanemask_gt", "(uint32_t)(0xfffffffeull << t->lane)"},
        {"%clock", "(uint32_t)t->calls->clock(t)"},
        {"%clock_hi", "(uint32_t)(t->calls->clock(t) >> 32)"},
        {"%clock64", "t->calls->clock(t)"},
        {"%globaltimer", "t->calls->global_time(t)"},
        {"%globaltimer_lo", "(uint32_t)t->calls->global_time(t)"},
        {"%globaltimer_hi", "(uint32_t)(t->calls->global_time(t) >> 32)"},
        {"%total_smem_size", "(uint32_t)t->shared_size"},
        {"%aggr_smem_size", "(uint32_t)t->shared_size"},
        {"%dynamic_smem_size", "(uint32_t)t->dynamic_shared_size"},
        {"%cluster_nctarank", "1u"},
        {"WARP_SZ", "32u"},
    };
    const char *name = operand->special->name;
    unsigned axis = operand->component ? operand->component - 1U : 0;

    if (operand->special->has_components && axis == 3) {
        fputs("0u", e->out);
    } else if (e->routine->routine->is_entry &&
               (strcmp(name, "%tid") == 0 || strcmp(name, "%ntid") == 0 || strcmp(name, "%ctaid") == 0 ||
                strcmp(name, "%nctaid") == 0)) {
        fprintf(e->out, "%s_%c", name + 1, "xyz"[axis]);
    } else if (strcmp(name, "%tid") == 0 || strcmp(name, "%ntid") == 0 || strcmp(name, "%ctaid") == 0 ||
               strcmp(name, "%nctaid") == 0) {
        fprintf(e->out, "t->%s[%u]", name + 1, axis);
    } else if (strcmp(name, "%clusterid") == 0 ||
               strcmp(name, "%nclusterid") == 0) { /* every cluster has one block */
        fprintf(e->out, "t->%s[%u]", name[1] == 'n' ? "nctaid" : "ctaid", axis);
    } else if (strcmp(name, "%cluster_nctaid") == 0) {
        fputs("1u", e->out);
    } else if (strcmp(name, "%envreg") == 0 && (operand->bits == 1 || operand->bits == 2)) {
        fprintf(e->out, "(uint32_t)(t->workspace >> %u)", operand->bits == 1 ? 32U : 0U);
    } else {
        for (unsigned i = 0; i < sizeof specials / sizeof specials[0]; i++)
            if (strcmp(name, specials[i].name) == 0) {
                fputs(specials[i].text, e->out);
                return;
            }
        fputs("0u", e->out);
    }
}

/* A constant of the type; decimal constants stay doubles up to here. */
static void emit_constant(struct emitter *e, const struct ptx_operand *operand, enum ptx_type type)
{
    uint64_t bits = operand->bits;

    if (operand->kind == PTX_OP_INT) {
        if (type == PTX_PRED)
            fprintf(e->out, "%d", bits != 0);
        else
            fprintf(e->out, ptx_type_size(type) == 8 ? "UINT64_C(0x%" PRIx64 ")" : "UINT32_C(0x%" PRIx64 ")",
                    ptx_type_size(type) == 8 ? bits : bits & 0xffffffff);
        return;
    }
    if (type == PTX_F64 && operand->kind == PTX_OP_F32) {
        float narrow;
        double wide;
        uint32_t low = (uint32_t)bits;

        memcpy(&narrow, &low, sizeof narrow);
        wide = (double)narrow;
        memcpy(&bits, &wide, sizeof bits);
    } else if (type != PTX_F64 && operand->kind == PTX_OP_F64) {
        double wide;
        float narrow;
        uint32_t low;

        memcpy(&wide, &bits, sizeof wide);
        narrow = (float)wide;
        memcpy(&low, &narrow, sizeof low);
        bits = low;
    }
    fprintf(e->out, type == PTX_F64 ? "as_f64(UINT64_C(0x%" PRIx64 "))" : "as_f32(UINT32_C(0x%" PRIx64 "))",
            bits);
}

void emit_variable(struct emitter *e, const struct ptx_variable *variable, uint64_t offset)
{
    if (variable->space == PTX_SHARED && variable->user == UNIT_DYNAMIC)
        fprintf(e->out, "(t->dynamic_shared + UINT64_C(%" PRIu64 "))", offset);
    else if (variable->space == PTX_SHARED)
        fprintf(e->out, "UINT64_C(%" PRIu64 ")", e->unit->variables[variable->user].offset + offset);
    else if (variable->space == PTX_GLOBAL || variable->space == PTX_CONST)
        fprintf(e->out, "((uint64_t)G + UINT64_C(%" PRIu64 "))",
                e->unit->variables[variable->user].offset + offset);
    else if (variable->is_formal && e->routine->routine->is_entry)
        fprintf(e->out, "((uint64_t)P + UINT64_C(%" PRIu64 "))", variable->offset + offset);
    else
        fprintf(e->out, "((uint64_t)v%u + UINT64_C(%" PRIu64 "))", variable->id, offset);
}

static bool is_real(enum ptx_type type)
{
    return type == PTX_F32 || type == PTX_F64;
}

static void emit_register_as(struct emitter *e, const struct ptx_operand *operand, enum ptx_type type,
                             bool exact)
{
    enum emit_storage storage = emit_storage_of(operand->reg, operand->index);
    bool canon = exact && emit_is_loose(operand->reg, operand->index);
    unsigned closing = 0;

    if (operand->is_negated)
        fputs("!", e->out);
    if (storage == EMIT_F32 && !is_real(type))
        closing += fputs("as_u32(", e->out) >= 0;
    if (storage == EMIT_F64 && !is_real(type))
        closing += fputs("as_u64(", e->out) >= 0;
    if (storage == EMIT_U32 && type == PTX_F32)
        closing += fputs("as_f32(", e->out) >= 0;
    if (storage == EMIT_U64 && type == PTX_F64)
        closing += fputs("as_f64(", e->out) >= 0;
    if (storage == EMIT_U64 && type == PTX_F32) /* of a wider register: its low half */
        closing += fputs("as_f32((uint32_t)", e->out) >= 0;
    if (canon)
        closing += fputs("canon_f32(", e->out) >= 0;
    emit_register(e, operand);
    while (closing--)
        fputc(')', e->out);
}

void emit_source(struct emitter *e, const struct ptx_operand *operand, enum ptx_type type, bool exact)
{
    switch (operand->kind) {
    case PTX_OP_REGISTER:
        emit_register_as(e, operand, type, exact);
        break;
    case PTX_OP_SPECIAL:
        if (operand->is_negated)
            fputs("!", e->out);
        emit_special(e, operand);
        break;
    case PTX_OP_VARIABLE:
        emit_variable(e, operand->variable, operand->bits);
        break;
    case PTX_OP_ROUTINE:
        if (operand->routine->user < e->unit->n_routines)
            fprintf(e->out, "(uint64_t)f%u", operand->routine->user);
        else
            fputs("UINT64_C(0)", e->out);
        break;
    default:
        if (operand->is_negated)
            fputs("!", e->out);
        emit_constant(e, operand, type);
        break;
    }
}

void emit_begin(struct emitter *e, const struct ptx_operand *destination, enum ptx_type type,
                bool is_arithmetic)
{
    enum emit_storage storage;

    e->closing = 0;
    if (destination->kind != PTX_OP_REGISTER) {
        fputs("(void)(", e->out);
        e->closing = 1;
        return;
    }
    storage = emit_storage_of(destination->reg, destination->index);
    emit_register(e, destination);
    fputs(" = ", e->out);
    if (storage == EMIT_F32 && type != PTX_F32)
        e->closing += fputs("as_f32(", e->out) >= 0;
    if (storage == EMIT_F64 && type != PTX_F64 && type != PTX_F32)
        e->closing += fputs("as_f64(", e->out) >= 0;
    if (storage != EMIT_F32 && type == PTX_F32)
        e->closing += fputs("as_u32(", e->out) >= 0;
    if (storage != EMIT_F64 && type == PTX_F64)
        e->closing += fputs("as_u64(", e->out) >= 0;
    if (is_arithmetic && type == PTX_F32 && !emit_is_loose(destination->reg, destination->index))
        e->closing += fputs("canon_f32(", e->out) >= 0;
}

void emit_end(struct emitter *e)
{
    while (e->closing) {
        fputc(')', e->out);
        e->closing--;
    }
    fputs(";\n", e->out);
}

/*
 * Does the access lie within the variable, at its alignment? Then no check at run time is needed.
 */
static bool is_within(const struct ptx_variable *variable, uint64_t offset, unsigned bytes)
{
    return variable->user != UNIT_DYNAMIC && offset <= variable->size && variable->size - offset >= bytes &&
           offset % bytes == 0 && variable->alignment % bytes == 0;
}

void emit_pointer(struct emitter *e, const struct ptx_operand *address, enum ptx_space space, unsigned bytes)
{
    const struct ptx_operand *base = address->parts;

    if (emit_row_pointer(e, address))
        return;
    if (base->kind == PTX_OP_VARIABLE) {
        bool is_shared = base->variable->space == PTX_SHARED;

        /*
         * As an offset: the compiler then knows that no store through an integer address changes
         * it.
         */
        if (base->variable->is_formal && e->routine->routine->is_entry &&
            is_within(base->variable, address->bits, bytes)) {
            fprintf(e->out, "(P + %" PRIu64 ")", base->variable->offset + address->bits);
            return;
        }
        if (base->variable->space == PTX_PARAM || is_within(base->variable, address->bits, bytes)) {
            fputs(is_shared ? "(SHARED_BASE + " : "((unsigned char *)", e->out);
            emit_variable(e, base->variable, address->bits);
            fputs(")", e->out);
            return;
        }
        fputs(is_shared ? "SHARED(" : "GENERIC(", e->out);
        emit_variable(e, base->variable, address->bits);
    } else {
        if (e->is_checked)
            fputs(space == PTX_SHARED ? "(SHARED_BASE + " : "(unsigned char *)(", e->out);
        else
            fputs(space == PTX_SHARED ? "SHARED(" : "GENERIC(", e->out);
        if (base->kind == PTX_OP_REGISTER && ptx_type_size(base->type) == 4) {
            fputs("(uint32_t)(", e->out);
            emit_source(e, base, PTX_U32, false);
            fprintf(e->out, " + UINT32_C(%" PRIu32 "))", (uint32_t)address->bits);
        } else {
            emit_source(e, base, PTX_U64, false);
            if (address->bits)
                fprintf(e->out, " + UINT64_C(%" PRIu64 ")", address->bits);
        }
    }
    if (e->is_checked)
        fputs(")", e->out);
    else
        fprintf(e->out, ", %u, %u)", bytes, emit_line(e));
}
