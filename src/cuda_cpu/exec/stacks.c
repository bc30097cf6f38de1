/* Stacks of device threads, in the space, each above an unmapped page. */
#include "cuda_cpu/exec/exec.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#if defined(EXEC_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

enum { PAGE = 4096, PER_CHUNK = 64, LINE = 64 };

static int add_chunk(struct worker *worker)
{
    uint64_t each = worker->stack_bytes + PAGE;
    uint64_t address;
    uint64_t *chunks;
    struct exec_stack *stacks = realloc(worker->stacks, (worker->n_stacks + PER_CHUNK) * sizeof *stacks);

    if (!stacks)
        return -ENOMEM;
    worker->stacks = stacks;
    chunks = realloc(worker->chunks, (worker->n_chunks + 1) * sizeof *chunks);
    if (!chunks)
        return -ENOMEM;
    worker->chunks = chunks;
    if (space_allocate(worker->space, PER_CHUNK * each, PAGE, worker, &address) < 0)
        return -ENOMEM;
    chunks[worker->n_chunks++] = address;
    for (unsigned i = 0; i < PER_CHUNK; i++) {
        uint64_t low = address + i * each;
        size_t index = worker->n_stacks++;

        (void)mprotect((void *)(uintptr_t)low, PAGE, PROT_NONE);
        /*
         * Stack tops at different offsets in a page: equal offsets would all map to the same few
         * cache lines.
         */
        stacks[index] = (struct exec_stack){low + PAGE, low + each - (uint64_t)(index * 5 % 48) * LINE,
                                            worker->free_stack};
        worker->free_stack = (int32_t)index;
    }
    return 0;
}

int exec_take_stack(struct worker *worker)
{
    int32_t stack;

    if (worker->free_stack < 0 && add_chunk(worker) < 0)
        return -1;
    stack = worker->free_stack;
    worker->free_stack = worker->stacks[stack].next_free;
#if defined(EXEC_ADDRESS_SANITIZER) /* frames abandoned by a fault are still marked */
    __asan_unpoison_memory_region((void *)(uintptr_t)worker->stacks[stack].low,
                                  worker->stacks[stack].high - worker->stacks[stack].low);
#endif
    return stack;
}

void exec_give_stack(struct worker *worker, int32_t stack)
{
    worker->stacks[stack].next_free = worker->free_stack;
    worker->free_stack = stack;
}

void exec_free_stacks(struct worker *worker)
{
    for (size_t i = 0; i < worker->n_chunks; i++)
        (void)space_release(worker->space, worker->chunks[i]);
    free(worker->chunks);
    free(worker->stacks);
    worker->chunks = NULL;
    worker->stacks = NULL;
    worker->n_chunks = worker->n_stacks = 0;
    worker->free_stack = -1;
}

/* Before a launch: frees all stacks and makes them large enough. */
int exec_size_stacks(struct worker *worker, uint64_t bytes)
{
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    if (bytes > worker->stack_bytes) {
        exec_free_stacks(worker);
        worker->stack_bytes = bytes;
    }
    worker->free_stack = -1;
    for (size_t i = worker->n_stacks; i-- > 0;)
        exec_give_stack(worker, (int32_t)i);
    return 0;
}
