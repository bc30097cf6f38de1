/*
 * What the front keeps beside the driver's devices, contexts and streams. Records are made when a
 * call first names a handle, and forgotten when the program destroys it.
 *
 * A context's legacy stream is ordered against every blocking stream of the context, both ways.
 *
 * A thread's own default stream can only be named by that thread, so no worker could put work
 * there. A blocking stream that the front makes for the thread stands in for it; the rules are the
 * same. Only while the program captures the thread's own stream, calls go to that.
 */
#ifndef CUDA_OBJECTS_H
#define CUDA_OBJECTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/list.h"
#include "base/refs.h"
#include "cuda_abi/driver_abi.h"
#include "cuda_abi/memory_abi.h"
#include "engine/command_queue.h"
#include "engine/engine_device.h"
#include "engine/handle_table.h"
#include "wire/device_name.h"

struct call;
struct command;
struct mark;

enum { DEVICE_MOST = 64 };

struct device_record {
    struct engine_device base; /* the first member */
    CUdevice device;
    char name[DEVICE_NAME_SIZE];
    int grid_limit[3], block_limit[3], threads_limit, shared_limit; /* of a launch */
    int multiprocessors;
    int architecture; /* 80: sm_80 */
};

enum stream_kind { STREAM_NAMED, STREAM_LEGACY, STREAM_PER_THREAD };

struct stream_record {
    struct command_queue queue; /* the first member */
    struct context_record *context;
    CUstream handle; /* as calls of the plain form name it, on any thread */
    enum stream_kind kind;
    bool blocking;    /* ordered against the legacy stream */
    CUgreenCtx green; /* NULL: the stream is of no green context */
    bool joins;       /* a stream of our own in which a record of a whole context waits */
    /* context_gates.h: the number of the newest one that it has passed */
    atomic_uint_least64_t gates_passed;
    struct list link; /* context_record::streams, but for the legacy one; until the last reference goes */
    bool listed;      /* the table knows it */
    atomic_bool destroyed; /* by the program; its destruction is held back */
    atomic_bool captures;  /* a capture that counts began in it */
    /* context_record::marks_lock guards the following; references */
    struct mark *last_mark; /* the newest that has an event */
    /* that later launches join; NULL: none; may be compared with NULL without the lock */
    struct mark *_Atomic open_mark;
    struct refs refs;
};

struct context_record {
    CUcontext handle;
    struct device_record *device;
    struct stream_record legacy;
    struct list link; /* cuda_objects::all or cuda_objects::past */
    uint64_t number;  /* from 1, in the order in which the records were made */

    pthread_mutex_t lock;  /* guards the following */
    struct list streams;   /* stream_record::link */
    atomic_uint n_streams; /* in the list; may be read without the lock */

    pthread_mutex_t marks_lock; /* guards the following; a leaf */
    struct mark *free_marks;    /* whose events may be recorded again */
    /* what times are counted from; NULL: none yet; may be compared with NULL without the lock */
    struct mark *_Atomic base;
    struct list open_marks; /* mark::link */
    uint64_t n_joined;      /* commands that joined open marks so far */

    atomic_bool waits;     /* its later streams wait in the driver for work of others */
    atomic_int n_attached; /* by cuCtxAttach: so many detachments do not end it */

    atomic_bool gone; /* the program has destroyed it, or is about to */
    atomic_int late;  /* a CUresult of a command that failed after its call had returned; 0: none */
};

void objects_init(void);

/* A device of the driver's by its number; NULL: there is none, or no memory. */
struct device_record *device_record_find(CUdevice device);

/* The record of the calling thread's current context; NULL: it has none, or no memory. */
struct context_record *context_current(void);
struct context_record *context_find(CUcontext handle);
/* The handle of the calling thread's current context; NULL: none. */
CUcontext context_current_handle(void);
/* The number of a context's device; -1: the driver does not tell. */
CUdevice context_device(CUcontext handle);
/* The device's primary context while it is active; NULL: none. */
CUcontext context_primary(CUdevice device);

/*
 * The stream of a call: by its argument `stream` and its form. Makes a record for a new handle. A
 * reference of the caller's. NULL: call_invoke() gives the answer. The driver does not know the
 * stream, or there is no context; or memory is short, and the call is refused, since it could
 * overtake what is held back.
 */
struct stream_record *stream_of_call(struct call *call);
/* The same by the handle. *ret_refused: the answer if memory is short, else CUDA_SUCCESS. */
struct stream_record *stream_find(CUstream handle, bool per_thread, CUresult *ret_refused);
/*
 * A stream that has a handle of its own. NULL: the driver does not know it; or memory is short, and
 * *ret_owner is its context.
 */
struct stream_record *stream_by_handle(CUstream handle, CUcontext *ret_owner);
/* The call with its stream named by a handle that means the same on each thread. */
void stream_name(const struct stream_record *stream, struct call *call);
/* A record in its context's list, with one reference; NULL: no memory. */
struct stream_record *stream_new(struct context_record *context, CUstream handle, enum stream_kind kind,
                                 bool blocking);
