/*
 * The cost of a task for analyses without GPUs (fair lateness, non-preemptive EDF): C is the sum of
 * all segments.
 */
#ifndef ANALYSIS_PLAIN_COST_H
#define ANALYSIS_PLAIN_COST_H

#include "analysis/analysis.h"

/*
 * C of a task with its kernels on the GPUs that the request gives it. 0, or INPUT_REJECTED when the
 * file has no length for that number.
 */
int plain_cost(const struct task_set *set, size_t index, const struct analysis_request *request,
               baton_nsec *ret_cost, struct input_error *ret_error);

/* How many GPUs the request gives to this task's kernels. */
unsigned plain_gpus(const struct analysis_request *request, size_t index);

/*
 * Begins a result: the arena, one entry per task, gpus filled. 0, or -ENOMEM with nothing to free.
 */
int plain_result(const struct task_set *set, const struct analysis_request *request,
                 struct analysis_result *ret_result);

/* A formatted sentence in the result's arena; NULL when memory is short. */
const char *plain_reason(struct analysis_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Converts us to ns and rounds up. An excess that is only rounding error of doubles (a thousandth
 * of a ns) is dropped.
 */
baton_nsec plain_nsec(double us);

#endif
