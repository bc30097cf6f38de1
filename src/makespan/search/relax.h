/*
 * A safe upper bound for every state at once: dynamic programming on a relaxation.
 *
 * The string is cut into segments of equal letters. For each segment a relaxed state keeps only two
 * numbers. One is how many warps are in it (k), the other how many of its instructions they have
 * left in all (w). How w is spread over the k warps is lost. A relaxed step may spread it anew, so
 * it can do all that a real step can and more. The longest relaxed run is never shorter than the
 * worst real one.
 *
 * A relaxed run may be longer than bound_cheap(), so values stop there. Every state that is reached
 * from the start is followed by no more cycles.
 *
 * Values lie in lexicographic order of (k1, w1, k2, w2, ...), which every step decreases, so one
 * pass fills the table. States that differ only in the last w are neighbours in memory, and so are
 * their successors. So a step is applied to a whole row at once.
 */
#ifndef MAKESPAN_RELAX_H
#define MAKESPAN_RELAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"
#include "makespan/kernel.h"

#define RELAX_MAX_SEGMENTS 64
#define RELAX_MAX_WARPS    255u

struct relax_segment {
    enum kernel_unit unit;
    unsigned begin; /* index of its first instruction */
    unsigned length;
};

struct relax {
    const struct problem *problem; /* borrowed */
    struct relax_segment segments[RELAX_MAX_SEGMENTS];
    size_t n_segments;
    unsigned warps;
    /* owned; [segment][c][k]: states of c warps before those with k of them in the segment */
    uint64_t *base;
    uint64_t *number; /* owned; [segment][c]: states of at most c warps from this segment on */
    uint64_t n_states;
    size_t value_size; /* 1 or 2 bytes */
    void *values;      /* owned */
};

/* Answers of relax_build(). */
enum relax_answer {
    RELAX_TOO_LARGE =
        1, /* the table does not fit into the memory allowed, or the string has too many segments */
    RELAX_TIMED_OUT,
    RELAX_OUT_OF_EFFORT,
};

/* What a table is about and may cost. */
struct relax_settings {
    size_t memory;       /* bytes */
    baton_nsec until_at; /* 0: no limit */
    /*
     * Steps, 0: no limit; about 10 ns each. Whether this limit is reached depends on the problem
     * alone, not on the machine. A problem with more warps takes more steps.
     */
    uint64_t effort;
    /*
     * A warp may leave out any of its instructions, at no cost. Such a run may be longer than every
     * run without omissions, so only this table bounds warps that take at most the string. Causes:
     * a load that takes fewer cycles, a predicate that is false, a loop that ends early.
     */
    bool skips;
};

/*
 * Fills the table within the limits. Besides the borders of runs of equal letters, the string is
 * cut before instruction i where cuts[i] is not 0 (NULL: nowhere). Shorter segments give tighter
 * values and take more memory. Without cuts the bound never falls when warps are added. 0, -ENOMEM
 * or a relax_answer; on anything but 0 there is nothing to free.
 */
int relax_build(const struct problem *problem, const uint8_t cuts[], const struct relax_settings *settings,
                struct relax *ret_relax);

void relax_done(struct relax *relax);

/* Bytes the table of relax_build() would take; SIZE_MAX if it cannot be built at all. */
size_t relax_size(const struct problem *problem, const uint8_t cuts[]);

/* Bound on the cycles left with k[s] warps and w[s] instructions left in segment s. */
unsigned relax_value(const struct relax *relax, const unsigned k[], const unsigned w[]);

/* The bound for all warps at the beginning. */
unsigned relax_start(const struct relax *relax);

/* The value at an index made by the two functions below. */
static inline unsigned relax_at(const struct relax *relax, uint64_t index)
{
    return relax->value_size == 1 ? ((const uint8_t *)relax->values)[index]
                                  : ((const uint16_t *)relax->values)[index];
}

/* States of at most c warps in the segments from s on. */
static inline uint64_t relax_number(const struct relax *relax, size_t s, unsigned c)
{
    return relax->number[s * (relax->warps + 1) + c];
}

/*
 * Of c warps in the segments from s on, k are in s with w instructions left there: its part of the
 * index.
 */
static inline uint64_t relax_part(const struct relax *relax, size_t s, unsigned c, unsigned k, unsigned w)
{
    size_t stride = relax->warps + 1;

    return relax->base[(s * stride + c) * stride + k] + (uint64_t)(w - k) * relax_number(relax, s + 1, c - k);
}

#endif
