/*
 * Random task sets of GPUSync's study (Sec. V). Tasks are drawn until their utilisation reaches the
 * target; the last one is trimmed to hit it. A random part of them uses the GPU. Times are whole
 * microseconds. Nothing is allocated.
 */
#ifndef STUDY_GENERATOR_H
#define STUDY_GENERATOR_H

#include "base/random.h"
#include "study/spec/spec.h"

/* A stream is a hash of the values that its draws depend on. */
uint64_t generator_hash(uint64_t hash, double value);

/*
 * The stream of one point depends on the distributions, not on their position in a file: subsets of
 * a study see the same sets.
 */
uint64_t generator_stream(const struct study_combination *combination, double utilisation);

/*
 * Fills ret_jobs with the next set and returns its size; room for STUDY_MAX_TASKS. Utilisation
 * counts e_cpu + e_gpu; copies are additional. 5 % of a GPU task's CPU time is inside its one
 * critical section.
 */
size_t generator_draw(const struct study_combination *combination, double utilisation,
                      struct random_state *random, struct gpusync_job ret_jobs[]);

#endif
