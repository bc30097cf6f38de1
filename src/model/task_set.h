/*
 * A task set: one vocabulary for every analysis, the planner, the simulator and the run time.
 * Files are YAML with times in ms and sizes with units; here durations are nanoseconds and sizes bytes.
 */
#ifndef MODEL_TASK_SET_H
#define MODEL_TASK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "base/nsec.h"
#include "model/platform.h"
#include "model/task_profile.h"

#define TASK_SET_MAX_TASKS  100000
#define TASK_MAX_SEGMENTS   4096
#define SEGMENT_MAX_PIECES  100000
#define TASK_SET_FILE_LIMIT ((size_t)64 << 20)

enum segment_kind { SEGMENT_CPU, SEGMENT_COPY_IN, SEGMENT_COPY_OUT, SEGMENT_KERNEL };

enum placement_kind {
    PLACEMENT_CHOSEN, /* GPUs picked at dispatch, before the upload, then pinned: DYN (docs/analysis.md) */
    PLACEMENT_ANY,    /* each sub-kernel starts on any free GPU: ANY */
    PLACEMENT_FIXED,  /* a fixed set of GPUs: PIN */
};

struct placement {
    enum placement_kind kind;
    uint64_t gpus; /* bit q: GPU q, for PLACEMENT_FIXED */
};

/* The pieces of one stage: a preemption point between any two. */
struct piece_list {
    baton_nsec *pieces; /* owned by the set's arena */
    size_t n;
};

struct segment_source;

struct segment {
    enum segment_kind kind;
    /* Worst case on one GPU (or on a CPU, on the bus); the sum of pieces where those are given. */
    baton_nsec length;
    /* The file says how to compute the length (model/segment_source.h); NULL: it says the length. */
    struct segment_source *source;
    baton_nsec best; /* best case; 0 unknown */
    /*
     * Lengths on several GPUs. One value without list: on all GPUs of the platform. A list: on 2, 3, ... GPUs.
     * n_multi = 0: not given, such a task runs in single mode only.
     */
    baton_nsec *multi;
    size_t n_multi;
    bool multi_is_list;
    int64_t bytes;            /* of a copy; -1: not given */
    baton_nsec piece;         /* longest piece when cut by length; 0: runs whole */
    struct piece_list pieces; /* explicit pieces; n = 0: none */
    /* Kernels only: */
    unsigned gpus;      /* K sub-kernels, each of `length`; default 1, or the size of a fixed placement */
    bool has_placement; /* else the task's */
    struct placement placement; /* valid if has_placement */
    struct piece_list
        *per_gpu;     /* per_gpu[q]: the pieces on GPU q (per_gpu_ms: one piece each); NULL: GPUs are equal */
    size_t n_per_gpu; /* 0 or platform.gpus */
    unsigned line, column; /* where it stands in the file; 0 when made by code */
};

struct task {
    const char *name;
    baton_nsec period, deadline;
    /*
     * `deadline_ms: none`: nobody waits for its jobs, which may follow each other at any rate. It is less urgent than every task with a
     * deadline, has no bound, and never makes a set unschedulable; the others count its pieces. `deadline` is then the period.
     */
    bool no_deadline;
    unsigned priority; /* 1..99, larger is more urgent; 0: not given, then deadline-monotonic */
    struct placement placement;
    struct segment *segments;
    size_t n_segments;
    int64_t state;                /* bytes kept on the GPU between jobs */
    int64_t working_set;          /* bytes of CPU cache */
    struct task_profile *profile; /* where the numbers come from; NULL: not said */
    baton_nsec critical_cpu; /* part of the outer CPU segments inside the critical section; -1: not given */
    unsigned line, column;
};

struct task_set {
    struct arena arena; /* owns everything below */
    struct platform platform;
    struct task *tasks;
    size_t n_tasks;
    const char *name; /* of the file, for messages; paths in it are relative to its folder */
    size_t n_open;    /* segments whose length is still to be computed: no analysis takes such a set */
    /* What computed lengths rest on, one sentence each: every answer has to say so. */
    const char **conditions;
    size_t n_conditions;
    /* How computed lengths were computed, where that is worth knowing; they hold regardless. Answers say so too. */
    const char **notes;
    size_t n_notes;
};

/* Reads and validates; on success the caller calls task_set_done(). */
int task_set_read_file(const char *path, struct task_set *ret_set, struct input_error *ret_error);

/* The same over bytes in memory; name stands for the file in messages. `overheads: FILE` is relative to the working folder. */
int task_set_read(const char *name, const char *text, size_t size, struct task_set *ret_set,
                  struct input_error *ret_error);
void task_set_done(struct task_set *set);

/* Prints the set back as YAML that reads to the same set. */
void task_set_print(const struct task_set *set, FILE *out);

/*
 * The most urgent task first: ret_order[0..n_tasks) are indices. By explicit priority where given (a file gives all or
 * none), else by deadline; ties by index. 0 or -ENOMEM.
 */
int task_set_order(const struct task_set *set, size_t ret_order[]);

/* Where a kernel segment of the task may run. */
struct placement segment_placement(const struct task *task, const struct segment *segment);

/*
 * Length when its task runs on so many GPUs, 1 <= gpus <= platform.gpus (0 GPUs count as 1): -1 when the file does not say. A segment without multi_ms
 * keeps its length if it is a CPU segment or a copy, and has no length on several GPUs if it is a kernel.
 */
baton_nsec segment_length_on(const struct segment *segment, unsigned gpus, unsigned all_gpus);

/*
 * The same when its task is placed so. Going from `chosen` to `any` replicates uploads: a copy_in made for `gpus` GPUs goes
 * to all of them, unless the platform says `shared_memory: true`. Lengths of a task whose file says `any` are taken as given.
 */
baton_nsec segment_length_placed(const struct platform *platform, const struct task *task,
                                 const struct segment *segment, unsigned gpus, enum placement_kind placed);

/*
 * The longest piece into which the segment is cut: piece_ms, the longest of explicit pieces, or for a copy with `bytes` the time that
 * the platform's chunk takes at the copy's own rate; 0: it runs whole.
 */
baton_nsec segment_piece(const struct platform *platform, const struct segment *segment);

/* Sum of all single-mode lengths: C where an analysis knows no GPU. */
baton_nsec task_total(const struct task *task);

bool task_uses_gpu(const struct task *task);
bool segment_is_gpu(const struct segment *segment); /* copies and kernels */

/* 0, or INPUT_REJECTED at the first segment whose length is still to be computed. */
int task_set_require_lengths(const struct task_set *set, struct input_error *ret_error);

const char *segment_kind_name(enum segment_kind kind); /* "cpu", "copy_in", "copy_out", "kernel" */

#endif
