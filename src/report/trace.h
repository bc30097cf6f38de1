/*
 * Chrome trace JSON, as Perfetto (ui.perfetto.dev) and chrome://tracing open it: rows with spans, marks, arrows between
 * spans, and counters. Written as a stream, so memory stays flat however long the trace is. `baton simulate --trace` and
 * `baton trace` write it; `baton report` reads it back.
 *
 * A viewer needs the spans of one row to be disjoint or nested, an arrow's ends to lie within spans, and the values of a
 * counter in the order of time. The caller sees to that.
 */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/nsec.h"

/* Categories: what a span or mark means; the report counts and colours by them. */
enum trace_category {
    TRACE_RUNNING,   /* an engine or CPU works for a job */
    TRACE_QUEUED,    /* a command waits */
    TRACE_GRANTED,   /* holds the engine between pieces */
    TRACE_RELEASE,   /* mark: a job is released */
    TRACE_DONE,      /* mark: a job is complete */
    TRACE_MISS,      /* mark: a deadline was missed */
    TRACE_OVERRUN,   /* mark: a bound that is claimed was exceeded */
    TRACE_YIELD,     /* mark: asked to give way */
    TRACE_INHERIT,   /* mark: runs with somebody else's priority */
    TRACE_JOB,       /* a job from release to completion, on its task's own row */
    TRACE_PLANNING,  /* batond's planner thinks about a task */
    TRACE_UNCLAIMED, /* mark: a job took longer than a computed bound that is not claimed */
    TRACE_OVERDUE,   /* mark: a holder has not given way in time */
    TRACE_NOTICE,    /* mark: something that the user should know, such as a kernel that cannot be cut */
    TRACE_CATEGORIES,
};

struct trace_writer {
    FILE *out; /* borrowed */
    bool any;  /* an event was written, so the next needs a comma */
};

const char *trace_category_name(enum trace_category category);

void trace_begin(struct trace_writer *writer, FILE *out);

/* Names a row; group is what the viewer shows as a process ("engines", "jobs"). Rows appear in the order of their ids. */
void trace_row(struct trace_writer *writer, unsigned group, const char *group_name, unsigned row,
               const char *name);

/* Names a group alone, and where it stands among the groups. */
void trace_group(struct trace_writer *writer, unsigned group, const char *name, unsigned place);

/* Names a row of a group that has its name, and where it stands among the group's rows. */
void trace_track(struct trace_writer *writer, unsigned group, unsigned row, const char *name, unsigned place);

/* One span on a row. task names who; detail may be NULL. Instants in nanoseconds. */
void trace_span(struct trace_writer *writer, unsigned group, unsigned row, enum trace_category category,
                const char *task, const char *detail, baton_nsec begin_at, baton_nsec end_at);

/* What ran, beyond its task. */
struct trace_work {
    const char *kernel;    /* NULL: none, or unknown */
    uint64_t items, bytes; /* of the launch, of the copy; 0: does not apply, or unknown */
    uint32_t pieces;       /* 0: unknown */
    uint32_t job;          /* the job's number */
};

/* A TRACE_RUNNING span with what ran as arguments, named "task: kernel". */
void trace_run(struct trace_writer *writer, unsigned group, unsigned row, const char *task,
               const struct trace_work *work, baton_nsec begin_at, baton_nsec end_at);

void trace_mark(struct trace_writer *writer, unsigned group, unsigned row, enum trace_category category,
                const char *task, const char *detail, baton_nsec at);

/* An arrow from one row to another; id is unique per arrow. It binds to the spans that enclose its ends. */
void trace_arrow(struct trace_writer *writer, uint64_t id, unsigned from_group, unsigned from_row,
                 baton_nsec from_at, unsigned to_group, unsigned to_row, baton_nsec to_at);

/* The same with a name of its own: "enqueue". */
void trace_flow(struct trace_writer *writer, const char *name, uint64_t id, const unsigned from[2],
                baton_nsec from_at, const unsigned to[2], baton_nsec to_at);

/* The value of a counter from that instant on; name is unique within the group. */
void trace_counter(struct trace_writer *writer, unsigned group, const char *name, uint64_t value,
                   baton_nsec at);

/* What the report should know of a task besides its spans. */
struct trace_task {
    const char *name;
    baton_nsec deadline, bound; /* 0: none */
    bool claimed;               /* the bound is claimed */
    uint64_t misses;            /* deadlines missed since it began, which may be before the trace does */
};

/* After the last event: the tasks as a list beside the events, which viewers pass over, and how many older records are lost. */
void trace_tasks(struct trace_writer *writer, const struct trace_task *tasks, size_t n, uint64_t overwritten);

void trace_end(struct trace_writer *writer);

#endif
