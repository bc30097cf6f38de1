/*
 * Rules of graphs, captures and the events in them, each by its name. Most calls are made behind
 * work that waits for the thread that makes the call. CUDA returns from them at once unless a
 * comment says otherwise, so a program that hangs here does so because of Baton.
 *
 *     held KERNELS        a graph launch that waits keeps no other event from being complete
 *     recorded KERNELS    a wait for an event that such a launch records waits for it
 *     external KERNELS    a record that a capture makes a node leaves the event as it was
 *     turns KERNELS       launches of one executable graph in three streams keep their order
 *     fork KERNELS        a capture that a thread's own default stream joins
 *     beside KERNELS      waits in streams beside a capture
 *     left KERNELS        a capture whose stream, or whose context, is destroyed is over
 *     moved KERNELS       a wait for a record, while the event is recorded again without memory
 *     completion KERNELS  a launch that records an event is its newest record
 *     attributes KERNELS  a launch with attributes
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asleep.h"
#include "captured_graphs.h"
#include "one_rule.h"

/*
 * Opens gate 1, and then gate 0, when the main thread has made its next calls: it is in one that
 * waits for the gates, as streams of the context may, or in pthread_join().
 */
static void *open_late(void *unused)
{
    await_asleep(getpid());
    open_gate(1);
    await_asleep(getpid());
    open_gate(0);
    return unused;
}

static pthread_t start_opening(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, open_late, NULL) != 0)
        exit(2);
    return thread;
}

/* Copies word 0 to word 1, then sets word 0. */
static CUgraphExec shift_graph(unsigned value)
{
    CUstream stream = new_stream();

    begin_capture(stream);
    copy_word(1, 0, stream);
    set_word(0, value, stream);
    return end_capture(stream);
}

/* --- events and held-back launches --- */

static void held(void)
{
    CUstream stream = new_stream(), other = new_stream(), third = new_stream();
    CUevent first = new_event(), second = new_event(), in_graph = new_event();
    CUgraphExec exec = shift_graph(7), unused = record_graph(1, in_graph);
    float took = 0;

    close_gate(0, stream);
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuStreamWaitEvent(third, first, 0));
    MUST(cuEventRecord(first, other));
    MUST(cuEventSynchronize(first));
    expect(cuEventQuery(first) == CUDA_SUCCESS, "an event in a stream that waits for nothing is complete");
    MUST(cuEventRecord(second, other));
    MUST(cuEventSynchronize(second));
    MUST(cuEventElapsedTime(&took, first, second));
    MUST(cuStreamWaitEvent(third, first, 0));
    set_word(2, 3, third);
    MUST(cuCtxWaitEvent(context, first));
    MUST(cuStreamSynchronize(third));
    expect(word_at(2) == 3, "a stream that waits for it goes on");
    expect(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, "the launch waits");
    open_gate(0);
    MUST(cuStreamSynchronize(stream));
    expect(word_at(0) == 7, "the graph has run");
    MUST(cuGraphExecDestroy(unused));
}

/* These waits may wait for the launch. */
static void recorded(void)
{
    CUstream stream = new_stream(), before = new_stream(), other = new_stream();
    CUevent event = new_event();
    CUgraphExec exec = record_graph(5, event);
    pthread_t thread;

    MUST(cuEventRecord(event, other));
    close_gate(1, before);
    MUST(cuStreamWaitEvent(before, event, 0)); /* which is for the old record */
    close_gate(0, stream);
    MUST(cuGraphLaunch(exec, stream));
    expect(cuEventQuery(event) != CUDA_SUCCESS, "an event is not complete before its graph has run");
    thread = start_opening();
    MUST(cuStreamWaitEvent(other, event, 0));
    copy_word(2, 0, other);
    MUST(cuStreamSynchronize(other));
    (void)pthread_join(thread, NULL);
    expect(word_at(2) == 5, "the stream went on behind the graph's record");
    set_word(0, 0, stream);
    close_gate(1, before);
    set_word(3, 1, before);
    MUST(cuEventRecord(event, before));
    close_gate(0, stream);
    set_word(3, 6, stream);
    MUST(cuGraphLaunch(exec, stream));
    thread = start_opening();
    MUST(cuCtxWaitEvent(context, event));
    copy_word(4, 0, other);
    MUST(cuStreamSynchronize(other));
    (void)pthread_join(thread, NULL);
    expect(word_at(4) == 5, "so did the context");
}

