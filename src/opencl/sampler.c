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

static cl_sampler note(cl_sampler handle)
{
    struct sampler_record *record = handle && !runtime_off() ? malloc(sizeof *record) : NULL;

    if (!record)
        return handle;
    record->handle = handle;
    atomic_init(&record->app_refs, 1);
    if (!handle_table_put(&front.samplers, handle, record))
        free(record);
    return handle;
}

cl_sampler sampler_in(const void *bytes, size_t size)
{
    cl_sampler handle;

    if (size != sizeof handle)
        return NULL;
    memcpy(&handle, bytes, sizeof handle);
    return handle && handle_table_find(&front.samplers, handle) ? handle : NULL;
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
    struct sampler_record *record = runtime_off() ? NULL : handle_table_find(&front.samplers, handle);

    if (record) {
        atomic_fetch_add(&record->app_refs, 1);
        front.target.clReleaseSampler(handle); /* the look-up's */
    }
    return front.target.clRetainSampler(handle);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clReleaseSampler(cl_sampler handle)
{
    struct sampler_record *record = runtime_off() ? NULL : handle_table_find(&front.samplers, handle);

    if (record) {
        if (atomic_fetch_sub(&record->app_refs, 1) == 1)
            free(handle_table_remove(&front.samplers, handle));
        front.target.clReleaseSampler(handle); /* the look-up's */
    }
    return front.target.clReleaseSampler(handle);
}
