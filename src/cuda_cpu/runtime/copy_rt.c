/* Copies: translates the runtime's kinds of copy to the driver's. */
#include <stdint.h>

#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"

enum { WAIT, ASYNC };

static cudaStream_t own(cudaStream_t stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

/* The memory types of both sides as the program states them; default: as the addresses show. */
static bool types_of(cudaMemcpyKind kind, CUmemorytype *ret_to, CUmemorytype *ret_from)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
        *ret_to = *ret_from = CU_MEMORYTYPE_HOST;
        return true;
    case cudaMemcpyHostToDevice:
        *ret_to = CU_MEMORYTYPE_DEVICE;
        *ret_from = CU_MEMORYTYPE_HOST;
        return true;
    case cudaMemcpyDeviceToHost:
        *ret_to = CU_MEMORYTYPE_HOST;
        *ret_from = CU_MEMORYTYPE_DEVICE;
        return true;
    case cudaMemcpyDeviceToDevice:
        *ret_to = *ret_from = CU_MEMORYTYPE_DEVICE;
        return true;
    case cudaMemcpyDefault:
        *ret_to = *ret_from = CU_MEMORYTYPE_UNIFIED;
        return true;
    default:
        return false;
    }
}

static cudaError_t submit(const CUDA_MEMCPY3D *copy, cudaStream_t stream, int how)
{
    cudaError_t error = runtime_begin();

    if (error == cudaSuccess)
        error = (cudaError_t)(how == ASYNC                     ? cuMemcpy3DAsync_v2(copy, stream)
                              : stream == CU_STREAM_PER_THREAD ? cuMemcpy3D_v2_ptds(copy)
                                                               : cuMemcpy3D_v2(copy));
    return runtime_end(error);
}

/* --- rows --- */

