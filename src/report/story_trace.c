/* A trace as a chapter: figures, timeline, response-time histograms against bounds, the table of misses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/histogram.h"
#include "report/story.h"
#include "report/trace.h"

#define MAX_ROWS   256   /* on the timeline: what a browser's canvas has room for */
#define MAX_SPANS  20000 /* on the timeline; the figures and histograms count all */
#define NO_ROW     SIZE_MAX
#define MAX_MISSES 200 /* rows of the table */

struct trace_row_name {
    int group, row;
    const char *name, *group_name;
    char shown[96]; /* both, where the group says more than the row */
};

struct chapter {
    const struct story *story;
    json_t *events;
    struct trace_row_name *rows; /* owned */
    size_t n_rows, rows_room;
    double first_us; /* the earliest instant; the page counts from there */
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool is(const json_t *event, const char *category)
{
    return strcmp(text_of(event, "cat"), category) == 0;
}

static const char *task_of(const json_t *event)
{
    const char *task = text_of(json_object_get(event, "args"), "task");

    return *task ? task : text_of(event, "name");
}

/* The row of an event, made when first seen; NO_ROW: no memory. */
static size_t row_of(struct chapter *chapter, const json_t *event)
{
    int group = (int)number_of(event, "pid");
    int row = (int)number_of(event, "tid");

    for (size_t i = 0; i < chapter->n_rows; i++) {
        if (chapter->rows[i].group == group && chapter->rows[i].row == row)
            return i;
    }
    if (chapter->n_rows == chapter->rows_room) {
        size_t room = chapter->rows_room ? chapter->rows_room * 2 : 64;
        struct trace_row_name *more = realloc(chapter->rows, room * sizeof *more);

        if (!more)
            return NO_ROW;
        chapter->rows = more;
        chapter->rows_room = room;
    }
    chapter->rows[chapter->n_rows] = (struct trace_row_name){group, row, "row", "", ""};
    return chapter->n_rows++;
}

/* The group's name belongs to all its rows; a trace may say it once, or with each of them. */
static const char *group_name(const struct chapter *chapter, int group)
{
    for (size_t i = 0; i < chapter->n_rows; i++) {
        if (chapter->rows[i].group == group && *chapter->rows[i].group_name)
            return chapter->rows[i].group_name;
    }
    return "";
}

static void show_rows(struct chapter *chapter)
{
    for (size_t i = 0; i < chapter->n_rows; i++) {
        struct trace_row_name *row = &chapter->rows[i];
        const char *group = group_name(chapter, row->group);
        bool both = *group && strcmp(group, row->name) != 0;

        (void)snprintf(row->shown, sizeof row->shown, "%s%s%s", both ? group : "", both ? ": " : "",
                       row->name);
    }
}

static void learn_rows(struct chapter *chapter)
{
    size_t i;
    json_t *event;
    bool any = false;

    json_array_foreach(chapter->events, i, event)
    {
        const char *phase = text_of(event, "ph");

        if (strcmp(phase, "M") == 0 && strcmp(text_of(event, "name"), "thread_name") == 0) {
            size_t row = row_of(chapter, event);

            if (row != NO_ROW)
                chapter->rows[row].name = text_of(json_object_get(event, "args"), "name");
        } else if (strcmp(phase, "M") == 0 && strcmp(text_of(event, "name"), "process_name") == 0) {
            size_t row = row_of(chapter, event);

            if (row != NO_ROW)
                chapter->rows[row].group_name = text_of(json_object_get(event, "args"), "name");
        } else if (strcmp(phase, "X") == 0 || strcmp(phase, "i") == 0) {
            double at = number_of(event, "ts");

            if (!any || at < chapter->first_us)
                chapter->first_us = at;
            any = true;
        }
    }
    show_rows(chapter);
}

static size_t colour_of(const struct story *story, const char *task)
{
    const struct story_task *known = story_find(story, task);
    size_t hash = 0;

    if (known)
        return (size_t)(known - story->tasks);
    while (*task)
        hash = hash * 31 + (unsigned char)*task++;
    return hash;
}

/* What the timeline draws, and how much of the trace it leaves out. */
struct drawing {
    struct page_span *spans;
    struct page_event *events;
    const char *names[MAX_ROWS];
    size_t n_spans, n_events, n_rows;
    size_t rows_out, out; /* rows; spans and events */
};

/* A machine may have many engines that nothing used: only rows with something on them get a place, up to MAX_ROWS of them. */
static size_t *place_rows(struct chapter *chapter, struct drawing *drawing)
{
    size_t *place = calloc(chapter->n_rows + 1, sizeof *place); /* by row: from 1; 0: not drawn */
    size_t i;
    json_t *event;

    json_array_foreach(chapter->events, i, event)
    {
        const char *phase = text_of(event, "ph");
        size_t row = *phase == 'X' || *phase == 'i' ? row_of(chapter, event) : NO_ROW;

        if (place && row < chapter->n_rows)
            place[row] = 1;
    }
    for (size_t r = 0; place && r < chapter->n_rows; r++) {
        if (!place[r])
            continue;
        if (drawing->n_rows < MAX_ROWS) {
            drawing->names[drawing->n_rows++] = chapter->rows[r].shown;
            place[r] = drawing->n_rows;
        } else {
            drawing->rows_out++;
            place[r] = 0;
        }
    }
    return place;
}

static void draw_event(struct chapter *chapter, const json_t *event, size_t row, struct drawing *drawing)
{
    const char *task = task_of(event);
    double at = (number_of(event, "ts") - chapter->first_us) / 1000;
    bool span = *text_of(event, "ph") == 'X';

    if (span && drawing->n_spans < MAX_SPANS)
        drawing->spans[drawing->n_spans++] =
            (struct page_span){.row = (unsigned)row,
                               .begin_ms = at,
                               .end_ms = at + number_of(event, "dur") / 1000,
                               .task = task,
                               .colour = colour_of(chapter->story, task),
                               .soft = is(event, "queued") || is(event, "job")};
    else if (!span && drawing->n_events < MAX_SPANS)
        drawing->events[drawing->n_events++] =
            (struct page_event){.row = (unsigned)row,
                                .at_ms = at,
                                .text = text_of(event, "name"),
                                .bad = is(event, "miss") || is(event, "overrun")};
    else
        drawing->out++;
}

static void write_timeline(struct chapter *chapter, struct page *page)
{
    struct drawing drawing = {.spans = calloc(MAX_SPANS, sizeof(struct page_span)),
                              .events = calloc(MAX_SPANS, sizeof(struct page_event))};
    size_t *place = place_rows(chapter, &drawing);
    char text[192] = "";
    size_t i;
    json_t *event;

    json_array_foreach(chapter->events, i, event)
    {
        const char *phase = text_of(event, "ph");
        size_t row = *phase == 'X' || *phase == 'i' ? row_of(chapter, event) : NO_ROW;

        if (!place || !drawing.spans || !drawing.events || row >= chapter->n_rows)
            continue;
        if (place[row])
            draw_event(chapter, event, place[row] - 1, &drawing);
        else
            drawing.out++;
    }
    if (drawing.rows_out || drawing.out)
        (void)snprintf(
            text, sizeof text,
            "Not drawn: %zu of %zu rows, %zu of %zu spans and marks. The file has them all, and the "
            "figures and histograms count them.",
            drawing.rows_out, drawing.n_rows + drawing.rows_out, drawing.out,
            drawing.n_spans + drawing.n_events + drawing.out);
    page_section(page, "Timeline", *text ? text : NULL);
    page_timeline(page, &(struct page_timeline){drawing.names, drawing.n_rows, drawing.spans, drawing.n_spans,
                                                drawing.events, drawing.n_events});
    free(place);
    free(drawing.spans);
    free(drawing.events);
}

/* All responses of one task; jobs are spans of category `job`. */
static size_t collect(const struct chapter *chapter, const char *task, double *values)
{
    size_t n = 0;
    size_t i;
    json_t *event;

    json_array_foreach(chapter->events, i, event)
    {
        if (is(event, "job") && strcmp(text_of(event, "ph"), "X") == 0 && strcmp(task_of(event), task) == 0)
            values[n++] = number_of(event, "dur") / 1000;
    }
    return n;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The value that so many thousandths of the sorted values do not exceed: nearest rank, as in the statistics of a program. */
static double percentile(const double *sorted, size_t n, unsigned permille)
{
    size_t rank = (n * permille + 999) / 1000;

    return sorted[rank ? rank - 1 : 0];
}

/* Of a task that has at least one job. */
static void write_histogram(const struct chapter *chapter, const char *task, double *values,
                            struct page *page)
{
    const struct story_task *known = story_find(chapter->story, task);
    char title[256];
    size_t n = collect(chapter, task, values);

    qsort(values, n, sizeof *values, ascending);
    (void)snprintf(title, sizeof title, "%s: %zu jobs, median %.3f, p99 %.3f, worst %.3f ms", task, n,
                   percentile(values, n, 500), percentile(values, n, 990), values[n - 1]);
    page_picture_begin(page);
    histogram_draw(&(struct histogram){.title = title,
                                       .values_ms = values,
                                       .n = n,
                                       .deadline_ms = known ? known->deadline_ms : -1,
                                       .bound_ms = known ? known->bound_ms : -1,
                                       .unclaimed = known && known->unclaimed},
                   page->out);
    page_picture_end(page);
}

/* One histogram per task, in the order in which the tasks first finish a job. */
static void write_histograms(const struct chapter *chapter, struct page *page)
{
    const char **seen = calloc(json_array_size(chapter->events) + 1, sizeof *seen);
    double *values = calloc(json_array_size(chapter->events) + 1, sizeof *values);
    size_t n_seen = 0;
    size_t i;
    json_t *event;

    json_array_foreach(chapter->events, i, event)
    {
        bool known = !is(event, "job") || strcmp(text_of(event, "ph"), "X") != 0;

        for (size_t k = 0; seen && k < n_seen && !known; k++)
            known = strcmp(seen[k], task_of(event)) == 0;
        if (known || !seen || !values)
            continue;
        if (n_seen == 0)
            page_section(page, "Response times",
                         "Dashed: the deadline, and the bound where one was computed.");
        seen[n_seen++] = task_of(event);
        write_histogram(chapter, task_of(event), values, page);
    }
    free(values);
    free(seen);
}

struct late {
    const json_t *event;
    double at_us;
};

static int by_time(const void *a, const void *b)
{
    double x = ((const struct late *)a)->at_us;
    double y = ((const struct late *)b)->at_us;

    return (x > y) - (x < y);
}

/* Marks of misses and overruns, in the order of time; how many. */
static size_t collect_late(const struct chapter *chapter, struct late *ret_late)
{
    size_t n = 0;
    size_t i;
    json_t *event;

    json_array_foreach(chapter->events, i, event)
    {
        if (strcmp(text_of(event, "ph"), "i") == 0 && (is(event, "miss") || is(event, "overrun")))
            ret_late[n++] = (struct late){event, number_of(event, "ts")};
    }
    qsort(ret_late, n, sizeof *ret_late, by_time);
    return n;
}

/* How long the task's job took that was under way then, ms; -1: the trace has none. A mark at a job's very end is that job's. */
static double job_ms_at(const struct chapter *chapter, const char *task, double at_us)
{
    const double grain = 1; /* microsecond, as traces are rounded */
    size_t i;
    json_t *event;

    json_array_foreach(chapter->events, i, event)
    {
        double begin = number_of(event, "ts");

        if (is(event, "job") && strcmp(text_of(event, "ph"), "X") == 0 && begin < at_us &&
            at_us <= begin + number_of(event, "dur") + grain && strcmp(task_of(event), task) == 0)
            return number_of(event, "dur") / 1000;
    }
    return -1;
}

static void write_late(const struct chapter *chapter, const struct late *late, struct page *page)
{
    const char *detail = text_of(json_object_get(late->event, "args"), "detail");
    double took = job_ms_at(chapter, task_of(late->event), late->at_us);
    char text[32];

    page_row_begin(page);
    (void)snprintf(text, sizeof text, "%.3f", (late->at_us - chapter->first_us) / 1000);
    page_cell(page, text, PAGE_PLAIN);
    page_cell(page, task_of(late->event), PAGE_PLAIN);
    page_cell(page,
              *detail                   ? detail
              : is(late->event, "miss") ? "missed its deadline"
                                        : "took longer than its bound",
              PAGE_BAD);
    (void)snprintf(text, sizeof text, took < 0 ? "-" : "%.3f", took);
    page_cell(page, text, PAGE_PLAIN);
    page_row_end(page);
}

static void write_misses(const struct chapter *chapter, struct page *page)
{
    static const char *const head[] = {"at, ms", "task", "what", "the job took, ms"};
    struct late *late = calloc(json_array_size(chapter->events) + 1, sizeof *late);
    size_t n = late ? collect_late(chapter, late) : 0;
    char text[96] = "";

    if (n == 0)
        (void)snprintf(text, sizeof text, "None: every deadline was met, and every claimed bound kept.");
    else if (n > MAX_MISSES)
        (void)snprintf(text, sizeof text, "The first %d of %zu.", MAX_MISSES, n);
    page_section(page, "Misses", *text ? text : NULL);
    if (n > 0) {
        page_table_begin(page, head, 4);
        for (size_t i = 0; i < n && i < MAX_MISSES; i++)
            write_late(chapter, &late[i], page);
        page_table_end(page);
    }
    free(late);
}

static void write_figures(const struct chapter *chapter, struct page *page)
{
    size_t counts[TRACE_CATEGORIES] = {0};
    char text[32];
    size_t i;
    json_t *event;

    json_array_foreach(chapter->events, i, event)
    {
        for (size_t c = 0; c < TRACE_CATEGORIES; c++)
            counts[c] += is(event, trace_category_name((enum trace_category)c)) &&
                         strcmp(text_of(event, "ph"), "s") != 0 && strcmp(text_of(event, "ph"), "f") != 0;
    }
    page_figures_begin(page);
    (void)snprintf(text, sizeof text, "%zu", counts[TRACE_JOB]);
    page_figure(page, text, "jobs", PAGE_PLAIN);
    (void)snprintf(text, sizeof text, "%zu", counts[TRACE_MISS]);
    page_figure(page, text, "deadlines missed", counts[TRACE_MISS] ? PAGE_BAD : PAGE_GOOD);
    (void)snprintf(text, sizeof text, "%zu", counts[TRACE_OVERRUN]);
    page_figure(page, text, "claimed bounds exceeded", counts[TRACE_OVERRUN] ? PAGE_BAD : PAGE_GOOD);
    if (counts[TRACE_UNCLAIMED]) {
        (void)snprintf(text, sizeof text, "%zu", counts[TRACE_UNCLAIMED]);
        page_figure(page, text, "jobs above a bound that is not claimed", PAGE_PLAIN);
    }
    if (counts[TRACE_OVERDUE]) {
        (void)snprintf(text, sizeof text, "%zu", counts[TRACE_OVERDUE]);
        page_figure(page, text, "holders late to give way", PAGE_PLAIN);
    }
    (void)snprintf(text, sizeof text, "%zu", counts[TRACE_YIELD]);
    page_figure(page, text, "yields", PAGE_PLAIN);
    page_figures_end(page);
}

void story_trace(const struct story *story, const struct story_input *input, struct page *page)
{
    struct chapter chapter = {.story = story, .events = json_object_get(input->root, "traceEvents")};

    page_section(page, "Trace", NULL);
    learn_rows(&chapter);
    write_figures(&chapter, page);
    write_timeline(&chapter, page);
    write_histograms(&chapter, page);
    write_misses(&chapter, page);
    free(chapter.rows);
}
