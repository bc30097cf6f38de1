/*
 * Turns the jobs of one program into the segments of a task: which jobs are alike, and how long
 * each of their steps took. Pure code.
 *
 * A job's shape is the order of its commands: engine and kernel. The most frequent shape becomes
 * the task's; jobs of other shapes are counted, not measured. A CPU segment lies between two
 * commands. A task is a chain, so overlapping commands become sequential. That makes the task
 * longer than its jobs, never shorter.
 *
 * An inferred job ends when the program waits for the device. Some programs wait several times per
 * period. Their recorded jobs then repeat in a fixed order with one pause that is much longer, and
 * that many of them form one job (`waits`).
 */
#ifndef CLI_PROFILE_ALIGN_H
#define CLI_PROFILE_ALIGN_H

#include <stdbool.h>

#include "cli/profile/profile_log.h"
#include "model/task_set.h"

#define PROFILE_MAX_WAITS 16

struct profile_step {
    enum segment_kind kind;
    baton_nsec worst, best, sum;
    baton_nsec latest;    /* in the job taken last */
    baton_nsec in_worst;  /* in the job with the worst response */
    int64_t bytes;        /* the largest number seen */
    baton_nsec piece;     /* the longest time without a border, if it was ever cut; else 0 */
    size_t cut;           /* the number of jobs in which it ran in pieces */
    const char *kernel;   /* borrowed from the log; "": none */
    const char *unsliced; /* the last reason, borrowed from the log; "": none */
};

struct profile_task {
    struct profile_step *steps; /* owned */
    size_t n_steps;
    size_t jobs, warm, other_shapes, waits;
    bool explicit_jobs;
    baton_nsec best, worst, sum; /* responses, begin to end */
    baton_nsec other_longest;    /* response of a job of another shape; 0: none */
    /* median time between two begins, over all jobs; 0: fewer than two */
    baton_nsec period;
    baton_nsec shortest; /* between the two closest begins */
    baton_nsec first;    /* response of the very first job, including one-time work */
    size_t overlaps;     /* commands that began before their predecessor ended */
};

/*
 * Ignores the first `warm` jobs. 0, -ENODATA (no job left) or -ENOMEM; the caller calls
 * profile_task_done().
 */
int profile_align(const struct profile_log *log, size_t warm, struct profile_task *ret_task);
void profile_task_done(struct profile_task *task);

/*
 * The offset that converts the driver's instants to CLOCK_MONOTONIC: the largest that the calls
 * allow, or 0 if 0 fits too.
 */
int64_t profile_clock_offset(const struct job_record_command commands[], size_t n);

#endif
