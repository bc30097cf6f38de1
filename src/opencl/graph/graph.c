#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "opencl/graph/graph.h"
#include "opencl/layer.h"
#include "opencl/graph/map.h"
#include "opencl/graph/worker.h"
#include "opencl/objects.h"

/* Commands of one queue that the driver has not been given, before enqueue calls wait. */
enum { BACKLOG = 1024 };

#define THROTTLE_NS (10 * NSEC_PER_MS) /* at most, per call */

pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned n_alive; /* submitted, not complete */

void graph_init(void)
{
    pthread_mutex_init(&graph_lock, NULL);
    pthread_cond_init(&changed, NULL);
}

void graph_forget_locks(void)
{
    graph_init();
}

/* --- waiting for each other --- */

/* Under graph_lock. */
static void wait_over(struct command *command, bool failed)
{
    command->failed_wait = command->failed_wait || failed;
    if (--command->n_waiting == 0)
        worker_ready(&command->queue->device->engines[command->engine], command);
}

/* Under graph_lock. No memory: falls back to waiting right here, which keeps the order at the price of blocking. */
static void wait_for(struct command *command, struct command *other, enum edge_kind kind)
{
    struct command_edge *edge;

    if (other->status <= CL_COMPLETE) {
        command->failed_wait = command->failed_wait || (other->status < 0 && kind == EDGE_LISTED);
        return;
    }
    if (kind == EDGE_AT_ISSUE && other->issued)
        return;
    edge = malloc(sizeof *edge);
    while (!edge && other->status > CL_COMPLETE) {
        pthread_cond_wait(&changed, &graph_lock);
        edge = malloc(sizeof *edge);
    }
    if (!edge)
        return;
    *edge = (struct command_edge){other->dependents, command, kind};
    other->dependents = edge;
    graph_ref(command);
    command->n_waiting++;
}

/* Order within the queue, under graph_lock: before the command is appended. */
static void wait_for_queue(struct command *command)
{
    struct queue_record *queue = command->queue;

    if (queue->in_order) {
        if (!list_empty(&queue->commands)) {
            struct command *last = list_entry(queue->commands.prev, struct command, in_queue);
            /* The driver's queue keeps the order of what it was given; but an engine is not held while another one works. */
            bool at_issue =
                last->engine == command->engine || !layer_session() || !session_online(layer_session());
            at_issue = at_issue && last->kind != COMMAND_MAP && last->kind != COMMAND_UNMAP;
            wait_for(command, last, at_issue ? EDGE_AT_ISSUE : EDGE_AT_END);
        }
        return;
    }
    list_for_each(at, &queue->commands)
    {
        struct command *other = list_entry(at, struct command, in_queue);
        if (command->all_before || other->kind == COMMAND_BARRIER)
            wait_for(command, other, EDGE_AT_END);
    }
}

static void CL_CALLBACK on_driver_event(cl_event event, cl_int status, void *data)
{
    struct command *command = data;

    (void)event;
    pthread_mutex_lock(&graph_lock);
    wait_over(command, status < 0);
    pthread_mutex_unlock(&graph_lock);
    graph_unref(command);
}

/* An event that the driver made: nothing to do if complete, else its callback tells us. */
static void wait_for_driver(struct command *command, cl_event event)
{
    cl_command_queue queue = NULL;
    cl_int status = CL_COMPLETE;

    target.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (status <= CL_COMPLETE) {
        pthread_mutex_lock(&graph_lock); /* what it waits for in our graph may fail meanwhile */
        command->failed_wait = command->failed_wait || status < 0;
        pthread_mutex_unlock(&graph_lock);
        return;
    }
    target.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    if (queue == command->queue->handle && command->queue->in_order)
        return;
    if (queue)
        target.clFlush(queue);
    pthread_mutex_lock(&graph_lock);
    command->n_waiting++;
    pthread_mutex_unlock(&graph_lock);
    graph_ref(command);
    if (target.clSetEventCallback(event, CL_COMPLETE, on_driver_event, command) != CL_SUCCESS) {
        target.clWaitForEvents(1, &event);
        on_driver_event(event, CL_COMPLETE, command);
    }
}

