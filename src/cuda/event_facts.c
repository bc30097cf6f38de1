/* What is known of the program's events beside their records. */
#include <string.h>

#include "cuda/events_private.h"
#include "cuda/front.h"
#include "cuda/graph_order.h"
#include "cuda_abi/memory_abi.h"
#include "engine/handle_table.h"

CUresult route_event_create(struct call *call)
{
    CUresult code = call_invoke(call);
    CUcontext owner = NULL;

    if (code == CUDA_SUCCESS && cuda_front.genuine.cuCtxGetCurrent(&owner) == CUDA_SUCCESS && owner)
        (void)handle_table_put(&cuda_front.events.owners, *(CUevent *)call->args[0], owner);
    return code;
}

struct context_record *event_home(CUevent event)
{
    CUcontext owner = event ? handle_table_find(&cuda_front.events.owners, event) : NULL;

    return owner ? handle_table_find(&cuda_front.objects.contexts, owner) : NULL;
}

bool event_is_known(CUevent event)
{
    return event && handle_table_find(&cuda_front.events.owners, event);
}

bool event_is_of(CUevent event, const struct context_record *context)
{
    return event && handle_table_find(&cuda_front.events.owners, event) == (void *)context->handle;
}

bool event_is_shared(CUevent event)
{
    return atomic_load_explicit(&cuda_front.events.any_shared, memory_order_relaxed) && event &&
           handle_table_find(&cuda_front.events.shared, event);
}

/* --- in captures --- */

bool event_is_captured(CUevent event)
{
    return atomic_load_explicit(&cuda_front.events.any_captured, memory_order_relaxed) && event &&
           handle_table_find(&cuda_front.events.captured, event);
}

void event_set_captured(CUevent event)
{
    if (event && handle_table_put(&cuda_front.events.captured, event, event))
        atomic_store(&cuda_front.events.any_captured, true);
}

void event_forget_captured(CUevent event)
{
    if (atomic_load_explicit(&cuda_front.events.any_captured, memory_order_relaxed))
        (void)handle_table_remove(&cuda_front.events.captured, event);
}

/* --- between processes --- */

static void share(CUevent event)
{
    if (handle_table_put(&cuda_front.events.shared, event, event))
        atomic_store(&cuda_front.events.any_shared, true);
}

/*
 * cuIpcGetEventHandle(handle, event): the other process may look at once, so the driver has the
 * event's record first.
 */
CUresult route_share_event(struct call *call)
{
    struct recording *recording =
        call->args[1] ? handle_table_find(&cuda_front.events.table, (CUevent)call->args[1]) : NULL;
    CUresult code;

    if (graphs_may_record((CUevent)call->args[1]))
        objects_drain();
    recording_await(recording);
    recording_drop(recording);
    code = call_invoke(call);
    if (code == CUDA_SUCCESS)
        share((CUevent)call->args[1]);
    return code;
}

/* cuIpcOpenEventHandle(event, handle): the handle is a struct of 64 bytes, on the stack. */
CUresult route_open_event(struct call *call)
{
    CUresult (*function)(CUevent *, CUipcEventHandle);
    CUevent *event = (CUevent *)call->args[0];
    CUipcEventHandle handle;
    CUresult code;

    *(void **)&function = call->genuine;
    memcpy(&handle, &call->args[6], sizeof handle);
    code = function(event, handle);
    if (code == CUDA_SUCCESS)
        share(*event);
    return code;
}
