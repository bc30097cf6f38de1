/* Textures by object: addressing, point and linear filtering, layers, cubes, levels, gathers. */
#include "cuda_cpu/exec/exec.h"
#include "cuda_cpu/exec/texel.h"

#include <math.h>
#include <string.h>

enum { GEOMETRY_1D, GEOMETRY_2D, GEOMETRY_3D, GEOMETRY_A1D, GEOMETRY_A2D, GEOMETRY_CUBE, GEOMETRY_ACUBE };

/* What remains of a call once layers and faces are resolved: a place in one image. */
struct place {
    const struct texture *texture;
    const struct texture_image *image;
    unsigned dimensions;
    uint32_t layer;
    float at[3];
    bool is_integer;
};

/* The texel index along one axis, or -1: outside, where the border is. */
static int64_t resolve(const struct texture *texture, unsigned axis, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    switch (texture->is_normalized || texture->address[axis] == TEXTURE_BORDER ? texture->address[axis]
                                                                               : TEXTURE_CLAMP) {
    case TEXTURE_WRAP:
        i %= n;
        return i < 0 ? i + n : i;
    case TEXTURE_MIRROR:
        i %= 2 * n;
        i = i < 0 ? i + 2 * n : i;
        return i < n ? i : 2 * n - 1 - i;
    case TEXTURE_BORDER:
        return -1;
    default:
        return i < 0 ? 0 : n - 1;
    }
}

static int64_t extent(const struct texture_image *image, unsigned axis)
{
    uint32_t n = axis == 0 ? image->width : axis == 1 ? image->height : image->depth;

    return n ? n : 1;
}

/* One texel by integer place; the border where an axis is outside. */
static void fetch(const struct place *place, const int64_t index[3], struct texel *ret_texel)
{
    int64_t at[3] = {0, 0, 0};

    for (unsigned axis = 0; axis < place->dimensions; axis++) {
        at[axis] = place->image->is_linear_memory && place->dimensions == 1
                       ? (index[axis] < 0 || index[axis] >= extent(place->image, axis) ? -1 : index[axis])
                       : resolve(place->texture, axis, index[axis], extent(place->image, axis));
        if (at[axis] < 0) {
            texel_border(place->texture, place->image, ret_texel);
            return;
        }
    }
    texel_read(place->image, (uint64_t)at[0], (uint64_t)at[1],
               place->image->layers ? place->layer : (uint64_t)at[2], place->texture->reads_as_float,
               place->texture->is_srgb, ret_texel);
}

/* The coordinate in texels. Large values and NaNs are limited to what an integer holds. */
static float scaled(const struct place *place, unsigned axis)
{
    float x = place->at[axis];

    if (place->texture->is_normalized && !place->is_integer)
        x *= (float)extent(place->image, axis);
    if (!(x > -1e9F))
        x = -1e9F;
    return x < 1e9F ? x : 1e9F;
}

static void sample_point(const struct place *place, struct texel *ret_texel)
{
    int64_t index[3] = {0, 0, 0};

    for (unsigned axis = 0; axis < place->dimensions; axis++)
        index[axis] = (int64_t)floorf(scaled(place, axis));
    fetch(place, index, ret_texel);
}

/* Weights have eight bits of fraction, as the hardware's. */
static void sample_linear(const struct place *place, struct texel *ret_texel)
{
    int64_t low[3] = {0, 0, 0};
    float weight[3] = {0, 0, 0};
    struct texel sum = {.is_float = true};

    for (unsigned axis = 0; axis < place->dimensions; axis++) {
        float x = scaled(place, axis) - 0.5F;

        low[axis] = (int64_t)floorf(x);
        weight[axis] = floorf((x - floorf(x)) * 256 + 0.5F) / 256;
    }
    for (unsigned corner = 0; corner < 1U << place->dimensions; corner++) {
        int64_t index[3];
        struct texel one;
        float w = 1;

        for (unsigned axis = 0; axis < 3; axis++) {
            bool high = corner >> axis & 1;

            index[axis] = low[axis] + high;
            if (axis < place->dimensions)
                w *= high ? weight[axis] : 1 - weight[axis];
        }
        fetch(place, index, &one);
        for (unsigned c = 0; c < 4; c++)
            sum.f[c] += w * one.f[c];
    }
    *ret_texel = sum;
}

static void sample_level(struct place place, uint32_t level, struct texel *ret_texel)
{
    place.image = &place.texture->levels[level];
    if (place.texture->is_linear && !place.is_integer &&
        texel_is_float(place.image, place.texture->reads_as_float))
        sample_linear(&place, ret_texel);
    else
        sample_point(&place, ret_texel);
}

static void sample(const struct place *place, float level, struct texel *ret_texel)
{
    const struct texture *texture = place->texture;
    float last = (float)(texture->n_levels - 1);
    struct texel other;
    float weight;

    level += texture->level_bias;
    level = level < texture->level_low    ? texture->level_low
            : level > texture->level_high ? texture->level_high
                                          : level;
    level = level > 0 ? (level < last ? level : last) : 0;
    if (!texture->is_mip_linear) {
        sample_level(*place, (uint32_t)(level + 0.5F), ret_texel);
        return;
    }
    weight = floorf((level - floorf(level)) * 256 + 0.5F) / 256;
    sample_level(*place, (uint32_t)level, ret_texel);
    if (weight == 0 || !ret_texel->is_float)
        return;
    sample_level(*place, (uint32_t)level + 1, &other);
    for (unsigned c = 0; c < 4; c++)
        ret_texel->f[c] = (1 - weight) * ret_texel->f[c] + weight * other.f[c];
}

