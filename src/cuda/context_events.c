/*
 * cuCtxRecordEvent, cuCtxWaitEvent and their green forms. If nothing of the context is held back,
 * the driver does it.
 *
 * A record may come while streams of the context hold something back. Then each of them records an
 * event of our own behind that, and the driver records one for all that it has. A stream of our
 * own, the join, waits for these events and records the program's. So the event stands for what the
 * context was given before the call, and for nothing that comes later. A wait is a gate
 * (context_gates.h).
 */
#include "cuda/context_gates.h"
#include "cuda/event_recording.h"
#include "cuda/front.h"
#include "cuda/submit.h"
#include "engine/graph.h"
#include "engine/runtime.h"

/* --- records --- */

/* A stream of our own that nothing else is in; NULL: the driver refuses, or no memory. */
static struct stream_record *make_join(const struct context_group *group)
{
    struct context_record *context = group->context;
    struct stream_record *join;
    struct context_visit visit;
    CUstream handle = NULL;

    context_visit_begin(context, &visit);
    join = cuda_front.genuine.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS
               ? stream_new(context, handle, STREAM_NAMED, false)
               : NULL;
    if (handle && !join)
        (void)cuda_front.genuine.cuStreamDestroy_v2(handle);
    context_visit_end(&visit);
    if (join) {
        pthread_mutex_lock(&context->lock); /* other threads may be looking at the context's streams */
        join->joins = true;
        join->green = group->green ? group->green : join->green;
        pthread_mutex_unlock(&context->lock);
    }
    return join;
}

/* It goes, behind what it was given. */
static void end_join(struct stream_record *join)
{
    struct cuda_command draft;

    submit_draft_own(&draft, ENTRY_cuStreamDestroy_v2, join, NULL);
    draft.kind = COMMAND_DESTROY;
    draft.valid = true;
    (void)submit(&draft, false, NULL);
}

/* A record of an event of our own. */
static struct recording *make_part(struct context_record *context)
{
    struct recording *part = recording_new(NULL, true);
    struct context_visit visit;