/* The program has made it in the current context, with these flags. */
void stream_made(CUstream handle, unsigned flags);
void stream_keep(struct stream_record *stream);
void stream_drop(struct stream_record *stream);

/*
 * The program destroys it. stream_doom: the driver does not yet, because work is held back; until
 * then the handle is no handle for the program. False: it was destroyed before. stream_forget: the
 * driver has.
 */
bool stream_doom(struct stream_record *stream);
void stream_forget(CUstream handle);
/* Does the call name a stream that the program has destroyed? */
bool stream_is_doomed(const struct call *call);
/* The same for a context and all its streams. Nothing of it is held back. */
void context_forget(CUcontext handle);

/*
 * Captures that the program has begun and not ended count in cuda_front.n_capturing. A capture
 * counts before the driver begins it: true if no other one did. It stays counted if it `began`. It
 * is over when the program ends it, or destroys its first stream. NULL: a stream without a record.
 */
bool capture_counts(void);
void capture_counted(struct stream_record *stream, bool began);
void capture_over(struct stream_record *stream);

/* Is it, or may it be, in a capture? Then the call passes untouched. */
bool stream_captures(const struct stream_record *stream);

/* Is nothing held back that a call on this stream must not overtake? */
bool stream_unhindered(struct stream_record *stream);
/* Of the legacy stream: may a blocking stream have work in the driver that another engine does? */
bool stream_others_change(struct stream_record *legacy, enum engine_kind kind);
/*
 * The same of all streams that the legacy stream's rule puts before the stream's next command.
 * False is certain.
 */
static inline bool stream_follows_others(struct stream_record *stream, enum engine_kind kind)
{
    if (stream->kind == STREAM_LEGACY)
        return atomic_load_explicit(&stream->context->n_streams, memory_order_acquire) != 0 &&
               stream_others_change(stream, kind);
    return stream->blocking && command_queue_changes(&stream->context->legacy.queue, kind);
}
/*
 * May work that another engine does be in the driver before the stream's next command? False is
 * certain.
 */
static inline bool stream_changes_engine(struct stream_record *stream, enum engine_kind kind)
{
    return command_queue_changes(&stream->queue, kind) || stream_follows_others(stream, kind);
}
/* The driver has a wait of the stream's for work of others, on engines that are not known. */
void stream_waits(struct stream_record *stream);
/* The same for a wait of a whole context or of green contexts, which later streams have, too. */
void objects_wait(void);
/* Adds the waits of the legacy stream's rule between graph_open() and graph_close(). */
void stream_add_waits(struct stream_record *stream, struct command *command);
/* Waits until the driver has all that the stream's next call must not overtake. */
void stream_wait_turn(struct stream_record *stream);
/*
 * The same for a call that occupies no engine. Fences (submit.h) need not be over, since the driver
 * keeps the order behind what they stand for.
 */
void stream_wait_given(struct stream_record *stream);
/* Waits until all of that is complete, doing the engine's work meanwhile. */
void stream_await(struct stream_record *stream);
/* The same for all streams of a context, and for every context of the process. */
void context_await(struct context_record *context);
void objects_drain(void);
/*
 * All that the process has in flight gets its events (mark.h): what follows may hide streams from
 * us.
 */
void objects_close_marks(void);

/*
 * The process's contexts one after the other, oldest first: the first one for NULL; NULL: there are
 * no more. A context may end between two calls: its record stays.
 */
struct context_record *objects_next_context(const struct context_record *context);

/* The oldest late failure of the context, which is then forgotten; CUDA_SUCCESS: none. */
CUresult context_take_late(struct context_record *context);

/*
 * Around driver calls of our own: makes the context current and keeps captures of the program from
 * minding. Nests.
 */
struct context_visit {
    CUcontext context, before; /* before: that was current, if it was replaced */
    bool pushed, replaced, relaxed;
    int mode;
};
/* The context alone. */
void context_enter(CUcontext handle, struct context_visit *ret_visit);
void context_leave(const struct context_visit *visit);
void context_visit_begin(struct context_record *context, struct context_visit *ret_visit);
void context_visit_end(const struct context_visit *visit);

/* Devices, contexts and streams (cuda_front.objects). */
struct cuda_objects {
    struct device_record *devices[DEVICE_MOST];
    pthread_mutex_t lock; /* guards devices and the making of records; before a context's lock */
    struct handle_table contexts, streams;
    struct list all;       /* context_record::link, oldest first; lock */
    uint64_t n_made;       /* records of contexts so far; lock */
    struct list past;      /* context_record::link: of contexts that are destroyed */
    atomic_int doomed;     /* streams that only the driver still knows */
    atomic_uint forgotten; /* contexts so far: records of threads that are older are void */
};

#endif
