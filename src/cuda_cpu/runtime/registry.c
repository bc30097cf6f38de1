/*
 * What compiled .cu files register when they are loaded: containers of code, and which host
 * functions and variables belong to which kernels and device variables. The driver gets a container
 * as a library when one of its symbols is first used.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"
#include "cuda_cpu/runtime/cudart_state.h"

struct registry_fatbin {
    void *handle; /* first member: its address is the handle; points to the code */
    const void *image;
    CUlibrary library; /* NULL: not loaded yet */
};

struct registry_symbol {
    const void *host;
    char *name; /* owned */
    struct registry_fatbin *fatbin;
    CUkernel kernel; /* of a function, after its first use */
    void **managed;  /* of a managed variable: where the host keeps its address */
    bool is_function;
};

static int by_host(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)((const struct registry_symbol *)a)->host;
    uintptr_t right = (uintptr_t)((const struct registry_symbol *)b)->host;

    return left < right ? -1 : left > right;
}

static struct registry_symbol *look_up(const void *host)
{
    const struct registry_symbol key = {.host = host};

    if (!cudart.registry.sorted)
        qsort(cudart.registry.symbols, cudart.registry.n, sizeof *cudart.registry.symbols, by_host);
    cudart.registry.sorted = true;
    return cudart.registry.n ? bsearch(&key, cudart.registry.symbols, cudart.registry.n, sizeof key, by_host)
                             : NULL;
}

static void add(struct registry_symbol symbol, const char *name)
{
    pthread_mutex_lock(&cudart.registry.lock);
    if (cudart.registry.n == cudart.registry.room) {
        size_t room = cudart.registry.room ? 2 * cudart.registry.room : 64;
        struct registry_symbol *grown = realloc(cudart.registry.symbols, room * sizeof *grown);

        if (grown) {
            cudart.registry.symbols = grown;
            cudart.registry.room = room;
        }
    }
    symbol.name = strdup(name);
    if (cudart.registry.n < cudart.registry.room && symbol.name) {
        cudart.registry.symbols[cudart.registry.n++] = symbol;
        cudart.registry.sorted = false;
    } else {
        free(symbol.name); /* a later use reports the symbol as unknown */
    }
    pthread_mutex_unlock(&cudart.registry.lock);
}

/*
 * Under the lock. The log of a refused image goes to standard error, because the program cannot ask
 * for it.
 */
static CUresult load(struct registry_fatbin *fatbin)
{
    char log[2048] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    CUresult code;

    if (fatbin->library)
        return CUDA_SUCCESS;
    code = cuLibraryLoadData(&fatbin->library, fatbin->image, options, values, 2, NULL, NULL, 0);
    if (code != CUDA_SUCCESS && log[0])
        fprintf(stderr, "baton-cuda-cpu: %s\n", log);
    return code;
}

cudaError_t registry_kernel(const void *host, CUkernel *ret_kernel)
{
    struct registry_symbol *symbol;
    cudaError_t error = runtime_begin();
    CUresult code = CUDA_SUCCESS;

    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&cudart.registry.lock);
    symbol = look_up(host);
    if (!symbol || !symbol->is_function)
        error = cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess && !symbol->kernel) {
        code = load(symbol->fatbin);
        if (code == CUDA_SUCCESS)
            code = cuLibraryGetKernel(&symbol->kernel, symbol->fatbin->library, symbol->name);
        error = code == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : (cudaError_t)code;
    }
    if (error == cudaSuccess)
        *ret_kernel = symbol->kernel;
    pthread_mutex_unlock(&cudart.registry.lock);
    return error;
}

const void *registry_host(CUkernel kernel)
{
    const void *host = NULL;

    pthread_mutex_lock(&cudart.registry.lock);
    for (size_t i = 0; i < cudart.registry.n && !host; i++)
        if (cudart.registry.symbols[i].is_function && cudart.registry.symbols[i].kernel == kernel)
            host = cudart.registry.symbols[i].host;
    pthread_mutex_unlock(&cudart.registry.lock);
    return host;
}

cudaError_t registry_symbol(const void *host, CUdeviceptr *ret_address, size_t *ret_size)
{
    struct registry_symbol *symbol;
    cudaError_t error = runtime_begin();
    CUresult code;

    if (error != cudaSuccess)
        return error;
    pthread_mutex_lock(&cudart.registry.lock);
    symbol = look_up(host);
    code = symbol && !symbol->is_function ? load(symbol->fatbin) : CUDA_ERROR_NOT_FOUND;
    if (code == CUDA_SUCCESS)
        code = cuLibraryGetGlobal(ret_address, ret_size, symbol->fatbin->library, symbol->name);
    pthread_mutex_unlock(&cudart.registry.lock);
    return code == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : (cudaError_t)code;
}

/* --- what compiled files call --- */

RUNTIME_EXPORT void **__cudaRegisterFatBinary(void *wrapper)
{
    struct registry_fatbin *fatbin = calloc(1, sizeof *fatbin);

    if (fatbin)
        fatbin->image = wrapper;
    return (void **)(void *)fatbin;
}

