/*
 * How long an operation takes as a function of its size, learnt while running. GPU-SPARC Fig. 4:
 * buffer write, kernel, buffer read and merge grow linearly with their size, "modeled through
 * linear regression". Per power of two of the size the latest measurements are kept and represented
 * by their median. So one slow measurement changes nothing, and a size that is not used for a while
 * stays known. Pure: sizes and nanoseconds in, nanoseconds out.
 */
#ifndef SPREAD_GROWTH_H
#define SPREAD_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

enum { GROWTH_SIZES = 12, GROWTH_LATEST = 9, GROWTH_ENOUGH = 3 };

struct growth {
    unsigned n, turn; /* known sizes; measurements so far */
    struct growth_size {
        int power;                 /* sizes 2^power to below 2^(power + 1) */
        unsigned n, used;          /* measurements; the turn of the latest */
        double per[GROWTH_LATEST]; /* ns per unit of size */
        double size;               /* of the latest */
    } sizes[GROWTH_SIZES];
};

/* size > 0. A thirteenth power of two replaces the least recently used one. */
void growth_add(struct growth *growth, size_t size, double ns);

/* Measurements of sizes in the same power of two. */
unsigned growth_known(const struct growth *growth, size_t size);
/* The latest of these measurements, scaled to the size; -1: none. */
double growth_latest(const struct growth *growth, size_t size);

/*
 * Predicted ns for that size, by the line through the medians of all sizes. If there are
 * GROWTH_ENOUGH measurements of about that size, the line is moved to their median. The line is a
 * least squares fit of the relative errors, so that small sizes count as much as large ones. It
 * never falls, is never negative, and goes through the origin while only one size is known. -1:
 * nothing is known.
 */
double growth_at(const struct growth *growth, size_t size);

/* That line: *ret_fixed + *ret_per * size. False: nothing is known. */
bool growth_line(const struct growth *growth, double *ret_fixed, double *ret_per);

#endif
