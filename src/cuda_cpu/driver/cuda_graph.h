/*
 * Graphs: nodes with dependencies, built by capture or call by call, and executable copies of them.
 *
 * A graph and its nodes belong to the program, which calls one thread at a time per graph, as
 * documented. An executable graph is independent of the graph that it was made from. Launching it
 * submits one operation per node between two joins in the stream.
 */
#ifndef CUDA_CPU_DRIVER_GRAPH_H
#define CUDA_CPU_DRIVER_GRAPH_H

#include "cuda_cpu/driver/action.h"

struct node_set {
    CUgraphNode *items;
    size_t n, room;
};

/* Without duplicates. False: no memory. */
bool node_set_add(struct node_set *set, CUgraphNode node);
bool node_set_add_all(struct node_set *set, const struct node_set *other);
bool node_set_has(const struct node_set *set, CUgraphNode node);
/* False: the node was not in the set. The order of the others stays. */
bool node_set_remove(struct node_set *set, CUgraphNode node);
void node_set_done(struct node_set *set);

struct CUgraphNode_st {
    CUgraph graph;
    struct list link; /* CUgraph_st::nodes, in order of creation */
    CUgraphNodeType type;
    struct action *action; /* owned reference; NULL: of a child graph */
    CUgraph child;         /* owned; NULL: none */
    CUgraphNode origin;    /* the node of which this is a clone; compared, never followed */
    struct node_set after; /* the nodes that it depends on */
    size_t index;          /* its index in the graph's order, during instantiation */
    bool placed;           /* during instantiation: it has its index */
    bool marked;           /* used by the walk in progress (capture.c) */
    CUgraphNode twin;      /* its copy, while the graph is being cloned */
};

struct CUgraph_st {
    struct list nodes;
    size_t n_nodes;
    CUcontext context; /* the context in which its nodes run */
    bool owned;        /* by a child node, not by the program */
    bool capturing;    /* a capture adds to it, so it must not end; captures.lock */
    bool has_memory;   /* it has nodes that allocate or free, and cannot be cloned */
};

struct exec_node {
    struct action *action; /* owned reference */
    CUgraphNodeType type;
    CUgraphNode origin; /* the node of the original graph; compared, never followed */
    size_t *after;      /* owned: indices of earlier nodes */
    size_t n_after;
    bool enabled;
    bool leaf;
};

struct CUgraphExec_st {
    CUcontext context;
    struct exec_node *nodes; /* in an order that respects dependencies; nodes of child graphs are in line */
    size_t n_nodes;
    unsigned long long flags;
    bool has_memory; /* nodes that allocate or free */
    atomic_uint refs;
    struct work *last; /* a reference to the end of its latest launch: launches do not overlap */
    pthread_mutex_t lock;
};

/* An empty graph with a handle. NULL: no memory. */
CUgraph graph_new(CUcontext context);
void graph_free(CUgraph graph);
/* A new node behind others of the graph. Takes over the action's reference. NULL: no memory. */
CUgraphNode graph_add(CUgraph graph, CUgraphNodeType type, struct action *action,
                      const struct node_set *after);
/* Removes the node from the graph and from all dependencies, and frees it. */
void node_destroy(CUgraphNode node);
/* Copies the graph. Each node of the copy refers to its origin. */
CUresult graph_clone(CUgraph graph, CUgraph *ret_clone);

/* CUDA_ERROR_INVALID_VALUE: the graph has a cycle. */
CUresult graph_instantiate(CUgraph graph, unsigned long long flags, CUgraphExec *ret_exec);
void exec_unref(CUgraphExec exec);
/*
 * For a launch inside a capture: rebuilds a graph from the executable one, with its later changes.
 */
CUresult exec_to_graph(CUgraphExec exec, CUgraph *ret_graph);
/* Launches the executable graph into the stream. */
struct stream;
CUresult exec_launch(CUgraphExec exec, struct stream *stream);

#endif
