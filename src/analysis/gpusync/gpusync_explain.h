/* Which tasks' work makes up a response bound of GPUSync (`--explain`). */
#ifndef ANALYSIS_GPUSYNC_EXPLAIN_H
#define ANALYSIS_GPUSYNC_EXPLAIN_H

#include "analysis/gpusync/gpusync.h"

/*
 * The terms of task i's bound, after gpusync_analyse() answered GPUSYNC_BOUNDED with the same
 * system and options. Terms are waiting for tokens, engines, a donee, interrupts and the CPU by
 * cause, and the task's own time with overheads and rounding. They sum up to the bound. The memory
 * comes from explanation->arena, which the caller has initialised. 0 or -ENOMEM.
 */
int gpusync_explain(struct gpusync_workspace *workspace, size_t i, struct analysis_explanation *explanation);

#endif
