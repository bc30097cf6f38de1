/*
 * Rules of streams that are seldom needed, each by its name. Every situation prints what does not
 * hold, and the same holds without Baton; a program that hangs here does so because of Baton.
 *
 *     own KERNELS      a thread's own default stream stays the same stream while a context ends
 *     many KERNELS     ... and while the thread uses those of 12 more contexts
 *     left KERNELS     ... and what a thread leaves there when it ends is done
 *     managed KERNELS  copies that name managed memory as the host's come in stream order
 *     peer KERNELS     a synchronous copy between contexts waits for the work of both
 *     reset KERNELS    a thread's own default stream works after its device was reset
 *     capture KERNELS  a capture begins in a stream that waits for the host
 *     query KERNELS    a kernel that fails is seen by a program that only asks
 *     attached KERNELS a context that is held once more has its streams as before
 *     visible KERNELS  fills and copies of memory that the host sees are done on return
 *     buffer KERNELS   parameters in a buffer that the program spoils after the call
 *     wide KERNELS     a kernel with 64 KiB of dynamic shared memory
 *     crowd KERNELS    work of the last of 68 contexts counts as that of the first
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_must.h"

enum { WORDS = 4096, BLOCK = 64 };

static const char *kernels;
static volatile unsigned *flag; /* pinned */
static CUcontext context;
static CUfunction fill, wait_for;
static CUdeviceptr words;
static int n_wrong;

static void expect(bool holds, const char *what)
{
    n_wrong += !holds;
    if (!holds)
        printf("not so: %s\n", what);
}

static char *read_kernels(void)
{
    static char text[1 << 18];
    FILE *file = fopen(kernels, "r");

    if (!file || fread(text, 1, sizeof text - 1, file) == 0) {
        perror(kernels);
        exit(2);
    }
    (void)fclose(file);
    return text;
}

