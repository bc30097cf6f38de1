/*
 * From the jobs of one program to the segments of a task: which jobs do the same, and how long each step of them took. Pure code.
 *
 * A job's shape is the order of its commands: engine and kernel. The most frequent shape is the task's; jobs of another are
 * counted, not measured. Between two commands stands a CPU segment. Commands that overlap are laid one behind the other (a task
 * is a chain), which makes the task longer than its jobs were, never shorter.
 *
 * An inferred job ends when the program waits for the device. Where it waits several times per period, the pieces come in a
 * repeated order with one pause that stands out; then that many are one job (`waits`).
 */
#ifndef CLI_PROFILE_ALIGN_H
#define CLI_PROFILE_ALIGN_H

#include <stdbool.h>

#include "cli/profile/log.h"
#include "model/task_set.h"

#define PROFILE_MAX_WAITS 16

struct profile_step {
    enum segment_kind kind;
    baton_nsec worst, best, sum;
    baton_nsec latest;    /* in the job that was taken last */
    baton_nsec in_worst;  /* in the job with the worst response */
    int64_t bytes;        /* the most seen */
    baton_nsec piece;     /* the longest that ran without a border, where it was ever cut; else 0 */
    size_t cut;           /* in how many jobs it ran in pieces */
    const char *kernel;   /* borrowed from the log; "": none */
    const char *unsliced; /* the reason last seen, borrowed from the log; "": none */
};

struct profile_task {
    struct profile_step *steps; /* owned */
    size_t n_steps;
    size_t jobs, warm, other_shapes, waits;
    bool explicit_jobs;
    baton_nsec best, worst, sum; /* responses, begin to end */
    baton_nsec other_longest;    /* response of a job of another shape; 0: none */
    baton_nsec period;           /* median between two begins, all jobs; 0: fewer than two */
    baton_nsec shortest;         /* the two closest begins */
    baton_nsec first;            /* response of the very first job, with all that happens once */
    size_t overlaps;             /* commands that began before the one before ended */
};

/* Leaves the first `warm` jobs out. 0, -ENODATA (no job left) or -ENOMEM; the caller calls profile_task_done(). */
int profile_align(const struct profile_log *log, size_t warm, struct profile_task *ret_task);
void profile_task_done(struct profile_task *task);

/*
 * The offset to add to the driver's instants so that they are of CLOCK_MONOTONIC: the largest that the calls allow, 0 if that
 * fits too.
 */
int64_t profile_clock_offset(const struct job_record_command commands[], size_t n);

#endif
