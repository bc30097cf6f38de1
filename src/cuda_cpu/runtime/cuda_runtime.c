#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"
#include "cuda_cpu/runtime/cudart_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

cudaError_t runtime_end(cudaError_t error)
{
    if (error != cudaSuccess && error != cudaErrorNotReady)
        cudart_thread.last = error;
    return error;
}

cudaError_t runtime_end_driver(CUresult code)
{
    /* Runtime and driver have the same numbers, except for a driver that was never initialised. */
    return runtime_end(code == CUDA_ERROR_NOT_INITIALIZED ? cudaErrorInitializationError : (cudaError_t)code);
}

int runtime_device(void)
{
    return cudart_thread.device;
}

cudaError_t runtime_begin_driver(void)
{
    return (cudaError_t)cuInit(0);
}

static cudaError_t primary(int device, CUcontext *ret_context)
{
    CUresult code = CUDA_SUCCESS;

    pthread_mutex_lock(&cudart.lock);
    if (!cudart.contexts[device])
        code = cuDevicePrimaryCtxRetain(&cudart.contexts[device], device);
    *ret_context = cudart.contexts[device];
    pthread_mutex_unlock(&cudart.lock);
    return (cudaError_t)code;
}

cudaError_t runtime_begin(void)
{
    CUcontext current = NULL, wanted;
    cudaError_t error = runtime_begin_driver();

    if (error != cudaSuccess)
        return error;
    /* A context that the program has made current itself is used as it is. */
    if (cuCtxGetCurrent(&current) == CUDA_SUCCESS && current)
        return cudaSuccess;
    error = primary(cudart_thread.device, &wanted);
    return error == cudaSuccess ? (cudaError_t)cuCtxSetCurrent(wanted) : error;
}

/* --- errors --- */

/*
 * An error that broke the context is sticky. Other errors in this range (peers, registration) did
 * not break it.
 */
static bool is_sticky(cudaError_t error)
{
    return error == cudaErrorIllegalAddress || error == cudaErrorLaunchTimeout || error == cudaErrorAssert ||
           (error >= cudaErrorHardwareStackError && error <= cudaErrorLaunchFailure);
}

RUNTIME_EXPORT cudaError_t cudaGetLastError(void)
{
    cudaError_t error = cudart_thread.last;

    if (!is_sticky(error))
        cudart_thread.last = cudaSuccess;
    return error;
}

RUNTIME_EXPORT cudaError_t cudaPeekAtLastError(void)
{
    return cudart_thread.last;
}

struct runtime_error_text {
    cudaError_t code;
    const char *name, *text;
};

static const struct runtime_error_text *error_find(cudaError_t error)
{
    static const struct runtime_error_text errors[] = {
#define ERROR_ROW(name, value, text) {name, #name, text},
        CUDA_ABI_ERRORS(ERROR_ROW)
#undef ERROR_ROW
    };

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].code == error)
            return &errors[i];
    return NULL;
}

RUNTIME_EXPORT const char *cudaGetErrorName(cudaError_t error)
{
    const struct runtime_error_text *found = error_find(error);

    return found ? found->name : "unrecognized error code";
}

RUNTIME_EXPORT const char *cudaGetErrorString(cudaError_t error)
{
    const struct runtime_error_text *found = error_find(error);

    return found ? found->text : "unrecognized error code";
}

/* --- devices --- */

RUNTIME_EXPORT cudaError_t cudaGetDeviceCount(int *ret_count)
{
    cudaError_t error = runtime_begin_driver();

    if (!ret_count)
        return runtime_end(cudaErrorInvalidValue);
    if (error != cudaSuccess) {
        *ret_count = 0;
        return runtime_end(error);
    }
    return runtime_end_driver(cuDeviceGetCount(ret_count));
}

