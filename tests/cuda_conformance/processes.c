/*
 * Several processes on one device, fork, exit, and failures on demand: what the CPU device alone
 * can answer.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "conformance.h"

/* Words that processes share, in a file. */
struct shared_words {
    volatile int begun, release, ended, spare[1021];
};

/* --- children --- */

/* Holds the device until the word `release` is set. */
static int hold(const char *path)
{
    struct shared_words *words = share_file(path, sizeof(struct shared_words));
    CUdeviceptr begun, release;
    void *parameters[] = {&begun, &release};

    MUST(cuInit(0));
    (void)context_open();
    MUST(cuMemHostRegister_v2((void *)words, sizeof *words, CU_MEMHOSTREGISTER_DEVICEMAP));
    MUST(cuMemHostGetDevicePointer_v2(&begun, (void *)&words->begun, 0));
    MUST(cuMemHostGetDevicePointer_v2(&release, (void *)&words->release, 0));
    MUST(launch_one(kernel("hold"), NULL, parameters));
    MUST(cuCtxSynchronize());
    return 0;
}

/* Runs one kernel and says so. */
static int pass(const char *path)
{
    struct shared_words *words = share_file(path, sizeof(struct shared_words));

    MUST(cuInit(0));
    (void)context_open();
    MUST(launch_one(kernel("nothing"), NULL, NULL));
    MUST(cuCtxSynchronize());
    words->ended = 1;
    return 0;
}

static int sound(void)
{
    MUST(cuInit(0));
    (void)context_open();
    MUST(launch_one(kernel("nothing"), NULL, NULL));
    MUST(cuCtxSynchronize());
    return 0;
}

/* Ends while a kernel runs that never ends, and more is queued. */
static int exit_busy(void)
{
    volatile int *flag;
    CUdeviceptr address;
    void *parameters[] = {&address};

    MUST(cuInit(0));
    (void)context_open();
    flag = pinned(4);
    address = (uintptr_t)flag;
    for (int i = 0; i < 8; i++)
        MUST(launch_one(kernel("wait_for"), NULL, parameters));
    MUST(cuMemsetD32Async(address, 0, 1, NULL));
    return 0;
}

static int exit_gated(void)
{
    CUstream stream;

    MUST(cuInit(0));
    (void)context_open();
    stream = stream_new(0);
    (void)gate_close(stream);
    MUST(launch_one(kernel("nothing"), stream, NULL));
    return 0;
}

static int fork_inside(void)
{
    CUdeviceptr address;
    int status = 0;
    pid_t child;

    MUST(cuInit(0));
    (void)context_open();
    child = fork();
    if (child == 0) {
        if (cuMemAlloc_v2(&address, 4) != CUDA_ERROR_NOT_INITIALIZED)
            exit(11);
        if (cuInit(0) != CUDA_ERROR_NOT_INITIALIZED)
            exit(12);
        exit(0);
    }
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 13;
    MUST(launch_one(kernel("nothing"), NULL, NULL));
    return cuCtxSynchronize() == CUDA_SUCCESS ? 0 : 14;
}

int processes_child(const char *role, const char *argument)
{
    return strcmp(role, "hold") == 0         ? hold(argument)
           : strcmp(role, "pass") == 0       ? pass(argument)
           : strcmp(role, "exit-busy") == 0  ? exit_busy()
           : strcmp(role, "exit-gated") == 0 ? exit_gated()
           : strcmp(role, "fork") == 0       ? fork_inside()
           : strcmp(role, "sound") == 0      ? sound()
                                             : 2;
}

int child_main(const char *role, const char *argument)
{
    return strcmp(role, "failures") == 0      ? failures_child(argument)
           : strcmp(role, "unsupported") == 0 ? unsupported_child()
           : strcmp(role, "visible") == 0     ? visible_child(argument)
           : strncmp(role, "ipc-", 4) == 0    ? ipc_child(role, argument)
           : strcmp(role, "large") == 0 || strcmp(role, "cycle") == 0 || strcmp(role, "compiler") == 0
               ? hostile_child(role, argument)
               : processes_child(role, argument);
}

/* --- the group --- */

