/*
 * A program whose kernel runs until it is told to end, and which asks for a copy behind it. While
 * the kernel runs, no copy engine is the program's: another program copies meanwhile.
 *
 *     engine-order CASE KERNELS    prints `asked` when the copy is asked for, and lets the kernel
 *                                  end when standard input ends; its status says whether the copy
 *                                  came behind the kernel
 *     engine-order other KERNELS   the other program
 *     engine-order list            prints the cases
 *
 * The copy is asked for by a second thread, since some calls return when the copy is over.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gated_words.h"

enum { BEGUN, GO_ON, NUMBER = 7, LARGE = 1 << 20 };

static CUstream before; /* the kernel's */
static unsigned *pinned, pageable[LARGE / sizeof(unsigned)];
static CUdeviceptr source; /* LARGE bytes */
static atomic_int asking;  /* the second thread; 0: not yet */
static atomic_bool asked;

/* --- what is copied, and how it is asked for --- */

static void same_pinned(void)
{
    MUST(cuMemcpyDtoHAsync_v2(pinned, source, 4096, before));
}

static void same_pageable(void)
{
    MUST(cuMemcpyDtoHAsync_v2(pageable, source, 4096, before));
}

static void same_large(void)
{
    MUST(cuMemcpyDtoHAsync_v2(pinned, source, LARGE, before));
}

static void large_and_wait(void)
{
    MUST(cuMemcpyDtoHAsync_v2(pageable, source, LARGE, before));
}

static void to_the_device(void)
{
    MUST(cuMemcpyHtoDAsync_v2(words, pinned, 64, before));
}

static void rows(void)
{
    CUDA_MEMCPY2D about = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = source,
                           .srcPitch = 64,
                           .dstMemoryType = CU_MEMORYTYPE_HOST,
                           .dstHost = pageable,
                           .dstPitch = 64,
                           .WidthInBytes = 32,
                           .Height = 4};

    MUST(cuMemcpy2DAsync_v2(&about, before));
}

static void array(void)
{
    CUDA_ARRAY_DESCRIPTOR about = {
        .Width = 64, .Height = 1, .Format = CU_AD_FORMAT_UNSIGNED_INT32, .NumChannels = 1};
    CUarray made;

    MUST(cuArrayCreate_v2(&made, &about));
    MUST(cuMemcpyAtoHAsync_v2(pageable, made, 0, 64, before));
    pageable[0] = NUMBER; /* what a new array has is not said */
}

static void legacy(void)
{
    MUST(cuMemcpyDtoH_v2(pageable, source, 4096));
}

/* The stream waits for the legacy one, in which the kernel is. */
static void blocking(void)
{
    CUstream stream;

    MUST(cuStreamCreate(&stream, 0));
    MUST(cuMemcpyDtoHAsync_v2(pinned, source, 4096, stream));
}

static void by_event(void)
{
    CUstream behind = new_stream();
    CUevent event = new_event();

    MUST(cuEventRecord(event, before));
    MUST(cuStreamWaitEvent(behind, event, 0));
    MUST(cuMemcpyDtoHAsync_v2(pinned, source, 4096, behind));
}

static void of_the_context(void)
{
    CUstream behind = new_stream();
    CUevent event = new_event();

    MUST(cuEventRecord(event, before));
    MUST(cuCtxWaitEvent(context, event));
    MUST(cuMemcpyDtoHAsync_v2(pinned, source, 4096, behind));
}

static const struct {
    const char *name;
    void (*ask)(void);
    enum { OWN, LEGACY, BLOCKING } stream; /* of the kernel */
} cases[] = {
    {"pinned", same_pinned, OWN},  {"pageable", same_pageable, OWN},
    {"large", same_large, OWN},    {"waiting", large_and_wait, OWN},
    {"in", to_the_device, OWN},    {"rows", rows, OWN},
    {"array", array, OWN},         {"legacy", legacy, LEGACY},
    {"crossed", legacy, BLOCKING}, {"blocking", blocking, LEGACY},
    {"event", by_event, OWN},      {"context", of_the_context, OWN},
};

