/*
 * Rules of records and of waits for them that nodes of graphs make, or that the driver refuses,
 * each by its name. Most calls are made behind work that waits for the thread that makes the call.
 * CUDA returns from them at once unless a comment says otherwise, so a program that hangs here does
 * so because of Baton.
 *
 *     newest KERNELS   a launch records an event that has an older record, which is held back
 *     behind KERNELS   the same, and the older record is over first
 *     later KERNELS    a record behind a launch that is held back and records the event
 *     waits KERNELS    a launch waits for the events of its wait nodes, however they were made
 *     changed KERNELS  the event of a node of an executable graph is another one
 *     again KERNELS    a launch waits for the record of its time, which is held back, too
 *     given KERNELS    the same, and the driver has the record
 *     ended KERNELS    an event is destroyed while a launch that names it is held back
 *     refused KERNELS  a call that the driver refuses leaves an event its record
 *     beside KERNELS   two threads, one of which records an event again without memory
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "captured_graphs.h"
#include "one_rule.h"

enum { FETCHED = GATES - 1 };

/* Occupies the execution engine until this thread opens the gate. */
static void run_until(int gate, CUstream stream)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)&gates[gate];
    void *params[] = {&at};

    __atomic_store_n(&gates[gate], 0, __ATOMIC_RELEASE);
    MUST(cuLaunchKernel(wait_for, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static bool is_pending(CUevent event)
{
    return cuEventQuery(event) == CUDA_ERROR_NOT_READY;
}

/* The graph of a capture in which nothing but the event's record is. */
static CUgraphExec only_record_graph(CUevent event)
{
    CUstream stream = new_stream();

    begin_capture(stream);
    MUST(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
    return end_capture(stream);
}

/* Word 0 comes to the host when the stream comes by here; no engine that runs kernels is needed. */
static void fetch_word(CUstream stream)
{
    MUST(cuMemcpyDtoHAsync_v2(&gates[FETCHED], words, sizeof *gates, stream));
}

/* Waits for the event, then fetches word 0. */
static CUgraph captured_wait(CUevent event)
{
    CUstream stream = new_stream();
    CUgraph graph;

    begin_capture(stream);
    MUST(cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL));
    fetch_word(stream);
    MUST(cuStreamEndCapture(stream, &graph));
    return graph;
}

static CUgraph captured_fetch(void)
{
    CUstream stream = new_stream();
    CUgraph graph;

    begin_capture(stream);
    fetch_word(stream);
    MUST(cuStreamEndCapture(stream, &graph));
    return graph;
}

/* The same of a node for the event, and of a child behind it. */
static CUgraph built_wait(CUevent event, CUgraphNode *ret_node)
{
    CUgraph graph, child = captured_fetch();
    CUgraphNode fetch;

    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddEventWaitNode(ret_node, graph, NULL, 0, event));
    MUST(cuGraphAddChildGraphNode(&fetch, graph, ret_node, 1, child));
    MUST(cuGraphDestroy(child));
    return graph;
}

static CUgraph wait_in_child(CUevent event)
{
    CUgraph graph, child = captured_wait(event);
    CUgraphNode node;

    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    MUST(cuGraphDestroy(child));
    return graph;
}

/* --- records --- */

static void newest(void)
{
    CUstream gated = new_stream(), stream = new_stream(), other = new_stream();
    CUevent event = new_event();
    CUgraphExec exec = record_graph(9, event);

    close_gate(0, gated);
    set_word(3, 1, gated);
    MUST(cuEventRecord(event, gated));
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuStreamWaitEvent(other, event, 0));
    copy_word(2, 0, other);
    MUST(cuStreamSynchronize(other)); /* does not wait for `gated` */
    expect(word_at(2) == 9, "a wait is for the record of the graph");
    expect(cuEventQuery(event) == CUDA_SUCCESS, "which makes the event complete");
    MUST(cuEventSynchronize(event));
    open_gate(0);
    MUST(cuCtxSynchronize());
    expect(cuEventQuery(event) == CUDA_SUCCESS, "it stays complete");
}

static void behind(void)
{
    CUstream gated = new_stream(), stream = new_stream(), other = new_stream();
    CUevent event = new_event();
    CUgraphExec exec = only_record_graph(event);

    close_gate(0, gated);
    MUST(cuEventRecord(event, gated));
    run_until(1, stream);
    MUST(cuGraphLaunch(exec, stream));
    open_gate(0);
    MUST(cuStreamSynchronize(gated));
    MUST(cuStreamWaitEvent(other, event, 0));
    let_run();
    expect(cuStreamQuery(other) == CUDA_ERROR_NOT_READY, "a wait is for the record of the graph");
    expect(is_pending(event), "the event is not complete before that");
    open_gate(1);
    MUST(cuCtxSynchronize());
    expect(cuEventQuery(event) == CUDA_SUCCESS, "then it is");
}

