/*
 * CPUs in clusters. In each cluster the c most urgent ready jobs run: globally preemptive inside
 * the cluster, so clusters of one CPU are partitioned scheduling. The order is the effective
 * priority of the core. A job keeps its CPU as long as it runs.
 */
#include "sim/sim_internal.h"

/*
 * Under tokens batond orders the programs on the CPUs, by the ranks of their jobs. Elsewhere they
 * have the priorities that Linux knows: a job past its budget is demoted at the engines only.
 */
static bool above(const struct sim *sim, job_id a, job_id b)
{
    struct sched_rank x = sched_core_rank(sim->core, a);
    struct sched_rank y = sched_core_rank(sim->core, b);

    if (!sim->profile->tokens)
        x.tier = y.tier = 0;
    return sched_rank_above(&x, &y);
}

static bool before(const struct sim *sim, uint32_t a, uint32_t b)
{
    job_id x = sched_core_effective(sim->core, a);
    job_id y = sched_core_effective(sim->core, b);

    return x != y ? above(sim, x, y) : above(sim, a, b);
}

static void stop(struct sim *sim, struct sim_cluster *cluster, uint32_t id)
{
    struct sim_task *task = &sim->tasks[id];

    task->left -= sim->now - task->running_at;
    if (sim->observer && sim->now > task->running_at)
        sim->observer->span(sim->observer->context, task->cpu, id, task->number,
                            task->program.steps[task->step].segment, task->running_at, sim->now);
    timer_disarm(&sim->timers, timer_cpu(sim, id));
    cluster->on_cpu[task->cpu - cluster->first_cpu] = UINT32_MAX;
    task->last_cpu = task->cpu;
    task->cpu = NO_CPU;
}

/* The task's last CPU if it is free, else the lowest free CPU. */
static unsigned free_cpu(const struct sim_cluster *cluster, unsigned last)
{
    if (last != NO_CPU && last - cluster->first_cpu < cluster->n_cpus &&
        cluster->on_cpu[last - cluster->first_cpu] == UINT32_MAX)
        return last - cluster->first_cpu;
    for (unsigned i = 0;; i++) {
        if (cluster->on_cpu[i] == UINT32_MAX)
            return i;
    }
}

static void start(struct sim *sim, struct sim_cluster *cluster, uint32_t id)
{
    struct sim_task *task = &sim->tasks[id];
    const struct overheads *overheads = &sim->options.set->platform.overheads;
    unsigned cpu = free_cpu(cluster, task->last_cpu);

    cluster->on_cpu[cpu] = id;
    task->cpu = cluster->first_cpu + cpu;
    task->running_at = sim->now;
    if (sim->options.overheads) {
        task->left += overheads->scheduler + overheads->context_switch;
        if (task->last_cpu != NO_CPU) /* the task was preempted before: its caches are cold */
            task->left += overheads->cpmd;
        if (task->last_cpu != NO_CPU && task->last_cpu != task->cpu)
            task->left += overheads->ipi;
    }
    timer_arm(&sim->timers, timer_cpu(sim, id), sim->now + task->left);
}

/*
 * Restores the invariant that the first n_cpus of ready run, after one entry came, went or moved.
 */
static void settle(struct sim *sim, struct sim_cluster *cluster)
{
    for (size_t i = cluster->n_cpus; i < cluster->n_ready; i++) {
        if (sim->tasks[cluster->ready[i]].cpu != NO_CPU) {
            stop(sim, cluster, cluster->ready[i]);
            sim->result->preemptions++;
        }
    }
    for (size_t i = 0; i < cluster->n_ready && i < cluster->n_cpus; i++) {
        if (sim->tasks[cluster->ready[i]].cpu == NO_CPU)
            start(sim, cluster, cluster->ready[i]);
    }
}

static void insert(struct sim *sim, struct sim_cluster *cluster, uint32_t id)
{
    size_t i = cluster->n_ready++;

    while (i > 0 && before(sim, id, cluster->ready[i - 1])) {
        cluster->ready[i] = cluster->ready[i - 1];
        i--;
    }
    cluster->ready[i] = id;
}

static void take_out(struct sim_cluster *cluster, uint32_t id)
{
    size_t i = 0;

    while (cluster->ready[i] != id)
        i++;
    cluster->n_ready--;
    for (; i < cluster->n_ready; i++)
        cluster->ready[i] = cluster->ready[i + 1];
}

void cpu_enter(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    struct sim_cluster *cluster = &sim->clusters[task->cpu_cluster];

    task->ready = true;
    task->last_cpu = NO_CPU;
    if (task->suspended)
        return;
    insert(sim, cluster, (uint32_t)id);
    settle(sim, cluster);
}

void cpu_leave(struct sim *sim, size_t id)
{
    struct sim_task *task = &sim->tasks[id];
    struct sim_cluster *cluster = &sim->clusters[task->cpu_cluster];

    if (!task->ready)
        return;
    task->ready = false;
    if (task->suspended)
        return;
    if (task->cpu != NO_CPU)
        stop(sim, cluster, (uint32_t)id);
    take_out(cluster, (uint32_t)id);
    settle(sim, cluster);
}

void cpu_sort(struct sim *sim)
{
    for (size_t c = 0; c < sim->n_clusters; c++) {
        struct sim_cluster *cluster = &sim->clusters[c];
        size_t n = cluster->n_ready;

        cluster->n_ready = 0;
        while (cluster->n_ready < n)
            insert(sim, cluster, cluster->ready[cluster->n_ready]);
        settle(sim, cluster);
    }
}

void cpu_suspend(struct sim *sim, size_t id, bool suspended)
{
    struct sim_task *task = &sim->tasks[id];
    struct sim_cluster *cluster = &sim->clusters[task->cpu_cluster];

    if (task->suspended == suspended)
        return;
    if (task->ready && suspended) {
        if (task->cpu != NO_CPU)
            stop(sim, cluster, (uint32_t)id);
        take_out(cluster, (uint32_t)id);
    }
    task->suspended = suspended;
    if (task->ready && !suspended)
        insert(sim, cluster, (uint32_t)id);
    settle(sim, cluster);
}

/* An interrupt on one CPU delays the job that runs there. */
static void interrupt(struct sim *sim, const struct sim_cluster *cluster, unsigned cpu, baton_nsec length)
{
    uint32_t id = cluster->on_cpu[cpu];

    if (id == UINT32_MAX)
        return;
    sim->tasks[id].left += length;
    timer_arm(&sim->timers, timer_cpu(sim, id), sim->tasks[id].running_at + sim->tasks[id].left);
}

void cpu_release_interrupt(struct sim *sim, size_t id)
{
    interrupt(sim, &sim->clusters[sim->tasks[id].cpu_cluster], 0,
              sim->options.set->platform.overheads.release);
}

void cpu_tick(struct sim *sim)
{
    for (size_t c = 0; c < sim->n_clusters; c++) {
        for (unsigned cpu = 0; cpu < sim->clusters[c].n_cpus; cpu++)
            interrupt(sim, &sim->clusters[c], cpu, sim->options.set->platform.overheads.tick);
    }
}

void cpu_step_over(struct sim *sim, size_t id)
{
    cpu_leave(sim, id);
    sim_step_done(sim, id);
}

void cpu_reset(struct sim *sim)
{
    for (size_t i = 0; i < sim->n_clusters; i++) {
        sim->clusters[i].n_ready = 0;
        for (unsigned c = 0; c < sim->clusters[i].n_cpus; c++)
            sim->clusters[i].on_cpu[c] = UINT32_MAX;
    }
}
