/*
 * What one job of a task does, step by step, under a profile. The steps are its segments in the
 * mode assigned to it, cut into pieces. Under `gpusync` token steps and state copies are around its
 * critical section.
 */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "base/arena.h"
#include "base/nsec.h"
#include "model/plan.h"
#include "model/task_set.h"
#include "sched/profile.h"

/* A length with its borders: an explicit list, or equal pieces and a last one. */
struct cut {
    baton_nsec length;
    baton_nsec piece;       /* 0: whole */
    const baton_nsec *list; /* borrowed from the task set, or owned by the arena */
    size_t n;               /* of list; 0: by piece */
};

size_t cut_count(const struct cut *cut); /* at least 1 */
baton_nsec cut_piece(const struct cut *cut, size_t index);

enum step_kind {
    STEP_CPU,
    STEP_COPY,
    STEP_KERNEL,
    STEP_TOKEN,      /* asks for a token and waits */
    STEP_TOKEN_BACK, /* gives it back */
    STEP_PEER_COPY,  /* pulls the state from the GPU of the last job, if that is another one */
};

struct step {
    enum step_kind kind;
    enum copy_direction copy;
    size_t segment;             /* index in the task, or SIZE_MAX: added by the protocol */
    baton_nsec best;            /* best case of the whole step */
    unsigned lanes;             /* kernels: sub-kernels */
    struct placement placement; /* kernels */
    struct cut cut;
    const struct cut *per_gpu; /* kernels on unequal GPUs: by GPU; else NULL */
};

struct program {
    struct step *steps;
    size_t n;
    unsigned max_lanes;
    unsigned gpus; /* the mode */
    bool uses_gpu;
    /* GPUs to choose at the first GPU step of each job (placement `chosen`); 0: none */
    unsigned choose;
    baton_nsec cost;       /* worst case of the whole job, one lane of each kernel */
    baton_nsec gpu_length; /* of its GPU steps: what placing and tokens announce */
};

/* *ret_reason tells why: no length in this mode, or a split kernel under tokens */
#define PROGRAM_UNSUPPORTED 1

/* plan_task may be NULL: single mode, or `gpus` GPUs. 0, PROGRAM_UNSUPPORTED, -ENOMEM. */
int program_make(const struct task_set *set, const struct task *task, const struct plan_task *plan_task,
                 unsigned gpus, enum sched_profile_id profile, struct arena *arena,
                 struct program *ret_program, const char **ret_reason);

#endif
