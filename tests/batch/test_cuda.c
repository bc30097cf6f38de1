/*
 * Batches on three CUDA devices: every kind of stream by every method, against plain copies in
 * memory; batches of both APIs; the engines that a batch takes; the contexts of the program's
 * threads. BATON_TEST_GRANTS: a daemon is there and must grant each batch its engines.
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "client/join.h"
#include "cuda_devices.h"
#include "devices.h"
#include "harness.h"

static void run(struct baton_batcher *batcher, const struct baton_stream streams[], size_t n)
{
    char message[256] = "";

    ck_assert_msg(baton_batch_run(batcher, streams, n, message, sizeof message) == 0, "%s", message);
}

static void close_batcher(struct baton_batcher *batcher, size_t batches)
{
    if (getenv("BATON_TEST_GRANTS"))
        ck_assert_uint_eq(batcher_granted(batcher), batches);
    baton_batcher_free(batcher);
}

static struct baton_stream between(const struct cuda_devices *devices, int from, int to)
{
    return (struct baton_stream){.from = {.node = cuda_devices_node(from), .address = devices->memory[from]},
                                 .to = {.node = cuda_devices_node(to), .address = devices->memory[to]},
                                 .bytes = CUDA_BYTES};
}

/* Up and add 7, across to the next device and add 7, down: with every method. */
START_TEST(copies_peer_copies_and_kernels_follow_each_other)
{
    struct cuda_devices devices;
    struct baton_batcher *batcher;
    struct baton_stream stream;

    cuda_devices_open(&devices);
    batcher = cuda_devices_batcher(&devices, (enum baton_method)_i);
    stream = cuda_devices_up(&devices, 0);
    stream.kernel = cuda_devices_add(&devices, 0, devices.memory[0], 7);
    run(batcher, &stream, 1);
    for (int d = 0; d < 2; d++) {
        stream = between(&devices, d, d + 1);
        stream.kernel = cuda_devices_add(&devices, d + 1, devices.memory[d + 1], 7);
        run(batcher, &stream, 1);
    }
    stream = cuda_devices_down(&devices, 2);
    run(batcher, &stream, 1);
    for (size_t i = 0; i < CUDA_WORDS; i++)
        ck_assert_int_eq(devices.down[i], (int)(i * 7 + 1) + 21);
    close_batcher(batcher, 4);
    cuda_devices_close(&devices);
}
END_TEST

/* ---- random batches beside a model of their memory ---- */

enum { HOST = 0, CL_AREA = CUDA_DEVICES + 1, AREAS, SLOTS = 6 };

struct world {
    struct cuda_devices cuda;
    struct devices opencl;
    bool mixed;
    struct baton_batcher *batcher;
    unsigned char *host;
    CUdeviceptr memory[CUDA_DEVICES];
    cl_mem buffers[SLOTS];
    cl_kernel add;
    int model[AREAS][SLOTS][CUDA_WORDS];
    bool read[AREAS][SLOTS], written[AREAS][SLOTS];
    /* of the streams of a batch */
    CUdeviceptr address[BATCH_MAX_STREAMS];
    int value[BATCH_MAX_STREAMS];
    struct baton_arg args[BATCH_MAX_STREAMS][2];
    struct random_state random;
};

static struct world world;

static size_t draw(size_t n)
{
    return (size_t)random_below(&world.random, n);
}

static size_t draw_area(void)
{
    return draw(world.mixed ? AREAS : CL_AREA);
}

static struct baton_place place(size_t area, size_t slot, size_t offset)
{
    if (area == HOST)
        return (struct baton_place){.node = "MEM0", .host = world.host + slot * CUDA_BYTES + offset};
    if (area == CL_AREA)
        return (struct baton_place){.node = "GPU3", .buffer = world.buffers[slot], .offset = offset};
    return (struct baton_place){.node = cuda_devices_node((int)area - 1),
                                .address = world.memory[area - 1] + slot * CUDA_BYTES,
                                .offset = offset};
}

/* A kernel on the whole slot; the model follows. */
static struct baton_kernel add_to(size_t area, size_t slot, size_t i)
{
    struct baton_kernel kernel = {
        .dimensions = 1, .args = world.args[i], .n_args = 2, .predicted_ms = 0.01 * (double)(1 + draw(5))};

