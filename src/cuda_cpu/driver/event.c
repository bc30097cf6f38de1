#include "cuda_cpu/driver/event.h"

#include <stdlib.h>
#include <unistd.h>

#include "cuda_cpu/driver/capture.h"
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/event_page.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/shared_memory.h"

/*
 * With the event's lock held: the operation that waits for the latest record of any process. It is
 * the existing one if there is one, else a new one.
 */
static struct work *latest_of_all(CUevent event)
{
    uint64_t latest = atomic_load(&event->page->submitted);
    struct action *action;
    struct work *work;

    if (event_page_is_complete(event->page, latest, true))
        return NULL;
    if (event->record && event->awaited == latest)
        return work_ref(event->record);
    action = action_new(ACTION_AWAIT_PAGE);
    if (!action)
        return NULL;
    action->u.page.event = event_ref(event);
    action->u.page.record = latest;
    work = action_work(action, &event->context->work);
    if (!work || work_submit(work, NULL) < 0)
        return work;
    work_unref(event->record);
    event->record = work_ref(work);
    event->awaited = latest;
    return work;
}

struct work *event_latest(CUevent event)
{
    struct work *record;

    pthread_mutex_lock(&event->lock);
    record = event->page ? latest_of_all(event) : event->record ? work_ref(event->record) : NULL;
    pthread_mutex_unlock(&event->lock);
    return record;
}

/* Makes the end of the record known to all processes. */
static void publish(CUevent event, struct work *record)
{
    struct action *action = action_new(ACTION_PUBLISH);
    struct work *work;

    if (!action)
        return;
    action->u.page.event = event_ref(event);
    action->u.page.record = event_page_submit(event->page);
    work = action_work(action, &event->context->work);
    if (work && work_after(work, record) == 0)
        (void)work_submit(work, NULL);
    work_unref(work);
}

void event_set_latest(CUevent event, struct work *record)
{
    struct work *before;

    if (event->page) {
        if (record)
            publish(event, record);
        return;
    }

    pthread_mutex_lock(&event->lock);
    before = event->record;
    event->record = record ? work_ref(record) : NULL;
    pthread_mutex_unlock(&event->lock);
    work_unref(before);
}

/* With captures.lock held. */
static void forget_capture(CUevent event)
{
    if (!event->capture)
        return;
    node_set_done(event->nodes);
    free(event->nodes);
    event->nodes = NULL;
    capture_unref(event->capture);
    event->capture = NULL;
}

CUevent event_ref(CUevent event)
{
    atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
    return event;
}

void event_unref(CUevent event)
{
    if (!event || atomic_fetch_sub(&event->refs, 1) != 1)
        return;
    work_unref(event->record);
    if (event->page) {
        event_page_unmap(event->page);
        (void)close(event->file);
    }
    pthread_mutex_destroy(&event->lock);
    free(event);
}

void event_end(CUevent event)
{
    pthread_mutex_lock(&driver.captures.lock);
    forget_capture(event);
    pthread_mutex_unlock(&driver.captures.lock);
    event_unref(event);
}

void event_end_all(CUcontext context)
{
    CUevent event;

    while ((event = handle_take(context, HANDLE_EVENT)))
        event_end(event);
}

/* With captures.lock held: adds a node that does this at each launch of the graph. */
static CUresult capture_action(enum action_kind kind, CUevent event, struct stream *stream)
{
    struct action *action = action_new(kind);

    if (!action)
        return CUDA_ERROR_OUT_OF_MEMORY;
    action->u.event.event = event_ref(event);
    return capture_add(stream, capture_type(action), action);
}

/*
 * With captures.lock held, in a capturing stream: the event then marks what the stream has
 * captured.
 */
