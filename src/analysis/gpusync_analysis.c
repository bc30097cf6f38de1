/* The GPUSync analyses as `baton analyze` and `baton plan` call them. */
#include <errno.h>

#include "analysis/gpusync.h"
#include "analysis/gpusync_task_set.h"
#include "analysis/fair_lateness.h"
#include "analysis/plain_cost.h"

static const char *explain(struct analysis_result *result, const struct gpusync_workspace *workspace,
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

static void publish(const struct gpusync_workspace *workspace, struct analysis_result *result)
{
    for (size_t i = 0; i < workspace->n; i++) {
        const struct gpusync_terms *terms = &workspace->terms[i];
        struct task_result *task = &result->tasks[i];
        bool bounded = terms->response >= 0;

        task->response = bounded ? plain_nsec(terms->response) : ANALYSIS_UNBOUNDED;
        task->tardiness = bounded ? plain_nsec(terms->tardiness) : ANALYSIS_UNBOUNDED;
        task->has_priority_point = true;
        task->priority_point = plain_nsec(terms->point);
        task->blocking[0] = plain_nsec(terms->direct);
        task->blocking[1] = plain_nsec(terms->donation);
        task->blocking[2] = plain_nsec(terms->execution_blocking);
        task->blocking[3] = plain_nsec(terms->copy_blocking);
    }
}

static int load_and_analyse(const struct task_set *set, const struct gpusync_options *options,
                            struct analysis_result *result, struct input_error *ret_error)
{
    struct gpusync_limits limits = gpusync_task_set_limits(set);
    struct gpusync_system system;
    struct gpusync_workspace *workspace;
    int r = gpusync_system_init(&set->platform, &result->arena, &system);

    if (r == 0)
        r = gpusync_workspace_new(&limits, &workspace);
    if (r != 0)
        return r;
    r = gpusync_task_set_load(workspace, &system, set, ret_error);
    if (r == 0) {
        int answer = gpusync_analyse(workspace, &system, options);

        result->schedulable = answer == GPUSYNC_BOUNDED;
        if (!result->schedulable)
            result->reason = explain(result, workspace, &system, answer);
        publish(workspace, result);
    }
    gpusync_workspace_free(workspace);
    return r;
}

static int run(const struct task_set *set, const struct analysis_request *request,
               const struct gpusync_options *options, struct analysis_result *ret_result,
               struct input_error *ret_error)
{
    struct analysis_result result;
    int r;

    for (size_t i = 0; i < set->n_tasks; i++)
        if (plain_gpus(request, i) > 1 && task_uses_gpu(&set->tasks[i]))
            return input_reject(ret_error, "task set", set->tasks[i].line, set->tasks[i].column,
                                "a task on several GPUs", "every task on one GPU (gpusync)");
    r = plain_result(set, request, &result);
    if (r < 0)
        return r;
    result.shape = BLOCKING_LOCKS;
    r = load_and_analyse(set, options, &result, ret_error);
    if (r != 0) {
        arena_done(&result.arena);
        return r;
    }
    *ret_result = result;
    return 0;
}

static int run_sound(const struct task_set *set, const struct analysis_request *request,
                     struct analysis_result *ret_result, struct input_error *ret_error)
{
    return run(set, request, &gpusync_sound, ret_result, ret_error);
}

static int run_printed(const struct task_set *set, const struct analysis_request *request,
                       struct analysis_result *ret_result, struct input_error *ret_error)
{
    return run(set, request, &gpusync_printed, ret_result, ret_error);
}

static int run_chains(const struct task_set *set, const struct analysis_request *request,
                      struct analysis_result *ret_result, struct input_error *ret_error)
{
    struct gpusync_options options = gpusync_sound;

    options.peer = PEER_CHAINS;
    return run(set, request, &options, ret_result, ret_error);
}

const struct analysis analysis_gpusync = {
    .name = "gpusync",
    .summary = "GPUSync's token and engine locks under fair lateness, with overheads; sound (Elliott, "
               "Anderson 2014)",
    .profile = "gpusync",
    .run = run_sound,
};

const struct analysis analysis_gpusync_printed = {
    .name = "gpusync-printed",
    .summary = "the same as printed in the paper with errata fixed: to compare, not to rely on",
    .run = run_printed,
};

const struct analysis analysis_gpusync_chains = {
    .name = "gpusync-chains",
    .summary =
        "gpusync with copy-engine blocking by integer program (two copy engines, peer-to-peer migration)",
    .profile = "gpusync",
    .run = run_chains,
};