    world.value[i] = (int)draw(1000);
    world.args[i][1] = (struct baton_arg){sizeof(int), &world.value[i]};
    if (area == CL_AREA) {
        world.args[i][0] = (struct baton_arg){sizeof(cl_mem), &world.buffers[slot]};
        kernel.kernel = world.add;
        kernel.global[0] = CUDA_WORDS;
    } else {
        world.address[i] = world.memory[area - 1] + slot * CUDA_BYTES;
        world.args[i][0] = (struct baton_arg){sizeof(CUdeviceptr), &world.address[i]};
        kernel.function = world.cuda.add[area - 1];
        kernel.grid[0] = CUDA_WORDS / CUDA_BLOCK;
        kernel.block[0] = CUDA_BLOCK;
    }
    for (size_t w = 0; w < CUDA_WORDS; w++)
        world.model[area][slot][w] += world.value[i];
    return kernel;
}

/* False: the slots are in use by another stream, whose order to this one is open. */
static bool draw_stream(size_t i, struct baton_stream *ret_stream)
{
    size_t from = draw_area(), source = draw(SLOTS), to = draw_area(), target = draw(SLOTS);
    size_t begin = draw(CUDA_BYTES), end = draw(CUDA_BYTES);
    size_t most = CUDA_BYTES - (begin > end ? begin : end);
    bool copies = draw(5) > 0;

    if ((from == HOST && to == HOST) || (!copies && to == HOST) || (from == to && source == target) ||
        world.read[to][target] || world.written[to][target] || (copies && world.written[from][source]))
        return false;
    world.written[to][target] = true;
    *ret_stream = (struct baton_stream){.to = place(to, target, end)};
    if (copies) {
        world.read[from][source] = true;
        ret_stream->from = place(from, source, begin);
        ret_stream->bytes = 1 + draw(most);
        memmove((char *)world.model[to][target] + end, (char *)world.model[from][source] + begin,
                ret_stream->bytes);
    }
    if (!copies || (to != HOST && draw(2)))
        ret_stream->kernel = add_to(to, target, i);
    return true;
}

static void check_world(size_t batch)
{
    static int seen[CUDA_WORDS];

    for (size_t area = 0; area < (world.mixed ? AREAS : CL_AREA); area++) {
        for (size_t slot = 0; slot < SLOTS; slot++) {
            if (area == HOST)
                memcpy(seen, world.host + slot * CUDA_BYTES, CUDA_BYTES);
            else if (area < CL_AREA)
                cuda_devices_read(&world.cuda, (int)area - 1, world.memory[area - 1] + slot * CUDA_BYTES,
                                  seen, CUDA_BYTES);
            else
                continue; /* its copies to other areas show it */
            ck_assert_msg(memcmp(seen, world.model[area][slot], CUDA_BYTES) == 0,
                          "batch %zu: area %zu, slot %zu differs", batch, area, slot);
        }
    }
}

/* Memory of random bytes, the same in the model. */
static void fill_world(void)
{
    world.host = malloc(SLOTS * CUDA_BYTES);
    for (int d = 0; d < CUDA_DEVICES; d++) {
        CUcontext popped;

        ck_assert_int_eq(cuCtxPushCurrent_v2(world.cuda.context[d]), 0);
        ck_assert_int_eq(cuMemAlloc_v2(&world.memory[d], SLOTS * CUDA_BYTES), 0);
        ck_assert_int_eq(cuCtxPopCurrent_v2(&popped), 0);
    }
    for (size_t area = 0; area < AREAS; area++) {
        for (size_t w = 0; w < SLOTS * CUDA_WORDS; w++)
            world.model[area][w / CUDA_WORDS][w % CUDA_WORDS] = (int)draw(1u << 30);
        if (area == HOST)
            memcpy(world.host, world.model[HOST], SLOTS * CUDA_BYTES);
        else if (area < CL_AREA)
            cuda_devices_write(&world.cuda, (int)area - 1, world.memory[area - 1], world.model[area],
                               SLOTS * CUDA_BYTES);
    }
}

