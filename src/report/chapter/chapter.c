#include "report/chapter/chapter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static uint64_t count_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (uint64_t)value : 0;
}

/* ---- rows and programs, made when first seen; CHAPTER_NONE: no memory ---- */

static size_t row_of(struct chapter *chapter, const json_t *event)
{
    int64_t pid = json_integer_value(json_object_get(event, "pid"));
    int64_t tid = json_integer_value(json_object_get(event, "tid"));
    struct chapter_row *more;

    for (size_t i = 0; i < chapter->n_rows; i++) {
        if (chapter->rows[i].pid == pid && chapter->rows[i].tid == tid)
            return i;
    }
    more = array_make_room(chapter->rows, chapter->n_rows, &chapter->rows_room, sizeof *more);
    if (!more)
        return CHAPTER_NONE;
    chapter->rows = more;
    chapter->rows[chapter->n_rows] = (struct chapter_row){.pid = pid, .tid = tid, .name = "", .group = ""};
    return chapter->n_rows++;
}

static size_t program_named(struct chapter *chapter, const char *name)
{
    struct chapter_program *more;

    for (size_t i = 0; i < chapter->n_programs; i++) {
        if (strcmp(chapter->programs[i].name, name) == 0)
            return i;
    }
    more = array_make_room(chapter->programs, chapter->n_programs, &chapter->programs_room, sizeof *more);
    if (!more)
        return CHAPTER_NONE;
    chapter->programs = more;
    chapter->programs[chapter->n_programs] =
        (struct chapter_program){.name = name, .task = story_find(chapter->story, name)};
    return chapter->n_programs++;
}

static size_t program_of(struct chapter *chapter, const json_t *event)
{
    const char *task = text_of(json_object_get(event, "args"), "task");

    return program_named(chapter, *task ? task : text_of(event, "name"));
}

static enum trace_category category_of(const json_t *event)
{
    const char *name = text_of(event, "cat");
    unsigned i = 0;

    while (i < TRACE_CATEGORIES && strcmp(name, trace_category_name((enum trace_category)i)) != 0)
        i++;
    return (enum trace_category)i;
}

/* ---- events ---- */

static int add_name(struct chapter *chapter, const json_t *event)
{
    const char *kind = text_of(event, "name");
    const char *name = text_of(json_object_get(event, "args"), "name");
    size_t row;

    if (strcmp(kind, "thread_name") != 0)
        return 0;
    row = row_of(chapter, event);
    if (row == CHAPTER_NONE)
        return -ENOMEM;
    chapter->rows[row].name = name;
    return 0;
}

static int add_span(struct chapter *chapter, const json_t *event)
{
    const json_t *args = json_object_get(event, "args");
    struct chapter_span span = {.category = category_of(event),
                                .begin = number_of(event, "ts") / 1000,
                                .row = row_of(chapter, event),
                                .program = program_of(chapter, event),
                                .kernel = text_of(args, "kernel"),
                                .detail = text_of(args, "detail"),
                                .items = count_of(args, "work_items"),
                                .bytes = count_of(args, "bytes"),
                                .pieces = count_of(args, "pieces")};
    struct chapter_span *more;

    span.end = span.begin + number_of(event, "dur") / 1000;
    if (!isfinite(span.begin) || !isfinite(span.end) || span.end < span.begin)
        return 0;
    if (span.row == CHAPTER_NONE || span.program == CHAPTER_NONE)
        return -ENOMEM;
    more = array_make_room(chapter->spans, chapter->n_spans, &chapter->spans_room, sizeof *more);
    if (!more)
        return -ENOMEM;
    chapter->spans = more;
    chapter->spans[chapter->n_spans++] = span;
    return 0;
}

static int add_mark(struct chapter *chapter, const json_t *event)
{
    struct chapter_mark mark = {.category = category_of(event),
                                .at = number_of(event, "ts") / 1000,
                                .row = row_of(chapter, event),
                                .program = program_of(chapter, event),
                                .detail = text_of(json_object_get(event, "args"), "detail")};
    struct chapter_mark *more;

    if (!isfinite(mark.at))
        return 0;
    if (mark.row == CHAPTER_NONE || mark.program == CHAPTER_NONE)
        return -ENOMEM;
    more = array_make_room(chapter->marks, chapter->n_marks, &chapter->marks_room, sizeof *more);
    if (!more)
        return -ENOMEM;
    chapter->marks = more;
    chapter->marks[chapter->n_marks++] = mark;
    return 0;
}

/* The names of processes. A trace may give a name once, or with each of the process's rows. */
static void name_groups(struct chapter *chapter, json_t *events)
{
    size_t i;
    json_t *event;

    json_array_foreach(events, i, event)
    {
        int64_t pid = json_integer_value(json_object_get(event, "pid"));

        if (strcmp(text_of(event, "ph"), "M") != 0 || strcmp(text_of(event, "name"), "process_name") != 0)
            continue;
        for (size_t r = 0; r < chapter->n_rows; r++) {
            if (chapter->rows[r].pid == pid)
                chapter->rows[r].group = text_of(json_object_get(event, "args"), "name");
        }
    }
}

