/* Runs one batch: hands a job per stream to the workers, keeps the order where streams share an engine, collects the end. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "client/batch/batcher.h"

void batch_fail(struct baton_batch *batch, int error, const char *format, ...)
{
    va_list arguments;

    pthread_mutex_lock(&batch->lock);
    if (!batch->failed) {
        batch->failed = true;
        batch->error = error;
        va_start(arguments, format);
        (void)vsnprintf(batch->message, sizeof batch->message, format, arguments);
        va_end(arguments);
    }
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
}

/* Waits until it is this stream's turn in all its lanes; false when the batch has failed. */
static bool take_turn(struct baton_batch *batch, const struct ticket tickets[], size_t n)
{
    bool mine = false;
    bool failed;

    pthread_mutex_lock(&batch->lock);
    while (!batch->failed && !mine) {
        mine = true;
        for (size_t i = 0; i < n; i++)
            mine = mine && batch->turn[tickets[i].lane] == tickets[i].number;
        if (!mine)
            pthread_cond_wait(&batch->changed, &batch->lock);
    }
    failed = batch->failed;
    pthread_mutex_unlock(&batch->lock);
    return !failed;
}

static void pass_turn(struct baton_batch *batch, const struct ticket tickets[], size_t n)
{
    if (n == 0)
        return;
    pthread_mutex_lock(&batch->lock);
    for (size_t i = 0; i < n; i++)
        batch->turn[tickets[i].lane]++;
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
}

static void report(struct baton_batch *batch, const struct stream_task *task, const char *what, cl_int error)
{
    if (error != COPY_CANCELLED)
        batch_fail(batch, -EIO, "stream '%s': %s failed: %s (%d)", task->name, what, opencl_error_name(error),
                   error);
}

static baton_nsec since_start(const struct baton_batch *batch)
{
    return clock_now() - batch->started_at;
}

/* Around whatever keeps a core busy: a core of its own for as long as that lasts, if there is one. */
static int begin_work(struct baton_batch *batch)
{
    int core;

    pthread_mutex_lock(&batch->lock);
    core = batch_cores_take(&batch->cores);
    pthread_mutex_unlock(&batch->lock);
    batch_cores_go(&batch->cores, core);
    return core;
}

static void end_work(struct baton_batch *batch, int core)
{
    pthread_mutex_lock(&batch->lock);
    batch_cores_leave(&batch->cores, core);
    pthread_mutex_unlock(&batch->lock);
}

static bool run_copy(struct baton_batch *batch, size_t stream)
{
    struct stream_task *task = &batch->streams[stream];
    cl_int error;
    int core;

    if (!take_turn(batch, task->copy_tickets, task->n_copy_tickets))
        return false;
    if (!batch->method->one_at_a_time &&
        !batch_wait_until(batch, batch->started_at + batch->timeline.streams[stream].copy_begin))
        return false;
    task->measured.copy_begin = since_start(batch);
    core = begin_work(batch);
    error = batch_copy(batch, stream);
    end_work(batch, core);
    task->measured.copy_end = since_start(batch);
    if (error) {
        report(batch, task, "its copy", error);
        return false;
    }
    pass_turn(batch, task->copy_tickets, task->n_copy_tickets);
    return true;
}

static bool run_kernel(struct baton_batch *batch, size_t stream)
{
    struct stream_task *task = &batch->streams[stream];
    const struct stream_times *planned = &batch->timeline.streams[stream];
    const struct opencl *cl = batch->cl;
    cl_event event;
    cl_int error;
    int core;

    if (!take_turn(batch, &task->kernel_ticket, 1))
        return false;
    if (task->kind == COPY_NONE && !batch_wait_until(batch, batch->started_at + planned->kernel_begin))
        return false;
    task->measured.kernel_begin = since_start(batch);
    core = begin_work(batch);
    error = cl->clEnqueueNDRangeKernel(task->where->execute, task->kernel, task->dimensions, NULL,
                                       task->global, task->has_local ? task->local : NULL, 0, NULL, &event);
    if (!error) {
        error = cl->clWaitForEvents(1, &event);
        cl->clReleaseEvent(event);
    }
    end_work(batch, core);
    if (error) {
        report(batch, task, "its kernel", error);
        return false;
    }
    if (batch->emulator && !batch_wait_until(batch, batch->started_at + task->measured.kernel_begin +
                                                        (baton_nsec)batch->plan.flows[stream].kernel))
        return false;
    task->measured.kernel_end = since_start(batch);
    pass_turn(batch, &task->kernel_ticket, 1);
    return true;
}

