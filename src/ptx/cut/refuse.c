#include "ptx/cut/refuse.h"
#include "ptx/cut/effect.h"

#include <string.h>

#define N_OF(array) (sizeof(array) / sizeof(array)[0])

/* Stores one line: blanks joined, anything beyond ASCII replaced. */
void verdict_set(struct verdict *verdict, const struct ptx_module *module, enum ptx_whole reason,
                 const struct ptx_token *first, const struct ptx_token *end)
{
    size_t n = 0;
    uint32_t stop = end > first ? (end - 1)->offset + (end - 1)->length : first->offset + first->length;

    verdict->reason = reason;
    verdict->line = first->line;
    for (uint32_t i = first->offset; i < stop && n < VERDICT_DETAIL - 1; i++) {
        char c = module->source.text[i];
        bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';

        if (is_blank && n && verdict->detail[n - 1] == ' ')
            continue;
        verdict->detail[n++] = is_blank ? ' ' : c > ' ' && c < 127 ? c : '?';
    }
    verdict->detail[n] = 0;
}

bool refuse_is_block_number(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OP_SPECIAL &&
           (!strcmp(operand->special->name, "%ctaid") || !strcmp(operand->special->name, "%nctaid"));
}

static enum ptx_whole refuse_special(const struct ptx_routine *routine, const struct ptx_statement *statement,
                                     const struct ptx_operand *operand)
{
    const char *name = operand->special->name;

    if (!strcmp(name, "%gridid"))
        return PTX_WHOLE_GRID_ID;
    if (!strcmp(name, "%smid") || !strcmp(name, "%nsmid"))
        return PTX_WHOLE_PLACEMENT;
    if (!strcmp(name, "%envreg"))
        return PTX_WHOLE_GRID_SYNC;
    if (strstr(name, "cluster"))
        return PTX_WHOLE_CLUSTERS;
    if (!refuse_is_block_number(operand))
        return PTX_CUT;
    if (!routine->is_entry)
        return PTX_WHOLE_FUNCTION_READS_BLOCK;
    if (operand->component < 1 || operand->component > 3 ||
        (statement->match.row->family == PTX_MOVE && ptx_type_size(statement->match.types[0]) != 4))
        return PTX_WHOLE_BLOCK_NUMBER_FORM;
    return PTX_CUT;
}

static enum ptx_whole refuse_operand(const struct ptx_routine *routine, const struct ptx_statement *statement,
                                     const struct ptx_operand *operand)
{
    enum ptx_whole reason = PTX_CUT;

    if (operand->kind == PTX_OP_SPECIAL)
        reason = refuse_special(routine, statement, operand);
    else if (operand->kind == PTX_OP_REGISTER && operand->reg->is_implicit)
        reason = PTX_WHOLE_UNKNOWN; /* perhaps a special register of a later version */
    for (unsigned i = 0; i < operand->n_parts && reason == PTX_CUT; i++)
        reason = refuse_operand(routine, statement, &operand->parts[i]);
    return reason;
}

/* Words that name what blocks share beyond global memory, at any place in the statement. */
static enum ptx_whole refuse_opcode(const struct ptx_module *module, const struct ptx_statement *statement)
{
    static const char *const clusters[] = {"mapa", "getctarank", "clusterlaunchcontrol"};
    static const char *const barriers[] = {"barrier", "bar"};
    static const char *const cluster[] = {"cluster"};
    static const char *const accesses[] = {"ld", "st", "atom", "red"};
    static const char *const remote[] = {"shared::cluster", "async"};
    static const char *const together[] = {"multicast::cluster", "multicast::cluster::all", "cta_group::2"};
    static const char *const multicast[] = {"multimem"};
    static const char *const dependent[] = {"griddepcontrol"};
    static const char *const bulk[] = {"cp"};

