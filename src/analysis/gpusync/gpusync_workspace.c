/*
 * The memory of the GPUSync analysis. All of it is taken once, from one arena, so that testing a
 * set allocates nothing.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/gpusync/gpusync_state.h"

struct workspace_memory {
    struct gpusync_workspace workspace;
    struct gpusync_state state;
    struct arena arena;
};

static double *column(struct arena *arena, size_t n)
{
    return arena_calloc(arena, n, sizeof(double));
}

static bool take_tables(struct gpusync_workspace *workspace, struct gpusync_state *state, struct arena *arena)
{
    const struct gpusync_limits *limits = &state->limits;

    for (int list = 0; list < LISTS; list++) {
        state->requests[list] = arena_calloc(arena, limits->requests, sizeof *state->requests[list]);
        state->entries[list] = arena_calloc(arena, limits->requests, sizeof *state->entries[list]);
        if (!state->requests[list] || !state->entries[list])
            return false;
    }
    workspace->tasks = arena_calloc(arena, limits->tasks, sizeof *workspace->tasks);
    workspace->terms = arena_calloc(arena, limits->tasks, sizeof *workspace->terms);
    workspace->clusters = arena_calloc(arena, limits->cpu_clusters, sizeof *workspace->clusters);
    state->gpu_clusters = arena_calloc(arena, limits->gpu_clusters, sizeof *state->gpu_clusters);
    state->cpu_first = arena_calloc(arena, (size_t)limits->cpu_clusters + 2, sizeof *state->cpu_first);
    state->members = arena_calloc(arena, limits->tasks, sizeof *state->members);
    state->by_section = arena_calloc(arena, limits->tasks, sizeof *state->by_section);
    state->by_cpu = arena_calloc(arena, limits->tasks, sizeof *state->by_cpu);
    state->position = arena_calloc(arena, limits->tasks, sizeof *state->position);
    state->order = arena_calloc(arena, limits->tasks, sizeof *state->order);
    state->gpu_by_gpu = arena_calloc(arena, limits->tasks, sizeof *state->gpu_by_gpu);
    state->gpu_by_all = arena_calloc(arena, limits->tasks, sizeof *state->gpu_by_all);
    state->cpu_by_all = arena_calloc(arena, limits->tasks, sizeof *state->cpu_by_all);
    state->lock_cluster = arena_calloc(arena, limits->tasks, sizeof *state->lock_cluster);
    state->chosen = arena_calloc(arena, limits->tasks, sizeof *state->chosen);
    return workspace->tasks && workspace->terms && workspace->clusters && state->gpu_clusters &&
           state->cpu_first && state->members && state->by_section && state->by_cpu && state->order &&
           state->position && state->gpu_by_gpu && state->gpu_by_all && state->cpu_by_all &&
           state->lock_cluster && state->chosen;
}

static bool take_columns(struct gpusync_state *state, struct arena *arena)
{
    size_t clusters = (size_t)state->limits.cpu_clusters + state->limits.gpu_clusters;
    double **by_task[] = {&state->member_inverse,
                          &state->member_r,
                          &state->member_period,
                          &state->member_operations,
                          &state->used,
                          &state->donor_point,
                          &state->span,
                          &state->next_r,
                          &state->key,
                          &state->lock_period,
                          &state->lock_horizon,
                          &state->lock_r,
                          &state->cost,
                          &state->period,
                          &state->deadline,
                          &state->point,
                          &state->response,
                          &state->utilisation,
                          &state->slope,
                          &state->sort_key};

    for (size_t k = 0; k < sizeof by_task / sizeof by_task[0]; k++) {
        *by_task[k] = column(arena, state->limits.tasks);
        if (!*by_task[k])
            return false;
    }
    state->load = column(arena, clusters);
    state->taken = column(arena, clusters);
    return state->load && state->taken;
}

int gpusync_workspace_new(const struct gpusync_limits *limits, struct gpusync_workspace **ret_workspace)
{
    struct workspace_memory *memory = calloc(1, sizeof *memory);

    if (!memory)
        return -ENOMEM;
    arena_init(&memory->arena, 0);
    /* An empty set and a machine without GPUs are valid input. */
    memory->state.limits = (struct gpusync_limits){.tasks = limits->tasks + 1,
                                                   .requests = limits->requests + 1,
                                                   .cpu_clusters = limits->cpu_clusters + 1,
                                                   .gpu_clusters = limits->gpu_clusters + 1};
    memory->workspace.state = &memory->state;
    if (!take_tables(&memory->workspace, &memory->state, &memory->arena) ||
        !take_columns(&memory->state, &memory->arena)) {
        gpusync_workspace_free(&memory->workspace);
        return -ENOMEM;
    }
    *ret_workspace = &memory->workspace;
    return 0;
}

void gpusync_workspace_free(struct gpusync_workspace *workspace)
{
    struct workspace_memory *memory = (struct workspace_memory *)workspace; /* its first member */

    if (!memory)
        return;
    arena_done(&memory->arena);
    free(memory);
}
