/* Streams, events, captures. */
#include "cuda_cpu/runtime/calls.h"
#include "cuda_cpu/runtime/cuda_runtime.h"

RUNTIME_EXPORT cudaError_t cudaStreamCreate(cudaStream_t *ret_stream)
{
    RUNTIME_CALL(cuStreamCreate(ret_stream, 0));
}

RUNTIME_EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret_stream, unsigned int flags)
{
    RUNTIME_CALL(cuStreamCreate(ret_stream, flags));
}

RUNTIME_EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret_stream, unsigned int flags,
                                                        int priority)
{
    RUNTIME_CALL(cuStreamCreateWithPriority(ret_stream, flags, priority));
}

RUNTIME_EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    RUNTIME_CALL(cuStreamDestroy_v2(stream));
}

RUNTIME_EXPORT cudaError_t cudaEventCreate(cudaEvent_t *ret_event)
{
    RUNTIME_CALL(cuEventCreate(ret_event, 0));
}

RUNTIME_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret_event, unsigned int flags)
{
    RUNTIME_CALL(cuEventCreate(ret_event, flags));
}

RUNTIME_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    RUNTIME_CALL(cuEventDestroy_v2(event));
}

RUNTIME_EXPORT cudaError_t cudaEventQuery(cudaEvent_t event)
{
    RUNTIME_CALL(cuEventQuery(event));
}

RUNTIME_EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    RUNTIME_CALL(cuEventSynchronize(event));
}

RUNTIME_EXPORT cudaError_t cudaEventElapsedTime(float *ret_ms, cudaEvent_t begin, cudaEvent_t end)
{
    RUNTIME_CALL(cuEventElapsedTime_v2(ret_ms, begin, end));
}

RUNTIME_EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    return runtime_end_driver(cuThreadExchangeStreamCaptureMode(mode));
}

/* A call with a stream, in its two forms: the second is for per-thread default streams. */
#define STREAM_CALL(name, driver, parameters, arguments, own_arguments)                                      \
    RUNTIME_EXPORT cudaError_t name parameters                                                               \
    {                                                                                                        \
        RUNTIME_CALL(driver arguments);                                                                      \
    }                                                                                                        \
    RUNTIME_EXPORT cudaError_t name##_ptsz parameters                                                        \
    {                                                                                                        \
        RUNTIME_CALL(driver own_arguments);                                                                  \
    }

static cudaStream_t own(cudaStream_t stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

STREAM_CALL(cudaStreamSynchronize, cuStreamSynchronize, (cudaStream_t stream), (stream), (own(stream)))
STREAM_CALL(cudaStreamQuery, cuStreamQuery, (cudaStream_t stream), (stream), (own(stream)))
STREAM_CALL(cudaStreamWaitEvent, cuStreamWaitEvent,
            (cudaStream_t stream, cudaEvent_t event, unsigned int flags), (stream, event, flags),
            (own(stream), event, flags))
STREAM_CALL(cudaStreamGetFlags, cuStreamGetFlags, (cudaStream_t stream, unsigned int *ret_flags),
            (stream, ret_flags), (own(stream), ret_flags))
STREAM_CALL(cudaStreamGetPriority, cuStreamGetPriority, (cudaStream_t stream, int *ret_priority),
            (stream, ret_priority), (own(stream), ret_priority))
STREAM_CALL(cudaStreamGetId, cuStreamGetId, (cudaStream_t stream, unsigned long long *ret_id),
            (stream, ret_id), (own(stream), ret_id))
STREAM_CALL(cudaStreamGetDevice, cuStreamGetDevice, (cudaStream_t stream, int *ret_device),
            (stream, ret_device), (own(stream), ret_device))
STREAM_CALL(cudaEventRecord, cuEventRecord, (cudaEvent_t event, cudaStream_t stream), (event, stream),
            (event, own(stream)))
STREAM_CALL(cudaEventRecordWithFlags, cuEventRecordWithFlags,
            (cudaEvent_t event, cudaStream_t stream, unsigned int flags), (event, stream, flags),
            (event, own(stream), flags))
STREAM_CALL(cudaLaunchHostFunc, cuLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t run, void *user),
            (stream, run, user), (own(stream), run, user))
STREAM_CALL(cudaStreamBeginCapture, cuStreamBeginCapture_v2, (cudaStream_t stream, CUstreamCaptureMode mode),
            (stream, mode), (own(stream), mode))
STREAM_CALL(cudaStreamEndCapture, cuStreamEndCapture, (cudaStream_t stream, cudaGraph_t *ret_graph),
            (stream, ret_graph), (own(stream), ret_graph))
STREAM_CALL(cudaStreamIsCapturing, cuStreamIsCapturing,
            (cudaStream_t stream, CUstreamCaptureStatus *ret_status), (stream, ret_status),
            (own(stream), ret_status))
STREAM_CALL(cudaStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3,
            (cudaStream_t stream, CUstreamCaptureStatus *ret_status, unsigned long long *ret_id,
             cudaGraph_t *ret_graph, const cudaGraphNode_t **ret_after, const CUgraphEdgeData **ret_edges,
             size_t *ret_n),
            (stream, ret_status, ret_id, ret_graph, ret_after, ret_edges, ret_n),
            (own(stream), ret_status, ret_id, ret_graph, ret_after, ret_edges, ret_n))

/*
 * The status is the same number in both interfaces, so the program's callback can be called as the
 * driver's.
 */
STREAM_CALL(cudaStreamAddCallback, cuStreamAddCallback,
            (cudaStream_t stream, cudaStreamCallback_t run, void *user, unsigned int flags),
            (stream, (CUstreamCallback)(void (*)(void))run, user, flags),
            (own(stream), (CUstreamCallback)(void (*)(void))run, user, flags))
STREAM_CALL(cudaGraphLaunch, cuGraphLaunch, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream),
            (exec, own(stream)))
STREAM_CALL(cudaGraphUpload, cuGraphUpload, (cudaGraphExec_t exec, cudaStream_t stream), (exec, stream),
            (exec, own(stream)))
