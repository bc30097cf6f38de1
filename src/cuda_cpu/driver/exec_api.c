/* Calls about executable graphs. */
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/capture.h"
#include "cuda_cpu/driver/cuda_graph.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/node_actions.h"

enum { FLAG_DEVICE_LAUNCH = 4 };

DRIVER_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret_exec, CUgraph graph,
                                                   unsigned long long flags)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_exec || !handle_is(graph, HANDLE_GRAPH) || flags > 15)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & FLAG_DEVICE_LAUNCH)
        return CUDA_ERROR_NOT_SUPPORTED;
    return graph_instantiate(graph, flags, ret_exec);
}

DRIVER_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec *ret_exec, CUgraph graph, CUgraphNode *ret_node,
                                             char *log, size_t log_size)
{
    if (ret_node)
        *ret_node = NULL;
    if (log && log_size)
        log[0] = 0;
    return cuGraphInstantiateWithFlags(ret_exec, graph, 0);
}

DRIVER_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec *ret_exec, CUgraph graph,
                                                    CUDA_GRAPH_INSTANTIATE_PARAMS *about)
{
    CUresult code;

    if (!about)
        return CUDA_ERROR_INVALID_VALUE;
    code = cuGraphInstantiateWithFlags(ret_exec, graph, about->flags);
    about->result_out = code == CUDA_SUCCESS ? 0 : 1;
    about->hErrNode_out = NULL;
    return code;
}

DRIVER_EXPORT CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *ret_exec, CUgraph graph,
                                                         CUDA_GRAPH_INSTANTIATE_PARAMS *about)
{
    return cuGraphInstantiateWithParams(ret_exec, graph, about);
}

static CUresult find(const char *name, CUgraphExec exec)
{
    CUresult code = api_enter(name, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    return handle_is(exec, HANDLE_EXEC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    CUresult code = find(__func__, exec);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_remove(exec, HANDLE_EXEC))
        return CUDA_ERROR_INVALID_VALUE;
    exec_unref(exec);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuGraphExecGetFlags(CUgraphExec exec, uint64_t *ret_flags)
{
    CUresult code = find(__func__, exec);

    if (code == CUDA_SUCCESS && !ret_flags)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_flags = exec->flags;
    return code;
}

/* With captures.lock held: the graph becomes a child of the graph being captured. */
static CUresult launch_captured(CUgraphExec exec, struct stream *stream)
{
    CUgraph child = NULL;
    CUresult code = capture_check(stream);

    if (code == CUDA_SUCCESS && exec->has_memory)
        return capture_spoil(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    pthread_mutex_lock(&exec->lock);
    if (code == CUDA_SUCCESS)
        code = exec_to_graph(exec, &child);
    pthread_mutex_unlock(&exec->lock);
    if (code == CUDA_SUCCESS)
        code = capture_add(stream, CU_GRAPH_NODE_TYPE_GRAPH, NULL);
    if (code != CUDA_SUCCESS) {
        graph_free(child);
        return code;
    }
    child->owned = true;
    stream->after->items[0]->child = child; /* the node just added */
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;
    bool captured = false;

    if (code == CUDA_SUCCESS)
        code = find("", exec);
    if (code == CUDA_SUCCESS)
        code = stream_named(handle, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&driver.captures.lock);
    if (stream->capture) {
        captured = true;
        code = launch_captured(exec, stream);
    } else if (capture_spoil_legacy(stream)) {
        code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    pthread_mutex_unlock(&driver.captures.lock);
    return captured || code != CUDA_SUCCESS ? code : exec_launch(exec, stream);
}

DRIVER_EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = find("", exec);
    return code == CUDA_SUCCESS ? stream_named(handle, &stream) : code;
}

/* --- changing it --- */

static struct exec_node *node_of(CUgraphExec exec, CUgraphNode origin)
{
    for (size_t i = 0; i < exec->n_nodes; i++)
        if (origin && exec->nodes[i].origin == origin)
            return &exec->nodes[i];
    return NULL;
}

static CUresult replace(CUgraphExec exec, CUgraphNode origin, CUgraphNodeType type, struct action *action,
                        CUresult code)
{
    struct exec_node *node;

    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&exec->lock);
    node = node_of(exec, origin);
    if (node && node->type == type) {
        action_unref(node->action);
        node->action = action;
        action = NULL;
    } else {
        code = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&exec->lock);
    action_unref(action);
    return code;
}

DRIVER_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                         const CUDA_KERNEL_NODE_PARAMS *about)
{
    CUresult code = find(__func__, exec);
    struct action *action = code == CUDA_SUCCESS ? node_kernel_action(about, true, &code) : NULL;

    return replace(exec, node, CU_GRAPH_NODE_TYPE_KERNEL, action, code);
}

DRIVER_EXPORT CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_KERNEL_NODE_PARAMS *about)
{
    CUresult code = find(__func__, exec);
    struct action *action = code == CUDA_SUCCESS ? node_kernel_action(about, false, &code) : NULL;

    return replace(exec, node, CU_GRAPH_NODE_TYPE_KERNEL, action, code);
}

