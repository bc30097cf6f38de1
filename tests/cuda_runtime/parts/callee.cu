/* The other file of caller.cu. */
__device__ int calls;
__constant__ int offset = 100;

__device__ int twice(int x)
{
    return 2 * x;
}

__global__ void far_kernel(int *out)
{
    out[threadIdx.x] = calls;
}
