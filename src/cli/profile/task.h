/*
 * Turns measured steps into a task of a task set, and joins several sets into one. Pure code. Times
 * are rounded to microseconds, worst cases up.
 */
#ifndef CLI_PROFILE_TASK_H
#define CLI_PROFILE_TASK_H

#include "cli/profile/align.h"

struct profile_wish {
    const char *name;            /* copied */
    baton_nsec period, deadline; /* period 0: as inferred; deadline 0: the period */
    bool no_deadline;            /* the jobs may end at any time */
    size_t incomplete;
    /*
     * Lengths are those of the job with the worst response, instead of the worst of each segment. A
     * command that ran whole keeps its worst length. A command in pieces is no shorter than its
     * longest piece, because other tasks wait for that long.
     */
    bool of_worst_job;
};

/*
 * The task that measured[0] describes; measured[k] for k < gpus is the same program on k + 1 GPUs,
 * for multi_ms. Everything lives in arena. 0, -ENODATA (no period given, and too few jobs to infer
 * one), -EXDEV (the jobs have another shape on more GPUs) or -ENOMEM.
 */
int profile_task_make(const struct profile_task measured[], unsigned gpus, const struct profile_wish *wish,
                      struct arena *arena, struct task *ret_task);

/*
 * Adds tasks to a set with an initialised arena. The copy is shallow, so the source must outlive
 * the set. `replace`: a task of the same name is replaced; otherwise -EEXIST with *ret_name. A task
 * without a priority may join any set: all priorities are dropped unless every task has one.
 * -ENOMEM.
 */
int profile_set_add(struct task_set *set, const struct task *tasks, size_t n, bool replace,
                    const char **ret_name);

#endif
