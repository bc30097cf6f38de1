/*
 * Where a task's numbers come from, when `baton profile` measured them: the mapping `profile:` of a task. Analyses do not look at
 * it; people and `baton profile` itself do. It is validated like the rest and printed back.
 *
 *     profile:
 *       jobs: 197                # measured, of the same shape
 *       warm: 2                  # at the start, left out
 *       other_shapes: 1          # jobs with other commands, left out; other_longest_ms: the longest of them
 *       incomplete: 0            # jobs whose record is not whole
 *       boundaries: inferred     # or explicit: how the limits of jobs are known
 *       waits: 1                 # how often the program waited for the device in one job
 *       period: given            # or inferred from the releases; shortest_ms: the two closest ones
 *       response_ms: {best: 0.31, mean: 0.35, worst: 0.44}
 *       spread: 0.37             # (worst - best) / mean
 *       worst: segments          # what the task's lengths are: the worst of each segment, or (job) those of the worst job
 *       segments:                # one per segment of the task; worst_ms and job_ms are its length either way
 *         - {mean_ms: 0.02, worst_ms: 0.05, job_ms: 0.03}
 *         - {mean_ms: 0.3, worst_ms: 0.38, job_ms: 0.38, kernel: turn, unsliced: small}
 */
#ifndef MODEL_TASK_PROFILE_H
#define MODEL_TASK_PROFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/input_error.h"
#include "base/nsec.h"
#include "model/document.h"

struct segment_profile {
    baton_nsec mean;
    baton_nsec worst, in_worst_job; /* its length in either way of counting; 0: not said */
    const char *kernel;             /* NULL: no kernel */
    const char *unsliced;           /* why it runs whole; NULL: it does not, or is no kernel */
};

struct task_profile {
    int64_t jobs, warm, other_shapes, incomplete, waits;
    bool explicit_boundaries, period_inferred;
    bool of_worst_job; /* the task's lengths are those of its worst job, not the worst of each segment */
    baton_nsec other_longest; /* 0: none */
    baton_nsec shortest;      /* between two releases; 0: not known */
    baton_nsec best, mean, worst;
    double spread;
    struct segment_profile *segments; /* as many as the task has */
    size_t n_segments;
};

/* Everything lives in arena. n_segments: of the task that it belongs to. */
int task_profile_read(const struct document *document, const struct node *mapping, size_t n_segments,
                      struct arena *arena, struct task_profile **ret_profile, struct input_error *ret_error);

/* As the value of a task's key, with its indentation. */
void task_profile_print(const struct task_profile *profile, FILE *out);

#endif
