#include "cuda_cpu/space.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, LARGEST_ALIGNMENT = 2 << 20 };

/* One allocation: pages [begin, end) of the space; the last page is unmapped. */
struct space_piece {
    uint64_t begin, end; /* addresses of whole pages, including the unmapped one at the end */
    struct space_block block;
};

struct space {
    uint64_t base, size;
    pthread_mutex_t lock;       /* guards what follows */
    struct space_piece *pieces; /* by address */
    size_t n, room;
    /*
     * end of the latest allocation: the search starts here, so freed addresses are reused as late
     * as possible
     */
    uint64_t next;
};

int space_new(uint64_t bytes, struct space **ret_space)
{
    struct space *space = calloc(1, sizeof *space);
    void *range;

    if (!space)
        return -ENOMEM;
    space->size = UINT64_C(1) << 30;
    while (space->size < bytes && space->size < UINT64_C(1) << 46)
        space->size *= 2;
    range = mmap(NULL, space->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) {
        free(space);
        return -ENOMEM;
    }
    (void)madvise(range, space->size, MADV_DONTDUMP);
    space->base = (uint64_t)(uintptr_t)range;
    (void)pthread_mutex_init(&space->lock, NULL);
    *ret_space = space;
    return 0;
}

void space_free(struct space *space)
{
    if (!space)
        return;
    (void)munmap((void *)(uintptr_t)space->base, space->size);
    (void)pthread_mutex_destroy(&space->lock);
    free(space->pieces);
    free(space);
}

uint64_t space_base(const struct space *space)
{
    return space->base;
}

uint64_t space_size(const struct space *space)
{
    return space->size;
}

static uint64_t round_up(uint64_t x, uint64_t to)
{
    return (x + to - 1) / to * to;
}

