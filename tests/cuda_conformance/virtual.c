/* Addresses and memory had apart: cuMemAddressReserve, cuMemCreate, cuMemMap, cuMemSetAccess. */
#include <string.h>
#include <unistd.h>

#include "conformance.h"
#include "cuda_abi/memory_calls.h"

static const CUmemAllocationProp usual = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                          .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                          .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static const CUmemAccessDesc read_write = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                           CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static const CUmemAccessDesc read_only = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READ};

static size_t granularity(void)
{
    size_t bytes = 0;

    MUST(cuMemGetAllocationGranularity(&bytes, &usual, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return bytes;
}

static void create_cases(size_t unit)
{
    CUmemAllocationProp about = usual, found;
    CUmemGenericAllocationHandle handle;
    size_t before, after, all;

    MUST(cuMemGetInfo_v2(&before, &all));
    answer("memory without an address", CUDA_SUCCESS, cuMemCreate(&handle, unit, &about, 0));
    MUST(cuMemGetInfo_v2(&after, &all));
    holds("counts as memory of the device", before - after == unit);
    memset(&found, 0, sizeof found);
    answer("its properties", CUDA_SUCCESS, cuMemGetAllocationPropertiesFromHandle(&found, handle));
    holds("are those it was made with", memcmp(&found, &about, sizeof about) == 0);
    answer("it is released", CUDA_SUCCESS, cuMemRelease(handle));
    answer("once", CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
    MUST(cuMemGetInfo_v2(&after, &all));
    holds("and counts no longer", before == after);
    answer("a size that is no multiple of the granularity", CUDA_ERROR_INVALID_VALUE,
           cuMemCreate(&handle, unit + 4096, &about, 0));
    answer("no size", CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, 0, &about, 0));
    answer("flags", CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, unit, &about, 1));
    answer("more than there is", CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, all + unit, &about, 0));
    about.location.id = 99;
    answer("of no device", CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, unit, &about, 0));
    about = usual;
    about.type = 0;
    answer("of no type", CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, unit, &about, 0));
}

static void reserve_cases(size_t unit)
{
    CUdeviceptr address, other;

    answer("addresses", CUDA_SUCCESS, cuMemAddressReserve(&address, 4 * unit, 0, 0, 0));
    holds("are aligned", address % unit == 0);
    answer("are no memory", CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(address, 1, 4));
    answer("nor to be freed as such", CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(address));
    answer("with an alignment", CUDA_SUCCESS, cuMemAddressReserve(&other, unit, 16 * unit, 0, 0));
    holds("that is met", other % (16 * unit) == 0);
    answer("are given back", CUDA_SUCCESS, cuMemAddressFree(other, unit));
    answer("and may be wished for", CUDA_SUCCESS, cuMemAddressReserve(&other, unit, 0, other, 0));
    answer("whole", CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, unit));
    answer("from their beginning", CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address + unit, 3 * unit));
    answer("once", CUDA_SUCCESS, cuMemAddressFree(address, 4 * unit));
    answer("not twice", CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, 4 * unit));
    answer("no addresses", CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&address, 0, 0, 0, 0));
    answer("an alignment that is no power of two", CUDA_ERROR_INVALID_VALUE,
           cuMemAddressReserve(&address, unit, 3 * unit, 0, 0));
    MUST(cuMemAddressFree(other, unit));
}

/* Two pieces of memory behind each other are one range for copies and kernels. */
static void map_cases(size_t unit)
{
    CUmemGenericAllocationHandle first, second, found;
    unsigned long long flags = 9;
    CUdeviceptr address;
    unsigned char *host = pinned(2 * unit);
    bool same = true;

    MUST(cuMemAddressReserve(&address, 4 * unit, 0, 0, 0));
    MUST(cuMemCreate(&first, unit, &usual, 0));
    MUST(cuMemCreate(&second, unit, &usual, 0));
    answer("memory at an address", CUDA_SUCCESS, cuMemMap(address, unit, 0, first, 0));
    answer("where memory is already", CUDA_ERROR_INVALID_VALUE, cuMemMap(address, unit, 0, second, 0));
    answer("beyond the reservation", CUDA_ERROR_INVALID_VALUE,
           cuMemMap(address + 4 * unit, unit, 0, second, 0));
    answer("more than the memory has", CUDA_ERROR_INVALID_VALUE,
           cuMemMap(address + unit, 2 * unit, 0, second, 0));
    answer("not on a multiple of the granularity", CUDA_ERROR_INVALID_VALUE,
           cuMemMap(address + unit + 4096, unit, 0, second, 0));
    answer("behind it", CUDA_SUCCESS, cuMemMap(address + unit, unit, 0, second, 0));
    answer("without access a copy is refused", CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(address, host, 4));
    answer("access to less than what is mapped", CUDA_ERROR_INVALID_VALUE,
           cuMemSetAccess(address, unit / 2, &read_write, 1));
    answer("access to more", CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(address, 3 * unit, &read_write, 1));
    answer("access to both", CUDA_SUCCESS, cuMemSetAccess(address, 2 * unit, &read_write, 1));
    answer("is told", CUDA_SUCCESS, cuMemGetAccess(&flags, &read_write.location, address + unit));
    holds("as it was set", flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    for (size_t i = 0; i < 2 * unit; i++)
        host[i] = (unsigned char)(i * 31 >> 8);
    answer("a copy over both", CUDA_SUCCESS, cuMemcpyHtoD_v2(address, host, 2 * unit));
    memset(host, 0, 2 * unit);
    MUST(cuMemcpyDtoH_v2(host, address, 2 * unit));
    for (size_t i = 0; i < 2 * unit && same; i++)
        same = host[i] == (unsigned char)(i * 31 >> 8);
    holds("holds its bytes", same);
    answer("a copy beyond", CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(address + unit + 1, host, unit));
    answer("the memory at an address", CUDA_SUCCESS,
           cuMemRetainAllocationHandle(&found, (void *)(uintptr_t)(address + unit + 5)));
    holds("is the same handle", found == second);
    MUST(cuMemRelease(found));
    answer("handles may go before mappings", CUDA_SUCCESS, cuMemRelease(first));
    MUST(cuMemRelease(second));
    answer("the memory stays", CUDA_SUCCESS, cuMemsetD8_v2(address, 7, 2 * unit));
    answer("part of a mapping is not unmapped", CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address, unit / 2));
    answer("addresses with memory are not given back", CUDA_ERROR_INVALID_VALUE,
           cuMemAddressFree(address, 4 * unit));
    answer("the first is unmapped", CUDA_SUCCESS, cuMemUnmap(address, unit));
    answer("it is gone", CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(address, 7, 1));
    answer("the second is not", CUDA_SUCCESS, cuMemsetD8_v2(address + unit, 7, unit));
    answer("not twice", CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address, unit));
    MUST(cuMemUnmap(address + unit, unit));
    answer("then the addresses are given back", CUDA_SUCCESS, cuMemAddressFree(address, 4 * unit));
    MUST(cuMemFreeHost(host));
}

