/* The state behind sim/sim.h: sim.c runs jobs, cpu.c the CPUs, gpu.c engines and tokens. */
#ifndef SIM_SIM_INTERNAL_H
#define SIM_SIM_INTERNAL_H

#include "base/arena.h"
#include "base/random.h"
#include "sim/program.h"
#include "sim/sim.h"
#include "sim/timers.h"

#define NO_CPU UINT32_MAX

struct sim_lane {
    size_t piece, n_pieces;
    const struct cut *cut; /* set by the grant, when the GPU is known */
    bool done;
    baton_nsec piece_at; /* when its present piece began */
    struct engine_set engines;
    engine_id engine; /* the first of them */
};

struct sim_task {
    const struct task *task;
    struct program program;
    unsigned priority, cpu_cluster, gpu_cluster;
    baton_nsec bound;
    /* Releases. */
    baton_nsec next_release_at;
    uint64_t number;            /* of the present or last job, from 1 */
    struct random_state random; /* releases */
    /* The present job. */
    bool dead;     /* its process has died */
    bool active;   /* has a job in the system */
    bool deferred; /* CK-OMLP: done, but its end is deferred */
    baton_nsec release_at;
    size_t step;
    double factor; /* of the present step: actual / worst case */
    unsigned lanes_left;
    struct sim_lane *lanes;
    unsigned engaged;                          /* lanes that hold engines */
    baton_nsec engaged_at, occupied, computed; /* computed: the part of occupied with kernels */
    uint64_t gpus;                             /* chosen for this job */
    unsigned home;                             /* GPU of the last job's token, SCHED_NO_GPU */
    unsigned token_gpu;
    /* On the CPUs. */
    bool ready, suspended;
    bool delayed; /* overheads: the end of a GPU step is being handled */
    unsigned cpu; /* where it runs, or NO_CPU */
    unsigned last_cpu;
    baton_nsec left;       /* of the present CPU step */
    baton_nsec running_at; /* since when it runs */
};

struct sim_cluster {
    unsigned first_cpu, n_cpus;
    uint32_t *ready; /* tasks, the most urgent first */
    size_t n_ready;
    uint32_t *on_cpu; /* task or UINT32_MAX, by CPU of the cluster */
};

struct sim {
    struct arena arena;
    struct sim_options options;
    struct sched_config config;
    const struct sched_profile *profile;
    struct sched_core *core;
    struct timers timers;
    struct sim_task *tasks;
    size_t n_tasks;
    struct sim_cluster *clusters;
    size_t n_clusters;
    unsigned lanes; /* per task */
    struct sim_task_result *results;
    /* The run in progress. */
    const struct sim_run *run;
    const struct sim_observer *observer;
    struct sim_result *result;
    struct random_state random;
    baton_nsec now;
    /* Decisions not yet carried out; a ring, so that carrying one out may cause more. */
    struct sched_decision *todo;
    size_t todo_room, todo_first, todo_n;
    bool busy;                   /* decisions are being carried out */
    struct bandwidth *bandwidth; /* owned; NULL: copies take the time that the file gives */
};

/*
 * Timers: pieces first, then CPU steps, delays, releases, ticks. So at one instant completions come
 * before releases.
 */
static inline uint32_t timer_lane(const struct sim *sim, size_t task, unsigned lane)
{
    return (uint32_t)(task * sim->lanes + lane);
}

static inline uint32_t timer_cpu(const struct sim *sim, size_t task)
{
    return (uint32_t)(sim->n_tasks * sim->lanes + task);
}

static inline uint32_t timer_release(const struct sim *sim, size_t task)
{
    return (uint32_t)(sim->n_tasks * (sim->lanes + 1) + task);
}

static inline uint32_t timer_tick(const struct sim *sim)
{
    return (uint32_t)(sim->n_tasks * (sim->lanes + 2));
}

static inline uint32_t timer_death(const struct sim *sim, size_t task)
{
    return timer_tick(sim) + 1 + (uint32_t)task;
}

/* Only if tasks have budgets. */
static inline uint32_t timer_budget(const struct sim *sim)
{
    return timer_death(sim, sim->n_tasks);
}

static inline uint32_t timer_count(const struct sim *sim)
{
    return timer_budget(sim) + (sim->options.budgets ? 1 : 0);
}

/* sim.c */
/* feeds the core and carries its decisions out */
void sim_tell_core(struct sim *sim, struct sched_event *event);
void sim_step_done(struct sim *sim, size_t task);
void sim_drained(struct sim *sim, size_t task); /* the last piece of a dead task has ended */
baton_nsec sim_actual(const struct sim_task *task, baton_nsec worst);
void sim_mark(struct sim *sim, enum sim_mark mark, size_t row, size_t task, size_t other);

/* cpu.c */
void cpu_reset(struct sim *sim);
void cpu_enter(struct sim *sim, size_t task); /* the task wants to run its present CPU step */
void cpu_leave(struct sim *sim, size_t task);
void cpu_sort(struct sim *sim); /* effective priorities have changed */
void cpu_suspend(struct sim *sim, size_t task, bool suspended);
void cpu_step_over(struct sim *sim, size_t task);         /* its timer fired */
void cpu_release_interrupt(struct sim *sim, size_t task); /* on the first CPU of its cluster */
void cpu_tick(struct sim *sim);                           /* on every CPU */

/* gpu.c */
void gpu_begin_step(struct sim *sim, size_t task);
void gpu_granted(struct sim *sim, const struct sched_decision *decision);
void gpu_piece_over(struct sim *sim, size_t task, unsigned lane);
void gpu_token_granted(struct sim *sim, const struct sched_decision *decision);
void gpu_close_spans(struct sim *sim); /* at the horizon */
void gpu_place(struct sim *sim, size_t task);

/* bandwidth.c */
int bandwidth_new(struct sim *sim, const char **ret_reason); /* 0, SIM_UNSUPPORTED, -ENOMEM */
void bandwidth_free(struct sim *sim);
void bandwidth_reset(struct sim *sim);
void bandwidth_begin(struct sim *sim, size_t task, unsigned lane, unsigned gpu, double bytes);
/* does nothing if the copy has not begun */
void bandwidth_end(struct sim *sim, size_t task, unsigned lane);

/* partition.c */
int partition_tasks(struct sim *sim); /* clusters of each task, the lock and M; 0 or -ENOMEM */

#endif
