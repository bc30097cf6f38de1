/*
 * What the demonstration programs share whatever their GPU API: the clock, options, the words that
 * their kernel computes, and the loop of a periodic program.
 */
#ifndef DEMO_MEASURE_H
#define DEMO_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Milliseconds of CLOCK_MONOTONIC. */
double now_ms(void);
void sleep_until_ms(double instant);

/*
 * The kernel `turn` takes each work-item's word so many steps along a linear congruential sequence;
 * the host gets to the same word in a few multiplications, so that every result can be checked
 * however long the kernel runs.
 */
uint32_t turned(uint32_t word, uint32_t steps);

/* Sorts the n values and answers the one at this fraction, 0..1; n > 0. */
double quantile(double *values, size_t n, double fraction);

/*
 * The value after `--name` in argv, or the default. Ends the program with status 2 if it is missing
 * or not a number.
 */
double option(int argc, char **argv, const char *name, double otherwise);
/*
 * Ends the program with status 2, and prints its usage, unless each argument from number `first` on
 * is an option of these. A name that ends with `=` has a value behind it. NULL ends the names.
 */
void check_options(int argc, char **argv, int first, const char *const *names, const char *usage);
/* Is `--name` there? */
bool flag(int argc, char **argv, const char *name);

/* A periodic program: one job, and whether its result was right. */
struct measured {
    void (*run_job)(void *user, uint32_t seed);
    bool (*is_right)(void *user);
    void *user;
};

/*
 * Runs jobs as urgent.c describes, by the options in argv, and prints the line of numbers. The
 * program's exit status.
 */
int run_periodically(const struct measured *measured, int argc, char **argv);

#endif
