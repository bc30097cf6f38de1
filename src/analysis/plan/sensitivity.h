/*
 * How far a set is from its limit, by bisection. Bounds never shrink when executions get longer or
 * a period gets shorter, so the schedulable side is an interval.
 */
#ifndef ANALYSIS_SENSITIVITY_H
#define ANALYSIS_SENSITIVITY_H

#include "analysis/pipeline/mode_test.h"

#define SENSITIVITY_ONE ((uint32_t)1 << 20) /* factors are in units of 2^-20 */
#define SENSITIVITY_MAX (SENSITIVITY_ONE * 1000)

/*
 * The largest factor on all execution times with which every deadline is met under the choice. In
 * units of 1 / SENSITIVITY_ONE, at most SENSITIVITY_MAX; 0: none. Leaves the test attached to its
 * own pipeline. 0 or -ENOMEM.
 */
int sensitivity_factor(const struct mode_test *test, const unsigned char choice[], uint32_t *ret_factor);

/*
 * The shortest period of one task with which every deadline is met; -1: not even its present
 * period. The task's deadline follows where it equals the period, and is cut to the period
 * otherwise; priorities stay. 0 or -ENOMEM.
 */
int sensitivity_period(const struct mode_test *test, const unsigned char choice[], size_t task,
                       baton_nsec *ret_period);

#endif
