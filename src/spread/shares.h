/*
 * Divides a kernel's work-groups among devices, in proportion to the measured speed of each. Pure.
 */
#ifndef SPREAD_SHARES_H
#define SPREAD_SHARES_H

#include <stdint.h>

enum { SHARES_MAX = 16 };

/*
 * Boundaries between shares are multiples of `wanted`, so that neighbours do not share a cache line
 * of output. With too few groups for that, they are multiples of 1.
 */
uint32_t shares_grain(uint32_t n_groups, unsigned n, uint32_t wanted);

/*
 * Device i gets groups [ret_ends[i - 1], ret_ends[i]), with ret_ends[-1] = 0 and ret_ends[n - 1] =
 * n_groups. So every group is given exactly once. rates: work-groups per unit of time. 0: never
 * measured, which counts as the average of the others. Boundaries are multiples of `grain`; a share
 * may be empty.
 */
void shares_divide(uint32_t n_groups, const double rates[], unsigned n, uint32_t grain, uint32_t ret_ends[]);

/*
 * Combines the rate with a new measurement of `groups` in `ns`. The measurement counts for one
 * half, so that a device that slows down is noticed soon.
 */
double shares_rate(double old, uint32_t groups, int64_t ns);

#endif
