/*
 * Launches of graphs that are held back. Nodes of a graph may record events, which then wait for
 * the launch. Which events these may be is known from the calls that make or change such nodes: an
 * event that none of them has named waits for no launch.
 */
#ifndef CUDA_GRAPH_ORDER_H
#define CUDA_GRAPH_ORDER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cuda_abi/driver_abi.h"
#include "engine/handle_table.h"

void graphs_init(void);

/* A node may record the event from now on, or the event is gone. */
void graphs_note_event(CUevent event);
void graphs_forget_event(CUevent event);
/* May a launch that is held back be about to record the event? */
bool graphs_may_record(CUevent event);

/* The front's part (cuda_front.graphs). */
struct cuda_graphs {
    struct handle_table events; /* that nodes may record -> themselves */
    atomic_bool any_events;
};

#endif
