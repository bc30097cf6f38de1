/*
 * Events. The driver's own events pass through. For the layer's handles, the record behind them
 * answers.
 */
#include <string.h>

#include "engine/inferred_job.h"
#include "opencl/entry.h"
#include "opencl/graph/kinds.h"
#include "opencl/graph/adopt.h"
#include "opencl/layer.h"
#include "opencl/opencl_driver.h"
#include "opencl/opencl_objects.h"

static struct opencl_command *find(cl_event handle)
{
    return runtime_off() ? NULL : handle_table_find(&front.events, handle);
}

CL_API_ENTRY cl_event CL_API_CALL entry_clCreateUserEvent(cl_context context, cl_int *ret_code)
{
    cl_event handle = front.target.clCreateUserEvent(context, ret_code);
    struct opencl_command draft = {
        .kind = COMMAND_USER, .type = CL_COMMAND_USER, .context = context, .base.ops = &opencl_driver};
    struct opencl_command *node = handle && !runtime_off() ? command_adopt(&draft) : NULL;

    if (!node)
        return handle;
    node->handle = handle;
    atomic_store(&node->app_refs, 1);
    command_hold_record(node);
    if (!handle_table_put(&front.events, handle, node))
        command_unref(&node->base);
    return handle;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clSetUserEventStatus(cl_event handle, cl_int status)
{
    struct opencl_command *node = find(handle);
    cl_int code;

    if (node && !kind_of(node)->user) { /* the event of a command of the layer */
        command_unref(&node->base);
        return CL_INVALID_EVENT;
    }
    code = front.target.clSetUserEventStatus(handle, status);
    if (node) {
        if (code == CL_SUCCESS)
            graph_complete(&node->base, status);
        command_unref(&node->base);
    }
    return code;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clSetEventCallback(cl_event handle, cl_int at,
                                                         void(CL_CALLBACK *run)(cl_event, cl_int, void *),
                                                         void *data)
{
    struct opencl_command *node = find(handle);
    cl_int code;

    if (!node || kind_of(node)->user)
        code = front.target.clSetEventCallback(handle, at, run, data);
    else if (!run || (at != CL_SUBMITTED && at != CL_RUNNING && at != CL_COMPLETE))
        code = CL_INVALID_VALUE;
    else
        code = command_callback(node, at, run, data) ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
    if (node)
        command_unref(&node->base);
    return code;
}

/* Do all events belong to commands in the graph, and would the driver wait for them? */
static bool all_ours(cl_uint n, const cl_event *list)
{
    cl_context context = NULL;
    bool ours = list != NULL;

    for (cl_uint i = 0; ours && i < n; i++) {
        struct opencl_command *node = find(list[i]);

        ours = node && !kind_of(node)->user && (i == 0 || node->context == context);
        context = node ? node->context : NULL;
        if (node)
            command_unref(&node->base);
    }
    return ours;
}

static void wait_in_graph(cl_event handle)
{
    struct opencl_command *node = find(handle);

    if (!node)
        return;
    (void)graph_wait(&node->base);
    command_unref(&node->base);
}

/*
 * The layer's handles are real user events of the program's context, set when the command ends, so
 * the driver can wait for them. If possible, the thread first waits in the layer, where it can do
 * the work of the workers.
 */
CL_API_ENTRY cl_int CL_API_CALL entry_clWaitForEvents(cl_uint n, const cl_event *list)
{
    cl_int code;

    if (!runtime_off() && all_ours(n, list))
        for (cl_uint i = 0; i < n; i++)
            wait_in_graph(list[i]);
    code = front.target.clWaitForEvents(n, list);
    if (!runtime_off())
        inferred_job_waited();
    return code;
}

static cl_int info_of(struct opencl_command *node, cl_event_info name, size_t room, void *ret_value,
                      size_t *ret_size)
{
    cl_command_queue queue = node->queue ? node->queue->handle : NULL;
    cl_uint refs = atomic_load(&node->app_refs);
    cl_int status;

    switch (name) {
    case CL_EVENT_COMMAND_QUEUE:
        return info_answer(&queue, sizeof queue, room, ret_value, ret_size);
    case CL_EVENT_COMMAND_TYPE:
        return info_answer(&node->type, sizeof node->type, room, ret_value, ret_size);
    case CL_EVENT_CONTEXT:
        return info_answer(&node->context, sizeof node->context, room, ret_value, ret_size);
    case CL_EVENT_REFERENCE_COUNT:
        return info_answer(&refs, sizeof refs, room, ret_value, ret_size);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
        status = graph_status(&node->base);
        return info_answer(&status, sizeof status, room, ret_value, ret_size);
    default:
        return CL_INVALID_VALUE;
    }
}

CL_API_ENTRY cl_int CL_API_CALL entry_clGetEventInfo(cl_event handle, cl_event_info name, size_t room,
                                                     void *ret_value, size_t *ret_size)
{
    struct opencl_command *node = find(handle);
    cl_int code;

    if (!node)
        return front.target.clGetEventInfo(handle, name, room, ret_value, ret_size);
    code = kind_of(node)->user ? front.target.clGetEventInfo(handle, name, room, ret_value, ret_size)
                               : info_of(node, name, room, ret_value, ret_size);
    command_unref(&node->base);
    return code;
}

/*
 * The layer's queues always have the driver's profiling on. The program sees profiling only if it
 * asked for it.
 */
static bool profiling_asked(cl_event handle)
{
    cl_command_queue owner = NULL;
    struct queue_record *queue;
    bool asked = true;

    front.target.clGetEventInfo(handle, CL_EVENT_COMMAND_QUEUE, sizeof owner, &owner, NULL);
    queue = queue_find(owner);
    if (queue) {
        asked = queue->properties & CL_QUEUE_PROFILING_ENABLE;
        queue_unref(queue);
    }
    return asked;
}

/* In the order of CL_PROFILING_COMMAND_QUEUED and the names behind it. */
static void times_of(const struct opencl_command *node, cl_ulong ret_times[4])
{
    ret_times[0] = node->base.times.queued;
    ret_times[1] = node->base.times.submitted;
    ret_times[2] = node->base.times.started;
    ret_times[3] = node->base.times.ended;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clGetEventProfilingInfo(cl_event handle, cl_profiling_info name,
                                                              size_t room, void *ret_value, size_t *ret_size)
{
    struct opencl_command *node = find(handle);
    cl_int code = CL_PROFILING_INFO_NOT_AVAILABLE;
    unsigned index = name - CL_PROFILING_COMMAND_QUEUED;
    cl_ulong times[4];

    if (!node || kind_of(node)->user) {
        if (node)
            command_unref(&node->base);
        else if (!runtime_off() && handle && !profiling_asked(handle))
            return CL_PROFILING_INFO_NOT_AVAILABLE;
        return front.target.clGetEventProfilingInfo(handle, name, room, ret_value, ret_size);
    }
    if (index == 4) /* CL_PROFILING_COMMAND_COMPLETE: commands of the layer have no children */
        index = 3;
    if ((node->queue->properties & CL_QUEUE_PROFILING_ENABLE) && graph_status(&node->base) == CL_COMPLETE &&
        node->base.timed) {
        times_of(node, times); /* another thread wrote them before the status */
        code = index > 3 ? CL_INVALID_VALUE
                         : info_answer(&times[index], sizeof times[index], room, ret_value, ret_size);
    }
    command_unref(&node->base);
    return code;
}

CL_API_ENTRY cl_int CL_API_CALL entry_clRetainEvent(cl_event handle)
{
    struct opencl_command *node = find(handle);

    if (node) {
        atomic_fetch_add(&node->app_refs, 1);
        command_hold_record(node);
        command_unref(&node->base);
    }
    return front.target.clRetainEvent(handle);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clReleaseEvent(cl_event handle)
{
    struct opencl_command *node = find(handle);

    if (node) {
        atomic_fetch_sub(&node->app_refs, 1);
        command_drop_record(node);
        command_unref(&node->base);
    }
    return front.target.clReleaseEvent(handle);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clFlush(cl_command_queue handle)
{
    return front.target.clFlush(handle); /* queued commands need no flush */
}

CL_API_ENTRY cl_int CL_API_CALL entry_clFinish(cl_command_queue handle)
{
    struct queue_record *queue = runtime_off() ? NULL : queue_find(handle);
    cl_int code;

    if (!queue)
        return queue_lost(handle) ? CL_OUT_OF_RESOURCES : front.target.clFinish(handle);
    graph_wait_queue(&queue->base, true);
    code = front.target.clFinish(handle);
    if (queue_lost(handle))
        code = CL_OUT_OF_RESOURCES;
    queue_unref(queue);
    inferred_job_waited();
    return code;
}
