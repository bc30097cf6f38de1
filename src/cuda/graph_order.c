#include "cuda/graph_order.h"

#include "cuda/cuda_command.h"
#include "cuda/front.h"
#include "cuda/objects.h"
#include "cuda/submit.h"
#include "cuda_abi/graph_abi.h"
#include "engine/graph.h"

static void keep_command(void *command)
{
    command_ref(command);
}

void graphs_init(void)
{
    handle_table_init(&cuda_front.graphs.events, NULL);
    handle_table_init(&cuda_front.graphs.launches, keep_command);
    pthread_mutex_init(&cuda_front.graphs.lock, NULL);
}

/* --- events --- */

void graphs_note_event(CUevent event)
{
    if (event && handle_table_put(&cuda_front.graphs.events, event, event))
        atomic_store(&cuda_front.graphs.any_events, true);
}

void graphs_forget_event(CUevent event)
{
    if (atomic_load_explicit(&cuda_front.graphs.any_events, memory_order_relaxed))
        (void)handle_table_remove(&cuda_front.graphs.events, event);
}

bool graphs_may_record(CUevent event)
{
    return front_holds_graphs() && event &&
           atomic_load_explicit(&cuda_front.graphs.any_events, memory_order_relaxed) &&
           handle_table_find(&cuda_front.graphs.events, event);
}

/* The last argument is the event. Executable graphs are changed when nothing is held back. */
CUresult route_graph_event(struct call *call)
{
    if (call->entry->arguments == 3) {
        objects_drain();
        objects_close_marks();
    }
    graphs_note_event((CUevent)call->args[call->entry->arguments - 1]);
    return call_invoke(call);
}

/* The last argument says all of a node. */
CUresult route_graph_node(struct call *call)
{
    const CUgraphNodeParams *about = (const CUgraphNodeParams *)call->args[call->entry->arguments - 1];

    if (call->entry->arguments == 3) {
        objects_drain();
        objects_close_marks();
    }
    if (about && about->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
        graphs_note_event(about->eventRecord.event);
    return call_invoke(call);
}

/* cuGraphKernelNodeSetAttribute(node, id, value) */
CUresult route_graph_attribute(struct call *call)
{
    CUlaunchAttributeID id = (CUlaunchAttributeID)call->args[1];
    const CUlaunchAttributeValue *value = (const CUlaunchAttributeValue *)call->args[2];

    if (value &&
        (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT))
        graphs_note_event(value->programmaticEvent.event);
    return call_invoke(call);
}

/* --- launches of one graph --- */

static const void *exec_of(const struct cuda_command *command)
{
    return (const void *)command->call.args[0];
}

/* A node without work, behind the launch's issue. */
static bool wait_in_stream(struct stream_record *stream, struct command *launch)
{
    struct cuda_command draft = {.base = {.queue = &stream->queue, .next_at_end = true},
                                 .kind = COMMAND_FENCE,
                                 .stream = stream,
                                 .on = stream};
    struct cuda_command *command = submit_adopt(&draft, NULL);

    if (!command)
        return false;
    graph_open(&command->base);
    graph_wait_command(&command->base, launch, EDGE_AT_ISSUE);
    graph_close(&command->base);
    command_unref(&command->base);
    return true;
}

void graphs_take_turn(CUgraphExec exec, struct stream_record *stream)
{
    struct command *launch = NULL;

    if (!front_holds_graphs())
        return;
    launch = handle_table_find(&cuda_front.graphs.launches, exec);
    if (!launch)
        return;
    if (!wait_in_stream(stream, launch))
        (void)graph_wait(launch);
    command_unref(launch);
}

void graphs_launch_held(struct cuda_command *command)
{
    struct command *before;
    bool known;

    pthread_mutex_lock(&cuda_front.graphs.lock);
    before = handle_table_remove(&cuda_front.graphs.launches, exec_of(command));
    command_ref(&command->base);
    known = handle_table_put(&cuda_front.graphs.launches, exec_of(command), &command->base);
    pthread_mutex_unlock(&cuda_front.graphs.lock);
    if (!known)
        command_unref(&command->base);
    if (!before)
        return;
    graph_wait_command(&command->base, before, EDGE_AT_ISSUE);
    command_unref(before);
}

void graphs_launch_given(struct cuda_command *command)
{
    struct command *newest, *table_has = NULL;

    pthread_mutex_lock(&cuda_front.graphs.lock);
    newest = handle_table_find(&cuda_front.graphs.launches, exec_of(command));
    if (newest == &command->base)
        table_has = handle_table_remove(&cuda_front.graphs.launches, exec_of(command));
    pthread_mutex_unlock(&cuda_front.graphs.lock);
    if (newest)
        command_unref(newest);
    if (table_has)
        command_unref(table_has);
}
