/*
 * The public interface of batch operations (include/baton/batch.h): batchers, the FIFO of batches,
 * waiting.
 */
#include "baton/batch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "client/batch/batcher.h"

static int say(char *message, size_t size, int error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int say(char *message, size_t size, int error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (message && size)
        (void)vsnprintf(message, size, format, arguments);
    va_end(arguments);
    return error;
}

static int read_topology(const char *path, struct topology *ret_topology, char *message, size_t size)
{
    struct input_error error;
    char text[600];
    int result = topology_read_file(path, ret_topology, &error);

    if (result < 0)
        return say(message, size, result, "%s: cannot be read (%d)", path, -result);
    if (result == 0)
        return 0;
    (void)input_error_format(&error, text, sizeof text);
    return say(message, size, -EINVAL, "%s", text);
}

static int monotonic_init(pthread_mutex_t *lock, pthread_cond_t *changed)
{
    pthread_condattr_t attributes;
    int error = pthread_mutex_init(lock, NULL);

    if (error)
        return -error;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    error = pthread_cond_init(changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (error)
        pthread_mutex_destroy(lock);
    return -error;
}

static int open_gpu(struct baton_batcher *batcher, const struct baton_gpu *gpu, char *message, size_t size)
{
    const struct opencl *cl = batcher->cl;
    struct batcher_gpu *fresh = &batcher->gpus[batcher->n_gpus];
    cl_command_queue *queues[] = {&fresh->in, &fresh->out, &fresh->execute};

    fresh->node = gpu->node ? topology_node(&batcher->topology, gpu->node) : -1;
    if (fresh->node < 0 || batcher->topology.nodes[fresh->node].role != ROLE_GPU)
        return say(message, size, -EINVAL, "%s is not a GPU of the topology", gpu->node ? gpu->node : "NULL");
    for (size_t i = 0; i < batcher->n_gpus; i++) {
        if (batcher->gpus[i].node == fresh->node)
            return say(message, size, -EINVAL, "%s is given twice", gpu->node);
    }
    if (cl->clRetainContext(gpu->context) != CL_SUCCESS)
        return say(message, size, -EINVAL, "the context of %s is not valid", gpu->node);
    fresh->context = gpu->context;
    fresh->device = gpu->device;
    (void)pthread_mutex_init(&fresh->in_lock, NULL);
    (void)pthread_mutex_init(&fresh->out_lock, NULL);
    batcher->n_gpus++;
    for (size_t q = 0; q < 3; q++) {
        cl_int error;

        *queues[q] = cl->clCreateCommandQueueWithProperties(gpu->context, gpu->device, NULL, &error);
        if (error != CL_SUCCESS) {
            *queues[q] = NULL;
            return say(message, size, -ENODEV, "%s: no command queue: %s (%d)", gpu->node,
                       opencl_error_name(error), error);
        }
    }
    return 0;
}

/* The batcher's thread runs one batch after the other, in the order of their start. */
static void *run_batches(void *argument)
{
    struct baton_batcher *batcher = argument;

    for (;;) {
        struct baton_batch *batch;
        int result = 0;

        pthread_mutex_lock(&batcher->lock);
        while (list_empty(&batcher->waiting) && !batcher->closing)
            pthread_cond_wait(&batcher->changed, &batcher->lock);
        if (list_empty(&batcher->waiting)) {
            pthread_mutex_unlock(&batcher->lock);
            return NULL;
        }
        batch = list_entry(batcher->waiting.next, struct baton_batch, link);
        pthread_mutex_unlock(&batcher->lock);

        if (!batch->failed)
            result = batch_take_engines(batch);
        if (result)
            batch_fail(batch, result, "the daemon did not grant the interconnect (%d)", -result);
        else if (!batch->failed) {
            batch_execute(batch);
            batch_end_engines(batch);
        }
        batch_release(batch);
        pthread_mutex_lock(&batcher->lock);
        list_remove(&batch->link);
        pthread_mutex_unlock(&batcher->lock);
        pthread_mutex_lock(&batch->lock);
        batch->done = true; /* the program may free it from now on */
        pthread_cond_broadcast(&batch->changed);
        pthread_mutex_unlock(&batch->lock);
    }
}

static int open_batcher(struct baton_batcher *batcher, const struct baton_batcher_config *config,
                        char *message, size_t size)
{
    int result = read_topology(config->topology, &batcher->topology, message, size);

    if (result)
        return result;
    batcher->ratio = config->emulate && config->emulate_ratio > 0 ? config->emulate_ratio : 1;
    if (config->emulate) {
        result = read_topology(config->emulate, &batcher->emulated, message, size);
        if (result)
            return result;
        batcher->emulates = true;
    }
    for (size_t i = 0; i < config->n_gpus; i++) {
        result = open_gpu(batcher, &config->gpus[i], message, size);
        if (result)
            return result;
    }
    result = -pthread_create(&batcher->runner, NULL, run_batches, batcher);
    if (result)
        return say(message, size, result, "cannot start a thread");
    batcher->has_runner = true;
    return 0;
}

int batcher_new_over(const struct opencl *cl, const struct baton_batcher_config *config,
                     struct baton_batcher **ret_batcher, char *ret_message, size_t size)
{
    struct baton_batcher *batcher;
    int result;

    if (!config || !config->topology || (config->n_gpus && !config->gpus) ||
        (unsigned)config->method > BATON_TIME_DIVISION || !(config->emulate_ratio >= 0))
        return say(ret_message, size, -EINVAL, "the configuration of the batcher is not complete");
    batcher = calloc(1, sizeof *batcher);
    if (!batcher)
        return say(ret_message, size, -ENOMEM, "no memory");
    result = monotonic_init(&batcher->lock, &batcher->changed);
    if (result) {
        free(batcher);
        return say(ret_message, size, result, "no lock");
    }
    list_init(&batcher->waiting);
    list_init(&batcher->hosts);
    batcher->cl = cl;
    batcher->method = batch_methods[config->method];
    batcher->gpus = calloc(config->n_gpus + 1, sizeof *batcher->gpus);
    batcher->workers = calloc((size_t)2 * BATCH_MAX_STREAMS, sizeof *batcher->workers);
    if (batcher->gpus && batcher->workers)
        result = open_batcher(batcher, config, ret_message, size);
    else
        result = say(ret_message, size, -ENOMEM, "no memory");
    if (result)
        baton_batcher_free(batcher);
    else
        *ret_batcher = batcher;
    return result;
}

/* The fields of the first version. */
#define CONFIG_SIZE (offsetof(struct baton_batcher_config, emulate_ratio) + sizeof(double))

int baton_batcher_new(const struct baton_batcher_config *config, struct baton_batcher **ret_batcher,
                      char *ret_message, size_t size)
{
    const struct opencl *cl = opencl_get();
    int result;

    if (config->size < CONFIG_SIZE)
        return say(ret_message, size, -EINVAL,
                   "expected sizeof(struct baton_batcher_config) in its field size");
    if (!cl)
        return say(ret_message, size, -ENODEV, "libOpenCL.so.1 is not there, or older than OpenCL 2.1");
    result = batcher_new_over(cl, config, ret_batcher, ret_message, size);
    if (result == 0)
        batcher_use(*ret_batcher, join_find());
    return result;
}

void baton_batcher_free(struct baton_batcher *batcher)
{
    if (!batcher)
        return;
    pthread_mutex_lock(&batcher->lock);
    batcher->closing = true;
    pthread_cond_broadcast(&batcher->changed);
    pthread_mutex_unlock(&batcher->lock);
    if (batcher->has_runner)
        pthread_join(batcher->runner, NULL);
    pthread_mutex_lock(&batcher->lock);
    batcher->deserted = true;
    pthread_cond_broadcast(&batcher->changed);
    pthread_mutex_unlock(&batcher->lock);
    for (size_t i = 0; i < batcher->n_workers; i++)
        pthread_join(batcher->workers[i], NULL);
    batcher_free_hosts(batcher);
    for (size_t i = 0; i < batcher->n_gpus; i++) {
        cl_command_queue queues[] = {batcher->gpus[i].in, batcher->gpus[i].out, batcher->gpus[i].execute};

        for (size_t q = 0; q < 3; q++) {
            if (queues[q])
                batcher->cl->clReleaseCommandQueue(queues[q]);
        }
        batcher->cl->clReleaseContext(batcher->gpus[i].context);
        pthread_mutex_destroy(&batcher->gpus[i].in_lock);
        pthread_mutex_destroy(&batcher->gpus[i].out_lock);
    }
    free(batcher->gpus);
    free(batcher->workers);
    topology_done(&batcher->topology);
    topology_done(&batcher->emulated);
    pthread_cond_destroy(&batcher->changed);
    pthread_mutex_destroy(&batcher->lock);
    free(batcher);
}

int baton_batch_start(struct baton_batcher *batcher, const struct baton_stream streams[], size_t n,
                      struct baton_batch **ret_batch)
{
    struct baton_batch *batch;
    int result;

    if (!batcher || !streams || !ret_batch || n == 0 || n > BATCH_MAX_STREAMS)
        return -EINVAL;
    batch = calloc(1, sizeof *batch);
    if (!batch)
        return -ENOMEM;
    result = monotonic_init(&batch->lock, &batch->changed);
    if (result) {
        free(batch);
        return result;
    }
    list_init(&batch->link);
    batch->batcher = batcher;
    batch->cl = batcher->cl;
    result = batch_prepare(batch, streams, n);
    if (result && !batch->failed) { /* not an error of a stream: the machine lacks some resource */
        batch_release(batch);
        batch->done = true;
        baton_batch_free(batch);
        return result;
    }
    pthread_mutex_lock(&batcher->lock);
    list_append(&batcher->waiting, &batch->link);
    pthread_cond_broadcast(&batcher->changed);
    pthread_mutex_unlock(&batcher->lock);
    *ret_batch = batch;
    return 0;
}

int baton_batch_query(struct baton_batch *batch)
{
    bool done;

    pthread_mutex_lock(&batch->lock);
    done = batch->done;
    pthread_mutex_unlock(&batch->lock);
    return done;
}

int baton_batch_wait(struct baton_batch *batch)
{
    int error;

    pthread_mutex_lock(&batch->lock);
    while (!batch->done)
        pthread_cond_wait(&batch->changed, &batch->lock);
    error = batch->error;
    pthread_mutex_unlock(&batch->lock);
    return error;
}

const char *baton_batch_message(struct baton_batch *batch)
{
    return batch->message;
}

void baton_batch_free(struct baton_batch *batch)
{
    if (!batch)
        return;
    (void)baton_batch_wait(batch);
    free(batch->streams);
    free(batch->models);
    free(batch->pacing);
    free(batch->emulator);
    pthread_cond_destroy(&batch->changed);
    pthread_mutex_destroy(&batch->lock);
    free(batch);
}

int baton_batch_run(struct baton_batcher *batcher, const struct baton_stream streams[], size_t n,
                    char *ret_message, size_t size)
{
    struct baton_batch *batch;
    int result = baton_batch_start(batcher, streams, n, &batch);

    if (result)
        return say(ret_message, size, result, "the batch could not be started");
    result = baton_batch_wait(batch);
    (void)say(ret_message, size, 0, "%s", batch->message);
    baton_batch_free(batch);
    return result;
}

void baton_batch_length(struct baton_batch *batch, int64_t *ret_predicted, int64_t *ret_measured)
{
    if (ret_predicted)
        *ret_predicted = batch->timeline.total;
    if (ret_measured)
        *ret_measured = batch->measured;
}

static struct baton_times public_times(const struct stream_times *times)
{
    return (struct baton_times){times->copy_begin, times->copy_end, times->kernel_begin, times->kernel_end};
}

int baton_batch_stream(struct baton_batch *batch, size_t stream, struct baton_times *ret_predicted,
                       struct baton_times *ret_measured)
{
    if (stream >= batch->plan.n)
        return -EINVAL;
    if (ret_predicted)
        *ret_predicted = public_times(&batch->timeline.streams[stream]);
    if (ret_measured)
        *ret_measured = batch->streams[stream].measured;
    return 0;
}
