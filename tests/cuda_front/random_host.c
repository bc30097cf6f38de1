/*
 * Random host programs over a fixed set of kernels: several streams (the legacy and the thread's
 * own default stream among them), events, host functions, copies of every kind, memory in stream
 * order, graphs that are captured in one or two streams and launched in several, whose nodes may
 * wait for events and record them. Each operation works on objects; where two streams use one
 * object and no rule of CUDA orders them, the program orders them: by an event, a graph's node, or
 * by waiting. So a program has one possible result: what its operations give one after the other,
 * computed here beside it by plain loops.
 *
 *     random-host KERNELS.ptx FIRST_SEED PROGRAMS [follows]
 *
 * follows: without graphs, memory in stream order, events of contexts: these keep it on one GPU.
 *
 * A program whose memory differs from its model is named by its seed; the exit status is 1 then.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "random_world.h"

struct world world;
static bool follows; /* only operations that may run on any GPU */

void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    printf("seed %llu: %s: %d\n", (unsigned long long)world.seed, what, (int)code);
    exit(1);
}

int pick(int n)
{
    return (int)random_below(&world.random, (uint64_t)n);
}

/* --- order --- */

static void all_waited(void)
{
    for (int i = 0; i < N_OBJECTS; i++)
        world.last[i] = -1;
}

void use(int object, int lane)
{
    int last = world.last[object];
    CUevent event = world.events[pick(N_EVENTS)];

    if (last >= 0 && !is_ordered(last, lane)) {
        switch (pick(follows ? 4 : 7)) {
        case 6:
            MUST(cuCtxRecordEvent(world.context, event));
            MUST(cuStreamWaitEvent(world.lanes[lane], event, 0));
            break;
        case 5:
            MUST(cuCtxRecordEvent(world.context, event));
            MUST(cuEventSynchronize(event));
            break;
        case 4:
            MUST(cuEventRecord(event, world.lanes[last]));
            MUST(cuCtxWaitEvent(world.context, event));
            break;
        case 0:
            MUST(cuStreamSynchronize(world.lanes[last]));
            break;
        case 1:
            MUST(cuEventRecord(event, world.lanes[last]));
            MUST(cuEventSynchronize(event));
            break;
        default:
            MUST(cuEventRecord(event, world.lanes[last]));
            MUST(cuStreamWaitEvent(world.lanes[lane], event, 0));
            break;
        }
    }
    world.last[object] = lane;
}

/* The host may use it from now on. */
static void use_by_host(int object)
{
    if (world.last[object] >= 0)
        MUST(cuStreamSynchronize(world.lanes[world.last[object]]));
    world.last[object] = -1;
}

/* --- operations --- */

void set_model(int object, int value)
{
    for (int i = 0; i < WORDS; i++)
        world.model[object][i] = value;
}

static void op_memset(int lane)
{
    int object = pick(N_DEVICE), value = pick(1000);

    use(object, lane);
    MUST(cuMemsetD32Async(world.device[object], (unsigned)value, WORDS, world.lanes[lane]));
    set_model(object, value);
}

/* The arguments are the driver's from the call on: the program spoils its own. */
static void op_fill(int lane)
{
    int object = pick(N_DEVICE), value = pick(1000), n = WORDS, said = value;
    void *params[] = {&world.device[object], &n, &said};

    use(object, lane);
    MUST(cuLaunchKernel(world.fill, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, world.lanes[lane], params, NULL));
    said = -7;
    set_model(object, value);
}

static void op_add(int lane)
{
    int left = pick(N_DEVICE), right = pick(N_DEVICE), out = pick(N_DEVICE), n = WORDS;
    struct {
        CUdeviceptr left, right, out;
        int n;
    } buffer = {world.device[left], world.device[right], world.device[out], n};
    size_t size = 28;
    void *params[] = {&buffer.left, &buffer.right, &buffer.out, &n};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    bool by_buffer = pick(2) == 0;

    use(left, lane);
    use(right, lane);
    use(out, lane);
    MUST(cuLaunchKernel(world.add, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, world.lanes[lane],
                        by_buffer ? NULL : params, by_buffer ? extra : NULL));
    memset(&buffer, 0xff, sizeof buffer);
    for (int i = 0; i < WORDS; i++)
        world.model[out][i] = world.model[left][i] + world.model[right][i];
}

static void op_increment(int lane)
{
    int object = pick(N_DEVICE), blocks = 1 + pick(8);
    void *params[] = {&world.device[object]};

    use(object, lane);
    MUST(cuLaunchKernel(world.increment, 1, (unsigned)blocks, 1, BLOCK, 1, 1, 0, world.lanes[lane], params,
                        NULL));
    world.model[object][0] += blocks * BLOCK;
}

static void op_upload(int lane)
{
    int object = pick(N_DEVICE), from = pick(N_PINNED);

    use(object, lane);
    use(N_DEVICE + from, lane);
    MUST(cuMemcpyHtoDAsync_v2(world.device[object], world.pinned[from], sizeof(int) * WORDS,
                              world.lanes[lane]));
    memcpy(world.model[object], world.model[N_DEVICE + from], sizeof world.model[0]);
}

