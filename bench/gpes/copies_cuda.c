#include <stdio.h>
#include <stdlib.h>

#include "copies.h"
#include "cuda_abi/driver_calls.h"

static CUcontext context;
static CUdeviceptr buffer;

static void must(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS)
        return;
    fprintf(stderr, "copies-cuda: %s: error %d\n", call, (int)result);
    exit(3);
}

void copies_open(size_t bytes)
{
    must(cuInit(0), "cuInit");
    must(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
    must(cuMemAlloc_v2(&buffer, bytes), "cuMemAlloc");
}

void copies_in(const void *from, size_t bytes)
{
    must(cuMemcpyHtoD_v2(buffer, from, bytes), "cuMemcpyHtoD");
}

void copies_out(void *to, size_t bytes)
{
    must(cuMemcpyDtoH_v2(to, buffer, bytes), "cuMemcpyDtoH");
}

void copies_close(void)
{
    must(cuMemFree_v2(buffer), "cuMemFree");
    must(cuCtxDestroy_v2(context), "cuCtxDestroy");
}
