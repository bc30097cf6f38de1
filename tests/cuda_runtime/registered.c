/*
 * The runtime library as a compiled .cu file uses it, without nvcc: registers a container of PTX,
 * kernels and variables the way such a file does before main, and calls the runtime API. One line
 * per case: what, documented, answered.
 *
 * usage: cuda-registered KERNELS.ptx
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "containers.h"
#include "cuda_cpu/runtime/calls.h"

/* What stands in the data of a compiled file. */
struct wrapper {
    uint32_t magic, version;
    const void *data, *names;
};

/* Stubs: their addresses stand for kernels; the variables are shadows. */
static void fill(void)
{
}
static void stray(void)
{
}
static void absent(void)
{
}
static int counter, table[4];
static void *shared_by_all;

static unsigned n_answers, n_wrong;

static void answer(const char *what, cudaError_t documented, cudaError_t given)
{
    printf("%s | %s | %s%s\n", what, cudaGetErrorName(documented), cudaGetErrorName(given),
           documented == given ? "" : " | WRONG");
    n_answers++;
    n_wrong += documented != given;
}

static void holds(const char *what, bool does)
{
    printf("%s | yes | %s\n", what, does ? "yes" : "no | WRONG");
    n_answers++;
    n_wrong += !does;
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;

    if (!file || getdelim(&text, &room, 0, file) < 0) {
        perror(path);
        exit(3);
    }
    fclose(file);
    return text;
}

