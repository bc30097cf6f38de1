/* From an entry point to the driver: at once, or through the graph. */
#ifndef OPENCL_ENQUEUE_OPENCL_SUBMIT_H
#define OPENCL_ENQUEUE_OPENCL_SUBMIT_H

#include "opencl/graph/opencl_command.h"
#include "opencl/opencl_objects.h"

/*
 * Runs the draft and returns what the enqueue call must. *draft borrows everything from the caller.
 * A call that validate finds wrong is answered by the driver itself when nothing is queued before
 * it.
 */
cl_int submit_command(struct opencl_command *draft, cl_bool blocking, cl_uint n, const cl_event *waits,
                      cl_event *ret_event);

/*
 * Puts a draft that command_prepare() has seen into the graph, without asking whether it could go
 * at once.
 */
cl_int submit_queued(struct opencl_command *draft, cl_bool blocking, cl_uint n, const cl_event *waits,
                     cl_event *ret_event);

/* The driver has everything that was enqueued on the queue: it can be asked directly. */
bool submit_idle(const struct queue_record *queue);

/* submit_idle, and every event of the (valid) list is complete. */
bool submit_unhindered(struct queue_record *queue, cl_uint n, const cl_event *waits);

/*
 * Waits until every event of the (valid) list is over and submit_idle. False: one of them failed,
 * which the command inherits.
 */
bool submit_drain(struct queue_record *queue, cl_uint n, const cl_event *waits);

#endif
