#include "cuda/migrate/moved_memory.h"

#include <stdlib.h>

#include "cuda/genuine.h"

enum { ALIGNMENT = 512 }; /* of an allocation in a region that several share */

struct memory own_memory = {.lock = PTHREAD_MUTEX_INITIALIZER,
                            .regions = {&own_memory.regions, &own_memory.regions}};

CUresult memory_init(void)
{
    CUmemAllocationProp about = {
        .type = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, migrate.places[HOME].device->device}};
    size_t most = 0;

    for (unsigned place = 0; place < migrate.n_places; place++) { /* regions fit everywhere */
        CUresult code;

        about.location.id = migrate.places[place].device->device;
        code = genuine.cuMemGetAllocationGranularity(&own_memory.granularity, &about, 0);
        if (code != CUDA_SUCCESS || !own_memory.granularity)
            return code != CUDA_SUCCESS ? code : CUDA_ERROR_NOT_SUPPORTED;
        most = own_memory.granularity > most ? own_memory.granularity : most;
    }
    own_memory.granularity = most;
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
    bool shares = size <= own_memory.granularity / 2;
    struct allocation **at;
    struct region *region;

    *ret_code = CUDA_SUCCESS;
    list_for_each(link, &own_memory.regions)
    {
        region = list_entry(link, struct region, link);
        at = shares && region->size == own_memory.granularity ? find_gap(region, padded(size), ret_address)
                                                              : NULL;
        if (at)
            return at;
    }
    *ret_code = region_make(size, migrate.place, &region);
    return *ret_code == CUDA_SUCCESS ? find_gap(region, size, ret_address) : NULL;
}

static struct region *region_of(CUdeviceptr address)
{
    list_for_each(link, &own_memory.regions)
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
    own_memory.bytes -= gone->size;
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
    pthread_mutex_lock(&own_memory.lock);
    at = find_room(size, &fresh->address, &code);
    if (at) {
        fresh->next = *at;
        fresh->id = ++own_memory.last_id;
        *at = fresh;
        own_memory.bytes += size;
        *ret_address = fresh->address;
    }
    pthread_mutex_unlock(&own_memory.lock);
    if (!at)
        free(fresh);
    return code;
}

bool memory_free(CUdeviceptr address)
{
    struct region *region;
    struct allocation **at = NULL;

    pthread_mutex_lock(&own_memory.lock);
    region = region_of(address);
    if (region)
        for (at = &region->allocations; *at && (*at)->address != address;)
            at = &(*at)->next;
    if (at && *at)
        forget(region, at);
    else
        at = NULL;
    pthread_mutex_unlock(&own_memory.lock);
    return at != NULL;
}

void memory_free_all(void)
{
    pthread_mutex_lock(&own_memory.lock);
    while (!list_empty(&own_memory.regions)) {
        struct region *region = list_entry(own_memory.regions.next, struct region, link);
        bool last = false;

        while (!last) {
            last = !region->allocations->next;
            forget(region, &region->allocations);
        }
    }
    pthread_mutex_unlock(&own_memory.lock);
}

bool memory_find(CUdeviceptr address, struct allocation *ret_about, bool *ret_ours)
{
    const struct allocation *found;
    const struct region *region;

    pthread_mutex_lock(&own_memory.lock);
    region = region_of(address);
    found = allocation_of(region, address);
    *ret_ours = region != NULL;
    if (found)
        *ret_about = (struct allocation){.address = found->address, .size = found->size, .id = found->id};
    pthread_mutex_unlock(&own_memory.lock);
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
    pthread_mutex_lock(&own_memory.lock);
    *ret_bytes = own_memory.bytes;
    list_for_each(link, &own_memory.regions)
    {
        const struct region *region = list_entry(link, struct region, link);

        *ret_at_home += region->rooms[HOME].exists ? region->size : 0;
    }
    pthread_mutex_unlock(&own_memory.lock);
}

void memory_open_to_peers(void)
{
    CUdevice there = migrate.places[migrate.place].device->device;

    pthread_mutex_lock(&own_memory.lock);
    for (unsigned place = 0; place < migrate.n_places; place++) {
        CUdevice device = migrate.places[place].device->device;
        CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        int can = 0;

        if (place == migrate.place || genuine.cuDeviceCanAccessPeer(&can, device, there) != CUDA_SUCCESS ||
            !can)
            continue;
        list_for_each(link, &own_memory.regions)
        {
            const struct region *region = list_entry(link, struct region, link);

            (void)genuine.cuMemSetAccess(region->address, region->size, &access, 1);
        }
    }
    pthread_mutex_unlock(&own_memory.lock);
}
