/*
 * Streams as the program sees them: handles, the default streams, and capture.
 *
 * A stream that captures turns work into nodes of a graph (capture.h). It then has a set of nodes
 * on which its next node depends.
 */
#ifndef CUDA_CPU_DRIVER_STREAM_H
#define CUDA_CPU_DRIVER_STREAM_H

#include "cuda_cpu/driver/action.h"

enum { STREAM_MOST_URGENT = -5 };

struct capture;
struct node_set;

/* A stream. The program's handle is its address, except for default streams. */
struct stream {
    struct work_stream *work; /* owned reference */
    CUcontext context;
    CUstream handle; /* the program's handle */
    unsigned long long id;
    struct list link;        /* all streams of the process; captures.lock */
    int synchronization;     /* cuStreamSetAttribute: how the host waits; a hint. 0: not set */
    pid_t thread;            /* the thread whose default stream it is; 0: none */
    void *green;             /* captures.lock: its CUgreenCtx; NULL: none */
    struct capture *capture; /* captures.lock; NULL: it does not capture */
    struct node_set *after;  /* captures.lock: what the next node depends on; owned */
};

struct driver_streams {
    struct list all; /* stream::link */
    _Atomic unsigned long long last_id;
    pthread_once_t once; /* makes `key`, whose destructor ends a thread's default streams */
    pthread_key_t key;
};

/* The default stream that a thread used last. */
struct stream_latest {
    unsigned long long id; /* CUctx_st::life of its context */
    struct stream *stream;
};

/*
 * handle: CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, or NULL for a stream whose handle is its address.
 * NULL: no memory.
 */
struct stream *stream_make(CUcontext context, CUstream handle, unsigned flags, int priority);
void stream_free(struct stream *stream);
/* Frees every stream of a context that ends. */
void stream_free_all(CUcontext context);

/*
 * The stream that a call names. NULL names the legacy default stream of the current context. A
 * per-thread default stream is made at its first use. CUDA_ERROR_INVALID_HANDLE: no such stream.
 */
CUresult stream_named(CUstream handle, struct stream **ret_stream);
/* The same, for calls that need a stream of the current context. */
CUresult stream_named_here(CUstream handle, struct stream **ret_stream);

/*
 * Gives the action to the stream: to its capture, or to the machine. Takes over the reference.
 * `wait`: returns when the action is done (refused while the stream captures).
 */
CUresult stream_do(struct stream *stream, struct action *action, bool wait);

/* Calls `each` for every stream of the process. The caller holds captures.lock. */
void stream_each(void (*each)(struct stream *stream, void *data), void *data);

/*
 * For a call that no capture may contain, such as cuCtxSynchronize: makes all captures of the
 * context invalid.
 */
CUresult stream_spoil_captures(CUcontext context);

/* Does the stream capture? If a capture begins or ends meanwhile, either answer is right. */
bool stream_is_capturing(struct stream *stream);

#endif
