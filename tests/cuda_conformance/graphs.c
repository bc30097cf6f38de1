/* Graphs that are built node by node, changed, cloned and launched. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static void count_host(void *user)
{
    ++*(int *)user;
}

static CUDA_KERNEL_NODE_PARAMS increment_params(void **parameters)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = kernel("increment"),
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = parameters};
}

static void run(CUgraphExec exec, CUstream stream)
{
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
}

static void kinds_cases(CUcontext context)
{
    CUstream stream = stream_new(0);
    CUdeviceptr words = device_words(2);
    void *parameters[] = {&words};
    CUDA_KERNEL_NODE_PARAMS about = increment_params(parameters);
    CUDA_MEMSET_NODE_PARAMS set = {words, 0, 40, 4, 1, 1};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = words,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = words + 4,
                          .WidthInBytes = 4,
                          .Height = 1,
                          .Depth = 1};
    int calls = 0;
    CUDA_HOST_NODE_PARAMS host = {count_host, &calls};
    CUgraph graph;
    CUgraphNode nodes[5], found[5];
    CUgraphExec exec;
    CUevent event;
    size_t n = 5;

    MUST(cuEventCreate(&event, 0));
    answer("an empty graph", CUDA_SUCCESS, cuGraphCreate(&graph, 0));
    answer("a node that sets memory", CUDA_SUCCESS,
           cuGraphAddMemsetNode(&nodes[0], graph, NULL, 0, &set, context));
    answer("a kernel node", CUDA_SUCCESS, cuGraphAddKernelNode_v2(&nodes[1], graph, nodes, 1, &about));
    answer("a copy node", CUDA_SUCCESS, cuGraphAddMemcpyNode(&nodes[2], graph, nodes + 1, 1, &copy, context));
    answer("a host node", CUDA_SUCCESS, cuGraphAddHostNode(&nodes[3], graph, nodes + 2, 1, &host));
    answer("a record node", CUDA_SUCCESS, cuGraphAddEventRecordNode(&nodes[4], graph, nodes + 3, 1, event));
    answer("nodes of the graph", CUDA_SUCCESS, cuGraphGetNodes(graph, found, &n));
    holds("all five", n == 5 && memcmp(nodes, found, sizeof nodes) == 0);
    MUST(cuGraphGetRootNodes(graph, found, &n));
    holds("one root", n == 1 && found[0] == nodes[0]);
    n = 5;
    MUST(cuGraphNodeGetDependentNodes_v2(nodes[1], found, NULL, &n));
    holds("the copy depends on the kernel", n == 1 && found[0] == nodes[2]);
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    answer("the graph may go before its executable", CUDA_SUCCESS, cuGraphDestroy(graph));
    run(exec, stream);
    holds("they ran in order", word_at(words) == 41 && word_at(words + 4) == 41 && calls == 1);
    answer("the event was recorded", CUDA_SUCCESS, cuEventQuery(event));
    MUST(cuGraphLaunch(exec, stream));
    answer("an executable may go while it runs", CUDA_SUCCESS, cuGraphExecDestroy(exec));
    MUST(cuStreamSynchronize(stream));
    holds("its launch ends all the same", calls == 2);
    answer("a destroyed executable cannot be launched", CUDA_ERROR_INVALID_VALUE,
           cuGraphLaunch(exec, stream));
}

static void wrong_cases(void)
{
    CUgraph graph, other;
    CUgraphNode first, second, both[2];
    CUgraphExec exec;

    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphCreate(&other, 0));
    MUST(cuGraphAddEmptyNode(&first, graph, NULL, 0));
    MUST(cuGraphAddEmptyNode(&second, graph, &first, 1));
    answer("a graph has no flags", CUDA_ERROR_INVALID_VALUE, cuGraphCreate(&other, 1));
    answer("a dependency of another graph", CUDA_ERROR_INVALID_VALUE,
           cuGraphAddEmptyNode(&first, other, &second, 1));
    both[0] = both[1] = second;
    answer("a dependency twice", CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&both[0], graph, both, 2));
    answer("an edge that is there already", CUDA_ERROR_INVALID_VALUE,
           cuGraphAddDependencies_v2(graph, &first, &second, NULL, 1));
    answer("an edge from a node to itself", CUDA_ERROR_INVALID_VALUE,
           cuGraphAddDependencies_v2(graph, &first, &first, NULL, 1));
    MUST(cuGraphAddDependencies_v2(graph, &second, &first, NULL, 1));
    answer("a graph with a cycle cannot be instantiated", CUDA_ERROR_INVALID_VALUE,
           cuGraphInstantiateWithFlags(&exec, graph, 0));
    answer("an edge is removed", CUDA_SUCCESS, cuGraphRemoveDependencies_v2(graph, &second, &first, NULL, 1));
    answer("but not twice", CUDA_ERROR_INVALID_VALUE,
           cuGraphRemoveDependencies_v2(graph, &second, &first, NULL, 1));
    answer("a node is destroyed", CUDA_SUCCESS, cuGraphDestroyNode(first));
    answer("and is no node then", CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(first));
    answer("no kernel", CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode_v2(&first, graph, NULL, 0, NULL));
    answer("a graph is destroyed", CUDA_SUCCESS, cuGraphDestroy(graph));
    answer("its nodes with it", CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(second));
    answer("but not twice", CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
    MUST(cuGraphDestroy(other));
}

static void child_cases(void)
{
    CUstream stream = stream_new(0);
    CUdeviceptr word = device_words(1);
    void *parameters[] = {&word};
    CUDA_KERNEL_NODE_PARAMS about = increment_params(parameters);
    CUgraph child, graph, inner, clone;
    CUgraphNode node, first, second, found;
    CUgraphExec exec;

    MUST(cuGraphCreate(&child, 0));
    MUST(cuGraphAddKernelNode_v2(&node, child, NULL, 0, &about));
    MUST(cuGraphCreate(&graph, 0));
    answer("a child graph", CUDA_SUCCESS, cuGraphAddChildGraphNode(&first, graph, NULL, 0, child));
    MUST(cuGraphAddChildGraphNode(&second, graph, &first, 1, child));
    answer("is a clone of the graph", CUDA_SUCCESS, cuGraphChildGraphNodeGetGraph(first, &inner));
    holds("of its own", inner != child);
    answer("that belongs to its node", CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(inner));
    answer("a graph is cloned", CUDA_SUCCESS, cuGraphClone(&clone, graph));
    answer("a node is found in the clone", CUDA_SUCCESS, cuGraphNodeFindInClone(&found, second, clone));
    holds("another one", found != second);
    answer("but not one of another graph", CUDA_ERROR_INVALID_VALUE,
           cuGraphNodeFindInClone(&found, node, clone));
    MUST(cuGraphDestroy(child));
    MUST(cuGraphDestroy(graph));
    MUST(cuGraphInstantiateWithFlags(&exec, clone, 0));
    run(exec, stream);
    holds("both children ran", word_at(word) == 2);
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(clone));
}

/* A launch inside of a capture becomes a child. */
static void nested_cases(void)
{
    CUstream stream = stream_new(0);
    CUdeviceptr word = device_words(1);
    void *parameters[] = {&word};
    CUDA_KERNEL_NODE_PARAMS about = increment_params(parameters);
    CUgraph graph, outer;
    CUgraphNode node;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUgraphExec exec, outer_exec;
    size_t n = 1;

    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &about));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("a graph is launched inside of a capture", CUDA_SUCCESS, cuGraphLaunch(exec, stream));
    MUST(cuStreamEndCapture(stream, &outer));
    MUST(cuGraphGetNodes(outer, &node, &n));
    MUST(cuGraphNodeGetType(node, &type));
    holds("and becomes a child", n == 1 && type == CU_GRAPH_NODE_TYPE_GRAPH);
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
    MUST(cuGraphInstantiateWithFlags(&outer_exec, outer, 0));
    run(outer_exec, stream);
    holds("that runs", word_at(word) == 1);
    MUST(cuGraphExecDestroy(outer_exec));
    MUST(cuGraphDestroy(outer));
}

