/*
 * Assigns tasks to CPU and GPU clusters when no plan does. GPU tasks come first, by decreasing GPU
 * utilisation: each goes to the least loaded GPU cluster, then to the least loaded of its CPU
 * clusters. The other tasks follow (GPUSync Sec. V, without blocking).
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/sim_internal.h"

struct order {
    double key;
    size_t task;
};

static int by_key(const void *a, const void *b)
{
    const struct order *x = a;
    const struct order *y = b;

    if (x->key != y->key)
        return x->key < y->key ? 1 : -1;
    return (x->task > y->task) - (x->task < y->task);
}

static double utilisation(const struct sim_task *task)
{
    return (double)task->program.cost / (double)task->task->period;
}

static double gpu_utilisation(const struct sim_task *task)
{
    return (double)task->program.gpu_length / (double)task->task->period;
}

/*
 * The least loaded CPU cluster; q: among those attached to this GPU cluster, UINT_MAX: among all.
 */
static unsigned least_loaded(const struct sim *sim, const double *load, unsigned q)
{
    unsigned best = 0;
    bool any = false;

    for (unsigned x = 0; x < sim->n_clusters; x++) {
        if (q != UINT32_MAX && !platform_owns(&sim->options.set->platform, x, q))
            continue;
        if (!any || load[x] < load[best])
            best = x;
        any = true;
    }
    return best;
}

static void spread(struct sim *sim, struct order *order, double *cpu_load, double *gpu_load)
{
    unsigned gpu_clusters = platform_gpu_clusters(&sim->options.set->platform);

    for (size_t i = 0; i < sim->n_tasks; i++)
        order[i] = (struct order){gpu_utilisation(&sim->tasks[i]), i};
    qsort(order, sim->n_tasks, sizeof *order, by_key);
    for (size_t i = 0; i < sim->n_tasks; i++) {
        struct sim_task *task = &sim->tasks[order[i].task];
        unsigned best = 0;

        if (!task->program.uses_gpu)
            continue;
        for (unsigned q = 1; q < gpu_clusters; q++) {
            if (gpu_load[q] < gpu_load[best])
                best = q;
        }
        if (task->task->placement.kind == PLACEMENT_FIXED)
            best = (unsigned)__builtin_ctzll(task->task->placement.gpus) /
                   sim->options.set->platform.gpu_cluster;
        gpu_load[best] += order[i].key;
        task->gpu_cluster = best;
    }
    for (unsigned pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < sim->n_tasks; i++)
            order[i] = (struct order){utilisation(&sim->tasks[i]), i};
        qsort(order, sim->n_tasks, sizeof *order, by_key);
        for (size_t i = 0; i < sim->n_tasks; i++) {
            struct sim_task *task = &sim->tasks[order[i].task];

            if (task->program.uses_gpu != (pass == 0))
                continue;
            task->cpu_cluster = least_loaded(sim, cpu_load, pass == 0 ? task->gpu_cluster : UINT32_MAX);
            cpu_load[task->cpu_cluster] += order[i].key;
        }
    }
}

static int spread_all(struct sim *sim)
{
    struct order *order = calloc(sim->n_tasks + 1, sizeof *order);
    double *cpu_load = calloc(sim->n_clusters + 1, sizeof *cpu_load);
    double *gpu_load = calloc(PLATFORM_MAX_GPUS, sizeof *gpu_load);
    int result = order && cpu_load && gpu_load ? 0 : -ENOMEM;

    if (result == 0)
        spread(sim, order, cpu_load, gpu_load);
    free(order);
    free(cpu_load);
    free(gpu_load);
    return result;
}

int partition_tasks(struct sim *sim)
{
    const struct platform *platform = &sim->options.set->platform;
    const struct plan *plan = sim->options.plan;
    unsigned most = 1;

    for (unsigned q = 0; platform->gpus && q < platform_gpu_clusters(platform); q++) {
        unsigned sharing = 0;

        for (unsigned x = 0; x < sim->n_clusters; x++)
            sharing += platform_owns(platform, x, q);
        if (sharing > most)
            most = sharing;
    }
    sim->config.sharing_cpus = most * sim->config.cpu_cluster;
    if (sim->options.lock == SCHED_LOCKS)
        sim->config.lock = most > 1 ? LOCK_CK_OMLP : LOCK_R2DGLP;
    if (!plan)
        return spread_all(sim);
    for (size_t i = 0; i < sim->n_tasks; i++) {
        const struct plan_task *task = plan_find(plan, sim->tasks[i].task->name);

        sim->tasks[i].cpu_cluster = task && task->cpu_cluster < sim->n_clusters ? task->cpu_cluster : 0;
        sim->tasks[i].gpu_cluster =
            task && platform->gpus && task->gpu_cluster < platform_gpu_clusters(platform) ? task->gpu_cluster
                                                                                          : 0;
    }
    return 0;
}
