#include "cli/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/notice_lines.h"

#define MAX_RECORDS (1u << 20)

static int add_record(struct trace_recording *recording, const struct trace_record *record)
{
    struct trace_record *more;

    if (recording->n == MAX_RECORDS)
        return -EFBIG;
    more = array_make_room(recording->records, recording->n, &recording->room, sizeof *more);
    if (!more)
        return -ENOMEM;
    recording->records = more;
    recording->records[recording->n++] = *record;
    return 0;
}

static int add_client(struct trace_recording *recording, const struct frame_about_client *about)
{
    struct recorded_client *more =
        array_make_room(recording->clients, recording->n_clients, &recording->clients_room, sizeof *more);

    if (!more)
        return -ENOMEM;
    recording->clients = more;
    more = &recording->clients[recording->n_clients++];
    *more = (struct recorded_client){.client = about->client,
                                     .pid = about->pid,
                                     .deadline = about->deadline ? about->deadline : about->period,
                                     .misses = about->counters[PAGE_COUNTER_MISSES]};
    memcpy(more->name, about->name, sizeof more->name);
    return 0;
}

/*
 * Reads a whole ring, frame by frame. The loop is bounded, so that a client that writes all the
 * time cannot prolong it.
 */
static int read_ring(struct trace_recording *recording, struct monitor *monitor, enum query_what what,
                     uint32_t index)
{
    uint64_t cursor = 0;
    struct frame frame;

    for (unsigned round = 0; round < 4096; round++) {
        int result = monitor_query(monitor, what, index, cursor, &frame);

        if (result)
            return result;
        if (frame.type != FRAME_TRACE)
            return 0;
        for (uint32_t i = 0; i < frame.trace.n && i < 32; i++) {
            result = add_record(recording, &frame.trace.records[i]);
            if (result)
                return result;
        }
        recording->lost += frame.trace.lost;
        cursor = frame.trace.cursor;
    }
    return 0;
}

/* Adds the kernels that the records from `first` on refer to, and renumbers them. */
static int read_kernels(struct trace_recording *recording, struct monitor *monitor, enum query_what what,
                        uint32_t index, size_t first)
{
    size_t base = recording->n_kernels;
    struct frame frame;
    int result;

    for (uint64_t number = 1;; number++) {
        char(*more)[PAGE_KERNEL];

        result = monitor_query(monitor, what, index, number, &frame);
        if (result || frame.type != FRAME_ABOUT_KERNEL)
            break;
        more =
            array_make_room(recording->kernels, recording->n_kernels, &recording->kernels_room, sizeof *more);
        if (!more)
            return -ENOMEM;
        recording->kernels = more;
        memcpy(recording->kernels[recording->n_kernels], frame.about_kernel.name, PAGE_KERNEL - 1);
        recording->kernels[recording->n_kernels++][PAGE_KERNEL - 1] = 0;
    }
    for (size_t i = first; i < recording->n; i++) {
        uint32_t *kernel = &recording->records[i].kernel;

        *kernel = *kernel && *kernel <= recording->n_kernels - base ? *kernel + (uint32_t)base : 0;
    }
    return result;
}

/* Names are read after the runs: a client writes a name before the first run that refers to it. */
static int read_runs(struct trace_recording *recording, struct monitor *monitor, bool departed, uint32_t slot)
{
    size_t first = recording->n;
    int result = read_ring(recording, monitor, departed ? QUERY_OLD_RUNS : QUERY_RUNS, slot);

    return result ? result
                  : read_kernels(recording, monitor, departed ? QUERY_OLD_KERNEL : QUERY_KERNEL, slot, first);
}

/* The notices of the client in that slot. */
static int read_notices(struct trace_recording *recording, struct monitor *monitor, uint32_t slot)
{
    struct frame_about_notice about;
    int result;

    for (uint64_t i = 0; (result = notices_ask(monitor, slot, i, &about)) == 0; i++) {
        struct frame_about_notice *more =
            realloc(recording->notices, (recording->n_notices + 1) * sizeof *more);

        if (!more)
            return -ENOMEM;
        recording->notices = more;
        recording->notices[recording->n_notices++] = about;
    }
    return result < 0 ? result : 0;
}

static int read_engines(struct trace_recording *recording, struct monitor *monitor)
{
    struct frame frame;

    for (uint32_t i = 0; i < RECORDING_ENGINES; i = monitor_next(&frame, i)) {
        int result = monitor_query(monitor, QUERY_ENGINE, i, 0, &frame);
        uint32_t index = frame.about_engine.index;

        if (result || frame.type != FRAME_ABOUT_ENGINE || index < i || index >= RECORDING_ENGINES)
            return result;
        memcpy(recording->engines[index], frame.about_engine.name, sizeof recording->engines[index]);
    }
    return 0;
}