static void op_download(int lane)
{
    int object = pick(N_DEVICE), to = pick(N_PINNED);

    use(object, lane);
    use(N_DEVICE + to, lane);
    MUST(
        cuMemcpyDtoHAsync_v2(world.pinned[to], world.device[object], sizeof(int) * WORDS, world.lanes[lane]));
    memcpy(world.model[N_DEVICE + to], world.model[object], sizeof world.model[0]);
}

/* Pageable memory is the program's again when the call returns. */
static void op_upload_pageable(int lane)
{
    int object = pick(N_DEVICE), words[WORDS];

    for (int i = 0; i < WORDS; i++)
        words[i] = pick(1000);
    memcpy(world.model[object], words, sizeof words);
    use(object, lane);
    if (pick(2) == 0)
        MUST(cuMemcpyHtoDAsync_v2(world.device[object], words, sizeof words, world.lanes[lane]));
    else if (lane == OWN)
        MUST(cuMemcpyHtoD_v2_ptds(world.device[object], words, sizeof words));
    else if (lane == LEGACY)
        MUST(cuMemcpyHtoD_v2(world.device[object], words, sizeof words));
    else
        MUST(cuMemcpyAsync(world.device[object], (CUdeviceptr)(uintptr_t)words, sizeof words,
                           world.lanes[lane]));
    memset(words, 0xee, sizeof words);
}

static void op_download_pageable(int lane)
{
    int object = pick(N_DEVICE), words[WORDS];

    use(object, lane);
    if (lane == OWN)
        MUST(cuMemcpyDtoH_v2_ptds(words, world.device[object], sizeof words));
    else if (lane == LEGACY)
        MUST(cuMemcpyDtoH_v2(words, world.device[object], sizeof words));
    else
        MUST(cuMemcpyDtoHAsync_v2(words, world.device[object], sizeof words, world.lanes[lane]));
    if (memcmp(words, world.model[object], sizeof words) != 0) {
        printf("seed %llu: a copy to pageable memory differs\n", (unsigned long long)world.seed);
        exit(1);
    }
}

static void op_copy_within(int lane)
{
    int from = pick(N_DEVICE), to = pick(N_DEVICE);

    if (from == to)
        return;
    use(from, lane);
    use(to, lane);
    MUST(cuMemcpyDtoDAsync_v2(world.device[to], world.device[from], sizeof(int) * WORDS, world.lanes[lane]));
    memcpy(world.model[to], world.model[from], sizeof world.model[0]);
}

static int mixed(int before, int value)
{
    return (int)((unsigned)before * 31 + (unsigned)value); /* modulo 2^32 */
}

static void advance_host(void *user)
{
    world.host = mixed(world.host, (int)(intptr_t)user);
}

static void advance_told(CUstream stream, CUresult status, void *user)
{
    (void)stream;
    if (status == CUDA_SUCCESS)
        advance_host(user);
}

static void op_host(int lane)
{
    int value = pick(1000);

    use(HOST, lane);
    if (pick(2) == 0)
        MUST(cuLaunchHostFunc(world.lanes[lane], advance_host, (void *)(intptr_t)value));
    else
        MUST(cuStreamAddCallback(world.lanes[lane], advance_told, (void *)(intptr_t)value, 0));
    world.model[HOST][0] = mixed(world.model[HOST][0], value);
}

void launch_add(int left, int right, int out, CUstream stream)
{
    int n = WORDS;
    void *params[] = {&world.device[left], &world.device[right], &world.device[out], &n};

    MUST(cuLaunchKernel(world.add, WORDS / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, params, NULL));
}

static void op_temporary(int lane)
{
    int object = pick(N_DEVICE), value = pick(1000);
    CUdeviceptr memory;

    use(object, lane);
    MUST(cuMemAllocAsync(&memory, sizeof(int) * WORDS, world.lanes[lane]));
    MUST(cuMemsetD32Async(memory, (unsigned)value, WORDS, world.lanes[lane]));
    MUST(cuMemcpyDtoDAsync_v2(world.device[object], memory, sizeof(int) * WORDS, world.lanes[lane]));
    MUST(cuMemFreeAsync(memory, world.lanes[lane]));
    set_model(object, value);
}

/* Records and waits that no object needs, and questions whose answer depends on the moment. */
static void op_noise(int lane)
{
    CUevent event = world.events[pick(N_EVENTS)];
    CUresult code;

    if (!follows && pick(4) == 0)
        MUST(cuCtxRecordEvent(world.context, event));
    else
        MUST(cuEventRecord(event, world.lanes[lane]));
    if (!follows && pick(4) == 0)
        MUST(cuCtxWaitEvent(world.context, event));
    else
        MUST(cuStreamWaitEvent(world.lanes[pick(N_LANES)], event, 0));
    code = pick(2) ? cuStreamQuery(world.lanes[lane]) : cuEventQuery(event);
    if (code != CUDA_ERROR_NOT_READY)
        MUST(code);
}

