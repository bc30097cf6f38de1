/*
 * Task sets as commands read them. A file may say only how to compute a length
 * (model/segment_source.h). src/makespan and src/transfer compute such lengths, and the set records
 * what they rest on.
 */
#ifndef CLI_TASK_LENGTHS_H
#define CLI_TASK_LENGTHS_H

#include "analysis/analysis.h"
#include "cli/subcommand.h"
#include "model/task_set.h"

/*
 * Computes every open length of the set and fills set->conditions. overlap: copies of different
 * tasks may run at the same time, so a route without `sharing` is contended. 0, INPUT_REJECTED,
 * -errno.
 */
int task_lengths_compute(struct task_set *set, bool overlap, struct input_error *ret_error);

/*
 * Calls task_set_read_file() and task_lengths_compute(). Lengths of measured tasks follow --worst
 * if the command has that option. 0 with *ret_set, or the exit status after a message to the user.
 */
int task_lengths_read(const struct cli_args *args, const char *path, bool overlap, struct task_set *ret_set);

#endif
