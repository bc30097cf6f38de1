/*
 * The origin of a task's numbers when `baton profile` measured them: the mapping `profile:` of a
 * task. Only people and `baton profile` itself use it; analyses do not. It is validated like other
 * input and printed back.
 *
 *     profile:
 *       jobs: 197                # measured, of the same shape
 *       warm: 2                  # at the start, left out
 *       other_shapes: 1          # jobs with other commands, left out
 *       other_longest_ms: 0.9    # the longest of them
 *       incomplete: 0            # jobs with an incomplete record
 *       boundaries: inferred     # or explicit: how the limits of jobs are known
 *       waits: 1                 # how often the program waited for the device in one job
 *       period: given            # or inferred from the releases
 *       shortest_ms: 19.8        # between the two closest releases
 *       response_ms: {best: 0.31, mean: 0.35, worst: 0.44}
 *       spread: 0.37             # (worst - best) / mean
 *       worst: segments          # lengths are the worst of each segment, or (job) of the worst job
 *       segments:                # one per segment of the task, with both lengths
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
    baton_nsec worst, in_worst_job; /* its length by each way of counting; 0: not given */
    const char *kernel;             /* NULL: no kernel */
    const char *unsliced;           /* why it runs whole; NULL: it does not, or is no kernel */
};

struct task_profile {
    int64_t jobs, warm, other_shapes, incomplete, waits;
    bool explicit_boundaries, period_inferred;
    /* the task's lengths are those of its worst job, not the worst of each segment */
    bool of_worst_job;
    baton_nsec other_longest; /* 0: none */
    baton_nsec shortest;      /* between two releases; 0: unknown */
    baton_nsec best, mean, worst;
    double spread;
    struct segment_profile *segments; /* as many as the task has */
    size_t n_segments;
};

/* Everything lives in arena. n_segments: of the task. */
int task_profile_read(const struct document *document, const struct node *mapping, size_t n_segments,
                      struct arena *arena, struct task_profile **ret_profile, struct input_error *ret_error);

/* Prints the value of a task's key, indented. */
void task_profile_print(const struct task_profile *profile, FILE *out);

#endif
