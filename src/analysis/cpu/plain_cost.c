#include "analysis/cpu/plain_cost.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

unsigned plain_gpus(const struct analysis_request *request, size_t index)
{
    return request && request->gpus && request->gpus[index] > 1 ? request->gpus[index] : 1;
}

int plain_cost(const struct task_set *set, size_t index, const struct analysis_request *request,
               baton_nsec *ret_cost, struct input_error *ret_error)
{
    const struct task *task = &set->tasks[index];
    unsigned gpus = plain_gpus(request, index);
    baton_nsec cost = 0;
    int result = task_set_require_lengths(set, ret_error);

    if (result)
        return result;
    for (size_t k = 0; k < task->n_segments; k++) {
        baton_nsec length = segment_length_on(&task->segments[k], gpus, set->platform.gpus);

        if (length < 0)
            return input_reject(ret_error, "", task->segments[k].line, task->segments[k].column, "none",
                                "a length on %u GPUs (multi_ms)", gpus);
        cost += length;
    }
    *ret_cost = cost;
    return 0;
}

int plain_result(const struct task_set *set, const struct analysis_request *request,
                 struct analysis_result *ret_result)
{
    struct analysis_result result = {.n_tasks = set->n_tasks};

    arena_init(&result.arena, 0);
    result.tasks = arena_calloc(&result.arena, set->n_tasks + 1, sizeof result.tasks[0]);
    if (!result.tasks) {
        arena_done(&result.arena);
        return -ENOMEM;
    }
    for (size_t i = 0; i < set->n_tasks; i++)
        result.tasks[i].gpus = plain_gpus(request, i);
    *ret_result = result;
    return 0;
}

const char *plain_reason(struct analysis_result *result, const char *format, ...)
{
    char *text = arena_calloc(&result->arena, 1, 400);
    va_list arguments;

    if (!text)
        return NULL;
    va_start(arguments, format);
    (void)vsnprintf(text, 400, format, arguments);
    va_end(arguments);
    return text;
}

baton_nsec plain_nsec(double us)
{
    double time = ceil(us * (double)NSEC_PER_US - 1e-3);

    return time < 9e18 ? (baton_nsec)time : NSEC_MAX;
}
