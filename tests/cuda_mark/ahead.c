/*
 * A program that enqueues launches behind a kernel which waits for the host, and only then lets the
 * kernel go on. No launch may wait for the ones before it, however short they were so far.
 * usage: ahead KERNELS.ptx
 */
#include <stdio.h>
#include <stdlib.h>

#include "cuda_abi/driver_calls.h"

enum { SHORT_RUNS = 300, AHEAD = 700, ROUNDS = 3 };

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    fprintf(stderr, "ahead: %s: %d\n", what, (int)code);
    exit(3);
}

#define MUST(call) must(call, #call)

static void launch(CUfunction function, CUstream stream, CUdeviceptr argument)
{
    void *params[] = {&argument};

    MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void run_ahead(CUfunction wait_for, CUfunction increment, CUstream stream, volatile int *go,
                      CUdeviceptr counter)
{
    *go = 1;
    for (int i = 0; i < SHORT_RUNS; i++) { /* what is learnt: both are short */
        launch(wait_for, stream, (CUdeviceptr)go);
        launch(increment, stream, counter);
        MUST(cuStreamSynchronize(stream));
    }
    *go = 0;
    launch(wait_for, stream, (CUdeviceptr)go);
    for (int i = 0; i < AHEAD; i++)
        launch(increment, stream, counter);
    *go = 1;
    MUST(cuStreamSynchronize(stream));
}

int main(int argc, char **argv)
{
    CUfunction wait_for, increment;
    CUdeviceptr counter;
    CUcontext context;
    CUstream stream;
    CUmodule module;
    void *go;
    int n = 0;

    if (argc != 2)
        return 2;
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuModuleLoad(&module, argv[1]));
    MUST(cuModuleGetFunction(&wait_for, module, "wait_for"));
    MUST(cuModuleGetFunction(&increment, module, "increment"));
    MUST(cuMemHostAlloc(&go, sizeof(int), 0));
    MUST(cuMemAlloc_v2(&counter, sizeof n));
    MUST(cuMemsetD32_v2(counter, 0, 1));
    MUST(cuStreamCreate(&stream, 0));
    for (int i = 0; i < ROUNDS; i++)
        run_ahead(wait_for, increment, i % 2 ? stream : NULL, go, counter);
    MUST(cuMemcpyDtoH_v2(&n, counter, sizeof n));
    printf("%d\n", n);
    return n == ROUNDS * (SHORT_RUNS + AHEAD) ? 0 : 1;
}
