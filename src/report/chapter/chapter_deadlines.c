/* Was every deadline met? A verdict, one row per program, and late jobs in groups. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/chapter/chapter.h"

#define MAX_GROUPS 24 /* rows of the table of misses */

/* The jobs of programs that have a deadline, and how many of them missed it. */
static void count_all(const struct chapter *chapter, size_t *ret_jobs, size_t *ret_missed,
                      size_t *ret_overrun)
{
    *ret_jobs = *ret_missed = *ret_overrun = 0;
    for (size_t i = 0; i < chapter->n_programs; i++) {
        const struct chapter_program *program = &chapter->programs[i];

        *ret_missed += program->missed;
        *ret_overrun += program->overrun;
        if (chapter_deadline(program) >= 0 || program->missed)
            *ret_jobs += program->n_jobs;
    }
}

/* Misses that the programs count although the trace has lost their marks. */
static double missed_before(const struct chapter *chapter)
{
    double before = 0;

    for (size_t i = 0; i < chapter->n_programs; i++) {
        const struct chapter_program *program = &chapter->programs[i];

        if (program->task && program->task->misses > (double)program->missed)
            before += program->task->misses - (double)program->missed;
    }
    return before;
}

static void write_forgotten(const struct chapter *chapter, struct html_page *page)
{
    double before = missed_before(chapter);
    char text[160];

    if (before > 0) {
        (void)snprintf(text, sizeof text, "%.0f more %s missed before this trace begins.", before,
                       before > 1 ? "deadlines were" : "deadline was");
        page_verdict(page, text, PAGE_BAD);
    }
    if (chapter->overwritten > 0) {
        (void)snprintf(
            text, sizeof text,
            "The trace has forgotten %.0f older records: this page is about the newest jobs of each task.",
            chapter->overwritten);
        page_note(page, text);
    }
}

static void write_verdict(const struct chapter *chapter, struct html_page *page)
{
    size_t jobs;
    size_t missed;
    size_t overrun;
    char text[256];

    count_all(chapter, &jobs, &missed, &overrun);
    if (missed)
        (void)snprintf(text, sizeof text, "No: %zu of %zu jobs with a deadline missed it.", missed, jobs);
    else if (jobs)
        (void)snprintf(text, sizeof text, "Yes: all %zu jobs with a deadline in this trace were in time.",
                       jobs);
    else
        (void)snprintf(text, sizeof text, "No program had a deadline.");
    page_verdict(page, text, missed ? PAGE_BAD : jobs ? PAGE_GOOD : PAGE_PLAIN);
    if (overrun) {
        (void)snprintf(text, sizeof text, "%zu jobs took longer than a claimed bound.", overrun);
        page_verdict(page, text, PAGE_BAD);
    }
}

/* The verdict about one program in words. */
static enum page_tone judge(const struct chapter_program *program, char *ret_text, size_t size)
{
    double deadline = chapter_deadline(program);
    double worst = program->n_jobs ? chapter_percentile(program, 1000) : 0;
    /* batond marks each job beyond its bound, and says whether the bound was claimed then */
    bool above = chapter_bound_claimed(program) && worst > chapter_bound(program) && !program->unclaimed;
    const char *bound = program->overrun || above        ? "; exceeded its claimed bound"
                        : chapter_bound_claimed(program) ? "; within its claimed bound"
                        : chapter_bound(program) >= 0    ? "; its bound is not claimed"
                                                         : "";

    if (program->missed)
        (void)snprintf(ret_text, size, "missed %zu of %zu%s", program->missed, program->n_jobs, bound);
    else if (program->n_jobs == 0)
        (void)snprintf(ret_text, size, "no job ended");
    else if (deadline < 0)
        (void)snprintf(ret_text, size, "no deadline%s", bound);
    else if (deadline > 0 && worst <= deadline)
        (void)snprintf(ret_text, size, "every deadline met, %.0f %% to spare%s",
                       floor(100 * (1 - worst / deadline)), bound);
    else
        (void)snprintf(ret_text, size, "no miss was recorded%s", bound);
    return program->missed || program->overrun || above ? PAGE_BAD
           : deadline >= 0 && program->n_jobs           ? PAGE_GOOD
                                                        : PAGE_PLAIN;
}

static void cell_ms(struct html_page *page, double ms, bool unclaimed, enum page_tone tone)
{
    char number[32];
    char text[48];

    page_number(ms, number);
    (void)snprintf(text, sizeof text, unclaimed ? "(%s)" : "%s", ms < 0 ? "-" : number);
    page_cell(page, text, tone);
}

static void write_program(const struct chapter_program *program, size_t colour, struct html_page *page)
{
    double deadline = chapter_deadline(program);
    double bound = chapter_bound(program);
    double worst = program->n_jobs ? chapter_percentile(program, 1000) : -1;
    char text[160];
    enum page_tone tone;

    page_row_begin(page);
    page_name_cell(page, program->name, colour);
    (void)snprintf(text, sizeof text, "%zu", program->n_jobs);
    page_cell(page, text, PAGE_PLAIN);
    cell_ms(page, program->n_jobs ? chapter_percentile(program, 500) : -1, false, PAGE_PLAIN);
    cell_ms(page, program->n_jobs ? chapter_percentile(program, 990) : -1, false, PAGE_PLAIN);
    cell_ms(page, worst, false, PAGE_PLAIN);
    cell_ms(page, deadline, false, PAGE_PLAIN);
    cell_ms(page, bound, bound >= 0 && !chapter_bound_claimed(program), PAGE_PLAIN);
    (void)snprintf(text, sizeof text, "%zu", program->missed);
    page_cell(page, deadline < 0 && !program->missed ? "-" : text, program->missed ? PAGE_BAD : PAGE_PLAIN);
    tone = judge(program, text, sizeof text);
    page_cell(page, text, tone);
    page_row_end(page);
}

