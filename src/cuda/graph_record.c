#include "cuda/graph_record.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cuda/events.h"
#include "cuda/front.h"
#include "cuda/objects.h"
#include "engine/command.h"

enum { NODE_LAST_KNOWN = 13 }; /* a conditional node; later kinds may do anything */

static void keep(void *graph)
{
    graph_keep(graph);
}

void graphs_init(void)
{
    handle_table_init(&cuda_front.graphs.table, keep);
    pthread_mutex_init(&cuda_front.graphs.lock, NULL);
}

/* --- events of a graph --- */

void graph_events_keep(struct graph_events *events)
{
    refs_keep(&events->refs);
}

void graph_events_drop(struct graph_events *events)
{
    if (!events || !refs_drop(&events->refs))
        return;
    for (size_t i = 0; i < events->n_nodes; i++)
        event_drop(events->nodes[i].event);
    free(events->nodes);
    free(events->recorded);
    free(events->waited);
    free(events);
}

static bool add_node(struct graph_events *events, size_t *room, struct graph_node node)
{
    struct graph_node *nodes = array_make_room(events->nodes, events->n_nodes, room, sizeof node);

    if (nodes && node.event) {
        events->nodes = nodes;
        nodes[events->n_nodes++] = node;
        return true;
    }
    if (nodes)
        events->nodes = nodes;
    event_drop(node.event);
    return false;
}

static bool read_nodes(struct graph_events *events, size_t *room, CUgraph graph);

/* One node; false: it cannot be known what it does. */
static bool read_node(struct graph_events *events, size_t *room, CUgraphNode node)
{
    const struct genuine *driver = &cuda_front.genuine;
    CUgraphNodeType type;
    CUevent event = NULL;
    CUgraph child = NULL;

    if (driver->cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
        return false;
    switch (type) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return driver->cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS &&
               read_nodes(events, room, child);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return driver->cuGraphEventRecordNodeGetEvent &&
               driver->cuGraphEventRecordNodeGetEvent(node, &event) == CUDA_SUCCESS &&
               add_node(events, room, (struct graph_node){node, event_find(event), true});
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return driver->cuGraphEventWaitNodeGetEvent &&
               driver->cuGraphEventWaitNodeGetEvent(node, &event) == CUDA_SUCCESS &&
               add_node(events, room, (struct graph_node){node, event_find(event), false});
    default:
        return (int)type <= NODE_LAST_KNOWN;
    }
}

static bool read_nodes(struct graph_events *events, size_t *room, CUgraph graph)
{
    const struct genuine *driver = &cuda_front.genuine;
    size_t n = 0, n_got;
    CUgraphNode *nodes;
    bool read;

    if (!driver->cuGraphGetNodes || !driver->cuGraphNodeGetType || !driver->cuGraphChildGraphNodeGetGraph ||
        driver->cuGraphGetNodes(graph, NULL, &n) != CUDA_SUCCESS)
        return false;
    if (n == 0)
        return true;
    nodes = calloc(n, sizeof(CUgraphNode));
    n_got = n;
    read = nodes && driver->cuGraphGetNodes(graph, nodes, &n_got) == CUDA_SUCCESS && n_got == n;
    for (size_t i = 0; i < n && read; i++)
        read = read_node(events, room, nodes[i]);
    free(nodes);
    return read;
}

static int compare(const void *left, const void *right)
{
    const struct event_record *a = *(struct event_record *const *)left;
    const struct event_record *b = *(struct event_record *const *)right;

    return (a > b) - (a < b);
}

/* The events of the nodes of one kind; NULL: no memory. */
static struct event_record **list_events(const struct graph_events *events, bool recorded, size_t *ret_n)
{
    struct event_record **list = calloc(events->n_nodes + 1, sizeof(struct event_record *));
    size_t n = 0, n_kept = 0;

    if (!list)
        return NULL;
    for (size_t i = 0; i < events->n_nodes; i++)
        if (events->nodes[i].records == recorded)
            list[n++] = events->nodes[i].event;
    qsort(list, n, sizeof(struct event_record *), compare);
    for (size_t i = 0; i < n; i++)
        if (n_kept == 0 || list[n_kept - 1] != list[i])
            list[n_kept++] = list[i];
    *ret_n = n_kept;
    return list;
}

/* Takes the events over; NULL: no memory. */
static struct graph_events *list_both(struct graph_events *events)
{
    events->recorded = list_events(events, true, &events->n_recorded);
    events->waited = list_events(events, false, &events->n_waited);
    if (events->recorded && events->waited)
        return events;
    graph_events_drop(events);
    return NULL;
}

/* What a graph that is instantiated now does with events. NULL: not known. */
static struct graph_events *read_events(CUgraph graph)
{
    struct graph_events *events = calloc(1, sizeof *events);
    size_t room = 0;

    if (!events)
        return NULL;
    refs_init(&events->refs);
    if (read_nodes(events, &room, graph))
        return list_both(events);
    graph_events_drop(events);
    return NULL;
}

