/* The transfers: every shape is one box copied between two pitched regions. */
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

static void act_box(struct fake_command *command)
{
    const struct box *box = command->data;

    for (size_t z = 0; z < box->slices; z++)
        for (size_t y = 0; y < box->rows; y++) {
            unsigned char *to = box->to + z * box->to_slice + y * box->to_row;
            if (!box->pattern_size)
                memmove(to, box->from + z * box->from_slice + y * box->from_row, box->bytes);
            else
                for (size_t x = 0; x < box->bytes; x += box->pattern_size)
                    memcpy(to + x, box->pattern, box->pattern_size);
        }
}

/* What every enqueue checks first; then the scripted failure. */
cl_int fake_begin(const struct call *call)
{
    cl_int code;

    if (!fake_is(call->queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if ((code = fake_waits_check(call->queue, call->n_waits, call->waits)))
        return code;
    return CL_SUCCESS;
}

cl_int fake_check_mem(const struct call *call, cl_mem mem, bool image)
{
    if (!fake_is(mem, FAKE_MEM) || (mem->type == CL_MEM_OBJECT_BUFFER) == image)
        return CL_INVALID_MEM_OBJECT;
    return mem->context == call->queue->context ? CL_SUCCESS : CL_INVALID_CONTEXT;
}

cl_int fake_submit_box(const struct call *call, const struct box *box, cl_mem a, cl_mem b)
{
    struct fake_command draft = {
        .call = call->name, .act = act_box, .bytes = box->bytes * box->rows * box->slices};
    cl_int code = fake_script_fail(call->name);

    if (code)
        return code;
    draft.data = malloc(sizeof *box);
    memcpy(draft.data, box, sizeof *box);
    if (a)
        draft.mems[draft.n_mems++] = a;
    if (b)
        draft.mems[draft.n_mems++] = b;
    return fake_submit(call->queue, &draft, call->type, call->n_waits, call->waits, call->blocking,
                       call->ret_event);
}

bool fake_outside(cl_mem mem, size_t offset, size_t size)
{
    return offset > mem->size || size > mem->size - offset;
}

/* What the host may not do by the flags that the object was made with. */
bool fake_forbidden(cl_mem mem, bool reads)
{
    return mem->flags & (CL_MEM_HOST_NO_ACCESS | (reads ? CL_MEM_HOST_WRITE_ONLY : CL_MEM_HOST_READ_ONLY));
}

/* Do two boxes share a byte? Row by row: the boxes of tests are small. */
static bool boxes_share(const struct box *box)
{
    for (size_t i = 0; i < box->rows * box->slices; i++)
        for (size_t j = 0; j < box->rows * box->slices; j++) {
            const unsigned char *to = box->to + i / box->rows * box->to_slice + i % box->rows * box->to_row;
            const unsigned char *from =
                box->from + j / box->rows * box->from_slice + j % box->rows * box->from_row;
            if (to < from + box->bytes && from < to + box->bytes)
                return true;
        }
    return false;
}

cl_int fake_copy_box(const struct call *call, const struct box *box, cl_mem from, cl_mem to)
{
    return boxes_share(box) ? CL_MEM_COPY_OVERLAP : fake_submit_box(call, box, from, to);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                                     size_t offset, size_t size, void *ptr, cl_uint n_waits,
                                                     const cl_event *waits, cl_event *ret_event)
{
    struct call call = CALL("ReadBuffer", CL_COMMAND_READ_BUFFER, blocking);
    cl_int code = fake_begin(&call);

    if (code || (code = fake_check_mem(&call, buffer, false)))
        return code;
    if (!ptr || fake_outside(buffer, offset, size))
        return CL_INVALID_VALUE;
    if (fake_forbidden(buffer, true))
        return CL_INVALID_OPERATION;
    return fake_submit_box(
        &call,
        &(struct box){.to = ptr, .from = buffer->bytes + offset, .bytes = size, .rows = 1, .slices = 1},
        buffer, NULL);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
                                                      size_t offset, size_t size, const void *ptr,
                                                      cl_uint n_waits, const cl_event *waits,
                                                      cl_event *ret_event)
{
    struct call call = CALL("WriteBuffer", CL_COMMAND_WRITE_BUFFER, blocking);
    cl_int code = fake_begin(&call);

    if (code || (code = fake_check_mem(&call, buffer, false)))
        return code;
    if (!ptr || fake_outside(buffer, offset, size))
        return CL_INVALID_VALUE;
    if (fake_forbidden(buffer, false))
        return CL_INVALID_OPERATION;
    return fake_submit_box(
        &call,
        &(struct box){.to = buffer->bytes + offset, .from = ptr, .bytes = size, .rows = 1, .slices = 1},
        buffer, NULL);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                                     size_t from_offset, size_t to_offset, size_t size,
                                                     cl_uint n_waits, const cl_event *waits,
                                                     cl_event *ret_event)
{
    struct call call = CALL("CopyBuffer", CL_COMMAND_COPY_BUFFER, CL_FALSE);
    cl_int code = fake_begin(&call);

    if (code || (code = fake_check_mem(&call, from, false)) || (code = fake_check_mem(&call, to, false)))
        return code;
    if (!size || fake_outside(from, from_offset, size) || fake_outside(to, to_offset, size))
        return CL_INVALID_VALUE;
    return fake_copy_box(&call,
                         &(struct box){.to = to->bytes + to_offset,
                                       .from = from->bytes + from_offset,
                                       .bytes = size,
                                       .rows = 1,
                                       .slices = 1},
                         from, to);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueFillBuffer(cl_command_queue queue, cl_mem buffer,
                                                     const void *pattern, size_t pattern_size, size_t offset,
                                                     size_t size, cl_uint n_waits, const cl_event *waits,
                                                     cl_event *ret_event)
{
    struct call call = CALL("FillBuffer", CL_COMMAND_FILL_BUFFER, CL_FALSE);
    struct box box = {.bytes = size, .rows = 1, .slices = 1, .pattern_size = pattern_size};
    cl_int code = fake_begin(&call);

    if (code || (code = fake_check_mem(&call, buffer, false)))
        return code;
    if (!pattern || !pattern_size || pattern_size > 128 || (pattern_size & (pattern_size - 1)) ||
        fake_outside(buffer, offset, size) || offset % pattern_size || size % pattern_size)
        return CL_INVALID_VALUE;
    memcpy(box.pattern, pattern, pattern_size);
    box.to = buffer->bytes + offset;
    return fake_submit_box(&call, &box, buffer, NULL);
}

struct rect {
    size_t row, slice, offset, last; /* pitches; first byte; one past the last byte */
};

static bool rect_make(struct rect *ret_rect, const size_t origin[3], const size_t region[3], size_t row,
                      size_t slice)
{
    ret_rect->row = row ? row : region[0];
    ret_rect->slice = slice ? slice : ret_rect->row * region[1];
    ret_rect->offset = origin[2] * ret_rect->slice + origin[1] * ret_rect->row + origin[0];
    ret_rect->last =
        ret_rect->offset + (region[2] - 1) * ret_rect->slice + (region[1] - 1) * ret_rect->row + region[0];
    return ret_rect->row >= region[0] && ret_rect->slice >= region[1] * ret_rect->row &&
           ret_rect->slice % ret_rect->row == 0;
}

bool fake_empty_region(const size_t region[3])
{
    return !region || !region[0] || !region[1] || !region[2];
}

static cl_int transfer_rect(const struct call *call, cl_mem buffer, bool reading, const size_t *buffer_origin,
                            const size_t *host_origin, const size_t *region, size_t buffer_row,
                            size_t buffer_slice, size_t host_row, size_t host_slice, void *ptr)
{
    struct rect device, host;
    struct box box = {0};
    cl_int code = fake_begin(call);

    if (code || (code = fake_check_mem(call, buffer, false)))
        return code;
    if (!ptr || !buffer_origin || !host_origin || fake_empty_region(region) ||
        !rect_make(&device, buffer_origin, region, buffer_row, buffer_slice) ||
        !rect_make(&host, host_origin, region, host_row, host_slice) || device.last > buffer->size)
        return CL_INVALID_VALUE;
    if (fake_forbidden(buffer, reading))
        return CL_INVALID_OPERATION;
    box.bytes = region[0];
    box.rows = region[1];
    box.slices = region[2];
    box.to = reading ? (unsigned char *)ptr + host.offset : buffer->bytes + device.offset;
    box.from = reading ? buffer->bytes + device.offset : (unsigned char *)ptr + host.offset;
    box.to_row = reading ? host.row : device.row;
    box.to_slice = reading ? host.slice : device.slice;
    box.from_row = reading ? device.row : host.row;
    box.from_slice = reading ? device.slice : host.slice;
    return fake_submit_box(call, &box, buffer, NULL);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueReadBufferRect(
    cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin,
    const size_t *host_origin, const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row,
    size_t host_slice, void *ptr, cl_uint n_waits, const cl_event *waits, cl_event *ret_event)
{
    struct call call = CALL("ReadBufferRect", CL_COMMAND_READ_BUFFER_RECT, blocking);

    return transfer_rect(&call, buffer, true, buffer_origin, host_origin, region, buffer_row, buffer_slice,
                         host_row, host_slice, ptr);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueWriteBufferRect(
    cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t *buffer_origin,
    const size_t *host_origin, const size_t *region, size_t buffer_row, size_t buffer_slice, size_t host_row,
    size_t host_slice, const void *ptr, cl_uint n_waits, const cl_event *waits, cl_event *ret_event)
{
    struct call call = CALL("WriteBufferRect", CL_COMMAND_WRITE_BUFFER_RECT, blocking);

    return transfer_rect(&call, buffer, false, buffer_origin, host_origin, region, buffer_row, buffer_slice,
                         host_row, host_slice, (void *)(uintptr_t)ptr);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueCopyBufferRect(cl_command_queue queue, cl_mem from, cl_mem to,
                                                         const size_t *from_origin, const size_t *to_origin,
                                                         const size_t *region, size_t from_row,
                                                         size_t from_slice, size_t to_row, size_t to_slice,
                                                         cl_uint n_waits, const cl_event *waits,
                                                         cl_event *ret_event)
{
    struct call call = CALL("CopyBufferRect", CL_COMMAND_COPY_BUFFER_RECT, CL_FALSE);
    struct rect source, target;
    cl_int code = fake_begin(&call);

    if (code || (code = fake_check_mem(&call, from, false)) || (code = fake_check_mem(&call, to, false)))
        return code;
    if (!from_origin || !to_origin || fake_empty_region(region) ||
        !rect_make(&source, from_origin, region, from_row, from_slice) ||
        !rect_make(&target, to_origin, region, to_row, to_slice) || source.last > from->size ||
        target.last > to->size)
        return CL_INVALID_VALUE;
    if (from == to && source.row != target.row && source.slice != target.slice)
        return CL_INVALID_VALUE;
    return fake_copy_box(&call,
                         &(struct box){to->bytes + target.offset,
                                       from->bytes + source.offset,
                                       target.row,
                                       target.slice,
                                       source.row,
                                       source.slice,
                                       region[0],
                                       region[1],
                                       region[2],
                                       {0},
                                       0},
                         from, to);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueSVMMemcpy(cl_command_queue queue, cl_bool blocking, void *to,
                                                    const void *from, size_t size, cl_uint n_waits,
                                                    const cl_event *waits, cl_event *ret_event)
{
    struct call call = CALL("SVMMemcpy", CL_COMMAND_SVM_MEMCPY, blocking);
    cl_int code = fake_begin(&call);

    if (code)
        return code;
    if (!to || !from)
        return CL_INVALID_VALUE;
    return fake_copy_box(&call, &(struct box){.to = to, .from = from, .bytes = size, .rows = 1, .slices = 1},
                         NULL, NULL);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueSVMMemFill(cl_command_queue queue, void *to, const void *pattern,
                                                     size_t pattern_size, size_t size, cl_uint n_waits,
                                                     const cl_event *waits, cl_event *ret_event)
{
    struct call call = CALL("SVMMemFill", CL_COMMAND_SVM_MEMFILL, CL_FALSE);
    struct box box = {.to = to, .bytes = size, .rows = 1, .slices = 1, .pattern_size = pattern_size};
    cl_int code = fake_begin(&call);

    if (code)
        return code;
    if (!to || !pattern || !pattern_size || pattern_size > 128 || (pattern_size & (pattern_size - 1)) ||
        size % pattern_size || (uintptr_t)to % pattern_size)
        return CL_INVALID_VALUE;
    memcpy(box.pattern, pattern, pattern_size);
    return fake_submit_box(&call, &box, NULL, NULL);
}
