/*
 * The kernels of the conformance program. kernels.ptx beside this file was made with
 *     nvcc -arch=sm_80 -ptx -o kernels.ptx kernels.cu        (CUDA 13.0)
 */
#include <assert.h>

__device__ int counter = 7;
__constant__ int table[4] = {1, 2, 3, 4};
__managed__ int shared_by_all = 11;

extern "C" {

__global__ void nothing() {}

__global__ void fill(int *out, int n, int value)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;

    if (at < n)
        out[at] = value;
}

__global__ void add(const int *left, const int *right, int *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;

    if (at < n)
        out[at] = left[at] + right[at];
}

__global__ void increment(int *word)
{
    atomicAdd(word, 1);
}

/* Holds the device until the host writes the flag. */
__global__ void wait_for(volatile int *flag)
{
    while (*flag == 0)
        ;
}

/* The same; says when it has begun. */
__global__ void hold(volatile int *begun, volatile int *flag)
{
    *begun = 1;
    while (*flag == 0)
        ;
}

__global__ void stray(int *nowhere)
{
    *nowhere = 1;
}

__global__ void misaligned(char *bytes)
{
    *(int *)(bytes + 1) = 1;
}

__global__ void trapped()
{
    asm volatile("trap;");
}

__global__ void asserted(int value)
{
    assert(value == 1);
}

__global__ void __launch_bounds__(64) bounded(int *out)
{
    out[threadIdx.x] = 1;
}

__global__ void reversed(int *out, int n)
{
    extern __shared__ int part[];

    part[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = part[n - 1 - threadIdx.x];
}

__global__ void variables(int *out)
{
    out[0] = counter;
    out[1] = table[2];
    out[2] = shared_by_all;
    counter = 8;
    shared_by_all = 12;
}

__global__ void read_texture(cudaTextureObject_t texture, float *out, int width, int height)
{
    int x = threadIdx.x, y = threadIdx.y;

    if (x < width && y < height)
        out[y * width + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}

__global__ void write_surface(cudaSurfaceObject_t surface, int width, int height)
{
    int x = threadIdx.x, y = threadIdx.y;

    if (x < width && y < height)
        surf2Dwrite((float)(10 * y + x), surface, x * (int)sizeof(float), y);
}
}
