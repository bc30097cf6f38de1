/*
 * What an analysis is: a named test over a task set, one table entry (analysis/table.c) from which command-line names, help and
 * plans derive. Each published test has its own file with its own direct interface for hot loops (studies, planning); this
 * one is what `baton analyze` and `baton plan` call.
 */
#ifndef ANALYSIS_ANALYSIS_H
#define ANALYSIS_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "base/nsec.h"
#include "model/plan_basis.h"
#include "model/task_set.h"

#define ANALYSIS_UNBOUNDED ((baton_nsec)-1)

/* Which parts of `blocking_ms` of `baton analyze --json` an analysis fills. */
enum blocking_shape {
    BLOCKING_NONE,
    BLOCKING_LOCKS, /* token, donation, execution, copy: gpusync */
    BLOCKING_UNITS, /* cpu, bus, gpu: holistic */
};

struct task_result {
    unsigned gpus;             /* on how many GPUs its kernels run; 1: mode single, more: multi */
    baton_nsec response;       /* from release to completion, rounded up; ANALYSIS_UNBOUNDED */
    baton_nsec tardiness;      /* max(0, response - deadline); ANALYSIS_UNBOUNDED */
    bool has_priority_point;   /* fair-lateness, gpusync */
    baton_nsec priority_point; /* relative to the release; may be negative */
    baton_nsec blocking[4];    /* by shape, in the order listed there; -1: unknown because unbounded */
    unsigned cpu_cluster, gpu_cluster; /* where the analysis puts the task, for its plan */
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
extern const char
    *const analysis_outcome_names[]; /* by value: "deadlines-met", "bounded-tardiness", "not-schedulable" */

struct analysis_request {
    const unsigned *gpus; /* per task, how many GPUs its kernels use; NULL: 1 each */
};

/* One part of a bound, and the task that causes it (`--explain`). */
struct analysis_term {
    /* "cpu", "bus", "gpu", ...: what is waited for, or executed on. Borrowed, lives for ever. */
    const char *where;
    /* "own", "from" a more urgent task, "blocking by" a less urgent one, "self", "slack" (bound by nothing): borrowed likewise. */
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
    /* Run-time profile whose rules its bounds assume; NULL: none is enforced, no bound goes in a plan. */
    const char *profile;
    bool deadlines; /* schedulable means every deadline met; false: every response time bounded */
    /* `baton simulate` runs what its bounds assume; batond does not yet, and claims none of them. */
    bool simulated;
    bool one_copy; /* its rules let one copy go over the bus at a time, in the whole machine */
    /*
     * 0 with *ret_result filled (the caller calls analysis_result_done), INPUT_REJECTED when the set lacks
     * what this analysis needs (a deadline beyond its period, no length on so many GPUs), -ENOMEM.
     */
    int (*run)(const struct task_set *set, const struct analysis_request *request,
               struct analysis_result *ret_result, struct input_error *ret_error);
    /* What its bounds of this set rest on; NULL with no profile. */
    void (*basis)(const struct task_set *set, struct plan_basis *ret_basis);
    /* The terms of one task's bound; NULL: this analysis explains nothing. Results as for run. */
    int (*explain)(const struct task_set *set, const struct analysis_request *request, size_t task,
                   struct analysis_explanation *ret_explanation, struct input_error *ret_error);
};

extern const struct analysis *const analyses[]; /* NULL-ended */

const struct analysis *analysis_find(const char *name); /* or NULL */

/* *ret_latest, unless it is NULL: of ANALYSIS_TARDY, the task that may end the longest after its deadline. */
enum analysis_outcome analysis_outcome(const struct task_set *set, const struct analysis_result *result,
                                       size_t *ret_latest);
void analysis_result_done(struct analysis_result *result);

#endif
