#include "cuda/own_stream.h"

#include <stdlib.h>

#include "cuda/front.h"
#include "cuda/mark.h"
#include "cuda/submit.h"
#include "engine/runtime.h"

struct own_streams {
    struct stream_record **streams; /* references, one for each context */
    size_t n;
};

/* The driver keeps the order behind what it was given. */
static void destroy_now(struct stream_record *stream)
{
    struct context_visit visit;

    stream_wait_given(stream);
    mark_close(stream);
    context_visit_begin(stream->context, &visit);
    (void)cuda_front.genuine.cuStreamDestroy_v2(stream->handle);
    context_visit_end(&visit);
}

/*
 * Behind what is held back. A thread's end waits for none of that, since the program may let it go
 * on only after the end. False: no memory.
 */
static bool destroy_later(struct stream_record *stream)
{
    struct cuda_command draft, *command;

    submit_draft_own(&draft, ENTRY_cuStreamDestroy_v2, stream, NULL);
    draft.kind = COMMAND_DESTROY;
    command = draft.captured ? NULL : submit_adopt(&draft, NULL);
    if (!command)
        return false;
    submit_to_graph(command);
    command_unref(&command->base);
    return true;
}

static void end_own(struct stream_record *stream)
{
    if (!stream)
        return;
    capture_over(stream);
    if (!runtime_off() && !atomic_load(&stream->context->gone) &&
        (command_queue_idle(&stream->queue) || !destroy_later(stream)))
        destroy_now(stream);
    stream_drop(stream);
}

static void end_thread(void *data)
{
    struct own_streams *own = data;

    for (size_t i = 0; i < own->n; i++)
        end_own(own->streams[i]);
    free(own->streams);
    free(own);
}

static struct own_streams *streams_of_thread(void)
{
    struct own_streams *own = pthread_getspecific(cuda_front.own_streams);

    if (own)
        return own;
    own = calloc(1, sizeof *own);
    if (own && pthread_setspecific(cuda_front.own_streams, own) != 0) {
        free(own);
        own = NULL;
    }
    return own;
}

/* The place of a context that is gone, or one more; NULL: no memory. */
static struct stream_record **find_place(struct own_streams *own)
{
    struct stream_record **grown;

    for (size_t i = 0; i < own->n; i++) {
        if (atomic_load(&own->streams[i]->context->gone)) {
            end_own(own->streams[i]);
            return &own->streams[i];
        }
    }
    grown = realloc(own->streams, (own->n + 1) * sizeof(struct stream_record *));
    if (!grown)
        return NULL;
    own->streams = grown;
    return &own->streams[own->n++];
}

struct stream_record *own_stream(struct context_record *context)
{
    struct own_streams *own = streams_of_thread();
    struct stream_record *stream, **place;
    struct context_visit visit;
    CUstream handle = NULL;
    CUresult code;

    for (size_t i = 0; own && i < own->n; i++)
        if (own->streams[i]->context == context) {
            stream_keep(own->streams[i]);
            return own->streams[i];
        }
    context_visit_begin(context, &visit);
    code = own ? cuda_front.genuine.cuStreamCreate(&handle, 0) : CUDA_ERROR_OUT_OF_MEMORY;
    context_visit_end(&visit);
    stream = code == CUDA_SUCCESS ? stream_new(context, handle, STREAM_PER_THREAD, true) : NULL;
    if (!stream)
        return NULL;
    place = find_place(own);
    if (!place) {
        end_own(stream);
        return NULL;
    }
    *place = stream;
    stream_keep(stream);
    return stream;
}

void own_streams_init(void)
{
    (void)pthread_key_create(&cuda_front.own_streams, end_thread);
}
