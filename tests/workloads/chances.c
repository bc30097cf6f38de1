/* Chances: random and quasi-random numbers, the likeliest path through a hidden Markov model. */
#include "workload.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 };

/*
 * ---- mersenne-twister: independent MT19937 generators, then pairs of their numbers become normal
 * ones (Box and Muller) ----
 */

enum { SEEDS, STATES, WORDS, NORMALS };
enum { EACH = 64, STATE = 624, MIDDLE = 397 }; /* EACH: numbers per generator */

static void twister_prepare(struct work *work)
{
    size_t n = work->size = work_rounded(work->size, 16);
    uint32_t *seeds = work_words(work, n, UINT32_MAX);

    seeds[0] = 5489; /* its first number is known: 3499211612 */
    work_buffer(work, SEEDS, seeds, NULL, n * sizeof *seeds);
    work_buffer(work, STATES, NULL, NULL, n * STATE * sizeof(uint32_t));
    work_buffer(work, WORDS, NULL, work_array(work, n * EACH * sizeof(uint32_t)),
                n * EACH * sizeof(uint32_t));
    work_buffer(work, NORMALS, NULL, work_array(work, n * EACH * sizeof(float)), n * EACH * sizeof(float));
}

static void twister_run(struct work *work)
{
    size_t n = work->size;

    LAUNCH(work, "twist", SHAPE1(n, 16), BUFFER(SEEDS), BUFFER(STATES), BUFFER(WORDS), INT(EACH));
    LAUNCH(work, "box_muller", SHAPE1(n * EACH / 2, GROUP), BUFFER(WORDS), BUFFER(NORMALS));
}

/*
 * The whole state is twisted at once, as the authors' program does; the kernel goes word by word.
 */
static void twister_words(uint32_t seed, uint32_t *ret_words)
{
    uint32_t state[STATE] = {seed};

    for (uint32_t i = 1; i < STATE; i++)
        state[i] = 1812433253U * (state[i - 1] ^ state[i - 1] >> 30) + i;
    for (size_t i = 0; i < STATE; i++) {
        uint32_t y = (state[i] & 0x80000000U) | (state[(i + 1) % STATE] & 0x7fffffffU);
        state[i] = state[(i + MIDDLE) % STATE] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfU : 0);
    }
    for (size_t i = 0; i < EACH; i++) {
        uint32_t y = state[i];
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c5680U;
        y ^= y << 15 & 0xefc60000U;
        ret_words[i] = y ^ y >> 18;
    }
}

static bool twister_check(const struct work *work)
{
    const uint32_t *seeds = work->buffers[SEEDS].in;
    const uint32_t *words = work->buffers[WORDS].out;
    const float *normals = work->buffers[NORMALS].out;

    if (words[0] != 3499211612U)
        return check_failed(work, "seed 5489 begins with %u", words[0]);
    for (size_t i = 0; i < work->size; i++) {
        uint32_t want[EACH];
        twister_words(seeds[i], want);
        if (!check_words(work, words + i * EACH, want, EACH))
            return false;
    }
    for (size_t i = 0; i < work->size * EACH; i += 2) {
        double radius = sqrt(-2 * log(((double)words[i] + 1) / 4294967296.0));
        double angle = 2 * 3.14159265358979323846 * (double)words[i + 1] / 4294967296.0;
        if (!(fabs(radius * cos(angle) - (double)normals[i]) <= 1e-3) ||
            !(fabs(radius * sin(angle) - (double)normals[i + 1]) <= 1e-3))
            return check_failed(work, "normal %zu is %g", i, (double)normals[i]);
    }
    return true;
}