static void run_job(const struct batch_job *job)
{
    struct baton_batch *batch = job->batch;
    struct stream_task *task = &batch->streams[job->stream];

    if (job->first_leg) {
        cl_int error = batch_copy_first_leg(batch, job->stream);

        if (error)
            report(batch, task, "its copy to the staging memory", error);
    } else if (task->kind == COPY_NONE || run_copy(batch, job->stream)) {
        if (task->kernel && !run_kernel(batch, job->stream))
            task->measured.kernel_end = 0;
        if (task->kind == COPY_NONE)
            task->measured.copy_begin = task->measured.copy_end = task->measured.kernel_begin;
        if (!task->kernel)
            task->measured.kernel_begin = task->measured.kernel_end = task->measured.copy_end;
    }
    pthread_mutex_lock(&batch->lock);
    if (--batch->unfinished == 0)
        batch->measured = since_start(batch); /* and not when the runner wakes up */
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
}

void *batcher_worker(void *argument)
{
    struct baton_batcher *batcher = argument;

    /* Copies must begin when planned: by default the kernel may wake a sleeper 50 us late. */
    (void)prctl(PR_SET_TIMERSLACK, 1000UL);
    for (;;) {
        struct batch_job job;

        pthread_mutex_lock(&batcher->lock);
        while (batcher->n_jobs == 0 && !batcher->deserted)
            pthread_cond_wait(&batcher->changed, &batcher->lock);
        if (batcher->n_jobs == 0) {
            pthread_mutex_unlock(&batcher->lock);
            return NULL;
        }
        job = batcher->jobs[--batcher->n_jobs];
        pthread_mutex_unlock(&batcher->lock);
        run_job(&job);
    }
}

/* A worker for each job, as a job may wait for another. */
static int hire(struct baton_batcher *batcher, size_t wanted)
{
    while (batcher->n_workers < wanted) {
        int error = pthread_create(&batcher->workers[batcher->n_workers], NULL, batcher_worker, batcher);

        if (error)
            return -error;
        batcher->n_workers++;
    }
    return 0;
}

void batch_execute(struct baton_batch *batch)
{
    struct baton_batcher *batcher = batch->batcher;
    struct batch_job jobs[2 * BATCH_MAX_STREAMS];
    size_t n = 0;
    int result;

    for (size_t i = 0; i < batch->plan.n; i++) {
        jobs[n++] = (struct batch_job){.batch = batch, .stream = i};
        if (batch->streams[i].kind == COPY_STAGED)
            jobs[n++] = (struct batch_job){.batch = batch, .stream = i, .first_leg = true};
    }
    result = hire(batcher, n);
    if (result) {
        batch_fail(batch, result, "cannot start %zu worker threads", n);
        return;
    }
    batch->unfinished = n;
    batch_cores_init(&batch->cores);
    pthread_mutex_lock(&batcher->lock);
    for (size_t i = 0; i < n; i++)
        batcher->jobs[i] = jobs[i];
    batcher->n_jobs = n;
    batch->started_at = clock_now();
    pthread_cond_broadcast(&batcher->changed);
    pthread_mutex_unlock(&batcher->lock);

    pthread_mutex_lock(&batch->lock);
    while (batch->unfinished > 0)
        pthread_cond_wait(&batch->changed, &batch->lock);
    pthread_mutex_unlock(&batch->lock);
}
