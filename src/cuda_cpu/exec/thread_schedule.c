/* Which device thread runs next, and barriers of a block. */
#include "cuda_cpu/exec/exec.h"
#include "cuda_cpu/exec/fibre.h"

#include <stdio.h>
#include <string.h>

void exec_ready(struct worker *worker, struct fibre *fibre)
{
    fibre->state = FIBRE_RUNNING;
    fibre->next = NULL;
    if (worker->ready.last)
        worker->ready.last->next = fibre;
    else
        worker->ready.first = fibre;
    worker->ready.last = fibre;
}

static struct fibre *take_ready(struct worker *worker)
{
    struct fibre *fibre = worker->ready.first;

    if (fibre) {
        worker->ready.first = fibre->next;
        if (!worker->ready.first)
            worker->ready.last = NULL;
    }
    return fibre;
}

static struct fibre *take_new(struct worker *worker)
{
    return worker->next_new < worker->n_threads ? &worker->fibres[worker->next_new++] : NULL;
}

/*
 * The next thread to run. A thread whose wait is over comes before a new one, unless the caller
 * only lets others run.
 */
static struct fibre *choose(struct worker *worker, bool prefer_new)
{
    struct fibre *fibre = prefer_new ? take_new(worker) : take_ready(worker);

    if (!fibre)
        fibre = prefer_new ? take_ready(worker) : take_new(worker);
    return fibre;
}

/* No thread can run, and not all have ended. */
static void report_deadlock(struct worker *worker)
{
    worker->status = CPU_DEADLOCK;
    for (uint32_t i = 0; i < worker->n_threads; i++) {
        const struct fibre *fibre = &worker->fibres[i];

        if (fibre->state == FIBRE_DONE)
            continue;
        memcpy(worker->fault.block, fibre->t.ctaid, sizeof worker->fault.block);
        memcpy(worker->fault.thread, fibre->t.tid, sizeof worker->fault.thread);
        (void)snprintf(worker->fault.text, sizeof worker->fault.text, "every thread waits; this one at a %s",
                       fibre->state == FIBRE_BARRIER ? "barrier" : "warp operation");
        return;
    }
}

static void run_thread(void *argument) __attribute__((noreturn));

/*
 * Continues with another thread. The current thread does not come back if this was the last use of
 * its stack.
 */
EXEC_PLAIN static void leave_to(struct worker *worker, struct fibre *next, void **save)
{
    if (!next) {
        if (worker->n_done < worker->n_threads)
            report_deadlock(worker);
        fibre_switch(save, worker->host);
        return;
    }
    worker->current = next;
    next->state = FIBRE_RUNNING;
    if (next->stack < 0) {
        next->stack = exec_take_stack(worker);
        if (next->stack < 0) {
            worker->status = CPU_OUT_OF_MEMORY;
            (void)snprintf(worker->fault.text, sizeof worker->fault.text,
                           "no memory for the stacks of all waiting threads");
            fibre_switch(save, worker->host);
            return;
        }
        next->stack_pointer = fibre_prepare(worker->stacks[next->stack].low, worker->stacks[next->stack].high,
                                            run_thread, worker);
    }
    fibre_switch(save, next->stack_pointer);
}

EXEC_PLAIN static void set_stack_range(struct worker *worker, struct fibre *fibre)
{
    fibre->t.stack_low = worker->stacks[fibre->stack].low;
    fibre->t.stack_high = worker->stacks[fibre->stack].high;
}

/* The life of a stack: it runs one thread after the other, as long as these are new ones. */
EXEC_PLAIN static void run_thread(void *argument)
{
    struct worker *worker = argument;
    struct fibre *fibre = worker->current;
    void *unused;

    for (;;) {
        struct fibre *next;
        int32_t stack;

        set_stack_range(worker, fibre);
        exec_leave_library(&fibre->t);
        worker->entry->thread(&fibre->t, fibre->t.parameters);
        exec_enter_library(&fibre->t);
        exec_finish_thread(worker, fibre);
        next = choose(worker, false);
        stack = fibre->stack;
        fibre->stack = -1;
        if (next && next->stack < 0) {
            next->stack = stack;
            next->state = FIBRE_RUNNING;
            worker->current = fibre = next;
            continue;
        }
        exec_give_stack(worker, stack);
        leave_to(worker, next, &unused);
    }
}

EXEC_PLAIN void exec_exit(struct device_thread *t)
{
    struct worker *worker = exec_worker(t);
    struct fibre *fibre = worker->current;
    struct fibre *next;
    void *unused;

    exec_enter_library(t);
    exec_finish_thread(worker, fibre);
    next = choose(worker, false);
    /*
     * The stack is in use until the switch, so a new thread prepares another one. The next block
     * finds this one free.
     */
    leave_to(worker, next, &unused);
    __builtin_unreachable();
}

