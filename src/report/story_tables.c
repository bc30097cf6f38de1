/* The chapters that are tables: analyses, simulations, batches, makespans, a daemon's status. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report/story.h"
#include "report/svg.h"

#define MAX_COLUMNS 48

/* "copy_begin_ms" as a reader expects it: "copy begin, ms". */
static void key_words(const char *key, char ret_text[64])
{
    size_t length = strlen(key);
    bool ms = length > 3 && strcmp(key + length - 3, "_ms") == 0;

    (void)snprintf(ret_text, 64, "%.*s%s", (int)(ms ? length - 3 : length), key, ms ? ", ms" : "");
    for (char *c = ret_text; *c; c++)
        *c = *c == '_' ? ' ' : *c;
}

/* Four digits, never with an exponent. */
static void number_words(double value, char ret_text[64])
{
    (void)snprintf(ret_text, 64, fabs(value) >= 1000 && fabs(value) < 1e12 ? "%.0f" : "%.4g", value);
}

/*
 * Red for a bad answer: a response beyond its deadline, a miss, a response beyond a claimed bound.
 */
static enum page_tone judge(const json_t *entry, const char *key)
{
    const json_t *value = json_object_get(entry, key);
    const json_t *deadline = json_object_get(entry, "deadline_ms");
    const json_t *bound = json_object_get(entry, "bound_ms");
    const json_t *broken = json_object_get(entry, "claimed_bound_exceeded");
    bool claimed = !json_is_false(json_object_get(entry, "bound_claimed"));

    if (strcmp(key, "misses") == 0)
        return json_number_value(value) > 0 ? PAGE_BAD : PAGE_GOOD;
    if (strcmp(key, "claimed_bound_exceeded") == 0)
        return json_number_value(value) > 0 ? PAGE_BAD : PAGE_GOOD;
    if (strcmp(key, "response_ms") == 0 && json_is_null(value))
        return PAGE_BAD;
    if (json_is_number(value) && (strcmp(key, "response_ms") == 0 || strcmp(key, "max_response_ms") == 0 ||
                                  strcmp(key, "observed_ms") == 0)) {
        if (json_is_number(deadline) && json_number_value(value) > json_number_value(deadline))
            return PAGE_BAD;
        /* batond counts the jobs whose bound was claimed; the worst job may be another one */
        if (broken ? json_number_value(broken) > 0
                   : claimed && json_is_number(bound) && json_number_value(value) > json_number_value(bound))
            return PAGE_BAD;
        return PAGE_GOOD;
    }
    return PAGE_PLAIN;
}

/*
 * What null means: an analysis found no bound; an engine has no holder; otherwise nothing is known.
 */
static const char *null_words(const char *key, enum story_kind kind)
{
    if (kind == STORY_ANALYSIS && (strcmp(key, "response_ms") == 0 || strcmp(key, "tardiness_ms") == 0))
        return "unbounded";
    return strcmp(key, "holder") == 0 ? "free" : "-";
}

/*
 * One value of an entry as a cell. A bound that is not claimed is in brackets, as in `baton
 * status`.
 */
static void put_value(struct html_page *page, const json_t *entry, const char *key, enum story_kind kind)
{
    const json_t *value = json_object_get(entry, key);
    enum page_tone tone = judge(entry, key);
    bool unclaimed = strcmp(key, "bound_ms") == 0 && json_is_false(json_object_get(entry, "bound_claimed"));
    char number[64];
    char text[72];

    if (json_is_string(value)) {
        page_cell(page, json_string_value(value), tone);
        return;
    }
    if (json_is_integer(value))
        (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_number(value)) {
        number_words(json_number_value(value), number);
        (void)snprintf(text, sizeof text, unclaimed ? "(%s)" : "%s", number);
    } else if (json_is_boolean(value))
        (void)snprintf(text, sizeof text, "%s", json_is_true(value) ? "yes" : "no");
    else
        (void)snprintf(text, sizeof text, "%s", json_is_null(value) ? null_words(key, kind) : "-");
    page_cell(page, text, tone);
}

/*
 *  All entries of an array of objects as one table; the columns are the scalar keys of the first
 *  entry.
 */
static void write_table(struct html_page *page, const json_t *entries, enum story_kind kind)
{
    const char *head[MAX_COLUMNS];
    const char *shown[MAX_COLUMNS];
    bool numbers[MAX_COLUMNS];
    char words[MAX_COLUMNS][64];
    size_t left_out = 0;
    size_t n = 0;
    size_t i;
    const char *key;
    json_t *value;
    json_t *entry;

    /* first, independent of the order of keys */
    if (json_object_get(json_array_get(entries, 0), "name"))
        head[n++] = "name";
    json_object_foreach(json_array_get(entries, 0), key, value)
    {
        bool column = !json_is_object(value) && !json_is_array(value) && strcmp(key, "name") != 0;

        if (column && n < MAX_COLUMNS)
            head[n++] = key;
        else
            left_out += column;
    }
    for (size_t k = 0; k < n; k++) {
        key_words(head[k], words[k]);
        shown[k] = words[k];
        value = json_object_get(json_array_get(entries, 0), head[k]);
        numbers[k] = json_is_number(value) || json_is_null(value);
    }
    page_table_begin_aligned(page, shown, numbers, n);
    json_array_foreach(entries, i, entry)
    {
        page_row_begin(page);
        for (size_t k = 0; k < n; k++)
            put_value(page, entry, head[k], kind);
        page_row_end(page);
    }
    page_table_end(page);
    if (left_out)
        (void)fprintf(page->out, "<p>%zu columns more are in the file.</p>\n", left_out);
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : 0;
}

