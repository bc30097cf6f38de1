/*
 * An ordinary program of the runtime API: compiled by nvcc, it must run on the CPU device as it is.
 */
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error = (call);                                                                          \
        if (error != cudaSuccess) {                                                                          \
            printf("%s: %s\n", #call, cudaGetErrorString(error));                                            \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

__constant__ float factor;
__device__ int calls;
__managed__ int limit = 1000;

template <class T> __global__ void scale(T *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n && i < limit)
        data[i] = data[i] * factor;
    if (i == 0)
        atomicAdd(&calls, 1);
}

__global__ void sum(const float *in, float *out)
{
    extern __shared__ float part[];
    int t = threadIdx.x;

    part[t] = in[t];
    for (int width = blockDim.x / 2; width > 0; width /= 2) {
        __syncthreads();
        if (t < width)
            part[t] += part[t + width];
    }
    if (t == 0)
        *out = part[0];
}

static void count_host(void *user)
{
    ++*(int *)user;
}

int main()
{
    enum { N = 256 };
    float host[N], total = 0, *data, *out, two = 2;
    cudaStream_t stream;
    cudaEvent_t begin, end;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaDeviceProp about;
    int times = 0, launched = 0, device = -1;
    float ms;

    CHECK(cudaGetDeviceProperties(&about, 0));
    CHECK(cudaGetDevice(&device));
    for (int i = 0; i < N; i++)
        host[i] = 1;
    CHECK(cudaMalloc(&data, sizeof host));
    CHECK(cudaMalloc(&out, sizeof *out));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaMemcpyToSymbol(factor, &two, sizeof two));
    CHECK(cudaMemcpyAsync(data, host, sizeof host, cudaMemcpyHostToDevice, stream));
    CHECK(cudaEventRecord(begin, stream));
    scale<<<N / 64, 64, 0, stream>>>(data, N);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    scale<<<N / 64, 64, 0, stream>>>(data, N);
    sum<<<1, N, N * sizeof(float), stream>>>(data, out);
    CHECK(cudaLaunchHostFunc(stream, count_host, &times));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyFromSymbol(&launched, calls, sizeof launched));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(data));
    printf("sum %g, %d host calls, %d launches, device %d, limit %d\n", total, times, launched, device,
           limit);
    /* 256 times 2 to the third */
    return !(total == N * 8 && times == 2 && launched == 3 && ms >= 0 && device == 0);
}
