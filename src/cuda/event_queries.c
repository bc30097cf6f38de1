/* Calls that look at events, or wait for them on the host. */
#include "cuda/event_recording.h"
#include "cuda/front.h"
#include "engine/inferred_job.h"

/* Is the event's newest record held back? NULL: no. */
static bool is_held(struct event_record *event)
{
    struct recording *newest = event_newest(event);
    bool held = recording_is_held(newest);

    recording_drop(newest);
    return held;
}

/* The driver's answer, or else a failure of what was held back in the event's context. */
static CUresult answer(const struct event_record *event, CUresult code)
{
    struct context_record *context = code == CUDA_SUCCESS ? event_home(event) : NULL;

    return context ? context_take_late(context) : code;
}

CUresult route_event_query(struct call *call)
{
    struct event_record *event = event_find((CUevent)call->args[0]);
    CUresult code = is_held(event) ? CUDA_ERROR_NOT_READY : call_invoke(call);

    if (code == CUDA_SUCCESS)
        inferred_job_waited();
    code = answer(event, code);
    event_drop(event);
    return code;
}

/* For the record of now; the event may get another one while this thread waits. */
static CUresult await(struct call *call, struct recording *recording)
{
    CUevent place;

    if (!recording)
        return call_invoke(call);
    recording_await(recording);
    place = recording_begin(recording);
    recording_end(recording);
    call->args[0] = (uint64_t)place;
    return place ? call_invoke(call) : CUDA_SUCCESS;
}

CUresult route_event_synchronize(struct call *call)
{
    struct event_record *event = event_find((CUevent)call->args[0]);
    struct recording *recording = event_newest(event);
    CUresult code = await(call, recording);

    recording_drop(recording);
    inferred_job_waited();
    code = answer(event, code);
    event_drop(event);
    return code;
}

CUresult route_event_elapsed(struct call *call)
{
    bool held = false;

    for (int i = 1; i < 3; i++) {
        struct event_record *event = event_find((CUevent)call->args[i]);

        held = held || is_held(event);
        event_drop(event);
    }
    return held ? CUDA_ERROR_NOT_READY : call_invoke(call);
}
