/* Calls that look at streams and contexts, wait for them, or end them. */
#include <string.h>

#include "cuda/context_gates.h"
#include "cuda/front.h"
#include "cuda/mark.h"
#include "cuda/migrate/migrate.h"
#include "cuda/objects.h"
#include "cuda/submit.h"
#include "engine/graph.h"
#include "engine/inferred_job.h"

CUresult route_stream_query(struct call *call)
{
    struct stream_record *stream = stream_of_call(call);
    uint64_t place;
    CUresult code;

    if (!stream)
        return call_invoke(call);
    place = mark_place(stream->context);
    if (!stream_captures(stream) && !stream_unhindered(stream)) {
        code = CUDA_ERROR_NOT_READY;
    } else {
        if (!stream_captures(stream))
            stream_name(stream, call);
        code = call_invoke(call);
    }
    if (code == CUDA_SUCCESS) {
        mark_passed(stream->context, stream, place);
        inferred_job_waited();
        code = context_take_late(stream->context);
    }
    stream_drop(stream);
    return code;
}

/*
 * Nothing is held back: the driver waits for the stream, or for all of the context if it is NULL.
 * Its answer, or else a failure of what was held back.
 */
static CUresult wait_in_driver(struct call *call, struct context_record *context,
                               const struct stream_record *stream)
{
    uint64_t place = mark_place(context);
    CUresult late = CUDA_SUCCESS, code = call_invoke(call);

    if (code == CUDA_SUCCESS)
        mark_passed(context, stream, place);
    inferred_job_waited();
    if (code == CUDA_SUCCESS)
        late = context_take_late(context);
    return late != CUDA_SUCCESS ? late : code;
}

CUresult route_stream_synchronize(struct call *call)
{
    struct stream_record *stream = stream_of_call(call);
    CUresult code;

    if (!stream || stream_captures(stream)) {
        stream_drop(stream);
        return call_invoke(call);
    }
    stream_await(stream);
    stream_name(stream, call);
    code = wait_in_driver(call, stream->context, stream);
    stream_drop(stream);
    return code;
}

/* The stream goes; what it still has in flight must be known by an event. */
static CUresult destroy_now(struct call *call, struct stream_record *stream, bool captured)
{
    CUstream handle = stream->handle;

    if (!captured)
        mark_close(stream);
    stream_drop(stream);
    stream_forget(handle); /* before the driver can give the handle to another stream */
    return call_invoke(call);
}

/* What it is, is known from here. Later the driver may not tell. */
CUresult route_stream_create(struct call *call)
{
    CUresult code = call_invoke(call);

    if (code == CUDA_SUCCESS)
        stream_made(*(CUstream *)call->args[0], (unsigned)call->args[1]);
    return code;
}

CUresult route_stream_destroy(struct call *call)
{
    CUstream handle = (CUstream)call->args[0];
    struct stream_record *stream;
    struct cuda_command draft;

    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return call_invoke(call);
    stream = stream_of_call(call);
    if (!stream)
        return call_invoke(call);
    submit_draft(&draft, call, stream);
    if (draft.captured || front_is_whole() || stream_unhindered(stream))
        return destroy_now(call, stream, draft.captured);
    (void)stream_doom(stream);
    draft.kind = COMMAND_DESTROY;
    draft.valid = true;
    return submit(&draft, false, NULL); /* behind what is held back */
}

/*
 * A drained call with a stream. What the driver has of a thread's own default stream is in the
 * stream that stands in, so the call goes there as well.
 */
CUresult route_in_stream(struct call *call)
{
    struct stream_record *stream;

    objects_drain();
    objects_close_marks();
    stream = stream_of_call(call);
    if (stream && !stream_captures(stream))
        stream_name(stream, call);
    stream_drop(stream);
    return call_invoke(call);
}

/*
 * What is held back must not become part of the capture. The driver may still wait for the host in
 * the stream. Other streams may enter the capture later, and an event of ours in the legacy stream
 * would break it. So all marks get their events first (mark.h).
 */
CUresult route_capture(struct call *call)
{
    struct stream_record *stream = stream_of_call(call);
    CUresult code;

    if (stream)
        stream_wait_given(stream);
    if (capture_counts())
        objects_close_marks();
    code = call_invoke(call);
    capture_counted(stream, code == CUDA_SUCCESS);
    stream_drop(stream);
    return code;
}

/* An end that the driver refuses because of the wrong thread or stream leaves the capture. */
CUresult route_capture_end(struct call *call)
{
    struct stream_record *stream;
    CUresult code = call_invoke(call);

    if (code == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD || code == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED ||
        code == CUDA_ERROR_INVALID_VALUE || code == CUDA_ERROR_ILLEGAL_STATE ||
        code == CUDA_ERROR_INVALID_HANDLE)
        return code;
    stream = stream_of_call(call);
    capture_over(stream);
    stream_drop(stream);
    return code;
}

