/* The GPUSync analyses as `baton analyze` and `baton plan` call them. */
#include <errno.h>

#include "analysis/gpusync/gpusync.h"
#include "analysis/gpusync/gpusync_explain.h"
#include "analysis/gpusync/gpusync_state.h"
#include "analysis/gpusync/input/gpusync_task_set.h"
#include "analysis/cpu/fair_lateness.h"
#include "analysis/cpu/plain_cost.h"

static const char *explain_reject(struct analysis_result *result, const struct gpusync_workspace *workspace,
                                  const struct gpusync_system *system, int answer)
{
    for (unsigned x = 0; x < system->cpu_clusters; x++) {
        const struct gpusync_cluster_terms *cluster = &workspace->clusters[x];

        if (answer == GPUSYNC_OVERUTILISED && cluster->answer == FAIR_LATENESS_OVERUTILISED)
            return plain_reason(
                result,
                "CPU cluster %u: utilisation %.4f with blocking and overheads on %u CPUs (round %u); "
                "the values shown are of that round, none is a bound",
                x, cluster->total, system->cluster_cpus, workspace->rounds);
        if (answer == GPUSYNC_TOO_LONG && cluster->answer == FAIR_LATENESS_TOO_LONG)
            return plain_reason(
                result,
                "CPU cluster %u: a task needs more than its period with blocking and overheads "
                "(round %u); the values shown are of that round, none is a bound",
                x, workspace->rounds);
    }
    return plain_reason(result, "no fixed point after %u rounds; the values shown are no bounds",
                        workspace->rounds);
}

static const enum plan_request_kind published_kinds[OPERATION_KINDS] = {
    [OPERATION_KERNEL] = REQUEST_EXECUTION,   [OPERATION_IN] = REQUEST_COPY_IN,
    [OPERATION_OUT] = REQUEST_COPY_OUT,       [OPERATION_STATE_IN] = REQUEST_COPY_IN,
    [OPERATION_STATE_OUT] = REQUEST_COPY_OUT, [OPERATION_STATE_PEER] = REQUEST_PEER};

/* To the nearest nanosecond: lengths come from whole ones, and a longer one was not counted. */
static void add_requests(const struct gpusync_workspace *workspace, struct analysis_result *result, size_t i,
                         enum plan_request_kind kind, double length, double count)
{
    double inflation = workspace->state->gpu_clusters[workspace->terms[i].gpu_cluster].inflation;

    plan_requests_add(&result->tasks[i].requests, kind,
                      (baton_nsec)((length + inflation) * (double)NSEC_PER_US + 0.5), (unsigned)count);
}

static void add_chunks(const struct gpusync_workspace *workspace, const struct gpusync_system *system,
                       struct analysis_result *result, size_t i, enum copy_direction direction, int64_t bytes)
{
    int64_t chunk = direction == DIRECTION_IN ? system->chunk_in : system->chunk_out;
    enum plan_request_kind kind = direction == DIRECTION_IN ? REQUEST_COPY_IN : REQUEST_PEER;
    int64_t whole = bytes / chunk;

    add_requests(workspace, result, i, kind, gpusync_copy_cost(system, direction, chunk), (double)whole);
    add_requests(workspace, result, i, kind, gpusync_copy_cost(system, direction, bytes % chunk),
                 bytes % chunk > 0);
}

/*
 * What the blocking terms counted, for the plan. With `ondemand` all copies of state are counted as
 * peer copies. What runs is peer copies out, then copies in, which delay other jobs no more.
 */
static void publish_requests(const struct gpusync_workspace *workspace, const struct gpusync_system *system,
                             const struct task_set *set, struct analysis_result *result)
{
    static const enum gpusync_list lists[] = {LIST_KERNELS, LIST_COPIES};
    bool on_demand = system->migration == MIGRATION_ON_DEMAND;

    for (size_t i = 0; i < workspace->n; i++)
        result->tasks[i].requests.said = true;
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
        for (size_t k = 0; k < workspace->state->n_requests[lists[l]]; k++) {
            const struct gpusync_request *request = &workspace->state->requests[lists[l]][k];

            if (!on_demand || request->kind != OPERATION_STATE_PEER)
                add_requests(workspace, result, request->task, published_kinds[request->kind],
                             request->length, request->count);
        }
    }
    for (size_t i = 0; on_demand && i < workspace->n; i++) {
        if (workspace->tasks[i].count[OPERATION_STATE_PEER] <= 0)
            continue;
        add_chunks(workspace, system, result, i, DIRECTION_OUT, set->tasks[i].state);
        add_chunks(workspace, system, result, i, DIRECTION_IN, set->tasks[i].state);
    }
}

