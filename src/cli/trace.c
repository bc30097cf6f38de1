/*
 * baton trace: what happened lately, for Perfetto. The daemon's own decisions (queued, granted, asked to yield) come from its
 * ring, what really ran from the rings in the clients' pages, also of clients that have left.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"
#include "cli/command.h"
#include "cli/monitor.h"
#include "cli/notices.h"
#include "cli/task_words.h"
#include "report/trace.h"
#include "wire/notice.h"

#define GROUP_ENGINES 1u  /* one row per engine */
#define GROUP_PLANNER 2u  /* what batond asked the planner */
#define GROUP_CLIENTS 10u /* plus the client's number: its own rows per engine */
#define JOBS_ROW      1000u
#define MAX_ENGINES   256
#define MAX_TASKS     256
#define MAX_RECORDS   (1u << 20)

struct client_name {
    uint32_t client, pid;
    char name[65];
    uint64_t on[MAX_ENGINES / 64]; /* the engines that it asked for */
};

struct recording {
    struct monitor monitor;
    struct trace_record *records;
    size_t n, room;
    uint64_t lost;
    struct client_name *clients;
    size_t n_clients, clients_room;
    char engines[MAX_ENGINES][33]; /* by their index; "": there is none */
    char tasks[MAX_TASKS][65];
    uint32_t n_tasks;
    struct frame_about_notice *notices;
    size_t n_notices;
};

/* ---- collecting ---- */

/* What the client in that slot should be told about. */
static int read_notices(struct recording *recording, uint32_t slot)
{
    struct frame_about_notice about;
    int result;

    for (uint64_t i = 0; (result = notices_ask(&recording->monitor, slot, i, &about)) == 0; i++) {
        struct frame_about_notice *more =
            realloc(recording->notices, (recording->n_notices + 1) * sizeof *more);

        if (!more)
            return -ENOMEM;
        recording->notices = more;
        recording->notices[recording->n_notices++] = about;
    }
    return result < 0 ? result : 0;
}

static int add_record(struct recording *recording, const struct trace_record *record)
{
    if (recording->n == recording->room) {
        size_t room = recording->room ? recording->room * 2 : 4096;
        struct trace_record *more;

        if (room > MAX_RECORDS)
            return -EFBIG;
        more = realloc(recording->records, room * sizeof *more);
        if (!more)
            return -ENOMEM;
        recording->records = more;
        recording->room = room;
    }
    recording->records[recording->n++] = *record;
    return 0;
}

