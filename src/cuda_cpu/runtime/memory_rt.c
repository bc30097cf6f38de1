/* Memory: allocation, sets, copies between addresses, symbols. Arrays: array_rt.c. */
#include <stdint.h>

#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"

static cudaStream_t own(cudaStream_t stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

static CUdeviceptr address_of(const void *pointer)
{
    return (uintptr_t)pointer;
}

/* --- allocation --- */

RUNTIME_EXPORT cudaError_t cudaMalloc(void **ret_pointer, size_t size)
{
    cudaError_t error = runtime_begin();
    CUdeviceptr address = 0;

    if (error == cudaSuccess && !ret_pointer)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && size)
        error = (cudaError_t)cuMemAlloc_v2(&address, size);
    if (error == cudaSuccess)
        *ret_pointer = (void *)(uintptr_t)address;
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaFree(void *pointer)
{
    RUNTIME_CALL(cuMemFree_v2(address_of(pointer)));
}

RUNTIME_EXPORT cudaError_t cudaMallocHost(void **ret_pointer, size_t size)
{
    RUNTIME_CALL(cuMemHostAlloc(ret_pointer, size, CU_MEMHOSTALLOC_DEVICEMAP));
}

RUNTIME_EXPORT cudaError_t cudaHostAlloc(void **ret_pointer, size_t size, unsigned int flags)
{
    RUNTIME_CALL(cuMemHostAlloc(ret_pointer, size, flags));
}

RUNTIME_EXPORT cudaError_t cudaFreeHost(void *pointer)
{
    RUNTIME_CALL(cuMemFreeHost(pointer));
}

RUNTIME_EXPORT cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int flags)
{
    RUNTIME_CALL(cuMemHostRegister_v2(pointer, size, flags));
}

RUNTIME_EXPORT cudaError_t cudaHostUnregister(void *pointer)
{
    RUNTIME_CALL(cuMemHostUnregister(pointer));
}

RUNTIME_EXPORT cudaError_t cudaHostGetDevicePointer(void **ret_device, void *host, unsigned int flags)
{
    cudaError_t error = runtime_begin();
    CUdeviceptr address;

    if (error == cudaSuccess && !ret_device)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = (cudaError_t)cuMemHostGetDevicePointer_v2(&address, host, flags);
    if (error == cudaSuccess)
        *ret_device = (void *)(uintptr_t)address;
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaHostGetFlags(unsigned int *ret_flags, void *host)
{
    RUNTIME_CALL(cuMemHostGetFlags(ret_flags, host));
}

RUNTIME_EXPORT cudaError_t cudaMallocManaged(void **ret_pointer, size_t size, unsigned int flags)
{
    cudaError_t error = runtime_begin();
    CUdeviceptr address;

    if (error == cudaSuccess && !ret_pointer)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = (cudaError_t)cuMemAllocManaged(&address, size, flags);
    if (error == cudaSuccess)
        *ret_pointer = (void *)(uintptr_t)address;
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaMallocPitch(void **ret_pointer, size_t *ret_pitch, size_t width, size_t height)
{
    cudaError_t error = runtime_begin();
    CUdeviceptr address;

    if (error == cudaSuccess && !ret_pointer)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = (cudaError_t)cuMemAllocPitch_v2(&address, ret_pitch, width, height, 4);
    if (error == cudaSuccess)
        *ret_pointer = (void *)(uintptr_t)address;
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaMalloc3D(cudaPitchedPtr *ret_pointer, cudaExtent extent)
{
    cudaError_t error;
    void *pointer;
    size_t pitch;

    if (!ret_pointer)
        return runtime_end(cudaErrorInvalidValue);
    error = cudaMallocPitch(&pointer, &pitch, extent.width, extent.height * extent.depth);
    if (error == cudaSuccess)
        *ret_pointer = (cudaPitchedPtr){pointer, pitch, extent.width, extent.height};
    return error;
}

static cudaError_t allocate_async(void **ret_pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    cudaError_t error = runtime_begin();
    CUdeviceptr address;

    if (error == cudaSuccess && !ret_pointer)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = (cudaError_t)(pool ? cuMemAllocFromPoolAsync(&address, size, pool, stream)
                                   : cuMemAllocAsync(&address, size, stream));
    if (error == cudaSuccess)
        *ret_pointer = (void *)(uintptr_t)address;
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaMallocAsync(void **ret_pointer, size_t size, cudaStream_t stream)
{
    return allocate_async(ret_pointer, size, NULL, stream);
}

RUNTIME_EXPORT cudaError_t cudaMallocAsync_ptsz(void **ret_pointer, size_t size, cudaStream_t stream)
{
    return allocate_async(ret_pointer, size, NULL, own(stream));
}

RUNTIME_EXPORT cudaError_t cudaMallocFromPoolAsync(void **ret_pointer, size_t size, cudaMemPool_t pool,
                                                   cudaStream_t stream)
{
    return pool ? allocate_async(ret_pointer, size, pool, stream) : runtime_end(cudaErrorInvalidValue);
}

RUNTIME_EXPORT cudaError_t cudaMallocFromPoolAsync_ptsz(void **ret_pointer, size_t size, cudaMemPool_t pool,
                                                        cudaStream_t stream)
{
    return pool ? allocate_async(ret_pointer, size, pool, own(stream)) : runtime_end(cudaErrorInvalidValue);
}

RUNTIME_EXPORT cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    RUNTIME_CALL(cuMemFreeAsync(address_of(pointer), stream));
}

RUNTIME_EXPORT cudaError_t cudaFreeAsync_ptsz(void *pointer, cudaStream_t stream)
{
    RUNTIME_CALL(cuMemFreeAsync(address_of(pointer), own(stream)));
}

RUNTIME_EXPORT cudaError_t cudaMemPoolCreate(cudaMemPool_t *ret_pool, const CUmemPoolProps *about)
{
    RUNTIME_CALL(cuMemPoolCreate(ret_pool, about));
}

RUNTIME_EXPORT cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool)
{
    RUNTIME_CALL(cuMemPoolDestroy(pool));
}

RUNTIME_EXPORT cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t least)
{
    RUNTIME_CALL(cuMemPoolTrimTo(pool, least));
}

RUNTIME_EXPORT cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, CUmemPool_attribute attribute,
                                                   void *ret_value)
{
    RUNTIME_CALL(cuMemPoolGetAttribute(pool, attribute, ret_value));
}

