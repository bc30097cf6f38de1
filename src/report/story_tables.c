/* The chapters that are tables: analyses, simulations, batches, makespans, a daemon's status. */
#include <string.h>

#include "report/story.h"
#include "report/svg.h"

/* A JSON value as a cell: numbers with four digits behind the point at most, null as unbounded. */
static void put_value(struct page *page, const json_t *value, enum page_tone tone)
{
    char text[64];

    if (json_is_string(value)) {
        page_cell(page, json_string_value(value), tone);
        return;
    }
    if (json_is_integer(value))
        (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_number(value))
        (void)snprintf(text, sizeof text, "%.4g", json_number_value(value));
    else if (json_is_boolean(value))
        (void)snprintf(text, sizeof text, "%s", json_is_true(value) ? "yes" : "no");
    else if (json_is_null(value))
        (void)snprintf(text, sizeof text, "unbounded");
    else
        (void)snprintf(text, sizeof text, "-");
    page_cell(page, text, tone);
}

/* Red where the answer is bad: a response past its deadline, a miss, an observation past its bound. */
static enum page_tone judge(const json_t *entry, const char *key)
{
    const json_t *value = json_object_get(entry, key);
    const json_t *deadline = json_object_get(entry, "deadline_ms");
    const json_t *bound = json_object_get(entry, "bound_ms");

    if (strcmp(key, "misses") == 0)
        return json_number_value(value) > 0 ? PAGE_BAD : PAGE_GOOD;
    if (strcmp(key, "response_ms") == 0 || strcmp(key, "max_response_ms") == 0 ||
        strcmp(key, "worst_ms") == 0) {
        if (json_is_null(value))
            return PAGE_BAD;
        if (json_is_number(deadline) && json_number_value(value) > json_number_value(deadline))
            return PAGE_BAD;
        if (json_is_number(bound) && json_number_value(value) > json_number_value(bound))
            return PAGE_BAD;
        return PAGE_GOOD;
    }
    return PAGE_PLAIN;
}

/* All entries of an array of objects as one table; the columns are the scalar keys of the first entry. */
static void write_table(struct page *page, const json_t *entries)
{
    const char *head[24];
    size_t n = 0;
    size_t i;
    const char *key;
    json_t *value;
    json_t *entry;

    json_object_foreach(json_array_get(entries, 0), key, value)
    {
        if (n < sizeof head / sizeof head[0] && !json_is_object(value) && !json_is_array(value))
            head[n++] = key;
    }
    page_table_begin(page, head, n);
    json_array_foreach(entries, i, entry)
    {
        page_row_begin(page);
        for (size_t k = 0; k < n; k++)
            put_value(page, json_object_get(entry, head[k]), judge(entry, head[k]));
        page_row_end(page);
    }
    page_table_end(page);
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : 0;
}

/* Streams as Fig. 3 of the Batch paper draws them: a row each, the copy and then the kernel. */
static void write_batch_picture(struct page *page, const json_t *streams)
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

/* The top-level scalars as figures: method, total, schedulable, lower, upper. */
static void write_scalars(struct page *page, const json_t *root)
{
    const char *key;
    json_t *value;
    json_t *object = (json_t *)root;

    page_figures_begin(page);
    json_object_foreach(object, key, value)
    {
        char text[64];

        if (json_is_string(value) && strlen(json_string_value(value)) < 40)
            (void)snprintf(text, sizeof text, "%s", json_string_value(value));
        else if (json_is_integer(value))
            (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
        else if (json_is_number(value))
            (void)snprintf(text, sizeof text, "%.4g", json_number_value(value));
        else if (json_is_boolean(value))
            (void)snprintf(text, sizeof text, "%s", json_is_true(value) ? "yes" : "no");
        else
            continue;
        page_figure(page, text, key,
                    strcmp(key, "schedulable") ? PAGE_PLAIN
                    : json_is_true(value)      ? PAGE_GOOD
                                               : PAGE_BAD);
    }
    page_figures_end(page);
}

void story_tables(const struct story *story, const struct story_input *input, struct page *page)
{
    static const char *const titles[] = {"Trace",    "Analysis", "Simulation", "Batch",
                                         "Makespan", "Daemon",   "Study"};
    const char *key;
    json_t *value;

    (void)story;
    page_section(page, titles[input->kind], NULL);
    write_scalars(page, input->root);
    if (input->kind == STORY_BATCH)
        write_batch_picture(page, json_object_get(input->root, "streams"));
    json_object_foreach(input->root, key, value)
    {
        if (!json_is_array(value) || !json_is_object(json_array_get(value, 0)))
            continue;
        page_section(page, input->kind == STORY_STUDY ? "Ranking" : key, NULL);
        write_table(page, value);
    }
}
