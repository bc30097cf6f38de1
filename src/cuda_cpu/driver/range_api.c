/* Questions about ranges of managed memory, and batches of hints about them. */
#include <string.h>

#include "cuda_abi/driver_calls.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_cpu/driver/advice.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/stream.h"

enum { DEVICE_CPU = -1, DEVICE_INVALID = -2 };

static bool is_managed(CUdeviceptr address, size_t size)
{
    struct memory_block block;

    return size && memory_block_at(address, &block) &&
           (block.kind == MEMORY_MANAGED || block.kind == MEMORY_MANAGED_VARIABLE) &&
           size <= block.address + block.size - address;
}

/* The devices with advice to access the whole range, then CU_DEVICE_INVALID. */
static void list_devices(int32_t *ret_devices, size_t room, CUdeviceptr address, size_t count)
{
    size_t n = 0;

    for (unsigned device = 0; device <= driver.n_devices && n < room; device++) {
        bool is_host = device == driver.n_devices;
        CUmemLocation location = {is_host ? 2 : 1, is_host ? 0 : (int)device};

        if (advice_holds(ADVICE_ACCESSED_BY, address, count, &location))
            ret_devices[n++] = is_host ? DEVICE_CPU : (int)device;
    }
    while (n < room)
        ret_devices[n++] = DEVICE_INVALID;
}

static int32_t answer_about(int attribute, CUdeviceptr address, size_t count)
{
    bool of_prefetch = attribute == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION ||
                       attribute >= CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE;
    CUmemLocation location = {0, 0};
    bool has = advice_holds(attribute == CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ? ADVICE_READ_MOSTLY
                            : of_prefetch                                   ? ADVICE_PREFETCHED
                                                                            : ADVICE_PREFERRED,
                            address, count, &location);

    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        return has;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        return !has ? DEVICE_INVALID : location.type == 1 ? location.id : DEVICE_CPU;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        return has ? location.type : 0;
    default:
        return has ? location.id : 0;
    }
}

DRIVER_EXPORT CUresult cuMemRangeGetAttribute(void *ret_data, size_t size, int attribute, CUdeviceptr address,
                                              size_t count)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    int32_t value;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_data || attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
        attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID || !is_managed(address, count) ||
        !size || size % 4 || (attribute != CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY && size != 4))
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
        list_devices(ret_data, size / 4, address, count);
    } else {
        value = answer_about(attribute, address, count);
        memcpy(ret_data, &value, sizeof value);
    }
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemRangeGetAttributes(void **ret_data, size_t *sizes, int *attributes, size_t n,
                                               CUdeviceptr address, size_t count)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    if (code == CUDA_SUCCESS && (!ret_data || !sizes || !attributes || !n))
        code = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n && code == CUDA_SUCCESS; i++)
        code = cuMemRangeGetAttribute(ret_data[i], sizes[i], attributes[i], address, count);
    return code;
}

/* --- memory of graphs --- */

