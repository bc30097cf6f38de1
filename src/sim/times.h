/*
 * Execution times from a trace: a YAML (or JSON) file that maps task names to jobs. A job is the
 * list of its segments' lengths in ms:
 *     detector: [[0.9, 0.7, 8.1, 0.4, 0.5], [0.8, 0.7, 8.9, 0.4, 0.5]]
 * After the last listed job, the list starts again. Tasks that are not named run their worst case.
 */
#ifndef SIM_TIMES_H
#define SIM_TIMES_H

#include "base/arena.h"
#include "base/input_error.h"
#include "model/task_set.h"

struct sim_times {
    struct arena arena; /* owns what follows */
    struct sim_task_times {
        baton_nsec *lengths; /* n_jobs rows of the task's n_segments */
        size_t n_jobs;       /* 0: worst case */
    } * tasks;               /* by index in the set */
};

/*
 * 0, INPUT_REJECTED (an unknown task, another number of segments, longer than the worst case),
 * -errno.
 */
int sim_times_read_file(const char *path, const struct task_set *set, struct sim_times *ret_times,
                        struct input_error *ret_error);
void sim_times_done(struct sim_times *times);

#endif
