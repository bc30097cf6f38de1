/* Command buffers: creation, finalisation, enqueueing, queries, release. */
#include "opencl/enqueue/command_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "opencl/enqueue/enqueue.h"
#include "opencl/entry.h"
#include "opencl/graph/kinds.h"
#include "opencl/layer.h"

struct command_buffer *command_buffer_find(cl_command_buffer_khr handle)
{
    return handle_table_find(&front.command_buffers, handle);
}

void command_buffer_unref(struct command_buffer *buffer)
{
    object_unref(&buffer->object);
}

void recorded_done(struct recorded *recorded)
{
    if (recorded->kernel)
        entry_clReleaseKernel(recorded->kernel);
    for (cl_uint i = 0; i < recorded->n_mems; i++)
        entry_clReleaseMemObject(recorded->mems[i]);
    for (cl_uint i = 0; i < recorded->n_samplers; i++)
        entry_clReleaseSampler(recorded->samplers[i]);
    free(recorded->mems);
    free(recorded->samplers);
    free(recorded->waits);
}

static void free_buffer(struct object *object)
{
    struct command_buffer *buffer = (struct command_buffer *)(void *)object;

    for (size_t i = 0; i < buffer->n; i++)
        recorded_done(&buffer->list[i]);
    if (buffer->last)
        entry_clReleaseEvent(buffer->last);
    entry_clReleaseCommandQueue(buffer->queue);
    pthread_mutex_destroy(&buffer->lock);
    free(buffer->list);
    free(buffer);
}

static const struct object_class command_buffer_class = {.free = free_buffer};

/* Checks flags, and the properties that the device demands of its queues. */
static cl_int check_queue(cl_command_queue handle, const cl_command_buffer_properties_khr *properties)
{
    struct queue_record *queue = queue_find(handle);
    cl_device_command_buffer_capabilities_khr able = 0;
    cl_command_queue_properties required = 0, given;
    cl_int code = CL_SUCCESS;

    if (!queue)
        return CL_INVALID_COMMAND_QUEUE;
    given = queue->properties;
    front.target.clGetDeviceInfo(queue->device->handle, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR,
                                 sizeof able, &able, NULL);
    front.target.clGetDeviceInfo(queue->device->handle,
                                 CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR, sizeof required,
                                 &required, NULL);
    if ((given & required) != required ||
        (!queue->base.in_order && !(able & CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR)))
        code = CL_INCOMPATIBLE_COMMAND_QUEUE_KHR;
    if (properties && properties[0] &&
        (properties[0] != CL_COMMAND_BUFFER_FLAGS_KHR || properties[2] != 0 ||
         (properties[1] & ~(cl_command_buffer_properties_khr)CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR) != 0))
        code = CL_INVALID_VALUE;
    else if (properties && properties[0] && properties[1] &&
             !(able & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR))
        code = CL_INVALID_PROPERTY;
    queue_unref(queue);
    return code;
}

static cl_command_buffer_khr CL_API_CALL create(cl_uint n, const cl_command_queue *list,
                                                const cl_command_buffer_properties_khr *properties,
                                                cl_int *ret_code)
{
    cl_int code = n == 1 && list ? check_queue(list[0], properties) : CL_INVALID_VALUE;
    struct command_buffer *buffer = code == CL_SUCCESS ? calloc(1, sizeof *buffer) : NULL;

    if (buffer) {
        object_init(&buffer->object, &command_buffer_class);
        pthread_mutex_init(&buffer->lock, NULL);
        buffer->queue = list[0];
        buffer->state = CL_COMMAND_BUFFER_STATE_RECORDING_KHR;
        if (properties) {
            buffer->n_properties = properties[0] ? 3 : 1;
            memcpy(buffer->properties, properties, buffer->n_properties * sizeof *properties);
            buffer->simultaneous = properties[0] && properties[1];
        }
        entry_clRetainCommandQueue(list[0]);
        if (!handle_table_put(&front.command_buffers, buffer, buffer)) {
            command_buffer_unref(buffer);
            buffer = NULL;
        }
    }
    if (code == CL_SUCCESS && !buffer)
        code = CL_OUT_OF_HOST_MEMORY;
    if (ret_code)
        *ret_code = code;
    return (cl_command_buffer_khr)(void *)buffer;
}

