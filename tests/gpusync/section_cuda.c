/*
 * section_gpu.h on the CPU device of CUDA, without state: under `migration: none` a CUDA program
 * stays on its device. SECTION_DEVICE is the number of that device.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda_abi/driver_calls.h"
#include "section_gpu.h"

#define LOCAL 16u
#define SIZE  (sizeof(unsigned) << 16)

static CUfunction kernel;
static CUdeviceptr buffer;
static void *pinned; /* a copy of pageable memory may be staged, and then ends before it is done */

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    (void)fprintf(stderr, "%s: %d\n", what, (int)code);
    exit(2);
}

#define MUST(call) must(call, #call)

void section_set_up(size_t words, unsigned n_buffers)
{
    static const char text[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
                               ".visible .entry empty()\n{\n    ret;\n}\n";
    const char *device = getenv("SECTION_DEVICE");
    CUcontext context;
    CUmodule module;

    (void)n_buffers;
    if (words)
        exit(2);
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&context, 0, device ? atoi(device) : 0));
    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&kernel, module, "empty"));
    MUST(cuMemAlloc_v2(&buffer, SIZE));
    MUST(cuMemAllocHost_v2(&pinned, SIZE));
}

void section_launch(size_t groups)
{
    MUST(cuLaunchKernel(kernel, (unsigned)groups, 1, 1, LOCAL, 1, 1, 0, NULL, NULL, NULL));
    MUST(cuCtxSynchronize());
}

void section_copy_in(size_t bytes)
{
    MUST(cuMemcpyHtoD_v2(buffer, pinned, bytes && bytes < SIZE ? bytes : SIZE));
}

void section_copy_out(size_t bytes)
{
    MUST(cuMemcpyDtoH_v2(pinned, buffer, bytes && bytes < SIZE ? bytes : SIZE));
}

void section_check_state(void)
{
}
