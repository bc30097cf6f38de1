#include "cuda/migrate/moved_memory.h"

#include <stdlib.h>

#include "cuda/front.h"

enum { ALIGNMENT = 512 }; /* of an allocation in a region that several share */

CUresult memory_init(void)
{
    CUmemAllocationProp about = {
        .type = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, cuda_front.migrate.places[HOME].device->device}};
    size_t most = 0;

    for (unsigned place = 0; place < cuda_front.migrate.n_places; place++) { /* regions fit everywhere */
        CUresult code;

        about.location.id = cuda_front.migrate.places[place].device->device;
        code = cuda_front.genuine.cuMemGetAllocationGranularity(&cuda_front.migrate.memory.granularity,
                                                                &about, 0);
        if (code != CUDA_SUCCESS || !cuda_front.migrate.memory.granularity)
            return code != CUDA_SUCCESS ? code : CUDA_ERROR_NOT_SUPPORTED;
        most = cuda_front.migrate.memory.granularity > most ? cuda_front.migrate.memory.granularity : most;
    }
    cuda_front.migrate.memory.granularity = most;
    return CUDA_SUCCESS;
}

/* --- with the lock held --- */

static size_t padded(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Where in the list the bytes fit; NULL: nowhere. */
static struct allocation **find_gap(struct region *region, size_t size, CUdeviceptr *ret_address)
{
    struct allocation **at = &region->allocations;
    CUdeviceptr begin = region->address;

    for (;; at = &(*at)->next) {
        CUdeviceptr end = *at ? (*at)->address : region->address + region->size;

        if (end - begin >= size) {
            *ret_address = begin;
            return at;
        }
        if (!*at)
            return NULL;
        begin = (*at)->address + padded((*at)->size);
    }
}

static struct allocation **find_room(size_t size, CUdeviceptr *ret_address, CUresult *ret_code)
{
    bool shares = size <= cuda_front.migrate.memory.granularity / 2;
    struct allocation **at;
    struct region *region;

    *ret_code = CUDA_SUCCESS;
    list_for_each(link, &cuda_front.migrate.memory.regions)
    {
        region = list_entry(link, struct region, link);
        at = shares && region->size == cuda_front.migrate.memory.granularity
                 ? find_gap(region, padded(size), ret_address)
                 : NULL;
        if (at)
            return at;
    }
    *ret_code = region_make(size, cuda_front.migrate.place, &region);
    return *ret_code == CUDA_SUCCESS ? find_gap(region, size, ret_address) : NULL;
}

static struct region *region_of(CUdeviceptr address)
{
    list_for_each(link, &cuda_front.migrate.memory.regions)
    {
        struct region *region = list_entry(link, struct region, link);

        if (address - region->address < region->size)
            return region;
    }
    return NULL;
}

static struct allocation *allocation_of(const struct region *region, CUdeviceptr address)
{
    for (struct allocation *at = region ? region->allocations : NULL; at; at = at->next)
        if (address - at->address < at->size)
            return at;
    return NULL;
}

static void forget(struct region *region, struct allocation **at)
{
    struct allocation *gone = *at;

    *at = gone->next;
    cuda_front.migrate.memory.bytes -= gone->size;
    free(gone->saved);
    free(gone);
    if (!region->allocations)
        region_done(region);
}

/* --- for the program --- */

CUresult memory_alloc(size_t size, CUdeviceptr *ret_address)
{
    struct allocation *fresh = calloc(1, sizeof *fresh), **at;
    CUresult code;

    if (!fresh)
        return CUDA_ERROR_OUT_OF_MEMORY;
    fresh->size = size;
    pthread_mutex_lock(&cuda_front.migrate.memory.lock);
    at = find_room(size, &fresh->address, &code);
    if (at) {
        fresh->next = *at;
        fresh->id = ++cuda_front.migrate.memory.last_id;
        *at = fresh;
        cuda_front.migrate.memory.bytes += size;
        *ret_address = fresh->address;
    }
    pthread_mutex_unlock(&cuda_front.migrate.memory.lock);
    if (!at)
        free(fresh);
    return code;
}

bool memory_free(CUdeviceptr address)
{
    struct region *region;
    struct allocation **at = NULL;

    pthread_mutex_lock(&cuda_front.migrate.memory.lock);
    region = region_of(address);
    if (region)
        for (at = &region->allocations; *at && (*at)->address != address;)
            at = &(*at)->next;
    if (at && *at)
        forget(region, at);
    else
        at = NULL;
    pthread_mutex_unlock(&cuda_front.migrate.memory.lock);
    return at != NULL;
}

void memory_free_all(void)
{
    pthread_mutex_lock(&cuda_front.migrate.memory.lock);
    while (!list_empty(&cuda_front.migrate.memory.regions)) {
        struct region *region = list_entry(cuda_front.migrate.memory.regions.next, struct region, link);
        bool last = false;

        while (!last) {
            last = !region->allocations->next;
            forget(region, &region->allocations);
        }
    }
    pthread_mutex_unlock(&cuda_front.migrate.memory.lock);
}

bool memory_find(CUdeviceptr address, struct allocation *ret_about, bool *ret_ours)
{
    const struct allocation *found;
    const struct region *region;

    pthread_mutex_lock(&cuda_front.migrate.memory.lock);
    region = region_of(address);
    found = allocation_of(region, address);
    *ret_ours = region != NULL;
    if (found)
        *ret_about = (struct allocation){.address = found->address, .size = found->size, .id = found->id};
    pthread_mutex_unlock(&cuda_front.migrate.memory.lock);
    return found != NULL;
}

bool memory_may_touch(CUdeviceptr address, size_t size)
{
    struct allocation about;
    bool ours;

    if (!memory_find(address, &about, &ours))
        return !ours;
    return size <= about.size - (address - about.address);
}

void memory_count(size_t *ret_bytes, size_t *ret_at_home)
{
    *ret_at_home = 0;
    pthread_mutex_lock(&cuda_front.migrate.memory.lock);
    *ret_bytes = cuda_front.migrate.memory.bytes;
    list_for_each(link, &cuda_front.migrate.memory.regions)
    {
        const struct region *region = list_entry(link, struct region, link);

        *ret_at_home += region->rooms[HOME].exists ? region->size : 0;
    }
    pthread_mutex_unlock(&cuda_front.migrate.memory.lock);
}

void memory_open_to_peers(void)
{
    CUdevice there = cuda_front.migrate.places[cuda_front.migrate.place].device->device;

    pthread_mutex_lock(&cuda_front.migrate.memory.lock);
    for (unsigned place = 0; place < cuda_front.migrate.n_places; place++) {
        CUdevice device = cuda_front.migrate.places[place].device->device;
        CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        int can = 0;

        if (place == cuda_front.migrate.place ||
            cuda_front.genuine.cuDeviceCanAccessPeer(&can, device, there) != CUDA_SUCCESS || !can)
            continue;
        list_for_each(link, &cuda_front.migrate.memory.regions)
        {
            const struct region *region = list_entry(link, struct region, link);

            (void)cuda_front.genuine.cuMemSetAccess(region->address, region->size, &access, 1);
        }
    }
    pthread_mutex_unlock(&cuda_front.migrate.memory.lock);
}
