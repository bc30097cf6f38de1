/* Axes: where ticks and values lie on the page. */
#ifndef REPORT_AXIS_H
#define REPORT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#define AXIS_MAX_TICKS 24

struct axis {
    double low, high; /* of the data; widened to round ticks unless fixed */
    bool log;         /* needs low > 0 */
    double from, to;  /* where low and high fall on the page */
    double ticks[AXIS_MAX_TICKS];
    size_t n_ticks;
};

/*
 * Chooses about `wanted` round ticks (1, 2 or 5 times a power of ten; powers of ten on a log axis).
 */
void axis_layout(struct axis *axis, double low, double high, bool log, double from, double to, size_t wanted);

/* The position of a value on the page. */
double axis_place(const struct axis *axis, double value);

#endif
