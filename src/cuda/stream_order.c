/* What must not overtake what, and waiting for it; visits of contexts. */
#include "cuda/context_gates.h"
#include "cuda/cuda_kinds.h"
#include "cuda/front.h"
#include "cuda/mark.h"
#include "cuda/objects.h"
#include "engine/graph.h"
#include "engine/runtime.h"

/* Under the context's lock. */
static struct stream_record *next_blocking(struct context_record *context, struct stream_record *after)
{
    struct list *at = after ? after->link.next : context->streams.next;

    for (; at != &context->streams; at = at->next) {
        struct stream_record *stream = list_entry(at, struct stream_record, link);

        if (stream->blocking)
            return stream;
    }
    return NULL;
}

bool stream_unhindered(struct stream_record *stream)
{
    struct context_record *context = stream->context;
    bool idle = command_queue_idle(&stream->queue);

    if (!idle || stream->kind != STREAM_LEGACY)
        return idle && (!stream->blocking || command_queue_idle(&context->legacy.queue));
    if (atomic_load_explicit(&context->n_streams, memory_order_acquire) == 0)
        return true;
    pthread_mutex_lock(&context->lock);
    for (struct stream_record *at = NULL; idle && (at = next_blocking(context, at));)
        idle = command_queue_idle(&at->queue);
    pthread_mutex_unlock(&context->lock);
    return idle;
}

bool stream_others_change(struct stream_record *legacy, enum engine_kind kind)
{
    struct context_record *context = legacy->context;
    bool changes = false;

    pthread_mutex_lock(&context->lock);
    for (struct stream_record *at = NULL; !changes && (at = next_blocking(context, at));)
        changes = command_queue_changes(&at->queue, kind);
    pthread_mutex_unlock(&context->lock);
    return changes;
}

void stream_waits(struct stream_record *stream)
{
    atomic_store_explicit(&stream->queue.works_on, QUEUE_ON_SEVERAL, memory_order_relaxed);
}

void objects_wait(void)
{
    struct context_record *context = NULL;

    while ((context = objects_next_context(context))) {
        atomic_store(&context->waits, true);
        stream_waits(&context->legacy);
        pthread_mutex_lock(&context->lock);
        list_for_each(at, &context->streams) stream_waits(list_entry(at, struct stream_record, link));
        pthread_mutex_unlock(&context->lock);
    }
}

/*
 * The same with a reference, for a thread that may sleep in between; drops that of `after`, which
 * stays in the list until then.
 */
static struct stream_record *take_next_blocking(struct context_record *context, struct stream_record *after)
{
    struct stream_record *next;

    pthread_mutex_lock(&context->lock);
    next = next_blocking(context, after);
    if (next)
        stream_keep(next);
    pthread_mutex_unlock(&context->lock);
    stream_drop(after);
    return next;
}

void stream_add_waits(struct stream_record *stream, struct command *command)
{
    struct context_record *context = stream->context;

    if (stream->kind != STREAM_LEGACY) {
        if (stream->blocking)
            graph_wait_last(command, &context->legacy.queue);
        return;
    }
    for (struct stream_record *at = NULL; (at = take_next_blocking(context, at));)
        graph_wait_last(command, &at->queue);
}

enum { AWAITED = 64 };

/*
 * Copies references to the context's streams that are to be waited for, as many as fit; the legacy
 * stream is not among them.
 */
static size_t copy_streams(struct context_record *context, bool blocking_only, bool complete,
                           struct stream_record *streams[static AWAITED])
{
    size_t n = 0;

    pthread_mutex_lock(&context->lock);
    list_for_each(at, &context->streams)
    {
        struct stream_record *stream = list_entry(at, struct stream_record, link);

        if (n == AWAITED)
            break;
        if ((blocking_only && !stream->blocking) || graph_queue_over(&stream->queue, complete))
            continue;
        stream_keep(stream);
        streams[n++] = stream;
    }
    pthread_mutex_unlock(&context->lock);
    return n;
}

/* Waits for the queues of several streams, again while there are more than fit. */
static void await_streams(struct context_record *context, bool blocking_only, bool complete)
{
    struct stream_record *streams[AWAITED];
    size_t n;

    do {
        n = copy_streams(context, blocking_only, complete, streams);
        for (size_t i = 0; i < n; i++) {
            graph_wait_queue(&streams[i]->queue, complete);
            stream_drop(streams[i]);
        }
    } while (n == AWAITED && !runtime_off());
    graph_wait_queue(&context->legacy.queue, complete);
}

void stream_wait_turn(struct stream_record *stream)
{
    graph_wait_queue(&stream->queue, false);
    if (stream->kind == STREAM_LEGACY)
        await_streams(stream->context, true, false);
    else if (stream->blocking)
        graph_wait_queue(&stream->context->legacy.queue, false);
}

/* With a reference: the newest command that the driver lacks, but for fences; NULL: none. */
static struct command *newest_not_given(const struct stream_record *stream)
{
    struct command *newest = NULL;

    if (command_queue_idle(&stream->queue))
        return NULL;
    graph_lock();
    list_for_each(at, &stream->queue.commands)
    {
        struct command *command = list_entry(at, struct command, in_queue);

        if (!command->issued && !cuda_kind_of(command_of(command))->fence)
            newest = command;
    }
    if (newest)
        command_ref(newest);
    graph_unlock();
    return newest;
}

