/* For programs of these tests: executable graphs that are captured in a stream. */
#ifndef TESTS_CUDA_FRONT_CAPTURED_GRAPHS_H
#define TESTS_CUDA_FRONT_CAPTURED_GRAPHS_H

#include "cuda_abi/graph_abi.h"
#include "gated_words.h"

static inline void begin_capture(CUstream stream)
{
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
}

static inline CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;

    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuGraphDestroy(graph));
    return exec;
}

static inline CUgraphExec end_capture(CUstream stream)
{
    CUgraph graph;

    MUST(cuStreamEndCapture(stream, &graph));
    return instantiate(graph);
}

/* Sets word 0, then records the event. */
static inline CUgraphExec record_graph(unsigned value, CUevent event)
{
    CUstream stream = new_stream();

    begin_capture(stream);
    set_word(0, value, stream);
    MUST(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    return end_capture(stream);
}

#endif
