/*
 * baton trace: recent events, for Perfetto. batond is one process of the trace, with a track per
 * engine and its counters. Each program is another process under its own pid, with a track for its
 * jobs and one per engine that it asked for.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"
#include "cli/subcommand.h"
#include "cli/recording.h"
#include "cli/task_words.h"
#include "cli/trace_counters.h"
#include "cli/trace_picture.h"
#include "report/trace.h"
#include "wire/notice.h"

/*
 * A viewer treats tracks as threads and needs ids that are unique in the whole trace. A program's
 * jobs have its pid, like its main thread. The other tracks have numbers beyond any pid of Linux
 * (2^22).
 */
#define ENGINE_TRACKS  5000000u
#define CLIENT_TRACKS  10000000u
#define CLIENT_NUMBERS 100000u
#define TRACKS         1024u /* per client; engines first, then the further lanes of its jobs */

#define TOKEN_TRACK (RECORDING_ENGINES + LANES)

#define DEFAULT_LAST_MS 100.0
#define MAX_LAST_MS     1e9

#define LANES 8u /* parallel lanes for overlapping jobs or runs of one row */

struct lanes {
    uint64_t ends[LANES];
    unsigned n;
};

struct writing {
    const struct trace_recording *recording;
    struct trace_writer writer;
    uint64_t arrows;
    uint8_t *lane;          /* by record: of a run or a job */
    struct lanes *jobs;     /* by place in recording->clients */
    struct lanes *engines;  /* by engine */
    uint64_t *row_ended_at; /* by place in recording->clients x engine: of the last span */
};

static unsigned engine_track(uint32_t engine, unsigned lane)
{
    return ENGINE_TRACKS + lane * RECORDING_ENGINES + engine;
}

static unsigned client_track(const struct recorded_client *client, uint32_t engine)
{
    return CLIENT_TRACKS + client->client % CLIENT_NUMBERS * TRACKS + engine;
}

static unsigned jobs_track(const struct recorded_client *client, unsigned lane)
{
    return lane == 0 ? client->pid : client_track(client, RECORDING_ENGINES + lane);
}

/* ---- lanes ---- */

/* The first lane that is free at that instant; the last one if none is. */
static unsigned find_lane(struct lanes *lanes, uint64_t at, uint64_t end_at)
{
    unsigned lane = 0;

    while (lane < LANES - 1 && lanes->ends[lane] > at)
        lane++;
    if (lane + 1 > lanes->n)
        lanes->n = lane + 1;
    if (end_at > lanes->ends[lane])
        lanes->ends[lane] = end_at;
    return lane;
}

/*
 * Gives every run and job a lane. Drivers' clocks are converted with an error of some microseconds,
 * so that consecutive runs may seem to overlap slightly. The second is then drawn from the end of
 * the first.
 */
static void place_records(struct writing *w)
{
    for (size_t i = 0; i < w->recording->n; i++) {
        struct trace_record *record = &w->recording->records[i];
        const struct recorded_client *client = recording_client(w->recording, record->client);

        if (record->kind == RECORD_RUN && record->engine < RECORDING_ENGINES) {
            struct lanes *lanes = &w->engines[record->engine];
            uint64_t over = lanes->ends[0] > record->at ? lanes->ends[0] - record->at : 0;

            if (over && over < record->length / 4) {
                record->at += over;
                record->length -= over;
            }
            w->lane[i] = (uint8_t)find_lane(lanes, record->at, record->at + record->length);
        } else if (record->kind == RECORD_JOB && client) {
            w->lane[i] = (uint8_t)find_lane(&w->jobs[client - w->recording->clients], record->at,
                                            record->at + record->length);
        }
    }
}

/* ---- tracks ---- */

static void name_lanes(struct writing *w, unsigned group, const unsigned tracks[], unsigned n,
                       const char *name, unsigned place)
{
    char text[64];

    for (unsigned lane = 0; lane < n; lane++) {
        (void)snprintf(text, sizeof text, lane ? "%s (%u)" : "%s", name, lane + 1);
        trace_track(&w->writer, group, tracks[lane], text, place + lane);
    }
}

