/*
 * A device that disappears, an allocation that fails, a kernel that fails, streams that are wrong:
 * the batch ends with an error that names the stream, buffers stay valid, the next batch runs. The
 * driver's failures are put in place of its functions.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "harness.h"

#define BYTES ((size_t)1 << 20)

static struct opencl real;
static cl_mem broken;           /* transfers of this buffer fail ... */
static cl_int broken_error;     /* ... so */
static atomic_int kernel_error; /* the next kernels fail so */
static atomic_int n_retained, n_released;

static cl_int failing_write(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                            size_t size, const void *from, cl_uint n, const cl_event *list, cl_event *event)
{
    if (buffer == broken)
        return broken_error;
    return real.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, n, list, event);
}

static cl_int failing_read(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, void *to, cl_uint n, const cl_event *list, cl_event *event)
{
    if (buffer == broken)
        return broken_error;
    return real.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, n, list, event);
}

static cl_int failing_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                             const size_t *offset, const size_t *global, const size_t *local, cl_uint n,
                             const cl_event *list, cl_event *event)
{
    if (atomic_load(&kernel_error))
        return atomic_load(&kernel_error);
    return real.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, n, list, event);
}

static cl_int counting_retain(cl_mem buffer)
{
    atomic_fetch_add(&n_retained, 1);
    return real.clRetainMemObject(buffer);
}

static cl_int counting_release(cl_mem buffer)
{
    atomic_fetch_add(&n_released, 1);
    return real.clReleaseMemObject(buffer);
}

struct rig {
    struct devices devices;
    struct baton_batcher *batcher;
    unsigned char *host[2];
    cl_mem buffer[2];
    cl_kernel kernel[2];
    int value;
    struct baton_arg args[2][3];
    struct baton_stream streams[2];
};

static void rig_open(struct rig *rig, enum baton_method method)
{
    devices_open(&rig->devices, devices_fast);
    real = rig->devices.cl;
    rig->devices.cl.clEnqueueWriteBuffer = failing_write;
    rig->devices.cl.clEnqueueReadBuffer = failing_read;
    rig->devices.cl.clEnqueueNDRangeKernel = failing_kernel;
    rig->devices.cl.clRetainMemObject = counting_retain;
    rig->devices.cl.clReleaseMemObject = counting_release;
    rig->batcher = devices_batcher(&rig->devices, method, NULL, 0);
    rig->value = 1;
    for (int d = 0; d < 2; d++) {
        rig->host[d] = calloc(1, BYTES);
        rig->buffer[d] = devices_buffer(&rig->devices, d, BYTES);
        rig->kernel[d] = devices_kernel(&rig->devices, d, "add");
        rig->args[d][0] = (struct baton_arg){sizeof(cl_mem), &rig->buffer[d]};
        rig->args[d][1] = rig->args[d][2] = (struct baton_arg){sizeof rig->value, &rig->value};
        rig->streams[d] = (struct baton_stream){.name = d ? "right" : "left",
                                                .from = {.node = "MEM0", .host = rig->host[d]},
                                                .to = {.node = d ? "GPU1" : "GPU0", .buffer = rig->buffer[d]},
                                                .bytes = BYTES,
                                                .kernel = {.kernel = rig->kernel[d],
                                                           .dimensions = 1,
                                                           .global = {BYTES / sizeof(int)},
                                                           .args = rig->args[d],
                                                           .n_args = 2,
                                                           .predicted_ms = 0.2}};
    }
}

static void rig_close(struct rig *rig)
{
    baton_batcher_free(rig->batcher);
    ck_assert_int_eq(atomic_load(&n_retained),
                     atomic_load(&n_released)); /* nothing that a batch took is kept */
    for (int d = 0; d < 2; d++) {
        cl_uint references = 0;

        ck_assert_int_eq(real.clGetMemObjectInfo(rig->buffer[d], CL_MEM_REFERENCE_COUNT, sizeof references,
                                                 &references, NULL),
                         CL_SUCCESS);
        ck_assert_uint_eq(references, 1);
        real.clReleaseMemObject(rig->buffer[d]);
        real.clReleaseKernel(rig->kernel[d]);
        free(rig->host[d]);
    }
    devices_close(&rig->devices);
}

static void fails(struct rig *rig, int error, const char *stream, const char *why)
{
    char message[256];

    ck_assert_int_eq(baton_batch_run(rig->batcher, rig->streams, 2, message, sizeof message), error);
    ck_assert_msg(strstr(message, stream) && strstr(message, why), "'%s' lacks %s or %s", message, stream,
                  why);
}

/* The next batch runs, and the buffers of the failed one still work. */
static void runs(struct rig *rig)
{
    char message[256];

    ck_assert_msg(baton_batch_run(rig->batcher, rig->streams, 2, message, sizeof message) == 0, "%s",
                  message);
}

