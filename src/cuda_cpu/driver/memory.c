#include "cuda_cpu/driver/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/driver/arrival.h"

/* The one state of this module. */
static struct {
    pthread_mutex_t lock;
    struct space *space;
    struct memory_block *blocks; /* sorted by address */
    size_t n, room;
    uint64_t last_id;
    size_t capacity, used[ARRIVAL_DEVICES];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

void memory_open(struct space *space, unsigned n_devices, size_t capacity)
{
    (void)n_devices;
    memory.space = space;
    memory.capacity = capacity;
}

struct space *memory_space(void)
{
    return memory.space;
}

/* Under the lock: the first block that ends behind the address. */
static size_t find_from(uint64_t address)
{
    size_t least = 0, most = memory.n;

    while (least < most) {
        size_t middle = least + (most - least) / 2;

        if (memory.blocks[middle].address + memory.blocks[middle].size <= address)
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

    if (at < memory.n && memory.blocks[at].address < block->address + block->size)
        return MEMORY_OVERLAPS;
    if (memory.n == memory.room) {
        size_t room = memory.room ? 2 * memory.room : 64;
        struct memory_block *grown = realloc(memory.blocks, room * sizeof *grown);

        if (!grown)
            return -ENOMEM;
        memory.blocks = grown;
        memory.room = room;
    }
    block->id = ++memory.last_id;
    memmove(memory.blocks + at + 1, memory.blocks + at, (memory.n - at) * sizeof *block);
    memory.blocks[at] = *block;
    memory.n++;
    return 0;
}

/* Does it count as memory of the device, and does it come from the space? */
static bool of_device(enum memory_kind kind)
{
    return kind == MEMORY_DEVICE || kind == MEMORY_ARRAY || kind == MEMORY_MANAGED || kind == MEMORY_GRAPH;
}

/* Under the lock: the block that begins there; NULL: none. */
static struct memory_block *starting(uint64_t address)
{
    size_t at = find_from(address);

    return at < memory.n && memory.blocks[at].address == address ? &memory.blocks[at] : NULL;
}

static bool of_space(enum memory_kind kind)
{
    return of_device(kind) || kind == MEMORY_HOST;
}

int memory_allocate(struct memory_block *request, uint64_t alignment)
{
    int result = 0;

    pthread_mutex_lock(&memory.lock);
    if (of_device(request->kind) && request->size > memory.capacity - memory.used[request->device])
        result = MEMORY_FULL;
    if (result == 0 && space_allocate(memory.space, request->size, alignment, NULL, &request->address) < 0)
        result = MEMORY_FULL;
    if (result == 0 && (result = insert(request)) != 0)
        space_release(memory.space, request->address);
    if (result == 0 && of_device(request->kind))
        memory.used[request->device] += request->size;
    pthread_mutex_unlock(&memory.lock);
    return result;
}

int memory_enter(struct memory_block *request)
{
    int result;

    pthread_mutex_lock(&memory.lock);
    result = insert(request);
    pthread_mutex_unlock(&memory.lock);
    return result;
}

/* Under the lock. */
static void take_out(size_t at, struct memory_block *ret_block)
{
    *ret_block = memory.blocks[at];
    memmove(memory.blocks + at, memory.blocks + at + 1, (memory.n - at - 1) * sizeof *memory.blocks);
    memory.n--;
    if (of_device(ret_block->kind))
        memory.used[ret_block->device] -= ret_block->size;
    if (of_space(ret_block->kind))
        space_release(memory.space, ret_block->address);
}

int memory_remove(uint64_t address, unsigned kinds, struct memory_block *ret_block)
{
    int result = MEMORY_UNKNOWN;
    size_t at;

    pthread_mutex_lock(&memory.lock);
    at = find_from(address);
    if (at < memory.n && memory.blocks[at].address == address && (kinds >> memory.blocks[at].kind & 1) &&
        !memory.blocks[at].freeing) {
        take_out(at, ret_block);
        result = 0;
    }
    pthread_mutex_unlock(&memory.lock);
    return result;
}

int memory_remove_id(uint64_t address, uint64_t id, struct memory_block *ret_block)
{
    struct memory_block *block;
    int result = MEMORY_UNKNOWN;

    pthread_mutex_lock(&memory.lock);
    block = starting(address);
    if (block && block->id == id) {
        take_out((size_t)(block - memory.blocks), ret_block);
        result = 0;
    }
    pthread_mutex_unlock(&memory.lock);
    return result;
}

int memory_begin_free(uint64_t address, struct memory_block *ret_block)
{
    struct memory_block *block;
    int result = MEMORY_UNKNOWN;

    pthread_mutex_lock(&memory.lock);
    block = starting(address);
    if (block && block->kind == MEMORY_DEVICE && !block->freeing) {
        block->freeing = true;
        *ret_block = *block;
        result = 0;
    }
    pthread_mutex_unlock(&memory.lock);
    return result;
}

bool memory_set_live(uint64_t address, bool live)
{
    struct memory_block *block;
    bool changed;

    pthread_mutex_lock(&memory.lock);
    block = starting(address);
    changed = block && block->kind == MEMORY_GRAPH && block->live != live;
    if (changed)
        block->live = live;
    pthread_mutex_unlock(&memory.lock);
    return changed;
}

void memory_end_graph(uint64_t address, uint64_t id)
{
    struct memory_block *block, gone;

    pthread_mutex_lock(&memory.lock);
    block = starting(address);
    if (block && block->kind == MEMORY_GRAPH && block->id == id) {
        if (block->live)
            block->kind = MEMORY_DEVICE;
        else
            take_out((size_t)(block - memory.blocks), &gone);
    }
    pthread_mutex_unlock(&memory.lock);
}

void memory_remove_context(const void *context, unsigned kinds)
{
    struct memory_block block;

    pthread_mutex_lock(&memory.lock);
    for (size_t at = memory.n; at-- > 0;)
        if (memory.blocks[at].context == context && (kinds >> memory.blocks[at].kind & 1))
            take_out(at, &block);
    pthread_mutex_unlock(&memory.lock);
}

bool memory_find(uint64_t address, struct memory_block *ret_block)
{
    bool found;
    size_t at;

    pthread_mutex_lock(&memory.lock);
    at = find_from(address);
    found = at < memory.n && memory.blocks[at].address <= address;
    if (found)
        *ret_block = memory.blocks[at];
    pthread_mutex_unlock(&memory.lock);
    return found;
}

static bool meets_space(uint64_t address, uint64_t size)
{
    uint64_t base = space_base(memory.space), end = base + space_size(memory.space);

    return address < end && address + size > base;
}

bool memory_covers(uint64_t address, uint64_t size)
{
    bool covered;
    size_t at;

    if (size == 0)
        return true;
    if (!address || address + size < address)
        return false;
    pthread_mutex_lock(&memory.lock);
    at = find_from(address);
    if (at < memory.n && memory.blocks[at].address <= address)
        covered = address + size <= memory.blocks[at].address + memory.blocks[at].size ||
                  !meets_space(address, size);
    else
        covered = !meets_space(address, size);
    pthread_mutex_unlock(&memory.lock);
    return covered;
}

bool memory_holds(uint64_t address, uint64_t size)
{
    struct memory_block block;

    return memory_find(address, &block) && block.kind != MEMORY_ARRAY &&
           size <= block.address + block.size - address;
}

void memory_usage(int device, size_t *ret_used, size_t *ret_capacity)
{
    pthread_mutex_lock(&memory.lock);
    *ret_used = memory.used[device];
    *ret_capacity = memory.capacity;
    pthread_mutex_unlock(&memory.lock);
}
