/*
 * The timeline: a row per engine with its runs. Then for each program its jobs, and its waits and
 * holds on each engine that it waited for. It opens on the time around the first miss, or around
 * the worst job of the most urgent program.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chapter/chapter.h"

#define MAX_ROWS  256   /* the limit of a browser's canvas */
#define MAX_SPANS 20000 /* the tables count all of them */
#define LABEL     112

struct drawing {
    struct page_timeline timeline;
    struct page_timeline_row rows[MAX_ROWS];
    char labels[MAX_ROWS][LABEL];
    struct page_span *spans;
    struct page_event *events;
    struct page_program *programs;
    size_t *place;        /* by row of the trace: from 1; 0: not drawn */
    size_t rows_out, out; /* rows; spans and marks of these, or beyond the limit */
};

/* ---- rows ---- */

/* "camera" of "camera (pid 77)", unless another process has the same name. */
static size_t short_group(const struct chapter *chapter, const struct chapter_row *row)
{
    const char *pid = strstr(row->group, " (pid ");
    size_t length = pid ? (size_t)(pid - row->group) : strlen(row->group);

    for (size_t i = 0; pid && i < chapter->n_rows; i++) {
        if (chapter->rows[i].pid != row->pid && strncmp(chapter->rows[i].group, row->group, length) == 0 &&
            (chapter->rows[i].group[length] == 0 || chapter->rows[i].group[length] == ' '))
            return strlen(row->group);
    }
    return length;
}

static void name_row(const struct chapter *chapter, const struct chapter_row *row, char ret_label[LABEL])
{
    bool both = !row->engine && *row->group && strcmp(row->group, row->name) != 0;

    (void)snprintf(ret_label, LABEL, "%.*s%s%s", both ? (int)short_group(chapter, row) : 0, row->group,
                   both ? ": " : "", *row->name ? row->name : "row");
}

/*
 * A job's span already shows its release and its end. A bound that is not claimed is not an event
 * for the reader.
 */
static bool is_drawn(enum trace_category category)
{
    return category != TRACE_RELEASE && category != TRACE_DONE && category != TRACE_UNCLAIMED;
}

/* Selects the rows with events that a reader looks for. */
static void find_used(const struct chapter *chapter, size_t *place)
{
    for (size_t i = 0; i < chapter->n_spans; i++) {
        const struct chapter_span *span = &chapter->spans[i];

        if (span->category != TRACE_GRANTED && span->end > span->begin)
            place[span->row] = 1;
    }
    for (size_t i = 0; i < chapter->n_marks; i++) {
        if (is_drawn(chapter->marks[i].category))
            place[chapter->marks[i].row] = 1;
    }
}

static void place_rows(const struct chapter *chapter, struct drawing *d)
{
    find_used(chapter, d->place);
    for (unsigned engines = 0; engines < 2; engines++) {
        for (size_t r = 0; r < chapter->n_rows; r++) {
            size_t n = d->timeline.n_rows;

            if (!d->place[r] || chapter->rows[r].engine == (engines == 1))
                continue;
            if (n == MAX_ROWS) {
                d->rows_out++;
                d->place[r] = 0;
                continue;
            }
            name_row(chapter, &chapter->rows[r], d->labels[n]);
            d->rows[n] = (struct page_timeline_row){d->labels[n], chapter->rows[r].engine};
            d->place[r] = ++d->timeline.n_rows;
        }
    }
}

/* ---- what is drawn on them ---- */

static enum page_style style_of(enum trace_category category)
{
    return category == TRACE_QUEUED    ? PAGE_WAIT
           : category == TRACE_GRANTED ? PAGE_HOLD
           : category == TRACE_JOB     ? PAGE_JOB
                                       : PAGE_RUN;
}

static void draw_span(const struct chapter *chapter, const struct chapter_span *span, struct drawing *d)
{
    struct page_span *drawn = &d->spans[d->timeline.n_spans];

    if (!d->place[span->row] || d->timeline.n_spans == MAX_SPANS) {
        /* Holds without a wait on their row, and waits of zero length, are left out on purpose. */
        d->out += d->place[span->row] || (span->category != TRACE_GRANTED && span->end > span->begin);
        return;
    }
    *drawn = (struct page_span){.row = (unsigned)d->place[span->row] - 1,
                                .begin_ms = span->begin,
                                .end_ms = span->end,
                                .program = span->program,
                                .style = style_of(span->category),
                                .label = *span->kernel ? span->kernel : chapter->programs[span->program].name,
                                .pieces = span->pieces,
                                .size = span->items ? span->items : span->bytes,
                                .bytes = span->items == 0};
    d->timeline.n_spans++;
}