    if (effect_opcode_is(module, statement, clusters, N_OF(clusters)) ||
        effect_has_any(module, statement, together, N_OF(together)) ||
        (effect_opcode_is(module, statement, barriers, N_OF(barriers)) &&
         effect_has_any(module, statement, cluster, 1)) ||
        (effect_opcode_is(module, statement, accesses, N_OF(accesses)) &&
         effect_has_any(module, statement, remote, N_OF(remote))))
        return PTX_WHOLE_CLUSTERS;
    if (effect_opcode_is(module, statement, multicast, 1))
        return PTX_WHOLE_MULTICAST;
    if (effect_opcode_is(module, statement, dependent, 1))
        return PTX_WHOLE_DEPENDENT_LAUNCH;
    if (statement->match.row->family == PTX_UNKNOWN || statement->match.row->family == PTX_REFUSED) {
        bool is_memory = effect_opcode_is(module, statement, accesses, N_OF(accesses)) ||
                         effect_opcode_is(module, statement, bulk, 1);

        return is_memory || effect_is_pure(module, statement) ? PTX_CUT : PTX_WHOLE_UNKNOWN;
    }
    return PTX_CUT;
}

/* The targets of control must be visible: a branch without one could lead anywhere. */
static enum ptx_whole refuse_control(const struct ptx_statement *statement)
{
    enum ptx_family family = statement->match.row->family;

    if (family == PTX_BRANCH &&
        (statement->is_flat || !statement->n_operands || statement->operands[0].kind != PTX_OP_LABEL))
        return PTX_WHOLE_UNKNOWN;
    if (family != PTX_INDEXED)
        return PTX_CUT;
    for (unsigned i = 0; i < statement->n_targets; i++)
        if (statement->targets[i].kind != PTX_OP_LABEL)
            return PTX_WHOLE_UNKNOWN;
    return statement->is_flat || !statement->n_targets ? PTX_WHOLE_UNKNOWN : PTX_CUT;
}

static enum ptx_whole refuse_statement(const struct ptx_module *module, const struct ptx_routine *routine,
                                       const struct ptx_statement *statement)
{
    enum ptx_whole reason = refuse_opcode(module, statement);

    if (reason == PTX_CUT)
        reason = refuse_control(statement);
    if (reason == PTX_CUT && statement->guard)
        reason = refuse_operand(routine, statement, statement->guard);
    for (unsigned i = 0; i < statement->n_operands && reason == PTX_CUT; i++)
        reason = refuse_operand(routine, statement, &statement->operands[i]);
    return reason;
}

enum ptx_whole refuse_external(struct ptx_name name)
{
    static const char *const harmless[] = {"vprintf", "malloc", "free", "__assertfail"};
    static const char *const grid[] = {"cudaCGSynchronizeGrid", "cudaCGGetIntrinsicHandle",
                                       "cudaCGSynchronize"};

    for (size_t i = 0; i < N_OF(harmless); i++)
        if (ptx_name_is(name, harmless[i]))
            return PTX_CUT;
    for (size_t i = 0; i < N_OF(grid); i++)
        if (ptx_name_is(name, grid[i]))
            return PTX_WHOLE_GRID_SYNC;
    if (name.length > 4 && !memcmp(name.text, "cuda", 4))
        return PTX_WHOLE_DEVICE_LAUNCH;
    return PTX_WHOLE_EXTERNAL_CALL;
}

void refuse_routine(const struct ptx_module *module, const struct ptx_routine *routine,
                    struct verdict *ret_verdict)
{
    *ret_verdict = (struct verdict){.reason = PTX_CUT};
    for (const struct ptx_register *reg = routine->registers; reg; reg = reg->next)
        if (ptx_name_is(reg->name, "%ctaid") || ptx_name_is(reg->name, "%nctaid")) {
            verdict_set(ret_verdict, module, PTX_WHOLE_BLOCK_NUMBER_FORM, routine->token, routine->token);
            return;
        }
    for (size_t i = 0; i < routine->n; i++) {
        const struct ptx_statement *statement = &routine->statements[i];
        enum ptx_whole reason;

        if (statement->kind != PTX_STATEMENT_OPERATION)
            continue;
        reason = refuse_statement(module, routine, statement);
        if (reason != PTX_CUT) {
            verdict_set(ret_verdict, module, reason, statement->first, statement->end);
            return;
        }
    }
}
