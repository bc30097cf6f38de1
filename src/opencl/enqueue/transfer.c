/* Buffers: read, write, copy, fill, and their rectangular forms. */
#include "opencl/enqueue/enqueue.h"

#define FORWARD(name, ...) front.target.name(__VA_ARGS__, n, waits, event)

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueReadBuffer(cl_command_queue handle, cl_mem mem,
                                                          cl_bool blocking, size_t offset, size_t size,
                                                          void *host, cl_uint n, const cl_event *waits,
                                                          cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_READ,
                                   .u.transfer = {.a = mem, .offset = offset, .size = size, .host = host}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueReadBuffer, handle, mem, blocking, offset, size, host));
    draft.queue = queue;
    return enqueue_end(&draft, blocking, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueWriteBuffer(cl_command_queue handle, cl_mem mem,
                                                           cl_bool blocking, size_t offset, size_t size,
                                                           const void *host, cl_uint n, const cl_event *waits,
                                                           cl_event *event)
{
    struct opencl_command draft = {
        .kind = COMMAND_WRITE,
        .u.transfer = {.a = mem, .offset = offset, .size = size, .host = (void *)(uintptr_t)host}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueWriteBuffer, handle, mem, blocking, offset, size, host));
    draft.queue = queue;
    return enqueue_end(&draft, blocking, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueCopyBuffer(cl_command_queue handle, cl_mem from, cl_mem to,
                                                          size_t from_offset, size_t to_offset, size_t size,
                                                          cl_uint n, const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {
        .kind = COMMAND_COPY_BUFFER,
        .u.transfer = {.a = from, .b = to, .offset = from_offset, .offset_b = to_offset, .size = size}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueCopyBuffer, handle, from, to, from_offset, to_offset, size));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueFillBuffer(cl_command_queue handle, cl_mem mem,
                                                          const void *pattern, size_t pattern_size,
                                                          size_t offset, size_t size, cl_uint n,
                                                          const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {
        .kind = COMMAND_FILL,
        .u.transfer = {.a = mem, .offset = offset, .size = size, .pattern_size = pattern_size}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueFillBuffer, handle, mem, pattern, pattern_size, offset, size));
    if (mem) /* a NULL buffer is reported first, as drivers do */
        ENQUEUE_REQUIRE(pattern && pattern_size && pattern_size <= sizeof draft.u.transfer.pattern,
                        CL_INVALID_VALUE,
                        FORWARD(clEnqueueFillBuffer, handle, mem, pattern, pattern_size, offset, size));
    if (pattern && pattern_size <= sizeof draft.u.transfer.pattern)
        memcpy(draft.u.transfer.pattern, pattern, pattern_size);
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

static void set_rect(struct command_transfer *t, const size_t *origin, const size_t *other,
                     const size_t *region)
{
    enqueue_copy3(t->origin, origin);
    enqueue_copy3(t->origin_b, other);
    enqueue_copy3(t->region, region);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueReadBufferRect(cl_command_queue handle, cl_mem mem,
                                                              cl_bool blocking, const size_t *origin,
                                                              const size_t *host_origin, const size_t *region,
                                                              size_t row, size_t slice, size_t host_row,
                                                              size_t host_slice, void *host, cl_uint n,
                                                              const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {
        .kind = COMMAND_READ_RECT,
        .u.transfer = {
            .a = mem, .host = host, .row = row, .slice = slice, .row_b = host_row, .slice_b = host_slice}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueReadBufferRect, handle, mem, blocking, origin, host_origin, region,
                                  row, slice, host_row, host_slice, host));
    ENQUEUE_REQUIRE(origin && host_origin && region, CL_INVALID_VALUE,
                    FORWARD(clEnqueueReadBufferRect, handle, mem, blocking, origin, host_origin, region, row,
                            slice, host_row, host_slice, host));
    set_rect(&draft.u.transfer, origin, host_origin, region);
    draft.queue = queue;
    return enqueue_end(&draft, blocking, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueWriteBufferRect(
    cl_command_queue handle, cl_mem mem, cl_bool blocking, const size_t *origin, const size_t *host_origin,
    const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, const void *host,
    cl_uint n, const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_WRITE_RECT,
                                   .u.transfer = {.a = mem,
                                                  .host = (void *)(uintptr_t)host,
                                                  .row = row,
                                                  .slice = slice,
                                                  .row_b = host_row,
                                                  .slice_b = host_slice}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueWriteBufferRect, handle, mem, blocking, origin, host_origin,
                                  region, row, slice, host_row, host_slice, host));
    ENQUEUE_REQUIRE(origin && host_origin && region, CL_INVALID_VALUE,
                    FORWARD(clEnqueueWriteBufferRect, handle, mem, blocking, origin, host_origin, region, row,
                            slice, host_row, host_slice, host));
    set_rect(&draft.u.transfer, origin, host_origin, region);
    draft.queue = queue;
    return enqueue_end(&draft, blocking, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueCopyBufferRect(cl_command_queue handle, cl_mem from, cl_mem to,
                                                              const size_t *from_origin,
                                                              const size_t *to_origin, const size_t *region,
                                                              size_t from_row, size_t from_slice,
                                                              size_t to_row, size_t to_slice, cl_uint n,
                                                              const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {
        .kind = COMMAND_COPY_RECT,
        .u.transfer = {
            .a = from, .b = to, .row = from_row, .slice = from_slice, .row_b = to_row, .slice_b = to_slice}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueCopyBufferRect, handle, from, to, from_origin, to_origin, region,
                                  from_row, from_slice, to_row, to_slice));
    ENQUEUE_REQUIRE(from_origin && to_origin && region, CL_INVALID_VALUE,
                    FORWARD(clEnqueueCopyBufferRect, handle, from, to, from_origin, to_origin, region,
                            from_row, from_slice, to_row, to_slice));
    set_rect(&draft.u.transfer, from_origin, to_origin, region);
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueMigrateMemObjects(cl_command_queue handle, cl_uint n_mems,
                                                                 const cl_mem *list,
                                                                 cl_mem_migration_flags flags, cl_uint n,
                                                                 const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_MIGRATE,
                                   .u.migrate = {.n = n_mems, .mems = list, .flags = flags}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueMigrateMemObjects, handle, n_mems, list, flags));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}
