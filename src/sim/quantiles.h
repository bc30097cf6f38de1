/*
 * A distribution of durations in fixed memory. Buckets are 1/32 of a power of two wide, so a
 * quantile is at most 3.2 % above the true one and never below it. n, sum and maximum are exact.
 */
#ifndef SIM_QUANTILES_H
#define SIM_QUANTILES_H

#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"

#define QUANTILES_BUCKETS (32 * 60)

struct quantiles {
    uint64_t n;
    double sum;
    baton_nsec max;
    uint32_t buckets[QUANTILES_BUCKETS];
};

void quantiles_add(struct quantiles *quantiles, baton_nsec value); /* value >= 0 */
double quantiles_mean(const struct quantiles *quantiles);          /* 0 when empty */
/*
 * An upper bound of the smallest value that at least a fraction q of all values do not exceed; 0
 * when empty.
 */
baton_nsec quantiles_at(const struct quantiles *quantiles, double q);

#endif
