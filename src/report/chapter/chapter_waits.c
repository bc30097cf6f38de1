/*
 * Which program waited for which? A wait is charged to the programs that held the engine meanwhile.
 * The rest of a wait, when the engine was free or its holder is not in the trace, is charged to no
 * program.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chapter/chapter.h"

#define MAX_PAIRS 24

struct pair {
    size_t waiter, holder;
    size_t times;
    double total, longest; /* ms */
};

static struct pair *pair_of(struct pair *pairs, size_t *n, size_t waiter, size_t holder)
{
    for (size_t i = 0; i < *n; i++) {
        if (pairs[i].waiter == waiter && pairs[i].holder == holder)
            return &pairs[i];
    }
    pairs[*n] = (struct pair){.waiter = waiter, .holder = holder};
    return &pairs[(*n)++];
}

/*
 * Charges one wait: to each holder the part in which that program held the engine. Holds come in
 * order of begin.
 */
static void add_wait(const struct chapter *chapter, const struct chapter_span *wait, struct pair *pairs,
                     size_t *n)
{
    const char *engine = chapter->rows[wait->row].name;
    double *parts = calloc(chapter->n_programs, sizeof *parts);

    for (size_t i = 0; parts && i < chapter->n_spans && chapter->spans[i].begin < wait->end; i++) {
        const struct chapter_span *hold = &chapter->spans[i];

        if (hold->category == TRACE_GRANTED && hold->program != wait->program && hold->end > wait->begin &&
            strcmp(chapter->rows[hold->row].name, engine) == 0)
            parts[hold->program] += fmin(hold->end, wait->end) - fmax(hold->begin, wait->begin);
    }
    for (size_t p = 0; parts && p < chapter->n_programs; p++) {
        struct pair *pair;

        if (parts[p] <= 0)
            continue;
        pair = pair_of(pairs, n, wait->program, p);
        pair->times++;
        pair->total += parts[p];
        pair->longest = fmax(pair->longest, parts[p]);
    }
    free(parts);
}

static int by_total(const void *a, const void *b)
{
    double x = ((const struct pair *)a)->total;
    double y = ((const struct pair *)b)->total;

    return (x < y) - (x > y);
}

static void write_pair(const struct chapter *chapter, const struct pair *pair, struct html_page *page)
{
    const struct chapter_program *waiter = &chapter->programs[pair->waiter];
    char number[32];
    char text[48];

    page_row_begin(page);
    page_name_cell(page, waiter->name, pair->waiter);
    page_name_cell(page, chapter->programs[pair->holder].name, pair->holder);
    (void)snprintf(text, sizeof text, "%zu", pair->times);
    page_cell(page, text, PAGE_PLAIN);
    page_number(pair->longest, number);
    page_cell(page, number, PAGE_PLAIN);
    page_number(pair->total, number);
    page_cell(page, number, PAGE_PLAIN);
    (void)snprintf(text, sizeof text, waiter->response_ms > 0 ? "%.1f %%" : "-",
                   100 * pair->total / (waiter->response_ms > 0 ? waiter->response_ms : 1));
    page_cell(page, text, PAGE_PLAIN);
    page_row_end(page);
}

static void write_pairs(const struct chapter *chapter, struct pair *pairs, size_t n, struct html_page *page)
{
    static const char *const head[] = {"waited",      "while it was held by", "times",
                                       "longest, ms", "in all, ms",           "of its jobs' time"};

    qsort(pairs, n, sizeof *pairs, by_total);
    page_table_begin(page, head, sizeof head / sizeof head[0]);
    for (size_t i = 0; i < n && i < MAX_PAIRS; i++)
        write_pair(chapter, &pairs[i], page);
    page_table_end(page);
}

void chapter_waits(const struct chapter *chapter, struct html_page *page)
{
    struct pair *pairs = calloc(chapter->n_programs * chapter->n_programs + 1, sizeof *pairs);
    bool told = false; /* the trace records waits at all */
    size_t n = 0;

    for (size_t i = 0; pairs && i < chapter->n_spans; i++) {
        const struct chapter_span *span = &chapter->spans[i];

        told = told || span->category == TRACE_QUEUED;
        if (span->category == TRACE_QUEUED && span->end > span->begin)
            add_wait(chapter, span, pairs, &n);
    }
    if (told) {
        page_section(page, "Which program waited for which?",
                     n ? "Waits for an engine, by the program that held it meanwhile. Waits can overlap: a "
                         "program may "
                         "wait for several engines."
                       : "No program waited for an engine that another one held.");
        if (n)
            write_pairs(chapter, pairs, n, page);
    }
    free(pairs);
}
