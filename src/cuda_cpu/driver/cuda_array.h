/* CUDA arrays, and the texture and surface objects that kernels read and write images through. */
#ifndef CUDA_CPU_DRIVER_CUDA_ARRAY_H
#define CUDA_CPU_DRIVER_CUDA_ARRAY_H

#include "cuda_cpu/driver/driver.h"
#include "cuda_cpu/launch.h"

struct CUarray_st {
    CUDA_ARRAY3D_DESCRIPTOR about;
    struct texture_image image; /* where and how the texels lie */
    unsigned element;           /* bytes of a texel */
    CUcontext context;
    CUmipmappedArray mipmap; /* whose level it is; NULL: of its own */
};

/* Is it a live array of the program? */
bool array_is(CUarray array);

/* The device's word for a format, and its bytes per channel; false: not one that textures read. */
bool array_format(CUarray_format format, enum texture_format *ret_format, unsigned *ret_bytes);

/* In the current context; its handle is known. */
CUresult array_new(const CUDA_ARRAY3D_DESCRIPTOR *about, CUarray *ret_array);
void array_free(CUarray array);

/* Everything of a context that ends; its work is done. */
void array_end_all(CUcontext context);
void mipmap_end_all(CUcontext context);
void texture_end_all(CUcontext context);

/* The levels of a mipmapped array. */
CUresult mipmap_describe(CUmipmappedArray mipmap, struct texture *ret_texture);

/* What a kernel's handle stands for; NULL: nothing. Valid until the object is destroyed. */
const struct texture *texture_find(uint64_t handle);
const struct surface *surface_find(uint64_t handle);

#endif
