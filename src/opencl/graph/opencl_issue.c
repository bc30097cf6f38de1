#include "opencl/graph/opencl_issue.h"

#include "opencl/graph/kinds.h"
#include "opencl/graph/kernel_launch.h"
#include "opencl/layer.h"
#include "opencl/opencl_objects.h"

/* Does the driver itself make such a command wait for others? */
static bool driver_waits(const struct opencl_command *command)
{
    return kind_of(command)->driver_waits == WAITS_ALWAYS ||
           (kind_of(command)->driver_waits == WAITS_UNORDERED && !command->queue->base.in_order);
}

cl_int issue_whole(const struct opencl_command *c, cl_bool blocking, cl_uint n, const cl_event *waits,
                   cl_event *event)
{
    bool outside = blocking && quirks_wait_outside(c->queue);
    cl_event own = NULL, *last = outside && !event ? &own : event;
    cl_int code;

    if (kind_of(c)->cut_by_time && launch_give_rewritten(c, n, waits, event))
        return CL_SUCCESS;
    quirks_call_begin(c->queue, driver_waits(c));
    code = kind_of(c)->give(c, blocking && !outside, n, waits, last);
    quirks_call_end(c->queue);
    if (outside && code == CL_SUCCESS)
        code = front.target.clWaitForEvents(1, last);
    if (own)
        front.target.clReleaseEvent(own);
    return code;
}

void issue_blocking_begin(struct issue_blocking *call, const struct queue_record *queue, cl_bool blocking,
                          cl_event *event)
{
    call->outside = blocking && quirks_wait_outside(queue);
    call->blocking = blocking && !call->outside;
    call->own = NULL;
    call->event = call->outside && !event ? &call->own : event;
    quirks_call_begin(queue, false);
}

cl_int issue_blocking_end(struct issue_blocking *call, const struct queue_record *queue, cl_int code)
{
    quirks_call_end(queue);
    if (call->outside && code == CL_SUCCESS)
        code = front.target.clWaitForEvents(1, call->event);
    if (call->own)
        front.target.clReleaseEvent(call->own);
    return code;
}

cl_int issue_as_given(struct piece_pipe *pipe, struct opencl_command *command, cl_event *ret_event)
{
    (void)pipe;
    return issue_whole(command, CL_FALSE, 0, NULL, ret_event);
}

int issue_command(struct piece_pipe *pipe, struct command *base, struct mark **ret_mark)
{
    struct opencl_command *command = opencl_command_of(base);
    cl_event event = NULL;
    cl_int code = kind_of(command)->issue(pipe, command, &event);

    *ret_mark = mark_of(event);
    return code;
}

int issue_range(struct command *base, struct piece_cut *cut, uint64_t begin, uint64_t limit,
                uint64_t *ret_end, struct mark **ret_mark)
{
    struct opencl_command *command = opencl_command_of(base);
    cl_event event = NULL;
    cl_int code = kind_of(command)->issue_range(command, cut, begin, limit, ret_end, &event);

    *ret_mark = mark_of(event);
    return code;
}

uint64_t issue_bend_step(const struct command *base, const struct piece_cut *cut, uint64_t step, double fits,
                         uint64_t left)
{
    const struct opencl_command *command = (const struct opencl_command *)(const void *)base;

    return kind_of(command)->cut_by_time ? launch_bend_step(command, cut, step, fits, left) : step;
}
