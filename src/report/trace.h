/*
 * Chrome trace JSON for Perfetto (ui.perfetto.dev) and chrome://tracing: rows with spans, marks,
 * arrows between spans, and counters. It is written as a stream, so memory use does not grow with
 * the trace. `baton simulate --trace` and `baton trace` write it; `baton report` reads it.
 *
 * The caller ensures what a viewer needs. The spans of one row are disjoint or nested. The ends of
 * an arrow lie within spans. The values of a counter come in order of time.
 */
#ifndef REPORT_TRACE_H
#define REPORT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/nsec.h"

/* Categories: the meaning of a span or mark. The report counts and colours by them. */
enum trace_category {
    TRACE_RUNNING,    /* an engine or CPU works for a job */
    TRACE_QUEUED,     /* a command waits */
    TRACE_GRANTED,    /* holds the engine between pieces */
    TRACE_RELEASE,    /* mark: a job is released */
    TRACE_DONE,       /* mark: a job is complete */
    TRACE_MISS,       /* mark: a deadline was missed */
    TRACE_OVERRUN,    /* mark: a bound that is claimed was exceeded */
    TRACE_YIELD,      /* mark: asked to yield */
    TRACE_INHERIT,    /* mark: runs with an inherited priority */
    TRACE_JOB,        /* a job from release to completion, on its task's own row */
    TRACE_PLANNING,   /* batond's planner analyses a task */
    TRACE_UNCLAIMED,  /* mark: a job took longer than a computed bound that is not claimed */
    TRACE_LATE_YIELD, /* mark: a holder has not yielded in time */
    TRACE_NOTICE,     /* mark: a notice, such as a kernel that cannot be cut */
    TRACE_CATEGORIES,
};

struct trace_writer {
    FILE *out; /* borrowed */
    bool any;  /* an event has been written, so the next one needs a comma */
};

const char *trace_category_name(enum trace_category category);

void trace_begin(struct trace_writer *writer, FILE *out);

/*
 * Names a row. The viewer shows group as a process ("engines", "jobs"). Rows appear in order of id.
 */
void trace_row(struct trace_writer *writer, unsigned group, const char *group_name, unsigned row,
               const char *name);

/* Names a group alone, and sets its position among the groups. */
void trace_group(struct trace_writer *writer, unsigned group, const char *name, unsigned place);

/* Names a row of an already named group, and sets its position in the group. */
void trace_track(struct trace_writer *writer, unsigned group, unsigned row, const char *name, unsigned place);

/* One span on a row. task names the task; detail may be NULL. Instants in nanoseconds. */
void trace_span(struct trace_writer *writer, unsigned group, unsigned row, enum trace_category category,
                const char *task, const char *detail, baton_nsec begin_at, baton_nsec end_at);

/* What ran, besides its task. */
struct trace_work {
    const char *kernel;    /* as the program calls it; NULL: none, or unknown */
    uint64_t items, bytes; /* of the launch, of the copy; 0: does not apply, or unknown */
    uint32_t pieces;       /* 0: unknown */
    uint32_t job;          /* the job's number */
};

/*
 * A TRACE_RUNNING span with the work as arguments, named "task: kernel". Kernels have readable
 * names (base/demangle.h); where the program's own differs, it is the argument "symbol".
 */
void trace_run(struct trace_writer *writer, unsigned group, unsigned row, const char *task,
               const struct trace_work *work, baton_nsec begin_at, baton_nsec end_at);

void trace_mark(struct trace_writer *writer, unsigned group, unsigned row, enum trace_category category,
                const char *task, const char *detail, baton_nsec at);

/*
 *  An arrow from one row to another; id is unique per arrow. It binds to the spans that enclose its
 *  ends.
 */
void trace_arrow(struct trace_writer *writer, uint64_t id, unsigned from_group, unsigned from_row,
                 baton_nsec from_at, unsigned to_group, unsigned to_row, baton_nsec to_at);

/* The same with a name of its own: "enqueue". */
void trace_flow(struct trace_writer *writer, const char *name, uint64_t id, const unsigned from[2],
                baton_nsec from_at, const unsigned to[2], baton_nsec to_at);

/* The value of a counter from that instant on; name is unique within the group. */
void trace_counter(struct trace_writer *writer, unsigned group, const char *name, uint64_t value,
                   baton_nsec at);

/* What the report should know about a task besides its spans. */
struct trace_task {
    const char *name;
    baton_nsec deadline, bound; /* 0: none */
    bool claimed;               /* the bound is claimed */
    /* deadlines missed since the task began, possibly before the trace */
    uint64_t misses;
};

/*
 * After the last event: writes the tasks as a list beside the events, which viewers ignore, and the
 * number of lost older records.
 */
void trace_tasks(struct trace_writer *writer, const struct trace_task *tasks, size_t n, uint64_t overwritten);

void trace_end(struct trace_writer *writer);

#endif
