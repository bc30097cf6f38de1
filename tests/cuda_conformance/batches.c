/* Batches of copies and hints, ranges of managed memory, events of contexts, counted contexts. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "cuda_abi/memory_calls.h"

enum { N = 3, BYTES = 1000 };

static void copy_cases(void)
{
    CUmemcpyAttributes attributes[2] = {{.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM},
                                        {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL}};
    size_t firsts[2] = {0, 2}, sizes[N] = {BYTES, BYTES / 2, BYTES}, failed = 77;
    CUstream stream = stream_new(0);
    unsigned char from[N][BYTES], back[BYTES];
    CUdeviceptr to[N], source[N];
    bool same = true;

    for (int i = 0; i < N; i++) {
        memset(from[i], 10 + i, BYTES);
        source[i] = (uintptr_t)from[i];
        to[i] = device_words(BYTES / 4);
    }
    answer("a batch of copies", CUDA_SUCCESS,
           cuMemcpyBatchAsync_v2(to, source, sizes, N, attributes, firsts, 2, stream));
    memset(from[2], 0, BYTES); /* read during the call */
    MUST(cuStreamSynchronize(stream));
    for (int i = 0; i < N; i++) {
        MUST(cuMemcpyDtoH_v2(back, to[i], BYTES));
        same = same && back[0] == 10 + i && back[sizes[i] - 1] == 10 + i &&
               (sizes[i] == BYTES || back[sizes[i]] == 0);
    }
    holds("copies each of them", same);
    sizes[1] = 1 << 20;
    answer("one that leaves its memory", CUDA_ERROR_INVALID_VALUE,
           cuMemcpyBatchAsync(to, source, sizes, N, attributes, firsts, 2, &failed, stream));
    holds("is named", failed == 1);
    sizes[1] = BYTES;
    memset(from[0], 99, BYTES);
    MUST(cuStreamSynchronize(stream));
    MUST(cuMemcpyDtoH_v2(back, to[0], BYTES));
    holds("and none of the batch has run", back[0] == 10);
    answer("in the legacy stream", CUDA_ERROR_INVALID_VALUE,
           cuMemcpyBatchAsync_v2(to, source, sizes, N, attributes, firsts, 2, NULL));
    firsts[0] = 1;
    answer("attributes that do not begin with the first", CUDA_ERROR_INVALID_VALUE,
           cuMemcpyBatchAsync(to, source, sizes, N, attributes, firsts, 2, &failed, stream));
    holds("are no fault of a copy", failed == SIZE_MAX);
    firsts[0] = 0;
    attributes[1].srcAccessOrder = 0;
    answer("no order", CUDA_ERROR_INVALID_VALUE,
           cuMemcpyBatchAsync_v2(to, source, sizes, N, attributes, firsts, 2, stream));
    answer("no copies", CUDA_ERROR_INVALID_VALUE,
           cuMemcpyBatchAsync_v2(to, source, sizes, 0, attributes, firsts, 1, stream));
    MUST(cuStreamDestroy_v2(stream));
}

