/* Launches, and the attributes of kernels. */
#include <limits.h>
#include <string.h>

#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"
#include "cuda_cpu/runtime/cudart_state.h"

RUNTIME_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
    if (cudart_thread.configurations.n == CUDART_CONFIGURATIONS)
        return 1;
    cudart_thread.configurations.items[cudart_thread.configurations.n++] =
        (struct configuration){grid, block, shared, stream};
    return 0;
}

RUNTIME_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *ret_grid, dim3 *ret_block, size_t *ret_shared,
                                                      void *ret_stream)
{
    const struct configuration *last;

    if (!cudart_thread.configurations.n)
        return runtime_end(cudaErrorMissingConfiguration);
    last = &cudart_thread.configurations.items[--cudart_thread.configurations.n];
    *ret_grid = last->grid;
    *ret_block = last->block;
    *ret_shared = last->shared;
    memcpy(ret_stream, &last->stream, sizeof last->stream);
    return cudaSuccess;
}

/* The runtime has its own error for shapes that no device accepts. */
static cudaError_t launch_error(CUresult code, dim3 grid, dim3 block)
{
    bool odd = !grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z || grid.y > 65535 ||
               grid.z > 65535 || grid.x > INT_MAX || block.z > 64 ||
               (unsigned long long)block.x * block.y * block.z > 1024;

    return code == CUDA_ERROR_INVALID_VALUE && odd ? cudaErrorInvalidConfiguration : (cudaError_t)code;
}

static cudaError_t launch(CUkernel kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                          cudaStream_t stream)
{
    cudaError_t error = runtime_begin();
    CUresult code;

    if (error != cudaSuccess)
        return runtime_end(error);
    if (shared > UINT_MAX)
        return runtime_end(cudaErrorInvalidValue);
    code = cuLaunchKernel((CUfunction)(void *)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                          (unsigned)shared, stream, arguments, NULL);
    return runtime_end(launch_error(code, grid, block));
}

static cudaStream_t own(cudaStream_t stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

RUNTIME_EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                                              size_t shared, cudaStream_t stream)
{
    return kernel ? launch(kernel, grid, block, arguments, shared, stream) : runtime_end(registry_failure());
}

RUNTIME_EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block,
                                                   void **arguments, size_t shared, cudaStream_t stream)
{
    return kernel ? launch(kernel, grid, block, arguments, shared, own(stream))
                  : runtime_end(registry_failure());
}

/* The program may name the host function or the kernel itself. */
static cudaError_t find(const void *function, CUkernel *ret_kernel)
{
    const char *name;
    cudaError_t error = registry_kernel(function, ret_kernel);

    if (error == cudaErrorInvalidDeviceFunction &&
        cuKernelGetName(&name, (CUkernel)(void *)(uintptr_t)function) == CUDA_SUCCESS) {
        *ret_kernel = (CUkernel)(void *)(uintptr_t)function;
        return cudaSuccess;
    }
    return error;
}

RUNTIME_EXPORT cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                            size_t shared, cudaStream_t stream)
{
    CUkernel kernel;
    cudaError_t error = find(function, &kernel);

    return error == cudaSuccess ? launch(kernel, grid, block, arguments, shared, stream) : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaLaunchKernel_ptsz(const void *function, dim3 grid, dim3 block,
                                                 void **arguments, size_t shared, cudaStream_t stream)
{
    return cudaLaunchKernel(function, grid, block, arguments, shared, own(stream));
}

RUNTIME_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                                       void **arguments, size_t shared, cudaStream_t stream)
{
    CUkernel kernel;
    cudaError_t error = find(function, &kernel);
    CUresult code;

    if (error != cudaSuccess)
        return runtime_end(error);
    code = cuLaunchCooperativeKernel((CUfunction)(void *)kernel, grid.x, grid.y, grid.z, block.x, block.y,
                                     block.z, (unsigned)shared, stream, arguments);
    return runtime_end(launch_error(code, grid, block));
}

RUNTIME_EXPORT cudaError_t cudaLaunchCooperativeKernel_ptsz(const void *function, dim3 grid, dim3 block,
                                                            void **arguments, size_t shared,
                                                            cudaStream_t stream)
{
    return cudaLaunchCooperativeKernel(function, grid, block, arguments, shared, own(stream));
}

