/*
 * Runs one batch: gives the workers a job per stream, keeps the order of streams on shared engines,
 * and collects the results.
 */
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

/* Waits for this stream's turn in all its lanes; false when the batch has failed. */
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

/* gpu: the one whose API gave the code */
static void report(struct baton_batch *batch, const struct stream_task *task, const struct batcher_gpu *gpu,
                   const char *what, int code)
{
    if (code != COPY_CANCELLED)
        batch_fail(batch, -EIO, "stream '%s': %s failed: %s (%d)", task->name, what,
                   gpu->api->error_name(code), code);
}

static baton_nsec since_start(const struct baton_batch *batch)
{
    return clock_now() - batch->started_at;
}

/*
 * How many streams may be active; 0: any number. Devices have their own engines unless they use the
 * host's cores. A method that paces limits its copies by itself.
 */
static size_t limit_of(const struct baton_batch *batch)
{
    return batch->method->paces ? 0 : batch->plan.topology->cores;
}

/* Is a core idle for this stream, and does no other stream have precedence? */
static bool may_work(const struct baton_batch *batch, const struct stream_task *task)
{
    size_t cores = limit_of(batch);

    if (cores == 0)
        return true;
    for (size_t i = 0; i < batch->plan.n; i++) {
        const struct stream_task *other = &batch->streams[i];

        if (other->wants && other->wants->begin < task->wants->begin)
            return false;
    }
    return batch->n_working < cores;
}

/*
 * A sleeping thread wakes up late, by 0.1 ms in a virtual machine, and late work ends late. So the
 * last part of a wait spins, on the core that the work needs.
 */
#define SPUN (NSEC_PER_MS / 5)

/*
 * Call before work that keeps a core busy: reserves a core for its duration, if possible. Returns
 * when the plan has a core for the work and, with on_time, not before the planned instant. False:
 * the batch has failed.
 */
static bool begin_work(struct baton_batch *batch, struct stream_task *task, const struct core_use *use,
                       bool on_time, int *ret_core)
{
    baton_nsec at = batch->started_at + use->begin;
    bool ok;

    if (on_time && at - SPUN > clock_now()) {
        batch_cores_stay(&batch->cores, use->core);
        (void)batch_wait_until(batch, at - SPUN);
    }
    pthread_mutex_lock(&batch->lock);
    task->wants = use;
    while (!batch->failed && !may_work(batch, task))
        pthread_cond_wait(&batch->changed, &batch->lock);
    task->wants = NULL;
    ok = !batch->failed;
    if (ok) {
        batch->n_working++;
        *ret_core = batch_cores_take(&batch->cores);
    }
    pthread_mutex_unlock(&batch->lock);
    batch_cores_go(&batch->cores, ok ? *ret_core : -1);
    while (ok && on_time && clock_now() < at)
        ;
    return ok;
}

static void end_work(struct baton_batch *batch, int core)
{
    pthread_mutex_lock(&batch->lock);
    batch->n_working--;
    batch_cores_leave(&batch->cores, core);
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
}

static bool run_copy(struct baton_batch *batch, size_t stream)
{
    struct stream_task *task = &batch->streams[stream];
    int error;
    int core;

    if (!take_turn(batch, task->copy_tickets, task->n_copy_tickets))
        return false;
    if (!begin_work(batch, task, &task->copying, !batch->method->one_at_a_time, &core))
        return false;
    task->measured.copy_begin = since_start(batch);
    error = batch_copy(batch, stream);
    task->measured.copy_end = since_start(batch);
    end_work(batch, core);
    if (error) {
        report(batch, task, task->target ? task->target : task->source, "its copy", error);
        return false;
    }
    pass_turn(batch, task->copy_tickets, task->n_copy_tickets);
    return true;
}

static bool run_kernel(struct baton_batch *batch, size_t stream)
{
    struct stream_task *task = &batch->streams[stream];
    const struct stream_times *planned = &batch->timeline.streams[stream];
    bool waits;
    int error;
    int core;

    if (!take_turn(batch, &task->kernel_ticket, 1))
        return false;
    /* Other streams may use the cores between its copy and its kernel. */
    waits = task->kind == COPY_NONE || (limit_of(batch) > 0 && planned->kernel_begin > planned->copy_end);
    if (!begin_work(batch, task, &task->computing, waits, &core))
        return false;
    task->measured.kernel_begin = since_start(batch);
    error = task->where->api->launch(task->where->device, task->kernel);
    task->measured.kernel_end = since_start(batch);
    end_work(batch, core);
    if (error) {
        report(batch, task, task->where, "its kernel", error);
        return false;
    }
    if (batch->emulator) {
        if (!batch_wait_until(batch, batch->started_at + task->measured.kernel_begin +
                                         (baton_nsec)batch->plan.flows[stream].kernel))
            return false;
        task->measured.kernel_end = since_start(batch);
    }
    pass_turn(batch, &task->kernel_ticket, 1);
    return true;
}

/*
 * When cores are few: moves to the planned core before any worker is busy, and waits until all
 * workers have moved.
 */
static void take_position(struct baton_batch *batch, const struct stream_task *task)
{
    if (limit_of(batch) == 0)
        return;
    batch_cores_stay(&batch->cores, task->kind == COPY_NONE ? task->computing.core : task->copying.core);
    pthread_mutex_lock(&batch->lock);
    if (--batch->n_moving == 0)
        pthread_cond_broadcast(&batch->changed);
    while (batch->n_moving > 0)
        pthread_cond_wait(&batch->changed, &batch->lock);
    pthread_mutex_unlock(&batch->lock);
}

static void run_job(const struct batch_job *job)
{
    struct baton_batch *batch = job->batch;
    struct stream_task *task = &batch->streams[job->stream];

    take_position(batch, task);
    if (job->first_leg) {
        int error = batch_copy_first_leg(batch, job->stream);

        if (error)
            report(batch, task, task->source, "its copy to the staging memory", error);
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
        batch->measured = since_start(batch); /* not when the runner wakes up */
    pthread_cond_broadcast(&batch->changed);
    pthread_mutex_unlock(&batch->lock);
}

void *batcher_worker(void *argument)
{
    struct baton_batcher *batcher = argument;

    /*
     * Copies must begin on time, but by default the kernel may wake a sleeping thread 50 us late.
     */
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

/* One worker per job, because a job may wait for another. */
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

/* The core on which each worker waits, for devices that use the host's cores. */
static void assign_cores(struct baton_batch *batch)
{
    struct core_use uses[2 * BATCH_MAX_STREAMS];

    batch_cores_init(&batch->cores);
    for (size_t i = 0; i < batch->plan.n; i++) {
        const struct stream_times *planned = &batch->timeline.streams[i];

        uses[2 * i] = (struct core_use){.begin = planned->copy_begin, .end = planned->copy_end};
        uses[2 * i + 1] = (struct core_use){.begin = planned->kernel_begin, .end = planned->kernel_end};
    }
    batch_cores_assign(&batch->cores, limit_of(batch), uses, 2 * batch->plan.n);
    for (size_t i = 0; i < batch->plan.n; i++) {
        batch->streams[i].copying = uses[2 * i];
        batch->streams[i].computing = uses[2 * i + 1];
    }
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
    batch->unfinished = batch->n_moving = n;
    assign_cores(batch);
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
