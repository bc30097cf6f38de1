/*
 * Events: the end of what was in a stream when the event was recorded, with its time. An event that was
 * never recorded counts as complete.
 */
#ifndef CUDA_CPU_DRIVER_EVENT_H
#define CUDA_CPU_DRIVER_EVENT_H

#include "cuda_cpu/driver/stream.h"

struct CUevent_st {
    pthread_mutex_t lock;
    CUcontext context;
    unsigned flags;
    struct work *record;     /* a reference to the latest one; NULL: never recorded, or captured */
    struct capture *capture; /* capture_lock: that the latest record is part of, a reference; else NULL */
    struct node_set *nodes;  /* capture_lock: what a stream that waits for it depends on; owned */
};

/* Records it behind everything in the stream. */
CUresult event_record(CUevent event, struct stream *stream);
/* The stream goes on when the latest record is complete. */
CUresult event_await(CUevent event, struct stream *stream);
/* The latest record, as a reference; NULL: none. */
struct work *event_latest(CUevent event);
/* Makes this operation the event's latest record. */
void event_set_latest(CUevent event, struct work *record);

#endif
