/*
 * Virtual memory management: the program gets addresses and memory separately, and combines them.
 *
 *     cuMemAddressReserve   addresses of the space without memory
 *     cuMemCreate           memory without addresses: a memory file (shared_memory.h)
 *     cuMemMap              maps the file at the addresses, at first without access
 *     cuMemSetAccess        gives access
 *
 * Memory lives as long as the program has a handle or a mapping of it, or another process has it.
 * All devices of a process share one address space. So a mapping has the most access that any of
 * its devices was given.
 */
#ifndef CUDA_CPU_DRIVER_VIRTUAL_H
#define CUDA_CPU_DRIVER_VIRTUAL_H

#include "base/list.h"
#include "cuda_abi/memory_abi.h"
#include "cuda_cpu/driver/driver.h"

enum { VIRTUAL_GRANULARITY = 2 << 20 };

/* Memory. The program's handle is its address. */
struct physical {
    struct list link; /* all of them */
    uint64_t size;
    int file, device;
    bool counted; /* counts as memory of the device; imported memory counts where it was made */
    unsigned n_handles, n_maps;
    CUmemAllocationProp about;
};

struct driver_virtual {
    pthread_mutex_t lock;     /* guards all virtual memory; taken before the locks of memory.h */
    struct list physicals;    /* physical::link */
    struct list reservations; /* reservation::link */
};

/* With the lock held. NULL: the program has no such handle. */
struct physical *physical_find(CUmemGenericAllocationHandle handle);
/* With the lock held: frees the memory unless a handle or a mapping is left. */
void physical_drop(struct physical *physical);

#endif
