/*
 * A ring of CUDA devices (Verner et al., sec. 3.1: batchOp): each GPU gets a part of an array and
 * adds one to it, passes it on to the next GPU, and the parts come back. Three batches; before each
 * runs, its length is known.
 *
 *   cuda_ring TOPOLOGY NODE...     the nodes of the topology that are CUDA device 0, 1, ...
 *
 * Build: cc cuda_ring.c -lbaton -lcuda. Here it is built with Baton's own declarations of CUDA.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baton/batch.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#else
#include "cuda_abi/driver_calls.h"
#define cuCtxPopCurrent  cuCtxPopCurrent_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuMemAlloc       cuMemAlloc_v2
#endif

#define MOST  8
#define BLOCK 256
#define WORDS ((size_t)1 << 18) /* of each part */
#define BYTES (WORDS * sizeof(int))

static const char increment[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry increment(.param .u64 data)\n{\n"
    "    .reg .b32 %r<7>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [data];\n    cvta.to.global.u64 %rd2, %rd1;\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mad.lo.s32 %r4, %r1, %r2, %r3;\n    mul.wide.u32 %rd3, %r4, 4;\n"
    "    add.s64 %rd4, %rd2, %rd3;\n    ld.global.u32 %r5, [%rd4];\n"
    "    add.s32 %r6, %r5, 1;\n    st.global.u32 [%rd4], %r6;\n    ret;\n}\n";

struct gpu {
    const char *node;
    CUcontext context;
    CUfunction increment;
    CUdeviceptr part, next; /* its own, and what it is passed */
    struct baton_arg argument;
};

static struct gpu gpus[MOST];
static int n_gpus;

static void must(CUresult code, const char *what)
{
    if (code == CUDA_SUCCESS)
        return;
    (void)fprintf(stderr, "%s: %d\n", what, (int)code);
    exit(3);
}

static void open_gpu(int g, const char *node)
{
    struct gpu *gpu = &gpus[g];
    CUcontext popped;
    CUmodule module;

    gpu->node = node;
    must(cuDevicePrimaryCtxRetain(&gpu->context, g), "cuDevicePrimaryCtxRetain");
    must(cuCtxPushCurrent(gpu->context), "cuCtxPushCurrent");
    must(cuModuleLoadData(&module, increment), "cuModuleLoadData");
    must(cuModuleGetFunction(&gpu->increment, module, "increment"), "cuModuleGetFunction");
    must(cuMemAlloc(&gpu->part, BYTES), "cuMemAlloc");
    must(cuMemAlloc(&gpu->next, BYTES), "cuMemAlloc");
    must(cuCtxPopCurrent(&popped), "cuCtxPopCurrent");
    gpu->argument = (struct baton_arg){sizeof gpu->part, &gpu->part};
}

static void run(struct baton_batcher *batcher, const char *what, const struct baton_stream streams[])
{
    int64_t predicted = 0;
    int64_t measured = 0;
    struct baton_batch *batch;

    if (baton_batch_start(batcher, streams, (size_t)n_gpus, &batch) != 0) {
        (void)fprintf(stderr, "%s: the batch could not be started\n", what);
        exit(3);
    }
    if (baton_batch_wait(batch) != 0) {
        (void)fprintf(stderr, "%s: %s\n", what, baton_batch_message(batch));
        exit(3);
    }
    baton_batch_length(batch, &predicted, &measured);
    printf("%-12s predicted %8.3f ms, measured %8.3f ms\n", what, (double)predicted / 1e6,
           (double)measured / 1e6);
    baton_batch_free(batch);
}

/* Every part comes back from the GPU behind its own, with one added. */
static void run_ring(struct baton_batcher *batcher, int *up, int *down)
{
    struct baton_stream streams[MOST];

    for (int g = 0; g < n_gpus; g++)
        streams[g] = (struct baton_stream){
            .from = {.node = "MEM0", .host = up + (size_t)g * WORDS},
            .to = {.node = gpus[g].node, .address = gpus[g].part},
            .bytes = BYTES,
            .kernel = {.function = gpus[g].increment,
                       .dimensions = 1,
                       .grid = {WORDS / BLOCK},
                       .block = {BLOCK},
                       .args = &gpus[g].argument,
                       .n_args = 1,
                       .predicted_ms = 1},
        };
    run(batcher, "up and add", streams);
    for (int g = 0; g < n_gpus; g++) {
        const struct gpu *to = &gpus[(g + 1) % n_gpus];

        streams[g] = (struct baton_stream){.from = {.node = gpus[g].node, .address = gpus[g].part},
                                           .to = {.node = to->node, .address = to->next},
                                           .bytes = BYTES};
    }
    run(batcher, "pass on", streams);
    for (int g = 0; g < n_gpus; g++)
        streams[g] = (struct baton_stream){.from = {.node = gpus[g].node, .address = gpus[g].next},
                                           .to = {.node = "MEM0", .host = down + (size_t)g * WORDS},
                                           .bytes = BYTES};
    run(batcher, "down", streams);
}

int main(int argc, char **argv)
{
    struct baton_cuda_gpu named[MOST];
    struct baton_batcher_config config = {.size = sizeof config, .cuda_gpus = named};
    struct baton_batcher *batcher;
    char message[256] = "";
    int *up;
    int *down;

    if (argc < 4 || argc > 2 + MOST) {
        (void)fprintf(stderr, "usage: cuda_ring TOPOLOGY NODE NODE... (2 to %d)\n", MOST);
        return 2;
    }
    must(cuInit(0), "cuInit");
    for (; n_gpus < argc - 2; n_gpus++) {
        open_gpu(n_gpus, argv[2 + n_gpus]);
        named[n_gpus] = (struct baton_cuda_gpu){gpus[n_gpus].node, gpus[n_gpus].context, 0};
    }
    config.topology = argv[1];
    config.n_cuda_gpus = (size_t)n_gpus;
    if (baton_batcher_new(&config, &batcher, message, sizeof message) != 0) {
        (void)fprintf(stderr, "%s\n", message);
        return 3;
    }
    up = malloc((size_t)n_gpus * BYTES);
    down = malloc((size_t)n_gpus * BYTES);
    for (size_t i = 0; i < (size_t)n_gpus * WORDS; i++)
        up[i] = (int)i;
    run_ring(batcher, up, down);
    for (size_t i = 0; i < (size_t)n_gpus * WORDS; i++) {
        if (down[(i + WORDS) % ((size_t)n_gpus * WORDS)] != up[i] + 1) {
            printf("word %zu is wrong\n", i);
            return 1;
        }
    }
    printf("every part came back from the next GPU with one added\n");
    baton_batcher_free(batcher);
    free(up);
    free(down);
    return 0;
}
