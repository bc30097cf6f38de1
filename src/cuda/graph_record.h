/*
 * Executable graphs, one record for each, and the events that their launches record and wait for.
 * These are read from the graph when it is instantiated or updated, and change with the nodes of
 * the executable graph. A driver that does not tell, memory that is short, or a change that does
 * not say all leave them unknown: launches of such a graph are neither held back nor overtaken.
 *
 * Kernel nodes record no events: CUDA takes an event of a captured launch's attributes for an edge
 * of the graph.
 */
#ifndef CUDA_GRAPH_RECORD_H
#define CUDA_GRAPH_RECORD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/refs.h"
#include "cuda_abi/graph_abi.h"
#include "engine/handle_table.h"

struct command;
struct event_record;

struct graph_node {
    CUgraphNode node;           /* of the graph that was instantiated, or of a child in it */
    struct event_record *event; /* a reference */
    bool records;               /* else it waits */
};

/* Never changes once it is made. */
struct graph_events {
    struct refs refs;
    struct graph_node *nodes; /* owned, of events only */
    size_t n_nodes;
    /* owned; each event once, in the order of addresses */
    struct event_record **recorded, **waited;
    size_t n_recorded, n_waited;
};

struct graph_record {
    struct refs refs;
    /* cuda_front.graphs.lock guards the following */
    struct graph_events *events; /* a reference; NULL: not known */
    struct command *newest;      /* the newest launch that is held back: a reference; NULL: none */
};

void graphs_init(void);

/* A reference; NULL: not known. */
struct graph_record *graph_find(CUgraphExec exec);
void graph_keep(struct graph_record *graph);
void graph_drop(struct graph_record *graph);

/* A reference; NULL: not known, or no graph. */
struct graph_events *graph_events_of(struct graph_record *graph);
void graph_events_keep(struct graph_events *events);
void graph_events_drop(struct graph_events *events);

/* The front's part (cuda_front.graphs). */
struct cuda_graphs {
    struct handle_table table; /* executable graph -> its record, a reference */
    pthread_mutex_t lock;      /* a leaf: guards what records say */
};

#endif