static void open_context(void)
{
    CUmodule module;
    void *pinned;

    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuModuleLoadData(&module, read_kernels()));
    MUST(cuModuleGetFunction(&fill, module, "fill"));
    MUST(cuModuleGetFunction(&wait_for, module, "wait_for"));
    MUST(cuMemHostAlloc(&pinned, sizeof *flag, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    flag = pinned;
    *flag = 0;
    MUST(cuMemAlloc_v2(&words, WORDS * sizeof(unsigned)));
    MUST(cuMemsetD32_v2(words, 0, WORDS));
}

static void fill_words(CUfunction kernel, CUdeviceptr to, int value, CUstream stream)
{
    int n = WORDS;
    void *params[] = {&to, &n, &value};

    MUST(cuLaunchKernel(kernel, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, params, NULL));
}

/* A kernel that ends when this thread sets the flag. */
static void launch_waiting(CUstream stream)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)flag;
    void *params[] = {&at};

    MUST(cuLaunchKernel(wait_for, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

/* What follows in the stream waits until this thread sets the flag. */
static void close_gate(CUstream stream)
{
    MUST(cuStreamWaitValue32_v2(stream, (CUdeviceptr)(uintptr_t)flag, 1, CU_STREAM_WAIT_VALUE_EQ));
}

static void open_gate(void)
{
    __atomic_store_n((unsigned *)(uintptr_t)flag, 1, __ATOMIC_RELEASE);
}

static bool all_words_are(CUdeviceptr from, unsigned value)
{
    static unsigned found[WORDS];

    MUST(cuMemcpyDtoH_v2(found, from, sizeof found));
    for (int i = 0; i < WORDS; i++)
        if (found[i] != value)
            return false;
    return true;
}

static void own(void)
{
    CUcontext other;

    MUST(cuCtxCreate_v2(&other, 0, 0));
    MUST(cuCtxSynchronize());
    MUST(cuCtxSetCurrent(context));
    fill_words(fill, words, 2, CU_STREAM_PER_THREAD);
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    launch_waiting(CU_STREAM_PER_THREAD);
    MUST(cuCtxDestroy_v2(other));
    expect(cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY, "the stream still has its kernel");
    fill_words(fill, words, 3, CU_STREAM_PER_THREAD);
    expect(cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY, "... and what follows waits for it");
    open_gate();
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    expect(all_words_are(words, 3), "all is done");
}

static void many(void)
{
    CUcontext others[12];

    launch_waiting(CU_STREAM_PER_THREAD);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        MUST(cuCtxCreate_v2(&others[i], 0, 0));
        expect(cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_SUCCESS, "a context's stream has nothing");
    }
    MUST(cuCtxSetCurrent(context));
    expect(cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY, "the first one has its kernel");
    open_gate();
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}

static void *leave_work(void *unused)
{
    MUST(cuCtxSetCurrent(context));
    for (int i = 1; i <= 20; i++)
        fill_words(fill, words, i, CU_STREAM_PER_THREAD);
    return unused;
}

static void left(void)
{
    pthread_t thread;

    for (int i = 0; i < 20; i++) {
        MUST(cuMemsetD32_v2(words, 0, WORDS));
        if (pthread_create(&thread, NULL, leave_work, NULL) != 0)
            exit(2);
        (void)pthread_join(thread, NULL);
        MUST(cuCtxSynchronize());
        expect(all_words_are(words, 20), "what the thread left is done");
    }
}

static void reset(void)
{
    CUcontext primary;
    CUmodule module;

    MUST(cuDevicePrimaryCtxRetain(&primary, 0));
    for (int i = 1; i <= 3; i++) {
        MUST(cuCtxSetCurrent(primary));
        MUST(cuModuleLoadData(&module, read_kernels()));
        MUST(cuModuleGetFunction(&fill, module, "fill"));
        MUST(cuMemAlloc_v2(&words, WORDS * sizeof(unsigned)));
        fill_words(fill, words, i, CU_STREAM_PER_THREAD);
        MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
        fill_words(fill, words, 2 * i, CU_STREAM_PER_THREAD);
        expect(all_words_are(words, 2 * (unsigned)i), "kernels run");
        MUST(cuDevicePrimaryCtxReset_v2(0));
    }
}

static void managed(void)
{
    CUdeviceptr between, back;
    CUstream stream;

    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAllocManaged(&between, WORDS * sizeof(unsigned), CU_MEM_ATTACH_GLOBAL));
    MUST(cuMemAllocManaged(&back, WORDS * sizeof(unsigned), CU_MEM_ATTACH_GLOBAL));
    memset((void *)(uintptr_t)between, 0, WORDS * sizeof(unsigned));
    memset((void *)(uintptr_t)back, 0, WORDS * sizeof(unsigned));
    close_gate(stream);
    fill_words(fill, between, 5, stream);
    MUST(cuMemcpyHtoDAsync_v2(words, (void *)(uintptr_t)between, WORDS * sizeof(unsigned), stream));
    MUST(cuMemcpyDtoHAsync_v2((void *)(uintptr_t)back, words, WORDS * sizeof(unsigned), stream));
    expect(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, "the copies wait");
    open_gate();
    MUST(cuStreamSynchronize(stream));
    expect(all_words_are(words, 5), "a copy from managed memory has what a kernel wrote there before");
    expect(((unsigned *)(uintptr_t)back)[WORDS - 1] == 5, "a copy to managed memory came behind it");
}

static void attached(void)
{
    CUcontext same;

    MUST(cuCtxAttach(&same, 0));
    launch_waiting(CU_STREAM_PER_THREAD);
    MUST(cuCtxDetach(same));
    expect(cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY, "the stream still has its kernel");
    open_gate();
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    MUST(cuCtxDetach(same));
    expect(cuCtxDetach(same) != CUDA_SUCCESS, "it has ended");
}

static bool all_bytes_are(const unsigned char *bytes, unsigned char value)
{
    for (size_t i = 0; i < WORDS * sizeof(unsigned); i++)
        if (((const volatile unsigned char *)bytes)[i] != value)
            return false;
    return true;
}

