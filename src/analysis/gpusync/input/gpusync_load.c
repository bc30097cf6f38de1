/*
 * Turns jobs into requests: chunks and their costs (GPUSync Sec. III-B, App. B), and the lists of
 * requests, longest first.
 */
#include "analysis/gpusync/input/gpusync_load.h"

#include <string.h>

void gpusync_load_begin(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;

    workspace->n = 0;
    for (int list = 0; list < LISTS; list++)
        state->n_requests[list] = 0;
}

static void append(struct gpusync_state *state, enum gpusync_list list, const struct gpusync_request *request)
{
    state->requests[list][state->n_requests[list]++] = *request;
}

void gpusync_load_request(struct gpusync_workspace *workspace, enum gpusync_operation kind, double length,
                          double count)
{
    struct gpusync_state *state = workspace->state;
    size_t index = workspace->n - 1;
    struct gpusync_task *task = &workspace->tasks[index];
    struct gpusync_request request = {
        .length = length, .count = count, .task = (uint32_t)index, .kind = kind};

    if (count <= 0)
        return;
    task->count[kind] += count;
    task->length[kind] += count * length;
    switch (kind) {
    case OPERATION_KERNEL:
        append(state, LIST_KERNELS, &request);
        return;
    case OPERATION_IN:
    case OPERATION_STATE_IN:
        append(state, LIST_IN, &request);
        break;
    case OPERATION_OUT:
    case OPERATION_STATE_OUT:
        append(state, LIST_OUT, &request);
        break;
    default:
        break;
    }
    append(state, LIST_COPIES, &request);
}

/*
 * Cuts bytes into chunks: full chunks at the chunk's cost, the last one at the cost of its own
 * size.
 */
static void load_copy(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                      enum gpusync_operation kind, enum copy_direction direction, int64_t bytes,
                      int64_t chunk)
{
    int64_t full = bytes / chunk;
    int64_t rest = bytes - full * chunk;

    if (full > 0)
        gpusync_load_request(workspace, kind, gpusync_copy_cost(system, direction, chunk), (double)full);
    if (rest > 0)
        gpusync_load_request(workspace, kind, gpusync_copy_cost(system, direction, rest), 1);
}

void gpusync_load_in(struct gpusync_workspace *workspace, const struct gpusync_system *system, int64_t bytes)
{
    load_copy(workspace, system, OPERATION_IN, DIRECTION_IN, bytes, system->chunk_in);
}

void gpusync_load_out(struct gpusync_workspace *workspace, const struct gpusync_system *system, int64_t bytes)
{
    load_copy(workspace, system, OPERATION_OUT, DIRECTION_OUT, bytes, system->chunk_out);
}

void gpusync_load_state(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                        int64_t bytes)
{
    switch (system->migration) {
    case MIGRATION_NONE:
        break;
    case MIGRATION_SYSTEM:
        load_copy(workspace, system, OPERATION_STATE_IN, DIRECTION_IN, bytes, system->chunk_in);
        load_copy(workspace, system, OPERATION_STATE_OUT, DIRECTION_OUT, bytes, system->chunk_out);
        break;
    case MIGRATION_P2P:
        load_copy(workspace, system, OPERATION_STATE_PEER, DIRECTION_P2P, bytes, system->chunk_in);
        break;
    /* off the other GPU, then onto this one: both use a foreign GPU's queues, as peer copies do */
    case MIGRATION_ON_DEMAND:
        load_copy(workspace, system, OPERATION_STATE_PEER, DIRECTION_OUT, bytes, system->chunk_out);
        load_copy(workspace, system, OPERATION_STATE_PEER, DIRECTION_IN, bytes, system->chunk_in);
        break;
    }
}

struct gpusync_task *gpusync_load_task(struct gpusync_workspace *workspace, double period, double deadline,
                                       double cpu, double critical)
{
    struct gpusync_task *task = &workspace->tasks[workspace->n++];

    *task = (struct gpusync_task){.period = period,
                                  .deadline = deadline,
                                  .cpu = cpu,
                                  .critical = critical,
                                  .forced_cluster = GPUSYNC_NOWHERE};
    return task;
}

