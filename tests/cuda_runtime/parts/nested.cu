/* A kernel that launches another: refused when it is loaded, with a sentence that says so. */
#include "../programs/expect.h"

__global__ void inner(int *out)
{
    out[threadIdx.x] = 7;
}

__global__ void outer(int *out)
{
    inner<<<1, 4>>>(out);
}

int main()
{
    int *out;

    CHECK(cudaMalloc(&out, 64));
    outer<<<1, 1>>>(out);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidPtx);
    outer<<<1, 1>>>(out);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidPtx);
    CHECK(cudaDeviceSynchronize()); /* nothing else is broken */
    return expect_failures != 0;
}
