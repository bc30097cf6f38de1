#include "cuda/mark.h"

#include <stdlib.h>

#include "base/clock.h"
#include "cuda/front.h"
#include "cuda/mark_private.h"

#define BASE_AGE_NS (1 * NSEC_PER_SEC) /* older bases are replaced: floats of milliseconds stay exact */
#define LONGEST_MS  1e9F               /* between two events; a driver that says more is not believed */

static struct mark *new_mark(struct context_record *context)
{
    struct mark *mark = calloc(1, sizeof *mark);

    if (!mark)
        return NULL;
    mark->context = context;
    list_init(&mark->link);
    pthread_mutex_init(&mark->lock, NULL);
    pthread_cond_init(&mark->changed, NULL);
    return mark;
}

static void reset(struct mark *mark, baton_nsec issued_at)
{
    refs_init(&mark->refs);
    atomic_store_explicit(&mark->status, COMMAND_RUNNING, memory_order_relaxed);
    atomic_store_explicit(&mark->ended, 0, memory_order_relaxed);
    mark->issued_at = issued_at;
    mark->shared = false;
    mark->n_commands = 0;
    mark->expected = 0;
}

/*
 * Under marks_lock: one whose event was used before, or a new one without an event; NULL: no
 * memory.
 */
struct mark *mark_take_locked(struct context_record *context, baton_nsec issued_at)
{
    struct mark *mark = context->free_marks;

    if (mark)
        context->free_marks = mark->next_free;
    else
        mark = new_mark(context);
    if (mark)
        reset(mark, issued_at);
    return mark;
}

void mark_need_event(struct mark *mark)
{
    if (!mark->event && cuda_front.genuine.cuEventCreate(&mark->event, 0) != CUDA_SUCCESS)
        mark->event = NULL;
}

static struct mark *take_mark(struct context_record *context, baton_nsec issued_at)
{
    struct mark *mark;

    pthread_mutex_lock(&context->marks_lock);
    mark = mark_take_locked(context, issued_at);
    pthread_mutex_unlock(&context->marks_lock);
    if (mark)
        mark_need_event(mark);
    return mark;
}

/* --- times --- */

/* Under marks_lock. */
void mark_drop_locked(struct mark *mark)
{
    struct context_record *context = mark ? mark->context : NULL;

    while (mark && refs_drop(&mark->refs)) {
        struct mark *before = mark->before;

        mark->before = NULL;
        mark->next_free = context->free_marks;
        context->free_marks = mark;
        mark = before;
    }
}

/*
 * The first base: an event of an idle stream of our own, so that it is over at a known instant.
 * From then on the clock of the context's times is close to CLOCK_MONOTONIC.
 */
static void calibrate(struct context_record *context)
{
    struct mark *mark = take_mark(context, clock_now());
    CUstream stream = NULL;

    if (!mark)
        return;
    if (mark->event && cuda_front.genuine.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS &&
        cuda_front.genuine.cuEventRecord(mark->event, stream) == CUDA_SUCCESS &&
        cuda_front.genuine.cuEventSynchronize(mark->event) == CUDA_SUCCESS) {
        atomic_store(&mark->ended, (uint64_t)clock_now());
        atomic_store(&mark->status, COMMAND_COMPLETE);
        pthread_mutex_lock(&context->marks_lock);
        if (!context->base) {
            mark_keep(mark);
            context->base = mark;
        }
        pthread_mutex_unlock(&context->marks_lock);
    }
    if (stream)
        (void)cuda_front.genuine.cuStreamDestroy_v2(stream);
    mark_drop(mark);
}

/* When a complete mark's event was, counted from the base; `now` if that is not known. */
static uint64_t event_end(const struct mark *mark, const struct mark *base, uint64_t now)
{
    struct context_visit visit;
    CUresult code;
    float ms = 0;

    if (!base || !mark->event || atomic_load(&mark->context->gone))
        return now;
    context_visit_begin(mark->context, &visit);
    code = cuda_front.genuine.cuEventElapsedTime(&ms, base->event, mark->event);
    context_visit_end(&visit);
    if (code != CUDA_SUCCESS || !(ms > -LONGEST_MS && ms < LONGEST_MS)) /* also if it is no number */
        return now;
    return (uint64_t)((int64_t)atomic_load(&base->ended) + (int64_t)((double)ms * 1e6));
}

