/* Arrays, textures and surfaces. */
#include <stdint.h>
#include <string.h>

#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"

RUNTIME_EXPORT cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                           cudaChannelFormatKind kind)
{
    return (cudaChannelFormatDesc){x, y, z, w, kind};
}

bool channel_to_format(const cudaChannelFormatDesc *about, CUarray_format *ret_format, unsigned *ret_channels)
{
    static const struct {
        cudaChannelFormatKind kind;
        int bits;
        CUarray_format format;
    } formats[] = {
        {cudaChannelFormatKindUnsigned, 8, CU_AD_FORMAT_UNSIGNED_INT8},
        {cudaChannelFormatKindUnsigned, 16, CU_AD_FORMAT_UNSIGNED_INT16},
        {cudaChannelFormatKindUnsigned, 32, CU_AD_FORMAT_UNSIGNED_INT32},
        {cudaChannelFormatKindSigned, 8, CU_AD_FORMAT_SIGNED_INT8},
        {cudaChannelFormatKindSigned, 16, CU_AD_FORMAT_SIGNED_INT16},
        {cudaChannelFormatKindSigned, 32, CU_AD_FORMAT_SIGNED_INT32},
        {cudaChannelFormatKindFloat, 16, CU_AD_FORMAT_HALF},
        {cudaChannelFormatKindFloat, 32, CU_AD_FORMAT_FLOAT},
    };

    *ret_channels = about->w ? 4 : about->z ? 3 : about->y ? 2 : 1;
    if (*ret_channels == 3)
        return false;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].kind == about->f && formats[i].bits == about->x) {
            *ret_format = formats[i].format;
            return true;
        }
    return false;
}

static cudaChannelFormatDesc format_to_channel(CUarray_format format, unsigned channels)
{
    int bits = format == CU_AD_FORMAT_UNSIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT8 ? 8
               : format == CU_AD_FORMAT_UNSIGNED_INT16 || format == CU_AD_FORMAT_SIGNED_INT16 ||
                       format == CU_AD_FORMAT_HALF
                   ? 16
                   : 32;
    cudaChannelFormatKind kind = format >= CU_AD_FORMAT_HALF          ? cudaChannelFormatKindFloat
                                 : format >= CU_AD_FORMAT_SIGNED_INT8 ? cudaChannelFormatKindSigned
                                                                      : cudaChannelFormatKindUnsigned;

    return (cudaChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 3 ? bits : 0,
                                   channels > 3 ? bits : 0, kind};
}

static cudaError_t describe(const cudaChannelFormatDesc *channel, cudaExtent extent, unsigned flags,
                            CUDA_ARRAY3D_DESCRIPTOR *ret_about)
{
    *ret_about = (CUDA_ARRAY3D_DESCRIPTOR){
        .Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    return channel_to_format(channel, &ret_about->Format, &ret_about->NumChannels)
               ? cudaSuccess
               : cudaErrorInvalidChannelDescriptor;
}

RUNTIME_EXPORT cudaError_t cudaMalloc3DArray(cudaArray_t *ret_array, const cudaChannelFormatDesc *channel,
                                             cudaExtent extent, unsigned int flags)
{
    cudaError_t error = runtime_begin();
    CUDA_ARRAY3D_DESCRIPTOR about;

    if (error == cudaSuccess && (!ret_array || !channel))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = describe(channel, extent, flags, &about);
    return error == cudaSuccess ? runtime_end_driver(cuArray3DCreate_v2(ret_array, &about))
                                : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaMallocArray(cudaArray_t *ret_array, const cudaChannelFormatDesc *channel,
                                           size_t width, size_t height, unsigned int flags)
{
    return cudaMalloc3DArray(ret_array, channel, (cudaExtent){width, height, 0}, flags);
}

RUNTIME_EXPORT cudaError_t cudaFreeArray(cudaArray_t array)
{
    if (!array)
        return cudaSuccess;
    RUNTIME_CALL(cuArrayDestroy(array));
}

RUNTIME_EXPORT cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *ret_mipmap,
                                                    const cudaChannelFormatDesc *channel, cudaExtent extent,
                                                    unsigned int n_levels, unsigned int flags)
{
    cudaError_t error = runtime_begin();
    CUDA_ARRAY3D_DESCRIPTOR about;

    if (error == cudaSuccess && (!ret_mipmap || !channel))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = describe(channel, extent, flags, &about);
    return error == cudaSuccess ? runtime_end_driver(cuMipmappedArrayCreate(ret_mipmap, &about, n_levels))
                                : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap)
{
    if (!mipmap)
        return cudaSuccess;
    RUNTIME_CALL(cuMipmappedArrayDestroy(mipmap));
}

RUNTIME_EXPORT cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *ret_level, cudaMipmappedArray_t mipmap,
                                                      unsigned int level)
{
    RUNTIME_CALL(cuMipmappedArrayGetLevel(ret_level, mipmap, level));
}

