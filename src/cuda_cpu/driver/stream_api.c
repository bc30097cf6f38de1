/* The calls that create, query and wait for streams. */
#include <stdlib.h>

#include "cuda_cpu/driver/capture.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/event.h"
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/handles.h"

DRIVER_EXPORT CUresult cuStreamCreateWithPriority(CUstream *ret_stream, unsigned int flags, int priority)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_stream || flags > CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    priority = priority > 0 ? 0 : priority < STREAM_MOST_URGENT ? STREAM_MOST_URGENT : priority;
    stream = stream_make(context_of_thread(), NULL, flags, priority);
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *ret_stream = stream->handle;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuStreamCreate(CUstream *ret_stream, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    return code != CUDA_SUCCESS ? code : cuStreamCreateWithPriority(ret_stream, flags, 0);
}

DRIVER_EXPORT CUresult cuStreamDestroy_v2(CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_remove(handle, HANDLE_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    stream_free((struct stream *)(void *)handle);
    return CUDA_SUCCESS;
}

/*
 * For a call that looks at the stream: refused while the stream captures, or while its order
 * depends on a capture.
 */
static CUresult find_to_look(const char *name, CUstream handle, struct stream **ret_stream)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code == CUDA_SUCCESS)
        code = stream_named(handle, ret_stream);
    if (code != CUDA_SUCCESS || !atomic_load(&(*ret_stream)->context->n_capturing))
        return code;
    pthread_mutex_lock(&driver.captures.lock);
    if ((*ret_stream)->capture)
        code = capture_spoil(*ret_stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    else if (capture_spoil_legacy(*ret_stream))
        code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    pthread_mutex_unlock(&driver.captures.lock);
    return code;
}

DRIVER_EXPORT CUresult cuStreamSynchronize(CUstream handle)
{
    struct stream *stream = NULL;
    CUresult code = find_to_look(__func__, handle, &stream);

    return code != CUDA_SUCCESS ? code : work_wait_stream(stream->work);
}

DRIVER_EXPORT CUresult cuStreamQuery(CUstream handle)
{
    struct stream *stream = NULL;
    CUresult code = find_to_look(__func__, handle, &stream);

    return code != CUDA_SUCCESS ? code : work_query_stream(stream->work);
}

DRIVER_EXPORT CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code != CUDA_SUCCESS)
        return code;
    if (flags > CU_EVENT_WAIT_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    code = stream_named(handle, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(event, HANDLE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    return event_await(event, stream, flags & CU_EVENT_WAIT_EXTERNAL);
}

DRIVER_EXPORT CUresult cuLaunchHostFunc(CUstream handle, CUhostFn run, void *user)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;
    struct action *action;

    if (code != CUDA_SUCCESS)
        return code;
    if (!run)
        return CUDA_ERROR_INVALID_VALUE;
    code = stream_named(handle, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    action = action_new(ACTION_HOST);
    if (!action)
        return CUDA_ERROR_OUT_OF_MEMORY;
    action->u.host.run = run;
    action->u.host.user = user;
    return stream_do(stream, action, false);
}

DRIVER_EXPORT CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback run, void *user,
                                           unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;
    struct action *action;

    if (code != CUDA_SUCCESS)
        return code;
    if (!run || flags)
        return CUDA_ERROR_INVALID_VALUE;
    code = stream_named(handle, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    action = action_new(ACTION_CALLBACK);
    if (!action)
        return CUDA_ERROR_OUT_OF_MEMORY;
    action->u.callback.run = run;
    action->u.callback.stream = handle;
    action->u.callback.user = user;
    return stream_do(stream, action, false);
}

/* --- questions --- */

static CUresult find_to_ask(const char *name, CUstream handle, const void *answer, struct stream **ret_stream)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    return answer ? stream_named(handle, ret_stream) : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuStreamGetFlags(CUstream handle, unsigned int *ret_flags)
{
    struct stream *stream = NULL;
    CUresult code = find_to_ask(__func__, handle, ret_flags, &stream);

    if (code == CUDA_SUCCESS)
        *ret_flags = stream->work->flags;
    return code;
}

DRIVER_EXPORT CUresult cuStreamGetPriority(CUstream handle, int *ret_priority)
{
    struct stream *stream = NULL;
    CUresult code = find_to_ask(__func__, handle, ret_priority, &stream);

    if (code == CUDA_SUCCESS)
        *ret_priority = stream->work->priority;
    return code;
}

DRIVER_EXPORT CUresult cuStreamGetId(CUstream handle, unsigned long long *ret_id)
{
    struct stream *stream = NULL;
    CUresult code = find_to_ask(__func__, handle, ret_id, &stream);

    if (code == CUDA_SUCCESS)
        *ret_id = stream->id;
    return code;
}

DRIVER_EXPORT CUresult cuStreamGetCtx(CUstream handle, CUcontext *ret_context)
{
    struct stream *stream = NULL;
    CUresult code = find_to_ask(__func__, handle, ret_context, &stream);

    if (code == CUDA_SUCCESS)
        *ret_context = stream->context;
    return code;
}

/* *ret_green: the stream's green context; NULL if it has none. */
DRIVER_EXPORT CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *ret_context, void **ret_green)
{
    struct stream *stream = NULL;
    CUresult code = find_to_ask(__func__, handle, ret_context, &stream);

    if (code != CUDA_SUCCESS)
        return code;
    *ret_context = stream->context;
    if (ret_green)
        *ret_green = stream->green;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuStreamGetDevice(CUstream handle, CUdevice *ret_device)
{
    struct stream *stream = NULL;
    CUresult code = find_to_ask(__func__, handle, ret_device, &stream);

    if (code == CUDA_SUCCESS)
        *ret_device = stream->context->work.device;
    return code;
}
