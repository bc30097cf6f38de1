#include "cli/simulate_pictures.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/draft.h"
#include "report/svg.h"
#include "report/trace.h"

#define GANTT_MAX_BARS 3000 /* more cannot be distinguished */

enum trace_group { GROUP_MACHINE = 1, GROUP_JOBS };

/* A viewer treats rows as threads and needs ids that are unique in the whole trace. */
#define JOB_ROWS 1000000u

/* The current job of a task. */
struct drawn_job {
    baton_nsec release_at;
    size_t last_row;
    baton_nsec last_from_at;
    bool ran, open; /* open: released, not complete */
};

struct pictures {
    const struct task_set *set;
    size_t n_rows; /* CPUs and engines */
    size_t n_cpus;
    char (*names)[32];
    struct drawn_job *jobs;
    struct sim_observer observer;
    /* Trace. */
    bool wants_trace;
    struct draft trace_draft;
    struct trace_writer trace;
    uint64_t arrows;
    /* Timeline. */
    bool wants_gantt;
    struct svg_bar *bars;
    size_t n_bars;
    struct svg_mark *marks;
    size_t n_marks;
    baton_nsec cut_at; /* the first bar left out, or -1 */
};

static void add_bar(struct pictures *pictures, size_t row, size_t task, baton_nsec from_at, baton_nsec to_at,
                    bool hatched)
{
    if (!pictures->wants_gantt || (pictures->cut_at >= 0 && from_at >= pictures->cut_at))
        return;
    if (pictures->n_bars == GANTT_MAX_BARS) {
        pictures->cut_at = from_at;
        return;
    }
    pictures->bars[pictures->n_bars++] = (struct svg_bar){.row = row,
                                                          .begin = nsec_to_ms(from_at),
                                                          .end = nsec_to_ms(to_at),
                                                          .colour = task,
                                                          .label = pictures->set->tasks[task].name,
                                                          .hatched = hatched};
}

static void add_gantt_mark(struct pictures *pictures, size_t task, const char *label, bool bad, baton_nsec at)
{
    if (!pictures->wants_gantt || pictures->n_marks == GANTT_MAX_BARS ||
        (pictures->cut_at >= 0 && at >= pictures->cut_at))
        return;
    pictures->marks[pictures->n_marks++] =
        (struct svg_mark){.row = pictures->n_rows + task, .at = nsec_to_ms(at), .label = label, .bad = bad};
}

static void on_span(void *context, size_t row, size_t task, uint64_t job, size_t step, baton_nsec from_at,
                    baton_nsec to_at)
{
    struct pictures *pictures = context;
    const struct task *t = &pictures->set->tasks[task];
    char detail[64];

    if (pictures->wants_trace) {
        (void)snprintf(detail, sizeof detail, "job %llu, %s", (unsigned long long)job,
                       step == SIZE_MAX ? "state" : segment_kind_name(t->segments[step].kind));
        trace_span(&pictures->trace, GROUP_MACHINE, (unsigned)row, TRACE_RUNNING, t->name, detail, from_at,
                   to_at);
    }
    pictures->jobs[task].last_row = row;
    pictures->jobs[task].last_from_at = from_at;
    pictures->jobs[task].ran = true;
    add_bar(pictures, row, task, from_at, to_at, false);
}

static void job_over(struct pictures *pictures, size_t task, uint64_t job, baton_nsec at)
{
    struct drawn_job *drawn = &pictures->jobs[task];
    const char *name = pictures->set->tasks[task].name;
    char detail[32];

    drawn->open = false;
    add_bar(pictures, pictures->n_rows + task, task, drawn->release_at, at, true);
    if (!pictures->wants_trace)
        return;
    (void)snprintf(detail, sizeof detail, "job %llu", (unsigned long long)job);
    trace_span(&pictures->trace, GROUP_JOBS, JOB_ROWS + (unsigned)task, TRACE_JOB, name, detail,
               drawn->release_at, at);
    trace_mark(&pictures->trace, GROUP_JOBS, JOB_ROWS + (unsigned)task, TRACE_DONE, name, detail, at);
    if (drawn->ran)
        trace_arrow(&pictures->trace, ++pictures->arrows, GROUP_JOBS, JOB_ROWS + (unsigned)task,
                    drawn->release_at, GROUP_MACHINE, (unsigned)drawn->last_row, drawn->last_from_at);
}

