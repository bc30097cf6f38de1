/*
 * Events of whole contexts and of several processes, recorded and awaited behind work that waits
 * for the thread that makes the call. CUDA returns from each of these calls at once, so a program
 * that hangs here does so because of Baton. Single situations, by name:
 *
 *     record        an event of a context: what the context did before, nothing that it does later
 *     again         the same event once more, while a stream waits for its first record
 *     gone          an event of a context with a stream that was destroyed meanwhile
 *     contexts      an event of a context that waits for an event of another one
 *     wait          a context waits for an event: what it does later, and nothing that it did
 *                   before
 *     green         both, of a green context: its own streams only
 *     beside        another program has the engines while an event and a context wait
 *     shared        an event that another process has
 *     shared-context  the same, recorded and awaited by contexts
 *     shared-behind   the same, behind work that another thread lets begin
 *     peer PATH, busy  the other processes
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h> /* memfd_create */
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_must.h"
#include "event_board.h"

enum { GATES = 4, WORDS = 16, GREEN_FLAG = 1, SM_RESOURCE = 1 };

static unsigned *gates; /* in pinned memory */
static CUdeviceptr words;
static CUcontext context;
static int n_wrong;

static void expect(bool holds, const char *what)
{
    n_wrong += !holds;
    if (!holds)
        printf("not so: %s\n", what);
}

