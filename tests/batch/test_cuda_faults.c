/*
 * What a batch on CUDA devices answers when something is wrong: addresses, kernels, contexts, and
 * every call of the driver that fails. The error names the stream, the program's contexts stay as
 * they are, and the next batch runs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_devices.h"
#include "harness.h"

struct rig {
    struct cuda_devices devices;
    struct baton_batcher *batcher;
    struct baton_stream stream;
};

static void rig_open(struct rig *rig)
{
    cuda_devices_open(&rig->devices);
    rig->batcher = cuda_devices_batcher(&rig->devices, BATON_ALIGNED);
    rig->stream = cuda_devices_up(&rig->devices, 0);
}

static void rig_close(struct rig *rig)
{
    baton_batcher_free(rig->batcher);
    cuda_devices_close(&rig->devices);
}

static void fails(struct rig *rig, int error, const char *why)
{
    char message[256];

    ck_assert_int_eq(baton_batch_run(rig->batcher, &rig->stream, 1, message, sizeof message), error);
    ck_assert_msg(strstr(message, "stream 'up'") && strstr(message, why), "'%s' lacks %s", message, why);
    /* The next batch runs. */
    rig->stream = cuda_devices_up(&rig->devices, 0);
    ck_assert_msg(baton_batch_run(rig->batcher, &rig->stream, 1, message, sizeof message) == 0, "%s",
                  message);
}

START_TEST(addresses_that_are_wrong_are_named)
{
    struct rig rig;

    rig_open(&rig);
    rig.stream.to.address = 0;
    fails(&rig, -EINVAL, "needs a buffer or an address");
    rig.stream.to.address = 4096;
    fails(&rig, -EINVAL, "copies to is not memory of a CUDA device");
    rig.stream.to.address = (uintptr_t)rig.devices.down;
    fails(&rig, -EINVAL, "is not memory of a CUDA device");
    rig.stream.to.address = UINT64_MAX - 8;
    rig.stream.to.offset = 64;
    fails(&rig, -EINVAL, "is not memory of a CUDA device");
    rig.stream.to.address = rig.devices.memory[1];
    fails(&rig, -EINVAL, "is not memory of its GPU");
    rig.stream.from = (struct baton_place){.node = "GPU1", .address = rig.devices.memory[2]};
    fails(&rig, -EINVAL, "copies from is not memory of its GPU");
    rig_close(&rig);
}
END_TEST

START_TEST(a_copy_beyond_its_allocation_fails)
{
    struct rig rig;
    char message[256];
    int answer;

    rig_open(&rig);
    rig.stream.to.offset = CUDA_BYTES - 4; /* the last byte is in no allocation, or in another one */
    answer = baton_batch_run(rig.batcher, &rig.stream, 1, message, sizeof message);
    ck_assert_msg(answer == -EINVAL || answer == -EIO, "%d: %s", answer, message);
    ck_assert_ptr_nonnull(strstr(message, "stream 'up'"));
    rig.stream.to.offset = 0;
    ck_assert_int_eq(baton_batch_run(rig.batcher, &rig.stream, 1, NULL, 0), 0);
    rig_close(&rig);
}
END_TEST

static void add(struct rig *rig)
{
    rig->stream.kernel = cuda_devices_add(&rig->devices, 0, rig->devices.memory[0], 1);
}

START_TEST(kernels_that_are_wrong_are_named)
{
    struct baton_arg three[3];
    struct rig rig;

    rig_open(&rig);
    add(&rig);
    rig.stream.kernel.n_args = 1;
    fails(&rig, -EINVAL, "argument of its kernel");
    add(&rig);
    memcpy(three, rig.devices.args, sizeof rig.devices.args);
    three[2] = three[1];
    rig.stream.kernel.args = three;
    rig.stream.kernel.n_args = 3;
    fails(&rig, -EINVAL, "argument of its kernel");
    add(&rig);
    rig.devices.args[1].size = 8;
    fails(&rig, -EINVAL, "argument of its kernel");
    add(&rig);
    rig.devices.args[0].value = NULL;
    fails(&rig, -EINVAL, "argument of its kernel");
    add(&rig);
    rig.stream.kernel.block[0] = 0;
    fails(&rig, -EINVAL, "a grid and a block");
    add(&rig);
    rig.stream.kernel.dimensions = 4;
    fails(&rig, -EINVAL, "dimensions");
    add(&rig);
    rig.stream.kernel.function = (struct CUfunc_st *)(void *)&rig;
    fails(&rig, -EINVAL, "kernel is not valid");
    add(&rig);
    rig.stream.kernel.block[0] = 100000;
    fails(&rig, -EIO, "its kernel failed: CUDA_ERROR_INVALID_VALUE");
    rig_close(&rig);
}
END_TEST

