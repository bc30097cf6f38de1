/*
 * Recording into a command buffer: the calls clCommand...KHR. From version 0.9.5 of the extension
 * on, each call has a list of properties behind the queue, as the launch has always had. No
 * property is defined.
 */
#include <stdlib.h>
#include <string.h>

#include "opencl/enqueue/command_buffer.h"
#include "opencl/graph/opencl_validate.h"
#include "opencl/entry.h"
#include "opencl/layer.h"

/* The parameters at the end of every such call. */
#define POINTS                                                                                               \
    cl_uint n, const cl_sync_point_khr *points, cl_sync_point_khr *ret_point,                                \
        cl_mutable_command_khr *mutable_handle
#define GIVEN                                                                                                \
    &(struct given)                                                                                          \
    {                                                                                                        \
        handle, queue, n, points, ret_point, mutable_handle                                                  \
    }

struct given {
    cl_command_buffer_khr handle;
    cl_command_queue queue;
    cl_uint n;
    const cl_sync_point_khr *points;
    cl_sync_point_khr *ret_point;
    cl_mutable_command_khr *mutable_handle;
};

/* --- what a command keeps --- */

static bool keep_mem(struct recorded *recorded, cl_mem mem)
{
    cl_mem *grown = realloc(recorded->mems, (recorded->n_mems + 1) * sizeof *grown);

    if (!grown)
        return false;
    recorded->mems = grown;
    if (entry_clRetainMemObject(mem) == CL_SUCCESS)
        recorded->mems[recorded->n_mems++] = mem;
    return true;
}

static bool keep_sampler(struct recorded *recorded, cl_sampler sampler)
{
    cl_sampler *grown = realloc(recorded->samplers, (recorded->n_samplers + 1) * sizeof *grown);

    if (!grown)
        return false;
    recorded->samplers = grown;
    if (entry_clRetainSampler(sampler) == CL_SUCCESS)
        recorded->samplers[recorded->n_samplers++] = sampler;
    return true;
}

/* An argument that is memory or a sampler stays alive with the command. */
static bool keep_argument(struct recorded *recorded, const struct arg_value *arg)
{
    struct mem_record *record;
    struct sampler_record *sampler;
    cl_mem mem;
    bool kept;

    if (arg->kind != ARG_BYTES || arg->size != sizeof mem)
        return true;
    memcpy(&mem, arg_value_bytes(arg), sizeof mem);
    record = mem ? mem_find(mem) : NULL;
    if (record) {
        kept = keep_mem(recorded, mem);
        mem_unref(record);
        return kept;
    }
    sampler = sampler_in(arg_value_bytes(arg), arg->size);
    if (!sampler)
        return true;
    kept = keep_sampler(recorded, sampler->handle);
    sampler_unref(sampler);
    return kept;
}

static cl_int copy_argument(cl_kernel kernel, cl_uint index, const struct arg_value *arg)
{
    switch (arg->kind) {
    case ARG_BYTES:
        return entry_clSetKernelArg(kernel, index, arg->size, arg_value_bytes(arg));
    case ARG_NULL:
        return entry_clSetKernelArg(kernel, index, arg->size, NULL);
    case ARG_SVM:
        return entry_clSetKernelArgSVMPointer(kernel, index, arg->value.svm);
    default:
        return CL_INVALID_KERNEL_ARGS;
    }
}

