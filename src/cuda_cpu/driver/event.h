/*
 * Events: the end of what was in a stream when the event was recorded, with its time. An event that
 * was never recorded counts as complete.
 */
#ifndef CUDA_CPU_DRIVER_EVENT_H
#define CUDA_CPU_DRIVER_EVENT_H

#include "cuda_cpu/driver/stream.h"

struct event_page;

struct CUevent_st {
    atomic_uint refs; /* the program's, and one of each node of a graph */
    pthread_mutex_t lock;
    CUcontext context;
    unsigned flags;
    struct work *record;     /* a reference to the latest one; NULL: never recorded, or captured */
    struct capture *capture; /* captures.lock: the latest record is part of it, a reference; or NULL */
    struct node_set *nodes;  /* captures.lock: what a stream that waits for it depends on; owned */
    /* Of an event that processes share, else NULL. `record` then waits for the record `awaited`. */
    struct event_page *page; /* owned, as is its file */
    int file;
    uint64_t awaited;
};

/*
 * A new event of the current context, and its handle. file: of an event_page, which is taken over
 * in any case; -1: none.
 */
CUresult event_new(unsigned flags, int file, CUevent *ret_event);

CUevent event_ref(CUevent event);
void event_unref(CUevent event);
/*
 * The handle is gone: it is no part of a capture any more, and lives on for the graphs that refer
 * to it.
 */
void event_end(CUevent event);
/* Every event of a context that ends. */
void event_end_all(CUcontext context);

/* Records it behind everything in the stream. external: in a capture it becomes a node. */
CUresult event_record(CUevent event, struct stream *stream, bool external);
/* The stream goes on when the latest record is complete. external: the same. */
CUresult event_await(CUevent event, struct stream *stream, bool external);
/* The same for everything in all streams of the context, and everything that it is given later. */
CUresult event_record_context(CUevent event, CUcontext context);
/* The same for an operation that is not submitted yet. */
CUresult event_record_work(CUevent event, struct work *record);
CUresult event_await_context(CUevent event, CUcontext context);
/* The latest record, as a reference; NULL: none. */
struct work *event_latest(CUevent event);
/* Makes this operation the event's latest record. */
void event_set_latest(CUevent event, struct work *record);

#endif
