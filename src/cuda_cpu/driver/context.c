/* Contexts: the primary one of each device, those that the program makes, and each thread's stack of them. */
#include <stdlib.h>

#include "cuda_cpu/driver/driver.h"
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/module.h"
#include "cuda_cpu/driver/stream.h"

static _Thread_local struct {
    CUcontext items[DRIVER_CONTEXT_DEPTH];
    unsigned n;
} stack;

CUcontext context_current(void)
{
    return stack.n ? stack.items[stack.n - 1] : NULL;
}

bool context_is(CUcontext context)
{
    return handle_is(context, HANDLE_CONTEXT);
}

/* --- making and ending --- */

static void context_free(CUcontext context)
{
    if (!context)
        return;
    stream_free_all(context);
    module_free_all(context);
    memory_remove_context(context, ~0u);
    free(context);
}

static CUresult context_new(int device, unsigned flags, bool primary, CUcontext *ret_context)
{
    CUcontext context = calloc(1, sizeof *context);

    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work_context_init(&context->work, device);
    context->flags = flags;
    context->primary = primary;
    context->id = ++driver.last_id;
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    context->legacy = stream_new(context, CU_STREAM_LEGACY, 0, 0);
    if (!context->legacy || !handle_put(context, HANDLE_CONTEXT)) {
        context_free(context);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ret_context = context;
    return CUDA_SUCCESS;
}

/* The handle is gone already; waits for what the context has begun. */
static void context_end(CUcontext context)
{
    (void)work_wait_context(&context->work);
    context_free(context);
}

DRIVER_EXPORT CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice device)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_context || (flags & ~(unsigned)CU_CTX_FLAGS_MASK) || (flags & CU_CTX_SCHED_MASK) > 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || (unsigned)device >= driver.n_devices)
        return CUDA_ERROR_INVALID_DEVICE;
    if (stack.n == DRIVER_CONTEXT_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&driver.lock);
    code = context_new(device, flags, false, ret_context);
    pthread_mutex_unlock(&driver.lock);
    if (code == CUDA_SUCCESS)
        stack.items[stack.n++] = *ret_context;
    return code;
}

DRIVER_EXPORT CUresult cuCtxCreate_v4(CUcontext *ret_context, void *params, unsigned int flags,
                                      CUdevice device)
{
    /* NULL: an ordinary context. Anything else asks for a share of the multiprocessors or graphics. */
    return params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(ret_context, flags, device);
}

DRIVER_EXPORT CUresult cuCtxCreate_v3(CUcontext *ret_context, void *params, int n_params, unsigned int flags,
                                      CUdevice device)
{
    return params || n_params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(ret_context, flags, device);
}

DRIVER_EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!context || !context_is(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context->primary || !handle_remove(context, HANDLE_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.n && stack.items[stack.n - 1] == context)
        stack.n--;
    context_end(context);
    return CUDA_SUCCESS;
}

/* --- primary contexts --- */

static bool is_device(CUdevice device)
{
    return device >= 0 && (unsigned)device < driver.n_devices;
}

DRIVER_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice device)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_context)
        return CUDA_ERROR_INVALID_VALUE;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&driver.lock);
    if (!driver.primary[device])
        code = context_new(device, driver.primary_flags[device], true, &driver.primary[device]);
    if (code == CUDA_SUCCESS) {
        driver.primary_refs[device]++;
        *ret_context = driver.primary[device];
    }
    pthread_mutex_unlock(&driver.lock);
    return code;
}

/* Under driver.lock: takes it out of the table, for context_end() without the lock. */
static CUcontext take_primary(CUdevice device)
{
    CUcontext context = driver.primary[device];

    driver.primary[device] = NULL;
    driver.primary_refs[device] = 0;
    if (context)
        handle_remove(context, HANDLE_CONTEXT);
    return context;
}

DRIVER_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult code = api_enter(__func__, API_READY);
    CUcontext ended = NULL;

    if (code != CUDA_SUCCESS)
        return code;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&driver.lock);
    if (driver.primary_refs[device] == 0)
        code = CUDA_ERROR_INVALID_CONTEXT;
    else if (--driver.primary_refs[device] == 0)
        ended = take_primary(device);
    pthread_mutex_unlock(&driver.lock);
    if (ended)
        context_end(ended);
    return code;
}

