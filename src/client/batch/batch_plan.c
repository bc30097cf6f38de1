/*
 * Turns the program's streams into a plan: checks them, copies what may change, predicts, and
 * orders the streams on every engine.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/batch/batcher.h"

static const char *stream_name(const struct baton_stream *stream, size_t index, char *number, size_t size)
{
    if (stream->name)
        return stream->name;
    (void)snprintf(number, size, "%zu", index);
    return number;
}

static int find_node(const struct topology *topology, const char *name)
{
    return name ? topology_node(topology, name) : -1;
}

/* Describes one stream for the predictor. NULL, or the error. */
static const char *model_stream(const struct topology *topology, const struct baton_stream *stream,
                                double ratio, struct batch_stream *ret_model)
{
    struct batch_stream model = {.name = stream->name ? stream->name : "", .from = -1, .to = -1, .gpu = -1};

    if (!(stream->kernel.predicted_ms >= 0 && stream->kernel.predicted_ms < 1e9))
        return "its kernel's predicted time is not a length";
    model.kernel = (baton_nsec)(stream->kernel.predicted_ms * (double)NSEC_PER_MS + 0.5);
    if (stream->bytes == 0 && model.kernel == 0)
        return "it has neither bytes to copy nor a kernel with a predicted time";
    if (stream->bytes > 0) {
        if ((double)stream->bytes * ratio > 1e15)
            return "its copy is too large";
        model.bytes = (int64_t)((double)stream->bytes * ratio);
        model.from = find_node(topology, stream->from.node);
        model.to = find_node(topology, stream->to.node);
        if (model.from < 0 || model.to < 0)
            return "its copy does not begin and end at nodes of the topology";
    }
    if (model.kernel > 0) {
        model.gpu = find_node(topology, stream->to.node);
        if (model.gpu < 0 || topology->nodes[model.gpu].role != ROLE_GPU)
            return "its kernel is not on a GPU of the topology";
    }
    *ret_model = model;
    return NULL;
}

int batch_models(const struct topology *topology, const struct baton_stream streams[], size_t n, double ratio,
                 struct batch_stream ret_models[], char *ret_message, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        const char *wrong = model_stream(topology, &streams[i], ratio, &ret_models[i]);
        char number[32];

        if (wrong) {
            (void)snprintf(ret_message, size, "stream '%.64s': %s",
                           stream_name(&streams[i], i, number, sizeof number), wrong);
            return -EINVAL;
        }
    }
    return 0;
}

static struct batcher_gpu *find_gpu(const struct baton_batcher *batcher, int node)
{
    for (size_t i = 0; i < batcher->n_gpus; i++) {
        if (batcher->gpus[i].node == node)
            return &batcher->gpus[i];
    }
    return NULL;
}

/* Keeps the memory at both ends of the copy. NULL, or the error. */
static const char *hold_memory(struct stream_task *task, char *message, size_t size)
{
    const char *wrong = NULL;
    const char *end = "from";

    if (task->source) {
        wrong = task->source->api->hold(task->source->device, &task->from, task->bytes);
        task->holds_from = !wrong;
    }
    if (task->target && !wrong) {
        end = "to";
        wrong = task->target->api->hold(task->target->device, &task->to, task->bytes);
        task->holds_to = !wrong;
    }
    if (!wrong)
        return NULL;
    (void)snprintf(message, size, "the memory that it copies %s %s", end, wrong);
    return message;
}

static enum copy_kind kind_of(const struct stream_task *task)
{
    const struct batcher_gpu *source = task->source;
    const struct batcher_gpu *target = task->target;

    if (source && target)
        return source->api == target->api && source->api->connect(source->device, target->device)
                   ? COPY_DEVICE
                   : COPY_STAGED;
    return source ? COPY_DOWN : target ? COPY_UP : COPY_HOST;
}

/* Finds the direction of the copy. NULL, or the error. */
static const char *plan_copy(struct baton_batch *batch, const struct batch_stream *model,
                             struct stream_task *task, char *message, size_t size)
{
    const struct topology_node *nodes = batch->batcher->topology.nodes;
    bool from_gpu = nodes[model->from].role == ROLE_GPU;
    bool to_gpu = nodes[model->to].role == ROLE_GPU;
    const char *wrong;

