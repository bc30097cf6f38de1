#include "analysis/gpusync/input/gpusync_task_set.h"

#include <stdio.h>

#include "analysis/gpusync/input/gpusync_load.h"

static double to_us(baton_nsec time)
{
    return (double)time / (double)NSEC_PER_US;
}

/* Different (operation, length) pairs that one segment can make. */
static size_t segment_requests(const struct segment *segment)
{
    return segment->pieces.n > 2 ? segment->pieces.n : 2;
}

struct gpusync_limits gpusync_task_set_limits(const struct task_set *set)
{
    struct gpusync_limits limits = {.tasks = set->n_tasks,
                                    .cpu_clusters = platform_cpu_clusters(&set->platform),
                                    .gpu_clusters = platform_gpu_clusters(&set->platform)};

    for (size_t i = 0; i < set->n_tasks; i++) {
        limits.requests += 4; /* state */
        for (size_t k = 0; k < set->tasks[i].n_segments; k++)
            limits.requests += segment_requests(&set->tasks[i].segments[k]);
    }
    return limits;
}

static int reject(const struct task *task, const struct segment *segment, struct input_error *ret_error,
                  const char *found, const char *expected)
{
    return input_reject(ret_error, "", segment ? segment->line : task->line,
                        segment ? segment->column : task->column, found, "%s", expected);
}

/* One request per piece; without pieces, one request. */
static void load_by_length(struct gpusync_workspace *workspace, enum gpusync_operation kind,
                           const struct segment *segment)
{
    if (segment->pieces.n > 0) {
        for (size_t k = 0; k < segment->pieces.n; k++)
            gpusync_load_request(workspace, kind, to_us(segment->pieces.pieces[k]), 1);
    } else if (segment->piece > 0) {
        baton_nsec full = segment->length / segment->piece;
        baton_nsec rest = segment->length - full * segment->piece;

        gpusync_load_request(workspace, kind, to_us(segment->piece), (double)full);
        gpusync_load_request(workspace, kind, to_us(rest), rest > 0 ? 1 : 0);
    } else {
        gpusync_load_request(workspace, kind, to_us(segment->length), 1);
    }
}

/*
 * Uses sizes if the machine has copy costs for them; otherwise the given time, cut into the same
 * number of chunks.
 */
static void load_copy(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                      const struct segment *segment)
{
    bool in = segment->kind == SEGMENT_COPY_IN;
    enum gpusync_operation kind = in ? OPERATION_IN : OPERATION_OUT;
    int64_t chunk = in ? system->chunk_in : system->chunk_out;

    if (segment->bytes > 0 && system->copies[in ? DIRECTION_IN : DIRECTION_OUT].n > 0) {
        if (in)
            gpusync_load_in(workspace, system, segment->bytes);
        else
            gpusync_load_out(workspace, system, segment->bytes);
    } else if (segment->bytes > chunk && segment->pieces.n == 0 && segment->piece == 0) {
        double per_byte = to_us(segment->length) / (double)segment->bytes;
        int64_t full = segment->bytes / chunk;
        int64_t rest = segment->bytes - full * chunk;

        gpusync_load_request(workspace, kind, per_byte * (double)chunk, (double)full);
        gpusync_load_request(workspace, kind, per_byte * (double)rest, rest > 0 ? 1 : 0);
    } else if (segment->length > 0) {
        load_by_length(workspace, kind, segment);
    }
}

/*
 * For GPUs that differ: the largest number of pieces on any GPU, each as long as the longest piece
 * on any GPU.
 */
static void load_kernel(struct gpusync_workspace *workspace, const struct segment *segment)
{
    baton_nsec longest = 0;
    size_t most = 0;

    if (segment->n_per_gpu == 0) {
        load_by_length(workspace, OPERATION_KERNEL, segment);
        return;
    }
    for (size_t q = 0; q < segment->n_per_gpu; q++) {
        most = segment->per_gpu[q].n > most ? segment->per_gpu[q].n : most;
        for (size_t k = 0; k < segment->per_gpu[q].n; k++)
            if (segment->per_gpu[q].pieces[k] > longest)
                longest = segment->per_gpu[q].pieces[k];
    }
    gpusync_load_request(workspace, OPERATION_KERNEL, to_us(longest), (double)most);
}

/*
 * The model covers a fixed placement only on a whole GPU cluster, or on one GPU that no other task
 * uses. Tokens are pooled over a cluster. A task fixed to one GPU of several could therefore wait
 * while tokens of the other GPUs are unused.
 */
static int place(struct gpusync_task *loaded, const struct gpusync_system *system, const struct task *task,
                 const struct placement *placement, const struct segment *segment,
                 struct input_error *ret_error)
{
    unsigned first;
    unsigned cluster;
    uint64_t whole;

    if (placement->kind != PLACEMENT_FIXED)
        return 0;
    first = (unsigned)__builtin_ctzll(placement->gpus);
    cluster = first / system->cluster_gpus;
    whole = system->cluster_gpus == 64 ? UINT64_MAX : ((uint64_t)1 << system->cluster_gpus) - 1;
    whole <<= cluster * system->cluster_gpus;
    if ((placement->gpus & ~whole) != 0 ||
        (loaded->forced_cluster != GPUSYNC_NOWHERE && loaded->forced_cluster != cluster))
        return reject(task, segment, ret_error, "a placement over several clusters",
                      "a placement within one GPU cluster");
    loaded->forced_cluster = cluster;
    if (placement->gpus == whole)
        return 0;
    if ((placement->gpus & (placement->gpus - 1)) != 0)
        return reject(task, segment, ret_error, "a part of a GPU cluster",
                      "a placement of one GPU or of a whole GPU cluster (tokens are pooled over a cluster)");
    if (loaded->pinned && loaded->pinned_gpu != first)
        return reject(task, segment, ret_error, "kernels on different GPUs",
                      "one GPU for all kernels of a task");
    loaded->pinned = true;
    loaded->pinned_gpu = first;
    return 0;
}

