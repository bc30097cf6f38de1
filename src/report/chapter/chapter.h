/*
 * A trace as a chapter of the page. It answers four questions in this order. Was every deadline
 * met? How far were responses from the bound? Which program waited for which? Where did the time
 * go? The events are read once into arrays; each question has a file. Instants are ms from the
 * trace's first event. Names are borrowed from the JSON, which outlives the chapter.
 */
#ifndef REPORT_CHAPTER_H
#define REPORT_CHAPTER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/html_page.h"
#include "report/story.h"
#include "report/trace.h"

#define CHAPTER_NONE SIZE_MAX

/* A track of the trace. */
struct chapter_row {
    int64_t pid, tid;
    const char *name, *group; /* group: the name of the process */
    bool engine;              /* something ran on it, or another row's engine has this name */
};

/* All processes of one name. */
struct chapter_program {
    const char *name;
    const struct story_task *task; /* facts from other inputs; NULL: none */
    double *responses;             /* owned; ascending, ms */
    size_t n_jobs, room;
    /* marks: deadlines, claimed bounds, bounds that are not claimed */
    size_t missed, overrun, unclaimed;
    double response_ms, run_ms,
        wait_ms; /* sums over its jobs: their length, and the runs and waits within them */
};

struct chapter_span {
    enum trace_category category;
    size_t row, program; /* places in the chapter's arrays */
    double begin, end;
    const char *kernel, *detail; /* "": none */
    uint64_t items, bytes, pieces;
};

struct chapter_mark {
    enum trace_category category;
    size_t row, program;
    double at;
    const char *detail; /* "": none */
};

struct chapter {
    const struct story *story;
    struct chapter_row *rows;
    size_t n_rows, rows_room;
    /* in the order of the task list, then of appearance; the index is the colour */
    struct chapter_program *programs;
    size_t n_programs, programs_room;
    struct chapter_span *spans; /* by begin */
    size_t n_spans, spans_room;
    struct chapter_mark *marks; /* by instant */
    size_t n_marks, marks_room;
    double length;      /* ms from the first event to the end of the last */
    double overwritten; /* older records that the trace has lost */
};

/*
 * Reads a trace: 0 or -ENOMEM. Malformed events are skipped. The caller calls chapter_done() in
 * both cases.
 */
int chapter_read(struct chapter *chapter, const struct story *story, json_t *trace);
void chapter_done(struct chapter *chapter);

/*
 * The response that the given number of thousandths of the program's jobs does not exceed (nearest
 * rank). The program has jobs.
 */
double chapter_percentile(const struct chapter_program *program, unsigned permille);

/* The deadline and the bound, ms; negative: none. */
double chapter_deadline(const struct chapter_program *program);
double chapter_bound(const struct chapter_program *program);

/* Is the bound claimed, so that a larger response breaks it? */
bool chapter_bound_claimed(const struct chapter_program *program);

/* The questions. */
void chapter_deadlines(const struct chapter *chapter, struct html_page *page); /* chapter_deadlines.c */
void chapter_margins(const struct chapter *chapter, struct html_page *page);   /* chapter_margins.c */
void chapter_waits(const struct chapter *chapter, struct html_page *page);     /* chapter_waits.c */
void chapter_time(const struct chapter *chapter, struct html_page *page);      /* chapter_time.c */
void chapter_timeline(const struct chapter *chapter, struct html_page *page);  /* chapter_timeline.c */

#endif
