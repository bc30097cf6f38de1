/*
 * Launches of graphs. One is held back behind what it must not overtake, never for its engine:
 *
 * - what precedes it in its stream, and earlier launches of the same executable graph;
 * - records that its nodes wait for: the stream waits for them before the launch;
 * - launches of other graphs that record one of the same events (events.h says why).
 *
 * The events that it records then have a recording each, which the launch makes.
 *
 * These are functions of the columns of cuda_kinds.h.
 */
#ifndef CUDA_GRAPH_ORDER_H
#define CUDA_GRAPH_ORDER_H

#include "cuda/cuda_command.h"

bool graph_launch_adopt(struct cuda_command *command);
void graph_launch_keep(struct cuda_command *command);
void graph_launch_drop(struct cuda_command *command);
void graph_launch_enter(struct cuda_command *command);
CUresult graph_launch_give(const struct cuda_command *command);
CUresult graph_launch_issue(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut);

#endif
