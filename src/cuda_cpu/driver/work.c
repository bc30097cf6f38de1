#include "cuda_cpu/driver/work.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/work_private.h"

/* --- references --- */

struct work *work_new(const struct work_kind *kind, enum work_engine engine, struct work_context *context,
                      void *data)
{
    struct work *work = calloc(1, sizeof *work);

    if (!work)
        return NULL;
    work->refs = 1;
    work->kind = kind;
    work->engine = engine;
    work->device = context->device;
    work->context = context;
    work->data = data;
    work->n_waits = 1;
    list_init(&work->link);
    return work;
}

struct work *work_ref(struct work *work)
{
    atomic_fetch_add_explicit(&work->refs, 1, memory_order_relaxed);
    return work;
}

void work_unref(struct work *work)
{
    if (!work || atomic_fetch_sub(&work->refs, 1) != 1)
        return;
    if (work->kind->drop && !atomic_load(&work->done)) /* never submitted */
        work->kind->drop(work);
    for (struct work_edge *edge = work->dependents, *next; edge; edge = next) {
        next = edge->next;
        free(edge);
    }
    if (work->stream)
        work_stream_unref(work->stream);
    free(work);
}

void work_context_init(struct work_context *context, int device)
{
    context->device = device;
    context->error = CUDA_SUCCESS;
    context->legacy = NULL;
    context->n_open = 0;
    context->ending = false;
    context->gate = NULL;
    list_init(&context->streams);
}

struct work_stream *work_stream_new(struct work_context *context, unsigned flags, int priority, bool legacy)
{
    struct work_stream *stream = calloc(1, sizeof *stream);

    if (!stream)
        return NULL;
    stream->refs = 1;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->legacy = legacy;
    stream->blocking = !legacy && !(flags & CU_STREAM_NON_BLOCKING);
    pthread_mutex_lock(&driver.machine.lock);
    list_append(&context->streams, &stream->link);
    if (legacy)
        context->legacy = stream;
    pthread_mutex_unlock(&driver.machine.lock);
    return stream;
}

void work_stream_ref(struct work_stream *stream)
{
    atomic_fetch_add_explicit(&stream->refs, 1, memory_order_relaxed);
}

void work_stream_unref(struct work_stream *stream)
{
    if (atomic_fetch_sub(&stream->refs, 1) == 1)
        free(stream);
}

void work_stream_retire(struct work_stream *stream)
{
    struct work *last;

    pthread_mutex_lock(&driver.machine.lock);
    last = stream->last;
    if (!last)
        list_remove(&stream->link);
    stream->retired = true;
    pthread_mutex_unlock(&driver.machine.lock);
    work_stream_unref(stream);
}

/* --- the graph --- */

static int add_edge(struct work *from, struct work *to);

int work_after_context(struct work *work, struct work_context *context)
{
    int result;

    pthread_mutex_lock(&driver.machine.lock);
    result = add_edge(context->gate, work);
    list_for_each(at, &context->streams)
    {
        if (result == 0)
            result = add_edge(list_entry(at, struct work_stream, link)->last, work);
    }
    pthread_mutex_unlock(&driver.machine.lock);
    return result;
}

int work_gate_context(struct work_context *context, struct work *gate)
{
    struct work *before;
    int result;

    pthread_mutex_lock(&driver.machine.lock);
    before = context->gate;
    result = add_edge(before, gate);
    if (result == 0)
        context->gate = work_ref(gate);
    pthread_mutex_unlock(&driver.machine.lock);
    if (result == 0)
        work_unref(before);
    return result;
}

/* Under the lock. */
static int add_edge(struct work *from, struct work *to)
{
    struct work_edge *edge;

    if (!from || from->done)
        return 0;
    edge = malloc(sizeof *edge);
    if (!edge)
        return -ENOMEM;
    edge->dependent = work_ref(to);
    edge->next = from->dependents;
    from->dependents = edge;
    to->n_waits++;
    return 0;
}

int work_after(struct work *work, struct work *other)
{
    int result;

    if (!other || work_is_done(other))
        return 0;
    pthread_mutex_lock(&driver.machine.lock);
    result = add_edge(other, work);
    pthread_mutex_unlock(&driver.machine.lock);
    return result;
}

