#include "report/trace.h"

#include <inttypes.h>
#include <string.h>

#include "base/demangle.h"

static const char *const names[TRACE_CATEGORIES] = {
    "running", "queued",  "granted", "release",  "done",      "miss",       "overrun",
    "yield",   "inherit", "job",     "planning", "unclaimed", "late-yield", "notice",
};

const char *trace_category_name(enum trace_category category)
{
    return names[category];
}

/* A JSON string. Bytes beyond ASCII pass unchanged, because names come from UTF-8 files. */
static void put_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            (void)fprintf(out, "\\%c", c);
        else if (c < 0x20)
            (void)fprintf(out, "\\u%04x", c);
        else
            (void)fputc(c, out);
    }
    (void)fputc('"', out);
}

/* Instants are microseconds in this format; the decimals keep the nanoseconds. */
static void put_instant(FILE *out, const char *key, baton_nsec at)
{
    uint64_t magnitude = at < 0 ? -(uint64_t)at : (uint64_t)at;

    (void)fprintf(out, ",\"%s\":%s%" PRIu64 ".%03" PRIu64, key, at < 0 ? "-" : "", magnitude / 1000,
                  magnitude % 1000);
}

static void open_event(struct trace_writer *writer, char phase, unsigned group, unsigned row)
{
    (void)fprintf(writer->out, "%s{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u", writer->any ? ",\n" : "\n", phase,
                  group, row);
    writer->any = true;
}

static void put_what(FILE *out, enum trace_category category, const char *task, const char *detail)
{
    (void)fprintf(out, ",\"cat\":\"%s\",\"name\":", names[category]);
    put_string(out, category == TRACE_RUNNING || category == TRACE_JOB || category == TRACE_QUEUED ||
                            category == TRACE_GRANTED || category == TRACE_PLANNING
                        ? task
                        : names[category]);
    (void)fputs(",\"args\":{\"task\":", out);
    put_string(out, task);
    if (detail) {
        (void)fputs(",\"detail\":", out);
        put_string(out, detail);
    }
    (void)fputs("}}", out);
}

void trace_begin(struct trace_writer *writer, FILE *out)
{
    *writer = (struct trace_writer){.out = out};
    (void)fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
}

static void put_name(struct trace_writer *writer, unsigned group, unsigned row, const char *kind,
                     const char *name)
{
    open_event(writer, 'M', group, row);
    (void)fprintf(writer->out, ",\"name\":\"%s\",\"args\":{\"name\":", kind);
    put_string(writer->out, name);
    (void)fputs("}}", writer->out);
}

void trace_row(struct trace_writer *writer, unsigned group, const char *group_name, unsigned row,
               const char *name)
{
    put_name(writer, group, row, "process_name", group_name);
    put_name(writer, group, row, "thread_name", name);
    open_event(writer, 'M', group, row);
    (void)fprintf(writer->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%u}}", row);
}

void trace_group(struct trace_writer *writer, unsigned group, const char *name, unsigned place)
{
    put_name(writer, group, 0, "process_name", name);
    open_event(writer, 'M', group, 0);
    (void)fprintf(writer->out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}", place);
}

void trace_track(struct trace_writer *writer, unsigned group, unsigned row, const char *name, unsigned place)
{
    put_name(writer, group, row, "thread_name", name);
    open_event(writer, 'M', group, row);
    (void)fprintf(writer->out, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%u}}", place);
}

void trace_run(struct trace_writer *writer, unsigned group, unsigned row, const char *task,
               const struct trace_work *work, baton_nsec begin_at, baton_nsec end_at)
{
    char kernel[DEMANGLE_SIZE];
    char name[DEMANGLE_SIZE + 80];

    demangle_kernel(work->kernel ? work->kernel : "", kernel, sizeof kernel);
    (void)snprintf(name, sizeof name, "%s%s%s", task, work->kernel ? ": " : "", kernel);
    open_event(writer, 'X', group, row);
    put_instant(writer->out, "ts", begin_at);
    put_instant(writer->out, "dur", end_at - begin_at);
    (void)fputs(",\"cat\":\"running\",\"name\":", writer->out);
    put_string(writer->out, name);
    (void)fputs(",\"args\":{\"task\":", writer->out);
    put_string(writer->out, task);
    if (work->kernel) {
        (void)fputs(",\"kernel\":", writer->out);
        put_string(writer->out, kernel);
    }
    if (work->kernel && strcmp(work->kernel, kernel) != 0) {
        (void)fputs(",\"symbol\":", writer->out);
        put_string(writer->out, work->kernel);
    }
    if (work->items)
        (void)fprintf(writer->out, ",\"work_items\":%" PRIu64, work->items);
    if (work->bytes)
        (void)fprintf(writer->out, ",\"bytes\":%" PRIu64, work->bytes);
    if (work->pieces)
        (void)fprintf(writer->out, ",\"pieces\":%" PRIu32, work->pieces);
    (void)fprintf(writer->out, ",\"job\":%" PRIu32 "}}", work->job);
}

