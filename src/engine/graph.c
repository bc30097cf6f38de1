#include "engine/graph.h"

#include <stdlib.h>

#include "engine/runtime.h"
#include "engine/worker.h"

void graph_init(void)
{
    pthread_mutex_init(&runtime.graph.lock, NULL);
    pthread_cond_init(&runtime.graph.changed, NULL);
}

void graph_lock(void)
{
    pthread_mutex_lock(&runtime.graph.lock);
}

void graph_unlock(void)
{
    pthread_mutex_unlock(&runtime.graph.lock);
}

/* With the lock held, unlocked meanwhile. */
static void sleep_locked(void)
{
    pthread_cond_wait(&runtime.graph.changed, &runtime.graph.lock);
}

void graph_wake_locked(void)
{
    pthread_cond_broadcast(&runtime.graph.changed);
}

/* --- waiting for each other --- */

/* Under the lock. */
static void wait_over(struct command *command, bool failed)
{
    command->failed_wait = command->failed_wait || failed;
    if (--command->n_waiting == 0)
        worker_ready(command->runs_on, command);
}

/* Under the lock: is there nothing (more) to wait for? */
static bool edge_is_over(struct command *command, const struct command *other, enum edge_kind kind)
{
    if (other->status <= COMMAND_COMPLETE) {
        command->failed_wait = command->failed_wait || (other->status < 0 && kind == EDGE_LISTED);
        return true;
    }
    return kind == EDGE_AT_ISSUE && other->issued;
}

/*
 * Under the lock. False: memory is short. Then this has waited for a change, with the lock
 * released: the caller looks anew at what it waits for, until nothing is left.
 */
static bool wait_for(struct command *command, struct command *other, enum edge_kind kind)
{
    struct command_edge *edge;

    if (edge_is_over(command, other, kind))
        return true;
    edge = malloc(sizeof *edge);
    if (!edge) {
        sleep_locked();
        return false;
    }
    *edge = (struct command_edge){other->dependents, command, kind};
    other->dependents = edge;
    command_ref(command);
    command->n_waiting++;
    return true;
}

/* Order within the queue, under the lock: before the command is appended. False: as wait_for(). */
static bool wait_for_queue(struct command *command)
{
    struct command_queue *queue = command->queue;

    if (queue->in_order) {
        if (!list_empty(&queue->commands)) {
            struct command *last = list_entry(queue->commands.prev, struct command, in_queue);
            /*
             * The driver's queue keeps the order of its commands. But no engine is held while
             * another engine works.
             */
            bool at_issue = last->runs_on == command->runs_on || !command->policy.online;
            at_issue = at_issue && !last->next_at_end;
            return wait_for(command, last, at_issue ? EDGE_AT_ISSUE : EDGE_AT_END);
        }
        return true;
    }
    list_for_each(at, &queue->commands)
    {
        struct command *other = list_entry(at, struct command, in_queue);
        if ((command->all_before || other->barrier) && !wait_for(command, other, EDGE_AT_END))
            return false;
    }
    return true;
}

/* Under the lock. False: as wait_for(). */
static bool wait_for_last(struct command *command, const struct command_queue *queue)
{
    struct command *last;

    if (list_empty(&queue->commands))
        return true;
    last = list_entry(queue->commands.prev, struct command, in_queue);
    return wait_for(command, last,
                    last->engine == command->engine && !last->next_at_end ? EDGE_AT_ISSUE : EDGE_AT_END);
}

/* Under the lock. False: as wait_for(). */
static bool wait_for_all(struct command *command, const struct command_queue *queue)
{
    list_for_each(at, &queue->commands)
    {
        if (!wait_for(command, list_entry(at, struct command, in_queue), EDGE_AT_END))
            return false;
    }
    return true;
}

static void on_mark(struct mark_listener *listener, int status)
{
    struct command *command = list_entry(listener, struct command, listener);

    graph_lock();
    wait_over(command, status < 0);
    graph_unlock();
    command_unref(command);
}

