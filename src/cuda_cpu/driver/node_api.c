/* Calls that add nodes to graphs, and read and change what they do. */
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/copy.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/event.h"
#include "cuda_cpu/driver/graph_memory.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/launch_action.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/node_actions.h"

/* --- actions from the descriptions of nodes --- */

struct action *node_kernel_action(const CUDA_KERNEL_NODE_PARAMS *about, bool has_kernel, CUresult *ret_code)
{
    struct function *function = NULL;
    struct launch_request request;
    CUfunction handle;

    *ret_code = CUDA_ERROR_INVALID_VALUE;
    if (!about)
        return NULL;
    handle = about->func ? about->func : has_kernel ? (CUfunction)(void *)about->kern : NULL;
    *ret_code = function_of_handle(handle, &function);
    if (*ret_code != CUDA_SUCCESS)
        return NULL;
    request = (struct launch_request){.grid = {about->gridDimX, about->gridDimY, about->gridDimZ},
                                      .block = {about->blockDimX, about->blockDimY, about->blockDimZ},
                                      .shared = about->sharedMemBytes,
                                      .parameters = about->kernelParams,
                                      .extra = about->extra};
    return launch_action(&request, function, ret_code);
}

struct action *node_copy_action(const CUDA_MEMCPY3D *about, CUresult *ret_code)
{
    struct action *action;

    *ret_code = CUDA_ERROR_INVALID_VALUE;
    if (!about)
        return NULL;
    action = copy_action(about, ret_code);
    if (!action && *ret_code == CUDA_SUCCESS) { /* nothing to copy */
        action = action_new(ACTION_EMPTY);
        *ret_code = action ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    return action;
}

struct action *node_set_action(const CUDA_MEMSET_NODE_PARAMS *about, CUresult *ret_code)
{
    struct action *action;
    uint64_t row, bytes;

    *ret_code = CUDA_ERROR_INVALID_VALUE;
    if (!about || !about->width || !about->height ||
        (about->elementSize != 1 && about->elementSize != 2 && about->elementSize != 4))
        return NULL;
    if (__builtin_mul_overflow(about->width, about->elementSize, &row) || about->dst % about->elementSize ||
        (about->height > 1 && about->pitch < row) ||
        __builtin_mul_overflow(about->pitch, about->height - 1, &bytes) ||
        __builtin_add_overflow(bytes, row, &bytes) || !memory_holds(about->dst, bytes) ||
        !memory_takes(about->dst, bytes))
        return NULL;
    action = action_new(ACTION_SET);
    *ret_code = action ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (action)
        action->u.set = (struct action_set){about->dst,    about->pitch, about->width,
                                            about->height, about->value, about->elementSize};
    return action;
}

struct action *node_host_action(const CUDA_HOST_NODE_PARAMS *about, CUresult *ret_code)
{
    struct action *action = about && about->fn ? action_new(ACTION_HOST) : NULL;

    *ret_code = action               ? CUDA_SUCCESS
                : about && about->fn ? CUDA_ERROR_OUT_OF_MEMORY
                                     : CUDA_ERROR_INVALID_VALUE;
    if (action) {
        action->u.host.run = about->fn;
        action->u.host.user = about->userData;
    }
    return action;
}

struct action *node_event_action(enum action_kind kind, CUevent event, CUresult *ret_code)
{
    struct action *action;

    *ret_code = CUDA_ERROR_INVALID_HANDLE;
    if (!handle_is(event, HANDLE_EVENT))
        return NULL;
    action = action_new(kind);
    *ret_code = action ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (action)
        action->u.event.event = event_ref(event);
    return action;
}

/* --- adding --- */

/* What all forms have in common: the graph and the nodes that the new node depends on. */
struct node_place {
    CUgraphNode *ret_node;
    CUgraph graph;
    const CUgraphNode *after;
    size_t n;
};

static CUresult check_place(const char *name, const struct node_place *place)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!place->ret_node || !handle_is(place->graph, HANDLE_GRAPH) || (place->n && !place->after))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < place->n; i++) {
        if (!handle_is(place->after[i], HANDLE_NODE) || place->after[i]->graph != place->graph)
            return CUDA_ERROR_INVALID_VALUE;
        for (size_t k = 0; k < i; k++)
            if (place->after[k] == place->after[i])
                return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

static CUresult add(const struct node_place *place, CUgraphNodeType type, struct action *action,
                    CUresult code)
{
    struct node_set after = {.items = (CUgraphNode *)place->after, .n = place->n};
    CUgraphNode node;

    if (code != CUDA_SUCCESS)
        return code;
    node = graph_add(place->graph, type, action, &after);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *place->ret_node = node;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                               size_t n, const CUDA_KERNEL_NODE_PARAMS *about)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    struct action *action = code == CUDA_SUCCESS ? node_kernel_action(about, true, &code) : NULL;

    return add(&place, CU_GRAPH_NODE_TYPE_KERNEL, action, code);
}

DRIVER_EXPORT CUresult cuGraphAddKernelNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                            size_t n, const CUDA_KERNEL_NODE_PARAMS *about)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    struct action *action = code == CUDA_SUCCESS ? node_kernel_action(about, false, &code) : NULL;

    return add(&place, CU_GRAPH_NODE_TYPE_KERNEL, action, code);
}

