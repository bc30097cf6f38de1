#include "opencl/enqueue/opencl_submit.h"

#include "base/clock.h"
#include "engine/direct.h"
#include "engine/inferred_job.h"
#include "engine/policy.h"
#include "opencl/graph/adopt.h"
#include "opencl/graph/chunk.h"
#include "opencl/graph/opencl_issue.h"
#include "opencl/graph/kinds.h"
#include "opencl/graph/kernel_launch.h"
#include "opencl/graph/opencl_validate.h"
#include "opencl/layer.h"
#include "opencl/opencl_driver.h"
#include "opencl/spread/spread.h"

bool submit_idle(const struct queue_record *queue)
{
    return !runtime.queue_everything && command_queue_idle(&queue->base);
}

/* The wait list of a call, examined once. */
struct wait_list {
    bool bad, pending, failed;
    /* events of the same in-order queue: passed to the driver, so that failures are inherited */
    cl_uint n_pass;
    cl_event pass[8];
};

static void scan_event(const struct queue_record *queue, cl_event event, struct wait_list *list)
{
    struct opencl_command *node = handle_table_find(&front.events, event);
    cl_context context = NULL;
    cl_command_queue owner = NULL;
    cl_int status = CL_COMPLETE;

    if (node) {
        status = graph_status(&node->base);
        context = node->context;
        command_unref(&node->base);
    } else if (front.target.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                           NULL) != CL_SUCCESS ||
               front.target.clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL) !=
                   CL_SUCCESS) {
        list->bad = true;
        return;
    }
    list->bad = list->bad || context != queue->context;
    list->failed = list->failed || status < 0;
    if (status == CL_COMPLETE)
        return;
    if (!node && status > CL_COMPLETE && queue->base.in_order && list->n_pass < 8) {
        front.target.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof owner, &owner, NULL);
        if (owner == queue->handle) {
            list->pass[list->n_pass++] = event;
            return;
        }
    }
    list->pending = true; /* or failed: the graph ends the command */
}

static void scan(const struct queue_record *queue, cl_uint n, const cl_event *waits,
                 struct wait_list *ret_list)
{
    ret_list->bad = (n == 0) != (waits == NULL);
    ret_list->pending = ret_list->failed = false;
    ret_list->n_pass = 0;
    for (cl_uint i = 0; i < n && !ret_list->bad; i++) {
        if (waits[i])
            scan_event(queue, waits[i], ret_list);
        else
            ret_list->bad = true;
    }
}

bool submit_unhindered(struct queue_record *queue, cl_uint n, const cl_event *waits)
{
    struct wait_list list;

    scan(queue, n, waits, &list);
    return !list.pending && !list.n_pass && submit_idle(queue);
}

bool submit_alone(const struct opencl_command *draft, cl_bool blocking)
{
    const struct command *base = &draft->base;
    struct mark *mark;

    if (!base->leased || !base->queue->in_order || !(base->policy.online || recorder_on()) ||
        !command_queue_changes(base->queue, base->runs_on->kind))
        return true;
    if (blocking)
        graph_wait_queue(base->queue, true);
    mark = flight_elsewhere(base->runs_on, base->queue);
    if (mark && blocking)
        (void)opencl_driver.mark_wait(mark);
    if (mark)
        opencl_driver.mark_drop(mark);
    return blocking || (!mark && graph_queue_over(base->queue, true));
}

bool submit_drain(struct queue_record *queue, cl_uint n, const cl_event *waits)
{
    struct wait_list list;

    for (cl_uint i = 0; i < n; i++) {
        struct opencl_command *node = handle_table_find(&front.events, waits[i]);
        if (node && !kind_of(node)->user)
            (void)graph_wait(&node->base);
        else
            front.target.clWaitForEvents(1, &waits[i]);
        if (node)
            command_unref(&node->base);
    }
    if (queue->base.in_order)
        graph_wait_queue(&queue->base, false);
    else
        graph_wait_barriers(&queue->base);
    scan(queue, n, waits, &list);
    return !list.failed;
}

