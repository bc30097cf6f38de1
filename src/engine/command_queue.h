/*
 * What the engine keeps of a queue (OpenCL) or stream (CUDA): the commands that are not complete,
 * in the order of their submission. Embedded in the front's queue record, which outlives its
 * commands.
 */
#ifndef ENGINE_COMMAND_QUEUE_H
#define ENGINE_COMMAND_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "wire/engine_kind.h"

struct engine_device;

struct command_queue {
    struct engine_device *device; /* never changes */
    bool in_order;
    uint64_t number;        /* no other queue of the process ever has it; an address may come again */
    atomic_uint n_unissued; /* commands in the graph that the driver has not been given; no lock */
    struct list commands;   /* runtime.graph.lock: not yet complete, oldest first */
    uint64_t n_opened;      /* runtime.graph.lock: commands so far */
    /*
     * Which engine has the queue's newest work in the driver: 1 + the kind of command::runs_on; 0:
     * there was none so far; QUEUE_ON_SEVERAL: the front does not know
     */
    atomic_uint works_on;
};

enum { QUEUE_ON_SEVERAL = 1 + ENGINE_N };

void command_queue_init(struct command_queue *queue, struct engine_device *device, bool in_order);

/* The driver has everything that was submitted: a direct call overtakes nothing of this queue. */
static inline bool command_queue_idle(const struct command_queue *queue)
{
    return atomic_load_explicit(&queue->n_unissued, memory_order_acquire) == 0;
}

/* The driver has new work of the queue for an engine of that kind. */
static inline void command_queue_works_on(struct command_queue *queue, enum engine_kind kind)
{
    atomic_store_explicit(&queue->works_on, 1 + (unsigned)kind, memory_order_relaxed);
}

/*
 * May work of the queue be in the driver that another engine does? False is certain, and is the
 * answer for a queue whose work stays on one engine.
 */
static inline bool command_queue_changes(const struct command_queue *queue, enum engine_kind kind)
{
    unsigned on = atomic_load_explicit(&queue->works_on, memory_order_relaxed);

    return on != 0 && on != 1 + (unsigned)kind;
}

static inline bool command_queue_on_several(const struct command_queue *queue)
{
    return atomic_load_explicit(&queue->works_on, memory_order_relaxed) == QUEUE_ON_SEVERAL;
}

#endif
