/* Platform, devices, contexts, queues, samplers, events: creation, reference counts, queries. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

struct _cl_platform_id fake_platform = {{&fake_dispatch, FAKE_PLATFORM, 1}};
#define FAKE_DEVICE_INIT                                                                                     \
    {                                                                                                        \
        {&fake_dispatch, FAKE_DEVICE, 1}, PTHREAD_MUTEX_INITIALIZER                                          \
    }
struct _cl_device_id fake_devices[FAKE_MAX_DEVICES] = {FAKE_DEVICE_INIT, FAKE_DEVICE_INIT, FAKE_DEVICE_INIT,
                                                       FAKE_DEVICE_INIT, FAKE_DEVICE_INIT, FAKE_DEVICE_INIT,
                                                       FAKE_DEVICE_INIT, FAKE_DEVICE_INIT};

void fake_object_init(struct fake_object *object, enum fake_kind kind)
{
    object->dispatch = &fake_dispatch;
    object->kind = kind;
    atomic_store(&object->refs, 1);
}

bool fake_is(const void *handle, enum fake_kind kind)
{
    return handle && ((const struct fake_object *)handle)->kind == kind;
}

cl_int fake_answer(const void *value, size_t size, size_t room, void *ret_value, size_t *ret_size)
{
    if (ret_value && room < size)
        return CL_INVALID_VALUE;
    if (ret_value)
        memcpy(ret_value, value, size);
    if (ret_size)
        *ret_size = size;
    return CL_SUCCESS;
}

static cl_int answer_text(const char *text, size_t room, void *ret_value, size_t *ret_size)
{
    return fake_answer(text, strlen(text) + 1, room, ret_value, ret_size);
}

FAKE_API cl_int CL_API_CALL fake_clGetPlatformIDs(cl_uint n, cl_platform_id *ret_platforms, cl_uint *ret_n)
{
    if ((n == 0 && ret_platforms) || (!ret_platforms && !ret_n))
        return CL_INVALID_VALUE;
    if (ret_platforms)
        *ret_platforms = &fake_platform;
    if (ret_n)
        *ret_n = 1;
    return CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clGetPlatformInfo(cl_platform_id platform, cl_platform_info name,
                                                   size_t room, void *ret_value, size_t *ret_size)
{
    if (platform && !fake_is(platform, FAKE_PLATFORM))
        return CL_INVALID_PLATFORM;
    switch (name) {
    case CL_PLATFORM_PROFILE:
        return answer_text("FULL_PROFILE", room, ret_value, ret_size);
    case CL_PLATFORM_VERSION:
        return answer_text(fake_script_old() ? "OpenCL 1.2 fake" : "OpenCL 3.0 fake", room, ret_value,
                           ret_size);
    case CL_PLATFORM_NAME:
        return answer_text("Baton's fake platform", room, ret_value, ret_size);
    case CL_PLATFORM_VENDOR:
        return answer_text("Baton", room, ret_value, ret_size);
    case CL_PLATFORM_EXTENSIONS:
        return answer_text("cl_khr_icd cl_khr_command_buffer cl_khr_semaphore", room, ret_value, ret_size);
    case CL_PLATFORM_ICD_SUFFIX_KHR:
        return answer_text("FAKE", room, ret_value, ret_size);
    case CL_PLATFORM_NUMERIC_VERSION:
        FAKE_ANSWER(cl_version, CL_MAKE_VERSION(3, 0, 0));
    case CL_PLATFORM_HOST_TIMER_RESOLUTION:
        FAKE_ANSWER(cl_ulong, 1);
    default:
        return CL_INVALID_VALUE;
    }
}

FAKE_API cl_int CL_API_CALL fake_clGetDeviceIDs(cl_platform_id platform, cl_device_type type, cl_uint n,
                                                cl_device_id *ret_devices, cl_uint *ret_n)
{
    if (!fake_is(platform, FAKE_PLATFORM))
        return CL_INVALID_PLATFORM;
    if ((n == 0 && ret_devices) || (!ret_devices && !ret_n))
        return CL_INVALID_VALUE;
    if (!(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)))
        return CL_DEVICE_NOT_FOUND;
    for (cl_uint i = 0; ret_devices && i < n && i < fake_script_devices(); i++)
        ret_devices[i] = &fake_devices[i];
    if (ret_n)
        *ret_n = fake_script_devices();
    return CL_SUCCESS;
}

void fake_list_devices(cl_device_id ret_devices[FAKE_MAX_DEVICES])
{
    for (cl_uint i = 0; i < FAKE_MAX_DEVICES; i++)
        ret_devices[i] = &fake_devices[i];
}

static cl_int answer_versions(size_t room, void *ret_value, size_t *ret_size)
{
    const cl_name_version list[] = {{CL_MAKE_VERSION(1, 0, 0), "cl_khr_byte_addressable_store"},
                                    {fake_script_buffers(), "cl_khr_command_buffer"},
                                    {CL_MAKE_VERSION(0, 9, 0), "cl_khr_semaphore"},
                                    {CL_MAKE_VERSION(1, 0, 0), "cl_khr_fp64"}};

    return fake_answer(list, sizeof list, room, ret_value, ret_size);
}

/* What a query answers in words; NULL: no such query. */
static const char *device_text(cl_device_id device, cl_device_info name)
{
    static const char *const names[FAKE_MAX_DEVICES] = {"fake 0", "fake 1", "fake 2", "fake 3",
                                                        "fake 4", "fake 5", "fake 6", "fake 7"};

    switch (name) {
    case CL_DEVICE_NAME:
        return names[device - fake_devices];
    case CL_DEVICE_VENDOR:
        return "Baton";
    case CL_DRIVER_VERSION:
        return "1";
    case CL_DEVICE_PROFILE:
        return "FULL_PROFILE";
    case CL_DEVICE_VERSION:
        return fake_script_old() ? "OpenCL 1.2 fake" : "OpenCL 3.0 fake";
    case CL_DEVICE_OPENCL_C_VERSION:
        return "OpenCL C 1.2 fake";
    case CL_DEVICE_EXTENSIONS:
        return "cl_khr_byte_addressable_store cl_khr_command_buffer cl_khr_semaphore cl_khr_fp64";
    default:
        return NULL;
    }
}

