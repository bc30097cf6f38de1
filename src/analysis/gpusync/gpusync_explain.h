/* Whose work makes up a response bound of GPUSync (`--explain`). */
#ifndef ANALYSIS_GPUSYNC_EXPLAIN_H
#define ANALYSIS_GPUSYNC_EXPLAIN_H

#include "analysis/gpusync/gpusync.h"

/*
 * The terms of task i's bound after gpusync_analyse() answered GPUSYNC_BOUNDED with the same system and options: waiting for tokens, engines, a
 * donee, interrupts and the CPU by cause, and what is its own (overheads and rounding included). They sum up to the bound. 0 or -ENOMEM;
 * memory is of explanation->arena, which the caller has initialised.
 */
int gpusync_explain(struct gpusync_workspace *workspace, size_t i, struct analysis_explanation *explanation);

#endif