/* Behind kernels, so that none of the calls has done its work at once. */
static void visible(void)
{
    enum { SIZE = WORDS * sizeof(unsigned) };
    CUdeviceptr managed, at;
    void *pinned;

    MUST(cuMemAllocManaged(&managed, SIZE, CU_MEM_ATTACH_GLOBAL));
    MUST(cuMemHostAlloc(&pinned, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    MUST(cuMemHostGetDevicePointer_v2(&at, pinned, 0));
    for (unsigned char i = 1; i <= 20; i++) {
        for (int n = 0; n < 20; n++)
            fill_words(fill, words, 0x01010101 * i, n % 2 ? NULL : CU_STREAM_PER_THREAD);
        MUST(cuMemsetD8_v2_ptds(managed, i, SIZE));
        expect(all_bytes_are((void *)(uintptr_t)managed, i), "a fill of managed memory is done");
        fill_words(fill, words, 0x01010101 * i, NULL);
        MUST(cuMemsetD8_v2(at, i, SIZE));
        expect(all_bytes_are(pinned, i), "a fill of pinned memory is done");
        fill_words(fill, words, 0x01010101 * i, CU_STREAM_PER_THREAD);
        MUST(cuMemsetD2D8_v2_ptds(managed, SIZE / 2, 100 + i, SIZE / 2, 2));
        expect(all_bytes_are((void *)(uintptr_t)managed, 100 + i), "a fill of rows is done");
        fill_words(fill, words, 0x01010101 * i, CU_STREAM_PER_THREAD);
        MUST(cuMemcpyDtoD_v2_ptds(managed, words, SIZE));
        expect(all_bytes_are((void *)(uintptr_t)managed, i), "a copy to managed memory is done");
    }
}

static void capture(void)
{
    CUstream stream;
    CUgraphExec exec;
    CUgraph graph;

    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    close_gate(stream);
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    fill_words(fill, words, 6, stream);
    MUST(cuStreamEndCapture(stream, &graph));
    open_gate();
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    expect(all_words_are(words, 0), "what is captured does not run");
    MUST(cuGraphLaunch(exec, stream));
    MUST(cuStreamSynchronize(stream));
    expect(all_words_are(words, 6), "the graph runs");
}

static void buffer(void)
{
    struct {
        CUdeviceptr to;
        int n, value;
    } given;
    size_t size = sizeof given;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &given, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CUstream stream;

    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    close_gate(stream);
    for (int i = 1; i <= 10; i++) {
        given.to = words;
        given.n = WORDS;
        given.value = i;
        MUST(cuLaunchKernel(fill, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, NULL, extra));
        memset(&given, 0xff, sizeof given);
    }
    open_gate();
    MUST(cuStreamSynchronize(stream));
    expect(all_words_are(words, 10), "the kernels have the parameters of their calls");
}

/* Each block turns 256 words around that lie 256 bytes apart in its shared memory. */
static const char wide_text[] = ".version 7.0\n.target sm_50\n.address_size 64\n"
                                ".extern .shared .align 4 .b8 part[];\n"
                                ".visible .entry wide(.param .u64 out)\n"
                                "{\n"
                                ".reg .b32 %r<12>;\n.reg .b64 %rd<5>;\n"
                                "ld.param.u64 %rd1, [out];\n"
                                "cvta.to.global.u64 %rd2, %rd1;\n"
                                "mov.u32 %r1, %tid.x;\n"
                                "mov.u32 %r2, %ctaid.x;\n"
                                "mov.u32 %r3, part;\n"
                                "shl.b32 %r4, %r1, 8;\n"
                                "add.s32 %r5, %r3, %r4;\n"
                                "st.shared.u32 [%r5], %r1;\n"
                                "bar.sync 0;\n"
                                "xor.b32 %r6, %r4, 65280;\n"
                                "add.s32 %r7, %r3, %r6;\n"
                                "ld.shared.u32 %r8, [%r7];\n"
                                "shl.b32 %r9, %r2, 8;\n"
                                "add.s32 %r10, %r9, %r1;\n"
                                "mul.wide.u32 %rd3, %r10, 4;\n"
                                "add.s64 %rd4, %rd2, %rd3;\n"
                                "st.global.u32 [%rd4], %r8;\n"
                                "ret;\n"
                                "}\n";

static void wide(void)
{
    static unsigned found[WORDS];
    void *params[] = {&words};
    CUfunction kernel;
    CUmodule module;
    bool right = true;

    MUST(cuModuleLoadData(&module, wide_text));
    MUST(cuModuleGetFunction(&kernel, module, "wide"));
    expect(cuLaunchKernel(kernel, WORDS / 256, 1, 1, 256, 1, 1, 65536, NULL, params, NULL) != CUDA_SUCCESS,
           "so much must be asked for");
    MUST(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536));
    MUST(cuLaunchKernel(kernel, WORDS / 256, 1, 1, 256, 1, 1, 65536, NULL, params, NULL));
    MUST(cuMemcpyDtoH_v2(found, words, sizeof found));
    for (unsigned i = 0; i < WORDS; i++)
        right = right && found[i] == 255 - i % 256;
    expect(right, "each block has its shared memory");
}

static void peer(void)
{
    CUdeviceptr from;
    CUcontext other = NULL;
    CUstream stream;

    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuMemAlloc_v2(&from, WORDS * sizeof(unsigned)));
    for (int i = 1; i <= 20; i++) {
        for (int at = 0; at < 20; at++)
            fill_words(fill, from, at < 19 ? 0 : i, stream);
        if (i == 1)
            MUST(cuCtxCreate_v2(&other, 0, 0));
        MUST(cuCtxSetCurrent(other));
        if (i % 2)
            MUST(cuMemcpyPeer(words, other, from, context, WORDS * sizeof(unsigned)));
        else
            MUST(cuMemcpyPeer_ptds(words, other, from, context, WORDS * sizeof(unsigned)));
        MUST(cuCtxSynchronize());
        MUST(cuCtxSetCurrent(context));
        expect(all_words_are(words, (unsigned)i), "the copy came behind the kernels of the other context");
    }
}

