/*
 * What a call of the CUDA device's driver costs: an empty launch with and without waiting for it,
 * copies against memcpy. Run it in the folder of the sources.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cuda_abi/driver_calls.h"
#include "figure.h"

enum { ROUNDS = 21, LAUNCHES = 2000, COPY = 64 << 20 };

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    fprintf(stderr, "bench-cuda: %s: error %d\n", what, (int)code);
    exit(1);
}

static void show(const char *name, const char *what, const char *unit, double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof values[0], by_value);
    printf("%-52s %8.2f %s  (%.2f .. %.2f)\n", what, values[ROUNDS / 2], unit, values[0], values[ROUNDS - 1]);
    figure_sorted(name, values, ROUNDS);
}

static double us_each(baton_nsec begin, int n)
{
    return (double)(clock_now() - begin) / 1000 / n;
}

static void measure_launches(CUfunction function, CUstream stream)
{
    double waited[ROUNDS], queued[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        baton_nsec begin = clock_now();

        for (int i = 0; i < LAUNCHES; i++) {
            must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
            must(cuStreamSynchronize(stream), "cuStreamSynchronize");
        }
        waited[r] = us_each(begin, LAUNCHES);
        begin = clock_now();
        for (int i = 0; i < LAUNCHES; i++)
            must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL), "cuLaunchKernel");
        must(cuStreamSynchronize(stream), "cuStreamSynchronize");
        queued[r] = us_each(begin, LAUNCHES);
    }
    show("cuda-launch-wait", "an empty launch and a wait for it", "us", waited);
    show("cuda-launch", "an empty launch, of 2000 in a row", "us", queued);
}

static void measure_copies(void)
{
    double ratios[ROUNDS];
    char *from, *to = malloc(COPY);
    CUdeviceptr device;

    must(to ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY, "malloc");
    must(cuMemHostAlloc((void **)&from, COPY, 0), "cuMemHostAlloc");
    must(cuMemAlloc_v2(&device, COPY), "cuMemAlloc");
    memset(from, 1, COPY);
    memset(to, 2, COPY);
    must(cuMemcpyHtoD_v2(device, from, COPY), "cuMemcpyHtoD");
    for (int r = 0; r < ROUNDS; r++) {
        baton_nsec begin = clock_now(), plain;

        memcpy(to, from, COPY);
        plain = clock_now() - begin;
        begin = clock_now();
        must(cuMemcpyHtoD_v2(device, from, COPY), "cuMemcpyHtoD");
        ratios[r] = (double)plain / (double)(clock_now() - begin);
    }
    show("cuda-copy", "64 MiB to the device, speed against memcpy", "x ", ratios);
    free(to);
}

int main(void)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUstream stream;

    must(cuInit(0), "cuInit");
    must(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
    must(cuModuleLoad(&module, "tests/cuda_conformance/kernels.ptx"), "tests/cuda_conformance/kernels.ptx");
    must(cuModuleGetFunction(&function, module, "nothing"), "cuModuleGetFunction");
    must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    measure_launches(function, stream);
    measure_copies();
    must(cuCtxDestroy_v2(context), "cuCtxDestroy");
    return 0;
}