RUNTIME_EXPORT cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *ret_channel, cudaArray_t array)
{
    cudaError_t error = runtime_begin();
    CUDA_ARRAY3D_DESCRIPTOR about;

    if (error == cudaSuccess && !ret_channel)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = (cudaError_t)cuArray3DGetDescriptor_v2(&about, array);
    if (error == cudaSuccess)
        *ret_channel = format_to_channel(about.Format, about.NumChannels);
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *ret_channel, cudaExtent *ret_extent,
                                            unsigned int *ret_flags, cudaArray_t array)
{
    cudaError_t error = runtime_begin();
    CUDA_ARRAY3D_DESCRIPTOR about;

    if (error == cudaSuccess)
        error = (cudaError_t)cuArray3DGetDescriptor_v2(&about, array);
    if (error != cudaSuccess)
        return runtime_end(error);
    if (ret_channel)
        *ret_channel = format_to_channel(about.Format, about.NumChannels);
    if (ret_extent)
        *ret_extent = (cudaExtent){about.Width, about.Height, about.Depth};
    if (ret_flags)
        *ret_flags = about.Flags;
    return cudaSuccess;
}

/* --- objects --- */

static cudaError_t resource_of(const cudaResourceDesc *asked, CUDA_RESOURCE_DESC *ret_resource)
{
    const cudaChannelFormatDesc *channel;
    CUarray_format format;
    unsigned channels;

    memset(ret_resource, 0, sizeof *ret_resource);
    ret_resource->resType = asked->resType;
    ret_resource->flags = asked->flags;
    if (asked->resType == CU_RESOURCE_TYPE_ARRAY || asked->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        ret_resource->res.array.hArray = asked->res.array.array;
        return cudaSuccess;
    }
    channel = asked->resType == CU_RESOURCE_TYPE_LINEAR ? &asked->res.linear.desc : &asked->res.pitch2D.desc;
    if (!channel_to_format(channel, &format, &channels))
        return cudaErrorInvalidChannelDescriptor;
    if (asked->resType == CU_RESOURCE_TYPE_LINEAR) {
        ret_resource->res.linear.devPtr = (uintptr_t)asked->res.linear.devPtr;
        ret_resource->res.linear.format = format;
        ret_resource->res.linear.numChannels = channels;
        ret_resource->res.linear.sizeInBytes = asked->res.linear.sizeInBytes;
        return cudaSuccess;
    }
    ret_resource->res.pitch2D.devPtr = (uintptr_t)asked->res.pitch2D.devPtr;
    ret_resource->res.pitch2D.format = format;
    ret_resource->res.pitch2D.numChannels = channels;
    ret_resource->res.pitch2D.width = asked->res.pitch2D.width;
    ret_resource->res.pitch2D.height = asked->res.pitch2D.height;
    ret_resource->res.pitch2D.pitchInBytes = asked->res.pitch2D.pitchInBytes;
    return cudaSuccess;
}

static CUDA_TEXTURE_DESC texture_of(const cudaTextureDesc *asked)
{
    CUDA_TEXTURE_DESC about = {.filterMode = asked->filterMode,
                               .maxAnisotropy = asked->maxAnisotropy,
                               .mipmapFilterMode = asked->mipmapFilterMode,
                               .mipmapLevelBias = asked->mipmapLevelBias,
                               .minMipmapLevelClamp = asked->minMipmapLevelClamp,
                               .maxMipmapLevelClamp = asked->maxMipmapLevelClamp};

    memcpy(about.addressMode, asked->addressMode, sizeof about.addressMode);
    memcpy(about.borderColor, asked->borderColor, sizeof about.borderColor);
    about.flags = (asked->readMode ? 0 : CU_TRSF_READ_AS_INTEGER) |
                  (asked->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
                  (asked->sRGB ? CU_TRSF_SRGB : 0);
    return about;
}

RUNTIME_EXPORT cudaError_t cudaCreateTextureObject(cudaTextureObject_t *ret_object,
                                                   const cudaResourceDesc *resource,
                                                   const cudaTextureDesc *asked,
                                                   const CUDA_RESOURCE_VIEW_DESC *view)
{
    cudaError_t error = runtime_begin();
    CUDA_RESOURCE_DESC driver_resource;
    CUDA_TEXTURE_DESC about;

    if (error == cudaSuccess && (!ret_object || !resource || !asked))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = resource_of(resource, &driver_resource);
    if (error != cudaSuccess)
        return runtime_end(error);
    about = texture_of(asked);
    return runtime_end_driver(cuTexObjectCreate(ret_object, &driver_resource, &about, view));
}

RUNTIME_EXPORT cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
    RUNTIME_CALL(cuTexObjectDestroy(object));
}

