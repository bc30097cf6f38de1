/*
 * Single situations, by name, each an ordinary program:
 *
 *     unknown       looks a new name up and calls it, then works on
 *     exit          calls exit() in a host function, with work behind it
 *     fork          works, forks, and the child runs a new program that works
 *     reset         resets its device with work held back, and works again
 *     garbage       loads what is no PTX, PTX that ends early, and a good module
 *     graph         launches a graph behind a closed gate, and asks for an event of the graph
 *     quit          ends with a long kernel under way
 *     busy          ends with a kernel under way that never does, and more behind it
 *     joined        the same, and an exit handler joins the thread that waits for the kernel
 *     at-once       the same, by _exit()
 *     killed        the same, by a signal
 *     exec          the same, and becomes a program that works
 *     spawned       forks while work is held back; the child exits, the parent works on
 *     rows          copies parts of planes there and back, in two and three dimensions
 *     files         loads a module and a library from a file, and links one from text and a file
 *     destroyed     destroys its context with work held back, and works again
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_must.h"

static const char *kernels;
static char text[1 << 20];

static CUdeviceptr words;

/* A kernel that fills n words, launched on the default stream. */
static void launch_fill(int n, int value)
{
    void *params[] = {&words, &n, &value};
    CUfunction fill;
    CUmodule module;

    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&fill, module, "fill"));
    MUST(cuLaunchKernel(fill, (unsigned)(n + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
}

/* Fills memory and reads it back: the program works. */
static void work(void)
{
    int word = 0;

    launch_fill(4096, 5);
    MUST(cuMemcpyDtoH_v2(&word, words + 4095 * sizeof word, sizeof word));
    if (word != 5) {
        printf("a wrong word\n");
        exit(1);
    }
}

static void open_device(void)
{
    FILE *file = fopen(kernels, "r");
    CUcontext context;

    if (!file || fread(text, 1, sizeof text - 1, file) == 0)
        exit(2);
    (void)fclose(file);
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    MUST(cuMemAlloc_v2(&words, 4 << 20));
}

static int unknown(void)
{
    CUresult (*brand_new)(int *) = NULL;
    int value = 0;

    MUST(cuGetProcAddress_v2("cuBrandNew", (void **)&brand_new, CUDA_ABI_VERSION, 0, NULL));
    work();
    for (int i = 0; i < 3; i++)
        MUST(brand_new(&value));
    work();
    return value == 42 ? 0 : 1;
}

static void leave(void *user)
{
    (void)user;
    exit(7);
}

/* While the process ends, the driver may refuse calls of other threads. */
static int exits(void)
{
    int n = 1 << 20, value = 6;
    void *params[] = {&words, &n, &value};
    CUfunction fill;
    CUmodule module;

    work();
    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&fill, module, "fill"));
    MUST(cuLaunchHostFunc(NULL, leave, NULL));
    (void)cuLaunchKernel(fill, 4096, 1, 1, 256, 1, 1, 0, NULL, params, NULL);
    while (pause() != 0)
        ;
    return 1;
}

static int forks(const char *program)
{
    int status = 1;
    pid_t child;

    work();
    child = fork();
    if (child == 0) {
        (void)execl(program, program, kernels, "work", (char *)NULL);
        _exit(9);
    }
    work();
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

static int resets(void)
{
    CUcontext context;

    launch_fill(1 << 20, 6);
    MUST(cuDevicePrimaryCtxReset_v2(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    MUST(cuMemAlloc_v2(&words, 4 << 20));
    work();
    return 0;
}

static int graphs(void)
{
    unsigned *gate = NULL;
    CUgraphExec exec;
    CUgraphNode node;
    CUgraph graph;
    CUevent event;
    CUresult early;
    int word = 0;

    MUST(cuMemHostAlloc((void **)&gate, sizeof *gate, CU_MEMHOSTALLOC_DEVICEMAP));
    *gate = 0;
    MUST(cuEventCreate(&event, 0));
    MUST(cuEventRecord(event, NULL));
    MUST(cuEventSynchronize(event));
    MUST(cuGraphCreate(&graph, 0));
    MUST(cuGraphAddEventRecordNode(&node, graph, NULL, 0, event));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    MUST(cuStreamWaitValue32_v2(NULL, (CUdeviceptr)(uintptr_t)gate, 1, CU_STREAM_WAIT_VALUE_EQ));
    launch_fill(4096, 8);
    MUST(cuGraphLaunch(exec, NULL));
    early = cuEventQuery(event); /* the record of the graph, not the one before */
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    MUST(cuEventSynchronize(event));
    MUST(cuMemcpyDtoH_v2(&word, words, sizeof word));
    MUST(cuGraphExecDestroy(exec));
    return early == CUDA_ERROR_NOT_READY && word == 8 ? 0 : 1;
}

/* A graph on the legacy stream is behind what 100 streams hold back. */
static int many(void)
{
    enum { STREAMS = 100, N = 1024 };
    CUstream streams[STREAMS];
    int seen[STREAMS] = {0}, n = N, wrong = 0;
    CUgraphExec exec;
    CUfunction fill;
    CUmodule module;
    CUgraph graph;

    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&fill, module, "fill"));
    for (int i = 0; i < STREAMS; i++)
        MUST(cuStreamCreate(&streams[i], 0));
    MUST(cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_RELAXED));
    for (int i = 0; i < STREAMS; i++)
        MUST(cuMemcpyDtoHAsync_v2(&seen[i], words + ((size_t)i * N + N - 1) * sizeof(int), sizeof(int),
                                  streams[0]));
    MUST(cuStreamEndCapture(streams[0], &graph));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < STREAMS; i++) {
        void *params[] = {&(CUdeviceptr){words + (size_t)i * N * sizeof(int)}, &n, &(int){i + 1}};

        MUST(cuLaunchKernel(fill, N / 256, 1, 1, 256, 1, 1, 0, streams[i], params, NULL));
    }
    MUST(cuGraphLaunch(exec, NULL));
    MUST(cuStreamSynchronize(NULL));
    for (int i = 0; i < STREAMS; i++)
        wrong += seen[i] != i + 1;
    printf("%d of %d streams were overtaken\n", wrong, STREAMS);
    return wrong != 0;
}

