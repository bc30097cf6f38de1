/*
 * One thread per queue executes its commands; the device's mutex makes commands of several queues
 * exclude each other as on a GPU. Gated commands (user events) simply wait their turn, so nothing
 * here can deadlock.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;

cl_int fake_waits_check(cl_command_queue queue, cl_uint n, const cl_event *waits)
{
    if ((n == 0) != (waits == NULL))
        return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i < n; i++)
        if (!fake_is(waits[i], FAKE_EVENT))
            return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i < n; i++)
        if (waits[i]->context != queue->context)
            return CL_INVALID_CONTEXT;
    return CL_SUCCESS;
}

static void run_callbacks(cl_event event, struct fake_callback *due, cl_int status)
{
    while (due) {
        struct fake_callback *next = due->next;
        due->run(event, status < 0 ? status : due->at, due->data);
        free(due);
        due = next;
    }
}

void fake_event_set(cl_event event, cl_int status)
{
    struct fake_callback *due = NULL, **tail = &due, **at;

    pthread_mutex_lock(&fake_lock);
    event->status = status;
    if (status >= 0 && status <= CL_QUEUED)
        event->times[CL_QUEUED - status] = (cl_ulong)fake_profiling_now();
    for (at = &event->callbacks; *at;) {
        struct fake_callback *callback = *at;
        if (callback->at < status && status >= 0) {
            at = &callback->next;
            continue;
        }
        *at = callback->next;
        callback->next = NULL;
        *tail = callback;
        tail = &callback->next;
    }
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
    run_callbacks(event, due, status);
}

/* Under fake_lock: may this command start? Writes a failed wait's existence. */
static bool is_ready(const struct _cl_command_queue *queue, const struct fake_command *command,
                     bool *ret_failed)
{
    bool in_order = !(queue->properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);

    *ret_failed = false;
    for (const struct fake_command *other = queue->head; other != command; other = other->next)
        if (in_order || other->barrier || command->all_before)
            return false;
    if (command->ready_at > fake_now())
        return false;
    for (cl_uint i = 0; i < command->n_waits; i++) {
        if (command->waits[i]->status > CL_COMPLETE)
            return false;
        if (command->waits[i]->status < 0)
            *ret_failed = true;
    }
    return true;
}

