/* The results of `baton measure`, and how they are written. */
#ifndef CLI_MEASURE_H
#define CLI_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/measure/probes.h"

#define MEASURE_CONDITIONS  3 /* idle, loaded, loaded with copies */
#define MEASURE_CACHE_SIZES 5
#define MEASURE_COPY_SIZES  4

extern const char *const measure_conditions[MEASURE_CONDITIONS];
extern const size_t measure_cache_sizes[MEASURE_CACHE_SIZES]; /* bytes */
extern const size_t measure_copy_sizes[MEASURE_COPY_SIZES];

struct measure_samples {
    double *us;
    size_t n;
};

struct measure_condition {
    struct measure_samples probes[PROBES];
    struct measure_samples cache[MEASURE_CACHE_SIZES];
    struct measure_samples copies[2][MEASURE_COPY_SIZES]; /* in, out; empty without a device */
};

struct measurement {
    bool real_time;   /* the probes ran at a real-time priority */
    char device[128]; /* "" without one */
    struct measure_condition conditions[MEASURE_CONDITIONS];
};

struct measure_stats {
    double mean, most;
};

/* 0 and 0 without samples. */
struct measure_stats measure_stats(const struct measure_samples *samples);

/*
 *  AC/I, AC/L, WC/I, WC/L as studies read them: average and largest; idle, and loaded with copies.
 */
void measure_write_yaml(const struct measurement *measurement, FILE *out);
/* Histograms and tails on one page. */
void measure_write_page(const struct measurement *measurement, FILE *out);
/* What user space cannot measure, one line each after the prefix. */
void measure_caveats(const struct measurement *measurement, const char *prefix, FILE *out);

#endif
