/*
 * One self-contained HTML page: no network, light and dark, and no wider than a phone. It consists
 * of sections, tables, bars, pictures and one interactive timeline per trace. All text is escaped
 * here. Red means only a missed deadline, an exceeded claimed bound or a negative answer. Programs
 * have the palette's colours, none of which is red.
 */
#ifndef REPORT_HTML_PAGE_H
#define REPORT_HTML_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/nsec.h"

#define PAGE_NO_COLOUR SIZE_MAX

struct html_page {
    FILE *out; /* borrowed */
    unsigned timelines;
    /* of the open table, borrowed until page_table_end(); NULL: no table is open */
    const char *const *head;
    size_t n_head, column;
};

void page_begin(struct html_page *page, FILE *out, const char *title, const char *subtitle);
void page_section(struct html_page *page, const char *title, const char *text); /* text may be NULL */
void page_subsection(struct html_page *page, const char *title);
void page_note(struct html_page *page, const char *text); /* small print */
void page_end(struct html_page *page);

enum page_tone { PAGE_PLAIN, PAGE_GOOD, PAGE_BAD };

/* An answer in words, in large type. */
void page_verdict(struct html_page *page, const char *text, enum page_tone tone);

/* Three significant digits, never with an exponent: "0.708", "12.3", "1416". */
void page_number(double value, char ret_text[32]);

/* A few large numbers at the top: "0" / "misses". */
void page_figures_begin(struct html_page *page);
void page_figure(struct html_page *page, const char *value, const char *label, enum page_tone tone);
void page_figures_end(struct html_page *page);

/*
 * Tables: a head, then rows of cells. Numbers are aligned right. On a narrow screen each row
 * becomes a card, and each cell shows its column's name, so that no table is wider than the screen.
 */
void page_table_begin(struct html_page *page, const char *const head[], size_t n);
/* The same, for a caller that knows which columns are numbers. */
void page_table_begin_aligned(struct html_page *page, const char *const head[], const bool numbers[],
                              size_t n);
void page_row_begin(struct html_page *page);
void page_cell(struct html_page *page, const char *text, enum page_tone tone);
/* a program and its colour */
void page_name_cell(struct html_page *page, const char *name, size_t colour);
void page_row_end(struct html_page *page);
void page_table_end(struct html_page *page);

/* A picture that the caller writes into page->out between these two. */
void page_picture_begin(struct html_page *page);
void page_picture_end(struct html_page *page);

/* Pictures side by side, as many as fit. */
void page_grid_begin(struct html_page *page);
void page_grid_end(struct html_page *page);

enum page_style {
    PAGE_RUN,   /* solid: runs on an engine */
    PAGE_WAIT,  /* hatched: waits for one */
    PAGE_HOLD,  /* thin: holds one */
    PAGE_JOB,   /* outlined: a job from its release to its end */
    PAGE_FAINT, /* pale: other time */
};

/* One bar across the page, from 0 to 1. */
struct page_segment {
    double share;
    size_t colour;
    enum page_style style;
    bool bad;          /* red instead of its colour */
    const char *title; /* shown as a tooltip */
};

enum page_tick_kind { PAGE_TICK_DEADLINE, PAGE_TICK_BOUND, PAGE_TICK_UNCLAIMED };

struct page_tick {
    double at; /* 0 to 1 */
    enum page_tick_kind kind;
    const char *title;
};

struct page_bar {
    const char *name, *caption;
    size_t colour; /* of the name; PAGE_NO_COLOUR: none */
    const struct page_segment *segments;
    size_t n_segments;
    const struct page_tick *ticks;
    size_t n_ticks;
};

void page_bar(struct html_page *page, const struct page_bar *bar);

/* The timeline. Instants in ms from the trace's first event. */
struct page_timeline_row {
    const char *name;
    bool engine;
};

struct page_program {
    const char *name;
    bool used; /* appears in the legend */
};

struct page_span {
    unsigned row;
    double begin_ms, end_ms;
    size_t program; /* also its colour */
    enum page_style style;
    const char *label;
    uint64_t pieces, size; /* 0: unknown */
    bool bytes;            /* size is in bytes, else in work-items */
};

struct page_event {
    unsigned row;
    double at_ms;
    const char *text;
    bool bad;
};

struct page_timeline {
    const struct page_timeline_row *rows;
    size_t n_rows;
    const struct page_program *programs;
    size_t n_programs;
    const struct page_span *spans;
    size_t n_spans;
    const struct page_event *events;
    size_t n_events;
    double focus_from_ms, focus_to_ms; /* the part shown first */
};

/*
 * With a legend. The reader can zoom (wheel, pinch, buttons) and drag; a line describes what is
 * under the pointer.
 */
void page_timeline(struct html_page *page, const struct page_timeline *timeline);

#endif
