/*
 * Graphs: captured with forks and joins, built node by node, with child graphs; parameters changed;
 * updated as a whole.
 */
#include "expect.h"

#include <vector>

__global__ void add(int *data, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        data[i] += value;
}
__global__ void sum(const int *a, const int *b, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = a[i] + b[i];
}

enum { N = 1000 };
static int *a, *b, *c;

static void expect_all(const int *device, int value)
{
    std::vector<int> host(N);

    CHECK(cudaMemcpy(host.data(), device, N * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT_EQUAL(host[i], value);
}

static void CUDART_CB count(void *user)
{
    ++*(int *)user;
}

static cudaGraph_t capture(cudaStream_t stream, cudaStream_t other, int value)
{
    cudaEvent_t fork, join;
    cudaGraph_t graph;
    cudaStreamCaptureStatus status;

    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaStreamIsCapturing(stream, &status));
    EXPECT(status == cudaStreamCaptureStatusActive);
    CHECK(cudaMemsetAsync(a, 0, N * 4, stream));
    CHECK(cudaEventRecord(fork, stream));
    CHECK(cudaStreamWaitEvent(other, fork));
    add<<<4, 256, 0, stream>>>(a, N, value);
    CHECK(cudaMemsetAsync(b, 0, N * 4, other));
    add<<<4, 256, 0, other>>>(b, N, 10 * value);
    CHECK(cudaEventRecord(join, other));
    CHECK(cudaStreamWaitEvent(stream, join));
    sum<<<4, 256, 0, stream>>>(a, b, c, N);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    return graph;
}

static void test_capture(cudaStream_t stream, cudaStream_t other)
{
    cudaGraph_t graph = capture(stream, other, 3), changed = capture(stream, other, 4), copy;
    cudaGraphExec_t exec;
    cudaGraphExecUpdateResultInfo about;
    size_t nodes = 0, roots = 0, edges = 0;

    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
    EXPECT_EQUAL(nodes, 5);
    EXPECT_EQUAL(roots, 1);
    EXPECT_EQUAL(edges, 5);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect_all(c, 33);
    CHECK(cudaGraphExecUpdate(exec, changed, &about));
    EXPECT(about.result == cudaGraphExecUpdateSuccess);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect_all(c, 44);
    CHECK(cudaGraphClone(&copy, graph));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphInstantiateWithFlags(&exec, copy, 0));
    CHECK(cudaGraphUpload(exec, stream));
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    expect_all(c, 33);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(copy));
    CHECK(cudaGraphDestroy(changed));
}

static void test_nodes(cudaStream_t stream)
{
    cudaGraph_t graph, child;
    cudaGraphNode_t set, kernel, out, host, nested, inner;
    cudaGraphExec_t exec;
    cudaMemsetParams set_to = {};
    cudaKernelNodeParams launch = {};
    cudaHostNodeParams call = {};
    int n = N, value = 5, calls = 0;
    std::vector<int> result(N);
    void *arguments[] = {&a, &n, &value};
    cudaGraphNodeType type;

    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphCreate(&child, 0));
    set_to.dst = a;
    set_to.value = 0;
    set_to.elementSize = 4;
    set_to.width = N;
    set_to.height = 1;
    CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &set_to));
    launch.func = (void *)add;
    launch.gridDim = dim3(4);
    launch.blockDim = dim3(256);
    launch.kernelParams = arguments;
    CHECK(cudaGraphAddKernelNode(&kernel, graph, &set, 1, &launch));
    CHECK(cudaGraphAddKernelNode(&inner, child, nullptr, 0, &launch));
    CHECK(cudaGraphAddChildGraphNode(&nested, graph, &kernel, 1, child));
    CHECK(cudaGraphAddMemcpyNode1D(&out, graph, &nested, 1, result.data(), a, N * 4, cudaMemcpyDeviceToHost));
    call.fn = count;
    call.userData = &calls;
    CHECK(cudaGraphAddHostNode(&host, graph, &out, 1, &call));
    CHECK(cudaGraphNodeGetType(nested, &type));
    EXPECT(type == cudaGraphNodeTypeGraph);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    value = 100; /* the node has a copy */
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT_EQUAL(result[N - 1], 10);
    EXPECT_EQUAL(calls, 1);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, kernel, &launch));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT_EQUAL(result[0], 105);
    EXPECT_EQUAL(calls, 2);
    EXPECT_ERROR(cudaGraphAddDependencies(graph, &host, &set, nullptr, 1), cudaSuccess); /* a cycle ... */
    EXPECT(cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess); /* ... is found here */
    (void)cudaGetLastError();
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(child));
}

/* A graph may not be captured over calls that would wait. */
static void test_wrong(cudaStream_t stream)
{
    cudaGraph_t graph = nullptr;
    int *p;

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT_ERROR(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    EXPECT_ERROR(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT_ERROR(cudaMalloc(&p, 16), cudaErrorStreamCaptureUnsupported);
    EXPECT_ERROR(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    (void)cudaGetLastError();
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMallocAsync(&p, 64, stream));
    CHECK(cudaMemsetAsync(p, 1, 64, stream));
    CHECK(cudaFreeAsync(p, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}

int main()
{
    cudaStream_t stream, other;

    CHECK(cudaMalloc(&a, N * 4));
    CHECK(cudaMalloc(&b, N * 4));
    CHECK(cudaMalloc(&c, N * 4));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    test_capture(stream, other);
    test_nodes(stream);
    test_wrong(stream);
    return expect_failures != 0;
}
