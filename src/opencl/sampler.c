/*
 * Samplers in arguments. A program may release a sampler once the launch is enqueued, so a launch
 * that is kept for later keeps its samplers alive. If the bytes of an argument happen to be a
 * sampler's handle, one sampler too many is kept for a while, which is harmless.
 */
#include <stdlib.h>
#include <string.h>

#include "opencl/entry.h"
#include "opencl/layer.h"
#include "opencl/opencl_objects.h"

static void free_sampler(struct object *object)
{
    struct sampler_record *sampler = (struct sampler_record *)(void *)object;

    if (sampler->handle)
        front.target.clReleaseSampler(sampler->handle);
    free(sampler);
}

static const struct object_class sampler_class = {.free = free_sampler};

void sampler_unref(struct sampler_record *sampler)
{
    object_unref(&sampler->object);
}

static cl_sampler note(cl_sampler handle)
{
    struct sampler_record *record = handle && !runtime_off() ? malloc(sizeof *record) : NULL;

    if (!record)
        return handle;
    object_init(&record->object, &sampler_class);
    record->handle = handle;
    if (!handle_table_put(&front.samplers, handle, record))
        free(record);
    return handle;
}

struct sampler_record *sampler_in(const void *bytes, size_t size)
{
    cl_sampler handle;

    if (size != sizeof handle)
        return NULL;
    memcpy(&handle, bytes, sizeof handle);
    return handle_table_find(&front.samplers, handle);
}

CL_API_ENTRY cl_sampler CL_API_CALL entry_clCreateSampler(cl_context context, cl_bool normalized,
                                                          cl_addressing_mode addressing,
                                                          cl_filter_mode filter, cl_int *ret_code)
{
    return note(front.target.clCreateSampler(context, normalized, addressing, filter, ret_code));
}

CL_API_ENTRY cl_sampler CL_API_CALL entry_clCreateSamplerWithProperties(
    cl_context context, const cl_sampler_properties *properties, cl_int *ret_code)
{
    return note(front.target.clCreateSamplerWithProperties(context, properties, ret_code));
}

CL_API_ENTRY cl_int CL_API_CALL entry_clRetainSampler(cl_sampler handle)
{
    if (!runtime_off())
        object_app_retain(&front.samplers, handle);
    return front.target.clRetainSampler(handle);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clReleaseSampler(cl_sampler handle)
{
    struct sampler_record *sampler = runtime_off() ? NULL : handle_table_find(&front.samplers, handle);
    cl_int code = CL_SUCCESS;
    bool last;

    if (!sampler)
        return front.target.clReleaseSampler(handle);
    last = object_app_release(&front.samplers, handle) == OBJECT_LAST;
    if (!last || refs_count(&sampler->object.refs) == 1) { /* else a launch that is kept still has it */
        code = front.target.clReleaseSampler(handle);
        if (last)
            sampler->handle = NULL;
    }
    sampler_unref(sampler);
    return code;
}
