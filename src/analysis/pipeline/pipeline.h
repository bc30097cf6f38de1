/*
 * A task set as the pipeline analyses see it (GPU-SPARC Sec. IV-A): tasks in priority order. Each
 * task is a sequence of stages on the CPUs, the bus or the GPUs, in one or several *options* (how
 * many GPUs, which placement). The structure is flat and built once: planners try thousands of
 * choices of options on it without allocating. Durations are nanoseconds, or ticks of the caller's
 * choice: nothing here depends on the unit.
 */
#ifndef ANALYSIS_PIPELINE_H
#define ANALYSIS_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "base/nsec.h"
#include "model/task_set.h"

#define PIPELINE_MAX_GPUS    PLATFORM_MAX_GPUS
#define PIPELINE_MAX_OPTIONS 200
/* 2^6 sets. With more GPUs only tasks on one GPU are assigned; others are `chosen` or `any`. */
#define PIPELINE_SET_GPUS 6
/* Longer periods could overflow a sum of work (in nanoseconds: 1,000 s). */
#define PIPELINE_MAX_PERIOD ((baton_nsec)1000 * NSEC_PER_SEC)

enum pipeline_unit { UNIT_CPU, UNIT_BUS, UNIT_GPU, PIPELINE_UNITS };

/* What one sub-kernel costs on one GPU, where GPUs differ. */
struct gpu_cost {
    baton_nsec length, piece, last; /* C(q), longest piece, last piece */
};

/* One stage in one option. CPU stages and copies have lanes = 1 and eligible = 0. */
struct stage {
    /* C: worst case of one lane; the longest over the eligible GPUs */
    baton_nsec length;
    baton_nsec best;   /* best case of the stage; 0 unknown */
    baton_nsec piece;  /* s: longest piece (the longest over the eligible GPUs) */
    baton_nsec last;   /* c_n: the last piece; a smaller value is safe */
    uint64_t eligible; /* kernels: bit q, may run on GPU q */
    /* by GPU; NULL: all alike. Borrowed from the pipeline's arena */
    const struct gpu_cost *per_gpu;
    unsigned lanes; /* K sub-kernels */
    enum pipeline_unit unit;
    /* each lane starts on any free GPU (ANY); else one lane per GPU, queued there (PIN, DYN) */
    bool any;
    bool assigned; /* `eligible` is the set that the option assigns, not one fixed by the file */
    bool sliced;   /* more than one piece */
};

struct pipeline_option {
    unsigned gpus; /* the mode: on how many GPUs the task's kernels run */
    struct placement placement;
    struct stage *stages; /* task.n_stages of them */
    baton_nsec total;     /* sum of lengths */
    bool assigned;        /* the planner's own set of GPUs: placement.gpus */
    /*
     * The placement is `chosen`, and the task has an assigned option for every set of as many GPUs.
     * Each of these is at least as good for every task (docs/analysis.md), so a planner can skip
     * this option.
     */
    bool dominated;
    bool mixed; /* its kernels have different placements: no plan can express that */
};

struct pipeline_task {
    baton_nsec period, deadline; /* deadline <= period */
    /*
     * period and deadline are then PIPELINE_MAX_PERIOD: only its pieces delay more urgent tasks, at
     * any rate
     */
    bool no_deadline;
    size_t index;     /* in the original task set */
    const char *name; /* borrowed; may be NULL */
    size_t first;     /* its stages are first .. first + n_stages in arrays over all stages */
    size_t n_stages;
    /* Option 0 is the default: one GPU. All options have the same units. */
    struct pipeline_option *options;
    size_t n_options;
};

struct pipeline {
    unsigned cpus, gpus;         /* buses: 1 */
    struct pipeline_task *tasks; /* the most urgent first */
    size_t n_tasks, n_stages;    /* n_stages: over all tasks */
};

/*
 * How pipeline_build makes options. A task without kernels, or with kernels on a fixed set of GPUs,
 * keeps the placement of the file.
 */
struct pipeline_rules {
    /*
     * By task of the set: exactly one option, on this number of GPUs, placed as in the file. NULL:
     * one option on one GPU and, if lengths are given, one on all, placed as in the file, and what
     * the rules below add.
     */
    const unsigned *gpus;
    bool every_number; /* an option for each number of GPUs that has lengths */
    /* Both `any` and `chosen`; changing from `chosen` to `any` costs the replicated upload. */
    bool choose_placement;
    /*
     * The planner assigns GPUs. Adds one option for each GPU, and for K GPUs one for each set of K
     * while the platform has at most PIPELINE_SET_GPUS. Sets fixed by the file stay. `any` is no
     * option: the run time does not start kernels on whichever GPU is free, so no plan could keep
     * it.
     */
    bool assign;
    bool whole; /* pieces are ignored: every stage is one non-preemptive piece (holistic-printed) */
};

/*
 * Builds the pipeline in arena. INPUT_REJECTED when the set does not meet the pipeline model
 * (docs/analysis.md). Reasons: a deadline beyond the period, several buses, clusters, state that
 * jobs would have to move between GPUs, a mode without lengths. -ENOMEM.
 */
int pipeline_build(const struct task_set *set, const struct pipeline_rules *rules, struct arena *arena,
                   struct pipeline *ret_pipeline, struct input_error *ret_error);

/*
 * Allocates n_tasks with room for n_options of n_stages[i] zeroed stages each. For callers that
 * fill a pipeline without a file (studies, tests). The caller sets the lengths and then calls
 * pipeline_seal(). 0 or -ENOMEM.
 */
int pipeline_allocate(struct arena *arena, size_t n_tasks, const size_t n_stages[], const size_t n_options[],
                      struct pipeline *ret_pipeline);

/*
 * Numbers the stages of each unit across all tasks. Those of task k are first[unit][k] ..
 * first[unit][k + 1]; n_tasks + 1 entries per unit.
 */
void pipeline_number_stages(const struct pipeline *pipeline, size_t *const first[PIPELINE_UNITS]);

/* Computes what follows from the stages: totals, first, sliced. */
void pipeline_seal(struct pipeline *pipeline);

#endif