/* A kernel object of the layer, with the arguments as they are now. */
static cl_int copy_kernel(struct recorded *recorded, const struct kernel_record *from)
{
    static const cl_kernel_exec_info infos[KERNEL_EXEC_INFOS] = {CL_KERNEL_EXEC_INFO_SVM_PTRS,
                                                                 CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM};
    cl_program program = NULL;
    cl_int code;

    front.target.clGetKernelInfo(from->handle, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    recorded->kernel = entry_clCreateKernel(program, from->name, &code);
    for (cl_uint i = 0; i < from->n_args && code == CL_SUCCESS; i++) {
        code = copy_argument(recorded->kernel, i, &from->args[i]);
        if (code == CL_SUCCESS && !keep_argument(recorded, &from->args[i]))
            code = CL_OUT_OF_HOST_MEMORY;
    }
    for (cl_uint i = 0; i < KERNEL_EXEC_INFOS && code == CL_SUCCESS; i++) {
        const struct arg_value *value = &from->args[from->n_args + i];

        if (value->kind == ARG_BYTES)
            code = entry_clSetKernelExecInfo(recorded->kernel, infos[i], value->size, arg_value_bytes(value));
    }
    return code;
}

/* --- recording --- */

static cl_int check_points(const struct command_buffer *buffer, const struct given *given)
{
    if ((given->n > 0) != (given->points != NULL))
        return CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;
    for (cl_uint i = 0; i < given->n; i++)
        if (given->points[i] == 0 || given->points[i] > buffer->n)
            return CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;
    return CL_SUCCESS;
}

/* Validates the parameters as an enqueue on the buffer's queue would. */
static cl_int check_command(const struct command_buffer *buffer, struct recorded *recorded)
{
    struct kernel_record *kernel = recorded->kernel ? kernel_find(recorded->kernel) : NULL;
    struct opencl_command draft = recorded->draft;
    cl_int code = CL_INVALID_COMMAND_QUEUE;

    draft.queue = queue_find(buffer->queue);
    if (draft.queue) {
        if (kernel)
            draft.u.launch.kernel = kernel;
        code = validate_draft(&draft);
        queue_unref(draft.queue);
    }
    if (kernel)
        kernel_unref(kernel);
    return code;
}

/* With the lock held. */
static cl_int append(struct command_buffer *buffer, struct recorded *recorded, const struct given *given)
{
    if (buffer->n == buffer->room) {
        struct recorded *grown = realloc(buffer->list, (2 * buffer->room + 16) * sizeof *grown);

        if (!grown)
            return CL_OUT_OF_HOST_MEMORY;
        buffer->list = grown;
        buffer->room = 2 * buffer->room + 16;
    }
    if (given->n) {
        recorded->waits = malloc(given->n * sizeof *recorded->waits);
        if (!recorded->waits)
            return CL_OUT_OF_HOST_MEMORY;
        memcpy(recorded->waits, given->points, given->n * sizeof *recorded->waits);
        recorded->n_waits = given->n;
    }
    buffer->list[buffer->n++] = *recorded;
    if (given->ret_point)
        *given->ret_point = (cl_sync_point_khr)buffer->n;
    return CL_SUCCESS;
}

/* Takes over what the command keeps. kernel: the program's, for a launch. */
static cl_int record(const struct given *given, struct recorded *recorded, const struct kernel_record *kernel)
{
    struct command_buffer *buffer = command_buffer_find(given->handle);
    cl_int code;

    if (!buffer) {
        recorded_done(recorded);
        return CL_INVALID_COMMAND_BUFFER_KHR;
    }
    pthread_mutex_lock(&buffer->lock);
    code = given->queue                                             ? CL_INVALID_COMMAND_QUEUE
           : given->mutable_handle                                  ? CL_INVALID_VALUE
           : buffer->state != CL_COMMAND_BUFFER_STATE_RECORDING_KHR ? CL_INVALID_OPERATION
                                                                    : check_points(buffer, given);
    if (code == CL_SUCCESS && kernel)
        code = copy_kernel(recorded, kernel);
    if (code == CL_SUCCESS)
        code = check_command(buffer, recorded);
    if (code == CL_SUCCESS)
        code = append(buffer, recorded, given);
    pthread_mutex_unlock(&buffer->lock);
    if (code != CL_SUCCESS)
        recorded_done(recorded);
    command_buffer_unref(buffer);
    return code;
}

/* A transfer from a to b, or of a alone. */
static cl_int record_transfer(const struct given *given, enum opencl_kind kind,
                              const struct command_transfer *transfer)
{
    struct recorded recorded = {.draft = {.kind = kind, .u.transfer = *transfer}};
    struct mem_record *a = transfer->a ? mem_find(transfer->a) : NULL;
    struct mem_record *b = transfer->b ? mem_find(transfer->b) : NULL;
    cl_int code;

    if (!a || (!b && !transfer->pattern_size))
        code = CL_INVALID_MEM_OBJECT;
    else if (!keep_mem(&recorded, transfer->a) || (b && !keep_mem(&recorded, transfer->b))) {
        recorded_done(&recorded);
        code = CL_OUT_OF_HOST_MEMORY;
    } else {
        code = record(given, &recorded, NULL);
    }
    if (a)
        mem_unref(a);
    if (b)
        mem_unref(b);
    return code;
}

static void copy3(size_t to[3], const size_t *from)
{
    memcpy(to, from, 3 * sizeof *to);
}

static cl_int CL_API_CALL record_barrier(cl_command_buffer_khr handle, cl_command_queue queue, POINTS)
{
    struct recorded recorded = {.draft = {.kind = COMMAND_BARRIER}};

    return record(GIVEN, &recorded, NULL);
}

static cl_int CL_API_CALL record_copy(cl_command_buffer_khr handle, cl_command_queue queue, cl_mem from,
                                      cl_mem to, size_t offset, size_t to_offset, size_t size, POINTS)
{
    struct command_transfer t = {.a = from, .b = to, .offset = offset, .offset_b = to_offset, .size = size};

    return record_transfer(GIVEN, COMMAND_COPY_BUFFER, &t);
}

static cl_int CL_API_CALL record_copy_rect(cl_command_buffer_khr handle, cl_command_queue queue, cl_mem from,
                                           cl_mem to, const size_t *origin, const size_t *to_origin,
                                           const size_t *region, size_t row, size_t slice, size_t to_row,
                                           size_t to_slice, POINTS)
{
    struct command_transfer t = {
        .a = from, .b = to, .row = row, .slice = slice, .row_b = to_row, .slice_b = to_slice};

    if (!origin || !to_origin || !region)
        return CL_INVALID_VALUE;
    copy3(t.origin, origin);
    copy3(t.origin_b, to_origin);
    copy3(t.region, region);
    return record_transfer(GIVEN, COMMAND_COPY_RECT, &t);
}

static cl_int CL_API_CALL record_to_image(cl_command_buffer_khr handle, cl_command_queue queue, cl_mem from,
                                          cl_mem image, size_t offset, const size_t *origin,
                                          const size_t *region, POINTS)
{
    struct command_transfer t = {.a = from, .b = image, .offset = offset};

    if (!origin || !region)
        return CL_INVALID_VALUE;
    copy3(t.origin, origin);
    copy3(t.region, region);
    return record_transfer(GIVEN, COMMAND_BUFFER_TO_IMAGE, &t);
}

static cl_int CL_API_CALL record_copy_image(cl_command_buffer_khr handle, cl_command_queue queue, cl_mem from,
                                            cl_mem to, const size_t *origin, const size_t *to_origin,
                                            const size_t *region, POINTS)
{
    struct command_transfer t = {.a = from, .b = to};

    if (!origin || !to_origin || !region)
        return CL_INVALID_VALUE;
    copy3(t.origin, origin);
    copy3(t.origin_b, to_origin);
    copy3(t.region, region);
    return record_transfer(GIVEN, COMMAND_COPY_IMAGE, &t);
}

static cl_int CL_API_CALL record_to_buffer(cl_command_buffer_khr handle, cl_command_queue queue, cl_mem image,
                                           cl_mem to, const size_t *origin, const size_t *region,
                                           size_t offset, POINTS)
{
    struct command_transfer t = {.a = image, .b = to, .offset = offset};

    if (!origin || !region)
        return CL_INVALID_VALUE;
    copy3(t.origin, origin);
    copy3(t.region, region);
    return record_transfer(GIVEN, COMMAND_IMAGE_TO_BUFFER, &t);
}

static cl_int CL_API_CALL record_fill(cl_command_buffer_khr handle, cl_command_queue queue, cl_mem mem,
                                      const void *pattern, size_t pattern_size, size_t offset, size_t size,
                                      POINTS)
{
    struct command_transfer t = {.a = mem, .pattern_size = pattern_size, .offset = offset, .size = size};

    if (!pattern || pattern_size == 0 || pattern_size > sizeof t.pattern)
        return CL_INVALID_VALUE;
    memcpy(t.pattern, pattern, pattern_size);
    return record_transfer(GIVEN, COMMAND_FILL, &t);
}

static cl_int CL_API_CALL record_fill_image(cl_command_buffer_khr handle, cl_command_queue queue,
                                            cl_mem image, const void *color, const size_t *origin,
                                            const size_t *region, POINTS)
{
    struct command_transfer t = {.a = image, .pattern_size = 4 * sizeof(cl_uint)};
    cl_image_format format = {0, 0};

    if (!color || !origin || !region)
        return CL_INVALID_VALUE;
    if (image) /* four components; a depth image has one */
        front.target.clGetImageInfo(image, CL_IMAGE_FORMAT, sizeof format, &format, NULL);
    memcpy(t.pattern, color, format.image_channel_order == CL_DEPTH ? sizeof(cl_float) : t.pattern_size);
    copy3(t.origin, origin);
    copy3(t.region, region);
    return record_transfer(GIVEN, COMMAND_FILL_IMAGE, &t);
}

static cl_int CL_API_CALL record_kernel(cl_command_buffer_khr handle, cl_command_queue queue,
                                        const cl_properties *properties, cl_kernel kernel, cl_uint dim,
                                        const size_t *offset, const size_t *global, const size_t *local,
                                        POINTS)
{
    struct recorded recorded = {.draft = {.kind = COMMAND_KERNEL}};
    struct opencl_launch *launch = &recorded.draft.u.launch;
    struct kernel_record *known = kernel_find(kernel);
    cl_int code;

    if (!known)
        return CL_INVALID_KERNEL;
    if (dim < 1 || dim > 3 || (properties && properties[0])) {
        kernel_unref(known);
        return properties && properties[0] ? CL_INVALID_VALUE : CL_INVALID_WORK_DIMENSION;
    }
    launch->dim = dim;
    launch->has_local = local != NULL;
    for (cl_uint d = 0; d < dim; d++) {
        launch->offset[d] = offset ? offset[d] : 0;
        launch->global[d] = global ? global[d] : 0;
        launch->local[d] = local ? local[d] : 0;
    }
    code = record(GIVEN, &recorded, known);
    kernel_unref(known);
    return code;
}

/* --- the forms of version 0.9.5 --- */

#define LIST(...) __VA_ARGS__
/* params and arguments end with a comma. */
#define WITH_PROPERTIES(name, params, arguments)                                                             \
    static cl_int CL_API_CALL name##_with(cl_command_buffer_khr handle, cl_command_queue queue,              \
                                          const cl_properties *properties, params POINTS)                    \
    {                                                                                                        \
        return properties && properties[0]                                                                   \
                   ? CL_INVALID_VALUE                                                                        \
                   : name(handle, queue, arguments n, points, ret_point, mutable_handle);                    \
    }

