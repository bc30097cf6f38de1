/* Properties of contexts: flags, limits, configurations, peers; and waiting for all work of one. */
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/stream.h"

/* --- properties --- */

DRIVER_EXPORT CUresult cuCtxGetFlags(unsigned int *ret_flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_flags)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_flags = context_of_thread()->flags;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxSetFlags(unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!context_are_flags(flags))
        return CUDA_ERROR_INVALID_VALUE;
    context_of_thread()->flags = flags;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long *ret_id)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = ret_id ? context_choose(&context) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        *ret_id = context->id;
    return code;
}

DRIVER_EXPORT CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *ret_version)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = ret_version ? context_choose(&context) : CUDA_ERROR_INVALID_VALUE;
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
    context_of_thread()->limits[limit] = value;
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
    *ret_value = context_of_thread()->limits[limit];
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
    context_of_thread()->cache_config = config;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetCacheConfig(int *ret_config)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_config)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_config = context_of_thread()->cache_config;
    return CUDA_SUCCESS;
}

/* The width of a bank: default, four bytes, eight bytes. Kept and otherwise without effect. */
DRIVER_EXPORT CUresult cuCtxSetSharedMemConfig(int config)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (config < 0 || config > 2)
        return CUDA_ERROR_INVALID_VALUE;
    context_of_thread()->shared_config = config;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuCtxGetSharedMemConfig(int *ret_config)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_config)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_config = context_of_thread()->shared_config;
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
    CUcontext context = context_of_thread();
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
    return atomic_fetch_and(&context_of_thread()->peers, ~bit) & bit ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

DRIVER_EXPORT CUresult cuCtxSynchronize(void)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    if (atomic_load(&context_of_thread()->n_capturing))
        return stream_spoil_captures(context_of_thread());
    return work_wait_context(&context_of_thread()->work);
}

DRIVER_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS)
        code = context_choose(&context);
    if (code != CUDA_SUCCESS)
        return code;
    if (atomic_load(&context->n_capturing))
        return stream_spoil_captures(context);
    return work_wait_context(&context->work);
}
