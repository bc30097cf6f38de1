/*
 * Converts a task-set file to GPUSync's model (docs/gpusync.md). The critical section runs from the
 * first to the last GPU segment. Each piece of a kernel and each chunk of a copy is an engine
 * request of its own.
 */
#ifndef ANALYSIS_GPUSYNC_TASK_SET_H
#define ANALYSIS_GPUSYNC_TASK_SET_H

#include "analysis/gpusync/gpusync.h"
#include "model/task_set.h"

/* Limits that suffice to load this set on its own platform. */
struct gpusync_limits gpusync_task_set_limits(const struct task_set *set);

/*
 * 0 with the set loaded, or INPUT_REJECTED when the model does not cover the set. Reasons: no GPU
 * for a task that needs one, kernels on several GPUs, state that cannot migrate between the GPUs of
 * a cluster. Or a placement inside a cluster with pooled tokens.
 */
int gpusync_task_set_load(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                          const struct task_set *set, struct input_error *ret_error);

#endif