RUNTIME_EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

RUNTIME_EXPORT void __cudaUnregisterFatBinary(void **handle)
{
    struct registry_fatbin *fatbin = (struct registry_fatbin *)(void *)handle;
    size_t kept = 0;

    if (!fatbin)
        return;
    pthread_mutex_lock(&cudart.registry.lock);
    for (size_t i = 0; i < cudart.registry.n; i++) {
        if (cudart.registry.symbols[i].fatbin == fatbin)
            free(cudart.registry.symbols[i].name);
        else
            cudart.registry.symbols[kept++] = cudart.registry.symbols[i];
    }
    cudart.registry.n = kept;
    if (fatbin->library)
        /* fails at exit, after the driver has closed; nothing is lost */
        (void)cuLibraryUnload(fatbin->library);
    pthread_mutex_unlock(&cudart.registry.lock);
    free(fatbin);
}

RUNTIME_EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                           int limit, void *thread, void *block, void *block_dim,
                                           void *grid_dim, int *warp)
{
    (void)device;
    (void)limit;
    (void)thread;
    (void)block;
    (void)block_dim;
    (void)grid_dim;
    (void)warp;
    add((struct registry_symbol){.host = host,
                                 .fatbin = (struct registry_fatbin *)(void *)handle,
                                 .is_function = true},
        name);
}

RUNTIME_EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                                      size_t size, int constant, int global)
{
    (void)device;
    (void)external;
    (void)size;
    (void)constant;
    (void)global;
    add((struct registry_symbol){.host = host, .fatbin = (struct registry_fatbin *)(void *)handle}, name);
}

RUNTIME_EXPORT void __cudaRegisterHostVar(void **handle, const char *device_name, char *host, size_t size)
{
    (void)size;
    add((struct registry_symbol){.host = host, .fatbin = (struct registry_fatbin *)(void *)handle},
        device_name);
}

RUNTIME_EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                             int external, size_t size, int constant, int global)
{
    (void)device;
    (void)external;
    (void)size;
    (void)constant;
    (void)global;
    add((struct registry_symbol){.host = host,
                                 .fatbin = (struct registry_fatbin *)(void *)handle,
                                 .managed = host},
        name);
}

/* Fills in the addresses of the file's managed variables before the host uses them. */
RUNTIME_EXPORT char __cudaInitModule(void **handle)
{
    struct registry_fatbin *fatbin = (struct registry_fatbin *)(void *)handle;
    CUdeviceptr address;
    bool done = runtime_begin() == cudaSuccess;

    pthread_mutex_lock(&cudart.registry.lock);
    for (size_t i = 0; i < cudart.registry.n && done; i++) {
        struct registry_symbol *symbol = &cudart.registry.symbols[i];

        if (symbol->fatbin != fatbin || !symbol->managed)
            continue;
        done = load(fatbin) == CUDA_SUCCESS &&
               cuLibraryGetManaged(&address, NULL, fatbin->library, symbol->name) == CUDA_SUCCESS;
        if (done)
            *symbol->managed = (void *)(uintptr_t)address;
    }
    pthread_mutex_unlock(&cudart.registry.lock);
    return (char)done;
}

RUNTIME_EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *ret_kernel, const void *host)
{
    cudaError_t error = registry_kernel(host, ret_kernel);

    if (error != cudaSuccess) {
        pthread_mutex_lock(&cudart.registry.lock);
        cudart.registry.failure = error;
        pthread_mutex_unlock(&cudart.registry.lock);
    }
    return runtime_end(error);
}

cudaError_t registry_failure(void)
{
    cudaError_t failure;

    pthread_mutex_lock(&cudart.registry.lock);
    failure = cudart.registry.failure;
    pthread_mutex_unlock(&cudart.registry.lock);
    return failure == cudaSuccess ? cudaErrorInvalidResourceHandle : failure;
}

RUNTIME_EXPORT cudaError_t cudaGetKernel(cudaKernel_t *ret_kernel, const void *host)
{
    if (!ret_kernel)
        return runtime_end(cudaErrorInvalidValue);
    return runtime_end(registry_kernel(host, ret_kernel));
}

RUNTIME_EXPORT cudaError_t cudaGetFuncBySymbol(cudaFunction_t *ret_function, const void *host)
{
    CUkernel kernel;
    cudaError_t error = ret_function ? registry_kernel(host, &kernel) : cudaErrorInvalidValue;

    return error == cudaSuccess ? runtime_end_driver(cuKernelGetFunction(ret_function, kernel))
                                : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaGetSymbolAddress(void **ret_address, const void *symbol)
{
    CUdeviceptr address;
    cudaError_t error = ret_address ? registry_symbol(symbol, &address, NULL) : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        *ret_address = (void *)(uintptr_t)address;
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaGetSymbolSize(size_t *ret_size, const void *symbol)
{
    CUdeviceptr address;

    return runtime_end(ret_size ? registry_symbol(symbol, &address, ret_size) : cudaErrorInvalidValue);
}