static void external(void)
{
    CUstream stream = new_stream(), other = new_stream();
    CUevent event = new_event();
    CUgraphExec exec;

    close_gate(0, stream);
    set_word(1, 4, stream);
    MUST(cuEventRecord(event, stream));
    exec = record_graph(5, event);
    expect(cuEventQuery(event) == CUDA_ERROR_NOT_READY, "the event waits for its record");
    MUST(cuStreamWaitEvent(other, event, 0));
    copy_word(2, 1, other);
    expect(cuStreamQuery(other) == CUDA_ERROR_NOT_READY, "so does a stream");
    open_gate(0);
    MUST(cuStreamSynchronize(other));
    expect(word_at(2) == 4, "it came behind the record");
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuEventSynchronize(event));
    expect(word_at(0) == 5, "the graph records it, too");
}

static void turns(void)
{
    CUstream first = new_stream(), second = new_stream(), third = new_stream();
    CUgraphExec exec = shift_graph(9), other = shift_graph(8);

    close_gate(0, first);
    set_word(0, 1, first);
    MUST(cuGraphLaunch(exec, first));
    MUST(cuGraphLaunch(exec, second));
    copy_word(2, 1, second); /* what the second one found */
    let_run();
    expect(cuStreamQuery(second) == CUDA_ERROR_NOT_READY, "a launch waits for the one before it");
    MUST(cuGraphLaunch(exec, third));
    expect(cuStreamQuery(third) == CUDA_ERROR_NOT_READY, "so does the third one");
    open_gate(0);
    MUST(cuStreamSynchronize(third));
    MUST(cuStreamSynchronize(second));
    expect(word_at(0) == 9 && word_at(2) == 9, "the graph ran in the order of its launches");
    close_gate(0, first);
    MUST(cuGraphLaunch(exec, first));
    MUST(cuGraphLaunch(other, second));
    MUST(cuStreamSynchronize(second));
    expect(word_at(0) == 8, "another graph does not wait");
    open_gate(0);
    MUST(cuStreamSynchronize(first));
    MUST(cuGraphLaunch(exec, second));
    MUST(cuStreamSynchronize(second));
    expect(word_at(1) == 9, "a launch behind one that is over runs");
    MUST(cuGraphExecDestroy(exec));
}

/* --- captures --- */

static void fork_to_own(void)
{
    CUstream stream = new_stream();
    CUevent out = new_event(), back = new_event();
    CUstreamCaptureStatus status;
    CUgraphExec exec;

    for (unsigned i = 3; i < 6; i++) {
        begin_capture(stream);
        MUST(cuStreamIsCapturing(CU_STREAM_PER_THREAD, &status));
        expect(status == CU_STREAM_CAPTURE_STATUS_NONE, "the thread's own stream has not joined yet");
        set_word(0, i, stream);
        MUST(cuEventRecord(out, stream));
        MUST(cuStreamWaitEvent(CU_STREAM_PER_THREAD, out, 0));
        copy_word(1, 0, CU_STREAM_PER_THREAD);
        MUST(cuEventRecord(back, CU_STREAM_PER_THREAD));
        MUST(cuStreamWaitEvent(stream, back, 0));
        copy_word(2, 1, stream);
        exec = end_capture(stream);
        expect(word_at(2) != i, "what is captured does not run");
        MUST(cuGraphLaunch(exec, stream));
        MUST(cuStreamSynchronize(stream));
        expect(word_at(2) == i, "the graph runs");
        copy_word(3, 2, CU_STREAM_PER_THREAD);
        MUST(cuEventRecord(out, CU_STREAM_PER_THREAD));
        MUST(cuStreamWaitEvent(stream, out, 0)); /* the event is of no capture any more */
        copy_word(4, 3, stream);
        MUST(cuStreamSynchronize(stream));
        expect(word_at(4) == i, "the thread's own stream works afterwards");
        MUST(cuGraphExecDestroy(exec));
    }
}

static void beside(void)
{
    CUstream stream = new_stream(), other = new_stream(), captured = new_stream();
    CUevent event = new_event();
    CUgraphExec exec;

    begin_capture(captured);
    close_gate(0, stream);
    set_word(0, 2, stream);
    MUST(cuEventRecord(event, other));
    MUST(cuStreamWaitEvent(stream, event, 0));
    copy_word(1, 0, stream);
    MUST(cuEventRecord(event, stream));
    MUST(cuStreamWaitEvent(other, event, 0));
    copy_word(2, 1, other);
    expect(cuStreamQuery(other) == CUDA_ERROR_NOT_READY, "a stream beside a capture waits");
    set_word(3, 4, captured);
    open_gate(0);
    MUST(cuStreamSynchronize(other));
    expect(word_at(2) == 2, "it went on behind the record");
    exec = end_capture(captured);
    expect(word_at(3) == 0, "what is captured does not run");
    MUST(cuGraphLaunch(exec, captured));
    MUST(cuStreamSynchronize(captured));
    expect(word_at(3) == 4, "the capture was left alone");
}

