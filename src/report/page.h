/*
 * One self-contained HTML page: no network, light and dark, readable on a phone. Made from sections, tables, pictures and one
 * interactive timeline per trace. All text is escaped here.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/nsec.h"

struct page {
    FILE *out; /* borrowed */
    unsigned timelines;
};

void page_begin(struct page *page, FILE *out, const char *title, const char *subtitle);
void page_section(struct page *page, const char *title, const char *text); /* text may be NULL */
void page_end(struct page *page);

enum page_tone { PAGE_PLAIN, PAGE_GOOD, PAGE_BAD };

/* A few large numbers at the top: "0" / "misses". */
void page_figures_begin(struct page *page);
void page_figure(struct page *page, const char *value, const char *label, enum page_tone tone);
void page_figures_end(struct page *page);

/* Tables: a head, then rows of cells. A cell that reads as a number is set to the right. */
void page_table_begin(struct page *page, const char *const head[], size_t n);
void page_row_begin(struct page *page);
void page_cell(struct page *page, const char *text, enum page_tone tone);
void page_row_end(struct page *page);
void page_table_end(struct page *page);

/* A picture that somebody writes into page->out between these two. */
void page_picture_begin(struct page *page);
void page_picture_end(struct page *page);

/* One bar of the timeline. Instants in ms from wherever the trace starts. */
struct page_span {
    unsigned row;
    double begin_ms, end_ms;
    const char *task;
    size_t colour;
    bool soft; /* waiting rather than working */
};

struct page_event {
    unsigned row;
    double at_ms;
    const char *text;
    bool bad;
};

struct page_timeline {
    const char *const *row_names;
    size_t n_rows;
    const struct page_span *spans;
    size_t n_spans;
    const struct page_event *events;
    size_t n_events;
};

/* A timeline to zoom (wheel, pinch, buttons) and drag; a tooltip tells what is under the pointer. */
void page_timeline(struct page *page, const struct page_timeline *timeline);

#endif
