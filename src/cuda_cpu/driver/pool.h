/* Memory pools: those of the program, and one default pool for each device. */
#ifndef CUDA_CPU_DRIVER_POOL_H
#define CUDA_CPU_DRIVER_POOL_H

#include <pthread.h>

#include "cuda_abi/memory_abi.h"
#include "cuda_cpu/driver/arrival.h"

enum { POOL_ATTRIBUTES = CU_MEMPOOL_ATTR_USED_MEM_HIGH + 1 };

struct CUmemPoolHandle_st {
    int device;
    bool is_default;
    int handle_types;                     /* CU_MEM_HANDLE_TYPE_*: how its memory may be shared */
    bool is_imported;                     /* imported from another process: allocates no memory itself */
    bool gone;                            /* destroyed by the program; ends when its last memory is freed */
    size_t live;                          /* allocations that are not yet freed */
    uint64_t attributes[POOL_ATTRIBUTES]; /* counters and settings, by number */
};

struct driver_pools {
    pthread_mutex_t lock;
    struct CUmemPoolHandle_st defaults[ARRIVAL_DEVICES];
    CUmemoryPool current[ARRIVAL_DEVICES];
    bool made[ARRIVAL_DEVICES];
};

#endif