/* Streams as in Fig. 3 of the Batch paper: a row each, the copy and then the kernel. */
static void write_batch_picture(struct html_page *page, const json_t *streams)
{
    struct svg_bar bars[128];
    char names[64][24];
    const char *rows[64];
    size_t n = json_array_size(streams) < 64 ? json_array_size(streams) : 64;
    size_t n_bars = 0;

    for (size_t i = 0; i < n; i++) {
        const json_t *stream = json_array_get(streams, i);

        (void)snprintf(names[i], sizeof names[i], "stream %zu", i);
        rows[i] = names[i];
        if (number_of(stream, "copy_end_ms") > number_of(stream, "copy_begin_ms"))
            bars[n_bars++] = (struct svg_bar){.row = i,
                                              .begin = number_of(stream, "copy_begin_ms"),
                                              .end = number_of(stream, "copy_end_ms"),
                                              .colour = 0,
                                              .label = "copy"};
        if (number_of(stream, "kernel_end_ms") > number_of(stream, "kernel_begin_ms"))
            bars[n_bars++] = (struct svg_bar){.row = i,
                                              .begin = number_of(stream, "kernel_begin_ms"),
                                              .end = number_of(stream, "kernel_end_ms"),
                                              .colour = 1,
                                              .label = "kernel"};
    }
    page_picture_begin(page);
    svg_rows(
        &(struct svg_rows){.x_label = "ms", .row_names = rows, .n_rows = n, .bars = bars, .n_bars = n_bars},
        page->out);
    page_picture_end(page);
}

/* One bar each for the schedules found and for the bounds that no schedule exceeds. */
static void write_makespan_picture(struct html_page *page, const json_t *root)
{
    static const struct {
        const char *name, *key, *within; /* within: the object that has the key; NULL: the root */
    } rows[] = {
        {"round robin", "round_robin", "starts"},   {"fixed priority", "fixed_priority", "starts"},
        {"most pending", "most_pending", "starts"}, {"worst schedule found", "lower", NULL},
        {"no schedule is longer", "upper", NULL},   {"cheap bound", "cheap_bound", NULL},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    struct svg_bar bars[ROWS];
    const char *names[ROWS];
    char labels[ROWS][24];
    size_t n = 0;

    for (size_t i = 0; i < ROWS; i++) {
        const json_t *object = rows[i].within ? json_object_get(root, rows[i].within) : root;
        double cycles = number_of(object, rows[i].key);

        if (cycles <= 0)
            continue;
        names[n] = rows[i].name;
        (void)snprintf(labels[n], sizeof labels[n], "%.0f", cycles);
        bars[n] = (struct svg_bar){.row = n,
                                   .end = cycles,
                                   .colour = strcmp(rows[i].key, "lower") == 0 ? 1
                                             : i > 3                           ? 2
                                                                               : 0,
                                   .label = labels[n]};
        n++;
    }
    page_picture_begin(page);
    svg_rows(
        &(struct svg_rows){.x_label = "cycles", .row_names = names, .n_rows = n, .bars = bars, .n_bars = n},
        page->out);
    page_picture_end(page);
}

/* The top-level scalars as figures: method, total, schedulable, lower, upper. */
static void write_scalars(struct html_page *page, const json_t *root)
{
    const char *key;
    json_t *value;
    json_t *object = (json_t *)root;
    /* Bounded does not mean met: if the answer has both, the deadlines decide its colour. */
    const char *judged = json_object_get(root, "deadlines_met") ? "deadlines_met" : "schedulable";

    page_figures_begin(page);
    json_object_foreach(object, key, value)
    {
        char text[64];
        char words[64];

        if (json_is_string(value) && strlen(json_string_value(value)) < 40)
            (void)snprintf(text, sizeof text, "%s", json_string_value(value));
        else if (json_is_integer(value))
            (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
        else if (json_is_number(value))
            number_words(json_number_value(value), text);
        else if (json_is_boolean(value))
            (void)snprintf(text, sizeof text, "%s", json_is_true(value) ? "yes" : "no");
        else
            continue;
        key_words(key, words);
        page_figure(page, text, words,
                    strcmp(key, judged)   ? PAGE_PLAIN
                    : json_is_true(value) ? PAGE_GOOD
                                          : PAGE_BAD);
    }
    page_figures_end(page);
}

void story_tables(const struct story *story, const struct story_input *input, struct html_page *page)
{
    static const char *const titles[] = {"Trace",    "Analysis", "Simulation", "Batch",
                                         "Makespan", "Daemon",   "Study"};
    char title[64];
    const char *key;
    json_t *value;

    (void)story;
    page_section(page, titles[input->kind], NULL);
    write_scalars(page, input->root);
    if (input->kind == STORY_BATCH)
        write_batch_picture(page, json_object_get(input->root, "streams"));
    if (input->kind == STORY_MAKESPAN)
        write_makespan_picture(page, input->root);
    json_object_foreach(input->root, key, value)
    {
        if (!json_is_array(value) || !json_is_object(json_array_get(value, 0)))
            continue;
        (void)snprintf(title, sizeof title, "%s", input->kind == STORY_STUDY ? "Ranking" : key);
        title[0] = (char)toupper((unsigned char)title[0]);
        page_subsection(page, title);
        write_table(page, value, input->kind);
    }
}
