/* Nodes of any type by one call, and attributes of streams: other forms of calls in other files. */
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/cuda_graph.h"
#include "cuda_cpu/driver/stream.h"

DRIVER_EXPORT CUresult cuGraphAddNode(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                      size_t n, CUgraphNodeParams *about)
{
    CUcontext context = context_of_thread();

    if (!about)
        return CUDA_ERROR_INVALID_VALUE;
    switch (about->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return cuGraphAddKernelNode_v2(ret_node, graph, after, n, &about->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphAddMemcpyNode(ret_node, graph, after, n, &about->memcpy.copyParams,
                                    about->memcpy.copyCtx ? about->memcpy.copyCtx : context);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cuGraphAddMemsetNode(ret_node, graph, after, n, &about->memset.set,
                                    about->memset.ctx ? about->memset.ctx : context);
    case CU_GRAPH_NODE_TYPE_HOST:
        return cuGraphAddHostNode(ret_node, graph, after, n, &about->host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return cuGraphAddChildGraphNode(ret_node, graph, after, n, about->graph.graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return cuGraphAddEmptyNode(ret_node, graph, after, n);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return cuGraphAddEventWaitNode(ret_node, graph, after, n, about->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return cuGraphAddEventRecordNode(ret_node, graph, after, n, about->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return cuGraphAddMemAllocNode(ret_node, graph, after, n, &about->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return cuGraphAddMemFreeNode(ret_node, graph, after, n, about->free.dptr);
    default: /* semaphores of other interfaces, batches, conditions: not supported */
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

DRIVER_EXPORT CUresult cuGraphAddNode_v2(CUgraphNode *ret_node, CUgraph graph, const CUgraphNode *after,
                                         const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *about)
{
    for (size_t i = 0; edges && i < n; i++)
        if (edges[i].type) /* programmatic dependencies are not supported */
            return CUDA_ERROR_NOT_SUPPORTED;
    return cuGraphAddNode(ret_node, graph, after, n, about);
}

DRIVER_EXPORT CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *about)
{
    if (!about)
        return CUDA_ERROR_INVALID_VALUE;
    switch (about->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return cuGraphKernelNodeSetParams_v2(node, &about->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphMemcpyNodeSetParams(node, &about->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cuGraphMemsetNodeSetParams(node, &about->memset.set);
    case CU_GRAPH_NODE_TYPE_HOST:
        return cuGraphHostNodeSetParams(node, &about->host);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return cuGraphEventWaitNodeSetEvent(node, about->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return cuGraphEventRecordNodeSetEvent(node, about->eventRecord.event);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

DRIVER_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *about)
{
    CUcontext context = context_of_thread();

    if (!about)
        return CUDA_ERROR_INVALID_VALUE;
    switch (about->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return cuGraphExecKernelNodeSetParams_v2(exec, node, &about->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return cuGraphExecMemcpyNodeSetParams(exec, node, &about->memcpy.copyParams,
                                              about->memcpy.copyCtx ? about->memcpy.copyCtx : context);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return cuGraphExecMemsetNodeSetParams(exec, node, &about->memset.set,
                                              about->memset.ctx ? about->memset.ctx : context);
    case CU_GRAPH_NODE_TYPE_HOST:
        return cuGraphExecHostNodeSetParams(exec, node, &about->host);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return cuGraphExecEventWaitNodeSetEvent(exec, node, about->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return cuGraphExecEventRecordNodeSetEvent(exec, node, about->eventRecord.event);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

/*
 * --- attributes of streams: hints, except for the priority, which is fixed when a stream is made
 * ---
 */

static bool is_stream_attribute(CUlaunchAttributeID id)
{
    return id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW ||
           id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY || id == CU_LAUNCH_ATTRIBUTE_PRIORITY ||
           id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP || id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
}

static CUresult find(const char *name, CUstream handle, CUlaunchAttributeID id, const void *value,
                     struct stream **ret_stream)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code == CUDA_SUCCESS)
        code = stream_named(handle, ret_stream);
    return code == CUDA_SUCCESS && (!value || !is_stream_attribute(id)) ? CUDA_ERROR_INVALID_VALUE : code;
}

DRIVER_EXPORT CUresult cuStreamSetAttribute(CUstream handle, CUlaunchAttributeID id,
                                            const CUlaunchAttributeValue *value)
{
    struct stream *stream = NULL;
    CUresult code = find(__func__, handle, id, value, &stream);

    if (code != CUDA_SUCCESS)
        return code;
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        stream->work->priority = value->priority > 0                    ? 0
                                 : value->priority < STREAM_MOST_URGENT ? STREAM_MOST_URGENT
                                                                        : value->priority;
    else if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        stream->synchronization = value->syncPolicy;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuStreamGetAttribute(CUstream handle, CUlaunchAttributeID id,
                                            CUlaunchAttributeValue *ret_value)
{
    struct stream *stream = NULL;
    CUresult code = find(__func__, handle, id, ret_value, &stream);

    if (code != CUDA_SUCCESS)
        return code;
    memset(ret_value, 0, sizeof *ret_value);
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        ret_value->priority = stream->work->priority;
    else if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        ret_value->syncPolicy = stream->synchronization ? stream->synchronization : 1; /* 1: automatic */
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuStreamCopyAttributes(CUstream to, CUstream from)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *source, *target;

    if (code == CUDA_SUCCESS)
        code = stream_named(from, &source);
    if (code == CUDA_SUCCESS)
        code = stream_named(to, &target);
    if (code == CUDA_SUCCESS)
        target->synchronization = source->synchronization;
    return code;
}

static CUstream own(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

DRIVER_EXPORT CUresult cuStreamSetAttribute_ptsz(CUstream handle, CUlaunchAttributeID id,
                                                 const CUlaunchAttributeValue *value)
{
    return cuStreamSetAttribute(own(handle), id, value);
}

DRIVER_EXPORT CUresult cuStreamGetAttribute_ptsz(CUstream handle, CUlaunchAttributeID id,
                                                 CUlaunchAttributeValue *ret_value)
{
    return cuStreamGetAttribute(own(handle), id, ret_value);
}

DRIVER_EXPORT CUresult cuStreamCopyAttributes_ptsz(CUstream to, CUstream from)
{
    return cuStreamCopyAttributes(own(to), own(from));
}
