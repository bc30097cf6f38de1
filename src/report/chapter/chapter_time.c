/*
 * Where did the time go? Each engine's time by program, each task's jobs by activity, and the
 * kernels that ran longest.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chapter/chapter.h"

#define MAX_KERNELS 12

/* ---- engines ---- */

/* How long each program ran on the engine of that name, ms. */
static double sum_engine(const struct chapter *chapter, const char *engine, double *ret_ms)
{
    double total = 0;

    for (size_t i = 0; i < chapter->n_spans; i++) {
        const struct chapter_span *span = &chapter->spans[i];

        if (span->category != TRACE_RUNNING || strcmp(chapter->rows[span->row].name, engine) != 0)
            continue;
        ret_ms[span->program] += span->end - span->begin;
        total += span->end - span->begin;
    }
    return total;
}

static void write_engine(const struct chapter *chapter, const char *engine, struct html_page *page)
{
    double *ms = calloc(chapter->n_programs + 1, sizeof *ms);
    struct page_segment *segments = calloc(chapter->n_programs + 1, sizeof *segments);
    double whole = chapter->length;
    char caption[512] = "";
    double total;
    size_t n = 0;

    if (!ms || !segments)
        goto out;
    total = sum_engine(chapter, engine, ms);
    whole = fmax(whole, total); /* several CPUs under one name may exceed the time of one */
    for (size_t p = 0; p < chapter->n_programs && whole > 0; p++) {
        size_t used = strlen(caption);

        if (ms[p] <= 0)
            continue;
        segments[n++] =
            (struct page_segment){.share = ms[p] / whole, .colour = p, .title = chapter->programs[p].name};
        (void)snprintf(caption + used, sizeof caption - used,
                       ms[p] < whole / 1000 ? "%s < 0.1 %%, " : "%s %.1f %%, ", chapter->programs[p].name,
                       100 * ms[p] / whole);
    }
    (void)snprintf(caption + strlen(caption), sizeof caption - strlen(caption), "idle %.1f %%",
                   whole > 0 ? fmax(100 * (1 - total / whole), 0) : 100);
    page_bar(page, &(struct page_bar){.name = engine,
                                      .caption = caption,
                                      .segments = segments,
                                      .n_segments = n,
                                      .colour = PAGE_NO_COLOUR});
out:
    free(segments);
    free(ms);
}

static void write_engines(const struct chapter *chapter, struct html_page *page)
{
    for (size_t r = 0; r < chapter->n_rows; r++) {
        bool first = chapter->rows[r].engine && !strchr(chapter->rows[r].name, '(');

        for (size_t k = 0; k < r && first; k++)
            first = !chapter->rows[k].engine || strcmp(chapter->rows[k].name, chapter->rows[r].name) != 0;
        if (first)
            write_engine(chapter, chapter->rows[r].name, page);
    }
}

/* ---- jobs ---- */

static void write_jobs_of(const struct chapter_program *program, size_t colour, struct html_page *page)
{
    double whole = program->response_ms;
    double run = fmin(program->run_ms, whole);
    double wait = fmin(program->wait_ms, whole - run);
    struct page_segment segments[] = {
        {.share = run / whole, .colour = colour, .title = "on engines"},
        {.share = wait / whole, .colour = colour, .style = PAGE_WAIT, .title = "waiting for engines"},
        {.share = (whole - run - wait) / whole, .colour = colour, .style = PAGE_FAINT, .title = "elsewhere"},
    };
    char number[32];
    char caption[192];

    page_number(whole / (double)program->n_jobs, number);
    (void)snprintf(caption, sizeof caption,
                   "%s ms a job in the mean: %.0f %% on engines, %.0f %% waiting for them, %.0f %% elsewhere "
                   "(CPU, driver)",
                   number, 100 * run / whole, 100 * wait / whole, 100 * (whole - run - wait) / whole);
    page_bar(page, &(struct page_bar){.name = program->name,
                                      .caption = caption,
                                      .segments = segments,
                                      .n_segments = 3,
                                      .colour = colour});
}

/* ---- kernels ---- */

struct kernel_time {
    const char *name;
    size_t program, runs;
    uint64_t pieces, items;
    double total, longest; /* ms */
};

static size_t sum_kernels(const struct chapter *chapter, struct kernel_time *kernels)
{
    size_t n = 0;

    for (size_t i = 0; i < chapter->n_spans; i++) {
        const struct chapter_span *span = &chapter->spans[i];
        size_t k = 0;

        if (span->category != TRACE_RUNNING || !*span->kernel)
            continue;
        while (k < n && (kernels[k].program != span->program || strcmp(kernels[k].name, span->kernel) != 0))
            k++;
        if (k == n)
            kernels[n++] = (struct kernel_time){.name = span->kernel, .program = span->program};
        kernels[k].runs++;
        kernels[k].pieces += span->pieces;
        kernels[k].items = span->items > kernels[k].items ? span->items : kernels[k].items;
        kernels[k].total += span->end - span->begin;
        kernels[k].longest = fmax(kernels[k].longest, span->end - span->begin);
    }
    return n;
}

static int by_total(const void *a, const void *b)
{
    double x = ((const struct kernel_time *)a)->total;
    double y = ((const struct kernel_time *)b)->total;

    return (x < y) - (x > y);
}

static void write_kernel(const struct chapter *chapter, const struct kernel_time *kernel,
                         struct html_page *page)
{
    char text[32];

    page_row_begin(page);
    page_name_cell(page, chapter->programs[kernel->program].name, kernel->program);
    page_cell(page, kernel->name, PAGE_PLAIN);
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)kernel->items);
    page_cell(page, text, PAGE_PLAIN);
    (void)snprintf(text, sizeof text, "%zu", kernel->runs);
    page_cell(page, text, PAGE_PLAIN);
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)kernel->pieces);
    page_cell(page, text, PAGE_PLAIN);
    page_number(kernel->longest, text);
    page_cell(page, text, PAGE_PLAIN);
    page_number(kernel->total, text);
    page_cell(page, text, PAGE_PLAIN);
    page_row_end(page);
}

static void write_kernels(const struct chapter *chapter, struct html_page *page)
{
    static const char *const head[] = {"task",   "kernel",          "work-items", "runs",
                                       "pieces", "longest run, ms", "in all, ms"};
    struct kernel_time *kernels = calloc(chapter->n_spans + 1, sizeof *kernels);
    size_t n = kernels ? sum_kernels(chapter, kernels) : 0;

    if (n) {
        qsort(kernels, n, sizeof *kernels, by_total);
        page_subsection(page, "Kernels");
        page_table_begin(page, head, sizeof head / sizeof head[0]);
        for (size_t i = 0; i < n && i < MAX_KERNELS; i++)
            write_kernel(chapter, &kernels[i], page);
        page_table_end(page);
        page_note(
            page,
            "A run is what a program did on the engine without a pause; a kernel that yielded has several.");
    }
    free(kernels);
}

void chapter_time(const struct chapter *chapter, struct html_page *page)
{
    bool jobs = false;

    if (!chapter->n_spans)
        return;
    page_section(page, "Where was the time?", NULL);
    write_engines(chapter, page);
    for (size_t i = 0; i < chapter->n_programs; i++) {
        const struct chapter_program *program = &chapter->programs[i];

        if (!program->n_jobs || program->response_ms <= 0 || program->run_ms + program->wait_ms <= 0)
            continue;
        if (!jobs)
            page_subsection(page, "Within the jobs of each task");
        jobs = true;
        write_jobs_of(program, i, page);
    }
    chapter_timeline(chapter, page);
    write_kernels(chapter, page);
}
