#include "opencl/spread/spread_image.h"

#include <stdlib.h>

#include "base/clock.h"
#include "opencl/graph/opencl_issue.h"
#include "opencl/layer.h"

static bool is_array(cl_mem_object_type type)
{
    return type == CL_MEM_OBJECT_IMAGE1D_ARRAY || type == CL_MEM_OBJECT_IMAGE2D_ARRAY;
}

/* False: the driver does not say, or the image depends on another object. */
static bool ask(cl_mem handle, struct spread_image *image)
{
    cl_image_desc *desc = &image->desc;
    cl_mem parent = NULL;

    if (front.target.clGetMemObjectInfo(handle, CL_MEM_TYPE, sizeof desc->image_type, &desc->image_type,
                                        NULL) ||
        front.target.clGetMemObjectInfo(handle, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof parent, &parent, NULL) ||
        front.target.clGetImageInfo(handle, CL_IMAGE_FORMAT, sizeof image->format, &image->format, NULL) ||
        front.target.clGetImageInfo(handle, CL_IMAGE_ELEMENT_SIZE, sizeof image->pixel, &image->pixel,
                                    NULL) ||
        front.target.clGetImageInfo(handle, CL_IMAGE_WIDTH, sizeof(size_t), &desc->image_width, NULL) ||
        front.target.clGetImageInfo(handle, CL_IMAGE_HEIGHT, sizeof(size_t), &desc->image_height, NULL) ||
        front.target.clGetImageInfo(handle, CL_IMAGE_DEPTH, sizeof(size_t), &desc->image_depth, NULL))
        return false;
    if (is_array(desc->image_type) && front.target.clGetImageInfo(handle, CL_IMAGE_ARRAY_SIZE, sizeof(size_t),
                                                                  &desc->image_array_size, NULL))
        return false;
    (void)front.target.clGetImageInfo(handle, CL_IMAGE_NUM_MIP_LEVELS, sizeof(cl_uint), &desc->num_mip_levels,
                                      NULL);
    (void)front.target.clGetImageInfo(handle, CL_IMAGE_NUM_SAMPLES, sizeof(cl_uint), &desc->num_samples,
                                      NULL);
    return !parent && desc->image_type != CL_MEM_OBJECT_IMAGE1D_BUFFER && desc->num_mip_levels <= 1 &&
           desc->num_samples <= 1;
}

static void measure(struct spread_image *image)
{
    const cl_image_desc *desc = &image->desc;
    size_t layers = is_array(desc->image_type) ? desc->image_array_size : 1;

    image->region[0] = desc->image_width;
    image->region[1] = desc->image_type == CL_MEM_OBJECT_IMAGE1D_ARRAY ? layers
                       : desc->image_type == CL_MEM_OBJECT_IMAGE1D     ? 1
                                                                       : desc->image_height;
    image->region[2] = desc->image_type == CL_MEM_OBJECT_IMAGE2D_ARRAY ? layers
                       : desc->image_type == CL_MEM_OBJECT_IMAGE3D     ? desc->image_depth
                                                                       : 1;
    image->bytes = image->region[0] * image->region[1] * image->region[2] * image->pixel;
}

struct spread_image *image_describe(cl_mem handle)
{
    struct spread_image *image = calloc(1, sizeof *image);

    if (!image)
        return NULL;
    if (ask(handle, image))
        measure(image);
    if (image->bytes == 0 || (image->pixel & (image->pixel - 1)) != 0) {
        free(image);
        return NULL;
    }
    return image;
}

cl_mem image_create(const struct spread_image *image, cl_context context, cl_mem_flags flags,
                    cl_int *ret_code)
{
    return front.target.clCreateImage(
        context,
        flags & (CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY | CL_MEM_KERNEL_READ_AND_WRITE),
        &image->format, &image->desc, NULL, ret_code);
}

cl_int image_transfer(const struct spread_image *image, const struct queue_record *queue, cl_mem mem,
                      bool out, unsigned char *memory, size_t chunk)
{
    enum engine_kind kind = out ? ENGINE_COPY_OUT : ENGINE_COPY_IN;
    struct device_engine *engine = engine_device_for(&queue->device->base, kind);
    size_t row = image->region[0] * image->pixel, rows = image->region[1] * image->region[2];
    size_t most = chunk / row > 0 ? chunk / row : 1;
    cl_int code = CL_SUCCESS;

    for (size_t at = 0, n; at < rows && code == CL_SUCCESS; at += n) {
        size_t origin[3] = {0, at % image->region[1], at / image->region[1]}, region[3];
        struct issue_blocking call;
        baton_nsec begin_at;

        n = image->region[1] - origin[1] < most ? image->region[1] - origin[1] : most;
        region[0] = image->region[0];
        region[1] = n;
        region[2] = 1;
        engine_enter_alone(engine);
        begin_at = clock_now();
        issue_blocking_begin(&call, queue, CL_TRUE, NULL);
        code = out ? front.target.clEnqueueReadImage(queue->handle, mem, call.blocking, origin, region, row,
                                                     0, memory + at * row, 0, NULL, call.event)
                   : front.target.clEnqueueWriteImage(queue->handle, mem, call.blocking, origin, region, row,
                                                      0, memory + at * row, 0, NULL, call.event);
        code = issue_blocking_end(&call, queue, code);
        engine_report(engine_of_kind(engine, kind), begin_at, clock_now(), NULL);
        engine_exit(engine, kind, ENGINE_ALONE);
    }
    return code;
}

cl_sampler image_sampler(cl_sampler sampler, cl_context context)
{
    cl_addressing_mode addressing;
    cl_filter_mode filter;
    cl_bool normalized;
    cl_int code;

    if (front.target.clGetSamplerInfo(sampler, CL_SAMPLER_NORMALIZED_COORDS, sizeof normalized, &normalized,
                                      NULL) ||
        front.target.clGetSamplerInfo(sampler, CL_SAMPLER_ADDRESSING_MODE, sizeof addressing, &addressing,
                                      NULL) ||
        front.target.clGetSamplerInfo(sampler, CL_SAMPLER_FILTER_MODE, sizeof filter, &filter, NULL))
        return NULL;
    return front.target.clCreateSampler(context, normalized, addressing, filter, &code);
}