/* A direction as a face and a place on it. */
static void face_of(float x, float y, float z, struct place *place)
{
    float ax = fabsf(x);
    float ay = fabsf(y);
    float az = fabsf(z);
    float m;
    float s;
    float u;
    uint32_t face;

    if (ax >= ay && ax >= az) {
        face = x < 0;
        m = ax;
        s = x < 0 ? z : -z;
        u = -y;
    } else if (ay >= az) {
        face = 2 + (y < 0);
        m = ay;
        s = x;
        u = y < 0 ? -z : z;
    } else {
        face = 4 + (z < 0);
        m = az;
        s = z < 0 ? -x : x;
        u = -y;
    }
    place->layer = place->layer * 6 + face;
    place->at[0] = (s / m + 1) / 2;
    place->at[1] = (u / m + 1) / 2;
}

static float coordinate(const struct device_texture_call *call, unsigned i)
{
    float x;

    if (call->has_integer_coordinates)
        return (float)(int32_t)call->coordinates[i];
    memcpy(&x, &call->coordinates[i], sizeof x);
    return x;
}

static void place_call(const struct device_texture_call *call, const struct texture *texture,
                       struct place *ret_place)
{
    static const unsigned dimensions[] = {1, 2, 3, 1, 2, 2, 2};
    bool is_layered =
        call->geometry == GEOMETRY_A1D || call->geometry == GEOMETRY_A2D || call->geometry == GEOMETRY_ACUBE;
    uint32_t last = texture->levels[0].layers ? texture->levels[0].layers - 1 : 0;

    *ret_place = (struct place){.texture = texture,
                                .image = &texture->levels[0],
                                .dimensions = dimensions[call->geometry],
                                .is_integer = call->has_integer_coordinates};
    if (call->geometry == GEOMETRY_ACUBE)
        last /= 6;
    if (is_layered)
        ret_place->layer = call->coordinates[0] < last ? call->coordinates[0] : last;
    if (call->geometry >= GEOMETRY_CUBE) {
        face_of(coordinate(call, is_layered), coordinate(call, is_layered + 1U),
                coordinate(call, is_layered + 2U), ret_place);
        return;
    }
    for (unsigned i = 0; i < ret_place->dimensions; i++)
        ret_place->at[i] = coordinate(call, i + is_layered);
}

/* The level at which one texel is about one step of the gradients. */
static float gradient_level(const struct device_texture_call *call, const struct place *place)
{
    float longest = 0;

    for (unsigned which = 0; which < 2; which++) {
        const float *d = which ? call->dy : call->dx;
        float square = 0;

        for (unsigned i = 0; i < place->dimensions; i++) {
            float texels = d[i] * (place->texture->is_normalized ? (float)extent(place->image, i) : 1);

            square += texels * texels;
        }
        longest = square > longest ? square : longest;
    }
    return longest > 0 ? 0.5F * log2f(longest) : 0;
}

/*
 * One component of the four texels that linear filtering would use, around the square from its
 * lower left.
 */
static void gather(const struct place *place, unsigned component, struct texel *ret_texel)
{
    static const uint8_t order[4][2] = {{0, 1}, {1, 1}, {1, 0}, {0, 0}};
    int64_t x = (int64_t)floorf(scaled(place, 0) - 0.5F);
    int64_t y = (int64_t)floorf(scaled(place, 1) - 0.5F);

    *ret_texel = (struct texel){0};
    for (unsigned i = 0; i < 4; i++) {
        int64_t index[3] = {x + order[i][0], y + order[i][1], 0};
        struct texel one;

        fetch(place, index, &one);
        ret_texel->is_float = one.is_float;
        ret_texel->f[i] = one.f[component];
        ret_texel->u[i] = one.u[component];
    }
}

EXEC_PLAIN void exec_texture(struct device_thread *t, struct device_texture_call *call)
{
    const struct launch_calls *calls = &exec_worker(t)->launch->calls;
    const struct texture *texture;
    struct place place;
    struct texel texel;

    exec_enter_library(t);
    texture = calls->texture ? calls->texture(calls->context, call->object) : NULL;
    if (!texture || !texture->n_levels || texture->n_levels > 16)
        exec_fail(t, CPU_ILLEGAL_INSTRUCTION, call->object, call->line,
                  "0x%llx is no texture object (line %u of the PTX)", (unsigned long long)call->object,
                  call->line);
    exec_leave_library(t); /* if the memory of the image has been freed, the fault is the kernel's */
    place_call(call, texture, &place);
    if (call->kind == 3)
        gather(&place, call->component, &texel);
    else
        sample(&place,
               call->kind == 1   ? call->level
               : call->kind == 2 ? gradient_level(call, &place)
                                 : 0,
               &texel);
    for (unsigned i = 0; i < 4; i++) {
        if (texel.is_float)
            memcpy(&call->texel[i], &texel.f[i], 4);
        else
            call->texel[i] = texel.u[i];
    }
}