/*
 * Sorts in place, longest first. In studies almost all copies are equally long, so insertion meets
 * short lists nearly sorted. Long lists are first sorted over wide gaps (Shell sort with Ciura's
 * gaps).
 */
static void sort_requests(struct gpusync_request *requests, size_t n)
{
    static const size_t gaps[] = {301, 132, 57, 23, 10, 4, 1};
    const size_t n_gaps = sizeof gaps / sizeof gaps[0];

    for (size_t g = n > 64 ? 0 : n_gaps - 1; g < n_gaps; g++) {
        for (size_t k = gaps[g]; k < n; k++) {
            struct gpusync_request request = requests[k];
            size_t at = k;

            while (at >= gaps[g] && requests[at - gaps[g]].length < request.length) {
                requests[at] = requests[at - gaps[g]];
                at -= gaps[g];
            }
            requests[at] = request;
        }
    }
}

/*
 * The input of partitioning that does not depend on the configuration: u^gpu, u and the orders by
 * them (Sec. V).
 */
static void measure(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;

    state->n_gpu = state->n_cpu = 0;
    for (size_t i = 0; i < workspace->n; i++) {
        struct gpusync_task *task = &workspace->tasks[i];
        double kernel = task->length[OPERATION_KERNEL];

        task->inverse = 1 / task->period;
        task->xmit = 0;
        for (int kind = OPERATION_IN; kind < OPERATION_KINDS; kind++)
            task->xmit += task->length[kind];
        task->utilisation = (task->cpu + kernel + task->xmit) / task->period;
        task->gpu_utilisation = task->uses_gpu ? (kernel + task->critical + task->xmit) / task->period : 0;
        state->key[i] = task->utilisation;
        if (task->uses_gpu)
            state->gpu_by_gpu[state->n_gpu] = state->gpu_by_all[state->n_gpu] = (uint32_t)i;
        else
            state->cpu_by_all[state->n_cpu] = (uint32_t)i;
        *(task->uses_gpu ? &state->n_gpu : &state->n_cpu) += 1;
    }
    gpusync_sort(state->gpu_by_all, state->n_gpu, state->key);
    gpusync_sort(state->cpu_by_all, state->n_cpu, state->key);
    for (size_t k = 0; k < state->n_gpu; k++)
        state->key[state->gpu_by_gpu[k]] = workspace->tasks[state->gpu_by_gpu[k]].gpu_utilisation;
    gpusync_sort(state->gpu_by_gpu, state->n_gpu, state->key);
}

void gpusync_load_end(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;

    for (int list = 0; list < LISTS; list++)
        sort_requests(state->requests[list], state->n_requests[list]);
    measure(workspace);
}

void gpusync_load(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                  const struct gpusync_job jobs[], size_t n)
{
    gpusync_load_begin(workspace);
    for (size_t i = 0; i < n; i++) {
        const struct gpusync_job *job = &jobs[i];
        struct gpusync_task *task =
            gpusync_load_task(workspace, job->period, job->deadline, job->cpu, job->critical);

        task->uses_gpu = job->kernels > 0;
        if (!task->uses_gpu)
            continue;
        gpusync_load_request(workspace, OPERATION_KERNEL, job->kernel / job->kernels, job->kernels);
        gpusync_load_in(workspace, system, job->bytes_in);
        gpusync_load_out(workspace, system, job->bytes_out);
        gpusync_load_state(workspace, system, job->state);
    }
    gpusync_load_end(workspace);
}

static bool same_costs(const struct gpusync_copy_table *a, const struct gpusync_copy_table *b)
{
    return a->n == b->n && (a->n == 0 || (memcmp(a->bytes, b->bytes, a->n * sizeof a->bytes[0]) == 0 &&
                                          memcmp(a->cost, b->cost, a->n * sizeof a->cost[0]) == 0));
}

bool gpusync_loads_alike(const struct gpusync_system *a, const struct gpusync_system *b)
{
    bool same = a->migration == b->migration && a->chunk_in == b->chunk_in && a->chunk_out == b->chunk_out;

    for (int direction = 0; same && direction < COPY_DIRECTIONS; direction++)
        same = same_costs(&a->copies[direction], &b->copies[direction]);
    return same;
}
