/*
 * Virtual memory management: addresses, and memory at addresses (virtual.h).
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "base/list.h"
#include "cuda_abi/memory_calls.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/memory.h"
#include "cuda_cpu/driver/virtual.h"

enum { PAGE = 4096 };

struct mapping {
    struct list link; /* reservation::mappings, by address */
    struct physical *physical;
    uint64_t address, size;
    unsigned access[ARRIVAL_DEVICES]; /* CU_MEM_ACCESS_FLAGS_* of each device */
};

struct reservation {
    struct list link; /* reservations */
    uint64_t address, size;
    struct list mappings;
};

/* --- with the lock held --- */

/* The reservation that contains the range. */
static struct reservation *find_reservation(uint64_t address, uint64_t size)
{
    list_for_each(at, &driver.addresses.reservations)
    {
        struct reservation *reservation = list_entry(at, struct reservation, link);

        if (address - reservation->address < reservation->size &&
            size <= reservation->size - (address - reservation->address))
            return reservation;
    }
    return NULL;
}

static struct mapping *find_mapping(uint64_t address)
{
    struct reservation *reservation = find_reservation(address, 1);

    if (!reservation)
        return NULL;
    list_for_each(at, &reservation->mappings)
    {
        struct mapping *mapping = list_entry(at, struct mapping, link);

        if (address - mapping->address < mapping->size)
            return mapping;
    }
    return NULL;
}

/* Do whole mappings cover the range without a gap? */
static bool is_filled(uint64_t address, uint64_t size)
{
    uint64_t end = address + size;

    if (!size || end < address)
        return false;
    while (address < end) {
        const struct mapping *mapping = find_mapping(address);

        if (!mapping || mapping->address != address || mapping->size > end - address)
            return false;
        address += mapping->size;
    }
    return true;
}

/* --- addresses --- */

static CUresult reserve(uint64_t size, uint64_t alignment, uint64_t wanted, CUdeviceptr *ret_address)
{
    struct reservation *reservation = calloc(1, sizeof *reservation);

    if (!reservation || space_reserve(memory_space(), size, alignment, wanted, &reservation->address) != 0) {
        free(reservation);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    reservation->size = size;
    list_init(&reservation->mappings);
    pthread_mutex_lock(&driver.addresses.lock);
    list_append(&driver.addresses.reservations, &reservation->link);
    pthread_mutex_unlock(&driver.addresses.lock);
    *ret_address = reservation->address;
    return CUDA_SUCCESS;
}

DRIVER_EXPORT CUresult cuMemAddressReserve(CUdeviceptr *ret_address, size_t size, size_t alignment,
                                           CUdeviceptr wanted, unsigned long long flags)
{
    CUresult code = api_enter(__func__, API_READY);

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_address || !size || size % PAGE || (alignment & (alignment - 1)) || flags)
        return CUDA_ERROR_INVALID_VALUE;
    return reserve(size, alignment > VIRTUAL_GRANULARITY ? alignment : VIRTUAL_GRANULARITY, wanted,
                   ret_address);
}

DRIVER_EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t size)
{
    CUresult code = api_enter(__func__, API_READY);
    struct reservation *reservation;

    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&driver.addresses.lock);
    reservation = find_reservation(address, size);
    if (!reservation || reservation->address != address || reservation->size != size ||
        !list_empty(&reservation->mappings)) {
        code = CUDA_ERROR_INVALID_VALUE;
    } else {
        (void)space_release(memory_space(), address);
        list_remove(&reservation->link);
        free(reservation);
    }
    pthread_mutex_unlock(&driver.addresses.lock);
    return code;
}

/* --- memory at addresses --- */

/* With the lock held: inserts the mapping in order of address. */
static void insert_mapping(struct reservation *reservation, struct mapping *mapping)
{
    struct list *at = reservation->mappings.next;

    while (at != &reservation->mappings && list_entry(at, struct mapping, link)->address < mapping->address)
        at = at->next;
    list_insert_before(at, &mapping->link);
}

