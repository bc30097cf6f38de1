/*
 * The answer of the command: an interval [lower, upper] around the worst-case makespan, a string
 * that attains lower, and whether the two are proven equal. Every method reports only what it
 * proved: lower is always the evaluated makespan of the witness, upper always a safe bound.
 */
#ifndef MAKESPAN_SOLVE_H
#define MAKESPAN_SOLVE_H

#include <stdbool.h>

#include "makespan/parts.h"
#include "makespan/search/anneal.h"
#include "makespan/search/relax.h"
#include "makespan/search/starts.h"

enum solve_method { SOLVE_AUTO, SOLVE_ANNEAL, SOLVE_BEAM, SOLVE_EXACT, SOLVE_BOUND };

/* What kept the answer from being exact. */
enum solve_stop {
    SOLVE_NOT_STOPPED, /* the method went as far as it goes */
    SOLVE_TIME,
    SOLVE_MEMORY,
    /*
     * the problem has more states than an exact search can number, or too many segments for a table
     */
    SOLVE_SIZE,
    SOLVE_GROUPS, /* several groups and barriers: only the templates and the cheap bound apply */
};

struct solve_settings {
    enum solve_method method;
    /* used by SOLVE_ANNEAL, and by SOLVE_AUTO where a proof is out of reach */
    struct anneal_settings anneal;
    baton_nsec until_at; /* 0: no limit */
    size_t memory;       /* bytes for tables and what is remembered */
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
    /*
     *  Owned; the distinct parts in the order of the string; NULL: no barriers, or several groups.
     */
    struct solve_part *parts;
    size_t n_parts;
};

/* What is known of one part between barriers. */
struct solve_part {
    size_t part;  /* the first of parts.h with these letters */
    size_t times; /* how many parts have them */
    unsigned lower;
    uint64_t upper;
};

/* Without barriers. 0 or -errno. */
int solve(const struct problem *problem, const struct solve_settings *settings,
          struct solve_result *ret_result);

/*
 * With barriers. The warps of problem, which is about parts->units, belong to `groups` groups of
 * equally many. With one group each distinct part is solved and the answer is the sum, exact if
 * every part is: parts.h says why. The time limit is shared among the distinct parts; an
 * annealing's improvements are not kept. With several groups and a barrier: SOLVE_GROUPS. 0 or
 * -errno.
 */
int solve_parts(const struct problem *problem, const struct parts *parts, unsigned groups,
                const struct solve_settings *settings, struct solve_result *ret_result);

/* An upper bound alone, at a cost that depends on the problem and not on the machine. */
struct solve_bound {
    uint64_t upper;
    /* For at least one part only bound_cheap() is known, because a table would exceed a limit. */
    bool is_cheap;
};

/*
 * For each distinct part the least of bound_cheap() and a relaxed table; the answer is their sum. A
 * table may take settings->memory bytes. settings->effort steps are shared equally among the
 * distinct parts, whether or not the others need theirs. So the bound never falls when warps are
 * added. settings->until_at is 0.
 *
 * With several groups and a barrier: bound_cheap() of the whole. Unlike that of solve(), the bound
 * also holds for warps that omit instructions: settings->skips is implied. 0 or -errno.
 */
int solve_bound(const struct problem *problem, const struct parts *parts, unsigned groups,
                const struct relax_settings *settings, struct solve_bound *ret_bound);

void solve_result_done(struct solve_result *result);

#endif
