/*
 * Pools, pitched and three-dimensional memory, mapped and registered host memory, symbols,
 * constants, wrong copies.
 */
#include "expect.h"

#include <cstdint>
#include <cstring>
#include <vector>

__constant__ float weights[16];
__constant__ int offset = 42;
__device__ int grid_of[4][4];

__global__ void weigh(float *out)
{
    out[threadIdx.x] = weights[threadIdx.x % 16] + (float)offset;
}
__global__ void fill(char *p, size_t pitch, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;

    if (x < width && y < height)
        p[y * pitch + x] = (char)(x ^ y);
}
__global__ void twice(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        p[i] *= 2;
}

static void test_symbols()
{
    float host[16], result[32], *out;
    int square[4][4], *address;
    size_t size;

    for (int i = 0; i < 16; i++)
        host[i] = (float)i * 0.5f;
    CHECK(cudaMalloc(&out, sizeof result));
    CHECK(cudaMemcpyToSymbol(weights, host, sizeof host));
    weigh<<<1, 32>>>(out);
    CHECK(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT_EQUAL(result[i], i % 16 * 0.5 + 42);
    CHECK(cudaGetSymbolAddress((void **)&address, grid_of));
    CHECK(cudaGetSymbolSize(&size, grid_of));
    EXPECT_EQUAL(size, 64);
    CHECK(cudaMemset(address, 0x11, size));
    CHECK(cudaMemcpyFromSymbol(square, grid_of, 32, 32));
    EXPECT_EQUAL(square[1][3], 0x11111111);
    EXPECT_ERROR(cudaMemcpyToSymbol(weights, host, sizeof host, 4), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpyToSymbol(host, host, sizeof host), cudaErrorInvalidSymbol);
    (void)cudaGetLastError();
}

static void test_pitched()
{
    enum { W = 100, H = 20, D = 3 };
    char *p, host[H][W + 28];
    size_t pitch;
    cudaPitchedPtr cube;
    cudaMemcpy3DParms copy = {};
    std::vector<char> volume(W * H * D), back(W * H * D);

    CHECK(cudaMallocPitch(&p, &pitch, W, H));
    EXPECT(pitch >= W && pitch % 32 == 0);
    fill<<<dim3(2, H), 64>>>(p, pitch, W, H);
    CHECK(cudaMemcpy2D(host, sizeof host[0], p, pitch, W, H, cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            EXPECT_EQUAL(host[y][x], (char)(x ^ y));
    CHECK(cudaMemset2D(p, pitch, 7, W, H));
    CHECK(cudaMemcpy2D(host, sizeof host[0], p, pitch, W, H, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(host[H - 1][W - 1], 7);
    EXPECT_ERROR(cudaMemcpy2D(host, 50, p, pitch, W, H, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
    (void)cudaGetLastError();
    for (int i = 0; i < W * H * D; i++)
        volume[i] = (char)(i * 7);
    CHECK(cudaMalloc3D(&cube, make_cudaExtent(W, H, D)));
    copy.srcPtr = make_cudaPitchedPtr(volume.data(), W, W, H);
    copy.dstPtr = cube;
    copy.extent = make_cudaExtent(W, H, D);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    copy.srcPtr = cube;
    copy.dstPtr = make_cudaPitchedPtr(back.data(), W, W, H);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3DAsync(&copy, 0));
    CHECK(cudaStreamSynchronize(0));
    EXPECT(volume == back);
    CHECK(cudaFree(cube.ptr));
    CHECK(cudaFree(p));
}

static void test_host()
{
    enum { N = 500 };
    int *mapped, *device;
    unsigned flags;
    std::vector<int> own(N + 4096);

    CHECK(cudaHostAlloc(&mapped, N * 4, cudaHostAllocMapped | cudaHostAllocWriteCombined));
    CHECK(cudaHostGetDevicePointer(&device, mapped, 0));
    CHECK(cudaHostGetFlags(&flags, mapped));
    EXPECT(flags & cudaHostAllocMapped);
    for (int i = 0; i < N; i++)
        mapped[i] = own[i] = i;
    twice<<<8, 64>>>(device, N);
    CHECK(cudaHostRegister(own.data(), N * 4, cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer(&device, own.data(), 0));
    twice<<<8, 64>>>(device, N);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++) {
        EXPECT_EQUAL(mapped[i], 2 * i);
        EXPECT_EQUAL(own[i], 2 * i);
    }
    CHECK(cudaHostUnregister(own.data()));
    EXPECT_ERROR(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
    CHECK(cudaFreeHost(mapped));
    EXPECT_ERROR(cudaFreeHost(mapped), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

static void test_pools()
{
    cudaMemPool_t pool, own;
    cudaMemPoolProps about = {};
    uint64_t keep = UINT64_MAX, used = 1;
    int *p, *q, host[64];
    cudaStream_t stream;

    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    CHECK(cudaMallocAsync(&p, 256, stream));
    CHECK(cudaMemsetAsync(p, 1, 256, stream));
    twice<<<1, 64, 0, stream>>>(p, 64);
    CHECK(cudaMemcpyAsync(host, p, 256, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(p, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT_EQUAL(host[63], 0x02020202);
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT_EQUAL(used, 0);
    about.allocType = cudaMemAllocationTypePinned;
    about.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&own, &about));
    CHECK(cudaMallocFromPoolAsync(&q, 1 << 20, own, stream));
    CHECK(cudaFreeAsync(q, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(own, 0));
    CHECK(cudaMemPoolDestroy(own));
    CHECK(cudaStreamDestroy(stream));
}

static void test_limits()
{
    size_t available, total, after;
    void *p;

    CHECK(cudaMemGetInfo(&available, &total));
    EXPECT(available <= total);
    EXPECT_ERROR(cudaMalloc(&p, total * 2), cudaErrorMemoryAllocation);
    (void)cudaGetLastError();
    CHECK(cudaMalloc(&p, 64 << 20));
    CHECK(cudaMemGetInfo(&after, &total));
    EXPECT(after <= available - (64 << 20));
    CHECK(cudaFree(p));
    EXPECT_ERROR(cudaFree(p), cudaErrorInvalidValue);
    CHECK(cudaFree(nullptr));
    EXPECT_ERROR(cudaMemcpy((void *)16, (void *)32, 8, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemset((void *)4096, 0, 16), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

int main()
{
    test_symbols();
    test_pitched();
    test_host();
    test_pools();
    test_limits();
    return expect_failures != 0;
}
