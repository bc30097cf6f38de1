/* Calls that begin, end and describe captures. */
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/capture.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/handles.h"

DRIVER_EXPORT CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = stream_named(handle, &stream);
    return code == CUDA_SUCCESS ? capture_begin(stream, NULL, NULL, mode) : code;
}

DRIVER_EXPORT CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode *after,
                                                   const CUgraphEdgeData *edges, size_t n,
                                                   CUstreamCaptureMode mode)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct node_set set = {.items = (CUgraphNode *)after, .n = n};
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = stream_named(handle, &stream);
    if (code == CUDA_SUCCESS && (!handle_is(graph, HANDLE_GRAPH) || (n && !after)))
        code = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++)
        if (!handle_is(after[i], HANDLE_NODE) || after[i]->graph != graph || (edges && edges[i].type))
            code = CUDA_ERROR_INVALID_VALUE;
    return code == CUDA_SUCCESS ? capture_begin(stream, graph, &set, mode) : code;
}

DRIVER_EXPORT CUresult cuStreamEndCapture(CUstream handle, CUgraph *ret_graph)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = stream_named(handle, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    return ret_graph ? capture_end(stream, ret_graph) : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    CUresult code = api_enter(__func__, API_NOTHING);

    if (code != CUDA_SUCCESS)
        return code;
    if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = capture_exchange_mode(*mode);
    return CUDA_SUCCESS;
}

/* --- questions --- */

/* With captures.lock held: the stream was found before that, since a thread's own is made then. */
static CUresult status_of(const struct stream *stream, CUstreamCaptureStatus *ret_status,
                          unsigned long long *ret_id, CUgraph *ret_graph)
{
    const struct capture *capture = stream->capture;

    if (capture_meets_legacy(stream))
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *ret_status = !capture           ? CU_STREAM_CAPTURE_STATUS_NONE
                  : capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                     : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (capture && ret_id)
        *ret_id = capture->id;
    if (capture && ret_graph)
        *ret_graph = capture->graph;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *ret_status)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_status)
        return CUDA_ERROR_INVALID_VALUE;
    code = stream_named(handle, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&driver.captures.lock);
    code = status_of(stream, ret_status, NULL, NULL);
    pthread_mutex_unlock(&driver.captures.lock);
    return code;
}

/* The nodes are valid until the stream is given something else. */
DRIVER_EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *ret_status,
                                                 unsigned long long *ret_id, CUgraph *ret_graph,
                                                 const CUgraphNode **ret_after,
                                                 const CUgraphEdgeData **ret_edges, size_t *ret_n)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_status)
        return CUDA_ERROR_INVALID_VALUE;
    code = stream_named(handle, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&driver.captures.lock);
    code = status_of(stream, ret_status, ret_id, ret_graph);
    if (code == CUDA_SUCCESS && stream->capture) {
        if (ret_after)
            *ret_after = stream->after->items;
        if (ret_n)
            *ret_n = stream->after->n;
        if (ret_edges)
            *ret_edges = NULL;
    }
    pthread_mutex_unlock(&driver.captures.lock);
    return code;
}

DRIVER_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *ret_status,
                                                 unsigned long long *ret_id, CUgraph *ret_graph,
                                                 const CUgraphNode **ret_after, size_t *ret_n)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    return cuStreamGetCaptureInfo_v3(handle, ret_status, ret_id, ret_graph, ret_after, NULL, ret_n);
}

enum { ADD_DEPENDENCIES, SET_DEPENDENCIES };

DRIVER_EXPORT CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes,
                                                            const CUgraphEdgeData *edges, size_t n,
                                                            unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = stream_named(handle, &stream);
    if (code != CUDA_SUCCESS)
        return code;
    if (flags > SET_DEPENDENCIES || (n && !nodes))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&driver.captures.lock);
    code = stream->capture ? capture_check(stream) : CUDA_ERROR_ILLEGAL_STATE;
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++)
        if (!handle_is(nodes[i], HANDLE_NODE) || nodes[i]->graph != stream->capture->graph ||
            (edges && edges[i].type))
            code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && flags == SET_DEPENDENCIES)
        stream->after->n = 0;
    if (code == CUDA_SUCCESS && !node_set_add_all(stream->after, &(struct node_set){.items = nodes, .n = n}))
        code = CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_unlock(&driver.captures.lock);
    return code;
}

DRIVER_EXPORT CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode *nodes, size_t n,
                                                         unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    return code != CUDA_SUCCESS ? code : cuStreamUpdateCaptureDependencies_v2(handle, nodes, NULL, n, flags);
}
