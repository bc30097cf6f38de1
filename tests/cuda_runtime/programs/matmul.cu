/*
 * Products of matrices: plain, tiled, with copies into shared memory that overlap
 * (cuda_pipeline.h), timed by events.
 */
#include "expect.h"

#include <cuda_pipeline.h>
#include <vector>

__global__ void plain(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;

    if (row >= n || column >= n)
        return;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    c[row * n + column] = sum;
}

template <int TILE> __global__ void tiled(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;

    for (int m = 0; m < (n + TILE - 1) / TILE; m++) {
        int ac = m * TILE + threadIdx.x, br = m * TILE + threadIdx.y;

        as[threadIdx.y][threadIdx.x] = row < n && ac < n ? a[row * n + ac] : 0;
        bs[threadIdx.y][threadIdx.x] = br < n && column < n ? b[br * n + column] : 0;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < TILE; k++)
            sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n)
        c[row * n + column] = sum;
}

template <int TILE> __global__ void pipelined(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[2][TILE][TILE], bs[2][TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    int tiles = n / TILE;
    float sum = 0;

    __pipeline_memcpy_async(&as[0][y][x], &a[row * n + x], sizeof(float));
    __pipeline_memcpy_async(&bs[0][y][x], &b[y * n + column], sizeof(float));
    __pipeline_commit();
    for (int m = 0; m < tiles; m++) {
        int now = m % 2, next = 1 - now;

        if (m + 1 < tiles) {
            __pipeline_memcpy_async(&as[next][y][x], &a[row * n + (m + 1) * TILE + x], sizeof(float));
            __pipeline_memcpy_async(&bs[next][y][x], &b[((m + 1) * TILE + y) * n + column], sizeof(float));
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum = fmaf(as[now][y][k], bs[now][k][x], sum);
        __syncthreads();
    }
    c[row * n + column] = sum;
}

/* Each thread computes a column of four results. */
__global__ __launch_bounds__(256) void coarse(const float4 *a, const float *b, float *c, int n)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * 4;
    float sums[4] = {0, 0, 0, 0};

    for (int k = 0; k < n / 4; k++)
        for (int r = 0; r < 4; r++) {
            float4 v = a[(row + r) * (n / 4) + k];

            sums[r] += v.x * b[4 * k * n + column] + v.y * b[(4 * k + 1) * n + column] +
                       v.z * b[(4 * k + 2) * n + column] + v.w * b[(4 * k + 3) * n + column];
        }
    for (int r = 0; r < 4; r++)
        c[(row + r) * n + column] = sums[r];
}

int main()
{
    enum { N = 96 };
    std::vector<float> a(N * N), b(N * N), c(N * N), expected(N * N);
    float *da, *db, *dc, ms = -1;
    cudaEvent_t begin, end;
    unsigned seed = 3;

    for (int i = 0; i < N * N; i++) { /* small integers: every order of additions is exact */
        a[i] = (float)(next_random(&seed) >> 28) - 8;
        b[i] = (float)(next_random(&seed) >> 28) - 8;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                expected[i * N + j] += a[i * N + k] * b[k * N + j];
    CHECK(cudaMalloc(&da, N * N * 4));
    CHECK(cudaMalloc(&db, N * N * 4));
    CHECK(cudaMalloc(&dc, N * N * 4));
    CHECK(cudaMemcpy(da, a.data(), N * N * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(db, b.data(), N * N * 4, cudaMemcpyHostToDevice));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int variant = 0; variant < 5; variant++) {
        CHECK(cudaMemset(dc, 0xff, N * N * 4));
        CHECK(cudaEventRecord(begin));
        if (variant == 0)
            plain<<<dim3(N / 16, N / 16), dim3(16, 16)>>>(da, db, dc, N);
        else if (variant == 1)
            tiled<16><<<dim3(N / 16, N / 16), dim3(16, 16)>>>(da, db, dc, N);
        else if (variant == 2)
            tiled<32><<<dim3(N / 32, N / 32), dim3(32, 32)>>>(da, db, dc, N);
        else if (variant == 3)
            pipelined<16><<<dim3(N / 16, N / 16), dim3(16, 16)>>>(da, db, dc, N);
        else
            coarse<<<dim3(N / 96, N / 4), 96>>>((const float4 *)da, db, dc, N);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        EXPECT(ms > 0);
        CHECK(cudaMemcpy(c.data(), dc, N * N * 4, cudaMemcpyDeviceToHost));
        for (int i = 0; i < N * N; i++)
            EXPECT_EQUAL(c[i], expected[i]);
    }
    return expect_failures != 0;
}