static void await_given(const struct stream_record *stream)
{
    struct command *command;

    while (!runtime_off() && (command = newest_not_given(stream))) {
        (void)graph_wait(command);
        command_unref(command);
    }
}

/* All but the legacy stream. */
static void await_given_blocking(struct context_record *context)
{
    struct stream_record *streams[AWAITED];
    size_t n = copy_streams(context, true, false, streams);

    for (size_t i = 0; i < n; i++) {
        await_given(streams[i]);
        stream_drop(streams[i]);
    }
    if (n == AWAITED)
        await_streams(context, true, false);
}

void stream_wait_given(struct stream_record *stream)
{
    await_given(stream);
    if (stream->kind == STREAM_LEGACY)
        await_given_blocking(stream->context);
    else if (stream->blocking)
        await_given(&stream->context->legacy);
}

void stream_await(struct stream_record *stream)
{
    if (stream->kind == STREAM_LEGACY)
        await_streams(stream->context, true, true);
    else if (stream->blocking)
        graph_wait_queue(&stream->context->legacy.queue, true);
    graph_wait_queue(&stream->queue, true);
}

void context_await(struct context_record *context)
{
    await_streams(context, false, true);
}

void objects_drain(void)
{
    struct context_record *context = NULL;

    if (!graph_idle())
        while ((context = objects_next_context(context)))
            await_streams(context, false, true);
    gates_hand_over(false);
}

void objects_close_marks(void)
{
    struct context_record *context = NULL;

    while ((context = objects_next_context(context)))
        mark_close_context(context);
}

CUresult context_take_late(struct context_record *context)
{
    return (CUresult)atomic_exchange(&context->late, CUDA_SUCCESS);
}

/* --- visits --- */

CUcontext context_current_handle(void)
{
    const struct genuine *genuine = &cuda_front.genuine;
    CUcontext handle = NULL;
    CUresult code = genuine->cuCtxGetCurrent(&handle);

    for (int i = 1; i < GENUINE_ASKS && code != CUDA_SUCCESS; i++)
        code = genuine->cuCtxGetCurrent(&handle);
    if (code != CUDA_SUCCESS && genuine->cuStreamGetCtx)
        code = genuine->cuStreamGetCtx(CU_STREAM_LEGACY, &handle);
    return code == CUDA_SUCCESS ? handle : NULL;
}

/*
 * A command that is issued in another context fails, and its work is lost. So a driver that refuses
 * to push is asked in another way, and so is one that refuses to pop.
 */
void context_enter(CUcontext handle, struct context_visit *ret_visit)
{
    const struct genuine *genuine = &cuda_front.genuine;
    CUcontext current = context_current_handle();

    *ret_visit = (struct context_visit){.context = handle, .before = current};
    if (current == handle)
        return;
    ret_visit->pushed = genuine->cuCtxPushCurrent_v2(handle) == CUDA_SUCCESS;
    if (!ret_visit->pushed)
        ret_visit->replaced = genuine->cuCtxSetCurrent(handle) == CUDA_SUCCESS;
}

void context_leave(const struct context_visit *visit)
{
    const struct genuine *genuine = &cuda_front.genuine;
    CUcontext popped;

    if (visit->replaced)
        (void)genuine->cuCtxSetCurrent(visit->before);
    if (!visit->pushed || genuine->cuCtxPopCurrent_v2(&popped) == CUDA_SUCCESS)
        return;
    if (context_current_handle() == visit->context) /* the driver may have popped all the same */
        (void)genuine->cuCtxSetCurrent(NULL);       /* which pops, too */
}

CUdevice context_device(CUcontext handle)
{
    const struct genuine *genuine = &cuda_front.genuine;
    struct context_visit visit;
    CUdevice device = -1;
    CUresult code = CUDA_ERROR_UNKNOWN;

    context_enter(handle, &visit);
    for (int i = 0; i < GENUINE_ASKS && code != CUDA_SUCCESS; i++)
        code = genuine->cuCtxGetDevice(&device);
    context_leave(&visit);
    return code == CUDA_SUCCESS ? device : -1;
}

/* A thread that is left in another mode is refused what the program may do, or allowed more. */
static bool exchange_mode(CUstreamCaptureMode *mode)
{
    CUresult code = CUDA_ERROR_UNKNOWN;

    for (int i = 0; i < GENUINE_ASKS && code != CUDA_SUCCESS; i++)
        code = cuda_front.genuine.cuThreadExchangeStreamCaptureMode(mode);
    return code == CUDA_SUCCESS;
}

void context_visit_begin(struct context_record *context, struct context_visit *ret_visit)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    context_enter(context->handle, ret_visit);
    if (front_captures() && cuda_front.genuine.cuThreadExchangeStreamCaptureMode) {
        ret_visit->relaxed = exchange_mode(&mode);
        ret_visit->mode = (int)mode;
    }
}

void context_visit_end(const struct context_visit *visit)
{
    CUstreamCaptureMode mode = (CUstreamCaptureMode)visit->mode;

    if (visit->relaxed)
        (void)exchange_mode(&mode);
    context_leave(visit);
}