static CUresult check_graph_attribute(const char *name, CUdevice device, int attribute, const void *value)
{
    CUresult code = api_enter(name, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (device < 0 || (unsigned)device >= driver.n_devices)
        return CUDA_ERROR_INVALID_DEVICE;
    return value && attribute >= CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT &&
                   attribute <= CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

DRIVER_EXPORT CUresult cuDeviceGetGraphMemAttribute(CUdevice device, int attribute, void *ret_value)
{
    CUresult code = check_graph_attribute(__func__, device, attribute, ret_value);
    uint64_t value;

    if (code != CUDA_SUCCESS)
        return code;
    value = memory_of_graphs(device, attribute);
    memcpy(ret_value, &value, sizeof value);
    return CUDA_SUCCESS;
}

/* Only high-water marks can be set, and only to zero. */
DRIVER_EXPORT CUresult cuDeviceSetGraphMemAttribute(CUdevice device, int attribute, void *value)
{
    CUresult code = check_graph_attribute(__func__, device, attribute, value);
    uint64_t wanted;

    if (code != CUDA_SUCCESS)
        return code;
    memcpy(&wanted, value, sizeof wanted);
    if (wanted ||
        (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
        return CUDA_ERROR_INVALID_VALUE;
    memory_forget_most(device, attribute);
    return CUDA_SUCCESS;
}

/* --- batches --- */

/* Batches may go into any stream but the legacy default stream. */
static CUresult find_stream(CUstream handle, struct stream **ret_stream)
{
    if (!handle || handle == CU_STREAM_LEGACY)
        return CUDA_ERROR_INVALID_VALUE;
    return stream_named(handle, ret_stream);
}

/* firsts[k]: the index of the first of the n ranges that entry k applies to. */
static bool is_grouping(const size_t firsts[], size_t n_groups, size_t n)
{
    if (!firsts || !n_groups || n_groups > n || firsts[0] != 0)
        return false;
    for (size_t k = 1; k < n_groups; k++)
        if (firsts[k] <= firsts[k - 1] || firsts[k] >= n)
            return false;
    return true;
}

static CUresult check_ranges(const CUdeviceptr addresses[], const size_t sizes[], size_t n,
                             unsigned long long flags)
{
    if (!addresses || !sizes || !n || flags)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++)
        if (!is_managed(addresses[i], sizes[i]))
            return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult keep_place(struct stream *stream)
{
    struct action *action = action_new(ACTION_EMPTY);

    return action ? stream_do(stream, action, false) : CUDA_ERROR_OUT_OF_MEMORY;
}

DRIVER_EXPORT CUresult cuMemPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t n,
                                               CUmemLocation *locations, size_t *firsts, size_t n_locations,
                                               unsigned long long flags, CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = find_stream(handle, &stream);
    if (code == CUDA_SUCCESS)
        code = check_ranges(addresses, sizes, n, flags);
    if (code == CUDA_SUCCESS && (!locations || !is_grouping(firsts, n_locations, n)))
        code = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0, k = 0; i < n && code == CUDA_SUCCESS; i++) {
        while (k + 1 < n_locations && firsts[k + 1] <= i)
            k++;
        code = cuMemPrefetchAsync_v2(addresses[i], sizes[i], locations[k], 0, handle);
    }
    return code;
}

/* The bytes keep their values, which is one of the outcomes that CUDA allows. */
DRIVER_EXPORT CUresult cuMemDiscardBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t n,
                                              unsigned long long flags, CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);
    struct stream *stream = NULL;

    if (code == CUDA_SUCCESS)
        code = find_stream(handle, &stream);
    if (code == CUDA_SUCCESS)
        code = check_ranges(addresses, sizes, n, flags);
    return code == CUDA_SUCCESS ? keep_place(stream) : code;
}

DRIVER_EXPORT CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t n,
                                                         CUmemLocation *locations, size_t *firsts,
                                                         size_t n_locations, unsigned long long flags,
                                                         CUstream handle)
{
    CUresult code = api_enter(__func__, API_CONTEXT);

    return code != CUDA_SUCCESS
               ? code
               : cuMemPrefetchBatchAsync(addresses, sizes, n, locations, firsts, n_locations, flags, handle);
}

/* --- per-thread default streams --- */

static CUstream own(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

DRIVER_EXPORT CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t n,
                                                    CUmemLocation *locations, size_t *firsts,
                                                    size_t n_locations, unsigned long long flags,
                                                    CUstream stream)
{
    return cuMemPrefetchBatchAsync(addresses, sizes, n, locations, firsts, n_locations, flags, own(stream));
}

DRIVER_EXPORT CUresult cuMemDiscardBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t n,
                                                   unsigned long long flags, CUstream stream)
{
    return cuMemDiscardBatchAsync(addresses, sizes, n, flags, own(stream));
}

DRIVER_EXPORT CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t n,
                                                              CUmemLocation *locations, size_t *firsts,
                                                              size_t n_locations, unsigned long long flags,
                                                              CUstream stream)
{
    return cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, n, locations, firsts, n_locations, flags,
                                             own(stream));
}
