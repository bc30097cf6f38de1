/*
 * The answer for people: an interval [lower, upper] around the worst-case makespan, a string that attains lower, and whether the two are proven
 * equal. Every method reports only what it proved: lower is always the evaluated makespan of the witness, upper always a
 * safe bound.
 */
#ifndef MAKESPAN_SOLVE_H
#define MAKESPAN_SOLVE_H

#include <stdbool.h>

#include "makespan/search/anneal.h"
#include "makespan/search/starts.h"

enum solve_method { SOLVE_AUTO, SOLVE_ANNEAL, SOLVE_BEAM, SOLVE_EXACT, SOLVE_BOUND };

/* What kept the answer from being exact. */
enum solve_stop {
    SOLVE_NOT_STOPPED, /* the method went as far as it goes */
    SOLVE_TIME,
    SOLVE_MEMORY,
    SOLVE_SIZE, /* the problem has more states than an exact search can number, or too many segments for a table */
};

struct solve_settings {
    enum solve_method method;
    struct anneal_settings anneal; /* used by SOLVE_ANNEAL, and by SOLVE_AUTO where a proof is out of reach */
    baton_nsec until_at;           /* 0: no limit */
    size_t memory;                 /* bytes for tables and what is remembered */
};

struct solve_result {
    unsigned lower;
    uint64_t upper;
    bool is_exact; /* lower == upper */
    enum solve_stop stop;
    unsigned starts[START_RANDOM]; /* makespans of the three templates */
    uint64_t cheap;                /* bound_cheap() */
    unsigned relaxed;              /* the first relaxed table's bound; 0: no table was made */
    uint16_t *witness;             /* owned; n * W entries, warps from 0 */
    struct anneal_result anneal;   /* owned; empty when no annealing ran */
    uint64_t table_states, searched_states;
};

/* 0 or -errno. */
int solve(const struct problem *problem, const struct solve_settings *settings,
          struct solve_result *ret_result);

void solve_result_done(struct solve_result *result);

#endif
