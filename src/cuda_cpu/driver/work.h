/*
 * The asynchronous machine of this process: operations, streams, and the threads that run them.
 *
 * An operation (struct work) is one entry of a stream: a launch, a copy, a set, a host function, an
 * event's record. It runs when everything that it waits for is done, on one engine:
 *
 *     submitted --(last wait is over)--> queued at its engine --> running --> done
 *
 * Each device has three engines with one thread each: execution, copies in, copies out. An engine
 * runs one operation at a time, to its end. It takes operations in the order in which they became
 * ready, and in order of arrival among all processes (arrival.h). Host functions run on one thread
 * of the process. An operation without an engine (record, join) is done as soon as it is ready.
 *
 * If a call waits for its copy and nothing precedes the copy, the calling thread copies in its
 * engine's turn (work_do()). Drivers do the same with pageable memory, and no other thread wakes.
 *
 * Streams are in order: an operation waits for the one before it in its stream. The legacy default
 * stream of a context waits for every blocking stream of the context, and these wait for it.
 *
 * A fault of an operation breaks its context: the context's later operations end with the same
 * error and do not run. Operations of other contexts are not affected.
 *
 * Ownership: a stream refers to its last operation, an operation to its stream; both are counted.
 * All functions may be called from any thread unless they say otherwise. One lock guards the whole
 * graph; no operation runs with it held.
 */
#ifndef CUDA_CPU_DRIVER_WORK_H
#define CUDA_CPU_DRIVER_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/list.h"
#include "base/nsec.h"
#include "cuda_abi/driver_abi.h"

enum work_engine {
    WORK_EXECUTION,
    WORK_COPY_IN,
    WORK_COPY_OUT,
    WORK_ENGINES, /* of a device */
    WORK_HOST = WORK_ENGINES,
    WORK_POLL, /* a condition in memory that a thread polls */
    WORK_NONE,
};

/* The part of a context that operations need; contexts embed it. */
struct work_context {
    int device;
    _Atomic int error;   /* a CUresult; sticky once it is not CUDA_SUCCESS */
    struct list streams; /* work_stream::link: every stream, the default ones included */
    struct work_stream *legacy;
    struct work *gate;  /* a reference: see work_gate_context(); NULL: none */
    atomic_uint n_open; /* operations that are not done */
    atomic_bool ending; /* operations that wait for other processes give up */
};

struct work_stream {
    atomic_uint refs;
    struct work_context *context;
    struct list link; /* work_context::streams */
    bool blocking;    /* ordered against the legacy default stream */
    bool legacy;
    bool retired; /* the program has destroyed it */
    int priority;
    unsigned flags;
    struct work *last; /* a reference; NULL: nothing was ever submitted, or all of it is done */
};

struct work;

/* What an operation does. The table outlives the operation. */
struct work_kind {
    const char *name; /* for errors: "launch" */
    /*
     * Runs the operation on the engine's thread, with no lock held. Any answer but CUDA_SUCCESS
     * breaks the context.
     */
    CUresult (*run)(struct work *work);
    /* WORK_POLL only: is the condition met? */
    bool (*met)(struct work *work);
    /* Releases what `data` owns. Called once, after run or instead of it. May be NULL. */
    void (*drop)(struct work *work);
};

struct work {
    atomic_uint refs;
    const struct work_kind *kind;
    enum work_engine engine;
    int device;                   /* the context's */
    struct work_context *context; /* may be freed once the operation is done */
    struct work_stream *stream;   /* a reference; NULL: in no stream (a node of a launched graph) */
    void *data;                   /* belongs to the kind */

    unsigned n_waits; /* waits that are not over, + 1 during submission */
    struct work_edge *dependents;
    struct list link; /* in the engine's queue */
    bool awaited;     /* a thread sleeps for its end */
    _Atomic bool done;
    CUresult status; /* valid once done */
    baton_nsec begin_at, end_at;
};

/*
 * Starts nothing; threads are started when first needed. machine_devices: the machine's number of
 * each of the n_devices. 0 or -errno.
 */
int work_open(const unsigned machine_devices[], unsigned n_devices);
/* At exit: ends all threads. Running operations end early, queued ones are dropped. */
void work_close(void);

void work_context_init(struct work_context *context, int device);

/* A stream with one reference. NULL: no memory. */
struct work_stream *work_stream_new(struct work_context *context, unsigned flags, int priority, bool legacy);
void work_stream_ref(struct work_stream *stream);
void work_stream_unref(struct work_stream *stream);
/* The program destroys the stream. Once its work is done, the legacy stream's order ignores it. */
void work_stream_retire(struct work_stream *stream);

/* A new operation with one reference and `data`, which the caller fills. NULL: no memory. */
struct work *work_new(const struct work_kind *kind, enum work_engine engine, struct work_context *context,
                      void *data);
struct work *work_ref(struct work *work);
void work_unref(struct work *work);

/*
 * Before submission: makes the operation wait for another one too. 0 or -ENOMEM. NULL and finished
 * operations add no wait.
 */
int work_after(struct work *work, struct work *other);

/*
 * Before submission: makes the operation wait for everything submitted to the context. 0 or
 * -ENOMEM.
 */
int work_after_context(struct work *work, struct work_context *context);
/*
 * Work submitted to streams of the context from now on waits for `gate`, which waits for the
 * previous gate. 0 or -ENOMEM. The caller submits the gate afterwards.
 */
int work_gate_context(struct work_context *context, struct work *gate);

/*
 * Appends the operation to the stream, behind everything that the order of streams demands. stream
 * NULL: no stream. 0, or -ENOMEM: nothing was submitted. The caller drops its reference in both
 * cases.
 */
int work_submit(struct work *work, struct work_stream *stream);

/*
 * Submits and waits for the end. The calling thread makes a copy itself if it can begin at once. 0
 * with the status of work_wait(), or -ENOMEM.
 */
int work_do(struct work *work, struct work_stream *stream, CUresult *ret_status);

/* The last operation of the stream that is not done, as a reference; NULL: none. */
struct work *work_stream_tail(struct work_stream *stream);

/* Waits for the end. CUDA_ERROR_DEINITIALIZED: the process ends, and the operation will not. */
CUresult work_wait(struct work *work);
bool work_is_done(const struct work *work);
/*
 * Waits for everything submitted before the call, to the stream or to the context. Answers the
 * context's error, else success.
 */
CUresult work_wait_stream(struct work_stream *stream);
CUresult work_wait_context(struct work_context *context);
/* When a context ends and its streams are done: waits also for operations in no stream. */
void work_wait_last(struct work_context *context);
/* CUDA_SUCCESS: done; CUDA_ERROR_NOT_READY. */
CUresult work_query_stream(struct work_stream *stream);

/*
 * From an engine's thread: sets the function that ends the running operation early when the process
 * ends.
 */
void work_on_stop(void (*stop)(void *data), void *data);

/* Is the calling thread inside a host function or callback? Such code may not call the API. */
bool work_in_callback(void);

#endif
