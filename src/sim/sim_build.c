/* Making and freeing a simulation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_internal.h"
#include "sim/sim.h"
#include "sim/times.h"

static int make_tasks(struct sim *sim, const char **ret_reason, size_t *ret_task)
{
    const struct task_set *set = sim->options.set;

    sim->n_tasks = set->n_tasks;
    sim->tasks = arena_calloc(&sim->arena, set->n_tasks, sizeof *sim->tasks);
    sim->results = arena_calloc(&sim->arena, set->n_tasks, sizeof *sim->results);
    if (!sim->tasks || !sim->results)
        return -ENOMEM;
    sim->lanes = sim->config.buses > 1 ? sim->config.buses : 1;
    for (size_t i = 0; i < set->n_tasks; i++) {
        struct sim_task *task = &sim->tasks[i];
        const struct plan_task *planned =
            sim->options.plan ? plan_find(sim->options.plan, set->tasks[i].name) : NULL;
        unsigned gpus = planned ? planned->gpus : 1;
        int result;

        *ret_task = i;
        if (sim->options.plan && !planned) {
            *ret_reason = "the plan does not name this task";
            return SIM_UNSUPPORTED;
        }
        if (!planned && sim->options.multi && set->platform.gpus > 1) {
            gpus = set->platform.gpus;
            for (size_t k = 0; k < set->tasks[i].n_segments; k++) {
                if (segment_length_on(&set->tasks[i].segments[k], gpus, gpus) < 0)
                    gpus = 1;
            }
        }
        task->task = &set->tasks[i];
        result = program_make(set, task->task, planned, gpus, sim->config.profile, &sim->arena,
                              &task->program, ret_reason);
        if (result)
            return result;
        task->priority = planned ? planned->priority : set->tasks[i].priority;
        if (task->program.max_lanes > sim->lanes)
            sim->lanes = task->program.max_lanes;
    }
    for (size_t i = 0; i < set->n_tasks; i++) {
        sim->tasks[i].lanes = arena_calloc(&sim->arena, sim->lanes, sizeof *sim->tasks[i].lanes);
        if (!sim->tasks[i].lanes)
            return -ENOMEM;
    }
    return 0;
}

/* Deadline-monotonic priorities if the file gives none. */
static int make_priorities(struct sim *sim, const char **ret_reason)
{
    size_t *order;

    if (sim->options.plan || sim->tasks[0].priority || sim->config.policy == POLICY_EDF ||
        sim->config.policy == POLICY_FAIR_LATENESS || sim->config.policy == POLICY_FIFO)
        return 0;
    if (sim->n_tasks > 99) {
        *ret_reason = "more than 99 tasks cannot have a fixed priority each";
        return SIM_UNSUPPORTED;
    }
    order = arena_calloc(&sim->arena, sim->n_tasks, sizeof *order);
    if (!order)
        return -ENOMEM;
    if (task_set_order(sim->options.set, order))
        return -ENOMEM;
    for (size_t i = 0; i < sim->n_tasks; i++)
        sim->tasks[order[i]].priority = (unsigned)(99 - i);
    return 0;
}

static int make_clusters(struct sim *sim)
{
    unsigned c = sim->config.cpu_cluster;

    sim->n_clusters = sim->config.cpus / c;
    sim->clusters = arena_calloc(&sim->arena, sim->n_clusters, sizeof *sim->clusters);
    for (size_t i = 0; sim->clusters && i < sim->n_clusters; i++) {
        struct sim_cluster *cluster = &sim->clusters[i];

        cluster->first_cpu = (unsigned)i * c;
        cluster->n_cpus = c;
        cluster->ready = arena_calloc(&sim->arena, sim->n_tasks + 1, sizeof *cluster->ready);
        cluster->on_cpu = arena_calloc(&sim->arena, c, sizeof *cluster->on_cpu);
        if (!cluster->ready || !cluster->on_cpu)
            return -ENOMEM;
    }
    return sim->clusters ? 0 : -ENOMEM;
}

static int build(struct sim *sim, const char **ret_reason, size_t *ret_task)
{
    int result = sim->options.set->n_tasks ? 0 : -EINVAL;

    sched_config_init(&sim->config, &sim->options.set->platform);
    sim->config.profile = sim->options.profile;
    sim->config.policy = sim->options.policy;
    sim->config.lock = sim->options.lock;
    sim->config.keep_gpu = true;
    sim->config.overrun = sim->options.overrun;
    sim->profile = &sched_profiles[sim->config.profile];
    if (!result)
        result = make_tasks(sim, ret_reason, ret_task);
    if (!result)
        result = make_priorities(sim, ret_reason);
    if (!result)
        result = make_clusters(sim);
    if (!result)
        result = partition_tasks(sim);
    if (result)
        return result;
    sim->config.clients = sim->config.jobs = (unsigned)sim->n_tasks;
    sim->config.lanes = sim->lanes;
    result = sched_core_new(&sim->config, &sim->core);
    if (!result)
        result = timers_new(timer_count(sim), &sim->timers);
    if (!result) {
        sim->todo_room = 64;
        sim->todo = calloc(sim->todo_room, sizeof *sim->todo);
        result = sim->todo ? 0 : -ENOMEM;
    }
    if (!result && sim->options.topology)
        result = bandwidth_new(sim, ret_reason);
    return result;
}

int sim_new(const struct sim_options *options, struct sim **ret_sim, const char **ret_reason,
            size_t *ret_task)
{
    struct sim *sim = calloc(1, sizeof *sim);
    int result;

    if (!sim)
        return -ENOMEM;
    arena_init(&sim->arena, 0);
    sim->options = *options;
    *ret_task = 0;
    result = build(sim, ret_reason, ret_task);
    if (result) {
        sim_free(sim);
        return result;
    }
    *ret_sim = sim;
    return 0;
}

void sim_free(struct sim *sim)
{
    if (!sim)
        return;
    sched_core_free(sim->core);
    timers_free(&sim->timers);
    free(sim->todo);
    bandwidth_free(sim);
    arena_done(&sim->arena);
    free(sim);
}

const struct sched_core *sim_core(const struct sim *sim)
{
    return sim->core;
}