static CUstream new_stream(void)
{
    CUstream stream;

    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static CUevent new_event(void)
{
    CUevent event;

    MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

/* What follows in the stream waits until this thread opens the gate. */
static void close_gate(int gate, CUstream stream)
{
    __atomic_store_n(&gates[gate], 0, __ATOMIC_RELEASE);
    MUST(cuStreamWaitValue32_v2(stream, (CUdeviceptr)(uintptr_t)&gates[gate], 1, CU_STREAM_WAIT_VALUE_EQ));
}

static void open_gate(int gate)
{
    __atomic_store_n(&gates[gate], 1, __ATOMIC_RELEASE);
}

/* Work on an engine: the word gets the value. */
static void set_word(int word, unsigned value, CUstream stream)
{
    MUST(cuMemsetD32Async(words + (size_t)word * 4, value, 1, stream));
}

static void copy_word(int to, int from, CUstream stream)
{
    MUST(cuMemcpyDtoDAsync_v2(words + (size_t)to * 4, words + (size_t)from * 4, 4, stream));
}

static unsigned word_at(int word)
{
    CUstream stream = new_stream(); /* that waits for no other */
    unsigned value = 0;

    MUST(cuMemcpyDtoHAsync_v2(&value, words + (size_t)word * 4, 4, stream));
    MUST(cuStreamSynchronize(stream));
    MUST(cuStreamDestroy_v2(stream));
    return value;
}

/* What waits for nothing has time to run: what is not over now was held back. */
static void let_run(void)
{
    for (int i = 0; i < 10; i++)
        (void)word_at(WORDS - 1);
}

static void open_device(void)
{
    void *pinned;

    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    MUST(
        cuMemHostAlloc(&pinned, GATES * sizeof *gates, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE));
    gates = pinned;
    MUST(cuMemAlloc_v2(&words, WORDS * sizeof(unsigned)));
    MUST(cuMemsetD32_v2(words, 0, WORDS));
    MUST(cuCtxSynchronize()); /* streams that do not block would not wait for it */
}

/* --- one process --- */

static void record(void)
{
    CUstream early = new_stream(), late = new_stream(), other = new_stream();
    CUevent event = new_event();

    close_gate(0, early);
    set_word(0, 7, early);
    close_gate(2, NULL);
    set_word(2, 8, NULL);
    MUST(cuCtxRecordEvent(context, event));
    expect(cuEventQuery(event) == CUDA_ERROR_NOT_READY, "an event waits for what is held back");
    close_gate(1, late);
    set_word(1, 9, late);
    MUST(cuStreamWaitEvent(other, event, 0));
    copy_word(3, 0, other);
    open_gate(0);
    while (word_at(0) != 7)
        ;
    let_run();
    expect(cuEventQuery(event) == CUDA_ERROR_NOT_READY, "... in each stream");
    open_gate(2);
    MUST(cuEventSynchronize(event)); /* does not wait for `late` */
    expect(word_at(0) == 7 && word_at(2) == 8, "an event is behind what its context did");
    expect(cuEventQuery(event) == CUDA_SUCCESS, "it is complete");
    MUST(cuStreamSynchronize(other));
    expect(word_at(3) == 7, "a stream that waits for it is behind, too");
    expect(cuStreamQuery(late) == CUDA_ERROR_NOT_READY, "what came later was not waited for");
    open_gate(1);
    MUST(cuCtxSynchronize());
    expect(word_at(1) == 9, "all is done in the end");
}

static void again(void)
{
    CUstream first = new_stream(), idle = new_stream(), waits = new_stream();
    CUevent event = new_event();

    close_gate(0, first);
    set_word(0, 5, first);
    MUST(cuCtxRecordEvent(context, event));
    MUST(cuStreamWaitEvent(waits, event, 0));
    copy_word(1, 0, waits);
    MUST(cuEventRecord(event, idle));
    MUST(cuEventSynchronize(event));
    expect(cuStreamQuery(waits) == CUDA_ERROR_NOT_READY, "a wait is for the record of its time");
    MUST(cuCtxRecordEvent(context, event));
    expect(cuEventQuery(event) == CUDA_ERROR_NOT_READY, "a third record is behind the first stream again");
    MUST(cuEventDestroy_v2(event));
    open_gate(0);
    MUST(cuStreamSynchronize(waits));
    expect(word_at(1) == 5, "it came behind the first record");
}

static void gone(void)
{
    CUstream stream = new_stream();
    CUevent event = new_event();

    close_gate(0, stream);
    set_word(0, 6, stream);
    MUST(cuStreamDestroy_v2(stream));
    MUST(cuCtxRecordEvent(context, event));
    let_run();
    expect(cuEventQuery(event) == CUDA_ERROR_NOT_READY, "work of a destroyed stream counts");
    open_gate(0);
    MUST(cuEventSynchronize(event));
    expect(word_at(0) == 6, "it is over when the event is complete");
}

/* The context itself holds nothing back. */
static void contexts(void)
{
    CUevent first, second;
    CUdeviceptr memory;
    CUcontext other;
    CUstream stream;

    MUST(cuCtxCreate_v2(&other, 0, 0));
    MUST(cuMemAlloc_v2(&memory, 4));
    stream = new_stream();
    first = new_event();
    close_gate(0, stream);
    MUST(cuMemsetD32Async(memory, 1, 1, stream));
    MUST(cuEventRecord(first, stream));
    MUST(cuCtxSetCurrent(context));
    second = new_event();
    MUST(cuCtxWaitEvent(context, first));
    MUST(cuCtxRecordEvent(context, second));
    MUST(cuCtxSetCurrent(other));
    for (int i = 0; i < 10; i++)
        MUST(cuMemsetD32_v2(memory, 1, 1)); /* so that what does not wait could run */
    MUST(cuCtxSetCurrent(context));
    expect(cuEventQuery(second) == CUDA_ERROR_NOT_READY, "a context's record is behind its wait");
    open_gate(0);
    MUST(cuEventSynchronize(second));
    expect(cuEventQuery(first) == CUDA_SUCCESS, "which is over");
}

static void waits(void)
{
    CUstream source = new_stream(), busy = new_stream(), idle = new_stream(), later;
    CUevent event = new_event(), before = new_event();

    close_gate(0, source);
    set_word(0, 4, source);
    MUST(cuEventRecord(event, source));
    close_gate(1, busy);
    set_word(1, 3, busy);
    MUST(cuEventRecord(before, busy));
    MUST(cuCtxWaitEvent(context, event));
    MUST(cuEventRecord(event, idle)); /* the context waits for the record of its time */
    open_gate(1);
    MUST(cuEventSynchronize(before)); /* what was there before does not wait */
    copy_word(2, 0, busy);
    later = new_stream();
    copy_word(3, 0, later);
    copy_word(4, 0, CU_STREAM_PER_THREAD);
    expect(cuStreamQuery(busy) == CUDA_ERROR_NOT_READY, "a stream waits");
    expect(cuStreamQuery(later) == CUDA_ERROR_NOT_READY, "so does one that came later");
    expect(cuEventQuery(event) == CUDA_ERROR_NOT_READY, "and a record in a stream that was idle");
    open_gate(0);
    MUST(cuCtxSynchronize());
    expect(word_at(2) == 4 && word_at(3) == 4 && word_at(4) == 4, "all came behind the event");
    MUST(cuEventSynchronize(event));
}

static void green(void)
{
    CUdevResource all, part;
    CUstream inside, second, outside = new_stream();
    CUevent event = new_event();
    unsigned n = 1;
    CUgreenCtx green;
    void *descriptor;

    MUST(cuDeviceGetDevResource(0, &all, SM_RESOURCE));
    MUST(cuDevSmResourceSplitByCount(&part, &n, &all, NULL, 0, 1));
    MUST(cuDevResourceGenerateDesc(&descriptor, &part, 1));
    MUST(cuGreenCtxCreate(&green, descriptor, 0, GREEN_FLAG));
    MUST(cuGreenCtxStreamCreate(&inside, green, CU_STREAM_NON_BLOCKING, 0));
    MUST(cuGreenCtxStreamCreate(&second, green, CU_STREAM_NON_BLOCKING, 0));
    close_gate(0, inside);
    set_word(0, 2, inside);
    close_gate(1, outside);
    set_word(1, 1, outside);
    MUST(cuGreenCtxRecordEvent(green, event));
    MUST(cuGreenCtxWaitEvent(green, event));
    copy_word(2, 0, second);
    expect(cuEventQuery(event) == CUDA_ERROR_NOT_READY, "an event waits for a green context");
    expect(cuStreamQuery(second) == CUDA_ERROR_NOT_READY, "a green context waits for an event");
    set_word(3, 12, CU_STREAM_PER_THREAD);
    MUST(cuStreamSynchronize(CU_STREAM_PER_THREAD)); /* other streams do not */
    open_gate(0);
    MUST(cuEventSynchronize(event)); /* nor does the event for them */
    MUST(cuStreamSynchronize(second));
    expect(word_at(2) == 2 && word_at(3) == 12, "the event came behind the green context's work");
    open_gate(1);
    MUST(cuCtxSynchronize());
}

/* --- two processes --- */

static CUevent shared_event(CUipcEventHandle *ret_handle)
{
    CUevent event;

    MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS));
    MUST(cuIpcGetEventHandle(ret_handle, event));
    return event;
}

