/* The driver's functions by name, and the profiler's calls, which do nothing. */
#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"

static cudaError_t find(const char *name, void **ret_function, unsigned version, unsigned long long flags,
                        CUdriverProcAddressQueryResult *ret_status)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CUresult code;

    if (!name || !ret_function)
        return runtime_end(cudaErrorInvalidValue);
    code = cuGetProcAddress_v2(name, ret_function, (int)version, flags, &status);
    if (ret_status)
        *ret_status = status;
    return runtime_end(code == CUDA_ERROR_NOT_FOUND ? cudaSuccess : (cudaError_t)code);
}

RUNTIME_EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **ret_function,
                                                            unsigned version, unsigned long long flags,
                                                            CUdriverProcAddressQueryResult *ret_status)
{
    return find(name, ret_function, version, flags, ret_status);
}

RUNTIME_EXPORT cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **ret_function,
                                                                 unsigned version, unsigned long long flags,
                                                                 CUdriverProcAddressQueryResult *ret_status)
{
    return find(name, ret_function, version, flags ? flags : CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
                ret_status);
}

RUNTIME_EXPORT cudaError_t cudaGetDriverEntryPoint(const char *name, void **ret_function,
                                                   unsigned long long flags,
                                                   CUdriverProcAddressQueryResult *ret_status)
{
    return find(name, ret_function, CUDA_ABI_VERSION, flags, ret_status);
}

RUNTIME_EXPORT cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

RUNTIME_EXPORT cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}