static void open_world(bool mixed, enum baton_method method)
{
    struct baton_cuda_gpu gpus[CUDA_DEVICES];
    struct baton_gpu opencl = {.node = "GPU3"};
    struct baton_batcher_config config = {.size = sizeof config,
                                          .method = method,
                                          .gpus = &opencl,
                                          .n_gpus = mixed,
                                          .cuda_gpus = gpus,
                                          .n_cuda_gpus = CUDA_DEVICES};
    char message[256] = "";

    cuda_devices_open(&world.cuda);
    world.mixed = mixed;
    random_init(&world.random, 22, (uint64_t)method);
    fill_world();
    for (int d = 0; d < CUDA_DEVICES; d++)
        gpus[d] = (struct baton_cuda_gpu){cuda_devices_node(d), world.cuda.context[d], 0};
    config.topology = world.cuda.topology;
    if (mixed) {
        devices_open(&world.opencl, cuda_devices_topology);
        opencl.context = world.opencl.context[0];
        opencl.device = world.opencl.device[0];
        world.add = devices_kernel(&world.opencl, 0, "add");
        for (size_t s = 0; s < SLOTS; s++)
            world.buffers[s] = devices_buffer(&world.opencl, 0, CUDA_BYTES);
    }
    ck_assert_msg(baton_batcher_new(&config, &world.batcher, message, sizeof message) == 0, "%s", message);
}

/* The OpenCL device's memory becomes that of the model, by batches. Answers how many. */
static size_t fill_opencl(void)
{
    struct baton_stream stream = {.bytes = CUDA_BYTES};

    for (size_t s = 0; s < SLOTS && world.mixed; s++) {
        stream.from = (struct baton_place){.node = "MEM0", .host = world.model[CL_AREA][s]};
        stream.to = place(CL_AREA, s, 0);
        run(world.batcher, &stream, 1);
    }
    return world.mixed ? SLOTS : 0;
}

static void check_random(bool mixed, enum baton_method method)
{
    size_t batches = harness_scale(25, 400);
    size_t kinds[2] = {0}; /* streams with kernels, between GPUs */
    size_t before;

    open_world(mixed, method);
    before = fill_opencl();
    for (size_t b = 0; b < batches; b++) {
        struct baton_stream streams[6];
        size_t n = 0;

        memset(world.read, 0, sizeof world.read);
        memset(world.written, 0, sizeof world.written);
        while (n < 1 + b % 6) {
            if (!draw_stream(n, &streams[n]))
                continue;
            kinds[0] += streams[n].kernel.function != NULL;
            kinds[1] += streams[n].bytes && streams[n].from.address && streams[n].to.address;
            n++;
        }
        run(world.batcher, streams, n);
        check_world(b);
    }
    ck_assert_uint_gt(kinds[0], 10);
    ck_assert_uint_gt(kinds[1], 10);
    close_batcher(world.batcher, before + batches);
    cuda_devices_close(&world.cuda);
}

START_TEST(random_batches_give_the_bytes_of_plain_copies)
{
    check_random(false, (enum baton_method)_i);
}
END_TEST

START_TEST(random_batches_of_both_apis_give_the_bytes_of_plain_copies)
{
    check_random(true, (enum baton_method)_i);
}
END_TEST

/* ---- kernels ---- */

START_TEST(a_kernel_of_a_library_and_one_with_dynamic_shared_memory_run)
{
    struct cuda_devices devices;
    struct baton_batcher *batcher;
    struct baton_stream stream;
    CUlibrary library;
    CUkernel kernel;

    cuda_devices_open(&devices);
    batcher = cuda_devices_batcher(&devices, BATON_ALIGNED);
    ck_assert_int_eq(cuLibraryLoadData(&library, cuda_devices_kernels, NULL, NULL, 0, NULL, NULL, 0), 0);
    ck_assert_int_eq(cuCtxPushCurrent_v2(devices.context[1]), 0);
    ck_assert_int_eq(cuLibraryGetKernel(&kernel, library, "add"), 0);
    stream = cuda_devices_up(&devices, 1);
    stream.kernel = cuda_devices_add(&devices, 1, devices.memory[1], 5);
    stream.kernel.function = (struct CUfunc_st *)(void *)kernel;
    run(batcher, &stream, 1);
    stream = (struct baton_stream){.to = {.node = "GPU1"},
                                   .kernel = cuda_devices_add(&devices, 1, devices.memory[1], 0)};
    stream.kernel.function = devices.reverse[1];
    stream.kernel.n_args = 1;
    stream.kernel.shared_bytes = CUDA_BLOCK * sizeof(int);
    run(batcher, &stream, 1);
    stream = cuda_devices_down(&devices, 1);
    run(batcher, &stream, 1);
    for (size_t i = 0; i < CUDA_WORDS; i++) {
        size_t mirrored = i / CUDA_BLOCK * CUDA_BLOCK + CUDA_BLOCK - 1 - i % CUDA_BLOCK;

        ck_assert_int_eq(devices.down[i], (int)(mirrored * 7 + 1) + 5);
    }
    close_batcher(batcher, 3);
    ck_assert_int_eq(cuLibraryUnload(library), 0);
    cuda_devices_close(&devices);
}
END_TEST

