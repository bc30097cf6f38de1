/*
 * Loading a set piece by piece, for callers whose jobs are not struct gpusync_job: begin, then per task its head and its requests,
 * then end. Within the workspace's limits.
 */
#ifndef ANALYSIS_GPUSYNC_LOAD_H
#define ANALYSIS_GPUSYNC_LOAD_H

#include "analysis/gpusync/gpusync_state.h"

void gpusync_load_begin(struct gpusync_workspace *workspace);

/* The next task; later requests belong to it. cpu includes critical. The answer is borrowed until the next begin. */
struct gpusync_task *gpusync_load_task(struct gpusync_workspace *workspace, double period, double deadline,
                                       double cpu, double critical);

/* count requests of this length per job. */
void gpusync_load_request(struct gpusync_workspace *workspace, enum gpusync_operation kind, double length,
                          double count);

/* Copies by size: at most two different requests each (system and on-demand state: four). */
void gpusync_load_in(struct gpusync_workspace *workspace, const struct gpusync_system *system, int64_t bytes);
void gpusync_load_out(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                      int64_t bytes);
void gpusync_load_state(struct gpusync_workspace *workspace, const struct gpusync_system *system,
                        int64_t bytes);

void gpusync_load_end(struct gpusync_workspace *workspace);

#endif