static int load_segments(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                         const struct task *task, struct gpusync_task *loaded, struct input_error *ret_error)
{
    for (size_t k = 0; k < task->n_segments; k++) {
        const struct segment *segment = &task->segments[k];
        struct placement placement;
        int r;

        if (segment->kind == SEGMENT_CPU)
            continue;
        if (segment->kind != SEGMENT_KERNEL) {
            load_copy(workspace, system, segment);
            continue;
        }
        if (segment->gpus > 1)
            return reject(task, segment, ret_error, "a kernel on several GPUs",
                          "kernels on one GPU (gpusync has no bound for split kernels)");
        placement = segment_placement(task, segment);
        r = place(loaded, system, task, &placement, segment, ret_error);
        if (r != 0)
            return r;
        load_kernel(workspace, segment);
    }
    return 0;
}

/*
 * e^cpu, and q^cpu as part of it: the CPU time between the first and the last GPU segment, plus
 * what the file adds.
 */
static void measure_cpu(const struct task *task, double *ret_cpu, double *ret_critical)
{
    size_t first = task->n_segments;
    size_t last = 0;
    baton_nsec cpu = 0;
    baton_nsec critical = task->critical_cpu > 0 ? task->critical_cpu : 0;

    for (size_t k = 0; k < task->n_segments; k++)
        if (segment_is_gpu(&task->segments[k])) {
            first = k < first ? k : first;
            last = k;
        }
    for (size_t k = 0; k < task->n_segments; k++)
        if (task->segments[k].kind == SEGMENT_CPU) {
            cpu += task->segments[k].length;
            if (k > first && k < last)
                critical += task->segments[k].length;
        }
    *ret_cpu = to_us(cpu);
    *ret_critical = first < task->n_segments ? to_us(critical) : 0;
}

static int load_state(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                      const struct task *task, bool pinned, struct input_error *ret_error)
{
    bool in = system->copies[DIRECTION_IN].n > 0;
    bool out = system->copies[DIRECTION_OUT].n > 0;
    bool enough = system->migration == MIGRATION_P2P ? system->copies[DIRECTION_P2P].n > 0 : in && out;

    if (task->state <= 0 || pinned || system->cluster_gpus == 1)
        return 0; /* it has a GPU of its own, so its state stays there */
    if (system->migration == MIGRATION_NONE)
        return reject(task, NULL, ret_error, "migration: none",
                      "migration: system, p2p or ondemand (or gpu_cluster: 1) for a task with state");
    if (!enough)
        return reject(task, NULL, ret_error, "no copy costs for it",
                      "an overhead set with copy costs (in and out, or p2p) for a task with state");
    gpusync_load_state(workspace, system, task->state);
    return 0;
}

/*
 * The model covers pinned tasks only if every GPU of their cluster has at most one task, itself
 * pinned, or if clusters are single GPUs.
 */
static int check_pinned(const struct gpusync_workspace *workspace, const struct gpusync_system *system,
                        const struct task_set *set, struct input_error *ret_error)
{
    for (size_t i = 0; system->cluster_gpus > 1 && i < workspace->n; i++) {
        const struct gpusync_task *task = &workspace->tasks[i];

        for (size_t j = 0; task->pinned && j < workspace->n; j++) {
            const struct gpusync_task *other = &workspace->tasks[j];

            if (j == i || !other->uses_gpu)
                continue;
            if (!other->pinned || other->pinned_gpu == task->pinned_gpu)
                return reject(&set->tasks[j], NULL, ret_error, "a task that may use the same GPU",
                              "a GPU of its own for every GPU task once one is pinned (or gpu_cluster: 1)");
        }
    }
    return 0;
}

/* Whether the forced GPU cluster belongs to a CPU cluster; if none is forced, whether any does. */
static bool owned(const struct gpusync_system *system, uint32_t forced)
{
    if (forced != GPUSYNC_NOWHERE)
        return system->owners[forced].n > 0;
    for (unsigned q = 0; q < system->gpu_clusters; q++)
        if (system->owners[q].n > 0)
            return true;
    return false;
}

int gpusync_task_set_load(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                          const struct task_set *set, struct input_error *ret_error)
{
    int r = task_set_require_lengths(set, ret_error);

    gpusync_load_begin(workspace);
    for (size_t i = 0; r == 0 && i < set->n_tasks; i++) {
        const struct task *task = &set->tasks[i];
        struct gpusync_task *loaded;
        double cpu;
        double critical;

        measure_cpu(task, &cpu, &critical);
        loaded = gpusync_load_task(workspace, to_us(task->period), to_us(task->deadline), cpu, critical);
        loaded->uses_gpu = task_uses_gpu(task);
        if (!loaded->uses_gpu)
            continue;
        if (!owned(system, loaded->forced_cluster))
            return reject(task, NULL, ret_error, "none",
                          "a GPU that some CPU cluster owns, for its GPU segments");
        r = load_segments(workspace, system, task, loaded, ret_error);
        if (r == 0 && !owned(system, loaded->forced_cluster))
            return reject(task, NULL, ret_error, "none", "a placement on GPUs that some CPU cluster owns");
        if (r == 0)
            r = load_state(workspace, system, task, loaded->pinned, ret_error);
    }
    if (r != 0)
        return r;
    gpusync_load_end(workspace);
    return check_pinned(workspace, system, set, ret_error);
}