FAKE_API cl_int CL_API_CALL fake_clGetDeviceInfo(cl_device_id device, cl_device_info name, size_t room,
                                                 void *ret_value, size_t *ret_size)
{
    static const size_t sizes[3] = {1024, 1024, 64};
    const char *text;

    if (!fake_is(device, FAKE_DEVICE))
        return CL_INVALID_DEVICE;
    text = device_text(device, name);
    switch (name) {
    case CL_DEVICE_TYPE:
        FAKE_ANSWER(cl_device_type, CL_DEVICE_TYPE_GPU);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        FAKE_ANSWER(cl_uint, 4);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
        FAKE_ANSWER(cl_uint, 3);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return fake_answer(sizes, sizeof sizes, room, ret_value, ret_size);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        FAKE_ANSWER(size_t, 1024);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        FAKE_ANSWER(cl_ulong, 1 << 30);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        FAKE_ANSWER(cl_ulong, INT64_C(4) << 30);
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        FAKE_ANSWER(cl_uint, 1024);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        FAKE_ANSWER(cl_ulong, 1 << 16);
    case CL_DEVICE_IMAGE_SUPPORT:
        FAKE_ANSWER(cl_bool, CL_TRUE);
    case CL_DEVICE_IMAGE2D_MAX_WIDTH:
    case CL_DEVICE_IMAGE2D_MAX_HEIGHT:
        FAKE_ANSWER(size_t, 8192);
    case CL_DEVICE_EXECUTION_CAPABILITIES:
        FAKE_ANSWER(cl_device_exec_capabilities, CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL);
    case CL_DEVICE_QUEUE_PROPERTIES:
        FAKE_ANSWER(cl_command_queue_properties,
                    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
    case CL_DEVICE_SVM_CAPABILITIES:
        FAKE_ANSWER(cl_device_svm_capabilities, fake_script_old() ? 0 : CL_DEVICE_SVM_COARSE_GRAIN_BUFFER);
    case CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT:
        FAKE_ANSWER(cl_bool, fake_script_uneven());
    case CL_DEVICE_AVAILABLE:
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_LINKER_AVAILABLE:
    case CL_DEVICE_ENDIAN_LITTLE:
        FAKE_ANSWER(cl_bool, CL_TRUE);
    case CL_DEVICE_PLATFORM:
        FAKE_ANSWER(cl_platform_id, &fake_platform);
    case CL_DEVICE_REFERENCE_COUNT:
        FAKE_ANSWER(cl_uint, 1);
    case CL_DEVICE_ADDRESS_BITS:
        FAKE_ANSWER(cl_uint, 64);
    case CL_DEVICE_EXTENSIONS_WITH_VERSION:
        return fake_script_buffers() ? answer_versions(room, ret_value, ret_size) : CL_INVALID_VALUE;
    default:
        return text ? answer_text(text, room, ret_value, ret_size) : CL_INVALID_VALUE;
    }
}

FAKE_API cl_context CL_API_CALL fake_clCreateContext(
    const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *ret_code)
{
    cl_int code = fake_script_fail("CreateContext");
    cl_context context = NULL;

    (void)properties;
    if (n == 0 || !devices || (!notify && data))
        code = CL_INVALID_VALUE;
    for (cl_uint i = 0; code == CL_SUCCESS && i < n; i++)
        if (!fake_is(devices[i], FAKE_DEVICE))
            code = CL_INVALID_DEVICE;
    if (code == CL_SUCCESS) {
        context = calloc(1, sizeof *context);
        fake_object_init(&context->object, FAKE_CONTEXT);
        context->n_devices = n < FAKE_MAX_DEVICES ? n : FAKE_MAX_DEVICES;
        memcpy(context->devices, devices, context->n_devices * sizeof *devices);
    }
    if (ret_code)
        *ret_code = code;
    return context;
}

FAKE_API cl_context CL_API_CALL fake_clCreateContextFromType(
    const cl_context_properties *properties, cl_device_type type,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *data, cl_int *ret_code)
{
    cl_device_id devices[FAKE_MAX_DEVICES];

    fake_list_devices(devices);
    if (!(type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT))) {
        if (ret_code)
            *ret_code = CL_DEVICE_NOT_FOUND;
        return NULL;
    }
    return fake_clCreateContext(properties, fake_script_devices(), devices, notify, data, ret_code);
}

