/*
 * State on a GPU from job to job, by CUDA: buffers that kernels, copies and fills change in random
 * order, one job each, and what every one of them must hold by a computation on the host. Memory
 * comes and goes, in small pieces and large ones; addresses, attributes and free memory must be
 * those of the device that was opened. Prints the number of jobs, without the first tenth, and what
 * they took; ends with 1 at the first byte that differs.
 *
 *     cuda-state KERNELS.ptx JOBS SEED [library]
 *
 * library: kernels of a library in place of a module.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "cuda_abi/driver_calls.h"

enum { WORDS = 4096, BUFFERS = 4, LARGE = 300000 }; /* the last buffer has LARGE words */

static CUcontext context;
static CUfunction stir;
static CUstream stream;
static CUevent event;
static struct buffer {
    CUdeviceptr address;
    size_t words;
    unsigned *known;
} buffers[BUFFERS];
static unsigned *pinned, scratch[LARGE];

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    (void)printf("%s: %d\n", what, (int)code);
    exit(3);
}

#define MUST(call) must(call, #call)

static void wrong(const char *what, unsigned job)
{
    (void)printf("job %u: %s\n", job, what);
    exit(1);
}

static void load(const char *path, bool library)
{
    static char text[1 << 16];
    FILE *file = fopen(path, "r");
    CUlibrary of;
    CUmodule module;

    if (!file || fread(text, 1, sizeof text - 1, file) == 0) {
        perror(path);
        exit(2);
    }
    (void)fclose(file);
    if (library) {
        MUST(cuLibraryLoadData(&of, text, NULL, NULL, 0, NULL, NULL, 0));
        MUST(cuLibraryGetKernel((CUkernel *)&stir, of, "stir"));
        return;
    }
    MUST(cuModuleLoadData(&module, text));
    MUST(cuModuleGetFunction(&stir, module, "stir"));
}

static void make(struct buffer *buffer, struct random_state *random)
{
    MUST(cuMemAlloc_v2(&buffer->address, buffer->words * sizeof(unsigned)));
    for (size_t i = 0; i < buffer->words; i++)
        buffer->known[i] = (unsigned)random_u64(random);
    MUST(cuMemcpyHtoD_v2(buffer->address, buffer->known, buffer->words * sizeof(unsigned)));
}

/* What the program sees of its memory is what it opened. */
static void check_view(const struct buffer *buffer, unsigned job)
{
    size_t size = 0, unused, total;
    CUcontext owner = NULL, current = NULL;
    CUdeviceptr begin = 0;
    int ordinal = -1;
    CUdevice device = -1;

    MUST(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, buffer->address + 5));
    MUST(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, buffer->address));
    MUST(cuMemGetAddressRange_v2(&begin, &size, buffer->address + 7));
    MUST(cuCtxGetDevice(&device));
    MUST(cuCtxGetCurrent(&current));
    MUST(cuMemGetInfo_v2(&unused, &total));
    if (ordinal != 0 || device != 0 || owner != context || current != context || begin != buffer->address ||
        size != buffer->words * sizeof(unsigned) || unused > total)
        wrong("the program sees another device", job);
    if (cuMemcpyDtoH_v2(scratch, buffer->address + 4, size) != CUDA_ERROR_INVALID_VALUE)
        wrong("a copy beyond the end is taken", job);
}

static void check(const struct buffer *buffer, size_t from, size_t n, unsigned job)
{
    MUST(cuMemcpyDtoH_v2(scratch, buffer->address + from * sizeof(unsigned), n * sizeof(unsigned)));
    if (memcmp(scratch, buffer->known + from, n * sizeof(unsigned)) != 0)
        wrong("bytes differ", job);
}

static void launch(struct buffer *a, const struct buffer *b, unsigned salt)
{
    unsigned n = (unsigned)(a->words < b->words ? a->words : b->words);
    CUdeviceptr other = b->address;
    void *params[] = {&a->address, &other, &n, &salt};

    MUST(cuLaunchKernel(stir, (n + 63) / 64, 1, 1, 64, 1, 1, 0, stream, params, NULL));
    for (unsigned i = 0; i < n; i++)
        a->known[i] = (a->known[i] ^ salt) * 2654435761u + (b->known[i] >> 3) + i;
}

