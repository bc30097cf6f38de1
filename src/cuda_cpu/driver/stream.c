#include "cuda_cpu/driver/stream.h"

#include <stdlib.h>
#include <unistd.h>

#include "cuda_cpu/driver/capture.h"
#include "cuda_cpu/driver/driver_state.h"
#include "cuda_cpu/driver/handles.h"

void stream_each(void (*each)(struct stream *stream, void *data), void *data)
{
    list_for_each_safe(at, next, &driver.streams.all) each(list_entry(at, struct stream, link), data);
}

struct stream *stream_make(CUcontext context, CUstream handle, unsigned flags, int priority)
{
    struct stream *stream = calloc(1, sizeof *stream);

    if (!stream)
        return NULL;
    stream->context = context;
    stream->handle = handle ? handle : (CUstream)stream;
    stream->id = atomic_fetch_add(&driver.streams.last_id, 1) + 1;
    stream->thread = handle == CU_STREAM_PER_THREAD ? gettid() : 0;
    stream->work = work_stream_new(&context->work, flags, priority, handle == CU_STREAM_LEGACY);
    if (!stream->work || (!handle && !handle_put(stream, HANDLE_STREAM, context))) {
        if (stream->work)
            work_stream_retire(stream->work);
        free(stream);
        return NULL;
    }
    pthread_mutex_lock(&driver.captures.lock);
    list_append(&driver.streams.all, &stream->link);
    pthread_mutex_unlock(&driver.captures.lock);
    return stream;
}

/* With captures.lock held: removes the stream from its list and its capture. */
static void take_out(struct stream *stream)
{
    list_remove(&stream->link);
    capture_abandon(stream);
}

static void end(struct stream *stream)
{
    if (!stream)
        return;
    work_stream_retire(stream->work);
    free(stream);
}

void stream_free(struct stream *stream)
{
    pthread_mutex_lock(&driver.captures.lock);
    take_out(stream);
    pthread_mutex_unlock(&driver.captures.lock);
    end(stream);
}

/*
 * Removes one stream of the context, or of the thread (if not 0), from its list. NULL: none is
 * left.
 */
static struct stream *take_any(const struct CUctx_st *context, pid_t thread)
{
    struct stream *found = NULL;

    pthread_mutex_lock(&driver.captures.lock);
    list_for_each(at, &driver.streams.all)
    {
        struct stream *stream = list_entry(at, struct stream, link);

        if (thread ? stream->thread == thread : stream->context == context)
            found = stream;
    }
    if (found)
        take_out(found);
    pthread_mutex_unlock(&driver.captures.lock);
    return found;
}

void stream_free_all(CUcontext context)
{
    struct stream *stream = NULL;

    while ((stream = take_any(context, 0))) {
        handle_remove(stream, HANDLE_STREAM);
        end(stream);
    }
}

/* --- default streams of threads: they end with their thread --- */

static void end_thread(void *unused)
{
    struct stream *stream = NULL;

    (void)unused;
    while ((stream = take_any(NULL, gettid())))
        end(stream);
}

static void make_key(void)
{
    (void)pthread_key_create(&driver.streams.key, end_thread);
}

/* The calling thread's default stream in the context, made when there is none. */
static struct stream *thread_stream(CUcontext context)
{
    struct stream *found = NULL;
    pid_t thread;

    if (driver_thread.latest.id == context->life)
        return driver_thread.latest.stream;
    thread = gettid();
    pthread_mutex_lock(&driver.captures.lock);
    list_for_each(at, &driver.streams.all)
    {
        struct stream *stream = list_entry(at, struct stream, link);

        if (stream->context == context && stream->thread == thread)
            found = stream;
    }
    pthread_mutex_unlock(&driver.captures.lock);
    if (!found)
        found = stream_make(context, CU_STREAM_PER_THREAD, 0, 0);
    pthread_once(&driver.streams.once, make_key);
    /* not NULL, so that the key's destructor runs when the thread ends */
    (void)pthread_setspecific(driver.streams.key, &driver.streams);
    driver_thread.latest.id = found ? context->life : 0;
    driver_thread.latest.stream = found;
    return found;
}

CUresult stream_named(CUstream handle, struct stream **ret_stream)
{
    CUcontext context = context_of_thread();

    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
        if (!context || !context_is(context))
            return CUDA_ERROR_INVALID_CONTEXT;
        *ret_stream = handle == CU_STREAM_PER_THREAD ? thread_stream(context) : context->legacy;
        return *ret_stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!handle_is(handle, HANDLE_STREAM))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret_stream = (struct stream *)(void *)handle;
    return CUDA_SUCCESS;
}

CUresult stream_named_here(CUstream handle, struct stream **ret_stream)
{
    struct stream *stream = NULL;
    CUresult code = stream_named(handle, &stream);

    if (code == CUDA_SUCCESS && stream->context != context_of_thread())
        return CUDA_ERROR_INVALID_HANDLE;
    if (code == CUDA_SUCCESS)
        *ret_stream = stream;
    return code;
}

/*
 * With captures.lock held. True: the capture has taken the action, or refused it; *ret_code says
 * which.
 */
static bool captured(struct stream *stream, struct action *action, bool wait, CUresult *ret_code)
{
    if (stream->capture) {
        if (wait || action->kind == ACTION_CALLBACK) {
            action_unref(action);
            *ret_code = capture_spoil(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        } else {
            *ret_code = capture_add(stream, capture_type(action), action);
        }
        return true;
    }
    if (!capture_spoil_legacy(stream))
        return false;
    action_unref(action);
    *ret_code = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return true;
}

CUresult stream_do(struct stream *stream, struct action *action, bool wait)
{
    CUresult code = CUDA_SUCCESS;
    struct work *work;
    bool taken = false;

    if (atomic_load_explicit(&stream->context->n_capturing, memory_order_acquire)) {
        pthread_mutex_lock(&driver.captures.lock);
        taken = captured(stream, action, wait, &code);
        pthread_mutex_unlock(&driver.captures.lock);
    }
    if (taken)
        return code;
    work = action_work(action, &stream->context->work);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if ((wait ? work_do(work, stream->work, &code) : work_submit(work, stream->work)) < 0)
        code = CUDA_ERROR_OUT_OF_MEMORY;
    work_unref(work);
    return code;
}

bool stream_is_capturing(struct stream *stream)
{
    bool does;

    if (!atomic_load_explicit(&stream->context->n_capturing, memory_order_acquire))
        return false;
    pthread_mutex_lock(&driver.captures.lock);
    does = stream->capture != NULL;
    pthread_mutex_unlock(&driver.captures.lock);
    return does;
}

static void spoil_of_context(struct stream *stream, void *context)
{
    if (stream->context == context && stream->capture)
        stream->capture->invalid = true;
}

CUresult stream_spoil_captures(CUcontext context)
{
    pthread_mutex_lock(&driver.captures.lock);
    stream_each(spoil_of_context, context);
    pthread_mutex_unlock(&driver.captures.lock);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}
