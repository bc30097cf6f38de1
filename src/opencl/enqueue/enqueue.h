/*
 * What every enqueue entry point does first: finds the queue's record, or forwards the call
 * unchanged.
 */
#ifndef OPENCL_ENQUEUE_ENQUEUE_H
#define OPENCL_ENQUEUE_ENQUEUE_H

#include <string.h>

#include "opencl/entry.h"
#include "opencl/layer.h"
#include "opencl/opencl_objects.h"
#include "opencl/enqueue/opencl_submit.h"

/*
 * Declares `queue`. If the layer does not know the queue (unknown, NULL, or a forked child), the
 * driver answers the call: `forward`. At exit no call comes behind commands that will never run.
 */
#define ENQUEUE_BEGIN(handle, forward)                                                                       \
    struct queue_record *queue = runtime_off() ? NULL : queue_find(handle);                                  \
    if (!queue)                                                                                              \
    return queue_lost(handle) ? CL_OUT_OF_RESOURCES : (forward)

/*
 * For a call that lacks an array. The driver reports the error if it can be asked, else the layer
 * does.
 */
#define ENQUEUE_REQUIRE(condition, code, forward)                                                            \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            bool idle_ = submit_idle(queue);                                                                 \
            queue_unref(queue);                                                                              \
            return idle_ ? (forward) : (code);                                                               \
        }                                                                                                    \
    } while (0)

static inline cl_int enqueue_end(struct opencl_command *draft, cl_bool blocking, cl_uint n,
                                 const cl_event *waits, cl_event *event)
{
    cl_int code;

    code = submit_command(draft, blocking, n, waits, event);
    queue_unref(draft->queue);
    return code;
}

static inline void enqueue_copy3(size_t to[3], const size_t *from)
{
    memcpy(to, from, 3 * sizeof *to);
}

#endif
