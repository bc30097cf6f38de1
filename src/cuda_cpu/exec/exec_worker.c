/* Launches: checks, memory, and blocks one after the other. */
#include "cuda_cpu/exec/exec.h"
#include "cuda_cpu/exec/fibre.h"
#include "cuda_cpu/image_private.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SHARED_GRAIN = 128, WORKSPACE_BYTES = 256, LEAST_STACK = 32 * 1024, DEEP_STACK = 256 * 1024 };

int worker_new(struct space *space, struct worker **ret_worker)
{
    struct worker *worker = calloc(1, sizeof *worker);

    if (!worker)
        return -ENOMEM;
    worker->space = space;
    worker->free_stack = -1;
    (void)pthread_mutex_init(&worker->lock, NULL);
    if (space_allocate(space, WORKSPACE_BYTES, 256, worker, &worker->workspace) < 0) {
        free(worker);
        return -ENOMEM;
    }
    *ret_worker = worker;
    return 0;
}

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    exec_free_stacks(worker);
    if (worker->shared)
        (void)space_release(worker->space, worker->shared);
    if (worker->parameters)
        (void)space_release(worker->space, worker->parameters);
    if (worker->frames)
        (void)space_release(worker->space, worker->frames);
    (void)space_release(worker->space, worker->workspace);
    free(worker->fibres);
    free(worker->blocks);
    free(worker->signal_stack);
    (void)pthread_mutex_destroy(&worker->lock);
    free(worker);
}

void worker_abort(struct worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
    if (!atomic_exchange(&worker->is_aborted, true) &&
        worker->is_running) { /* only one signal: a second could merge with the first */
        atomic_fetch_add(&worker->sent, 1);
        if (pthread_kill(worker->thread, SIGSEGV) != 0)
            atomic_fetch_sub(&worker->sent, 1);
    }
    (void)pthread_mutex_unlock(&worker->lock);
}

static uint64_t product(const uint32_t three[3])
{
    return (uint64_t)three[0] * three[1] * three[2];
}

static uint64_t shared_of(const struct launch *launch)
{
    uint64_t bytes =
        (launch->entry->static_shared_bytes + 15U) / 16 * 16 + (uint64_t)launch->dynamic_shared_bytes;

    return (bytes + SHARED_GRAIN - 1) / SHARED_GRAIN * SHARED_GRAIN;
}

/* Why the launch is impossible; NULL: it is possible. */
static const char *check(const struct launch *launch)
{
    const struct image_entry *entry = launch->entry;
    uint64_t threads = product(launch->block);

    for (unsigned i = 0; i < 3; i++)
        if (!launch->grid[i] || !launch->block[i] || launch->block[i] > LAUNCH_MOST_THREADS)
            return "a dimension is 0 or too large";
    if (threads > LAUNCH_MOST_THREADS || (entry->max_threads && threads > entry->max_threads))
        return "the block has more threads than the kernel allows";
    if (launch->grid[1] > 65535 || launch->grid[2] > 65535 || launch->grid[0] > INT32_MAX)
        return "the grid is too large";
    for (unsigned i = 0; i < 3 && entry->required_threads[0]; i++)
        if (entry->required_threads[i] != launch->block[i])
            return "the block is not what the kernel requires";
    if (shared_of(launch) > LAUNCH_MOST_SHARED)
        return "the block needs more shared memory than there is";
    if (launch->end_block &&
        (launch->end_block > product(launch->grid) || launch->first_block > launch->end_block))
        return "the range of blocks exceeds the grid";
    if (launch->is_cooperative && product(launch->grid) * threads > LAUNCH_MOST_RESIDENT)
        return "the cooperative launch has more threads than can be resident";
    if (launch->is_cooperative && launch->end_block &&
        (launch->first_block || launch->end_block != product(launch->grid)))
        return "a cooperative launch has no part";
    return NULL;
}

/* Makes *address a block of the space of at least this many bytes; frees a smaller one. */
static int need(struct worker *worker, uint64_t *address, uint64_t *room, uint64_t bytes)
{
    if (bytes <= *room)
        return 0;
    if (*address)
        (void)space_release(worker->space, *address);
    *address = *room = 0;
    if (space_allocate(worker->space, bytes, 256, worker, address) < 0)
        return -ENOMEM;
    *room = bytes;
    return 0;
}

