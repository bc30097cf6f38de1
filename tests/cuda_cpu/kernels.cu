// Kernels of our own for tests/cuda_cpu: what nvcc makes of them is committed as kernels.ptx.
//   nvcc -std=c++17 -arch=sm_80 -ptx kernels.cu -o kernels.ptx
#include <cassert>
#include <cstdio>

struct point {
    float x, y;
    int tag;
};
__device__ int table[4] = {10, 20, 30};
__device__ int *pointer = &table[1];
__constant__ float weights[3] = {0.5f, 1.5f, 2.5f};
__device__ __managed__ int managed = 7;
__device__ int twice(int x)
{
    return 2 * x;
}
__device__ int square(int x)
{
    return x * x;
}
typedef int (*operation)(int);
__device__ operation operations[2] = {twice, square};

extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        c[i] = a[i] + b[i];
}

extern "C" __global__ void saxpy_steps(const float *x, float *y, float a, int n, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = y[i];
    for (int s = 0; s < steps; s++)
        v = a * x[i] + v * 0.5f;
    y[i] = v;
}

extern "C" __global__ void product(const float *a, const float *b, float *c, int n)
{
    __shared__ float ta[16][16], tb[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        ta[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; j++)
            sum += ta[threadIdx.y][j] * tb[j][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void warp_sum(const int *in, int *out)
{
    int v = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int d = 16; d; d /= 2)
        v += __shfl_down_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, v);
}

extern "C" __global__ void block_sum(const int *in, int *out)
{
    extern __shared__ int s[];
    s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (unsigned d = blockDim.x / 2; d; d /= 2) {
        if (threadIdx.x < d)
            s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = s[0];
}

extern "C" __global__ void collectives(int *out)
{
    unsigned lane = threadIdx.x % 32;
    int *o = out + threadIdx.x * 16;
    o[0] = __ballot_sync(0xffffffffu, lane & 1);
    o[1] = __any_sync(0xffffffffu, lane == 7) + 2 * __all_sync(0xffffffffu, lane < 31);
    o[2] = __match_any_sync(0xffffffffu, lane / 8);
    int all;
    o[3] = __match_all_sync(0xffffffffu, lane * 0 + 5, &all);
    o[4] = all;
    o[5] = __reduce_add_sync(0xffffffffu, lane);
    o[6] = __reduce_max_sync(0xffffffffu, (int)lane - 16);
    o[7] = __shfl_xor_sync(0xffffffffu, lane, 5);
    o[8] = __shfl_up_sync(0xffffffffu, lane, 3, 8);
    o[9] = __shfl_sync(0xffffffffu, lane, 3, 16);
    if (lane < 12)
        o[10] = __activemask();
    else
        o[10] = __activemask();
    o[11] = __syncthreads_count(threadIdx.x < 5);
    o[12] = __syncthreads_and(threadIdx.x < 64) + 2 * __syncthreads_or(threadIdx.x == 3);
    if (lane < 20)
        o[13] = __shfl_sync(0x000fffffu, lane, 19);
    else
        o[13] = __shfl_sync(0xfff00000u, lane, 21);
    o[14] = __reduce_add_sync(0xffu << (lane & 24), lane);
    o[15] = __popc(__activemask());
}

// A grid barrier as compiled programs find it: two environment registers hold the address of a
// zeroed workspace, of which the word at byte 4 is the barrier's. The first block adds what makes
// the sum of all blocks flip the highest bit.
__device__ void grid_sync()
{
    unsigned high, low;
    asm volatile("mov.u32 %0, %%envreg1; mov.u32 %1, %%envreg2;" : "=r"(high), "=r"(low));
    unsigned *word = (unsigned *)(((unsigned long long)high << 32 | low) + 4);
    if (!(high | low))
        __trap();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned share = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1, before, now;
        asm volatile("atom.add.release.gpu.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(word), "r"(share)
                     : "memory");
        do
            asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(word) : "memory");
        while (((before ^ now) & 0x80000000u) == 0);
    }
    __syncthreads();
}
extern "C" __global__ void grid_sum(int *data, int *out, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (int r = 0; r < rounds; r++) {
        int next = data[(r & 1) * n + (i + 1) % n];
        data[(~r & 1) * n + i] = next + 1;
        grid_sync();
    }
    out[i] = data[(rounds & 1) * n + i];
}

__device__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
extern "C" __global__ void recursion(int *out)
{
    out[threadIdx.x] = fibonacci(threadIdx.x);
}
__device__ int deep(int n, volatile int *p)
{
    int x[64];
    for (int i = 0; i < 64; i++)
        x[i] = p[i & 3];
    return n == 0 ? x[p[0] & 63] : deep(n - 1, p) + x[n & 63];
}
extern "C" __global__ void bottomless(int *out)
{
    out[4] = deep(100000000, out);
}

extern "C" __global__ void indirect(int *out)
{
    out[threadIdx.x] = operations[threadIdx.x & 1](threadIdx.x);
}
extern "C" __global__ void bad_call(unsigned long long f, int *out)
{
    out[0] = ((operation)f)(3);
}
extern "C" __global__ void variables(float *out)
{
    out[0] = *pointer;
    out[1] = weights[(int)out[1]];
    out[2] = managed++;
    table[3] = 40;
}
extern "C" __global__ void by_value(point p, point *out)
{
    out[0] = point{p.y, p.x, p.tag + 1};
}

