/* A program of two files (nvcc -rdc=true): functions, variables and a kernel of the other file. */
#include "../programs/expect.h"

extern __device__ int twice(int x);
extern __device__ int calls;
extern __constant__ int offset;
__global__ void far_kernel(int *out);

__global__ void near_kernel(int *out)
{
    out[threadIdx.x] = twice((int)threadIdx.x) + offset;
    atomicAdd(&calls, 1);
}

int main()
{
    int *out, host[32], n = -1;

    CHECK(cudaMalloc(&out, sizeof host));
    near_kernel<<<1, 32>>>(out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        EXPECT_EQUAL(host[i], 2 * i + 100);
    far_kernel<<<1, 32>>>(out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT_EQUAL(host[31], 32);
    CHECK(cudaMemcpyFromSymbol(&n, calls, sizeof n));
    EXPECT_EQUAL(n, 32);
    return expect_failures != 0;
}
