#include "opencl/graph/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/job_record.h"
#include "opencl/graph/issue.h"
#include "opencl/graph/launch.h"
#include "opencl/layer.h"
#include "wire/page.h"

bool recorder_on;

struct pending {
    struct job_record_command record;
    cl_event event; /* a reference */
};

static struct {
    pthread_mutex_t lock;
    int file;
    int64_t written;
    bool full;                 /* the file is, or the disk: no more lines */
    struct job_record_job job; /* the one that runs; number 0: none */
    struct pending *pending;   /* RECORDER_PENDING of them */
    size_t n_pending;
    char text[1 << 16]; /* lines not yet written */
    size_t used;
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

/* Under the lock. What the disk does not take is lost, and nothing follows it: half a line may stand at the end. */
static void flush(void)
{
    size_t done = 0;

    while (done < recorder.used && !recorder.full) {
        ssize_t n = write(recorder.file, recorder.text + done, recorder.used - done);

        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            recorder.full = true;
    }
    recorder.written += (int64_t)done;
    recorder.full = recorder.full || recorder.written >= RECORDER_FILE_LIMIT;
    recorder.used = 0;
}

static void put(const char *line, size_t size)
{
    if (recorder.used + size > sizeof recorder.text)
        flush();
    if (recorder.full)
        return;
    memcpy(recorder.text + recorder.used, line, size);
    recorder.used += size;
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

    if (!folder || !folder[0] ||
        snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid()) >= (int)sizeof path)
        return;
    recorder.file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    recorder.pending = calloc(RECORDER_PENDING, sizeof *recorder.pending);
    if (recorder.file < 0 || !recorder.pending)
        return;
    put(JOB_RECORD_HEADER, sizeof JOB_RECORD_HEADER - 1);
    flush();
    recorder_on = true;
}

static int64_t time_of(cl_event event, cl_profiling_info name)
{
    cl_ulong at = 0;

    (void)target.clGetEventProfilingInfo(event, name, sizeof at, &at, NULL);
    return (int64_t)at;
}

/* Under the lock: writes those that are complete. */
static void sweep(void)
{
    size_t kept = 0;

    for (size_t i = 0; i < recorder.n_pending; i++) {
        struct pending *p = &recorder.pending[i];
        cl_int status = CL_COMPLETE;

        (void)target.clGetEventInfo(p->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                    NULL);
        if (status > CL_COMPLETE) {
            recorder.pending[kept++] = *p;
            continue;
        }
        p->record.seen_at = clock_now();
        p->record.queued = time_of(p->event, CL_PROFILING_COMMAND_QUEUED);
        p->record.start = time_of(p->event, CL_PROFILING_COMMAND_START);
        p->record.end = time_of(p->event, CL_PROFILING_COMMAND_END);
        (void)target.clReleaseEvent(p->event);
        if (status == CL_COMPLETE && p->record.end >= p->record.start && p->record.end > 0)
            put_command(&p->record);
    }
    recorder.n_pending = kept;
}

void recorder_on_job(void *user, bool begins, bool explicit_job, uint32_t number, baton_nsec at)
{
    char line[JOB_RECORD_LINE_SIZE] = "";

    (void)user;
    pthread_mutex_lock(&recorder.lock);
    if (begins) {
        recorder.job = (struct job_record_job){.job = number, .begin_at = at, .explicit_job = explicit_job};
    } else if (recorder.job.job == number) {
        recorder.job.end_at = at;
        sweep();
        put(line, job_record_print_job(&recorder.job, line));
        flush();
        recorder.job = (struct job_record_job){0};
    }
    pthread_mutex_unlock(&recorder.lock);
}

uint32_t recorder_enter(void)
{
    uint32_t job;

    pthread_mutex_lock(&recorder.lock);
    job = recorder.job.job;
    if (job)
        recorder.job.commands++;
    pthread_mutex_unlock(&recorder.lock);
    return job;
}

