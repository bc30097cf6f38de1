/*
 * Checks of several addresses at once. Within a straight run of statements all statements run. So
 * accesses through one register with constant offsets are checked once, before the first of them.
 * Only if that check fails is each access checked alone.
 */
#include "cuda_cpu/emit/emit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { MOST_OPEN = 16 };

struct open_group {
    const struct ptx_register *reg;
    uint32_t index;
    enum ptx_space space;
    unsigned bytes;
    size_t leader;
};

struct check_plan {
    const struct unit_routine *routine;
    struct emit_check *checks;
    struct open_group open[MOST_OPEN];
    unsigned n;
};

static const struct ptx_operand *address_of(const struct ptx_statement *s)
{
    return s->match.row->family == PTX_LOAD ? &s->operands[1] : &s->operands[0];
}

static void join(struct check_plan *plan, size_t i, const struct ptx_statement *s, enum ptx_space space)
{
    const struct ptx_operand *address = address_of(s);
    const struct ptx_operand *base = address->parts;
    unsigned bytes = ptx_type_size(s->match.types[0]) * s->match.vector;
    int64_t offset = (int64_t)address->bits;

    if (base->kind != PTX_OP_REGISTER || offset > 1 << 20 || offset < -(1 << 20))
        return;
    for (unsigned k = 0; k < plan->n; k++) {
        const struct open_group *group = &plan->open[k];
        struct emit_check *leader = &plan->checks[group->leader];

        if (group->reg != base->reg || group->index != base->index || group->space != space ||
            group->bytes != bytes || (offset - leader->low) % bytes)
            continue;
        leader->low = offset < leader->low ? offset : leader->low;
        leader->high = offset > leader->high ? offset : leader->high;
        leader->n++;
        leader->last = i;
        plan->checks[i].leader = group->leader;
        return;
    }
    if (plan->n < MOST_OPEN) {
        plan->open[plan->n++] = (struct open_group){base->reg, base->index, space, bytes, i};
        plan->checks[i] = (struct emit_check){.leader = i, .last = i, .low = offset, .high = offset, .n = 1};
    }
}

/* The statement writes a register: addresses derived from it change from here on. */
static void forget(struct check_plan *plan, const struct ptx_operand *written)
{
    for (unsigned i = 0; i < written->n_parts; i++)
        forget(plan, &written->parts[i]);
    for (unsigned k = 0; written->kind == PTX_OP_REGISTER && k < plan->n;) {
        if (plan->open[k].reg == written->reg && plan->open[k].index == written->index)
            plan->open[k] = plan->open[--plan->n];
        else
            k++;
    }
}

static bool ends_run(const struct ptx_statement *s)
{
    switch (s->match.row->family) {
    case PTX_BRANCH:
    case PTX_INDEXED:
    case PTX_CALL:
    case PTX_RETURN:
    case PTX_EXIT:
    case PTX_TRAP:
    case PTX_BARRIER:
    case PTX_WARP:
    case PTX_MBARRIER:
    case PTX_SLEEP:
    case PTX_TEXTURE:
    case PTX_SURFACE:
        return true;
    default:
        return false;
    }
}

int emit_plan_checks(const struct unit_routine *routine, struct emit_check **ret_checks)
{
    struct check_plan plan = {.routine = routine,
                              .checks = calloc(routine->routine->n + 1, sizeof *plan.checks)};

    if (!plan.checks)
        return -ENOMEM;
    for (size_t i = 0; i < routine->routine->n; i++) {
        const struct ptx_statement *s = &routine->routine->statements[i];

        plan.checks[i].leader = i;
        if (s->kind == PTX_STATEMENT_LABEL || ends_run(s)) {
            plan.n = 0;
            continue;
        }
        if (!s->guard && (s->match.row->family == PTX_LOAD || s->match.row->family == PTX_STORE)) {
            enum ptx_space space = ptx_statement_space(routine->module, s);

            join(&plan, i, s, space == PTX_SHARED ? PTX_SHARED : PTX_GENERIC);
        }
        if (s->n_operands && s->match.row->operands[0] != '=')
            forget(&plan, &s->operands[0]);
    }
    *ret_checks = plan.checks;
    return 0;
}

static void emit_at(struct emitter *e, const struct ptx_operand *base, int64_t offset)
{
    bool is_narrow = ptx_type_size(base->type) == 4;

    fputs(is_narrow ? "(uint32_t)(" : "(", e->out);
    emit_source(e, base, is_narrow ? PTX_U32 : PTX_U64, false);
    if (is_narrow)
        fprintf(e->out, " + UINT32_C(%" PRIu32 "))", (uint32_t)offset);
    else
        fprintf(e->out, " + UINT64_C(%" PRIu64 "))", (uint64_t)offset);
}

bool emit_group_check(struct emitter *e)
{
    const struct ptx_statement *s = e->statement;
    const struct emit_check *check = &e->checks[e->index];
    const struct ptx_operand *base = address_of(s)->parts;
    bool is_shared = ptx_statement_space(e->module, s) == PTX_SHARED;
    unsigned bytes = ptx_type_size(s->match.types[0]) * s->match.vector;

    if (e->rows)
        return false; /* its pointer needs no check */
    if (check->leader != e->index)
        return true;
    if (check->n < 2)
        return false;
    fprintf(e->out, "if (strays_%s(", is_shared ? "shared" : "generic");
    emit_at(e, base, check->low);
    fprintf(e->out, ", UINT64_C(%" PRIu64 "), LOG2(%u))) {\n", (uint64_t)(check->high - check->low), bytes);
    for (size_t i = e->index; i <= check->last; i++) {
        const struct ptx_statement *other = &e->routine->routine->statements[i];

        if (e->checks[i].leader != e->index || other->kind != PTX_STATEMENT_OPERATION ||
            (i != e->index && e->checks[i].n))
            continue;
        fprintf(e->out, is_shared ? "(void)SHARED(" : "(void)GENERIC(");
        emit_at(e, base, (int64_t)address_of(other)->bits);
        fprintf(e->out, ", %u, %u);\n", bytes, other->opcode->line);
    }
    fputs("}\n", e->out);
    return true;
}