/* 4 x 3 words into the middle of an array, and back. */
static void box_cases(void)
{
    CUDA_ARRAY3D_DESCRIPTOR about = {
        .Width = 8, .Height = 8, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1};
    unsigned words[3][5], back[3][4];
    CUstream stream = stream_new(0);
    CUDA_MEMCPY3D_BATCH_OP copies[2];
    CUarray array;
    size_t failed = 0;
    bool same = true;

    MUST(cuArray3DCreate_v2(&array, &about));
    for (unsigned y = 0; y < 3; y++)
        for (unsigned x = 0; x < 5; x++)
            words[y][x] = 100 * y + x;
    memset(copies, 0, sizeof copies);
    memset(back, 0, sizeof back);
    copies[0].src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    copies[0].src.op.ptr.ptr = (uintptr_t)words;
    copies[0].src.op.ptr.rowLength = 5; /* elements */
    copies[0].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    copies[0].dst.op.array.array = array;
    copies[0].dst.op.array.offset = (CUoffset3D){2, 1, 0};
    copies[0].extent = (CUextent3D){4, 3, 1};
    copies[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    copies[1] = copies[0];
    copies[1].src = copies[0].dst;
    copies[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    memset(&copies[1].dst.op, 0, sizeof copies[1].dst.op);
    copies[1].dst.op.ptr.ptr = (uintptr_t)back; /* rows one behind the other */
    answer("a box into an array", CUDA_SUCCESS, cuMemcpy3DBatchAsync_v2(1, copies, 0, stream));
    answer("and back", CUDA_SUCCESS, cuMemcpy3DBatchAsync_v2(1, copies + 1, 0, stream));
    MUST(cuStreamSynchronize(stream));
    for (unsigned y = 0; y < 3; y++)
        for (unsigned x = 0; x < 4; x++)
            same = same && back[y][x] == 100 * y + x;
    holds("is the same box", same);
    copies[1].extent.width = 0;
    answer("a box of no width", CUDA_ERROR_INVALID_VALUE,
           cuMemcpy3DBatchAsync(2, copies, &failed, 0, stream));
    holds("is named", failed == 1);
    copies[0].dst.op.array.offset.x = 6;
    answer("a box beyond the array", CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync_v2(1, copies, 0, stream));
    MUST(cuArrayDestroy(array));
    MUST(cuStreamDestroy_v2(stream));
}

static int range(int attribute, CUdeviceptr address, size_t size)
{
    int value = 77;

    MUST(cuMemRangeGetAttribute(&value, 4, attribute, address, size));
    return value;
}

static void range_cases(void)
{
    const CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0}, device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemLocation locations[2] = {device, host};
    int devices[3] = {7, 7, 7}, one = 0, two = 0, attributes[2] = {1, 2};
    size_t sizes[2] = {4096, 4096}, firsts[2] = {0, 1}, answers[2] = {4, 4};
    void *values[2] = {&one, &two};
    CUstream stream = stream_new(0);
    CUdeviceptr address, ranges[2];

    MUST(cuMemAllocManaged(&address, 8192, CU_MEM_ATTACH_GLOBAL));
    ranges[0] = address;
    ranges[1] = address + 4096;
    holds("managed memory without advice is not read-mostly", range(1, address, 8192) == 0);
    holds("and has no preferred location", range(2, address, 8192) == -2);
    holds("nor was it prefetched", range(4, address, 8192) == -2);
    MUST(cuMemAdvise(address, 4096, 1, 0)); /* read-mostly */
    holds("advice about the first half holds there", range(1, address, 4096) == 1);
    holds("not for all of it", range(1, address, 8192) == 0);
    MUST(cuMemAdvise(address + 4096, 4096, 1, 0));
    holds("until the second half has it, too", range(1, address, 8192) == 1);
    MUST(cuMemAdvise(address + 100, 8, 2, 0)); /* no longer */
    holds("or a part loses it", range(1, address, 8192) == 0 && range(1, address + 4096, 4096) == 1);
    MUST(cuMemAdvise(address, 8192, 3, 0));
    holds("the preferred device", range(2, address, 8192) == 0 && range(5, address, 8192) == 1);
    MUST(cuMemAdvise(address, 8192, 3, -1));
    holds("the host", range(2, address, 8192) == -1 && range(5, address, 8192) == 2);
    MUST(cuMemAdvise(address, 8192, 5, 0));
    answer("the devices that access it", CUDA_SUCCESS, cuMemRangeGetAttribute(devices, 12, 3, address, 8192));
    holds("are listed, and then none", devices[0] == 0 && devices[1] == -2 && devices[2] == -2);
    answer("hints in a batch", CUDA_SUCCESS,
           cuMemPrefetchBatchAsync(ranges, sizes, 2, locations, firsts, 2, 0, stream));
    holds("are told", range(4, address, 4096) == 0 && range(4, address + 4096, 4096) == -1);
    holds("two locations are none for all", range(4, address, 8192) == -2);
    answer("memory that is not needed any more", CUDA_SUCCESS,
           cuMemDiscardBatchAsync(ranges, sizes, 2, 0, stream));
    answer("in the legacy stream", CUDA_ERROR_INVALID_VALUE,
           cuMemDiscardBatchAsync(ranges, sizes, 2, 0, NULL));
    answer("several attributes at once", CUDA_SUCCESS,
           cuMemRangeGetAttributes(values, answers, attributes, 2, address + 4096, 4096));
    holds("are those of each", one == 1 && two == -1);
    answer("in too few bytes", CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(&one, 2, 1, address, 8192));
    answer("no attribute", CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(&one, 4, 9, address, 8192));
    answer("beyond the memory", CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(&one, 4, 1, address, 8193));
    MUST(cuStreamSynchronize(stream));
    MUST(cuMemFree_v2(address));
    answer("memory that is gone", CUDA_ERROR_INVALID_VALUE,
           cuMemRangeGetAttribute(&one, 4, 1, address, 4096));
    answer("memory that is not managed", CUDA_ERROR_INVALID_VALUE,
           cuMemRangeGetAttribute(&one, 4, 1, device_words(1), 4));
    MUST(cuStreamDestroy_v2(stream));
}

static void graph_memory_cases(void)
{
    uint64_t used = 1, most = 1, zero = 0, five = 5;
    CUstream stream = stream_new(0);
    CUgraphExec exec;
    CUdeviceptr address;
    CUgraph graph;

    MUST(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuMemAllocAsync(&address, 4096, stream));
    MUST(cuMemFreeAsync(address, stream));
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
    answer("memory that graphs use now", CUDA_SUCCESS,
           cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used));
    answer("and used at most", CUDA_SUCCESS,
           cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &most));
    holds("none, and what the graph allocated", used == 0 && most >= 4096);
    answer("the most is reset", CUDA_SUCCESS,
           cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    MUST(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &most));
    holds("to what there is", most == 0);
    answer("to nothing else", CUDA_ERROR_INVALID_VALUE,
           cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &five));
    answer("what is used now is not set", CUDA_ERROR_INVALID_VALUE,
           cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero));
    answer("of no device", CUDA_ERROR_INVALID_DEVICE,
           cuDeviceGetGraphMemAttribute(99, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &most));
    MUST(cuGraphExecDestroy(exec));
    MUST(cuGraphDestroy(graph));
    MUST(cuStreamDestroy_v2(stream));
}

