/*
 * Batches of copies. All of a batch is checked before any copy of it is submitted. The copies run
 * in the order of the batch, which is one of the orders that CUDA allows.
 */
#include <stdint.h>

#include "cuda_abi/memory_calls.h"
#include "cuda_cpu/driver/cuda_array.h"
#include "cuda_cpu/driver/copy.h"

static bool is_order(int order)
{
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

static CUresult find_stream(CUstream handle, struct stream **ret_stream)
{
    if (!handle || handle == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_VALUE;
    return stream_named_here(handle, ret_stream);
}

static CUresult check_copy(const CUDA_MEMCPY3D *copy)
{
    CUresult code;

    action_unref(copy_action(copy, &code));
    return code;
}

/* --- between addresses --- */

static CUresult check_attributes(const CUmemcpyAttributes attributes[], const size_t firsts[],
                                 size_t n_attributes, size_t n)
{
    if (!attributes || !firsts || !n_attributes || n_attributes > n || firsts[0] != 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k < n_attributes; k++)
        if (!is_order(attributes[k].srcAccessOrder) || attributes[k].flags > 1 ||
            (k && (firsts[k] <= firsts[k - 1] || firsts[k] >= n)))
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n,
                                          CUmemcpyAttributes *attributes, size_t *firsts, size_t n_attributes,
                                          size_t *ret_failed, CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;
    size_t failed = SIZE_MAX;

    if (code == CUDA_SUCCESS)
        code = find_stream(handle, &stream);
    if (code == CUDA_SUCCESS && (!to || !from || !sizes || !n))
        code = CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS)
        code = check_attributes(attributes, firsts, n_attributes, n);
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++) {
        CUDA_MEMCPY3D copy = copy_line(to[i], from[i], sizes[i]);

        code = sizes[i] ? check_copy(&copy) : CUDA_ERROR_INVALID_VALUE;
        failed = code == CUDA_SUCCESS ? SIZE_MAX : i;
    }
    for (size_t i = 0, k = 0; i < n && code == CUDA_SUCCESS; i++) {
        CUDA_MEMCPY3D copy = copy_line(to[i], from[i], sizes[i]);

        while (k + 1 < n_attributes && firsts[k + 1] <= i)
            k++;
        code = copy_submit(&copy, stream,
                           attributes[k].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
        failed = code == CUDA_SUCCESS ? SIZE_MAX : i;
    }
    if (code != CUDA_SUCCESS && ret_failed)
        *ret_failed = failed;
    return code;
}

DRIVER_EXPORT CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n,
                                             CUmemcpyAttributes *attributes, size_t *firsts,
                                             size_t n_attributes, CUstream stream)
{
    return cuMemcpyBatchAsync(to, from, sizes, n, attributes, firsts, n_attributes, NULL, stream);
}

/* --- boxes --- */

static size_t element_of(const CUmemcpy3DOperand *operand)
{
    return operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY && array_is(operand->op.array.array)
               ? operand->op.array.array->element
               : 0;
}

/* Translates the elements of the batch to the bytes of a copy. False: no such copy. */
static bool box(const CUDA_MEMCPY3D_BATCH_OP *asked, CUDA_MEMCPY3D *ret_copy)
{
    const CUmemcpy3DOperand *from = &asked->src, *to = &asked->dst;
    size_t from_element = element_of(from), to_element = element_of(to);
    size_t element = from_element ? from_element : to_element ? to_element : 1;
    CUDA_MEMCPY3D copy = {.Height = asked->extent.height, .Depth = asked->extent.depth};

    if (!is_order(asked->srcAccessOrder) || asked->flags > 1 || !asked->extent.width ||
        !asked->extent.height || !asked->extent.depth ||
        (from_element && to_element && from_element != to_element))
        return false;
    copy.WidthInBytes = asked->extent.width * element;
    if (from->type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
        copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
        copy.srcDevice = from->op.ptr.ptr;
        copy.srcPitch = (from->op.ptr.rowLength ? from->op.ptr.rowLength : asked->extent.width) * element;
        copy.srcHeight = from->op.ptr.layerHeight ? from->op.ptr.layerHeight : asked->extent.height;
    } else {
        copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.srcArray = from->op.array.array;
        copy.srcXInBytes = from->op.array.offset.x * element;
        copy.srcY = from->op.array.offset.y;
        copy.srcZ = from->op.array.offset.z;
    }
    if (to->type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
        copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
        copy.dstDevice = to->op.ptr.ptr;
        copy.dstPitch = (to->op.ptr.rowLength ? to->op.ptr.rowLength : asked->extent.width) * element;
        copy.dstHeight = to->op.ptr.layerHeight ? to->op.ptr.layerHeight : asked->extent.height;
    } else {
        copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy.dstArray = to->op.array.array;
        copy.dstXInBytes = to->op.array.offset.x * element;
        copy.dstY = to->op.array.offset.y;
        copy.dstZ = to->op.array.offset.z;
    }
    *ret_copy = copy;
    return true;
}

DRIVER_EXPORT CUresult cuMemcpy3DBatchAsync(size_t n, CUDA_MEMCPY3D_BATCH_OP *copies, size_t *ret_failed,
                                            unsigned long long flags, CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;
    size_t failed = SIZE_MAX;
    CUDA_MEMCPY3D copy;

    if (code == CUDA_SUCCESS)
        code = find_stream(handle, &stream);
    if (code == CUDA_SUCCESS && (!copies || !n || flags))
        code = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++) {
        code = box(&copies[i], &copy) ? check_copy(&copy) : CUDA_ERROR_INVALID_VALUE;
        failed = code == CUDA_SUCCESS ? SIZE_MAX : i;
    }
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++) {
        (void)box(&copies[i], &copy);
        code = copy_submit(&copy, stream,
                           copies[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
        failed = code == CUDA_SUCCESS ? SIZE_MAX : i;
    }
    if (code != CUDA_SUCCESS && ret_failed)
        *ret_failed = failed;
    return code;
}

DRIVER_EXPORT CUresult cuMemcpy3DBatchAsync_v2(size_t n, CUDA_MEMCPY3D_BATCH_OP *copies,
                                               unsigned long long flags, CUstream stream)
{
    return cuMemcpy3DBatchAsync(n, copies, NULL, flags, stream);
}

/* --- per-thread default streams --- */

static CUstream own(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

DRIVER_EXPORT CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n,
                                               CUmemcpyAttributes *attributes, size_t *firsts,
                                               size_t n_attributes, size_t *ret_failed, CUstream stream)
{
    return cuMemcpyBatchAsync(to, from, sizes, n, attributes, firsts, n_attributes, ret_failed, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t n,
                                                  CUmemcpyAttributes *attributes, size_t *firsts,
                                                  size_t n_attributes, CUstream stream)
{
    return cuMemcpyBatchAsync(to, from, sizes, n, attributes, firsts, n_attributes, NULL, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpy3DBatchAsync_ptsz(size_t n, CUDA_MEMCPY3D_BATCH_OP *copies, size_t *ret_failed,
                                                 unsigned long long flags, CUstream stream)
{
    return cuMemcpy3DBatchAsync(n, copies, ret_failed, flags, own(stream));
}

DRIVER_EXPORT CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t n, CUDA_MEMCPY3D_BATCH_OP *copies,
                                                    unsigned long long flags, CUstream stream)
{
    return cuMemcpy3DBatchAsync(n, copies, NULL, flags, own(stream));
}
