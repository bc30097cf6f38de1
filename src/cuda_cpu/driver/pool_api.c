/*
 * Memory in stream order, and pools of it. An allocation has its memory when the call returns,
 * which is no later than its stream may use it. A free takes effect when its stream reaches it.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_cpu/driver/capture.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/graph_memory.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/shared_memory.h"

enum { ALIGNMENT = 512 };

static void pool_init(CUmemoryPool pool, int device)
{
    pool->device = device;
    pool->attributes[CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = 1;
    pool->attributes[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] = 1;
    pool->attributes[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES] = 1;
}

/* The device's default pool; *ret_current: the pool that allocations without a pool use. */
static CUmemoryPool default_pool(int device, CUmemoryPool *ret_current)
{
    CUmemoryPool pool = &driver.pools.defaults[device];

    pthread_mutex_lock(&driver.pools.lock);
    if (!driver.pools.made[device]) {
        pool_init(pool, device);
        pool->is_default = true;
        driver.pools.current[device] = pool;
        driver.pools.made[device] = handle_put(pool, HANDLE_POOL, NULL);
    }
    if (ret_current)
        *ret_current = driver.pools.current[device];
    pthread_mutex_unlock(&driver.pools.lock);
    return pool;
}

/*
 * Counts memory of the pool, as used and as reserved: freed memory returns to the device at once.
 */
static void count(CUmemoryPool pool, int64_t bytes)
{
    uint64_t *of = pool->attributes;
    bool over;

    pthread_mutex_lock(&driver.pools.lock);
    pool->live = bytes > 0 ? pool->live + 1 : pool->live - 1;
    of[CU_MEMPOOL_ATTR_USED_MEM_CURRENT] += (uint64_t)bytes;
    of[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] += (uint64_t)bytes;
    if (of[CU_MEMPOOL_ATTR_USED_MEM_CURRENT] > of[CU_MEMPOOL_ATTR_USED_MEM_HIGH])
        of[CU_MEMPOOL_ATTR_USED_MEM_HIGH] = of[CU_MEMPOOL_ATTR_USED_MEM_CURRENT];
    if (of[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT] > of[CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH])
        of[CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH] = of[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT];
    over = pool->gone && !pool->live;
    pthread_mutex_unlock(&driver.pools.lock);
    if (over)
        free(pool);
}

void pool_freed(const struct memory_block *block)
{
    if (block->pool)
        count(block->pool, -(int64_t)block->size);
}

static CUresult allocate(CUmemoryPool pool, size_t size, CUstream handle, CUdeviceptr *ret_address)
{
    struct memory_block block = {.size = size, .kind = MEMORY_DEVICE, .device = pool->device, .pool = pool};
    struct stream *stream = NULL;
    struct action *action;
    CUresult code = stream_named_here(handle, &stream);

    if (code != CUDA_SUCCESS)
        return code;
    if (!size || !ret_address)
        return CUDA_ERROR_INVALID_VALUE;
    if (pool->is_imported)
        return CUDA_ERROR_NOT_PERMITTED;
    if (stream_is_capturing(stream))
        return graph_memory_capture(stream, pool->device, size, ret_address);
    block.context = stream->context;
    if (memory_allocate(&block, ALIGNMENT) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    count(pool, (int64_t)size);
    action = action_new(ACTION_EMPTY); /* the action only keeps the call's place in the stream */
    code = action ? stream_do(stream, action, false) : CUDA_ERROR_OUT_OF_MEMORY;
    if (code == CUDA_SUCCESS)
        *ret_address = block.address;
    else if (memory_remove(block.address, 1u << MEMORY_DEVICE, &block) == 0)
        pool_freed(&block);
    return code;
}

DRIVER_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *ret_address, size_t size, CUstream stream)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    CUmemoryPool pool;

    if (code != CUDA_SUCCESS)
        return code;
    (void)default_pool(context_of_thread()->work.device, &pool);
    return allocate(pool, size, stream, ret_address);
}

DRIVER_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ret_address, size_t size, CUmemoryPool pool,
                                               CUstream stream)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    return handle_is(pool, HANDLE_POOL) ? allocate(pool, size, stream, ret_address)
                                        : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct memory_block block;
    struct stream *stream = NULL;
    struct action *action;

    if (code == CUDA_SUCCESS)
        code = stream_named_here(handle, &stream);
    if (code != CUDA_SUCCESS || !address)
        return code;
    if (stream_is_capturing(stream))
        return graph_memory_capture_free(stream, address);
    if (memory_set_live(address, false)) /* a graph's: the node keeps the memory for its next launch */
        return CUDA_SUCCESS;
    action = action_new(ACTION_FREE);
    if (!action)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (memory_begin_free(address, &block) != 0) {
        action_unref(action);
        return CUDA_ERROR_INVALID_VALUE;
    }
    action->u.free.address = address;
    action->u.free.id = block.id;
    return stream_do(stream, action, false);
}