WITH_PROPERTIES(record_barrier, , )
WITH_PROPERTIES(record_copy, LIST(cl_mem from, cl_mem to, size_t offset, size_t to_offset, size_t size, ),
                LIST(from, to, offset, to_offset, size, ))
WITH_PROPERTIES(record_copy_rect,
                LIST(cl_mem from, cl_mem to, const size_t *origin, const size_t *to_origin,
                     const size_t *region, size_t row, size_t slice, size_t to_row, size_t to_slice, ),
                LIST(from, to, origin, to_origin, region, row, slice, to_row, to_slice, ))
WITH_PROPERTIES(record_to_image,
                LIST(cl_mem from, cl_mem image, size_t offset, const size_t *origin, const size_t *region, ),
                LIST(from, image, offset, origin, region, ))
WITH_PROPERTIES(record_copy_image,
                LIST(cl_mem from, cl_mem to, const size_t *origin, const size_t *to_origin,
                     const size_t *region, ),
                LIST(from, to, origin, to_origin, region, ))
WITH_PROPERTIES(record_to_buffer,
                LIST(cl_mem image, cl_mem to, const size_t *origin, const size_t *region, size_t offset, ),
                LIST(image, to, origin, region, offset, ))
WITH_PROPERTIES(record_fill,
                LIST(cl_mem mem, const void *pattern, size_t pattern_size, size_t offset, size_t size, ),
                LIST(mem, pattern, pattern_size, offset, size, ))
