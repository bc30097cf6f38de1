#include "cuda/event_recording.h"

#include <stdlib.h>

#include "cuda/front.h"
#include "cuda/objects.h"
#include "engine/graph.h"

static void lock(void)
{
    pthread_mutex_lock(&cuda_front.events.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&cuda_front.events.lock);
}

/* --- references --- */

struct recording *recording_new(struct event_record *of, bool held)
{
    struct recording *recording = calloc(1, sizeof *recording);

    if (!recording)
        return NULL;
    refs_init(&recording->refs);
    recording->held = held;
    recording->of = of;
    if (of) {
        event_keep(of);
        recording->event = of->handle;
    }
    return recording;
}

void recording_keep(struct recording *recording)
{
    refs_keep(&recording->refs);
}

void recording_drop(struct recording *recording)
{
    if (!recording || !refs_drop(&recording->refs))
        return;
    if (recording->own)
        (void)cuda_front.genuine.cuEventDestroy_v2(recording->own); /* the driver keeps what waits for it */
    event_drop(recording->of);
    free(recording);
}

/* --- looking --- */

bool recording_is_held(const struct recording *recording)
{
    bool held;

    if (!recording)
        return false;
    lock();
    held = recording->held;
    unlock();
    return held;
}

struct recording *event_newest(struct event_record *event)
{
    struct recording *newest;

    if (!event || !event->newest)
        return NULL;
    lock();
    newest = event->newest;
    if (newest)
        recording_keep(newest);
    unlock();
    return newest;
}

struct command *event_held_launch(struct event_record *event)
{
    struct command *launch;

    if (!event_follows_launch(event))
        return NULL;
    lock();
    launch = event->launch;
    if (launch)
        command_ref(launch);
    unlock();
    return launch;
}

bool event_follows_launch(struct event_record *event)
{
    return event && event->launch;
}

/* With a reference; NULL: the driver has the record, or the recording is not in the graph yet. */
static struct command *held_command(const struct recording *recording)
{
    struct command *command;

    lock();
    command = recording->held ? recording->command : NULL;
    if (command)
        command_ref(command);
    unlock();
    return command;
}

static void await_issue(struct command *command)
{
    if (!command)
        return;
    graph_wait_issued(command);
    command_unref(command);
}

void recording_await(struct recording *recording)
{
    if (recording)
        await_issue(held_command(recording));
}

void event_await_launch(struct event_record *event)
{
    await_issue(event_held_launch(event));
}

void recording_wait(struct recording *recording, struct command *command)
{
    struct command *other = held_command(recording);

    if (!other)
        return;
    graph_wait_command(command, other, EDGE_AT_ISSUE);
    command_unref(other);
}

CUevent recording_begin(struct recording *recording)
{
    if (recording->of)
        pthread_mutex_lock(&recording->of->lock);
    return recording->event;
}

void recording_end(struct recording *recording)
{
    if (recording->of)
        pthread_mutex_unlock(&recording->of->lock);
}

/* --- the newest and the named --- */

/* The recording becomes the event's newest; NULL: a record that is given. Answers the old one. */
static struct recording *replace_newest(struct event_record *event, struct recording *recording)
{
    struct recording *old;

    if (!recording && !event->newest)
        return NULL;
    lock();
    old = event->newest;
    if (old && old->held)
        old->superseded = true;
    event->newest = recording;
    unlock();
    return old;
}

/* Under the event's lock: the driver has this one under the event's name. */
static void set_named(struct event_record *event, struct recording *recording)
{
    struct recording *old = event->named;

    if (recording)
        recording_keep(recording);
    event->named = recording;
    recording_drop(old);
}

void event_forget_recordings(struct event_record *event)
{
    recording_drop(replace_newest(event, NULL));
    set_named(event, NULL);
}

/*
 * Under the event's lock: does a wait need what the driver has under the event's name? If not, the
 * recording is the newest no more, so that no other thread finds it before the next record.
 */
static bool needs_place(struct event_record *event)
{
    struct recording *named = event->named;
    bool newest, needs;

    if (!named || named->event != event->handle)
        return false;
    lock();
    newest = event->newest == named;
    needs = refs_count(&named->refs) > 1 + (unsigned)newest;
    if (newest && !needs)
        event->newest = NULL;
    unlock();
    if (newest && !needs)
        recording_drop(named);
    return needs;
}

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
 * False: there is none. The event's context is visited, and the event's lock is held.
 */
static bool move_to_own(struct recording *recording)
{
    CUevent own = NULL;

    if (cuda_front.genuine.cuEventCreate(&own, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS)
        return false;
    if (!record_copy(own, recording->event)) {
        (void)cuda_front.genuine.cuEventDestroy_v2(own);
        return false;
    }
    recording->event = recording->own = own;
    return true;
}

static bool keep_place(const struct event_record *event)
{
    struct context_record *context = event_home(event);
    struct context_visit visit;
    bool kept;

    if (context)
        context_visit_begin(context, &visit);
    kept = move_to_own(event->named);
    if (context)
        context_visit_end(&visit);
    return kept;
}

/* Under the event's lock, which it unlocks: the record is over when this returns. */
static void await_named(struct event_record *event)
{
    struct recording *named = event->named;

    recording_keep(named);
    pthread_mutex_unlock(&event->lock);
    (void)cuda_front.genuine.cuEventSynchronize(event->handle);
    pthread_mutex_lock(&event->lock);
    if (named->event == event->handle)
        named->event = NULL;
    pthread_mutex_unlock(&event->lock);
    recording_drop(named);
}

void events_unlock(struct event_record *const *events, size_t n)
{
    while (n > 0)
        pthread_mutex_unlock(&events[--n]->lock);
}

void events_lock(struct event_record *const *events, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pthread_mutex_lock(&events[i]->lock);
        if (!needs_place(events[i]) || keep_place(events[i]))
            continue;
        events_unlock(events, i); /* other threads need them while this one waits */
        await_named(events[i]);
        i = (size_t)-1;
    }
}