/* Makes the calling thread wait; others run until it becomes ready. */
EXEC_PLAIN void exec_wait(struct worker *worker, struct fibre *fibre, enum fibre_state state)
{
    struct exec_block *block = fibre->block;
    uint32_t warp = fibre->t.warp;
    struct fibre *next;

    fibre->state = state;
    if (block->warps[warp].n_active)
        exec_settle_active(worker, block, warp);
    next = choose(worker, state == FIBRE_YIELDED);
    if (next == fibre) {
        fibre->state = FIBRE_RUNNING;
        return;
    }
    leave_to(worker, next, &fibre->stack_pointer);
}

EXEC_PLAIN void exec_yield(struct device_thread *t)
{
    struct worker *worker = exec_worker(t);
    struct fibre *fibre = worker->current;

    exec_enter_library(t);
    exec_ready(worker, fibre);
    exec_wait(worker, fibre, FIBRE_YIELDED);
    exec_leave_library(t);
}

EXEC_PLAIN void exec_run_fibres(struct worker *worker)
{
    worker->ready = (struct exec_queue){0};
    worker->next_new = 0;
    worker->n_done = 0;
    leave_to(worker, take_new(worker), &worker->host);
}

/* Lanes that have ended, or that the last warp never had, count as arrived once their warp has. */
static bool is_complete(const struct exec_block *block, const struct exec_barrier *barrier)
{
    uint32_t here = 0;

    if (!barrier->expected)
        return barrier->arrived >= block->live;
    for (uint32_t w = 0, warps = barrier->warps; warps; w++, warps >>= 1)
        if (warps & 1)
            here += (uint32_t)__builtin_popcount(barrier->lanes[w] | ~block->warps[w].live);
    return here >= barrier->expected;
}

static void reset(struct exec_barrier *barrier)
{
    for (uint32_t w = 0, warps = barrier->warps; warps; w++, warps >>= 1)
        barrier->lanes[w] = 0;
    barrier->arrived = barrier->expected = barrier->warps = barrier->trues = 0;
    barrier->waiting = NULL;
}

static void release(struct worker *worker, struct exec_barrier *barrier)
{
    struct fibre *waiting = barrier->waiting;
    uint32_t trues = barrier->trues;
    uint32_t arrived = barrier->arrived;
    struct fibre *in_order = NULL;

    reset(barrier);
    while (waiting) { /* the list is in reverse order */
        struct fibre *next = waiting->next;

        waiting->next = in_order;
        in_order = waiting;
        waiting = next;
    }
    while (in_order) {
        struct fibre *next = in_order->next;

        in_order->result = in_order->result == DEVICE_POPC  ? trues
                           : in_order->result == DEVICE_AND ? trues == arrived
                           : in_order->result == DEVICE_OR  ? trues != 0
                                                            : 0;
        exec_ready(worker, in_order);
        in_order = next;
    }
}

EXEC_PLAIN uint32_t exec_barrier(struct device_thread *t, uint32_t kind, uint32_t id, uint32_t count,
                                 uint32_t predicate)
{
    struct worker *worker = exec_worker(t);
    struct fibre *fibre = worker->current;
    struct exec_block *block = fibre->block;
    struct exec_barrier *barrier = &block->barriers[id % EXEC_BARRIERS];

    exec_enter_library(t);
    if (id >= EXEC_BARRIERS || count > LAUNCH_MOST_THREADS || count % LAUNCH_WARP ||
        (kind == DEVICE_ARRIVE && !count))
        exec_fail(t, CPU_ILLEGAL_INSTRUCTION, 0, 0,
                  "barrier %u with %u threads: at most 15, and a multiple of 32", id, count);
    barrier->expected = count;
    barrier->arrived++;
    barrier->warps |= UINT32_C(1) << t->warp;
    barrier->lanes[t->warp] |= UINT32_C(1) << t->lane;
    barrier->trues += predicate;
    fibre->result = kind;
    if (kind != DEVICE_ARRIVE) {
        fibre->next = barrier->waiting;
        barrier->waiting = fibre;
    }
    if (is_complete(block, barrier))
        release(worker, barrier);
    else if (kind != DEVICE_ARRIVE)
        fibre->state = FIBRE_BARRIER;
    if (kind != DEVICE_ARRIVE)
        exec_wait(worker, fibre, fibre->state);
    exec_leave_library(t);
    return fibre->result;
}

/* The thread has ended, so no operation waits for it from now on. */
void exec_finish_thread(struct worker *worker, struct fibre *fibre)
{
    struct exec_block *block = fibre->block;
    struct exec_warp *warp = &block->warps[fibre->t.warp];

    fibre->state = FIBRE_DONE;
    worker->n_done++;
    block->live--;
    warp->live &= ~(UINT32_C(1) << fibre->t.lane);
    if (warp->n_groups)
        exec_settle_warp(worker, block, fibre->t.warp);
    if (warp->n_active)
        exec_settle_active(worker, block, fibre->t.warp);
    for (unsigned i = 0; i < EXEC_BARRIERS && block->live; i++)
        if (block->barriers[i].arrived && is_complete(block, &block->barriers[i]))
            release(worker, &block->barriers[i]);
}