static void write_tracks(struct writing *w)
{
    const struct trace_recording *recording = w->recording;
    unsigned tracks[LANES];
    char name[128];

    trace_group(&w->writer, recording->daemon.pid, "engines", 0);
    for (uint32_t e = 0; e < RECORDING_ENGINES; e++) {
        for (unsigned lane = 0; lane < LANES; lane++)
            tracks[lane] = engine_track(e, lane);
        if (recording->engines[e][0])
            name_lanes(w, recording->daemon.pid, tracks, w->engines[e].n ? w->engines[e].n : 1,
                       recording->engines[e], e * LANES);
    }
    if (recording->n_tasks)
        trace_track(&w->writer, recording->daemon.pid, recording->daemon.pid, "planning",
                    RECORDING_ENGINES * LANES);
    for (size_t i = 0; i < recording->n_clients; i++) {
        const struct recorded_client *client = &recording->clients[i];

        (void)snprintf(name, sizeof name, "%s (pid %u)", client->name, client->pid);
        trace_group(&w->writer, client->pid, name, 1 + (unsigned)i);
        for (unsigned lane = 0; lane < LANES; lane++)
            tracks[lane] = jobs_track(client, lane);
        name_lanes(w, client->pid, tracks, w->jobs[i].n ? w->jobs[i].n : 1, "jobs", 0);
        if (client->has_token)
            trace_track(&w->writer, client->pid, client_track(client, TOKEN_TRACK), "token", LANES);
        for (uint32_t e = 0; e < RECORDING_ENGINES; e++) {
            if (recording_is_on(client, e))
                trace_track(&w->writer, client->pid, client_track(client, e), recording->engines[e],
                            LANES + 1 + e);
        }
    }
}

/* ---- spans and marks ---- */

/* Waiting for an engine, or holding it; never overlaps the previous span of the row. */
static void write_wait(struct writing *w, size_t i, const struct recorded_client *client,
                       enum trace_category category, uint64_t end_at)
{
    const struct trace_record *record = &w->recording->records[i];
    size_t row = (size_t)(client - w->recording->clients) * RECORDING_ENGINES + record->engine;
    uint64_t at = record->at > w->row_ended_at[row] ? record->at : w->row_ended_at[row];

    if (end_at < at)
        return;
    trace_span(&w->writer, client->pid, client_track(client, record->engine), category, client->name,
               category == TRACE_QUEUED ? "waits" : "holds", (baton_nsec)at, (baton_nsec)end_at);
    w->row_ended_at[row] = end_at;
}

/* A bound that was not claimed when the job ended is not broken; the mark names the rule. */
static void write_exceeded(struct writing *w, const struct trace_record *record,
                           const struct recorded_client *client)
{
    bool claimed = record->engine == RULE_MET;
    char text[128] = "took longer than its bound";

    if (!claimed)
        (void)snprintf(text, sizeof text, "took longer than a bound that is not claimed (%s)",
                       task_rule_name(record->engine));
    trace_mark(&w->writer, client->pid, jobs_track(client, 0), claimed ? TRACE_OVERRUN : TRACE_UNCLAIMED,
               client->name, text, (baton_nsec)(record->at + record->length));
}

static void write_run(struct writing *w, size_t i, const struct recorded_client *client)
{
    const struct trace_record *record = &w->recording->records[i];
    const char *kernel = recording_kernel(w->recording, record);
    const char *engine = w->recording->engines[record->engine];
    bool copies = strchr(engine, ' '); /* "gpu0 in", "gpu0 copy"; "gpu0" executes */

    trace_run(&w->writer, w->recording->daemon.pid, engine_track(record->engine, w->lane[i]), client->name,
              &(struct trace_work){.kernel = kernel,
                                   .items = copies ? 0 : record->size,
                                   .bytes = copies ? record->size : 0,
                                   .pieces = record->pieces,
                                   .job = record->job},
              (baton_nsec)record->at, (baton_nsec)(record->at + record->length));
}

/* A client has one token at a time, so these spans are disjoint. */
static void write_token(struct writing *w, const struct trace_record *record,
                        const struct recorded_client *client)
{
    bool waits = record->kind == RECORD_TOKEN_WAIT;
    char text[64];

    if (waits && record->length == 0)
        return;
    (void)snprintf(text, sizeof text, "%s a token of %s", waits ? "waits for" : "holds",
                   w->recording->engines[record->engine]);
    trace_span(&w->writer, client->pid, client_track(client, TOKEN_TRACK),
               waits ? TRACE_QUEUED : TRACE_GRANTED, client->name, text, (baton_nsec)record->at,
               (baton_nsec)(record->at + record->length));
}

static void write_planned(struct writing *w, const struct trace_record *record)
{
    trace_span(
        &w->writer, w->recording->daemon.pid, w->recording->daemon.pid, TRACE_PLANNING,
        record->job < w->recording->n_tasks ? w->recording->tasks[record->job].name : "after a task left",
        task_verdict_word(record->engine), (baton_nsec)record->at, (baton_nsec)(record->at + record->length));
}

/* How late the job was; the record spans from the deadline to the completion. */
static void write_miss(struct writing *w, const struct trace_record *record,
                       const struct recorded_client *client)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%.3f ms late", nsec_to_ms((baton_nsec)record->length));
    trace_mark(&w->writer, client->pid, jobs_track(client, 0), TRACE_MISS, client->name, text,
               (baton_nsec)(record->at + record->length));
}

