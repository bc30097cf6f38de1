/* Reading and changing what a node does, in a graph and in an executable graph. */
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/cuda_graph.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/module.h"
#include "cuda_cpu/driver/node_actions.h"

static CUresult find(const char *name, CUgraphNode node, CUgraphNodeType type, const void *argument)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    return argument && handle_is(node, HANDLE_NODE) && node->type == type ? CUDA_SUCCESS
                                                                          : CUDA_ERROR_INVALID_VALUE;
}

static CUresult replace(CUgraphNode node, struct action *action, CUresult code)
{
    if (code != CUDA_SUCCESS)
        return code;
    action_unref(node->action);
    node->action = action;
    return CUDA_SUCCESS;
}

/* --- kernels --- */

static void kernel_params(const struct action_launch *launch, CUDA_KERNEL_NODE_PARAMS *ret_about)
{
    ret_about->func = (CUfunction)(void *)launch->function;
    ret_about->gridDimX = launch->grid[0];
    ret_about->gridDimY = launch->grid[1];
    ret_about->gridDimZ = launch->grid[2];
    ret_about->blockDimX = launch->block[0];
    ret_about->blockDimY = launch->block[1];
    ret_about->blockDimZ = launch->block[2];
    ret_about->sharedMemBytes = launch->shared;
    ret_about->kernelParams = launch->pointers;
    ret_about->extra = NULL;
}

DRIVER_EXPORT CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret_about)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_KERNEL, ret_about);

    if (code == CUDA_SUCCESS)
        kernel_params(&node->action->u.launch, ret_about);
    return code;
}

DRIVER_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *ret_about)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_KERNEL, ret_about);

    if (code == CUDA_SUCCESS) {
        kernel_params(&node->action->u.launch, ret_about);
        ret_about->kern = NULL;
        ret_about->ctx = node->graph->context;
    }
    return code;
}

DRIVER_EXPORT CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *about)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_KERNEL, about);

    return code == CUDA_SUCCESS ? replace(node, node_kernel_action(about, true, &code), code) : code;
}

DRIVER_EXPORT CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *about)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_KERNEL, about);

    return code == CUDA_SUCCESS ? replace(node, node_kernel_action(about, false, &code), code) : code;
}

/* --- copies, sets, host functions, events --- */

DRIVER_EXPORT CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *ret_about)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_MEMCPY, ret_about);

    if (code == CUDA_SUCCESS)
        *ret_about = node->action->u.copy.asked;
    return code;
}

DRIVER_EXPORT CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *about)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_MEMCPY, about);

    return code == CUDA_SUCCESS ? replace(node, node_copy_action(about, &code), code) : code;
}

DRIVER_EXPORT CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *ret_about)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_MEMSET, ret_about);
    const struct action_set *set;

    if (code != CUDA_SUCCESS)
        return code;
    set = &node->action->u.set;
    *ret_about = (CUDA_MEMSET_NODE_PARAMS){set->address, set->pitch, set->value,
                                           set->element, set->width, set->height};
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *about)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_MEMSET, about);

    return code == CUDA_SUCCESS ? replace(node, node_set_action(about, &code), code) : code;
}

DRIVER_EXPORT CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *ret_about)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_HOST, ret_about);

    if (code == CUDA_SUCCESS)
        *ret_about = (CUDA_HOST_NODE_PARAMS){node->action->u.host.run, node->action->u.host.user};
    return code;
}

DRIVER_EXPORT CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *about)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_HOST, about);

    return code == CUDA_SUCCESS ? replace(node, node_host_action(about, &code), code) : code;
}

DRIVER_EXPORT CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *ret_event)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, ret_event);

    if (code == CUDA_SUCCESS)
        *ret_event = node->action->u.event.event;
    return code;
}

DRIVER_EXPORT CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);

    return code == CUDA_SUCCESS ? replace(node, node_event_action(ACTION_RECORD, event, &code), code) : code;
}

DRIVER_EXPORT CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *ret_event)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, ret_event);

    if (code == CUDA_SUCCESS)
        *ret_event = node->action->u.event.event;
    return code;
}

DRIVER_EXPORT CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
    CUresult code = find(__func__, node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);

    return code == CUDA_SUCCESS ? replace(node, node_event_action(ACTION_AWAIT, event, &code), code) : code;
}
