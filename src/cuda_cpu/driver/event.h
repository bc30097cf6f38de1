/*
 * Events. A record marks the end of all work in the stream at that moment, with its time. An event
 * that was never recorded counts as complete.
 */
#ifndef CUDA_CPU_DRIVER_EVENT_H
#define CUDA_CPU_DRIVER_EVENT_H

#include "cuda_cpu/driver/stream.h"

struct event_page;

struct CUevent_st {
    atomic_uint refs; /* the program's, and one per node of a graph */
    pthread_mutex_t lock;
    CUcontext context;
    unsigned flags;
    struct work *record;     /* a reference to the latest one; NULL: never recorded, or captured */
    struct capture *capture; /* captures.lock: a reference to the capture of the latest record; NULL: none */
    /* captures.lock: nodes on which a stream that waits for the event depends; owned */
    struct node_set *nodes;
    /*
     * For an event that processes share, else NULL. `record` then waits for the record `awaited`.
     */
    struct event_page *page; /* owned, as is its file */
    int file;
    uint64_t awaited;
};

/*
 * A new event of the current context, and its handle. file: of an event_page, or -1; taken over in
 * any case.
 */
CUresult event_new(unsigned flags, int file, CUevent *ret_event);

CUevent event_ref(CUevent event);
void event_unref(CUevent event);
/* The handle is removed. The event leaves its capture and lives on for graphs that refer to it. */
void event_end(CUevent event);
/* Ends every event of a context that ends. */
void event_end_all(CUcontext context);

/*
 * Records the event behind everything in the stream. external: in a capture the record becomes a
 * node.
 */
CUresult event_record(CUevent event, struct stream *stream, bool external);
/* The stream waits for the latest record. external: in a capture the wait becomes a node. */
CUresult event_await(CUevent event, struct stream *stream, bool external);
/*
 * Records the event behind everything in all streams of the context; later work in them waits for
 * the record.
 */
CUresult event_record_context(CUevent event, CUcontext context);
/* Records the event with an operation that is not submitted yet. */
CUresult event_record_work(CUevent event, struct work *record);
CUresult event_await_context(CUevent event, CUcontext context);
/* The latest record, as a reference; NULL: none. */
struct work *event_latest(CUevent event);
/* Makes this operation the event's latest record. */
void event_set_latest(CUevent event, struct work *record);

#endif
