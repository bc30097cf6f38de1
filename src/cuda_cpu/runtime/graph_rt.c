/* Graphs. */
#include <stdint.h>

#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"

RUNTIME_EXPORT cudaError_t cudaGraphCreate(cudaGraph_t *ret_graph, unsigned int flags)
{
    RUNTIME_CALL(cuGraphCreate(ret_graph, flags));
}

RUNTIME_EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    RUNTIME_CALL(cuGraphDestroy(graph));
}

RUNTIME_EXPORT cudaError_t cudaGraphClone(cudaGraph_t *ret_clone, cudaGraph_t graph)
{
    RUNTIME_CALL(cuGraphClone(ret_clone, graph));
}

RUNTIME_EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
                                                unsigned long long flags)
{
    RUNTIME_CALL(cuGraphInstantiateWithFlags(ret_exec, graph, flags));
}

RUNTIME_EXPORT cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
                                                         unsigned long long flags)
{
    RUNTIME_CALL(cuGraphInstantiateWithFlags(ret_exec, graph, flags));
}

RUNTIME_EXPORT cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    RUNTIME_CALL(cuGraphExecDestroy(exec));
}

RUNTIME_EXPORT cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                               CUgraphExecUpdateResultInfo *ret_info)
{
    RUNTIME_CALL(cuGraphExecUpdate_v2(exec, graph, ret_info));
}

RUNTIME_EXPORT cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *ret_nodes, size_t *n)
{
    RUNTIME_CALL(cuGraphGetNodes(graph, ret_nodes, n));
}

RUNTIME_EXPORT cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *ret_nodes, size_t *n)
{
    RUNTIME_CALL(cuGraphGetRootNodes(graph, ret_nodes, n));
}

RUNTIME_EXPORT cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *ret_from,
                                             cudaGraphNode_t *ret_to, CUgraphEdgeData *ret_data, size_t *n)
{
    RUNTIME_CALL(cuGraphGetEdges_v2(graph, ret_from, ret_to, ret_data, n));
}

RUNTIME_EXPORT cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, CUgraphNodeType *ret_type)
{
    RUNTIME_CALL(cuGraphNodeGetType(node, ret_type));
}

RUNTIME_EXPORT cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node)
{
    RUNTIME_CALL(cuGraphDestroyNode(node));
}

RUNTIME_EXPORT cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                    const cudaGraphNode_t *to, const CUgraphEdgeData *data,
                                                    size_t n)
{
    RUNTIME_CALL(cuGraphAddDependencies_v2(graph, from, to, data, n));
}

RUNTIME_EXPORT cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                 const cudaGraphNode_t *after, size_t n)
{
    RUNTIME_CALL(cuGraphAddEmptyNode(ret_node, graph, after, n));
}

RUNTIME_EXPORT cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                      const cudaGraphNode_t *after, size_t n,
                                                      cudaGraph_t child)
{
    RUNTIME_CALL(cuGraphAddChildGraphNode(ret_node, graph, after, n, child));
}

RUNTIME_EXPORT cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                const cudaGraphNode_t *after, size_t n,
                                                const cudaHostNodeParams *about)
{
    RUNTIME_CALL(cuGraphAddHostNode(ret_node, graph, after, n, about));
}

RUNTIME_EXPORT cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                       const cudaGraphNode_t *after, size_t n,
                                                       cudaEvent_t event)
{
    RUNTIME_CALL(cuGraphAddEventRecordNode(ret_node, graph, after, n, event));
}

RUNTIME_EXPORT cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                     const cudaGraphNode_t *after, size_t n,
                                                     cudaEvent_t event)
{
    RUNTIME_CALL(cuGraphAddEventWaitNode(ret_node, graph, after, n, event));
}

static cudaError_t kernel_params(const cudaKernelNodeParams *asked, CUDA_KERNEL_NODE_PARAMS *ret_about)
{
    CUkernel kernel;
    cudaError_t error = asked ? registry_kernel(asked->func, &kernel) : cudaErrorInvalidValue;

    if (error != cudaSuccess)
        return error;
    *ret_about = (CUDA_KERNEL_NODE_PARAMS){.kern = kernel,
                                           .gridDimX = asked->gridDim.x,
                                           .gridDimY = asked->gridDim.y,
                                           .gridDimZ = asked->gridDim.z,
                                           .blockDimX = asked->blockDim.x,
                                           .blockDimY = asked->blockDim.y,
                                           .blockDimZ = asked->blockDim.z,
                                           .sharedMemBytes = asked->sharedMemBytes,
                                           .kernelParams = asked->kernelParams,
                                           .extra = asked->extra};
    return cudaSuccess;
}

RUNTIME_EXPORT cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                  const cudaGraphNode_t *after, size_t n,
                                                  const cudaKernelNodeParams *asked)
{
    CUDA_KERNEL_NODE_PARAMS about;
    cudaError_t error = kernel_params(asked, &about);

    return error == cudaSuccess
               ? runtime_end_driver(cuGraphAddKernelNode_v2(ret_node, graph, after, n, &about))
               : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                                        const cudaKernelNodeParams *asked)
{
    CUDA_KERNEL_NODE_PARAMS about;
    cudaError_t error = kernel_params(asked, &about);

    return error == cudaSuccess ? runtime_end_driver(cuGraphKernelNodeSetParams_v2(node, &about))
                                : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                            const cudaKernelNodeParams *asked)
{
    CUDA_KERNEL_NODE_PARAMS about;
    cudaError_t error = kernel_params(asked, &about);

    return error == cudaSuccess ? runtime_end_driver(cuGraphExecKernelNodeSetParams_v2(exec, node, &about))
                                : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *ret_node, cudaGraph_t graph,
                                                    const cudaGraphNode_t *after, size_t n, void *to,
                                                    const void *from, size_t size, cudaMemcpyKind kind)
{
    cudaError_t error = runtime_begin();
    CUcontext context = NULL;
    CUDA_MEMCPY3D copy;

    if (error == cudaSuccess)
        error = copy_line_to_driver(to, from, size, kind, &copy);
    if (error != cudaSuccess)
        return runtime_end(error);
    (void)cuCtxGetCurrent(&context);
    return runtime_end_driver(cuGraphAddMemcpyNode(ret_node, graph, after, n, &copy, context));
}
