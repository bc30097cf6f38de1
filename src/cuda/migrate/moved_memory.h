/*
 * Device memory that keeps its address while it moves from GPU to GPU. It consists of regions of
 * addresses. Each region has physical memory on every GPU where it has been, and one of these is
 * behind the addresses. Small allocations share a region. The bytes of a move are those of the
 * allocations, in chunks of the plan, each under the copy engines that the daemon grants.
 *
 * `unmoved` below: the memory does not move meanwhile (the caller is inside, or moves it itself).
 */
#ifndef CUDA_MIGRATE_MOVED_MEMORY_H
#define CUDA_MIGRATE_MOVED_MEMORY_H

#include "base/list.h"
#include "cuda/migrate/migrate_private.h"
#include "cuda_abi/memory_abi.h"

struct allocation {
    struct allocation *next; /* by address */
    CUdeviceptr address;
    size_t size; /* as the program asked */
    uint64_t id;
    unsigned char *saved; /* its bytes in memory of the host; owned; NULL: none were kept yet */
    bool is_saved;        /* they are those on the GPU */
};

struct region {
    struct list link;
    CUdeviceptr address;
    size_t size;
    struct region_room {
        CUmemGenericAllocationHandle physical;
        CUdeviceptr address; /* a second one, to copy to before the region's own gets it; 0: none */
        bool exists, mapped; /* mapped: at the second address */
    } rooms[PLACES];
    struct allocation *allocations;
};

/* For memory of the home device; once. */
CUresult memory_init(void);

/* Unmoved. */
CUresult memory_alloc(size_t size, CUdeviceptr *ret_address);
/* Unmoved, and nothing uses it. False: no allocation begins there. */
bool memory_free(CUdeviceptr address);
void memory_free_all(void);

/*
 * The allocation that the address lies in: its address, size and number. *ret_ours: the address is
 * one of ours, in an allocation or not.
 */
bool memory_find(CUdeviceptr address, struct allocation *ret_about, bool *ret_ours);
/* Does a range lie within one allocation, or is it no memory of ours? */
bool memory_may_touch(CUdeviceptr address, size_t size);

/* Bytes of the program, and physical bytes on its home device. */
void memory_count(size_t *ret_bytes, size_t *ret_at_home);

/* Nothing uses it: the bytes go from the place where they are to another, or all stay. */
CUresult memory_move(unsigned from, unsigned to);
/* The same to memory of the host, as a copy. */
CUresult memory_save(unsigned from);
/* Commands may have changed it. */
void memory_touched(void);
/* GPUs that can reach the memory of the GPU where it is may reach it. */
void memory_open_to_peers(void);

/* --- region.c: with the lock held, or while memory moves --- */

CUresult region_make(size_t size, unsigned place, struct region **ret_region);
void region_done(struct region *region);
/* Physical memory there, at the second address. */
CUresult region_room(struct region *region, unsigned place);
/* What is behind the addresses; a failure leaves it as it was. */
CUresult region_switch(struct region *region, unsigned from, unsigned to);

#endif
