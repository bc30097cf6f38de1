/*
 * A whole machine in virtual time: CPUs in clusters under preemptive scheduling, engines and buses
 * under sched/, the same object code that batond runs. A sim is made once and may run many times
 * (offset searches). Its memory does not grow with the horizon.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/nsec.h"
#include "model/plan.h"
#include "model/task_set.h"
#include "model/topology.h"
#include "sched/core.h"
#include "sim/quantiles.h"

#define SIM_UNSUPPORTED 1 /* the set cannot run under this profile; *ret_reason tells why */

struct sim_times; /* sim/times.h */

struct sim_options {
    const struct task_set *set;    /* borrowed as long as the sim lives, like the next two */
    const struct plan *plan;       /* NULL: priorities of the set, and the mode below */
    const struct sim_times *times; /* execution times of a trace; NULL: see `random_execution` */
    bool multi; /* without a plan: use all GPUs wherever the file gives lengths; else one GPU */
    enum sched_profile_id profile;
    enum sched_policy_id policy;
    /* SCHED_LOCKS: CK-OMLP if a GPU cluster has several CPU clusters, else R2DGLP. */
    enum sched_lock_id lock;
    /*
     * Copies with `bytes` take the time that the links allow instead of their ms; NULL: as the file
     * says. At most 32 GPUs.
     */
    const struct topology *topology;
    bool overheads; /* charge the platform's overhead set (docs/simulate.md) */
    /* POLICY_FAIR_LATENESS: relative priority points by task; NULL: from the costs. */
    const baton_nsec *points;
    /* Engine time that each job may use, by task, 0: no limit; NULL: none has one. */
    const baton_nsec *budgets;
    enum sched_overrun overrun; /* what happens to a job that uses more */
};

/* One run. */
struct sim_run {
    baton_nsec horizon;
    uint64_t seed;
    bool sporadic; /* half of the gaps are one period, the others up to two */
    /*
     * For half of the jobs, each step is between its best and its worst case; the others take the
     * worst case.
     */
    bool random_execution;
    /* events of one instant come in random order; else completions come before releases */
    bool random_ties;
    bool random_gpus;          /* placement `chosen`: random GPUs instead of the core's choice */
    const baton_nsec *offsets; /* first releases by task; NULL: 0 */
    /*
     * When a task's process dies, by task. From then on none of its jobs ends or is released, and a
     * running piece drains. NULL: none dies.
     */
    const baton_nsec *deaths;
};

enum sim_mark { SIM_RELEASE, SIM_MISS, SIM_YIELD, SIM_INHERIT, SIM_COMPLETE, SIM_SUSPEND };

/* Callbacks for what happens; rows are CPUs 0 .. cpus - 1 and, from `cpus` on, engines. */
struct sim_observer {
    void *context;
    /*
     * The task occupied the row in [from_at, to_at); step: index in its segments, SIZE_MAX for
     * copies of the protocol.
     */
    void (*span)(void *context, size_t row, size_t task, uint64_t job, size_t step, baton_nsec from_at,
                 baton_nsec to_at);
    /* row: where it was seen, SIZE_MAX: none. other: the task that it inherits from. */
    void (*mark)(void *context, enum sim_mark mark, size_t row, size_t task, uint64_t job, size_t other,
                 baton_nsec at);
    /* Every decision of the core, in order; job ids are tasks. May be NULL. */
    void (*decided)(void *context, const struct sched_decision *decision, baton_nsec at);
};

struct sim_task_result {
    uint64_t jobs;       /* completed */
    uint64_t unfinished; /* released, not completed at the horizon */
    /* completed late, or not completed by a deadline before the horizon */
    uint64_t misses;
    /* unfinished jobs count with the time that they have waited so far */
    baton_nsec max_response;
    struct quantiles response;  /* of completed jobs */
    struct quantiles occupying; /* time with at least one engine held */
    struct quantiles pending;   /* response - occupying (GPES) */
    baton_nsec compute, copy;   /* sums over finished jobs; their sum is occupying */
    unsigned max_ahead;         /* gpusync: the most critical sections ahead of a token request */
};

struct sim_result {
    /* by index in the set; owned by the sim, valid until the next run */
    struct sim_task_result *tasks;
    size_t n_tasks;
    uint64_t events; /* releases, completions on CPUs, completions of pieces */
    uint64_t yields, inheritances, preemptions;
    baton_nsec end; /* when the run stopped */
};

struct sim;

/* 0, SIM_UNSUPPORTED with *ret_reason (static text) and the task in *ret_task, -ENOMEM, -EINVAL. */
int sim_new(const struct sim_options *options, struct sim **ret_sim, const char **ret_reason,
            size_t *ret_task);
void sim_free(struct sim *sim);

/* Runs from an empty machine to the horizon. observer may be NULL. */
void sim_run(struct sim *sim, const struct sim_run *run, const struct sim_observer *observer,
             struct sim_result *ret_result);

/* For names of rows and for the bounds of the token lock. */
const struct sched_core *sim_core(const struct sim *sim);

#endif