    task->source = from_gpu ? find_gpu(batch->batcher, model->from) : NULL;
    task->target = to_gpu ? find_gpu(batch->batcher, model->to) : NULL;
    if ((from_gpu && !task->source) || (to_gpu && !task->target))
        return "its GPU has no device";
    if ((from_gpu && !task->from.address) || (to_gpu && !task->to.address))
        return "a copy from or to a GPU needs a buffer or an address";
    if ((!from_gpu && !task->from.host) || (!to_gpu && !task->to.host))
        return "a copy from or to host memory needs a pointer";
    wrong = hold_memory(task, message, size);
    if (wrong)
        return wrong;
    task->kind = kind_of(task);
    for (size_t s = 0; s < N_STAGES && task->kind == COPY_STAGED; s++) {
        task->stage[s] = aligned_alloc(4096, BATCH_STAGE_BYTES);
        if (!task->stage[s])
            return "no memory to stage its copy in";
    }
    return NULL;
}

static const char *plan_kernel(struct baton_batch *batch, const struct baton_kernel *kernel,
                               const struct batch_stream *model, struct stream_task *task)
{
    task->where = find_gpu(batch->batcher, model->gpu);
    if (!task->where)
        return "its GPU has no device";
    if (kernel->dimensions < 1 || kernel->dimensions > 3)
        return "a kernel needs 1 to 3 dimensions";
    return task->where->api->kernel_new(task->where->device, kernel, &task->kernel);
}

static int plan_stream(struct baton_batch *batch, const struct baton_stream *stream, size_t i)
{
    struct stream_task *task = &batch->streams[i];
    const struct batch_stream *model = &batch->models[i];
    const char *wrong = NULL;
    char message[160];
    char number[32];

    (void)snprintf(task->name, sizeof task->name, "%s", stream_name(stream, i, number, sizeof number));
    batch->models[i].name = task->name;
    task->bytes = stream->bytes;
    if (stream->bytes > 0) {
        task->from = stream->from;
        task->to = stream->to;
        wrong = plan_copy(batch, model, task, message, sizeof message);
    }
    if (!wrong && (stream->kernel.kernel != NULL) != (model->kernel > 0))
        wrong = "a kernel and its predicted time go together";
    if (!wrong && stream->kernel.kernel)
        wrong = plan_kernel(batch, &stream->kernel, model, task);
    if (wrong)
        batch_fail(batch, -EINVAL, "stream '%s': %s", task->name, wrong);
    return wrong ? -EINVAL : 0;
}

static int resolve(struct baton_batch *batch, const struct topology *topology, struct batch *ret_batch)
{
    size_t n = batch->plan.n;
    size_t unresolved;
    int result = batch_resolve(topology, batch->models, n, NULL, ret_batch, &unresolved);

    if (result == BATCH_NO_ROUTE)
        batch_fail(batch, -EINVAL, "stream '%s': the topology has no single route for its copy",
                   batch->streams[unresolved].name);
    else if (result)
        batch_fail(batch, -EINVAL, "stream '%s': its kernel is not where its copy ends",
                   batch->streams[unresolved].name);
    return result ? -EINVAL : 0;
}

/* Resolves the same streams on the emulated topology; nodes are matched by name. */
static int prepare_emulator(struct baton_batch *batch, const struct baton_stream streams[])
{
    struct batch_stream models[BATCH_MAX_STREAMS];
    struct batch emulated;
    char message[200];
    int result = batch_models(&batch->batcher->emulated, streams, batch->plan.n, batch->ratio, models,
                              message, sizeof message);
    size_t unresolved;

    if (!result &&
        batch_resolve(&batch->batcher->emulated, models, batch->plan.n, NULL, &emulated, &unresolved)) {
        (void)snprintf(message, sizeof message, "stream '%s': no route", batch->streams[unresolved].name);
        result = -EINVAL;
    }
    if (result) {
        batch_fail(batch, -EINVAL, "%s (in the emulated topology)", message);
        return result;
    }
    batch->emulator = malloc(sizeof *batch->emulator);
    if (!batch->emulator)
        return -ENOMEM;
    batch_emulator_init(batch->emulator, &emulated);
    return 0;
}

