/*
 * Several streams with pinned memory: copies in, kernels, copies out, ordered by events and host
 * functions.
 */
#include "expect.h"

#include <atomic>
#include <thread>
#include <vector>

__global__ void step(const int *in, int *out, int n, int round)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i] * 2 + round;
}

__global__ void wait_for(volatile int *flag)
{
    while (*flag == 0)
        ;
}

static void CUDART_CB count(void *user)
{
    ((std::atomic<int> *)user)->fetch_add(1);
}

static void CUDART_CB count_status(cudaStream_t, cudaError_t status, void *user)
{
    if (status == cudaSuccess)
        ((std::atomic<int> *)user)->fetch_add(10);
}

static void test_pipeline()
{
    enum { STREAMS = 4, N = 1 << 14, CHUNK = N / STREAMS };
    cudaStream_t streams[STREAMS];
    int *host, *in, *out, *device[STREAMS], low, high;
    std::atomic<int> called{0};

    CHECK(cudaDeviceGetStreamPriorityRange(&low, &high));
    EXPECT(high <= low);
    CHECK(cudaMallocHost(&host, 2 * N * sizeof(int)));
    in = host;
    out = host + N;
    for (int i = 0; i < N; i++)
        in[i] = i;
    for (int s = 0; s < STREAMS; s++) {
        if (s % 2)
            CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        else
            CHECK(cudaStreamCreateWithPriority(&streams[s], cudaStreamDefault, high));
        CHECK(cudaMalloc(&device[s], 2 * CHUNK * sizeof(int)));
    }
    for (int round = 0; round < 3; round++)
        for (int s = 0; s < STREAMS; s++) {
            CHECK(cudaMemcpyAsync(device[s], in + s * CHUNK, CHUNK * 4, cudaMemcpyHostToDevice, streams[s]));
            step<<<8, 128, 0, streams[s]>>>(device[s], device[s] + CHUNK, CHUNK, round);
            CHECK(cudaMemcpyAsync(out + s * CHUNK, device[s] + CHUNK, CHUNK * 4, cudaMemcpyDeviceToHost,
                                  streams[s]));
            CHECK(cudaLaunchHostFunc(streams[s], count, &called));
            CHECK(cudaStreamAddCallback(streams[s], count_status, &called, 0));
        }
    CHECK(cudaDeviceSynchronize());
    EXPECT_EQUAL(called.load(), 3 * STREAMS * 11);
    for (int i = 0; i < N; i++)
        EXPECT_EQUAL(out[i], 2 * i + 2);
    for (int s = 0; s < STREAMS; s++) {
        EXPECT_ERROR(cudaStreamQuery(streams[s]), cudaSuccess);
        CHECK(cudaStreamDestroy(streams[s]));
        CHECK(cudaFree(device[s]));
    }
    CHECK(cudaFreeHost(host));
}

/*
 * A kernel waits for the host: the stream is busy for that long, and what waits for its event, too.
 */
static void test_flag()
{
    int *flag, *device_flag, *value;
    cudaStream_t first, second;
    cudaEvent_t done;
    int *result;

    CHECK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&device_flag, flag, 0));
    CHECK(cudaMallocHost(&result, 16)); /* a copy to pageable memory would wait */
    *flag = 0;
    CHECK(cudaMalloc(&value, 16));
    CHECK(cudaMemset(value, 0, 16));
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    wait_for<<<1, 1, 0, first>>>(device_flag);
    CHECK(cudaEventRecord(done, first));
    CHECK(cudaStreamWaitEvent(second, done, 0));
    CHECK(cudaMemsetAsync(value, 1, 16, second));
    CHECK(cudaMemcpyAsync(result, value, 16, cudaMemcpyDeviceToHost, second));
    EXPECT_ERROR(cudaStreamQuery(first), cudaErrorNotReady);
    EXPECT_ERROR(cudaEventQuery(done), cudaErrorNotReady);
    EXPECT_ERROR(cudaStreamQuery(second), cudaErrorNotReady);
    *(volatile int *)flag = 1;
    CHECK(cudaStreamSynchronize(second));
    EXPECT_ERROR(cudaEventQuery(done), cudaSuccess);
    EXPECT_EQUAL(result[3], 0x01010101);
    float ms;
    EXPECT_ERROR(cudaEventElapsedTime(&ms, done, done), cudaErrorInvalidResourceHandle);
    CHECK(cudaStreamDestroy(first));
    CHECK(cudaStreamDestroy(second));
    CHECK(cudaEventDestroy(done));
}

static void test_threads()
{
    enum { THREADS = 6, N = 4096 };
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};

    for (int t = 0; t < THREADS; t++)
        threads.emplace_back([t, &wrong] {
            int *in, *out;
            std::vector<int> host(N), result(N);
            cudaStream_t stream;

            if (cudaMalloc(&in, N * 4) || cudaMalloc(&out, N * 4) || cudaStreamCreate(&stream))
                wrong++;
            for (int round = 0; round < 20; round++) {
                for (int i = 0; i < N; i++)
                    host[i] = i * t + round;
                cudaMemcpyAsync(in, host.data(), N * 4, cudaMemcpyHostToDevice, stream);
                step<<<16, 64, 0, stream>>>(in, out, N, round);
                cudaMemcpyAsync(result.data(), out, N * 4, cudaMemcpyDeviceToHost, stream);
                if (cudaStreamSynchronize(stream))
                    wrong++;
                for (int i = 0; i < N; i++)
                    wrong += result[i] != 2 * host[i] + round;
            }
            cudaStreamDestroy(stream);
            cudaFree(in);
            cudaFree(out);
        });
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQUAL(wrong.load(), 0);
}

int main()
{
    test_pipeline();
    test_flag();
    test_threads();
    return expect_failures != 0;
}
