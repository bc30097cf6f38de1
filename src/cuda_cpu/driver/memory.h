/*
 * What the program has allocated, registered or loaded, with the facts that the API can be asked
 * for. One table covers all devices of the process. The bytes come from the space of the device
 * (cuda_cpu/space.h), except for registered memory, which belongs to the program.
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
    MEMORY_ARRAY,      /* the bytes of a CUDA array; the program has no pointer to them */
    MEMORY_MANAGED,    /* cuMemAllocManaged, managed variables */
    MEMORY_HOST,       /* cuMemAllocHost, cuMemHostAlloc */
    MEMORY_REGISTERED, /* cuMemHostRegister */
    MEMORY_VARIABLE,   /* a module's variable: freed with the module */
    MEMORY_MANAGED_VARIABLE,
    MEMORY_GRAPH,    /* of a node that allocates: exists as long as the node, the program's while `live` */
    MEMORY_IMPORTED, /* cuIpcOpenMemHandle */
    MEMORY_MAPPED,   /* cuMemMap; `physical` is what is mapped, `flags` the access allowed */
};

struct memory_block {
    uint64_t address, size;
    enum memory_kind kind;
    int device;                       /* ordinal; for host memory, that of the context that allocated it */
    const void *context;              /* compared, never followed */
    void *pool;                       /* of a stream-ordered allocation, else NULL */
    unsigned flags;                   /* of the call that allocated it */
    uint64_t id;                      /* never used again */
    bool freeing;                     /* a stream will free it; the program may not free it again */
    bool live;                        /* MEMORY_GRAPH: allocated by a launch and not yet freed */
    bool borrowed;                    /* allocated by another process, so not counted here */
    int file;                         /* other processes may map it: 1 + its own descriptor; 0: none */
    uint64_t file_pages, file_offset; /* the file's size, and where in it the block begins */
    uint64_t inode;                   /* MEMORY_IMPORTED: of its file */
    unsigned n_opens;                 /* MEMORY_IMPORTED: how often cuIpcCloseMemHandle is still due */
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
    /* by enum memory_use: operations hold it for reading; the write lock stops them */
    pthread_rwlock_t uses[2];
};

/* Every device has `capacity` bytes. The space is borrowed until the process ends. */
void memory_open(struct space *space, unsigned n_devices, size_t capacity);
struct space *memory_space(void);

/* Fills in address and id. 0, MEMORY_FULL, or -ENOMEM for the table itself. */
int memory_allocate(struct memory_block *request, uint64_t alignment);

/* Enters memory that exists already (registered, variables). 0, MEMORY_OVERLAPS or -ENOMEM. */
int memory_enter(struct memory_block *request);

/*
 * Removes the block that begins at this address and is of one of the kinds (a mask of 1 << kind).
 * *ret_block describes it; memory from the space is returned to the space. 0 or MEMORY_UNKNOWN.
 */
int memory_remove(uint64_t address, unsigned kinds, struct memory_block *ret_block);
/* The same for the block with this id only, whatever its kind. */
int memory_remove_id(uint64_t address, uint64_t id, struct memory_block *ret_block);
/*
 * Announces that a stream will free the memory that begins at the address; no other call may free
 * it from now on. MEMORY_UNKNOWN: no memory that can be freed in this way, or already announced.
 */
int memory_begin_free(uint64_t address, struct memory_block *ret_block);

/*
 * Memory of graphs. live: a launch allocates it; false if it is live already. Not live: it is
 * freed; false if it is not live.
 */
bool memory_set_live(uint64_t address, bool live);
/* The node is gone. Memory that is live stays the program's; other memory is freed. */
void memory_end_graph(uint64_t address, uint64_t id);

/* Removes all blocks of these kinds that belong to the context. */
void memory_remove_context(const void *context, unsigned kinds);

/* The block that contains the address. False: none. */
bool memory_block_at(uint64_t address, struct memory_block *ret_block);

/*
 * May a copy read [address, address + size)? It may read inside one block, in adjacent mapped
 * blocks, and in the program's own memory. The latter is all memory that is neither in a block nor
 * in the space.
 */
bool memory_covers(uint64_t address, uint64_t size);
/* May a copy write [address, address + size)? By the same rule. */
bool memory_takes(uint64_t address, uint64_t size);

/*
 * Does [address, address + size) lie within one block that a program may name by its address, or in
 * adjacent mapped blocks?
 */
bool memory_holds(uint64_t address, uint64_t size);
/* On a GPU, could the host not reach this memory? */
bool memory_is_device_only(const struct memory_block *block);

/* Sets the access to a mapped block (0, 1 read, 3 read and write). The caller maps the pages. */
void memory_set_access(uint64_t address, unsigned flags);

/*
 * Makes the MEMORY_DEVICE block that begins at the address one that other processes may map, and
 * sets its `file`. Waits until no operation of this process runs. 0, MEMORY_UNKNOWN, MEMORY_FULL.
 * name: of the file.
 */
int memory_share(uint64_t address, const char *name, struct memory_block *ret_block);
/* Has the context opened this file already? If so, counts one more open. */
bool memory_open_again(const void *context, uint64_t inode, uint64_t *ret_address);
/* Closes the import once; the last close removes it. False: no imported memory begins there. */
bool memory_close(uint64_t address);
/*
 * Enters memory of another process's file; memory_remove() removes it again. Answers as
 * memory_allocate().
 */
int memory_import(struct memory_block *request, int file);

/*
 * Operations hold memory in place while they access it. A call that changes the pages waits until
 * copies (memory_stop), or also kernels, have released it.
 */
enum memory_use { MEMORY_COPIES, MEMORY_KERNELS };
void memory_begin_use(enum memory_use use);
void memory_end_use(enum memory_use use);
void memory_stop(enum memory_use use);
void memory_go_on(enum memory_use use);

/* pool_api.c: memory of a pool was freed; the pool stops counting it. */
void pool_freed(const struct memory_block *block);
/*
 * ipc_api.c: 64 bytes that describe memory of a pool to other processes, and the memory that they
 * describe.
 */
int pool_describe(uint64_t address, const struct memory_block *block, void *ret_data);
int pool_open(const void *data, struct memory_block *request);

/*
 * Counts memory that has no address yet (cuMemCreate), or stops counting it. False: the device has
 * too little memory left.
 */
bool memory_reserve(int device, uint64_t bytes, bool is_new);

/*
 * Memory of graphs on the device, by CU_GRAPH_MEM_ATTR_*: what launches have allocated and what the
 * nodes hold, at present and at most. memory_forget_most() sets the most to the present value.
 */
uint64_t memory_of_graphs(int device, int attribute);
void memory_forget_most(int device, int attribute);

/* Bytes of the device's memory in use, and in total. */
void memory_usage(int device, size_t *ret_used, size_t *ret_capacity);

#endif