/* With the lock held. */
static CUresult map(struct reservation *reservation, struct physical *physical, uint64_t address,
                    uint64_t size, uint64_t offset)
{
    struct mapping *mapping = calloc(1, sizeof *mapping);
    struct memory_block block = {.address = address,
                                 .size = size,
                                 .kind = MEMORY_MAPPED,
                                 .device = physical->device,
                                 .physical = physical};

    if (!mapping)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (mmap((void *)(uintptr_t)address, size, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file,
             (off_t)offset) == MAP_FAILED ||
        memory_enter(&block) != 0) {
        (void)mmap((void *)(uintptr_t)address, size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        free(mapping);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    mapping->physical = physical;
    mapping->address = address;
    mapping->size = size;
    physical->n_maps++;
    insert_mapping(reservation, mapping);
    return CUDA_SUCCESS;
}

/* With the lock held: does any mapping overlap the range? */
static bool meets_mapping(const struct reservation *reservation, uint64_t address, uint64_t size)
{
    list_for_each(at, &reservation->mappings)
    {
        const struct mapping *mapping = list_entry(at, struct mapping, link);

        if (mapping->address < address + size && address < mapping->address + mapping->size)
            return true;
    }
    return false;
}

DRIVER_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                                CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    CUresult code = api_enter(__func__, API_READY);
    struct reservation *reservation;
    struct physical *physical;

    if (code != CUDA_SUCCESS)
        return code;
    if (!size || size % VIRTUAL_GRANULARITY || address % VIRTUAL_GRANULARITY ||
        offset % VIRTUAL_GRANULARITY || flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&driver.addresses.lock);
    reservation = find_reservation(address, size);
    physical = physical_find(handle);
    if (!reservation || !physical || offset > physical->size || size > physical->size - offset ||
        meets_mapping(reservation, address, size))
        code = CUDA_ERROR_INVALID_VALUE;
    else
        code = map(reservation, physical, address, size, offset);
    pthread_mutex_unlock(&driver.addresses.lock);
    return code;
}

/* With the lock held and copies stopped. */
static void unmap(struct mapping *mapping)
{
    struct physical *physical = mapping->physical;
    struct memory_block block;

    (void)memory_remove(mapping->address, 1u << MEMORY_MAPPED, &block);
    (void)mmap((void *)(uintptr_t)mapping->address, mapping->size, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    list_remove(&mapping->link);
    free(mapping);
    physical->n_maps--;
    physical_drop(physical);
}

/* A later access by a kernel faults, as on a GPU. Later copies answer an error. */
DRIVER_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t size)
{
    CUresult code = api_enter(__func__, API_READY);
    uint64_t end = address + size;

    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&driver.addresses.lock);
    if (!is_filled(address, size)) {
        code = CUDA_ERROR_INVALID_VALUE;
    } else {
        memory_stop(MEMORY_COPIES);
        while (address < end) {
            struct mapping *mapping = find_mapping(address);

            address += mapping->size;
            unmap(mapping);
        }
        memory_go_on(MEMORY_COPIES);
    }
    pthread_mutex_unlock(&driver.addresses.lock);
    return code;
}

/* --- access --- */

static CUresult check_access(const CUmemAccessDesc access[], size_t n)
{
    if (!access || !n)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < n; i++) {
        if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (access[i].location.id < 0 || (unsigned)access[i].location.id >= driver.n_devices)
            return CUDA_ERROR_INVALID_DEVICE;
        if (access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
            access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            access[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

/* With the lock held and copies stopped. */
static void set_access(struct mapping *mapping, const CUmemAccessDesc access[], size_t n)
{
    unsigned any = 0;

    for (size_t i = 0; i < n; i++)
        mapping->access[access[i].location.id] = (unsigned)access[i].flags;
    for (unsigned i = 0; i < ARRIVAL_DEVICES; i++)
        any |= mapping->access[i];
    memory_set_access(mapping->address, any);
    (void)mprotect((void *)(uintptr_t)mapping->address, mapping->size,
                   any == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE
                   : any                                     ? PROT_READ
                                                             : PROT_NONE);
}

DRIVER_EXPORT CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *access,
                                      size_t n)
{
    CUresult code = api_enter(__func__, API_READY);
    uint64_t end = address + size;

    if (code == CUDA_SUCCESS)
        code = check_access(access, n);
    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&driver.addresses.lock);
    if (!is_filled(address, size)) {
        code = CUDA_ERROR_INVALID_VALUE;
    } else {
        memory_stop(MEMORY_COPIES);
        while (address < end) {
            struct mapping *mapping = find_mapping(address);

            set_access(mapping, access, n);
            address += mapping->size;
        }
        memory_go_on(MEMORY_COPIES);
    }
    pthread_mutex_unlock(&driver.addresses.lock);
    return code;
}

DRIVER_EXPORT CUresult cuMemGetAccess(unsigned long long *ret_flags, const CUmemLocation *location,
                                      CUdeviceptr address)
{
    CUresult code = api_enter(__func__, API_READY);
    const struct mapping *mapping;

    if (code != CUDA_SUCCESS)
        return code;
    if (!ret_flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (location->id < 0 || (unsigned)location->id >= driver.n_devices)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&driver.addresses.lock);
    mapping = find_mapping(address);
    if (mapping)
        *ret_flags = mapping->access[location->id];
    pthread_mutex_unlock(&driver.addresses.lock);
    return mapping ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- what is mapped --- */

DRIVER_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret_handle, void *address)
{
    CUresult code = api_enter(__func__, API_READY);
    struct mapping *mapping;

    if (code != CUDA_SUCCESS)
        return code;
    pthread_mutex_lock(&driver.addresses.lock);
    mapping = ret_handle ? find_mapping((uintptr_t)address) : NULL;
    if (mapping) {
        mapping->physical->n_handles++;
        *ret_handle = (uintptr_t)mapping->physical;
    }
    pthread_mutex_unlock(&driver.addresses.lock);
    return mapping ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