/* Fills in the values that are the same for all threads of the launch. */
static void fill_thread(const struct worker *worker, struct device_thread *t)
{
    const struct launch *launch = worker->launch;
    const struct image *image = launch->image;

    *t = (struct device_thread){
        .space = space_base(worker->space),
        .space_size = space_size(worker->space),
        .shared = (unsigned char *)(uintptr_t)worker->shared,
        .shared_size = shared_of(launch),
        .dynamic_shared = (launch->entry->static_shared_bytes + 15U) / 16 * 16,
        .dynamic_shared_size = launch->dynamic_shared_bytes,
        .variables = (unsigned char *)(uintptr_t)image->data,
        .constants = image->constants,
        .constants_end = image->constants_end,
        .calls = &exec_calls,
        .worker = (void *)(uintptr_t)worker,
        .grid_id = launch->grid_id,
        .workspace = launch->is_cooperative ? worker->workspace : 0,
        .parameters = (unsigned char *)(uintptr_t)worker->parameters,
        .parameter_bytes = launch->entry->parameter_bytes,
        .warps = (uint32_t)((product(launch->block) + LAUNCH_WARP - 1) / LAUNCH_WARP),
    };
    memcpy(t->ntid, launch->block, sizeof t->ntid);
    memcpy(t->nctaid, launch->grid, sizeof t->nctaid);
}

EXEC_PLAIN static void place_block(const struct launch *launch, uint64_t index, uint32_t ret_ctaid[3])
{
    ret_ctaid[0] = (uint32_t)(index % launch->grid[0]);
    ret_ctaid[1] = (uint32_t)(index / launch->grid[0] % launch->grid[1]);
    ret_ctaid[2] = (uint32_t)(index / launch->grid[0] / launch->grid[1]);
}

/* Kernels that never wait: all blocks on one stack. */
EXEC_PLAIN static void run_plain(void *argument)
{
    struct worker *worker = argument;
    const struct launch *launch = worker->launch;
    uint64_t end = launch->end_block ? launch->end_block : product(launch->grid);
    void *unused;

    exec_leave_library(&worker->plain);
    for (uint64_t i = launch->first_block; i < end; i++) {
        place_block(launch, i, worker->plain.ctaid);
        worker->entry->block(&worker->plain, worker->plain.parameters);
    }
    worker->in_library = 1;
    fibre_switch(&unused, worker->host);
}

static void launch_plain(struct worker *worker)
{
    int32_t stack = exec_take_stack(worker);

    if (stack < 0) {
        worker->status = CPU_OUT_OF_MEMORY;
        return;
    }
    worker->current = NULL;
    fill_thread(worker, &worker->plain);
    worker->plain.stack_low = worker->stacks[stack].low;
    worker->plain.stack_high = worker->stacks[stack].high;
    worker->plain.frames = (unsigned char *)(uintptr_t)worker->frames;
    worker->plain.frames_bytes = worker->entry->frame_bytes * product(worker->launch->block);
    fibre_switch(&worker->host,
                 fibre_prepare(worker->stacks[stack].low, worker->stacks[stack].high, run_plain, worker));
}

/* Fills in the threads of resident block b of this batch, which is block `index` of the grid. */
static void fill_block(struct worker *worker, size_t b, uint64_t index, bool is_first)
{
    const struct launch *launch = worker->launch;
    struct exec_block *block = &worker->blocks[b];
    uint32_t threads = (uint32_t)product(launch->block);
    struct fibre *fibres = worker->fibres + b * threads;
    uint32_t ctaid[3];
    uint32_t at = 0;

    memset(block->barriers, 0, sizeof block->barriers);
    block->fibres = fibres;
    block->threads = block->live = threads;
    block->shared = (unsigned char *)(uintptr_t)(worker->shared + b * shared_of(launch));
    place_block(launch, index, ctaid);
    for (uint32_t w = 0; w * LAUNCH_WARP < threads; w++) {
        uint32_t lanes = threads - w * LAUNCH_WARP;

        block->warps[w].n_groups = block->warps[w].n_active = 0;
        block->warps[w].live = lanes >= LAUNCH_WARP ? UINT32_MAX : (UINT32_C(1) << lanes) - 1;
    }
    for (uint32_t z = 0; z < launch->block[2]; z++)
        for (uint32_t y = 0; y < launch->block[1]; y++)
            for (uint32_t x = 0; x < launch->block[0]; x++, at++) {
                struct fibre *fibre = &fibres[at];

                if (is_first) {
                    fill_thread(worker, &fibre->t);
                    fibre->t.shared = block->shared;
                    fibre->t.tid[0] = x;
                    fibre->t.tid[1] = y;
                    fibre->t.tid[2] = z;
                    fibre->t.index = at;
                    fibre->t.lane = at % LAUNCH_WARP;
                    fibre->t.warp = at / LAUNCH_WARP;
                    fibre->block = block;
                }
                fibre->state = FIBRE_NEW;
                fibre->stack = -1;
                memcpy(fibre->t.ctaid, ctaid, sizeof ctaid);
            }
}