WITH_PROPERTIES(record_fill_image,
                LIST(cl_mem image, const void *color, const size_t *origin, const size_t *region, ),
                LIST(image, color, origin, region, ))

void (*command_buffer_recorder(const char *name, bool properties))(void)
{
#define FORMS(function) (void (*)(void)) function, (void (*)(void))function##_with
    static const struct {
        const char *name;
        void (*without)(void);
        void (*with)(void);
    } table[] = {
        {"clCommandBarrierWithWaitListKHR", FORMS(record_barrier)},
        {"clCommandCopyBufferKHR", FORMS(record_copy)},
        {"clCommandCopyBufferRectKHR", FORMS(record_copy_rect)},
        {"clCommandCopyBufferToImageKHR", FORMS(record_to_image)},
        {"clCommandCopyImageKHR", FORMS(record_copy_image)},
        {"clCommandCopyImageToBufferKHR", FORMS(record_to_buffer)},
        {"clCommandFillBufferKHR", FORMS(record_fill)},
        {"clCommandFillImageKHR", FORMS(record_fill_image)},
        {"clCommandNDRangeKernelKHR", (void (*)(void))record_kernel, (void (*)(void))record_kernel},
    };
#undef FORMS

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(table[i].name, name))
            return properties ? table[i].with : table[i].without;
    return NULL;
}
