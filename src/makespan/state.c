#include "makespan/state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STATES (UINT64_C(1) << STATE_NUMBER_BITS)

static int fill_numbers(struct state_space *space, size_t n, size_t stride)
{
    for (size_t c = 0; c < stride; c++)
        space->number[n * stride + c] = 1;
    for (size_t i = n; i-- > 0;) {
        uint64_t sum = 0;

        for (size_t c = 0; c < stride; c++) {
            sum += space->number[(i + 1) * stride + c];
            if (sum > MOST_STATES)
                return STATE_SPACE_TOO_LARGE;
            space->number[i * stride + c] = sum;
        }
    }
    return 0;
}

int state_space_init(const struct problem *problem, struct state_space *ret_space)
{
    struct state_space space = {.problem = problem};
    size_t n = problem->n;
    size_t stride = (size_t)problem->warps + 1;
    int result;

    /* Both large: certainly more than 2^48 states, and no reason to count them. */
    if (problem->warps > UINT8_MAX || (n > 4096 && problem->warps > 4) || n * stride > (1u << 22))
        return STATE_SPACE_TOO_LARGE;
    space.number = calloc((n + 1) * stride, sizeof space.number[0]);
    if (!space.number)
        return -ENOMEM;
    result = fill_numbers(&space, n, stride);
    if (result == 0) {
        space.base = calloc(n * stride * stride, sizeof space.base[0]);
        result = space.base ? 0 : -ENOMEM;
    }
    if (result) {
        state_space_done(&space);
        return result;
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < stride; c++) {
            for (size_t k = 1; k <= c; k++)
                space.base[(i * stride + c) * stride + k] = space.base[(i * stride + c) * stride + k - 1] +
                                                            space.number[(i + 1) * stride + (c - k + 1)];
        }
    }
    *ret_space = space;
    return 0;
}

void state_space_done(struct state_space *space)
{
    free(space->number);
    free(space->base);
    *space = (struct state_space){0};
}

uint64_t state_space_size(const struct state_space *space)
{
    return space->number[space->problem->warps];
}

state_id state_number(const struct state_space *space, const uint8_t count[])
{
    state_id state = 0;
    unsigned c = space->problem->warps;

    for (size_t i = 0; i < space->problem->n; i++) {
        state += state_part(space, i, c, count[i]);
        c -= count[i];
    }
    return state;
}

void state_unpack(const struct state_space *space, state_id state, uint8_t ret_count[])
{
    unsigned c = space->problem->warps;

    for (size_t i = 0; i < space->problem->n; i++) {
        unsigned k = 0;

        while (k < c && state_part(space, i, c, k + 1) <= state)
            k++;
        state -= state_part(space, i, c, k);
        c -= k;
        ret_count[i] = (uint8_t)k;
    }
}

/* Lets moved[i] warps execute instruction i: the lowest-numbered of those that stand before it. */
static void execute(size_t n, unsigned warps, uint32_t position[], const unsigned moved[], uint16_t **order)
{
    for (size_t i = n; i-- > 0;) {
        unsigned left = moved[i];

        for (unsigned w = 0; w < warps && left; w++) {
            if (position[w] == i) {
                position[w]++;
                *(*order)++ = (uint16_t)w;
                left--;
            }
        }
        assert(left == 0);
    }
}

int state_path_order(const struct state_space *space, const state_id path[], size_t n_path,
                     uint16_t ret_order[])
{
    size_t n = space->problem->n;
    unsigned warps = space->problem->warps;
    uint8_t *count = calloc(2 * n, 1);
    unsigned *moved = calloc(n, sizeof moved[0]);
    uint32_t *position = calloc(warps, sizeof position[0]);
    int result = count && moved && position ? 0 : -ENOMEM;

    for (size_t t = 0; result == 0 && t + 1 < n_path; t++) {
        unsigned arrived = 0;

        state_unpack(space, path[t], count);
        state_unpack(space, path[t + 1], count + n);
        for (size_t i = 0; i < n; i++) {
            moved[i] = count[i] + arrived - count[n + i];
            arrived = moved[i];
        }
        execute(n, warps, position, moved, &ret_order);
    }
    free(count);
    free(moved);
    free(position);
    return result;
}
