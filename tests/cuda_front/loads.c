/*
 * Loads modules and libraries, and runs a kernel of each, found in every way: four launches of four
 * blocks. Prints what does not hold.
 * usage: loads KERNELS.ptx
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_must.h"

enum { WORDS = 256, BLOCK = 64, LOG = 1024 };

static int n_wrong;

static void expect(bool holds, const char *what)
{
    n_wrong += !holds;
    if (!holds)
        printf("not so: %s\n", what);
}

static void fills(CUfunction fill, CUdeviceptr words, int value)
{
    int n = WORDS, found[WORDS];
    void *params[] = {&words, &n, &value};

    MUST(cuLaunchKernel(fill, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, params, NULL));
    MUST(cuMemcpyDtoH_v2(found, words, sizeof found));
    expect(found[0] == value && found[WORDS - 1] == value, "the kernel runs");
}

/* However a handle is found, it is that of the kernel. */
static void runs_each(CUmodule module, CUlibrary library, CUdeviceptr words)
{
    enum { MOST = 64 };
    CUfunction functions[MOST] = {NULL};
    CUkernel kernels[MOST] = {NULL};
    const char *name;

    MUST(cuModuleEnumerateFunctions(functions, MOST, module));
    for (int i = 0; i < MOST && functions[i]; i++) {
        MUST(cuFuncGetName(&name, functions[i]));
        if (strcmp(name, "fill") == 0)
            fills(functions[i], words, 3);
    }
    MUST(cuLibraryEnumerateKernels(kernels, MOST, library));
    for (int i = 0; i < MOST && kernels[i]; i++) {
        MUST(cuKernelGetName(&name, kernels[i]));
        if (strcmp(name, "fill") == 0)
            fills((CUfunction)(void *)kernels[i], words, 4);
    }
}

int main(int argc, char **argv)
{
    static char text[1 << 18], log[LOG];
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)LOG}, *broken[] = {log, (void *)(uintptr_t)LOG};
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    CUlibrary library;
    CUcontext context;
    CUfunction fill;
    CUkernel kernel;
    CUmodule module;
    CUdeviceptr words;

    if (!file || fread(text, 1, sizeof text - 1, file) == 0)
        return 2;
    (void)fclose(file);
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuMemAlloc_v2(&words, WORDS * sizeof(int)));
    MUST(cuModuleLoadDataEx(&module, text, 2, options, values));
    MUST(cuModuleGetFunction(&fill, module, "fill"));
    fills(fill, words, 1);
    values[1] = (void *)(uintptr_t)LOG;
    MUST(cuLibraryLoadData(&library, text, options, values, 2, NULL, NULL, 0));
    MUST(cuModuleLoadDataEx(&module, text, 2, options, broken));
    runs_each(module, library, words);
    MUST(cuLibraryGetKernel(&kernel, library, "fill"));
    fills((CUfunction)(void *)kernel, words, 2);
    broken[1] = (void *)(uintptr_t)LOG;
    expect(cuModuleLoadDataEx(&module, "no PTX", 2, options, broken) != CUDA_SUCCESS && log[0],
           "a refused text has a log");
    printf("%s\n", n_wrong ? "wrong" : "right");
    return n_wrong > 0;
}
