/* Open marks: what short launches of a stream share instead of an event each. */
#include "base/clock.h"
#include "cuda/front.h"
#include "cuda/mark_private.h"

/*
 * An open mark gets its event when it stands for so much work. Then a client that waits for the
 * engine, or a full ring (engine/flight.h), learns of its end soon.
 */
#define OPEN_NS (100 * NSEC_PER_US)
enum { OPEN_MOST = 32 }; /* commands */

/* Under marks_lock: from now on no launch joins it. Drops the stream's reference. */
static void end_open_locked(struct mark *mark)
{
    struct stream_record *stream = atomic_load(&mark->stream);

    stream->open_mark = NULL;
    list_remove(&mark->link);
    atomic_store(&mark->stream, NULL);
    mark_drop_locked(mark);
}

/* Under marks_lock: all that it stands for is over. */
void mark_end_open_locked(struct mark *mark, int status)
{
    atomic_store(&mark->ended, (uint64_t)clock_now());
    atomic_store(&mark->status, status);
    end_open_locked(mark);
}

/*
 * Under marks_lock, so that no launch joins between the event and the end. The context is visited.
 * A mark's references outlast the call.
 */
static void close_locked(struct mark *mark)
{
    struct stream_record *stream = atomic_load(&mark->stream);

    mark_need_event(mark);
    if (mark_record_event(mark, stream))
        mark_follow_locked(stream, mark);
    end_open_locked(mark);
}

void mark_close(struct stream_record *stream)
{
    struct context_record *context = stream->context;
    struct context_visit visit;

    if (!atomic_load_explicit(&stream->open_mark, memory_order_acquire))
        return;
    context_visit_begin(context, &visit);
    pthread_mutex_lock(&context->marks_lock);
    if (stream->open_mark)
        close_locked(stream->open_mark);
    pthread_mutex_unlock(&context->marks_lock);
    context_visit_end(&visit);
}

void mark_close_context(struct context_record *context)
{
    struct context_visit visit;

    context_visit_begin(context, &visit);
    pthread_mutex_lock(&context->marks_lock);
    list_for_each_safe(at, next, &context->open_marks) close_locked(list_entry(at, struct mark, link));
    pthread_mutex_unlock(&context->marks_lock);
    context_visit_end(&visit);
}

/* Under marks_lock: the stream's open mark, or a new one. NULL: no memory. */
static struct mark *open_locked(struct stream_record *stream, baton_nsec issued_at)
{
    struct context_record *context = stream->context;
    struct mark *mark = stream->open_mark;

    if (mark)
        return mark;
    mark = mark_take_locked(context, issued_at);
    if (!mark)
        return NULL;
    mark->shared = true;
    atomic_store(&mark->stream, stream);
    stream->open_mark = mark; /* the first reference */
    list_append(&context->open_marks, &mark->link);
    return mark;
}

struct mark *mark_join(struct stream_record *stream, baton_nsec issued_at, int64_t ns)
{
    struct context_record *context = stream->context;
    struct mark *mark;
    bool full;

    pthread_mutex_lock(&context->marks_lock);
    mark = open_locked(stream, issued_at);
    if (mark) {
        mark_keep(mark);
        mark->n_commands++;
        mark->expected += ns;
        mark->last_joined = ++context->n_joined;
    }
    full = mark && (mark->n_commands >= OPEN_MOST || mark->expected >= OPEN_NS);
    pthread_mutex_unlock(&context->marks_lock);
    /*
     * A capture counts itself first and closes open marks then: one of the two threads closes this.
     */
    if (full || front_captures())
        mark_close(stream);
    return mark;
}

uint64_t mark_place(struct context_record *context)
{
    uint64_t place;

    pthread_mutex_lock(&context->marks_lock);
    place = context->n_joined;
    pthread_mutex_unlock(&context->marks_lock);
    return place;
}

void mark_passed(struct context_record *context, const struct stream_record *stream, uint64_t place)
{
    pthread_mutex_lock(&context->marks_lock);
    list_for_each_safe(at, next, &context->open_marks)
    {
        struct mark *mark = list_entry(at, struct mark, link);

        if (mark->last_joined <= place && (!stream || atomic_load(&mark->stream) == stream))
            mark_end_open_locked(mark, COMMAND_COMPLETE);
    }
    pthread_mutex_unlock(&context->marks_lock);
}

void mark_forget_stream(struct stream_record *stream)
{
    struct context_record *context = stream->context;

    pthread_mutex_lock(&context->marks_lock);
    if (stream->open_mark)
        mark_end_open_locked(stream->open_mark, COMMAND_COMPLETE);
    mark_drop_locked(stream->last_mark);
    stream->last_mark = NULL;
    pthread_mutex_unlock(&context->marks_lock);
}

/* The context is visited. Has the stream nothing left to do? Then its open mark is over. */
int mark_open_status(struct mark *mark)
{
    struct context_record *context = mark->context;
    const struct stream_record *stream;
    CUresult code;

    pthread_mutex_lock(&context->marks_lock);
    stream = atomic_load(&mark->stream);
    if (stream) {
        code = cuda_front.genuine.cuStreamQuery(stream->handle);
        if (code != CUDA_ERROR_NOT_READY)
            mark_end_open_locked(mark, code == CUDA_SUCCESS ? COMMAND_COMPLETE : -(int)code);
    }
    pthread_mutex_unlock(&context->marks_lock);
    return atomic_load(&mark->status);
}

/* The context is visited. */
void mark_close_open(struct mark *mark)
{
    pthread_mutex_lock(&mark->context->marks_lock);
    if (atomic_load(&mark->stream))
        close_locked(mark);
    pthread_mutex_unlock(&mark->context->marks_lock);
}
