/*
 * An analysis is a named test over a task set. It is one entry of a table (analysis/table.c);
 * command-line names, help and plans derive from that table. `baton analyze` and `baton plan` call
 * analyses through this header. Studies and planners call the direct interface of each test,
 * because they run in hot loops.
 */
#ifndef ANALYSIS_ANALYSIS_H
#define ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "base/nsec.h"
#include "model/plan_basis.h"
#include "model/plan_requests.h"
#include "model/task_set.h"

#define ANALYSIS_UNBOUNDED ((baton_nsec)-1)

/* Which parts of `blocking_ms` an analysis fills in `baton analyze --json`. */
enum blocking_shape {
    BLOCKING_NONE,
    BLOCKING_LOCKS, /* token, donation, execution, copy: gpusync */
    BLOCKING_UNITS, /* cpu, bus, gpu: holistic */
};

struct task_result {
    unsigned gpus;             /* how many GPUs its kernels run on; 1: mode single, more: multi */
    baton_nsec response;       /* from release to completion, rounded up; ANALYSIS_UNBOUNDED */
    baton_nsec tardiness;      /* max(0, response - deadline); ANALYSIS_UNBOUNDED */
    bool has_priority_point;   /* fair-lateness, gpusync */
    baton_nsec priority_point; /* relative to the release; may be negative */
    /*
     * C, the demand of a job with all that it waits for, as fair lateness counts it; 0: gpusync
     * only
     */
    baton_nsec cost;
    /* in the order that `shape` lists; -1: unknown, because the task is unbounded */
    baton_nsec blocking[4];
    unsigned cpu_cluster, gpu_cluster; /* where the analysis puts the task, for its plan */
    struct plan_requests requests;     /* of one job, overheads included; gpusync */
};

struct analysis_result {
    struct arena arena; /* owns what follows */
    bool schedulable;
    const char *reason;        /* one sentence when not schedulable; NULL otherwise */
    enum blocking_shape shape; /* of every task's blocking */
    struct task_result *tasks; /* by index in the set */
    size_t n_tasks;
};

/* The answer about a set, in one word. */
enum analysis_outcome {
    ANALYSIS_MET,      /* every deadline is met */
    ANALYSIS_TARDY,    /* every response time is bounded, but some job may end after its deadline */
    ANALYSIS_REJECTED, /* not schedulable */
};
/* by value: "deadlines-met", "bounded-tardiness", "not-schedulable" */
extern const char *const analysis_outcome_names[];

struct analysis_request {
    const unsigned *gpus; /* per task, how many GPUs its kernels use; NULL: 1 each */
};

/* One part of a bound and the task that causes it (`--explain`). */
struct analysis_term {
    /* The unit that the task waits for or runs on: "cpu", "bus", "gpu", ... Static. */
    const char *where;
    /*
     * "own", "from" a more urgent task, "blocking by" a less urgent one, "self", "slack" (unused
     * time). Static.
     */
    const char *why;
    size_t segment; /* index in the task; ANALYSIS_JOB: several segments of the job together */
    size_t cause;   /* index of a task in the set; the task itself for "own" and "self" */
    baton_nsec amount;
};

#define ANALYSIS_JOB ((size_t)-1)

struct analysis_explanation {
    struct arena arena;          /* owns what follows; the caller calls arena_done on it */
    bool bounded;                /* false: there is nothing to explain */
    struct analysis_term *terms; /* their amounts sum up to the response bound */
    size_t n_terms;
};

struct analysis {
    const char *name;    /* "holistic" */
    const char *summary; /* one line, names the paper */
    /*
     * Run-time profile that enforces what the bounds assume. NULL: no profile does, and no plan
     * carries the bounds.
     */
    const char *profile;
    /*
     * A planner may choose the mode and the GPUs of each task, and --scale is answered
     * (analysis/holistic/pipeline_analysis.h). False: every kernel on one GPU, placed as in the
     * file.
     */
    bool modes;
    bool printed;  /* as the paper prints it: with modes, one GPU or all, and every kernel whole */
    bool one_copy; /* under its rules one copy at a time goes over the bus, in the whole machine */
    /*
     * 0 with *ret_result filled; the caller calls analysis_result_done(). INPUT_REJECTED when the
     * set lacks what this analysis needs: a deadline beyond its period, no length on so many GPUs.
     * -ENOMEM.
     */
    int (*run)(const struct task_set *set, const struct analysis_request *request,
               struct analysis_result *ret_result, struct input_error *ret_error);
    /* What the bounds of this set rest on; NULL when there is no profile. */
    void (*basis)(const struct task_set *set, struct plan_basis *ret_basis);
    /* The terms of one task's bound; NULL: this analysis explains no bound. Results as for run. */
    int (*explain)(const struct task_set *set, const struct analysis_request *request, size_t task,
                   struct analysis_explanation *ret_explanation, struct input_error *ret_error);
};

extern const struct analysis *const analyses[]; /* NULL-ended */

const struct analysis *analysis_find(const char *name); /* or NULL */

/*
 * For ANALYSIS_TARDY, *ret_latest is the task that may end the longest after its deadline;
 * ret_latest may be NULL.
 */
enum analysis_outcome analysis_outcome(const struct task_set *set, const struct analysis_result *result,
                                       size_t *ret_latest);
void analysis_result_done(struct analysis_result *result);

#endif