DRIVER_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUresult code = api_enter(__func__, API_READY);
    CUcontext ended;

    if (code != CUDA_SUCCESS)
        return code;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&driver.lock);
    ended = take_primary(device);
    pthread_mutex_unlock(&driver.lock);
    if (ended)
        context_end(ended);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) || (flags & CU_CTX_SCHED_MASK) > 4)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&driver.lock);
    driver.primary_flags[device] = flags;
    if (driver.primary[device])
        driver.primary[device]->flags = flags;
    pthread_mutex_unlock(&driver.lock);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *ret_flags, int *ret_active)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!ret_flags || !ret_active)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&driver.lock);
    *ret_flags = driver.primary_flags[device];
    *ret_active = driver.primary[device] != NULL;
    pthread_mutex_unlock(&driver.lock);
    return CUDA_SUCCESS;
}

/* --- the thread's stack --- */

DRIVER_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!context || !context_is(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.n == DRIVER_CONTEXT_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stack.items[stack.n++] = context;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *ret_context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!stack.n)
        return CUDA_ERROR_INVALID_CONTEXT;
    stack.n--;
    if (ret_context)
        *ret_context = stack.items[stack.n];
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (context && !context_is(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (stack.n)
        stack.n--;
    if (context)
        stack.items[stack.n++] = context;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetCurrent(CUcontext *ret_context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_context)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_context = context_current();
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetDevice(CUdevice *ret_device)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_device)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_device = context_current()->work.device;
    return CUDA_SUCCESS;
}

/* The given context, or the current one where it is NULL. */
static CUresult choose(CUcontext *context)
{
    if (!*context)
        *context = context_current();
    return context_is(*context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

DRIVER_EXPORT CUresult cuCtxGetDevice_v2(CUdevice *ret_device, CUcontext context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = ret_device ? choose(&context) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_device = context->work.device;
    return code;
}

/* --- properties --- */

DRIVER_EXPORT CUresult cuCtxGetFlags(unsigned int *ret_flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_flags)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_flags = context_current()->flags;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxSetFlags(unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if ((flags & ~(unsigned)CU_CTX_FLAGS_MASK) || (flags & CU_CTX_SCHED_MASK) > 4)
        return CUDA_ERROR_INVALID_VALUE;
    context_current()->flags = flags;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long *ret_id)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = ret_id ? choose(&context) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_id = context->id;
    return code;
}

DRIVER_EXPORT CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *ret_version)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = ret_version ? choose(&context) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_version = 3020;
    return code;
}

DRIVER_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH || limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT ||
        limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (limit == CU_LIMIT_STACK_SIZE && value > 512 << 10)
        return CUDA_ERROR_INVALID_VALUE;
    context_current()->limits[limit] = value;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetLimit(size_t *ret_value, CUlimit limit)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_value || (unsigned)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH || limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT ||
        limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *ret_value = context_current()->limits[limit];
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (ret_least)
        *ret_least = 0;
    if (ret_greatest)
        *ret_greatest = STREAM_MOST_URGENT;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxSetCacheConfig(int config)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (config < 0 || config > 3)
        return CUDA_ERROR_INVALID_VALUE;
    context_current()->cache_config = config;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetCacheConfig(int *ret_config)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_config)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_config = context_current()->cache_config;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxResetPersistingL2Cache(void)
{
    return api_enter(__func__, API_CONTEXT);
}

/* --- peers --- */

DRIVER_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    CUcontext context = context_current();
    uint32_t bit;

    if (code != CUDA_SUCCESS)
        return code;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!context_is(peer) || peer == context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (peer->work.device == context->work.device)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    bit = UINT32_C(1) << peer->work.device;
    return atomic_fetch_or(&context->peers, bit) & bit ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
                                                       : CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    uint32_t bit;

    if (code != CUDA_SUCCESS)
        return code;
    if (!context_is(peer))
        return CUDA_ERROR_INVALID_CONTEXT;
    bit = UINT32_C(1) << peer->work.device;
    return atomic_fetch_and(&context_current()->peers, ~bit) & bit ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

DRIVER_EXPORT CUresult cuCtxSynchronize(void)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (atomic_load(&context_current()->n_capturing))
        return stream_spoil_captures(context_current());
    return work_wait_context(&context_current()->work);
}

DRIVER_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = choose(&context);
    if (code != CUDA_SUCCESS)
        return code;
    if (atomic_load(&context->n_capturing))
        return stream_spoil_captures(context);
    return work_wait_context(&context->work);
}
