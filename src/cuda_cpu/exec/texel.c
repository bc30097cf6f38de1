#include "cuda_cpu/exec/texel.h"

#include <math.h>
#include <string.h>

static const unsigned sizes[] = {
    [TEXTURE_UNSIGNED_8] = 1, [TEXTURE_UNSIGNED_16] = 2, [TEXTURE_UNSIGNED_32] = 4, [TEXTURE_SIGNED_8] = 1,
    [TEXTURE_SIGNED_16] = 2,  [TEXTURE_SIGNED_32] = 4,   [TEXTURE_HALF] = 2,        [TEXTURE_FLOAT] = 4,
};

unsigned texel_bytes(const struct texture_image *image)
{
    return sizes[image->format] * image->channels;
}

bool texel_is_float(const struct texture_image *image, bool reads_as_float)
{
    return image->format == TEXTURE_HALF || image->format == TEXTURE_FLOAT ||
           (reads_as_float && sizes[image->format] < 4);
}

static float half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    float fraction = (float)(bits & 0x3ff);
    float value = exponent == 0    ? ldexpf(fraction, -24)
                  : exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                                   : ldexpf(fraction + 1024, exponent - 25);

    return bits & 0x8000 ? -value : value;
}

static float linear_of_srgb(float x)
{
    return x <= 0.04045F ? x / 12.92F : powf((x + 0.055F) / 1.055F, 2.4F);
}

/* An 8- or 16-bit integer as a fraction of its largest value. */
static float fraction_of(enum texture_format format, uint32_t bits)
{
    float value;

    switch (format) {
    case TEXTURE_UNSIGNED_8:
        return (float)bits / 255;
    case TEXTURE_UNSIGNED_16:
        return (float)bits / 65535;
    case TEXTURE_SIGNED_8:
        value = (float)(int8_t)bits / 127;
        return value < -1 ? -1 : value;
    default:
        value = (float)(int16_t)bits / 32767;
        return value < -1 ? -1 : value;
    }
}

static void read_channel(const struct texture_image *image, const unsigned char *from, bool reads_as_float,
                         bool is_srgb, unsigned channel, struct texel *texel)
{
    uint32_t bits = 0;

    memcpy(&bits, from, sizes[image->format]);
    if (image->format == TEXTURE_FLOAT)
        memcpy(&texel->f[channel], &bits, sizeof bits);
    else if (image->format == TEXTURE_HALF)
        texel->f[channel] = half_value((uint16_t)bits);
    else if (texel_is_float(image, reads_as_float))
        texel->f[channel] = fraction_of(image->format, bits);
    else if (image->format == TEXTURE_SIGNED_8)
        texel->u[channel] = (uint32_t)(int8_t)bits;
    else if (image->format == TEXTURE_SIGNED_16)
        texel->u[channel] = (uint32_t)(int16_t)bits;
    else
        texel->u[channel] = bits;
    if (is_srgb && image->format == TEXTURE_UNSIGNED_8 && reads_as_float && channel < 3)
        texel->f[channel] = linear_of_srgb(texel->f[channel]);
}

/* Channels that the image does not have are 0, and 1 for the fourth. */
static void absent_channels(unsigned channels, struct texel *texel)
{
    for (unsigned i = channels; i < 4; i++) {
        texel->f[i] = i == 3;
        texel->u[i] = i == 3;
    }
}

void texel_read(const struct texture_image *image, uint64_t x, uint64_t y, uint64_t slice,
                bool reads_as_float, bool is_srgb, struct texel *ret_texel)
{
    uint64_t address =
        image->address + slice * image->slice_pitch + y * image->row_pitch + x * texel_bytes(image);

    *ret_texel = (struct texel){.is_float = texel_is_float(image, reads_as_float)};
    for (unsigned i = 0; i < image->channels && i < 4; i++)
        read_channel(image, (const unsigned char *)(uintptr_t)address + (uint64_t)i * sizes[image->format],
                     reads_as_float, is_srgb, i, ret_texel);
    absent_channels(image->channels, ret_texel);
}

void texel_border(const struct texture *texture, const struct texture_image *image, struct texel *ret_texel)
{
    *ret_texel = (struct texel){.is_float = texel_is_float(image, texture->reads_as_float)};
    for (unsigned i = 0; i < 4 && !image->is_linear_memory; i++) {
        ret_texel->f[i] = texture->border[i];
        ret_texel->u[i] = (uint32_t)texture->border[i];
    }
}
