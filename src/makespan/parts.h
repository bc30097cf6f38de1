/*
 * A kernel cut at its barriers.
 *
 * If all warps belong to one group, every warp begins a part in the same cycle. That is the cycle
 * after the last warp has ended the previous part. So a schedule of the kernel is one schedule per
 * part, each chosen freely, one after the other. The worst makespan of the kernel is exactly the
 * sum of the parts' worst makespans. This does not hold for several groups, whose warps wait for
 * their own group only.
 */
#ifndef MAKESPAN_PARTS_H
#define MAKESPAN_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "makespan/kernel.h"

struct parts {
    uint8_t *units; /* owned; the whole string without marks */
    size_t n;
    size_t *begin; /* owned; [n_parts + 1]: the first instruction of each part, then n */
    size_t *like;  /* owned; [n_parts]: the first part with the same letters */
    size_t n_parts;
    size_t n_distinct; /* parts with like[i] == i */
};

/*
 * Cuts the kernel, which has at least one instruction. 0 or -ENOMEM; on success the caller calls
 * parts_done().
 */
int parts_split(const struct kernel *kernel, struct parts *ret_parts);
void parts_done(struct parts *parts);

/* The part as a problem of its own, on the machine and with the warps of `whole`. */
struct problem parts_problem(const struct parts *parts, size_t part, const struct problem *whole);

/*
 * schedule_evaluate() with barriers. The warps belong to `groups` groups of equal size, in the
 * order of their numbers; groups divides problem->warps. An entry of a warp that waits at a barrier
 * is kept aside until the barrier opens. problem is about parts->units. 0 or -ENOMEM.
 */
int parts_evaluate(const struct problem *problem, const struct parts *parts, unsigned groups,
                   const uint16_t order[], uint32_t ret_cycles[], unsigned *ret_makespan);

#endif