DRIVER_EXPORT CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_MEMCPY3D *about, CUcontext context)
{
    CUresult code = find(__func__, exec);
    struct action *action;

    if (code == CUDA_SUCCESS && !context_is(context))
        code = CUDA_ERROR_INVALID_CONTEXT;
    action = code == CUDA_SUCCESS ? node_copy_action(about, &code) : NULL;
    return replace(exec, node, CU_GRAPH_NODE_TYPE_MEMCPY, action, code);
}

DRIVER_EXPORT CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_MEMSET_NODE_PARAMS *about, CUcontext context)
{
    CUresult code = find(__func__, exec);
    struct action *action;

    if (code == CUDA_SUCCESS && !context_is(context))
        code = CUDA_ERROR_INVALID_CONTEXT;
    action = code == CUDA_SUCCESS ? node_set_action(about, &code) : NULL;
    return replace(exec, node, CU_GRAPH_NODE_TYPE_MEMSET, action, code);
}

DRIVER_EXPORT CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                    const CUDA_HOST_NODE_PARAMS *about)
{
    CUresult code = find(__func__, exec);
    struct action *action = code == CUDA_SUCCESS ? node_host_action(about, &code) : NULL;

    return replace(exec, node, CU_GRAPH_NODE_TYPE_HOST, action, code);
}

DRIVER_EXPORT CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    CUresult code = find(__func__, exec);
    struct action *action = code == CUDA_SUCCESS ? node_event_action(ACTION_RECORD, event, &code) : NULL;

    return replace(exec, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, action, code);
}

DRIVER_EXPORT CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    CUresult code = find(__func__, exec);
    struct action *action = code == CUDA_SUCCESS ? node_event_action(ACTION_AWAIT, event, &code) : NULL;

    return replace(exec, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, action, code);
}

DRIVER_EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled)
{
    CUresult code = find(__func__, exec);
    struct exec_node *found;

    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&exec->lock);
    found = node_of(exec, node);
    if (found && found->type <= CU_GRAPH_NODE_TYPE_MEMSET)
        found->enabled = enabled != 0;
    else
        code = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&exec->lock);
    return code;
}

DRIVER_EXPORT CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *ret_enabled)
{
    CUresult code = find(__func__, exec);
    struct exec_node *found;

    if (code != CUDA_SUCCESS)
        return code;
    found = node_of(exec, node);
    if (!ret_enabled || !found || found->type > CU_GRAPH_NODE_TYPE_MEMSET)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_enabled = found->enabled;
    return CUDA_SUCCESS;
}

enum { UPDATE_OK = 0, UPDATE_TOPOLOGY = 2, UPDATE_TYPE = 3 };

/*
 * Two executable graphs of the same shape: the nodes of one get the actions of the other. They stay
 * known by the nodes of their own original graph.
 */
static int compare(const struct CUgraphExec_st *exec, const struct CUgraphExec_st *fresh)
{
    if (exec->n_nodes != fresh->n_nodes)
        return UPDATE_TOPOLOGY;
    for (size_t i = 0; i < exec->n_nodes; i++) {
        if (exec->nodes[i].type != fresh->nodes[i].type)
            return UPDATE_TYPE;
        if (exec->nodes[i].n_after != fresh->nodes[i].n_after)
            return UPDATE_TOPOLOGY;
        for (size_t k = 0; k < exec->nodes[i].n_after; k++)
            if (exec->nodes[i].after[k] != fresh->nodes[i].after[k])
                return UPDATE_TOPOLOGY;
    }
    return UPDATE_OK;
}

static void take_actions(CUgraphExec exec, CUgraphExec fresh)
{
    for (size_t i = 0; i < exec->n_nodes; i++) {
        struct action *old = exec->nodes[i].action;

        exec->nodes[i].action = fresh->nodes[i].action;
        fresh->nodes[i].action = old;
    }
}

DRIVER_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                                            CUgraphExecUpdateResultInfo *ret_info)
{
    CUresult code = find(__func__, exec);
    CUgraphExec fresh;
    int result;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_info || !handle_is(graph, HANDLE_GRAPH))
        return CUDA_ERROR_INVALID_VALUE;
    code = graph_instantiate(graph, exec->flags, &fresh);
    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&exec->lock);
    result = compare(exec, fresh);
    if (result == UPDATE_OK)
        take_actions(exec, fresh);
    pthread_mutex_unlock(&exec->lock);
    handle_remove(fresh, HANDLE_EXEC);
    exec_unref(fresh);
    *ret_info = (CUgraphExecUpdateResultInfo){.result = result};
    return result == UPDATE_OK ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