START_TEST(a_device_that_disappears_ends_the_batch_by_name)
{
    struct rig rig;

    rig_open(&rig, (enum baton_method)_i);
    runs(&rig);
    broken = rig.buffer[1];
    broken_error = CL_DEVICE_NOT_AVAILABLE;
    fails(&rig, -EIO, "stream 'right'", "CL_DEVICE_NOT_AVAILABLE");
    /* The other device goes on without it ... */
    ck_assert_int_eq(baton_batch_run(rig.batcher, rig.streams, 1, NULL, 0), 0);
    broken = NULL; /* ... and when it is back, everything runs. */
    runs(&rig);
    rig_close(&rig);
}
END_TEST

START_TEST(an_allocation_that_fails_ends_the_batch_by_name)
{
    struct rig rig;

    rig_open(&rig, BATON_ALIGNED);
    broken = rig.buffer[0];
    broken_error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    fails(&rig, -EIO, "stream 'left'", "CL_MEM_OBJECT_ALLOCATION_FAILURE");
    broken = NULL;
    runs(&rig);
    rig_close(&rig);
}
END_TEST

START_TEST(a_kernel_that_fails_ends_the_batch_by_name)
{
    struct rig rig;

    rig_open(&rig, BATON_ALIGNED);
    rig.streams[1].kernel = (struct baton_kernel){0}; /* only the left one has a kernel */
    atomic_store(&kernel_error, CL_OUT_OF_RESOURCES);
    fails(&rig, -EIO, "stream 'left': its kernel", "CL_OUT_OF_RESOURCES");
    atomic_store(&kernel_error, 0);
    runs(&rig);
    rig_close(&rig);
}
END_TEST

START_TEST(the_driver_itself_rejects_a_work_group_that_is_too_large)
{
    struct rig rig;

    rig_open(&rig, BATON_ALIGNED);
    rig.streams[1].kernel.local[0] = 7; /* does not divide the global size */
    fails(&rig, -EIO, "stream 'right': its kernel", "CL_INVALID_WORK_GROUP_SIZE");
    rig.streams[1].kernel.local[0] = 0;
    runs(&rig);
    rig_close(&rig);
}
END_TEST

START_TEST(a_copy_beyond_its_buffer_is_the_drivers_error)
{
    struct rig rig;

    rig_open(&rig, BATON_ALIGNED);
    rig.streams[0].to.offset = 4096;
    fails(&rig, -EIO, "stream 'left': its copy", "CL_INVALID_VALUE");
    rig.streams[0].to.offset = 0;
    runs(&rig);
    rig_close(&rig);
}
END_TEST

START_TEST(either_leg_of_a_staged_copy_may_fail)
{
    struct rig rig;

    rig_open(&rig, BATON_ALIGNED);
    rig.streams[0] = (struct baton_stream){.name = "peer",
                                           .from = {.node = "GPU0", .buffer = rig.buffer[0]},
                                           .to = {.node = "GPU1", .buffer = rig.buffer[1]},
                                           .bytes = BYTES};
    for (int leg = 0; leg < 2; leg++) {
        char message[256];

        broken = rig.buffer[leg];
        broken_error = CL_OUT_OF_RESOURCES;
        ck_assert_int_eq(baton_batch_run(rig.batcher, rig.streams, 1, message, sizeof message), -EIO);
        ck_assert_msg(strstr(message, "stream 'peer'"), "%s", message);
    }
    broken = NULL;
    ck_assert_int_eq(baton_batch_run(rig.batcher, rig.streams, 1, NULL, 0), 0);
    rig_close(&rig);
}
END_TEST

START_TEST(a_failed_batch_does_not_fail_those_behind_it)
{
    struct baton_batch *batches[3];
    struct rig rig;

    rig_open(&rig, BATON_ALIGNED);
    for (int b = 0; b < 3; b++) {
        rig.streams[0].to.offset = b == 1 ? BYTES : 0;
        ck_assert_int_eq(baton_batch_start(rig.batcher, rig.streams, 2, &batches[b]), 0);
    }
    ck_assert_int_eq(baton_batch_wait(batches[2]), 0);
    ck_assert_int_eq(baton_batch_wait(batches[1]), -EIO);
    ck_assert_int_eq(baton_batch_wait(batches[0]), 0);
    for (int b = 0; b < 3; b++)
        baton_batch_free(batches[b]);
    rig_close(&rig);
}
END_TEST