/* Of a complete mark. Under marks_lock. */
static uint64_t end_locked(struct mark *mark)
{
    struct context_record *context = mark->context;
    uint64_t now, ended = atomic_load(&mark->ended);
    struct mark *base = context->base;

    if (ended)
        return ended;
    now = (uint64_t)clock_now();
    ended = event_end(mark, base, now);
    ended = ended > now ? now : ended; /* the clocks drift apart a little */
    ended = ended < (uint64_t)mark->issued_at ? (uint64_t)mark->issued_at : ended;
    atomic_store(&mark->ended, ended);
    if (base && ended > atomic_load(&base->ended) + BASE_AGE_NS) {
        mark_keep(mark);
        context->base = mark;
        mark_drop_locked(base);
    }
    return ended;
}

static void read_times(struct mark *mark, struct mark_times *ret_times)
{
    struct context_record *context = mark->context;
    uint64_t before;

    pthread_mutex_lock(&context->marks_lock);
    ret_times->ended = end_locked(mark);
    if (mark->before) { /* complete: the stream came by it */
        before = end_locked(mark->before);
        if ((int64_t)before > mark->issued_at && before <= ret_times->ended)
            mark->issued_at = (baton_nsec)before;
        mark_drop_locked(mark->before);
        mark->before = NULL;
    }
    ret_times->started = (uint64_t)mark->issued_at;
    ret_times->shared = mark->shared;
    pthread_mutex_unlock(&context->marks_lock);
}

/* Under marks_lock: the stream's newest mark is this one. */
void mark_follow_locked(struct stream_record *stream, struct mark *mark)
{
    mark_keep(mark);
    mark->before = stream->last_mark; /* that reference becomes this mark's */
    stream->last_mark = mark;
    if (mark->before) { /* chains have two marks at most */
        mark_drop_locked(mark->before->before);
        mark->before->before = NULL;
    }
}

/* Records its event. A driver that refuses: waits for the stream, and the mark is over. */
bool mark_record_event(struct mark *mark, const struct stream_record *stream)
{
    CUresult code = CUDA_ERROR_UNKNOWN;

    if (mark->event)
        code = cuda_front.genuine.cuEventRecord(mark->event, stream->handle);
    if (code == CUDA_SUCCESS)
        return true;
    code = cuda_front.genuine.cuStreamSynchronize(stream->handle);
    atomic_store(&mark->ended, (uint64_t)clock_now());
    atomic_store(&mark->status, code == CUDA_SUCCESS ? COMMAND_COMPLETE : -(int)code);
    return false;
}

struct mark *mark_record(struct stream_record *stream, baton_nsec issued_at)
{
    struct context_record *context = stream->context;
    struct mark *mark;

    if (!context->base)
        calibrate(context);
    mark = take_mark(context, issued_at);
    if (!mark || !mark_record_event(mark, stream))
        return mark;
    pthread_mutex_lock(&context->marks_lock);
    mark_follow_locked(stream, mark);
    pthread_mutex_unlock(&context->marks_lock);
    return mark;
}

/* --- fences --- */

static void fence_over(struct mark *mark, int status)
{
    struct mark_listener *listener;

    pthread_mutex_lock(&mark->lock);
    atomic_store(&mark->status, status);
    listener = mark->listener;
    mark->listener = NULL;
    pthread_cond_broadcast(&mark->changed);
    pthread_mutex_unlock(&mark->lock);
    if (listener)
        listener->run(listener, COMMAND_COMPLETE);
}

/* On a thread of the driver's, which must not call the driver. */
static void on_fence(CUstream stream, CUresult code, void *user)
{
    (void)stream;
    (void)code;
    fence_over(user, COMMAND_COMPLETE);
    mark_drop(user);
}

struct mark *mark_fence(struct stream_record *stream)
{
    struct mark *mark = new_mark(stream->context);

    if (!mark)
        return NULL;
    reset(mark, clock_now());
    mark->fence = true;
    return mark;
}

bool mark_fence_arm(struct mark *mark, struct stream_record *stream)
{
    mark_keep(mark);
    if (cuda_front.genuine.cuStreamAddCallback(stream->handle, on_fence, mark, 0) == CUDA_SUCCESS)
        return true;
    on_fence(NULL, CUDA_SUCCESS, mark);
    return false;
}

/* --- for the engine --- */

