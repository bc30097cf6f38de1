/* Order in streams and between them, events, host functions, threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* --- streams --- */

static void legacy_cases(void)
{
    CUstream blocking = stream_new(0), other = stream_new(0),
             free_stream = stream_new(CU_STREAM_NON_BLOCKING);
    CUdeviceptr words = device_words(4);
    struct gate gate = gate_close(blocking);

    MUST(cuMemsetD32Async(words, 5, 1, NULL));
    answer("the legacy stream waits for a blocking stream", CUDA_ERROR_NOT_READY, cuStreamQuery(NULL));
    MUST(cuMemsetD32Async(words + 4, 6, 1, other));
    answer("a blocking stream waits for the legacy stream", CUDA_ERROR_NOT_READY, cuStreamQuery(other));
    MUST(cuMemsetD32Async(words + 8, 7, 1, free_stream));
    answer("a non-blocking stream does not wait", CUDA_SUCCESS, cuStreamSynchronize(free_stream));
    MUST(cuMemsetD32Async(words + 12, 8, 1, CU_STREAM_PER_THREAD));
    answer("the per-thread default stream waits for the legacy stream", CUDA_ERROR_NOT_READY,
           cuStreamQuery(CU_STREAM_PER_THREAD));
    gate_open(gate);
    answer("all go on when the gate opens", CUDA_SUCCESS, cuCtxSynchronize());
    answer("a stream without work is ready", CUDA_SUCCESS, cuStreamQuery(other));
    holds("each wrote its word", word_at(words) == 5 && word_at(words + 4) == 6 && word_at(words + 8) == 7 &&
                                     word_at(words + 12) == 8);
    answer("an idle stream is destroyed", CUDA_SUCCESS, cuStreamDestroy_v2(other));
    answer("a destroyed stream is no handle", CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(other));
    answer("and cannot be destroyed again", CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(other));
}

static void between_cases(void)
{
    CUstream first = stream_new(0), second = stream_new(0);
    CUdeviceptr words = device_words(2);
    struct gate gate = gate_close(first);

    MUST(cuMemsetD32Async(words, 1, 1, second));
    answer("two blocking streams do not wait for each other", CUDA_SUCCESS, cuStreamSynchronize(second));
    MUST(cuMemsetD32Async(words + 4, 2, 1, first));
    answer("destroying a stream with work does not wait", CUDA_SUCCESS, cuStreamDestroy_v2(first));
    gate_open(gate);
    answer("and its work is done all the same", CUDA_SUCCESS, cuCtxSynchronize());
    holds("in order", word_at(words) == 1 && word_at(words + 4) == 2);
}

static void question_cases(CUcontext context)
{
    CUstream stream;
    CUcontext found, again = NULL;
    void *green = &found;
    CUlaunchAttributeValue value;
    unsigned flags = 9;
    unsigned long long id = 0, other_id = 0;
    int priority = 9, least = 9, greatest = 9;
    CUdevice device = -1;

    answer("priorities have a range", CUDA_SUCCESS, cuCtxGetStreamPriorityRange(&least, &greatest));
    holds("the greatest is numerically lower", greatest <= least);
    answer("a priority outside of the range is clamped", CUDA_SUCCESS,
           cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, greatest - 100));
    answer("priority", CUDA_SUCCESS, cuStreamGetPriority(stream, &priority));
    holds("is the greatest", priority == greatest);
    answer("flags", CUDA_SUCCESS, cuStreamGetFlags(stream, &flags));
    holds("are those it was made with", flags == CU_STREAM_NON_BLOCKING);
    answer("context", CUDA_SUCCESS, cuStreamGetCtx(stream, &found));
    answer("context, and that it is not green", CUDA_SUCCESS, cuStreamGetCtx_v2(stream, &again, &green));
    holds("the same, and none", again == found && !green);
    holds("is the current one", found == context);
    answer("id", CUDA_SUCCESS, cuStreamGetId(stream, &id));
    answer("id of the legacy stream", CUDA_SUCCESS, cuStreamGetId(NULL, &other_id));
    holds("ids differ", id != other_id);
    answer("device", CUDA_SUCCESS, cuStreamGetDevice(stream, &device));
    holds("is device 0", device == 0);
    answer("an attribute is set", CUDA_SUCCESS,
           cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY,
                                &(CUlaunchAttributeValue){.priority = -1}));
    answer("and read", CUDA_SUCCESS, cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    holds("as it was set", value.priority == -1);
    answer("a launch's attribute is not a stream's", CUDA_ERROR_INVALID_VALUE,
           cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
    answer("unknown flags", CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&stream, 2));
    answer("no place for the answer", CUDA_ERROR_INVALID_VALUE, cuStreamGetFlags(stream, NULL));
    answer("a stream that is none", CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize((CUstream)(void *)&flags));
}

