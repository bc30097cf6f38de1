/*
 * A histogram of response times, small enough to stand beside others. The logarithmic axis shows
 * both the body and the tail of the distribution. Even a single job is visible. Jobs beyond the
 * deadline are red.
 */
#ifndef REPORT_HISTOGRAM_H
#define REPORT_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define HISTOGRAM_WIDTH  340
#define HISTOGRAM_HEIGHT 208

struct histogram {
    const char *name;
    const double *values_ms; /* n of them, ascending, n above 0 */
    size_t n;
    double deadline_ms, bound_ms; /* negative: none */
    bool claimed;                 /* the bound is claimed, not only computed */
    size_t colour;                /* of the palette */
};

/*
 * Draws an SVG of that size. A limit far beyond every job is named at the edge, so that the jobs
 * keep their width.
 */
void histogram_draw(const struct histogram *histogram, FILE *out);

#endif
