/*
 * The address space of the software device. Device pointers are host addresses within one reserved
 * range of this process: global, constant, managed and pinned memory, stacks of device threads, and
 * shared memory. Addresses that are not allocated are not mapped, so a stray access faults.
 * Generated code checks that each address lies in the range, so a host pointer is refused as on a
 * GPU. One space serves all devices of the process (peers reach each other's memory).
 *
 * Every allocation has whole pages and an unmapped page behind it. The caller's block ends as close
 * to that page as its alignment allows, so that an overrun faults early. Functions are thread-safe.
 * Memory is zeroed and committed on first touch.
 */
#ifndef CUDA_CPU_SPACE_H
#define CUDA_CPU_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space;

struct space_block {
    uint64_t address; /* where the caller's block begins */
    uint64_t size;    /* as the caller asked */
    void *owner;      /* as the caller gave it */
};

/* Reserves the range; `bytes` is rounded up to a power of two, at least 1 GiB. 0, -ENOMEM. */
int space_new(uint64_t bytes, struct space **ret_space);
void space_free(struct space *space); /* NULL is fine; every block is gone */

/* The range: an address a is in the space when a - space_base() < space_size(). */
uint64_t space_base(const struct space *space);
uint64_t space_size(const struct space *space);

/* alignment: a power of two up to 2 MiB. -ENOMEM when there is no room, -EINVAL for size 0. */
int space_allocate(struct space *space, uint64_t size, uint64_t alignment, void *owner,
                   uint64_t *ret_address);

/*
 * Reserves addresses without memory, for the caller to map files into. The result is a block like
 * any other. size: whole pages. alignment: a power of two. wanted: the preferred address, or 0; if
 * it is not free, any other.
 */
int space_reserve(struct space *space, uint64_t size, uint64_t alignment, uint64_t wanted,
                  uint64_t *ret_address);

/*
 * A block whose pages are those of a file: `pages` bytes of it. The block has `size` bytes, from
 * `offset` on. The caller keeps the file. -ENOMEM, -EINVAL.
 */
int space_import(struct space *space, int file, uint64_t pages, uint64_t offset, uint64_t size,
                 uint64_t *ret_address);

/*
 * Moves the block's pages into a new memory file of that name, which other processes may map too.
 * No thread may access the block meanwhile. *ret_offset: of the block in the file. 0, -ENOENT, or
 * -errno of the file; after an error the block is unchanged.
 */
int space_share(struct space *space, uint64_t address, const char *name, int *ret_file, uint64_t *ret_pages,
                uint64_t *ret_offset);

/* The block must begin at this address: -ENOENT otherwise. Later accesses to it fault. */
int space_release(struct space *space, uint64_t address);

/* The block that contains the address: true and *ret_block. */
bool space_find(struct space *space, uint64_t address, struct space_block *ret_block);

#endif
