/* Events: user events, callbacks, waiting, queries. */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The memory of the user event that ended last, if the script reuses addresses (fake_lock). */
static cl_event spare;

/* Returns a while after another thread has made an event there, or when none does. */
static void offer(cl_event event)
{
    const struct timespec moment = {.tv_nsec = 1000000}, while_used = {.tv_nsec = 200000000};
    bool taken = false;

    pthread_mutex_lock(&fake_lock);
    free(spare);
    spare = event;
    pthread_mutex_unlock(&fake_lock);
    for (int ms = 0; ms < 2000 && !taken; ms++) {
        nanosleep(&moment, NULL);
        pthread_mutex_lock(&fake_lock);
        taken = spare != event;
        pthread_mutex_unlock(&fake_lock);
    }
    if (taken)
        nanosleep(&while_used, NULL);
}

static cl_event new_user_event(void)
{
    cl_event event;

    pthread_mutex_lock(&fake_lock);
    event = spare;
    spare = NULL;
    pthread_mutex_unlock(&fake_lock);
    if (event)
        memset(event, 0, sizeof *event);
    return event ? event : calloc(1, sizeof *event);
}

void fake_event_release(cl_event event)
{
    if (atomic_fetch_sub(&event->object.refs, 1) != 1)
        return;
    event->object.kind = 0;
    while (event->callbacks) {
        struct fake_callback *next = event->callbacks->next;
        free(event->callbacks);
        event->callbacks = next;
    }
    if (event->queue)
        fake_queue_release(event->queue);
    fake_context_release(event->context);
    if (event->type == CL_COMMAND_USER && fake_script_reuse())
        offer(event);
    else
        free(event);
}

FAKE_API cl_event CL_API_CALL fake_clCreateUserEvent(cl_context context, cl_int *ret_code)
{
    cl_event event = NULL;
    cl_int code = fake_is(context, FAKE_CONTEXT) ? fake_script_fail("CreateUserEvent") : CL_INVALID_CONTEXT;

    if (code == CL_SUCCESS) {
        event = new_user_event();
        fake_object_init(&event->object, FAKE_EVENT);
        event->context = context;
        event->type = CL_COMMAND_USER;
        event->status = CL_SUBMITTED;
        atomic_fetch_add(&context->object.refs, 1);
    }
    if (ret_code)
        *ret_code = code;
    return event;
}

FAKE_API cl_int CL_API_CALL fake_clSetUserEventStatus(cl_event event, cl_int status)
{
    bool was_set;

    if (!fake_is(event, FAKE_EVENT) || event->type != CL_COMMAND_USER)
        return CL_INVALID_EVENT;
    if (status > 0)
        return CL_INVALID_VALUE;
    pthread_mutex_lock(&fake_lock);
    was_set = event->status <= CL_COMPLETE;
    pthread_mutex_unlock(&fake_lock);
    if (was_set)
        return CL_INVALID_OPERATION;
    fake_event_set(event, status);
    return CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clSetEventCallback(cl_event event, cl_int at,
                                                    void(CL_CALLBACK *run)(cl_event, cl_int, void *),
                                                    void *data)
{
    struct fake_callback *callback, **tail;
    cl_int status;

    if (!fake_is(event, FAKE_EVENT))
        return CL_INVALID_EVENT;
    if (!run || (at != CL_SUBMITTED && at != CL_RUNNING && at != CL_COMPLETE))
        return CL_INVALID_VALUE;
    pthread_mutex_lock(&fake_lock);
    status = event->status;
    if (status > at) {
        callback = calloc(1, sizeof *callback);
        callback->at = at;
        callback->run = run;
        callback->data = data;
        for (tail = &event->callbacks; *tail; tail = &(*tail)->next)
            ;
        *tail = callback;
        pthread_mutex_unlock(&fake_lock);
        return CL_SUCCESS;
    }
    pthread_mutex_unlock(&fake_lock);
    run(event, status < 0 ? status : at, data);
    return CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clWaitForEvents(cl_uint n, const cl_event *events)
{
    cl_int code = CL_SUCCESS;

    if (n == 0 || !events)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < n; i++)
        if (!fake_is(events[i], FAKE_EVENT))
            return CL_INVALID_EVENT;
    for (cl_uint i = 0; i < n; i++)
        if (events[i]->context != events[0]->context)
            return CL_INVALID_CONTEXT;
    pthread_mutex_lock(&fake_lock);
    for (cl_uint i = 0; i < n; i++) {
        while (events[i]->status > CL_COMPLETE)
            pthread_cond_wait(&fake_changed, &fake_lock);
        if (events[i]->status < 0)
            code = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    pthread_mutex_unlock(&fake_lock);
    return code;
}

FAKE_API cl_int CL_API_CALL fake_clGetEventInfo(cl_event event, cl_event_info name, size_t room,
                                                void *ret_value, size_t *ret_size)
{
    cl_int status;

    if (!fake_is(event, FAKE_EVENT))
        return CL_INVALID_EVENT;
    switch (name) {
    case CL_EVENT_COMMAND_QUEUE:
        FAKE_ANSWER(cl_command_queue, event->queue);
    case CL_EVENT_COMMAND_TYPE:
        FAKE_ANSWER(cl_command_type, event->type);
    case CL_EVENT_CONTEXT:
        FAKE_ANSWER(cl_context, event->context);
    case CL_EVENT_REFERENCE_COUNT:
        FAKE_ANSWER(cl_uint, atomic_load(&event->object.refs));
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
        pthread_mutex_lock(&fake_lock);
        status = event->status;
        pthread_mutex_unlock(&fake_lock);
        FAKE_ANSWER(cl_int, status);
    default:
        return CL_INVALID_VALUE;
    }
}

FAKE_API cl_int CL_API_CALL fake_clGetEventProfilingInfo(cl_event event, cl_profiling_info name, size_t room,
                                                         void *ret_value, size_t *ret_size)
{
    bool complete;

    if (!fake_is(event, FAKE_EVENT))
        return CL_INVALID_EVENT;
    pthread_mutex_lock(&fake_lock);
    complete = event->status == CL_COMPLETE;
    pthread_mutex_unlock(&fake_lock);
    if (!event->queue || !(event->queue->properties & CL_QUEUE_PROFILING_ENABLE) || !complete)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    if (name < CL_PROFILING_COMMAND_QUEUED || name > CL_PROFILING_COMMAND_COMPLETE)
        return CL_INVALID_VALUE;
    if (name == CL_PROFILING_COMMAND_COMPLETE)
        name = CL_PROFILING_COMMAND_END;
    FAKE_ANSWER(cl_ulong, event->times[name - CL_PROFILING_COMMAND_QUEUED]);
}