START_TEST(a_context_that_was_destroyed_ends_its_batches_only)
{
    struct rig rig;
    char message[256];
    CUcontext next;

    rig_open(&rig);
    ck_assert_int_eq(cuCtxDestroy_v2(rig.devices.context[0]), 0);
    /* A new context may get the handle of the old one; the batcher must not take it for its own. */
    ck_assert_int_eq(cuCtxCreate_v2(&next, 0, 0), 0);
    ck_assert_int_eq(baton_batch_run(rig.batcher, &rig.stream, 1, message, sizeof message), -EINVAL);
    ck_assert_msg(strstr(message, "context that has become invalid"), "%s", message);
    ck_assert_ptr_null(baton_host_alloc(rig.batcher, "GPU0", 64));
    rig.stream = cuda_devices_up(&rig.devices, 1);
    ck_assert_int_eq(baton_batch_run(rig.batcher, &rig.stream, 1, NULL, 0), 0);
    baton_batcher_free(rig.batcher);
    ck_assert_int_eq(cuCtxDestroy_v2(next), 0);
    rig.devices.context[0] = NULL;
    cuda_devices_close(&rig.devices);
}
END_TEST

START_TEST(a_batcher_needs_contexts_and_devices_that_are_there)
{
    struct cuda_devices devices;
    struct baton_cuda_gpu gpus[2] = {{.node = "GPU0", .device = 9}, {.node = "GPU0"}};
    struct baton_batcher_config config = {.size = sizeof config, .cuda_gpus = gpus, .n_cuda_gpus = 1};
    struct baton_batcher *batcher = NULL;
    char message[256];

    cuda_devices_open(&devices);
    config.topology = devices.topology;
    ck_assert_int_eq(baton_batcher_new(&config, &batcher, message, sizeof message), -EINVAL);
    ck_assert_msg(strstr(message, "GPU0") && strstr(message, "CUDA_ERROR_INVALID_DEVICE"), "%s", message);
    gpus[0].context = (struct CUctx_st *)(void *)&devices;
    ck_assert_int_eq(baton_batcher_new(&config, &batcher, message, sizeof message), -EINVAL);
    ck_assert_msg(strstr(message, "CUDA_ERROR_INVALID_CONTEXT"), "%s", message);
    gpus[0].context = devices.context[0];
    gpus[1].context = devices.context[1];
    config.n_cuda_gpus = 2;
    ck_assert_int_eq(baton_batcher_new(&config, &batcher, message, sizeof message), -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "GPU0 is given twice"));
    ck_assert_ptr_null(batcher);
    cuda_devices_close(&devices);
}
END_TEST

/* ---- every call of the driver fails once ---- */

static const char *const names[] = {
#define NAME(name) #name,
    CUDA_DRIVER_FUNCTIONS(NAME) CUDA_DRIVER_NEWER(NAME)
#undef NAME
};

enum { TIMES = 6 }; /* the first, second ... call of the name, and all of them */

/* Up with a kernel, across, within, down, on three devices. */
static size_t all_kinds(struct cuda_devices *devices, struct baton_stream streams[4])
{
    streams[0] = cuda_devices_up(devices, 0);
    streams[0].kernel = cuda_devices_add(devices, 0, devices->memory[0], 3);
    streams[1] = cuda_devices_down(devices, 1);
    streams[2] = (struct baton_stream){
        .name = "across",
        .from = {.node = "GPU1", .address = devices->memory[1]},
        .to = {.node = "GPU2", .address = devices->memory[2]},
        .bytes = CUDA_BYTES / 2,
    };
    streams[3] = (struct baton_stream){
        .name = "within",
        .from = {.node = "GPU1", .address = devices->memory[1]},
        .to = {.node = "GPU1", .address = devices->memory[1], .offset = CUDA_BYTES / 2},
        .bytes = CUDA_BYTES / 4,
    };
    return 4;
}

static void check_results(const struct cuda_devices *devices)
{
    static int seen[CUDA_WORDS];

    cuda_devices_read(devices, 0, devices->memory[0], seen, CUDA_BYTES);
    for (size_t i = 0; i < CUDA_WORDS; i++)
        ck_assert_int_eq(seen[i], devices->up[i] + 3);
    cuda_devices_read(devices, 2, devices->memory[2], seen, CUDA_BYTES / 2);
    ck_assert_mem_eq(seen, devices->up, CUDA_BYTES / 2);
    cuda_devices_read(devices, 1, devices->memory[1], seen, CUDA_BYTES);
    ck_assert_mem_eq((char *)seen + CUDA_BYTES / 2, devices->up, CUDA_BYTES / 4);
    ck_assert_mem_eq(devices->down, devices->up, CUDA_BYTES / 2);
}

