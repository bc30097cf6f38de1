/*
 * Reproducible random numbers: the same seed gives the same sequence on every machine. xoshiro256**
 * (Blackman and Vigna), seeded by splitmix64. Not for secrets.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

struct random_state {
    uint64_t s[4];
};

/* Independent streams for (seed, stream): each thread or experiment uses its own stream. */
void random_init(struct random_state *state, uint64_t seed, uint64_t stream);

uint64_t random_u64(struct random_state *state);

/* Uniform in [0, n), unbiased; n > 0. */
uint64_t random_below(struct random_state *state, uint64_t n);

/* Uniform in [0, 1), a multiple of 2^-53. */
double random_unit(struct random_state *state);

/* Uniform in [low, high]. */
int64_t random_between(struct random_state *state, int64_t low, int64_t high);

#endif
