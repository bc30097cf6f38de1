/* Memory and events of one process in another (shared_memory.h). */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cuda_abi/memory_calls.h"
#include "cuda_cpu/driver/event.h"
#include "cuda_cpu/driver/handles.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/shared_memory.h"

static CUresult code_of(int error)
{
    switch (error) {
    case 0:
        return CUDA_SUCCESS;
    case -EINVAL:
        return CUDA_ERROR_INVALID_HANDLE;
    case -EXDEV: /* a process cannot open what it has exported itself */
        return CUDA_ERROR_INVALID_CONTEXT;
    default:
        return CUDA_ERROR_MAP_FAILED;
    }
}

/* --- memory --- */

/* Fills in a handle for the block that begins at the address. */
static CUresult describe(uint64_t address, enum share_kind kind, const struct memory_block *found,
                         struct share_handle *ret_handle)
{
    struct memory_block block;
    char name[SHARE_NAME];
    int result;

    share_name(found->device, name);
    result = memory_share(address, name, &block);
    if (result != 0)
        return result == MEMORY_FULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
    ret_handle->pages = block.file_pages;
    ret_handle->offset = block.file_offset;
    ret_handle->size = block.size;
    return code_of(share_describe(block.file - 1, kind, ret_handle));
}

/*
 * Maps what the handle names. The caller sets kind, context and pool in *request; the rest is
 * filled in.
 */
static CUresult open_memory(const struct share_handle *handle, enum share_kind kind,
                            struct memory_block *request)
{
    int file = share_open(handle, kind), result;
    uint64_t size;
    CUresult code = file < 0 ? code_of(file) : CUDA_SUCCESS;

    if (code != CUDA_SUCCESS)
        return code;
    request->borrowed = true;
    request->size = handle->size;
    request->file_pages = handle->pages;
    request->file_offset = handle->offset;
    request->inode = handle->inode;
    request->n_opens = 1;
    if (!share_is(file, &request->device, &size) || size != handle->pages) {
        code = CUDA_ERROR_MAP_FAILED;
    } else {
        result = memory_import(request, file);
        code = result == 0 ? CUDA_SUCCESS : CUDA_ERROR_MAP_FAILED;
    }
    (void)close(file);
    return code;
}

DRIVER_EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle *ret_handle, CUdeviceptr address)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct share_handle handle = {0};
    struct memory_block block;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_handle || !memory_block_at(address, &block) || block.address != address ||
        block.kind != MEMORY_DEVICE || block.pool || block.borrowed)
        return CUDA_ERROR_INVALID_VALUE;
    code = describe(address, SHARE_MEMORY, &block, &handle);
    if (code == CUDA_SUCCESS) {
        memset(ret_handle, 0, sizeof *ret_handle);
        memcpy(ret_handle, &handle, sizeof handle);
    }
    return code;
}

DRIVER_EXPORT CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ret_address, CUipcMemHandle given,
                                             unsigned int flags)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct memory_block block = {.kind = MEMORY_IMPORTED};
    struct share_handle handle;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_address || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&handle, &given, sizeof handle);
    block.context = context_of_thread();
    if (memory_open_again(block.context, handle.inode, &block.address))
        code = CUDA_SUCCESS;
    else
        code = open_memory(&handle, SHARE_MEMORY, &block);
    if (code == CUDA_SUCCESS)
        *ret_address = block.address;
    return code;
}

DRIVER_EXPORT CUresult cuIpcOpenMemHandle(CUdeviceptr *ret_address, CUipcMemHandle handle, unsigned int flags)
{
    return cuIpcOpenMemHandle_v2(ret_address, handle, flags);
}

DRIVER_EXPORT CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct memory_block block;

    if (code != CUDA_SUCCESS)
        return code;
    if (!memory_block_at(address, &block) || block.address != address || block.kind != MEMORY_IMPORTED)
        return CUDA_ERROR_INVALID_VALUE;
    (void)work_wait_context(&context_of_thread()->work);
    memory_stop(MEMORY_COPIES);
    code = memory_close(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    memory_go_on(MEMORY_COPIES);
    return code;
}

/* --- events --- */

DRIVER_EXPORT CUresult cuIpcGetEventHandle(CUipcEventHandle *ret_handle, CUevent event)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct share_handle handle = {0};

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_handle)
        return CUDA_ERROR_INVALID_VALUE;
    if (!handle_is(event, HANDLE_EVENT) || !(event->flags & CU_EVENT_INTERPROCESS))
        return CUDA_ERROR_INVALID_HANDLE;
    code = code_of(share_describe(event->file, SHARE_EVENT, &handle));
    if (code == CUDA_SUCCESS) {
        memset(ret_handle, 0, sizeof *ret_handle);
        memcpy(ret_handle, &handle, sizeof handle);
    }
    return code;
}

DRIVER_EXPORT CUresult cuIpcOpenEventHandle(CUevent *ret_event, CUipcEventHandle given)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct share_handle handle;
    int file;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_event)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&handle, &given, sizeof handle);
    file = share_open(&handle, SHARE_EVENT);
    return file < 0 ? code_of(file) : event_new(CU_EVENT_DISABLE_TIMING, file, ret_event);
}

/* --- memory of pools: the pool is exported once, then each pointer --- */

int pool_describe(uint64_t address, const struct memory_block *block, void *ret_data)
{
    struct share_handle handle = {0};
    CUresult code = describe(address, SHARE_POOL_MEMORY, block, &handle);

    if (code == CUDA_SUCCESS)
        memcpy(ret_data, &handle, sizeof handle);
    return (int)code;
}

int pool_open(const void *data, struct memory_block *request)
{
    struct share_handle handle;

    memcpy(&handle, data, sizeof handle);
    return (int)open_memory(&handle, SHARE_POOL_MEMORY, request);
}
