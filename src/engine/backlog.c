/* Back-pressure on threads that queue commands faster than the driver takes them (graph.h). */
#include "base/clock.h"
#include "engine/graph.h"
#include "engine/runtime.h"

/* How many unissued commands of one queue make enqueue calls wait. */
enum {
    BACKLOG = 1024,
    SHORT_BACKLOG = 8, /* of commands that are quicker to give to the driver than to queue */
};

#define THROTTLE_NS (10 * NSEC_PER_MS) /* at most, per call */

/*
 * Under the lock: does the oldest command wait only for its engine, so that it goes on without the
 * program's help?
 */
static bool moves_by_itself(const struct command_queue *queue)
{
    list_for_each(at, &queue->commands)
    {
        const struct command *command = list_entry(at, struct command, in_queue);
        if (!command->issued)
            return command->n_waiting == 0;
    }
    return false;
}

/*
 * Waits briefly until at most `most` commands are unissued. Stops early if the oldest needs more
 * than its engine.
 */
static void await_backlog(struct command_queue *queue, unsigned most)
{
    struct timespec until = engine_deadline(THROTTLE_NS);
    int result = 0;

    graph_lock();
    while (result == 0 && atomic_load(&queue->n_unissued) > most && moves_by_itself(queue))
        result = pthread_cond_timedwait(&runtime.graph.changed, &runtime.graph.lock, &until);
    graph_unlock();
}

void graph_throttle(struct command_queue *queue)
{
    if (atomic_load_explicit(&queue->n_unissued, memory_order_relaxed) > BACKLOG)
        await_backlog(queue, BACKLOG);
}

/* If a wait was in vain, the next one comes when twice as many have gathered. */
void graph_catch_up(struct command_queue *queue)
{
    unsigned n = atomic_load_explicit(&queue->n_unissued, memory_order_relaxed);

    if (n > BACKLOG)
        await_backlog(queue, BACKLOG);
    else if (n >= SHORT_BACKLOG && (n & (n - 1)) == 0)
        await_backlog(queue, 0);
}