/* --- pools --- */

static CUmemoryPool new_pool(int device)
{
    CUmemoryPool pool = calloc(1, sizeof *pool);

    if (!pool || !handle_put(pool, HANDLE_POOL, NULL)) {
        free(pool);
        return NULL;
    }
    pool_init(pool, device);
    return pool;
}

DRIVER_EXPORT CUresult cuMemPoolCreate(CUmemoryPool *ret_pool, const CUmemPoolProps *about)
{
    CUresult code = api_enter(__func__, API_READY);
    CUmemoryPool pool;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_pool || !about || about->allocType != 1 || about->location.type != 1)
        return CUDA_ERROR_INVALID_VALUE;
    if (about->handleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (about->location.id < 0 || (unsigned)about->location.id >= driver.n_devices)
        return CUDA_ERROR_INVALID_DEVICE;
    pool = new_pool(about->location.id);
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pool->handle_types = about->handleTypes;
    *ret_pool = pool;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult code = api_enter(__func__, API_READY);
    bool over;
    int device;

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(pool, HANDLE_POOL) || pool->is_default || !handle_remove(pool, HANDLE_POOL))
        return CUDA_ERROR_INVALID_VALUE;
    device = pool->device;
    (void)default_pool(device, NULL);
    pthread_mutex_lock(&driver.pools.lock);
    if (driver.pools.current[device] == pool)
        driver.pools.current[device] = &driver.pools.defaults[device];
    pool->gone = true;
    over = !pool->live;
    pthread_mutex_unlock(&driver.pools.lock);
    if (over)
        free(pool);
    return CUDA_SUCCESS;
}

static CUresult check_device(const char *name, CUdevice device, const void *argument)
{
    CUresult code = api_enter(name, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (device < 0 || (unsigned)device >= driver.n_devices)
        return CUDA_ERROR_INVALID_DEVICE;
    return argument ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *ret_pool, CUdevice device)
{
    CUresult code = check_device(__func__, device, ret_pool);

    if (code == CUDA_SUCCESS)
        *ret_pool = default_pool(device, NULL);
    return code;
}

DRIVER_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool *ret_pool, CUdevice device)
{
    CUresult code = check_device(__func__, device, ret_pool);

    if (code == CUDA_SUCCESS)
        (void)default_pool(device, ret_pool);
    return code;
}

DRIVER_EXPORT CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    CUresult code = check_device(__func__, device, pool);

    if (code != CUDA_SUCCESS)
        return code;
    if (!handle_is(pool, HANDLE_POOL) || pool->device != device)
        return CUDA_ERROR_INVALID_VALUE;
    (void)default_pool(device, NULL);
    pthread_mutex_lock(&driver.pools.lock);
    driver.pools.current[device] = pool;
    pthread_mutex_unlock(&driver.pools.lock);
    return CUDA_SUCCESS;
}

