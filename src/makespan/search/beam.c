#include "makespan/search/beam.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "makespan/search/bound.h"

#define SAMPLES     32                  /* successors tried per state */
#define MOST_MEMORY ((size_t)128 << 20) /* the width is cut to fit */

/* A way to go on from a state of the beam; which warps execute is in beam::chosen. */
struct candidate {
    uint64_t score; /* the larger, the better */
    uint64_t print; /* of the state, whichever warp is where; equal prints: one is dropped */
    uint32_t parent;
    uint32_t n;
    size_t list; /* index into beam::chosen */
};

/* A state that was in the beam: how it came about. */
struct beam_node {
    uint32_t parent;
    uint32_t n;   /* warps that executed in the cycle before it */
    size_t first; /* where beam::steps lists them */
};

struct beam {
    const struct problem *problem;
    const struct relax *relax;
    struct random_state random;
    size_t width;
    size_t most_steps;                  /* warps that can execute in one cycle */
    uint32_t *position, *next_position; /* [width][warps] */
    struct candidate *candidates;       /* [width * SAMPLES] */
    uint16_t *chosen;                   /* [width * SAMPLES][most_steps] */
    uint64_t *keys;                     /* [warps] */
    uint64_t *prints;                   /* a hash set of the prints kept in this cycle */
    size_t n_prints;                    /* its size, a power of two */
    struct beam_node *nodes;
    uint16_t *steps;
    size_t n_nodes, nodes_room, n_steps, steps_room;
    uint64_t *rest; /* [n + 1][N_UNITS]: instructions from i on */
};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9E3779B97F4A7C15);
    return (x ^ x >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
}

static void *grow(void *array, size_t needed, size_t size, size_t *room)
{
    size_t wanted = *room ? *room : 1024;
    void *larger;

    if (needed <= *room)
        return array;
    while (wanted < needed)
        wanted *= 2;
    larger = realloc(array, wanted * size);
    if (larger)
        *room = wanted;
    return larger;
}

/*
 * The table's bound on the remaining cycles, or the cheap one; finer differences in the low bits.
 */
static uint64_t score(const struct beam *beam, const uint32_t position[])
{
    const struct problem *problem = beam->problem;
    unsigned k[RELAX_MAX_SEGMENTS] = {0}, w[RELAX_MAX_SEGMENTS] = {0};
    uint64_t others[N_UNITS] = {0};
    uint64_t longest = 0;

    for (unsigned i = 0; i < problem->warps; i++) {
        uint64_t left = problem->n - position[i];

        longest = left > longest ? left : longest;
        for (size_t u = 0; u < N_UNITS; u++)
            others[u] += beam->rest[position[i] * N_UNITS + u];
    }
    if (beam->relax) {
        for (unsigned i = 0; i < problem->warps; i++) {
            for (size_t s = 0; s < beam->relax->n_segments; s++) {
                const struct relax_segment *segment = &beam->relax->segments[s];

                if (position[i] >= segment->begin && position[i] < segment->begin + segment->length) {
                    k[s]++;
                    w[s] += segment->length - (position[i] - segment->begin);
                }
            }
        }
        return ((uint64_t)relax_value(beam->relax, k, w) << 24) + longest + bound_blocking(problem, others);
    }
    return (longest + bound_blocking(problem, others)) << 24;
}