/* Under the lock: adds the waits that the order of streams demands. */
static int add_stream_order(struct work *work, struct work_stream *stream)
{
    int result = add_edge(stream->last, work);

    if (result == 0)
        result = add_edge(stream->context->gate, work);

    if (stream->legacy) {
        list_for_each(at, &stream->context->streams)
        {
            struct work_stream *other = list_entry(at, struct work_stream, link);

            if (result == 0 && other->blocking)
                result = add_edge(other->last, work);
        }
    } else if (result == 0 && stream->blocking && stream->context->legacy) {
        result = add_edge(stream->context->legacy->last, work);
    }
    return result;
}

/* Under the lock: one of its waits is over. */
static void arrive(struct work *work)
{
    if (--work->n_waits == 0)
        work_ready(work);
}

/*
 * Under the lock: appends the operation to the stream and counts it. One wait is left, for the
 * submission itself. *ret_before: a reference that the caller drops.
 */
static int join_stream(struct work *work, struct work_stream *stream, struct work **ret_before)
{
    int result = stream ? add_stream_order(work, stream) : 0;

    if (result < 0)
        return result;
    atomic_fetch_add(&work->context->n_open, 1);
    work_ref(work); /* the machine's reference, until work_end() */
    if (stream) {
        work_stream_ref(stream);
        work->stream = stream;
        *ret_before = stream->last;
        stream->last = work_ref(work);
    }
    return 0;
}

int work_submit(struct work *work, struct work_stream *stream)
{
    struct work *before = NULL;
    int result;

    pthread_mutex_lock(&driver.machine.lock);
    result = join_stream(work, stream, &before);
    if (result == 0)
        arrive(work);
    pthread_mutex_unlock(&driver.machine.lock);
    work_unref(before);
    return result;
}

static struct work_queue *queue_of(const struct work *work)
{
    return work->engine == WORK_HOST   ? &driver.machine.host
           : work->engine == WORK_POLL ? &driver.machine.poll
                                       : &driver.machine.engines[work->context->device][work->engine];
}

/* Under the lock: can the calling thread run the operation now without overtaking another? */
static bool may_begin(const struct work *work)
{
    return (work->engine == WORK_COPY_IN || work->engine == WORK_COPY_OUT) && work->n_waits == 1 &&
           atomic_load(&work->context->error) == CUDA_SUCCESS && list_empty(&queue_of(work)->ready) &&
           !atomic_load(&driver.machine.stopping);
}

/* Runs the operation on the calling thread. Unlocks the lock meanwhile. */
static void do_here(struct work *work)
{
    CUresult status;

    work->n_waits = 0;
    driver.machine.n_callers++;
    driver_thread.is_caller = true;
    pthread_mutex_unlock(&driver.machine.lock);
    status = work_run(queue_of(work), work);
    if (status != CUDA_SUCCESS)
        atomic_store(&work->context->error, (int)status);
    pthread_mutex_lock(&driver.machine.lock);
    driver_thread.is_caller = false;
    driver.machine.n_callers--;
    work_end(work, status);
}

int work_do(struct work *work, struct work_stream *stream, CUresult *ret_status)
{
    struct work *before = NULL;
    int result;

    pthread_mutex_lock(&driver.machine.lock);
    result = join_stream(work, stream, &before);
    if (result == 0 && may_begin(work))
        do_here(work);
    else if (result == 0)
        arrive(work);
    pthread_mutex_unlock(&driver.machine.lock);
    work_unref(before);
    if (result == 0)
        *ret_status = work_wait(work);
    return result;
}

void work_ready(struct work *work)
{
    struct work_queue *queue;
    CUresult error = (CUresult)atomic_load(&work->context->error);

    if (error != CUDA_SUCCESS && work->engine != WORK_HOST) {
        work_end(work, error);
        return;
    }
    if (work->engine == WORK_NONE) {
        work_end(work, work->kind->run ? work->kind->run(work) : CUDA_SUCCESS);
        return;
    }
    queue = queue_of(work);
    list_append(&queue->ready, &work->link);
    atomic_fetch_add(&queue->n_ready, 1);
    if (work_wake(queue))
        return;
    list_remove(&work->link);
    atomic_fetch_sub(&queue->n_ready, 1);
    atomic_store(&work->context->error, CUDA_ERROR_OPERATING_SYSTEM);
    work_end(work, CUDA_ERROR_OPERATING_SYSTEM);
}