static int add_client(struct recording *recording, const struct frame_about_client *about)
{
    struct client_name *client;

    if (recording->n_clients == recording->clients_room) {
        size_t room = recording->clients_room ? recording->clients_room * 2 : 64;
        struct client_name *more = realloc(recording->clients, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        recording->clients = more;
        recording->clients_room = room;
    }
    client = &recording->clients[recording->n_clients++];
    *client = (struct client_name){.client = about->client, .pid = about->pid};
    memcpy(client->name, about->name, sizeof client->name);
    return 0;
}

/* A whole ring, frame by frame. Bounded: a client that writes all the time cannot keep us here. */
static int read_ring(struct recording *recording, enum query_what what, uint32_t index)
{
    uint64_t cursor = 0;
    struct frame frame;

    for (unsigned round = 0; round < 4096; round++) {
        int result = monitor_query(&recording->monitor, what, index, cursor, &frame);

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

static int read_engines(struct recording *recording)
{
    struct frame frame;

    for (uint32_t i = 0; i < MAX_ENGINES; i = monitor_next(&frame, i)) {
        int result = monitor_query(&recording->monitor, QUERY_ENGINE, i, 0, &frame);
        uint32_t index = frame.about_engine.index;

        if (result || frame.type != FRAME_ABOUT_ENGINE || index < i || index >= MAX_ENGINES)
            return result;
        memcpy(recording->engines[index], frame.about_engine.name, sizeof recording->engines[index]);
    }
    return 0;
}

static int read_tasks(struct recording *recording)
{
    struct frame frame;

    for (uint32_t i = 0; i < MAX_TASKS; i++) {
        int result = monitor_query(&recording->monitor, QUERY_TASK, i, 0, &frame);

        if (result || frame.type != FRAME_ABOUT_TASK)
            return result;
        memcpy(recording->tasks[i], frame.about_task.name, sizeof recording->tasks[i]);
        recording->n_tasks = i + 1;
    }
    return 0;
}

static int read_clients(struct recording *recording, enum query_what what)
{
    uint32_t index = 0;
    struct frame frame;

    for (;;) {
        int result = monitor_query(&recording->monitor, what, index, 0, &frame);

        if (result || frame.type != FRAME_ABOUT_CLIENT)
            return result;
        result = add_client(recording, &frame.about_client);
        if (!result && what == QUERY_CLIENT)
            result = read_ring(recording, QUERY_RUNS, frame.about_client.next - 1);
        if (!result && what == QUERY_CLIENT)
            result = read_notices(recording, frame.about_client.next - 1);
        if (result)
            return result;
        index = frame.about_client.next;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct trace_record *x = a;
    const struct trace_record *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

static int collect(struct recording *recording)
{
    int result = read_engines(recording);

    if (!result)
        result = read_tasks(recording);
    if (!result)
        result = read_clients(recording, QUERY_DEPARTED);
    if (!result)
        result = read_clients(recording, QUERY_CLIENT);
    if (!result)
        result = read_ring(recording, QUERY_OLD_RUNS, 0);
    if (!result)
        result = read_ring(recording, QUERY_TRACE, 0);
    if (!result && recording->n)
        qsort(recording->records, recording->n, sizeof *recording->records, by_time);
    return result;
}

/* ---- writing ---- */

static struct client_name *client_of(const struct recording *recording, uint32_t client)
{
    for (size_t i = 0; i < recording->n_clients; i++) {
        if (recording->clients[i].client == client)
            return &recording->clients[i];
    }
    return NULL;
}

static const char *name_of(const struct recording *recording, uint32_t client)
{
    const struct client_name *found = client_of(recording, client);

    return found ? found->name : "?";
}

static bool is_on(const struct client_name *client, uint32_t engine)
{
    return client->on[engine / 64] >> engine % 64 & 1;
}

/* A program has a row for each engine that it asked for, no others. */
static void find_rows(const struct recording *recording)
{
    for (size_t i = 0; i < recording->n; i++) {
        const struct trace_record *record = &recording->records[i];
        struct client_name *client = client_of(recording, record->client);

        if (client && record->engine < MAX_ENGINES &&
            (record->kind == RECORD_REQUEST || record->kind == RECORD_GRANT || record->kind == RECORD_YIELD ||
             record->kind == RECORD_OVERDUE))
            client->on[record->engine / 64] |= UINT64_C(1) << record->engine % 64;
    }
}

static void write_rows(const struct recording *recording, struct trace_writer *writer)
{
    char name[128];

    for (uint32_t e = 0; e < MAX_ENGINES; e++) {
        if (recording->engines[e][0])
            trace_row(writer, GROUP_ENGINES, "engines", e, recording->engines[e]);
    }
    if (recording->n_tasks)
        trace_row(writer, GROUP_PLANNER, "admission", 0, "planning");
    for (size_t i = 0; i < recording->n_clients; i++) {
        const struct client_name *client = &recording->clients[i];

        (void)snprintf(name, sizeof name, "%s (pid %u)", client->name, client->pid);
        trace_row(writer, GROUP_CLIENTS + client->client, name, JOBS_ROW, "jobs");
        for (uint32_t e = 0; e < MAX_ENGINES; e++) {
            if (is_on(client, e))
                trace_row(writer, GROUP_CLIENTS + client->client, name, e, recording->engines[e]);
        }
    }
}

/* The record that ends what `from` began: the next of one of two kinds of the same client on the same engine. */
static uint64_t ended_at(const struct recording *recording, size_t from, uint32_t kind, uint32_t other)
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

/* A bound that was not claimed when the job ended is not broken; the mark says which rule was. */
static void write_exceeded(const struct trace_record *record, struct trace_writer *writer, const char *task)
{
    bool claimed = record->engine == RULE_MET;
    char text[128] = "took longer than its bound";

    if (!claimed)
        (void)snprintf(text, sizeof text, "took longer than a bound that is not claimed (%s)",
                       task_rule_name(record->engine));
    trace_mark(writer, GROUP_CLIENTS + record->client, JOBS_ROW, claimed ? TRACE_OVERRUN : TRACE_UNCLAIMED,
               task, text, (baton_nsec)(record->at + record->length));
}

static void write_record(const struct recording *recording, struct trace_writer *writer, size_t i)
{
    const struct trace_record *record = &recording->records[i];
    const char *task = name_of(recording, record->client);
    unsigned group = GROUP_CLIENTS + record->client;
    baton_nsec at = (baton_nsec)record->at;
    baton_nsec end_at = (baton_nsec)(record->at + record->length);

    switch (record->kind) {
    case RECORD_REQUEST:
        trace_span(writer, group, record->engine, TRACE_QUEUED, task, NULL, at,
                   (baton_nsec)ended_at(recording, i, RECORD_GRANT, RECORD_GRANT));
        break;
    case RECORD_GRANT:
        trace_span(writer, group, record->engine, TRACE_GRANTED, task, NULL, at,
                   (baton_nsec)ended_at(recording, i, RECORD_RELEASE, RECORD_TAKEN));
        break;
    case RECORD_YIELD:
        trace_mark(writer, group, record->engine, TRACE_YIELD, task, NULL, at);
        break;
    case RECORD_OVERDUE:
        trace_mark(writer, group, record->engine, TRACE_OVERDUE, task, "does not give way", at);
        break;
    case RECORD_RUN:
        trace_span(writer, GROUP_ENGINES, record->engine, TRACE_RUNNING, task, NULL, at, end_at);
        break;
    case RECORD_JOB:
        trace_span(writer, group, JOBS_ROW, TRACE_JOB, task, NULL, at, end_at);
        break;
    case RECORD_MISS:
        trace_mark(writer, group, JOBS_ROW, TRACE_MISS, task, NULL, at);
        break;
    case RECORD_EXCEED:
        write_exceeded(record, writer, task);
        break;
    case RECORD_PLANNED:
        trace_span(writer, GROUP_PLANNER, 0, TRACE_PLANNING,
                   record->job < recording->n_tasks ? recording->tasks[record->job] : "after a task left",
                   task_verdict_word(record->engine), at, end_at);
        break;
    default:
        break;
    }
}

/* A mark on the client's row of jobs, where the daemon heard of it first. */
static void write_notice(const struct recording *recording, struct trace_writer *writer,
                         const struct frame_about_notice *about)
{
    char text[640];

    notice_line((enum notice)about->notice, about->kernel, about->detail, text, sizeof text);
    trace_mark(writer, GROUP_CLIENTS + about->client, JOBS_ROW, TRACE_NOTICE,
               name_of(recording, about->client), text, (baton_nsec)about->at);
}

static int write_file(const struct recording *recording, const char *path)
{
    struct trace_writer writer;
    struct draft draft;
    int result = draft_begin(&draft);

    if (result)
        return result;
    trace_begin(&writer, draft.out);
    find_rows(recording);
    write_rows(recording, &writer);
    for (size_t i = 0; i < recording->n; i++)
        write_record(recording, &writer, i);
    for (size_t i = 0; i < recording->n_notices; i++)
        write_notice(recording, &writer, &recording->notices[i]);
    trace_end(&writer);
    return draft_finish(&draft, path, 0);
}

static int run(const struct cli_args *args)
{
    static struct recording recording;
    const char *path = cli_value(args, "output", NULL);
    int result;

    if (!path)
        return cli_fail_usage(args, "expected -o OUT.json");
    result = monitor_open(&recording.monitor, cli_value(args, "socket", NULL));
    if (result)
        return cli_fail_environment(args, result, "no batond answers (`batond` starts one)");
    result = collect(&recording);
    monitor_close(&recording.monitor);
    if (result) {
        result = cli_fail_environment(args, result, "batond");
    } else {
        result = write_file(&recording, path);
        if (result)
            result = cli_fail_environment(args, result, "%s", path);
        else
            (void)fprintf(strcmp(path, "-") == 0 ? stderr : stdout,
                          "%zu records, %" PRIu64 " older ones overwritten; open %s in ui.perfetto.dev\n",
                          recording.n, recording.lost, path);
    }
    free(recording.records);
    free(recording.clients);
    free(recording.notices);
    return result;
}

static const struct cli_option options[] = {
    {"output", 'o', "OUT.json", "where to write the Chrome trace"},
    {"socket", 0, "PATH", "of the daemon; otherwise as for `baton run`"},
    {NULL, 0, NULL, NULL},
};

const struct cli_command command_trace = {
    .name = "trace",
    .summary = "write the recent past as a trace for Perfetto",
    .arguments = "",
    .options = options,
    .example = "baton trace -o trace.json    # a row per engine; queued, granted, running, yields, misses",
    .run = run,
};
