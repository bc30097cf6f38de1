/* Host memory that the driver pins. */
#include <stdlib.h>

#include "client/batch/batcher.h"

struct host_memory {
    struct list link;    /* baton_batcher::hosts */
    void *host, *handle; /* of gpu->api */
    const struct batcher_gpu *gpu;
};

void *baton_host_alloc(struct baton_batcher *batcher, const char *node, size_t bytes)
{
    const struct batcher_gpu *gpu = NULL;
    struct host_memory *memory;

    for (size_t i = 0; node && i < batcher->n_gpus; i++) {
        if (batcher->gpus[i].node == topology_node(&batcher->topology, node))
            gpu = &batcher->gpus[i];
    }
    memory = gpu ? calloc(1, sizeof *memory) : NULL;
    if (!memory)
        return NULL;
    memory->gpu = gpu;
    memory->host = gpu->api->host_alloc(gpu->device, bytes, &memory->handle);
    if (!memory->host) {
        free(memory);
        return NULL;
    }
    pthread_mutex_lock(&batcher->lock);
    list_append(&batcher->hosts, &memory->link);
    pthread_mutex_unlock(&batcher->lock);
    return memory->host;
}

static void release(struct host_memory *memory)
{
    memory->gpu->api->host_free(memory->gpu->device, memory->host, memory->handle);
    free(memory);
}

void baton_host_free(struct baton_batcher *batcher, void *host)
{
    struct host_memory *found = NULL;

    if (!batcher || !host)
        return;
    pthread_mutex_lock(&batcher->lock);
    list_for_each(at, &batcher->hosts)
    {
        struct host_memory *memory = list_entry(at, struct host_memory, link);

        if (memory->host == host)
            found = memory;
    }
    if (found)
        list_remove(&found->link);
    pthread_mutex_unlock(&batcher->lock);
    if (found)
        release(found);
}

void batcher_free_hosts(struct baton_batcher *batcher)
{
    list_for_each_safe(at, after, &batcher->hosts)
    {
        struct host_memory *memory = list_entry(at, struct host_memory, link);

        list_remove(&memory->link);
        release(memory);
    }
}
