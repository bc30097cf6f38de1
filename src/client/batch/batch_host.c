/*
 * Host memory that the driver pins: a buffer made with CL_MEM_ALLOC_HOST_PTR and mapped during its
 * whole life. This is OpenCL's way to get page-locked memory.
 */
#include <stdlib.h>

#include "client/batch/batcher.h"

struct host_memory {
    struct list link; /* baton_batcher::hosts */
    void *host;
    cl_mem buffer;
    cl_command_queue queue;
};

void *baton_host_alloc(struct baton_batcher *batcher, const char *node, size_t bytes)
{
    const struct opencl *cl = batcher->cl;
    const struct batcher_gpu *gpu = NULL;
    struct host_memory *memory;
    cl_int error;

    for (size_t i = 0; node && i < batcher->n_gpus; i++) {
        if (batcher->gpus[i].node == topology_node(&batcher->topology, node))
            gpu = &batcher->gpus[i];
    }
    memory = gpu ? calloc(1, sizeof *memory) : NULL;
    if (!memory)
        return NULL;
    memory->queue = gpu->in;
    memory->buffer =
        cl->clCreateBuffer(gpu->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &error);
    if (!memory->buffer || error) {
        free(memory);
        return NULL;
    }
    memory->host = cl->clEnqueueMapBuffer(memory->queue, memory->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
                                          0, bytes, 0, NULL, NULL, &error);
    if (!memory->host || error) {
        cl->clReleaseMemObject(memory->buffer);
        free(memory);
        return NULL;
    }
    pthread_mutex_lock(&batcher->lock);
    list_append(&batcher->hosts, &memory->link);
    pthread_mutex_unlock(&batcher->lock);
    return memory->host;
}

static void release(struct baton_batcher *batcher, struct host_memory *memory)
{
    batcher->cl->clEnqueueUnmapMemObject(memory->queue, memory->buffer, memory->host, 0, NULL, NULL);
    batcher->cl->clFinish(memory->queue);
    batcher->cl->clReleaseMemObject(memory->buffer);
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
        release(batcher, found);
}

void batcher_free_hosts(struct baton_batcher *batcher)
{
    list_for_each_safe(at, after, &batcher->hosts)
    {
        struct host_memory *memory = list_entry(at, struct host_memory, link);

        list_remove(&memory->link);
        release(batcher, memory);
    }
}