static cl_int CL_API_CALL finalize(cl_command_buffer_khr handle)
{
    struct command_buffer *buffer = command_buffer_find(handle);
    cl_int code = CL_SUCCESS;

    if (!buffer)
        return CL_INVALID_COMMAND_BUFFER_KHR;
    pthread_mutex_lock(&buffer->lock);
    if (buffer->state != CL_COMMAND_BUFFER_STATE_RECORDING_KHR)
        code = CL_INVALID_OPERATION;
    else
        buffer->state = CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR;
    pthread_mutex_unlock(&buffer->lock);
    command_buffer_unref(buffer);
    return code;
}

static cl_int CL_API_CALL retain(cl_command_buffer_khr handle)
{
    return object_app_retain(&front.command_buffers, handle) ? CL_SUCCESS : CL_INVALID_COMMAND_BUFFER_KHR;
}

static cl_int CL_API_CALL release(cl_command_buffer_khr handle)
{
    return object_app_release(&front.command_buffers, handle) == OBJECT_UNKNOWN
               ? CL_INVALID_COMMAND_BUFFER_KHR
               : CL_SUCCESS;
}

/* --- replaying --- */

/* With the lock held: is the latest enqueue still running? */
static bool is_pending(struct command_buffer *buffer)
{
    cl_int status = CL_COMPLETE;

    if (buffer->enqueuing || !buffer->last)
        return buffer->enqueuing > 0;
    entry_clGetEventInfo(buffer->last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (status > CL_COMPLETE)
        return true;
    entry_clReleaseEvent(buffer->last);
    buffer->last = NULL;
    return false;
}

/* A recorded barrier becomes a marker: the wait lists of the other commands express its order. */
static cl_int replay_one(const struct recorded *recorded, cl_command_queue handle, cl_uint n,
                         const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = recorded->draft;
    struct kernel_record *kernel = NULL;
    cl_int code;

    if (kinds[draft.kind].barrier)
        return entry_clEnqueueMarkerWithWaitList(handle, n, waits, event);
    draft.queue = queue_find(handle);
    if (!draft.queue)
        return CL_INVALID_COMMAND_QUEUE;
    if (kinds[draft.kind].launch)
        draft.u.launch.kernel = kernel = kernel_find(recorded->kernel);
    code = recorded->kernel && !kernel ? CL_INVALID_KERNEL : enqueue_end(&draft, CL_FALSE, n, waits, event);
    if (code == CL_INVALID_KERNEL && !kernel)
        queue_unref(draft.queue);
    if (kernel)
        kernel_unref(kernel);
    return code;
}

struct replay {
    cl_command_queue queue;
    bool in_order;
    /* what every command waits for: the program's list, then the latest barrier; NULL: nothing */
    cl_event fence;
    cl_event *events; /* owned: of the commands so far */
    cl_event *waits;  /* owned: room for one command's list */
    size_t n;
};

/*
 * The events that a command waits for. On an in-order queue the queue itself keeps the order, and
 * the fence only says whether the program's list has failed. A barrier without sync points waits
 * for all earlier commands of the buffer, and for nothing else in the queue.
 */
static cl_uint list_waits(struct replay *replay, const struct recorded *recorded)
{
    bool all_before = kinds[recorded->draft.kind].barrier && recorded->n_waits == 0;
    cl_uint n = 0;

    if (replay->fence)
        replay->waits[n++] = replay->fence;
    if (replay->in_order)
        return n;
    for (cl_uint i = 0; i < recorded->n_waits; i++)
        replay->waits[n++] = replay->events[recorded->waits[i] - 1];
    for (size_t i = 0; all_before && i < replay->n; i++)
        replay->waits[n++] = replay->events[i];
    return n;
}

/*
 * An event that is already complete, for a barrier with nothing to wait for. A marker without a
 * list would wait for everything in the queue.
 */
static cl_int over_already(cl_command_queue queue, cl_event *ret_event)
{
    cl_context context = NULL;
    cl_int code;

    front.target.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
    *ret_event = entry_clCreateUserEvent(context, &code);
    return code == CL_SUCCESS ? entry_clSetUserEventStatus(*ret_event, CL_COMPLETE) : code;
}

static cl_int replay_all(const struct command_buffer *buffer, struct replay *replay)
{
    cl_int code = CL_SUCCESS;

    for (size_t i = 0; i < buffer->n && code == CL_SUCCESS; i++) {
        const struct recorded *recorded = &buffer->list[i];
        bool barrier = kinds[recorded->draft.kind].barrier;
        cl_event *event = &replay->events[replay->n];
        cl_uint n = list_waits(replay, recorded);

        if (barrier && !replay->in_order && n == 0)
            code = over_already(replay->queue, event);
        else
            code = replay_one(recorded, replay->queue, n, n ? replay->waits : NULL, event);
        if (code == CL_SUCCESS) {
            replay->fence = barrier ? *event : replay->fence;
            replay->n++;
        }
    }
    return code;
}

/* The event of the whole enqueue. */
static cl_int end_replay(struct replay *replay, cl_event *ret_event)
{
    if (!replay->in_order && replay->n == 0 && !replay->fence)
        return over_already(replay->queue, ret_event);
    if (replay->in_order || replay->n == 0)
        return entry_clEnqueueMarkerWithWaitList(replay->queue, replay->fence ? 1 : 0,
                                                 replay->fence ? &replay->fence : NULL, ret_event);
    return entry_clEnqueueMarkerWithWaitList(replay->queue, (cl_uint)replay->n, replay->events, ret_event);
}

/* Enqueues the whole buffer on a queue that fits it; *ret_event goes to the caller. */
static cl_int replay_on(const struct command_buffer *buffer, cl_command_queue queue, bool in_order, cl_uint n,
                        const cl_event *waits, cl_event *ret_event)
{
    struct replay replay = {.queue = queue, .in_order = in_order};
    cl_event begin = NULL;
    size_t most = 1;
    cl_int code = CL_SUCCESS;

    for (size_t i = 0; i < buffer->n; i++)
        most = buffer->list[i].n_waits > most ? buffer->list[i].n_waits : most;
    replay.events = calloc(buffer->n + 1, sizeof *replay.events);
    replay.waits = calloc(buffer->n + most + 1, sizeof *replay.waits);
    if (!replay.events || !replay.waits)
        code = CL_OUT_OF_HOST_MEMORY;
    if (code == CL_SUCCESS && (n || waits)) /* the driver reports what is wrong with the list */
        code = entry_clEnqueueMarkerWithWaitList(queue, n, waits, &begin);
    replay.fence = begin;
    if (code == CL_SUCCESS)
        code = replay_all(buffer, &replay);
    if (code == CL_SUCCESS)
        code = end_replay(&replay, ret_event);
    for (size_t i = 0; i < replay.n; i++)
        entry_clReleaseEvent(replay.events[i]);
    if (begin)
        entry_clReleaseEvent(begin);
    free(replay.events);
    free(replay.waits);
    return code;
}

/* A queue other than the recorded one must have the same properties. */
static cl_int fits(const struct command_buffer *buffer, cl_command_queue handle, bool *ret_in_order)
{
    struct queue_record *own = queue_find(buffer->queue);
    struct queue_record *queue = queue_find(handle);
    cl_int code = !own || !queue                               ? CL_INVALID_COMMAND_QUEUE
                  : own->context != queue->context             ? CL_INVALID_CONTEXT
                  : own->device != queue->device               ? CL_INCOMPATIBLE_COMMAND_QUEUE_KHR
                  : own->base.in_order != queue->base.in_order ? CL_INCOMPATIBLE_COMMAND_QUEUE_KHR
                                                               : CL_SUCCESS;

    *ret_in_order = queue && queue->base.in_order;
    if (own)
        queue_unref(own);
    if (queue)
        queue_unref(queue);
    return code;
}

static cl_int begin_enqueue(struct command_buffer *buffer)
{
    cl_int code = CL_SUCCESS;

    pthread_mutex_lock(&buffer->lock);
    if (buffer->state != CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR ||
        (is_pending(buffer) && !buffer->simultaneous))
        code = CL_INVALID_OPERATION;
    else
        buffer->enqueuing++;
    pthread_mutex_unlock(&buffer->lock);
    return code;
}

/* event: of the whole enqueue, taken over; NULL: it failed. */
static void end_enqueue(struct command_buffer *buffer, cl_event event)
{
    cl_event before = event;

    pthread_mutex_lock(&buffer->lock);
    buffer->enqueuing--;
    if (event) {
        before = buffer->last;
        buffer->last = event;
    }
    pthread_mutex_unlock(&buffer->lock);
    if (before)
        entry_clReleaseEvent(before);
}

static cl_int CL_API_CALL enqueue(cl_uint n_queues, cl_command_queue *list, cl_command_buffer_khr handle,
                                  cl_uint n, const cl_event *waits, cl_event *ret_event)
{
    struct command_buffer *buffer = command_buffer_find(handle);
    cl_command_queue queue;
    cl_event event = NULL;
    bool in_order;
    cl_int code;

    if (!buffer)
        return CL_INVALID_COMMAND_BUFFER_KHR;
    queue = n_queues ? NULL : buffer->queue;
    code = (n_queues > 1 || (n_queues > 0) != (list != NULL)) ? CL_INVALID_VALUE : CL_SUCCESS;
    if (code == CL_SUCCESS && n_queues)
        queue = list[0];
    if (code == CL_SUCCESS)
        code = fits(buffer, queue, &in_order);
    if (code == CL_SUCCESS)
        code = begin_enqueue(buffer);
    if (code == CL_SUCCESS) {
        code = replay_on(buffer, queue, in_order, n, waits, &event);
        if (code == CL_SUCCESS && ret_event) {
            entry_clRetainEvent(event);
            *ret_event = event;
        }
        end_enqueue(buffer, code == CL_SUCCESS ? event : NULL);
    }
    command_buffer_unref(buffer);
    return code;
}

/* --- info --- */

enum { COMMAND_BUFFER_CONTEXT = 0x1299 }; /* since version 0.9.2, which older headers do not have */

static cl_int CL_API_CALL info(cl_command_buffer_khr handle, cl_command_buffer_info_khr name, size_t room,
                               void *ret_value, size_t *ret_size)
{
    struct command_buffer *buffer = command_buffer_find(handle);
    cl_command_buffer_state_khr state;
    cl_uint one = 1, n_references;
    cl_context context = NULL;
    cl_int code;

    if (!buffer)
        return CL_INVALID_COMMAND_BUFFER_KHR;
    pthread_mutex_lock(&buffer->lock);
    state = is_pending(buffer) ? CL_COMMAND_BUFFER_STATE_PENDING_KHR : buffer->state;
    pthread_mutex_unlock(&buffer->lock);
    n_references = atomic_load(&buffer->object.app_refs);
    switch (name) {
    case CL_COMMAND_BUFFER_QUEUES_KHR:
        code = info_answer(&buffer->queue, sizeof buffer->queue, room, ret_value, ret_size);
        break;
    case CL_COMMAND_BUFFER_NUM_QUEUES_KHR:
        code = info_answer(&one, sizeof one, room, ret_value, ret_size);
        break;
    case CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR:
        code = info_answer(&n_references, sizeof n_references, room, ret_value, ret_size);
        break;
    case CL_COMMAND_BUFFER_STATE_KHR:
        code = info_answer(&state, sizeof state, room, ret_value, ret_size);
        break;
    case COMMAND_BUFFER_CONTEXT:
        front.target.clGetCommandQueueInfo(buffer->queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
        code = info_answer(&context, sizeof context, room, ret_value, ret_size);
        break;
    case CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR:
        code = info_answer(buffer->properties, buffer->n_properties * sizeof buffer->properties[0], room,
                           ret_value, ret_size);
        break;
    default:
        code = CL_INVALID_VALUE;
    }
    command_buffer_unref(buffer);
    return code;
}

void (*command_buffer_function(const char *name, bool properties))(void)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } table[] = {
        {"clCreateCommandBufferKHR", (void (*)(void))create},
        {"clFinalizeCommandBufferKHR", (void (*)(void))finalize},
        {"clRetainCommandBufferKHR", (void (*)(void))retain},
        {"clReleaseCommandBufferKHR", (void (*)(void))release},
        {"clEnqueueCommandBufferKHR", (void (*)(void))enqueue},
        {"clGetCommandBufferInfoKHR", (void (*)(void))info},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!strcmp(table[i].name, name))
            return table[i].function;
    return command_buffer_recorder(name, properties);
}