/* Index of the first piece that ends behind the address. */
static size_t find_index(const struct space *space, uint64_t address)
{
    size_t low = 0;
    size_t high = space->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (space->pieces[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Does the gap before piece i (or before the end of the space) have room at or above `least`? */
static bool fits(const struct space *space, size_t i, uint64_t least, uint64_t length, uint64_t alignment,
                 uint64_t *ret_begin)
{
    uint64_t gap = i ? space->pieces[i - 1].end : space->base + PAGE;
    uint64_t from = gap > least ? gap : least;
    uint64_t until = i < space->n ? space->pieces[i].begin : space->base + space->size;
    uint64_t begin = round_up(from, alignment > PAGE ? alignment : PAGE);

    *ret_begin = begin;
    return begin < until && until - begin >= length;
}

static bool find_room(const struct space *space, uint64_t length, uint64_t alignment, size_t *ret_index,
                      uint64_t *ret_begin)
{
    size_t start = find_index(space, space->next);

    for (size_t k = 0; k <= space->n + 1; k++) {
        size_t i = (start + k) % (space->n + 1);

        if (fits(space, i, k ? 0 : space->next, length, alignment, ret_begin)) {
            *ret_index = i;
            return true;
        }
    }
    return false;
}

static int insert(struct space *space, size_t index, const struct space_piece *piece)
{
    if (space->n == space->room) {
        size_t room = space->room ? 2 * space->room : 64;
        struct space_piece *more = realloc(space->pieces, room * sizeof *more);

        if (!more)
            return -ENOMEM;
        space->pieces = more;
        space->room = room;
    }
    memmove(space->pieces + index + 1, space->pieces + index, (space->n - index) * sizeof *space->pieces);
    space->pieces[index] = *piece;
    space->n++;
    space->next = piece->end;
    return 0;
}

int space_reserve(struct space *space, uint64_t size, uint64_t alignment, uint64_t wanted,
                  uint64_t *ret_address)
{
    struct space_piece piece = {.block = {.size = size}};
    uint64_t next;
    size_t index;
    int r = -ENOMEM;

    if (size == 0 || size % PAGE || alignment == 0 || (alignment & (alignment - 1)) || size > space->size)
        return size > space->size ? -ENOMEM : -EINVAL;
    (void)pthread_mutex_lock(&space->lock);
    next = space->next;
    if (wanted % PAGE == 0 && wanted % alignment == 0 && wanted - space->base < space->size)
        space->next = wanted;
    if (find_room(space, size + PAGE, alignment, &index, &piece.begin)) {
        piece.end = piece.begin + size + PAGE;
        piece.block.address = piece.begin;
        r = insert(space, index, &piece);
    }
    if (space->next == wanted || piece.begin == wanted)
        space->next = next; /* an address that the caller asked for does not move the search */
    (void)pthread_mutex_unlock(&space->lock);
    if (!r)
        *ret_address = piece.block.address;
    return r;
}

int space_import(struct space *space, int file, uint64_t pages, uint64_t offset, uint64_t size,
                 uint64_t *ret_address)
{
    struct space_piece piece = {.block = {.size = size}};
    size_t index;
    int r = -ENOMEM;

    if (size == 0 || pages == 0 || pages % PAGE || offset > pages || size > pages - offset)
        return -EINVAL;
    if (pages > space->size)
        return -ENOMEM;
    (void)pthread_mutex_lock(&space->lock);
    if (find_room(space, pages + PAGE, PAGE, &index, &piece.begin)) {
        piece.end = piece.begin + pages + PAGE;
        piece.block.address = piece.begin + offset;
        if (mmap((void *)(uintptr_t)piece.begin, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                 0) != MAP_FAILED)
            r = insert(space, index, &piece);
    }
    (void)pthread_mutex_unlock(&space->lock);
    if (!r)
        *ret_address = piece.block.address;
    return r;
}

/* Writes only pages that are not zero, so that untouched pages stay holes. */
static int copy_pages(int file, const unsigned char *pages, uint64_t n)
{
    static const unsigned char zeros[PAGE];

    for (uint64_t at = 0; at < n; at += PAGE)
        if (memcmp(pages + at, zeros, PAGE) != 0 && pwrite(file, pages + at, PAGE, (off_t)at) != PAGE)
            return -ENOSPC;
    return 0;
}

int space_share(struct space *space, uint64_t address, const char *name, int *ret_file, uint64_t *ret_pages,
                uint64_t *ret_offset)
{
    const struct space_piece *piece;
    uint64_t pages;
    int file, r;
    size_t i;

    (void)pthread_mutex_lock(&space->lock);
    i = find_index(space, address);
    piece = i < space->n && space->pieces[i].block.address == address ? &space->pieces[i] : NULL;
    pages = piece ? piece->end - piece->begin - PAGE : 0;
    file = piece ? memfd_create(name, MFD_CLOEXEC) : -1;
    r = !piece ? -ENOENT : file < 0 || ftruncate(file, (off_t)pages) < 0 ? -errno : 0;
    if (!r)
        r = copy_pages(file, (const unsigned char *)(uintptr_t)piece->begin, pages);
    if (!r && mmap((void *)(uintptr_t)piece->begin, pages, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                   file, 0) == MAP_FAILED)
        r = -errno;
    if (!r) {
        *ret_file = file;
        *ret_pages = pages;
        *ret_offset = address - piece->begin;
    } else if (file >= 0) {
        (void)close(file);
    }
    (void)pthread_mutex_unlock(&space->lock);
    return r;
}

int space_allocate(struct space *space, uint64_t size, uint64_t alignment, void *owner, uint64_t *ret_address)
{
    uint64_t bytes = round_up(size, PAGE);
    struct space_piece piece = {.block = {.size = size, .owner = owner}};
    size_t index;
    int r = -ENOMEM;

    if (size == 0 || alignment == 0 || alignment > LARGEST_ALIGNMENT || (alignment & (alignment - 1)))
        return -EINVAL;
    if (size > space->size)
        return -ENOMEM;
    (void)pthread_mutex_lock(&space->lock);
    if (find_room(space, bytes + PAGE, alignment, &index, &piece.begin)) {
        piece.end = piece.begin + bytes + PAGE;
        /* The block ends as close to the unmapped page as its alignment allows. */
        piece.block.address = (piece.begin + bytes - size) / alignment * alignment;
        r = mprotect((void *)(uintptr_t)piece.begin, bytes, PROT_READ | PROT_WRITE) < 0
                ? -ENOMEM
                : insert(space, index, &piece);
    }
    (void)pthread_mutex_unlock(&space->lock);
    if (!r)
        *ret_address = piece.block.address;
    return r;
}

int space_release(struct space *space, uint64_t address)
{
    int r = -ENOENT;
    size_t i;

    (void)pthread_mutex_lock(&space->lock);
    i = find_index(space, address);
    if (i < space->n && space->pieces[i].block.address == address) {
        const struct space_piece *piece = &space->pieces[i];

        /* Maps the pages anew: frees the memory, and the next owner finds zeros. */
        (void)mmap((void *)(uintptr_t)piece->begin, piece->end - piece->begin, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        memmove(space->pieces + i, space->pieces + i + 1, (space->n - i - 1) * sizeof *space->pieces);
        space->n--;
        r = 0;
    }
    (void)pthread_mutex_unlock(&space->lock);
    return r;
}

bool space_find(struct space *space, uint64_t address, struct space_block *ret_block)
{
    bool found = false;
    size_t i;

    (void)pthread_mutex_lock(&space->lock);
    i = find_index(space, address);
    if (i < space->n && address >= space->pieces[i].block.address &&
        address - space->pieces[i].block.address < space->pieces[i].block.size) {
        *ret_block = space->pieces[i].block;
        found = true;
    }
    (void)pthread_mutex_unlock(&space->lock);
    return found;
}