void trace_span(struct trace_writer *writer, unsigned group, unsigned row, enum trace_category category,
                const char *task, const char *detail, baton_nsec begin_at, baton_nsec end_at)
{
    open_event(writer, 'X', group, row);
    put_instant(writer->out, "ts", begin_at);
    put_instant(writer->out, "dur", end_at - begin_at);
    put_what(writer->out, category, task, detail);
}

void trace_mark(struct trace_writer *writer, unsigned group, unsigned row, enum trace_category category,
                const char *task, const char *detail, baton_nsec at)
{
    open_event(writer, 'i', group, row);
    put_instant(writer->out, "ts", at);
    (void)fputs(",\"s\":\"t\"", writer->out);
    put_what(writer->out, category, task, detail);
}

void trace_flow(struct trace_writer *writer, const char *name, uint64_t id, const unsigned from[2],
                baton_nsec from_at, const unsigned to[2], baton_nsec to_at)
{
    open_event(writer, 's', from[0], from[1]);
    put_instant(writer->out, "ts", from_at);
    (void)fprintf(writer->out, ",\"cat\":\"%s\",\"name\":\"%s\",\"id\":%" PRIu64 "}", name, name, id);
    open_event(writer, 'f', to[0], to[1]);
    put_instant(writer->out, "ts", to_at);
    (void)fprintf(writer->out, ",\"cat\":\"%s\",\"name\":\"%s\",\"bp\":\"e\",\"id\":%" PRIu64 "}", name, name,
                  id);
}

void trace_arrow(struct trace_writer *writer, uint64_t id, unsigned from_group, unsigned from_row,
                 baton_nsec from_at, unsigned to_group, unsigned to_row, baton_nsec to_at)
{
    trace_flow(writer, "job", id, (const unsigned[]){from_group, from_row}, from_at,
               (const unsigned[]){to_group, to_row}, to_at);
}

void trace_counter(struct trace_writer *writer, unsigned group, const char *name, uint64_t value,
                   baton_nsec at)
{
    open_event(writer, 'C', group, 0);
    put_instant(writer->out, "ts", at);
    (void)fputs(",\"name\":", writer->out);
    put_string(writer->out, name);
    (void)fprintf(writer->out, ",\"args\":{\"value\":%" PRIu64 "}}", value);
}

void trace_tasks(struct trace_writer *writer, const struct trace_task *tasks, size_t n, uint64_t overwritten)
{
    (void)fprintf(writer->out, "\n],\"overwritten\":%" PRIu64 ",\"tasks\":[", overwritten);
    for (size_t i = 0; i < n; i++) {
        (void)fprintf(writer->out, "%s{\"name\":", i ? ",\n" : "\n");
        put_string(writer->out, tasks[i].name);
        if (tasks[i].deadline > 0)
            (void)fprintf(writer->out, ",\"deadline_ms\":%.6f", nsec_to_ms(tasks[i].deadline));
        if (tasks[i].bound > 0)
            (void)fprintf(writer->out, ",\"bound_ms\":%.6f,\"bound_claimed\":%s", nsec_to_ms(tasks[i].bound),
                          tasks[i].claimed ? "true" : "false");
        if (tasks[i].misses)
            (void)fprintf(writer->out, ",\"misses\":%" PRIu64, tasks[i].misses);
        (void)fputc('}', writer->out);
    }
}

void trace_end(struct trace_writer *writer)
{
    (void)fputs("\n]}\n", writer->out);
}