/* The call that takes nodes of every type. */
static void generic_cases(void)
{
    CUstream stream = stream_new(0);
    CUdeviceptr words = device_words(2);
    CUgraphNodeParams set = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset.set = {words, 0, 6, 4, 1, 1}};
    CUgraphNodeParams other = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset.set = {words, 0, 8, 4, 1, 1}};
    CUgraphNodeParams condition = {.type = 13};
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;

    MUST(cuGraphCreate(&graph, 0));
    answer("a node of any type", CUDA_SUCCESS, cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &set));
    answer("conditional ones are not supported", CUDA_ERROR_NOT_SUPPORTED,
           cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &condition));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    run(exec, stream);
    holds("it runs", word_at(words) == 6);
    answer("the executable's is changed", CUDA_SUCCESS, cuGraphExecNodeSetParams(exec, node, &other));
    run(exec, stream);
    holds("and does the other thing", word_at(words) == 8);
    answer("so is the graph's", CUDA_SUCCESS, cuGraphNodeSetParams(node, &other));
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
}

void graphs_group(void)
{
    CUcontext context = context_open();

    kinds_cases(context);
    wrong_cases();
    child_cases();
    nested_cases();
    generic_cases();
    context_close(context);
}

/* --- changes --- */

static void params_cases(void)
{
    CUstream stream = stream_new(0);
    CUdeviceptr words = device_words(2), second = words + 4;
    void *parameters[] = {&words}, *second_parameters[] = {&second};
    CUDA_KERNEL_NODE_PARAMS about = increment_params(parameters), read;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;
    unsigned enabled = 9;

    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &about));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    answer("what a node does can be read", CUDA_SUCCESS, cuGraphKernelNodeGetParams_v2(node, &read));
    holds("the parameters were copied",
          read.kernelParams != parameters && *(CUdeviceptr *)read.kernelParams[0] == words);
    about.kernelParams = second_parameters;
    answer("a node of the executable is changed", CUDA_SUCCESS,
           cuGraphExecKernelNodeSetParams_v2(exec, node, &about));
    run(exec, stream);
    holds("the executable does the new thing", word_at(words) == 0 && word_at(second) == 1);
    answer("a node is disabled", CUDA_SUCCESS, cuGraphNodeSetEnabled(exec, node, 0));
    answer("and says so", CUDA_SUCCESS, cuGraphNodeGetEnabled(exec, node, &enabled));
    holds("disabled", enabled == 0);
    run(exec, stream);
    holds("it does nothing then", word_at(second) == 1);
    MUST(cuGraphNodeSetEnabled(exec, node, 1));
    run(exec, stream);
    holds("and enabled again it does", word_at(second) == 2);
    answer("the graph itself is changed", CUDA_SUCCESS, cuGraphKernelNodeSetParams_v2(node, &about));
    answer("a kernel node does not set memory", CUDA_ERROR_INVALID_VALUE,
           cuGraphMemsetNodeSetParams(node, &(CUDA_MEMSET_NODE_PARAMS){words, 0, 1, 4, 1, 1}));
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
}

