/* Mipmapped arrays: an array per level, each half as large as the one before. */
#include <stdlib.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/cuda_array.h"
#include "cuda_cpu/driver/handles.h"

enum { MOST_LEVELS = 16 };

struct CUmipmappedArray_st {
    CUarray levels[MOST_LEVELS]; /* owned */
    unsigned n_levels;
};

CUresult mipmap_describe(CUmipmappedArray mipmap, struct texture *ret_texture)
{
    if (!handle_is(mipmap, HANDLE_MIPMAP))
        return CUDA_ERROR_INVALID_HANDLE;
    ret_texture->n_levels = mipmap->n_levels;
    for (unsigned i = 0; i < mipmap->n_levels; i++)
        ret_texture->levels[i] = mipmap->levels[i]->image;
    return CUDA_SUCCESS;
}

static void mipmap_free(CUmipmappedArray mipmap)
{
    for (unsigned i = 0; i < mipmap->n_levels; i++)
        array_free(mipmap->levels[i]);
    free(mipmap);
}

void mipmap_end_all(CUcontext context)
{
    CUmipmappedArray mipmap;

    while ((mipmap = handle_take(context, HANDLE_MIPMAP)))
        mipmap_free(mipmap);
}

static size_t half(size_t extent)
{
    return extent > 1 ? extent / 2 : extent;
}

DRIVER_EXPORT CUresult cuMipmappedArrayCreate(CUmipmappedArray *ret_mipmap,
                                              const CUDA_ARRAY3D_DESCRIPTOR *about, unsigned int n_levels)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    CUDA_ARRAY3D_DESCRIPTOR level;
    CUmipmappedArray mipmap;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_mipmap || !about || !n_levels || n_levels > MOST_LEVELS)
        return CUDA_ERROR_INVALID_VALUE;
    mipmap = calloc(1, sizeof *mipmap);
    if (!mipmap)
        return CUDA_ERROR_OUT_OF_MEMORY;
    level = *about;
    while (code == CUDA_SUCCESS && mipmap->n_levels < n_levels) {
        code = array_new(&level, &mipmap->levels[mipmap->n_levels]);
        if (code == CUDA_SUCCESS)
            mipmap->levels[mipmap->n_levels++]->mipmap = mipmap;
        level.Width = half(level.Width);
        level.Height = half(level.Height);
        level.Depth =
            level.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) ? level.Depth : half(level.Depth);
    }
    if (code == CUDA_SUCCESS && !handle_put(mipmap, HANDLE_MIPMAP, context_of_thread()))
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (code == CUDA_SUCCESS)
        *ret_mipmap = mipmap;
    else
        mipmap_free(mipmap);
    return code;
}

DRIVER_EXPORT CUresult cuMipmappedArrayGetLevel(CUarray *ret_level, CUmipmappedArray mipmap,
                                                unsigned int level)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(mipmap, HANDLE_MIPMAP))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!ret_level || level >= mipmap->n_levels)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_level = mipmap->levels[level];
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmap)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_remove(mipmap, HANDLE_MIPMAP))
        return CUDA_ERROR_INVALID_HANDLE;
    (void)work_wait_context(&mipmap->levels[0]->context->work);
    mipmap_free(mipmap);
    return CUDA_SUCCESS;
}
