/*
 * Markers, barriers, and calls of other interfaces. The layer does not schedule the latter, but
 * they must not overtake.
 */
#include "opencl/enqueue/enqueue.h"
#include "opencl/graph/opencl_validate.h"

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueMarkerWithWaitList(cl_command_queue handle, cl_uint n,
                                                                  const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_MARKER};

    ENQUEUE_BEGIN(handle, front.target.clEnqueueMarkerWithWaitList(handle, n, waits, event));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueBarrierWithWaitList(cl_command_queue handle, cl_uint n,
                                                                   const cl_event *waits, cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_BARRIER};

    ENQUEUE_BEGIN(handle, front.target.clEnqueueBarrierWithWaitList(handle, n, waits, event));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueMarker(cl_command_queue handle, cl_event *event)
{
    struct opencl_command draft = {.kind = COMMAND_MARKER};

    ENQUEUE_BEGIN(handle, front.target.clEnqueueMarker(handle, event));
    ENQUEUE_REQUIRE(event, CL_INVALID_VALUE, front.target.clEnqueueMarker(handle, event));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, 0, NULL, event);
}

CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueBarrier(cl_command_queue handle)
{
    struct opencl_command draft = {.kind = COMMAND_BARRIER};

    ENQUEUE_BEGIN(handle, front.target.clEnqueueBarrier(handle));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, 0, NULL, NULL);
}

/* Later commands wait for these events: a barrier with a list. */
CL_API_ENTRY cl_int CL_API_CALL entry_clEnqueueWaitForEvents(cl_command_queue handle, cl_uint n,
                                                             const cl_event *waits)
{
    struct opencl_command draft = {.kind = COMMAND_BARRIER};

    ENQUEUE_BEGIN(handle, front.target.clEnqueueWaitForEvents(handle, n, waits));
    ENQUEUE_REQUIRE(n && waits, CL_INVALID_VALUE, front.target.clEnqueueWaitForEvents(handle, n, waits));
    draft.queue = queue;
    return enqueue_end(&draft, CL_FALSE, n, waits, NULL);
}

/*
 * For sharing with other interfaces, which only the driver can do, after everything before it.
 * Waiting here keeps the order; it blocks only when something enqueued earlier still waits. True:
 * the list is over and is not passed on, because the layer's record of an event may be complete a
 * moment before its handle. False: the list is bad or has failed, and the driver reports that.
 */
static bool drained(struct queue_record *queue, cl_uint n, const cl_event *waits)
{
    bool valid = validate_waits(queue, n, waits) == CL_SUCCESS;

    /* A list with a failure goes to the driver unchanged: its handles are events of the driver. */
    if (valid && !submit_drain(queue, n, waits))
        valid = false;
    queue_unref(queue);
    return valid;
}

#define DRAINED(name)                                                                                        \
    CL_API_ENTRY cl_int CL_API_CALL entry_##name(cl_command_queue handle, cl_uint n_mems,                    \
                                                 const cl_mem *list, cl_uint n, const cl_event *waits,       \
                                                 cl_event *event)                                            \
    {                                                                                                        \
        ENQUEUE_BEGIN(handle, front.target.name(handle, n_mems, list, n, waits, event));                     \
        return drained(queue, n, waits) ? front.target.name(handle, n_mems, list, 0, NULL, event)            \
                                        : front.target.name(handle, n_mems, list, n, waits, event);          \
    }

DRAINED(clEnqueueAcquireGLObjects)
DRAINED(clEnqueueReleaseGLObjects)
DRAINED(clEnqueueAcquireEGLObjectsKHR)
DRAINED(clEnqueueReleaseEGLObjectsKHR)
