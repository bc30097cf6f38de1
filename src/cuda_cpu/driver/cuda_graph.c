#include "cuda_cpu/driver/cuda_graph.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/driver/event.h"
#include "cuda_cpu/driver/graph_memory.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/module.h"
#include "cuda_cpu/driver/stream.h"

/* --- sets of nodes --- */

bool node_set_has(const struct node_set *set, CUgraphNode node)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->items[i] == node)
            return true;
    return false;
}

bool node_set_add(struct node_set *set, CUgraphNode node)
{
    if (node_set_has(set, node))
        return true;
    if (set->n == set->room) {
        size_t room = set->room ? 2 * set->room : 4;
        CUgraphNode *grown = realloc(set->items, room * sizeof(CUgraphNode));

        if (!grown)
            return false;
        set->items = grown;
        set->room = room;
    }
    set->items[set->n++] = node;
    return true;
}

bool node_set_add_all(struct node_set *set, const struct node_set *other)
{
    for (size_t i = 0; i < other->n; i++)
        if (!node_set_add(set, other->items[i]))
            return false;
    return true;
}

bool node_set_remove(struct node_set *set, CUgraphNode node)
{
    for (size_t i = 0; i < set->n; i++)
        if (set->items[i] == node) {
            memmove(set->items + i, set->items + i + 1, (set->n - i - 1) * sizeof(CUgraphNode));
            set->n--;
            return true;
        }
    return false;
}

void node_set_done(struct node_set *set)
{
    free(set->items);
    *set = (struct node_set){0};
}

/* --- graphs --- */

CUgraph graph_new(CUcontext context)
{
    CUgraph graph = calloc(1, sizeof *graph);

    if (!graph)
        return NULL;
    list_init(&graph->nodes);
    graph->context = context;
    if (!handle_put(graph, HANDLE_GRAPH, NULL)) {
        free(graph);
        return NULL;
    }
    return graph;
}

static void node_free(CUgraphNode node)
{
    handle_remove(node, HANDLE_NODE);
    list_remove(&node->link);
    node->graph->n_nodes--;
    action_unref(node->action);
    graph_free(node->child);
    node_set_done(&node->after);
    free(node);
}

void graph_free(CUgraph graph)
{
    if (!graph)
        return;
    handle_remove(graph, HANDLE_GRAPH);
    list_for_each_safe(at, next, &graph->nodes) node_free(list_entry(at, struct CUgraphNode_st, link));
    free(graph);
}

void node_destroy(CUgraphNode node)
{
    list_for_each(at, &node->graph->nodes)(void)
        node_set_remove(&list_entry(at, struct CUgraphNode_st, link)->after, node);
    node_free(node);
}

CUgraphNode graph_add(CUgraph graph, CUgraphNodeType type, struct action *action,
                      const struct node_set *after)
{
    CUgraphNode node = calloc(1, sizeof *node);

    if (!node || (after && !node_set_add_all(&node->after, after)) || !handle_put(node, HANDLE_NODE, NULL)) {
        if (node)
            node_set_done(&node->after);
        free(node);
        action_unref(action);
        return NULL;
    }
    node->graph = graph;
    node->type = type;
    node->action = action;
    list_append(&graph->nodes, &node->link);
    graph->n_nodes++;
    return node;
}

static CUresult clone_node(CUgraph clone, CUgraphNode node)
{
    CUgraphNode copy = graph_add(clone, node->type, node->action ? action_ref(node->action) : NULL, NULL);
    CUresult code = copy ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

    node->twin = copy;
    if (copy)
        copy->origin = node;
    if (copy && node->child)
        code = graph_clone(node->child, &copy->child);
    return code;
}

static bool clone_edges(CUgraphNode node)
{
    for (size_t i = 0; i < node->after.n; i++)
        if (!node_set_add(&node->twin->after, node->after.items[i]->twin))
            return false;
    return true;
}