extern "C" __global__ void print(int n)
{
    if (threadIdx.x == 1)
        printf("%d %5.2f %s %c %lld %x%%\n", n, 1.5, "text", 'q', 1ll << 40, 255u);
}
extern "C" __global__ void check(int n)
{
    assert(n == 3);
}
extern "C" __global__ void stop()
{
    if (threadIdx.x == 3)
        __trap();
}
extern "C" __global__ void store(int *p, long long i)
{
    p[i] = 1;
}
extern "C" __global__ void misaligned(char *p)
{
    *(int *)(p + 1) = 1;
}
extern "C" __global__ void shared_out(int *out, int i)
{
    __shared__ int s[32];
    s[threadIdx.x] = 1;
    out[0] = s[i];
}
extern "C" __global__ void forever(volatile int *p)
{
    while (*p == 0) {
    }
}
extern "C" __global__ void spin_plain(int n, int *out)
{
    int x = n;
    for (;;) {
        x = x * 1664525 + 1013904223;
        if (x == n && x == n + 1)
            break;
        if (n == 0)
            break;
    }
    out[0] = x;
}
extern "C" __global__ void half_barrier(int *out)
{
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %0, 16; @p bar.sync 1, 64; }" ::"r"(threadIdx.x));
    out[threadIdx.x] = 1;
}

__device__ int lock;
extern "C" __global__ void critical(int *count)
{
    bool done = false;
    while (!done)
        if (atomicCAS(&lock, 0, 1) == 0) {
            *count += 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
}
extern "C" __global__ void hand_over(volatile int *flags, int *out)
{
    if (threadIdx.x == 0)
        while (flags[0] == 0) {
        }
    if (threadIdx.x == blockDim.x - 1) {
        out[0] = 42;
        __threadfence();
        flags[0] = 1;
    }
    if (threadIdx.x == 0)
        out[1] = out[0];
}

__device__ void meet(unsigned long long *barrier)
{
    unsigned at = (unsigned)__cvta_generic_to_shared(barrier), done;
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
    do
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(at), "l"(state)
                     : "memory");
    while (!done);
}
extern "C" __global__ void mbarrier(int *out)
{
    __shared__ unsigned long long b;
    __shared__ int s[128];
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(&b)),
                     "r"(blockDim.x)
                     : "memory");
    __syncthreads();
    for (int r = 0; r < 3; r++) {
        s[threadIdx.x] = threadIdx.x * (r + 1);
        meet(&b);
        out[threadIdx.x] += s[(threadIdx.x + 1) % blockDim.x];
        meet(&b);
    }
}
extern "C" __global__ void asynchronous(const int4 *in, int4 *out)
{
    __shared__ int4 s[64];
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16, %2;\n cp.async.commit_group;\n cp.async.wait_group 0;" ::
            "r"((unsigned)__cvta_generic_to_shared(&s[threadIdx.x])),
        "l"(&in[threadIdx.x]), "r"(threadIdx.x == 3 ? 8 : 16)
        : "memory");
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}
extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float *out)
{
    int x = threadIdx.x, y = threadIdx.y;
    out[y * 4 + x] = tex2D<float>(t, x + 0.5f, y + 1.0f);
    surf2Dwrite(out[y * 4 + x] + 1, s, x * 4, y);
    out[16 + y * 4 + x] = surf2Dread<float>(s, x * 4, y);
}
extern "C" __global__ void heap(int **out)
{
    int *p = (int *)malloc(4 * (threadIdx.x + 1));
    for (int i = 0; i <= threadIdx.x; i++)
        p[i] = i;
    out[threadIdx.x] = p;
    if (threadIdx.x & 1)
        free(p);
}
extern "C" __global__ void named(int *out)
{
    __shared__ int s[128];
    if (threadIdx.x < 64) {
        s[threadIdx.x] = threadIdx.x;
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x] = s[63 - threadIdx.x];
        asm volatile("bar.arrive 2, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 2, 128;" ::: "memory");
        out[threadIdx.x] = out[threadIdx.x - 64] + 100;
    }
}
extern "C" __global__ void atomics(int *i, float *f, double *d, unsigned long long *u)
{
    __shared__ int s;
    if (threadIdx.x == 0)
        s = 0;
    __syncthreads();
    atomicAdd(&s, threadIdx.x);
    atomicAdd(&i[0], 1);
    atomicMax(&i[1], (int)threadIdx.x - 5);
    atomicMin(&i[2], -(int)threadIdx.x);
    atomicOr((unsigned *)&i[3], 1u << (threadIdx.x & 31));
    atomicXor((unsigned *)&i[4], threadIdx.x);
    atomicInc((unsigned *)&i[5], 9);
    atomicDec((unsigned *)&i[6], 6);
    atomicAnd((unsigned *)&i[7], ~(1u << (threadIdx.x & 31)));
    atomicAdd(f, 0.25f);
    atomicAdd(d, 0.5);
    atomicAdd(u, 1ull << 33);
    __syncthreads();
    if (threadIdx.x == 0)
        i[8] = s;
}
extern "C" __global__ void empty()
{
}