/* --- through the graph --- */

/* Makes the program's event for a command that the driver does not have yet. */
static cl_int give_handle(struct opencl_command *command, cl_event *ret_event)
{
    cl_int code = CL_SUCCESS;

    command->handle = front.target.clCreateUserEvent(command->context, &code);
    if (!command->handle)
        return code;
    /* the layer's own reference, until the command is complete */
    front.target.clRetainEvent(command->handle);
    atomic_store(&command->app_refs, 1);
    command_hold_record(command);
    command_ref(&command->base);
    if (!handle_table_put(&front.events, command->handle, command)) {
        command_unref(&command->base);
        front.target.clReleaseEvent(command->handle);
        front.target.clReleaseEvent(command->handle);
        command->handle = NULL;
        return CL_OUT_OF_HOST_MEMORY;
    }
    *ret_event = command->handle;
    return CL_SUCCESS;
}

cl_int submit_queued(struct opencl_command *draft, cl_bool blocking, cl_uint n, const cl_event *waits,
                     cl_event *ret_event)
{
    struct opencl_command *command = command_adopt(draft);
    cl_int code = CL_SUCCESS;

    if (!command)
        return CL_OUT_OF_HOST_MEMORY;
    if (kind_of(command)->task)
        command->type = launch_task_type();
    if (ret_event)
        code = give_handle(command, ret_event);
    if (code != CL_SUCCESS) {
        command_unref(&command->base);
        return code;
    }
    inferred_job_begins();
    if (recorder_on() && command->base.leased)
        command->base.job = recorder_enter();
    command_submit(command, n, waits);
    if (blocking) {
        code = graph_wait(&command->base);
        inferred_job_waited();
    } else {
        graph_throttle(&command->queue->base);
    }
    command_unref(&command->base);
    return code < 0 ? code : CL_SUCCESS;
}

/* --- at once --- */

/*
 * Cuts a large copy on the calling thread, which blocks anyway, without a hop to the worker. The
 * engine has been entered.
 */
static cl_int cut_here(struct device_engine *engine, struct opencl_command *draft, cl_event *ret_event)
{
    struct opencl_command *command = command_adopt(draft);
    cl_int code = CL_SUCCESS;

    if (!command)
        return CL_OUT_OF_HOST_MEMORY;
    if (ret_event)
        code = give_handle(command, ret_event);
    if (code == CL_SUCCESS) {
        if (recorder_on())
            command->base.job = recorder_enter();
        command->base.issued_at = clock_now();
        command->base.waited_for = true;
        code = pipe_issue(engine, &command->base);
    }
    if (code == CL_SUCCESS)
        code = pipe_await(engine, &command->base);
    graph_end_alone(&command->base, code);
    command_unref(&command->base);
    return code;
}

/* The caller has entered the engine. */
static cl_int issue_now(struct opencl_command *draft, cl_bool blocking, const struct wait_list *list,
                        cl_event *ret_event)
{
    bool leased = draft->base.leased;
    bool keeps = !blocking && leased; /* in flight when the call returns */
    bool recorded = recorder_on() && leased;
    baton_nsec call_at = recorded || (blocking && leased) ? clock_now() : 0;
    cl_event event = NULL;
    cl_int code = issue_whole(draft, blocking, list->n_pass, list->n_pass ? list->pass : NULL,
                              ret_event || keeps || recorded ? &event : NULL);

    if (recorded && code == CL_SUCCESS)
        recorder_direct(&draft->base, call_at, mark_of(event));
    if (event && kind_of(draft)->task)
        launch_task_seen(event);
    if (code == CL_SUCCESS && keeps) {
        if (ret_event) {
            *ret_event = event;
            front.target.clRetainEvent(event);
        }
        direct_in_flight(&draft->base, mark_of(event));
        return CL_SUCCESS;
    }
    if (code == CL_SUCCESS && blocking)
        direct_over(&draft->base, call_at, !list->n_pass);
    else
        direct_leave(&draft->base);
    if (event && ret_event)
        *ret_event = event;
    else if (event)
        front.target.clReleaseEvent(event);
    return code;
}

