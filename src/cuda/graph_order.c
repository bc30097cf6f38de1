#include "cuda/graph_order.h"

#include <stdlib.h>

#include "cuda/event_recording.h"
#include "cuda/front.h"
#include "cuda/graph_record.h"
#include "cuda/objects.h"
#include "cuda/submit.h"
#include "engine/graph.h"

/* --- before a launch --- */

/* A node without work, behind the launch's issue. Drops the reference; NULL: nothing. */
static bool wait_for_launch(struct stream_record *stream, struct command *launch)
{
    struct cuda_command draft = {.base = {.queue = &stream->queue, .next_at_end = true},
                                 .kind = COMMAND_FENCE,
                                 .stream = stream,
                                 .on = stream};
    struct cuda_command *command = launch ? submit_adopt(&draft, NULL) : NULL;

    if (command) {
        graph_open(&command->base);
        graph_wait_command(&command->base, launch, EDGE_AT_ISSUE);
        graph_close(&command->base);
        command_unref(&command->base);
    }
    if (launch)
        command_unref(launch);
    return command || !launch;
}

/* The graph's newest launch that is held back: a reference; NULL: none. */
static struct command *newest_launch(struct graph_record *graph)
{
    struct command *newest;

    pthread_mutex_lock(&cuda_front.graphs.lock);
    newest = graph->newest;
    if (newest)
        command_ref(newest);
    pthread_mutex_unlock(&cuda_front.graphs.lock);
    return newest;
}

/* Is a record that a node waits for not the driver's yet, or one of another process? */
static bool awaits_any(const struct graph_events *events)
{
    bool any = false;

    for (size_t i = 0; i < events->n_waited && !any; i++) {
        struct recording *newest = event_newest(events->waited[i]);

        any = recording_is_held(newest) || event_is_shared(events->waited[i]);
        recording_drop(newest);
    }
    return any;
}

static bool must_follow(struct graph_record *graph, const struct graph_events *events,
                        struct stream_record *stream)
{
    struct command *newest = newest_launch(graph);
    bool follows = newest || !stream_unhindered(stream) || awaits_any(events);

    if (newest)
        command_unref(newest);
    for (size_t i = 0; i < events->n_recorded && !follows; i++)
        follows = event_follows_launch(events->recorded[i]);
    return follows;
}

/* The stream waits for the event's newest record. A driver refuses to wait for one of a capture. */
static bool wait_for_event(struct stream_record *stream, struct event_record *event)
{
    struct recording *recording;
    struct cuda_command draft;
    bool done;

    if (event_is_captured(event))
        return true;
    recording = event_newest(event);
    if (event_is_shared(event) && !recording_is_held(recording)) {
        recording_drop(recording);
        return event_wait_shared(stream, event) == CUDA_SUCCESS;
    }
    if (!recording)
        recording = recording_for_wait(event);
    submit_draft_own(&draft, ENTRY_cuStreamWaitEvent, stream, event->handle);
    done = recording && event_wait_held(&draft, recording) == CUDA_SUCCESS;
    recording_drop(recording);
    return done;
}

/* The stream waits for all that the launch must not overtake. False: no memory. */
static bool follow(struct graph_record *graph, const struct graph_events *events,
                   struct stream_record *stream)
{
    bool done = wait_for_launch(stream, newest_launch(graph));

    for (size_t i = 0; i < events->n_recorded && done; i++)
        done = wait_for_launch(stream, event_held_launch(events->recorded[i]));
    for (size_t i = 0; i < events->n_waited && done; i++)
        done = wait_for_event(stream, events->waited[i]);
    return done;
}

/* The same, by the calling thread. */
static void await_all(struct graph_record *graph, const struct graph_events *events)
{
    struct command *newest = newest_launch(graph);

    if (newest) {
        graph_wait_issued(newest);
        command_unref(newest);
    }
    for (size_t i = 0; i < events->n_recorded; i++)
        event_await_launch(events->recorded[i]);
    for (size_t i = 0; i < events->n_waited; i++) {
        struct recording *recording = event_newest(events->waited[i]);

        recording_await(recording);
        recording_drop(recording);
    }
}

/* A launch that is held back would look, to another process, like no record of the event. */
static bool records_shared(const struct graph_events *events)
{
    bool shared = false;

    for (size_t i = 0; i < events->n_recorded && !shared; i++)
        shared = event_is_shared(events->recorded[i]);
    return shared;
}

/* What is before the launch. Must it go from the calling thread? */
static bool prepare(const struct cuda_command *draft)
{
    struct graph_record *graph = draft->u.graph.graph;
    const struct graph_events *events = draft->u.graph.events;

    if (!events) {
        if (draft->valid)
            objects_drain();
        return true;
    }
    if (must_follow(graph, events, draft->stream) && !follow(graph, events, draft->stream)) {
        await_all(graph, events);
        return true;
    }
    return records_shared(events) || stream_unhindered(draft->stream);
}

