#include "engine/command.h"

#include <stdlib.h>

#include "base/clock.h"
#include "engine/command_queue.h"
#include "engine/runtime.h"

void command_queue_init(struct command_queue *queue, struct engine_device *device, bool in_order)
{
    queue->device = device;
    queue->in_order = in_order;
    queue->number = atomic_fetch_add(&runtime.n_queues, 1) + 1;
    queue->n_opened = 0;
    atomic_init(&queue->n_unissued, 0);
    atomic_init(&queue->works_on, 0);
    list_init(&queue->commands);
}

/* GPES, Sec. V. Copies within the device are cut like those to it. */
enum {
    CHUNK_IN = 4 << 20,    /* host to device, while the engine's speed is not known */
    CHUNK_OUT = 512 << 10, /* device to host; chunks of a known speed are multiples of it */
};

size_t command_chunk_bytes(const struct command *command)
{
    const struct device_engine *engine = &command->queue->device->engines[command->engine];
    bool out = command->engine == ENGINE_COPY_OUT;
    int64_t planned;

    if (runtime.settings.chunk > 0)
        return (size_t)runtime.settings.chunk;
    planned = policy_chunk(out);
    if (planned > 0 && command->policy.exact)
        return (size_t)planned;
    if (planned > 0) /* two are in flight, and the plan counts them as one */
        return planned > 1 ? (size_t)planned / 2 : 1;
    planned = atomic_load_explicit(&engine->bytes_per_ms, memory_order_relaxed) *
              engine_chunk_ns(command->runs_on) / NSEC_PER_MS;
    if (planned > 0)
        return planned > CHUNK_OUT ? (size_t)planned / CHUNK_OUT * CHUNK_OUT : CHUNK_OUT;
    return out ? CHUNK_OUT : CHUNK_IN;
}

void command_init(struct command *command)
{
    refs_init(&command->refs);
    if (command->queue)
        command->ops = command->queue->device->ops;
    list_init(&command->in_queue);
    list_init(&command->in_ready);
    command->n_waiting = 0;
    command->failed_wait = command->issued = command->alone = false;
    command->status = command->queue ? COMMAND_QUEUED : COMMAND_SUBMITTED;
    command->dependents = NULL;
    command->callbacks = NULL;
    command->waited_for = false;
    command->first_mark = command->last_mark = NULL;
    command->piece_status = COMMAND_COMPLETE;
    command->timed = false;
    command->begun = command->ended = command->resumed = command->reported = 0;
    command->run_pieces = 0;
    command->queued_at = clock_now();
    command->lag = 0;
    command->job = command->n_pieces = 0;
    command->longest_piece = command->latest_piece = 0;
}

void command_ref(struct command *command)
{
    refs_keep(&command->refs);
}

void command_drop_marks(struct command *command)
{
    const struct driver_ops *ops = command->ops;

    if (command->last_mark) {
        if (command->first_mark && ops->mark_over) /* of a piece */
            ops->mark_over(command->last_mark);
        ops->mark_drop(command->last_mark);
    }
    if (command->first_mark)
        ops->mark_drop(command->first_mark);
    command->first_mark = command->last_mark = NULL;
}

void command_unref(struct command *command)
{
    if (!refs_drop(&command->refs))
        return;
    while (command->dependents) { /* not empty only when the command never completed */
        struct command_edge *edge = command->dependents;

        command->dependents = edge->next;
        command_unref(edge->dependent);
        free(edge);
    }
    command_drop_marks(command);
    command->ops->free(command);
}
