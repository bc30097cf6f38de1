#include "cuda/graph_order.h"

#include "cuda/front.h"
#include "cuda/objects.h"
#include "cuda_abi/graph_abi.h"

void graphs_init(void)
{
    handle_table_init(&cuda_front.graphs.events, NULL);
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