static void green_cases(void)
{
    CUdevResource whole, group, rest;
    unsigned n = 1;
    void *descriptor;
    CUgreenCtx green, found;
    CUcontext context, other;
    CUstream one, two;
    CUevent event;
    struct gate gate;
    CUdeviceptr word;

    answer("the multiprocessors of a device", CUDA_SUCCESS,
           cuDeviceGetDevResource(0, &whole, CU_DEV_RESOURCE_TYPE_SM));
    answer("are split", CUDA_SUCCESS, cuDevSmResourceSplitByCount(&group, &n, &whole, &rest, 0, 1));
    holds("into at least one group", n >= 1 && group.sm.smCount >= 1);
    answer("not into more than there are", CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
           cuDevSmResourceSplitByCount(&group, &n, &whole, &rest, 0, whole.sm.smCount + 1));
    answer("a descriptor", CUDA_SUCCESS, cuDevResourceGenerateDesc(&descriptor, &whole, 1));
    answer("a green context", CUDA_SUCCESS,
           cuGreenCtxCreate(&green, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    answer("not without its flag", CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate(&found, descriptor, 0, 0));
    answer("as a context", CUDA_SUCCESS, cuCtxFromGreenCtx(&context, green));
    MUST(cuCtxPushCurrent_v2(context));
    word = device_words(1);
    answer("a stream of it", CUDA_SUCCESS, cuGreenCtxStreamCreate(&one, green, CU_STREAM_NON_BLOCKING, 0));
    answer("does not block", CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate(&two, green, 0, 0));
    answer("knows it", CUDA_SUCCESS, cuStreamGetGreenCtx(one, &found));
    holds("by its handle", found == green);
    MUST(cuEventCreate(&event, 0));
    gate = gate_close(one);
    answer("an event of all that it does", CUDA_SUCCESS, cuGreenCtxRecordEvent(green, event));
    answer("waits for its streams", CUDA_ERROR_NOT_READY, cuEventQuery(event));
    answer("a green context waits for an event", CUDA_SUCCESS, cuGreenCtxWaitEvent(green, event));
    MUST(cuGreenCtxStreamCreate(&two, green, CU_STREAM_NON_BLOCKING, 0));
    MUST(cuMemsetD32Async(word, 8, 1, two));
    answer("in streams that come later, too", CUDA_ERROR_NOT_READY, cuStreamQuery(two));
    gate_open(gate);
    answer("until it is complete", CUDA_SUCCESS, cuStreamSynchronize(two));
    holds("and does its work", word_at(word) == 8);
    MUST(cuCtxPopCurrent_v2(&other));
    answer("it ends", CUDA_SUCCESS, cuGreenCtxDestroy(green));
    answer("once", CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxDestroy(green));
}

static void context_cases(CUcontext context)
{
    CUstream one = stream_new(CU_STREAM_NON_BLOCKING), two = stream_new(CU_STREAM_NON_BLOCKING), third;
    CUdeviceptr word = device_words(1);
    struct gate gate = gate_close(one), other;
    CUcontext found;
    CUevent event;

    MUST(cuEventCreate(&event, 0));
    answer("an event of all that a context does", CUDA_SUCCESS, cuCtxRecordEvent(context, event));
    answer("waits for each of its streams", CUDA_ERROR_NOT_READY, cuEventQuery(event));
    answer("a stream that did nothing is not kept", CUDA_SUCCESS, cuStreamQuery(two));
    answer("a context waits for an event", CUDA_SUCCESS, cuCtxWaitEvent(context, event));
    MUST(cuMemsetD8Async(word, 1, 1, two));
    answer("in each stream", CUDA_ERROR_NOT_READY, cuStreamQuery(two));
    third = stream_new(CU_STREAM_NON_BLOCKING);
    MUST(cuMemsetD8Async((uintptr_t)pinned(4), 1, 1, third));
    answer("and in those that come later", CUDA_ERROR_NOT_READY, cuStreamQuery(third));
    gate_open(gate);
    answer("until the event is complete", CUDA_SUCCESS, cuStreamSynchronize(third));
    answer("which it is", CUDA_SUCCESS, cuEventQuery(event));
    MUST(cuStreamBeginCapture_v2(two, CU_STREAM_CAPTURE_MODE_RELAXED));
    answer("not while a stream captures", CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
           cuCtxRecordEvent(context, event));
    answer("the capture is spoilt", CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
           cuStreamEndCapture(two, &(CUgraph){NULL}));
    other = gate_close(two);
    gate_open(other);
    answer("no event", CUDA_ERROR_INVALID_HANDLE, cuCtxWaitEvent(context, (CUevent)context));
    MUST(cuCtxSynchronize());
    answer("a context is held once more", CUDA_SUCCESS, cuCtxAttach(&found, 0));
    holds("the current one", found == context);
    answer("and let go", CUDA_SUCCESS, cuCtxDetach(context));
    answer("it is there", CUDA_SUCCESS, cuCtxSynchronize());
    answer("flags", CUDA_ERROR_INVALID_VALUE, cuCtxAttach(&found, 1));
    answer("the last time it ends", CUDA_SUCCESS, cuCtxDetach(context));
    answer("it is gone", CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(context));
}

void batches_group(void)
{
    CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUcontext context = context_open();
    CUmemoryPool one, two;

    copy_cases();
    box_cases();
    range_cases();
    graph_memory_cases();
    MUST(cuDeviceGetDefaultMemPool(&one, 0));
    answer("the pool of a location", CUDA_SUCCESS, cuMemGetDefaultMemPool(&two, &location, 1));
    holds("is the device's", one == two);
    answer("it is set", CUDA_SUCCESS, cuMemSetMemPool(&location, 1, one));
    answer("and found", CUDA_SUCCESS, cuMemGetMemPool(&two, &location, 1));
    holds("as it was set", one == two);
    green_cases();
    context_cases(context);
}
