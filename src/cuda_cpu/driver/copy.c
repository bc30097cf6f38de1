#include "cuda_cpu/driver/copy.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/driver/cuda_array.h"
#include "cuda_cpu/driver/memory.h"

CUDA_MEMCPY3D copy_line(uint64_t to, uint64_t from, size_t size)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = from,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = to,
                           .WidthInBytes = size,
                           .Height = 1,
                           .Depth = 1};
}

/* One side of the description; both sides have the same fields. */
struct copy_end {
    size_t x, y, z;
    CUmemorytype type;
    uint64_t address;
    CUarray array;
    size_t pitch, height;
    bool is_target;
};

static struct copy_end source_of(const CUDA_MEMCPY3D *copy)
{
    return (struct copy_end){copy->srcXInBytes,
                             copy->srcY,
                             copy->srcZ,
                             copy->srcMemoryType,
                             copy->srcMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)copy->srcHost
                                                                       : copy->srcDevice,
                             copy->srcArray,
                             copy->srcPitch,
                             copy->srcHeight,
                             false};
}

static struct copy_end target_of(const CUDA_MEMCPY3D *copy)
{
    return (struct copy_end){copy->dstXInBytes,
                             copy->dstY,
                             copy->dstZ,
                             copy->dstMemoryType,
                             copy->dstMemoryType == CU_MEMORYTYPE_HOST ? (uintptr_t)copy->dstHost
                                                                       : copy->dstDevice,
                             copy->dstArray,
                             copy->dstPitch,
                             copy->dstHeight,
                             true};
}

static bool fits(uint64_t offset, uint64_t n, uint64_t room)
{
    return offset <= room && n <= room - offset;
}

static CUresult place_array(const struct copy_end *side, const CUDA_MEMCPY3D *copy,
                            struct action_place *ret_place)
{
    const struct texture_image *image;
    uint64_t rows, slices;

    if (!array_is(side->array))
        return CUDA_ERROR_INVALID_HANDLE;
    image = &side->array->image;
    rows = image->height ? image->height : 1;
    slices = image->layers ? image->layers : image->depth ? image->depth : 1;
    if (side->x % side->array->element || copy->WidthInBytes % side->array->element ||
        !fits(side->x, copy->WidthInBytes, (uint64_t)image->width * side->array->element) ||
        !fits(side->y, copy->Height, rows) || !fits(side->z, copy->Depth, slices))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_place = (struct action_place){image->address + side->z * image->slice_pitch +
                                           side->y * image->row_pitch + side->x,
                                       image->row_pitch, image->slice_pitch};
    return CUDA_SUCCESS;
}

/* slices * slice + rows * row + bytes, unless it overflows. */
static bool is_within(uint64_t slices, uint64_t slice, uint64_t rows, uint64_t row, uint64_t bytes,
                      uint64_t *ret_offset)
{
    uint64_t part;

    return !__builtin_mul_overflow(slices, slice, ret_offset) && !__builtin_mul_overflow(rows, row, &part) &&
           !__builtin_add_overflow(*ret_offset, part, ret_offset) &&
           !__builtin_add_overflow(*ret_offset, bytes, ret_offset);
}

static CUresult place_memory(const struct copy_end *side, const CUDA_MEMCPY3D *copy,
                             struct action_place *ret_place)
{
    uint64_t pitch = side->pitch, slice, rows, first, last, row;

    if (!side->address || __builtin_add_overflow(side->x, copy->WidthInBytes, &row))
        return CUDA_ERROR_INVALID_VALUE;
    if (copy->Height <= 1 && copy->Depth <= 1 && pitch < row)
        pitch = row;
    if (pitch < row || __builtin_add_overflow(side->y, copy->Height, &rows) ||
        (copy->Depth > 1 && side->height < rows) || __builtin_mul_overflow(pitch, side->height, &slice) ||
        !is_within(side->z, slice, side->y, pitch, side->x, &first) ||
        !is_within(copy->Depth - 1, slice, copy->Height - 1, pitch, copy->WidthInBytes, &last) ||
        __builtin_add_overflow(side->address, first, &first))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_place = (struct action_place){first, pitch, slice};
    return (side->is_target ? memory_takes : memory_covers)(first, last) ? CUDA_SUCCESS
                                                                         : CUDA_ERROR_INVALID_VALUE;
}