static int read_tasks(struct trace_recording *recording, struct monitor *monitor)
{
    struct frame frame;

    for (uint32_t i = 0; i < RECORDING_TASKS; i++) {
        int result = monitor_query(monitor, QUERY_TASK, i, 0, &frame);

        if (result || frame.type != FRAME_ABOUT_TASK)
            return result;
        recording->tasks[i] = frame.about_task;
        recording->n_tasks = i + 1;
    }
    return 0;
}

static int read_clients(struct trace_recording *recording, struct monitor *monitor, enum query_what what)
{
    uint32_t index = 0;
    struct frame frame;

    for (;;) {
        int result = monitor_query(monitor, what, index, 0, &frame);

        if (result || frame.type != FRAME_ABOUT_CLIENT)
            return result;
        result = add_client(recording, &frame.about_client);
        if (!result && what == QUERY_CLIENT)
            result = read_runs(recording, monitor, false, frame.about_client.next - 1);
        if (!result && what == QUERY_CLIENT)
            result = read_notices(recording, monitor, frame.about_client.next - 1);
        if (result)
            return result;
        index = frame.about_client.next;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct trace_record *x = a;
    const struct trace_record *y = b;

    if (x->at != y->at)
        return x->at > y->at ? 1 : -1;
    if ((x->kind == RECORD_RUN) != (y->kind == RECORD_RUN))
        return x->kind == RECORD_RUN ? 1 : -1;
    return (x->size > y->size) - (x->size < y->size);
}

/*
 * Numbers the decisions, so that those of one instant keep the daemon's order. Only runs use the
 * size field, so it is free here.
 */
static void number_decisions(struct trace_recording *recording)
{
    for (size_t i = 0; i < recording->n; i++) {
        if (recording->records[i].kind != RECORD_RUN)
            recording->records[i].size = i;
    }
}

/* Which engines each client asked for, and if it had a token. */
static void find_engines(struct trace_recording *recording)
{
    for (size_t i = 0; i < recording->n; i++) {
        const struct trace_record *record = &recording->records[i];
        struct recorded_client *client = recording_client(recording, record->client);

        if (client && (record->kind == RECORD_TOKEN || record->kind == RECORD_TOKEN_WAIT))
            client->has_token = true;
        if (client && record->engine < RECORDING_ENGINES &&
            (record->kind == RECORD_REQUEST || record->kind == RECORD_GRANT || record->kind == RECORD_YIELD ||
             record->kind == RECORD_LATE_YIELD))
            client->on[record->engine / 64] |= UINT64_C(1) << record->engine % 64;
    }
}

int recording_take(struct trace_recording *recording, struct monitor *monitor)
{
    struct frame frame;
    int result;

    memset(recording, 0, sizeof *recording);
    result = monitor_query(monitor, QUERY_DAEMON, 0, 0, &frame);
    if (!result && frame.type != FRAME_ABOUT_DAEMON)
        result = -EPROTO;
    if (!result) {
        recording->daemon = frame.about_daemon;
        result = read_engines(recording, monitor);
    }
    if (!result)
        result = read_tasks(recording, monitor);
    if (!result)
        result = read_clients(recording, monitor, QUERY_DEPARTED);
    if (!result)
        result = read_clients(recording, monitor, QUERY_CLIENT);
    if (!result)
        result = read_runs(recording, monitor, true, 0);
    if (!result)
        result = read_ring(recording, monitor, QUERY_TRACE, 0);
    number_decisions(recording);
    if (!result && recording->n)
        qsort(recording->records, recording->n, sizeof *recording->records, by_time);
    find_engines(recording);
    return result;
}

void recording_done(struct trace_recording *recording)
{
    if (!recording)
        return;
    free(recording->records);
    free(recording->clients);
    free(recording->kernels);
    free(recording->notices);
    memset(recording, 0, sizeof *recording);
}

struct recorded_client *recording_client(const struct trace_recording *recording, uint32_t client)
{
    for (size_t i = 0; i < recording->n_clients; i++) {
        if (recording->clients[i].client == client)
            return &recording->clients[i];
    }
    return NULL;
}

const char *recording_kernel(const struct trace_recording *recording, const struct trace_record *record)
{
    if (record->kernel == 0 || record->kernel > recording->n_kernels ||
        !recording->kernels[record->kernel - 1][0])
        return NULL;
    return recording->kernels[record->kernel - 1];
}

bool recording_is_on(const struct recorded_client *client, uint32_t engine)
{
    return client->on[engine / 64] >> engine % 64 & 1;
}

uint64_t recording_ended_at(const struct trace_recording *recording, size_t from, uint32_t kind,
                            uint32_t other)
{
    const struct trace_record *begin = &recording->records[from];

    for (size_t i = from + 1; i < recording->n; i++) {
        const struct trace_record *record = &recording->records[i];

        if (record->client != begin->client ||
            (record->engine != begin->engine && record->kind != RECORD_LEAVE))
            continue;
        if (record->kind == kind || record->kind == other || record->kind == RECORD_LEAVE)
            return record->at;
    }
    return recording->n ? recording->records[recording->n - 1].at : begin->at;
}