/* 1: an answer that the header lists, with a message. */
static void is_documented(int answer, const char *message)
{
    ck_assert_msg(answer == 0 || answer == -EIO || answer == -EINVAL || answer == -ENODEV, "%d", answer);
    ck_assert_msg((answer == 0) == (message[0] == 0), "%d: '%s'", answer, message);
}

static struct baton_batcher *try_batcher(const struct cuda_devices *devices)
{
    struct baton_cuda_gpu gpus[] = {
        {"GPU0", devices->context[0], 0}, {"GPU1", devices->context[1], 0}, {"GPU2", NULL, 2}};
    struct baton_batcher_config config = {
        .size = sizeof config, .topology = devices->topology, .cuda_gpus = gpus, .n_cuda_gpus = 3};
    struct baton_batcher *batcher = NULL;
    char message[256] = "";

    is_documented(baton_batcher_new(&config, &batcher, message, sizeof message), message);
    return batcher;
}

static bool try_batch(struct cuda_devices *devices, struct baton_batcher *batcher)
{
    struct baton_stream streams[4];
    char message[256] = "";
    size_t n = all_kinds(devices, streams);
    void *pinned = baton_host_alloc(batcher, "GPU1", CUDA_BYTES);
    int answer;

    if (pinned)
        streams[0].from.host = memcpy(pinned, devices->up, CUDA_BYTES);
    answer = baton_batch_run(batcher, streams, n, message, sizeof message);
    is_documented(answer, message);
    if (answer == 0)
        check_results(devices);
    baton_host_free(batcher, pinned);
    return answer == 0;
}

/* The failing call may be one of the program's own here, which the cases before have covered. */
static void none_is_current(void)
{
    CUcontext current = NULL;

    if (cuCtxGetCurrent(&current) == CUDA_SUCCESS)
        ck_assert_ptr_null(current);
}

static void scenario(const char *name, int time)
{
    struct cuda_devices devices;
    struct baton_batcher *batcher;
    bool done = false;

    cuda_devices_open(&devices);
    cuda_devices_write(&devices, 1, devices.memory[1], devices.up, CUDA_BYTES);
    for (int attempt = 0; attempt < TIMES + 2 && !done; attempt++) {
        batcher = try_batcher(&devices);
        none_is_current();
        for (int batch = 0; batcher && batch < 3 && !done; batch++) {
            done = try_batch(&devices, batcher);
            none_is_current();
        }
        baton_batcher_free(batcher);
        none_is_current();
    }
    /* What fails for ever ends no batch well, except for what batches can do without. */
    ck_assert_msg(done || time == 0, "%s, call %d: no batch ran afterwards", name, time);
    free(devices.up);
    free(devices.down);
}

/*
 * _i: a name and which of its calls. The program's own calls of some names come first (cuInit,
 * pushing and popping contexts): which call fails then is counted from there.
 */
START_TEST(a_call_that_fails_has_a_documented_answer_and_the_next_batch_runs)
{
    const char *name = names[_i / TIMES];
    bool own = strcmp(name, "cuInit") == 0 || strcmp(name, "cuCtxPushCurrent_v2") == 0 ||
               strcmp(name, "cuCtxPopCurrent_v2") == 0;
    int time = _i % TIMES;
    char script[96];

    if (own && time == 0)
        return;
    /* The front makes calls of its own: which one of these is the program's is not known. */
    if (getenv("BATON_TEST_FRONT") && own)
        return;
    (void)snprintf(script, sizeof script, "%s:%d:999", name, own ? time + 4 : time);
    setenv("BATON_CUDA_CPU_FAIL", script, 1);
    scenario(name, time);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch cuda faults");
    TCase *cases = tcase_create("batch cuda faults");

    tcase_set_timeout(cases, 1200); /* ends what hangs, not what is slow */
    tcase_add_test(cases, addresses_that_are_wrong_are_named);
    tcase_add_test(cases, a_copy_beyond_its_allocation_fails);
    tcase_add_test(cases, kernels_that_are_wrong_are_named);
    tcase_add_test(cases, a_context_that_was_destroyed_ends_its_batches_only);
    tcase_add_test(cases, a_batcher_needs_contexts_and_devices_that_are_there);
    tcase_add_loop_test(cases, a_call_that_fails_has_a_documented_answer_and_the_next_batch_runs, 0,
                        (int)(TIMES * sizeof names / sizeof names[0]));
    suite_add_tcase(suite, cases);
    return harness_run(suite);
}
