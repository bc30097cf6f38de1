/* Events of a whole context, and contexts that are counted (cuCtxAttach). */
#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_cpu/driver/capture.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/event.h"
#include "cuda_cpu/driver/handles.h"

DRIVER_EXPORT CUresult cuCtxRecordEvent(CUcontext context, CUevent event)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = context_choose(&context);
    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(event, HANDLE_EVENT) || event->context != context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (atomic_load(&context->n_capturing))
        return stream_spoil_captures(context);
    return event_record_context(event, context);
}

/* Is the event part of a capture in progress? If so, makes that capture invalid. */
static bool is_captured(CUevent event)
{
    bool is;

    pthread_mutex_lock(&driver.captures.lock);
    is = event->capture && !event->capture->over;
    if (is)
        event->capture->invalid = true;
    pthread_mutex_unlock(&driver.captures.lock);
    return is;
}

DRIVER_EXPORT CUresult cuCtxWaitEvent(CUcontext context, CUevent event)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = context_choose(&context);
    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(event, HANDLE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    if (is_captured(event))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (atomic_load(&context->n_capturing))
        return stream_spoil_captures(context);
    return event_await_context(event, context);
}

DRIVER_EXPORT CUresult cuCtxAttach(CUcontext *ret_context, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_context || flags)
        return CUDA_ERROR_INVALID_VALUE;
    atomic_fetch_add(&context_of_thread()->n_attached, 1);
    *ret_context = context_of_thread();
    return CUDA_SUCCESS;
}

/* The last detach ends the context, which must be current on the calling thread. */
DRIVER_EXPORT CUresult cuCtxDetach(CUcontext context)
{
    CUresult code = api_enter(__func__, API_READY);
    unsigned n;

    if (code != CUDA_SUCCESS)
        return code;
    if (!context || context_of_thread() != context || !context_is(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    n = atomic_load(&context->n_attached);
    while (n && !atomic_compare_exchange_weak(&context->n_attached, &n, n - 1))
        ;
    return n ? CUDA_SUCCESS : cuCtxDestroy_v2(context);
}
