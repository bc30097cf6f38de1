/*
 * Overheads (GPUSync App. F): preemption-centric accounting after Brandenburg, eqs. (15), (16),
 * (27), with GPU interrupts (20)-(26). (23) charges the token lock once per job, not once per
 * operation; (25) builds on (23). In the sound variant a job also pays for its own bottom halves (y
 * instead of y - 1) and its own top halves.
 */
#include "analysis/gpusync/gpusync_state.h"

#include <string.h>

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

/* Two doubles at a time: every 64-bit machine has such registers. */
typedef double lanes __attribute__((vector_size(16)));
typedef int64_t lane_masks __attribute__((vector_size(16)));

static lanes load(const double *from)
{
    lanes value;

    memcpy(&value, from, sizeof value);
    return value;
}

static double hits_one_by_one(const struct gpusync_state *state, double horizon, size_t first, size_t end)
{
    double hits = 0;

    for (size_t k = first; k < end; k++)
        hits += state->member_operations[k] *
                gpusync_ceil((horizon + state->member_r[k]) / state->member_period[k]);
    return hits;
}

/*
 * Operations of members[first..end) while a job is pending for horizon: sum of eta_j ceil((horizon
 * + r_j)/p_j). Divisions dominate the cost of a test, so products with 1/p_j replace them. A
 * product may be wrong only within 2e-15 of a whole number (three roundings of 1.1e-16 each). If
 * any product is that close, the range is counted again with divisions.
 */
static double hits_in(const struct gpusync_state *state, double horizon, size_t first, size_t end)
{
    const lanes whole = {4503599627370496.0, 4503599627370496.0}; /* 2^52, as in gpusync_ceil */
    const lanes one = {1, 1};
    lanes sum = {0, 0};
    lane_masks doubtful = {0, 0};
    size_t k = first;

    for (; k + 2 <= end; k += 2) {
        lanes jobs = (horizon + load(state->member_r + k)) * load(state->member_inverse + k);
        lanes nearest = (jobs + whole) - whole;
        lanes gap = jobs - nearest;
        lanes margin = 2e-15 * jobs;

        doubtful |= (gap <= margin) & (-gap <= margin);
        nearest += (lanes)((lane_masks)one & (gap > 0));
        sum += load(state->member_operations + k) * nearest;
    }
    if (doubtful[0] | doubtful[1])
        return hits_one_by_one(state, horizon, first, end);
    return sum[0] + sum[1] + hits_one_by_one(state, horizon, k, end);
}

/*
 * (24): operations of all tasks on GPUs of this CPU cluster while a job of i is pending; sound:
 * including its own.
 */
static double interrupts(const struct gpusync_workspace *workspace, unsigned x, size_t i)
{
    const struct gpusync_state *state = workspace->state;
    const struct gpusync_ranges *attached = &state->system->attached[x];
    double horizon = gpusync_horizon(workspace, i);
    size_t own = state->position[i];
    double hits = 0;

    for (size_t a = 0; a < attached->n; a++) {
        size_t first = state->gpu_clusters[attached->ranges[a].first].first;
        size_t end = state->gpu_clusters[attached->ranges[a].end - 1].end;

        if (workspace->tasks[i].uses_gpu && own >= first && own < end)
            hits += hits_in(state, horizon, first, own) + hits_in(state, horizon, own + 1, end);
        else
            hits += hits_in(state, horizon, first, end);
    }
    return state->options->sound ? hits + workspace->terms[i].operations : hits;
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
        state->member_inverse[k] = workspace->tasks[j].inverse;
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
