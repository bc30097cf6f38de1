/* Questions about pointers: cuPointerGetAttribute and related calls. */
#include <string.h>

#include "cuda_cpu/driver/driver.h"
#include "cuda_abi/driver_calls.h"
#include "cuda_cpu/driver/memory.h"

/* The value of an attribute, and its size in bytes. */
struct pointer_answer {
    uint64_t value;
    size_t size;
};

static bool is_host(const struct memory_block *block)
{
    return block->kind == MEMORY_HOST || block->kind == MEMORY_REGISTERED;
}

static CUresult answer(int attribute, CUdeviceptr pointer, const struct memory_block *block,
                       struct pointer_answer *ret_answer)
{
    bool managed = block->kind == MEMORY_MANAGED || block->kind == MEMORY_MANAGED_VARIABLE;

    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *ret_answer = (struct pointer_answer){(uintptr_t)block->context, sizeof(void *)};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *ret_answer = (struct pointer_answer){is_host(block) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, 4};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *ret_answer = (struct pointer_answer){pointer, 8};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *ret_answer = (struct pointer_answer){pointer, sizeof(void *)};
        return is_host(block) || managed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *ret_answer =
            (struct pointer_answer){block->kind == MEMORY_DEVICE && !block->pool && !block->borrowed, 4};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        *ret_answer = (struct pointer_answer){0, 4};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *ret_answer = (struct pointer_answer){block->id, 8};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *ret_answer = (struct pointer_answer){managed, 4};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *ret_answer = (struct pointer_answer){(uint64_t)block->device, 4};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *ret_answer = (struct pointer_answer){block->address, 8};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *ret_answer = (struct pointer_answer){block->size, sizeof(size_t)};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *ret_answer = (struct pointer_answer){1, 4};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *ret_answer = (struct pointer_answer){block->kind == MEMORY_MAPPED, 8}; /* descriptors only */
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: /* 3: read and write */
        *ret_answer = (struct pointer_answer){block->kind == MEMORY_MAPPED ? block->flags : 3, 4};
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *ret_answer = (struct pointer_answer){(uintptr_t)block->pool, sizeof(void *)};
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

DRIVER_EXPORT CUresult cuPointerGetAttribute(void *ret_data, CUpointer_attribute attribute,
                                             CUdeviceptr pointer)
{
    CUresult code = api_enter(__func__, API_READY);
    struct pointer_answer found;
    struct memory_block block;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_data || !memory_block_at(pointer, &block) || block.kind == MEMORY_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    code = answer(attribute, pointer, &block, &found);
    if (code == CUDA_SUCCESS)
        memcpy(ret_data, &found.value, found.size);
    return code;
}

/* An unknown pointer is answered with zeros, not with an error. */
DRIVER_EXPORT CUresult cuPointerGetAttributes(unsigned int n, CUpointer_attribute *attributes,
                                              void **ret_data, CUdeviceptr pointer)
{
    CUresult code = api_enter(__func__, API_READY);
    struct memory_block block = {.kind = MEMORY_DEVICE}, none = block;
    bool known;

    if (code != CUDA_SUCCESS)
        return code;
    if (!n || !attributes || !ret_data)
        return CUDA_ERROR_INVALID_VALUE;
    known = memory_block_at(pointer, &block) && block.kind != MEMORY_ARRAY;
    for (unsigned i = 0; i < n; i++) {
        struct pointer_answer found = {0, 0};

        code = answer(attributes[i], pointer, known ? &block : &none, &found);
        if (code != CUDA_SUCCESS && found.size == 0)
            return code;
        if (!known || code != CUDA_SUCCESS)
            found.value = 0;
        if (!known && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
            found.value = (uint64_t)-2;
        if (!ret_data[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(ret_data[i], &found.value, found.size);
    }
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                             CUdeviceptr pointer)
{
    CUresult code = api_enter(__func__, API_READY);
    struct memory_block block;

    if (code != CUDA_SUCCESS)
        return code;
    /* The attribute asks that copies of this memory wait for their end. All copies here do that. */
    return value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && memory_block_at(pointer, &block)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}
