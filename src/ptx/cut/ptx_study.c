#include "ptx/cut/ptx_study.h"
#include "ptx/cut/waits.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DEEPEST_CALL = 200 };

/* Steps of the analysis of one module: about a second of work, for any size of text. */
#define BUDGET ((size_t)200 << 20)

int study_begin(struct study *study, const struct ptx_module *module)
{
    uint32_t n = 0;

    *study = (struct study){.module = module, .budget = BUDGET};
    arena_init(&study->arena, (size_t)2 << 30);
    for (struct ptx_routine *routine = module->routines; routine; routine = routine->next)
        routine->user = n++;
    study->routines = arena_calloc(&study->arena, (size_t)n + 1, sizeof *study->routines);
    study->summaries = arena_calloc(&study->arena, (size_t)n + 1, sizeof *study->summaries);
    study->reached = arena_calloc(&study->arena, (size_t)n + 1, sizeof *study->reached);
    return study->routines && study->summaries && study->reached ? 0 : -ENOMEM;
}

void study_done(struct study *study)
{
    arena_done(&study->arena);
}

static int follow(struct study *study, struct ptx_routine *routine, unsigned depth);

/* Studies a called routine first. Its verdict becomes the caller's, at the place of the call. */
static int follow_call(struct study *study, struct verdict *verdict, const struct ptx_statement *call,
                       unsigned depth)
{
    const struct ptx_operand *callee = call->callee;
    enum ptx_whole reason = PTX_CUT;
    struct ptx_routine *called;
    int r;

    if (!callee || callee->kind == PTX_OP_REGISTER)
        reason = PTX_WHOLE_INDIRECT_CALL;
    else if (callee->kind != PTX_OP_ROUTINE)
        reason = PTX_WHOLE_EXTERNAL_CALL;
    else if (!callee->routine->has_body)
        reason = refuse_external(callee->routine->name);
    else if (study->routines[callee->routine->user].is_open)
        reason = PTX_WHOLE_RECURSION;
    else if (depth > DEEPEST_CALL)
        reason = PTX_WHOLE_TOO_LARGE;
    if (reason != PTX_CUT) {
        if (verdict->reason == PTX_CUT)
            verdict_set(verdict, study->module, reason, call->first, call->end);
        return 0;
    }
    called = callee->routine;
    if (!called->has_body)
        return 0;
    r = follow(study, called, depth + 1);
    if (!r && verdict->reason == PTX_CUT)
        *verdict = study->routines[called->user].verdict;
    return r;
}

static void summarise(struct study *study, const struct ptx_routine *routine, const struct flow *flow)
{
    struct effect_summary *summary = &study->summaries[routine->user];

    for (size_t i = 0; i < routine->n; i++) {
        const struct ptx_statement *statement = &routine->statements[i];

        summary->sources |= flow->effects[i].sources;
        summary->writes_global |= flow->effects[i].writes_global;
        if (statement->kind != PTX_STATEMENT_OPERATION)
            continue;
        summary->may_exit |=
            statement->match.row->family == PTX_EXIT || statement->match.row->family == PTX_TRAP;
        if (statement->match.row->family == PTX_CALL && statement->callee &&
            statement->callee->kind == PTX_OP_ROUTINE)
            summary->may_exit |= study->summaries[statement->callee->routine->user].may_exit;
    }
}

static int follow(struct study *study, struct ptx_routine *routine, unsigned depth)
{
    struct study_routine *at = &study->routines[routine->user];
    int r = 0;

    if (at->is_done)
        return 0;
    at->is_open = true;
    refuse_routine(study->module, routine, &at->verdict);
    for (size_t i = 0; i < routine->n && !r; i++)
        if (routine->statements[i].kind == PTX_STATEMENT_OPERATION &&
            routine->statements[i].match.row->family == PTX_CALL)
            r = follow_call(study, &at->verdict, &routine->statements[i], depth);
    if (!r && at->verdict.reason == PTX_CUT) {
        r = flow_make(study->module, routine, study->summaries, &study->arena, &at->flow);
        at->has_flow = !r;
    }
    if (!r && at->has_flow)
        summarise(study, routine, &at->flow);
    at->is_open = false;
    at->is_done = true;
    return r;
}

