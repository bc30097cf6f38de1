/*
 * Implements include/baton/task.h: one `struct jobs` per handle, under its own lock. A handle has
 * no session and sends nothing.
 */
#include "baton/task.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/jobs.h"

#define NAME_SIZE 65

struct baton_task {
    pthread_mutex_t lock;
    char name[NAME_SIZE];
    struct jobs jobs; /* guarded by lock */
};

/* The fields of the first version. A smaller size is an error of the caller. */
#define OPTIONS_SIZE (offsetof(struct baton_task_options, warm) + sizeof(uint64_t))
#define REPORT_SIZE  (offsetof(struct baton_task_report, tardiness_max) + sizeof(int64_t))

int baton_task_open(const struct baton_task_options *options, struct baton_task **ret_task)
{
    struct baton_task *task;

    if (options->size < OPTIONS_SIZE || !options->name || !options->name[0] ||
        strlen(options->name) >= NAME_SIZE || options->period_ns < 0 || options->deadline_ns < 0)
        return -EINVAL;
    task = calloc(1, sizeof *task);
    if (!task)
        return -ENOMEM;
    (void)pthread_mutex_init(&task->lock, NULL);
    memcpy(task->name, options->name, strlen(options->name) + 1);
    jobs_init(&task->jobs, options->period_ns, options->deadline_ns);
    jobs_warm_up(&task->jobs, options->warm);
    *ret_task = task;
    return 0;
}

void baton_task_close(struct baton_task *task)
{
    if (!task)
        return;
    jobs_done(&task->jobs);
    (void)pthread_mutex_destroy(&task->lock);
    free(task);
}

const char *baton_task_name(const struct baton_task *task)
{
    return task->name;
}

int baton_task_begin(struct baton_task *task)
{
    pthread_mutex_lock(&task->lock);
    jobs_begin(&task->jobs, clock_now());
    pthread_mutex_unlock(&task->lock);
    return 0;
}

int baton_task_begin_at(struct baton_task *task, int64_t release_ns)
{
    int result;

    pthread_mutex_lock(&task->lock);
    result = jobs_begin_released(&task->jobs, release_ns, clock_now());
    pthread_mutex_unlock(&task->lock);
    return result;
}

int baton_task_end(struct baton_task *task)
{
    pthread_mutex_lock(&task->lock);
    jobs_end(&task->jobs, clock_now());
    pthread_mutex_unlock(&task->lock);
    return 0;
}

int baton_task_report(struct baton_task *task, struct baton_task_report *ret_report)
{
    const struct jobs *jobs = &task->jobs;
    size_t size = ret_report->size;
    struct baton_task_report report;

    if (size < REPORT_SIZE)
        return -EINVAL;
    pthread_mutex_lock(&task->lock);
    report = (struct baton_task_report){
        .size = size,
        .jobs = jobs->n,
        .misses = jobs->misses,
        .response_p50 = jobs_percentile(jobs, 500),
        .response_p99 = jobs_percentile(jobs, 990),
        .response_max = jobs->response_max,
        .response_sum = jobs->response_sum,
        .jitter_max = jobs->jitter_max,
        .tardiness_max = jobs->tardiness_max,
    };
    pthread_mutex_unlock(&task->lock);
    memcpy(ret_report, &report, size < sizeof report ? size : sizeof report);
    return 0;
}
