/* Nodes of graphs: translates their parameters to the driver's; edges between nodes. */
#include <stdint.h>

#include "cuda_abi/legacy_calls.h"
#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"

static CUcontext context_here(void)
{
    CUcontext context = NULL;

    (void)cuCtxGetCurrent(&context);
    return context;
}

/* A call whose parameters are translated first. */
#define TRANSLATED(translation, call)                                                                        \
    do {                                                                                                     \
        cudaError_t begun = runtime_begin();                                                                 \
                                                                                                             \
        if (begun == cudaSuccess)                                                                            \
            begun = (translation);                                                                           \
        return begun == cudaSuccess ? runtime_end_driver(call) : runtime_end(begun);                         \
    } while (0)

/* --- copies --- */

RUNTIME_EXPORT cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                  const cudaGraphNode_t *after, size_t n,
                                                  const cudaMemcpy3DParms *asked)
{
    CUDA_MEMCPY3D copy;

    TRANSLATED(copy_3d_to_driver(asked, &copy),
               cuGraphAddMemcpyNode(ret_node, graph, after, n, &copy, context_here()));
}

RUNTIME_EXPORT cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms *asked)
{
    CUDA_MEMCPY3D copy;

    TRANSLATED(copy_3d_to_driver(asked, &copy), cuGraphMemcpyNodeSetParams(node, &copy));
}

RUNTIME_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            const cudaMemcpy3DParms *asked)
{
    CUDA_MEMCPY3D copy;

    TRANSLATED(copy_3d_to_driver(asked, &copy),
               cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context_here()));
}

RUNTIME_EXPORT cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from,
                                                          size_t size, cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;

    TRANSLATED(copy_line_to_driver(to, from, size, kind, &copy), cuGraphMemcpyNodeSetParams(node, &copy));
}

RUNTIME_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                              void *to, const void *from, size_t size,
                                                              cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;

    TRANSLATED(copy_line_to_driver(to, from, size, kind, &copy),
               cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context_here()));
}

/* The part [offset, offset + size) of a variable. */
static cudaError_t part_of(const void *symbol, size_t offset, size_t size, void **ret_address)
{
    CUdeviceptr address;
    size_t room;
    cudaError_t error = registry_symbol(symbol, &address, &room);

    if (error == cudaSuccess && (offset > room || size > room - offset))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *ret_address = (void *)(uintptr_t)(address + offset);
    return error;
}

static cudaError_t to_symbol(const void *symbol, const void *from, size_t size, size_t offset,
                             cudaMemcpyKind kind, CUDA_MEMCPY3D *ret_copy)
{
    void *to;
    cudaError_t error = part_of(symbol, offset, size, &to);

    return error == cudaSuccess ? copy_line_to_driver(to, from, size, kind, ret_copy) : error;
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind,
                               CUDA_MEMCPY3D *ret_copy)
{
    void *from;
    cudaError_t error = part_of(symbol, offset, size, &from);

    return error == cudaSuccess ? copy_line_to_driver(to, from, size, kind, ret_copy) : error;
}

RUNTIME_EXPORT cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                          const cudaGraphNode_t *after, size_t n,
                                                          const void *symbol, const void *from, size_t size,
                                                          size_t offset, cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;

    TRANSLATED(to_symbol(symbol, from, size, offset, kind, &copy),
               cuGraphAddMemcpyNode(ret_node, graph, after, n, &copy, context_here()));
}

RUNTIME_EXPORT cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                            const cudaGraphNode_t *after, size_t n, void *to,
                                                            const void *symbol, size_t size, size_t offset,
                                                            cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;

    TRANSLATED(from_symbol(to, symbol, size, offset, kind, &copy),
               cuGraphAddMemcpyNode(ret_node, graph, after, n, &copy, context_here()));
}

RUNTIME_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec,
                                                                    cudaGraphNode_t node, const void *symbol,
                                                                    const void *from, size_t size,
                                                                    size_t offset, cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;

    TRANSLATED(to_symbol(symbol, from, size, offset, kind, &copy),
               cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context_here()));
}

RUNTIME_EXPORT cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec,
                                                                      cudaGraphNode_t node, void *to,
                                                                      const void *symbol, size_t size,
                                                                      size_t offset, cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D copy;

    TRANSLATED(from_symbol(to, symbol, size, offset, kind, &copy),
               cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context_here()));
}

