/*
 * Exact states of the warps between two cycles. Warps are alike, so a state is the number of warps
 * before each instruction; the rest of the W warps are at the end. States are numbered without gaps
 * in lexicographic order of these counts. So a number identifies the state exactly, without a hash.
 */
#ifndef MAKESPAN_STATE_H
#define MAKESPAN_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "makespan/kernel.h"

#define STATE_NUMBER_BITS 48

typedef uint64_t state_id;

struct state_space {
    const struct problem *problem; /* borrowed */
    /* owned; [i][c]: ways to place at most c warps before instructions i, i+1, ... */
    uint64_t *number;
    uint64_t *base; /* owned; [i][c][k]: of these, those with fewer than k before i */
};

/* Answers of state_space_init(). */
#define STATE_SPACE_TOO_LARGE 1 /* more than 2^48 states */

/* 0, -ENOMEM or STATE_SPACE_TOO_LARGE; on anything but 0 there is nothing to free. */
int state_space_init(const struct problem *problem, struct state_space *ret_space);
void state_space_done(struct state_space *space);

/* How many states there are. */
uint64_t state_space_size(const struct state_space *space);

/*
 * What k warps before instruction i, out of c that are at i or later, add to the number of a state.
 */
static inline uint64_t state_part(const struct state_space *space, size_t i, unsigned c, unsigned k)
{
    size_t stride = (size_t)space->problem->warps + 1;

    return space->base[(i * stride + c) * stride + k];
}

/* count[0..n): warps before each instruction. */
state_id state_number(const struct state_space *space, const uint8_t count[]);
void state_unpack(const struct state_space *space, state_id state, uint8_t ret_count[]);

/*
 * The pseudo-precedence string (warps from 0) of the schedule that passes through path[0..n_path).
 * In the first state all warps are at the start, in the last one all are done. Each further state
 * is a cycle later. Writes n * W entries.
 */
int state_path_order(const struct state_space *space, const state_id path[], size_t n_path,
                     uint16_t ret_order[]);

#endif
