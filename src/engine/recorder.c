#include "engine/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/runtime.h"

struct recorder_pending {
    struct job_record_command record;
    const struct driver_ops *ops;
    struct mark *mark; /* a reference */
};

/*
 * Under the lock. After a failed write nothing more is written, since half a line may be at the
 * end.
 */
static void flush(void)
{
    size_t done = 0;

    while (done < runtime.recorder.used && !runtime.recorder.full) {
        ssize_t n = write(runtime.recorder.file, runtime.recorder.text + done, runtime.recorder.used - done);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            runtime.recorder.full = true;
    }
    runtime.recorder.written += (int64_t)done;
    runtime.recorder.full = runtime.recorder.full || runtime.recorder.written >= RECORDER_FILE_LIMIT;
    runtime.recorder.used = 0;
}

static void put(const char *line, size_t size)
{
    if (runtime.recorder.used + size > sizeof runtime.recorder.text)
        flush();
    if (runtime.recorder.full)
        return;
    memcpy(runtime.recorder.text + runtime.recorder.used, line, size);
    runtime.recorder.used += size;
}

static void put_command(const struct job_record_command *record)
{
    char line[JOB_RECORD_LINE_SIZE] = "";

    put(line, job_record_print_command(record, line));
}

void recorder_init(void)
{
    const char *folder = getenv(RECORDER_VARIABLE);
    char path[4096];

    runtime.recorder.on = false;
    runtime.recorder.used = 0;
    if (!folder || !folder[0] ||
        snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid()) >= (int)sizeof path)
        return;
    runtime.recorder.file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    runtime.recorder.pending = calloc(RECORDER_PENDING, sizeof *runtime.recorder.pending);
    if (runtime.recorder.file < 0 || !runtime.recorder.pending)
        return;
    put(JOB_RECORD_HEADER, sizeof JOB_RECORD_HEADER - 1);
    flush();
    runtime.recorder.on = true;
}

/* The reader relates a driver's own clock to the host's by this instant; -1: they are the same. */
static int64_t queued_at(const struct driver_ops *ops, const struct mark_times *times)
{
    return ops->host_clock ? -1 : (int64_t)times->queued;
}

/* Under the lock: writes those that are complete. */
static void sweep(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < runtime.recorder.n_pending; i++) {
        struct recorder_pending *p = &runtime.recorder.pending[i];
        const struct driver_ops *ops = p->ops;
        int status = ops->mark_status(p->mark);
        struct mark_times times;

        if (status > COMMAND_COMPLETE) {
            runtime.recorder.pending[kept++] = *p;
            continue;
        }
        ops->mark_times(p->mark, &times);
        ops->mark_queued(p->mark, &times);
        p->record.seen_at = clock_now();
        p->record.queued = queued_at(ops, &times);
        p->record.start = (int64_t)times.started;
        p->record.end = (int64_t)times.ended;
        ops->mark_drop(p->mark);
        if (status == COMMAND_COMPLETE && p->record.end >= p->record.start && p->record.end > 0)
            put_command(&p->record);
    }
    runtime.recorder.n_pending = kept;
}

void recorder_on_job(void *user, bool begins, bool explicit_job, uint32_t number, baton_nsec at)
{
    char line[JOB_RECORD_LINE_SIZE] = "";

    (void)user;
    pthread_mutex_lock(&runtime.recorder.lock);
    if (begins) {
        runtime.recorder.job =
            (struct job_record_job){.job = number, .begin_at = at, .explicit_job = explicit_job};
    } else if (runtime.recorder.job.job == number) {
        runtime.recorder.job.end_at = at;
        sweep();
        put(line, job_record_print_job(&runtime.recorder.job, line));
        flush();
        runtime.recorder.job = (struct job_record_job){0};
    }
    pthread_mutex_unlock(&runtime.recorder.lock);
}

