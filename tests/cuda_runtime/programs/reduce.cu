/*
 * Sums by shuffles within warps, through shared memory between them, by templates of the block
 * size, and by atomics.
 */
#include "expect.h"

#include <vector>

template <class T> __inline__ __device__ T warp_sum(T value)
{
#pragma unroll
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

template <class T> __inline__ __device__ T block_sum(T value)
{
    static __shared__ T shared[32];
    int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;

    value = warp_sum(value);
    if (lane == 0)
        shared[warp] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / warpSize ? shared[lane] : T(0);
    if (warp == 0)
        value = warp_sum(value);
    return value;
}

template <class T> __global__ void reduce_shuffles(const T *in, T *out, int n)
{
    T sum = 0;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += in[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        out[blockIdx.x] = sum;
}

/*
 * The classical sample: the last steps within one warp, through volatile shared memory and
 * __syncwarp().
 */
template <class T, unsigned SIZE> __global__ void reduce_tree(const T *in, T *out, unsigned n)
{
    extern __shared__ __align__(sizeof(T)) unsigned char raw[];
    T *data = reinterpret_cast<T *>(raw);
    unsigned t = threadIdx.x, i = blockIdx.x * SIZE * 2 + t;
    T sum = i < n ? in[i] : T(0);

    if (i + SIZE < n)
        sum += in[i + SIZE];
    data[t] = sum;
    __syncthreads();
#pragma unroll
    for (unsigned width = SIZE / 2; width > 32; width /= 2) {
        if (t < width)
            data[t] = sum = sum + data[t + width];
        __syncthreads();
    }
    if (t < 32) {
        if (SIZE >= 64)
            sum += data[t + 32];
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, offset);
        if (t == 0)
            out[blockIdx.x] = sum;
    }
}

__global__ void sum_atomically(const int *in, int n, int *total, int *largest, double *real_total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        atomicAdd(total, in[i]);
        atomicMax(largest, in[i]);
        atomicAdd(real_total, (double)in[i]);
    }
}

__global__ void reduce_in_hardware(const int *in, int n, int *ret_sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = i < n ? in[i] : 0;
    int sum = __reduce_add_sync(0xffffffff, value), high = __reduce_max_sync(0xffffffff, value);
    unsigned bits = __reduce_or_sync(0xffffffff, (unsigned)value);

    if (threadIdx.x % 32 == 0) {
        ret_sums[i / 32 * 3] = sum;
        ret_sums[i / 32 * 3 + 1] = high;
        ret_sums[i / 32 * 3 + 2] = (int)bits;
    }
}

template <class T> static void test(const char *name)
{
    enum { N = 100003, BLOCKS = 64 };
    std::vector<T> host(N);
    std::vector<T> parts(1024);
    T *in, *out, expected = 0, sum = 0;
    unsigned seed = 7;

    for (T &value : host)
        expected += value = (T)(next_random(&seed) % 17);
    CHECK(cudaMalloc(&in, N * sizeof(T)));
    CHECK(cudaMalloc(&out, 1024 * sizeof(T)));
    CHECK(cudaMemcpy(in, host.data(), N * sizeof(T), cudaMemcpyHostToDevice));
    reduce_shuffles<T><<<BLOCKS, 256>>>(in, out, N);
    reduce_shuffles<T><<<1, BLOCKS>>>(out, out + BLOCKS, BLOCKS);
    CHECK(cudaMemcpy(&sum, out + BLOCKS, sizeof sum, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(sum, expected);
    unsigned blocks = (N + 511) / 512;
    reduce_tree<T, 256><<<blocks, 256, 256 * sizeof(T)>>>(in, out, N);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(parts.data(), out, blocks * sizeof(T), cudaMemcpyDeviceToHost));
    sum = 0;
    for (unsigned i = 0; i < blocks; i++)
        sum += parts[i];
    EXPECT_EQUAL(sum, expected);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    (void)name;
}

static void test_atomics()
{
    enum { N = 5000 };
    std::vector<int> host(N);
    int *in, *total, *sums, sum = 0, high = -1, host_total[2];
    double *real, host_real;
    std::vector<int> by_warp((N / 32 + 1) * 3);
    unsigned seed = 9;

    for (int &value : host) {
        sum += value = (int)(next_random(&seed) >> 20);
        high = value > high ? value : high;
    }
    CHECK(cudaMalloc(&in, N * 4));
    CHECK(cudaMalloc(&total, 8));
    CHECK(cudaMalloc(&real, 8));
    CHECK(cudaMalloc(&sums, by_warp.size() * 4));
    CHECK(cudaMemset(total, 0, 8));
    CHECK(cudaMemset(real, 0, 8));
    CHECK(cudaMemcpy(in, host.data(), N * 4, cudaMemcpyHostToDevice));
    sum_atomically<<<(N + 127) / 128, 128>>>(in, N, total, total + 1, real);
    reduce_in_hardware<<<(N + 127) / 128, 128>>>(in, N, sums);
    CHECK(cudaMemcpy(host_total, total, 8, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(&host_real, real, 8, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(by_warp.data(), sums, N / 32 * 12, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(host_total[0], sum);
    EXPECT_EQUAL(host_total[1], high);
    EXPECT_EQUAL(host_real, sum);
    for (int w = 0; w < N / 32; w++) {
        int s = 0, h = 0, b = 0;

        for (int i = 0; i < 32; i++) {
            s += host[w * 32 + i];
            h = host[w * 32 + i] > h ? host[w * 32 + i] : h;
            b |= host[w * 32 + i];
        }
        EXPECT_EQUAL(by_warp[w * 3], s);
        EXPECT_EQUAL(by_warp[w * 3 + 1], h);
        EXPECT_EQUAL(by_warp[w * 3 + 2], b);
    }
}

int main()
{
    test<int>("int");
    test<float>("float");
    test<double>("double");
    test<unsigned long long>("unsigned long long");
    test_atomics();
    return expect_failures != 0;
}
