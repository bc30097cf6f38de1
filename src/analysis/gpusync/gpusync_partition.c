/*
 * Partitioning (GPUSync Sec. V): worst fit by decreasing utilisation, in three phases. GPU tasks go
 * to GPU clusters, then to the CPU clusters that own them. CPU-only tasks go to the remaining
 * capacity, with the blocking of the GPU tasks counted. No phase rejects a set: the test that
 * follows decides.
 */
#include "analysis/gpusync/gpusync_state.h"

#include <math.h>

static bool before(uint32_t a, uint32_t b, const double key[])
{
    return key[a] > key[b] || (!(key[a] < key[b]) && a < b);
}

void gpusync_sort(uint32_t order[], size_t n, const double key[])
{
    static const size_t gaps[] = {301, 132, 57, 23, 10, 4, 1};
    const size_t n_gaps = sizeof gaps / sizeof gaps[0];

    for (size_t g = n > 64 ? 0 : n_gaps - 1; g < n_gaps; g++) {
        for (size_t k = gaps[g]; k < n; k++) {
            uint32_t task = order[k];
            size_t at = k;

            while (at >= gaps[g] && before(task, order[at - gaps[g]], key)) {
                order[at] = order[at - gaps[g]];
                at -= gaps[g];
            }
            order[at] = task;
        }
    }
}

/* The least loaded of [0, n), the lowest on ties. */
static unsigned least(const double load[], unsigned n)
{
    unsigned best = 0;

    for (unsigned k = 1; k < n; k++)
        best = load[k] < load[best] ? k : best;
    return best;
}

static void clear(double load[], unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        load[k] = 0;
}

static void reset(struct gpusync_workspace *workspace)
{
    for (size_t i = 0; i < workspace->n; i++) {
        const struct gpusync_task *task = &workspace->tasks[i];

        workspace->terms[i] = (struct gpusync_terms){.gpu_cluster = GPUSYNC_NOWHERE,
                                                     .cpu_cluster = GPUSYNC_UNPLACED,
                                                     .xmit = task->xmit,
                                                     .utilisation = task->utilisation,
                                                     .gpu_utilisation = task->gpu_utilisation,
                                                     .r = task->period};
        workspace->state->span[i] = 0;
    }
}

/* Phase 1. Afterwards members[] lists every cluster's tasks by index. */
static void to_gpu_clusters(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_system *system = state->system;
    size_t n = state->n_gpu;
    size_t at = 0;

    /* a GPU without an owner must never be the least loaded */
    for (unsigned q = 0; q < system->gpu_clusters; q++)
        state->load[q] = system->owners[q].n > 0 ? 0 : INFINITY;
    for (size_t k = 0; k < n; k++) {
        uint32_t i = state->gpu_by_gpu[k];
        uint32_t forced = workspace->tasks[i].forced_cluster;
        unsigned q = forced != GPUSYNC_NOWHERE ? forced : least(state->load, system->gpu_clusters);

        workspace->terms[i].gpu_cluster = q;
        state->load[q] += workspace->terms[i].gpu_utilisation;
    }
    for (unsigned q = 0; q < system->gpu_clusters; q++)
        state->gpu_clusters[q].end = 0; /* counts first */
    for (size_t k = 0; k < n; k++)
        state->gpu_clusters[workspace->terms[state->gpu_by_gpu[k]].gpu_cluster].end++;
    for (unsigned q = 0; q < system->gpu_clusters; q++) {
        size_t count = state->gpu_clusters[q].end;

        state->gpu_clusters[q].first = state->gpu_clusters[q].end = at;
        at += count;
    }
    for (size_t i = 0; n > 0 && i < workspace->n; i++)
        if (workspace->tasks[i].uses_gpu) {
            size_t slot = state->gpu_clusters[workspace->terms[i].gpu_cluster].end++;

            state->members[slot] = state->by_section[slot] = (uint32_t)i;
            state->position[i] = (uint32_t)slot;
        }
}

static bool few_anywhere(const struct gpusync_state *state)
{
    for (unsigned q = 0; q < state->system->gpu_clusters; q++)
        if (state->gpu_clusters[q].few)
            return true;
    return false;
}

/* Phase 2: among the CPU clusters that own its GPU cluster. */
static void to_owners(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;
    const uint32_t *order = state->gpu_by_all;

    /* tasks of such clusters carry no state, so their utilisation is lower */
    if (few_anywhere(state)) {
        for (size_t k = 0; k < state->n_gpu; k++) {
            state->order[k] = state->gpu_by_all[k];
            state->key[state->order[k]] = workspace->terms[state->order[k]].utilisation;
        }
        gpusync_sort(state->order, state->n_gpu, state->key);
        order = state->order;
    }
    for (size_t k = 0; k < state->n_gpu; k++) {
        uint32_t i = order[k];
        const struct cluster_list *owners = &state->system->owners[workspace->terms[i].gpu_cluster];
        unsigned best = owners->clusters[0];

        for (size_t o = 1; o < owners->n; o++) {
            unsigned x = owners->clusters[o];

            if (state->load[x] < state->load[best] || (!(state->load[best] < state->load[x]) && x < best))
                best = x;
        }
        workspace->terms[i].cpu_cluster = best;
        state->load[best] += workspace->terms[i].utilisation;
    }
}

/*
 * Phase 3, after computing the blocking of the GPU tasks alone. With a single cluster there is no
 * choice.
 */
static void to_what_is_left(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_system *system = state->system;

    if (state->n_cpu > 0 && state->n_gpu > 0 && system->cpu_clusters > 1) {
        gpusync_group_by_cpu(workspace);
        if (system->shared)
            gpusync_ck_omlp_plain_points(workspace);
        gpusync_block(workspace);
        for (size_t i = 0; i < workspace->n; i++)
            if (workspace->tasks[i].uses_gpu)
                state->load[workspace->terms[i].cpu_cluster] +=
                    workspace->terms[i].blocking / workspace->tasks[i].period;
        for (size_t i = 0; i < workspace->n; i++)
            workspace->terms[i].blocking = 0;
    }
    for (size_t k = 0; k < state->n_cpu; k++) {
        uint32_t i = state->cpu_by_all[k];
        unsigned x = least(state->load, system->cpu_clusters);

        workspace->terms[i].cpu_cluster = x;
        state->load[x] += workspace->terms[i].utilisation;
    }
}

void gpusync_partition(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;

    reset(workspace);
    to_gpu_clusters(workspace);
    gpusync_engines_prepare(workspace);
    clear(state->load, state->system->cpu_clusters);
    to_owners(workspace);
    to_what_is_left(workspace);
    gpusync_group_by_cpu(workspace);
}
