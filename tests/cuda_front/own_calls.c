/*
 * Calls on a thread's own default stream that the front does not hold back, on a driver of which
 * they are told (lying_driver.c, "streams"); and a call when the program ends. Prints what does not
 * hold. usage: own-calls KERNELS.ptx
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_must.h"

enum { WORDS = 256, BLOCK = 64, LOOKS = 1000000 };

typedef CUresult (*signal_function)(const CUdeviceptr *words, const void *params, unsigned n,
                                    CUstream stream);

static CUfunction fill, wait_for;
static int n_wrong;

static void expect(bool holds, const char *what)
{
    n_wrong += !holds;
    if (!holds)
        printf("not so: %s\n", what);
}

/* Registered before the front's exit handler, so that it runs after that. */
static void open_at_exit(void)
{
    CUipcEventHandle handle;
    CUevent event;

    memset(&handle, 'h', sizeof handle);
    if (cuIpcOpenEventHandle(&event, handle) == CUDA_SUCCESS)
        return;
    printf("not so: the whole handle is passed on at the end\n");
    (void)fflush(stdout);
    _Exit(1);
}

static void fill_words(CUdeviceptr words, int value)
{
    int n = WORDS;
    void *params[] = {&words, &n, &value};

    MUST(cuLaunchKernel(fill, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, CU_STREAM_PER_THREAD, params, NULL));
}

static void copy_to_array(void)
{
    CUDA_ARRAY_DESCRIPTOR about = {.Width = WORDS, .Format = CU_AD_FORMAT_SIGNED_INT32, .NumChannels = 1};
    int found[WORDS];
    CUdeviceptr words;
    CUarray array;

    MUST(cuMemAlloc_v2(&words, sizeof found));
    MUST(cuArrayCreate_v2(&array, &about));
    fill_words(words, 5);
    MUST(cuMemcpyDtoA_v2_ptds(array, 0, words, sizeof found));
    fill_words(words, 6);
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    MUST(cuMemcpyAtoH_v2(found, array, 0, sizeof found));
    expect(found[0] == 5 && found[WORDS - 1] == 5, "a copy to an array comes before the next kernel");
}

static void signal_semaphore(void)
{
    signal_function function;
    volatile unsigned *words; /* the kernel's flag, and the semaphore */
    CUdeviceptr at, semaphore;
    void *memory, *params[] = {&at};

    *(void **)&function = dlsym(RTLD_DEFAULT, "cuSignalExternalSemaphoresAsync_ptsz");
    MUST(cuMemHostAlloc(&memory, 2 * sizeof *words, CU_MEMHOSTALLOC_DEVICEMAP));
    words = memory;
    words[0] = words[1] = 0;
    at = (CUdeviceptr)(uintptr_t)memory;
    semaphore = at + sizeof *words;
    MUST(cuLaunchKernel(wait_for, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_PER_THREAD, params, NULL));
    MUST(function(&semaphore, NULL, 1, NULL));
    for (int i = 0; i < LOOKS && !words[1]; i++)
        ;
    expect(!words[1], "the semaphore waits for the kernel before it");
    words[0] = 1;
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    expect(words[1] == 1, "... and comes behind it in the stream");
}

static void upload_graph(void)
{
    CUstream given = NULL;

    MUST(cuGraphUpload((CUgraphExec)(void *)&given, CU_STREAM_PER_THREAD));
    expect(given && given != CU_STREAM_LEGACY && given != CU_STREAM_PER_THREAD,
           "a graph is uploaded in the stream that stands in");
}

int main(int argc, char **argv)
{
    CUcontext context;
    CUmodule module;

    if (argc != 2 || atexit(open_at_exit) != 0)
        return 2;
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuModuleLoad(&module, argv[1]));
    MUST(cuModuleGetFunction(&fill, module, "fill"));
    MUST(cuModuleGetFunction(&wait_for, module, "wait_for"));
    copy_to_array();
    signal_semaphore();
    upload_graph();
    printf("%s\n", n_wrong ? "wrong" : "right");
    return n_wrong > 0;
}
