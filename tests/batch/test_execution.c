/*
 * Batches on two real OpenCL devices: the data arrives, batches keep their order, times are those
 * of the emulated links.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/batch/batch_cores.h"
#include "client/batch/batch_engines.h"
#include "client/join.h"
#include "devices.h"
#include "harness.h"

#define N     ((size_t)1 << 18)
#define BYTES (N * sizeof(int))

struct data {
    struct devices devices;
    struct baton_batcher *batcher;
    int *up[2], *down[2];
    cl_mem buffer[2];
    cl_kernel add[2];
    int value;
};

static void open_data(struct data *data, const char *topology, enum baton_method method, const char *emulate)
{
    devices_open(&data->devices, topology);
    data->batcher =
        devices_batcher(&data->devices, method, emulate ? data->devices.topology : NULL, emulate ? 1 : 0);
    for (int d = 0; d < 2; d++) {
        data->up[d] = baton_host_alloc(data->batcher, d ? "GPU1" : "GPU0", BYTES);
        data->down[d] = calloc(N, sizeof(int));
        ck_assert_ptr_nonnull(data->up[d]);
        for (size_t i = 0; i < N; i++)
            data->up[d][i] = (int)i * (d + 1);
        data->buffer[d] = devices_buffer(&data->devices, d, BYTES);
        data->add[d] = devices_kernel(&data->devices, d, "add");
    }
    data->value = 7;
}

static void close_data(struct data *data)
{
    for (int d = 0; d < 2; d++) {
        baton_host_free(data->batcher, data->up[d]);
        free(data->down[d]);
        data->devices.cl.clReleaseMemObject(data->buffer[d]);
        data->devices.cl.clReleaseKernel(data->add[d]);
    }
    baton_batcher_free(data->batcher);
    devices_close(&data->devices);
}

/* Up to the device, then out[i] += value. The arguments live in args until the batch is started. */
static struct baton_stream up_and_add(struct data *data, int d, struct baton_arg args[2])
{
    args[0] = (struct baton_arg){sizeof(cl_mem), &data->buffer[d]};
    args[1] = (struct baton_arg){sizeof data->value, &data->value};
    return (struct baton_stream){.name = d ? "right" : "left",
                                 .from = {.node = "MEM0", .host = data->up[d]},
                                 .to = {.node = d ? "GPU1" : "GPU0", .buffer = data->buffer[d]},
                                 .bytes = BYTES,
                                 .kernel = {.kernel = data->add[d],
                                            .dimensions = 1,
                                            .global = {N},
                                            .args = args,
                                            .n_args = 2,
                                            .predicted_ms = 0.5}};
}

static struct baton_stream down(struct data *data, int d)
{
    return (struct baton_stream){.from = {.node = d ? "GPU1" : "GPU0", .buffer = data->buffer[d]},
                                 .to = {.node = "MEM0", .host = data->down[d]},
                                 .bytes = BYTES};
}

static void check_down(const struct data *data)
{
    for (int d = 0; d < 2; d++) {
        for (size_t i = 0; i < N; i++)
            ck_assert_msg(data->down[d][i] == (int)i * (d + 1) + 7, "device %d, element %zu: %d", d, i,
                          data->down[d][i]);
    }
}

static void check_method(enum baton_method method)
{
    struct baton_stream streams[2];
    struct baton_arg args[2][2];
    struct data data;
    char message[256];

    open_data(&data, devices_fast, method, NULL);
    for (int d = 0; d < 2; d++)
        streams[d] = up_and_add(&data, d, args[d]);
    ck_assert_msg(baton_batch_run(data.batcher, streams, 2, message, sizeof message) == 0, "%s", message);
    ck_assert_str_eq(message, "");
    for (int d = 0; d < 2; d++)
        streams[d] = down(&data, d);
    ck_assert_int_eq(baton_batch_run(data.batcher, streams, 2, NULL, 0), 0);
    check_down(&data);
    close_data(&data);
}

