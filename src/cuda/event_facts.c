/* The records of events: beginning, end, and what is known beside the recordings. */
#include <stdlib.h>
#include <string.h>

#include "cuda/event_recording.h"
#include "cuda/front.h"
#include "cuda_abi/memory_abi.h"
#include "engine/handle_table.h"

static void keep(void *event)
{
    event_keep(event);
}

void events_init(void)
{
    handle_table_init(&cuda_front.events.table, keep);
}

struct event_record *event_find(CUevent handle)
{
    return handle ? handle_table_find(&cuda_front.events.table, handle) : NULL;
}

void event_keep(struct event_record *event)
{
    refs_keep(&event->refs);
}

void event_drop(struct event_record *event)
{
    if (!event || !refs_drop(&event->refs))
        return;
    pthread_mutex_destroy(&event->lock);
    free(event);
}

struct context_record *event_home(const struct event_record *event)
{
    return event && event->owner ? handle_table_find(&cuda_front.objects.contexts, event->owner) : NULL;
}

bool event_is_of(const struct event_record *event, const struct context_record *context)
{
    return event && event->owner == context->handle;
}

bool event_is_shared(const struct event_record *event)
{
    return event && atomic_load(&event->shared);
}

bool event_is_captured(const struct event_record *event)
{
    return event && atomic_load(&event->captured);
}

/* --- beginning --- */

/* What the table had of an event that ended with its context: the handle is another event's now. */
static void forget(CUevent handle)
{
    struct event_record *event = handle_table_remove(&cuda_front.events.table, handle);

    if (!event)
        return;
    pthread_mutex_lock(&event->lock);
    event_forget_recordings(event);
    pthread_mutex_unlock(&event->lock);
    event_drop(event);
}

/* A new event of the driver's; without memory for its record it ends at once. */
static CUresult begin(CUevent handle, CUcontext owner, bool shared)
{
    struct event_record *event = calloc(1, sizeof *event);

    forget(handle);
    if (event) {
        refs_init(&event->refs);
        event->handle = handle;
        event->owner = owner;
        atomic_init(&event->shared, shared);
        pthread_mutex_init(&event->lock, NULL);
        if (handle_table_put(&cuda_front.events.table, handle, event))
            return CUDA_SUCCESS;
        event_drop(event);
    }
    (void)cuda_front.genuine.cuEventDestroy_v2(handle);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult route_event_create(struct call *call)
{
    CUresult code = call_invoke(call);

    return code == CUDA_SUCCESS ? begin(*(CUevent *)call->args[0], context_current_handle(), false) : code;
}

/* --- end --- */

/* The driver may give the handle to another event from now on. */
static void end(struct event_record *event)
{
    event_drop(handle_table_remove(&cuda_front.events.table, event->handle));
}

void event_named_by_launch(struct event_record *event)
{
    pthread_mutex_lock(&cuda_front.events.lock);
    event->n_launches++;
    pthread_mutex_unlock(&cuda_front.events.lock);
}

/* What the last launch recorded may be waited for. */
static void end_late(struct event_record *event)
{
    struct context_record *context = event_home(event);
    struct context_visit visit;

    events_lock(&event, 1);
    event_forget_recordings(event);
    end(event);
    if (context)
        context_visit_begin(context, &visit);
    (void)cuda_front.genuine.cuEventDestroy_v2(event->handle);
    if (context)
        context_visit_end(&visit);
    events_unlock(&event, 1);
}

void event_not_named(struct event_record *event)
{
    bool over;

    pthread_mutex_lock(&cuda_front.events.lock);
    over = --event->n_launches == 0 && event->ends_late;
    event->ends_late = event->ends_late && !over;
    pthread_mutex_unlock(&cuda_front.events.lock);
    if (over)
        end_late(event);
}

enum ending { NOT_AGAIN, LATER, NOW };

static enum ending begin_end(struct event_record *event)
{
    enum ending ending;

    pthread_mutex_lock(&cuda_front.events.lock);
    ending = event->ended ? NOT_AGAIN : event->n_launches ? LATER : NOW;
    event->ended = true;
    event->ends_late = event->ends_late || ending == LATER;
    pthread_mutex_unlock(&cuda_front.events.lock);
    return ending;
}

/* If the driver refuses, and memory is short, the event is one that is not known. */
static void not_ended(struct event_record *event)
{
    pthread_mutex_lock(&cuda_front.events.lock);
    event->ended = false;
    pthread_mutex_unlock(&cuda_front.events.lock);
    event_keep(event);
    if (!handle_table_put(&cuda_front.events.table, event->handle, event))
        event_drop(event);
}

static CUresult destroy(const struct call *call, struct event_record *event)
{
    enum ending ending = begin_end(event);
    CUresult code = CUDA_SUCCESS;

    if (ending == NOT_AGAIN)
        return CUDA_ERROR_INVALID_HANDLE;
    if (ending == NOW) {
        end(event);
        code = call_invoke(call);
    }
    if (code == CUDA_SUCCESS)
        event_forget_recordings(event);
    else
        not_ended(event);
    return code;
}

CUresult route_event_destroy(struct call *call)
{
    struct event_record *event = event_find((CUevent)call->args[0]);
    CUresult code;

    if (!event)
        return call_invoke(call);
    events_lock(&event, 1);
    code = destroy(call, event);
    events_unlock(&event, 1);
    event_drop(event);
    return code;
}

/* --- between processes --- */

/*
 * cuIpcGetEventHandle(handle, event): the other process may look at once, so the driver has the
 * event's record first.
 */
CUresult route_share_event(struct call *call)
{
    struct event_record *event = event_find((CUevent)call->args[1]);
    struct recording *recording = event_newest(event);
    CUresult code;

    recording_await(recording);
    recording_drop(recording);
    event_await_launch(event);
    code = call_invoke(call);
    if (code == CUDA_SUCCESS && event)
        atomic_store(&event->shared, true);
    event_drop(event);
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
    return code == CUDA_SUCCESS ? begin(*event, NULL, true) : code;
}