    if (!part)
        return NULL;
    context_visit_begin(context, &visit);
    if (cuda_front.genuine.cuEventCreate(&part->own, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
        part->own = NULL;
        recording_drop(part);
        part = NULL;
    }
    context_visit_end(&visit);
    if (part)
        part->event = part->own;
    return part;
}

/*
 * Behind what the stream holds back, and behind nothing else. A record in the legacy stream that
 * waited for all blocking streams would keep their later work until then.
 */
static bool record_part(struct recording *part, struct stream_record *stream)
{
    struct cuda_command draft, *command;

    submit_draft_own(&draft, ENTRY_cuEventRecord, stream, part->own);
    draft.kind = COMMAND_RECORD;
    draft.u.recording = part;
    command = submit_adopt(&draft, NULL);
    if (!command)
        return false;
    recording_held_by(part, &command->base);
    graph_open(&command->base);
    graph_close(&command->base);
    command_unref(&command->base);
    return true;
}

static bool join_stream(struct stream_record *join, struct stream_record *stream)
{
    struct recording *part = make_part(stream->context);
    struct cuda_command draft;
    bool done = part && record_part(part, stream);

    if (done) {
        submit_draft_own(&draft, ENTRY_cuStreamWaitEvent, join, part->own);
        done = event_wait_held(&draft, part) == CUDA_SUCCESS;
    }
    recording_drop(part);
    return done;
}

/*
 * The program has destroyed the stream, so that nothing can be recorded behind what it holds back.
 * So the join waits for the end of each command.
 */
static bool join_destroyed(struct stream_record *join, struct stream_record *stream)
{
    struct cuda_command draft = {.base = {.queue = &join->queue, .next_at_end = true},
                                 .kind = COMMAND_FENCE,
                                 .stream = join,
                                 .on = join};
    struct cuda_command *command = submit_adopt(&draft, NULL);

    if (!command)
        return false;
    graph_open(&command->base);
    graph_wait_all(&command->base, &stream->queue);
    graph_close(&command->base);
    command_unref(&command->base);
    return true;
}

/* What the driver has. The driver answers for the call: it may refuse. */
static CUresult join_driver(struct stream_record *join, const struct call *call)
{
    struct call own = *call;
    struct context_visit visit;
    CUevent event = NULL;
    CUresult code;

    context_visit_begin(join->context, &visit);
    code = cuda_front.genuine.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
    context_visit_end(&visit);
    if (code != CUDA_SUCCESS)
        return code;
    own.args[1] = (uint64_t)event;
    code = call_invoke(&own);
    context_visit_begin(join->context, &visit);
    if (code == CUDA_SUCCESS)
        code = cuda_front.genuine.cuStreamWaitEvent(join->handle, event, 0);
    (void)cuda_front.genuine.cuEventDestroy_v2(event);
    context_visit_end(&visit);
    return code;
}

/* The streams come first: what they give to the driver meanwhile, the driver's record has. */
static CUresult record_joined(const struct call *call, struct event_record *event,
                              const struct stream_set *held, struct stream_record *join, bool *ret_answered)
{
    struct cuda_command draft;
    CUresult code;

    *ret_answered = false;
    for (size_t i = 0; i < held->n; i++)
        if (!(atomic_load(&held->streams[i]->destroyed) ? join_destroyed(join, held->streams[i])
                                                        : join_stream(join, held->streams[i])))
            return CUDA_ERROR_OUT_OF_MEMORY;
    code = join_driver(join, call);
    *ret_answered = true;
    if (code != CUDA_SUCCESS)
        return code;
    gates_pass(join);
    submit_draft_own(&draft, ENTRY_cuEventRecord, join, (CUevent)call->args[1]);
    return event_record_held(&draft, event);
}

/* On the calling thread, when the driver has all that the record must follow. */
static CUresult record_given(const struct call *call, struct event_record *event,
                             const struct stream_set *held)
{
    if (held->failed)
        objects_drain();
    for (size_t i = 0; i < held->n; i++)
        stream_wait_given(held->streams[i]);
    return event_record_now(call, event);
}

static CUresult record_group(const struct call *call, struct event_record *event,
                             const struct context_group *group)
{
    struct stream_record *join = NULL;
    struct stream_set held;
    bool answered = false;
    CUresult code = CUDA_SUCCESS;

    if (!group->context || front_is_whole())
        return event_record_now(call, event);
    group_held(group, &held);
    if ((held.n || gates_any() || runtime.queue_everything || event_follows_launch(event)) && !held.failed &&
        !event_is_shared(event) && event_is_of(event, group->context))
        join = make_join(group);
    if (join) {
        code = record_joined(call, event, &held, join, &answered);
        end_join(join);
    }
    if (!answered)
        code = record_given(call, event, &held);
    stream_set_done(&held);
    return code;
}

/* --- waits --- */

/* The driver has the record. Has it also all that came before the call, which must not wait? */
static bool driver_can_wait(const struct context_group *group, const struct event_record *event)
{
    struct stream_set streams;

    if (event_is_shared(event) || runtime.queue_everything)
        return false;
    group_held(group, &streams);
    stream_set_done(&streams);
    return streams.n == 0 && !streams.failed;
}

static CUresult wait_in_driver(const struct call *call)
{
    objects_wait();
    return call_invoke(call);
}

/*
 * A capture, and an event that is not surely one, need the driver's own answer, when nothing is
 * held back.
 */
static CUresult wait_group(const struct call *call, struct event_record *event,
                           const struct context_group *group)
{
    struct recording *recording = event_newest(event);
    bool held = recording_is_held(recording);
    bool may_hold = event && group->context && !front_is_whole() && !front_captures() &&
                    (event->owner || event_is_shared(event));

    recording_drop(recording);
    if (may_hold && !held && driver_can_wait(group, event))
        return wait_in_driver(call);
    if (may_hold && gates_open(group, event))
        return CUDA_SUCCESS;
    objects_drain();
    return wait_in_driver(call);
}

/* --- calls of the program --- */

static struct context_group group_of_context(const struct call *call)
{
    struct context_group group = {.context = call->args[0] ? context_find((CUcontext)call->args[0])
                                                           : context_current()};

    if (group.context)
        group.primary = context_primary(group.context->device->device) == group.context->handle;
    return group;
}

static struct context_group group_of_green(const struct call *call, const struct event_record *event)
{
    struct context_group group = {.green = (CUgreenCtx)call->args[0]};

    if (group.green)
        group.context = event && event->owner ? context_find(event->owner) : context_current();
    return group;
}

static CUresult call_with_group(const struct call *call, bool green,
                                CUresult (*way)(const struct call *call, struct event_record *event,
                                                const struct context_group *group))
{
    struct event_record *event = event_find((CUevent)call->args[1]);
    struct context_group group = green ? group_of_green(call, event) : group_of_context(call);
    CUresult code = way(call, event, &group);

    event_drop(event);
    return code;
}

CUresult route_context_record(struct call *call)
{
    return call_with_group(call, false, record_group);
}

CUresult route_context_wait(struct call *call)
{
    return call_with_group(call, false, wait_group);
}

CUresult route_green_record(struct call *call)
{
    return call_with_group(call, true, record_group);
}

CUresult route_green_wait(struct call *call)
{
    return call_with_group(call, true, wait_group);
}
