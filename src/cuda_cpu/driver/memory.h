/*
 * What the program has allocated, registered or loaded, with the facts that the API answers
 * questions about: one table over all devices of the process. The bytes themselves come from the
 * space of the device (cuda_cpu/space.h), except for registered memory, which is the program's.
 *
 * All functions may be called from any thread.
 */
#ifndef CUDA_CPU_DRIVER_MEMORY_H
#define CUDA_CPU_DRIVER_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_cpu/space.h"

enum memory_kind {
    MEMORY_DEVICE,     /* cuMemAlloc, pitched, pools */
    MEMORY_ARRAY,      /* the bytes of a CUDA array: no pointer of the program's */
    MEMORY_MANAGED,    /* cuMemAllocManaged, managed variables */
    MEMORY_HOST,       /* cuMemAllocHost, cuMemHostAlloc */
    MEMORY_REGISTERED, /* cuMemHostRegister */
    MEMORY_VARIABLE,   /* a module's variable: freed with the module */
    MEMORY_MANAGED_VARIABLE,
    MEMORY_GRAPH, /* of a node that allocates: there as long as the node, the program's while `live` */
};

struct memory_block {
    uint64_t address, size;
    enum memory_kind kind;
    int device;          /* ordinal; of host memory, that of the context which made it */
    const void *context; /* compared, never followed */
    void *pool;          /* of a stream-ordered allocation, else NULL */
    unsigned flags;      /* of the call that made it */
    uint64_t id;         /* never used again */
    bool freeing;        /* a stream frees it when it comes there: the program may not free it again */
    bool live;           /* MEMORY_GRAPH: allocated by a launch and not freed yet */
};

enum { MEMORY_FULL = 1, MEMORY_UNKNOWN, MEMORY_OVERLAPS };

/* Every device has so many bytes. The space is borrowed until the process ends. */
void memory_open(struct space *space, unsigned n_devices, size_t capacity);
struct space *memory_space(void);

/* Fills in address and id. 0, MEMORY_FULL, or -ENOMEM for the table itself. */
int memory_allocate(struct memory_block *request, uint64_t alignment);

/* Notes memory that is there already (registered, variables). 0, MEMORY_OVERLAPS or -ENOMEM. */
int memory_enter(struct memory_block *request);

/*
 * Removes the block that begins at this address and is of one of the kinds (a mask of 1 << kind),
 * and copies what it was; what came from the space goes back to it. 0 or MEMORY_UNKNOWN.
 */
int memory_remove(uint64_t address, unsigned kinds, struct memory_block *ret_block);
/* The same for the block of this id only, whatever its kind. */
int memory_remove_id(uint64_t address, uint64_t id, struct memory_block *ret_block);
/*
 * A free of memory that begins at the address takes effect later, in stream order: nothing else may
 * free it from here on. MEMORY_UNKNOWN: no memory of the program's that may be freed so, or freed
 * already.
 */
int memory_begin_free(uint64_t address, struct memory_block *ret_block);

/*
 * Memory of graphs: a launch allocates it (false: it is live already), or it is freed (false: it is
 * not live).
 */
bool memory_set_live(uint64_t address, bool live);
/* The node is gone: live memory is the program's, other memory goes back. */
void memory_end_graph(uint64_t address, uint64_t id);

/* Removes everything of those kinds that belongs to the context. */
void memory_remove_context(const void *context, unsigned kinds);

/* The block that contains the address. False: none. */
bool memory_find(uint64_t address, struct memory_block *ret_block);

/*
 * May a copy touch [address, address + size)? It may inside one block, and in the program's own
 * memory, which is all that is neither in a block nor in the space.
 */
bool memory_covers(uint64_t address, uint64_t size);

/* Does [address, address + size) lie within one block that a program may name by its address? */
bool memory_holds(uint64_t address, uint64_t size);

/* pool_api.c: memory of a pool was freed; it counts no longer. */
void pool_freed(const struct memory_block *block);

/* Bytes in use of the device's memory, and all of them. */
void memory_usage(int device, size_t *ret_used, size_t *ret_capacity);

#endif
