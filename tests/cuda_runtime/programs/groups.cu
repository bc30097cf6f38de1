/*
 * Cooperative groups: tiles, scans and reductions over them, coalesced groups, partitions, and a
 * grid that synchronises.
 */
#include "expect.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <vector>

namespace cg = cooperative_groups;

template <int SIZE> __global__ void tiles(const int *in, int *sums, int *scans, int *ranks)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<SIZE> tile = cg::tiled_partition<SIZE>(block);
    unsigned i = blockIdx.x * blockDim.x + block.thread_rank();

    sums[i] = cg::reduce(tile, in[i], cg::plus<int>());
    scans[i] = cg::inclusive_scan(tile, in[i]);
    ranks[i] = (int)(tile.meta_group_rank() * 1000 + tile.thread_rank());
    tile.sync();
}

/* One atomic for all lanes that take the branch. */
__global__ void compact(const int *in, int n, int *out, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n && in[i] % 3 == 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        int base = 0;

        if (active.thread_rank() == 0)
            base = atomicAdd(count, (int)active.size());
        out[active.shfl(base, 0) + active.thread_rank()] = in[i];
    }
}

__global__ void partitions(int *sizes)
{
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    auto by_label = cg::labeled_partition(tile, (int)threadIdx.x % 5);
    auto by_bit = cg::binary_partition(tile, threadIdx.x % 32 < 10);

    sizes[threadIdx.x * 2] = (int)by_label.size();
    sizes[threadIdx.x * 2 + 1] = (int)by_bit.size();
}

/* Each step reads what other blocks wrote in the step before. */
__global__ void rotate(int *a, int *b, int n, int steps)
{
    cg::grid_group grid = cg::this_grid();

    for (int s = 0; s < steps; s++) {
        for (unsigned long long i = grid.thread_rank(); i < (unsigned long long)n; i += grid.size())
            b[i] = a[(i + 1) % n] + 1;
        grid.sync();
        int *swap = a;
        a = b;
        b = swap;
    }
}

__global__ void copy_async(const float *in, float *out)
{
    extern __shared__ float stage[];
    auto block = cg::this_thread_block();

    cg::memcpy_async(block, stage, in + blockIdx.x * blockDim.x, sizeof(float) * blockDim.x);
    cg::wait(block);
    out[blockIdx.x * blockDim.x + threadIdx.x] = stage[blockDim.x - 1 - threadIdx.x];
}

template <int SIZE> static void test_tiles()
{
    enum { N = 512 };
    int *in, *out;
    std::vector<int> host(N), result(3 * N);

    for (int i = 0; i < N; i++)
        host[i] = i * 7 % 31;
    CHECK(cudaMalloc(&in, N * 4));
    CHECK(cudaMalloc(&out, N * 12));
    CHECK(cudaMemcpy(in, host.data(), N * 4, cudaMemcpyHostToDevice));
    tiles<SIZE><<<2, N / 2>>>(in, out, out + N, out + 2 * N);
    CHECK(cudaMemcpy(result.data(), out, N * 12, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        int sum = 0, scan = 0;

        for (int k = i / SIZE * SIZE; k < i / SIZE * SIZE + SIZE; k++) {
            sum += host[k];
            scan += k <= i ? host[k] : 0;
        }
        EXPECT_EQUAL(result[i], sum);
        EXPECT_EQUAL(result[N + i], scan);
        EXPECT_EQUAL(result[2 * N + i], i % (N / 2) / SIZE * 1000 + i % SIZE);
    }
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
}

static void test_compact()
{
    enum { N = 10000 };
    std::vector<int> host(N), result(N), seen(N);
    int *in, *out, *count, n = -1, expected = 0;

    for (int i = 0; i < N; i++) {
        host[i] = i;
        expected += i % 3 == 0;
    }
    CHECK(cudaMalloc(&in, N * 4));
    CHECK(cudaMalloc(&out, N * 4));
    CHECK(cudaMalloc(&count, 4));
    CHECK(cudaMemset(count, 0, 4));
    CHECK(cudaMemcpy(in, host.data(), N * 4, cudaMemcpyHostToDevice));
    compact<<<(N + 255) / 256, 256>>>(in, N, out, count);
    CHECK(cudaMemcpy(&n, count, 4, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(result.data(), out, N * 4, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(n, expected);
    for (int i = 0; i < n; i++)
        seen[result[i]]++;
    for (int i = 0; i < N; i++)
        EXPECT_EQUAL(seen[i], i % 3 == 0);
    partitions<<<1, 64>>>(out);
    CHECK(cudaMemcpy(result.data(), out, 64 * 8, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) {
        int same = 0;

        for (int k = i / 32 * 32; k < i / 32 * 32 + 32; k++)
            same += k % 5 == i % 5;
        EXPECT_EQUAL(result[i * 2], same);
        EXPECT_EQUAL(result[i * 2 + 1], i % 32 < 10 ? 10 : 22);
    }
}

static void test_grid()
{
    enum { N = 3000, STEPS = 7, THREADS = 128 };
    int *a, *b, n = N, steps = STEPS, per_sm = 0, cooperative = 0;
    std::vector<int> host(N), result(N);
    cudaDeviceProp about;
    void *arguments[] = {&a, &b, &n, &steps};

    CHECK(cudaGetDeviceProperties(&about, 0));
    CHECK(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0));
    EXPECT(cooperative == 1);
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, rotate, THREADS, 0));
    EXPECT(per_sm > 0);
    for (int i = 0; i < N; i++)
        host[i] = i * i % 1009;
    CHECK(cudaMalloc(&a, N * 4));
    CHECK(cudaMalloc(&b, N * 4));
    CHECK(cudaMemcpy(a, host.data(), N * 4, cudaMemcpyHostToDevice));
    CHECK(cudaLaunchCooperativeKernel((void *)rotate, dim3(per_sm * about.multiProcessorCount), dim3(THREADS),
                                      arguments, 0, 0));
    CHECK(cudaMemcpy(result.data(), STEPS % 2 ? b : a, N * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        EXPECT_EQUAL(result[i], host[(i + STEPS) % N] + STEPS);
    EXPECT_ERROR(cudaLaunchCooperativeKernel((void *)rotate, dim3(1 << 20), dim3(1024), arguments, 0, 0),
                 cudaErrorCooperativeLaunchTooLarge);
    (void)cudaGetLastError();
    float *in, *out, host_in[256], host_out[256];
    for (int i = 0; i < 256; i++)
        host_in[i] = (float)i;
    CHECK(cudaMalloc(&in, 1024));
    CHECK(cudaMalloc(&out, 1024));
    CHECK(cudaMemcpy(in, host_in, 1024, cudaMemcpyHostToDevice));
    copy_async<<<4, 64, 256>>>(in, out);
    CHECK(cudaMemcpy(host_out, out, 1024, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++)
        EXPECT_EQUAL(host_out[i], i / 64 * 64 + 63 - i % 64);
}

int main()
{
    test_tiles<4>();
    test_tiles<16>();
    test_tiles<32>();
    test_compact();
    test_grid();
    return expect_failures != 0;
}