/* Looks at the event, reads the memory behind it, and writes there before a record of its own. */
static int peer(const char *path)
{
    struct board *board = map_board(path);
    CUevent event, reply;
    CUdeviceptr memory;
    CUstream stream, other;
    unsigned word = 0;

    open_device();
    stream = new_stream();
    other = new_stream();
    MUST(cuIpcOpenEventHandle(&event, board->event));
    MUST(cuIpcOpenEventHandle(&reply, board->reply));
    MUST(cuIpcOpenMemHandle_v2(&memory, board->memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    board->pending = cuEventQuery(event) == CUDA_ERROR_NOT_READY;
    tell(&board->step, 1);
    MUST(cuEventSynchronize(event));
    MUST(cuStreamWaitEvent(stream, event, 0));
    MUST(cuMemcpyDtoHAsync_v2(&word, memory, sizeof word, stream));
    MUST(cuStreamSynchronize(stream));
    board->words_right = word == 21;
    tell(&board->step, 2);
    await_step(&board->go, 1);
    close_gate(0, stream);
    MUST(cuCtxRecordEvent(context, reply));
    tell(&board->step, 3);
    await_step(&board->go, 2);
    /* the process that waits for the record has left the engine */
    MUST(cuMemsetD32Async(memory, 44, 1, other));
    MUST(cuStreamSynchronize(other));
    open_gate(0);
    MUST(cuStreamSynchronize(stream));
    MUST(cuIpcCloseMemHandle(memory));
    return 0;
}

/* It ends with this process, whatever happens. */
static pid_t start(const char *role, const char *path)
{
    pid_t child;

    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execl("/proc/self/exe", "held-events", role, path, (char *)NULL);
        _exit(127);
    }
    return child;
}

static bool ends_well(pid_t child)
{
    int status = -1;

    return waitpid(child, &status, 0) == child && status == 0;
}

static void wait_for_peer(bool whole_context, CUevent reply, CUstream stream, volatile int *go)
{
    CUstream free_stream = new_stream();

    close_gate(1, free_stream);
    set_word(1, 1, free_stream); /* held back before the wait */
    MUST(whole_context ? cuCtxWaitEvent(context, reply) : cuStreamWaitEvent(stream, reply, 0));
    copy_word(2, 0, stream);
    expect(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, "its record is waited for");
    open_gate(1);
    MUST(cuStreamSynchronize(free_stream));
    tell(go, 2);
    MUST(cuStreamSynchronize(stream));
    expect(word_at(2) == 44, "the stream goes on behind it");
}

static void *open_late(void *unused)
{
    MUST(cuCtxSetCurrent(context));
    let_run();
    open_gate(2);
    return unused;
}

/*
 * The record may wait for the other thread, and must not be given to the driver before that: when
 * this returns, only gate 0 keeps the event from being complete.
 */
static void record_behind(CUevent event, CUstream stream)
{
    pthread_t thread;

    close_gate(2, stream);
    set_word(0, 21, stream); /* held back until the thread opens the gate */
    close_gate(0, stream);
    if (pthread_create(&thread, NULL, open_late, NULL) != 0)
        exit(2);
    MUST(cuEventRecord(event, stream));
    (void)pthread_join(thread, NULL);
    while (word_at(0) != 21)
        ;
}

/*
 * The record goes behind a wait for this thread, and the peer sees it. Then a stream, or the
 * context, waits for an event that the peer has recorded behind a wait of its own.
 */
static void share(const char *what)
{
    bool whole_context = strcmp(what, "shared-context") == 0;
    char path[32];
    int size = snprintf(path, sizeof path, "/proc/self/fd/%d", memfd_create("board", 0));
    struct board *board = map_board(size > 0 ? path : "");
    CUevent event = shared_event(&board->event), reply = shared_event(&board->reply);
    CUstream stream = new_stream();
    pid_t child;

    MUST(cuIpcGetMemHandle(&board->memory, words));
    if (strcmp(what, "shared-behind") == 0) {
        record_behind(event, stream);
    } else {
        set_word(0, 21, stream);
        close_gate(0, stream);
        MUST(whole_context ? cuCtxRecordEvent(context, event) : cuEventRecord(event, stream));
    }
    expect(cuEventQuery(event) == CUDA_ERROR_NOT_READY, "a shared event waits for what is held back");
    child = start("peer", path);
    await_step(&board->step, 1);
    expect(board->pending, "another process sees that");
    open_gate(0);
    await_step(&board->step, 2);
    expect(board->words_right, "it comes behind the record");
    tell(&board->go, 1);
    await_step(&board->step, 3);
    wait_for_peer(whole_context, reply, stream, &board->go);
    expect(ends_well(child), "the other process is well");
}

/* A program that needs the engines for a moment. */
static int busy(void)
{
    CUstream stream;

    open_device();
    stream = new_stream();
    set_word(0, 31, stream);
    copy_word(1, 0, stream);
    MUST(cuStreamSynchronize(stream));
    return word_at(1) != 31;
}

static void beside(void)
{
    CUstream stream = new_stream(), second = new_stream();
    CUevent event = new_event();

    close_gate(0, stream);
    set_word(0, 32, stream);
    MUST(cuCtxRecordEvent(context, event));
    MUST(cuCtxWaitEvent(context, event));
    copy_word(1, 0, second);
    expect(ends_well(start("busy", NULL)), "another program is not kept waiting");
    expect(cuEventQuery(event) == CUDA_ERROR_NOT_READY, "an event waits for what is held back");
    open_gate(0);
    MUST(cuStreamSynchronize(second));
    expect(word_at(1) == 32, "the context waited");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"record", record}, {"again", again}, {"gone", gone},    {"contexts", contexts},
               {"wait", waits},    {"green", green}, {"beside", beside}};
    const char *what = argc > 1 ? argv[1] : "";

    if (argc == 3 && strcmp(what, "peer") == 0)
        return peer(argv[2]);
    if (strcmp(what, "busy") == 0)
        return busy();
    open_device();
    if (strncmp(what, "shared", strlen("shared")) == 0) {
        share(what);
        return n_wrong != 0;
    }
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(what, all[i].name) == 0) {
            all[i].run();
            return n_wrong != 0;
        }
    return 2;
}
