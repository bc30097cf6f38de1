/*
 * A CUDA program that is one load or one measurement at a time, on the default stream. Tests use it
 * as a neighbour; bench/cuda_front.c runs it plain and under Baton, sample by sample in turns.
 *
 *     cuda-load KERNELS.ptx hog MS FILE  kernels of about MS ms until FILE is gone; prints how many
 *     cuda-load KERNELS.ptx serve WHAT [MMUL.ptx]
 *
 * serve: one sample for each byte on standard input, answered by two doubles: microseconds per
 * operation, and microseconds of processor time of the whole process.
 *
 *     launch    an empty kernel and a wait; the median of 100 in a row
 *     pipeline  500 empty kernels and one wait, per kernel
 *     in, out   a synchronous copy of 16 MiB to the device, from the device
 *     product   a product of 640 x 640 numbers in 400 blocks (the kernel of MMUL.ptx), and a wait
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cuda_abi/driver_calls.h"

enum {
    BLOCK = 256,
    MOST_WORDS = 16 << 20, /* of `fill`: some ms */
    SYNCHRONOUS = 100,
    PIPELINED = 500,
    COPY = 16 << 20,
    SIDE = 640,
};

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction fill, nothing, mmul;
    CUdeviceptr words, factors[3];
    char *host;
} load;

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    fprintf(stderr, "cuda-load: %s: %d\n", what, (int)code);
    exit(3);
}

#define MUST(call) must(call, #call)

static double clock_ms(clockid_t clock)
{
    struct timespec at;

    clock_gettime(clock, &at);
    return (double)at.tv_sec * 1e3 + (double)at.tv_nsec * 1e-6;
}

static double now_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

static void fill(int n)
{
    int value = 1;
    void *params[] = {&load.words, &n, &value};

    MUST(cuLaunchKernel(load.fill, (unsigned)(n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, params,
                        NULL));
}

static void launch_empty(void)
{
    MUST(cuLaunchKernel(load.nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
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

static int hog(double ms, const char *file)
{
    int n = words_for(ms), launches = 0;

    while (access(file, F_OK) == 0) {
        fill(n);
        MUST(cuCtxSynchronize());
        launches++;
    }
    printf("%d\n", launches);
    return 0;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* --- samples: microseconds --- */

static double sample_launch(void)
{
    double us[SYNCHRONOUS];

    for (int i = 0; i < SYNCHRONOUS; i++) {
        double begin = now_ms();

        launch_empty();
        MUST(cuCtxSynchronize());
        us[i] = (now_ms() - begin) * 1e3;
    }
    qsort(us, SYNCHRONOUS, sizeof us[0], compare);
    return us[SYNCHRONOUS / 2];
}

static double sample_pipeline(void)
{
    double begin = now_ms();

    for (int i = 0; i < PIPELINED; i++)
        launch_empty();
    MUST(cuCtxSynchronize());
    return (now_ms() - begin) * 1e3 / PIPELINED;
}

static double sample_in(void)
{
    double begin = now_ms();

    MUST(cuMemcpyHtoD_v2(load.words, load.host, COPY));
    return (now_ms() - begin) * 1e3;
}

static double sample_out(void)
{
    double begin = now_ms();

    MUST(cuMemcpyDtoH_v2(load.host, load.words, COPY));
    return (now_ms() - begin) * 1e3;
}

/* Four columns to a thread, so 10 x 40 blocks of 16 x 16 threads. */
static double sample_product(void)
{
    void *params[] = {&load.factors[0], &load.factors[1], &load.factors[2], &(int){SIDE}};
    double begin = now_ms();

    MUST(cuLaunchKernel(load.mmul, 10, 40, 1, 16, 16, 1, 0, NULL, params, NULL));
    MUST(cuCtxSynchronize());
    return (now_ms() - begin) * 1e3;
}

static void open_product(const char *file)
{
    size_t n = (size_t)SIDE * SIDE;
    CUmodule module;

    MUST(cuModuleLoad(&module, file));
    MUST(cuModuleGetFunction(&load.mmul, module, "mmul"));
    for (int i = 0; i < 3; i++) {
        MUST(cuMemAlloc_v2(&load.factors[i], n * sizeof(float)));
        MUST(cuMemsetD32_v2(load.factors[i], 0x3f800000, n)); /* 1.0 */
    }
}

static int serve(const char *what, const char *file)
{
    static const struct {
        const char *what;
        double (*sample)(void);
        int operations; /* in a sample */
    } kinds[] = {{"launch", sample_launch, SYNCHRONOUS},
                 {"pipeline", sample_pipeline, PIPELINED},
                 {"in", sample_in, 1},
                 {"out", sample_out, 1},
                 {"product", sample_product, 1}};
    double (*sample)(void) = NULL;
    double us[2];
    int operations = 1;
    char asked;

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(what, kinds[i].what) == 0) {
            sample = kinds[i].sample;
            operations = kinds[i].operations;
        }
    load.host = malloc(COPY);
    if (!sample || !load.host || (sample == sample_product && !file))
        return 2;
    memset(load.host, 1, COPY);
    if (sample == sample_product)
        open_product(file);
    while (read(STDIN_FILENO, &asked, 1) == 1) {
        us[1] = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
        us[0] = sample();
        us[1] = (clock_ms(CLOCK_PROCESS_CPUTIME_ID) - us[1]) * 1e3 / operations;
        if (write(STDOUT_FILENO, us, sizeof us) != sizeof us)
            return 3;
    }
    return 0;
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
    int status = 2;

    if (argc > 3)
        open_device(argv[1]);
    if (strcmp(mode, "hog") == 0 && argc == 5)
        status = hog(atof(argv[3]), argv[4]);
    else if (strcmp(mode, "serve") == 0)
        status = serve(argv[3], argc > 4 ? argv[4] : NULL);
    if (status == 2)
        fprintf(stderr, "usage: cuda-load KERNELS.ptx MODE ...: see bench/cuda_load.c\n");
    return status;
}
