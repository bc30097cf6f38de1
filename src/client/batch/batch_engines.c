#include "client/batch/batch_engines.h"

#include "client/batch/batcher.h"
#include "client/join.h"

enum { MOST_ENGINES = ENGINE_N * TOPOLOGY_MAX_NODES };

/*
 * Which engines of this GPU the commands of the batch run on, as the fronts assign them. The batch
 * must hold all of them: a command that waited for another engine could wait for a batch that waits
 * for this one.
 */
static void mark_used(const struct baton_batch *batch, const struct batcher_gpu *gpu, bool ret_used[ENGINE_N])
{
    for (size_t i = 0; i < batch->plan.n; i++) {
        const struct stream_task *task = &batch->streams[i];

        if (task->where == gpu || (task->kind == COPY_DEVICE && task->target == gpu &&
                                   gpu->api->copy_executes(task->source->device, gpu->device)))
            ret_used[ENGINE_EXECUTION] = true;
        if (task->target == gpu)
            ret_used[ENGINE_COPY_IN] = true;
        if (task->source == gpu)
            ret_used[ENGINE_COPY_OUT] = true;
    }
}

/* Every engine of the plan. If two GPUs are one device, the group counts its engines once. */
static size_t engines_of(const struct baton_batch *batch, struct lease_group_engine ret_engines[MOST_ENGINES])
{
    size_t n = 0;

    for (size_t g = 0; g < batch->batcher->n_gpus; g++) {
        const struct batcher_gpu *gpu = &batch->batcher->gpus[g];
        bool used[ENGINE_N] = {false};
        uintptr_t device;

        mark_used(batch, gpu, used);
        for (int kind = 0; kind < ENGINE_N; kind++) {
            if (!used[kind])
                continue;
            device = gpu->api->device_name(gpu->device, ret_engines[n].device);
            batch->batcher->hooks->name_device(device, ret_engines[n].device);
            ret_engines[n++].engine = (enum engine_kind)kind;
        }
    }
    return n;
}

int batch_take_engines(struct baton_batch *batch)
{
    struct baton_batcher *batcher = batch->batcher;
    struct lease_group_engine engines[MOST_ENGINES];
    size_t n = batcher->hooks ? engines_of(batch, engines) : 0;
    int result = n ? batcher->hooks->group_take(engines, n, &batch->group) : LEASE_GROUP_PASSED;

    if (result == 0)
        (void)atomic_fetch_add(&batcher->granted, 1);
    return result < 0 ? result : 0;
}

void batch_end_engines(struct baton_batch *batch)
{
    if (batch->batcher->hooks)
        batch->batcher->hooks->group_end(&batch->group);
}

void batcher_use(struct baton_batcher *batcher, const struct join_hooks *hooks)
{
    batcher->hooks = hooks;
}

size_t batcher_granted(const struct baton_batcher *batcher)
{
    return atomic_load(&batcher->granted);
}
