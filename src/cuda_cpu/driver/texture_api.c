/* Texture and surface objects. */
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/cuda_array.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/memory.h"

struct texture_object {
    struct texture texture;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC about;
    CUDA_RESOURCE_VIEW_DESC view;
    bool has_view;
};

struct surface_object {
    struct surface surface;
    CUDA_RESOURCE_DESC resource;
};

const struct texture *texture_find(uint64_t handle)
{
    const struct texture_object *object = (const void *)(uintptr_t)handle;

    return handle_is(object, HANDLE_TEXTURE) ? &object->texture : NULL;
}

const struct surface *surface_find(uint64_t handle)
{
    const struct surface_object *object = (const void *)(uintptr_t)handle;

    return handle_is(object, HANDLE_SURFACE) ? &object->surface : NULL;
}

void texture_end_all(CUcontext context)
{
    void *object;

    while ((object = handle_take(context, HANDLE_TEXTURE)) || (object = handle_take(context, HANDLE_SURFACE)))
        free(object);
}

/* Describes memory that the program laid out itself. */
static CUresult describe_memory(const CUDA_RESOURCE_DESC *resource, struct texture_image *image)
{
    bool flat = resource->resType == CU_RESOURCE_TYPE_LINEAR;
    CUarray_format format = flat ? resource->res.linear.format : resource->res.pitch2D.format;
    unsigned bytes;

    image->channels = flat ? resource->res.linear.numChannels : resource->res.pitch2D.numChannels;
    image->address = flat ? resource->res.linear.devPtr : resource->res.pitch2D.devPtr;
    if (!array_format(format, &image->format, &bytes) ||
        (image->channels != 1 && image->channels != 2 && image->channels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    bytes *= image->channels;
    image->is_linear_memory = flat;
    image->width = (uint32_t)(flat ? resource->res.linear.sizeInBytes / bytes : resource->res.pitch2D.width);
    image->height = flat ? 0 : (uint32_t)resource->res.pitch2D.height;
    image->row_pitch = flat ? resource->res.linear.sizeInBytes : resource->res.pitch2D.pitchInBytes;
    image->slice_pitch = image->row_pitch * (flat ? 1 : image->height);
    if (!image->width || (!flat && !image->height) || image->row_pitch < (uint64_t)image->width * bytes ||
        !memory_holds(image->address, image->slice_pitch))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult describe(const CUDA_RESOURCE_DESC *resource, struct texture *texture)
{
    texture->n_levels = 1;
    switch (resource->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        if (!array_is(resource->res.array.hArray))
            return CUDA_ERROR_INVALID_HANDLE;
        texture->levels[0] = resource->res.array.hArray->image;
        return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_LINEAR:
    case CU_RESOURCE_TYPE_PITCH2D:
        return describe_memory(resource, &texture->levels[0]);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        return mipmap_describe(resource->res.mipmap.hMipmappedArray, texture);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult describe_reading(const CUDA_TEXTURE_DESC *about, struct texture *texture)
{
    enum texture_format format = texture->levels[0].format;
    bool is_float = format == TEXTURE_FLOAT || format == TEXTURE_HALF;

    for (int i = 0; i < 3; i++) {
        if ((unsigned)about->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
            return CUDA_ERROR_INVALID_VALUE;
        texture->address[i] = (enum texture_address)about->addressMode[i];
    }
    if ((unsigned)about->filterMode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    texture->is_linear = about->filterMode == CU_TR_FILTER_MODE_LINEAR;
    texture->is_mip_linear = about->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    texture->is_normalized = about->flags & CU_TRSF_NORMALIZED_COORDINATES;
    texture->reads_as_float = !is_float && !(about->flags & CU_TRSF_READ_AS_INTEGER) &&
                              format != TEXTURE_UNSIGNED_32 && format != TEXTURE_SIGNED_32;
    texture->is_srgb = about->flags & CU_TRSF_SRGB;
    memcpy(texture->border, about->borderColor, sizeof texture->border);
    texture->level_bias = about->mipmapLevelBias;
    texture->level_low = about->minMipmapLevelClamp;
    texture->level_high = about->maxMipmapLevelClamp;
    /* Integers that are not converted cannot be filtered. */
    return texture->is_linear && !is_float && !texture->reads_as_float ? CUDA_ERROR_INVALID_VALUE
                                                                       : CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuTexObjectCreate(CUtexObject *ret_object, const CUDA_RESOURCE_DESC *resource,
                                         const CUDA_TEXTURE_DESC *about, const CUDA_RESOURCE_VIEW_DESC *view)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct texture_object *object;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_object || !resource || !about)
        return CUDA_ERROR_INVALID_VALUE;
    if (view && view->format) /* another format over the same bytes */
        return CUDA_ERROR_NOT_SUPPORTED;
    object = calloc(1, sizeof *object);
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    code = describe(resource, &object->texture);
    if (code == CUDA_SUCCESS)
        code = describe_reading(about, &object->texture);
    if (code == CUDA_SUCCESS && !handle_put(object, HANDLE_TEXTURE, context_of_thread()))
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (code != CUDA_SUCCESS) {
        free(object);
        return code;
    }
    object->resource = *resource;
    object->about = *about;
    object->has_view = view != NULL;
    if (view)
        object->view = *view;
    *ret_object = (uintptr_t)object;
    return CUDA_SUCCESS;
}

static CUresult find(const char *name, uint64_t handle, enum handle_kind kind)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    return handle_is((const void *)(uintptr_t)handle, kind) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Waits first: kernels launched earlier may still read through the object. */
static CUresult destroy(const char *name, uint64_t handle, enum handle_kind kind)
{
    CUresult code = find(name, handle, kind);

    if (code != CUDA_SUCCESS)
        return code;
    (void)work_wait_context(&context_of_thread()->work);
    if (handle_remove((const void *)(uintptr_t)handle, kind))
        free((void *)(uintptr_t)handle);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuTexObjectDestroy(CUtexObject handle)
{
    return destroy(__func__, handle, HANDLE_TEXTURE);
}

DRIVER_EXPORT CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *ret_resource, CUtexObject handle)
{
    CUresult code = find(__func__, handle, HANDLE_TEXTURE);

    if (code == CUDA_SUCCESS && !ret_resource)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_resource = ((struct texture_object *)(uintptr_t)handle)->resource;
    return code;
}

DRIVER_EXPORT CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *ret_about, CUtexObject handle)
{
    CUresult code = find(__func__, handle, HANDLE_TEXTURE);

    if (code == CUDA_SUCCESS && !ret_about)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_about = ((struct texture_object *)(uintptr_t)handle)->about;
    return code;
}

DRIVER_EXPORT CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *ret_view, CUtexObject handle)
{
    CUresult code = find(__func__, handle, HANDLE_TEXTURE);

    if (code == CUDA_SUCCESS && (!ret_view || !((struct texture_object *)(uintptr_t)handle)->has_view))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_view = ((struct texture_object *)(uintptr_t)handle)->view;
    return code;
}

DRIVER_EXPORT CUresult cuSurfObjectCreate(CUsurfObject *ret_object, const CUDA_RESOURCE_DESC *resource)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct surface_object *object;
    CUarray array;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_object || !resource || resource->resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    array = resource->res.array.hArray;
    if (!array_is(array))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!(array->about.Flags & CUDA_ARRAY3D_SURFACE_LDST))
        return CUDA_ERROR_INVALID_VALUE;
    object = calloc(1, sizeof *object);
    if (!object || !handle_put(object, HANDLE_SURFACE, context_of_thread())) {
        free(object);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    object->surface.image = array->image;
    object->resource = *resource;
    *ret_object = (uintptr_t)object;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuSurfObjectDestroy(CUsurfObject handle)
{
    return destroy(__func__, handle, HANDLE_SURFACE);
}

DRIVER_EXPORT CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *ret_resource, CUsurfObject handle)
{
    CUresult code = find(__func__, handle, HANDLE_SURFACE);

    if (code == CUDA_SUCCESS && !ret_resource)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_resource = ((struct surface_object *)(uintptr_t)handle)->resource;
    return code;
}
