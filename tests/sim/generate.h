/*
 * Random task sets as file text, for properties over simulator and analyses. The same seed gives
 * the same text.
 */
#ifndef TESTS_SIM_GENERATE_H
#define TESTS_SIM_GENERATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/random.h"

/* What a set contains, so that a test can assert that it saw the interesting ones. */
struct generated {
    char text[16384];
    unsigned tasks, cpus, gpus;
    bool multi;  /* some kernel on several GPUs at once */
    bool sliced; /* some stage has several pieces */
    bool any, chosen, fixed;
    bool unequal;      /* GPUs of unequal speed */
    bool all_gpus[16]; /* by task: has lengths for all GPUs, to be run so */
};

/*
 * Pipelines for `holistic`: several CPUs and GPUs, one bus, all placements, pieces, split kernels,
 * unequal GPUs.
 */
void generate_pipelines(struct random_state *random, struct generated *ret_set);

/* CPU-only sets on several CPUs for `fair-lateness`; utilisation up to the number of CPUs. */
void generate_cpu_sets(struct random_state *random, struct generated *ret_set);

/*
 * Sets with one critical section a job for `gpusync`; shared: several CPU clusters share the GPUs
 * (CK-OMLP).
 */
void generate_critical_sections(struct random_state *random, bool shared, struct generated *ret_set);

#endif