RUNTIME_EXPORT cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, CUmemPool_attribute attribute,
                                                   void *value)
{
    RUNTIME_CALL(cuMemPoolSetAttribute(pool, attribute, value));
}

RUNTIME_EXPORT cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const CUmemAccessDesc *access, size_t n)
{
    RUNTIME_CALL(cuMemPoolSetAccess(pool, access, n));
}

RUNTIME_EXPORT cudaError_t cudaMemGetInfo(size_t *ret_free, size_t *ret_total)
{
    RUNTIME_CALL(cuMemGetInfo_v2(ret_free, ret_total));
}

RUNTIME_EXPORT cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, CUmemLocation location,
                                                unsigned int flags, cudaStream_t stream)
{
    RUNTIME_CALL(cuMemPrefetchAsync_v2(address_of(pointer), size, location, flags, stream));
}

RUNTIME_EXPORT cudaError_t cudaMemPrefetchAsync_ptsz(const void *pointer, size_t size, CUmemLocation location,
                                                     unsigned int flags, cudaStream_t stream)
{
    RUNTIME_CALL(cuMemPrefetchAsync_v2(address_of(pointer), size, location, flags, own(stream)));
}

RUNTIME_EXPORT cudaError_t cudaMemAdvise(const void *pointer, size_t size, int advice, CUmemLocation location)
{
    RUNTIME_CALL(cuMemAdvise_v2(address_of(pointer), size, advice, location));
}

RUNTIME_EXPORT cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *pointer, size_t size,
                                                    unsigned int flags)
{
    RUNTIME_CALL(cuStreamAttachMemAsync(stream, address_of(pointer), size, flags));
}

RUNTIME_EXPORT cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void *pointer, size_t size,
                                                         unsigned int flags)
{
    RUNTIME_CALL(cuStreamAttachMemAsync(own(stream), address_of(pointer), size, flags));
}

