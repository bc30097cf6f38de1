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
    CUmipmappedArray mipmap; /* the mipmap of which it is a level; NULL: none */
};

/* Is it a live array of the program? */
bool array_is(CUarray array);

/*
 * The device's name for a format, and its bytes per channel; false: textures cannot read the
 * format.
 */
bool array_format(CUarray_format format, enum texture_format *ret_format, unsigned *ret_bytes);

/* Makes an array in the current context and enters its handle. */
CUresult array_new(const CUDA_ARRAY3D_DESCRIPTOR *about, CUarray *ret_array);
void array_free(CUarray array);

/* Frees all arrays of a context that ends, whose work is done. */
void array_end_all(CUcontext context);
void mipmap_end_all(CUcontext context);
void texture_end_all(CUcontext context);

/* The levels of a mipmapped array. */
CUresult mipmap_describe(CUmipmappedArray mipmap, struct texture *ret_texture);

/* The object of a kernel's handle; NULL: none. Valid until the object is destroyed. */
const struct texture *texture_find(uint64_t handle);
const struct surface *surface_find(uint64_t handle);

#endif