/* --- the program --- */

static void *ask(void *argument)
{
    size_t i = *(const size_t *)argument;

    MUST(cuCtxSetCurrent(context));
    atomic_store(&asking, (int)syscall(SYS_gettid));
    cases[i].ask();
    atomic_store(&asked, true);
    return NULL;
}

/* Does the second thread sleep? */
static bool sleeps(void)
{
    char path[64], state = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&asking));
    file = fopen(path, "r");
    if (!file)
        return false;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 0;
    (void)fclose(file);
    return state == 'S';
}

/* Returns when its call has, or waits for the kernel. */
static void await_asking(void)
{
    for (int looks = 0; looks < 200 && !atomic_load(&asked);)
        looks = atomic_load(&asking) && sleeps() ? looks + 1 : 0;
}

static void start_kernel(CUstream stream)
{
    CUdeviceptr begun = (CUdeviceptr)(uintptr_t)&gates[BEGUN], flag = (CUdeviceptr)(uintptr_t)&gates[GO_ON];
    void *params[] = {&begun, &flag};

    MUST(cuLaunchKernel(hold, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
    while (!__atomic_load_n(&gates[BEGUN], __ATOMIC_ACQUIRE)) {
    }
}

static void open_memory(void)
{
    void *memory;

    open_context();
    MUST(cuMemHostAlloc(&memory, LARGE, 0));
    pinned = memory;
    memset(pinned, 0, LARGE);
    MUST(cuMemAlloc_v2(&source, LARGE));
    MUST(cuMemsetD32_v2(source, NUMBER, LARGE / 4));
    MUST(cuCtxSynchronize());
}

/*
 * ThreadSanitizer does not see that the copy follows this, since the kernel in between is not its
 * code.
 */
__attribute__((no_sanitize_thread)) static bool nothing_is_copied(void)
{
    return *(volatile unsigned *)pinned == 0 && *(volatile unsigned *)pageable == 0;
}

static int run(size_t i)
{
    pthread_t thread;

    open_memory();
    if (cases[i].stream == OWN)
        before = new_stream();
    else if (cases[i].stream == BLOCKING)
        MUST(cuStreamCreate(&before, 0));
    start_kernel(before);
    if (pthread_create(&thread, NULL, ask, &i) != 0)
        return 2;
    await_asking();
    printf("asked\n");
    (void)fflush(stdout);
    while (getchar() != EOF) {
    }
    expect(nothing_is_copied(), "nothing is copied while the kernel runs");
    open_gate(GO_ON);
    (void)pthread_join(thread, NULL);
    MUST(cuCtxSynchronize());
    expect(pinned[0] == NUMBER || pageable[0] == NUMBER || cases[i].ask == to_the_device, "it is copied");
    return n_wrong;
}

/* There and back, by both copy engines: no kernel, and no fill. */
static int other(void)
{
    enum { ROUNDS = 20 };
    unsigned there[64], back[64] = {0};

    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuMemAlloc_v2(&source, sizeof there));
    for (unsigned i = 0; i < ROUNDS; i++) {
        there[0] = i + 1;
        MUST(cuMemcpyHtoD_v2(source, there, sizeof there));
        MUST(cuMemcpyDtoH_v2(back, source, sizeof back));
        expect(back[0] == i + 1, "the bytes are back");
    }
    return n_wrong;
}

int main(int argc, char **argv)
{
    size_t n = sizeof cases / sizeof cases[0];

    for (size_t i = 0; argc == 2 && strcmp(argv[1], "list") == 0 && i < n; i++)
        printf("%s\n", cases[i].name);
    if (argc < 3)
        return argc == 2 ? 0 : 2;
    kernels = argv[2];
    MUST(cuInit(0));
    if (strcmp(argv[1], "other") == 0)
        return other();
    for (size_t i = 0; i < n; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            return run(i);
    return 2;
}
