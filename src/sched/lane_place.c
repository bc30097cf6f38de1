/*
 * Choice of GPUs for placement `chosen`. It is made before the upload, so that the data goes where
 * the kernel runs. Any choice keeps the bound, which counts as if all jobs chose the same GPU. This
 * choice prefers the GPU that holds the data, then the GPU with the least announced work.
 */
#include <assert.h>

#include "sched/internal.h"

#define UNKNOWN_COST NSEC_PER_MS

static baton_nsec estimate(const struct sched_core *core, const struct sched_event *event, unsigned gpu)
{
    baton_nsec cost = core->gpu_load[gpu];

    if (event->occupied >> gpu & 1)
        cost += UNKNOWN_COST;
    if (event->home != SCHED_NO_GPU && event->home != gpu)
        cost += event->migration;
    return cost;
}

/* The GPU of the mask with the smallest estimate; ties: home, then the lowest. */
static unsigned best_gpu(const struct sched_core *core, const struct sched_event *event, uint64_t allowed)
{
    unsigned best = SCHED_NO_GPU;

    for (unsigned q = 0; q < core->config.gpus; q++) {
        if (!(allowed >> q & 1))
            continue;
        if (best == SCHED_NO_GPU || estimate(core, event, q) < estimate(core, event, best) ||
            (q == event->home && estimate(core, event, q) == estimate(core, event, best)))
            best = q;
    }
    return best;
}

int place_job(struct sched_core *core, const struct sched_event *event)
{
    struct job *job = &core->jobs[event->job];
    uint64_t all = core->config.gpus == 64 ? UINT64_MAX : (UINT64_C(1) << core->config.gpus) - 1;
    uint64_t allowed = event->gpus & all;
    unsigned n = event->n ? event->n : 1;
    uint64_t chosen = 0;

    if (core->profile->tokens || (event->gpus && n > (unsigned)__builtin_popcountll(allowed)))
        return SCHED_REFUSED;
    place_forget(core, event->job);
    if (!event->gpus)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned gpu = best_gpu(core, event, allowed & ~chosen);

        assert(gpu < core->config.gpus); /* the caller checked that n GPUs are allowed */
        chosen |= UINT64_C(1) << gpu;
    }
    job->placed = chosen;
    job->load = event->cost ? event->cost : UNKNOWN_COST;
    for (unsigned q = 0; q < core->config.gpus; q++) {
        if (chosen >> q & 1)
            core->gpu_load[q] += job->load;
    }
    core_decide(core, SCHED_PLACED, event->job)->gpus = chosen;
    return 0;
}

void place_forget(struct sched_core *core, job_id id)
{
    struct job *job = &core->jobs[id];

    for (unsigned q = 0; job->placed && q < core->config.gpus; q++) {
        if (job->placed >> q & 1)
            core->gpu_load[q] -= job->load;
    }
    job->placed = 0;
}
