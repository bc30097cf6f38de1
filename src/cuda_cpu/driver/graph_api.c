/* Calls that make graphs and ask about them. Nodes: node_api.c; executable graphs: exec_api.c. */
#include "cuda_cpu/driver/cuda_graph.h"

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/handles.h"

DRIVER_EXPORT CUresult cuGraphCreate(CUgraph *ret_graph, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_graph || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_graph = graph_new(context_of_thread());
    return *ret_graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

DRIVER_EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(graph, HANDLE_GRAPH) || graph->owned || graph->capturing)
        return CUDA_ERROR_INVALID_VALUE;
    graph_free(graph);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuGraphClone(CUgraph *ret_clone, CUgraph graph)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_clone || !handle_is(graph, HANDLE_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    if (graph->has_memory)
        return CUDA_ERROR_NOT_SUPPORTED;
    return graph_clone(graph, ret_clone);
}

DRIVER_EXPORT CUresult cuGraphNodeFindInClone(CUgraphNode *ret_node, CUgraphNode origin, CUgraph clone)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_node || !origin || !handle_is(clone, HANDLE_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    list_for_each(at, &clone->nodes)
    {
        CUgraphNode node = list_entry(at, struct CUgraphNode_st, link);

        if (node->origin == origin) {
            *ret_node = node;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_VALUE;
}

/* --- lists; with a NULL list only their length --- */

static CUresult list_nodes(CUgraph graph, bool roots, CUgraphNode *ret_nodes, size_t *n)
{
    size_t room = ret_nodes && n ? *n : 0, found = 0;

    if (!n || !handle_is(graph, HANDLE_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    list_for_each(at, &graph->nodes)
    {
        CUgraphNode node = list_entry(at, struct CUgraphNode_st, link);

        if (roots && node->after.n)
            continue;
        if (found < room)
            ret_nodes[found] = node;
        found++;
    }
    for (size_t i = found; i < room; i++)
        ret_nodes[i] = NULL;
    *n = ret_nodes && found > room ? room : found;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *ret_nodes, size_t *n)
{
    CUresult code = api_enter(__func__, API_READY);

    return code == CUDA_SUCCESS ? list_nodes(graph, false, ret_nodes, n) : code;
}

DRIVER_EXPORT CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *ret_nodes, size_t *n)
{
    CUresult code = api_enter(__func__, API_READY);

    return code == CUDA_SUCCESS ? list_nodes(graph, true, ret_nodes, n) : code;
}

/* Where pairs of nodes are written, as far as there is room. */
struct edge_list {
    CUgraphNode *from, *to;
    CUgraphEdgeData *data;
    size_t room, n;
};

static void edge_list_add(struct edge_list *list, CUgraphNode from, CUgraphNode to)
{
    if (list->n < list->room) {
        if (list->from)
            list->from[list->n] = from;
        if (list->to)
            list->to[list->n] = to;
        if (list->data)
            list->data[list->n] = (CUgraphEdgeData){0};
    }
    list->n++;
}

static CUresult edge_list_end(struct edge_list *list, size_t *n)
{
    for (size_t i = list->n; i < list->room; i++) {
        if (list->from)
            list->from[i] = NULL;
        if (list->to)
            list->to[i] = NULL;
    }
    *n = list->room && list->n > list->room ? list->room : list->n;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *ret_from, CUgraphNode *ret_to,
                                          CUgraphEdgeData *ret_data, size_t *n)
{
    CUresult code = api_enter(__func__, API_READY);
    struct edge_list list = {ret_from, ret_to, ret_data, ret_from && ret_to && n ? *n : 0, 0};

    if (code != CUDA_SUCCESS)
        return code;
    if (!n || !handle_is(graph, HANDLE_GRAPH) || !ret_from != !ret_to)
        return CUDA_ERROR_INVALID_VALUE;
    list_for_each(at, &graph->nodes)
    {
        CUgraphNode node = list_entry(at, struct CUgraphNode_st, link);

        for (size_t i = 0; i < node->after.n; i++)
            edge_list_add(&list, node->after.items[i], node);
    }
    return edge_list_end(&list, n);
}

DRIVER_EXPORT CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *ret_from, CUgraphNode *ret_to, size_t *n)
{
    return cuGraphGetEdges_v2(graph, ret_from, ret_to, NULL, n);
}

DRIVER_EXPORT CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *ret_nodes,
                                                     CUgraphEdgeData *ret_data, size_t *n)
{
    CUresult code = api_enter(__func__, API_READY);
    struct edge_list list = {ret_nodes, NULL, ret_data, ret_nodes && n ? *n : 0, 0};

    if (code != CUDA_SUCCESS)
        return code;
    if (!n || !handle_is(node, HANDLE_NODE))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < node->after.n; i++)
        edge_list_add(&list, node->after.items[i], node);
    return edge_list_end(&list, n);
}