DRIVER_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                            size_t n, const CUDA_MEMCPY3D *about, CUcontext context)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    struct action *action;

    if (code == CUDA_SUCCESS && !context_is(context))
        code = CUDA_ERROR_INVALID_CONTEXT;
    action = code == CUDA_SUCCESS ? node_copy_action(about, &code) : NULL;
    return add(&place, CU_GRAPH_NODE_TYPE_MEMCPY, action, code);
}

DRIVER_EXPORT CUresult cuGraphAddMemsetNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                            size_t n, const CUDA_MEMSET_NODE_PARAMS *about, CUcontext context)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    struct action *action;

    if (code == CUDA_SUCCESS && !context_is(context))
        code = CUDA_ERROR_INVALID_CONTEXT;
    action = code == CUDA_SUCCESS ? node_set_action(about, &code) : NULL;
    return add(&place, CU_GRAPH_NODE_TYPE_MEMSET, action, code);
}

DRIVER_EXPORT CUresult cuGraphAddHostNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                          size_t n, const CUDA_HOST_NODE_PARAMS *about)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    struct action *action = code == CUDA_SUCCESS ? node_host_action(about, &code) : NULL;

    return add(&place, CU_GRAPH_NODE_TYPE_HOST, action, code);
}

DRIVER_EXPORT CUresult cuGraphAddEmptyNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                           size_t n)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    struct action *action = code == CUDA_SUCCESS ? action_new(ACTION_EMPTY) : NULL;

    if (code == CUDA_SUCCESS && !action)
        code = CUDA_ERROR_OUT_OF_MEMORY;
    return add(&place, CU_GRAPH_NODE_TYPE_EMPTY, action, code);
}

DRIVER_EXPORT CUresult cuGraphAddEventRecordNode(CUgraphNode *ret_node, CUgraph graph,
                                                 const CUgraphNode *after, size_t n, CUevent event)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    struct action *action = code == CUDA_SUCCESS ? node_event_action(ACTION_RECORD, event, &code) : NULL;

    return add(&place, CU_GRAPH_NODE_TYPE_EVENT_RECORD, action, code);
}

DRIVER_EXPORT CUresult cuGraphAddEventWaitNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                               size_t n, CUevent event)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    struct action *action = code == CUDA_SUCCESS ? node_event_action(ACTION_AWAIT, event, &code) : NULL;

    return add(&place, CU_GRAPH_NODE_TYPE_WAIT_EVENT, action, code);
}

DRIVER_EXPORT CUresult cuGraphAddMemAllocNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                              size_t n, CUDA_MEM_ALLOC_NODE_PARAMS *about)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    struct action *action = NULL;

    if (code == CUDA_SUCCESS &&
        (!about || about->poolProps.location.type != 1 || about->poolProps.location.id < 0 ||
         (unsigned)about->poolProps.location.id >= driver.n_devices))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && about->poolProps.handleTypes)
        code = CUDA_ERROR_NOT_SUPPORTED;
    if (code == CUDA_SUCCESS)
        action = graph_memory_allocate(about->poolProps.location.id, about->bytesize, &code);
    if (code == CUDA_SUCCESS)
        about->dptr = action->u.memory.address;
    code = add(&place, CU_GRAPH_NODE_TYPE_MEM_ALLOC, action, code);
    if (code == CUDA_SUCCESS)
        graph->has_memory = true;
    return code;
}

DRIVER_EXPORT CUresult cuGraphAddMemFreeNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                             size_t n, CUdeviceptr address)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    struct action *action = code == CUDA_SUCCESS ? graph_memory_free(address, &code) : NULL;

    code = add(&place, CU_GRAPH_NODE_TYPE_MEM_FREE, action, code);
    if (code == CUDA_SUCCESS)
        graph->has_memory = true;
    return code;
}

DRIVER_EXPORT CUresult cuGraphAddChildGraphNode(CUgraphNode *ret_node, CUgraph graph,
                                                const CUgraphNode *after, size_t n, CUgraph child)
{
    const struct node_place place = {ret_node, graph, after, n};
    CUresult code = check_place(__func__, &place);
    CUgraph clone = NULL;

    if (code == CUDA_SUCCESS && (!handle_is(child, HANDLE_GRAPH) || child == graph))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && child->has_memory)
        code = CUDA_ERROR_NOT_SUPPORTED;
    if (code == CUDA_SUCCESS)
        code = graph_clone(child, &clone);
    if (code == CUDA_SUCCESS)
        code = add(&place, CU_GRAPH_NODE_TYPE_GRAPH, NULL, code);
    if (code == CUDA_SUCCESS) {
        clone->owned = true;
        (*ret_node)->child = clone;
    } else {
        graph_free(clone);
    }
    return code;
}

DRIVER_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *ret_graph)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_graph || !handle_is(node, HANDLE_NODE) || !node->child)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_graph = node->child;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *ret_type)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_type || !handle_is(node, HANDLE_NODE))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_type = node->type;
    return CUDA_SUCCESS;
}