START_TEST(every_method_moves_the_data_and_runs_the_kernels)
{
    check_method((enum baton_method)_i);
}
END_TEST

START_TEST(batches_started_at_once_run_in_the_order_of_their_starts)
{
    struct baton_batch *batches[8];
    struct baton_stream streams[2];
    struct baton_arg args[2][2];
    struct data data;

    open_data(&data, devices_fast, BATON_ALIGNED, NULL);
    /* up + 7, down, up + 7, down, ...: any other order would leave something else in the end. */
    for (int b = 0; b < 8; b++) {
        for (int d = 0; d < 2; d++)
            streams[d] = b % 2 ? down(&data, d) : up_and_add(&data, d, args[d]);
        ck_assert_int_eq(baton_batch_start(data.batcher, streams, 2, &batches[b]), 0);
    }
    data.value = 1000; /* arguments were copied */
    memset(args, 0, sizeof args);
    memset(streams, 0, sizeof streams);
    ck_assert_int_eq(baton_batch_wait(batches[7]), 0);
    for (int b = 0; b < 8; b++) {
        ck_assert_int_eq(baton_batch_query(batches[b]), 1);
        baton_batch_free(batches[b]);
    }
    check_down(&data);
    close_data(&data);
}
END_TEST

START_TEST(a_batcher_that_is_freed_finishes_what_was_started)
{
    struct baton_batch *batches[6];
    struct baton_stream streams[2];
    struct baton_arg args[2][2];
    struct data data;

    open_data(&data, devices_fast, BATON_ALIGNED, NULL);
    for (int b = 0; b < 6; b++) {
        for (int d = 0; d < 2; d++)
            streams[d] = b % 2 ? down(&data, d) : up_and_add(&data, d, args[d]);
        ck_assert_int_eq(baton_batch_start(data.batcher, streams, 2, &batches[b]), 0);
    }
    baton_batcher_free(data.batcher);
    data.batcher = NULL;
    data.up[0] = data.up[1] = NULL;
    for (int b = 0; b < 6; b++) {
        ck_assert_int_eq(baton_batch_query(batches[b]), 1);
        ck_assert_int_eq(baton_batch_wait(batches[b]), 0);
        baton_batch_free(batches[b]);
    }
    check_down(&data);
    close_data(&data);
}
END_TEST

START_TEST(a_peer_copy_between_contexts_is_staged_in_host_memory)
{
    struct baton_stream streams[2];
    struct baton_arg args[2];
    struct data data;
    char message[256];

    open_data(&data, devices_fast, BATON_ALIGNED, NULL);
    streams[0] = up_and_add(&data, 0, args);
    ck_assert_int_eq(baton_batch_run(data.batcher, streams, 1, NULL, 0), 0);
    streams[0] = (struct baton_stream){.from = {.node = "GPU0", .buffer = data.buffer[0]},
                                       .to = {.node = "GPU1", .buffer = data.buffer[1], .offset = 4},
                                       .bytes = BYTES - 4};
    ck_assert_msg(baton_batch_run(data.batcher, streams, 1, message, sizeof message) == 0, "%s", message);
    streams[0] = down(&data, 1);
    ck_assert_int_eq(baton_batch_run(data.batcher, streams, 1, NULL, 0), 0);
    for (size_t i = 1; i < N; i++)
        ck_assert_int_eq(data.down[1][i], (int)(i - 1) + 7);
    close_data(&data);
}
END_TEST

/*
 * 1 MiB at 0.1 GB/s is 10.49 ms up, then a kernel of 5 ms: slow enough that a busy machine can keep
 * up.
 */