static int by_key(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/*
 * Chooses the warps of one cycle in a random way that is biased towards the extremes. Per unit the
 * most or the least advanced come first, or any. Taking any warp that still fits, in any order, is
 * what makes it work-conserving.
 */
static uint32_t choose(struct beam *beam, const uint32_t position[], uint16_t ret_chosen[])
{
    const struct problem *problem = beam->problem;
    unsigned left[N_UNITS];
    unsigned issue = problem->issue ? problem->issue : UINT32_MAX;
    uint64_t choice = random_u64(&beam->random);
    uint32_t n = 0;
    size_t waiting = 0;

    for (unsigned i = 0; i < problem->warps; i++) {
        uint64_t unit, way, key;

        if (position[i] == problem->n)
            continue;
        unit = problem->units[position[i]];
        way = choice >> (8 * unit) & 7;
        key = way < 3   ? position[i]
              : way < 6 ? problem->n - position[i]
                        : random_u64(&beam->random) & 0xffffff;
        /* Under a cap the units compete too: rank them at random. */
        key |= (choice >> (8 * unit + 3) & 31) << 32;
        beam->keys[waiting++] = key << 16 | i;
    }
    qsort(beam->keys, waiting, sizeof beam->keys[0], by_key);
    memcpy(left, problem->capacity, sizeof left);
    for (size_t i = 0; i < waiting && issue; i++) {
        uint16_t warp = (uint16_t)(beam->keys[i] & 0xffff);
        unsigned unit = problem->units[position[warp]];

        if (left[unit]) {
            left[unit]--;
            issue--;
            ret_chosen[n++] = warp;
        }
    }
    return n;
}

static int by_score(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    if (a->score != b->score)
        return a->score < b->score ? 1 : -1;
    return (a->print > b->print) - (a->print < b->print);
}

/* Is this state new in this cycle? Remembers it. */
static bool is_new(struct beam *beam, uint64_t print)
{
    size_t at = print & (beam->n_prints - 1);

    print |= 1; /* 0 is an empty place */
    for (; beam->prints[at]; at = (at + 1) & (beam->n_prints - 1)) {
        if (beam->prints[at] == print)
            return false;
    }
    beam->prints[at] = print;
    return true;
}

/* All candidates after one more cycle. */
static size_t propose(struct beam *beam, size_t n_states, uint32_t *scratch)
{
    unsigned warps = beam->problem->warps;
    size_t n = 0;

    for (size_t i = 0; i < n_states; i++) {
        const uint32_t *position = beam->position + i * warps;

        for (size_t sample = 0; sample < SAMPLES; sample++) {
            uint16_t *chosen = beam->chosen + n * beam->most_steps;
            struct candidate *candidate = &beam->candidates[n];

            memcpy(scratch, position, warps * sizeof scratch[0]);
            *candidate =
                (struct candidate){.parent = (uint32_t)i, .n = choose(beam, position, chosen), .list = n};
            for (uint32_t j = 0; j < candidate->n; j++)
                scratch[chosen[j]]++;
            for (unsigned w = 0; w < warps; w++)
                candidate->print += mix(scratch[w] + 1);
            if (!is_new(beam, candidate->print))
                continue;
            candidate->score = score(beam, scratch);
            n++;
        }
    }
    return n;
}

/* Keeps the best candidates as the next states; parents are nodes base + candidate.parent. */
static int keep(struct beam *beam, size_t n_candidates, size_t base, size_t *ret_states)
{
    unsigned warps = beam->problem->warps;
    size_t n = n_candidates < beam->width ? n_candidates : beam->width;
    struct beam_node *nodes = grow(beam->nodes, beam->n_nodes + n, sizeof nodes[0], &beam->nodes_room);
    uint16_t *steps;

    if (!nodes)
        return -ENOMEM;
    beam->nodes = nodes;
    steps = grow(beam->steps, beam->n_steps + n * beam->most_steps, sizeof steps[0], &beam->steps_room);
    if (!steps)
        return -ENOMEM;
    beam->steps = steps;
    for (size_t i = 0; i < n; i++) {
        const struct candidate *candidate = &beam->candidates[i];
        const uint16_t *chosen = beam->chosen + candidate->list * beam->most_steps;
        uint32_t *position = beam->next_position + i * warps;

        memcpy(position, beam->position + candidate->parent * warps, warps * sizeof position[0]);
        nodes[beam->n_nodes++] = (struct beam_node){
            .parent = (uint32_t)(base + candidate->parent), .n = candidate->n, .first = beam->n_steps};
        for (uint32_t j = 0; j < candidate->n; j++) {
            position[chosen[j]]++;
            steps[beam->n_steps++] = chosen[j];
        }
    }
    *ret_states = n;
    return 0;
}

/* The last surviving node's steps, back to front. */
static void write_order(const struct beam *beam, size_t node, uint16_t ret_order[])
{
    size_t at = beam->problem->n * beam->problem->warps;

    for (; node; node = beam->nodes[node].parent) {
        at -= beam->nodes[node].n;
        memcpy(ret_order + at, beam->steps + beam->nodes[node].first,
               beam->nodes[node].n * sizeof ret_order[0]);
    }
}

static bool is_done(const struct beam *beam, const uint32_t position[])
{
    for (unsigned w = 0; w < beam->problem->warps; w++) {
        if (position[w] != beam->problem->n)
            return false;
    }
    return true;
}

/*
 * Cycle by cycle, until the best state of the beam is the end: everything is done, so that is the
 * longest run.
 */
static int run(struct beam *beam, baton_nsec until_at, uint32_t *scratch, uint16_t ret_order[])
{
    size_t n_states = 1;
    size_t base = 0;
    int result;

    beam->nodes = grow(NULL, 1, sizeof beam->nodes[0], &beam->nodes_room);
    if (!beam->nodes)
        return -ENOMEM;
    beam->nodes[beam->n_nodes++] = (struct beam_node){0};
    while (!is_done(beam, beam->position)) {
        uint32_t *position = beam->position;
        size_t n;

        if (until_at && clock_now() > until_at)
            return BEAM_TIMED_OUT;
        memset(beam->prints, 0, beam->n_prints * sizeof beam->prints[0]);
        n = propose(beam, n_states, scratch);
        qsort(beam->candidates, n, sizeof beam->candidates[0], by_score);
        result = keep(beam, n, base, &n_states);
        if (result)
            return result;
        base = beam->n_nodes - n_states;
        beam->position = beam->next_position;
        beam->next_position = position;
    }
    write_order(beam, base, ret_order);
    return 0;
}

static size_t fit_width(const struct beam *beam, size_t width)
{
    const struct problem *problem = beam->problem;
    size_t elements = problem->n * problem->warps;
    size_t bytes = elements * (sizeof(uint16_t) + sizeof(struct beam_node)) +
                   SAMPLES * (beam->most_steps * sizeof(uint16_t) + sizeof(struct candidate) + 16) +
                   problem->warps * 8;

    width = width > MOST_MEMORY / bytes ? MOST_MEMORY / bytes : width;
    return width ? width : 1;
}

int beam_run(const struct problem *problem, const struct relax *relax, size_t width, uint64_t seed,
             baton_nsec until_at, uint16_t ret_order[])
{
    struct beam beam = {.problem = problem, .relax = relax};
    size_t most = 0;
    uint32_t *scratch = calloc(problem->warps, sizeof scratch[0]);
    int result = -ENOMEM;

    for (size_t u = 0; u < N_UNITS; u++)
        most += problem->capacity[u];
    most = most > problem->warps ? problem->warps : most;
    beam.most_steps = problem->issue && problem->issue < most ? problem->issue : most;
    beam.width = fit_width(&beam, width);
    for (beam.n_prints = 64; beam.n_prints < beam.width * SAMPLES * 2;)
        beam.n_prints *= 2;
    random_init(&beam.random, seed, UINT64_C(0xbea));
    beam.position = calloc(beam.width * problem->warps, sizeof beam.position[0]);
    beam.next_position = calloc(beam.width * problem->warps, sizeof beam.position[0]);
    beam.candidates = calloc(beam.width * SAMPLES, sizeof beam.candidates[0]);
    beam.chosen = calloc(beam.width * SAMPLES * beam.most_steps, sizeof beam.chosen[0]);
    beam.keys = calloc(problem->warps, sizeof beam.keys[0]);
    beam.prints = calloc(beam.n_prints, sizeof beam.prints[0]);
    beam.rest = calloc((problem->n + 1) * N_UNITS, sizeof beam.rest[0]);
    if (scratch && beam.position && beam.next_position && beam.candidates && beam.chosen && beam.keys &&
        beam.prints && beam.rest) {
        for (size_t i = problem->n; i-- > 0;) {
            memcpy(beam.rest + i * N_UNITS, beam.rest + (i + 1) * N_UNITS, N_UNITS * sizeof beam.rest[0]);
            beam.rest[i * N_UNITS + problem->units[i]]++;
        }
        result = run(&beam, until_at, scratch, ret_order);
    }
    free(scratch);
    free(beam.position);
    free(beam.next_position);
    free(beam.candidates);
    free(beam.chosen);
    free(beam.keys);
    free(beam.prints);
    free(beam.rest);
    free(beam.nodes);
    free(beam.steps);
    return result;
}