static CUresult place(const struct copy_end *side, const CUDA_MEMCPY3D *copy, struct action_place *ret_place)
{
    struct memory_block block;

    switch (side->type) {
    case CU_MEMORYTYPE_ARRAY:
        return place_array(side, copy, ret_place);
    case CU_MEMORYTYPE_DEVICE:
        if (!memory_block_at(side->address, &block) || block.kind == MEMORY_ARRAY)
            return CUDA_ERROR_INVALID_VALUE;
        return place_memory(side, copy, ret_place);
    case CU_MEMORYTYPE_HOST: /* excludes memory that the host cannot reach on a GPU */
        if (memory_block_at(side->address, &block) && memory_is_device_only(&block))
            return CUDA_ERROR_INVALID_VALUE;
        return place_memory(side, copy, ret_place);
    case CU_MEMORYTYPE_UNIFIED:
        return place_memory(side, copy, ret_place);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

enum memory_side { SIDE_PAGEABLE, SIDE_PINNED, SIDE_DEVICE };

static enum memory_side side_of(uint64_t address)
{
    struct memory_block block;

    if (!memory_block_at(address, &block))
        return SIDE_PAGEABLE;
    return block.kind == MEMORY_HOST || block.kind == MEMORY_REGISTERED ? SIDE_PINNED : SIDE_DEVICE;
}

struct action *copy_action(const CUDA_MEMCPY3D *copy, CUresult *ret_code)
{
    struct copy_end from = source_of(copy), to = target_of(copy);
    struct action_copy made = {.width = copy->WidthInBytes, .height = copy->Height, .depth = copy->Depth};
    struct action *action;

    *ret_code = CUDA_SUCCESS;
    if (!copy->WidthInBytes || !copy->Height || !copy->Depth)
        return NULL;
    if (copy->srcLOD || copy->dstLOD)
        *ret_code = CUDA_ERROR_INVALID_VALUE;
    if (*ret_code == CUDA_SUCCESS)
        *ret_code = place(&from, copy, &made.from);
    if (*ret_code == CUDA_SUCCESS)
        *ret_code = place(&to, copy, &made.to);
    if (*ret_code != CUDA_SUCCESS)
        return NULL;
    action = action_new(ACTION_COPY);
    if (!action) {
        *ret_code = CUDA_ERROR_OUT_OF_MEMORY;
        return NULL;
    }
    made.asked = *copy;
    action->u.copy = made;
    if (side_of(made.from.address) == SIDE_DEVICE && side_of(made.to.address) != SIDE_DEVICE)
        action->engine = WORK_COPY_OUT;
    return action;
}

enum { MOST_STAGED = 64 << 10 }; /* bytes; the call waits for longer copies, as drivers do */

/* The program may change pageable memory as soon as the call returns. */
static CUresult stage(struct action_copy *copy)
{
    char *at;

    if (!copy->width || !copy->height || !copy->depth)
        return CUDA_SUCCESS;
    at = copy->height > SIZE_MAX / copy->width / copy->depth
             ? NULL
             : malloc(copy->width * copy->height * copy->depth);
    if (!at)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint64_t z = 0; z < copy->depth; z++)
        for (uint64_t y = 0; y < copy->height; y++)
            memcpy(at + (z * copy->height + y) * copy->width,
                   (const char *)(uintptr_t)(copy->from.address + z * copy->from.slice_pitch +
                                             y * copy->from.row_pitch),
                   copy->width);
    copy->staged = at;
    copy->from = (struct action_place){(uintptr_t)at, copy->width, copy->width * copy->height};
    return CUDA_SUCCESS;
}

CUresult copy_submit(const CUDA_MEMCPY3D *copy, struct stream *stream, bool wait)
{
    CUresult code;
    struct action *action = copy_action(copy, &code);
    bool capturing = stream_is_capturing(stream);

    if (!action)
        return code;
    if (!wait && !capturing) {
        if (side_of(action->u.copy.to.address) == SIDE_PAGEABLE)
            wait = true;
        else if (side_of(action->u.copy.from.address) != SIDE_PAGEABLE)
            wait = false;
        else if (copy->WidthInBytes > MOST_STAGED / copy->Height / copy->Depth)
            wait = true;
        else
            code = stage(&action->u.copy);
    }
    if (code != CUDA_SUCCESS) {
        action_unref(action);
        return code;
    }
    return stream_do(stream, action, wait);
}
