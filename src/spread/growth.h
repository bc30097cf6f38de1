/*
 * How long something takes over its size, learnt while running. GPU-SPARC Fig. 4: buffer write,
 * kernel, buffer read and merge grow linearly with their size, "modeled through linear regression".
 * Per power of two of the size the latest measurements are kept, and their median stands for them,
 * so that one slow moment moves nothing and a size that is not used for a while is not forgotten.
 * Pure: sizes and nanoseconds in, nanoseconds out.
 */
#ifndef SPREAD_GROWTH_H
#define SPREAD_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

enum { GROWTH_SIZES = 12, GROWTH_LATEST = 9, GROWTH_ENOUGH = 3 };

struct growth {
    unsigned n, turn; /* sizes that are known; measurements so far */
    struct growth_size {
        int power;                 /* sizes 2^power to below 2^(power + 1) */
        unsigned n, used;          /* measurements; the turn of the latest */
        double per[GROWTH_LATEST]; /* ns per unit of size */
        double size;               /* of the latest */
    } sizes[GROWTH_SIZES];
};

/* size > 0. A thirteenth power of two takes the place of the one that was used longest ago. */
void growth_add(struct growth *growth, size_t size, double ns);

/* Measurements of sizes in the same power of two. */
unsigned growth_known(const struct growth *growth, size_t size);
/* The latest of them; -1: none. Scaled to the size. */
double growth_latest(const struct growth *growth, size_t size);

/*
 * ns for that size by the line through the medians of all sizes, moved to the median of about that
 * size where there are GROWTH_ENOUGH measurements of it (least squares of the relative errors, so
 * that small sizes count as much as large ones; never falling, never negative; through the origin
 * while one size only is known). -1: nothing is known.
 */
double growth_at(const struct growth *growth, size_t size);

/* That line: *ret_fixed + *ret_per * size. False: nothing is known. */
bool growth_line(const struct growth *growth, double *ret_fixed, double *ret_per);

#endif