/* One memory at two addresses; kernels use it; reading only is enforced. */
static void access_cases(size_t unit)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr one, two;
    CUcontext context = context_open();
    int n = 1, value = 77;
    void *parameters[] = {&one, &n, &value};

    MUST(cuMemCreate(&handle, unit, &usual, 0));
    MUST(cuMemAddressReserve(&one, unit, 0, 0, 0));
    MUST(cuMemAddressReserve(&two, unit, 0, 0, 0));
    MUST(cuMemMap(one, unit, 0, handle, 0));
    MUST(cuMemMap(two, unit, 0, handle, 0));
    MUST(cuMemSetAccess(one, unit, &read_write, 1));
    MUST(cuMemSetAccess(two, unit, &read_only, 1));
    answer("a kernel writes it", CUDA_SUCCESS, launch_one(kernel("fill"), NULL, parameters));
    answer("and ends", CUDA_SUCCESS, cuCtxSynchronize());
    holds("at the other address it is the same memory", word_at(two) == 77);
    answer("a copy into what may only be read", CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(two, &value, 4));
    answer("a set, too", CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(two, 1, 1));
    parameters[0] = &two;
    MUST(launch_one(kernel("fill"), NULL, parameters));
    answer("a kernel that writes it breaks its context", CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    (void)cuCtxDestroy_v2(context);
    context = context_open();
    holds("virtual memory belongs to no context", word_at(two) == 77);
    MUST(cuMemUnmap(two, unit));
    MUST(cuMemUnmap(one, unit));
    parameters[0] = &one;
    MUST(launch_one(kernel("fill"), NULL, parameters));
    answer("what is unmapped is gone for kernels", CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    (void)cuCtxDestroy_v2(context);
    MUST(cuMemAddressFree(one, unit));
    MUST(cuMemAddressFree(two, unit));
    MUST(cuMemRelease(handle));
}

/* Descriptors, within one process; between processes: ipc.c. */
static void descriptor_cases(size_t unit)
{
    CUmemAllocationProp about = usual;
    CUmemGenericAllocationHandle handle, imported;
    CUdeviceptr address;
    int file = -1, other[2];

    MUST(cuMemCreate(&handle, unit, &usual, 0));
    answer("a descriptor of memory", CUDA_SUCCESS,
           cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    answer("of no such type", CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle(&file, handle, 2, 0));
    answer("becomes memory", CUDA_SUCCESS,
           cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)file,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    holds("and stays the program's", close(file) == 0);
    MUST(cuMemAddressReserve(&address, 2 * unit, 0, 0, 0));
    MUST(cuMemMap(address, unit, 0, handle, 0));
    MUST(cuMemMap(address + unit, unit, 0, imported, 0));
    MUST(cuMemSetAccess(address, 2 * unit, &read_write, 1));
    MUST(cuMemsetD32_v2(address + 64, 42, 1));
    MUST(cuCtxSynchronize());
    holds("it is the same memory", word_at(address + unit + 64) == 42);
    MUST(cuMemUnmap(address, 2 * unit));
    MUST(cuMemAddressFree(address, 2 * unit));
    MUST(cuMemRelease(imported));
    MUST(cuMemRelease(handle));
    about.requestedHandleTypes = 0;
    MUST(cuMemCreate(&handle, unit, &about, 0));
    answer("of memory that was not made to be shared", CUDA_ERROR_INVALID_VALUE,
           cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    MUST(cuMemRelease(handle));
    if (pipe(other) == 0) {
        answer("a descriptor of something else", CUDA_ERROR_INVALID_VALUE,
               cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)other[0],
                                              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
        close(other[0]);
        close(other[1]);
    }
    answer("no descriptor", CUDA_ERROR_INVALID_VALUE,
           cuMemImportFromShareableHandle(&imported, (void *)(intptr_t)-1,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}

void virtual_group(void)
{
    CUcontext context = context_open();
    size_t unit = granularity();

    create_cases(unit);
    reserve_cases(unit);
    map_cases(unit);
    descriptor_cases(unit);
    access_cases(unit);
    context_close(context);
}