static void change(struct buffer *b, const struct buffer *a, size_t from, size_t n, unsigned salt, int how)
{
    CUdeviceptr to = b->address + from * sizeof(unsigned);

    switch (how) {
    case 0: /* from memory that the host may change at once */
        for (size_t i = 0; i < n; i++)
            scratch[i] = b->known[from + i] = salt + (unsigned)i;
        MUST(cuMemcpyHtoDAsync_v2(to, scratch, n * sizeof(unsigned), stream));
        memset(scratch, 0, n * sizeof(unsigned));
        break;
    case 1:
        MUST(cuMemcpyDtoDAsync_v2(to, a->address + from * sizeof(unsigned), n * sizeof(unsigned), stream));
        memcpy(b->known + from, a->known + from, n * sizeof(unsigned));
        break;
    case 2:
        MUST(cuMemsetD32Async(to, salt, n, stream));
        for (size_t i = 0; i < n; i++)
            b->known[from + i] = salt;
        break;
    default: /* there and back in memory that the driver knows, ordered by an event */
        MUST(cuMemcpyDtoHAsync_v2(pinned, to, n * sizeof(unsigned), stream));
        MUST(cuEventRecord(event, stream));
        MUST(cuStreamWaitEvent(NULL, event, 0));
        MUST(cuMemcpyHtoDAsync_v2(to, pinned, n * sizeof(unsigned), NULL));
        break;
    }
}

static void one_job(struct random_state *random, unsigned job)
{
    struct buffer *a = &buffers[random_below(random, BUFFERS)];
    struct buffer *b =
        &buffers[(size_t)(a - buffers + 1 + (long)random_below(random, BUFFERS - 1)) % BUFFERS];
    size_t from = random_below(random, WORDS), n = 1 + random_below(random, WORDS - from);
    unsigned what = (unsigned)random_below(random, 12), salt = (unsigned)random_u64(random);

    if (what == 11 && b->words == WORDS) { /* new memory, perhaps at the same address */
        MUST(cuMemFree_v2(b->address));
        make(b, random);
    }
    launch(a, b, salt);
    if (what < 4)
        change(b, a, from, n, salt, (int)what);
    else if (what == 4)
        check(a, from, n, job);
    else if (what == 5)
        check_view(a, job);
    MUST(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
    unsigned jobs = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 100;
    bool library = argc > 4 && strcmp(argv[4], "library") == 0;
    struct random_state random;
    baton_nsec began, took;

    if (argc < 2)
        return 2;
    random_init(&random, argc > 3 ? strtoull(argv[3], NULL, 10) : 1, 0);
    MUST(cuInit(0));
    MUST(cuCtxCreate_v2(&context, 0, 0));
    load(argv[1], library);
    MUST(cuStreamCreate(&stream, 0));
    MUST(cuEventCreate(&event, 0));
    MUST(cuMemHostAlloc((void **)&pinned, WORDS * sizeof(unsigned), 0));
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i].words = i < BUFFERS - 1 ? WORDS : LARGE;
        buffers[i].known = calloc(buffers[i].words, sizeof(unsigned));
        make(&buffers[i], &random);
    }
    began = clock_now();
    for (unsigned job = 0; job < jobs; job++) {
        if (job == jobs / 10) /* kernels are loaded, memory is where it is used */
            began = clock_now();
        one_job(&random, job);
    }
    took = clock_now() - began;
    for (int i = 0; i < BUFFERS; i++)
        check(&buffers[i], 0, buffers[i].words, jobs);
    for (int i = 0; i < BUFFERS; i++)
        MUST(cuMemFree_v2(buffers[i].address));
    MUST(cuCtxDestroy_v2(context));
    (void)printf("%u jobs in %lld ns\n", jobs - jobs / 10, (long long)took);
    return 0;
}
