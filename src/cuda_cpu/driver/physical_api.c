/* Virtual memory management: memory without addresses (virtual.h). */
#include "cuda_cpu/driver/virtual.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_abi/memory_calls.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/shared_memory.h"

struct physical *physical_find(CUmemGenericAllocationHandle handle)
{
    list_for_each(at, &driver.addresses.physicals)
    {
        struct physical *physical = list_entry(at, struct physical, link);

        if ((uintptr_t)physical == handle && physical->n_handles)
            return physical;
    }
    return NULL;
}

void physical_drop(struct physical *physical)
{
    if (physical->n_handles || physical->n_maps)
        return;
    if (physical->counted)
        (void)memory_reserve(physical->device, physical->size, false);
    (void)close(physical->file);
    list_remove(&physical->link);
    free(physical);
}

static CUresult check_about(const CUmemAllocationProp *about)
{
    if (!about || about->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (about->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
        (about->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return CUDA_ERROR_NOT_SUPPORTED;
    return about->location.id >= 0 && (unsigned)about->location.id < driver.n_devices
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_DEVICE;
}

/* Takes over the file. Answers the handle's value; 0: no memory. */
static CUmemGenericAllocationHandle enter_physical(int file, uint64_t size, bool counted,
                                                   const CUmemAllocationProp *about)
{
    struct physical *physical = calloc(1, sizeof *physical);

    if (!physical) {
        (void)close(file);
        return 0;
    }
    *physical = (struct physical){.size = size,
                                  .file = file,
                                  .device = about->location.id,
                                  .counted = counted,
                                  .n_handles = 1,
                                  .about = *about};
    pthread_mutex_lock(&driver.addresses.lock);
    list_append(&driver.addresses.physicals, &physical->link);
    pthread_mutex_unlock(&driver.addresses.lock);
    return (uintptr_t)physical;
}

DRIVER_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t size,
                                   const CUmemAllocationProp *about, unsigned long long flags)
{
    CUresult code = api_enter(__func__, API_READY);
    CUmemGenericAllocationHandle handle;
    int file;

    if (code == CUDA_SUCCESS && (!ret_handle || !size || size % VIRTUAL_GRANULARITY || flags))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = check_about(about);
    if (code != CUDA_SUCCESS)
        return code;
    if (!memory_reserve(about->location.id, size, true))
        return CUDA_ERROR_OUT_OF_MEMORY;
    file = share_new(about->location.id, size);
    handle = file < 0 ? 0 : enter_physical(file, size, true, about);
    if (!handle) {
        (void)memory_reserve(about->location.id, size, false);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *ret_handle = handle;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult code = api_enter(__func__, API_READY);
    struct physical *physical;

    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&driver.addresses.lock);
    physical = physical_find(handle);
    if (physical) {
        physical->n_handles--;
        physical_drop(physical);
    }
    pthread_mutex_unlock(&driver.addresses.lock);
    return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuMemGetAllocationGranularity(size_t *ret_granularity,
                                                     const CUmemAllocationProp *about, int which)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code == CUDA_SUCCESS && (!ret_granularity || (which != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                                                      which != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = check_about(about);
    if (code == CUDA_SUCCESS)
        *ret_granularity = VIRTUAL_GRANULARITY;
    return code;
}

DRIVER_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *ret_about,
                                                              CUmemGenericAllocationHandle handle)
{
    CUresult code = api_enter(__func__, API_READY);
    const struct physical *physical;

    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&driver.addresses.lock);
    physical = ret_about ? physical_find(handle) : NULL;
    if (physical)
        *ret_about = physical->about;
    pthread_mutex_unlock(&driver.addresses.lock);
    return physical ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- between processes: descriptors --- */

DRIVER_EXPORT CUresult cuMemExportToShareableHandle(void *ret_shareable, CUmemGenericAllocationHandle handle,
                                                    int type, unsigned long long flags)
{
    CUresult code = api_enter(__func__, API_READY);
    const struct physical *physical;
    int file = -1;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_shareable || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&driver.addresses.lock);
    physical = physical_find(handle);
    if (!physical || !(physical->about.requestedHandleTypes & type))
        code = CUDA_ERROR_INVALID_VALUE;
    /* without close-on-exec: a program may pass the descriptor on by exec */
    else if ((file = dup(physical->file)) < 0)
        code = CUDA_ERROR_OPERATING_SYSTEM;
    pthread_mutex_unlock(&driver.addresses.lock);
    if (code == CUDA_SUCCESS)
        memcpy(ret_shareable, &file, sizeof file);
    return code;
}

/* The descriptor stays with the program. */
DRIVER_EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret_handle,
                                                      void *shareable, int type)
{
    CUresult code = api_enter(__func__, API_READY);
    CUmemAllocationProp about = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle;
    uint64_t size;
    int file;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !share_is((int)(intptr_t)shareable, &about.location.id, &size) || size % VIRTUAL_GRANULARITY)
        return CUDA_ERROR_INVALID_VALUE;
    file = dup((int)(intptr_t)shareable);
    handle = file < 0 ? 0 : enter_physical(file, size, false, &about);
    if (!handle)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *ret_handle = handle;
    return CUDA_SUCCESS;
}