static void write_programs(const struct chapter *chapter, struct html_page *page)
{
    static const char *const head[] = {"task",         "jobs",      "p50, ms", "p99, ms", "worst, ms",
                                       "deadline, ms", "bound, ms", "missed",  "verdict"};
    bool brackets = false;

    page_table_begin(page, head, sizeof head / sizeof head[0]);
    for (size_t i = 0; i < chapter->n_programs; i++) {
        const struct chapter_program *program = &chapter->programs[i];

        if (program->n_jobs || program->missed || chapter_deadline(program) >= 0)
            write_program(program, i, page);
        brackets = brackets || (chapter_bound(program) >= 0 && !chapter_bound_claimed(program));
    }
    page_table_end(page);
    page_note(page, brackets
                        ? "Times are from a job's release to its end. A bound in brackets is computed, "
                          "but not claimed: the machine or what runs on it is not what the analysis assumes."
                        : "Times are from a job's release to its end.");
}

/* ---- what was late ---- */

/* Marks of one program and kind that are close together. */
struct deadline_group {
    size_t program, n;
    enum trace_category category;
    double first, last; /* ms */
    double worst;       /* ms late; negative: the trace does not say */
};

/* The largest gap within a group: three deadlines, but at least 1 % of the trace. */
static double longest_gap(const struct chapter *chapter, size_t program)
{
    return fmax(chapter->length / 100, 3 * fmax(chapter_deadline(&chapter->programs[program]), 0));
}

/* Parses "12.3 ms late", as `baton trace` writes it. */
static double lateness(const struct chapter_mark *mark)
{
    char *end;
    double ms = strtod(mark->detail, &end);

    return end != mark->detail && strncmp(end, " ms late", 8) == 0 ? ms : -1;
}

static size_t find_groups(const struct chapter *chapter, struct deadline_group *groups)
{
    size_t n = 0;

    for (size_t i = 0; i < chapter->n_marks; i++) {
        const struct chapter_mark *mark = &chapter->marks[i];
        struct deadline_group *group = NULL;

        if (mark->category != TRACE_MISS && mark->category != TRACE_OVERRUN)
            continue;
        for (size_t k = 0; k < n; k++) {
            if (groups[k].program == mark->program && groups[k].category == mark->category &&
                mark->at - groups[k].last <= longest_gap(chapter, mark->program))
                group = &groups[k];
        }
        if (!group) {
            group = &groups[n++];
            *group = (struct deadline_group){
                .program = mark->program, .category = mark->category, .first = mark->at, .worst = -1};
        }
        group->n++;
        group->last = mark->at;
        group->worst = fmax(group->worst, lateness(mark));
    }
    return n;
}

static void write_group(const struct chapter *chapter, const struct deadline_group *group,
                        struct html_page *page)
{
    const struct chapter_program *program = &chapter->programs[group->program];
    char first[32];
    char last[32];
    char text[96];

    page_row_begin(page);
    page_name_cell(page, program->name, group->program);
    page_cell(page, group->category == TRACE_MISS ? "deadline missed" : "claimed bound exceeded", PAGE_BAD);
    (void)snprintf(text, sizeof text, "%zu", group->n);
    page_cell(page, text, PAGE_PLAIN);
    page_number(group->first, first);
    page_number(group->last, last);
    (void)snprintf(text, sizeof text, group->n > 1 ? "%s to %s ms" : "%s ms", first, last);
    page_cell(page, text, PAGE_PLAIN);
    cell_ms(page, group->worst, false, PAGE_PLAIN);
    page_row_end(page);
}

static void write_late(const struct chapter *chapter, struct html_page *page)
{
    static const char *const head[] = {"task", "what", "jobs", "when", "latest by, ms"};
    struct deadline_group *groups = calloc(chapter->n_marks + 1, sizeof *groups);
    size_t n = groups ? find_groups(chapter, groups) : 0;
    char text[96];

    if (n) {
        page_subsection(page, "What was late, in groups");
        page_table_begin(page, head, sizeof head / sizeof head[0]);
        for (size_t i = 0; i < n && i < MAX_GROUPS; i++)
            write_group(chapter, &groups[i], page);
        page_table_end(page);
    }
    if (n > MAX_GROUPS) {
        (void)snprintf(text, sizeof text, "And %zu groups more, which are in the trace.", n - MAX_GROUPS);
        page_note(page, text);
    }
    free(groups);
}

void chapter_deadlines(const struct chapter *chapter, struct html_page *page)
{
    page_section(page, "Did every deadline hold?", NULL);
    write_verdict(chapter, page);
    write_forgotten(chapter, page);
    write_programs(chapter, page);
    write_late(chapter, page);
}