static void update_cases(CUcontext context)
{
    CUstream stream = stream_new(0);
    CUdeviceptr words = device_words(2);
    CUDA_MEMSET_NODE_PARAMS set = {words, 0, 1, 4, 1, 1}, third = {words, 0, 3, 4, 1, 1};
    CUgraph graph, other, wrong;
    CUgraphNode node, other_node, extra;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;

    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    set.value = 2;
    MUST(cuGraphCreate(&other, 0));
    MUST(cuGraphAddMemsetNode(&other_node, other, NULL, 0, &set, context));
    answer("an executable takes another graph's actions", CUDA_SUCCESS,
           cuGraphExecUpdate_v2(exec, other, &info));
    run(exec, stream);
    holds("and does them", word_at(words) == 2);
    MUST(cuGraphDestroy(other));
    answer("its nodes are still those of the first graph", CUDA_SUCCESS,
           cuGraphExecMemsetNodeSetParams(exec, node, &third, context));
    run(exec, stream);
    holds("so that they can be changed", word_at(words) == 3);
    MUST(cuGraphCreate(&wrong, 0));
    MUST(cuGraphAddEmptyNode(&extra, wrong, NULL, 0));
    answer("a graph of other nodes is refused", CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
           cuGraphExecUpdate_v2(exec, wrong, &info));
    holds("for the type of a node", info.result == 3);
    MUST(cuGraphAddEmptyNode(&extra, wrong, &extra, 1));
    answer("so is one of another shape", CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
           cuGraphExecUpdate_v2(exec, wrong, &info));
    holds("for its topology", info.result == 2);
    MUST(cuGraphDestroy(wrong));
    MUST(cuGraphDestroy(graph));
    MUST(cuGraphExecDestroy(exec));
}