static cudaError_t launch_extended(const cudaLaunchConfig_t *config, cudaStream_t stream,
                                   const void *function, void **arguments)
{
    CUkernel kernel;
    cudaError_t error = find(function, &kernel);
    CUlaunchConfig driver_config;

    if (error != cudaSuccess)
        return runtime_end(error);
    driver_config = (CUlaunchConfig){.gridDimX = config->gridDim.x,
                                     .gridDimY = config->gridDim.y,
                                     .gridDimZ = config->gridDim.z,
                                     .blockDimX = config->blockDim.x,
                                     .blockDimY = config->blockDim.y,
                                     .blockDimZ = config->blockDim.z,
                                     .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
                                     .hStream = stream,
                                     .attrs = config->attrs,
                                     .numAttrs = config->numAttrs};
    return runtime_end(
        launch_error(cuLaunchKernelEx(&driver_config, (CUfunction)(void *)kernel, arguments, NULL),
                     config->gridDim, config->blockDim));
}

RUNTIME_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                               void **arguments)
{
    return config ? launch_extended(config, config->stream, function, arguments)
                  : runtime_end(cudaErrorInvalidValue);
}

RUNTIME_EXPORT cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *function,
                                                    void **arguments)
{
    return config ? launch_extended(config, own(config->stream), function, arguments)
                  : runtime_end(cudaErrorInvalidValue);
}

/* --- attributes --- */

static int attribute_of(CUfunction function, CUfunction_attribute attribute)
{
    int value = 0;

    (void)cuFuncGetAttribute(&value, attribute, function);
    return value;
}

RUNTIME_EXPORT cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *ret_attributes, const void *host)
{
    CUkernel kernel;
    CUfunction function;
    cudaError_t error = ret_attributes ? find(host, &kernel) : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = (cudaError_t)cuKernelGetFunction(&function, kernel);
    if (error != cudaSuccess)
        return runtime_end(error);
    *ret_attributes = (cudaFuncAttributes){
        .sharedSizeBytes = (size_t)attribute_of(function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
        .constSizeBytes = (size_t)attribute_of(function, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
        .localSizeBytes = (size_t)attribute_of(function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        .maxThreadsPerBlock = attribute_of(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .numRegs = attribute_of(function, CU_FUNC_ATTRIBUTE_NUM_REGS),
        .ptxVersion = attribute_of(function, CU_FUNC_ATTRIBUTE_PTX_VERSION),
        .binaryVersion = attribute_of(function, CU_FUNC_ATTRIBUTE_BINARY_VERSION),
        .maxDynamicSharedSizeBytes = attribute_of(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
        .preferredShmemCarveout = attribute_of(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)};
    return cudaSuccess;
}

/* The runtime numbers these attributes like the driver. */
RUNTIME_EXPORT cudaError_t cudaFuncSetAttribute(const void *host, int attribute, int value)
{
    CUkernel kernel;
    cudaError_t error = find(host, &kernel);

    if (error != cudaSuccess)
        return runtime_end(error);
    return runtime_end_driver(
        cuKernelSetAttribute((CUfunction_attribute)attribute, value, kernel, runtime_device()));
}

RUNTIME_EXPORT cudaError_t cudaFuncSetCacheConfig(const void *host, int config)
{
    CUkernel kernel;
    cudaError_t error = find(host, &kernel);

    return error == cudaSuccess ? runtime_end_driver(cuKernelSetCacheConfig(kernel, config, runtime_device()))
                                : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaFuncGetName(const char **ret_name, const void *host)
{
    CUkernel kernel;
    cudaError_t error = find(host, &kernel);

    return error == cudaSuccess ? runtime_end_driver(cuKernelGetName(ret_name, kernel)) : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaFuncGetParamInfo(const void *host, size_t index, size_t *ret_offset,
                                                size_t *ret_size)
{
    CUkernel kernel;
    cudaError_t error = find(host, &kernel);

    return error == cudaSuccess
               ? runtime_end_driver(cuKernelGetParamInfo(kernel, index, ret_offset, ret_size))
               : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks,
                                                                                  const void *host, int block,
                                                                                  size_t dynamic,
                                                                                  unsigned int flags)
{
    CUkernel kernel;
    cudaError_t error = find(host, &kernel);

    if (error != cudaSuccess)
        return runtime_end(error);
    return runtime_end_driver(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        ret_blocks, (CUfunction)(void *)kernel, block, dynamic, flags));
}

RUNTIME_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, const void *host,
                                                                         int block, size_t dynamic)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_blocks, host, block, dynamic, 0);
}

RUNTIME_EXPORT cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *ret_dynamic, const void *host,
                                                                     int blocks, int block)
{
    CUkernel kernel;
    cudaError_t error = find(host, &kernel);

    if (error != cudaSuccess)
        return runtime_end(error);
    return runtime_end_driver(
        cuOccupancyAvailableDynamicSMemPerBlock(ret_dynamic, (CUfunction)(void *)kernel, blocks, block));
}