static cudaError_t copy_box(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                            size_t height, cudaMemcpyKind kind, cudaStream_t stream, int how)
{
    CUDA_MEMCPY3D copy = {.srcHost = from,
                          .srcDevice = (uintptr_t)from,
                          .srcPitch = from_pitch,
                          .dstHost = to,
                          .dstDevice = (uintptr_t)to,
                          .dstPitch = to_pitch,
                          .WidthInBytes = width,
                          .Height = height,
                          .Depth = 1};

    if (!types_of(kind, &copy.dstMemoryType, &copy.srcMemoryType))
        return runtime_end(cudaErrorInvalidMemcpyDirection);
    if (height > 1 && (to_pitch < width || from_pitch < width))
        return runtime_end(cudaErrorInvalidPitchValue);
    return submit(&copy, stream, how);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind kind)
{
    return copy_box(to, size, from, size, size, 1, kind, NULL, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t size, cudaMemcpyKind kind)
{
    return copy_box(to, size, from, size, size, 1, kind, CU_STREAM_PER_THREAD, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                                           cudaStream_t stream)
{
    return copy_box(to, size, from, size, size, 1, kind, stream, ASYNC);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyAsync_ptsz(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                                                cudaStream_t stream)
{
    return copy_box(to, size, from, size, size, 1, kind, own(stream), ASYNC);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                        size_t width, size_t height, cudaMemcpyKind kind)
{
    return copy_box(to, to_pitch, from, from_pitch, width, height, kind, NULL, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy2D_ptds(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                             size_t width, size_t height, cudaMemcpyKind kind)
{
    return copy_box(to, to_pitch, from, from_pitch, width, height, kind, CU_STREAM_PER_THREAD, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                             size_t width, size_t height, cudaMemcpyKind kind,
                                             cudaStream_t stream)
{
    return copy_box(to, to_pitch, from, from_pitch, width, height, kind, stream, ASYNC);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy2DAsync_ptsz(void *to, size_t to_pitch, const void *from,
                                                  size_t from_pitch, size_t width, size_t height,
                                                  cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_box(to, to_pitch, from, from_pitch, width, height, kind, own(stream), ASYNC);
}

/* --- symbols --- */

static cudaError_t find_in_symbol(const void *symbol, size_t offset, size_t size, CUdeviceptr *ret_address)
{
    size_t all;
    cudaError_t error = registry_symbol(symbol, ret_address, &all);

    if (error == cudaSuccess && (offset > all || size > all - offset))
        error = cudaErrorInvalidValue;
    *ret_address += error == cudaSuccess ? offset : 0;
    return error;
}

static cudaError_t to_symbol(const void *symbol, const void *from, size_t size, size_t offset,
                             cudaMemcpyKind kind, cudaStream_t stream, int how)
{
    CUdeviceptr address = 0;
    cudaError_t error = find_in_symbol(symbol, offset, size, &address);

    if (error == cudaSuccess && (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost))
        error = cudaErrorInvalidMemcpyDirection;
    return error == cudaSuccess
               ? copy_box((void *)(uintptr_t)address, size, from, size, size, 1, kind, stream, how)
               : runtime_end(error);
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t size, size_t offset, cudaMemcpyKind kind,
                               cudaStream_t stream, int how)
{
    CUdeviceptr address = 0;
    cudaError_t error = find_in_symbol(symbol, offset, size, &address);

    if (error == cudaSuccess && (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost))
        error = cudaErrorInvalidMemcpyDirection;
    return error == cudaSuccess
               ? copy_box(to, size, (const void *)(uintptr_t)address, size, size, 1, kind, stream, how)
               : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size,
                                              size_t offset, cudaMemcpyKind kind)
{
    return to_symbol(symbol, from, size, offset, kind, NULL, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *from, size_t size,
                                                   size_t offset, cudaMemcpyKind kind)
{
    return to_symbol(symbol, from, size, offset, kind, CU_STREAM_PER_THREAD, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size,
                                                   size_t offset, cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_symbol(symbol, from, size, offset, kind, stream, ASYNC);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *from, size_t size,
                                                        size_t offset, cudaMemcpyKind kind,
                                                        cudaStream_t stream)
{
    return to_symbol(symbol, from, size, offset, kind, own(stream), ASYNC);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset,
                                                cudaMemcpyKind kind)
{
    return from_symbol(to, symbol, size, offset, kind, NULL, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyFromSymbol_ptds(void *to, const void *symbol, size_t size, size_t offset,
                                                     cudaMemcpyKind kind)
{
    return from_symbol(to, symbol, size, offset, kind, CU_STREAM_PER_THREAD, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset,
                                                     cudaMemcpyKind kind, cudaStream_t stream)
{
    return from_symbol(to, symbol, size, offset, kind, stream, ASYNC);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void *to, const void *symbol, size_t size,
                                                          size_t offset, cudaMemcpyKind kind,
                                                          cudaStream_t stream)
{
    return from_symbol(to, symbol, size, offset, kind, own(stream), ASYNC);
}

/* --- devices: all memory is in one space --- */

RUNTIME_EXPORT cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device,
                                          size_t size)
{
    (void)to_device;
    (void)from_device;
    return copy_box(to, size, from, size, size, 1, cudaMemcpyDeviceToDevice, NULL, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                               size_t size, cudaStream_t stream)
{
    (void)to_device;
    (void)from_device;
    return copy_box(to, size, from, size, size, 1, cudaMemcpyDeviceToDevice, stream, ASYNC);
}

/* --- boxes and arrays --- */

/* Bytes per texel, because positions and widths count texels if an array takes part. */
static size_t element_of(cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR about;
    size_t bytes;

    if (!array || cuArray3DGetDescriptor_v2(&about, array) != CUDA_SUCCESS)
        return 1;
    bytes = about.Format == CU_AD_FORMAT_UNSIGNED_INT8 || about.Format == CU_AD_FORMAT_SIGNED_INT8 ? 1
            : about.Format == CU_AD_FORMAT_UNSIGNED_INT16 || about.Format == CU_AD_FORMAT_SIGNED_INT16 ||
                    about.Format == CU_AD_FORMAT_HALF
                ? 2
                : 4;
    return bytes * about.NumChannels;
}

cudaError_t copy_3d_to_driver(const cudaMemcpy3DParms *asked, CUDA_MEMCPY3D *ret_copy)
{
    CUDA_MEMCPY3D copy;
    size_t element;

    if (!asked || (asked->srcArray && asked->srcPtr.ptr) || (asked->dstArray && asked->dstPtr.ptr))
        return cudaErrorInvalidValue;
    element = element_of(asked->srcArray ? asked->srcArray : asked->dstArray);
    copy =
        (CUDA_MEMCPY3D){.srcXInBytes = asked->srcPos.x * (asked->srcArray ? element_of(asked->srcArray) : 1),
                        .srcY = asked->srcPos.y,
                        .srcZ = asked->srcPos.z,
                        .srcHost = asked->srcPtr.ptr,
                        .srcDevice = (uintptr_t)asked->srcPtr.ptr,
                        .srcArray = asked->srcArray,
                        .srcPitch = asked->srcPtr.pitch,
                        .srcHeight = asked->srcPtr.ysize,
                        .dstXInBytes = asked->dstPos.x * (asked->dstArray ? element_of(asked->dstArray) : 1),
                        .dstY = asked->dstPos.y,
                        .dstZ = asked->dstPos.z,
                        .dstHost = asked->dstPtr.ptr,
                        .dstDevice = (uintptr_t)asked->dstPtr.ptr,
                        .dstArray = asked->dstArray,
                        .dstPitch = asked->dstPtr.pitch,
                        .dstHeight = asked->dstPtr.ysize,
                        .WidthInBytes = asked->extent.width * element,
                        .Height = asked->extent.height ? asked->extent.height : 1,
                        .Depth = asked->extent.depth ? asked->extent.depth : 1};
    if (!types_of(asked->kind, &copy.dstMemoryType, &copy.srcMemoryType))
        return cudaErrorInvalidMemcpyDirection;
    if (asked->srcArray)
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    if (asked->dstArray)
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    *ret_copy = copy;
    return cudaSuccess;
}

cudaError_t copy_line_to_driver(void *to, const void *from, size_t size, cudaMemcpyKind kind,
                                CUDA_MEMCPY3D *ret_copy)
{
    *ret_copy = (CUDA_MEMCPY3D){.srcHost = from,
                                .srcDevice = (uintptr_t)from,
                                .dstHost = to,
                                .dstDevice = (uintptr_t)to,
                                .WidthInBytes = size,
                                .Height = 1,
                                .Depth = 1};
    return types_of(kind, &ret_copy->dstMemoryType, &ret_copy->srcMemoryType)
               ? cudaSuccess
               : cudaErrorInvalidMemcpyDirection;
}

static cudaError_t copy_3d(const cudaMemcpy3DParms *asked, cudaStream_t stream, int how)
{
    CUDA_MEMCPY3D copy;
    cudaError_t error = copy_3d_to_driver(asked, &copy);

    return error == cudaSuccess ? submit(&copy, stream, how) : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *asked)
{
    return copy_3d(asked, NULL, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms *asked)
{
    return copy_3d(asked, CU_STREAM_PER_THREAD, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *asked, cudaStream_t stream)
{
    return copy_3d(asked, stream, ASYNC);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms *asked, cudaStream_t stream)
{
    return copy_3d(asked, own(stream), ASYNC);
}

static cudaError_t to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                            size_t height, cudaMemcpyKind kind, cudaStream_t stream, int how)
{
    CUDA_MEMCPY3D copy = {.srcHost = from,
                          .srcDevice = (uintptr_t)from,
                          .srcPitch = pitch,
                          .dstXInBytes = x,
                          .dstY = y,
                          .dstArray = to,
                          .WidthInBytes = width,
                          .Height = height,
                          .Depth = 1};

    if (!types_of(kind, &copy.dstMemoryType, &copy.srcMemoryType))
        return runtime_end(cudaErrorInvalidMemcpyDirection);
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    return submit(&copy, stream, how);
}

static cudaError_t from_array(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream, int how)
{
    CUDA_MEMCPY3D copy = {.srcXInBytes = x,
                          .srcY = y,
                          .srcArray = from,
                          .dstHost = to,
                          .dstDevice = (uintptr_t)to,
                          .dstPitch = pitch,
                          .WidthInBytes = width,
                          .Height = height,
                          .Depth = 1};

    if (!types_of(kind, &copy.dstMemoryType, &copy.srcMemoryType))
        return runtime_end(cudaErrorInvalidMemcpyDirection);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    return submit(&copy, stream, how);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void *from,
                                               size_t pitch, size_t width, size_t height, cudaMemcpyKind kind)
{
    return to_array(to, x, y, from, pitch, width, height, kind, NULL, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from,
                                                    size_t pitch, size_t width, size_t height,
                                                    cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_array(to, x, y, from, pitch, width, height, kind, stream, ASYNC);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy2DFromArray(void *to, size_t pitch, cudaArray_t from, size_t x, size_t y,
                                                 size_t width, size_t height, cudaMemcpyKind kind)
{
    return from_array(to, pitch, from, x, y, width, height, kind, NULL, WAIT);
}

RUNTIME_EXPORT cudaError_t cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_t from, size_t x,
                                                      size_t y, size_t width, size_t height,
                                                      cudaMemcpyKind kind, cudaStream_t stream)
{
    return from_array(to, pitch, from, x, y, width, height, kind, stream, ASYNC);
}
