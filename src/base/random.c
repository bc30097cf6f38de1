#include "base/random.h"

static uint64_t splitmix(uint64_t *x)
{
    uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void random_init(struct random_state *state, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed;

    x = splitmix(&x) ^ (stream * UINT64_C(0xd1342543de82ef95));
    for (int i = 0; i < 4; i++)
        state->s[i] = splitmix(&x);
}

uint64_t random_u64(struct random_state *state)
{
    uint64_t *s = state->s;
    const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t random_below(struct random_state *state, uint64_t n)
{
    /* Lemire's method: the high half of a product; the few biased low halves are drawn again. */
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)random_u64(state) * n;

    /* The threshold -n % n is below n: the division is rarely needed. */
    while ((uint64_t)product < n && (uint64_t)product < -n % n)
        product = (wide)random_u64(state) * n;
    return (uint64_t)(product >> 64);
}

double random_unit(struct random_state *state)
{
    return (double)(random_u64(state) >> 11) * 0x1p-53;
}

int64_t random_between(struct random_state *state, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low + 1;

    return (int64_t)((uint64_t)low + (span ? random_below(state, span) : random_u64(state)));
}
