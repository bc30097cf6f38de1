/* A task where an analysis knows no GPU (fair lateness, non-preemptive EDF): C is the sum of all segments. */
#ifndef ANALYSIS_PLAIN_COST_H
#define ANALYSIS_PLAIN_COST_H

#include "analysis/analysis.h"

/* C of a task, its kernels on so many GPUs. 0, or INPUT_REJECTED where the file gives no length for that. */
int plain_cost(const struct task_set *set, size_t index, const struct analysis_request *request,
               baton_nsec *ret_cost, struct input_error *ret_error);

/* On how many GPUs a request runs this task's kernels. */
unsigned plain_gpus(const struct analysis_request *request, size_t index);

/* Starts a result: arena, one entry per task, gpus filled. 0 or -ENOMEM; then nothing needs to be freed. */
int plain_result(const struct task_set *set, const struct analysis_request *request,
                 struct analysis_result *ret_result);

/* A formatted sentence in the result's arena, or NULL without memory. */
const char *plain_reason(struct analysis_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* us to ns, up to the next; what doubles lose (a thousandth of a ns) does not count as more. */
baton_nsec plain_nsec(double us);

#endif
