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

struct engine_device;

struct command_queue {
    struct engine_device *device; /* never changes */
    bool in_order;
    uint64_t number;        /* no other queue of the process ever has it; an address may come again */
    atomic_uint n_unissued; /* commands in the graph that the driver has not been given; no lock */
    struct list commands;   /* runtime.graph.lock: not yet complete, oldest first */
    uint64_t n_opened;      /* runtime.graph.lock: commands so far */
};

void command_queue_init(struct command_queue *queue, struct engine_device *device, bool in_order);

/* The driver has everything that was submitted: a direct call overtakes nothing of this queue. */
static inline bool command_queue_idle(const struct command_queue *queue)
{
    return atomic_load_explicit(&queue->n_unissued, memory_order_acquire) == 0;
}

#endif
