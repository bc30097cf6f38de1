/* How many blocks fit: one multiprocessor per device, with the limits of device_attributes.def. */
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/module.h"
#include "cuda_cpu/launch.h"

enum { MOST_RESIDENT_THREADS = 2048, MOST_RESIDENT_BLOCKS = 32 };

static int blocks_that_fit(const struct function *function, int block, size_t dynamic)
{
    size_t shared = function->entry->static_shared_bytes + dynamic;
    size_t fit = MOST_RESIDENT_BLOCKS;
    size_t by_threads =
        MOST_RESIDENT_THREADS / (size_t)((block + LAUNCH_WARP - 1) / LAUNCH_WARP * LAUNCH_WARP);
    unsigned most = function->entry->max_threads ? function->entry->max_threads : LAUNCH_MOST_THREADS;

    if ((unsigned)block > most || (dynamic && dynamic > (size_t)function->most_dynamic))
        return 0;
    fit = by_threads < fit ? by_threads : fit;
    if (shared)
        fit = LAUNCH_MOST_SHARED / shared < fit ? LAUNCH_MOST_SHARED / shared : fit;
    return (int)fit;
}

DRIVER_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks,
                                                                            CUfunction handle, int block,
                                                                            size_t dynamic,
                                                                            unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct function *function = NULL;

    if (code == CUDA_SUCCESS)
        code = function_of_handle(handle, &function);
    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_blocks || block <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_blocks = blocks_that_fit(function, block, dynamic);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, CUfunction function,
                                                                   int block, size_t dynamic)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_blocks, function, block, dynamic, 0);
}

DRIVER_EXPORT CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *ret_grid, int *ret_block,
                                                                 CUfunction handle,
                                                                 CUoccupancyB2DSize dynamic_of,
                                                                 size_t dynamic, int limit,
                                                                 unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct function *function = NULL;
    int best = 0, best_threads = 0;

    if (code == CUDA_SUCCESS)
        code = function_of_handle(handle, &function);
    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_grid || !ret_block || limit < 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    limit = limit && limit < LAUNCH_MOST_THREADS ? limit : LAUNCH_MOST_THREADS;
    for (int block = limit / LAUNCH_WARP * LAUNCH_WARP; block > 0; block -= LAUNCH_WARP) {
        int fit = blocks_that_fit(function, block, dynamic_of ? dynamic_of(block) : dynamic);

        if (fit * block > best_threads) {
            best_threads = fit * block;
            best = block;
            *ret_grid = fit;
        }
    }
    if (!best)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_block = best;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int *ret_grid, int *ret_block, CUfunction function,
                                                        CUoccupancyB2DSize dynamic_of, size_t dynamic,
                                                        int limit)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code != CUDA_SUCCESS)
        return code;
    return cuOccupancyMaxPotentialBlockSizeWithFlags(ret_grid, ret_block, function, dynamic_of, dynamic,
                                                     limit, 0);
}

DRIVER_EXPORT CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *ret_dynamic, CUfunction handle,
                                                               int blocks, int block)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct function *function = NULL;
    size_t room;

    if (code == CUDA_SUCCESS)
        code = function_of_handle(handle, &function);
    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_dynamic || blocks <= 0 || block <= 0 || blocks > MOST_RESIDENT_BLOCKS ||
        blocks * block > MOST_RESIDENT_THREADS)
        return CUDA_ERROR_INVALID_VALUE;
    room = LAUNCH_MOST_SHARED / (size_t)blocks;
    *ret_dynamic =
        room > function->entry->static_shared_bytes ? room - function->entry->static_shared_bytes : 0;
    if (*ret_dynamic > (size_t)function->most_dynamic)
        *ret_dynamic = (size_t)function->most_dynamic;
    return CUDA_SUCCESS;
}