/* --- ends with a kernel that never does --- */

/* Eight kernels that wait for a word of pinned memory, and a copy behind them. */
static void launch_endless(void)
{
    void *word = NULL;
    CUdeviceptr address;
    void *params[] = {&address};
    CUfunction endless;
    CUmodule module;

    MUST(cuMemHostAlloc(&word, 4, CU_MEMHOSTALLOC_DEVICEMAP));
    *(int *)word = 0;
    address = (CUdeviceptr)(uintptr_t)word;
    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&endless, module, "wait_for"));
    for (int i = 0; i < 8; i++)
        MUST(cuLaunchKernel(endless, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    MUST(cuMemsetD32Async(words, 0, 1, NULL));
}

static pthread_t waiter;

static void *wait_for_all(void *context)
{
    if (cuCtxSetCurrent(context) == CUDA_SUCCESS)
        (void)cuCtxSynchronize();
    return NULL;
}

static void join_waiter(void)
{
    (void)pthread_join(waiter, NULL);
}

static int joined(void)
{
    CUcontext context;

    launch_endless();
    MUST(cuCtxGetCurrent(&context));
    return pthread_create(&waiter, NULL, wait_for_all, context) != 0;
}

static int becomes(const char *program)
{
    launch_endless();
    (void)execl(program, program, kernels, "work", (char *)NULL);
    return 9;
}

static int at_once(void)
{
    launch_endless();
    _exit(3);
}

static int killed(void)
{
    launch_endless();
    (void)raise(SIGKILL);
    return 9;
}

/* The child has no driver, and its exit handlers run. */
static int spawned(void)
{
    int status = 1;
    pid_t child;

    launch_fill(1 << 20, 6);
    child = fork();
    if (child == 0)
        exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 4 : 9);
    work();
    return child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 4 ? 0 : 1;
}

/* --- copies of rows --- */

enum { PITCH = 640, ROWS = 40, PLANES = 3, WIDTH = 600, HEIGHT = 31, X = 8, Y = 5, Z = 1, DEPTH = 2 };
enum { VOLUME = PITCH * ROWS * PLANES };

static void copy_part(bool out, unsigned char *host, CUstream stream, bool deep)
{
    CUDA_MEMCPY3D about = {.srcXInBytes = X, .srcY = Y, .srcZ = Z, .dstXInBytes = X, .dstY = Y, .dstZ = Z};
    CUDA_MEMCPY2D flat = {.srcXInBytes = X, .srcY = Y, .dstXInBytes = X, .dstY = Y};

    about.srcPitch = about.dstPitch = flat.srcPitch = flat.dstPitch = PITCH;
    about.srcHeight = about.dstHeight = ROWS;
    about.WidthInBytes = flat.WidthInBytes = WIDTH;
    about.Height = flat.Height = HEIGHT;
    about.Depth = DEPTH;
    about.srcMemoryType = flat.srcMemoryType = out ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    about.dstMemoryType = flat.dstMemoryType = out ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    about.srcHost = flat.srcHost = about.dstHost = flat.dstHost = host;
    about.srcDevice = flat.srcDevice = about.dstDevice = flat.dstDevice = words;
    if (deep)
        MUST(stream ? cuMemcpy3DAsync_v2(&about, stream) : cuMemcpy3D_v2(&about));
    else
        MUST(stream ? cuMemcpy2DAsync_v2(&flat, stream) : cuMemcpy2D_v2(&flat));
}

