/* The calls that allocate, free, register and describe memory. Pools: pool_api.c. */
#include <stdlib.h>

#include "cuda_cpu/driver/advice.h"
#include "cuda_cpu/driver/capture.h"
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/memory.h"

enum { ALIGNMENT = 512, PITCH = 512 };

/* For calls that captures forbid. */
static CUresult enter_unsafe(const char *name)
{
    CUresult code = api_enter(name, API_CONTEXT);

    if (code == CUDA_SUCCESS && atomic_load(&context_of_thread()->n_capturing))
        code = capture_forbid_unsafe();
    return code;
}

static CUresult allocate(enum memory_kind kind, size_t size, unsigned flags, uint64_t *ret_address)
{
    CUcontext context = context_of_thread();
    struct memory_block block = {
        .size = size, .kind = kind, .device = context->work.device, .context = context, .flags = flags};

    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (memory_allocate(&block, ALIGNMENT) != 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *ret_address = block.address;
    return CUDA_SUCCESS;
}

/*
 * Freeing first waits for the work that may use the memory: the documented implicit
 * synchronisation.
 */
static void wait_for_owner(const struct memory_block *block)
{
    CUcontext owner = (CUcontext)block->context;

    if (context_is(owner))
        (void)work_wait_context(&owner->work);
    if (context_of_thread() != owner)
        (void)work_wait_context(&context_of_thread()->work);
}

/* --- device memory --- */

DRIVER_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *ret_address, size_t size)
{
    CUresult code = enter_unsafe(__func__);
    uint64_t address;

    if (code == CUDA_SUCCESS && !ret_address)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = allocate(MEMORY_DEVICE, size, 0, &address);
    if (code == CUDA_SUCCESS)
        *ret_address = address;
    return code;
}

DRIVER_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *ret_address, size_t *ret_pitch, size_t width,
                                          size_t height, unsigned int element)
{
    CUresult code = enter_unsafe(__func__);
    size_t pitch = (width + PITCH - 1) / PITCH * PITCH;
    uint64_t address;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_address || !ret_pitch || !width || !height || pitch < width ||
        (element != 4 && element != 8 && element != 16))
        return CUDA_ERROR_INVALID_VALUE;
    if (height > SIZE_MAX / pitch)
        return CUDA_ERROR_OUT_OF_MEMORY;
    code = allocate(MEMORY_DEVICE, pitch * height, 0, &address);
    if (code == CUDA_SUCCESS) {
        *ret_address = address;
        *ret_pitch = pitch;
    }
    return code;
}

DRIVER_EXPORT CUresult cuMemAllocManaged(CUdeviceptr *ret_address, size_t size, unsigned int flags)
{
    CUresult code = enter_unsafe(__func__);
    uint64_t address;

    if (code == CUDA_SUCCESS &&
        (!ret_address || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = allocate(MEMORY_MANAGED, size, flags, &address);
    if (code == CUDA_SUCCESS)
        *ret_address = address;
    return code;
}

DRIVER_EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
    CUresult code = enter_unsafe(__func__);
    struct memory_block block;

    if (code != CUDA_SUCCESS || !address)
        return code;
    if (memory_set_live(address, false)) { /* a graph's: the node keeps the memory for its next launch */
        (void)work_wait_context(&context_of_thread()->work);
        return CUDA_SUCCESS;
    }
    if (!memory_block_at(address, &block) || block.address != address || block.freeing ||
        (block.kind != MEMORY_DEVICE && block.kind != MEMORY_MANAGED))
        return CUDA_ERROR_INVALID_VALUE;
    wait_for_owner(&block);
    if (memory_remove(address, 1u << MEMORY_DEVICE | 1u << MEMORY_MANAGED, &block) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    pool_freed(&block);
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    size_t used, all;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_free || !ret_total)
        return CUDA_ERROR_INVALID_VALUE;
    memory_usage(context_of_thread()->work.device, &used, &all);
    *ret_free = all - used;
    *ret_total = all;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *ret_base, size_t *ret_size, CUdeviceptr address)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct memory_block block;

    if (code != CUDA_SUCCESS)
        return code;
    if (!memory_block_at(address, &block) || block.kind == MEMORY_ARRAY)
        return CUDA_ERROR_NOT_FOUND;
    if (ret_base)
        *ret_base = block.address;
    if (ret_size)
        *ret_size = block.size;
    return CUDA_SUCCESS;
}

/* --- host memory --- */

DRIVER_EXPORT CUresult cuMemHostAlloc(void **ret_host, size_t size, unsigned int flags)
{
    CUresult code = enter_unsafe(__func__);
    uint64_t address;

    if (code == CUDA_SUCCESS && (!ret_host || flags > 7))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = allocate(MEMORY_HOST, size, flags, &address);
    if (code == CUDA_SUCCESS)
        *ret_host = (void *)(uintptr_t)address;
    return code;
}

DRIVER_EXPORT CUresult cuMemAllocHost_v2(void **ret_host, size_t size)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    return code != CUDA_SUCCESS ? code : cuMemHostAlloc(ret_host, size, CU_MEMHOSTALLOC_DEVICEMAP);
}

