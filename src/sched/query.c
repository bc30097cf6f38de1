/* Names of engines, and questions that change nothing. */
#include <stdio.h>

#include "model/defaults.h"
#include "sched/internal.h"

/* Engines: per GPU the execution engine, then its copy engines; after them the buses. */

engine_id sched_execution_engine(const struct sched_core *core, unsigned gpu)
{
    return gpu * core->engines_per_gpu;
}

engine_id sched_copy_engine(const struct sched_core *core, unsigned gpu, enum copy_direction copy)
{
    return gpu * core->engines_per_gpu + 1 + (copy == DIRECTION_OUT && core->config.copy_engines == 2);
}

engine_id sched_bus_engine(const struct sched_core *core, unsigned bus)
{
    return core->config.gpus * core->engines_per_gpu + bus;
}

unsigned sched_bus_of_gpu(const struct sched_core *core, unsigned gpu)
{
    return gpu * core->config.buses / core->config.gpus;
}

unsigned sched_engines(const struct sched_core *core)
{
    return core->n_engines;
}

unsigned sched_engine_gpu(const struct sched_core *core, engine_id engine)
{
    unsigned gpu = engine / core->engines_per_gpu;

    return gpu < core->config.gpus ? gpu : SCHED_NO_GPU;
}

void sched_engine_name(const struct sched_core *core, engine_id engine, char *ret_name, size_t size)
{
    unsigned gpu = sched_engine_gpu(core, engine);
    unsigned part = engine % core->engines_per_gpu;

    if (gpu == SCHED_NO_GPU)
        (void)snprintf(ret_name, size, "bus%u", engine - sched_bus_engine(core, 0));
    else if (part == 0)
        (void)snprintf(ret_name, size, "gpu%u", gpu);
    else
        (void)snprintf(ret_name, size, "gpu%u %s", gpu,
                       core->config.copy_engines == 1 ? "copy"
                       : part == 1                    ? "in"
                                                      : "out");
}

struct engine_set sched_copy_engines(const struct sched_core *core, unsigned gpu, enum copy_direction copy)
{
    struct engine_set set = {0};

    engine_set_add(&set, sched_copy_engine(core, gpu, copy));
    if (core->profile->buses && core->config.buses)
        engine_set_add(&set, sched_bus_engine(core, sched_bus_of_gpu(core, gpu)));
    return set;
}

/* ---- questions ---- */

const struct sched_config *sched_core_config(const struct sched_core *core)
{
    return &core->config;
}

bool sched_core_has_job(const struct sched_core *core, job_id job)
{
    return job < core->config.jobs && core->jobs[job].used;
}

job_id sched_core_holder(const struct sched_core *core, engine_id engine, unsigned *ret_lane)
{
    lane_id holder = core->engines[engine].holder;

    if (holder == NO_LANE)
        return SCHED_NO_JOB;
    if (ret_lane)
        *ret_lane = holder % core->config.lanes;
    return job_of(core, holder);
}

size_t sched_core_waiting(const struct sched_core *core, engine_id engine)
{
    return core->engines[engine].n;
}

bool sched_core_above(const struct sched_core *core, job_id a, job_id b)
{
    return job_above(&core->jobs[a], &core->jobs[b]);
}

void sched_config_init(struct sched_config *ret_config, const struct platform *platform)
{
    *ret_config = (struct sched_config){
        .profile = (enum sched_profile_id)sched_profile_find(DEFAULT_PROFILE),
        .policy = (enum sched_policy_id)sched_policy_find(DEFAULT_POLICY),
        .lock = (enum sched_lock_id)sched_lock_find(DEFAULT_LOCK),
        .gpus = platform->gpus,
        .copy_engines = platform->copy_engines,
        .buses = platform->buses,
        .gpu_cluster = platform->gpu_cluster,
        .tokens_per_gpu = platform->tokens_per_gpu,
        .cpus = platform->cpus,
        .cpu_cluster = platform->cpu_cluster,
    };
}
