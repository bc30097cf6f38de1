/* Captures: what they contain, their modes, and everything that makes them invalid. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static void nothing_host(void *user)
{
    (void)user;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    MUST(cuStreamIsCapturing(stream, &status));
    return status;
}

static size_t nodes_of(CUgraph graph)
{
    size_t n = 0;

    MUST(cuGraphGetNodes(graph, NULL, &n));
    return n;
}

/* Ends the capture, which is invalid or broken in another way. */
static void end_with(const char *what, CUstream stream, CUresult documented)
{
    CUgraph graph = (CUgraph)(void *)&graph;

    answer(what, documented, cuStreamEndCapture(stream, &graph));
    if (documented != CUDA_SUCCESS && documented != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
        documented != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        holds("and gives no graph", graph == NULL);
    else if (documented == CUDA_SUCCESS)
        MUST(cuGraphDestroy(graph));
}

static void shape_cases(void)
{
    CUstream stream = stream_new(0), other = stream_new(CU_STREAM_NON_BLOCKING);
    CUdeviceptr words = device_words(2), second = words + 4;
    CUevent fork, join;
    CUgraph graph;
    CUgraphExec exec;
    void *parameters[] = {&words}, *second_parameters[] = {&second};

    MUST(cuEventCreate(&fork, 0));
    MUST(cuEventCreate(&join, 0));
    answer("a capture begins", CUDA_SUCCESS, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    holds("its stream says so", status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    answer("a launch is captured", CUDA_SUCCESS, launch_one(kernel("increment"), stream, parameters));
    MUST(cuEventRecord(fork, stream));
    answer("another stream joins by an event", CUDA_SUCCESS, cuStreamWaitEvent(other, fork, 0));
    holds("and captures, too", status_of(other) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    MUST(launch_one(kernel("increment"), other, second_parameters));
    MUST(cuEventRecord(join, other));
    MUST(cuStreamWaitEvent(stream, join, 0));
    MUST(launch_one(kernel("increment"), stream, second_parameters));
    answer("the capture ends", CUDA_SUCCESS, cuStreamEndCapture(stream, &graph));
    holds("both streams are free again", status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE &&
                                             status_of(other) == CU_STREAM_CAPTURE_STATUS_NONE);
    holds("the graph has three nodes", nodes_of(graph) == 3);
    MUST(cuCtxSynchronize());
    holds("nothing has run yet", word_at(words) == 0);
    answer("the graph is instantiated", CUDA_SUCCESS, cuGraphInstantiateWithFlags(&exec, graph, 0));
    answer("and launched", CUDA_SUCCESS, cuGraphLaunch(exec, stream));
    answer("and again", CUDA_SUCCESS, cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
    holds("every node has run twice", word_at(words) == 2 && word_at(second) == 4);
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
}

/*
 * A capture with many forks and joins: looking for work that was not joined must not walk every
 * path.
 */
static void ladder_case(void)
{
    CUstream stream = stream_new(0), other = stream_new(0);
    CUdeviceptr word = device_words(1);
    CUevent event;
    CUgraph graph;
    void *parameters[] = {&word};

    MUST(cuEventCreate(&event, 0));
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < 64; i++) {
        MUST(cuEventRecord(event, stream));
        MUST(cuStreamWaitEvent(other, event, 0));
        MUST(launch_one(kernel("increment"), stream, parameters));
        MUST(launch_one(kernel("increment"), other, parameters));
        MUST(cuEventRecord(event, other));
        MUST(cuStreamWaitEvent(stream, event, 0));
    }
    answer("64 forks and joins end at once", CUDA_SUCCESS, cuStreamEndCapture(stream, &graph));
    holds("with 128 nodes", nodes_of(graph) == 128);
    MUST(cuGraphDestroy(graph));
}

static void info_cases(void)
{
    CUstream stream = stream_new(0);
    CUdeviceptr word = device_words(1);
    CUstreamCaptureStatus status;
    unsigned long long id = 0;
    CUgraph graph = NULL, given, ended;
    const CUgraphNode *after = NULL;
    size_t n = 9;
    CUgraphNode first;

    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuMemsetD32Async(word, 1, 1, stream));
    answer("a capture can be asked", CUDA_SUCCESS,
           cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &after, NULL, &n));
    holds("it has an id, a graph and one node to depend on",
          status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id && graph && n == 1 && after[0]);
    first = after[0];
    answer("its dependencies can be set", CUDA_SUCCESS,
           cuStreamUpdateCaptureDependencies_v2(stream, NULL, NULL, 0, 1));
    MUST(cuMemsetD32Async(word, 2, 1, stream));
    answer("or added to", CUDA_SUCCESS, cuStreamUpdateCaptureDependencies_v2(stream, &first, NULL, 1, 0));
    MUST(cuLaunchHostFunc(stream, nothing_host, NULL));
    MUST(cuStreamEndCapture(stream, &ended));
    n = 0;
    MUST(cuGraphGetEdges_v2(ended, NULL, NULL, NULL, &n));
    holds("so the last node has two", nodes_of(ended) == 3 && n == 2);
    answer("a stream that does not capture has no dependencies to set", CUDA_ERROR_ILLEGAL_STATE,
           cuStreamUpdateCaptureDependencies_v2(stream, NULL, NULL, 0, 1));
    MUST(cuGraphDestroy(ended));
    MUST(cuGraphCreate(&given, 0));
    answer("a capture into a graph of the program", CUDA_SUCCESS,
           cuStreamBeginCaptureToGraph(stream, given, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuMemsetD32Async(word, 2, 1, stream));
    MUST(cuStreamEndCapture(stream, &ended));
    holds("ends with that graph", ended == given && nodes_of(given) == 1);
    MUST(cuGraphDestroy(given));
}

static void external_cases(void)
{
    CUstream stream = stream_new(0), other = stream_new(0);
    CUdeviceptr word = device_words(1);
    CUevent event;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[3] = {0};
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
    size_t n = 3;

    MUST(cuEventCreate(&event, 0));
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuMemsetD32Async(word, 1, 1, stream));
    answer("an external record becomes a node", CUDA_SUCCESS,
           cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    answer("so does an external wait", CUDA_SUCCESS,
           cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphGetNodes(graph, nodes, &n));
    holds("three nodes", n == 3);
    MUST(cuGraphNodeGetType(nodes[1], &type));
    holds("the second records", type == CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    MUST(cuGraphNodeGetType(nodes[2], &type));
    holds("the third waits", type == CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuGraphLaunch(exec, stream));
    answer("another stream can wait for the graph's record", CUDA_SUCCESS,
           cuStreamWaitEvent(other, event, 0));
    answer("and goes on", CUDA_SUCCESS, cuStreamSynchronize(other));
    answer("an event of a graph may be destroyed", CUDA_SUCCESS, cuEventDestroy_v2(event));
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
}

void capture_group(void)
{
    CUcontext context = context_open();

    shape_cases();
    ladder_case();
    info_cases();
    external_cases();
    context_close(context);
}

/* --- errors --- */

static void begin_cases(void)
{
    CUstream stream = stream_new(0);
    CUgraph graph;

    answer("the legacy stream cannot capture", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
    answer("no such mode", CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture_v2(stream, 7));
    answer("nothing to end", CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    answer("a stream captures once at a time", CUDA_ERROR_ILLEGAL_STATE,
           cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    end_with("the capture is not spoilt by that", stream, CUDA_SUCCESS);
}

static void look_cases(void)
{
    CUstream stream = stream_new(CU_STREAM_NON_BLOCKING);
    CUdeviceptr word = device_words(1);
    CUevent event;

    MUST(cuEventCreate(&event, 0));
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("a capturing stream cannot be synchronised", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           cuStreamSynchronize(stream));
    holds("the capture is invalid then", status_of(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    answer("and takes nothing", CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuMemsetD32Async(word, 1, 1, stream));
    end_with("it ends as invalid", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("nor queried", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(stream));
    end_with("which spoils it as well", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuEventRecord(event, stream));
    answer("a captured event cannot be queried", CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(event));
    end_with("the capture is lost", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuEventRecord(event, stream));
    answer("recorded again, the event is an ordinary one", CUDA_SUCCESS, cuEventSynchronize(event));
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    answer("the context cannot be synchronised meanwhile", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           cuCtxSynchronize());
    end_with("and the capture ends as invalid", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static void legacy_cases(void)
{
    CUstream stream = stream_new(0);
    CUdeviceptr word = device_words(1);
    CUstreamCaptureStatus status;
    int host = 0;

    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("asking the legacy stream about captures meets the blocking one",
           CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing(NULL, &status));
    holds("which is not spoilt by the question", status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    answer("work in the legacy stream would wait for it", CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
           cuMemsetD32Async(word, 1, 1, NULL));
    end_with("and spoils it", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("so does a synchronous copy", CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuMemcpyDtoH_v2(&host, word, 4));
    end_with("invalid", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    stream = stream_new(CU_STREAM_NON_BLOCKING);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("the legacy stream does not mind a non-blocking one", CUDA_SUCCESS,
           cuMemcpyDtoH_v2(&host, word, 4));
    end_with("fine", stream, CUDA_SUCCESS);
}

static void join_cases(void)
{
    CUstream first = stream_new(CU_STREAM_NON_BLOCKING), second = stream_new(CU_STREAM_NON_BLOCKING);
    CUdeviceptr word = device_words(1);
    CUevent event, plain;

    MUST(cuEventCreate(&event, 0));
    MUST(cuEventCreate(&plain, 0));
    MUST(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuMemsetD32Async(word, 1, 1, first));
    MUST(cuEventRecord(event, first));
    MUST(cuStreamWaitEvent(second, event, 0));
    MUST(cuMemsetD32Async(word, 1, 1, second));
    end_with("only the stream that began it can end it", second, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    end_with("the other end finds it invalid", first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuMemsetD32Async(word, 1, 1, first));
    MUST(cuEventRecord(event, first));
    MUST(cuStreamWaitEvent(second, event, 0));
    MUST(cuMemsetD32Async(word, 1, 1, second));
    end_with("a stream was not joined back", first, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    holds("and is free again", status_of(second) == CU_STREAM_CAPTURE_STATUS_NONE);
    MUST(cuEventRecord(plain, second));
    MUST(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("a capture cannot wait for work outside of it", CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
           cuStreamWaitEvent(first, plain, 0));
    end_with("that spoils it", first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuStreamBeginCapture_v2(second, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuEventRecord(event, first));
    answer("two captures cannot become one", CUDA_ERROR_STREAM_CAPTURE_MERGE,
           cuStreamWaitEvent(second, event, 0));
    end_with("the one is invalid", first, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    end_with("and the other", second, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

struct far_call {
    CUcontext context;
    CUstream stream;
    CUstreamCaptureMode mode;
    CUresult end, unsafe;
};

static void *call_far(void *argument)
{
    struct far_call *call = argument;
    CUdeviceptr address;
    CUgraph graph;

    MUST(cuCtxSetCurrent(call->context));
    MUST(cuThreadExchangeStreamCaptureMode(&call->mode));
    call->unsafe = cuMemAlloc_v2(&address, 4);
    if (call->stream)
        call->end = cuStreamEndCapture(call->stream, &graph);
    return NULL;
}

static struct far_call call_from_thread(CUstream stream, CUstreamCaptureMode mode)
{
    struct far_call call = {.stream = stream, .mode = mode};
    pthread_t thread;

    MUST(cuCtxGetCurrent(&call.context));
    pthread_create(&thread, NULL, call_far, &call);
    pthread_join(thread, NULL);
    return call;
}

static void mode_cases(void)
{
    CUstream stream = stream_new(CU_STREAM_NON_BLOCKING);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUdeviceptr address;

    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    answer("an allocation is unsafe while a capture of mode global runs",
           CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&address, 4));
    end_with("and spoils it", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    answer("from every thread", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           call_from_thread(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL).unsafe);
    end_with("spoilt", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    answer("unless that thread judges by its own captures only", CUDA_SUCCESS,
           call_from_thread(NULL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unsafe);
    end_with("fine", stream, CUDA_SUCCESS);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    answer("a capture of mode thread-local does not mind other threads", CUDA_SUCCESS,
           call_from_thread(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL).unsafe);
    answer("but its own", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&address, 4));
    end_with("spoilt", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("a relaxed capture minds nothing", CUDA_SUCCESS, cuMemAlloc_v2(&address, 4));
    end_with("fine", stream, CUDA_SUCCESS);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    answer("a thread's mode is exchanged", CUDA_SUCCESS, cuThreadExchangeStreamCaptureMode(&mode));
    holds("for global", mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
    answer("a relaxed thread may allocate", CUDA_SUCCESS, cuMemAlloc_v2(&address, 4));
    MUST(cuThreadExchangeStreamCaptureMode(&mode));
    end_with("fine", stream, CUDA_SUCCESS);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    answer("another thread cannot end it", CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
           call_from_thread(stream, CU_STREAM_CAPTURE_MODE_RELAXED).end);
    end_with("and has spoilt it", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("unless it is relaxed", CUDA_SUCCESS,
           call_from_thread(stream, CU_STREAM_CAPTURE_MODE_RELAXED).end);
}

static void callback_note(CUstream stream, CUresult status, void *user)
{
    (void)stream;
    (void)status;
    (void)user;
}

static void rest_cases(void)
{
    CUstream stream = stream_new(CU_STREAM_NON_BLOCKING), joined = stream_new(CU_STREAM_NON_BLOCKING);
    CUevent event;

    MUST(cuEventCreate(&event, 0));
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("a callback cannot be captured", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           cuStreamAddCallback(stream, callback_note, NULL, 0));
    end_with("spoilt", stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuEventRecord(event, stream));
    MUST(cuStreamWaitEvent(joined, event, 0));
    answer("a capturing stream may be destroyed", CUDA_SUCCESS, cuStreamDestroy_v2(stream));
    holds("the streams that joined its capture are free then",
          status_of(joined) == CU_STREAM_CAPTURE_STATUS_NONE);
    answer("the event of a capture that is over cannot be queried", CUDA_ERROR_CAPTURED_EVENT,
           cuEventQuery(event));
    answer("and is recorded again", CUDA_SUCCESS, cuEventRecord(event, joined));
    answer("and complete", CUDA_SUCCESS, cuEventSynchronize(event));
}

void capture_errors_group(void)
{
    CUcontext context = context_open();

    begin_cases();
    look_cases();
    legacy_cases();
    join_cases();
    mode_cases();
    rest_cases();
    context_close(context);
}
