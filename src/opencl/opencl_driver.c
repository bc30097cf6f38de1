#include "opencl/opencl_driver.h"

#include <stdlib.h>
#include <string.h>

#include "client/job_record.h"
#include "engine/flight.h"
#include "engine/graph.h"
#include "opencl/graph/adopt.h"
#include "opencl/graph/opencl_issue.h"
#include "opencl/graph/kinds.h"
#include "opencl/graph/kernel_launch.h"
#include "opencl/layer.h"
#include "opencl/opencl_objects.h"
#include "opencl/spread/spread.h"
#include "wire/page.h"

_Static_assert(COMMAND_COMPLETE == CL_COMPLETE && COMMAND_RUNNING == CL_RUNNING &&
                   COMMAND_SUBMITTED == CL_SUBMITTED && COMMAND_QUEUED == CL_QUEUED,
               "statuses are handed on as they are");

/* --- marks --- */

static int mark_status(struct mark *mark)
{
    cl_int status = CL_COMPLETE;

    front.target.clGetEventInfo(event_of(mark), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                NULL);
    return status;
}

static int mark_wait(struct mark *mark)
{
    cl_event event = event_of(mark);
    int status;

    front.target.clWaitForEvents(1, &event);
    status = mark_status(mark);
    return status > CL_COMPLETE ? CL_COMPLETE : status;
}

static void CL_CALLBACK on_event(cl_event event, cl_int status, void *data)
{
    struct mark_listener *listener = data;

    (void)event;
    listener->run(listener, status);
}

static bool mark_notify(struct mark *mark, struct mark_listener *listener)
{
    return front.target.clSetEventCallback(event_of(mark), CL_COMPLETE, on_event, listener) == CL_SUCCESS;
}

static void mark_flush(struct mark *mark)
{
    cl_command_queue queue = NULL;

    front.target.clGetEventInfo(event_of(mark), CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    if (queue)
        front.target.clFlush(queue);
}

static uint64_t time_of(struct mark *mark, cl_profiling_info name)
{
    cl_ulong at = 0;

    if (front.target.clGetEventProfilingInfo(event_of(mark), name, sizeof at, &at, NULL) != CL_SUCCESS)
        return 0;
    return at;
}

static void mark_times(struct mark *mark, struct mark_times *ret_times)
{
    ret_times->started = time_of(mark, CL_PROFILING_COMMAND_START);
    ret_times->ended = time_of(mark, CL_PROFILING_COMMAND_END);
}

static void mark_queued(struct mark *mark, struct mark_times *ret_times)
{
    ret_times->queued = time_of(mark, CL_PROFILING_COMMAND_QUEUED);
    ret_times->submitted = time_of(mark, CL_PROFILING_COMMAND_SUBMIT);
}

static void mark_keep(struct mark *mark)
{
    front.target.clRetainEvent(event_of(mark));
}

static void mark_drop(struct mark *mark)
{
    front.target.clReleaseEvent(event_of(mark));
}

static void mark_over(struct mark *mark)
{
    quirks_over(event_of(mark));
}

/* --- commands --- */

static bool decided(struct command *command, baton_nsec until_at)
{
    return launch_decided(opencl_command_of(command), until_at);
}

/* The driver keeps the order of an in-order queue; other orders are edges of the graph. */
static bool add_wait(struct command *command)
{
    struct mark *mark = NULL;

    if (command->queue->in_order && command_queue_changes(command->queue, command->runs_on->kind))
        mark = flight_elsewhere(command->runs_on, command->queue);
    if (!mark)
        return false;
    graph_wait_mark(command, mark);
    mark_drop(mark);
    return true;
}

static bool spreads(struct command *command)
{
    return spread_concerns(opencl_command_of(command));
}

static int issue_spread(struct device_engine *engine, struct command *command, bool *ret_done)
{
    return spread_issue(engine, opencl_command_of(command), ret_done);
}

/*
 * The driver may report another type than the program's call has. The event reports the driver's
 * type.
 */
static void finished(struct command *base)
{
    struct opencl_command *command = opencl_command_of(base);

    front.target.clGetEventInfo(event_of(base->last_mark), CL_EVENT_COMMAND_TYPE, sizeof command->type,
                                &command->type, NULL);
}

/*
 * Handles are user events of the program's context. Sets the status and drops the layer's
 * reference.
 */
static void ended(struct command *base, int status)
{
    struct opencl_command *command = opencl_command_of(base);

    if (kind_of(command)->user || !command->handle)
        return;
    front.target.clSetUserEventStatus(command->handle, status);
    front.target.clReleaseEvent(command->handle);
}

static struct command_callback *ending(struct command *base)
{
    spread_over(opencl_command_of(base));
    return command_ending(base);
}

/* A thread may wait for a handle in the driver, and an exit handler for the thread. */
static void stopped(void)
{
    size_t n;
    void **all = handle_table_all(&front.events, &n);

    for (size_t i = 0; i < n; i++) {
        struct opencl_command *command = all[i];

        if (!kind_of(command)->user && graph_status(&command->base) > CL_COMPLETE)
            front.target.clSetUserEventStatus(command->handle, opencl_driver.inherited_failure);
        command_unref(&command->base);
    }
    free(all);
}

static void describe(const struct command *base, struct job_record_command *ret_record)
{
    const struct opencl_command *command = (const struct opencl_command *)(const void *)base;
    const char *name = kind_of(command)->label;

    ret_record->bytes = (int64_t)base->bytes;
    if (kind_of(command)->launch) {
        name = command->u.launch.kernel->name ? command->u.launch.kernel->name : "";
        (void)strncpy(ret_record->why, page_why_whole((enum page_counter)launch_why_whole(command)),
                      sizeof ret_record->why - 1);
    }
    (void)strncpy(ret_record->name, name, sizeof ret_record->name - 1);
}

/* --- meters --- */

static struct kernel_record *kernel_of(struct meter *meter)
{
    return list_entry(meter, struct kernel_record, meter);
}

static void ran_alone(struct meter *meter, size_t items, int64_t ns)
{
    spread_ran_alone(kernel_of(meter), items, ns);
}

static void meter_keep(struct meter *meter)
{
    object_ref(&kernel_of(meter)->object);
}

static void meter_drop(struct meter *meter)
{
    kernel_unref(kernel_of(meter));
}

const struct driver_ops opencl_driver = {
    .mark_status = mark_status,
    .mark_wait = mark_wait,
    .mark_notify = mark_notify,
    .mark_flush = mark_flush,
    .mark_times = mark_times,
    .mark_queued = mark_queued,
    .mark_keep = mark_keep,
    .mark_drop = mark_drop,
    .mark_over = mark_over,
    .decided = decided,
    .add_wait = add_wait,
    .issue = issue_command,
    .issue_range = issue_range,
    .bend_step = issue_bend_step,
    .spreads = spreads,
    .issue_spread = issue_spread,
    .spread_idle = spread_idle,
    .finished = finished,
    .ending = ending,
    .ended = ended,
    .free = command_free,
    .inherited_failure = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
    .describe = describe,
    .ran_alone = ran_alone,
    .meter_keep = meter_keep,
    .meter_drop = meter_drop,
    .job_ending = spread_job_ends,
    .job_over = spread_job_over,
    .stop_issuers = program_stop,
    .stop_threads = spread_stop,
    .stopped = stopped,
};