static void later(void)
{
    CUstream gated = new_stream(), stream = new_stream(), other = new_stream();
    CUevent event = new_event();
    CUgraphExec exec = only_record_graph(event);

    close_gate(0, gated);
    MUST(cuGraphLaunch(exec, gated));
    MUST(cuStreamWaitEvent(other, event, 0));
    run_until(1, stream);
    MUST(cuEventRecord(event, stream));
    open_gate(0);
    MUST(cuStreamSynchronize(gated));
    MUST(cuStreamSynchronize(other)); /* the wait is for the graph's record */
    expect(is_pending(event), "an event is not complete before its newest record");
    MUST(cuStreamWaitEvent(other, event, 0));
    fetch_word(other);
    let_run();
    expect(cuStreamQuery(other) == CUDA_ERROR_NOT_READY, "a wait is for that, too");
    open_gate(1);
    MUST(cuEventSynchronize(event));
    MUST(cuStreamSynchronize(other));
}

/* --- waits --- */

/* Launches the graph, which waits for the event. */
static void check_waits(CUgraphExec exec, CUevent event, unsigned value)
{
    CUstream gated = new_stream(), stream = new_stream();

    close_gate(0, gated);
    set_word(0, value, gated);
    MUST(cuEventRecord(event, gated));
    MUST(cuGraphLaunch(exec, stream));
    let_run();
    expect(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, "a launch waits for the event of a node");
    open_gate(0);
    MUST(cuStreamSynchronize(stream));
    expect(gates[FETCHED] == value, "it came behind the record");
    MUST(cuCtxSynchronize());
}

static void waits(void)
{
    CUevent event = new_event();
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait.event = event};
    CUgraphNode node, fetch;
    CUgraph graph, child = captured_fetch();

    check_waits(instantiate(captured_wait(event)), event, 11);
    check_waits(instantiate(built_wait(event, &node)), event, 12);
    check_waits(instantiate(wait_in_child(event)), event, 13);
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddNode(&node, graph, NULL, 0, &params));
    MUST(cuGraphAddChildGraphNode(&fetch, graph, &node, 1, child));
    check_waits(instantiate(graph), event, 14);
}

static void changed(void)
{
    CUstream gated = new_stream();
    CUevent event = new_event(), first = new_event(), second = new_event();
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .eventWait.event = event};
    CUgraphExecUpdateResultInfo info;
    CUgraphNode node, record;
    CUgraphExec exec;
    CUgraph graph = built_wait(first, &node), other;

    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuGraphExecEventWaitNodeSetEvent(exec, node, event));
    check_waits(exec, event, 21);
    MUST(cuGraphExecEventWaitNodeSetEvent(exec, node, first));
    MUST(cuGraphExecNodeSetParams(exec, node, &params));
    check_waits(exec, event, 22);
    other = built_wait(second, &node);
    MUST(cuGraphExecUpdate_v2(exec, other, &info));
    check_waits(exec, second, 23);
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddEventRecordNode(&record, graph, NULL, 0, first));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuGraphExecEventRecordNodeSetEvent(exec, record, event));
    close_gate(0, gated);
    MUST(cuGraphLaunch(exec, gated));
    expect(is_pending(event), "a launch records the event of its node");
    MUST(cuEventSynchronize(first)); /* and not the one that the node had before */
    open_gate(0);
    MUST(cuEventSynchronize(event));
}

/* The older record is held back, or the driver has it; the launch is held back. */
static void check_again(bool is_given, unsigned value)
{
    CUstream gated = new_stream(), stream = new_stream(), idle = new_stream();
    CUevent event = new_event();
    CUgraphExec exec = instantiate(captured_wait(event));

    if (is_given)
        run_until(0, gated);
    else
        close_gate(0, gated);
    set_word(0, value, gated);
    MUST(cuEventRecord(event, gated));
    close_gate(1, stream);
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuEventRecord(event, idle));
    MUST(cuEventSynchronize(event)); /* does not wait for the launch */
    open_gate(1);
    let_run();
    expect(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, "a launch waits for the record of its time");
    open_gate(0);
    MUST(cuStreamSynchronize(stream));
    expect(gates[FETCHED] == value, "it came behind that record");
    MUST(cuCtxSynchronize());
}

static void again(void)
{
    check_again(false, 31);
}

static void given(void)
{
    check_again(true, 32);
}

/* --- ends --- */

