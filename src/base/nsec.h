/*
 * Time inside Baton: int64_t nanoseconds. Instants are of CLOCK_MONOTONIC and end in _at; other
 * values are durations.
 */
#ifndef BASE_NSEC_H
#define BASE_NSEC_H

#include <stdint.h>

typedef int64_t baton_nsec;

#define NSEC_MAX     INT64_MAX
#define NSEC_PER_US  INT64_C(1000)
#define NSEC_PER_MS  INT64_C(1000000)
#define NSEC_PER_SEC INT64_C(1000000000)

/* For reports only: decisions use integers. */
static inline double nsec_to_ms(baton_nsec t)
{
    return (double)t / (double)NSEC_PER_MS;
}

#endif
