#include "cuda_cpu/driver/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_abi/memory_abi.h"
#include "cuda_cpu/driver/advice.h"
#include "cuda_cpu/driver/arrival.h"
#include "cuda_cpu/driver/driver_state.h"

void memory_open(struct space *space, unsigned n_devices, size_t capacity)
{
    (void)n_devices;
    driver.memory.space = space;
    driver.memory.capacity = capacity;
}

struct space *memory_space(void)
{
    return driver.memory.space;
}

/* Under the lock: the first block that ends behind the address. */
static size_t find_from(uint64_t address)
{
    size_t least = 0, most = driver.memory.n;

    while (least < most) {
        size_t middle = least + (most - least) / 2;

        if (driver.memory.blocks[middle].address + driver.memory.blocks[middle].size <= address)
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

/* Under the lock. */
static int insert(struct memory_block *block)
{
    size_t at = find_from(block->address);

    if (at < driver.memory.n && driver.memory.blocks[at].address < block->address + block->size)
        return MEMORY_OVERLAPS;
    if (driver.memory.n == driver.memory.room) {
        size_t room = driver.memory.room ? 2 * driver.memory.room : 64;
        struct memory_block *grown = realloc(driver.memory.blocks, room * sizeof *grown);

        if (!grown)
            return -ENOMEM;
        driver.memory.blocks = grown;
        driver.memory.room = room;
    }
    block->id = ++driver.memory.last_id;
    memmove(driver.memory.blocks + at + 1, driver.memory.blocks + at, (driver.memory.n - at) * sizeof *block);
    driver.memory.blocks[at] = *block;
    driver.memory.n++;
    return 0;
}

/* Does memory of this kind count as memory of the device, and come from the space? */
static bool of_device(enum memory_kind kind)
{
    return kind == MEMORY_DEVICE || kind == MEMORY_ARRAY || kind == MEMORY_MANAGED || kind == MEMORY_GRAPH;
}

/* Under the lock: the block that begins there; NULL: none. */
static struct memory_block *starting(uint64_t address)
{
    size_t at = find_from(address);

    return at < driver.memory.n && driver.memory.blocks[at].address == address ? &driver.memory.blocks[at]
                                                                               : NULL;
}

static bool of_space(enum memory_kind kind)
{
    return of_device(kind) || kind == MEMORY_HOST || kind == MEMORY_IMPORTED;
}

/* Under the lock: updates the counts after memory of graphs has changed. */
static void count_graphs(int device)
{
    uint64_t *of = driver.memory.graphs[device];

    of[CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT] = of[CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] = 0;
    for (size_t i = 0; i < driver.memory.n; i++)
        if (driver.memory.blocks[i].kind == MEMORY_GRAPH && driver.memory.blocks[i].device == device) {
            of[CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT] += driver.memory.blocks[i].size;
            of[CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT] +=
                driver.memory.blocks[i].live ? driver.memory.blocks[i].size : 0;
        }
    for (int most = CU_GRAPH_MEM_ATTR_USED_MEM_HIGH; most < MEMORY_GRAPH_ATTRIBUTES; most += 2)
        if (of[most - 1] > of[most])
            of[most] = of[most - 1];
}

uint64_t memory_of_graphs(int device, int attribute)
{
    uint64_t bytes;

    pthread_mutex_lock(&driver.memory.lock);
    bytes = driver.memory.graphs[device][attribute];
    pthread_mutex_unlock(&driver.memory.lock);
    return bytes;
}

void memory_forget_most(int device, int attribute)
{
    pthread_mutex_lock(&driver.memory.lock);
    driver.memory.graphs[device][attribute] = driver.memory.graphs[device][attribute - 1];
    pthread_mutex_unlock(&driver.memory.lock);
}

/* Under the lock. */
static void take_into_account(const struct memory_block *block, bool is_new)
{
    if (of_device(block->kind) && !block->borrowed)
        driver.memory.used[block->device] += is_new ? block->size : 0 - block->size;
    if (block->kind == MEMORY_GRAPH)
        count_graphs(block->device);
}

int memory_allocate(struct memory_block *request, uint64_t alignment)
{
    int result = 0;

    pthread_mutex_lock(&driver.memory.lock);
    if (of_device(request->kind) &&
        request->size > driver.memory.capacity - driver.memory.used[request->device])
        result = MEMORY_FULL;
    if (result == 0 &&
        space_allocate(driver.memory.space, request->size, alignment, NULL, &request->address) < 0)
        result = MEMORY_FULL;
    if (result == 0 && (result = insert(request)) != 0)
        space_release(driver.memory.space, request->address);
    if (result == 0)
        take_into_account(request, true);
    pthread_mutex_unlock(&driver.memory.lock);
    return result;
}

int memory_import(struct memory_block *request, int file)
{
    int result = 0;

    pthread_mutex_lock(&driver.memory.lock);
    if (space_import(driver.memory.space, file, request->file_pages, request->file_offset, request->size,
                     &request->address) < 0)
        result = MEMORY_FULL;
    if (result == 0 && (result = insert(request)) != 0)
        space_release(driver.memory.space, request->address);
    pthread_mutex_unlock(&driver.memory.lock);
    return result;
}

bool memory_open_again(const void *context, uint64_t inode, uint64_t *ret_address)
{
    bool found = false;

    pthread_mutex_lock(&driver.memory.lock);
    for (size_t i = 0; i < driver.memory.n && !found; i++) {
        struct memory_block *block = &driver.memory.blocks[i];

        found = block->kind == MEMORY_IMPORTED && block->context == context && block->inode == inode;
        if (found) {
            block->n_opens++;
            *ret_address = block->address;
        }
    }
    pthread_mutex_unlock(&driver.memory.lock);
    return found;
}

int memory_share(uint64_t address, const char *name, struct memory_block *ret_block)
{
    struct memory_block *block;
    int result = MEMORY_UNKNOWN, file;

    memory_stop(MEMORY_KERNELS);
    pthread_mutex_lock(&driver.memory.lock);
    block = starting(address);
    if (block && block->kind == MEMORY_DEVICE && !block->freeing && !block->borrowed)
        result = 0;
    if (result == 0 && !block->file) {
        if (space_share(driver.memory.space, address, name, &file, &block->file_pages, &block->file_offset) <
            0)
            result = MEMORY_FULL;
        else
            block->file = file + 1;
    }
    if (result == 0)
        *ret_block = *block;
    pthread_mutex_unlock(&driver.memory.lock);
    memory_go_on(MEMORY_KERNELS);
    return result;
}

int memory_enter(struct memory_block *request)
{
    int result;

    pthread_mutex_lock(&driver.memory.lock);
    result = insert(request);
    pthread_mutex_unlock(&driver.memory.lock);
    return result;
}

/* Under the lock. */
static void take_out(size_t at, struct memory_block *ret_block)
{
    *ret_block = driver.memory.blocks[at];
    memmove(driver.memory.blocks + at, driver.memory.blocks + at + 1,
            (driver.memory.n - at - 1) * sizeof *driver.memory.blocks);
    driver.memory.n--;
    take_into_account(ret_block, false);
    if (ret_block->kind == MEMORY_MANAGED || ret_block->kind == MEMORY_MANAGED_VARIABLE)
        advice_forget(ret_block->address, ret_block->size);
    if (ret_block->file)
        (void)close(ret_block->file - 1);
    if (of_space(ret_block->kind))
        space_release(driver.memory.space, ret_block->address);
}

int memory_remove(uint64_t address, unsigned kinds, struct memory_block *ret_block)
{
    int result = MEMORY_UNKNOWN;
    size_t at;

    pthread_mutex_lock(&driver.memory.lock);
    at = find_from(address);
    if (at < driver.memory.n && driver.memory.blocks[at].address == address &&
        (kinds >> driver.memory.blocks[at].kind & 1) && !driver.memory.blocks[at].freeing) {
        take_out(at, ret_block);
        result = 0;
    }
    pthread_mutex_unlock(&driver.memory.lock);
    return result;
}

bool memory_close(uint64_t address)
{
    struct memory_block *block, gone;
    bool found;

    pthread_mutex_lock(&driver.memory.lock);
    block = starting(address);
    found = block && block->kind == MEMORY_IMPORTED;
    if (found && --block->n_opens == 0)
        take_out((size_t)(block - driver.memory.blocks), &gone);
    pthread_mutex_unlock(&driver.memory.lock);
    return found;
}

int memory_remove_id(uint64_t address, uint64_t id, struct memory_block *ret_block)
{
    struct memory_block *block;
    int result = MEMORY_UNKNOWN;

    pthread_mutex_lock(&driver.memory.lock);
    block = starting(address);
    if (block && block->id == id) {
        take_out((size_t)(block - driver.memory.blocks), ret_block);
        result = 0;
    }
    pthread_mutex_unlock(&driver.memory.lock);
    return result;
}

int memory_begin_free(uint64_t address, struct memory_block *ret_block)
{
    struct memory_block *block;
    int result = MEMORY_UNKNOWN;

    pthread_mutex_lock(&driver.memory.lock);
    block = starting(address);
    if (block && block->kind == MEMORY_DEVICE && !block->freeing) {
        block->freeing = true;
        *ret_block = *block;
        result = 0;
    }
    pthread_mutex_unlock(&driver.memory.lock);
    return result;
}

bool memory_set_live(uint64_t address, bool live)
{
    struct memory_block *block;
    bool changed;

    pthread_mutex_lock(&driver.memory.lock);
    block = starting(address);
    changed = block && block->kind == MEMORY_GRAPH && block->live != live;
    if (changed) {
        block->live = live;
        count_graphs(block->device);
    }
    pthread_mutex_unlock(&driver.memory.lock);
    return changed;
}

void memory_end_graph(uint64_t address, uint64_t id)
{
    struct memory_block *block, gone;

    pthread_mutex_lock(&driver.memory.lock);
    block = starting(address);
    if (block && block->kind == MEMORY_GRAPH && block->id == id) {
        if (block->live) {
            block->kind = MEMORY_DEVICE;
            count_graphs(block->device);
        } else {
            take_out((size_t)(block - driver.memory.blocks), &gone);
        }
    }
    pthread_mutex_unlock(&driver.memory.lock);
}

void memory_remove_context(const void *context, unsigned kinds)
{
    struct memory_block block;

    pthread_mutex_lock(&driver.memory.lock);
    for (size_t at = driver.memory.n; at-- > 0;)
        if (driver.memory.blocks[at].context == context && (kinds >> driver.memory.blocks[at].kind & 1))
            take_out(at, &block);
    pthread_mutex_unlock(&driver.memory.lock);
}

bool memory_block_at(uint64_t address, struct memory_block *ret_block)
{
    bool found;
    size_t at;

    pthread_mutex_lock(&driver.memory.lock);
    at = find_from(address);
    found = at < driver.memory.n && driver.memory.blocks[at].address <= address;
    if (found)
        *ret_block = driver.memory.blocks[at];
    pthread_mutex_unlock(&driver.memory.lock);
    return found;
}

static bool meets_space(uint64_t address, uint64_t size)
{
    uint64_t base = space_base(driver.memory.space), end = base + space_size(driver.memory.space);

    return address < end && address + size > base;
}

/*
 * Under the lock: the bytes that follow the address in its block, or in adjacent mapped blocks that
 * allow the access.
 */
static uint64_t reach(uint64_t address, unsigned access)
{
    size_t at = find_from(address);
    uint64_t end = address;

    if (at == driver.memory.n || driver.memory.blocks[at].address > address)
        return 0;
    if (driver.memory.blocks[at].kind != MEMORY_MAPPED)
        return driver.memory.blocks[at].address + driver.memory.blocks[at].size - address;
    for (; at < driver.memory.n; at++) {
        const struct memory_block *block = &driver.memory.blocks[at];

        if (block->kind != MEMORY_MAPPED || (block->flags & access) != access ||
            (end != address && block->address != end))
            break;
        end = block->address + block->size;
    }
    return end - address;
}

enum { ACCESS_READ = 1, ACCESS_WRITE = 2 };

static bool allows(uint64_t address, uint64_t size, unsigned access)
{
    bool covered;

    if (size == 0)
        return true;
    if (!address || address + size < address)
        return false;
    pthread_mutex_lock(&driver.memory.lock);
    covered = size <= reach(address, access) || !meets_space(address, size);
    pthread_mutex_unlock(&driver.memory.lock);
    return covered;
}

bool memory_covers(uint64_t address, uint64_t size)
{
    return allows(address, size, ACCESS_READ);
}

bool memory_takes(uint64_t address, uint64_t size)
{
    return allows(address, size, ACCESS_READ | ACCESS_WRITE);
}

bool memory_holds(uint64_t address, uint64_t size)
{
    struct memory_block block;
    bool held;

    if (!memory_block_at(address, &block) || block.kind == MEMORY_ARRAY)
        return false;
    pthread_mutex_lock(&driver.memory.lock);
    held = size <= reach(address, ACCESS_READ);
    pthread_mutex_unlock(&driver.memory.lock);
    return held;
}

bool memory_is_device_only(const struct memory_block *block)
{
    switch (block->kind) {
    case MEMORY_ARRAY:
    case MEMORY_DEVICE:
    case MEMORY_VARIABLE:
    case MEMORY_GRAPH:
    case MEMORY_IMPORTED:
    case MEMORY_MAPPED:
        return true;
    default:
        return false;
    }
}

void memory_set_access(uint64_t address, unsigned flags)
{
    struct memory_block *block;

    pthread_mutex_lock(&driver.memory.lock);
    block = starting(address);
    if (block && block->kind == MEMORY_MAPPED)
        block->flags = flags;
    pthread_mutex_unlock(&driver.memory.lock);
}

void memory_begin_use(enum memory_use use)
{
    (void)pthread_rwlock_rdlock(&driver.memory.uses[use]);
}

void memory_end_use(enum memory_use use)
{
    (void)pthread_rwlock_unlock(&driver.memory.uses[use]);
}

void memory_stop(enum memory_use use)
{
    if (use == MEMORY_KERNELS)
        (void)pthread_rwlock_wrlock(&driver.memory.uses[MEMORY_KERNELS]);
    (void)pthread_rwlock_wrlock(&driver.memory.uses[MEMORY_COPIES]);
}

void memory_go_on(enum memory_use use)
{
    (void)pthread_rwlock_unlock(&driver.memory.uses[MEMORY_COPIES]);
    if (use == MEMORY_KERNELS)
        (void)pthread_rwlock_unlock(&driver.memory.uses[MEMORY_KERNELS]);
}

bool memory_reserve(int device, uint64_t bytes, bool is_new)
{
    bool fits;

    pthread_mutex_lock(&driver.memory.lock);
    fits = !is_new || bytes <= driver.memory.capacity - driver.memory.used[device];
    if (fits)
        driver.memory.used[device] += is_new ? bytes : 0 - bytes;
    pthread_mutex_unlock(&driver.memory.lock);
    return fits;
}

void memory_usage(int device, size_t *ret_used, size_t *ret_capacity)
{
    pthread_mutex_lock(&driver.memory.lock);
    *ret_used = driver.memory.used[device];
    *ret_capacity = driver.memory.capacity;
    pthread_mutex_unlock(&driver.memory.lock);
}
