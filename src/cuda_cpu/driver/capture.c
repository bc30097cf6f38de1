#include "cuda_cpu/driver/capture.h"

#include <stdlib.h>

#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/handles.h"

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
    CUstreamCaptureMode before = driver_thread.capture_mode;

    driver_thread.capture_mode = mode;
    return before;
}

void capture_unref(struct capture *capture)
{
    if (!capture || atomic_fetch_sub(&capture->refs, 1) != 1)
        return;
    if (!capture->given)
        graph_free(capture->graph);
    free(capture);
}

CUresult capture_check(const struct stream *stream)
{
    return stream->capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult capture_spoil(struct stream *stream, CUresult code)
{
    if (stream->capture)
        stream->capture->invalid = true;
    return code;
}

CUresult capture_forbid_unsafe(void)
{
    CUresult code = CUDA_SUCCESS;

    if (driver_thread.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&driver.captures.lock);
    list_for_each(at, &driver.captures.all)
    {
        struct capture *capture = list_entry(at, struct capture, link);
        bool mine = pthread_equal(capture->thread, pthread_self());

        if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
            (!mine && (capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
                       driver_thread.capture_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)))
            continue;
        capture->invalid = true;
        code = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    pthread_mutex_unlock(&driver.captures.lock);
    return code;
}

struct meeting {
    const struct stream *legacy;
    bool spoil, met;
};

/* Every blocking stream that captures counts, whether it began its capture or joined it. */
static void meet(struct stream *stream, void *data)
{
    struct meeting *meeting = data;

    if (!stream->capture || !stream->work->blocking || stream->context != meeting->legacy->context)
        return;
    meeting->met = true;
    if (meeting->spoil)
        stream->capture->invalid = true;
}

static bool meets(const struct stream *stream, bool spoil)
{
    struct meeting meeting = {stream, spoil, false};

    if (stream->work->legacy && atomic_load(&stream->context->n_capturing))
        stream_each(meet, &meeting);
    return meeting.met;
}

bool capture_meets_legacy(const struct stream *stream)
{
    return meets(stream, false);
}

bool capture_spoil_legacy(const struct stream *stream)
{
    return meets(stream, true);
}

CUgraphNodeType capture_type(const struct action *action)
{
    switch (action->kind) {
    case ACTION_LAUNCH:
        return CU_GRAPH_NODE_TYPE_KERNEL;
    case ACTION_COPY:
        return CU_GRAPH_NODE_TYPE_MEMCPY;
    case ACTION_SET:
        return CU_GRAPH_NODE_TYPE_MEMSET;
    case ACTION_HOST:
        return CU_GRAPH_NODE_TYPE_HOST;
    case ACTION_RECORD:
        return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    case ACTION_AWAIT:
        return CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    case ACTION_ALLOCATED:
        return CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    case ACTION_FREE:
    case ACTION_FREED:
        return CU_GRAPH_NODE_TYPE_MEM_FREE;
    case ACTION_WRITE_VALUE:
    case ACTION_WAIT_VALUE:
        return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    default:
        return CU_GRAPH_NODE_TYPE_EMPTY;
    }
}

CUresult capture_add(struct stream *stream, CUgraphNodeType type, struct action *action)
{
    CUresult code = capture_check(stream);
    CUgraphNode node;

    if (code != CUDA_SUCCESS) {
        action_unref(action);
        return code;
    }
    node = graph_add(stream->capture->graph, type, action, stream->after);
    if (!node)
        return capture_spoil(stream, CUDA_ERROR_OUT_OF_MEMORY);
    stream->after->n = 0;
    return node_set_add(stream->after, node) ? CUDA_SUCCESS : capture_spoil(stream, CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult capture_begin(struct stream *stream, CUgraph graph, const struct node_set *after,
                       CUstreamCaptureMode mode)
{
    struct capture *capture;
    struct node_set *set;
    CUresult code = CUDA_SUCCESS;

    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->work->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    capture = calloc(1, sizeof *capture);
    set = calloc(1, sizeof *set);
    pthread_mutex_lock(&driver.captures.lock);
    if (stream->capture || (graph && graph->capturing))
        code = CUDA_ERROR_ILLEGAL_STATE;
    else if (!capture || !set || (after && !node_set_add_all(set, after)) ||
             !(capture->graph = graph ? graph : graph_new(stream->context)))
        code = CUDA_ERROR_OUT_OF_MEMORY;
    if (code == CUDA_SUCCESS) {
        stream->after = set;
        capture->graph->capturing = true;
        capture->refs = 1;
        capture->given = graph != NULL;
        capture->origin = stream;
        capture->mode = mode;
        capture->thread = pthread_self();
        capture->id = ++driver.captures.last_id;
        list_append(&driver.captures.all, &capture->link);
        stream->capture = capture;
        atomic_fetch_add(&stream->context->n_capturing, 1);
    }
    pthread_mutex_unlock(&driver.captures.lock);
    if (code != CUDA_SUCCESS) {
        if (set)
            node_set_done(set);
        free(set);
        free(capture);
    }
    return code;
}

static bool mark(const struct node_set *set)
{
    bool changed = false;

    for (size_t i = 0; i < set->n; i++) {
        changed = changed || !set->items[i]->marked;
        set->items[i]->marked = true;
    }
    return changed;
}

/*
 * Marks the nodes and everything that they depend on. Nodes depend on older nodes, unless the
 * program added dependencies itself. So one walk back from the youngest node is usually enough; a
 * further walk that marks nothing shows that it was.
 */
static void mark_joined(CUgraph graph, const struct node_set *joined)
{
    bool changed;

    list_for_each(at, &graph->nodes) list_entry(at, struct CUgraphNode_st, link)->marked = false;
    (void)mark(joined);
    do {
        changed = false;
        for (struct list *at = graph->nodes.prev; at != &graph->nodes; at = at->prev) {
            CUgraphNode node = list_entry(at, struct CUgraphNode_st, link);

            if (node->marked && mark(&node->after))
                changed = true;
        }
    } while (changed);
}

/*
 * Takes the stream out of its capture. Answers whether all that it captured is marked as joined to
 * the origin.
 */
static bool leave(struct stream *stream)
{
    struct capture *capture = stream->capture;
    bool all_joined = true;

    for (size_t i = 0; i < stream->after->n; i++)
        all_joined = all_joined && stream->after->items[i]->marked;
    node_set_done(stream->after);
    free(stream->after);
    stream->after = NULL;
    stream->capture = NULL;
    atomic_fetch_sub(&stream->context->n_capturing, 1);
    capture_unref(capture);
    return all_joined;
}

struct leaving {
    const struct capture *capture;
    bool all_joined;
};

static void leave_each(struct stream *stream, void *data)
{
    struct leaving *leaving = data;

    if (stream->capture == leaving->capture && stream != leaving->capture->origin)
        leaving->all_joined = leave(stream) && leaving->all_joined;
}

static CUresult end_locked(struct stream *stream, CUgraph *ret_graph)
{
    struct capture *capture = stream->capture;
    struct leaving leaving = {capture, true};
    CUresult code;

    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream)
        return capture_spoil(stream, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(capture->thread, pthread_self()))
        return capture_spoil(stream, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    mark_joined(capture->graph, stream->after);
    stream_each(leave_each, &leaving);
    code = capture_check(stream);
    if (code == CUDA_SUCCESS && !leaving.all_joined)
        code = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    list_remove(&capture->link);
    capture->over = true;
    *ret_graph = code == CUDA_SUCCESS ? capture->graph : NULL;
    if (code == CUDA_SUCCESS)
        capture->given = true; /* the graph belongs to the program from here on */
    capture->graph->capturing = false;
    (void)leave(stream);
    return code;
}

void capture_abandon(struct stream *stream)
{
    struct capture *capture = stream->capture;
    struct leaving leaving = {capture, true};

    if (!capture)
        return;
    capture->invalid = true;
    if (capture->origin == stream) {
        stream_each(leave_each, &leaving);
        list_remove(&capture->link);
        capture->over = true;
        capture->graph->capturing = false;
    }
    (void)leave(stream);
}

CUresult capture_end(struct stream *stream, CUgraph *ret_graph)
{
    CUresult code;

    pthread_mutex_lock(&driver.captures.lock);
    code = end_locked(stream, ret_graph);
    pthread_mutex_unlock(&driver.captures.lock);
    return code;
}
