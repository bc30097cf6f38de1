/*
 * Independent of src/makespan: the worst case of a whole grid by trying every choice in every
 * cycle. Warps have barriers, groups take the places of groups that ended, and every rule is
 * checked warp by warp. Slow and plain on purpose; states are remembered, nothing is cut.
 */
#ifndef TESTS_MAKESPAN_GRID_ORACLE_H
#define TESTS_MAKESPAN_GRID_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#define GRID_MOST_WARPS 12 /* of all multiprocessors together; at most 8 of one */
#define GRID_MOST_STEPS 6  /* instructions of a warp */

struct grid_case {
    char string[2 * GRID_MOST_STEPS + 1]; /* letters L, C, S, D; a slash is a barrier */
    unsigned capacity[4];                 /* in the order L, C, S, D */
    unsigned issue;                       /* 0: no cap */
    unsigned warps;                       /* of one group */
    unsigned resident, multiprocessors, groups;
    bool skips; /* a warp may leave out any instruction, at no cost */
};

/* The longest execution in cycles; 0: more than `most_states` states were met. */
unsigned grid_worst(const struct grid_case *grid, unsigned most_states);

/*
 * Is this an execution of one multiprocessor with as many groups as it holds? Warp order[i]
 * executes its next instruction in cycles[i], never before a barrier has opened and never beyond a
 * capacity. No warp waits that could execute.
 */
bool grid_is_execution(const struct grid_case *grid, const uint16_t order[], const uint32_t cycles[]);

#endif
