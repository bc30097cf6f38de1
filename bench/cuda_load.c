/*
 * A CUDA program that is one load or one measurement at a time, on the default stream.
 * bench/cuda_front.sh runs it plain and under Baton in turns; tests use it as a neighbour.
 *
 * usage: cuda-load KERNELS.ptx LOAD
 *   hog MS FILE         kernels of about MS ms until FILE is gone; prints how many
 *   copies BYTES FILE   copies there and back until FILE is gone; prints how many
 *   urgent MS N         N jobs of one kernel of about MS ms and a wait: p50 p99 max ms
 *   launch N            N launches of an empty kernel, each waited for: us per launch
 *   pipeline N          N launches, one wait: us per launch
 *   move BYTES N        N synchronous copies to the device: ms per copy
 *   product MMUL.ptx N  N products of 640 x 640 numbers, 400 blocks each: ms per product
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda_abi/driver_calls.h"

enum { BLOCK = 256, MOST_WORDS = 16 << 20 };

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction fill, nothing;
    CUdeviceptr words;
} load;

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    fprintf(stderr, "cuda-load: %s: %d\n", what, (int)code);
    exit(3);
}

#define MUST(call) must(call, #call)

static double now_ms(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec * 1e-6;
}

static void fill(int n)
{
    int value = 1;
    void *params[] = {&load.words, &n, &value};

    MUST(cuLaunchKernel(load.fill, (unsigned)(n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, params,
                        NULL));
}

static double time_fill(int n)
{
    double begin = now_ms();

    fill(n);
    MUST(cuCtxSynchronize());
    return now_ms() - begin;
}

/* How many words take so long; the best of some tries, since neighbours only make it longer. */
static int words_for(double ms)
{
    const int probe = 1 << 20;
    double best = time_fill(probe), words;

    for (int i = 0; i < 9; i++) {
        double again = time_fill(probe);

        best = again < best ? again : best;
    }
    words = ms / best * probe;
    return words > MOST_WORDS ? MOST_WORDS : words < BLOCK ? BLOCK : (int)words;
}

static void hog(double ms, const char *file)
{
    int n = words_for(ms), launches = 0;

    while (access(file, F_OK) == 0) {
        fill(n);
        MUST(cuCtxSynchronize());
        launches++;
    }
    printf("%d\n", launches);
}

static void copies(size_t bytes, const char *file)
{
    char *host = calloc(1, bytes);
    CUdeviceptr memory;
    int n = 0;

    MUST(cuMemAlloc_v2(&memory, bytes));
    while (host && access(file, F_OK) == 0) {
        MUST(cuMemcpyHtoD_v2(memory, host, bytes));
        MUST(cuMemcpyDtoH_v2(host, memory, bytes));
        n++;
    }
    printf("%d\n", n);
    free(host);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static void urgent(double ms, int n)
{
    double *times = calloc((size_t)n, sizeof *times);
    int words = words_for(ms);

    if (!times)
        exit(3);
    for (int i = 0; i < n; i++) {
        usleep(3000);
        times[i] = time_fill(words);
    }
    qsort(times, (size_t)n, sizeof *times, compare);
    printf("%.3f %.3f %.3f\n", times[n / 2], times[(int)((double)n * 0.99)], times[n - 1]);
    free(times);
}

static void empty_launches(int n, int wait_each)
{
    double begin;

    for (int i = 0; i < 100; i++)
        MUST(cuLaunchKernel(load.nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    MUST(cuCtxSynchronize());
    begin = now_ms();
    for (int i = 0; i < n; i++) {
        MUST(cuLaunchKernel(load.nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        if (wait_each)
            MUST(cuCtxSynchronize());
    }
    MUST(cuCtxSynchronize());
    printf("%.3f\n", (now_ms() - begin) / n * 1e3);
}

static void move(size_t bytes, int n)
{
    char *host = malloc(bytes);
    CUdeviceptr memory;
    double begin;

    if (!host)
        exit(3);
    memset(host, 1, bytes);
    MUST(cuMemAlloc_v2(&memory, bytes));
    MUST(cuMemcpyHtoD_v2(memory, host, bytes));
    begin = now_ms();
    for (int i = 0; i < n; i++)
        MUST(cuMemcpyHtoD_v2(memory, host, bytes));
    printf("%.4f\n", (now_ms() - begin) / n);
    free(host);
}

/* The kernel of tests/workloads: four columns to a thread, so 10 x 40 blocks of 16 x 16 threads. */
static void product(const char *file, int n)
{
    int size = 640;
    size_t bytes = sizeof(float) * (size_t)size * (size_t)size;
    CUdeviceptr a, b, c;
    void *params[] = {&a, &b, &c, &size};
    CUmodule module;
    CUfunction mmul;
    double begin = 0;

    MUST(cuModuleLoad(&module, file));
    MUST(cuModuleGetFunction(&mmul, module, "mmul"));
    MUST(cuMemAlloc_v2(&a, bytes));
    MUST(cuMemAlloc_v2(&b, bytes));
    MUST(cuMemAlloc_v2(&c, bytes));
    MUST(cuMemsetD32_v2(a, 0, bytes / sizeof(float)));
    MUST(cuMemsetD32_v2(b, 0, bytes / sizeof(float)));
    for (int i = -1; i < n; i++) { /* the first one is not measured */
        MUST(cuLaunchKernel(mmul, 10, 40, 1, 16, 16, 1, 0, NULL, params, NULL));
        MUST(cuCtxSynchronize());
        begin = i < 0 ? now_ms() : begin;
    }
    printf("%.4f\n", (now_ms() - begin) / n);
}

static void open_device(const char *kernels)
{
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&load.context, 0, 0));
    MUST(cuModuleLoad(&load.module, kernels));
    MUST(cuModuleGetFunction(&load.fill, load.module, "fill"));
    MUST(cuModuleGetFunction(&load.nothing, load.module, "nothing"));
    MUST(cuMemAlloc_v2(&load.words, sizeof(int) * MOST_WORDS));
    (void)time_fill(BLOCK);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 3 ? argv[2] : "";

    if (argc > 3)
        open_device(argv[1]);
    if (strcmp(mode, "hog") == 0 && argc == 5)
        hog(atof(argv[3]), argv[4]);
    else if (strcmp(mode, "copies") == 0 && argc == 5)
        copies((size_t)atoll(argv[3]), argv[4]);
    else if (strcmp(mode, "urgent") == 0 && argc == 5)
        urgent(atof(argv[3]), atoi(argv[4]));
    else if (strcmp(mode, "launch") == 0)
        empty_launches(atoi(argv[3]), 1);
    else if (strcmp(mode, "pipeline") == 0)
        empty_launches(atoi(argv[3]), 0);
    else if (strcmp(mode, "move") == 0 && argc == 5)
        move((size_t)atoll(argv[3]), atoi(argv[4]));
    else if (strcmp(mode, "product") == 0 && argc == 5)
        product(argv[3], atoi(argv[4]));
    else
        return fprintf(stderr, "usage: cuda-load KERNELS.ptx MODE ...: see bench/cuda_load.c\n"), 2;
    return 0;
}