void fake_context_release(cl_context context)
{
    if (atomic_fetch_sub(&context->object.refs, 1) == 1) {
        context->object.kind = 0;
        free(context);
    }
}

FAKE_API cl_int CL_API_CALL fake_clGetContextInfo(cl_context context, cl_context_info name, size_t room,
                                                  void *ret_value, size_t *ret_size)
{
    if (!fake_is(context, FAKE_CONTEXT))
        return CL_INVALID_CONTEXT;
    switch (name) {
    case CL_CONTEXT_REFERENCE_COUNT:
        FAKE_ANSWER(cl_uint, atomic_load(&context->object.refs));
    case CL_CONTEXT_NUM_DEVICES:
        FAKE_ANSWER(cl_uint, context->n_devices);
    case CL_CONTEXT_DEVICES:
        return fake_answer(context->devices, context->n_devices * sizeof context->devices[0], room, ret_value,
                           ret_size);
    case CL_CONTEXT_PROPERTIES:
        return fake_answer(context->devices, 0, room, ret_value, ret_size);
    default:
        return CL_INVALID_VALUE;
    }
}

/* Retain and release of one kind of handle: OpenCL's six identical pairs. */
#define FAKE_COUNTED(Name, type, kind_, code_, release_)                                                     \
    FAKE_API cl_int CL_API_CALL fake_clRetain##Name(type handle)                                             \
    {                                                                                                        \
        if (!fake_is(handle, kind_))                                                                         \
            return code_;                                                                                    \
        atomic_fetch_add(&handle->object.refs, 1);                                                           \
        return CL_SUCCESS;                                                                                   \
    }                                                                                                        \
    FAKE_API cl_int CL_API_CALL fake_clRelease##Name(type handle)                                            \
    {                                                                                                        \
        if (!fake_is(handle, kind_))                                                                         \
            return code_;                                                                                    \
        release_(handle);                                                                                    \
        return CL_SUCCESS;                                                                                   \
    }

static void sampler_release(cl_sampler sampler)
{
    if (atomic_fetch_sub(&sampler->object.refs, 1) != 1)
        return;
    fake_context_release(sampler->context);
    free(sampler);
}

static void device_release(cl_device_id device)
{
    (void)device; /* root devices are not counted */
}

FAKE_COUNTED(Context, cl_context, FAKE_CONTEXT, CL_INVALID_CONTEXT, fake_context_release)
FAKE_COUNTED(CommandQueue, cl_command_queue, FAKE_QUEUE, CL_INVALID_COMMAND_QUEUE, fake_queue_release)
FAKE_COUNTED(MemObject, cl_mem, FAKE_MEM, CL_INVALID_MEM_OBJECT, fake_mem_release)
FAKE_COUNTED(Sampler, cl_sampler, FAKE_SAMPLER, CL_INVALID_SAMPLER, sampler_release)
FAKE_COUNTED(Program, cl_program, FAKE_PROGRAM, CL_INVALID_PROGRAM, fake_program_release)
FAKE_COUNTED(Kernel, cl_kernel, FAKE_KERNEL, CL_INVALID_KERNEL, fake_kernel_release)
FAKE_COUNTED(Event, cl_event, FAKE_EVENT, CL_INVALID_EVENT, fake_event_release)
FAKE_COUNTED(Device, cl_device_id, FAKE_DEVICE, CL_INVALID_DEVICE, device_release)