START_TEST(emulated_links_take_as_long_as_predicted)
{
    static const char links[] =
        "links: [{from: MEM0, to: HOST, gbps: 0.15}, {from: HOST, to: GPU0, gbps: 0.1}, {from: HOST, "
        "to: GPU1, gbps: 0.1}, {from: GPU0, to: HOST, gbps: 1}, {from: GPU1, to: HOST, gbps: 1}, "
        "{from: HOST, to: MEM0, gbps: 1}]\n";
    struct baton_stream streams[2];
    struct baton_arg args[2][2];
    struct baton_batch *batch;
    struct baton_times measured;
    struct data data;
    int64_t predicted;
    int64_t length;
    int64_t bound;

    open_data(&data, links, BATON_ALIGNED, "");
    for (int d = 0; d < 2; d++) {
        streams[d] = up_and_add(&data, d, args[d]);
        streams[d].kernel.predicted_ms = 5;
    }
    ck_assert_int_eq(baton_batch_predict(data.batcher, streams, 2, &predicted, &bound), 0);
    /* Both share 0.15 GB/s: 2 MiB / 0.15 GB/s + 5 ms = 18.98 ms. */
    ck_assert_double_eq_tol((double)predicted / 1e6, 2 * 1048576 / 0.15e9 * 1e3 + 5, 0.01);
    ck_assert_int_le(bound, predicted);
    for (int r = 0; r < 5; r++) {
        ck_assert_int_eq(baton_batch_start(data.batcher, streams, 2, &batch), 0);
        ck_assert_int_eq(baton_batch_wait(batch), 0);
        baton_batch_length(batch, &bound, &length);
        ck_assert_int_eq(bound, predicted);
        ck_assert_int_ge(
            length,
            predicted - 20000); /* never faster than the links; how much slower, bench-batch-error measures */
        baton_batch_stream(batch, 0, NULL, &measured);
        ck_assert_int_ge(measured.kernel_end - measured.kernel_begin, 5000000);
        ck_assert_int_le(measured.kernel_end, length);
        ck_assert_int_eq(baton_batch_stream(batch, 2, NULL, &measured), -EINVAL);
        baton_batch_free(batch);
    }
    close_data(&data);
}
END_TEST

/* In place of a session (client/join.h). */
static struct {
    int held, taken;
    struct lease_group_engine engines[8];
    size_t n;
    int answer;
} recorded;

static int record_take(const struct lease_group_engine engines[], size_t n, struct lease_group *ret_group)
{
    ck_assert_uint_le(n, 8);
    recorded.taken++;
    recorded.n = n;
    memcpy(recorded.engines, engines, n * sizeof *engines);
    recorded.held += recorded.answer == 0;
    ret_group->leases = 0x5a;
    return recorded.answer;
}

static void record_end(const struct lease_group *group)
{
    ck_assert_uint_eq(group->leases, 0x5a);
    recorded.held--;
}

static void is_engine(const struct lease_group_engine *engine, char device, enum engine_kind kind)
{
    ck_assert_int_eq(engine->device[strlen(engine->device) - 1], device);
    ck_assert_int_eq(engine->engine, kind);
}

START_TEST(a_batch_takes_all_its_engines_in_one_request)
{
    const struct join_hooks hooks = {
        .group_take = record_take, .group_end = record_end, .name_device = devices_keep_name};
    struct baton_stream streams[2];
    struct baton_arg args[2];
    struct data data;
    char message[256];

    open_data(&data, devices_fast, BATON_ALIGNED, NULL);
    batcher_use(data.batcher, &hooks);
    streams[0] = up_and_add(&data, 0, args);
    streams[1] = down(&data, 1);
    ck_assert_int_eq(baton_batch_run(data.batcher, streams, 2, NULL, 0), 0);
    ck_assert_int_eq(recorded.taken, 1);
    ck_assert_int_eq(recorded.held, 0);
    ck_assert_uint_eq(recorded.n, 3);
    is_engine(&recorded.engines[0], '0', ENGINE_EXECUTION);
    is_engine(&recorded.engines[1], '0', ENGINE_COPY_IN);
    is_engine(&recorded.engines[2], '1', ENGINE_COPY_OUT);
    ck_assert_uint_eq(batcher_granted(data.batcher), 1);
    recorded.answer = -ECONNRESET;
    ck_assert_int_eq(baton_batch_run(data.batcher, streams, 2, message, sizeof message), -ECONNRESET);
    ck_assert_ptr_nonnull(strstr(message, "grant"));
    ck_assert_int_eq(recorded.held, 0);
    ck_assert_uint_eq(batcher_granted(data.batcher), 1);
    batcher_use(data.batcher, NULL);
    close_data(&data);
}
END_TEST