uint32_t recorder_enter(void)
{
    uint32_t job;

    pthread_mutex_lock(&runtime.recorder.lock);
    job = runtime.recorder.job.job;
    if (job)
        runtime.recorder.job.commands++;
    pthread_mutex_unlock(&runtime.recorder.lock);
    return job;
}

/* Fills in all fields but the times. */
static void describe(const struct command *command, struct job_record_command *ret_record)
{
    *ret_record = (struct job_record_command){.engine = command->engine, .pieces = 1};
    command->ops->describe(command, ret_record);
}

void recorder_direct(const struct command *draft, baton_nsec call_at, struct mark *mark)
{
    struct recorder_pending new = {.ops = draft->ops, .mark = mark};

    describe(draft, &new.record);
    new.record.call_at = call_at;
    new.record.return_at = clock_now();
    new.record.job = recorder_enter();
    if (!new.record.job || !mark)
        return;
    pthread_mutex_lock(&runtime.recorder.lock);
    if (runtime.recorder.n_pending == RECORDER_PENDING)
        sweep();
    if (runtime.recorder.n_pending < RECORDER_PENDING) {
        new.ops->mark_keep(mark);
        runtime.recorder.pending[runtime.recorder.n_pending++] = new;
    }
    pthread_mutex_unlock(&runtime.recorder.lock);
}

void recorder_piece(struct command *command, int64_t length)
{
    command->n_pieces++;
    if (command->latest_piece + length > command->longest_piece)
        command->longest_piece = command->latest_piece + length;
    command->latest_piece = length;
}

void recorder_queued(struct command *command)
{
    struct job_record_command record;
    struct mark_times newest;

    if (!command->job || !command->leased)
        return;
    if (command->first_mark) { /* the newest piece is in flight until now */
        command->ops->mark_times(command->last_mark, &newest);
        recorder_piece(command, (int64_t)(newest.ended - newest.started));
    }
    describe(command, &record);
    record.job = command->job;
    record.call_at = command->issued_at;
    record.seen_at = record.return_at = clock_now();
    record.queued = queued_at(command->ops, &command->times);
    record.start = (int64_t)command->times.started;
    record.end = (int64_t)command->times.ended;
    if (command->n_pieces > 1) {
        record.pieces = command->n_pieces;
        record.longest_piece = command->longest_piece;
        record.why[0] = 0;
    }
    pthread_mutex_lock(&runtime.recorder.lock);
    put_command(&record);
    pthread_mutex_unlock(&runtime.recorder.lock);
}

void recorder_spread(struct command *command, baton_nsec begin_at)
{
    struct job_record_command record;

    if (!command->job) /* no longer part of a job: its engines were left */
        return;
    describe(command, &record);
    record.job = command->job;
    record.call_at = record.start = begin_at;
    record.queued = -1;
    record.seen_at = record.return_at = record.end = clock_now();
    command->job = 0; /* the command's mark comes later and does not cover the whole command */
    pthread_mutex_lock(&runtime.recorder.lock);
    put_command(&record);
    pthread_mutex_unlock(&runtime.recorder.lock);
}

void recorder_copy(enum engine_kind engine, size_t bytes, baton_nsec begin_at, baton_nsec end_at)
{
    struct job_record_command record = {.job = recorder_enter(),
                                        .engine = engine,
                                        .call_at = begin_at,
                                        .return_at = end_at,
                                        .seen_at = end_at,
                                        .queued = -1,
                                        .start = begin_at,
                                        .end = end_at,
                                        .bytes = (int64_t)bytes,
                                        .pieces = 1};

    if (!record.job)
        return;
    pthread_mutex_lock(&runtime.recorder.lock);
    put_command(&record);
    pthread_mutex_unlock(&runtime.recorder.lock);
}

void recorder_stop(void)
{
    if (!recorder_on())
        return;
    pthread_mutex_lock(&runtime.recorder.lock);
    sweep();
    flush();
    runtime.recorder.full = true; /* later exit handlers are not recorded */
    pthread_mutex_unlock(&runtime.recorder.lock);
}
