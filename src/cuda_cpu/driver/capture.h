/*
 * Capture: streams that build a graph instead of working. A capture begins in one stream, its
 * origin. Another stream joins the capture by waiting for an event recorded in a stream of the
 * capture. It must be joined back before the origin ends the capture. A call that a capture may not
 * contain makes the capture invalid, and ending it then answers an error.
 *
 * captures.lock guards everything here, and stream::capture, stream::after, CUevent_st::capture and
 * ::nodes.
 */
#ifndef CUDA_CPU_DRIVER_CAPTURE_H
#define CUDA_CPU_DRIVER_CAPTURE_H

#include "cuda_cpu/driver/cuda_graph.h"
#include "cuda_cpu/driver/stream.h"

struct capture {
    atomic_uint refs; /* of streams and events; changed with captures.lock held */
    CUgraph graph;    /* owned until the capture ends well */
    bool given;       /* graph is the program's own (cuStreamBeginCaptureToGraph) */
    struct stream *origin;
    CUstreamCaptureMode mode;
    pthread_t thread; /* the thread that began it */
    unsigned long long id;
    bool invalid, over;
    struct list link; /* all captures that are not over */
};

struct driver_captures {
    pthread_mutex_t lock;
    struct list all; /* capture::link */
    unsigned long long last_id;
};

void capture_unref(struct capture *capture);

/* With captures.lock held: CUDA_SUCCESS, or why the stream's capture accepts no further calls. */
CUresult capture_check(const struct stream *stream);
/*
 * With captures.lock held: adds a node for the action behind what the stream has captured. Takes
 * over the reference to the action.
 */
CUresult capture_add(struct stream *stream, CUgraphNodeType type, struct action *action);

/* With captures.lock held: makes the stream's capture invalid, and answers the given code. */
CUresult capture_spoil(struct stream *stream, CUresult code);

/*
 * For a call that is unsafe during captures (memory, synchronisation). If a capture forbids the
 * call, makes that capture invalid and answers an error.
 */
CUresult capture_forbid_unsafe(void);

/*
 * With captures.lock held: is this the legacy stream, and would its work wait for a capturing
 * stream?
 */
bool capture_meets_legacy(const struct stream *stream);
/* The same; also makes the captures invalid for which the work would wait. */
bool capture_spoil_legacy(const struct stream *stream);
/* With captures.lock held: the stream is being destroyed. Its capture, if any, becomes invalid. */
void capture_abandon(struct stream *stream);

/* Exchanges the mode in which this thread's unsafe calls are judged. */
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);

CUresult capture_begin(struct stream *stream, CUgraph graph, const struct node_set *after,
                       CUstreamCaptureMode mode);
CUresult capture_end(struct stream *stream, CUgraph *ret_graph);

/* The node type of an action. */
CUgraphNodeType capture_type(const struct action *action);

#endif