/* One command. Its parameters may change later, so it is not held back for the engine. */
CUresult route_graph_launch(struct call *call)
{
    struct stream_record *stream = stream_of_call(call);
    struct graph_record *graph;
    struct cuda_command draft;
    uint64_t flags;
    CUresult code;

    if (!stream)
        return call_invoke(call);
    submit_draft(&draft, call, stream);
    draft.kind = COMMAND_GRAPH;
    draft.base.engine = ENGINE_EXECUTION;
    draft.base.leased = true;
    draft.valid = call->args[0] && cuda_front.genuine.cuGraphExecGetFlags &&
                  cuda_front.genuine.cuGraphExecGetFlags((CUgraphExec)call->args[0], &flags) == CUDA_SUCCESS;
    graph = graph_find((CUgraphExec)call->args[0]);
    draft.u.graph = (struct command_graph){.graph = graph, .events = graph_events_of(graph)};
    if (!draft.captured)
        draft.at_once = prepare(&draft);
    code = submit(&draft, false, NULL);
    graph_events_drop(draft.u.graph.events);
    graph_drop(graph);
    return code;
}

/* --- commands on the heap --- */

static void drop_recordings(struct command_graph *about)
{
    for (size_t i = 0; about->recordings && i < about->events->n_recorded; i++)
        recording_drop(about->recordings[i]);
    free(about->recordings);
    about->recordings = NULL;
}

bool graph_launch_adopt(struct cuda_command *command)
{
    struct command_graph *about = &command->u.graph;
    bool done;

    about->recordings = calloc(about->events->n_recorded + 1, sizeof(struct recording *));
    done = about->recordings;
    for (size_t i = 0; i < about->events->n_recorded && done; i++) {
        about->recordings[i] = recording_new(about->events->recorded[i], true);
        done = about->recordings[i];
        if (done)
            about->recordings[i]->by_launch = true;
    }
    if (!done)
        drop_recordings(about);
    return done;
}

void graph_launch_keep(struct cuda_command *command)
{
    const struct command_graph *about = &command->u.graph;

    graph_keep(about->graph);
    graph_events_keep(about->events);
    for (size_t i = 0; i < about->events->n_nodes; i++)
        event_named_by_launch(about->events->nodes[i].event);
}

void graph_launch_drop(struct cuda_command *command)
{
    struct command_graph *about = &command->u.graph;

    drop_recordings(about);
    for (size_t i = 0; i < about->events->n_nodes; i++)
        event_not_named(about->events->nodes[i].event);
    graph_events_drop(about->events);
    graph_drop(about->graph);
}

/* Answers the launch before it, with its reference; NULL: none. */
static struct command *become_newest(struct graph_record *graph, struct command *launch)
{
    struct command *before;

    command_ref(launch);
    pthread_mutex_lock(&cuda_front.graphs.lock);
    before = graph->newest;
    graph->newest = launch;
    pthread_mutex_unlock(&cuda_front.graphs.lock);
    return before;
}

void graph_launch_enter(struct cuda_command *command)
{
    const struct command_graph *about = &command->u.graph;
    size_t n = about->events->n_recorded;
    struct command *before;

    events_lock(about->events->recorded, n); /* as event_record_held() does */
    events_unlock(about->events->recorded, n);
    pthread_mutex_lock(&cuda_front.order);
    submit_open_locked(command);
    before = become_newest(about->graph, &command->base);
    recordings_enter(about->recordings, n, &command->base);
    pthread_mutex_unlock(&cuda_front.order);
    recordings_follow(about->recordings, n, &command->base);
    if (before) {
        graph_wait_command(&command->base, before, EDGE_AT_ISSUE);
        command_unref(before);
    }
}

/* --- the driver's call --- */

CUresult graph_launch_give(const struct cuda_command *command)
{
    const struct graph_events *events = command->u.graph.events;

    return events ? events_record_now(&command->call, events->recorded, events->n_recorded, false)
                  : call_invoke(&command->call);
}

/* The driver has it. */
static void not_newest(struct graph_record *graph, struct command *launch)
{
    bool was_newest;

    pthread_mutex_lock(&cuda_front.graphs.lock);
    was_newest = graph->newest == launch;
    if (was_newest)
        graph->newest = NULL;
    pthread_mutex_unlock(&cuda_front.graphs.lock);
    if (was_newest)
        command_unref(launch);
}

CUresult graph_launch_issue(struct piece_pipe *pipe, struct cuda_command *command, bool *ret_cut)
{
    struct command_graph *about = &command->u.graph;
    CUresult code = recordings_issue(&command->call, about->events->recorded, about->recordings,
                                     about->events->n_recorded);

    (void)pipe;
    (void)ret_cut;
    drop_recordings(about);
    not_newest(about->graph, &command->base);
    return code;
}
