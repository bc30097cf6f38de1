/* Addresses, and the physical memory behind them. */
#include <stdlib.h>

#include "cuda/front.h"
#include "cuda/migrate/moved_memory.h"

enum { ATTEMPTS = 3 }; /* to put back what was there */

static CUmemAllocationProp about_memory(unsigned place)
{
    return (CUmemAllocationProp){
        .type = 1,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, cuda_front.migrate.places[place].device->device}};
}

static CUresult give_access(CUdeviceptr address, size_t size, unsigned place)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, cuda_front.migrate.places[place].device->device},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

    return cuda_front.genuine.cuMemSetAccess(address, size, &access, 1);
}

/* Physical memory at addresses where nothing is; or nothing still. */
static CUresult map(CUdeviceptr address, const struct region *region, unsigned place)
{
    CUresult code = cuda_front.genuine.cuMemMap(address, region->size, 0, region->rooms[place].physical, 0);

    if (code != CUDA_SUCCESS)
        return code;
    code = give_access(address, region->size, place);
    if (code != CUDA_SUCCESS && cuda_front.genuine.cuMemUnmap(address, region->size) != CUDA_SUCCESS)
        (void)cuda_front.genuine.cuMemUnmap(address, region->size);
    return code;
}

static CUresult make_physical(struct region *region, unsigned place)
{
    struct region_room *room = &region->rooms[place];
    CUmemAllocationProp about = about_memory(place);
    CUresult code = CUDA_SUCCESS;

    if (!room->exists)
        code = cuda_front.genuine.cuMemCreate(&room->physical, region->size, &about, 0);
    room->exists = code == CUDA_SUCCESS;
    return code;
}

CUresult region_room(struct region *region, unsigned place)
{
    struct region_room *room = &region->rooms[place];
    CUresult code = make_physical(region, place);

    if (code == CUDA_SUCCESS && !room->address) {
        code = cuda_front.genuine.cuMemAddressReserve(&room->address, region->size, 0, 0, 0);
        room->address = code == CUDA_SUCCESS ? room->address : 0;
    }
    if (code == CUDA_SUCCESS && !room->mapped) {
        code = map(room->address, region, place);
        room->mapped = code == CUDA_SUCCESS;
    }
    return code;
}

static void drop_room(struct region *region, unsigned place)
{
    struct region_room *room = &region->rooms[place];

    if (room->mapped)
        (void)cuda_front.genuine.cuMemUnmap(room->address, region->size);
    if (room->address)
        (void)cuda_front.genuine.cuMemAddressFree(room->address, region->size);
    if (room->exists)
        (void)cuda_front.genuine.cuMemRelease(room->physical);
    *room = (struct region_room){0};
}

CUresult region_make(size_t size, unsigned place, struct region **ret_region)
{
    struct region *region = calloc(1, sizeof *region);
    CUresult code;

    if (!region)
        return CUDA_ERROR_OUT_OF_MEMORY;
    region->size = (size + cuda_front.migrate.memory.granularity - 1) /
                   cuda_front.migrate.memory.granularity * cuda_front.migrate.memory.granularity;
    code = region->size < size
               ? CUDA_ERROR_OUT_OF_MEMORY
               : cuda_front.genuine.cuMemAddressReserve(&region->address, region->size, 0, 0, 0);
    if (code != CUDA_SUCCESS) {
        free(region);
        return code;
    }
    code = make_physical(region, place);
    if (code == CUDA_SUCCESS)
        code = map(region->address, region, place);
    if (code != CUDA_SUCCESS) {
        drop_room(region, place);
        (void)cuda_front.genuine.cuMemAddressFree(region->address, region->size);
        free(region);
        return code;
    }
    list_append(&cuda_front.migrate.memory.regions, &region->link);
    *ret_region = region;
    return CUDA_SUCCESS;
}

void region_done(struct region *region)
{
    list_remove(&region->link);
    (void)cuda_front.genuine.cuMemUnmap(region->address, region->size);
    for (unsigned place = 0; place < PLACES; place++)
        drop_room(region, place);
    (void)cuda_front.genuine.cuMemAddressFree(region->address, region->size);
    free(region);
}

CUresult region_switch(struct region *region, unsigned from, unsigned to)
{
    CUresult code = cuda_front.genuine.cuMemUnmap(region->address, region->size), back;

    if (code != CUDA_SUCCESS)
        return code;
    code = map(region->address, region, to);
    if (code == CUDA_SUCCESS)
        return code;
    back = map(region->address, region, from);
    for (int i = 1; i < ATTEMPTS && back != CUDA_SUCCESS; i++)
        back = map(region->address, region, from);
    if (back != CUDA_SUCCESS)
        follow_break(back); /* nothing is behind the addresses: as a device that is lost */
    return code;
}