static void on_mark(void *context, enum sim_mark mark, size_t row, size_t task, uint64_t job, size_t other,
                    baton_nsec at)
{
    static const enum trace_category categories[] = {
        [SIM_RELEASE] = TRACE_RELEASE, [SIM_MISS] = TRACE_MISS,     [SIM_YIELD] = TRACE_YIELD,
        [SIM_INHERIT] = TRACE_INHERIT, [SIM_COMPLETE] = TRACE_DONE, [SIM_SUSPEND] = TRACE_QUEUED};
    struct pictures *pictures = context;
    const char *name = pictures->set->tasks[task].name;

    if (mark == SIM_COMPLETE) {
        job_over(pictures, task, job, at);
        return;
    }
    if (mark == SIM_RELEASE) {
        pictures->jobs[task] = (struct drawn_job){.release_at = at, .open = true};
        add_gantt_mark(pictures, task, "release", false, at);
    } else if (mark == SIM_MISS) {
        add_gantt_mark(pictures, task, "deadline missed", true, at);
    }
    if (!pictures->wants_trace)
        return;
    trace_mark(&pictures->trace, row == SIZE_MAX ? GROUP_JOBS : GROUP_MACHINE,
               (unsigned)(row == SIZE_MAX ? JOB_ROWS + task : row), categories[mark], name,
               other == SIZE_MAX ? NULL : pictures->set->tasks[other].name, at);
}

static int start_trace(struct pictures *pictures)
{
    int result = draft_begin(&pictures->trace_draft);

    if (result)
        return result;
    trace_begin(&pictures->trace, pictures->trace_draft.out);
    for (size_t r = 0; r < pictures->n_rows; r++)
        trace_row(&pictures->trace, GROUP_MACHINE, "machine", (unsigned)r, pictures->names[r]);
    for (size_t t = 0; t < pictures->set->n_tasks; t++)
        trace_row(&pictures->trace, GROUP_JOBS, "jobs", JOB_ROWS + (unsigned)t, pictures->set->tasks[t].name);
    return 0;
}

int pictures_new(const struct task_set *set, const struct sched_core *core, bool trace, bool gantt,
                 struct pictures **ret_pictures)
{
    struct pictures *pictures = calloc(1, sizeof *pictures);
    int result = 0;

    if (!pictures)
        return -ENOMEM;
    pictures->set = set;
    pictures->n_cpus = sched_core_config(core)->cpus;
    pictures->n_rows = pictures->n_cpus + sched_engines(core);
    pictures->wants_trace = trace;
    pictures->wants_gantt = gantt;
    pictures->cut_at = -1;
    pictures->observer = (struct sim_observer){.context = pictures, .span = on_span, .mark = on_mark};
    pictures->names = calloc(pictures->n_rows, sizeof *pictures->names);
    pictures->jobs = calloc(set->n_tasks, sizeof *pictures->jobs);
    pictures->bars = calloc(gantt ? GANTT_MAX_BARS : 1, sizeof *pictures->bars);
    pictures->marks = calloc(gantt ? GANTT_MAX_BARS : 1, sizeof *pictures->marks);
    if (!pictures->names || !pictures->jobs || !pictures->bars || !pictures->marks)
        result = -ENOMEM;
    for (size_t r = 0; !result && r < pictures->n_rows; r++) {
        if (r < pictures->n_cpus)
            (void)snprintf(pictures->names[r], sizeof pictures->names[r], "cpu%zu", r);
        else
            sched_engine_name(core, (engine_id)(r - pictures->n_cpus), pictures->names[r],
                              sizeof pictures->names[r]);
    }
    if (!result && trace)
        result = start_trace(pictures);
    if (result) {
        pictures_free(pictures);
        return result;
    }
    *ret_pictures = pictures;
    return 0;
}

void pictures_free(struct pictures *pictures)
{
    if (!pictures)
        return;
    draft_drop(&pictures->trace_draft);
    free(pictures->names);
    free(pictures->jobs);
    free(pictures->bars);
    free(pictures->marks);
    free(pictures);
}

const struct sim_observer *pictures_observer(struct pictures *pictures)
{
    return &pictures->observer;
}

int pictures_write_trace(struct pictures *pictures, const char *path)
{
    trace_end(&pictures->trace);
    return draft_finish(&pictures->trace_draft, path, 0);
}

int pictures_write_gantt(struct pictures *pictures, const char *path, baton_nsec end_at,
                         baton_nsec *ret_cut_at)
{
    size_t n_tasks = pictures->set->n_tasks;
    const char **names = calloc(pictures->n_rows + n_tasks, sizeof *names);
    struct draft draft;
    int result = draft_begin(&draft);

    if (!names)
        result = -ENOMEM;
    for (size_t t = 0; t < n_tasks; t++) {
        if (pictures->jobs[t].open)
            add_bar(pictures, pictures->n_rows + t, t, pictures->jobs[t].release_at, end_at, true);
    }
    if (!result) {
        struct svg_rows rows = {.title = "The simulated schedule",
                                .x_label = "ms",
                                .row_names = names,
                                .n_rows = pictures->n_rows + n_tasks,
                                .bars = pictures->bars,
                                .n_bars = pictures->n_bars,
                                .marks = pictures->marks,
                                .n_marks = pictures->n_marks};

        for (size_t r = 0; r < pictures->n_rows; r++)
            names[r] = pictures->names[r];
        for (size_t t = 0; t < n_tasks; t++)
            names[pictures->n_rows + t] = pictures->set->tasks[t].name;
        svg_rows(&rows, draft.out);
    }
    *ret_cut_at = pictures->cut_at;
    free(names);
    return draft_finish(&draft, path, result);
}
