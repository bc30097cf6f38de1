/*
 * Pictures as self-contained SVG text, legible in light and dark: line charts for curves, row
 * charts for timelines. Text is escaped; nothing is loaded from elsewhere. The caller owns the
 * memory or file behind `out`.
 */
#ifndef REPORT_SVG_H
#define REPORT_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct svg_series {
    const char *name;
    const double *x, *y; /* n points; a NaN y breaks the line */
    size_t n;
    bool steps; /* draw as stairs */
    bool dashed;
    /* 0: by its position; else that of position colour - 1, to match another series */
    size_t colour;
};

struct svg_chart {
    const char *title;
    const char *x_label, *y_label;
    bool x_log, y_log;
    bool has_y_range; /* otherwise computed from the data, 0 included unless y_log */
    double y_low, y_high;
    const struct svg_series *series;
    size_t n_series;
};

/* A chart with axes, ticks, grid and legend, 760 x 440. */
void svg_chart(const struct svg_chart *chart, FILE *out);

struct svg_bar {
    size_t row;
    double begin, end; /* in the unit of the axis */
    size_t colour;     /* any number; a number has the same colour in every picture */
    const char *label; /* drawn when it fits; NULL: none */
    bool hatched;      /* waiting instead of working */
};

struct svg_mark {
    size_t row;
    double at;
    const char *label; /* shown as a tooltip */
    bool bad;          /* a miss: red cross; else a small arrow (a release) */
};

struct svg_rows {
    const char *title, *x_label;
    const char *const *row_names;
    size_t n_rows;
    const struct svg_bar *bars;
    size_t n_bars;
    const struct svg_mark *marks;
    size_t n_marks;
};

/* A timeline: one row per name, bars from begin to end; 960 wide, as high as its rows need. */
void svg_rows(const struct svg_rows *rows, FILE *out);

/*
 * For other drawings. svg_text escapes & < > ". svg_begin opens a picture that follows the reader's
 * theme (classes bg, ink, soft, grid, axis, mark, bad); the caller closes it with </svg>. The axes
 * have ticks, grid and a label (may be NULL).
 */
void svg_text(const char *text, FILE *out);
void svg_begin(double width, double height, const char *title, FILE *out);
struct axis;
void svg_x_axis(const struct axis *x, const char *label, double top, double bottom, FILE *out);
void svg_y_axis(const struct axis *y, const char *label, double left, double right, FILE *out);

#endif
