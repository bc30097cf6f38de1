/*
 * Contexts: the primary one of each device, those that the program makes, and each thread's stack
 * of them.
 */
#include <stdlib.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/cuda_array.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/event.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/module.h"
#include "cuda_cpu/driver/stream.h"

static void push(CUcontext context)
{
    driver_thread.stack.items[driver_thread.stack.n].context = context;
    driver_thread.stack.items[driver_thread.stack.n++].id = context->id;
}

CUcontext context_of_thread(void)
{
    return driver_thread.stack.n ? driver_thread.stack.items[driver_thread.stack.n - 1].context : NULL;
}

bool context_current_is_live(void)
{
    return driver_thread.stack.n && context_is(context_of_thread()) &&
           context_of_thread()->id == driver_thread.stack.items[driver_thread.stack.n - 1].id;
}

bool context_is(CUcontext context)
{
    return handle_is(context, HANDLE_CONTEXT);
}

bool context_are_flags(unsigned flags)
{
    unsigned way = flags & CU_CTX_SCHED_MASK;

    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && (way <= 2 || way == CU_CTX_BLOCKING_SYNC);
}

/* --- making and ending --- */

/* Frees everything that belongs to the context, whose work is done. */
static void context_empty(CUcontext context)
{
    stream_free_all(context);
    event_end_all(context);
    work_wait_last(&context->work);
    texture_end_all(context);
    array_end_all(context);
    link_end_all(context);
    module_free_all(context);
    memory_remove_context(context, ~0u);
}

/*
 * Makes the context new again, in place. A primary context keeps its id, since it keeps its handle.
 */
static CUresult context_fill(CUcontext context, int device, unsigned flags, bool primary)
{
    unsigned long long id = context->id ? context->id : ++driver.last_id;

    *context = (struct CUctx_st){.flags = flags, .primary = primary, .id = id, .life = ++driver.last_life};
    work_context_init(&context->work, device);
    context->limits[CU_LIMIT_STACK_SIZE] = 1024;
    context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    context->limits[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
    context->legacy = stream_make(context, CU_STREAM_LEGACY, 0, 0);
    if (context->legacy && handle_put(context, HANDLE_CONTEXT, NULL))
        return CUDA_SUCCESS;
    context_empty(context);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Ends a context whose handle is already removed. Waits for the work that it has begun. */
static void context_end(CUcontext context)
{
    (void)work_wait_context(&context->work);
    context_empty(context);
}

DRIVER_EXPORT CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice device)
{
    CUresult code = api_enter(__func__, API_READY);
    CUcontext context;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_context || !context_are_flags(flags))
        return CUDA_ERROR_INVALID_VALUE;
    if (device < 0 || (unsigned)device >= driver.n_devices)
        return CUDA_ERROR_INVALID_DEVICE;
    if (driver_thread.stack.n == DRIVER_CONTEXT_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    context = calloc(1, sizeof *context);
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&driver.lock);
    code = context_fill(context, device, flags, false);
    pthread_mutex_unlock(&driver.lock);
    if (code != CUDA_SUCCESS) {
        free(context);
        return code;
    }
    push(context);
    *ret_context = context;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxCreate_v4(CUcontext *ret_context, void *params, unsigned int flags,
                                      CUdevice device)
{
    /*
     * NULL: an ordinary context. Other parameters ask for a share of the multiprocessors, or for
     * graphics.
     */
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
    if (context_of_thread() == context)
        driver_thread.stack.n--;
    context_end(context);
    free(context);
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
    if (!driver.primary[device] && !(driver.primary[device] = calloc(1, sizeof *driver.primary[device])))
        code = CUDA_ERROR_OUT_OF_MEMORY;
    else if (!driver.primary_refs[device])
        code = context_fill(driver.primary[device], device, driver.primary_flags[device], true);
    if (code == CUDA_SUCCESS) {
        driver.primary_refs[device]++;
        *ret_context = driver.primary[device];
    }
    pthread_mutex_unlock(&driver.lock);
    return code;
}

/* The structure stays, so that the program gets the same handle next time. */
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
        ended = driver.primary[device];
    if (ended)
        (void)handle_remove(ended, HANDLE_CONTEXT);
    pthread_mutex_unlock(&driver.lock);
    if (ended)
        context_end(ended);
    return code;
}

/* Frees what the context has. The context itself is as new, and retained as often as before. */
DRIVER_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUresult code = api_enter(__func__, API_READY);
    CUcontext context;

    if (code != CUDA_SUCCESS)
        return code;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&driver.lock);
    context = driver.primary_refs[device] ? driver.primary[device] : NULL;
    if (context)
        (void)handle_remove(context, HANDLE_CONTEXT);
    pthread_mutex_unlock(&driver.lock);
    if (!context)
        return CUDA_SUCCESS;
    context_end(context);
    pthread_mutex_lock(&driver.lock);
    code = context_fill(context, device, driver.primary_flags[device], true);
    pthread_mutex_unlock(&driver.lock);
    return code;
}

DRIVER_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!is_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!context_are_flags(flags))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&driver.lock);
    driver.primary_flags[device] = flags;
    if (driver.primary_refs[device])
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
    *ret_active = driver.primary_refs[device] != 0;
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
    if (driver_thread.stack.n == DRIVER_CONTEXT_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    push(context);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *ret_context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!driver_thread.stack.n)
        return CUDA_ERROR_INVALID_CONTEXT;
    driver_thread.stack.n--;
    if (ret_context)
        *ret_context = driver_thread.stack.items[driver_thread.stack.n].context;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (context && !context_is(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (driver_thread.stack.n)
        driver_thread.stack.n--;
    if (context)
        push(context);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetCurrent(CUcontext *ret_context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_context)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_context = context_of_thread();
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetDevice(CUdevice *ret_device)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_device)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_device = context_of_thread()->work.device;
    return CUDA_SUCCESS;
}

CUresult context_choose(CUcontext *context)
{
    if (!*context)
        *context = context_of_thread();
    return context_is(*context) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

DRIVER_EXPORT CUresult cuCtxGetDevice_v2(CUdevice *ret_device, CUcontext context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = ret_device ? context_choose(&context) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_device = context->work.device;
    return code;
}
