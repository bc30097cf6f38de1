/*
 * A task set: one vocabulary for every analysis, the planner, the simulator and the run time. Files
 * are YAML with times in ms and sizes with units. In memory durations are nanoseconds and sizes
 * bytes.
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
    /* GPUs picked at dispatch, before the upload, then pinned: DYN (docs/analysis.md) */
    PLACEMENT_CHOSEN,
    PLACEMENT_ANY,   /* each sub-kernel starts on any free GPU: ANY */
    PLACEMENT_FIXED, /* a fixed set of GPUs: PIN */
};

struct placement {
    enum placement_kind kind;
    uint64_t gpus; /* bit q: GPU q, for PLACEMENT_FIXED */
};

/* The pieces of one stage, with a preemption point between any two. */
struct piece_list {
    baton_nsec *pieces; /* owned by the set's arena */
    size_t n;
};

struct segment_source;

struct segment {
    enum segment_kind kind;
    /* Worst case on one GPU (or on a CPU, on the bus); the sum of pieces if they are given. */
    baton_nsec length;
    /* How to compute the length (model/segment_source.h); NULL: the file gives the length. */
    struct segment_source *source;
    baton_nsec best; /* best case; 0 unknown */
    /*
     * Lengths on several GPUs. A single value without a list: on all GPUs of the platform. A list:
     * on 2, 3, ... GPUs. n_multi = 0: not given; the task then runs in single mode only.
     */
    baton_nsec *multi;
    size_t n_multi;
    bool multi_is_list;
    int64_t bytes;            /* of a copy; -1: not given */
    baton_nsec piece;         /* longest piece when cut by length; 0: runs whole */
    struct piece_list pieces; /* explicit pieces; n = 0: none */
    /* Kernels only: */
    /* K sub-kernels, each of `length`; default 1, or the size of a fixed placement */
    unsigned gpus;
    bool has_placement;         /* else the task's */
    struct placement placement; /* valid if has_placement */
    /* per_gpu[q]: the pieces on GPU q (per_gpu_ms: one piece each); NULL: GPUs are equal */
    struct piece_list *per_gpu;
    size_t n_per_gpu;      /* 0 or platform.gpus */
    unsigned line, column; /* position in the file; 0 when made by code */
};

struct task {
    const char *name;
    baton_nsec period, deadline;
    /*
     * `deadline_ms: none`: its jobs may end at any time and follow each other at any rate. The task
     * is less urgent than every task with a deadline, has no bound, and never makes a set
     * unschedulable. Other tasks count its pieces. `deadline` equals the period.
     */
    bool no_deadline;
    unsigned priority; /* 1..99, larger is more urgent; 0: not given, order by deadline */
    struct placement placement;
    struct segment *segments;
    size_t n_segments;
    int64_t state;                /* bytes kept on the GPU between jobs */
    int64_t working_set;          /* bytes of CPU cache */
    struct task_profile *profile; /* origin of the numbers; NULL: not given */
    /* part of the outer CPU segments inside the critical section; -1: not given */
    baton_nsec critical_cpu;
    unsigned line, column;
};

struct task_set {
    struct arena arena; /* owns everything below */
    struct platform platform;
    struct task *tasks;
    size_t n_tasks;
    const char *name; /* of the file, for messages; paths in the file are relative to its folder */
    /* segments with a length still to be computed: no analysis accepts such a set */
    size_t n_open;
    /* What computed lengths rest on, one sentence each. Every answer must state them. */
    const char **conditions;
    size_t n_conditions;
    /*
     * Remarks on how lengths were computed. The lengths hold regardless; answers state the remarks
     * too.
     */
    const char **notes;
    size_t n_notes;
};

/* Reads and validates; on success the caller calls task_set_done(). */
int task_set_read_file(const char *path, struct task_set *ret_set, struct input_error *ret_error);

/*
 * The same from memory; name names the file in messages. `overheads: FILE` is relative to the
 * working folder.
 */
int task_set_read(const char *name, const char *text, size_t size, struct task_set *ret_set,
                  struct input_error *ret_error);
void task_set_done(struct task_set *set);

/* Prints YAML that reads back as the same set. */
void task_set_print(const struct task_set *set, FILE *out);

/*
 * Orders the tasks, the most urgent first: ret_order[0..n_tasks) are indices. By explicit priority
 * if given (all tasks or none have one), else by deadline; ties by index. 0 or -ENOMEM.
 */
int task_set_order(const struct task_set *set, size_t ret_order[]);

/* Where a kernel segment of the task may run. */
struct placement segment_placement(const struct task *task, const struct segment *segment);

/*
 * Length when the task runs on this number of GPUs, 1 <= gpus <= platform.gpus (0 GPUs count as 1);
 * -1: not in the file. Without multi_ms a CPU segment or a copy keeps its length, and a kernel has
 * no length on several GPUs.
 */
baton_nsec segment_length_on(const struct segment *segment, unsigned gpus, unsigned all_gpus);

/*
 * The same for a given placement. Changing from `chosen` to `any` replicates uploads: a copy_in
 * made for `gpus` GPUs goes to all of them, unless the platform has `shared_memory: true`. If the
 * file itself says `any`, its lengths apply unchanged.
 */
baton_nsec segment_length_placed(const struct platform *platform, const struct task *task,
                                 const struct segment *segment, unsigned gpus, enum placement_kind placed);

/*
 * The longest piece of the segment: piece_ms, or the longest explicit piece. For a copy with
 * `bytes` it is the time of the platform's chunk at the copy's own rate. 0: it runs whole.
 */
baton_nsec segment_piece(const struct platform *platform, const struct segment *segment);

/* Sum of all single-mode lengths: C for an analysis without GPUs. */
baton_nsec task_total(const struct task *task);

bool task_uses_gpu(const struct task *task);
bool segment_is_gpu(const struct segment *segment); /* copies and kernels */

/* 0, or INPUT_REJECTED at the first segment with a length still to be computed. */
int task_set_require_lengths(const struct task_set *set, struct input_error *ret_error);

const char *segment_kind_name(enum segment_kind kind); /* "cpu", "copy_in", "copy_out", "kernel" */

#endif
