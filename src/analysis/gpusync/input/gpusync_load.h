/*
 * Loads a set incrementally, for callers with their own job structures instead of struct
 * gpusync_job. Call begin, then for each task its head and its requests, then end. The set must fit
 * the workspace's limits.
 */
#ifndef ANALYSIS_GPUSYNC_LOAD_H
#define ANALYSIS_GPUSYNC_LOAD_H

#include "analysis/gpusync/gpusync_state.h"

void gpusync_load_begin(struct gpusync_workspace *workspace);

/*
 * Begins the next task; later requests belong to it. cpu includes critical. The answer is borrowed
 * until the next begin.
 */
struct gpusync_task *gpusync_load_task(struct gpusync_workspace *workspace, double period, double deadline,
                                       double cpu, double critical);

/* Adds `count` requests of this length per job. */
void gpusync_load_request(struct gpusync_workspace *workspace, enum gpusync_operation kind, double length,
                          double count);

/* Adds copies by size: at most two different requests each (system and on-demand state: four). */
void gpusync_load_in(struct gpusync_workspace *workspace, const struct gpusync_system *system, int64_t bytes);
void gpusync_load_out(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                      int64_t bytes);
void gpusync_load_state(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                        int64_t bytes);

void gpusync_load_end(struct gpusync_workspace *workspace);

#endif