static void op_wait(int lane)
{
    if (pick(4) == 0) {
        MUST(cuCtxSynchronize());
        all_waited();
        return;
    }
    MUST(cuStreamSynchronize(world.lanes[lane]));
}

/* A stream that ends with its work under way. */
static void op_new_stream(int lane)
{
    CUevent event = world.events[pick(N_EVENTS)];

    if (lane < NAMED || lane >= N_LANES)
        return;
    MUST(cuEventRecord(event, world.lanes[lane]));
    MUST(cuStreamDestroy_v2(world.lanes[lane]));
    MUST(cuStreamCreate(&world.lanes[lane], is_blocking(lane) ? 0 : CU_STREAM_NON_BLOCKING));
    MUST(cuStreamWaitEvent(world.lanes[lane], event, 0)); /* objects of the old one are the new one's */
}

static void (*const operations[])(int lane) = {
    op_memset,
    op_fill,
    op_add,
    op_increment,
    op_upload,
    op_download,
    op_upload_pageable,
    op_copy_within,
    op_host,
    op_graph,
    op_temporary,
    op_noise,
    op_wait,
    op_new_stream,
    op_download_pageable,
    op_fill,
    op_add,
    op_noise,
    op_graph,
    op_graph,
    op_new_event,
};

static void operate(void)
{
    void (*operation)(int) = operations[pick(sizeof operations / sizeof operations[0])];

    if (follows && (operation == op_graph || operation == op_temporary || operation == op_new_event))
        operation = op_increment;
    operation(pick(N_LANES));
}

/* --- programs --- */

static void open_world(const char *kernels)
{
    static char text[1 << 20];
    FILE *file = fopen(kernels, "r");

    if (!file || fread(text, 1, sizeof text - 1, file) == 0) {
        perror(kernels);
        exit(2);
    }
    (void)fclose(file);
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&world.context, 0, 0));
    MUST(cuModuleLoadData(&world.module, text));
    MUST(cuModuleGetFunction(&world.fill, world.module, "fill"));
    MUST(cuModuleGetFunction(&world.add, world.module, "add"));
    MUST(cuModuleGetFunction(&world.increment, world.module, "increment"));
    world.lanes[LEGACY] = NULL;
    world.lanes[OWN] = CU_STREAM_PER_THREAD;
    for (int i = NAMED; i < N_LANES; i++)
        MUST(cuStreamCreate(&world.lanes[i], is_blocking(i) ? 0 : CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < N_EVENTS; i++)
        MUST(cuEventCreate(&world.events[i], 0));
    for (int i = 0; i < N_DEVICE; i++)
        MUST(cuMemAlloc_v2(&world.device[i], sizeof(int) * WORDS));
    for (int i = 0; i < N_PINNED; i++)
        MUST(cuMemHostAlloc((void **)&world.pinned[i], sizeof(int) * WORDS, 0));
}

static bool is_as_model(void)
{
    int words[WORDS];

    for (int i = 0; i < N_DEVICE; i++) {
        MUST(cuMemcpyDtoH_v2(words, world.device[i], sizeof words));
        if (memcmp(words, world.model[i], sizeof words) != 0)
            return false;
    }
    for (int i = 0; i < N_PINNED; i++)
        if (memcmp(world.pinned[i], world.model[N_DEVICE + i], sizeof words) != 0)
            return false;
    return world.host == world.model[HOST][0];
}

static bool run_program(uint64_t seed)
{
    world.seed = seed;
    random_init(&world.random, seed, 0);
    memset(world.model, 0, sizeof world.model);
    world.host = 0;
    world.n_graphs = 0;
    for (int i = 0; i < N_DEVICE; i++)
        MUST(cuMemsetD32_v2(world.device[i], 0, WORDS));
    for (int i = 0; i < N_PINNED; i++)
        memset(world.pinned[i], 0, sizeof(int) * WORDS);
    MUST(cuCtxSynchronize());
    all_waited();
    for (int i = 0; i < OPERATIONS; i++)
        operate();
    use_by_host(HOST);
    MUST(cuCtxSynchronize());
    for (unsigned i = 0; i < world.n_graphs; i++)
        MUST(cuGraphExecDestroy(world.graphs[i].exec));
    return is_as_model();
}

/* Of short_memory.c, where that is preloaded. */
void short_memory_begins(void) __attribute__((weak));

int main(int argc, char **argv)
{
    uint64_t first, n;

    if (argc != 4 && (argc != 5 || strcmp(argv[4], "follows") != 0)) {
        fprintf(stderr, "usage: random-host KERNELS.ptx FIRST_SEED PROGRAMS [follows]\n");
        return 2;
    }
    follows = argc == 5;
    first = strtoull(argv[2], NULL, 10);
    n = strtoull(argv[3], NULL, 10);
    open_world(argv[1]);
    if (short_memory_begins)
        short_memory_begins();
    for (uint64_t seed = first; seed < first + n; seed++)
        if (!run_program(seed)) {
            printf("seed %llu: memory differs from the model\n", (unsigned long long)seed);
            return 1;
        }
    printf("%llu programs as their models\n", (unsigned long long)n);
    return 0;
}
