/*
 * Task sets as commands read them: with the lengths that a file only says how to compute (model/segment_source.h) computed, by src/makespan and
 * src/transfer, and what they rest on written down.
 */
#ifndef CLI_TASK_LENGTHS_H
#define CLI_TASK_LENGTHS_H

#include "analysis/analysis.h"
#include "cli/command.h"
#include "model/task_set.h"

/*
 * Computes every open length of the set and fills set->conditions. overlap: copies of different tasks may be under way at the same time, so a route
 * without `sharing` is contended. 0, INPUT_REJECTED, -errno.
 */
int task_lengths_compute(struct task_set *set, bool overlap, struct input_error *ret_error);

/*
 * task_set_read_file() and task_lengths_compute(), with the lengths of measured tasks counted as --worst says, if the command has it. 0 with *ret_set, or the exit status after telling the user.
 */
int task_lengths_read(const struct cli_args *args, const char *path, bool overlap, struct task_set *ret_set);

#endif
