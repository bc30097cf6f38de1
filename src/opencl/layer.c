#include "opencl/layer.h"

#include <CL/cl_layer.h>

#include "client/join.h"
#include "opencl/entry.h"
#include "opencl/opencl_driver.h"
#include "opencl/opencl_objects.h"
#include "opencl/program/program_record.h"
#include "opencl/spread/spread.h"

struct opencl_front front = {
    .devices_lock = PTHREAD_MUTEX_INITIALIZER,
    .task_type = CL_COMMAND_TASK,
    .builder = {.lock = PTHREAD_MUTEX_INITIALIZER,
                .changed = PTHREAD_COND_INITIALIZER,
                .tail = &front.builder.first,
                .wanted_too = spread_enabled,
                .forget = spread_program_done},
    .mark.once = PTHREAD_ONCE_INIT,
    .widening = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
    .spread = {.lock = PTHREAD_MUTEX_INITIALIZER,
               .changed = PTHREAD_COND_INITIALIZER,
               .landing_lock = PTHREAD_MUTEX_INITIALIZER,
               .landed = PTHREAD_COND_INITIALIZER,
               .buffers_lock = PTHREAD_MUTEX_INITIALIZER,
               .placement.job_place = PLACE_HOME},
};

/* May the program use all devices of the context? */
static bool is_admitted(cl_context context)
{
    cl_device_id devices[CONTEXT_DEVICES];
    size_t size = 0;
    bool admitted = front.target.clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof devices, devices,
                                                  &size) == CL_SUCCESS;

    for (size_t i = 0; i < size / sizeof *devices && admitted; i++) {
        struct opencl_device *device = device_record_of(devices[i]);

        admitted = device && engine_device_admit(&device->base);
    }
    return admitted;
}

/* Where every device must be managed, a context with another one is given back. */
static cl_context admit(cl_context context, cl_int *ret_code)
{
    struct session *session = context && !runtime_off() ? runtime_session() : NULL;

    if (!session || !session_has_tokens(session) || is_admitted(context))
        return context;
    front.target.clReleaseContext(context);
    runtime_stop_at_exit(&opencl_driver); /* the statistics say why */
    if (ret_code)
        *ret_code = CL_DEVICE_NOT_AVAILABLE;
    return NULL;
}

CL_API_ENTRY cl_context CL_API_CALL entry_clCreateContext(
    const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *ret_code)
{
    if (!runtime_off() && runtime_refused()) {
        if (ret_code)
            *ret_code = CL_DEVICE_NOT_AVAILABLE;
        return NULL;
    }
    return admit(front.target.clCreateContext(properties, n, devices, notify, data, ret_code), ret_code);
}

CL_API_ENTRY cl_context CL_API_CALL entry_clCreateContextFromType(
    const cl_context_properties *properties, cl_device_type type,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *ret_code)
{
    if (!runtime_off() && runtime_refused()) {
        if (ret_code)
            *ret_code = CL_DEVICE_NOT_AVAILABLE;
        return NULL;
    }
    return admit(front.target.clCreateContextFromType(properties, type, notify, data, ret_code), ret_code);
}

#pragma GCC visibility push(default)
/* What libbaton.so of the same process looks for (client/join.h). */
const struct join_hooks *baton_join(void)
{
    runtime_init(NULL);
    (void)runtime_session();
    runtime_stop_at_exit(NULL);
    return &join_hooks;
}

CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t room, void *ret_value,
                                               size_t *ret_size)
{
    static const char layer_name[] = "baton";
    cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    const void *value = &version;
    size_t size = sizeof version;

    if (name == CL_LAYER_NAME) {
        value = layer_name;
        size = sizeof layer_name;
    } else if (name != CL_LAYER_API_VERSION) {
        return CL_INVALID_VALUE;
    }
    return info_answer(value, size, room, ret_value, ret_size);
}

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *target_dispatch, cl_uint *ret_n,
                                            const cl_icd_dispatch **ret_dispatch)
{
    if (!target_dispatch || !ret_n || !ret_dispatch || n < sizeof front.target / sizeof(void *))
        return CL_INVALID_VALUE;
    front.target = front.table = *target_dispatch;
    object_tables_init();
    runtime_init(&opencl_driver);
    /* A function that the driver lacks stays absent; the loader answers for it. */
#define ENTRY_OVERRIDE(name)                                                                                 \
    if (front.target.name)                                                                                   \
        front.table.name = entry_##name;
    ENTRY_POINTS(ENTRY_OVERRIDE)
#undef ENTRY_OVERRIDE
    *ret_n = sizeof front.table / sizeof(void *);
    *ret_dispatch = &front.table;
    return CL_SUCCESS;
}
#pragma GCC visibility pop