/* One call, and the decisions about it, taken once. */
struct submission {
    struct opencl_command *draft;
    cl_bool blocking;
    struct wait_list list;
    bool spreads; /* the command may involve other devices */
    bool cut;     /* a transfer that is larger than a chunk */
    cl_event *ret_event;
};

/* Issues the command from the calling thread. False: it must be queued. */
static bool submit_now(struct submission *s, cl_int *ret_code)
{
    struct opencl_command *draft = s->draft;

    inferred_job_begins();
    if (s->spreads && !spread_admits(draft, s->blocking))
        return false;
    if (!direct_enter(&draft->base, s->blocking)) {
        if (s->spreads)
            spread_over(draft);
        return false;
    }
    if (s->cut) {
        *ret_code = cut_here(draft->base.runs_on, draft, s->ret_event);
        direct_leave(&draft->base);
    } else {
        if (kind_of(draft)->launch)
            launch_count_direct(draft);
        else if (draft->base.bytes)
            policy_count(&draft->base.policy, COUNTER_COPIES, 1);
        *ret_code = issue_now(draft, s->blocking, &s->list, s->ret_event);
    }
    if (s->spreads)
        spread_over(draft);
    if (s->blocking)
        inferred_job_waited();
    return true;
}

/*
 * Waits for events that would be passed to the driver: each chunk of a copy would need them. False:
 * one failed, and the graph ends the copy.
 */
static bool await_passed(struct wait_list *list)
{
    bool good = true;

    for (cl_uint i = 0; i < list->n_pass && good; i++)
        good = opencl_driver.mark_wait(mark_of(list->pass[i])) == CL_COMPLETE;
    list->n_pass = 0;
    return good;
}

/* May the calling thread issue the command, if engine and lease allow it? */
static bool may_go_now(struct submission *s)
{
    const struct opencl_command *draft = s->draft;

    if (!submit_idle(draft->queue) || s->list.pending)
        return false;
    if (kind_of(draft)->launch) /* only if the launch stays on its device and whole */
        return !(s->spreads && kind_of(draft)->cut_by_time && spread_wants(draft)) && launch_direct(draft) &&
               submit_alone(draft, s->blocking);
    if (s->cut && !(s->blocking && validate_draft(draft) == CL_SUCCESS && await_passed(&s->list)))
        return false;
    return submit_alone(draft, s->blocking);
}

cl_int submit_command(struct opencl_command *draft, cl_bool blocking, cl_uint n, const cl_event *waits,
                      cl_event *ret_event)
{
    struct submission s = {.draft = draft, .blocking = blocking, .ret_event = ret_event};
    struct queue_record *queue = draft->queue;
    cl_int code;

    scan(queue, n, waits, &s.list);
    if (s.list.bad)
        return atomic_load(&queue->base.n_unissued) == 0 ? issue_whole(draft, blocking, n, waits, ret_event)
                                                         : validate_waits(queue, n, waits);
    command_prepare(draft);
    s.spreads = spread_possible(queue->device);
    s.cut = draft->base.bytes && draft->base.bytes > chunk_size(draft);
    if (may_go_now(&s) && submit_now(&s, &code))
        return code;
    code = validate_draft(draft);
    if (code == CL_SUCCESS)
        return submit_queued(draft, blocking, n, waits, ret_event);
    /* The driver reports the error itself if asking it cannot overtake another command. */
    return atomic_load(&queue->base.n_unissued) == 0 && !s.list.pending
               ? issue_whole(draft, blocking, n, waits, ret_event)
               : code;
}