/* --- memsets --- */

static cudaError_t memset_to_driver(const cudaMemsetParams *asked, CUDA_MEMSET_NODE_PARAMS *ret_about)
{
    if (!asked)
        return cudaErrorInvalidValue;
    *ret_about = (CUDA_MEMSET_NODE_PARAMS){(uintptr_t)asked->dst, asked->pitch, asked->value,
                                           asked->elementSize,    asked->width, asked->height};
    return cudaSuccess;
}

RUNTIME_EXPORT cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                  const cudaGraphNode_t *after, size_t n,
                                                  const cudaMemsetParams *asked)
{
    CUDA_MEMSET_NODE_PARAMS about;

    TRANSLATED(memset_to_driver(asked, &about),
               cuGraphAddMemsetNode(ret_node, graph, after, n, &about, context_here()));
}

RUNTIME_EXPORT cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams *asked)
{
    CUDA_MEMSET_NODE_PARAMS about;

    TRANSLATED(memset_to_driver(asked, &about), cuGraphMemsetNodeSetParams(node, &about));
}

RUNTIME_EXPORT cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            const cudaMemsetParams *asked)
{
    CUDA_MEMSET_NODE_PARAMS about;

    TRANSLATED(memset_to_driver(asked, &about),
               cuGraphExecMemsetNodeSetParams(exec, node, &about, context_here()));
}

RUNTIME_EXPORT cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams *ret_about)
{
    cudaError_t error = runtime_begin();
    CUDA_MEMSET_NODE_PARAMS about;

    if (error == cudaSuccess)
        error = ret_about ? (cudaError_t)cuGraphMemsetNodeGetParams(node, &about) : cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *ret_about = (cudaMemsetParams){(void *)(uintptr_t)about.dst,
                                        about.pitch,
                                        about.value,
                                        about.elementSize,
                                        about.width,
                                        about.height};
    return runtime_end(error);
}

/* --- kernels --- */

RUNTIME_EXPORT cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams *ret_about)
{
    cudaError_t error = runtime_begin();
    CUDA_KERNEL_NODE_PARAMS about;
    const void *host = NULL;

    if (error == cudaSuccess)
        error = ret_about ? (cudaError_t)cuGraphKernelNodeGetParams_v2(node, &about) : cudaErrorInvalidValue;
    if (error == cudaSuccess && about.kern)
        host = registry_host(about.kern);
    if (error == cudaSuccess)
        *ret_about = (cudaKernelNodeParams){(void *)(uintptr_t)(host ? host : about.func),
                                            {about.gridDimX, about.gridDimY, about.gridDimZ},
                                            {about.blockDimX, about.blockDimY, about.blockDimZ},
                                            about.sharedMemBytes,
                                            about.kernelParams,
                                            about.extra};
    return runtime_end(error);
}

/* --- calls that are one call of the driver --- */

#define NODE_CALL(name, driver, parameters, arguments)                                                       \
    RUNTIME_EXPORT cudaError_t name parameters                                                               \
    {                                                                                                        \
        RUNTIME_CALL(driver arguments);                                                                      \
    }

NODE_CALL(cudaGraphHostNodeGetParams, cuGraphHostNodeGetParams,
          (cudaGraphNode_t node, cudaHostNodeParams *ret_about), (node, ret_about))
NODE_CALL(cudaGraphHostNodeSetParams, cuGraphHostNodeSetParams,
          (cudaGraphNode_t node, const cudaHostNodeParams *about), (node, about))
NODE_CALL(cudaGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams,
          (cudaGraphExec_t exec, cudaGraphNode_t node, const cudaHostNodeParams *about), (exec, node, about))
NODE_CALL(cudaGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph,
          (cudaGraphNode_t node, cudaGraph_t *ret_graph), (node, ret_graph))
NODE_CALL(cudaGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeGetEvent,
          (cudaGraphNode_t node, cudaEvent_t *ret_event), (node, ret_event))
NODE_CALL(cudaGraphEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent,
          (cudaGraphNode_t node, cudaEvent_t event), (node, event))
NODE_CALL(cudaGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeGetEvent,
          (cudaGraphNode_t node, cudaEvent_t *ret_event), (node, ret_event))
NODE_CALL(cudaGraphEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent,
          (cudaGraphNode_t node, cudaEvent_t event), (node, event))
