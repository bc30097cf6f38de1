#include "opencl/graph/chunk.h"

#include "engine/policy.h"
#include "opencl/graph/opencl_issue.h"
#include "opencl/graph/kinds.h"
#include "opencl/layer.h"
#include "opencl/opencl_objects.h"

/* --- sizes --- */

size_t chunk_bytes_linear(const struct opencl_command *command)
{
    return command->u.transfer.size;
}

size_t chunk_bytes_svm(const struct opencl_command *command)
{
    return command->u.svm.size;
}

size_t chunk_bytes_rect(const struct opencl_command *command)
{
    const size_t *region = command->u.transfer.region;

    return region[0] * region[1] * region[2];
}

static size_t pixels(cl_mem image, const size_t region[3])
{
    size_t element = 1;

    front.target.clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof element, &element, NULL);
    return element * region[0] * region[1] * region[2];
}

size_t chunk_bytes_from_image(const struct opencl_command *command)
{
    return pixels(command->u.transfer.a, command->u.transfer.region);
}

size_t chunk_bytes_to_image(const struct opencl_command *command)
{
    return pixels(command->u.transfer.b, command->u.transfer.region);
}

/*
 * An array of one-dimensional images on the host, with a pitch for its slices. Each slice is one
 * row, so the pitch of slices should separate them, but some drivers use the pitch of rows. Such a
 * copy runs whole.
 */
static bool pitch_is_doubtful(const struct opencl_command *command)
{
    cl_mem_object_type type = 0;

    if (kind_of(command)->chunk != chunk_box_host || !command->u.transfer.slice)
        return false;
    front.target.clGetMemObjectInfo(command->u.transfer.a, CL_MEM_TYPE, sizeof type, &type, NULL);
    return type == CL_MEM_OBJECT_IMAGE1D_ARRAY;
}

size_t chunk_size(const struct opencl_command *command)
{
    if (!command->base.policy.chunking || pitch_is_doubtful(command))
        return SIZE_MAX;
    return command_chunk_bytes(&command->base);
}

/* --- cuts --- */

/* Units are whole elements of a pattern. */
static uint64_t plan_bytes(struct chunk_cut *cut, size_t bytes, size_t chunk, size_t pattern)
{
    cut->base.step = chunk / pattern ? chunk / pattern * pattern : pattern;
    cut->base.unit_items = 1;
    return bytes;
}

uint64_t chunk_plan_linear(struct chunk_cut *cut, size_t bytes, size_t chunk)
{
    return plan_bytes(cut, bytes, chunk, 1);
}

uint64_t chunk_plan_fill(struct chunk_cut *cut, size_t bytes, size_t chunk)
{
    return plan_bytes(cut, bytes, chunk, cut->request.u.transfer.pattern_size);
}

uint64_t chunk_plan_svm_fill(struct chunk_cut *cut, size_t bytes, size_t chunk)
{
    return plan_bytes(cut, bytes, chunk, cut->request.u.svm.pattern_size);
}

/*
 * Pitches that were left to the driver depend on the region, and a piece has another region than
 * the whole.
 */
static void fix_pitches(struct command_transfer *t, size_t width)
{
    t->row = t->row ? t->row : width;
    t->slice = t->slice ? t->slice : t->row * t->region[1];
    t->row_b = t->row_b ? t->row_b : width;
    t->slice_b = t->slice_b ? t->slice_b : t->row_b * t->region[1];
}

uint64_t chunk_plan_box(struct chunk_cut *cut, size_t bytes, size_t chunk)
{
    const size_t *region = cut->request.u.transfer.region;
    size_t row;

    cut->rows = region[1];
    cut->element = bytes / (region[0] * region[1] * region[2]);
    row = cut->element * region[0];
    fix_pitches(&cut->request.u.transfer, row);
    cut->base.step = chunk / row ? chunk / row : 1;
    cut->base.unit_items = row;
    return (uint64_t)region[1] * region[2];
}

/* --- chunks --- */

CHUNK(linear)
{
    struct command_transfer *t = &ret_chunk->u.transfer;

    *ret_chunk = cut->request;
    t->offset += begin;
    t->offset_b += begin;
    t->size = end - begin;
    if (t->host)
        t->host = (char *)t->host + begin;
}

CHUNK(svm_fill)
{
    *ret_chunk = cut->request;
    ret_chunk->u.svm.to = (char *)ret_chunk->u.svm.to + begin;
    ret_chunk->u.svm.size = end - begin;
}

CHUNK(svm_memcpy)
{
    chunk_svm_fill(cut, begin, end, ret_chunk);
    ret_chunk->u.svm.from = (const char *)ret_chunk->u.svm.from + begin;
}

/* Rows [begin, end), all of one slice. */
CHUNK(box_fill)
{
    struct command_transfer *t = &ret_chunk->u.transfer;

    *ret_chunk = cut->request;
    t->region[1] = end - begin;
    t->region[2] = 1;
    t->origin[1] += begin % cut->rows;
    t->origin[2] += begin / cut->rows;
}

CHUNK(box_both)
{
    struct command_transfer *t = &ret_chunk->u.transfer;

    chunk_box_fill(cut, begin, end, ret_chunk);
    t->origin_b[1] += begin % cut->rows;
    t->origin_b[2] += begin / cut->rows;
}

CHUNK(box_host)
{
    struct command_transfer *t = &ret_chunk->u.transfer;

    chunk_box_fill(cut, begin, end, ret_chunk);
    t->host = (char *)t->host + begin / cut->rows * t->slice + begin % cut->rows * t->row;
    t->slice = 0; /* the chunk is within one slice, and an image without slices has no slice pitch */
}

CHUNK(box_bytes)
{
    chunk_box_fill(cut, begin, end, ret_chunk);
    ret_chunk->u.transfer.offset += begin * cut->base.unit_items;
}

/* --- giving them to the driver --- */

static cl_int issue_chunks(struct piece_pipe *pipe, struct opencl_command *command, size_t chunk)
{
    struct chunk_cut cut = {.base = {.counter = COUNTER_CHUNKS, .to_the_end = true},
                            .request = {.kind = command->kind,
                                        .type = command->type,
                                        .queue = command->queue,
                                        .context = command->context,
                                        .u = command->u}};
    uint64_t n = kind_of(command)->plan_chunks(&cut, command->base.bytes, chunk);

    return pipe_run(pipe, &cut.base, (struct piece_source){.end = n});
}

cl_int chunk_issue_range(struct opencl_command *command, struct piece_cut *base, uint64_t begin,
                         uint64_t limit, uint64_t *ret_end, cl_event *ret_event)
{
    const struct chunk_cut *cut = (const struct chunk_cut *)(const void *)base;
    uint64_t slice = cut->rows ? (begin / cut->rows + 1) * cut->rows : limit;
    struct opencl_command chunk;

    limit = limit < slice ? limit : slice;
    kind_of(command)->chunk(cut, begin, limit, &chunk);
    *ret_end = limit;
    return issue_whole(&chunk, CL_FALSE, 0, NULL, ret_event);
}

cl_int chunk_issue(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event)
{
    size_t bytes = command->base.bytes;
    size_t chunk = bytes ? chunk_size(command) : SIZE_MAX;

    if (bytes)
        policy_count(&command->base.policy, COUNTER_COPIES, 1);
    return bytes > chunk ? issue_chunks(pipe, command, chunk)
                         : issue_whole(command, CL_FALSE, 0, NULL, ret_event);
}
