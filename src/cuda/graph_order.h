/*
 * Launches of graphs that are held back. Nodes of a graph may record events, which then wait for
 * the launch. Which events these may be is known from the calls that make or change such nodes: an
 * event that none of them has named waits for no launch.
 *
 * Launches of one executable graph keep their order, whatever streams they are in.
 */
#ifndef CUDA_GRAPH_ORDER_H
#define CUDA_GRAPH_ORDER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cuda_abi/driver_abi.h"
#include "engine/handle_table.h"

struct cuda_command;
struct stream_record;

void graphs_init(void);

/* A node may record the event from now on, or the event is gone. */
void graphs_note_event(CUevent event);
void graphs_forget_event(CUevent event);
/* May a launch that is held back be about to record the event? */
bool graphs_may_record(CUevent event);

/*
 * The stream is about to be given a launch of the executable graph: what comes next there is held
 * back while an earlier launch of the graph is.
 */
void graphs_take_turn(CUgraphExec exec, struct stream_record *stream);
/*
 * A heap command that launches a graph enters the graph of commands (cuda_front.order is held), and
 * the driver has it.
 */
void graphs_launch_held(struct cuda_command *command);
void graphs_launch_given(struct cuda_command *command);

/* The front's part (cuda_front.graphs). */
struct cuda_graphs {
    struct handle_table events; /* that nodes may record -> themselves */
    atomic_bool any_events;
    /* executable graph -> the command of its newest launch that is held back, a reference */
    struct handle_table launches;
    pthread_mutex_t lock; /* guards changes of `launches`; a leaf but for the table's */
};

#endif