/* While no stream captures, a context's wait returns at once. */
static void wait_by_context(void)
{
    CUstream stream = new_stream(), other = new_stream();
    CUevent event = new_event();

    set_word(0, 0, stream);
    close_gate(0, stream);
    set_word(0, 5, stream);
    MUST(cuEventRecord(event, stream));
    MUST(cuCtxWaitEvent(context, event));
    copy_word(1, 0, other);
    expect(cuStreamQuery(other) == CUDA_ERROR_NOT_READY, "the context waits");
    open_gate(0);
    MUST(cuStreamSynchronize(other));
    expect(word_at(1) == 5, "the context waited");
    MUST(cuCtxSynchronize());
}

static void left(void)
{
    CUstream captured = new_stream();
    CUcontext other;

    begin_capture(captured);
    set_word(2, 1, captured);
    MUST(cuStreamDestroy_v2(captured));
    wait_by_context();
    MUST(cuCtxCreate_v2(&other, 0, 0));
    captured = new_stream();
    begin_capture(captured);
    MUST(cuCtxDestroy_v2(other));
    MUST(cuCtxSetCurrent(context));
    wait_by_context();
    captured = new_stream();
    begin_capture(captured);
    (void)end_capture(captured);
    wait_by_context();
}

/* --- records --- */

static void moved(void)
{
    CUstream stream = new_stream(), waits = new_stream(), idle = new_stream();
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)&gates[0];
    CUevent event = new_event();
    unsigned *found = &gates[3];
    void *params[] = {&at};
    pthread_t thread;

    gates[0] = 0;
    *found = 1;
    MUST(cuLaunchKernel(wait_for, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    set_word(0, 6, stream);
    MUST(cuEventRecord(event, stream));
    close_gate(1, waits);
    MUST(cuStreamWaitEvent(waits, event, 0));
    MUST(cuMemcpyDtoHAsync_v2(found, words, sizeof *found, waits));
    thread = start_opening();
    MUST(cuEventRecord(event, idle)); /* may wait for the first record */
    open_gate(1);
    MUST(cuStreamSynchronize(waits));
    expect(*found == 6, "a wait is for the record of its time");
    (void)pthread_join(thread, NULL);
    MUST(cuCtxSynchronize());
}

/* `fill` for the first words, with one attribute. */
static void fill_with(CUlaunchAttribute *attribute, int value, CUstream stream)
{
    CUlaunchConfig config = {.gridDimX = 2,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = WORDS / 4,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream,
                             .attrs = attribute,
                             .numAttrs = 1};
    int n = WORDS / 2;
    void *params[] = {&words, &n, &value};

    MUST(cuLaunchKernelEx(&config, fill, params, NULL));
}

static void completion(void)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT};
    CUstream gated = new_stream(), stream = new_stream(), other = new_stream();
    CUevent event = new_event();

    close_gate(0, gated);
    set_word(WORDS - 2, 1, gated);
    MUST(cuEventRecord(event, gated));
    attribute.value.launchCompletionEvent.event = event;
    fill_with(&attribute, 7, stream);
    MUST(cuEventSynchronize(event)); /* does not wait for `gated` */
    MUST(cuStreamWaitEvent(other, event, 0));
    copy_word(WORDS - 3, 0, other);
    MUST(cuStreamSynchronize(other));
    expect(cuStreamQuery(gated) == CUDA_ERROR_NOT_READY, "the older record is not reached yet");
    MUST(cuStreamSynchronize(stream));
    expect(word_at(WORDS / 2 - 1) == 7, "the kernel has run");
    open_gate(0);
    MUST(cuCtxSynchronize());
}

static void attributes(void)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = 0};
    CUstream stream = new_stream();

    for (int i = 1; i < 20; i++) {
        fill_with(&attribute, i, i % 2 ? stream : NULL);
        copy_word(WORDS - 1, 0, i % 2 ? stream : NULL);
        MUST(cuStreamSynchronize(i % 2 ? stream : NULL));
        expect(word_at(WORDS - 1) == (unsigned)i, "a launch with an attribute runs in its stream");
        expect(word_at(WORDS / 2 - 1) == (unsigned)i, "... all of it");
    }
}

int main(int argc, char **argv)
{
    static const struct rule rules[] = {{"held", held},
                                        {"recorded", recorded},
                                        {"external", external},
                                        {"turns", turns},
                                        {"fork", fork_to_own},
                                        {"beside", beside},
                                        {"left", left},
                                        {"moved", moved},
                                        {"completion", completion},
                                        {"attributes", attributes}};

    return run_one_rule(rules, sizeof rules / sizeof rules[0], argc, argv);
}