CUresult route_context_synchronize(struct call *call)
{
    struct context_record *context =
        call->entry->arguments && call->args[0] ? context_find((CUcontext)call->args[0]) : context_current();

    if (!context)
        return call_invoke(call);
    context_await(context);
    return wait_in_driver(call, context, NULL);
}

/* --- beginnings and ends --- */

/*
 * What ends is forgotten before the driver's call. After the call, another thread may be given the
 * same handle for something new, and no mark of the context may be asked about. If the driver
 * refuses, the next use of the handle makes a new record.
 */

/* How often the program holds the primary context of a device. NULL: no such device. */
static atomic_int *retained(CUdevice device)
{
    return device >= 0 && device < DEVICE_MOST ? &cuda_front.retained[device] : NULL;
}

/* May the program have no context on the device? A number of no device is left to the driver. */
static bool is_barred(CUdevice number)
{
    struct device_record *device;
    int n = DEVICE_MOST;

    if (runtime_off())
        return false;
    if (runtime_refused())
        return true;
    if (!runtime_session() || !session_has_tokens(runtime_session()))
        return false;
    (void)cuda_front.genuine.cuDeviceGetCount(&n);
    if (number < 0 || number >= n)
        return false;
    device = device_record_find(number);
    return !device || !engine_device_admit(&device->base);
}

/* A green context, which retains the primary one, or one for graphics: the device is the third. */
CUresult route_context_special(struct call *call)
{
    return is_barred((CUdevice)call->args[2]) ? CUDA_ERROR_DEVICE_UNAVAILABLE : call_invoke(call);
}

/* In every version the first argument is where the context goes, and the last is the device. */
CUresult route_context_make(struct call *call)
{
    bool retains = strcmp(call->entry->base, "cuDevicePrimaryCtxRetain") == 0;
    CUresult code = is_barred((CUdevice)call->args[call->entry->arguments - 1])
                        ? CUDA_ERROR_DEVICE_UNAVAILABLE
                        : call_invoke(call);

    if (code != CUDA_SUCCESS)
        return code;
    if (retains && retained((CUdevice)call->args[1]))
        atomic_fetch_add(retained((CUdevice)call->args[1]), 1);
    migrate_context_made(*(CUcontext *)call->args[0]);
    return code;
}

/* cuCtxAttach(context, flags) of the current context: as many detachments do not end it. */
CUresult route_context_attach(struct call *call)
{
    struct context_record *context = context_current();
    CUresult code = call_invoke(call);

    if (code == CUDA_SUCCESS && context)
        atomic_fetch_add(&context->n_attached, 1);
    return code;
}

CUresult route_context_detach(struct call *call)
{
    struct context_record *context = context_current();
    CUresult code;

    if (!context || context->handle != (CUcontext)call->args[0]) /* the driver refuses it */
        return call_invoke(call);
    if (atomic_load(&context->n_attached) == 0)
        return route_context_end(call);
    objects_drain();
    code = call_invoke(call);
    if (code == CUDA_SUCCESS)
        atomic_fetch_sub(&context->n_attached, 1);
    return code;
}

CUresult route_context_end(struct call *call)
{
    CUresult code;

    objects_drain();
    gates_hand_over(true);
    if (call->args[0])
        context_forget((CUcontext)call->args[0]);
    code = call_invoke(call);
    if (code == CUDA_SUCCESS && call->args[0])
        migrate_context_ended((CUcontext)call->args[0]);
    return code;
}

/* Does this release end the context? Front and program hold that of a program which follows. */
static bool is_last(CUdevice device)
{
    return !migrate_on() && retained(device) && atomic_load(retained(device)) == 1;
}

static void released(CUdevice device)
{
    if (retained(device) && atomic_fetch_sub(retained(device), 1) <= 0)
        atomic_store(retained(device), 0);
}

/* A reset ends all that the context has; the context itself, with the same handle, may stay. */
CUresult route_primary_end(struct call *call)
{
    bool resets = strcmp(call->entry->base, "cuDevicePrimaryCtxReset") == 0;
    CUdevice device = (CUdevice)call->args[0];
    CUcontext context;
    bool forgotten;
    CUresult code;

    objects_drain();
    gates_hand_over(true);
    context = context_primary(device);
    forgotten = context && (resets || is_last(device));
    if (forgotten)
        context_forget(context);
    code = call_invoke(call);
    if (code == CUDA_SUCCESS && !resets)
        released(device);
    if (!context || !((resets && code == CUDA_SUCCESS) || !context_primary(device)))
        return code;
    if (!forgotten) /* some of its holds were not seen */
        context_forget(context);
    migrate_context_ended(context);
    return code;
}
