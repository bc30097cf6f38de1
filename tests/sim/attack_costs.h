/*
 * What jobs cost in the simulator, against C of the analysis: the time in which a job is pending
 * and fewer than c pending jobs of its CPU cluster have an earlier priority point. Fair lateness
 * rests on it (src/daemon/job_costs.h).
 */
#ifndef TESTS_SIM_ATTACK_COSTS_H
#define TESTS_SIM_ATTACK_COSTS_H

#include "sim/sim.h"

/* Of the tasks of a set, by index. */
struct attack_limits {
    const baton_nsec *points, *costs;
    const unsigned *clusters;
};

struct attack_tally {
    size_t jobs, behind, tight; /* behind: of them, jobs that waited behind c others; tight: over 0.99 C */
    double most;                /* cost / C */
};

/*
 * Runs the set several times, with offsets of this seed, and periodic releases. Asserts that no job
 * costs more than its task's C; text: for the report of a failure.
 */
void attack_costs(const struct sim_options *options, const struct attack_limits *limits, const char *text,
                  uint64_t seed, struct attack_tally *tally);

#endif
