/* Containers of device code as toolkits embed them, made here from PTX. */
#ifndef CUDA_CONFORMANCE_CONTAINERS_H
#define CUDA_CONFORMANCE_CONTAINERS_H

#include <stddef.h>

enum container_kind {
    CONTAINER_PLAIN,
    CONTAINER_ZSTD,
    CONTAINER_LZ4,
    CONTAINER_MACHINE_CODE, /* no PTX in it */
    CONTAINER_BROKEN,       /* an entry reaches beyond its end */
};

struct container {
    void *bytes; /* owned */
    size_t size;
};

struct container container_make(const char *ptx, enum container_kind kind);
void container_free(struct container *container);

#endif