START_TEST(predictions_need_no_device)
{
    struct baton_stream streams[2] = {{.from = {.node = "MEM0"},
                                       .to = {.node = "GPU0"},
                                       .bytes = 268435456,
                                       .kernel = {.predicted_ms = 10}},
                                      {.from = {.node = "MEM0"},
                                       .to = {.node = "GPU1"},
                                       .bytes = 134217728,
                                       .kernel = {.predicted_ms = 10}}};
    struct baton_times times[2];
    char message[256];
    int64_t length;

    ck_assert_int_eq(baton_predict(harness_data("../examples/topologies/nehalem.yaml"), BATON_ALIGNED, 0, 0,
                                   streams, 2, times, &length, NULL, message, sizeof message),
                     0);
    ck_assert_double_eq_tol((double)length / 1e6, 60.71, 0.02); /* Table 2 */
    ck_assert_double_eq_tol((double)(length - times[1].copy_begin) / 1e6, 38.46, 0.02);
    streams[1].to.node = "GPU9";
    ck_assert_int_eq(baton_predict(harness_data("../examples/topologies/nehalem.yaml"), BATON_ALIGNED, 0, 0,
                                   streams, 2, times, &length, NULL, message, sizeof message),
                     -EINVAL);
    ck_assert_ptr_nonnull(strstr(message, "stream '1'"));
    ck_assert_int_eq(baton_predict("/nonexistent", BATON_ALIGNED, 0, 0, streams, 2, times, &length, NULL,
                                   message, sizeof message),
                     -ENOENT);
}
END_TEST

/*
 * Two cores: the first two begin at once on different ones, a kernel stays on its copy's, what
 * begins when both are busy waits on the one that is free first; nothing, and what is not planned
 * for a core, has none.
 */
START_TEST(every_worker_waits_on_the_core_that_the_plan_leaves_it)
{
    struct core_use uses[] = {{0, 5, 0}, {0, 3, 0}, {5, 9, 0}, {4, 6, 0}, {7, 7, 0}};
    struct batch_cores cores = {.busy = {0}};

    CPU_ZERO(&cores.allowed);
    CPU_SET(1, &cores.allowed);
    CPU_SET(4, &cores.allowed);
    batch_cores_assign(&cores, 2, uses, 5);
    ck_assert(uses[0].core == 1 && uses[1].core == 4 && uses[3].core == 4 && uses[2].core == 1 &&
              uses[4].core == -1);
    batch_cores_assign(&cores, 1, uses, 5);
    ck_assert(uses[0].core == 1 && uses[1].core == 1 && uses[2].core == 1 && uses[3].core == 1);
    batch_cores_assign(&cores, 0, uses, 5);
    ck_assert(uses[0].core == -1 && uses[3].core == -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch execution");
    TCase *cases = tcase_create("batch execution");

    tcase_set_timeout(cases, 1200); /* ends what hangs, not what is slow */
    tcase_add_loop_test(cases, every_method_moves_the_data_and_runs_the_kernels, BATON_ALIGNED,
                        BATON_TIME_DIVISION + 1);
    tcase_add_test(cases, batches_started_at_once_run_in_the_order_of_their_starts);
    tcase_add_test(cases, a_batcher_that_is_freed_finishes_what_was_started);
    tcase_add_test(cases, a_peer_copy_between_contexts_is_staged_in_host_memory);
    tcase_add_test(cases, emulated_links_take_as_long_as_predicted);
    tcase_add_test(cases, a_batch_takes_all_its_engines_in_one_request);
    tcase_add_test(cases, predictions_need_no_device);
    tcase_add_test(cases, every_worker_waits_on_the_core_that_the_plan_leaves_it);
    suite_add_tcase(suite, cases);
    return harness_run(suite);
}