/* What an answer of the driver says about the mark. */
static int note(struct mark *mark, CUresult code)
{
    int status = code == CUDA_SUCCESS           ? COMMAND_COMPLETE
                 : code == CUDA_ERROR_NOT_READY ? COMMAND_RUNNING
                                                : -(int)code;

    if (status <= COMMAND_COMPLETE)
        atomic_store(&mark->status, status);
    return status;
}

/*
 * A mark whose context the program ends is over with the context. The driver is not asked, since it
 * does not know the event. True: the mark is over.
 */
static bool is_gone(struct mark *mark)
{
    if (mark->fence || !atomic_load(&mark->context->gone))
        return false;
    if (atomic_load(&mark->status) > COMMAND_COMPLETE)
        atomic_store(&mark->status, COMMAND_COMPLETE);
    return true;
}

int mark_status(struct mark *mark)
{
    int status = atomic_load(&mark->status);
    struct context_visit visit;

    if (status <= COMMAND_COMPLETE || mark->fence)
        return status;
    if (is_gone(mark))
        return COMMAND_COMPLETE;
    context_visit_begin(mark->context, &visit);
    status = atomic_load(&mark->stream) ? mark_open_status(mark) : COMMAND_RUNNING;
    if (status > COMMAND_COMPLETE && !atomic_load(&mark->stream))
        status = note(mark, cuda_front.genuine.cuEventQuery(mark->event));
    context_visit_end(&visit);
    return status;
}

static int wait_for_event(struct mark *mark)
{
    struct context_visit visit;
    int status;

    context_visit_begin(mark->context, &visit);
    mark_close_open(mark);
    status = atomic_load(&mark->status);
    if (status > COMMAND_COMPLETE)
        status = note(mark, cuda_front.genuine.cuEventSynchronize(mark->event));
    context_visit_end(&visit);
    return status;
}

int mark_wait(struct mark *mark)
{
    int status = atomic_load(&mark->status);

    if (status <= COMMAND_COMPLETE)
        return status;
    if (is_gone(mark))
        return COMMAND_COMPLETE;
    if (!mark->fence)
        return wait_for_event(mark);
    pthread_mutex_lock(&mark->lock);
    while ((status = atomic_load(&mark->status)) > COMMAND_COMPLETE)
        pthread_cond_wait(&mark->changed, &mark->lock);
    pthread_mutex_unlock(&mark->lock);
    return status;
}

bool mark_notify(struct mark *mark, struct mark_listener *listener)
{
    bool over;

    if (!mark->fence)
        return false;
    pthread_mutex_lock(&mark->lock);
    over = atomic_load(&mark->status) <= COMMAND_COMPLETE;
    if (!over)
        mark->listener = listener;
    pthread_mutex_unlock(&mark->lock);
    if (over)
        listener->run(listener, COMMAND_COMPLETE);
    return true;
}

void mark_flush(struct mark *mark)
{
    (void)mark; /* streams begin by themselves */
}

void mark_times(struct mark *mark, struct mark_times *ret_times)
{
    *ret_times = (struct mark_times){0};
    if (atomic_load(&mark->status) == COMMAND_COMPLETE && !mark->fence)
        read_times(mark, ret_times);
}

void mark_queued(struct mark *mark, struct mark_times *ret_times)
{
    ret_times->queued = ret_times->submitted = (uint64_t)mark->issued_at;
}

void mark_keep(struct mark *mark)
{
    refs_keep(&mark->refs);
}

static void free_mark(struct mark *mark)
{
    pthread_mutex_destroy(&mark->lock);
    pthread_cond_destroy(&mark->changed);
    free(mark);
}

void mark_drop(struct mark *mark)
{
    struct context_record *context;

    if (!mark || refs_drop_but_last(&mark->refs))
        return;
    if (mark->fence) {
        free_mark(mark);
        return;
    }
    context = mark->context;
    pthread_mutex_lock(&context->marks_lock);
    mark_drop_locked(mark);
    pthread_mutex_unlock(&context->marks_lock);
}

void mark_forget_context(struct context_record *context)
{
    struct mark *mark;

    atomic_store(&context->gone, true);
    pthread_mutex_lock(&context->marks_lock);
    mark_drop_locked(context->base);
    context->base = NULL;
    list_for_each_safe(at, next, &context->open_marks)
        mark_end_open_locked(list_entry(at, struct mark, link), COMMAND_COMPLETE);
    while ((mark = context->free_marks)) { /* their events went with the context */
        context->free_marks = mark->next_free;
        free_mark(mark);
    }
    pthread_mutex_unlock(&context->marks_lock);
}
