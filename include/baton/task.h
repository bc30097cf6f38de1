/*
 * Several tasks in one process. baton_job_begin() and baton_job_end() concern the process as a
 * whole, which is what the daemon schedules. A process may do the work of several tasks: composed
 * ROS 2 nodes, a server with one thread per camera. It opens a handle for each task, with its own
 * period, deadline and statistics. The handles share the process's priority, leases and plan. A
 * task that needs a priority of its own needs a process of its own.
 *
 *     struct baton_task_options options = {
 *         .size = sizeof options, .name = "camera", .period_ns = 33000000};
 *     struct baton_task *task;
 *
 *     baton_task_open(&options, &task);
 *     for (;;) {
 *         wait_for_frame();
 *         baton_task_begin(task);
 *         detect(frame);
 *         baton_task_end(task);
 *     }
 *
 * Results are 0 or -errno. A handle may be used from any thread. Jobs of one handle follow each
 * other; those of different handles may overlap.
 */
#ifndef BATON_TASK_H
#define BATON_TASK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef BATON_API
#define BATON_API __attribute__((visibility("default")))
#endif

struct baton_task; /* opaque */

struct baton_task_options {
    size_t size;         /* sizeof(struct baton_task_options): a later version may have more fields */
    const char *name;    /* copied; at most 64 characters */
    int64_t period_ns;   /* 0: none; then no jitter is measured, and a job without a deadline cannot miss */
    int64_t deadline_ns; /* relative to the release; 0: the period */
    uint64_t warm;       /* the first jobs, which are not counted */
};

struct baton_task_report {
    size_t size; /* sizeof(struct baton_task_report), set by the caller */
    uint64_t jobs, misses;
    int64_t response_p50, response_p99, response_max; /* ns; percentiles of the last 65536 jobs */
    int64_t response_sum;
    int64_t jitter_max, tardiness_max; /* jitter: 0 without a period; tardiness: 0 without a deadline */
};

/* -EINVAL: a size that is too small, no name or one that is too long, a negative time. -ENOMEM. */
BATON_API int baton_task_open(const struct baton_task_options *options, struct baton_task **ret_task);
BATON_API void baton_task_close(struct baton_task *task); /* NULL is accepted */

BATON_API const char *baton_task_name(const struct baton_task *task);

/* As baton_job_begin(), baton_job_begin_at() and baton_job_end(), for this task. */
BATON_API int baton_task_begin(struct baton_task *task);
BATON_API int baton_task_begin_at(struct baton_task *task, int64_t release_ns);
BATON_API int baton_task_end(struct baton_task *task);

/* -EINVAL: ret_report->size is too small. */
BATON_API int baton_task_report(struct baton_task *task, struct baton_task_report *ret_report);

#ifdef __cplusplus
}
#endif

#endif