/* Under the lock: removes the stream's reference to an operation that is over. */
static void leave_stream(struct work *work)
{
    struct work_stream *stream = work->stream;

    if (!stream || stream->last != work)
        return;
    stream->last = NULL;
    if (stream->retired)
        list_remove(&stream->link);
    work_unref(work);
}

/*
 * The end of an operation may end others that need no engine, and those may end further ones. Calls
 * nest only once: the outermost call works through the list of dependents, which inner calls
 * extend.
 */
void work_end(struct work *work, CUresult status)
{
    struct work_machine *m = &driver.machine;
    struct work_edge *edge, **tail;

    work->status = status;
    work->end_at = work->end_at ? work->end_at : clock_now();
    if (work->kind->drop)
        work->kind->drop(work);
    atomic_store_explicit(&work->done, true, memory_order_release);
    atomic_fetch_sub(&work->context->n_open, 1);
    for (tail = &m->ended_edges; *tail; tail = &(*tail)->next)
        ;
    *tail = work->dependents;
    work->dependents = NULL;
    leave_stream(work);
    if (work->awaited || atomic_load(&m->stopping))
        pthread_cond_broadcast(&m->ended);
    work_unref(work);
    if (m->telling)
        return;
    m->telling = true;
    while ((edge = m->ended_edges)) {
        m->ended_edges = edge->next;
        arrive(edge->dependent);
        work_unref(edge->dependent);
        free(edge);
    }
    m->telling = false;
}

/* --- waiting --- */

bool work_is_done(const struct work *work)
{
    return atomic_load_explicit(&work->done, memory_order_acquire);
}

CUresult work_wait(struct work *work)
{
    baton_nsec begin_at;

    if (work_is_done(work))
        return work->status;
    begin_at = clock_now();
    if (!work_spin(work)) {
        pthread_mutex_lock(&driver.machine.lock);
        work->awaited = true;
        while (!work_is_done(work) && !atomic_load(&driver.machine.closed))
            pthread_cond_wait(&driver.machine.ended, &driver.machine.lock);
        pthread_mutex_unlock(&driver.machine.lock);
    }
    if (!work_is_done(work))
        return CUDA_ERROR_DEINITIALIZED;
    work_waited(work->device, work->end_at - begin_at);
    return work->status;
}

struct work *work_stream_tail(struct work_stream *stream)
{
    struct work *last;

    pthread_mutex_lock(&driver.machine.lock);
    last = stream->last ? work_ref(stream->last) : NULL;
    pthread_mutex_unlock(&driver.machine.lock);
    return last;
}

CUresult work_wait_stream(struct work_stream *stream)
{
    struct work *last = work_stream_tail(stream);

    if (last) {
        (void)work_wait(last);
        work_unref(last);
    }
    return atomic_load(&driver.machine.closed) ? CUDA_ERROR_DEINITIALIZED
                                               : (CUresult)atomic_load(&stream->context->error);
}

/* The last operation of the first stream that has one. The caller waits for it and asks again. */
static struct work *any_tail(struct work_context *context)
{
    struct work *last = NULL;

    pthread_mutex_lock(&driver.machine.lock);
    list_for_each(at, &context->streams)
    {
        struct work_stream *stream = list_entry(at, struct work_stream, link);

        if (!last && stream->last)
            last = work_ref(stream->last);
    }
    pthread_mutex_unlock(&driver.machine.lock);
    return last;
}

CUresult work_wait_context(struct work_context *context)
{
    struct work *last;

    while (atomic_load(&context->n_open) && !atomic_load(&driver.machine.closed) &&
           (last = any_tail(context))) {
        (void)work_wait(last);
        work_unref(last);
    }
    return atomic_load(&driver.machine.closed) ? CUDA_ERROR_DEINITIALIZED
                                               : (CUresult)atomic_load(&context->error);
}

void work_wait_last(struct work_context *context)
{
    const struct timespec moment = {.tv_nsec = 50000};

    atomic_store(&context->ending, true);
    while (atomic_load(&context->n_open) && !atomic_load(&driver.machine.closed))
        nanosleep(&moment, NULL);
    work_unref(context->gate);
    context->gate = NULL;
}

CUresult work_query_stream(struct work_stream *stream)
{
    CUresult error = (CUresult)atomic_load(&stream->context->error);
    bool busy;

    pthread_mutex_lock(&driver.machine.lock);
    busy = stream->last && !work_is_done(stream->last);
    pthread_mutex_unlock(&driver.machine.lock);
    return error != CUDA_SUCCESS ? error : busy ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}
