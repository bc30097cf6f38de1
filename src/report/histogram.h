/* A histogram of response times with the deadline and the bound drawn into it. */
#ifndef REPORT_HISTOGRAM_H
#define REPORT_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct histogram {
    const char *title;
    const double *values_ms; /* n of them, in any order */
    size_t n;
    double deadline_ms, bound_ms; /* negative: none */
    bool unclaimed;               /* the bound is computed, not claimed */
};

/* An SVG, 760 x 220; counts on the y axis. */
void histogram_draw(const struct histogram *histogram, FILE *out);

#endif