static void publish(const struct gpusync_workspace *workspace, struct analysis_result *result)
{
    for (size_t i = 0; i < workspace->n; i++) {
        const struct gpusync_terms *terms = &workspace->terms[i];
        struct task_result *task = &result->tasks[i];
        bool bounded = terms->response >= 0;

        task->response = bounded ? plain_nsec(terms->response) : ANALYSIS_UNBOUNDED;
        task->tardiness = bounded ? plain_nsec(terms->tardiness) : ANALYSIS_UNBOUNDED;
        task->cpu_cluster = terms->cpu_cluster;
        task->gpu_cluster = terms->gpu_cluster != GPUSYNC_NOWHERE ? terms->gpu_cluster : 0;
        task->has_priority_point = true;
        task->priority_point = plain_nsec(terms->point);
        task->cost = plain_nsec(terms->cost);
        task->blocking[0] = plain_nsec(terms->direct);
        task->blocking[1] = plain_nsec(terms->donation);
        task->blocking[2] = plain_nsec(terms->execution_blocking);
        task->blocking[3] = plain_nsec(terms->copy_blocking);
    }
}

/* What one call asks for: a result, or the terms of one task's bound. */
struct question {
    const struct task_set *set;
    struct analysis_result *result;
    struct analysis_explanation *explanation; /* NULL: the result */
    size_t task;
};

static int answer_question(const struct question *question, struct gpusync_workspace *workspace,
                           const struct gpusync_system *system, int answer)
{
    struct analysis_result *result = question->result;

    if (question->explanation)
        return answer == GPUSYNC_BOUNDED ? gpusync_explain(workspace, question->task, question->explanation)
                                         : 0;
    result->schedulable = answer == GPUSYNC_BOUNDED;
    if (!result->schedulable)
        result->reason = explain_reject(result, workspace, system, answer);
    publish(workspace, result);
    if (result->schedulable)
        publish_requests(workspace, system, question->set, result);
    return 0;
}

static int load_and_analyse(const struct task_set *set, const struct gpusync_options *options,
                            struct arena *arena, const struct question *question,
                            struct input_error *ret_error)
{
    struct gpusync_limits limits = gpusync_task_set_limits(set);
    struct gpusync_system system;
    struct gpusync_workspace *workspace;
    int r = gpusync_system_init(&set->platform, arena, &system);

    if (r == 0)
        r = gpusync_workspace_new(&limits, &workspace);
    if (r != 0)
        return r;
    r = gpusync_task_set_load(workspace, &system, set, ret_error);
    if (r == 0)
        r = answer_question(question, workspace, &system, gpusync_analyse(workspace, &system, options));
    gpusync_workspace_free(workspace);
    return r;
}

/* This analysis has no bound for split kernels. */
static int check_modes(const struct task_set *set, const struct analysis_request *request,
                       struct input_error *ret_error)
{
    for (size_t i = 0; i < set->n_tasks; i++)
        if (plain_gpus(request, i) > 1 && task_uses_gpu(&set->tasks[i]))
            return input_reject(ret_error, "", set->tasks[i].line, set->tasks[i].column,
                                "a task on several GPUs", "every task on one GPU (gpusync)");
    return 0;
}

static int run(const struct task_set *set, const struct analysis_request *request,
               const struct gpusync_options *options, struct analysis_result *ret_result,
               struct input_error *ret_error)
{
    struct analysis_result result;
    int r = check_modes(set, request, ret_error);

