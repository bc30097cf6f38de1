/*
 * The public interface of batch operations (include/baton/batch.h): batchers, the FIFO of batches,
 * waiting.
 */
#include "baton/batch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Begins the next GPU of the batcher: the caller opens its device and counts it. */
static int begin_gpu(struct baton_batcher *batcher, const char *node, const struct batch_api *api,
                     char *message, size_t size)
{
    struct batcher_gpu *fresh = &batcher->gpus[batcher->n_gpus];

    fresh->api = api;
    fresh->node = node ? topology_node(&batcher->topology, node) : -1;
    if (fresh->node < 0 || batcher->topology.nodes[fresh->node].role != ROLE_GPU)
        return say(message, size, -EINVAL, "%s is not a GPU of the topology", node ? node : "NULL");
    for (size_t i = 0; i < batcher->n_gpus; i++) {
        if (batcher->gpus[i].node == fresh->node)
            return say(message, size, -EINVAL, "%s is given twice", node);
    }
    return 0;
}

/* result and why: of opening its device */
static int finish_gpu(struct baton_batcher *batcher, int result, const char *why, char *message, size_t size)
{
    struct batcher_gpu *fresh = &batcher->gpus[batcher->n_gpus];

    if (result)
        return say(message, size, result, "%s: %s", batcher->topology.nodes[fresh->node].name, why);
    (void)pthread_mutex_init(&fresh->in_lock, NULL);
    (void)pthread_mutex_init(&fresh->out_lock, NULL);
    batcher->n_gpus++;
    return 0;
}

static int open_gpus(struct baton_batcher *batcher, const struct batch_libraries *libraries,
                     const struct baton_batcher_config *config, char *message, size_t size)
{
    char why[200] = "no memory";
    int result = 0;

    for (size_t i = 0; i < config->n_gpus && !result; i++) {
        const struct baton_gpu *gpu = &config->gpus[i];
        void **device = &batcher->gpus[batcher->n_gpus].device;

        result = begin_gpu(batcher, gpu->node, &batch_opencl, message, size);
        if (!result)
            result = finish_gpu(batcher, batch_opencl_open(libraries, gpu, device, why, sizeof why), why,
                                message, size);
    }
    for (size_t i = 0; i < config->n_cuda_gpus && !result; i++) {
        const struct baton_cuda_gpu *gpu = &config->cuda_gpus[i];
        void **device = &batcher->gpus[batcher->n_gpus].device;

        result = begin_gpu(batcher, gpu->node, &batch_cuda, message, size);
        if (!result)
            result = finish_gpu(batcher, batch_cuda_open(libraries, gpu, device, why, sizeof why), why,
                                message, size);
    }
    return result;
}

static void close_gpus(struct baton_batcher *batcher)
{
    for (size_t i = 0; i < batcher->n_gpus; i++) {
        if (batcher->gpus[i].api->disconnect)
            batcher->gpus[i].api->disconnect(batcher->gpus[i].device);
    }
    for (size_t i = 0; i < batcher->n_gpus; i++) {
        batcher->gpus[i].api->close(batcher->gpus[i].device);
        pthread_mutex_destroy(&batcher->gpus[i].in_lock);
        pthread_mutex_destroy(&batcher->gpus[i].out_lock);
    }
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

static int open_batcher(struct baton_batcher *batcher, const struct batch_libraries *libraries,
                        const struct baton_batcher_config *config, char *message, size_t size)
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
    result = open_gpus(batcher, libraries, config, message, size);
    if (result)
        return result;
    result = -pthread_create(&batcher->runner, NULL, run_batches, batcher);
    if (result)
        return say(message, size, result, "cannot start a thread");
    batcher->has_runner = true;
    return 0;
}

int batcher_new_over(const struct batch_libraries *libraries, const struct baton_batcher_config *config,
                     struct baton_batcher **ret_batcher, char *ret_message, size_t size)
{
    struct baton_batcher *batcher;
    int result;

    if (!config || !config->topology || (config->n_gpus && !config->gpus) ||
        (config->n_cuda_gpus && !config->cuda_gpus) || (unsigned)config->method > BATON_TIME_DIVISION ||
        !(config->emulate_ratio >= 0))
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
    batcher->method = batch_methods[config->method];
    batcher->gpus = calloc(config->n_gpus + config->n_cuda_gpus + 1, sizeof *batcher->gpus);
    batcher->workers = calloc((size_t)2 * BATCH_MAX_STREAMS, sizeof *batcher->workers);
    if (batcher->gpus && batcher->workers)
        result = open_batcher(batcher, libraries, config, ret_message, size);
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

int baton_batcher_new(const struct baton_batcher_config *given, struct baton_batcher **ret_batcher,
                      char *ret_message, size_t size)
{
    struct baton_batcher_config config = {0};
    struct batch_libraries libraries = {0};
    int result;

    if (given->size < CONFIG_SIZE)
        return say(ret_message, size, -EINVAL,
                   "expected sizeof(struct baton_batcher_config) in its field size");
    memcpy(&config, given, given->size < sizeof config ? given->size : sizeof config);
    libraries.cl = config.n_gpus ? opencl_get() : NULL;
    libraries.cuda = config.n_cuda_gpus ? cuda_driver_get() : NULL;
    if (config.n_gpus && !libraries.cl)
        return say(ret_message, size, -ENODEV, "libOpenCL.so.1 is not there, or older than OpenCL 2.1");
    if (config.n_cuda_gpus && !libraries.cuda)
        return say(ret_message, size, -ENODEV, "libcuda.so.1 is not there, or lacks a function");
    result = batcher_new_over(&libraries, &config, ret_batcher, ret_message, size);
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
    close_gpus(batcher);
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
