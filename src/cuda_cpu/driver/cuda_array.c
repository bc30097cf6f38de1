#include "cuda_cpu/driver/cuda_array.h"

#include <stdlib.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/memory.h"

enum { ROW_ALIGNMENT = 32, ARRAY_ALIGNMENT = 512 };

bool array_is(CUarray array)
{
    return handle_is(array, HANDLE_ARRAY);
}

bool array_format(CUarray_format format, enum texture_format *ret_format, unsigned *ret_bytes)
{
    static const struct {
        CUarray_format format;
        enum texture_format texture;
        unsigned bytes;
    } formats[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, TEXTURE_UNSIGNED_8, 1},
        {CU_AD_FORMAT_UNSIGNED_INT16, TEXTURE_UNSIGNED_16, 2},
        {CU_AD_FORMAT_UNSIGNED_INT32, TEXTURE_UNSIGNED_32, 4},
        {CU_AD_FORMAT_SIGNED_INT8, TEXTURE_SIGNED_8, 1},
        {CU_AD_FORMAT_SIGNED_INT16, TEXTURE_SIGNED_16, 2},
        {CU_AD_FORMAT_SIGNED_INT32, TEXTURE_SIGNED_32, 4},
        {CU_AD_FORMAT_HALF, TEXTURE_HALF, 2},
        {CU_AD_FORMAT_FLOAT, TEXTURE_FLOAT, 4},
    };

    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (formats[i].format == format) {
            *ret_format = formats[i].texture;
            *ret_bytes = formats[i].bytes;
            return true;
        }
    return false;
}

/* Does the shape meet the limits of the device and the demands of the flags? */
static bool is_shape(const CUDA_ARRAY3D_DESCRIPTOR *about)
{
    bool layered = about->Flags & CUDA_ARRAY3D_LAYERED, cube = about->Flags & CUDA_ARRAY3D_CUBEMAP;

    if (!about->Width || about->Width > 131072 || about->Height > 65536 || about->Depth > 16384)
        return false;
    if (about->Depth && !about->Height && !layered)
        return false;
    if (layered && !about->Depth)
        return false;
    return !cube || (about->Width == about->Height && about->Depth && about->Depth % 6 == 0 &&
                     (layered || about->Depth == 6));
}

static CUresult describe(CUarray array, const CUDA_ARRAY3D_DESCRIPTOR *about)
{
    struct texture_image *image = &array->image;
    bool layered = about->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    unsigned bytes;

    if (!is_shape(about) || (about->NumChannels != 1 && about->NumChannels != 2 && about->NumChannels != 4) ||
        !array_format(about->Format, &image->format, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    array->about = *about;
    array->element = bytes * about->NumChannels;
    image->channels = about->NumChannels;
    image->width = (uint32_t)about->Width;
    image->height = (uint32_t)about->Height;
    image->depth = layered ? 0 : (uint32_t)about->Depth;
    image->layers = layered ? (uint32_t)about->Depth : 0;
    image->row_pitch =
        ((uint64_t)about->Width * array->element + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
    image->slice_pitch = image->row_pitch * (about->Height ? about->Height : 1);
    return CUDA_SUCCESS;
}

CUresult array_new(const CUDA_ARRAY3D_DESCRIPTOR *about, CUarray *ret_array)
{
    CUarray array = calloc(1, sizeof *array);
    CUresult code = array ? describe(array, about) : CUDA_ERROR_OUT_OF_MEMORY;
    struct memory_block block = {.kind = MEMORY_ARRAY};

    if (code == CUDA_SUCCESS) {
        array->context = context_of_thread();
        block.size = array->image.slice_pitch * (about->Depth ? about->Depth : 1);
        block.device = array->context->work.device;
        block.context = array->context;
        if (memory_allocate(&block, ARRAY_ALIGNMENT) != 0)
            code = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (code == CUDA_SUCCESS && !handle_put(array, HANDLE_ARRAY, array->context)) {
        (void)memory_remove(block.address, 1u << MEMORY_ARRAY, &block);
        code = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (code != CUDA_SUCCESS) {
        free(array);
        return code;
    }
    array->image.address = block.address;
    *ret_array = array;
    return CUDA_SUCCESS;
}

void array_free(CUarray array)
{
    struct memory_block block;

    handle_remove(array, HANDLE_ARRAY);
    (void)memory_remove(array->image.address, 1u << MEMORY_ARRAY, &block);
    free(array);
}

void array_end_all(CUcontext context)
{
    CUarray array;

    mipmap_end_all(context);
    while ((array = handle_take(context, HANDLE_ARRAY)))
        array_free(array);
}

/* --- calls --- */

DRIVER_EXPORT CUresult cuArray3DCreate_v2(CUarray *ret_array, const CUDA_ARRAY3D_DESCRIPTOR *about)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    return ret_array && about ? array_new(about, ret_array) : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuArrayCreate_v2(CUarray *ret_array, const CUDA_ARRAY_DESCRIPTOR *about)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    CUDA_ARRAY3D_DESCRIPTOR full;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_array || !about)
        return CUDA_ERROR_INVALID_VALUE;
    full = (CUDA_ARRAY3D_DESCRIPTOR){.Width = about->Width,
                                     .Height = about->Height,
                                     .Format = about->Format,
                                     .NumChannels = about->NumChannels};
    return array_new(&full, ret_array);
}

DRIVER_EXPORT CUresult cuArrayDestroy(CUarray array)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!array_is(array) || array->mipmap)
        return CUDA_ERROR_INVALID_HANDLE;
    (void)work_wait_context(&array->context->work);
    array_free(array);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *ret_about, CUarray array)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!array_is(array))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ret_about)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_about = array->about;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *ret_about, CUarray array)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!array_is(array))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ret_about)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_about = (CUDA_ARRAY_DESCRIPTOR){array->about.Width, array->about.Height, array->about.Format,
                                         array->about.NumChannels};
    return CUDA_SUCCESS;
}
