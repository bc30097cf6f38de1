/*
 * One line per figure that the documentation claims, for tools/run-bench: printed when
 * BATON_FIGURES is set, beside what a person reads. Units, floors, what a paper measured and where
 * it is claimed stand in bench/figures.tsv, in one place.
 *
 *     figure NAME VALUE LOW HIGH
 */
#ifndef BENCH_FIGURE_H
#define BENCH_FIGURE_H

#include <stdio.h>
#include <stdlib.h>

/* The median of a measurement, and how far it spread. */
__attribute__((unused)) static inline void figure(const char *name, double value, double low, double high)
{
    if (getenv("BATON_FIGURES"))
        (void)printf("figure %s %.6g %.6g %.6g\n", name, value, low, high);
}

/* The same for one of several alike: "WHAT-KIND-MEASURE", or "WHAT-KIND" where measure is NULL. */
__attribute__((unused)) static inline void figure_of(const char *what, const char *kind, const char *measure,
                                                     double value, double low, double high)
{
    char name[96];

    (void)snprintf(name, sizeof name, "%s-%s%s%s", what, kind, measure ? "-" : "", measure ? measure : "");
    figure(name, value, low, high);
}

/* The same of n ascending values. */
__attribute__((unused)) static inline void figure_sorted(const char *name, const double values[], size_t n)
{
    figure(name, values[n / 2], values[0], values[n - 1]);
}

#endif