DRIVER_EXPORT CUresult cuMemFreeHost(void *host)
{
    CUresult code = enter_unsafe(__func__);
    struct memory_block block;

    if (code != CUDA_SUCCESS || !host)
        return code;
    if (!memory_block_at((uintptr_t)host, &block) || block.address != (uintptr_t)host ||
        block.kind != MEMORY_HOST)
        return CUDA_ERROR_INVALID_VALUE;
    wait_for_owner(&block);
    return memory_remove((uintptr_t)host, 1u << MEMORY_HOST, &block) == 0 ? CUDA_SUCCESS
                                                                          : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuMemHostRegister_v2(void *host, size_t size, unsigned int flags)
{
    CUresult code = enter_unsafe(__func__);
    struct memory_block block = {
        .address = (uintptr_t)host, .size = size, .kind = MEMORY_REGISTERED, .flags = flags};
    int result;

    if (code != CUDA_SUCCESS)
        return code;
    if (!host || !size || flags > 15)
        return CUDA_ERROR_INVALID_VALUE;
    block.context = context_of_thread();
    block.device = context_of_thread()->work.device;
    result = memory_enter(&block);
    return result == 0                 ? CUDA_SUCCESS
           : result == MEMORY_OVERLAPS ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                       : CUDA_ERROR_OUT_OF_MEMORY;
}

DRIVER_EXPORT CUresult cuMemHostUnregister(void *host)
{
    CUresult code = enter_unsafe(__func__);
    struct memory_block block;

    if (code != CUDA_SUCCESS)
        return code;
    if (!host)
        return CUDA_ERROR_INVALID_VALUE;
    if (!memory_block_at((uintptr_t)host, &block) || block.kind != MEMORY_REGISTERED ||
        block.address != (uintptr_t)host)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    wait_for_owner(&block);
    return memory_remove((uintptr_t)host, 1u << MEMORY_REGISTERED, &block) == 0
               ? CUDA_SUCCESS
               : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

static bool is_pinned(const struct memory_block *block)
{
    return block->kind == MEMORY_HOST || block->kind == MEMORY_REGISTERED;
}

DRIVER_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ret_address, void *host, unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct memory_block block;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_address || flags || !memory_block_at((uintptr_t)host, &block) ||
        (!is_pinned(&block) && block.kind != MEMORY_MANAGED))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_address = (uintptr_t)host;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemHostGetFlags(unsigned int *ret_flags, void *host)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct memory_block block;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_flags || !memory_block_at((uintptr_t)host, &block) || !is_pinned(&block))
        return CUDA_ERROR_INVALID_VALUE;
    *ret_flags = block.flags;
    return CUDA_SUCCESS;
}

/* --- hints about managed memory, which every device can reach anyway --- */

static CUresult check_managed(CUdeviceptr address, size_t size)
{
    struct memory_block block;

    if (!size || !memory_block_at(address, &block) ||
        (block.kind != MEMORY_MANAGED && block.kind != MEMORY_MANAGED_VARIABLE) ||
        address + size > block.address + block.size)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static bool is_location(const CUmemLocation *location)
{
    return (location->type == 1 && location->id >= 0 && (unsigned)location->id < driver.n_devices) ||
           (location->type >= 2 && location->type <= 4);
}

DRIVER_EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t size, CUmemLocation location,
                                             unsigned int flags, CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;
    struct action *action;

    if (code == CUDA_SUCCESS)
        code = stream_named(handle, &stream);
    if (code == CUDA_SUCCESS)
        code = check_managed(address, size);
    if (code == CUDA_SUCCESS && flags)
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && !is_location(&location))
        code = CUDA_ERROR_INVALID_DEVICE;
    if (code != CUDA_SUCCESS)
        return code;
    action = action_new(ACTION_EMPTY); /* the action only keeps its place in the stream */
    if (!advice_note(ADVICE_PREFETCHED, address, size, location, true)) {
        action_unref(action);
        action = NULL;
    }
    return action ? stream_do(stream, action, false) : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUmemLocation location_of(CUdevice device)
{
    CUmemLocation location = {.type = device == -1 ? 2 : 1, .id = device == -1 ? 0 : device};

    return location;
}

DRIVER_EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t size, CUdevice device, CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    return code != CUDA_SUCCESS ? code : cuMemPrefetchAsync_v2(address, size, location_of(device), 0, handle);
}

DRIVER_EXPORT CUresult cuMemAdvise_v2(CUdeviceptr address, size_t size, int advice, CUmemLocation location)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code == CUDA_SUCCESS)
        code = check_managed(address, size);
    if (code == CUDA_SUCCESS && (advice < 1 || advice > 6))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS && (advice == 3 || advice == 5) && !is_location(&location))
        code = CUDA_ERROR_INVALID_DEVICE;
    if (code != CUDA_SUCCESS)
        return code;
    /* 1, 3 and 5 set the advice; the number after each of them removes it. */
    return advice_note(advice <= 2   ? ADVICE_READ_MOSTLY
                       : advice <= 4 ? ADVICE_PREFERRED
                                     : ADVICE_ACCESSED_BY,
                       address, size, location, advice % 2)
               ? CUDA_SUCCESS
               : CUDA_ERROR_OUT_OF_MEMORY;
}

DRIVER_EXPORT CUresult cuMemAdvise(CUdeviceptr address, size_t size, int advice, CUdevice device)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    return code != CUDA_SUCCESS ? code : cuMemAdvise_v2(address, size, advice, location_of(device));
}

DRIVER_EXPORT CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t size,
                                              unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = stream_named(handle, &stream);
    if (code == CUDA_SUCCESS && flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
        flags != CU_MEM_ATTACH_SINGLE)
        code = CUDA_ERROR_INVALID_VALUE;
    return code == CUDA_SUCCESS ? check_managed(address, size ? size : 1) : code;
}
