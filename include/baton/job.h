/*
 * Reports where jobs begin and end. Without these calls Baton infers jobs from the OpenCL or CUDA
 * commands. An inferred job begins with the first command of an idle process. It ends when the
 * process has waited for all its commands. From a program's first call on, only the jobs that it
 * reports count, and the statistics begin anew. Link with -lbaton. Without Baton's layer or a
 * daemon the calls still keep the statistics.
 *
 * Several tasks in one process: baton/task.h.
 *
 *     for (;;) {
 *         wait_for_frame();
 *         baton_job_begin();
 *         detect(frame);
 *         baton_job_end();
 *     }
 */
#ifndef BATON_JOB_H
#define BATON_JOB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef BATON_API
#define BATON_API __attribute__((visibility("default")))
#endif

/* Statistics of the jobs of this process so far. Times in nanoseconds. */
struct baton_job_report {
    size_t
        size; /* sizeof(struct baton_job_report), set by the caller: a later version may have more fields */
    uint64_t jobs, misses;
    /* percentiles of the last 65536 jobs; max of all jobs */
    int64_t response_p50, response_p99, response_max;
    /*
     * response = pending + compute occupying + copy occupying, also where engines of several GPUs
     * work (docs/statistics.md).
     */
    int64_t response_sum, pending_sum;
    int64_t compute_occupying_sum, copy_occupying_sum;
    int64_t jitter_max, tardiness_max; /* jitter: 0 without a period; tardiness: 0 without a deadline */
};

/*
 * A job begins now and was released now. With `baton run --period`, a job that queued behind the
 * previous one was released when its period began (docs/run.md, "Jobs"). 0, or -errno. Ignored
 * while a job runs.
 */
BATON_API int baton_job_begin(void);

/*
 * The same for a job that was released at release_ns, nanoseconds of CLOCK_MONOTONIC. Response
 * times, deadlines and bounds count from there, in this process and in the daemon. -EINVAL:
 * release_ns is after now, or before the release of the previous job.
 */
BATON_API int baton_job_begin_at(int64_t release_ns);

/*
 * The running job has waited for its last GPU command and continues without a GPU. Under the
 * profile `gpusync` its token goes to the next job now, not only at the end of this job. A plan's
 * bounds assume this call for jobs that end with CPU work. 0, or -errno. Ignored while no job runs.
 */
BATON_API int baton_job_gpu_done(void);

/*
 * The running job is complete. 0, or -errno. Ignored while no job runs. Under the profile `gpusync`
 * the call first saves the job's state. When it returns, the program already has the rank of its
 * next job. So the code after the call may wait for jobs of other programs.
 */
BATON_API int baton_job_end(void);

/* 0, or -errno (-EINVAL: ret_report->size is too small); *ret_report is written on success only. */
BATON_API int baton_job_report(struct baton_job_report *ret_report);

#ifdef __cplusplus
}
#endif

#endif