RUNTIME_EXPORT cudaError_t cudaGetDevice(int *ret_device)
{
    cudaError_t error = runtime_begin_driver();
    CUdevice device;

    if (error != cudaSuccess || !ret_device)
        return runtime_end(error != cudaSuccess ? error : cudaErrorInvalidValue);
    *ret_device = cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : cudart_thread.device;
    return cudaSuccess;
}

RUNTIME_EXPORT cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = runtime_begin_driver();
    CUcontext context;
    int n;

    if (error == cudaSuccess)
        error = (cudaError_t)cuDeviceGetCount(&n);
    if (error == cudaSuccess && (device < 0 || device >= n))
        error = cudaErrorInvalidDevice;
    if (error == cudaSuccess)
        error = primary(device, &context);
    if (error == cudaSuccess)
        error = (cudaError_t)cuCtxSetCurrent(context);
    if (error == cudaSuccess)
        cudart_thread.device = device;
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
    cudaError_t error = runtime_begin_driver();
    CUcontext context;
    int n;

    (void)flags;
    if (error == cudaSuccess)
        error = (cudaError_t)cuDeviceGetCount(&n);
    if (error == cudaSuccess && (device < 0 || device >= n))
        error = cudaErrorInvalidDevice;
    if (error == cudaSuccess)
        error = (cudaError_t)cuDevicePrimaryCtxSetFlags_v2(device, device_flags);
    return runtime_end(error == cudaSuccess ? primary(device, &context) : error);
}

RUNTIME_EXPORT cudaError_t cudaDeviceReset(void)
{
    cudaError_t error = runtime_begin_driver();

    if (error != cudaSuccess)
        return runtime_end(error);
    cudart_thread.last =
        cudaSuccess; /* the context keeps its handle and its retain count, and is as new after this */
    return runtime_end_driver(cuDevicePrimaryCtxReset_v2(cudart_thread.device));
}

RUNTIME_EXPORT cudaError_t cudaDeviceSynchronize(void)
{
    RUNTIME_CALL(cuCtxSynchronize());
}

RUNTIME_EXPORT cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    cudaError_t error = runtime_begin_driver();

    return error != cudaSuccess
               ? runtime_end(error)
               : runtime_end_driver(cuDevicePrimaryCtxSetFlags_v2(cudart_thread.device, flags));
}

RUNTIME_EXPORT cudaError_t cudaGetDeviceFlags(unsigned int *ret_flags)
{
    RUNTIME_CALL(cuCtxGetFlags(ret_flags));
}

RUNTIME_EXPORT cudaError_t cudaDeviceSetLimit(CUlimit limit, size_t value)
{
    RUNTIME_CALL(cuCtxSetLimit(limit, value));
}

RUNTIME_EXPORT cudaError_t cudaDeviceGetLimit(size_t *ret_value, CUlimit limit)
{
    RUNTIME_CALL(cuCtxGetLimit(ret_value, limit));
}

RUNTIME_EXPORT cudaError_t cudaDeviceSetCacheConfig(int config)
{
    RUNTIME_CALL(cuCtxSetCacheConfig(config));
}

RUNTIME_EXPORT cudaError_t cudaDeviceGetCacheConfig(int *ret_config)
{
    RUNTIME_CALL(cuCtxGetCacheConfig(ret_config));
}

RUNTIME_EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
    RUNTIME_CALL(cuCtxGetStreamPriorityRange(ret_least, ret_greatest));
}

RUNTIME_EXPORT cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    RUNTIME_CALL(cuCtxResetPersistingL2Cache());
}

RUNTIME_EXPORT cudaError_t cudaDriverGetVersion(int *ret_version)
{
    return runtime_end_driver(cuDriverGetVersion(ret_version));
}

RUNTIME_EXPORT cudaError_t cudaRuntimeGetVersion(int *ret_version)
{
    if (!ret_version)
        return runtime_end(cudaErrorInvalidValue);
    *ret_version = CUDA_ABI_VERSION;
    return cudaSuccess;
}