/* The same events, but for that of one node. NULL: the node, or the event, is not known. */
static struct graph_events *change_event(const struct graph_events *before, CUgraphNode node, CUevent event)
{
    struct graph_events *events = calloc(1, sizeof *events);
    size_t room = 0;
    bool found = false, copied = events;

    if (events)
        refs_init(&events->refs);
    for (size_t i = 0; copied && i < before->n_nodes; i++) {
        struct graph_node copy = before->nodes[i];
        bool is_it = copy.node == node;

        if (is_it)
            copy.event = event_find(event);
        else
            event_keep(copy.event);
        found = found || is_it;
        copied = add_node(events, &room, copy);
    }
    if (found && copied)
        return list_both(events);
    graph_events_drop(events);
    return NULL;
}

/* --- records --- */

struct graph_record *graph_find(CUgraphExec exec)
{
    return exec ? handle_table_find(&cuda_front.graphs.table, exec) : NULL;
}

void graph_keep(struct graph_record *graph)
{
    refs_keep(&graph->refs);
}

void graph_drop(struct graph_record *graph)
{
    if (!graph || !refs_drop(&graph->refs))
        return;
    graph_events_drop(graph->events);
    free(graph);
}

struct graph_events *graph_events_of(struct graph_record *graph)
{
    struct graph_events *events;

    if (!graph)
        return NULL;
    pthread_mutex_lock(&cuda_front.graphs.lock);
    events = graph->events;
    if (events)
        graph_events_keep(events);
    pthread_mutex_unlock(&cuda_front.graphs.lock);
    return events;
}

/* Takes the events over. */
static void set_events(struct graph_record *graph, struct graph_events *events)
{
    struct graph_events *before = events;

    if (graph) {
        pthread_mutex_lock(&cuda_front.graphs.lock);
        before = graph->events;
        graph->events = events;
        pthread_mutex_unlock(&cuda_front.graphs.lock);
    }
    graph_events_drop(before);
}

static void begin(CUgraphExec exec, CUgraph graph)
{
    struct graph_record *record = calloc(1, sizeof *record);

    graph_drop(handle_table_remove(&cuda_front.graphs.table, exec));
    if (!record)
        return;
    refs_init(&record->refs);
    record->events = read_events(graph);
    if (!handle_table_put(&cuda_front.graphs.table, exec, record))
        graph_drop(record);
}

/* --- calls --- */

/* The first arguments are where the executable graph goes, and the graph. */
CUresult route_graph_made(struct call *call)
{
    CUresult code = call_invoke(call);

    if (code == CUDA_SUCCESS)
        begin(*(CUgraphExec *)call->args[0], (CUgraph)call->args[1]);
    return code;
}

/* Executable graphs change, and end, when nothing is held back. */
static struct graph_record *find_alone(const struct call *call)
{
    objects_drain();
    objects_close_marks();
    return graph_find((CUgraphExec)call->args[0]);
}

/* It is forgotten before the driver can give the handle to another one. */
CUresult route_graph_end(struct call *call)
{
    graph_drop(find_alone(call));
    if (call->args[0])
        graph_drop(handle_table_remove(&cuda_front.graphs.table, (void *)call->args[0]));
    return call_invoke(call);
}

/* cuGraphExecUpdate(executable graph, graph, ...): what a refused one has changed is not known. */
CUresult route_graph_update(struct call *call)
{
    struct graph_record *graph = find_alone(call);
    CUresult code = call_invoke(call);

    set_events(graph, code == CUDA_SUCCESS ? read_events((CUgraph)call->args[1]) : NULL);
    graph_drop(graph);
    return code;
}

static CUresult call_and_change(const struct call *call, CUevent event)
{
    struct graph_record *graph = find_alone(call);
    struct graph_events *before = graph_events_of(graph);
    CUresult code = call_invoke(call);

    if (code == CUDA_SUCCESS && before)
        set_events(graph, change_event(before, (CUgraphNode)call->args[1], event));
    graph_events_drop(before);
    graph_drop(graph);
    return code;
}

/* cuGraphExecEventRecordNodeSetEvent(executable graph, node, event), and the same of waits. */
CUresult route_graph_event(struct call *call)
{
    return call_and_change(call, (CUevent)call->args[2]);
}

static CUresult call_and_forget(const struct call *call)
{
    struct graph_record *graph = find_alone(call);
    CUresult code = call_invoke(call);

    set_events(graph, NULL);
    graph_drop(graph);
    return code;
}

/* cuGraphExecChildGraphNodeSetParams(executable graph, node, child) */
CUresult route_graph_child(struct call *call)
{
    return call_and_forget(call);
}

/* cuGraphExecNodeSetParams(executable graph, node, params) */
CUresult route_graph_node(struct call *call)
{
    const CUgraphNodeParams *about = (const CUgraphNodeParams *)call->args[2];
    CUgraphNodeType type = about ? about->type : CU_GRAPH_NODE_TYPE_EMPTY;

    switch (type) {
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return call_and_change(call, about->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return call_and_change(call, about->eventWait.event);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return call_and_forget(call);
    default:
        graph_drop(find_alone(call));
        return call_invoke(call);
    }
}