static int by_begin(const void *a, const void *b)
{
    const struct chapter_span *x = a;
    const struct chapter_span *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int by_instant(const void *a, const void *b)
{
    const struct chapter_mark *x = a;
    const struct chapter_mark *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

/* Makes instants relative to the first event, and sorts events by time. */
static void settle(struct chapter *chapter)
{
    double first = INFINITY;

    for (size_t i = 0; i < chapter->n_spans; i++)
        first = fmin(first, chapter->spans[i].begin);
    for (size_t i = 0; i < chapter->n_marks; i++)
        first = fmin(first, chapter->marks[i].at);
    for (size_t i = 0; i < chapter->n_spans; i++) {
        chapter->spans[i].begin -= first;
        chapter->spans[i].end -= first;
        chapter->length = fmax(chapter->length, chapter->spans[i].end);
        if (chapter->spans[i].category == TRACE_RUNNING)
            chapter->rows[chapter->spans[i].row].engine = true;
    }
    for (size_t i = 0; i < chapter->n_marks; i++) {
        chapter->marks[i].at -= first;
        chapter->length = fmax(chapter->length, chapter->marks[i].at);
    }
    if (chapter->n_spans)
        qsort(chapter->spans, chapter->n_spans, sizeof *chapter->spans, by_begin);
    if (chapter->n_marks)
        qsort(chapter->marks, chapter->n_marks, sizeof *chapter->marks, by_instant);
}

/* ---- what programs did ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static int add_job(struct chapter_program *program, double response)
{
    double *more = array_make_room(program->responses, program->n_jobs, &program->room, sizeof *more);

    if (!more)
        return -ENOMEM;
    program->responses = more;
    program->responses[program->n_jobs++] = response;
    program->response_ms += response;
    return 0;
}

/*
 * Counts the jobs of each program. Runs and waits count while a job of the program lasts; its spans
 * come in order.
 */
static int count_jobs(struct chapter *chapter)
{
    double *job_ends = calloc(chapter->n_programs + 1, sizeof *job_ends);
    int result = job_ends ? 0 : -ENOMEM;

    for (size_t i = 0; i < chapter->n_spans && !result; i++) {
        const struct chapter_span *span = &chapter->spans[i];
        struct chapter_program *program = &chapter->programs[span->program];
        double within = fmin(span->end, job_ends[span->program]) - span->begin;

        if (span->category == TRACE_JOB) {
            result = add_job(program, span->end - span->begin);
            job_ends[span->program] = fmax(job_ends[span->program], span->end);
        } else if (span->category == TRACE_RUNNING && within > 0) {
            program->run_ms += within;
        } else if (span->category == TRACE_QUEUED && within > 0) {
            program->wait_ms += within;
        }
    }
    free(job_ends);
    for (size_t i = 0; i < chapter->n_programs; i++) {
        if (chapter->programs[i].n_jobs)
            qsort(chapter->programs[i].responses, chapter->programs[i].n_jobs, sizeof(double), ascending);
    }
    return result;
}

static void count_marks(struct chapter *chapter)
{
    for (size_t i = 0; i < chapter->n_marks; i++) {
        struct chapter_program *program = &chapter->programs[chapter->marks[i].program];

        program->missed += chapter->marks[i].category == TRACE_MISS;
        program->overrun += chapter->marks[i].category == TRACE_OVERRUN;
        program->unclaimed += chapter->marks[i].category == TRACE_UNCLAIMED;
    }
}

int chapter_read(struct chapter *chapter, const struct story *story, json_t *trace)
{
    json_t *events = json_object_get(trace, "traceEvents");
    int result = 0;
    size_t i;
    json_t *event;

    *chapter = (struct chapter){.story = story, .overwritten = (double)count_of(trace, "overwritten")};
    for (size_t t = 0; t < story->n_tasks; t++) {
        if (program_named(chapter, story->tasks[t].name) == CHAPTER_NONE)
            return -ENOMEM;
    }
    json_array_foreach(events, i, event)
    {
        const char *phase = text_of(event, "ph");

        if (!result && strcmp(phase, "M") == 0)
            result = add_name(chapter, event);
        else if (!result && strcmp(phase, "X") == 0)
            result = add_span(chapter, event);
        else if (!result && strcmp(phase, "i") == 0)
            result = add_mark(chapter, event);
    }
    name_groups(chapter, events);
    settle(chapter);
    count_marks(chapter);
    return result ? result : count_jobs(chapter);
}

void chapter_done(struct chapter *chapter)
{
    for (size_t i = 0; i < chapter->n_programs; i++)
        free(chapter->programs[i].responses);
    free(chapter->programs);
    free(chapter->rows);
    free(chapter->spans);
    free(chapter->marks);
    *chapter = (struct chapter){0};
}

double chapter_percentile(const struct chapter_program *program, unsigned permille)
{
    size_t rank = (program->n_jobs * permille + 999) / 1000;

    return program->responses[rank ? rank - 1 : 0];
}

double chapter_deadline(const struct chapter_program *program)
{
    return program->task ? program->task->deadline_ms : -1;
}

double chapter_bound(const struct chapter_program *program)
{
    return program->task ? program->task->bound_ms : -1;
}

bool chapter_bound_claimed(const struct chapter_program *program)
{
    return program->task && program->task->bound_ms >= 0 && !program->task->unclaimed;
}