/* The part has the host's bytes afterwards, and nothing else has changed. */
static int check_rows(unsigned char *in, unsigned char *out, CUstream stream, bool deep)
{
    static unsigned char all[VOLUME];

    for (int i = 0; i < VOLUME; i++)
        in[i] = (unsigned char)(1 + i * 7 % 199);
    memset(out, 0, VOLUME);
    MUST(cuMemsetD8_v2(words, 0, VOLUME));
    copy_part(false, in, stream, deep);
    copy_part(true, out, stream, deep);
    MUST(cuCtxSynchronize());
    MUST(cuMemcpyDtoH_v2(all, words, VOLUME));
    for (int i = 0; i < VOLUME; i++) {
        int x = i % PITCH, y = i / PITCH % ROWS, z = i / PITCH / ROWS;
        bool within =
            x >= X && x < X + WIDTH && y >= Y && y < Y + HEIGHT && (deep ? z >= Z && z < Z + DEPTH : z == 0);

        if (all[i] != (within ? in[i] : 0) || out[i] != (within ? in[i] : 0)) {
            printf("byte %d of plane %d, row %d\n", x, z, y);
            return 1;
        }
    }
    return 0;
}

static int rows(void)
{
    static unsigned char pageable[2][VOLUME];
    void *pinned[2];
    CUstream stream;

    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++)
        MUST(cuMemHostAlloc(&pinned[i], VOLUME, 0));
    for (int way = 0; way < 8; way++)
        if (check_rows(way & 1 ? pinned[0] : pageable[0], way & 1 ? pinned[1] : pageable[1],
                       way & 2 ? stream : NULL, (way & 4) != 0))
            return 1;
    return 0;
}

/* --- where kernels come from --- */

static int fills(void *fill, int value)
{
    int n = 4096, word = 0;
    void *params[] = {&words, &n, &value};

    MUST(cuLaunchKernel(fill, 16, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
    MUST(cuMemcpyDtoH_v2(&word, words + 4095 * sizeof word, sizeof word));
    return word == value;
}

static CUmodule linked(bool from_file)
{
    CUlinkState state;
    CUmodule module;
    void *image;
    size_t size;

    MUST(cuLinkCreate_v2(0, NULL, NULL, &state));
    if (from_file)
        MUST(cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, kernels, 0, NULL, NULL));
    else
        MUST(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, text, strlen(text) + 1, "text", 0, NULL, NULL));
    MUST(cuLinkComplete(state, &image, &size));
    MUST(cuModuleLoadData(&module, image));
    MUST(cuLinkDestroy(state));
    return module;
}

static int files(void)
{
    CUlibrary library;
    CUmodule module;
    CUkernel kernel;
    CUfunction fill;

    MUST(cuModuleLoad(&module, kernels));
    MUST(cuModuleGetFunction(&fill, module, "fill"));
    if (!fills(fill, 11))
        return 1;
    MUST(cuModuleUnload(module));
    MUST(cuLibraryLoadFromFile(&library, kernels, NULL, NULL, 0, NULL, NULL, 0));
    MUST(cuLibraryGetKernel(&kernel, library, "fill"));
    if (!fills(kernel, 12))
        return 1;
    MUST(cuLibraryUnload(library));
    for (int i = 0; i < 2; i++) {
        module = linked(i == 1);
        MUST(cuModuleGetFunction(&fill, module, "fill"));
        if (!fills(fill, 13 + i))
            return 1;
    }
    return 0;
}

static int destroyed(void)
{
    CUcontext context;

    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuMemAlloc_v2(&words, 4 << 20));
    launch_fill(1 << 20, 6);
    MUST(cuCtxDestroy_v2(context));
    open_device();
    work();
    return 0;
}

static int busy(void)
{
    launch_endless();
    return 0;
}

static int quit(void)
{
    launch_fill(1 << 20, 6);
    return 0;
}

static int garbage(void)
{
    static char noise[4096] = ".version 8.0\n.target sm_80\n.address_size 64\n.entry broken( {{{";
    CUmodule module;
    CUresult code = cuModuleLoadData(&module, noise);

    if (code != CUDA_ERROR_INVALID_PTX) {
        printf("broken PTX: %d\n", (int)code);
        return 1;
    }
    memset(noise, 'x', sizeof noise - 1);
    if (cuModuleLoadData(&module, noise) == CUDA_SUCCESS)
        return 1;
    text[strlen(text) / 2] = 0;
    code = cuModuleLoadData(&module, text);
    printf("half a module: %d\n", (int)code);
    open_device();
    work();
    return 0;
}

static int forked(void)
{
    return forks("/proc/self/exe");
}

static int execed(void)
{
    return becomes("/proc/self/exe");
}

static int works(void)
{
    work();
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } all[] = {
        {"unknown", unknown}, {"exit", exits},      {"fork", forked},         {"reset", resets},
        {"graph", graphs},    {"garbage", garbage}, {"quit", quit},           {"busy", busy},
        {"joined", joined},   {"at-once", at_once}, {"killed", killed},       {"exec", execed},
        {"work", works},      {"spawned", spawned}, {"destroyed", destroyed}, {"rows", rows},
        {"files", files},     {"many", many},
    };
    const char *what = argc == 3 ? argv[2] : "";

    kernels = argc == 3 ? argv[1] : "";
    if (strcmp(what, "joined") == 0)
        (void)atexit(join_waiter); /* before the driver's own, so that it runs after them */
    open_device();
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(what, all[i].name) == 0)
            return all[i].run();
    return 2;
}