static int make_room(struct worker *worker, uint64_t threads, uint64_t blocks)
{
    if (threads > worker->fibres_room) {
        free(worker->fibres);
        worker->fibres_room = 0;
        worker->fibres = aligned_alloc(64, threads * sizeof *worker->fibres);
        if (!worker->fibres)
            return -ENOMEM;
        memset(worker->fibres, 0, threads * sizeof *worker->fibres);
        worker->fibres_room = threads;
    }
    if (blocks > worker->blocks_room) {
        free(worker->blocks);
        worker->blocks_room = 0;
        worker->blocks = calloc(blocks, sizeof *worker->blocks);
        if (!worker->blocks)
            return -ENOMEM;
        worker->blocks_room = blocks;
    }
    return 0;
}

static void launch_fibres(struct worker *worker, uint64_t resident)
{
    const struct launch *launch = worker->launch;
    uint64_t end = launch->end_block ? launch->end_block : product(launch->grid);
    uint32_t threads = (uint32_t)product(launch->block);
    bool is_first = true;

    if (make_room(worker, resident * threads, resident) < 0) {
        worker->status = CPU_OUT_OF_MEMORY;
        return;
    }
    for (uint64_t i = launch->first_block; i < end && worker->status == CPU_OK; i += resident) {
        for (uint64_t b = 0; b < resident; b++)
            fill_block(worker, b, i + b, is_first);
        worker->n_threads = (uint32_t)(resident * threads);
        exec_run_fibres(worker);
        is_first = false;
        if (worker->free_stack < 0)
            (void)exec_size_stacks(worker, 0);
    }
}

static enum cpu_status prepare(struct worker *worker, uint64_t resident)
{
    const struct launch *launch = worker->launch;
    size_t index = launch->entry->index;
    uint64_t stack = launch->image->stack_bytes[index] + LEAST_STACK;
    uint64_t frames = worker->entry->frame_bytes * product(launch->block);

    if (launch->image->is_recursive[index])
        stack += DEEP_STACK + 64 * (uint64_t)(launch->stack_bytes ? launch->stack_bytes : 1024);
    if (need(worker, &worker->shared, &worker->shared_room, shared_of(launch) * resident + SHARED_GRAIN) <
            0 ||
        need(worker, &worker->parameters, &worker->parameters_room, launch->entry->parameter_bytes + 16) <
            0 ||
        (frames && need(worker, &worker->frames, &worker->frames_room, frames) < 0) ||
        exec_size_stacks(worker, stack) < 0)
        return CPU_OUT_OF_MEMORY;
    if (launch->entry->parameter_bytes)
        memcpy((void *)(uintptr_t)worker->parameters, launch->parameters, launch->entry->parameter_bytes);
    memset((void *)(uintptr_t)worker->workspace, 0, WORKSPACE_BYTES);
    return CPU_OK;
}

/*
 * From here on worker_abort() sends a signal. False: it was called earlier, and no kernel may
 * begin.
 */
static bool begin_running(struct worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
    worker->is_running = !atomic_load(&worker->is_aborted);
    (void)pthread_mutex_unlock(&worker->lock);
    return worker->is_running;
}

static void end_running(struct worker *worker)
{
    (void)pthread_mutex_lock(&worker->lock);
    worker->is_running = false;
    (void)pthread_mutex_unlock(&worker->lock);
}

enum cpu_status worker_launch(struct worker *worker, const struct launch *launch,
                              struct launch_fault *ret_fault)
{
    const char *wrong = check(launch);
    uint64_t resident = launch->is_cooperative ? product(launch->grid) : 1;

    worker->fault = (struct launch_fault){0};
    worker->launch = launch;
    worker->status = CPU_OK;
    worker->in_library = 1;
    worker->thread = pthread_self();
    worker->entry = launch->image->starts[launch->entry->index];
    if (wrong) {
        worker->status = CPU_BAD_LAUNCH;
        (void)snprintf(worker->fault.text, sizeof worker->fault.text, "%s", wrong);
    } else {
        worker->status = prepare(worker, resident);
    }
    if (worker->status == CPU_OK) {
        exec_guard(worker);
        if (!begin_running(worker))
            worker->status = CPU_ABORTED;
        else if (worker->entry->block)
            launch_plain(worker);
        else
            launch_fibres(worker, resident);
        end_running(worker);
        while (atomic_load(&worker->received) !=
               atomic_load(&worker->sent)) /* a signal that is on its way must still arrive here */
            (void)sched_yield();
        exec_unguard(worker);
    }
    if (worker->status != CPU_OK && !worker->fault.text[0])
        (void)snprintf(worker->fault.text, sizeof worker->fault.text, "%s", cpu_status_text(worker->status));
    if (ret_fault)
        *ret_fault = worker->fault;
    return worker->status;
}
