/* Memory pools: the program's, and one of each device that is always there. */
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
    bool is_imported;                     /* of another process: gives no memory of its own */
    bool gone;                            /* the program has destroyed it: it ends with its last memory */
    size_t live;                          /* allocations that are not freed */
    uint64_t attributes[POOL_ATTRIBUTES]; /* by number; counters and settings */
};

struct driver_pools {
    pthread_mutex_t lock;
    struct CUmemPoolHandle_st defaults[ARRIVAL_DEVICES];
    CUmemoryPool current[ARRIVAL_DEVICES];
    bool made[ARRIVAL_DEVICES];
};

#endif