/* Under fake_lock: until something changes; a command that lags becomes ready by itself. */
static void await_change(const struct _cl_command_queue *queue)
{
    struct timespec until;
    bool lags = false;

    for (const struct fake_command *command = queue->head; command; command = command->next)
        lags = lags || command->ready_at > fake_now();
    if (!lags) {
        pthread_cond_wait(&fake_changed, &fake_lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&fake_changed, &fake_lock, &until);
}

static void spend(int64_t ns)
{
    struct timespec pause = {ns / 1000000000, ns % 1000000000};

    if (ns > 0)
        nanosleep(&pause, NULL);
}

static bool calls_back(const struct _cl_mem *mem)
{
    return mem->destructors || (mem->parent && mem->parent->destructors);
}

/*
 * What the command holds but for memory whose destructor calls the program: that may want a lock of
 * a thread in clFinish.
 */
static void drop_references(struct fake_command *command)
{
    cl_uint kept = 0;

    for (cl_uint i = 0; i < command->n_waits; i++)
        fake_event_release(command->waits[i]);
    command->n_waits = 0;
    for (cl_uint i = 0; i < command->n_mems; i++) {
        if (calls_back(command->mems[i]))
            command->mems[kept++] = command->mems[i];
        else
            fake_mem_release(command->mems[i]);
    }
    command->n_mems = kept;
    fake_event_release(command->event);
}

static void free_command(struct fake_command *command)
{
    for (cl_uint i = 0; i < command->n_mems; i++)
        fake_mem_release(command->mems[i]);
    free(command->waits);
    free(command->data);
    free(command);
}

static void execute(cl_command_queue queue, struct fake_command *command, bool wait_failed)
{
    int64_t begin, end;
    size_t active;
    cl_int status = CL_COMPLETE;

    fake_event_set(command->event, CL_SUBMITTED);
    if (wait_failed) {
        status = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    } else {
        pthread_mutex_lock(&queue->device->engine);
        fake_event_set(command->event, CL_RUNNING);
        begin = fake_now();
        spend(command->duration_ns);
        if (command->abort_with == CL_SUCCESS && command->act)
            command->act(command);
        end = fake_now();
        pthread_mutex_lock(&fake_lock);
        active = queue->n_active;
        pthread_mutex_unlock(&fake_lock);
        fake_script_log(command->call, queue->number, begin, end, command->groups, command->bytes, active);
        pthread_mutex_unlock(&queue->device->engine);
        if (command->abort_with != CL_SUCCESS)
            status = command->abort_with;
    }
    pthread_mutex_lock(&fake_lock);
    for (struct fake_command **at = &queue->head; *at; at = &(*at)->next)
        if (*at == command) {
            *at = command->next;
            break;
        }
    pthread_mutex_unlock(&fake_lock);
    fake_event_set(command->event, status);
    drop_references(
        /*
         * its references are gone before clFinish answers; the queue is freed by its own thread
         * only
         */
        command);
    pthread_mutex_lock(&fake_lock);
    queue->n_active--;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
    free_command(command);
}

static void *run_queue(void *argument)
{
    cl_command_queue queue = argument;

    pthread_mutex_lock(&fake_lock);
    for (;;) {
        struct fake_command *command = queue->head;
        bool failed = false;
        while (command && !is_ready(queue, command, &failed))
            command = command->next;
        if (command) {
            pthread_mutex_unlock(&fake_lock);
            execute(queue, command, failed);
            pthread_mutex_lock(&fake_lock);
        } else if (queue->stop && !queue->head) {
            break;
        } else {
            await_change(queue);
        }
    }
    pthread_mutex_unlock(&fake_lock);
    fake_context_release(queue->context);
    free(queue);
    return NULL;
}

cl_int fake_submit(cl_command_queue queue, const struct fake_command *draft, cl_command_type type,
                   cl_uint n_waits, const cl_event *waits, cl_bool blocking, cl_event *ret_event)
{
    struct fake_command *command = calloc(1, sizeof *command);
    cl_event event = calloc(1, sizeof *event);
    struct fake_command **tail;
    cl_int status;

    fake_object_init(&event->object, FAKE_EVENT);
    event->context = queue->context;
    event->queue = queue;
    event->type = type;
    event->status = CL_QUEUED;
    event->times[0] = (cl_ulong)fake_profiling_now();
    atomic_fetch_add(&queue->context->object.refs, 1);
    atomic_fetch_add(&queue->object.refs, 1); /* an event may be asked about its queue as long as it lives */
    *command = *draft;
    command->event = event;
    if (!command->abort_with)
        command->abort_with = fake_script_abort(draft->call);
    command->duration_ns += fake_script_duration(draft->call);
    command->ready_at = blocking ? 0 : fake_script_lag(draft->call);
    command->n_waits = n_waits;
    command->waits = calloc(n_waits + 1, sizeof *waits);
    for (cl_uint i = 0; i < n_waits; i++) {
        command->waits[i] = waits[i];
        atomic_fetch_add(&waits[i]->object.refs, 1);
    }
    for (cl_uint i = 0; i < command->n_mems; i++)
        atomic_fetch_add(&command->mems[i]->object.refs, 1);
    atomic_fetch_add(&event->object.refs, 2); /* the caller's and this function's */

    pthread_mutex_lock(&fake_lock);
    for (tail = &queue->head; *tail; tail = &(*tail)->next)
        ;
    *tail = command;
    queue->n_active++;
    if (!queue->running && !fake_script_sync()) {
        queue->running = true;
        pthread_create(&queue->thread, NULL, run_queue, queue);
        pthread_detach(queue->thread);
    }
    pthread_cond_broadcast(&fake_changed);
    if (fake_script_sync()) {
        bool failed;
        while (!is_ready(queue, command, &failed))
            await_change(queue);
        pthread_mutex_unlock(&fake_lock);
        execute(queue, command, failed);
        pthread_mutex_lock(&fake_lock);
    }
    while (blocking && event->status > CL_COMPLETE)
        pthread_cond_wait(&fake_changed, &fake_lock);
    status = event->status;
    pthread_mutex_unlock(&fake_lock);
    if (ret_event)
        *ret_event = event;
    else
        fake_event_release(event);
    fake_event_release(event);
    return blocking && status < 0 ? status : CL_SUCCESS;
}

FAKE_API cl_int CL_API_CALL fake_clFlush(cl_command_queue queue)
{
    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    return fake_script_fail("Flush");
}

FAKE_API cl_int CL_API_CALL fake_clFinish(cl_command_queue queue)
{
    cl_int code;

    if (!fake_is(queue, FAKE_QUEUE))
        return CL_INVALID_COMMAND_QUEUE;
    if ((code = fake_script_fail("Finish")))
        return code;
    pthread_mutex_lock(&fake_lock);
    while (queue->n_active)
        pthread_cond_wait(&fake_changed, &fake_lock);
    pthread_mutex_unlock(&fake_lock);
    return CL_SUCCESS;
}

void fake_queue_release(cl_command_queue queue)
{
    if (atomic_fetch_sub(&queue->object.refs, 1) != 1)
        return;
    queue->object.kind = 0;
    pthread_mutex_lock(&fake_lock);
    queue->stop = true; /* the thread finishes what was enqueued, then frees the queue */
    if (!queue->running) {
        pthread_mutex_unlock(&fake_lock);
        fake_context_release(queue->context);
        free(queue);
        return;
    }
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}