void graph_submit(struct command *command, cl_uint n_waits, const cl_event *waits)
{
    struct queue_record *queue = command->queue;

    command->all_before =
        n_waits == 0 && (command->kind == COMMAND_MARKER || command->kind == COMMAND_BARRIER);
    graph_ref(command);     /* the graph's, until complete */
    command->n_waiting = 1; /* keeps it from running before the list has been read */
    pthread_mutex_lock(&graph_lock);
    n_alive++;
    wait_for_queue(command);
    list_append(&queue->commands, &command->in_queue);
    atomic_fetch_add(&queue->n_unissued, 1);
    pthread_mutex_unlock(&graph_lock);
    for (cl_uint i = 0; i < n_waits; i++) {
        struct command *other = handle_table_find(&events, waits[i]);
        if (!other) {
            wait_for_driver(command, waits[i]);
            continue;
        }
        pthread_mutex_lock(&graph_lock);
        wait_for(command, other, EDGE_LISTED);
        pthread_mutex_unlock(&graph_lock);
        graph_unref(other);
    }
    pthread_mutex_lock(&graph_lock);
    wait_over(command, false);
    pthread_mutex_unlock(&graph_lock);
}

/* --- progress --- */

/* Under graph_lock: takes out the callbacks that are due. */
static struct command_callback *take_callbacks(struct command *command, cl_int status)
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

void graph_hold_record(struct command *command)
{
    atomic_fetch_add(&command->record_holds, 1);
}

void graph_drop_record(struct command *command)
{
    if (atomic_fetch_sub(&command->record_holds, 1) == 1 && handle_table_remove(&events, command->handle))
        graph_unref(command);
}

void graph_run_callbacks(struct command_callback *due)
{
    while (due) {
        struct command_callback *next = due->next;
        struct command *command = due->command;
        due->run(command ? command->handle : NULL, due->status, due->data);
        worker_came_back();
        if (command) {
            target.clReleaseEvent(command->handle);
            graph_drop_record(command);
            graph_unref(command);
        }
        free(due);
        due = next;
    }
}

/* Here, or on a worker that holds nothing. */
static void call(const struct command *command, struct command_callback *due)
{
    if (due && (!command->queue || !worker_call(&command->queue->device->engines[command->engine], due)))
        graph_run_callbacks(due);
}

void graph_progress(struct command *command, cl_int status)
{
    struct command_callback *due;

    pthread_mutex_lock(&graph_lock);
    command->status = status;
    due = take_callbacks(command, status);
    pthread_mutex_unlock(&graph_lock);
    call(command, due);
}

/* Under graph_lock. */
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
        graph_unref(edge->dependent); /* never the last: the graph holds one until it is complete */
        free(edge);
    }
}

void graph_issued(struct command *command)
{
    pthread_mutex_lock(&graph_lock);
    if (!command->issued) {
        command->issued = true;
        atomic_fetch_sub(&command->queue->n_unissued, 1);
        release_dependents(command, true);
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&graph_lock);
}

/* Under graph_lock. */
static void leave_queue(struct command *command)
{
    list_remove(&command->in_queue);
    n_alive--;
    if (!command->issued) {
        command->issued = true;
        atomic_fetch_sub(&command->queue->n_unissued, 1);
    }
}

static void end(struct command *command, cl_int status, bool submitted)
{
    struct command_callback *due, *abandoned = graph_take_abandoned(command);
    cl_event handle = command->kind == COMMAND_USER ? NULL : command->handle;

    if (command->kind == COMMAND_UNMAP)
        map_finished(command);
    graph_let_go(command); /* before anybody can see the end: the program may rebuild or release at once */
    pthread_mutex_lock(&graph_lock);
    if (submitted)
        leave_queue(command);
    command->status = status;
    due = take_callbacks(command, status);
    release_dependents(command, false);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&graph_lock);
    if (handle)
        target.clSetUserEventStatus(handle, status);
    call(command, due);
    call(command, abandoned);
    if (handle)
        target.clReleaseEvent(handle); /* ours, beside the program's */
    if (submitted)
        graph_unref(command);
}

