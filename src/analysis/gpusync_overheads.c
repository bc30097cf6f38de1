/*
 * Overheads (GPUSync App. F): preemption-centric accounting after Brandenburg, eqs. (15), (16), (27), with GPU interrupts (20)-(26).
 * (23) charges the token lock once a job, not once an operation; (25) builds on (23). In the sound variant a job also pays for its own
 * bottom halves (y instead of y - 1) and its own top halves.
 */
#include "analysis/gpusync_state.h"

void gpusync_overheads_prepare(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_system *system = state->system;
    double tick = system->tick / system->tick_period;

    for (unsigned x = 0; x < system->cpu_clusters; x++) {
        struct gpusync_cluster_terms *cluster = &workspace->clusters[x];
        double irq = 0;

        cluster->n = state->cpu_first[x + 1] - state->cpu_first[x];
        for (size_t k = state->cpu_first[x]; k < state->cpu_first[x + 1]; k++)
            irq += system->release / workspace->tasks[state->by_cpu[k]].period;
        cluster->stolen = tick + irq;
        cluster->preemption = (system->tick + system->event_latency * tick +
                               (double)cluster->n * system->release + system->event_latency * irq) /
                              (1 - tick - irq);
    }
}

/* (24): operations of all tasks on GPUs of this CPU cluster, while a job of i is pending. Column loops, so that they vectorise. */
static double interrupts(const struct gpusync_workspace *workspace, unsigned x, size_t i)
{
    const struct gpusync_state *state = workspace->state;
    const struct gpusync_ranges *attached = &state->system->attached[x];
    double period = workspace->tasks[i].period;
    double r = workspace->terms[i].r;
    double horizon = period > r ? period : r;
    double hits = 0;

    for (size_t a = 0; a < attached->n; a++) {
        size_t first = state->gpu_clusters[attached->ranges[a].first].first;
        size_t end = state->gpu_clusters[attached->ranges[a].end - 1].end;

        for (size_t k = first; k < end; k++)
            hits += state->member_operations[k] *
                    gpusync_ceil((horizon + state->member_r[k]) / state->member_period[k]);
    }
    if (workspace->tasks[i]
            .uses_gpu) { /* the loops met i itself: counts are whole numbers, so this is exact */
        hits -= workspace->terms[i].operations * gpusync_ceil((horizon + r) / period);
        if (state->options->sound)
            hits += workspace->terms[i].operations;
    }
    return hits;
}

static void gather(struct gpusync_workspace *workspace)
{
    struct gpusync_state *state = workspace->state;
    const struct gpusync_system *system = state->system;
    size_t n = system->gpu_clusters > 0 ? state->gpu_clusters[system->gpu_clusters - 1].end : 0;

    for (size_t k = 0; k < n; k++) {
        size_t j = state->members[k];

        state->member_r[k] = workspace->terms[j].r;
        state->member_period[k] = workspace->tasks[j].period;
        state->member_operations[k] = workspace->terms[j].operations;
    }
}

static void inflate(struct gpusync_workspace *workspace, unsigned x, size_t i)
{
    const struct gpusync_state *state = workspace->state;
    const struct gpusync_system *system = state->system;
    const struct gpusync_cluster_terms *cluster = &workspace->clusters[x];
    const struct gpusync_task *task = &workspace->tasks[i];
    struct gpusync_terms *terms = &workspace->terms[i];
    double execution = task->cpu + 2 * (system->scheduler + system->context_switch) + system->cpmd;

    terms->interrupts = interrupts(workspace, x, i);
    execution += terms->interrupts * system->top_half;
    if (task->uses_gpu)
        execution += terms->operations * state->gpu_clusters[terms->gpu_cluster].operation + state->sigma +
                     task->length[OPERATION_KERNEL] + terms->xmit;
    terms->execution = execution;
    terms->inflated = execution / (1 - cluster->stolen) + 2 * cluster->preemption + system->ipi;
}

void gpusync_overheads_inflate(struct gpusync_workspace *workspace)
{
    const struct gpusync_state *state = workspace->state;

    gather(workspace);
    for (unsigned x = 0; x < state->system->cpu_clusters; x++)
        for (size_t k = state->cpu_first[x]; k < state->cpu_first[x + 1]; k++)
            inflate(workspace, x, state->by_cpu[k]);
}
