/*
 * The handles of the program: which addresses are live objects of which kind. A call with any other
 * handle gets an error, and the handle is never followed.
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
    HANDLE_KERNEL, /* of a library; accepted where a function is expected */
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

/* Open addressing in a power-of-two table, at most half of it used or gone. */
struct driver_handles {
    pthread_mutex_t lock;
    struct driver_handle *entries;
    size_t room, used;
};

/* owner: the context with which the object ends, or NULL. False: no memory. */
bool handle_put(const void *handle, enum handle_kind kind, const void *owner);
bool handle_is(const void *handle, enum handle_kind kind);
/* False: no such handle. If several threads remove the same handle, one of them gets true. */
bool handle_remove(const void *handle, enum handle_kind kind);
/* Removes one handle of the kind that belongs to the owner. NULL: none is left. */
void *handle_take(const void *owner, enum handle_kind kind);

#endif