struct recording *recording_for_wait(struct event_record *event)
{
    struct recording *newest = event_newest(event), *given;

    if (newest)
        return newest;
    given = recording_new(event, false);
    if (!given)
        return NULL;
    pthread_mutex_lock(&event->lock); /* no record of another thread comes in between */
    lock();
    newest = event->newest;
    if (!newest)
        event->newest = given; /* so that a later record notices this wait */
    recording_keep(newest ? newest : given);
    unlock();
    if (!newest)
        set_named(event, given);
    pthread_mutex_unlock(&event->lock);
    if (!newest)
        return given;
    recording_drop(given);
    return newest;
}

struct recording *recording_of_others(const struct event_record *event)
{
    struct recording *recording = recording_new(NULL, false);

    if (!recording)
        return NULL;
    recording->event = event->handle;
    if (move_to_own(recording))
        return recording;
    recording_drop(recording);
    return NULL;
}

/* --- into the graph --- */

void recording_held_by(struct recording *recording, struct command *command)
{
    command_ref(command);
    lock();
    recording->command = command;
    if (recording->by_launch)
        recording->of->launch = command;
    unlock();
}

void recordings_enter(struct recording *const *recordings, size_t n, struct command *command)
{
    for (size_t i = 0; i < n; i++) {
        struct recording *recording = recordings[i];
        struct event_record *event = recording->of;

        recording_keep(recording); /* the event's */
        recording->after = event_held_launch(event);
        recording_held_by(recording, command);
        atomic_store(&event->captured, false);
        recording->replaced = replace_newest(event, recording);
    }
}

void recordings_follow(struct recording *const *recordings, size_t n, struct command *command)
{
    for (size_t i = 0; i < n; i++) {
        struct recording *recording = recordings[i];

        if (recording->after) {
            graph_wait_command(command, recording->after, EDGE_AT_ISSUE);
            command_unref(recording->after);
        }
        recording_drop(recording->replaced);
        recording->after = NULL;
        recording->replaced = NULL;
    }
}

/* --- the driver's calls --- */

CUresult events_record_now(const struct call *call, struct event_record *const *events, size_t n,
                           bool captured)
{
    CUresult code;

    events_lock(events, n);
    code = call_invoke(call);
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++) {
        event_forget_recordings(events[i]);
        atomic_store(&events[i]->captured, captured);
    }
    events_unlock(events, n);
    return code;
}

/* The driver has it, or has refused it. */
static void give(struct recording *recording)
{
    struct event_record *event = recording->of;
    struct command *command;

    lock();
    command = recording->command;
    recording->held = false;
    recording->command = NULL;
    if (event && event->launch == command)
        event->launch = NULL;
    unlock();
    if (command)
        command_unref(command); /* the graph has one until the command is complete */
}

CUresult recordings_issue(const struct call *call, struct event_record *const *events,
                          struct recording *const *recordings, size_t n)
{
    CUresult code;

    events_lock(events, n);
    code = call_invoke(call);
    for (size_t i = 0; i < n; i++) {
        if (code == CUDA_SUCCESS)
            set_named(events[i], recordings[i]);
        give(recordings[i]);
    }
    events_unlock(events, n);
    return code;
}

static bool is_superseded(const struct recording *recording)
{
    bool superseded;

    lock();
    superseded = recording->superseded;
    unlock();
    return superseded;
}

/* Under the event's lock: the driver has, or will have, a newer record under the event's name. */
static CUresult record_own(struct recording *recording, CUstream stream)
{
    CUresult code = CUDA_SUCCESS;

    if (refs_count(&recording->refs) <= 1) /* the command's own: no wait needs it */
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
    struct event_record *event = recording->of;
    CUresult code;

    if (!event) {
        code = call_invoke(call);
        give(recording);
        return code;
    }
    events_lock(&event, 1);
    if (is_superseded(recording)) {
        code = record_own(recording, (CUstream)call->args[call->entry->stream]);
    } else {
        code = call_invoke(call);
        if (code == CUDA_SUCCESS)
            set_named(event, recording);
    }
    give(recording);
    events_unlock(&event, 1);
    return code;
}

CUresult recording_issue_wait(struct recording *recording, const struct call *call)
{
    CUevent event = recording_begin(recording);
    CUresult code =
        event ? cuda_front.genuine.cuStreamWaitEvent((CUstream)call->args[0], event, (unsigned)call->args[2])
              : CUDA_SUCCESS;

    recording_end(recording);
    return code;
}