static cl_command_queue make_queue(cl_context context, cl_device_id device,
                                   cl_command_queue_properties properties, cl_int *ret_code)
{
    static atomic_uint numbers;
    cl_int code = fake_script_fail("CreateCommandQueue");
    cl_command_queue queue = NULL;

    if (!fake_is(context, FAKE_CONTEXT))
        code = CL_INVALID_CONTEXT;
    else if (!fake_is(device, FAKE_DEVICE))
        code = CL_INVALID_DEVICE;
    else if (properties & ~(cl_command_queue_properties)3)
        code = CL_INVALID_VALUE;
    if (code == CL_SUCCESS) {
        queue = calloc(1, sizeof *queue);
        fake_object_init(&queue->object, FAKE_QUEUE);
        queue->context = context;
        queue->device = device;
        queue->properties = properties;
        queue->number = atomic_fetch_add(&numbers, 1);
        atomic_fetch_add(&context->object.refs, 1);
    }
    if (ret_code)
        *ret_code = code;
    return queue;
}

FAKE_API cl_command_queue CL_API_CALL fake_clCreateCommandQueue(cl_context context, cl_device_id device,
                                                                cl_command_queue_properties properties,
                                                                cl_int *ret_code)
{
    return make_queue(context, device, properties, ret_code);
}

FAKE_API cl_command_queue CL_API_CALL fake_clCreateCommandQueueWithProperties(
    cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *ret_code)
{
    cl_command_queue_properties bits = 0;

    for (; properties && *properties; properties += 2) {
        if (*properties != CL_QUEUE_PROPERTIES) {
            if (ret_code)
                *ret_code = CL_INVALID_VALUE;
            return NULL;
        }
        bits = properties[1];
    }
    return make_queue(context, device, bits, ret_code);
}

FAKE_API cl_int CL_API_CALL fake_clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info name,
                                                       size_t room, void *ret_value, size_t *ret_size)
{
    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    switch (name) {
    case CL_QUEUE_CONTEXT:
        FAKE_ANSWER(cl_context, queue->context);
    case CL_QUEUE_DEVICE:
        FAKE_ANSWER(cl_device_id, queue->device);
    case CL_QUEUE_REFERENCE_COUNT:
        FAKE_ANSWER(cl_uint, atomic_load(&queue->object.refs));
    case CL_QUEUE_PROPERTIES:
        FAKE_ANSWER(cl_command_queue_properties, queue->properties);
    default:
        return CL_INVALID_VALUE;
    }
}

FAKE_API cl_sampler CL_API_CALL fake_clCreateSampler(cl_context context, cl_bool normalized,
                                                     cl_addressing_mode addressing, cl_filter_mode filter,
                                                     cl_int *ret_code)
{
    cl_sampler sampler = NULL;
    cl_int code = fake_is(context, FAKE_CONTEXT) ? fake_script_fail("CreateSampler") : CL_INVALID_CONTEXT;

    if (code == CL_SUCCESS) {
        sampler = calloc(1, sizeof *sampler);
        fake_object_init(&sampler->object, FAKE_SAMPLER);
        sampler->context = context;
        sampler->normalized = normalized;
        sampler->addressing = addressing;
        sampler->filter = filter;
        atomic_fetch_add(&context->object.refs, 1);
    }
    if (ret_code)
        *ret_code = code;
    return sampler;
}

FAKE_API cl_sampler CL_API_CALL fake_clCreateSamplerWithProperties(cl_context context,
                                                                   const cl_sampler_properties *properties,
                                                                   cl_int *ret_code)
{
    (void)properties;
    return fake_clCreateSampler(context, CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, ret_code);
}

FAKE_API cl_int CL_API_CALL fake_clGetSamplerInfo(cl_sampler sampler, cl_sampler_info name, size_t room,
                                                  void *ret_value, size_t *ret_size)
{
    if (!fake_is(sampler, FAKE_SAMPLER))
        return CL_INVALID_SAMPLER;
    switch (name) {
    case CL_SAMPLER_REFERENCE_COUNT:
        FAKE_ANSWER(cl_uint, atomic_load(&sampler->object.refs));
    case CL_SAMPLER_CONTEXT:
        FAKE_ANSWER(cl_context, sampler->context);
    case CL_SAMPLER_FILTER_MODE:
        FAKE_ANSWER(cl_filter_mode, sampler->filter);
    default:
        return CL_INVALID_VALUE;
    }
}