static CUresult check_pool(const char *name, CUmemoryPool pool)
{
    CUresult code = api_enter(name, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    return handle_is(pool, HANDLE_POOL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- the same, by location --- */

static CUresult check_location(const CUmemLocation *location, int type)
{
    if (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemGetDefaultMemPool(CUmemoryPool *ret_pool, CUmemLocation *location, int type)
{
    CUresult code = check_location(location, type);

    return code == CUDA_SUCCESS ? cuDeviceGetDefaultMemPool(ret_pool, location->id) : code;
}

DRIVER_EXPORT CUresult cuMemGetMemPool(CUmemoryPool *ret_pool, CUmemLocation *location, int type)
{
    CUresult code = check_location(location, type);

    return code == CUDA_SUCCESS ? cuDeviceGetMemPool(ret_pool, location->id) : code;
}

DRIVER_EXPORT CUresult cuMemSetMemPool(CUmemLocation *location, int type, CUmemoryPool pool)
{
    CUresult code = check_location(location, type);

    return code == CUDA_SUCCESS ? cuDeviceSetMemPool(location->id, pool) : code;
}

static bool is_flag(int attribute)
{
    return attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

DRIVER_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                                             void *ret_value)
{
    CUresult code = check_pool(__func__, pool);
    uint64_t value;
    int flag;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_value || (int)attribute < 1 || (int)attribute >= POOL_ATTRIBUTES)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&driver.pools.lock);
    value = pool->attributes[attribute];
    pthread_mutex_unlock(&driver.pools.lock);
    flag = (int)value;
    memcpy(ret_value, is_flag(attribute) ? (const void *)&flag : &value,
           is_flag(attribute) ? sizeof flag : sizeof value);
    return CUDA_SUCCESS;
}

/* High-water marks can only be reset to zero; present values cannot be set. */
DRIVER_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    CUresult code = check_pool(__func__, pool);
    uint64_t wanted = 0;
    int flag;

    if (code != CUDA_SUCCESS)
        return code;
    if (!value || (int)attribute < 1 || (int)attribute >= POOL_ATTRIBUTES ||
        attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT || attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_flag(attribute)) {
        memcpy(&flag, value, sizeof flag);
        wanted = flag != 0;
    } else {
        memcpy(&wanted, value, sizeof wanted);
    }
    if (attribute > CU_MEMPOOL_ATTR_RELEASE_THRESHOLD && wanted)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&driver.pools.lock);
    pool->attributes[attribute] = attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH
                                      ? pool->attributes[CU_MEMPOOL_ATTR_USED_MEM_CURRENT]
                                  : attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH
                                      ? pool->attributes[CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT]
                                      : wanted;
    pthread_mutex_unlock(&driver.pools.lock);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t least)
{
    (void)least; /* a pool keeps no free memory */
    return check_pool(__func__, pool);
}

/* --- pools and their memory in other processes --- */

/* The descriptor names the pool's device only; memory is exported pointer by pointer. */
DRIVER_EXPORT CUresult cuMemPoolExportToShareableHandle(void *ret_shareable, CUmemoryPool pool, int type,
                                                        unsigned long long flags)
{
    CUresult code = check_pool(__func__, pool);
    int file, own;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_shareable || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !(pool->handle_types & type))
        return CUDA_ERROR_INVALID_VALUE;
    own = share_new(pool->device, 0);
    file = own < 0 ? -1 : dup(own); /* without close-on-exec: a program may pass the descriptor on by exec */
    if (own >= 0)
        (void)close(own);
    if (file < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(ret_shareable, &file, sizeof file);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *ret_pool, void *shareable, int type,
                                                          unsigned long long flags)
{
    CUresult code = api_enter(__func__, API_READY);
    CUmemoryPool pool;
    uint64_t size;
    int device;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_pool || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !share_is((int)(intptr_t)shareable, &device, &size) || size != 0)
        return CUDA_ERROR_INVALID_VALUE;
    pool = new_pool(device);
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pool->is_imported = true;
    *ret_pool = pool;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *ret_data, CUdeviceptr address)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct memory_block block;
    CUmemoryPool pool;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_data || !memory_block_at(address, &block) || block.address != address || !block.pool)
        return CUDA_ERROR_INVALID_VALUE;
    pool = block.pool;
    if (!pool->handle_types)
        return CUDA_ERROR_INVALID_VALUE;
    memset(ret_data, 0, sizeof *ret_data);
    return (CUresult)pool_describe(address, &block, ret_data);
}

/* Imported memory is freed like other memory of pools. */
DRIVER_EXPORT CUresult cuMemPoolImportPointer(CUdeviceptr *ret_address, CUmemoryPool pool,
                                              CUmemPoolPtrExportData *data)
{
    CUresult code = check_pool(__func__, pool);
    struct memory_block block = {.kind = MEMORY_DEVICE, .pool = pool};

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_address || !data || !pool->is_imported)
        return CUDA_ERROR_INVALID_VALUE;
    code = (CUresult)pool_open(data, &block);
    if (code != CUDA_SUCCESS)
        return code;
    count(pool, (int64_t)block.size);
    *ret_address = block.address;
    return CUDA_SUCCESS;
}

/* Every device may access the memory of every other device, so there is nothing to set. */
DRIVER_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t n)
{
    CUresult code = check_pool(__func__, pool);

    if (code != CUDA_SUCCESS)
        return code;
    for (size_t i = 0; i < n; i++)
        if (!access || access[i].location.type != 1 || access[i].location.id < 0 ||
            (unsigned)access[i].location.id >= driver.n_devices)
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemPoolGetAccess(int *ret_flags, CUmemoryPool pool, CUmemLocation *location)
{
    CUresult code = check_pool(__func__, pool);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_flags || !location || location->type != 1)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_flags = 3;
    return CUDA_SUCCESS;
}
