/*
 * Locks, histograms, cuda::atomic, cuda::barrier, named barriers, votes, match, and the last block
 * of a grid.
 */
#include "expect.h"

#include <cuda/atomic>
#include <cuda/barrier>
#include <vector>

__device__ int lock_word;
__device__ int guarded;
__device__ unsigned blocks_done;

/* The lock is taken by one lane of each warp at a time. */
__global__ void count_under_lock()
{
    for (int lane = 0; lane < 32; lane++)
        if ((int)threadIdx.x % 32 == lane) {
            while (atomicCAS(&lock_word, 0, 1) != 0)
                ;
            __threadfence();
            guarded = guarded + 1;
            __threadfence();
            atomicExch(&lock_word, 0);
        }
}

__global__ void histogram(const unsigned char *in, int n, unsigned *out)
{
    __shared__ unsigned bins[256];

    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        bins[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&out[i], bins[i]);
}

/* The last block to end adds what all have left (the threadFenceReduction idiom). */
__global__ void last_block(const int *in, int n, volatile int *parts, int *out)
{
    __shared__ int sum;
    __shared__ bool is_last;

    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&sum, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicInc(&blocks_done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        int total = 0;

        for (unsigned i = 0; i < gridDim.x; i++)
            total += parts[i];
        *out = total;
        blocks_done = 0;
    }
}

__global__ void library_atomics(int *out, float *real)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> sum(out[0]);
    cuda::atomic_ref<int, cuda::thread_scope_system> high(out[1]);
    cuda::atomic_ref<float> total(*real);

    sum.fetch_add((int)threadIdx.x, cuda::memory_order_relaxed);
    high.fetch_max((int)(blockIdx.x * blockDim.x + threadIdx.x));
    total.fetch_add(0.5f);
    atomicMin_system(&out[2], -(int)threadIdx.x);
    atomicXor_block(&out[3], 1 << threadIdx.x % 32);
}

__global__ void phases(int *out)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int values[128];

    if (threadIdx.x == 0)
        init(&barrier, blockDim.x);
    __syncthreads();
    for (int round = 0; round < 5; round++) {
        values[threadIdx.x] = round * 1000 + (int)threadIdx.x;
        auto token = barrier.arrive();
        barrier.wait(std::move(token));
        out[round * blockDim.x + threadIdx.x] = values[(threadIdx.x + 1) % blockDim.x];
        barrier.arrive_and_wait();
    }
}

/* Producers and consumers: two warps each, named barriers 1 (full) and 2 (empty). */
__global__ void named(int *out)
{
    __shared__ int buffer[64];
    bool produces = threadIdx.x < 64;
    int i = threadIdx.x % 64;

    for (int round = 0; round < 4; round++)
        if (produces) {
            asm volatile("bar.sync 2, 128;" ::: "memory");
            buffer[i] = round * 100 + i;
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        } else {
            asm volatile("bar.arrive 2, 128;" ::: "memory");
            asm volatile("bar.sync 1, 128;" ::: "memory");
            out[round * 64 + i] = buffer[63 - i];
        }
}

__global__ void votes(unsigned *out)
{
    unsigned i = threadIdx.x, lane = i % 32;

    out[i] = __ballot_sync(~0u, lane % 3 == 0);
    out[64 + i] = (unsigned)__all_sync(~0u, i < 64) | (unsigned)__any_sync(~0u, lane == 31) << 1;
    out[128 + i] = __match_any_sync(~0u, lane / 8);
    out[192 + i] = (unsigned)__syncthreads_count(i % 2 == 0);
    out[256 + i] = (unsigned)__syncthreads_or(i == 5) | (unsigned)__syncthreads_and(i < 64) << 1;
    out[320 + i] = __shfl_sync(~0u, i, 5, 8);
    if (lane < 16)
        out[384 + i] = __activemask();
    else
        out[384 + i] = __shfl_up_sync(0xffff0000, lane, 1);
}

