/*
 * An adversary for response-time bounds: a small simulator of the pipeline model (docs/analysis.md,
 * "what the run time must guarantee"), independent of src/sim, that looks for schedules with long
 * responses: offsets, sporadic delays, execution between best and worst case, any order of
 * simultaneous events, any choice of GPU, hill climbing.
 */
#ifndef TESTS_ANALYSIS_ATTACK_H
#define TESTS_ANALYSIS_ATTACK_H

#include "analysis/pipeline/pipeline.h"
#include "base/random.h"

#define ATTACK_MAX_TASKS 16

/* One behaviour of everything that the model leaves open; the same plan gives the same schedule. */
struct attack_plan {
    baton_nsec offset[ATTACK_MAX_TASKS];
    unsigned late[ATTACK_MAX_TASKS]; /* percent of releases that come late, by up to half a period */
    unsigned full;                   /* percent of executions at their worst case; others anywhere below */
    uint64_t seed;                   /* everything else */
};

/*
 * Simulates option 0 of every task until `horizon` and writes the longest response seen of each. A
 * job that is released before the previous one ended waits for it.
 */
void attack_simulate(const struct pipeline *pipeline, const struct attack_plan *plan, baton_nsec horizon,
                     baton_nsec ret_worst[]);

/*
 * Random plans, each then changed a little as long as some task comes closer to its bound;
 * ret_worst is the longest response over all runs.
 */
void attack_search(const struct pipeline *pipeline, const baton_nsec bounds[], unsigned runs,
                   struct random_state *random, baton_nsec ret_worst[]);

/*
 * A random small set on a random platform, so many options per task: all kinds of stages,
 * placements and pieces. Lives in arena.
 */
void attack_random_set(struct arena *arena, struct random_state *random, size_t options,
                       struct pipeline *ret_pipeline);

#endif
