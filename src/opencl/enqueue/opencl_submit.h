/* From an entry point to the driver: at once, or through the graph. */
#ifndef OPENCL_ENQUEUE_OPENCL_SUBMIT_H
#define OPENCL_ENQUEUE_OPENCL_SUBMIT_H

#include "opencl/graph/opencl_command.h"
#include "opencl/opencl_objects.h"

/*
 * Runs the draft and returns what the enqueue call must return. *draft borrows everything from the
 * caller. If validation finds an error and nothing is queued before the call, the driver itself
 * answers the call.
 */
cl_int submit_command(struct opencl_command *draft, cl_bool blocking, cl_uint n, const cl_event *waits,
                      cl_event *ret_event);

/* Puts a prepared draft (command_prepare()) into the graph, without trying to issue it at once. */
cl_int submit_queued(struct opencl_command *draft, cl_bool blocking, cl_uint n, const cl_event *waits,
                     cl_event *ret_event);

/*
 * Does the driver have everything that was enqueued on the queue, so that it can be asked directly?
 */
bool submit_idle(const struct queue_record *queue);

/* submit_idle, and every event of the (valid) list is complete. */
bool submit_unhindered(struct queue_record *queue, cl_uint n, const cl_event *waits);

/*
 * Waits until every event of the (valid) list is over and submit_idle() holds. False: one event
 * failed, and the command inherits the failure.
 */
bool submit_drain(struct queue_record *queue, cl_uint n, const cl_event *waits);

/*
 * Before the calling thread enters the draft's engine: no engine is held while another one works.
 * Is all that is before the draft in its queue, on another engine, over? blocking: waits for it.
 */
bool submit_alone(const struct opencl_command *draft, cl_bool blocking);

#endif