static enum job_record_engine engine_of(enum engine_kind kind)
{
    static const enum job_record_engine names[ENGINE_N] = {[ENGINE_EXECUTION] = JOB_RECORD_KERNEL,
                                                           [ENGINE_COPY_IN] = JOB_RECORD_COPY_IN,
                                                           [ENGINE_COPY_OUT] = JOB_RECORD_COPY_OUT};

    return names[kind];
}

/* What is known of a command without its times. */
static void describe(const struct command *command, struct job_record_command *ret_record)
{
    bool kernel = command->kind == COMMAND_KERNEL || command->kind == COMMAND_TASK;
    const char *name = "";

    *ret_record = (struct job_record_command){.engine = engine_of(command->engine), .pieces = 1};
    if (kernel) {
        name = command->u.launch.kernel->name ? command->u.launch.kernel->name : "";
        (void)strncpy(ret_record->why, page_counter_names[launch_why_whole(command)] + sizeof "unsliced",
                      sizeof ret_record->why - 1);
    } else if (command->kind == COMMAND_NATIVE) {
        name = "(native)";
    } else if (command->engine == ENGINE_EXECUTION) { /* copies and fills within the device */
        name = "(copy)";
    }
    if (!kernel)
        ret_record->bytes = (int64_t)issue_bytes(command);
    (void)strncpy(ret_record->name, name, sizeof ret_record->name - 1);
}

void recorder_direct(const struct command *draft, baton_nsec call_at, cl_event event)
{
    struct pending new = {.event = event};

    describe(draft, &new.record);
    new.record.call_at = call_at;
    new.record.return_at = clock_now();
    new.record.job = recorder_enter();
    if (!new.record.job || !event)
        return;
    pthread_mutex_lock(&recorder.lock);
    if (recorder.n_pending == RECORDER_PENDING)
        sweep();
    if (recorder.n_pending < RECORDER_PENDING) {
        (void)target.clRetainEvent(event);
        recorder.pending[recorder.n_pending++] = new;
    }
    pthread_mutex_unlock(&recorder.lock);
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

    if (!command->job || !command->leased)
        return;
    if (command->first_event) /* the newest piece is in flight until now */
        recorder_piece(command, time_of(command->driver_event, CL_PROFILING_COMMAND_END) -
                                    time_of(command->driver_event, CL_PROFILING_COMMAND_START));
    describe(command, &record);
    record.job = command->job;
    record.call_at = command->issued_at;
    record.seen_at = record.return_at = clock_now();
    record.queued = (int64_t)command->times[0];
    record.start = (int64_t)command->times[2];
    record.end = (int64_t)command->times[3];
    if (command->n_pieces > 1) {
        record.pieces = command->n_pieces;
        record.longest_piece = command->longest_piece;
        record.why[0] = 0;
    }
    pthread_mutex_lock(&recorder.lock);
    put_command(&record);
    pthread_mutex_unlock(&recorder.lock);
}

void recorder_spread(struct command *command, baton_nsec begin_at)
{
    struct job_record_command record;

    if (!command->job) /* it is not leased any more: its engines were left */
        return;
    describe(command, &record);
    record.job = command->job;
    record.call_at = record.start = begin_at;
    record.queued = -1;
    record.seen_at = record.return_at = record.end = clock_now();
    command->job = 0; /* its event is seen later, and is not the whole of it */
    pthread_mutex_lock(&recorder.lock);
    put_command(&record);
    pthread_mutex_unlock(&recorder.lock);
}

void recorder_copy(enum engine_kind engine, size_t bytes, baton_nsec begin_at, baton_nsec end_at)
{
    struct job_record_command record = {.job = recorder_enter(),
                                        .engine = engine_of(engine),
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
    pthread_mutex_lock(&recorder.lock);
    put_command(&record);
    pthread_mutex_unlock(&recorder.lock);
}

void recorder_stop(void)
{
    if (!recorder_on)
        return;
    pthread_mutex_lock(&recorder.lock);
    sweep();
    flush();
    recorder.full = true; /* whatever other exit handlers still do is not recorded */
    pthread_mutex_unlock(&recorder.lock);
}
