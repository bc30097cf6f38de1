/* Surfaces by object: bytes of an image at a place, and queries. */
#include "cuda_cpu/exec/exec.h"
#include "cuda_cpu/exec/texel.h"

#include <string.h>

/*
 * The bytes at the place; NULL: outside, and the access is ignored. The first coordinate counts
 * bytes.
 */
static unsigned char *locate(struct device_thread *t, const struct device_surface_call *call,
                             const struct texture_image *image)
{
    bool is_layered = call->geometry >= 3;
    unsigned dimensions = is_layered ? call->geometry - 2 : call->geometry + 1;
    int64_t row = (int64_t)image->width * texel_bytes(image);
    int64_t bytes = (int64_t)call->bytes * call->n;
    int64_t limit[3] = {row - bytes, (image->height ? image->height : 1) - 1, 0};
    int64_t at[3] = {0, 0, 0};

    for (unsigned i = 0; i < dimensions; i++)
        at[i] = (int32_t)call->coordinates[i + is_layered];
    if (is_layered)
        at[2] = (int32_t)call->coordinates[0];
    limit[2] = image->layers ? (int64_t)image->layers - 1 : (image->depth ? (int64_t)image->depth : 1) - 1;
    for (unsigned i = 0; i < 3; i++) {
        if (at[i] >= 0 && at[i] <= limit[i])
            continue;
        if (call->outside == 0)
            exec_fail(t, CPU_ILLEGAL_ADDRESS, call->object, call->line,
                      "a surface access outside of its image (line %u of the PTX)", call->line);
        if (call->outside == 2 || limit[i] < 0)
            return NULL;
        at[i] = at[i] < 0 ? 0 : limit[i];
    }
    if (at[0] % (call->bytes * call->n))
        exec_fail(t, CPU_MISALIGNED, call->object, call->line, "a surface access at byte %lld of a row",
                  (long long)at[0]);
    return (unsigned char *)(uintptr_t)(image->address + (uint64_t)at[2] * image->slice_pitch +
                                        (uint64_t)at[1] * image->row_pitch + (uint64_t)at[0]);
}

static uint64_t reduced(const struct device_surface_call *call, uint64_t a, uint64_t b)
{
    int64_t sa = call->bytes == 4 ? (int32_t)a : (int64_t)a;
    int64_t sb = call->bytes == 4 ? (int32_t)b : (int64_t)b;
    bool is_less = call->is_signed ? sa < sb : a < b;

    switch (call->operation) {
    case 0:
        return a + b;
    case 1:
        return is_less ? a : b;
    case 2:
        return is_less ? b : a;
    case 3:
        return a & b;
    default:
        return a | b;
    }
}

EXEC_PLAIN void exec_surface(struct device_thread *t, struct device_surface_call *call)
{
    const struct launch_calls *calls = &exec_worker(t)->launch->calls;
    const struct surface *surface;
    unsigned char *bytes;

    exec_enter_library(t);
    surface = calls->surface ? calls->surface(calls->context, call->object) : NULL;
    if (!surface)
        exec_fail(t, CPU_ILLEGAL_INSTRUCTION, call->object, call->line,
                  "0x%llx is no surface object (line %u of the PTX)", (unsigned long long)call->object,
                  call->line);
    bytes = locate(t, call, &surface->image);
    exec_leave_library(t); /* if the memory of the image has been freed, the fault is the kernel's */
    for (uint32_t i = 0; i < call->n && i < 4; i++) {
        uint64_t word = 0;

        if (!bytes) {
            call->data[i] = 0;
            continue;
        }
        if (call->kind == 0) {
            memcpy(&word, bytes + (size_t)i * call->bytes, call->bytes);
            call->data[i] = word;
        } else if (call->kind == 1) {
            memcpy(bytes + (size_t)i * call->bytes, &call->data[i], call->bytes);
        } else {
            memcpy(&word, bytes, call->bytes);
            word = reduced(call, word, call->data[0]);
            memcpy(bytes, &word, call->bytes);
        }
    }
}

/* channel_data_type and channel_order: the numbers that OpenCL gives them. */
static uint32_t channel_type(const struct texture *texture, const struct texture_image *image)
{
    static const uint32_t integer[] = {0x10da, 0x10db, 0x10dc, 0x10d7, 0x10d8, 0x10d9, 0x10dd, 0x10de};
    static const uint32_t fraction[] = {0x10d2, 0x10d3, 0x10dc, 0x10d0, 0x10d1, 0x10d9, 0x10dd, 0x10de};

    return texture && texture->reads_as_float ? fraction[image->format] : integer[image->format];
}

EXEC_PLAIN uint32_t exec_query(struct device_thread *t, uint64_t object, uint32_t what, uint32_t is_surface,
                               uint32_t line)
{
    const struct launch_calls *calls = &exec_worker(t)->launch->calls;
    const struct texture *texture = NULL;
    const struct surface *surface = NULL;
    const struct texture_image *image = NULL;
    uint32_t answer = 0;

    exec_enter_library(t);
    if (is_surface)
        surface = calls->surface ? calls->surface(calls->context, object) : NULL;
    else
        texture = calls->texture ? calls->texture(calls->context, object) : NULL;
    image = surface ? &surface->image : texture ? &texture->levels[0] : NULL;
    if (!image)
        exec_fail(t, CPU_ILLEGAL_INSTRUCTION, object, line, "0x%llx is no %s object (line %u of the PTX)",
                  (unsigned long long)object, is_surface ? "surface" : "texture", line);
    switch (what) {
    case 0:
        answer = image->width;
        break;
    case 1:
        answer = image->height;
        break;
    case 2:
        answer = image->depth;
        break;
    case 3:
        answer = channel_type(texture, image);
        break;
    case 4:
        answer = image->channels == 1 ? 0x10b0 : image->channels == 2 ? 0x10b2 : 0x10b5;
        break;
    case 5:
        answer = texture && texture->is_normalized;
        break;
    case 6:
        answer = texture ? texture->n_levels : 1;
        break;
    case 7:
        answer = 1;
        break;
    default:
        answer = image->layers;
        break;
    }
    exec_leave_library(t);
    return answer;
}