static void ended(void)
{
    CUstream gated = new_stream(), stream = new_stream(), third = new_stream();
    CUevent event = new_event(), recorded = new_event();
    CUgraphExec waiting = instantiate(captured_wait(event)), recording = record_graph(8, recorded);

    close_gate(0, gated);
    set_word(0, 41, gated);
    MUST(cuEventRecord(event, gated));
    MUST(cuGraphLaunch(waiting, stream));
    MUST(cuGraphLaunch(recording, stream));
    MUST(cuStreamWaitEvent(third, recorded, 0));
    copy_word(2, 0, third);
    MUST(cuEventDestroy_v2(event));
    MUST(cuEventDestroy_v2(recorded));
    expect(cuEventDestroy_v2(event) == CUDA_ERROR_INVALID_HANDLE, "an event is destroyed once");
    (void)new_event(); /* may get a handle again */
    expect(cuStreamQuery(third) == CUDA_ERROR_NOT_READY, "what waits for a destroyed event waits on");
    open_gate(0);
    MUST(cuStreamSynchronize(third));
    expect(gates[FETCHED] == 41 && word_at(2) == 8, "the launches came in their order");
    MUST(cuStreamSynchronize(stream));
    MUST(cuCtxSynchronize());
}

/* --- refusals --- */

/* A launch of too many threads, which would record the event. */
static CUresult launch_too_much(CUevent event, CUstream stream)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
                                   .value.launchCompletionEvent.event = event};
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 100000,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream,
                             .attrs = &attribute,
                             .numAttrs = 1};
    int n = 1, value = 3;
    void *params[] = {&words, &n, &value};

    return cuLaunchKernelEx(&config, fill, params, NULL);
}

static void check_refused(bool by_launch, unsigned value)
{
    CUstream gated = new_stream(), stream = new_stream(), third = new_stream();
    CUevent event = new_event();
    CUresult code;

    if (!by_launch) {
        CUcontext other;

        MUST(cuCtxCreate_v2(&other, 0, 0));
        stream = new_stream(); /* whose context is not the event's */
        MUST(cuCtxSetCurrent(context));
    }
    close_gate(0, gated);
    set_word(0, value, gated);
    MUST(cuEventRecord(event, gated));
    code = by_launch ? launch_too_much(event, stream) : cuEventRecord(event, stream);
    expect(code != CUDA_SUCCESS, "the call is refused");
    expect(is_pending(event), "the older record stands");
    MUST(cuStreamWaitEvent(third, event, 0));
    copy_word(1, 0, third);
    let_run();
    expect(cuStreamQuery(third) == CUDA_ERROR_NOT_READY, "a wait is for it");
    open_gate(0);
    MUST(cuStreamSynchronize(third));
    expect(word_at(1) == value, "it came behind the record");
}

static void refused(void)
{
    check_refused(false, 51);
    check_refused(true, 52);
}

/* --- two threads --- */

struct recorder {
    CUevent event;
    CUstream stream;
};

static void *record_again(void *arg)
{
    const struct recorder *recorder = arg;

    MUST(cuCtxSetCurrent(context));
    MUST(cuEventRecord(recorder->event, recorder->stream)); /* may wait for the first record */
    return NULL;
}

/* The wait of the one thread ends when the other one, which submits work, opens a gate. */
static void beside(void)
{
    CUstream stream = new_stream(), waiting = new_stream(), third = new_stream();
    struct recorder recorder = {new_event(), third};
    pthread_t thread;

    run_until(0, stream);
    set_word(0, 61, stream);
    MUST(cuEventRecord(recorder.event, stream));
    close_gate(1, waiting);
    MUST(cuStreamWaitEvent(waiting, recorder.event, 0));
    fetch_word(waiting);
    close_gate(2, third);
    if (pthread_create(&thread, NULL, record_again, &recorder) != 0)
        exit(2);
    for (unsigned i = 0; i < 10; i++) {
        let_run();
        set_word(4, i, third);
    }
    open_gate(1);
    open_gate(0);
    (void)pthread_join(thread, NULL);
    MUST(cuStreamSynchronize(waiting));
    expect(gates[FETCHED] == 61, "a wait is for the record of its time");
    open_gate(2);
    MUST(cuCtxSynchronize());
    expect(word_at(4) == 9, "what was submitted meanwhile is done");
}

int main(int argc, char **argv)
{
    static const struct rule rules[] = {
        {"newest", newest}, {"behind", behind}, {"later", later}, {"waits", waits},     {"changed", changed},
        {"again", again},   {"given", given},   {"ended", ended}, {"refused", refused}, {"beside", beside}};

    return run_one_rule(rules, sizeof rules / sizeof rules[0], argc, argv);
}