START_TEST(wrong_streams_are_named)
{
    struct baton_stream good[2];
    struct baton_batch *batch;
    struct rig rig;

    rig_open(&rig, BATON_ALIGNED);
    memcpy(good, rig.streams, sizeof good);
    rig.streams[1].to.node = "GPU9";
    fails(&rig, -EINVAL, "stream 'right'", "nodes of the topology");
    memcpy(rig.streams, good, sizeof good);
    rig.streams[0].from.node = "HOST";
    rig.streams[0].from.host = NULL;
    fails(&rig, -EINVAL, "stream 'left'", "pointer");
    memcpy(rig.streams, good, sizeof good);
    rig.streams[0].to.buffer = NULL;
    fails(&rig, -EINVAL, "stream 'left'", "buffer");
    memcpy(rig.streams, good, sizeof good);
    rig.streams[1].kernel.predicted_ms = 0;
    fails(&rig, -EINVAL, "stream 'right'", "predicted");
    memcpy(rig.streams, good, sizeof good);
    rig.streams[1].kernel.predicted_ms = -1;
    fails(&rig, -EINVAL, "stream 'right'", "predicted");
    memcpy(rig.streams, good, sizeof good);
    rig.streams[1].kernel.n_args = 3; /* one too many */
    fails(&rig, -EINVAL, "stream 'right'", "argument");
    memcpy(rig.streams, good, sizeof good);
    rig.streams[1].kernel.dimensions = 4;
    fails(&rig, -EINVAL, "stream 'right'", "dimensions");
    memcpy(rig.streams, good, sizeof good);
    rig.streams[0].bytes = 0;
    rig.streams[0].kernel = (struct baton_kernel){0};
    fails(&rig, -EINVAL, "stream 'left'", "neither");
    memcpy(rig.streams, good, sizeof good);
    ck_assert_int_eq(baton_batch_start(rig.batcher, rig.streams, 0, &batch), -EINVAL);
    ck_assert_int_eq(baton_batch_start(rig.batcher, rig.streams, 65, &batch), -EINVAL);
    runs(&rig);
    rig_close(&rig);
}
END_TEST

START_TEST(a_bad_topology_makes_no_batcher)
{
    struct devices devices;
    struct baton_batcher_config config = {.size = sizeof config, .topology = devices.topology};
    struct baton_batcher *batcher = NULL;
    struct baton_gpu gpu = {.node = "GPU7"};
    char message[256];

    devices_open(&devices, "links: [{from: MEM0, to: GPU0, gbps: -1}]");
    ck_assert_int_eq(baton_batcher_new(&config, &batcher, message, sizeof message), -EINVAL);
    ck_assert_msg(strstr(message, ":1:38: expected a bandwidth above 0"), "%s", message);
    devices_close(&devices);
    devices_open(&devices, devices_fast);
    config.gpus = &gpu;
    config.n_gpus = 1;
    ck_assert_int_eq(baton_batcher_new(&config, &batcher, message, sizeof message), -EINVAL);
    ck_assert_msg(strstr(message, "GPU7"), "%s", message);
    config.topology = "/nonexistent/topology.yaml";
    ck_assert_int_eq(baton_batcher_new(&config, &batcher, message, sizeof message), -ENOENT);
    ck_assert_ptr_null(batcher);
    devices_close(&devices);
}
END_TEST

START_TEST(without_a_cuda_driver_there_is_no_batcher_for_its_gpus)
{
    struct devices devices;
    struct baton_cuda_gpu gpu = {.node = "GPU0"};
    struct baton_batcher_config config = {
        .size = sizeof config, .topology = devices.topology, .cuda_gpus = &gpu, .n_cuda_gpus = 1};
    struct baton_batcher *batcher = NULL;
    char message[256] = "";

    if (dlopen("libcuda.so.1", RTLD_NOW)) /* this machine has one */
        return;
    devices_open(&devices, devices_fast);
    ck_assert_int_eq(baton_batcher_new(&config, &batcher, message, sizeof message), -ENODEV);
    ck_assert_msg(strstr(message, "libcuda.so.1"), "%s", message);
    ck_assert_ptr_null(batcher);
    /* A program that was built before the field existed has a smaller struct. */
    config.size = offsetof(struct baton_batcher_config, cuda_gpus);
    ck_assert_int_eq(baton_batcher_new(&config, &batcher, message, sizeof message), 0);
    baton_batcher_free(batcher);
    devices_close(&devices);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch faults");
    TCase *cases = tcase_create("batch faults");

    tcase_set_timeout(cases, 1200); /* ends what hangs, not what is slow */
    tcase_add_loop_test(cases, a_device_that_disappears_ends_the_batch_by_name, BATON_ALIGNED,
                        BATON_TIME_DIVISION + 1);
    tcase_add_test(cases, an_allocation_that_fails_ends_the_batch_by_name);
    tcase_add_test(cases, a_kernel_that_fails_ends_the_batch_by_name);
    tcase_add_test(cases, the_driver_itself_rejects_a_work_group_that_is_too_large);
    tcase_add_test(cases, a_copy_beyond_its_buffer_is_the_drivers_error);
    tcase_add_test(cases, either_leg_of_a_staged_copy_may_fail);
    tcase_add_test(cases, a_failed_batch_does_not_fail_those_behind_it);
    tcase_add_test(cases, wrong_streams_are_named);
    tcase_add_test(cases, a_bad_topology_makes_no_batcher);
    tcase_add_test(cases, without_a_cuda_driver_there_is_no_batcher_for_its_gpus);
    suite_add_tcase(suite, cases);
    return harness_run(suite);
}
