/* Calls that look at events, or wait for them on the host. */
#include "cuda/events_private.h"
#include "cuda/front.h"
#include "engine/inferred_job.h"

/* The driver's answer, or else a failure of what was held back in the event's context. */
static CUresult answer(CUevent event, CUresult code)
{
    struct context_record *context = event_home(event);

    return code == CUDA_SUCCESS && context ? context_take_late(context) : code;
}

CUresult route_event_query(struct call *call)
{
    struct recording *recording =
        call->args[0] ? handle_table_find(&cuda_front.events.table, (CUevent)call->args[0]) : NULL;
    bool held = recording_is_held(recording) || graphs_may_record((CUevent)call->args[0]);
    CUresult code = held ? CUDA_ERROR_NOT_READY : call_invoke(call);

    recording_drop(recording);
    if (code == CUDA_SUCCESS)
        inferred_job_waited();
    return answer((CUevent)call->args[0], code);
}

CUresult route_event_synchronize(struct call *call)
{
    struct recording *recording =
        call->args[0] ? handle_table_find(&cuda_front.events.table, (CUevent)call->args[0]) : NULL;
    CUresult code;

    recording_await(recording);
    recording_drop(recording);
    if (graphs_may_record((CUevent)call->args[0]))
        objects_drain();
    code = call_invoke(call);
    inferred_job_waited();
    return answer((CUevent)call->args[0], code);
}

CUresult route_event_elapsed(struct call *call)
{
    bool held = false;

    if (graphs_may_record((CUevent)call->args[1]) || graphs_may_record((CUevent)call->args[2]))
        objects_drain();
    for (int i = 1; i < 3; i++) {
        struct recording *recording =
            call->args[i] ? handle_table_find(&cuda_front.events.table, (CUevent)call->args[i]) : NULL;

        held = held || recording_is_held(recording);
        recording_drop(recording);
    }
    return held ? CUDA_ERROR_NOT_READY : call_invoke(call);
}