/* What the whole kernel does, for the analysis of each of its routines. */
struct studied_kernel {
    bool writes, polls;
};

/* The verdict on the routine's own loops. */
static int find_waits(struct study *study, const struct ptx_routine *routine, struct studied_kernel kernel,
                      const struct verdict **ret_verdict)
{
    struct study_routine *at = &study->routines[routine->user];
    unsigned which = kernel.writes + 2U * kernel.polls;
    struct verdict *verdict = &at->waits[which];
    struct waits_request request = {.flow = &at->flow,
                                    .summaries = study->summaries,
                                    .kernel_writes = kernel.writes,
                                    .kernel_polls = kernel.polls,
                                    .budget = &study->budget};
    size_t source = 0;
    size_t head = 0;
    int r;

    *ret_verdict = verdict;
    if (at->has_waits[which])
        return 0;
    r = ptx_waits_find(&request, &source, &head);
    if (r < 0)
        return r;
    at->has_waits[which] = true;
    if (r == WAITS_TOO_LARGE) {
        verdict_set(verdict, study->module, PTX_WHOLE_TOO_LARGE, routine->token, routine->token);
    } else if (r == WAITS_MAYBE) {
        const struct ptx_statement *statement = &routine->statements[source];
        size_t n;

        verdict_set(verdict, study->module, PTX_WHOLE_WAITS, statement->first, statement->end);
        n = strlen(verdict->detail);
        n = n > VERDICT_DETAIL - 40 ? VERDICT_DETAIL - 40 : n;
        (void)snprintf(verdict->detail + n, VERDICT_DETAIL - n, " (loop at line %u)",
                       routine->statements[head].first->line);
    }
    return 0;
}

/* The first verdict against the loops of the routine and of everything that it calls. */
static int find_all_waits(struct study *study, const struct ptx_routine *routine,
                          struct studied_kernel kernel, struct verdict *ret_verdict)
{
    const struct verdict *own;
    int r = find_waits(study, routine, kernel, &own);

    study->reached[routine->user] = true;
    if (!r)
        *ret_verdict = *own;
    for (size_t i = 0; i < routine->n && !r && ret_verdict->reason == PTX_CUT; i++) {
        const struct ptx_statement *call = &routine->statements[i];

        if (call->kind == PTX_STATEMENT_OPERATION && call->match.row->family == PTX_CALL &&
            call->callee->routine->has_body && !study->reached[call->callee->routine->user])
            r = find_all_waits(study, call->callee->routine, kernel, ret_verdict);
    }
    return r;
}

int study_entry(struct study *study, struct ptx_routine *entry, struct verdict *ret_verdict)
{
    const struct ptx_module *module = study->module;
    int r = follow(study, entry, 0);

    if (r)
        return r;
    *ret_verdict = study->routines[entry->user].verdict;
    if (ret_verdict->reason == PTX_CUT && entry->cluster)
        verdict_set(ret_verdict, module, PTX_WHOLE_CLUSTERS, entry->cluster, entry->cluster);
    if (ret_verdict->reason == PTX_CUT && entry->attribute)
        verdict_set(ret_verdict, module, PTX_WHOLE_UNKNOWN, entry->attribute, entry->attribute);
    for (const struct ptx_variable *v = module->variables; v && ret_verdict->reason == PTX_CUT; v = v->next)
        if (v->routine == entry)
            verdict_set(ret_verdict, module, PTX_WHOLE_OWN_VARIABLES, v->token, v->token);
    if (ret_verdict->reason != PTX_CUT)
        return 0;
    memset(study->reached, 0, module->n_routines * sizeof *study->reached);
    return find_all_waits(
        study, entry,
        (struct studied_kernel){.writes = study->summaries[entry->user].writes_global,
                                .polls = study->summaries[entry->user].sources & SOURCE_STRONG},
        ret_verdict);
}