void graph_complete(struct command *command, cl_int status)
{
    end(command, status, command->queue != NULL);
}

void graph_end_alone(struct command *command, cl_int status)
{
    end(command, status, false);
}

void graph_stir(void)
{
    pthread_cond_broadcast(&changed);
}

/* Under graph_lock: until the queue's commands are over, up to the last one (NULL: all). */
static void await(struct queue_record *queue, const struct command *last)
{
    while (last ? last->status > CL_COMPLETE : !list_empty(&queue->commands))
        if (!worker_help(queue, last))
            pthread_cond_wait(&changed, &graph_lock);
    worker_help_ends();
}

cl_int graph_wait(struct command *command)
{
    cl_int status;

    pthread_mutex_lock(&graph_lock);
    await(command->queue, command);
    status = command->status;
    pthread_mutex_unlock(&graph_lock);
    return status;
}

void graph_wait_queue(struct queue_record *queue, bool complete)
{
    if (!complete && atomic_load(&queue->n_unissued) == 0)
        return;
    pthread_mutex_lock(&graph_lock);
    if (complete)
        await(queue, NULL);
    while (!complete && atomic_load(&queue->n_unissued) > 0)
        pthread_cond_wait(&changed, &graph_lock);
    pthread_mutex_unlock(&graph_lock);
}

/* Under graph_lock. */
static bool has_barrier(const struct queue_record *queue)
{
    list_for_each(at, &queue->commands)
    {
        if (list_entry(at, struct command, in_queue)->kind == COMMAND_BARRIER)
            return true;
    }
    return false;
}

void graph_wait_barriers(struct queue_record *queue)
{
    pthread_mutex_lock(&graph_lock);
    while (has_barrier(queue))
        pthread_cond_wait(&changed, &graph_lock);
    pthread_mutex_unlock(&graph_lock);
}

/* Under graph_lock: does the oldest command wait for its engine only, so that it goes on without the program's help? */
static bool moves_by_itself(const struct queue_record *queue)
{
    list_for_each(at, &queue->commands)
    {
        const struct command *command = list_entry(at, struct command, in_queue);
        if (!command->issued)
            return command->n_waiting == 0;
    }
    return false;
}

void graph_throttle(struct queue_record *queue)
{
    struct timespec until;
    int result = 0;

    if (atomic_load_explicit(&queue->n_unissued, memory_order_relaxed) <= BACKLOG)
        return;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += THROTTLE_NS;
    until.tv_sec += until.tv_nsec / NSEC_PER_SEC;
    until.tv_nsec %= NSEC_PER_SEC;
    pthread_mutex_lock(&graph_lock);
    while (result == 0 && atomic_load(&queue->n_unissued) > BACKLOG && moves_by_itself(queue))
        result = pthread_cond_timedwait(&changed, &graph_lock, &until);
    pthread_mutex_unlock(&graph_lock);
}

cl_int graph_status(struct command *command)
{
    cl_int status;

    pthread_mutex_lock(&graph_lock);
    status = command->status;
    pthread_mutex_unlock(&graph_lock);
    return status;
}

bool graph_callback(struct command *command, cl_int at, void(CL_CALLBACK *run)(cl_event, cl_int, void *),
                    void *data)
{
    struct command_callback *callback = malloc(sizeof *callback), **tail;
    cl_int status;

    if (!callback)
        return false;
    *callback = (struct command_callback){.at = at, .command = command, .run = run, .data = data};
    graph_ref(command);
    graph_hold_record(command);
    target.clRetainEvent(command->handle);
    pthread_mutex_lock(&graph_lock);
    status = command->status;
    if (status > at) {
        for (tail = &command->callbacks; *tail; tail = &(*tail)->next)
            ;
        *tail = callback;
        pthread_mutex_unlock(&graph_lock);
        return true;
    }
    pthread_mutex_unlock(&graph_lock);
    callback->status = status < 0 ? status : at;
    graph_run_callbacks(callback);
    return true;
}

bool graph_idle(void)
{
    bool idle;

    pthread_mutex_lock(&graph_lock);
    idle = n_alive == 0;
    pthread_mutex_unlock(&graph_lock);
    return idle;
}
