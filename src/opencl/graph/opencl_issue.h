/* Commands as calls of the driver: one call per kind, whole or as chunks. */
#ifndef OPENCL_GRAPH_OPENCL_ISSUE_H
#define OPENCL_GRAPH_OPENCL_ISSUE_H

#include "engine/engine.h"
#include "engine/pipe.h"
#include "opencl/graph/opencl_command.h"

/*
 * The driver's own enqueue call for the command, with the program's kernel object while a draft. A
 * NULL event list and event are allowed. Not for COMMAND_MAP of the program's threads
 * (enqueue/enqueue_map.c).
 */
cl_int issue_whole(const struct opencl_command *command, cl_bool blocking, cl_uint n_waits,
                   const cl_event *waits, cl_event *ret_event);

/* driver_ops::issue, issue_range and bend_step. */
int issue_command(struct piece_pipe *pipe, struct command *command, struct mark **ret_mark);
int issue_range(struct command *command, struct piece_cut *cut, uint64_t begin, uint64_t limit,
                uint64_t *ret_end, struct mark **ret_mark);
uint64_t issue_bend_step(const struct command *command, const struct piece_cut *cut, uint64_t step,
                         double fits, uint64_t left);

/* kind::issue of kinds that are never cut. */
cl_int issue_as_given(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event);

/*
 * A blocking call that is not made by issue_whole(), between quirks_call_begin() and
 * quirks_call_end(). Where the end must be waited for outside of the call (quirks_wait_outside()),
 * the driver gets .blocking and .event instead of the caller's.
 */
struct issue_blocking {
    cl_bool blocking;
    cl_event *event;
    cl_event own;
    bool outside;
};

void issue_blocking_begin(struct issue_blocking *call, const struct queue_record *queue, cl_bool blocking,
                          cl_event *event);
/* code: of the call. The call's code, or that of the wait. */
cl_int issue_blocking_end(struct issue_blocking *call, const struct queue_record *queue, cl_int code);

#endif
