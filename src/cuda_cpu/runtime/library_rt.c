/* Libraries of kernels that the program loads itself, and attributes of streams. */
#include <stdint.h>

#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"

#define LIBRARY_CALL(name, driver, parameters, arguments)                                                    \
    RUNTIME_EXPORT cudaError_t name parameters                                                               \
    {                                                                                                        \
        RUNTIME_CALL(driver arguments);                                                                      \
    }

LIBRARY_CALL(cudaLibraryLoadData, cuLibraryLoadData,
             (CUlibrary * ret_library, const void *image, CUjit_option *jit, void **jit_values,
              unsigned int n_jit, void *options, void **values, unsigned int n),
             (ret_library, image, jit, jit_values, n_jit, options, values, n))
LIBRARY_CALL(cudaLibraryLoadFromFile, cuLibraryLoadFromFile,
             (CUlibrary * ret_library, const char *path, CUjit_option *jit, void **jit_values,
              unsigned int n_jit, void *options, void **values, unsigned int n),
             (ret_library, path, jit, jit_values, n_jit, options, values, n))
LIBRARY_CALL(cudaLibraryUnload, cuLibraryUnload, (CUlibrary library), (library))
LIBRARY_CALL(cudaLibraryGetKernel, cuLibraryGetKernel,
             (cudaKernel_t * ret_kernel, CUlibrary library, const char *name), (ret_kernel, library, name))
LIBRARY_CALL(cudaLibraryGetKernelCount, cuLibraryGetKernelCount, (unsigned int *ret_n, CUlibrary library),
             (ret_n, library))
LIBRARY_CALL(cudaLibraryEnumerateKernels, cuLibraryEnumerateKernels,
             (cudaKernel_t * ret_kernels, unsigned int room, CUlibrary library), (ret_kernels, room, library))
LIBRARY_CALL(cudaLibraryGetGlobal, cuLibraryGetGlobal,
             (void **ret_address, size_t *ret_size, CUlibrary library, const char *name),
             ((CUdeviceptr *)ret_address, ret_size, library, name))
LIBRARY_CALL(cudaLibraryGetManaged, cuLibraryGetManaged,
             (void **ret_address, size_t *ret_size, CUlibrary library, const char *name),
             ((CUdeviceptr *)ret_address, ret_size, library, name))
LIBRARY_CALL(cudaKernelSetAttributeForDevice, cuKernelSetAttribute,
             (cudaKernel_t kernel, CUfunction_attribute attribute, int value, int device),
             (attribute, value, kernel, device))
LIBRARY_CALL(cudaStreamSetAttribute, cuStreamSetAttribute,
             (cudaStream_t stream, CUlaunchAttributeID id, const CUlaunchAttributeValue *value),
             (stream, id, value))
LIBRARY_CALL(cudaStreamSetAttribute_ptsz, cuStreamSetAttribute_ptsz,
             (cudaStream_t stream, CUlaunchAttributeID id, const CUlaunchAttributeValue *value),
             (stream, id, value))
LIBRARY_CALL(cudaStreamGetAttribute, cuStreamGetAttribute,
             (cudaStream_t stream, CUlaunchAttributeID id, CUlaunchAttributeValue *ret_value),
             (stream, id, ret_value))
LIBRARY_CALL(cudaStreamGetAttribute_ptsz, cuStreamGetAttribute_ptsz,
             (cudaStream_t stream, CUlaunchAttributeID id, CUlaunchAttributeValue *ret_value),
             (stream, id, ret_value))
LIBRARY_CALL(cudaStreamCopyAttributes, cuStreamCopyAttributes, (cudaStream_t to, cudaStream_t from),
             (to, from))
LIBRARY_CALL(cudaStreamCopyAttributes_ptsz, cuStreamCopyAttributes_ptsz, (cudaStream_t to, cudaStream_t from),
             (to, from))
LIBRARY_CALL(cudaMemPoolGetAccess, cuMemPoolGetAccess,
             (int *ret_flags, cudaMemPool_t pool, CUmemLocation *location), (ret_flags, pool, location))
