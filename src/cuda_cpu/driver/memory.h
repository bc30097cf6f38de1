/*
 * What the program has allocated, registered or loaded, with the facts that the API answers
 * questions about: one table over all devices of the process. The bytes themselves come from the
 * space of the device (cuda_cpu/space.h), except for registered memory, which is the program's.
 *
 * All functions may be called from any thread.
 */
#ifndef CUDA_CPU_DRIVER_MEMORY_H
#define CUDA_CPU_DRIVER_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda_abi/memory_abi.h"
#include "cuda_cpu/driver/arrival.h"
#include "cuda_cpu/space.h"

enum memory_kind {
    MEMORY_DEVICE,     /* cuMemAlloc, pitched, pools */
    MEMORY_ARRAY,      /* the bytes of a CUDA array: no pointer of the program's */
    MEMORY_MANAGED,    /* cuMemAllocManaged, managed variables */
    MEMORY_HOST,       /* cuMemAllocHost, cuMemHostAlloc */
    MEMORY_REGISTERED, /* cuMemHostRegister */
    MEMORY_VARIABLE,   /* a module's variable: freed with the module */
    MEMORY_MANAGED_VARIABLE,
    MEMORY_GRAPH,    /* of a node that allocates: there as long as the node, the program's while `live` */
    MEMORY_IMPORTED, /* cuIpcOpenMemHandle */
    MEMORY_MAPPED,   /* cuMemMap: what it maps is in `physical`, what may be done with it in `flags` */
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
    bool borrowed;       /* another process has allocated it: it is not counted here */
    int file;            /* other processes may map it: a descriptor, which it owns, + 1. 0: none */
    uint64_t file_pages, file_offset; /* the file's size, and where in it the block begins */
    uint64_t inode;                   /* MEMORY_IMPORTED: of its file */
    unsigned n_opens;                 /* MEMORY_IMPORTED: cuIpcCloseMemHandle is due so many times */
    void *physical;                   /* MEMORY_MAPPED */
};

enum { MEMORY_FULL = 1, MEMORY_UNKNOWN, MEMORY_OVERLAPS };

enum { MEMORY_GRAPH_ATTRIBUTES = CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH + 1 };

struct driver_memory {
    pthread_mutex_t lock;
    struct space *space;
    struct memory_block *blocks; /* sorted by address */
    size_t n, room;
    uint64_t last_id;
    size_t capacity, used[ARRIVAL_DEVICES];
    uint64_t graphs[ARRIVAL_DEVICES][MEMORY_GRAPH_ATTRIBUTES]; /* by CU_GRAPH_MEM_ATTR_* */
    pthread_rwlock_t uses[2]; /* by enum memory_use: read by operations, written to stop them */
};

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
 * May a copy read [address, address + size)? It may inside one block, in mapped blocks that follow
 * each other, and in the program's own memory, which is all that is neither in a block nor in the
 * space.
 */
bool memory_covers(uint64_t address, uint64_t size);
/* The same, for writing. */
bool memory_takes(uint64_t address, uint64_t size);

/*
 * Does [address, address + size) lie within one block that a program may name by its address, or in
 * mapped blocks that follow each other?
 */
bool memory_holds(uint64_t address, uint64_t size);
/* Is it memory that the host cannot reach on a GPU? */
bool memory_is_device_only(const struct memory_block *block);

/* Sets what may be done with a mapped block (0, 1 read, 3 read and write); the caller maps. */
void memory_set_access(uint64_t address, unsigned flags);

/*
 * Makes the block that begins at the address and is MEMORY_DEVICE one that other processes may map:
 * its `file` is set then. Waits until no operation of this process runs. 0, MEMORY_UNKNOWN,
 * MEMORY_FULL. name: of the file.
 */
int memory_share(uint64_t address, const char *name, struct memory_block *ret_block);
/* Has the context opened that file already? Counts it once more. */
bool memory_open_again(const void *context, uint64_t inode, uint64_t *ret_address);
/* Closes it once; the last time it is gone. False: no imported memory begins there. */
bool memory_close(uint64_t address);
/*
 * Enters memory of another process's file; what memory_remove takes out again. As memory_allocate.
 */
int memory_import(struct memory_block *request, int file);

/*
 * Operations of the machine hold memory in place while they access it. What changes the pages under
 * them waits for the copies (memory_stop), or for kernels, too.
 */
enum memory_use { MEMORY_COPIES, MEMORY_KERNELS };
void memory_begin_use(enum memory_use use);
void memory_end_use(enum memory_use use);
void memory_stop(enum memory_use use);
void memory_go_on(enum memory_use use);

/* pool_api.c: memory of a pool was freed; it counts no longer. */
void pool_freed(const struct memory_block *block);
/* ipc_api.c: 64 bytes for other processes about memory of a pool, and the memory that they name. */
int pool_describe(uint64_t address, const struct memory_block *block, void *ret_data);
int pool_open(const void *data, struct memory_block *request);

/*
 * Counts memory that has no address yet (cuMemCreate), or no longer counts it. False: the device
 * has no such memory left.
 */
bool memory_count(int device, uint64_t bytes, bool is_new);

/*
 * Memory of graphs on the device, by CU_GRAPH_MEM_ATTR_*: what launches have allocated and what the
 * nodes hold, now and at most. memory_forget_most: the most is what there is now.
 */
uint64_t memory_of_graphs(int device, int attribute);
void memory_forget_most(int device, int attribute);

/* Bytes in use of the device's memory, and all of them. */
void memory_usage(int device, size_t *ret_used, size_t *ret_capacity);

#endif
