/* Records of events in streams, and waits of streams for them. */
#include "cuda/context_gates.h"
#include "cuda/event_recording.h"
#include "cuda/front.h"
#include "cuda/objects.h"
#include "cuda/submit.h"
#include "engine/graph.h"
#include "engine/runtime.h"

/* The argument of that number is the event, which may be none that is known. */
static CUresult call_with_event(struct call *call, unsigned argument,
                                CUresult (*way)(struct call *call, struct event_record *event,
                                                struct stream_record *stream))
{
    struct stream_record *stream = stream_of_call(call);
    struct event_record *event;
    CUresult code;

    if (!stream)
        return call_invoke(call);
    event = event_find((CUevent)call->args[argument]);
    code = way(call, event, stream);
    event_drop(event);
    stream_drop(stream);
    return code;
}

/* --- records --- */

CUresult event_record_now(const struct call *call, struct event_record *event)
{
    if (!event)
        return call_invoke(call);
    event_await_launch(event);
    return events_record_now(call, &event, 1, false);
}

/* cuEventRecord(event, stream), cuEventRecordWithFlags(event, stream, flags) */
static bool is_external(const struct call *call)
{
    return call->entry->arguments == 3 && (unsigned)call->args[2] != 0;
}

/* With the external flag it becomes a node: the event has no new record. */
static CUresult record_captured(const struct call *call, struct event_record *event)
{
    return event && !is_external(call) ? events_record_now(call, &event, 1, true) : call_invoke(call);
}

CUresult event_record_held(struct cuda_command *draft, struct event_record *event)
{
    struct recording *recording = recording_new(event, true);
    struct cuda_command *command;

    draft->kind = COMMAND_RECORD;
    draft->u.recording = recording;
    command = recording ? submit_adopt(draft, NULL) : NULL;
    if (!command) {
        recording_drop(recording);
        stream_wait_turn(draft->stream);
        return event_record_now(&draft->call, event);
    }
    /* what the driver has is given its place here, where a thread of the program can wait */
    events_lock(&event, 1);
    events_unlock(&event, 1);
    submit_to_graph(command);
    command_unref(&command->base);
    recording_drop(recording);
    return CUDA_SUCCESS;
}

/*
 * In the graph first: a wait of another thread that saw the record earlier could come before it in
 * the same stream, and each would wait for the other. The last of several records in the graph is
 * the event's newest.
 */
void event_enter_record(struct cuda_command *command)
{
    struct recording *recording = command->u.recording;

    pthread_mutex_lock(&cuda_front.order);
    submit_open_locked(command);
    recordings_enter(&recording, 1, &command->base);
    pthread_mutex_unlock(&cuda_front.order);
    recordings_follow(&recording, 1, &command->base);
}

/*
 * On the calling thread, when the driver has all that is before it in the stream. The driver may
 * still be waiting there for the host: the record goes behind that.
 */
static CUresult record_shared(const struct call *call, struct event_record *event,
                              struct stream_record *stream)
{
    stream_wait_given(stream);
    return event_record_now(call, event);
}

/* Need the record not be held back, or is the driver's own answer due? */
static bool goes_now(const struct call *call, struct event_record *event, struct stream_record *stream)
{
    return front_is_whole() || is_external(call) || !event_is_of(event, stream->context) ||
           (!runtime.queue_everything && stream_unhindered(stream) && !event_follows_launch(event));
}

static CUresult record_in_stream(struct call *call, struct event_record *event, struct stream_record *stream)
{
    struct cuda_command draft;

    if (stream_captures(stream))
        return record_captured(call, event);
    stream_name(stream, call);
    gates_pass(stream);
    if (event_is_shared(event))
        return record_shared(call, event, stream);
    if (goes_now(call, event, stream)) {
        stream_wait_turn(stream);
        return event_record_now(call, event);
    }
    submit_draft(&draft, call, stream);
    return event_record_held(&draft, event);
}

CUresult route_event_record(struct call *call)
{
    return call_with_event(call, 0, record_in_stream);
}

/* --- waits --- */

CUresult event_wait_held(struct cuda_command *draft, struct recording *recording)
{
    struct cuda_command *command;

    draft->kind = COMMAND_WAIT_EVENT;
    draft->u.recording = recording;
    command = submit_adopt(draft, NULL);
    if (!command)
        return CUDA_ERROR_OUT_OF_MEMORY;
    submit_to_graph(command);
    command_unref(&command->base);
    return CUDA_SUCCESS;
}

void event_enter_wait(struct cuda_command *command)
{
    submit_enter(command);
    recording_wait(command->u.recording, &command->base);
}

/*
 * The stream joins a capture, or the driver refuses. The call goes to the stream that the program
 * named, which need not be the one that stands in for it. What is held back there stays out of the
 * capture.
 */
static CUresult wait_in_capture(const struct call *call, struct stream_record *stream)
{
    if (!stream_captures(stream)) {
        gates_pass(stream);
        stream_wait_given(stream);
    }
    return call_invoke(call);
}

static CUresult wait_at_once(struct call *call, struct stream_record *stream, struct recording *recording)
{
    recording_await(recording);
    gates_pass(stream);
    stream_wait_turn(stream);
    stream_name(stream, call);
    stream_waits(stream);
    return call_invoke(call);
}

static CUresult wait_fenced(struct cuda_command *draft)
{
    stream_keep(draft->stream);
    draft->valid = (unsigned)draft->call.args[2] == 0;
    return submit_fenced(draft, NULL);
}

CUresult event_wait_shared(struct stream_record *stream, const struct event_record *event)
{
    struct cuda_command draft;

    submit_draft_own(&draft, ENTRY_cuStreamWaitEvent, stream, event->handle);
    return wait_fenced(&draft);
}

/* Without memory the call goes to the driver when its turn has come. */
static CUresult wait_held(struct call *call, struct event_record *event, struct stream_record *stream)
{
    struct recording *recording = recording_for_wait(event);
    struct cuda_command draft;
    CUresult code = CUDA_ERROR_OUT_OF_MEMORY;

    submit_draft(&draft, call, stream);
    if (recording)
        code = event_wait_held(&draft, recording);
    if (code == CUDA_ERROR_OUT_OF_MEMORY)
        code = wait_at_once(call, stream, recording);
    recording_drop(recording);
    return code;
}

static CUresult wait_in_stream(struct call *call, struct event_record *event, struct stream_record *stream)
{
    struct recording *newest;
    struct cuda_command draft;
    CUresult code;
    bool held;

    if (stream_captures(stream) || event_is_captured(event))
        return wait_in_capture(call, stream);
    newest = event_newest(event);
    held = recording_is_held(newest);
    if (event_is_shared(event) && !held) {
        submit_draft(&draft, call, stream);
        code = wait_fenced(&draft);
    } else if (front_is_whole() || !event || (!held && !event->owner) ||
               (!runtime.queue_everything && !held && stream_unhindered(stream))) {
        code = wait_at_once(call, stream, newest);
    } else {
        code = wait_held(call, event, stream);
    }
    recording_drop(newest);
    return code;
}

CUresult route_wait_event(struct call *call)
{
    return call_with_event(call, 1, wait_in_stream);
}
