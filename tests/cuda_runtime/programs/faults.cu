/*
 * What goes wrong in kernels and launches: each case in a process of its own, because a fault
 * breaks the context for good.
 */
#include "expect.h"

#include <cassert>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void nothing()
{
}
__global__ void write_to(int *p, long index)
{
    p[index] = 1;
}
__global__ void stop()
{
    asm("trap;");
}
__global__ void must(int n)
{
    assert(n > 5);
}
__global__ void misaligned(char *p)
{
    *(int *)(p + 1) = 3;
}
__global__ __launch_bounds__(64) void bounded()
{
}
__global__ void dynamic(int *out)
{
    extern __shared__ int data[];

    data[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = data[blockDim.x - 1 - threadIdx.x];
}
__device__ __noinline__ int deep(int n)
{
    volatile int room[100];
    room[n % 100] = n;
    return n == 0 ? 0 : deep(n - 1) + room[n % 100];
}
__global__ void overflow(int *out)
{
    *out = deep(10000000);
}
__global__ void shared_out_of_bounds(int n)
{
    __shared__ int few[8];

    few[n] = 1;
    __syncthreads();
    if (few[7] == 12345)
        printf("never\n");
}

static void sticky(cudaError_t expected)
{
    void *p;

    EXPECT_ERROR(cudaDeviceSynchronize(), expected);
    EXPECT_ERROR(cudaGetLastError(), expected);
    EXPECT_ERROR(cudaMalloc(&p, 16), expected); /* the context is broken */
    nothing<<<1, 1>>>();
    EXPECT_ERROR(cudaGetLastError(), expected);
}

static void outside(int *p)
{
    write_to<<<1, 1>>>(p, 1l << 20);
    sticky(cudaErrorIllegalAddress);
}

static void null_pointer(int *)
{
    write_to<<<1, 1>>>(nullptr, 0);
    sticky(cudaErrorIllegalAddress);
}

static void pointer_of_host(int *)
{
    int host[2] = {7, 7};

    write_to<<<1, 1>>>(host, 0);
    sticky(cudaErrorIllegalAddress);
    EXPECT_EQUAL(host[0], 7);
}

static void trap(int *)
{
    stop<<<1, 1>>>();
    sticky(cudaErrorLaunchFailure);
}

static void assertion(int *)
{
    must<<<1, 1>>>(9);
    CHECK(cudaDeviceSynchronize());
    must<<<1, 1>>>(4);
    sticky(cudaErrorAssert);
}

static void alignment(int *p)
{
    misaligned<<<1, 1>>>((char *)p);
    sticky(cudaErrorMisalignedAddress);
}

/* Errors of configuration do not stick. */
static void configuration(int *p)
{
    int host_out[256];
    cudaFuncAttributes about;

    nothing<<<1, 2048>>>();
    EXPECT_ERROR(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_ERROR(cudaGetLastError(), cudaSuccess);
    nothing<<<0, 1>>>();
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    nothing<<<dim3(1, 70000), 1>>>();
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    bounded<<<1, 128>>>();
    EXPECT(cudaGetLastError() != cudaSuccess);
    dynamic<<<1, 32, 60 * 1024>>>(p);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 60 * 1024));
    dynamic<<<1, 256, 60 * 1024>>>(p);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host_out, p, 1024, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(host_out[3], 252);
    CHECK(cudaFuncGetAttributes(&about, dynamic));
    EXPECT_EQUAL(about.maxDynamicSharedSizeBytes, 60 * 1024);
    EXPECT(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) !=
           cudaSuccess);
}

/* After a reset the device works again. */
static void reset(int *)
{
    void *handle = nullptr;

    CHECK(cudaDeviceReset());
    nothing<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    EXPECT_ERROR(cudaSetDevice(1000), cudaErrorInvalidDevice);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidDevice);
    EXPECT(strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
    EXPECT(strcmp(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered") ==
           0);
    EXPECT_ERROR(cudaLaunchKernel(&handle, dim3(1), dim3(1), nullptr, 0, 0), cudaErrorInvalidDeviceFunction);
}

static void stack(int *p)
{
    overflow<<<1, 1>>>(p);
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
}

static void outside_of_shared(int *)
{
    shared_out_of_bounds<<<1, 1>>>(100000);
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
}

static void use_after_free(int *p)
{
    CHECK(cudaFree(p));
    write_to<<<1, 1>>>(p, 0);
    sticky(cudaErrorIllegalAddress);
}

/* Each gets 1024 bytes of the device. */
static void (*const cases[])(int *) = {
    outside, null_pointer, pointer_of_host, trap, assertion, alignment, configuration, reset, stack,
    outside_of_shared, use_after_free,
};
enum { CASES = sizeof cases / sizeof *cases };

static void run(int which)
{
    int *p;

    CHECK(cudaMalloc(&p, 1024));
    cases[which](p);
}

int main()
{
    for (int which = 0; which < CASES; which++) {
        pid_t child = fork();
        int status = 0;

        if (child == 0) {
            run(which);
            fflush(stdout);
            _exit(expect_failures != 0);
        }
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            printf("case %d: status %x\n", which, status);
            expect_failures++;
        }
    }
    return expect_failures != 0;
}