CUresult graph_clone(CUgraph graph, CUgraph *ret_clone)
{
    CUgraph clone = graph_new(graph->context);
    CUresult code = clone ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

    list_for_each(at, &graph->nodes)
    {
        if (code == CUDA_SUCCESS)
            code = clone_node(clone, list_entry(at, struct CUgraphNode_st, link));
    }
    list_for_each(at, &graph->nodes)
    {
        if (code == CUDA_SUCCESS && !clone_edges(list_entry(at, struct CUgraphNode_st, link)))
            code = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (code == CUDA_SUCCESS)
        *ret_clone = clone;
    else
        graph_free(clone);
    return code;
}

/* --- executable graphs --- */

struct index_set {
    size_t *items;
    size_t n;
};

static bool index_add(struct index_set *set, const size_t *items, size_t n)
{
    size_t *grown = realloc(set->items, (set->n + n + 1) * sizeof *grown);

    if (!grown)
        return false;
    set->items = grown;
    if (n)
        memcpy(grown + set->n, items, n * sizeof *items);
    set->n += n;
    return true;
}

static CUresult exec_add(CUgraphExec exec, struct exec_node node)
{
    struct exec_node *grown = realloc(exec->nodes, (exec->n_nodes + 1) * sizeof *grown);

    if (!grown || !node.action) {
        if (grown)
            exec->nodes = grown;
        action_unref(node.action);
        free(node.after);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->nodes = grown;
    node.enabled = true;
    node.leaf = true;
    for (size_t i = 0; i < node.n_after; i++)
        exec->nodes[node.after[i]].leaf = false;
    exec->nodes[exec->n_nodes++] = node;
    return CUDA_SUCCESS;
}

static CUresult lay_open(CUgraphExec exec, CUgraph graph, const struct index_set *before);

/* A child graph lies between two joins: nodes behind the child wait for the second join. */
static CUresult place_child(CUgraphExec exec, CUgraphNode node, struct index_set *after)
{
    size_t first = exec->n_nodes, begin = first;
    struct index_set root = {&begin, 1}, leaves = {0};
    CUresult code;

    code = exec_add(exec, (struct exec_node){.action = action_new(ACTION_EMPTY),
                                             .type = CU_GRAPH_NODE_TYPE_EMPTY,
                                             .after = after->items,
                                             .n_after = after->n});
    after->items = NULL;
    if (code == CUDA_SUCCESS)
        code = lay_open(exec, node->child, &root);
    for (size_t i = first; i < exec->n_nodes && code == CUDA_SUCCESS; i++)
        if (exec->nodes[i].leaf && !index_add(&leaves, &i, 1))
            code = CUDA_ERROR_OUT_OF_MEMORY;
    if (code == CUDA_SUCCESS) {
        node->index = exec->n_nodes;
        return exec_add(exec, (struct exec_node){.action = action_new(ACTION_EMPTY),
                                                 .type = node->type,
                                                 .origin = node,
                                                 .after = leaves.items,
                                                 .n_after = leaves.n});
    }
    free(leaves.items);
    return code;
}

static CUresult place_node(CUgraphExec exec, CUgraphNode node, const struct index_set *before)
{
    struct index_set after = {0};
    bool done = index_add(&after, before->items, before->n);
    CUresult code;

    for (size_t i = 0; i < node->after.n && done; i++)
        done = index_add(&after, &node->after.items[i]->index, 1);
    if (!done) {
        free(after.items);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (node->child) {
        code = place_child(exec, node, &after);
        free(after.items);
    } else {
        node->index = exec->n_nodes;
        code = exec_add(exec, (struct exec_node){.action = action_ref(node->action),
                                                 .type = node->type,
                                                 .origin = node,
                                                 .after = after.items,
                                                 .n_after = after.n});
    }
    node->placed = code == CUDA_SUCCESS;
    return code;
}

static bool may_place(CUgraphNode node)
{
    for (size_t i = 0; i < node->after.n; i++)
        if (!node->after.items[i]->placed)
            return false;
    return !node->placed;
}

/* Appends the nodes in an order that respects their dependencies, all behind `before`. */
static CUresult lay_open(CUgraphExec exec, CUgraph graph, const struct index_set *before)
{
    CUresult code = CUDA_SUCCESS;
    size_t n_placed = 0, n_before;

    list_for_each(at, &graph->nodes) list_entry(at, struct CUgraphNode_st, link)->placed = false;
    do {
        n_before = n_placed;
        list_for_each(at, &graph->nodes)
        {
            CUgraphNode node = list_entry(at, struct CUgraphNode_st, link);

            if (code == CUDA_SUCCESS && may_place(node)) {
                code = place_node(exec, node, before);
                n_placed++;
            }
        }
    } while (code == CUDA_SUCCESS && n_placed > n_before);
    return code != CUDA_SUCCESS         ? code
           : n_placed == graph->n_nodes ? CUDA_SUCCESS
                                        : CUDA_ERROR_INVALID_VALUE; /* a cycle */
}

CUresult graph_instantiate(CUgraph graph, unsigned long long flags, CUgraphExec *ret_exec)
{
    CUgraphExec exec = calloc(1, sizeof *exec);
    struct index_set none = {0};
    CUresult code;

    if (!exec)
        return CUDA_ERROR_OUT_OF_MEMORY;
    exec->refs = 1;
    exec->flags = flags;
    exec->context = graph->context;
    pthread_mutex_init(&exec->lock, NULL);
    exec->has_memory = graph->has_memory;
    code = lay_open(exec, graph, &none);
    if (code == CUDA_SUCCESS && !handle_put(exec, HANDLE_EXEC, NULL))
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (code == CUDA_SUCCESS)
        *ret_exec = exec;
    else
        exec_unref(exec);
    return code;
}

void exec_unref(CUgraphExec exec)
{
    if (!exec || atomic_fetch_sub(&exec->refs, 1) != 1)
        return;
    for (size_t i = 0; i < exec->n_nodes; i++) {
        action_unref(exec->nodes[i].action);
        free(exec->nodes[i].after);
    }
    work_unref(exec->last);
    pthread_mutex_destroy(&exec->lock);
    free(exec->nodes);
    free(exec);
}

CUresult exec_to_graph(CUgraphExec exec, CUgraph *ret_graph)
{
    CUgraph graph = graph_new(exec->context);
    CUgraphNode *nodes = calloc(exec->n_nodes + 1, sizeof(CUgraphNode));
    CUresult code = graph && nodes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

    for (size_t i = 0; i < exec->n_nodes && code == CUDA_SUCCESS; i++) {
        const struct exec_node *node = &exec->nodes[i];
        struct action *action = node->enabled ? action_ref(node->action) : action_new(ACTION_EMPTY);

        /* The joins around a child's nodes are no nodes of a graph. */
        nodes[i] = action ? graph_add(graph,
                                      node->enabled && node->type != CU_GRAPH_NODE_TYPE_GRAPH
                                          ? node->type
                                          : CU_GRAPH_NODE_TYPE_EMPTY,
                                      action, NULL)
                          : NULL;
        if (!nodes[i])
            code = CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t k = 0; k < node->n_after && code == CUDA_SUCCESS; k++)
            if (!node_set_add(&nodes[i]->after, nodes[node->after[k]]))
                code = CUDA_ERROR_OUT_OF_MEMORY;
    }
    free(nodes);
    if (code == CUDA_SUCCESS)
        *ret_graph = graph;
    else
        graph_free(graph);
    return code;
}

/* --- launching --- */

/* A kernel cannot be launched if its module was unloaded, or its context ended, in the meantime. */
static CUresult check_kernels(const struct CUgraphExec_st *exec)
{
    for (size_t i = 0; i < exec->n_nodes; i++) {
        const struct action *action = exec->nodes[i].action;

        if (action->kind == ACTION_LAUNCH && !action->u.launch.module->context)
            return CUDA_ERROR_INVALID_HANDLE;
    }
    return CUDA_SUCCESS;
}

/* A disabled node only joins its dependencies. */
static struct work *node_work(const struct exec_node *node, struct work_context *context)
{
    struct action *action = node->enabled ? action_ref(node->action) : action_new(ACTION_EMPTY);
    struct work *work = action ? action_work(action, context) : NULL;
    struct work *record;

    if (!work)
        return NULL;
    if (node->action->kind == ACTION_RECORD)
        event_set_latest(node->action->u.event.event, work);
    if (node->action->kind == ACTION_AWAIT && (record = event_latest(node->action->u.event.event))) {
        (void)work_after(work, record);
        work_unref(record);
    }
    return work;
}

/* Makes the operations of all nodes and their waits; none is submitted yet. */
static CUresult make_works(CUgraphExec exec, struct work_context *context, struct work *begin,
                           struct work *end, struct work *works[])
{
    int result = 0;

    for (size_t i = 0; i < exec->n_nodes; i++) {
        const struct exec_node *node = &exec->nodes[i];

        works[i] = node_work(node, context);
        if (!works[i])
            return CUDA_ERROR_OUT_OF_MEMORY;
        for (size_t k = 0; k < node->n_after && result == 0; k++)
            result = work_after(works[i], works[node->after[k]]);
        if (result == 0 && node->n_after == 0)
            result = work_after(works[i], begin);
        if (result == 0 && node->leaf)
            result = work_after(end, works[i]);
        if (result < 0)
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return result == 0 && work_after(end, begin) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static struct work *new_join(struct work_context *context)
{
    struct action *action = action_new(ACTION_EMPTY);

    return action ? action_work(action, context) : NULL;
}

static CUresult launch_locked(CUgraphExec exec, struct stream *stream, struct work *works[])
{
    struct work_context *context = &stream->context->work;
    struct work *begin = new_join(context), *end = new_join(context);
    CUresult code = check_kernels(exec);

    if (code == CUDA_SUCCESS)
        code = graph_memory_launch(exec);
    if (code == CUDA_SUCCESS)
        code = begin && end ? make_works(exec, context, begin, end, works) : CUDA_ERROR_OUT_OF_MEMORY;

    if (code == CUDA_SUCCESS && (work_after(begin, exec->last) < 0 || work_submit(begin, stream->work) < 0))
        code = CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < exec->n_nodes && code == CUDA_SUCCESS; i++)
        (void)work_submit(works[i], NULL); /* cannot fail: the work is in no stream */
    if (code == CUDA_SUCCESS && work_submit(end, stream->work) < 0)
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (code == CUDA_SUCCESS) {
        work_unref(exec->last);
        exec->last = work_ref(end);
    }
    work_unref(begin);
    work_unref(end);
    return code;
}

CUresult exec_launch(CUgraphExec exec, struct stream *stream)
{
    struct work **works = calloc(exec->n_nodes + 1, sizeof *works);
    CUresult code;

    if (!works)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&exec->lock);
    code = launch_locked(exec, stream, works);
    pthread_mutex_unlock(&exec->lock);
    for (size_t i = 0; i < exec->n_nodes; i++)
        work_unref(works[i]);
    free(works);
    return code;
}