/* What a graph refers to may end before it. */
static void lifetime_cases(CUcontext context)
{
    CUstream stream = stream_new(0);
    CUdeviceptr words = device_words(2);
    CUDA_MEMSET_NODE_PARAMS set = {words, 0, 1, 4, 1, 1};
    CUmodule module;
    CUfunction function;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec exec;

    MUST(cuModuleLoad(&module, kernels_path()));
    MUST(cuModuleGetFunction(&function, module, "nothing"));
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddKernelNode_v2(
        &node, graph, NULL, 0,
        &(CUDA_KERNEL_NODE_PARAMS){function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL, NULL}));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    answer("a module is unloaded while a graph has its kernel", CUDA_SUCCESS, cuModuleUnload(module));
    answer("the graph cannot be launched then", CUDA_ERROR_INVALID_HANDLE, cuGraphLaunch(exec, stream));
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuGraphDestroy(graph));
    MUST(cuMemFree_v2(words));
    MUST(cuGraphLaunch(exec, stream));
    answer("a node that writes to freed memory ends like a kernel that does", CUDA_ERROR_ILLEGAL_ADDRESS,
           cuStreamSynchronize(stream));
    (void)cuGraphExecDestroy(exec);
}

void graph_changes_group(void)
{
    CUcontext context = context_open();

    params_cases();
    update_cases(context);
    lifetime_cases(context);
    context_close(context);
}

/* --- memory of graphs --- */

static void captured_memory_cases(void)
{
    CUstream stream = stream_new(0);
    CUdeviceptr address = 0, out = device_words(1);
    CUgraph graph;
    CUgraphNode nodes[8];
    CUgraphNodeType type;
    CUgraphExec exec;
    size_t n = 8;

    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    answer("an allocation in stream order is captured", CUDA_SUCCESS,
           cuMemAllocAsync(&address, 4096, stream));
    holds("with its address", address != 0);
    MUST(cuMemsetD32Async(address, 77, 1024, stream));
    MUST(cuMemcpyDtoDAsync_v2(out, address, 4, stream));
    answer("so is its end", CUDA_SUCCESS, cuMemFreeAsync(address, stream));
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphGetNodes(graph, nodes, &n));
    MUST(cuGraphNodeGetType(nodes[0], &type));
    holds("the first node allocates", n == 4 && type == CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    MUST(cuGraphNodeGetType(nodes[3], &type));
    holds("the last one frees", type == CU_GRAPH_NODE_TYPE_MEM_FREE);
    answer("a graph with such nodes cannot be cloned", CUDA_ERROR_NOT_SUPPORTED, cuGraphClone(&graph, graph));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        run(exec, stream);
    holds("each launch has the memory", word_at(out) == 77);
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
}

static void built_memory_cases(void)
{
    CUstream stream = stream_new(0);
    struct CUDA_MEM_ALLOC_NODE_PARAMS_st about = {.poolProps = {.allocType = 1, .location = {1, 0}},
                                                  .bytesize = 1024};
    CUdeviceptr freed = 0;
    CUgraph graph;
    CUgraphNode node, end;
    CUgraphExec exec;

    MUST(cuGraphCreate(&graph, 0));
    answer("a node that allocates", CUDA_SUCCESS, cuGraphAddMemAllocNode(&node, graph, NULL, 0, &about));
    holds("tells its address", about.dptr != 0);
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuGraphLaunch(exec, stream));
    answer("memory that the graph does not free is the program's", CUDA_SUCCESS,
           cuMemsetD32Async(about.dptr, 5, 4, stream));
    MUST(cuStreamSynchronize(stream));
    answer("a second launch would allocate it twice", CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream));
    answer("so the program frees it", CUDA_SUCCESS, cuMemFreeAsync(about.dptr, stream));
    answer("and launches again", CUDA_SUCCESS, cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
    answer("and frees", CUDA_SUCCESS, cuMemFree_v2(about.dptr));
    answer("a node that frees", CUDA_SUCCESS, cuGraphAddMemFreeNode(&end, graph, &node, 1, about.dptr));
    answer("knows its address", CUDA_SUCCESS, cuGraphMemFreeNodeGetParams(end, &freed));
    holds("the same", freed == about.dptr);
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
}

void graph_memory_group(void)
{
    CUcontext context = context_open();

    captured_memory_cases();
    built_memory_cases();
    context_close(context);
}