static void *allocated(size_t size)
{
    void *p;

    CHECK(cudaMalloc(&p, size));
    return p;
}

static void check_lock()
{
    int value = -1;

    count_under_lock<<<4, 64>>>();
    CHECK(cudaMemcpyFromSymbol(&value, guarded, sizeof value));
    EXPECT_EQUAL(value, 256);
}

static void check_sums()
{
    enum { N = 20000 };
    std::vector<unsigned char> bytes(N);
    std::vector<unsigned> bins(256), result(256);
    std::vector<int> ints(N);
    unsigned char *device_bytes = (unsigned char *)allocated(N);
    unsigned *device_bins = (unsigned *)allocated(1024), seed = 1;
    int *device_ints = (int *)allocated(N * 4), *parts = (int *)allocated(4 * 17), value = -1, total = 0;

    for (int i = 0; i < N; i++) {
        bytes[i] = (unsigned char)(next_random(&seed) >> 24);
        ints[i] = (int)(next_random(&seed) >> 22);
        bins[bytes[i]]++;
        total += ints[i];
    }
    CHECK(cudaMemcpy(device_bytes, bytes.data(), N, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_ints, ints.data(), N * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_bins, 0, 1024));
    histogram<<<8, 128>>>(device_bytes, N, device_bins);
    CHECK(cudaMemcpy(result.data(), device_bins, 1024, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++)
        EXPECT_EQUAL(result[i], bins[i]);
    for (int round = 0; round < 2; round++) {
        last_block<<<16, 64>>>(device_ints, N, parts + 1, parts);
        CHECK(cudaMemcpy(&value, parts, 4, cudaMemcpyDeviceToHost));
        EXPECT_EQUAL(value, total);
    }
}

static void check_library_atomics()
{
    int *device_out = (int *)allocated(16), out[4];
    float *real = (float *)allocated(4), host_real;

    CHECK(cudaMemset(device_out, 0, 16));
    CHECK(cudaMemset(real, 0, 4));
    library_atomics<<<2, 32>>>(device_out, real);
    CHECK(cudaMemcpy(out, device_out, 16, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&host_real, real, 4, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(out[0], 2 * 496);
    EXPECT_EQUAL(out[1], 63);
    EXPECT_EQUAL(out[2], -31);
    EXPECT_EQUAL(out[3], 0);
    EXPECT_EQUAL(host_real, 32);
}

static void check_barriers()
{
    int *device_out = (int *)allocated(4 * 640);
    std::vector<int> out(640);

    phases<<<1, 128>>>(device_out);
    CHECK(cudaMemcpy(out.data(), device_out, 4 * 640, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 640; i++)
        EXPECT_EQUAL(out[i], i / 128 * 1000 + (i + 1) % 128);
    named<<<1, 128>>>(device_out);
    CHECK(cudaMemcpy(out.data(), device_out, 4 * 256, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++)
        EXPECT_EQUAL(out[i], i / 64 * 100 + 63 - i % 64);
}

static void check_votes()
{
    unsigned *device_out = (unsigned *)allocated(4 * 448);
    std::vector<unsigned> result(448);

    votes<<<1, 64>>>(device_out);
    CHECK(cudaMemcpy(result.data(), device_out, 4 * 448, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 64; i++) {
        unsigned lane = i % 32;

        EXPECT_EQUAL(result[i], 0x49249249u);
        EXPECT_EQUAL(result[64 + i], 3);
        EXPECT_EQUAL(result[128 + i], 0xffu << lane / 8 * 8);
        EXPECT_EQUAL(result[192 + i], 32);
        EXPECT_EQUAL(result[256 + i], 3);
        EXPECT_EQUAL(result[320 + i], i / 8 * 8 + 5);
        EXPECT_EQUAL(result[384 + i], lane < 16 ? 0xffffu : lane == 16 ? 16u : lane - 1);
    }
}

int main()
{
    check_lock();
    check_sums();
    check_library_atomics();
    check_barriers();
    check_votes();
    return expect_failures != 0;
}