/* One of three launches fails (BATON_CUDA_CPU_FAIL). */
static void query(void)
{
    int n = WORDS, value = 1;
    void *params[] = {&words, &n, &value};
    CUresult code = CUDA_SUCCESS;
    CUevent event;

    MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (int i = 0; i < 3 && code == CUDA_SUCCESS; i++) {
        code = cuLaunchKernel(fill, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, params, NULL);
        if (code != CUDA_SUCCESS)
            break;
        MUST(cuEventRecord(event, NULL));
        do {
            code = i == 1 ? cuEventQuery(event) : cuStreamQuery(NULL);
        } while (code == CUDA_ERROR_NOT_READY);
    }
    expect(code == 701, "the failure is told");
}

static _Atomic bool unloaded;

/*
 * Opens the gate once the main thread has returned from its call or, since the call may wait for
 * the gate, has had time to return.
 */
static void *open_gate_late(void *unused)
{
    MUST(cuCtxSetCurrent(context));
    for (int i = 0; i < 200 && !unloaded; i++)
        (void)all_words_are(words, 0);
    open_gate();
    return unused;
}

/*
 * The driver has nothing of the last context: its stream waits for what another context's stream
 * holds back.
 */
static void hold_in_last(CUcontext other, CUcontext last, CUmodule module, CUdeviceptr to)
{
    CUevent before, after;
    CUstream gated, stream;
    CUfunction kernel;

    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&after, CU_EVENT_DISABLE_TIMING));
    MUST(cuModuleGetFunction(&kernel, module, "fill"));
    MUST(cuCtxSetCurrent(other));
    MUST(cuStreamCreate(&gated, CU_STREAM_NON_BLOCKING));
    MUST(cuEventCreate(&before, CU_EVENT_DISABLE_TIMING));
    close_gate(gated);
    MUST(cuEventRecord(before, gated));
    MUST(cuCtxSetCurrent(last));
    MUST(cuStreamWaitEvent(stream, before, 0));
    fill_words(kernel, to, 7, stream);
    MUST(cuCtxRecordEvent(last, after));
    expect(cuEventQuery(after) == CUDA_ERROR_NOT_READY, "an event of the last context waits for its kernel");
}

static void crowd(void)
{
    CUcontext other = NULL, last = NULL;
    CUdeviceptr to;
    CUmodule module;
    pthread_t thread;

    for (int i = 0; i < 67; i++) {
        other = last;
        MUST(cuCtxCreate_v2(&last, 0, 0));
        MUST(cuStreamQuery(NULL));
        MUST(cuCtxPopCurrent_v2(&last));
    }
    MUST(cuCtxSetCurrent(last));
    MUST(cuModuleLoadData(&module, read_kernels()));
    MUST(cuMemAlloc_v2(&to, WORDS * sizeof(unsigned)));
    MUST(cuMemsetD32_v2(to, 0, WORDS));
    MUST(cuCtxSynchronize());
    hold_in_last(other, last, module, to);
    if (pthread_create(&thread, NULL, open_gate_late, NULL) != 0)
        exit(2);
    MUST(cuModuleUnload(module));
    unloaded = true;
    (void)pthread_join(thread, NULL);
    expect(cuCtxSynchronize() == CUDA_SUCCESS, "a kernel that is held back keeps its module");
    expect(all_words_are(to, 7), "... and runs");
}

#include "one_rule.h"

int main(int argc, char **argv)
{
    static const struct rule rules[] = {{"own", own},         {"many", many},     {"left", left},
                                        {"managed", managed}, {"peer", peer},     {"reset", reset},
                                        {"capture", capture}, {"query", query},   {"attached", attached},
                                        {"visible", visible}, {"buffer", buffer}, {"wide", wide},
                                        {"crowd", crowd}};

    return run_one_rule(rules, sizeof rules / sizeof rules[0], argc, argv);
}
