/* Images: read, write, copy, fill, and copies from and to buffers. */
#include "opencl/enqueue/enqueue.h"

#define FORWARD(name, ...) front.target.name(__VA_ARGS__, n, waits, event)

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueReadImage(cl_command_queue handle, cl_mem image,
                                                         cl_bool blocking, const size_t *origin,
                                                         const size_t *region, size_t row, size_t slice,
                                                         void *host, cl_uint n, const cl_event *waits,
                                                         cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_READ_IMAGE,
                                   .u.transfer = {.a = image, .host = host, .row = row, .slice = slice}};

    ENQUEUE_BEGIN(handle,
                  FORWARD(clEnqueueReadImage, handle, image, blocking, origin, region, row, slice, host));
    ENQUEUE_REQUIRE(origin && region, CL_INVALID_VALUE,
                    FORWARD(clEnqueueReadImage, handle, image, blocking, origin, region, row, slice, host));
    enqueue_copy3(draft.u.transfer.origin, origin);
    enqueue_copy3(draft.u.transfer.region, region);
    draft.queue = queue;
    return enqueue_end(&draft, blocking, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueWriteImage(cl_command_queue handle, cl_mem image,
                                                          cl_bool blocking, const size_t *origin,
                                                          const size_t *region, size_t row, size_t slice,
                                                          const void *host, cl_uint n, const cl_event *waits,
                                                          cl_event *event)
{
    struct opencl_command draft = {
        .kind = COMMAND_WRITE_IMAGE,
        .u.transfer = {.a = image, .host = (void *)(uintptr_t)host, .row = row, .slice = slice}};

    ENQUEUE_BEGIN(handle,
                  FORWARD(clEnqueueWriteImage, handle, image, blocking, origin, region, row, slice, host));
    ENQUEUE_REQUIRE(origin && region, CL_INVALID_VALUE,
                    FORWARD(clEnqueueWriteImage, handle, image, blocking, origin, region, row, slice, host));
    enqueue_copy3(draft.u.transfer.origin, origin);
    enqueue_copy3(draft.u.transfer.region, region);
    draft.queue = queue;
    return enqueue_end(&draft, blocking, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueCopyImage(cl_command_queue handle, cl_mem from, cl_mem to,
                                                         const size_t *from_origin, const size_t *to_origin,
                                                         const size_t *region, cl_uint n,
                                                         const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_COPY_IMAGE, .u.transfer = {.a = from, .b = to}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueCopyImage, handle, from, to, from_origin, to_origin, region));
    ENQUEUE_REQUIRE(from_origin && to_origin && region, CL_INVALID_VALUE,
                    FORWARD(clEnqueueCopyImage, handle, from, to, from_origin, to_origin, region));
    enqueue_copy3(draft.u.transfer.origin, from_origin);
    enqueue_copy3(draft.u.transfer.origin_b, to_origin);
    enqueue_copy3(draft.u.transfer.region, region);
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueCopyImageToBuffer(cl_command_queue handle, cl_mem from,
                                                                 cl_mem to, const size_t *origin,
                                                                 const size_t *region, size_t offset,
                                                                 cl_uint n, const cl_event *waits,
                                                                 cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_IMAGE_TO_BUFFER,
                                   .u.transfer = {.a = from, .b = to, .offset = offset}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueCopyImageToBuffer, handle, from, to, origin, region, offset));
    ENQUEUE_REQUIRE(origin && region, CL_INVALID_VALUE,
                    FORWARD(clEnqueueCopyImageToBuffer, handle, from, to, origin, region, offset));
    enqueue_copy3(draft.u.transfer.origin, origin);
    enqueue_copy3(draft.u.transfer.region, region);
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueCopyBufferToImage(cl_command_queue handle, cl_mem from,
                                                                 cl_mem to, size_t offset,
                                                                 const size_t *origin, const size_t *region,
                                                                 cl_uint n, const cl_event *waits,
                                                                 cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_BUFFER_TO_IMAGE,
                                   .u.transfer = {.a = from, .b = to, .offset = offset}};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueCopyBufferToImage, handle, from, to, offset, origin, region));
    ENQUEUE_REQUIRE(origin && region, CL_INVALID_VALUE,
                    FORWARD(clEnqueueCopyBufferToImage, handle, from, to, offset, origin, region));
    enqueue_copy3(draft.u.transfer.origin, origin);
    enqueue_copy3(draft.u.transfer.region, region);
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueFillImage(cl_command_queue handle, cl_mem image,
                                                         const void *color, const size_t *origin,
                                                         const size_t *region, cl_uint n,
                                                         const cl_event *waits, cl_event *event)
{
    enum { COLOR = 4 * sizeof(cl_uint) };
    struct opencl_command draft = {.kind = COMMAND_FILL_IMAGE,
                                   .u.transfer = {.a = image, .pattern_size = COLOR}};
    cl_image_format format = {0, 0};

    ENQUEUE_BEGIN(handle, FORWARD(clEnqueueFillImage, handle, image, color, origin, region));
    ENQUEUE_REQUIRE(color && origin && region, CL_INVALID_VALUE,
                    FORWARD(clEnqueueFillImage, handle, image, color, origin, region));
    /* Four components; a depth image has one. */
    if (image)
        front.target.clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof format, &format, NULL);
    memcpy(draft.u.transfer.pattern, color,
           format.image_channel_order == CL_DEPTH ? sizeof(cl_float) : COLOR);
    enqueue_copy3(draft.u.transfer.origin, origin);
    enqueue_copy3(draft.u.transfer.region, region);
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}