static CUresult record_captured(CUevent event, struct stream *stream)
{
    CUresult code = capture_check(stream);
    struct node_set *nodes;

    if (code != CUDA_SUCCESS)
        return code;
    nodes = calloc(1, sizeof *nodes);
    if (!nodes || !node_set_add_all(nodes, stream->after)) {
        if (nodes)
            node_set_done(nodes);
        free(nodes);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    forget_capture(event);
    event->nodes = nodes;
    event->capture = stream->capture;
    atomic_fetch_add(&event->capture->refs, 1);
    event_set_latest(event, NULL);
    return CUDA_SUCCESS;
}

static CUresult record_now(CUevent event, struct stream *stream)
{
    struct action *action = action_new(ACTION_RECORD);
    struct work *work = action ? action_work(action, &stream->context->work) : NULL;
    CUresult code = CUDA_SUCCESS;

    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (work_submit(work, stream->work) < 0)
        code = CUDA_ERROR_OUT_OF_MEMORY;
    else
        event_set_latest(event, work);
    work_unref(work);
    return code;
}

CUresult event_record(CUevent event, struct stream *stream, bool external)
{
    CUresult code = CUDA_SUCCESS;
    bool captured = false;

    pthread_mutex_lock(&driver.captures.lock);
    if (stream->capture) {
        captured = true;
        code = external ? capture_action(ACTION_RECORD, event, stream) : record_captured(event, stream);
    } else if (capture_spoil_legacy(stream)) {
        code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    } else {
        forget_capture(event);
    }
    pthread_mutex_unlock(&driver.captures.lock);
    return captured || code != CUDA_SUCCESS ? code : record_now(event, stream);
}

/* With captures.lock held: the stream joins the event's capture, unless it is in it. */
static CUresult await_captured(CUevent event, struct stream *stream)
{
    if (event->capture->over || event->capture->invalid)
        return capture_spoil(stream, event->capture->over ? CUDA_ERROR_CAPTURED_EVENT
                                                          : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (stream->work->legacy) {
        event->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream->capture && stream->capture != event->capture) {
        event->capture->invalid = true;
        return capture_spoil(stream, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (!stream->capture) {
        stream->after = calloc(1, sizeof *stream->after);
        if (!stream->after)
            return CUDA_ERROR_OUT_OF_MEMORY;
        stream->capture = event->capture;
        atomic_fetch_add(&stream->capture->refs, 1);
        atomic_fetch_add(&stream->context->n_capturing, 1);
    }
    return node_set_add_all(stream->after, event->nodes) ? CUDA_SUCCESS
                                                         : capture_spoil(stream, CUDA_ERROR_OUT_OF_MEMORY);
}

static CUresult await_now(CUevent event, struct stream *stream)
{
    struct work *record = event_latest(event);
    struct action *action;
    struct work *work;
    CUresult code = CUDA_SUCCESS;

    if (!record || work_is_done(record)) {
        work_unref(record);
        return CUDA_SUCCESS;
    }
    action = action_new(ACTION_AWAIT);
    work = action ? action_work(action, &stream->context->work) : NULL;
    if (!work || work_after(work, record) < 0 || work_submit(work, stream->work) < 0)
        code = CUDA_ERROR_OUT_OF_MEMORY;
    work_unref(work);
    work_unref(record);
    return code;
}

CUresult event_await(CUevent event, struct stream *stream, bool external)
{
    CUresult code = CUDA_SUCCESS;
    bool captured = false;

    pthread_mutex_lock(&driver.captures.lock);
    if (stream->capture && external) {
        captured = true;
        code = capture_action(ACTION_AWAIT, event, stream);
    } else if (event->capture) {
        captured = true;
        code = await_captured(event, stream);
    } else if (stream->capture) {
        captured = true;
        code = capture_check(stream);
        if (code == CUDA_SUCCESS) /* the stream would wait for work outside its capture */
            code = capture_spoil(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    } else if (capture_spoil_legacy(stream)) {
        code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    pthread_mutex_unlock(&driver.captures.lock);
    return captured || code != CUDA_SUCCESS ? code : await_now(event, stream);
}

CUresult event_record_work(CUevent event, struct work *record)
{
    if (work_submit(record, NULL) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&driver.captures.lock);
    forget_capture(event);
    pthread_mutex_unlock(&driver.captures.lock);
    event_set_latest(event, record);
    return CUDA_SUCCESS;
}

CUresult event_record_context(CUevent event, CUcontext context)
{
    struct action *action = action_new(ACTION_RECORD);
    struct work *work = action ? action_work(action, &context->work) : NULL;
    CUresult code = !work || work_after_context(work, &context->work) < 0 ? CUDA_ERROR_OUT_OF_MEMORY
                                                                          : event_record_work(event, work);

    work_unref(work);
    return code;
}

CUresult event_await_context(CUevent event, CUcontext context)
{
    struct work *record = event_latest(event), *work = NULL;
    struct action *action;
    CUresult code = CUDA_SUCCESS;

    if (record && !work_is_done(record)) {
        action = action_new(ACTION_AWAIT);
        work = action ? action_work(action, &context->work) : NULL;
        if (!work || work_after(work, record) < 0 || work_gate_context(&context->work, work) < 0 ||
            work_submit(work, NULL) < 0)
            code = CUDA_ERROR_OUT_OF_MEMORY;
    }
    work_unref(work);
    work_unref(record);
    return code;
}

CUresult event_new(unsigned flags, int file, CUevent *ret_event)
{
    CUevent event = calloc(1, sizeof *event);

    if (event && file >= 0)
        event->page = event_page_map(file);
    if (!event || (file >= 0 && !event->page) || !handle_put(event, HANDLE_EVENT, context_of_thread())) {
        if (event)
            event_page_unmap(event->page);
        free(event);
        if (file >= 0)
            (void)close(file);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->refs = 1;
    pthread_mutex_init(&event->lock, NULL);
    event->context = context_of_thread();
    event->flags = flags;
    event->file = file;
    *ret_event = event;
    return CUDA_SUCCESS;
}

/* --- calls --- */

DRIVER_EXPORT CUresult cuEventCreate(CUevent *ret_event, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    int file = -1;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_event || flags > 7 || ((flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS)
        file = share_new(context_of_thread()->work.device, EVENT_PAGE_BYTES);
    return (flags & CU_EVENT_INTERPROCESS) && file < 0 ? CUDA_ERROR_OUT_OF_MEMORY
                                                       : event_new(flags, file, ret_event);
}

DRIVER_EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_remove(event, HANDLE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    event_end(event);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code != CUDA_SUCCESS)
        return code;
    if (flags > CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    code = stream_named(handle, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(event, HANDLE_EVENT) || event->context != stream->context)
        return CUDA_ERROR_INVALID_HANDLE;
    return event_record(event, stream, flags & CU_EVENT_RECORD_EXTERNAL);
}

DRIVER_EXPORT CUresult cuEventRecord(CUevent event, CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    return code != CUDA_SUCCESS ? code : cuEventRecordWithFlags(event, handle, 0);
}

/* The latest record as a reference in *ret_record, NULL when there is none. */
static CUresult find_record(const char *name, CUevent event, struct work **ret_record)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(event, HANDLE_EVENT))
        return CUDA_ERROR_INVALID_HANDLE;
    pthread_mutex_lock(&driver.captures.lock);
    if (event->capture) {
        event->capture->invalid = event->capture->invalid || !event->capture->over;
        code = CUDA_ERROR_CAPTURED_EVENT;
    }
    pthread_mutex_unlock(&driver.captures.lock);
    if (code == CUDA_SUCCESS)
        *ret_record = event_latest(event);
    return code;
}

DRIVER_EXPORT CUresult cuEventQuery(CUevent event)
{
    struct work *record = NULL;
    CUresult code = find_record(__func__, event, &record);

    if (code == CUDA_SUCCESS && record)
        code = !work_is_done(record) ? CUDA_ERROR_NOT_READY : record->status;
    work_unref(record);
    return code;
}

DRIVER_EXPORT CUresult cuEventSynchronize(CUevent event)
{
    struct work *record = NULL;
    CUresult code = find_record(__func__, event, &record);

    if (code == CUDA_SUCCESS && record)
        code = work_wait(record);
    work_unref(record);
    return code;
}

DRIVER_EXPORT CUresult cuEventElapsedTime_v2(float *ret_ms, CUevent begin, CUevent end)
{
    struct work *first = NULL, *last = NULL;
    CUresult code = find_record(__func__, begin, &first);

    if (code == CUDA_SUCCESS)
        code = find_record(__func__, end, &last);
    if (code == CUDA_SUCCESS && !ret_ms)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && (!first || !last || (begin->flags & CU_EVENT_DISABLE_TIMING) ||
                                 (end->flags & CU_EVENT_DISABLE_TIMING)))
        code = CUDA_ERROR_INVALID_HANDLE;
    if (code == CUDA_SUCCESS && (!work_is_done(first) || !work_is_done(last)))
        code = CUDA_ERROR_NOT_READY;
    if (code == CUDA_SUCCESS)
        *ret_ms = (float)((double)(last->end_at - first->end_at) / (double)NSEC_PER_MS);
    work_unref(first);
    work_unref(last);
    return code;
}

DRIVER_EXPORT CUresult cuEventElapsedTime(float *ret_ms, CUevent begin, CUevent end)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    return code != CUDA_SUCCESS ? code : cuEventElapsedTime_v2(ret_ms, begin, end);
}
