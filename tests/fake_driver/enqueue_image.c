/* The transfers of images. */
#include "transfer.h"

#include <string.h>

static size_t image_offset(cl_mem image, const size_t origin[3])
{
    return origin[0] * image->element + origin[1] * image->row_pitch + origin[2] * image->slice_pitch;
}

static bool outside_image(cl_mem image, const size_t *origin, const size_t *region)
{
    return !origin || fake_empty_region(region) || origin[0] + region[0] > image->desc.image_width ||
           origin[1] + region[1] > image->desc.image_height ||
           origin[2] + region[2] > image->desc.image_depth;
}

/*
 * As strict as OpenCL allows: a slice pitch only where there are slices, and none that lets them
 * overlap.
 */
static bool bad_pitches(cl_mem image, const size_t *region, size_t row, size_t slice)
{
    size_t width = region[0] * image->element;

    if ((row && row < width) ||
        (slice && (image->type == CL_MEM_OBJECT_IMAGE1D || image->type == CL_MEM_OBJECT_IMAGE2D)))
        return true;
    row = row ? row : width;
    return slice && slice < (image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? row : row * region[1]);
}

static cl_int transfer_image(const struct call *call, cl_mem image, bool reading, const size_t *origin,
                             const size_t *region, size_t row, size_t slice, void *ptr)
{
    struct box box = {0};
    cl_int code = fake_begin(call);
    unsigned char *device;

    if (code || (code = fake_check_mem(call, image, true)))
        return code;
    if (!ptr || outside_image(image, origin, region) || bad_pitches(image, region, row, slice))
        return CL_INVALID_VALUE;
    if (fake_forbidden(image, reading))
        return CL_INVALID_OPERATION;
    box.bytes = region[0] * image->element;
    box.rows = region[1];
    box.slices = region[2];
    row = row ? row : box.bytes;
    if (slice && image->type == CL_MEM_OBJECT_IMAGE1D_ARRAY) /* each row is a slice */
        row = slice;
    slice = slice ? slice : row * region[1];
    device = image->bytes + image_offset(image, origin);
    box.to = reading ? ptr : device;
    box.from = reading ? device : ptr;
    box.to_row = reading ? row : image->row_pitch;
    box.to_slice = reading ? slice : image->slice_pitch;
    box.from_row = reading ? image->row_pitch : row;
    box.from_slice = reading ? image->slice_pitch : slice;
    return fake_submit_box(call, &box, image, NULL);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                                    const size_t *origin, const size_t *region, size_t row,
                                                    size_t slice, void *ptr, cl_uint n_waits,
                                                    const cl_event *waits, cl_event *ret_event)
{
    struct call call = CALL("ReadImage", CL_COMMAND_READ_IMAGE, blocking);

    return transfer_image(&call, image, true, origin, region, row, slice, ptr);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueWriteImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
                                                     const size_t *origin, const size_t *region, size_t row,
                                                     size_t slice, const void *ptr, cl_uint n_waits,
                                                     const cl_event *waits, cl_event *ret_event)
{
    struct call call = CALL("WriteImage", CL_COMMAND_WRITE_IMAGE, blocking);

    return transfer_image(&call, image, false, origin, region, row, slice, (void *)(uintptr_t)ptr);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueCopyImage(cl_command_queue queue, cl_mem from, cl_mem to,
                                                    const size_t *from_origin, const size_t *to_origin,
                                                    const size_t *region, cl_uint n_waits,
                                                    const cl_event *waits, cl_event *ret_event)
{
    struct call call = CALL("CopyImage", CL_COMMAND_COPY_IMAGE, CL_FALSE);
    cl_int code = fake_begin(&call);

    if (code || (code = fake_check_mem(&call, from, true)) || (code = fake_check_mem(&call, to, true)))
        return code;
    if (from->element != to->element)
        return CL_IMAGE_FORMAT_MISMATCH;
    if (outside_image(from, from_origin, region) || outside_image(to, to_origin, region))
        return CL_INVALID_VALUE;
    return fake_copy_box(&call,
                         &(struct box){to->bytes + image_offset(to, to_origin),
                                       from->bytes + image_offset(from, from_origin),
                                       to->row_pitch,
                                       to->slice_pitch,
                                       from->row_pitch,
                                       from->slice_pitch,
                                       region[0] * from->element,
                                       region[1],
                                       region[2],
                                       {0},
                                       0},
                         from, to);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueCopyImageToBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                                            const size_t *origin, const size_t *region,
                                                            size_t offset, cl_uint n_waits,
                                                            const cl_event *waits, cl_event *ret_event)
{
    struct call call = CALL("CopyImageToBuffer", CL_COMMAND_COPY_IMAGE_TO_BUFFER, CL_FALSE);
    cl_int code = fake_begin(&call);
    size_t row;

    if (code || (code = fake_check_mem(&call, from, true)) || (code = fake_check_mem(&call, to, false)))
        return code;
    if (outside_image(from, origin, region) ||
        fake_outside(to, offset, region[0] * region[1] * region[2] * from->element))
        return CL_INVALID_VALUE;
    row = region[0] * from->element;
    return fake_submit_box(&call,
                           &(struct box){to->bytes + offset,
                                         from->bytes + image_offset(from, origin),
                                         row,
                                         row * region[1],
                                         from->row_pitch,
                                         from->slice_pitch,
                                         row,
                                         region[1],
                                         region[2],
                                         {0},
                                         0},
                           from, to);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueCopyBufferToImage(cl_command_queue queue, cl_mem from, cl_mem to,
                                                            size_t offset, const size_t *origin,
                                                            const size_t *region, cl_uint n_waits,
                                                            const cl_event *waits, cl_event *ret_event)
{
    struct call call = CALL("CopyBufferToImage", CL_COMMAND_COPY_BUFFER_TO_IMAGE, CL_FALSE);
    cl_int code = fake_begin(&call);
    size_t row;

    if (code || (code = fake_check_mem(&call, from, false)) || (code = fake_check_mem(&call, to, true)))
        return code;
    if (outside_image(to, origin, region) ||
        fake_outside(from, offset, region[0] * region[1] * region[2] * to->element))
        return CL_INVALID_VALUE;
    row = region[0] * to->element;
    return fake_submit_box(&call,
                           &(struct box){to->bytes + image_offset(to, origin),
                                         from->bytes + offset,
                                         to->row_pitch,
                                         to->slice_pitch,
                                         row,
                                         row * region[1],
                                         row,
                                         region[1],
                                         region[2],
                                         {0},
                                         0},
                           from, to);
}

FAKE_API cl_int CL_API_CALL fake_clEnqueueFillImage(cl_command_queue queue, cl_mem image, const void *color,
                                                    const size_t *origin, const size_t *region,
                                                    cl_uint n_waits, const cl_event *waits,
                                                    cl_event *ret_event)
{
    struct call call = CALL("FillImage", CL_COMMAND_FILL_IMAGE, CL_FALSE);
    struct box box = {0};
    cl_int code = fake_begin(&call);

    if (code || (code = fake_check_mem(&call, image, true)))
        return code;
    if (!color || outside_image(image, origin, region))
        return CL_INVALID_VALUE;
    box.pattern_size = image->element;
    if (image->format.image_channel_data_type == CL_UNSIGNED_INT8)
        for (int i = 0; i < 4; i++)
            box.pattern[i] = (unsigned char)((const cl_uint *)color)[i];
    else
        memcpy(box.pattern, color, image->element);
    box.to = image->bytes + image_offset(image, origin);
    box.to_row = image->row_pitch;
    box.to_slice = image->slice_pitch;
    box.bytes = region[0] * image->element;
    box.rows = region[1];
    box.slices = region[2];
    return fake_submit_box(&call, &box, image, NULL);
}