    if (r == 0)
        r = plain_result(set, request, &result);
    if (r != 0)
        return r;
    result.shape = BLOCKING_LOCKS;
    r = load_and_analyse(set, options, &result.arena, &(struct question){.set = set, .result = &result},
                         ret_error);
    if (r != 0) {
        arena_done(&result.arena);
        return r;
    }
    *ret_result = result;
    return 0;
}

static int explain(const struct task_set *set, const struct analysis_request *request,
                   const struct gpusync_options *options, size_t task,
                   struct analysis_explanation *ret_explanation, struct input_error *ret_error)
{
    struct analysis_explanation explanation = {.bounded = false};
    int r = check_modes(set, request, ret_error);

    if (r != 0)
        return r;
    arena_init(&explanation.arena, 0);
    r = load_and_analyse(set, options, &explanation.arena,
                         &(struct question){.set = set, .explanation = &explanation, .task = task},
                         ret_error);
    if (r != 0) {
        arena_done(&explanation.arena);
        return r;
    }
    *ret_explanation = explanation;
    return 0;
}

/*
 * Clustered fair lateness. Tokens follow the R2DGLP, or the CK-OMLP where CPU clusters share GPUs.
 * Holders run at their inherited priority.
 */
static void basis(const struct task_set *set, struct plan_basis *ret_basis)
{
    const struct platform *platform = &set->platform;
    bool shared = false;

    for (unsigned q = 0; q < platform_gpu_clusters(platform); q++) {
        unsigned owners = 0;

        for (unsigned x = 0; x < platform_cpu_clusters(platform); x++)
            owners += platform_owns(platform, x, q);
        shared = shared || owners > 1;
    }
    *ret_basis = (struct plan_basis){0};
    plan_basis_set_machine(ret_basis, platform);
    plan_basis_set(ret_basis, BASIS_POLICY, "fair-lateness");
    plan_basis_set(ret_basis, BASIS_LOCK, shared ? "ck-omlp" : "r2dglp");
    plan_basis_set(ret_basis, BASIS_DONATION, "cpus");
    plan_basis_set_tokens(ret_basis, platform->tokens_per_gpu);
    plan_basis_set(ret_basis, BASIS_MIGRATION, migration_name(platform->migration));
    plan_basis_set(ret_basis, BASIS_SHARED_MEMORY, "no");
    plan_basis_set_overheads(ret_basis, platform);
}

static const struct gpusync_options chains = {
    .sound = true, .tight = true, .dilate = true, .peer = PEER_CHAINS};

/* The two entry points of the table for one set of options. */
#define ENTRY(name, options)                                                                                 \
    static int run_##name(const struct task_set *set, const struct analysis_request *request,                \
                          struct analysis_result *ret_result, struct input_error *ret_error)                 \
    {                                                                                                        \
        return run(set, request, options, ret_result, ret_error);                                            \
    }                                                                                                        \
    static int explain_##name(const struct task_set *set, const struct analysis_request *request,            \
                              size_t task, struct analysis_explanation *ret_explanation,                     \
                              struct input_error *ret_error)                                                 \
    {                                                                                                        \
        return explain(set, request, options, task, ret_explanation, ret_error);                             \
    }

ENTRY(sound, &gpusync_sound)
ENTRY(printed, &gpusync_printed)
ENTRY(chains, &chains)

const struct analysis analysis_gpusync = {
    .name = "gpusync",
    .summary = "GPUSync's token and engine locks under fair lateness, with overheads; sound (Elliott, "
               "Anderson 2014)",
    .profile = "gpusync",
    .run = run_sound,
    .basis = basis,
    .explain = explain_sound,
};

const struct analysis analysis_gpusync_printed = {
    .name = "gpusync-printed",
    .summary = "the same as printed in the paper with errata fixed: to compare, not to rely on",
    .printed = true,
    .run = run_printed,
    .explain = explain_printed,
};

const struct analysis analysis_gpusync_chains = {
    .name = "gpusync-chains",
    .summary =
        "gpusync with copy-engine blocking by integer program (two copy engines, peer-to-peer migration)",
    .profile = "gpusync",
    .run = run_chains,
    .basis = basis,
    .explain = explain_chains,
};