static void write_record(struct writing *w, size_t i)
{
    const struct trace_recording *recording = w->recording;
    const struct trace_record *record = &recording->records[i];
    const struct recorded_client *client = recording_client(recording, record->client);
    baton_nsec at = (baton_nsec)record->at;

    if (record->kind == RECORD_PLANNED)
        write_planned(w, record);
    if (!client || (record->engine >= RECORDING_ENGINES && record->kind != RECORD_EXCEED))
        return;
    switch (record->kind) {
    case RECORD_REQUEST:
        write_wait(w, i, client, TRACE_QUEUED, recording_ended_at(recording, i, RECORD_GRANT, RECORD_GRANT));
        break;
    case RECORD_GRANT:
        write_wait(w, i, client, TRACE_GRANTED,
                   recording_ended_at(recording, i, RECORD_RELEASE, RECORD_TAKEN));
        break;
    case RECORD_YIELD:
        trace_mark(&w->writer, client->pid, client_track(client, record->engine), TRACE_YIELD, client->name,
                   "asked to yield", at);
        break;
    case RECORD_LATE_YIELD:
        trace_mark(&w->writer, client->pid, client_track(client, record->engine), TRACE_LATE_YIELD,
                   client->name, "does not yield", at);
        break;
    case RECORD_RUN:
        write_run(w, i, client);
        break;
    case RECORD_JOB:
        trace_span(&w->writer, client->pid, jobs_track(client, w->lane[i]), TRACE_JOB, client->name, NULL, at,
                   (baton_nsec)(record->at + record->length));
        break;
    case RECORD_MISS:
        write_miss(w, record, client);
        break;
    case RECORD_TOKEN_WAIT:
    case RECORD_TOKEN:
        write_token(w, record, client);
        break;
    case RECORD_EXCEED:
        write_exceeded(w, record, client);
        break;
    default:
        break;
    }
}

/* On the client's row of jobs, at the instant when the daemon first received the notice. */
static void write_notice(struct writing *w, const struct frame_about_notice *about)
{
    const struct recorded_client *client = recording_client(w->recording, about->client);
    char text[640];

    if (!client)
        return;
    notice_line((enum notice)about->notice, about->kernel, about->detail, text, sizeof text);
    trace_mark(&w->writer, client->pid, jobs_track(client, 0), TRACE_NOTICE, client->name, text,
               (baton_nsec)about->at);
}

/* ---- arrows ---- */

/*
 * The client's first run at or after that instant, of that engine and job (UINT32_MAX: any);
 * recording->n: none.
 */
static size_t first_run(const struct trace_recording *recording, size_t from, uint32_t engine, uint32_t job,
                        uint64_t until_at)
{
    uint32_t client = recording->records[from].client;

    for (size_t i = from; i < recording->n && recording->records[i].at <= until_at; i++) {
        const struct trace_record *record = &recording->records[i];

        if (record->kind == RECORD_RUN && record->client == client && record->length > 0 &&
            (engine == UINT32_MAX || record->engine == engine) && (job == UINT32_MAX || record->job == job))
            return i;
    }
    return recording->n;
}

/* An arrow from the begin of a wait to the run that follows, or from a job to its first run. */
static void write_arrow(struct writing *w, size_t i)
{
    const struct trace_recording *recording = w->recording;
    const struct trace_record *record = &recording->records[i];
    const struct recorded_client *client = recording_client(recording, record->client);
    unsigned from[2];
    uint64_t granted_at;
    size_t run = recording->n;

    if (!client)
        return;
    if (record->kind == RECORD_JOB && record->length > 0) {
        from[1] = jobs_track(client, w->lane[i]);
        run = first_run(recording, i, UINT32_MAX, record->job, record->at + record->length);
    } else if (record->kind == RECORD_REQUEST && record->engine < RECORDING_ENGINES) {
        from[1] = client_track(client, record->engine);
        granted_at = recording_ended_at(recording, i, RECORD_GRANT, RECORD_GRANT);
        run = first_run(recording, i, record->engine, UINT32_MAX, granted_at + NSEC_PER_SEC);
        if (granted_at == record->at || (run < recording->n && recording->records[run].at < granted_at))
            run = recording->n;
    }
    if (run == recording->n)
        return;
    from[0] = client->pid;
    trace_flow(
        &w->writer, record->kind == RECORD_JOB ? "job" : "enqueue", ++w->arrows, from, (baton_nsec)record->at,
        (const unsigned[]){recording->daemon.pid, engine_track(recording->records[run].engine, w->lane[run])},
        (baton_nsec)recording->records[run].at);
}

/* ---- the file ---- */