static void **register_all(const struct wrapper *wrapper)
{
    void **handle = __cudaRegisterFatBinary((void *)(uintptr_t)wrapper);

    __cudaRegisterFunction(handle, (const char *)(uintptr_t)fill, (char *)"fill", "fill", -1, NULL, NULL,
                           NULL, NULL, NULL);
    __cudaRegisterFunction(handle, (const char *)(uintptr_t)stray, (char *)"stray", "stray", -1, NULL, NULL,
                           NULL, NULL, NULL);
    __cudaRegisterVar(handle, (char *)&counter, (char *)"counter", "counter", 0, sizeof counter, 0, 0);
    __cudaRegisterVar(handle, (char *)table, (char *)"table", "table", 0, sizeof table, 1, 0);
    __cudaRegisterManagedVar(handle, &shared_by_all, (char *)"shared_by_all", "shared_by_all", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    return handle;
}

static const void *host(void (*stub)(void))
{
    return (const void *)(uintptr_t)stub;
}

static void launch_cases(void)
{
    int *device, words[64], n = 64, value = 9;
    void *arguments[] = {&device, &n, &value};
    dim3 one = {1, 1, 1}, many = {64, 1, 1}, odd = {2000, 1, 1}, grid, block;
    size_t shared = 0;
    void *stream = NULL;

    answer("memory", cudaSuccess, cudaMalloc((void **)&device, sizeof words));
    holds("a configuration is pushed", __cudaPushCallConfiguration(one, many, 16, NULL) == 0);
    answer("and popped by the stub", cudaSuccess,
           __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    holds("as it was", block.x == 64 && shared == 16);
    answer("without one the stub fails", cudaErrorMissingConfiguration,
           __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    holds("the error is kept", cudaPeekAtLastError() == cudaErrorMissingConfiguration);
    holds("until it is taken", cudaGetLastError() == cudaErrorMissingConfiguration);
    holds("once", cudaGetLastError() == cudaSuccess);
    answer("a launch by the host function", cudaSuccess,
           cudaLaunchKernel(host(fill), one, many, arguments, 0, NULL));
    answer("copy back", cudaSuccess, cudaMemcpy(words, device, sizeof words, cudaMemcpyDeviceToHost));
    holds("the kernel ran", words[0] == 9 && words[63] == 9);
    answer("too many threads", cudaErrorInvalidConfiguration,
           cudaLaunchKernel(host(fill), one, odd, arguments, 0, NULL));
    (void)cudaGetLastError();
    answer("a function that is no kernel", cudaErrorInvalidDeviceFunction,
           cudaLaunchKernel(host(absent), one, one, NULL, 0, NULL));
    (void)cudaGetLastError();
    answer("a direction that is none", cudaErrorInvalidMemcpyDirection, cudaMemcpy(words, device, 4, 9));
    answer("free", cudaSuccess, cudaFree(device));
    answer("NULL as well", cudaSuccess, cudaFree(NULL));
    answer("but not twice", cudaErrorInvalidValue, cudaFree(device));
    (void)cudaGetLastError();
    answer("no bytes are no error", cudaSuccess, cudaMalloc((void **)&device, 0));
    holds("and no memory", device == NULL);
}

static void symbol_cases(void **handle)
{
    int word = 0, four[4] = {0};
    void *address;
    size_t size = 0;

    answer("a variable is read", cudaSuccess,
           cudaMemcpyFromSymbol(&word, &counter, sizeof word, 0, cudaMemcpyDeviceToHost));
    holds("its first value", word == 7);
    word = 21;
    answer("and written", cudaSuccess,
           cudaMemcpyToSymbol(&counter, &word, sizeof word, 0, cudaMemcpyHostToDevice));
    answer("its address", cudaSuccess, cudaGetSymbolAddress(&address, &counter));
    answer("its size", cudaSuccess, cudaGetSymbolSize(&size, table));
    holds("of the whole table", size == 16);
    answer("a constant", cudaSuccess,
           cudaMemcpyFromSymbol(four, table, sizeof four, 0, cudaMemcpyDeviceToHost));
    holds("is there", four[3] == 4);
    answer("beyond its end", cudaErrorInvalidValue,
           cudaMemcpyFromSymbol(four, table, sizeof four, 4, cudaMemcpyDeviceToHost));
    answer("a symbol that is none", cudaErrorInvalidSymbol, cudaGetSymbolSize(&size, &word));
    (void)cudaGetLastError();
    (void)__cudaInitModule(handle);
    holds("a managed variable has its address", shared_by_all && *(int *)shared_by_all == 11);
}

static void *use_device(void *argument)
{
    *(cudaError_t *)argument = cudaFree(NULL);
    return NULL;
}

static void reset_cases(void)
{
    void *device;
    cudaError_t other = cudaErrorUnknown;
    pthread_t thread;
    dim3 one = {1, 1, 1};
    uint64_t nowhere = 4096;
    void *arguments[] = {&nowhere};

    answer("memory before a fault", cudaSuccess, cudaMalloc(&device, 64));
    answer("a stray write is launched", cudaSuccess,
           cudaLaunchKernel(host(stray), one, one, arguments, 0, NULL));
    answer("and found", cudaErrorIllegalAddress, cudaDeviceSynchronize());
    answer("the error is the last one", cudaErrorIllegalAddress, cudaGetLastError());
    answer("and stays", cudaErrorIllegalAddress, cudaGetLastError());
    answer("for every call", cudaErrorIllegalAddress, cudaMalloc(&device, 64));
    answer("a reset ends it", cudaSuccess, cudaDeviceReset());
    answer("the device works again", cudaSuccess, cudaMalloc(&device, 64));
    pthread_create(&thread, NULL, use_device, &other);
    pthread_join(thread, NULL);
    answer("in other threads as well", cudaSuccess, other);
}

int main(int argc, char **argv)
{
    char *text = argc == 2 ? read_text(argv[1]) : NULL;
    struct container container;
    struct wrapper wrapper = {0x466243b1, 1, NULL, NULL};
    void **handle;

    if (!text) {
        fprintf(stderr, "usage: cuda-registered KERNELS.ptx\n");
        return 2;
    }
    container = container_make(text, CONTAINER_ZSTD);
    wrapper.data = container.bytes;
    handle = register_all(&wrapper);
    launch_cases();
    symbol_cases(handle);
    reset_cases();
    __cudaUnregisterFatBinary(handle);
    container_free(&container);
    free(text);
    printf("%u passed, %u failed\n", n_answers - n_wrong, n_wrong);
    return n_wrong > 0;
}