/* ---- contexts ---- */

/* The thread's stack of contexts is as it was. */
static void check_stack(CUcontext below, CUcontext current)
{
    CUcontext seen = NULL;

    ck_assert_int_eq(cuCtxGetCurrent(&seen), 0);
    ck_assert_ptr_eq(seen, current);
    ck_assert_int_eq(cuCtxPopCurrent_v2(&seen), 0);
    ck_assert_int_eq(cuCtxGetCurrent(&seen), 0);
    ck_assert_ptr_eq(seen, below);
    ck_assert_int_eq(cuCtxPushCurrent_v2(current), 0);
}

START_TEST(the_contexts_of_the_calling_thread_stay_as_they_are)
{
    struct cuda_devices devices;
    struct baton_batcher *batcher;
    struct baton_stream streams[2];
    struct baton_batch *batch;
    void *pinned;

    cuda_devices_open(&devices);
    ck_assert_int_eq(cuCtxPushCurrent_v2(devices.context[2]), 0);
    ck_assert_int_eq(cuCtxPushCurrent_v2(devices.context[1]), 0);
    batcher = cuda_devices_batcher(&devices, BATON_ALIGNED);
    check_stack(devices.context[2], devices.context[1]);
    pinned = baton_host_alloc(batcher, "GPU0", CUDA_BYTES);
    ck_assert_ptr_nonnull(pinned);
    check_stack(devices.context[2], devices.context[1]);
    streams[0] = between(&devices, 0, 1);
    streams[1] = cuda_devices_up(&devices, 2);
    streams[1].from.host = pinned;
    streams[1].kernel = cuda_devices_add(&devices, 2, devices.memory[2], 1);
    ck_assert_int_eq(baton_batch_start(batcher, streams, 2, &batch), 0);
    check_stack(devices.context[2], devices.context[1]);
    ck_assert_int_eq(baton_batch_wait(batch), 0);
    baton_batch_free(batch);
    baton_host_free(batcher, pinned);
    check_stack(devices.context[2], devices.context[1]);
    close_batcher(batcher, 1);
    check_stack(devices.context[2], devices.context[1]);
    cuda_devices_close(&devices);
}
END_TEST

START_TEST(the_primary_context_of_a_device_is_retained)
{
    struct cuda_devices devices;
    struct baton_cuda_gpu gpu = {.node = "GPU1", .device = 1};
    struct baton_batcher_config config = {.size = sizeof config, .cuda_gpus = &gpu, .n_cuda_gpus = 1};
    struct baton_batcher *batcher;
    struct baton_stream stream;
    int active = -1;
    unsigned flags;

    cuda_devices_open(&devices);
    config.topology = devices.topology;
    ck_assert_int_eq(baton_batcher_new(&config, &batcher, NULL, 0), 0);
    ck_assert_int_eq(cuDevicePrimaryCtxGetState(1, &flags, &active), 0);
    ck_assert_int_eq(active, 1);
    /* memory of another context of the same device */
    stream = cuda_devices_up(&devices, 1);
    run(batcher, &stream, 1);
    cuda_devices_read(&devices, 1, devices.memory[1], devices.down, CUDA_BYTES);
    ck_assert_mem_eq(devices.down, devices.up, CUDA_BYTES);
    close_batcher(batcher, 1);
    ck_assert_int_eq(cuDevicePrimaryCtxGetState(1, &flags, &active), 0);
    ck_assert_int_eq(active, 0);
    cuda_devices_close(&devices);
}
END_TEST