/* The tasks of the plan, then other programs with a deadline; each name occurs once. */
static void write_tasks(struct writing *w)
{
    const struct trace_recording *recording = w->recording;
    struct trace_task *tasks = calloc(recording->n_tasks + recording->n_clients + 1, sizeof *tasks);
    size_t n = 0;

    for (uint32_t i = 0; tasks && i < recording->n_tasks; i++) {
        const struct frame_about_task *about = &recording->tasks[i];

        tasks[n++] = (struct trace_task){.name = about->name,
                                         .deadline = (baton_nsec)about->deadline,
                                         .bound = (baton_nsec)about->bound,
                                         .claimed = about->rule == RULE_MET,
                                         .misses = about->misses};
    }
    for (size_t i = 0; tasks && i < recording->n_clients; i++) {
        const struct recorded_client *client = &recording->clients[i];
        size_t k = 0;

        while (k < n && strcmp(tasks[k].name, client->name) != 0)
            k++;
        if (k == n)
            tasks[n++] = (struct trace_task){.name = client->name};
        if (client->deadline)
            tasks[k].deadline = (baton_nsec)client->deadline;
        if (client->misses > tasks[k].misses)
            tasks[k].misses = client->misses;
    }
    trace_tasks(&w->writer, tasks, tasks ? n : 0, recording->lost);
    free(tasks);
}

static int write_events(struct writing *w)
{
    const struct trace_recording *recording = w->recording;
    int result;

    place_records(w);
    write_tracks(w);
    for (size_t i = 0; i < recording->n; i++)
        write_record(w, i);
    for (size_t i = 0; i < recording->n_notices; i++)
        write_notice(w, &recording->notices[i]);
    for (size_t i = 0; i < recording->n; i++)
        write_arrow(w, i);
    result = trace_counters_write(recording, &w->writer);
    write_tasks(w);
    return result;
}

static int write_file(const struct trace_recording *recording, const char *path)
{
    struct writing w = {.recording = recording,
                        .lane = calloc(recording->n + 1, sizeof *w.lane),
                        .jobs = calloc(recording->n_clients + 1, sizeof *w.jobs),
                        .engines = calloc(RECORDING_ENGINES, sizeof *w.engines),
                        .row_ended_at =
                            calloc((recording->n_clients + 1) * RECORDING_ENGINES, sizeof *w.row_ended_at)};
    struct draft draft;
    int result = draft_begin(&draft);

    if (!result && (!w.lane || !w.jobs || !w.engines || !w.row_ended_at))
        result = -ENOMEM;
    if (!result) {
        trace_begin(&w.writer, draft.out);
        result = write_events(&w);
        trace_end(&w.writer);
    }
    result = draft_finish(&draft, path, result);
    free(w.row_ended_at);
    free(w.engines);
    free(w.jobs);
    free(w.lane);
    return result;
}

static int run(const struct cli_args *args)
{
    struct trace_recording *recording;
    const char *path = cli_value(args, "output", NULL);
    const char *gantt = cli_value(args, "gantt", NULL);
    double last_ms = DEFAULT_LAST_MS;
    struct monitor monitor;
    int result = cli_double(args, "last", 1e-3, MAX_LAST_MS, &last_ms);

    if (result)
        return result;
    if (!path)
        return cli_fail_usage(args, "expected -o OUT.json");
    result = monitor_open(&monitor, cli_value(args, "socket", NULL));
    if (result)
        return monitor_fail_absent(args, cli_value(args, "socket", NULL), result);
    recording = calloc(1, sizeof *recording);
    result = recording ? recording_take(recording, &monitor) : -ENOMEM;
    monitor_close(&monitor);
    if (result) {
        result = cli_fail_environment(args, result, "batond");
    } else {
        const char *written = path;

        result = write_file(recording, path);
        if (!result && gantt)
            result = trace_picture_write(recording, (baton_nsec)(last_ms * 1e6), written = gantt);
        if (result)
            result = cli_fail_environment(args, result, "%s", written);
        else
            (void)fprintf(strcmp(path, "-") == 0 ? stderr : stdout,
                          "%zu records, %" PRIu64 " older ones overwritten; open %s in ui.perfetto.dev\n",
                          recording->n, recording->lost, path);
    }
    recording_done(recording);
    free(recording);
    return result;
}

static const struct cli_option options[] = {
    {"output", 'o', "OUT.json", "where to write the Chrome trace"},
    {"gantt", 0, "OUT.svg", "draw the last part: jobs, tokens and engines"},
    {"last", 0, "MS", "how much of it --gantt draws (default: 100)"},
    {"socket", 0, "PATH", "of the daemon; otherwise as for `baton run`"},
    {NULL, 0, NULL, NULL},
};

const struct cli_command command_trace = {
    .name = "trace",
    .summary = "write the recent past as a trace for Perfetto",
    .arguments = "",
    .options = options,
    .example = "baton trace -o trace.json    # a track per engine and program; waits, holds, kernels, misses",
    .run = run,
};