DRIVER_EXPORT CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *ret_nodes, size_t *n)
{
    return cuGraphNodeGetDependencies_v2(node, ret_nodes, NULL, n);
}

DRIVER_EXPORT CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *ret_nodes,
                                                       CUgraphEdgeData *ret_data, size_t *n)
{
    CUresult code = api_enter(__func__, API_READY);
    struct edge_list list = {NULL, ret_nodes, ret_data, ret_nodes && n ? *n : 0, 0};

    if (code != CUDA_SUCCESS)
        return code;
    if (!n || !handle_is(node, HANDLE_NODE))
        return CUDA_ERROR_INVALID_VALUE;
    list_for_each(at, &node->graph->nodes)
    {
        CUgraphNode other = list_entry(at, struct CUgraphNode_st, link);

        if (node_set_has(&other->after, node))
            edge_list_add(&list, node, other);
    }
    return edge_list_end(&list, n);
}

DRIVER_EXPORT CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *ret_nodes, size_t *n)
{
    return cuGraphNodeGetDependentNodes_v2(node, ret_nodes, NULL, n);
}

/* --- changing dependencies --- */

static CUresult check_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                            const CUgraphEdgeData *data, size_t n)
{
    if (!handle_is(graph, HANDLE_GRAPH) || (n && (!from || !to)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++)
        if (!handle_is(from[i], HANDLE_NODE) || !handle_is(to[i], HANDLE_NODE) || from[i]->graph != graph ||
            to[i]->graph != graph || from[i] == to[i] || (data && data[i].type))
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                                 const CUgraphNode *to, const CUgraphEdgeData *data, size_t n)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = check_edges(graph, from, to, data, n);
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++) {
        if (node_set_has(&to[i]->after, from[i]))
            code = CUDA_ERROR_INVALID_VALUE;
        else if (!node_set_add(&to[i]->after, from[i]))
            code = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return code;
}

DRIVER_EXPORT CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                              size_t n)
{
    return cuGraphAddDependencies_v2(graph, from, to, NULL, n);
}

DRIVER_EXPORT CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
                                                    const CUgraphNode *to, const CUgraphEdgeData *data,
                                                    size_t n)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = check_edges(graph, from, to, data, n);
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++)
        if (!node_set_remove(&to[i]->after, from[i]))
            code = CUDA_ERROR_INVALID_VALUE;
    return code;
}

DRIVER_EXPORT CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
                                                 const CUgraphNode *to, size_t n)
{
    return cuGraphRemoveDependencies_v2(graph, from, to, NULL, n);
}

DRIVER_EXPORT CUresult cuGraphDestroyNode(CUgraphNode node)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(node, HANDLE_NODE) || node->graph->capturing)
        return CUDA_ERROR_INVALID_VALUE;
    if (node->graph->has_memory)
        return CUDA_ERROR_NOT_SUPPORTED;
    node_destroy(node);
    return CUDA_SUCCESS;
}