START_TEST(peer_access_lasts_as_long_as_the_batcher)
{
    struct cuda_devices devices;
    struct baton_batcher *batcher;
    struct baton_stream streams[2];

    cuda_devices_open(&devices);
    ck_assert_int_eq(cuCtxPushCurrent_v2(devices.context[0]), 0);
    ck_assert_int_eq(cuCtxEnablePeerAccess(devices.context[2], 0), 0); /* the program's own */
    batcher = cuda_devices_batcher(&devices, BATON_ALIGNED);
    streams[0] = between(&devices, 0, 1);
    streams[1] = between(&devices, 0, 2);
    run(batcher, streams, 2);
    ck_assert_int_eq(cuCtxEnablePeerAccess(devices.context[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    close_batcher(batcher, 1);
    ck_assert_int_eq(cuCtxEnablePeerAccess(devices.context[1], 0), 0);
    ck_assert_int_eq(cuCtxDisablePeerAccess(devices.context[2]), 0);
    cuda_devices_close(&devices);
}
END_TEST

/* ---- engines ---- */

static struct {
    struct lease_group_engine engines[9];
    size_t n;
} recorded;

static int record_take(const struct lease_group_engine engines[], size_t n, struct lease_group *ret_group)
{
    ck_assert_uint_le(n, 9);
    recorded.n = n;
    memcpy(recorded.engines, engines, n * sizeof *engines);
    *ret_group = (struct lease_group){0};
    return 0;
}

static void record_end(const struct lease_group *group)
{
    (void)group;
}

static bool is_recorded(int device, enum engine_kind engine)
{
    char id[32], name[DEVICE_NAME_SIZE];

    ck_assert_int_eq(cuDeviceGetPCIBusId(id, sizeof id, device), 0);
    ck_assert(device_name_bus_id(id, name));
    for (size_t i = 0; i < recorded.n; i++) {
        if (strcmp(recorded.engines[i].device, name) == 0 && recorded.engines[i].engine == engine)
            return true;
    }
    return false;
}

/*
 * A peer copy 0 -> 1, a copy within 2, a kernel on 0: those engines of these devices, by the names
 * that the fronts use.
 */
START_TEST(a_batch_takes_the_engines_of_its_commands_by_pci_name)
{
    const struct join_hooks hooks = {
        .group_take = record_take, .group_end = record_end, .name_device = devices_keep_name};
    struct cuda_devices devices;
    struct baton_batcher *batcher;
    struct baton_stream streams[3];

    cuda_devices_open(&devices);
    batcher = cuda_devices_batcher(&devices, BATON_ALIGNED);
    batcher_use(batcher, &hooks);
    streams[0] = between(&devices, 0, 1);
    streams[1] = between(&devices, 2, 2);
    streams[1].to.offset = streams[1].bytes = CUDA_BYTES / 2;
    streams[2] = (struct baton_stream){.to = {.node = "GPU0"},
                                       .kernel = cuda_devices_add(&devices, 0, devices.memory[0], 0)};
    run(batcher, streams, 3);
    ck_assert_uint_eq(recorded.n, 6);
    ck_assert(is_recorded(0, ENGINE_EXECUTION) && is_recorded(0, ENGINE_COPY_OUT));
    ck_assert(is_recorded(1, ENGINE_COPY_IN));
    ck_assert(is_recorded(2, ENGINE_EXECUTION) && is_recorded(2, ENGINE_COPY_IN) &&
              is_recorded(2, ENGINE_COPY_OUT));
    baton_batcher_free(batcher);
    cuda_devices_close(&devices);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch cuda");
    TCase *cases = tcase_create("batch cuda");

    tcase_set_timeout(cases, 1200); /* ends what hangs, not what is slow */
    tcase_add_loop_test(cases, copies_peer_copies_and_kernels_follow_each_other, BATON_ALIGNED,
                        BATON_TIME_DIVISION + 1);
    tcase_add_loop_test(cases, random_batches_give_the_bytes_of_plain_copies, BATON_ALIGNED,
                        BATON_TIME_DIVISION + 1);
    tcase_add_loop_test(cases, random_batches_of_both_apis_give_the_bytes_of_plain_copies, BATON_ALIGNED,
                        BATON_TIME_DIVISION + 1);
    tcase_add_test(cases, a_kernel_of_a_library_and_one_with_dynamic_shared_memory_run);
    tcase_add_test(cases, the_contexts_of_the_calling_thread_stay_as_they_are);
    tcase_add_test(cases, the_primary_context_of_a_device_is_retained);
    tcase_add_test(cases, peer_access_lasts_as_long_as_the_batcher);
    if (!getenv("BATON_TEST_GRANTS")) /* the front's session would have to hold the engines */
        tcase_add_test(cases, a_batch_takes_the_engines_of_its_commands_by_pci_name);
    suite_add_tcase(suite, cases);
    return harness_run(suite);
}
