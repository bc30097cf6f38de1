#include "cuda/events.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/context_gates.h"
#include "cuda/events_private.h"
#include "cuda/front.h"
#include "cuda/graph_order.h"
#include "cuda/objects.h"
#include "cuda/submit.h"
#include "engine/graph.h"
#include "engine/handle_table.h"
#include "engine/runtime.h"

static void keep(void *recording)
{
    recording_keep(recording);
}

void events_init(void)
{
    handle_table_init(&cuda_front.events.table, keep);
    handle_table_init(&cuda_front.events.owners, NULL);
    handle_table_init(&cuda_front.events.shared, NULL);
    handle_table_init(&cuda_front.events.captured, NULL);
    graphs_init();
}

void recording_keep(struct recording *recording)
{
    atomic_fetch_add_explicit(&recording->refs, 1, memory_order_relaxed);
}

void recording_drop(struct recording *recording)
{
    if (!recording || atomic_fetch_sub_explicit(&recording->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (recording->own)
        (void)cuda_front.genuine.cuEventDestroy_v2(recording->own); /* the driver keeps what waits for it */
    free(recording);
}

struct recording *recording_new(CUevent event, bool held)
{
    struct recording *recording = calloc(1, sizeof *recording);

    if (!recording)
        return NULL;
    atomic_init(&recording->refs, 1);
    recording->event = event;
    recording->held = held;
    return recording;
}

void recording_held_by(struct recording *recording, struct command *command)
{
    pthread_mutex_lock(&cuda_front.events.lock);
    command_ref(command);
    recording->command = command;
    pthread_mutex_unlock(&cuda_front.events.lock);
}

/* With a reference; NULL: the driver has the record, or the recording is not in the graph yet. */
static struct command *held_command(struct recording *recording)
{
    struct command *command;

    pthread_mutex_lock(&cuda_front.events.lock);
    command = recording->held ? recording->command : NULL;
    if (command)
        command_ref(command);
    pthread_mutex_unlock(&cuda_front.events.lock);
    return command;
}

void recording_wait(struct recording *recording, struct command *command)
{
    struct command *other = held_command(recording);

    if (!other)
        return;
    graph_wait_command(command, other, EDGE_AT_ISSUE);
    command_unref(other);
}

/* --- under the lock --- */

static bool record_copy(CUevent copy, CUevent event)
{
    CUstream stream = NULL;
    bool done;

    if (cuda_front.genuine.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS)
        return false;
    done = cuda_front.genuine.cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS &&
           cuda_front.genuine.cuEventRecord(copy, stream) == CUDA_SUCCESS;
    (void)cuda_front.genuine.cuStreamDestroy_v2(stream);
    return done;
}

/*
 * A wait that is held back needs a place that stays: an event of our own behind the program's.
 * False: there is none; `own` may be an event without a record.
 */
static bool move_to_own(struct recording *recording)
{
    if (cuda_front.genuine.cuEventCreate(&recording->own, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
        recording->own = NULL;
        return false;
    }
    if (!record_copy(recording->own, recording->event))
        return false;
    recording->event = recording->own;
    return true;
}

/* The event is about to have a newer record. Without memory, the older one is waited for here. */
static void keep_place(struct recording *recording)
{
    struct context_record *context = event_home(recording->event);
    struct context_visit visit;

    if (context)
        context_visit_begin(context, &visit);
    if (!move_to_own(recording)) {
        pthread_mutex_unlock(&cuda_front.events.lock);
        (void)cuda_front.genuine.cuEventSynchronize(recording->event);
        pthread_mutex_lock(&cuda_front.events.lock);
        recording->event = recording->own; /* that counts as complete, as NULL does */
    }
    if (context)
        context_visit_end(&visit);
}

/* The event's newest recording becomes this one; NULL: a record that the driver has. */
static void replace(CUevent event, struct recording *recording)
{
    struct recording *old = handle_table_remove(&cuda_front.events.table, event);

    event_forget_captured(event);
    if (old && old->held)
        old->superseded = true;
    else if (old && atomic_load(&old->refs) > 1)
        keep_place(old);
    recording_drop(old);
    if (!recording)
        return;
    recording_keep(recording);
    if (!handle_table_put(&cuda_front.events.table, event, recording))
        recording_drop(recording);
}

/* --- the driver's calls --- */

static CUresult record_own(struct recording *recording, CUstream stream)
{
    CUresult code = CUDA_SUCCESS;

    if (atomic_load(&recording->refs) <= 1) /* the command's own: no wait needs it */
        return code;
    code = cuda_front.genuine.cuEventCreate(&recording->own, CU_EVENT_DISABLE_TIMING);
    if (code != CUDA_SUCCESS) {
        recording->own = NULL;
        return code;
    }
    recording->event = recording->own;
    return cuda_front.genuine.cuEventRecord(recording->own, stream);
}

CUresult recording_issue(struct recording *recording, const struct call *call)
{
    struct command *command;
    CUresult code;

    pthread_mutex_lock(&cuda_front.events.lock);
    code = recording->superseded ? record_own(recording, (CUstream)call->args[call->entry->stream])
                                 : call_invoke(call);
    recording->held = false;
    command = recording->command;
    recording->command = NULL;
    pthread_mutex_unlock(&cuda_front.events.lock);
    if (command)
        command_unref(command);
    return code;
}

CUresult recording_issue_wait(struct recording *recording, const struct call *call)
{
    CUresult code = CUDA_SUCCESS;

    pthread_mutex_lock(&cuda_front.events.lock);
    if (recording->event)
        code = cuda_front.genuine.cuStreamWaitEvent((CUstream)call->args[0], recording->event,
                                                    (unsigned)call->args[2]);
    pthread_mutex_unlock(&cuda_front.events.lock);
    return code;
}

void event_recorded_by_launch(CUevent event, bool captured, bool external)
{
    if (captured)
        graphs_note_event(event);
    if (captured && external)
        return;
    pthread_mutex_lock(&cuda_front.events.lock);
    replace(event, NULL);
    if (captured)
        event_set_captured(event);
    pthread_mutex_unlock(&cuda_front.events.lock);
}

/* --- calls of the program --- */

CUresult event_record_now(const struct call *call, CUevent event)
{
    CUresult code;

    pthread_mutex_lock(&cuda_front.events.lock);
    replace(event, NULL);
    code = call_invoke(call);
    pthread_mutex_unlock(&cuda_front.events.lock);
    return code;
}

/* cuEventRecord(event, stream), cuEventRecordWithFlags(event, stream, flags) */
static bool is_external(const struct call *call)
{
    return call->entry->arguments == 3 && (unsigned)call->args[2] != 0;
}

static CUresult record_captured(const struct call *call, CUevent event)
{
    CUresult code;

    if (is_external(call)) { /* a node: the event has no new record */
        graphs_note_event(event);
        return call_invoke(call);
    }
    pthread_mutex_lock(&cuda_front.events.lock);
    replace(event, NULL);
    code = call_invoke(call);
    if (code == CUDA_SUCCESS)
        event_set_captured(event);
    pthread_mutex_unlock(&cuda_front.events.lock);
    return code;
}

CUresult event_record_held(struct cuda_command *draft, CUevent event)
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
    /*
     * In the graph first: a wait of another thread that saw the record earlier could come before it
     * in the same stream, and each would wait for the other. The last of several records in the
     * graph is the event's newest.
     */
    pthread_mutex_lock(&cuda_front.order);
    submit_open_locked(command);
    recording_held_by(recording, &command->base);
    pthread_mutex_lock(&cuda_front.events.lock);
    replace(event, recording);
    pthread_mutex_unlock(&cuda_front.events.lock);
    pthread_mutex_unlock(&cuda_front.order);
    graph_close(&command->base);
    command_unref(&command->base);
    recording_drop(recording);
    return CUDA_SUCCESS;
}

/*
 * On the calling thread, when the driver has all that is before it in the stream. The driver may
 * still be waiting there for the host: the record goes behind that.
 */
static CUresult record_shared(const struct call *call, CUevent event, struct stream_record *stream)
{
    stream_wait_given(stream);
    return event_record_now(call, event);
}

CUresult route_event_record(struct call *call)
{
    CUevent event = (CUevent)call->args[0];
    struct stream_record *stream = stream_of_call(call);
    bool captured = stream && stream_captures(stream);
    struct cuda_command draft;
    CUresult code;

    if (!stream)
        return call_invoke(call);
    if (!captured) {
        stream_name(stream, call);
        gates_pass(stream);
    }
    if (captured) {
        code = record_captured(call, event);
    } else if (event_is_shared(event)) {
        code = record_shared(call, event, stream);
    } else if (front_is_whole() || is_external(call) ||
               (!runtime.queue_everything && stream_unhindered(stream)) ||
               !event_is_of(event, stream->context)) {
        stream_wait_turn(stream);
        code = event_record_now(call, event);
    } else {
        submit_draft(&draft, call, stream);
        code = event_record_held(&draft, event);
    }
    stream_drop(stream);
    return code;
}

/* A record of another thread may come in between: it is found under the lock. */
struct recording *recording_for_wait(CUevent event)
{
    struct recording *recording = handle_table_find(&cuda_front.events.table, event), *given;

    if (recording)
        return recording;
    given = recording_new(event, false);
    if (!given)
        return NULL;
    pthread_mutex_lock(&cuda_front.events.lock);
    recording = handle_table_find(&cuda_front.events.table, event);
    if (!recording)
        replace(event, given); /* so that a later record notices this wait */
    pthread_mutex_unlock(&cuda_front.events.lock);
    if (!recording)
        return given;
    recording_drop(given);
    return recording;
}

struct recording *recording_of_others(CUevent event)
{
    struct recording *recording = recording_new(event, false);

    if (!recording || move_to_own(recording))
        return recording;
    recording_drop(recording);
    return NULL;
}

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

bool recording_is_held(const struct recording *recording)
{
    bool held;

    if (!recording)
        return false;
    pthread_mutex_lock(&cuda_front.events.lock);
    held = recording->held;
    pthread_mutex_unlock(&cuda_front.events.lock);
    return held;
}

void recording_await(struct recording *recording)
{
    struct command *command = recording ? held_command(recording) : NULL;

    if (!command)
        return;
    (void)graph_wait(command);
    command_unref(command);
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
    return call_invoke(call);
}

/* Of an event that another process may record. Drops the stream. */
static CUresult wait_shared(const struct call *call, struct stream_record *stream)
{
    struct cuda_command draft;

    /* the other process may need the engine first: nothing behind the wait may have it */
    submit_draft(&draft, call, stream);
    draft.valid = (unsigned)call->args[2] == 0;
    return submit_fenced(&draft, NULL);
}

CUresult route_wait_event(struct call *call)
{
    CUevent event = (CUevent)call->args[1];
    struct stream_record *stream = stream_of_call(call);
    struct recording *recording;
    struct cuda_command draft;
    CUresult code;

    if (!stream)
        return call_invoke(call);
    if (stream_captures(stream) || event_is_captured(event)) {
        code = wait_in_capture(call, stream);
        stream_drop(stream);
        return code;
    }
    if (graphs_may_record(event)) /* later than any record of the event that is known */
        objects_drain();
    recording = event ? handle_table_find(&cuda_front.events.table, event) : NULL;
    if (event_is_shared(event) && !recording_is_held(recording)) {
        recording_drop(recording);
        return wait_shared(call, stream);
    }
    if (front_is_whole() ||
        (!runtime.queue_everything && !recording_is_held(recording) && stream_unhindered(stream)) ||
        (!recording_is_held(recording) && !event_is_known(event))) {
        code = wait_at_once(call, stream, recording);
    } else {
        submit_draft(&draft, call, stream);
        if (!recording)
            recording = recording_for_wait(event);
        code = recording ? event_wait_held(&draft, recording) : CUDA_ERROR_OUT_OF_MEMORY;
    }
    recording_drop(recording);
    stream_drop(stream);
    return code;
}

CUresult route_event_destroy(struct call *call)
{
    CUresult code;

    pthread_mutex_lock(&cuda_front.events.lock);
    if (call->args[0]) {
        replace((CUevent)call->args[0], NULL);
        (void)handle_table_remove(&cuda_front.events.owners, (void *)call->args[0]);
        (void)handle_table_remove(&cuda_front.events.shared, (void *)call->args[0]);
        graphs_forget_event((CUevent)call->args[0]);
    }
    code = call_invoke(call);
    pthread_mutex_unlock(&cuda_front.events.lock);
    return code;
}