static void draw_mark(const struct chapter_mark *mark, struct drawing *d)
{
    if (!is_drawn(mark->category))
        return;
    if (!d->place[mark->row] || d->timeline.n_events == MAX_SPANS) {
        d->out++;
        return;
    }
    d->events[d->timeline.n_events++] =
        (struct page_event){.row = (unsigned)d->place[mark->row] - 1,
                            .at_ms = mark->at,
                            .text = *mark->detail ? mark->detail : trace_category_name(mark->category),
                            .bad = mark->category == TRACE_MISS || mark->category == TRACE_OVERRUN};
}

/* ---- where it opens ---- */

/* The program with jobs and the shortest deadline; CHAPTER_NONE: none. */
static size_t most_urgent(const struct chapter *chapter)
{
    size_t found = CHAPTER_NONE;

    for (size_t i = 0; i < chapter->n_programs; i++) {
        double deadline = chapter_deadline(&chapter->programs[i]);

        if (deadline > 0 && chapter->programs[i].n_jobs &&
            (found == CHAPTER_NONE || deadline < chapter_deadline(&chapter->programs[found])))
            found = i;
    }
    return found;
}

static void find_focus(const struct chapter *chapter, struct page_timeline *timeline)
{
    size_t urgent = most_urgent(chapter);
    double width = chapter->length;
    double centre = width / 2;
    double worst = -1;

    if (urgent != CHAPTER_NONE)
        width = fmin(width, 6 * chapter_deadline(&chapter->programs[urgent]));
    for (size_t i = 0; i < chapter->n_spans; i++) {
        const struct chapter_span *span = &chapter->spans[i];

        if (span->category == TRACE_JOB && span->program == urgent && span->end - span->begin > worst) {
            worst = span->end - span->begin;
            centre = (span->begin + span->end) / 2;
        }
    }
    for (size_t i = chapter->n_marks; i > 0; i--) {
        if (chapter->marks[i - 1].category == TRACE_MISS)
            centre = chapter->marks[i - 1].at;
    }
    if (worst > width / 2)
        width = fmin(3 * worst, chapter->length);
    timeline->focus_from_ms = fmax(fmin(centre - width / 2, chapter->length - width), 0);
    timeline->focus_to_ms = timeline->focus_from_ms + width;
}

static void fill(const struct chapter *chapter, struct drawing *d)
{
    place_rows(chapter, d);
    for (size_t i = 0; i < chapter->n_spans; i++)
        draw_span(chapter, &chapter->spans[i], d);
    for (size_t i = 0; i < chapter->n_marks; i++)
        draw_mark(&chapter->marks[i], d);
    for (size_t i = 0; i < chapter->n_programs; i++)
        d->programs[i].name = chapter->programs[i].name;
    for (size_t i = 0; i < d->timeline.n_spans; i++)
        d->programs[d->spans[i].program].used = true;
    d->timeline.rows = d->rows;
    d->timeline.spans = d->spans;
    d->timeline.events = d->events;
    d->timeline.programs = d->programs;
    d->timeline.n_programs = chapter->n_programs;
    find_focus(chapter, &d->timeline);
}

void chapter_timeline(const struct chapter *chapter, struct html_page *page)
{
    struct drawing *d = calloc(1, sizeof *d);
    char text[128];

    if (!d)
        return;
    d->spans = calloc(MAX_SPANS + 1, sizeof *d->spans);
    d->events = calloc(MAX_SPANS + 1, sizeof *d->events);
    d->programs = calloc(chapter->n_programs + 1, sizeof *d->programs);
    d->place = calloc(chapter->n_rows + 1, sizeof *d->place);
    if (d->spans && d->events && d->programs && d->place) {
        fill(chapter, d);
        page_subsection(page, "Timeline");
        if (d->rows_out || d->out) {
            (void)snprintf(text, sizeof text, "Not drawn: %zu of %zu rows, %zu of %zu spans and marks.",
                           d->rows_out, d->rows_out + d->timeline.n_rows, d->out,
                           chapter->n_spans + chapter->n_marks);
            page_note(page, text);
        }
        page_timeline(page, &d->timeline);
    }
    free(d->place);
    free(d->programs);
    free(d->events);
    free(d->spans);
    free(d);
}