NODE_CALL(cudaGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent,
          (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event), (exec, node, event))
NODE_CALL(cudaGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent,
          (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event), (exec, node, event))
NODE_CALL(cudaGraphAddMemAllocNode, cuGraphAddMemAllocNode,
          (cudaGraphNode_t * ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
           CUDA_MEM_ALLOC_NODE_PARAMS *about),
          (ret_node, graph, after, n, about))
NODE_CALL(cudaGraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams,
          (cudaGraphNode_t node, CUDA_MEM_ALLOC_NODE_PARAMS *ret_about), (node, ret_about))
NODE_CALL(cudaGraphAddMemFreeNode, cuGraphAddMemFreeNode,
          (cudaGraphNode_t * ret_node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
           void *address),
          (ret_node, graph, after, n, (uintptr_t)address))
NODE_CALL(cudaGraphMemFreeNodeGetParams, cuGraphMemFreeNodeGetParams,
          (cudaGraphNode_t node, void *ret_address), (node, ret_address))
NODE_CALL(cudaGraphNodeFindInClone, cuGraphNodeFindInClone,
          (cudaGraphNode_t * ret_node, cudaGraphNode_t origin, cudaGraph_t clone), (ret_node, origin, clone))
NODE_CALL(cudaGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
          (cudaGraphNode_t node, cudaGraphNode_t *ret_nodes, CUgraphEdgeData *ret_edges, size_t *n),
          (node, ret_nodes, ret_edges, n))
NODE_CALL(cudaGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2,
          (cudaGraphNode_t node, cudaGraphNode_t *ret_nodes, CUgraphEdgeData *ret_edges, size_t *n),
          (node, ret_nodes, ret_edges, n))
NODE_CALL(cudaGraphRemoveDependencies, cuGraphRemoveDependencies_v2,
          (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
           const CUgraphEdgeData *edges, size_t n),
          (graph, from, to, edges, n))
NODE_CALL(cudaGraphNodeGetEnabled, cuGraphNodeGetEnabled,
          (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *ret_enabled), (exec, node, ret_enabled))
NODE_CALL(cudaGraphNodeSetEnabled, cuGraphNodeSetEnabled,
          (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled), (exec, node, enabled))
NODE_CALL(cudaGraphExecGetFlags, cuGraphExecGetFlags, (cudaGraphExec_t exec, unsigned long long *ret_flags),
          (exec, (uint64_t *)ret_flags))
NODE_CALL(cudaGraphInstantiateWithParams, cuGraphInstantiateWithParams,
          (cudaGraphExec_t * ret_exec, cudaGraph_t graph, CUDA_GRAPH_INSTANTIATE_PARAMS *about),
          (ret_exec, graph, about))
NODE_CALL(cudaGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams_ptsz,
          (cudaGraphExec_t * ret_exec, cudaGraph_t graph, CUDA_GRAPH_INSTANTIATE_PARAMS *about),
          (ret_exec, graph, about))
NODE_CALL(cudaDeviceGraphMemTrim, cuDeviceGraphMemTrim, (int device), (device))
NODE_CALL(cudaStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph,
          (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after, const CUgraphEdgeData *edges,
           size_t n, CUstreamCaptureMode mode),
          (stream, graph, after, edges, n, mode))
NODE_CALL(cudaStreamBeginCaptureToGraph_ptsz, cuStreamBeginCaptureToGraph_ptsz,
          (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *after, const CUgraphEdgeData *edges,
           size_t n, CUstreamCaptureMode mode),
          (stream, graph, after, edges, n, mode))
NODE_CALL(cudaStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_v2,
          (cudaStream_t stream, cudaGraphNode_t *nodes, const CUgraphEdgeData *edges, size_t n,
           unsigned int flags),
          (stream, nodes, edges, n, flags))
NODE_CALL(cudaStreamUpdateCaptureDependencies_ptsz, cuStreamUpdateCaptureDependencies_v2_ptsz,
          (cudaStream_t stream, cudaGraphNode_t *nodes, const CUgraphEdgeData *edges, size_t n,
           unsigned int flags),
          (stream, nodes, edges, n, flags))
NODE_CALL(cudaGraphDebugDotPrint, cuGraphDebugDotPrint,
          (cudaGraph_t graph, const char *path, unsigned int flags), (graph, path, flags))
