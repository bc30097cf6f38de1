/*
 * What every test program shares: run Check suites and end with the line that tools/run-tests
 * counts.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Runs the suite, prints each failure, then `N passed, N failed`; returns main()'s exit status.
 * Cases run in forked children, so a crash or a hang fails one case only.
 */
int harness_run(Suite *suite);

/*
 * Makes a suite with one test case per named function. A case ends within `seconds` on an idle
 * machine; one that hangs is ended when a very busy machine would have been done.
 */
Suite *harness_suite(const char *name, double seconds, const TTest *const tests[], size_t n);

#define HARNESS_MAIN(name, seconds, ...)                                                                     \
    int main(void)                                                                                           \
    {                                                                                                        \
        const TTest *const tests[] = {__VA_ARGS__};                                                          \
        return harness_run(harness_suite(name, seconds, tests, sizeof tests / sizeof tests[0]));             \
    }

/* 1 in `make test`, larger in `make soak`: multiplies the number of random cases. */
size_t harness_scale(size_t normal, size_t soak);

/*
 * What this build was made with: "none", "address,undefined", "thread" (BATON_SANITIZER, set by
 * meson).
 */
const char *harness_sanitizer(void);
bool harness_sanitized(void); /* any: everything is several times slower */

/* A limit of time, in whatever unit, made for a plain build: larger under a sanitizer. */
double harness_limit(double normal);

/*
 * A new empty folder for one case, in at most 63 characters: short enough for sockets. It goes,
 * with whatever is in it, when harness_run ends, also when the case failed, crashed or was killed.
 */
void harness_folder(char ret_path[static 64]);

/* The path of a file below tests/ (data, corpora), valid until the next call. */
const char *harness_data(const char *name);

#endif