RUNTIME_EXPORT cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *ret_object,
                                                   const cudaResourceDesc *resource)
{
    cudaError_t error = runtime_begin();
    CUDA_RESOURCE_DESC driver_resource;

    if (error == cudaSuccess && (!ret_object || !resource))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = resource_of(resource, &driver_resource);
    return error == cudaSuccess ? runtime_end_driver(cuSurfObjectCreate(ret_object, &driver_resource))
                                : runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object)
{
    RUNTIME_CALL(cuSurfObjectDestroy(object));
}

/* --- questions about objects --- */

static void resource_back(const CUDA_RESOURCE_DESC *about, cudaResourceDesc *ret_resource)
{
    memset(ret_resource, 0, sizeof *ret_resource);
    ret_resource->resType = about->resType;
    ret_resource->flags = about->flags;
    if (about->resType == CU_RESOURCE_TYPE_LINEAR) {
        ret_resource->res.linear.devPtr = (void *)(uintptr_t)about->res.linear.devPtr;
        ret_resource->res.linear.desc =
            format_to_channel(about->res.linear.format, about->res.linear.numChannels);
        ret_resource->res.linear.sizeInBytes = about->res.linear.sizeInBytes;
    } else if (about->resType == CU_RESOURCE_TYPE_PITCH2D) {
        ret_resource->res.pitch2D.devPtr = (void *)(uintptr_t)about->res.pitch2D.devPtr;
        ret_resource->res.pitch2D.desc =
            format_to_channel(about->res.pitch2D.format, about->res.pitch2D.numChannels);
        ret_resource->res.pitch2D.width = about->res.pitch2D.width;
        ret_resource->res.pitch2D.height = about->res.pitch2D.height;
        ret_resource->res.pitch2D.pitchInBytes = about->res.pitch2D.pitchInBytes;
    } else {
        ret_resource->res.array.array = about->res.array.hArray;
    }
}

RUNTIME_EXPORT cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc *ret_resource,
                                                            cudaTextureObject_t object)
{
    CUDA_RESOURCE_DESC about;
    cudaError_t error = runtime_begin();

    if (error == cudaSuccess)
        error =
            ret_resource ? (cudaError_t)cuTexObjectGetResourceDesc(&about, object) : cudaErrorInvalidValue;
    if (error == cudaSuccess)
        resource_back(&about, ret_resource);
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc *ret_resource,
                                                            cudaSurfaceObject_t object)
{
    CUDA_RESOURCE_DESC about;
    cudaError_t error = runtime_begin();

    if (error == cudaSuccess)
        error =
            ret_resource ? (cudaError_t)cuSurfObjectGetResourceDesc(&about, object) : cudaErrorInvalidValue;
    if (error == cudaSuccess)
        resource_back(&about, ret_resource);
    return runtime_end(error);
}

RUNTIME_EXPORT cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *ret_about,
                                                           cudaTextureObject_t object)
{
    CUDA_TEXTURE_DESC about;
    cudaError_t error = runtime_begin();

    if (error == cudaSuccess)
        error = ret_about ? (cudaError_t)cuTexObjectGetTextureDesc(&about, object) : cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return runtime_end(error);
    *ret_about = (cudaTextureDesc){.filterMode = about.filterMode,
                                   .readMode = !(about.flags & CU_TRSF_READ_AS_INTEGER),
                                   .sRGB = (about.flags & CU_TRSF_SRGB) != 0,
                                   .normalizedCoords = (about.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0,
                                   .maxAnisotropy = about.maxAnisotropy,
                                   .mipmapFilterMode = about.mipmapFilterMode,
                                   .mipmapLevelBias = about.mipmapLevelBias,
                                   .minMipmapLevelClamp = about.minMipmapLevelClamp,
                                   .maxMipmapLevelClamp = about.maxMipmapLevelClamp};
    memcpy(ret_about->addressMode, about.addressMode, sizeof about.addressMode);
    memcpy(ret_about->borderColor, about.borderColor, sizeof about.borderColor);
    return cudaSuccess;
}

RUNTIME_EXPORT cudaError_t cudaGetTextureObjectResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *ret_view,
                                                                cudaTextureObject_t object)
{
    RUNTIME_CALL(cuTexObjectGetResourceViewDesc(ret_view, object));
}
