/*
 * How far were responses from the bound? A bar per task on the scale of its deadline, then the
 * distribution of each task's responses.
 */
#include <math.h>
#include <string.h>

#include "report/chapter/chapter.h"
#include "report/histogram.h"

#define SCALE 1.05 /* times the largest value: the end of a bar */

/* "worst 2.57 ms, deadline 20 ms, bound 3.1 ms (not claimed)" */
static void margin_words(const struct chapter_program *program, char *ret_text, size_t size)
{
    double limits[] = {chapter_percentile(program, 1000), chapter_deadline(program), chapter_bound(program)};
    static const char *const names[] = {"worst", ", deadline", ", bound"};
    size_t used = 0;

    ret_text[0] = 0;
    for (size_t i = 0; i < 3; i++) {
        char number[32];

        page_number(limits[i], number);
        if (limits[i] >= 0 && used < size)
            used += (size_t)snprintf(ret_text + used, size - used, "%s %s ms%s", names[i], number,
                                     i == 2 && !chapter_bound_claimed(program) ? " (not claimed)" : "");
    }
}

/*
 * The part beyond the deadline is red. A bar longer than twice its limits is truncated there, and
 * the caption says so.
 */
static void write_margin(const struct chapter_program *program, size_t colour, struct html_page *page)
{
    double deadline = chapter_deadline(program);
    double bound = chapter_bound(program);
    double worst = chapter_percentile(program, 1000);
    double limit = fmax(deadline, bound);
    double scale = SCALE * fmax(limit, fmin(worst, 2 * limit));
    double good = deadline >= 0 ? fmin(worst, deadline) : worst;
    char caption[160];
    struct page_segment segments[] = {
        {.share = good / scale, .colour = colour, .title = "worst response"},
        {.share = (fmin(worst, scale) - good) / scale, .bad = true, .title = "beyond the deadline"},
    };
    struct page_tick ticks[2];
    size_t n = 0;

    if (deadline >= 0)
        ticks[n++] = (struct page_tick){deadline / scale, PAGE_TICK_DEADLINE, "deadline"};
    if (bound >= 0)
        ticks[n++] = (struct page_tick){
            bound / scale, chapter_bound_claimed(program) ? PAGE_TICK_BOUND : PAGE_TICK_UNCLAIMED, "bound"};
    margin_words(program, caption, sizeof caption);
    if (worst > scale) {
        size_t used = strlen(caption);
        char number[32];

        page_number(scale, number);
        (void)snprintf(caption + used, sizeof caption - used, "; the bar is cut off at %s ms", number);
    }
    page_bar(page, &(struct page_bar){.name = program->name,
                                      .caption = caption,
                                      .segments = segments,
                                      .n_segments = worst > good ? 2 : 1,
                                      .ticks = ticks,
                                      .n_ticks = n,
                                      .colour = colour});
}

static void write_histogram(const struct chapter_program *program, size_t colour, struct html_page *page)
{
    page_picture_begin(page);
    histogram_draw(&(struct histogram){.name = program->name,
                                       .values_ms = program->responses,
                                       .n = program->n_jobs,
                                       .deadline_ms = chapter_deadline(program),
                                       .bound_ms = chapter_bound(program),
                                       .claimed = chapter_bound_claimed(program),
                                       .colour = colour},
                   page->out);
    page_picture_end(page);
}

void chapter_margins(const struct chapter *chapter, struct html_page *page)
{
    size_t limits = 0;
    size_t bounds = 0;
    size_t jobs = 0;

    for (size_t i = 0; i < chapter->n_programs; i++) {
        const struct chapter_program *program = &chapter->programs[i];

        jobs += program->n_jobs > 0;
        limits += program->n_jobs && (chapter_deadline(program) > 0 || chapter_bound(program) > 0);
        bounds += program->n_jobs && chapter_bound(program) >= 0;
    }
    if (!jobs)
        return;
    page_section(page, "How far from the bound?",
                 bounds ? "The bar is the worst response; the marks are the deadline and the bound."
                        : "No bound was computed for what ran here, so the deadline is the only limit.");
    for (size_t i = 0; i < chapter->n_programs && limits; i++) {
        const struct chapter_program *program = &chapter->programs[i];

        if (program->n_jobs && (chapter_deadline(program) > 0 || chapter_bound(program) > 0))
            write_margin(program, i, page);
    }
    page_subsection(page, "Response times of all jobs, on a logarithmic scale");
    page_grid_begin(page);
    for (size_t i = 0; i < chapter->n_programs; i++) {
        if (chapter->programs[i].n_jobs)
            write_histogram(&chapter->programs[i], i, page);
    }
    page_grid_end(page);
}