void streams_group(void)
{
    CUcontext context = context_open();

    legacy_cases();
    between_cases();
    question_cases(context);
    context_close(context);
}

/* --- events --- */

static void record_cases(void)
{
    CUstream stream = stream_new(0), other = stream_new(0);
    CUevent begin, end, untimed;
    CUdeviceptr word = device_words(1);
    struct gate gate;
    float ms = -1;

    MUST(cuEventCreate(&begin, 0));
    MUST(cuEventCreate(&end, 0));
    MUST(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    answer("an event that was never recorded is complete", CUDA_SUCCESS, cuEventQuery(begin));
    answer("no time between events that were not recorded", CUDA_ERROR_INVALID_HANDLE,
           cuEventElapsedTime_v2(&ms, begin, end));
    MUST(cuEventRecord(begin, stream));
    gate = gate_close(stream);
    MUST(cuEventRecord(end, stream));
    MUST(cuEventRecord(untimed, stream));
    answer("an event is complete when its stream has come there", CUDA_SUCCESS, cuEventSynchronize(begin));
    answer("and not before", CUDA_ERROR_NOT_READY, cuEventQuery(end));
    answer("no time yet", CUDA_ERROR_NOT_READY, cuEventElapsedTime_v2(&ms, begin, end));
    answer("another stream can wait for it", CUDA_SUCCESS, cuStreamWaitEvent(other, end, 0));
    MUST(cuMemsetD32Async(word, 3, 1, other));
    answer("and waits", CUDA_ERROR_NOT_READY, cuStreamQuery(other));
    gate_open(gate);
    answer("until the event is complete", CUDA_SUCCESS, cuStreamSynchronize(other));
    answer("time between both", CUDA_SUCCESS, cuEventElapsedTime_v2(&ms, begin, end));
    holds("is not negative", ms >= 0);
    MUST(cuEventSynchronize(untimed));
    answer("an event without timing has no time", CUDA_ERROR_INVALID_HANDLE,
           cuEventElapsedTime_v2(&ms, begin, untimed));
    answer("no place for the time", CUDA_ERROR_INVALID_VALUE, cuEventElapsedTime_v2(NULL, begin, end));
    answer("an event is destroyed", CUDA_SUCCESS, cuEventDestroy_v2(begin));
    answer("and is no handle then", CUDA_ERROR_INVALID_HANDLE, cuEventRecord(begin, stream));
    answer("nor twice", CUDA_ERROR_INVALID_HANDLE, cuEventDestroy_v2(begin));
}

static void again_cases(void)
{
    CUstream stream = stream_new(0), other = stream_new(0);
    CUevent event;
    struct gate first, second;

    MUST(cuEventCreate(&event, 0));
    first = gate_close(stream);
    MUST(cuEventRecord(event, stream));
    MUST(cuStreamWaitEvent(other, event, 0));
    second = gate_close(stream);
    MUST(cuEventRecord(event, stream));
    gate_open(first);
    answer("a wait is for the record of its time, not for a later one", CUDA_SUCCESS,
           cuStreamSynchronize(other));
    answer("a query is about the latest record", CUDA_ERROR_NOT_READY, cuEventQuery(event));
    answer("an event with work is destroyed at once", CUDA_SUCCESS, cuEventDestroy_v2(event));
    gate_open(second);
    MUST(cuCtxSynchronize());
    answer("interprocess events need DISABLE_TIMING", CUDA_ERROR_INVALID_VALUE,
           cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    answer("unknown flags", CUDA_ERROR_INVALID_VALUE, cuEventCreate(&event, 64));
}

static void foreign_cases(CUcontext context)
{
    CUcontext other;
    CUevent event;
    CUstream stream = stream_new(0), far;

    MUST(cuEventCreate(&event, 0));
    MUST(cuCtxCreate_v2(&other, 0, 0));
    MUST(cuStreamCreate(&far, 0));
    answer("an event and a stream of two contexts cannot be recorded", CUDA_ERROR_INVALID_HANDLE,
           cuEventRecord(event, far));
    MUST(cuCtxSetCurrent(context));
    MUST(cuEventRecord(event, stream));
    answer("but waited for", CUDA_SUCCESS, cuStreamWaitEvent(far, event, 0));
    MUST(cuCtxDestroy_v2(other));
    MUST(cuCtxSetCurrent(context));
}

void events_group(void)
{
    CUcontext context = context_open();

    record_cases();
    again_cases();
    foreign_cases(context);
    context_close(context);
}

/* --- host functions --- */

struct diary {
    int order[8];
    int n;
    CUresult inside, alloc;
    CUresult status;
    CUstream stream;
};

struct entry {
    struct diary *diary;
    int number;
};

static void write_entry(void *user)
{
    struct entry *entry = user;

    entry->diary->order[entry->diary->n++] = entry->number;
}

static void call_inside(void *user)
{
    struct diary *diary = user;
    CUdeviceptr address;

    diary->inside = cuCtxSynchronize();
    diary->alloc = cuMemAlloc_v2(&address, 4);
}

static void note_status(CUstream stream, CUresult status, void *user)
{
    struct diary *diary = user;

    diary->stream = stream;
    diary->status = status;
}

void callbacks_group(void)
{
    CUcontext context = context_open();
    CUstream stream = stream_new(0);
    struct diary diary = {.status = CUDA_ERROR_UNKNOWN};
    struct entry entries[3] = {{&diary, 1}, {&diary, 2}, {&diary, 3}};
    struct gate gate = gate_close(stream);

    for (int i = 0; i < 3; i++)
        answer("a host function is taken", CUDA_SUCCESS, cuLaunchHostFunc(stream, write_entry, &entries[i]));
    holds("and not called before its turn", diary.n == 0);
    gate_open(gate);
    MUST(cuStreamSynchronize(stream));
    holds("they are called in order", diary.n == 3 && diary.order[0] == 1 && diary.order[2] == 3);
    MUST(cuLaunchHostFunc(stream, call_inside, &diary));
    MUST(cuStreamSynchronize(stream));
    answer("a host function must not synchronise", CUDA_ERROR_NOT_PERMITTED, diary.inside);
    answer("nor allocate", CUDA_ERROR_NOT_PERMITTED, diary.alloc);
    answer("a callback is taken", CUDA_SUCCESS, cuStreamAddCallback(stream, note_status, &diary, 0));
    MUST(cuStreamSynchronize(stream));
    answer("and told of the status", CUDA_SUCCESS, diary.status);
    holds("and of its stream", diary.stream == stream);
    answer("a callback has no flags", CUDA_ERROR_INVALID_VALUE,
           cuStreamAddCallback(stream, note_status, &diary, 1));
    answer("no function", CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(stream, NULL, NULL));
    context_close(context);
}

/* --- threads --- */

struct visitor {
    CUcontext context;
    CUdeviceptr word;
    CUresult without, query, synchronize;
    unsigned long long id;
};

static void *visit(void *argument)
{
    struct visitor *visitor = argument;

    visitor->without = cuStreamQuery(CU_STREAM_PER_THREAD);
    MUST(cuCtxSetCurrent(visitor->context));
    MUST(cuMemsetD32Async(visitor->word, 9, 1, CU_STREAM_PER_THREAD));
    visitor->synchronize = cuStreamSynchronize(CU_STREAM_PER_THREAD);
    MUST(cuStreamGetId(CU_STREAM_PER_THREAD, &visitor->id));
    return NULL;
}

static void visit_once(struct visitor *visitor)
{
    pthread_t thread;

    pthread_create(&thread, NULL, visit, visitor);
    pthread_join(thread, NULL);
}

void threads_group(void)
{
    CUcontext context = context_open();
    struct visitor visitor = {.context = context, .word = device_words(1)};
    struct gate gate = gate_close(CU_STREAM_PER_THREAD);
    unsigned long long id = 0;

    MUST(cuStreamGetId(CU_STREAM_PER_THREAD, &id));
    visit_once(&visitor);
    answer("a new thread has no context", CUDA_ERROR_INVALID_CONTEXT, visitor.without);
    answer("its default stream is its own: another thread's does not hold it", CUDA_SUCCESS,
           visitor.synchronize);
    holds("and has another id", visitor.id != id);
    answer("while the first thread's waits", CUDA_ERROR_NOT_READY, cuStreamQuery(CU_STREAM_PER_THREAD));
    gate_open(gate);
    MUST(cuCtxSynchronize());
    for (int i = 0; i < 100; i++)
        visit_once(&visitor);
    holds("threads come and go", word_at(visitor.word) == 9);
    answer("a context is destroyed after threads that used it have ended", CUDA_SUCCESS,
           cuCtxDestroy_v2(context));
}