/* Sorts streams by planned begin, ties in flow-shop order. */
static void sort_streams(const struct baton_batch *batch, bool by_kernel, size_t ret_order[])
{
    const struct batch *plan = &batch->plan;

    for (size_t k = 0; k < plan->n; k++) {
        size_t i = plan->order[k];
        const struct stream_times *times = batch->timeline.streams;
        size_t at = k;

        for (; at > 0; at--) {
            size_t before = ret_order[at - 1];
            baton_nsec mine = by_kernel ? times[i].kernel_begin : times[i].copy_begin;

            if ((by_kernel ? times[before].kernel_begin : times[before].copy_begin) <= mine)
                break;
            ret_order[at] = before;
        }
        ret_order[at] = i;
    }
}

static void hand_out_tickets(struct baton_batch *batch)
{
    unsigned next[N_LANES] = {0};
    size_t order[BATCH_MAX_STREAMS];

    sort_streams(batch, false, order);
    for (size_t k = 0; k < batch->plan.n && !batch->method->paces; k++) {
        const struct batch_flow *flow = &batch->plan.flows[order[k]];
        struct stream_task *task = &batch->streams[order[k]];

        if (task->kind == COPY_NONE)
            continue;
        for (size_t e = 0; e < flow->n_engines && !batch->method->one_at_a_time; e++)
            task->copy_tickets[task->n_copy_tickets++] =
                (struct ticket){flow->engines[e], next[flow->engines[e]]++};
        if (batch->method->one_at_a_time)
            task->copy_tickets[task->n_copy_tickets++] = (struct ticket){LANE_ALL, next[LANE_ALL]++};
    }
    sort_streams(batch, true, order);
    for (size_t k = 0; k < batch->plan.n; k++) {
        const struct batch_flow *flow = &batch->plan.flows[order[k]];

        if (flow->gpu >= 0) {
            unsigned lane = LANE_EXECUTION((unsigned)flow->gpu);

            batch->streams[order[k]].kernel_ticket = (struct ticket){lane, next[lane]++};
        }
    }
}

int batch_prepare(struct baton_batch *batch, const struct baton_stream streams[], size_t n)
{
    struct baton_batcher *batcher = batch->batcher;
    char message[200];
    int result;

    batch->plan.n = n;
    batch->ratio = batcher->ratio;
    batch->method = batcher->method;
    batch->streams = calloc(n, sizeof *batch->streams);
    batch->models = calloc(n, sizeof *batch->models);
    if (batch->method->paces)
        batch->pacing = malloc(sizeof *batch->pacing);
    if (!batch->streams || !batch->models || (batch->method->paces && !batch->pacing))
        return -ENOMEM;
    result =
        batch_models(&batcher->topology, streams, n, batch->ratio, batch->models, message, sizeof message);
    if (result)
        batch_fail(batch, result, "%s", message);
    for (size_t i = 0; i < n && !result; i++)
        result = plan_stream(batch, &streams[i], i);
    if (!result)
        result = resolve(batch, &batcher->topology, &batch->plan);
    if (!result && batcher->emulates)
        result = prepare_emulator(batch, streams);
    if (!result)
        result = batch_predict(&batch->plan, batch->method, &batch->timeline, batch->pacing);
    if (!result)
        hand_out_tickets(batch);
    return result;
}

void batch_release(struct baton_batch *batch)
{
    for (size_t i = 0; batch->streams && i < batch->plan.n; i++) {
        struct stream_task *task = &batch->streams[i];

        if (task->holds_from)
            task->source->api->drop(task->source->device, &task->from);
        if (task->holds_to)
            task->target->api->drop(task->target->device, &task->to);
        if (task->kernel)
            task->where->api->kernel_free(task->where->device, task->kernel);
        for (size_t s = 0; s < N_STAGES; s++)
            free(task->stage[s]);
        task->holds_from = task->holds_to = false;
        task->kernel = NULL;
        memset(task->stage, 0, sizeof task->stage);
    }
}
