/*
 * Streams that stand in for threads' own default streams (objects.h). There is one per thread and
 * context. It is made when the thread first uses its own stream, and ends with the thread.
 */
#ifndef CUDA_OWN_STREAM_H
#define CUDA_OWN_STREAM_H

#include "cuda/objects.h"

void own_streams_init(void);

/*
 * The calling thread's in this context, with a reference; NULL: no memory, or the driver refuses.
 */
struct stream_record *own_stream(struct context_record *context);

#endif