/* Ordinary memory of the program has a type of its own and is not an error. */
RUNTIME_EXPORT cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *ret_attributes,
                                                    const void *pointer)
{
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                    CU_POINTER_ATTRIBUTE_HOST_POINTER};
    unsigned type = 0, managed = 0;
    int device = -2;
    CUdeviceptr on_device = 0;
    void *on_host = NULL, *answers[] = {&type, &managed, &device, &on_device, &on_host};
    cudaError_t error = runtime_begin();

    if (error == cudaSuccess && !ret_attributes)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = (cudaError_t)cuPointerGetAttributes(5, wanted, answers, address_of(pointer));
    if (error != cudaSuccess)
        return runtime_end(error);
    *ret_attributes =
        (cudaPointerAttributes){.type = managed                        ? cudaMemoryTypeManaged
                                        : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                                        : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                                                       : cudaMemoryTypeUnregistered,
                                .device = device,
                                .devicePointer = (void *)(uintptr_t)on_device,
                                .hostPointer = type ? on_host : (void *)(uintptr_t)pointer};
    return cudaSuccess;
}

/* --- sets --- */

RUNTIME_EXPORT cudaError_t cudaMemset(void *pointer, int value, size_t n)
{
    RUNTIME_CALL(cuMemsetD8_v2(address_of(pointer), (unsigned char)value, n));
}

RUNTIME_EXPORT cudaError_t cudaMemset_ptds(void *pointer, int value, size_t n)
{
    RUNTIME_CALL(cuMemsetD8_v2_ptds(address_of(pointer), (unsigned char)value, n));
}

RUNTIME_EXPORT cudaError_t cudaMemsetAsync(void *pointer, int value, size_t n, cudaStream_t stream)
{
    RUNTIME_CALL(cuMemsetD8Async(address_of(pointer), (unsigned char)value, n, stream));
}

RUNTIME_EXPORT cudaError_t cudaMemsetAsync_ptsz(void *pointer, int value, size_t n, cudaStream_t stream)
{
    RUNTIME_CALL(cuMemsetD8Async(address_of(pointer), (unsigned char)value, n, own(stream)));
}

RUNTIME_EXPORT cudaError_t cudaMemset2D(void *pointer, size_t pitch, int value, size_t width, size_t height)
{
    RUNTIME_CALL(cuMemsetD2D8_v2(address_of(pointer), pitch, (unsigned char)value, width, height));
}

RUNTIME_EXPORT cudaError_t cudaMemset2D_ptds(void *pointer, size_t pitch, int value, size_t width,
                                             size_t height)
{
    RUNTIME_CALL(cuMemsetD2D8_v2_ptds(address_of(pointer), pitch, (unsigned char)value, width, height));
}

RUNTIME_EXPORT cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width,
                                             size_t height, cudaStream_t stream)
{
    RUNTIME_CALL(cuMemsetD2D8Async(address_of(pointer), pitch, (unsigned char)value, width, height, stream));
}

RUNTIME_EXPORT cudaError_t cudaMemset2DAsync_ptsz(void *pointer, size_t pitch, int value, size_t width,
                                                  size_t height, cudaStream_t stream)
{
    RUNTIME_CALL(
        cuMemsetD2D8Async(address_of(pointer), pitch, (unsigned char)value, width, height, own(stream)));
}

static cudaError_t set_3d(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream,
                          bool wait)
{
    cudaError_t error = runtime_begin();

    for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++)
        error = (cudaError_t)cuMemsetD2D8Async(address_of(pointer.ptr) + z * pointer.pitch * pointer.ysize,
                                               pointer.pitch, (unsigned char)value, extent.width,
                                               extent.height, stream);
    if (error == cudaSuccess && wait)
        error = (cudaError_t)cuStreamSynchronize(stream);
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent)
{
    return set_3d(pointer, value, extent, NULL, true);
}

RUNTIME_EXPORT cudaError_t cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent,
                                             cudaStream_t stream)
{
    return set_3d(pointer, value, extent, stream, false);
}

RUNTIME_EXPORT cudaError_t cudaMemset3D_ptds(cudaPitchedPtr pointer, int value, cudaExtent extent)
{
    return set_3d(pointer, value, extent, CU_STREAM_PER_THREAD, true);
}

RUNTIME_EXPORT cudaError_t cudaMemset3DAsync_ptsz(cudaPitchedPtr pointer, int value, cudaExtent extent,
                                                  cudaStream_t stream)
{
    return set_3d(pointer, value, extent, own(stream), false);
}
