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

/*
 * A container of n entries as toolkits write them: "ptx 80", "elf 80", "elf 90a", "ptx 100f". The
 * text of PTX is its name; "lto 80": an entry of another kind.
 */
struct container container_of(const char *const names[], size_t n);
void container_free(struct container *container);

#endif
