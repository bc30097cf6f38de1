/*
 * Which GPUs a planner need not distinguish. Two GPUs are in one *cell* when exchanging their names
 * maps the set of tasks, with all decisions so far, to itself. Every kernel is then as long on one
 * as on the other, and every fixed or assigned set contains both or neither. The planner may assign
 * all sets of a size (pipeline_build.c), so its options are closed under the exchange. Among
 * options that such exchanges map to each other, one is enough: either all of them are schedulable
 * or none is.
 */
#ifndef ANALYSIS_PLAN_SYMMETRY_H
#define ANALYSIS_PLAN_SYMMETRY_H

#include "analysis/pipeline/pipeline.h"

struct gpu_cells {
    unsigned char cell[PIPELINE_MAX_GPUS]; /* by GPU */
    unsigned gpus;
};

/* The cells before any decision. */
void plan_symmetry_begin(const struct pipeline *pipeline, struct gpu_cells *ret_cells);

/* Updates the cells after a task is assigned this set. */
void plan_symmetry_assign(struct gpu_cells *cells, uint64_t set);

/* Do exchanges within the cells map an option of a lower number to this one? */
bool plan_symmetry_repeats(const struct gpu_cells *cells, const struct pipeline_task *task, size_t option);

#endif