void graph_open(struct command *command)
{
    struct command_queue *queue = command->queue;

    command_ref(command);   /* the graph's, until complete */
    command->n_waiting = 1; /* keeps it from running before graph_close() */
    command->listener.run = on_mark;
    if (!command->runs_on)
        command_resolve(command);
    graph_lock();
    runtime.graph.n_alive++;
    while (!wait_for_queue(command))
        ;
    command->place = ++queue->n_opened;
    list_append(&queue->commands, &command->in_queue);
    atomic_fetch_add(&queue->n_unissued, 1);
    graph_unlock();
}

void graph_wait_command(struct command *command, struct command *other, enum edge_kind kind)
{
    graph_lock();
    while (!wait_for(command, other, kind))
        ;
    graph_unlock();
}

void graph_wait_last(struct command *command, const struct command_queue *queue)
{
    graph_lock();
    while (!wait_for_last(command, queue))
        ;
    graph_unlock();
}

void graph_wait_all(struct command *command, const struct command_queue *queue)
{
    graph_lock();
    while (!wait_for_all(command, queue))
        ;
    graph_unlock();
}

/* Does nothing if the mark is over, else has the driver report its end. */
void graph_wait_mark(struct command *command, struct mark *mark)
{
    const struct driver_ops *ops = command->ops;
    int status = ops->mark_status(mark);

    if (status <= COMMAND_COMPLETE) {
        graph_lock(); /* commands in the graph that it waits for may fail meanwhile */
        command->failed_wait = command->failed_wait || status < 0;
        graph_unlock();
        return;
    }
    ops->mark_flush(mark);
    graph_lock();
    command->n_waiting++;
    graph_unlock();
    command_ref(command);
    if (!ops->mark_notify(mark, &command->listener))
        on_mark(&command->listener, ops->mark_wait(mark));
}

void graph_close(struct command *command)
{
    graph_lock();
    wait_over(command, false);
    graph_unlock();
}

/* --- progress --- */

/* Under the lock: takes out the callbacks that are due. */
static struct command_callback *take_callbacks(struct command *command, int status)
{
    struct command_callback *due = NULL, **tail = &due, **at = &command->callbacks;

    while (*at) {
        struct command_callback *callback = *at;
        if (status >= 0 && callback->at < status) {
            at = &callback->next;
            continue;
        }
        *at = callback->next;
        callback->next = NULL;
        callback->status = status < 0 ? status : callback->at;
        *tail = callback;
        tail = &callback->next;
    }
    return due;
}

void graph_run_callbacks(struct command_callback *due)
{
    while (due) {
        struct command_callback *next = due->next;

        due->run(due);
        due = next;
    }
}

/* Runs the callbacks here, or leaves them to a worker that holds nothing. */
static void call(const struct command *command, struct command_callback *due)
{
    if (due && (!command->queue || !worker_call(command->runs_on, due)))
        graph_run_callbacks(due);
}

void graph_progress(struct command *command, int status)
{
    struct command_callback *due;

    graph_lock();
    command->status = status;
    due = take_callbacks(command, status);
    graph_unlock();
    call(command, due);
}

/* Under the lock. */
static void release_dependents(struct command *command, bool at_issue)
{
    struct command_edge **at = &command->dependents;

    while (*at) {
        struct command_edge *edge = *at;
        if (at_issue && edge->kind != EDGE_AT_ISSUE) {
            at = &edge->next;
            continue;
        }
        *at = edge->next;
        wait_over(edge->dependent, command->status < 0 && edge->kind == EDGE_LISTED);
        /* never the last reference: the graph has one until the command is complete */
        command_unref(edge->dependent);
        free(edge);
    }
}

void graph_issued(struct command *command)
{
    graph_lock();
    if (!command->issued) {
        command->issued = true;
        atomic_fetch_sub(&command->queue->n_unissued, 1);
        release_dependents(command, true);
        graph_wake_locked();
    }
    graph_unlock();
}

/* Under the lock. */
static void leave_queue(struct command *command)
{
    list_remove(&command->in_queue);
    runtime.graph.n_alive--;
    if (!command->issued) {
        command->issued = true;
        atomic_fetch_sub(&command->queue->n_unissued, 1);
    }
}

