/* Texels in memory, for textures and surfaces. */
#ifndef CUDA_CPU_TEXEL_H
#define CUDA_CPU_TEXEL_H

#include "cuda_cpu/launch.h"

struct texel {
    bool is_float; /* f holds it; u otherwise */
    float f[4];
    uint32_t u[4];
};

unsigned texel_bytes(const struct texture_image *image);
/* Do texels read as floating-point numbers? */
bool texel_is_float(const struct texture_image *image, bool reads_as_float);
/* slice: third dimension, or layer. The place is within the image. */
void texel_read(const struct texture_image *image, uint64_t x, uint64_t y, uint64_t slice,
                bool reads_as_float, bool is_srgb, struct texel *ret_texel);
void texel_border(const struct texture *texture, const struct texture_image *image, struct texel *ret_texel);

#endif
