/*
 * Which GPUs a planner need not tell apart. Two GPUs are in one *cell* when exchanging their names turns the set of tasks, with what is decided
 * so far, into itself: every kernel is as long on one as on the other, every set that a file fixes and every set that is assigned has both or
 * none. The options that the planner may assign are all sets of a size (pipeline_build.c), so they are closed under the
 * exchange. Of the options that such exchanges turn into each other, one is enough: they are schedulable together or not at all.
 */
#ifndef ANALYSIS_PLAN_SYMMETRY_H
#define ANALYSIS_PLAN_SYMMETRY_H

#include "analysis/pipeline/pipeline.h"

struct gpu_cells {
    unsigned char cell[PIPELINE_MAX_GPUS]; /* by GPU */
    unsigned gpus;
};

/* Before anything is decided. */
void plan_symmetry_begin(const struct pipeline *pipeline, struct gpu_cells *ret_cells);

/* A task has been assigned this set. */
void plan_symmetry_assign(struct gpu_cells *cells, uint64_t set);

/* Is there an option of a lower number that exchanges within the cells turn into this one? */
bool plan_symmetry_repeats(const struct gpu_cells *cells, const struct pipeline_task *task, size_t option);

#endif