static void end(struct command *command, int status, bool submitted)
{
    struct command_callback *due, *abandoned = command->ops->ending(command);

    /* before the end is visible: after it, the program may release everything */
    command_drop_marks(command);
    graph_lock();
    if (submitted)
        leave_queue(command);
    command->status = status;
    due = take_callbacks(command, status);
    release_dependents(command, false);
    graph_wake_locked();
    graph_unlock();
    command->ops->ended(command, status);
    call(command, due);
    call(command, abandoned);
    if (submitted)
        command_unref(command);
}

void graph_complete(struct command *command, int status)
{
    end(command, status, command->queue != NULL);
}

void graph_end_alone(struct command *command, int status)
{
    end(command, status, false);
}

/* Under the lock: is a command up to the place incomplete, or else not issued? */
static bool any_until(const struct command_queue *queue, uint64_t place, bool complete)
{
    list_for_each(at, &queue->commands)
    {
        const struct command *command = list_entry(at, struct command, in_queue);

        if (command->place > place || complete || !command->issued)
            return command->place <= place;
    }
    return false;
}

/*
 * Under the lock: waits until all that the queue has now is complete. Other threads may submit
 * without end.
 */
static void await_queue(struct command_queue *queue)
{
    struct command *last;

    if (list_empty(&queue->commands))
        return;
    last = list_entry(queue->commands.prev, struct command, in_queue);
    command_ref(last);
    while (any_until(queue, last->place, true) && !runtime_off())
        if (!worker_help(queue, queue->in_order ? last : NULL))
            sleep_locked();
    worker_help_ends();
    graph_unlock(); /* the reference may be the last one */
    command_unref(last);
    graph_lock();
}

/* A wait also ends with the process: an exit handler of the program may join the waiting thread. */
int graph_wait(struct command *command)
{
    int status;

    graph_lock();
    while (command->status > COMMAND_COMPLETE && !runtime_off())
        if (!worker_help(command->queue, command))
            sleep_locked();
    worker_help_ends();
    status = command->status;
    graph_unlock();
    return status > COMMAND_COMPLETE ? command->ops->inherited_failure : status;
}

void graph_wait_issued(struct command *command)
{
    graph_lock();
    while (!command->issued && !runtime_off())
        if (!worker_help(command->queue, command))
            sleep_locked();
    worker_help_ends();
    graph_unlock();
}

void graph_wait_queue(struct command_queue *queue, bool complete)
{
    uint64_t place;

    if (!complete && atomic_load(&queue->n_unissued) == 0)
        return;
    graph_lock();
    place = queue->n_opened;
    if (complete)
        await_queue(queue);
    while (!complete && any_until(queue, place, false) && !runtime_off())
        sleep_locked();
    graph_unlock();
}

bool graph_queue_over(struct command_queue *queue, bool complete)
{
    bool over = command_queue_idle(queue);

    if (!over || !complete)
        return over;
    graph_lock();
    over = list_empty(&queue->commands);
    graph_unlock();
    return over;
}

/* Under the lock. */
static bool has_barrier(const struct command_queue *queue)
{
    list_for_each(at, &queue->commands)
    {
        if (list_entry(at, struct command, in_queue)->barrier)
            return true;
    }
    return false;
}

void graph_wait_barriers(struct command_queue *queue)
{
    graph_lock();
    while (has_barrier(queue) && !runtime_off())
        sleep_locked();
    graph_unlock();
}

int graph_status(struct command *command)
{
    int status;

    graph_lock();
    status = command->status;
    graph_unlock();
    return status;
}

void graph_callback(struct command *command, struct command_callback *callback)
{
    struct command_callback **tail;
    int status;

    callback->next = NULL;
    graph_lock();
    status = command->status;
    if (status > callback->at) {
        for (tail = &command->callbacks; *tail; tail = &(*tail)->next)
            ;
        *tail = callback;
        graph_unlock();
        return;
    }
    graph_unlock();
    callback->status = status < 0 ? status : callback->at;
    graph_run_callbacks(callback);
}

bool graph_idle(void)
{
    bool idle;

    graph_lock();
    idle = runtime.graph.n_alive == 0;
    graph_unlock();
    return idle;
}
