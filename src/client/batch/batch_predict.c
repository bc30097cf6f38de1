/* Predictions through the public API, with and without a batcher. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "client/batch/batcher.h"

static int predict(const struct topology *topology, const struct batch_method *method, double ratio,
                   const struct batch_options *options, const struct baton_stream streams[], size_t n,
                   struct baton_times ret_times[], int64_t *ret_length, int64_t *ret_bound, char *message,
                   size_t size)
{
    struct batch_stream models[BATCH_MAX_STREAMS];
    struct batch_timeline timeline;
    struct batch batch;
    size_t unresolved;
    int result;

    if (!streams || n == 0 || n > BATCH_MAX_STREAMS) {
        (void)snprintf(message, size, "a batch has 1 to %d streams", BATCH_MAX_STREAMS);
        return -EINVAL;
    }
    result = batch_models(topology, streams, n, ratio, models, message, size);
    if (result)
        return result;
    if (batch_resolve(topology, models, n, options, &batch, &unresolved)) {
        (void)snprintf(message, size, "stream %zu: no single route, or its kernel is not where its copy ends",
                       unresolved);
        return -EINVAL;
    }
    result = batch_predict(&batch, method, &timeline, NULL);
    if (!result && ret_bound)
        result = batch_bound(&batch, ret_bound);
    if (result)
        return result;
    if (ret_length)
        *ret_length = timeline.total;
    for (size_t i = 0; ret_times && i < n; i++) {
        const struct stream_times *times = &timeline.streams[i];

        ret_times[i] =
            (struct baton_times){times->copy_begin, times->copy_end, times->kernel_begin, times->kernel_end};
    }
    return 0;
}

int baton_batch_predict(struct baton_batcher *batcher, const struct baton_stream streams[], size_t n,
                        int64_t *ret_length, int64_t *ret_bound)
{
    char message[200];

    if (!batcher)
        return -EINVAL;
    return predict(&batcher->topology, batcher->method, batcher->ratio, NULL, streams, n, NULL, ret_length,
                   ret_bound, message, sizeof message);
}

int baton_predict(const char *path, enum baton_method method, int worst_case, double margin,
                  const struct baton_stream streams[], size_t n, struct baton_times ret_times[],
                  int64_t *ret_length, int64_t *ret_bound, char *ret_message, size_t size)
{
    struct batch_options options = {.worst_case = worst_case != 0, .margin = margin};
    struct topology topology;
    struct input_error error;
    char message[600] = "";
    int result;

    if (!path || (unsigned)method > BATON_TIME_DIVISION || !(margin >= 0 && margin < 1e6))
        return -EINVAL;
    result = topology_read_file(path, &topology, &error);
    if (result == INPUT_REJECTED) {
        (void)input_error_format(&error, message, sizeof message);
        result = -EINVAL;
    } else if (result == 0) {
        result = predict(&topology, batch_methods[method], 1, &options, streams, n, ret_times, ret_length,
                         ret_bound, message, sizeof message);
        topology_done(&topology);
    }
    if (ret_message && size)
        (void)snprintf(ret_message, size, "%s", message);
    return result;
}
