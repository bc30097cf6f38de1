/*
 * The handles that the program holds: which addresses are live objects of which kind. A handle that
 * was never given out, or was destroyed, is answered with an error and never followed.
 */
#ifndef CUDA_CPU_DRIVER_HANDLES_H
#define CUDA_CPU_DRIVER_HANDLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

enum handle_kind {
    HANDLE_CONTEXT = 1,
    HANDLE_STREAM,
    HANDLE_EVENT,
    HANDLE_MODULE,
    HANDLE_LIBRARY,
    HANDLE_FUNCTION,
    HANDLE_KERNEL, /* of a library: may stand where a function is asked for */
    HANDLE_ARRAY,
    HANDLE_MIPMAP,
    HANDLE_POOL,
    HANDLE_GRAPH,
    HANDLE_NODE,
    HANDLE_EXEC,
    HANDLE_LINK,
    HANDLE_TEXTURE,
    HANDLE_SURFACE,
    HANDLE_GREEN,
};

struct driver_handle;

/* Open addressing with a power of two of places, at most half of them used or gone. */
struct driver_handles {
    pthread_mutex_t lock;
    struct driver_handle *entries;
    size_t room, used;
};

/* owner: the context that it ends with, or NULL. False: no memory. */
bool handle_put(const void *handle, enum handle_kind kind, const void *owner);
bool handle_is(const void *handle, enum handle_kind kind);
/* False: it was not one. Of several threads that remove the same handle one gets true. */
bool handle_remove(const void *handle, enum handle_kind kind);
/* Removes one handle of the kind that belongs to the owner. NULL: none is left. */
void *handle_take(const void *owner, enum handle_kind kind);

#endif
