/*
 * One task of a plan as a CUDA program: periodic jobs that it reports itself, each with one kernel
 * on state that stays on the GPU. Prints `ready`, works while the file GO is there, and compares
 * the state with a computation on the host. When the file SPOIL appears, it does once what cannot
 * follow a job to another GPU, and goes on.
 *
 *     cuda-task KERNELS.ptx PERIOD_US GO SPOIL
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "baton/job.h"
#include "cuda_abi/driver_calls.h"

enum { WORDS = 1024 };

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    (void)printf("%s: %d\n", what, (int)code);
    exit(3);
}

#define MUST(call) must(call, #call)

static CUfunction load(const char *path)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    CUfunction stir;
    CUmodule module;

    if (!file || fread(text, 1, sizeof text - 1, file) == 0) {
        perror(path);
        exit(2);
    }
    (void)fclose(file);
    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&stir, module, "stir"));
    return stir;
}

static void sleep_us(long us)
{
    struct timespec length = {us / 1000000, us % 1000000 * 1000};

    while (nanosleep(&length, &length) != 0) {
    }
}

static void one_job(CUfunction stir, CUdeviceptr state, unsigned *known, unsigned salt)
{
    unsigned n = WORDS;
    void *params[] = {&state, &state, &n, &salt};

    (void)baton_job_begin();
    MUST(cuLaunchKernel(stir, WORDS / 64, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    MUST(cuCtxSynchronize());
    (void)baton_job_gpu_done();
    (void)baton_job_end();
    for (unsigned i = 0; i < WORDS; i++)
        known[i] = (known[i] ^ salt) * 2654435761u + (known[i] >> 3) + i;
}

int main(int argc, char **argv)
{
    static unsigned known[WORDS], found[WORDS];
    bool spoilt = false;
    CUdeviceptr state, managed;
    CUcontext context;
    CUfunction stir;

    if (argc != 5)
        return 2;
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&context, 0, 0));
    stir = load(argv[1]);
    MUST(cuMemAlloc_v2(&state, sizeof known));
    MUST(cuMemcpyHtoD_v2(state, known, sizeof known));
    (void)printf("ready\n");
    (void)fflush(stdout);
    for (unsigned salt = 1; access(argv[3], F_OK) == 0; salt++) {
        one_job(stir, state, known, salt);
        if (!spoilt && access(argv[4], F_OK) == 0) {
            MUST(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
            spoilt = true;
        }
        sleep_us(strtol(argv[2], NULL, 10));
    }
    MUST(cuMemcpyDtoH_v2(found, state, sizeof found));
    if (memcmp(found, known, sizeof found) != 0) {
        (void)printf("the state is not what the jobs computed\n");
        return 1;
    }
    return 0;
}