static void holder_cases(const char *path, bool dies)
{
    struct shared_words *words = share_file(path, sizeof(struct shared_words));
    pid_t holder, other;
    CUcontext context;
    CUstream stream;

    words->begun = words->release = words->ended = 0;
    holder = start_child("hold", path);
    holds("a process holds the device with a kernel", becomes(&words->begun, 1));
    context = context_open();
    stream = stream_new(0);
    MUST(launch_one(kernel("nothing"), stream, NULL));
    answer("the kernel of another process waits", CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    other = start_child("pass", path);
    if (dies)
        kill(holder, SIGKILL);
    else
        words->release = 1;
    answer(dies ? "until the holder dies" : "until the holder's has ended", CUDA_SUCCESS,
           cuStreamSynchronize(stream));
    holds("and a third process goes on as well", becomes(&words->ended, 1));
    holds("the holder ends", end_of(holder) == (dies ? -SIGKILL : 0));
    holds("the third, too", end_of(other) == 0);
    context_close(context);
    munmap((void *)words, sizeof *words);
}

void processes_group(void)
{
    char path[] = "/tmp/cuda-conformance.XXXXXX";
    int fd = mkstemp(path);

    holds("a temporary file", fd >= 0);
    if (fd < 0)
        return;
    close(fd);
    holder_cases(path, false);
    holder_cases(path, true);
    unlink(path);
    holds("a process ends while its kernel never does", run_child("exit-busy", NULL, NULL) == 0);
    holds("and while a stream waits for a word", run_child("exit-gated", NULL, NULL) == 0);
    holds("a forked child has no driver, and its parent does not mind", run_child("fork", NULL, NULL) == 0);
}

/* --- failures on demand: the first call of each fails as the script says, the second works --- */

static struct {
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr words;
    CUstream stream;
    CUevent event;
    CUgraph graph;
    CUgraphExec exec;
    void *host;
    int word;
} at;

static void no_host(void *user)
{
    (void)user;
}

/* NAME, the call, in an order in which each finds what it needs. */
#define FAILURES(X)                                                                                          \
    X(cuInit, (0))                                                                                           \
    X(cuCtxCreate_v2, (&at.context, 0, 0))                                                                   \
    X(cuModuleLoad, (&at.module, kernels_path()))                                                            \
    X(cuModuleGetFunction, (&at.function, at.module, "nothing"))                                             \
    X(cuMemAlloc_v2, (&at.words, 64))                                                                        \
    X(cuMemHostAlloc, (&at.host, 64, 0))                                                                     \
    X(cuMemcpyHtoD_v2, (at.words, &at.word, 4))                                                              \
    X(cuMemcpyDtoH_v2, (&at.word, at.words, 4))                                                              \
    X(cuMemsetD32_v2, (at.words, 1, 4))                                                                      \
    X(cuStreamCreateWithPriority, (&at.stream, 0, 0))                                                        \
    X(cuEventCreate, (&at.event, 0))                                                                         \
    X(cuLaunchKernel, (at.function, 1, 1, 1, 1, 1, 1, 0, at.stream, NULL, NULL))                             \
    X(cuEventRecordWithFlags, (at.event, at.stream, 0))                                                      \
    X(cuStreamWaitEvent, (at.stream, at.event, 0))                                                           \
    X(cuLaunchHostFunc, (at.stream, no_host, NULL))                                                          \
    X(cuEventSynchronize, (at.event))                                                                        \
    X(cuStreamSynchronize, (at.stream))                                                                      \
    X(cuStreamBeginCapture_v2, (at.stream, CU_STREAM_CAPTURE_MODE_RELAXED))                                  \
    X(cuMemsetD32Async, (at.words, 1, 4, at.stream))                                                         \
    X(cuStreamEndCapture, (at.stream, &at.graph))                                                            \
    X(cuGraphInstantiateWithFlags, (&at.exec, at.graph, 0))                                                  \
    X(cuGraphLaunch, (at.exec, at.stream))                                                                   \
    X(cuCtxSynchronize, ())                                                                                  \
    X(cuGraphExecDestroy, (at.exec))                                                                         \
    X(cuGraphDestroy, (at.graph))                                                                            \
    X(cuEventDestroy_v2, (at.event))                                                                         \
    X(cuStreamDestroy_v2, (at.stream))                                                                       \
    X(cuMemFreeHost, (at.host))                                                                              \
    X(cuMemFree_v2, (at.words))                                                                              \
    X(cuModuleUnload, (at.module))                                                                           \
    X(cuCtxDestroy_v2, (at.context))

#define CALL_TWICE(name, arguments)                                                                          \
    if (name arguments != CUDA_ERROR_UNKNOWN || name arguments != CUDA_SUCCESS) {                            \
        fprintf(stderr, "failures: " #name " did not fail once and then work\n");                            \
        wrong++;                                                                                             \
    }

int failures_child(const char *argument)
{
    int wrong = 0;

    (void)argument;
    FAILURES(CALL_TWICE) /* NOLINT(misc-redundant-expression): the second call must answer otherwise */
    return wrong > 0;
}

void failures_group(void)
{
    static const char *const names[] = {
#define NAME_OF(name, arguments) #name,
        FAILURES(NAME_OF)
#undef NAME_OF
    };
    char setting[4096] = "BATON_CUDA_CPU_FAIL=";

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        strcat(strcat(setting, i ? "," : ""), names[i]);
        strcat(setting, ":1:999");
    }
    holds("each of 31 calls fails on demand, without effect, and works the next time",
          run_child("failures", NULL, setting) == 0);
    holds("a script that makes no sense is said and ignored",
          run_child("sound", NULL, "BATON_CUDA_CPU_FAIL=frob") == 0);
}