const struct workload workload_mersenne_twister = {
    .name = "mersenne-twister",
    .row = "MersenneTwister",
    .unit = "generators",
    .sizes = {64, 1024, 8192},
    .source = OPENCL(
        kernel void twist(global const uint *seeds, global uint *states, global uint *words, uint each) {
            size_t stream = get_global_id(0);
            global uint *state = states + stream * 624;
            uint word = seeds[stream];
            for (uint i = 0; i < 624; i++) {
                state[i] = word;
                word = 1812433253u * (word ^ word >> 30) + i + 1;
            }
            for (uint i = 0; i < each; i++) {
                uint at = i % 624;
                uint y = (state[at] & 0x80000000u) | (state[(at + 1) % 624] & 0x7fffffffu);
                y = state[(at + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
                state[at] = y;
                y ^= y >> 11;
                y ^= y << 7 & 0x9d2c5680u;
                y ^= y << 15 & 0xefc60000u;
                words[stream * each + i] = y ^ y >> 18;
            }
        }

        kernel void box_muller(global const uint2 *words, global float2 *normals) {
            size_t i = get_global_id(0);
            uint2 pair = words[i];
            float radius = sqrt(-2 * log(((float)pair.x + 1) * 2.3283064365386963e-10f));
            float angle = 6.283185307f * ((float)pair.y * 2.3283064365386963e-10f);
            normals[i] = (float2)(radius * cos(angle), radius * sin(angle));
        }),
    .prepare = twister_prepare,
    .run = twister_run,
    .check = twister_check,
};

/*
 * ---- quasi-random: Sobol's points in eight dimensions, each computed by itself from the Gray code
 * of its number ----
 */

enum { DIRECTIONS, POINTS };
enum { DIMENSIONS = 8, BITS = 32 };

/*
 * Degree, inner coefficients and first numbers of the primitive polynomials (Joe and Kuo's table).
 */
static const struct {
    uint32_t degree, inner, first[5];
} polynomials[DIMENSIONS] = {
    {0, 0, {0}},       {1, 0, {1}},          {2, 1, {1, 3}},        {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}}, {4, 1, {1, 1, 3, 3}}, {4, 4, {1, 3, 5, 13}}, {5, 2, {1, 1, 5, 5, 17}}};

static void sobol_directions(uint32_t directions[DIMENSIONS][BITS])
{
    for (size_t i = 0; i < BITS; i++)
        directions[0][i] = UINT32_C(1) << (31 - i);
    for (size_t d = 1; d < DIMENSIONS; d++) {
        uint32_t degree = polynomials[d].degree;
        for (uint32_t i = 0; i < BITS; i++) {
            if (i < degree) {
                directions[d][i] = polynomials[d].first[i] << (31 - i);
                continue;
            }
            directions[d][i] = directions[d][i - degree] ^ directions[d][i - degree] >> degree;
            for (uint32_t k = 1; k < degree; k++)
                if (polynomials[d].inner >> (degree - 1 - k) & 1)
                    directions[d][i] ^= directions[d][i - k];
        }
    }
}

static void quasi_prepare(struct work *work)
{
    size_t n = work->size = work_power_of_two(work->size, GROUP);
    uint32_t(*directions)[BITS] = work_array(work, sizeof(uint32_t[DIMENSIONS][BITS]));

    sobol_directions(directions);
    work_buffer(work, DIRECTIONS, directions, NULL, sizeof(uint32_t[DIMENSIONS][BITS]));
    work_buffer(work, POINTS, NULL, work_array(work, n * DIMENSIONS * sizeof(float)),
                n * DIMENSIONS * sizeof(float));
}

static void quasi_run(struct work *work)
{
    LAUNCH(work, "sobol", SHAPE2(work->size, DIMENSIONS, GROUP, 1), BUFFER(DIRECTIONS), BUFFER(POINTS));
}

/*
 * One after the other (Antonov and Saleev); and in every dimension each n-th of the unit interval
 * holds exactly one point.
 */
static bool quasi_check(const struct work *work)
{
    const uint32_t *directions = work->buffers[DIRECTIONS].in;
    const float *got = work->buffers[POINTS].out;
    size_t n = work->size;
    bool *taken = check_array(n);
    bool ok = true;

    for (size_t d = 0; ok && d < DIMENSIONS; d++) {
        uint32_t x = 0;
        memset(taken, 0, n);
        for (size_t i = 0; ok && i < n; i++) {
            size_t part = (size_t)((double)got[d * n + i] * (double)n);
            if (!(fabs((double)x / 4294967296.0 - (double)got[d * n + i]) <= 1e-6) || part >= n ||
                taken[part])
                ok = check_failed(work, "point %zu of dimension %zu is %g", i, d, (double)got[d * n + i]);
            else
                taken[part] = true;
            x ^= directions[d * BITS + (size_t)__builtin_ctzll(~(unsigned long long)i)];
        }
    }
    free(taken);
    return ok;
}

const struct workload workload_quasi_random = {
    .name = "quasi-random",
    .row = "QuasiRandomSequence",
    .unit = "points",
    .sizes = {1024, 16384, 1 << 18},
    .source = OPENCL(kernel void sobol(constant uint *directions, global float *points) {
        uint i = get_global_id(0);
        uint dimension = get_global_id(1);
        uint x = 0;
        uint gray = i ^ i >> 1;
        for (uint bit = 0; gray >> bit; bit++)
            if (gray >> bit & 1)
                x ^= directions[dimension * 32 + bit];
        points[dimension * get_global_size(0) + i] = (x >> 8) * 5.9604644775390625e-8f;
    }),
    .prepare = quasi_prepare,
    .run = quasi_run,
    .check = quasi_check,
};

/*
 * ---- hmm: Viterbi; one launch per observation, one group per state, one work-item to walk back
 * ----
 */

enum { MOVES, EMISSIONS, OBSERVED, CHANCE, CHANCE_NEXT, CAME_FROM, PATH };
enum { LENGTH = 16, SYMBOLS = 16 };

static void hmm_prepare(struct work *work)
{
    size_t n = work->size;

    work_buffer(work, MOVES, work_floats(work, n * n, -8, 0), NULL, n * n * sizeof(float));
    work_buffer(work, EMISSIONS, work_floats(work, n * SYMBOLS, -8, 0), NULL, n * SYMBOLS * sizeof(float));
    work_buffer(work, OBSERVED, work_words(work, LENGTH, SYMBOLS), NULL, LENGTH * sizeof(uint32_t));
    work_buffer(work, CHANCE, work_floats(work, n, -8, 0), NULL, n * sizeof(float));
    work_buffer(work, CHANCE_NEXT, NULL, NULL, n * sizeof(float));
    work_buffer(work, CAME_FROM, NULL, NULL, n * LENGTH * sizeof(uint32_t));
    work_buffer(work, PATH, NULL, work_array(work, LENGTH * sizeof(uint32_t)), LENGTH * sizeof(uint32_t));
}

static void hmm_run(struct work *work)
{
    size_t n = work->size;
    size_t from = CHANCE;
    size_t to = CHANCE_NEXT;

    for (size_t t = 1; t < LENGTH; t++) {
        LAUNCH(work, "advance", SHAPE1(n * GROUP, GROUP), BUFFER(MOVES), BUFFER(EMISSIONS), BUFFER(OBSERVED),
               BUFFER(from), BUFFER(to), BUFFER(CAME_FROM), INT(n), INT(t));
        from = to;
        to = to == CHANCE ? CHANCE_NEXT : CHANCE;
    }
    LAUNCH(work, "walk_back", SHAPE1(1, 1), BUFFER(from), BUFFER(CAME_FROM), BUFFER(PATH), INT(n),
           INT(LENGTH));
}

/* Sums and maxima of floats in the same precision: the path is the same to the last state. */
static bool hmm_check(const struct work *work)
{
    const float *moves = work->buffers[MOVES].in;
    const float *emissions = work->buffers[EMISSIONS].in;
    const uint32_t *observed = work->buffers[OBSERVED].in;
    size_t n = work->size;
    float *chance = check_array(2 * n * sizeof *chance);
    uint32_t *from = check_array(n * LENGTH * sizeof *from);
    uint32_t path[LENGTH] = {0};
    bool ok;

    memcpy(chance, work->buffers[CHANCE].in, n * sizeof *chance);
    for (size_t t = 1; t < LENGTH; t++) {
        for (size_t j = 0; j < n; j++) {
            float best = -FLT_MAX;
            for (size_t i = 0; i < n; i++) {
                if (chance[i] + moves[i * n + j] > best) {
                    best = chance[i] + moves[i * n + j];
                    from[t * n + j] = (uint32_t)i;
                }
            }
            chance[n + j] = best + emissions[j * SYMBOLS + observed[t]];
        }
        memcpy(chance, chance + n, n * sizeof *chance);
    }
    for (uint32_t i = 1; i < n; i++)
        path[LENGTH - 1] = chance[i] > chance[path[LENGTH - 1]] ? i : path[LENGTH - 1];
    for (size_t t = LENGTH - 1; t > 0; t--)
        path[t - 1] = from[t * n + path[t]];
    ok = check_words(work, work->buffers[PATH].out, path, LENGTH);
    free(chance);
    free(from);
    return ok;
}

const struct workload workload_hidden_markov = {
    .name = "hidden-markov",
    .row = "HiddenMarkovModel",
    .unit = "states",
    .sizes = {64, 256, 768},
    .source = OPENCL(
        kernel void advance(global const float *moves, global const float *emissions,
                            global const uint *observed, global const float *chance, global float *next,
                            global uint *came_from, uint n, uint t) {
            local float values[64];
            local uint states[64];
            uint l = get_local_id(0);
            uint to = get_group_id(0);
            float best = -FLT_MAX;
            uint best_state = 0;
            for (uint i = l; i < n; i += 64) {
                float value = chance[i] + moves[i * n + to];
                if (value > best) {
                    best = value;
                    best_state = i;
                }
            }
            values[l] = best;
            states[l] = best_state;
            for (uint width = 32; width > 0; width /= 2) {
                barrier(CLK_LOCAL_MEM_FENCE);
                if (l < width && (values[l + width] > values[l] ||
                                  (values[l + width] == values[l] && states[l + width] < states[l]))) {
                    values[l] = values[l + width];
                    states[l] = states[l + width];
                }
            }
            if (l == 0) {
                next[to] = values[0] + emissions[to * 16 + observed[t]];
                came_from[t * n + to] = states[0];
            }
        }

        kernel void walk_back(global const float *chance, global const uint *came_from, global uint *path,
                              uint n, uint length) {
            uint state = 0;
            for (uint i = 1; i < n; i++)
                if (chance[i] > chance[state])
                    state = i;
            for (uint t = length - 1; t > 0; t--) {
                path[t] = state;
                state = came_from[t * n + state];
            }
            path[0] = state;
        }),
    .prepare = hmm_prepare,
    .run = hmm_run,
    .check = hmm_check,
};
