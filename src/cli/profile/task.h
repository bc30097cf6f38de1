/* From measured steps to a task of a task set, and one set out of several. Pure code; times are rounded to microseconds, the worst ones up. */
#ifndef CLI_PROFILE_TASK_H
#define CLI_PROFILE_TASK_H

#include "cli/profile/align.h"

struct profile_wish {
    const char *name;            /* copied */
    baton_nsec period, deadline; /* 0: as inferred; the period */
    bool no_deadline;            /* nobody waits for its jobs */
    size_t incomplete;
    /*
     * Lengths are those of the job with the worst response, instead of the worst of each segment. A command that ran whole keeps its
     * worst length, and one in pieces is no shorter than its longest piece: that is what others wait for.
     */
    bool of_worst_job;
};

/*
 * The task that measured[0] describes; measured[k] for k < gpus is the same program on k + 1 GPUs, for multi_ms. Everything lives in arena.
 * 0, -ENODATA (no period given, and too few jobs to infer one), -EXDEV (on more GPUs the jobs have another shape) or -ENOMEM.
 */
int profile_task_make(const struct profile_task measured[], unsigned gpus, const struct profile_wish *wish,
                      struct arena *arena, struct task *ret_task);

/*
 * Adds tasks to a set whose arena is set up: those of another one, or one; copied shallowly, so the other set must live as long. A
 * task of the same name is replaced when `replace`, else -EEXIST with *ret_name. A task without a priority of its own joins any set:
 * priorities are dropped when not all have one. -ENOMEM.
 */
int profile_set_add(struct task_set *set, const struct task *tasks, size_t n, bool replace,
                    const char **ret_name);

#endif
