#include "opencl/enqueue/submit.h"

#include "base/clock.h"
#include "opencl/graph/graph.h"
#include "opencl/graph/issue.h"
#include "opencl/graph/launch.h"
#include "opencl/layer.h"
#include "opencl/graph/recorder.h"
#include "opencl/spread/spread.h"
#include "opencl/enqueue/validate.h"

static atomic_bool job_open;
static atomic_uint job_number;

void submit_job_begins(void)
{
    struct session *session;
    bool closed = false;

    if (atomic_load_explicit(&job_open, memory_order_relaxed) ||
        !atomic_compare_exchange_strong(&job_open, &closed, true))
        return;
    atomic_fetch_add(&job_number, 1);
    session = layer_session();
    if (session)
        session_job_begin(session, false, clock_now());
}

void submit_waited(void)
{
    struct session *session;

    for (struct device_record *device = device_records(); device; device = device->next)
        for (int kind = 0; kind < ENGINE_N; kind++) {
            engine_flight_reap(&device->engines[kind], false);
            if (atomic_load_explicit(&device->engines[kind].flight_any, memory_order_relaxed))
                return;
        }
    if (!atomic_load_explicit(&job_open, memory_order_relaxed) || !graph_idle())
        return;
    session = layer_session();
    if (session) {
        session_job_ending(session, false);
        session_job_end(session, false, clock_now());
    }
    spread_job_over();
    atomic_store(&job_open, false);
}

unsigned submit_job_number(void)
{
    return atomic_load(&job_number);
}

bool submit_idle(const struct queue_record *queue)
{
    return !layer_queue_everything && atomic_load_explicit(&queue->n_unissued, memory_order_acquire) == 0;
}

/* The wait list of a call, looked at once. */
struct wait_list {
    bool bad, pending, failed;
    cl_uint
        n_pass; /* events of the same in-order queue: the driver's own list takes them, so that failures are inherited */
    cl_event pass[8];
};

static void scan_event(const struct queue_record *queue, cl_event event, struct wait_list *list)
{
    struct command *node = handle_table_find(&events, event);
    cl_context context = NULL;
    cl_command_queue owner = NULL;
    cl_int status = CL_COMPLETE;

    if (node) {
        status = graph_status(node);
        context = node->context;
        graph_unref(node);
    } else if (target.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                     NULL) != CL_SUCCESS ||
               target.clGetEventInfo(event, CL_EVENT_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS) {
        list->bad = true;
        return;
    }
    list->bad = list->bad || context != queue->context;
    list->failed = list->failed || status < 0;
    if (status == CL_COMPLETE)
        return;
    if (!node && status > CL_COMPLETE && queue->in_order && list->n_pass < 8) {
        target.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof owner, &owner, NULL);
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

bool submit_drain(struct queue_record *queue, cl_uint n, const cl_event *waits)
{
    struct wait_list list;

    for (cl_uint i = 0; i < n; i++) {
        struct command *node = handle_table_find(&events, waits[i]);
        if (node && node->kind != COMMAND_USER)
            (void)graph_wait(node);
        else
            target.clWaitForEvents(1, &waits[i]);
        if (node)
            graph_unref(node);
    }
    if (queue->in_order)
        graph_wait_queue(queue, false);
    else
        graph_wait_barriers(queue);
    scan(queue, n, waits, &list);
    return !list.failed;
}

/* --- through the graph --- */

/* The program's event for a command that it cannot get from the driver yet. */
static cl_int give_handle(struct command *command, cl_event *ret_event)
{
    cl_int code = CL_SUCCESS;

    command->handle = target.clCreateUserEvent(command->context, &code);
    if (!command->handle)
        return code;
    target.clRetainEvent(command->handle); /* ours, until complete */
    atomic_store(&command->app_refs, 1);
    graph_hold_record(command);
    graph_ref(command);
    if (!handle_table_put(&events, command->handle, command)) {
        graph_unref(command);
        target.clReleaseEvent(command->handle);
        target.clReleaseEvent(command->handle);
        command->handle = NULL;
        return CL_OUT_OF_HOST_MEMORY;
    }
    *ret_event = command->handle;
    return CL_SUCCESS;
}

static int64_t predict(const struct command *draft)
{
    const struct engine *engine = &draft->queue->device->engines[draft->engine];
    int64_t predicted;

    if (draft->kind != COMMAND_KERNEL && draft->kind != COMMAND_TASK)
        return issue_predict(engine, issue_bytes(draft));
    predicted = draft->kind == COMMAND_TASK
                    ? -1
                    : launch_predict(draft->u.launch.kernel, launch_items(&draft->u.launch));
    return predicted < 0 ? 2 * ENGINE_PIECE_NS : predicted;
}

cl_int submit_queued(struct command *draft, cl_bool blocking, cl_uint n, const cl_event *waits,
                     cl_event *ret_event)
{
    struct command *command = graph_adopt(draft);
    cl_int code = CL_SUCCESS;

    if (!command)
        return CL_OUT_OF_HOST_MEMORY;
    command->predicted = predict(draft);
    if (command->kind == COMMAND_TASK)
        command->type = launch_task_type();
    if (ret_event)
        code = give_handle(command, ret_event);
    if (code != CL_SUCCESS) {
        graph_unref(command);
        return code;
    }
    submit_job_begins();
    if (recorder_on && command->leased)
        command->job = recorder_enter();
    graph_submit(command, n, waits);
    if (blocking) {
        code = graph_wait(command);
        submit_waited();
    } else {
        graph_throttle(command->queue);
    }
    graph_unref(command);
    return code < 0 ? code : CL_SUCCESS;
}

/* --- at once --- */

static bool has_lease_to_wait_for(const struct command *draft, cl_bool blocking)
{
    return draft->leased && blocking;
}

/* Large copies of a caller that blocks anyway are cut here, without a hop to the worker. */
static cl_int cut_here(struct engine *engine, struct command *draft, cl_event *ret_event)
{
    struct command *command = graph_adopt(draft);
    cl_int code = CL_SUCCESS, status = CL_COMPLETE;

    if (!command)
        return CL_OUT_OF_HOST_MEMORY;
    if (ret_event)
        code = give_handle(command, ret_event);
    if (code == CL_SUCCESS) {
        if (recorder_on)
            command->job = recorder_enter();
        command->issued_at = clock_now();
        command->waited_for = true;
        code = issue_command(engine, command);
    }
    if (code == CL_SUCCESS) {
        target.clWaitForEvents(1, &command->driver_event);
        target.clGetEventInfo(command->driver_event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                              &status, NULL);
        status = command->piece_status < 0 ? command->piece_status : status;
        issue_read_times(engine, command);
    }
    graph_end_alone(command, code != CL_SUCCESS ? code : status);
    graph_unref(command);
    return code != CL_SUCCESS ? code : status < 0 ? status : CL_SUCCESS;
}

/* The caller has entered the engine. */
static cl_int issue_now(struct engine *engine, struct command *draft, cl_bool blocking,
                        const struct wait_list *list, int64_t predicted, cl_event *ret_event)
{
    bool kernel = draft->kind == COMMAND_KERNEL;
    struct engine_flight flight = {
        .predicted = predicted, .queue = draft->queue, .in_order = draft->queue->in_order};
    bool keeps = !blocking && draft->leased; /* in flight when the call returns */
    baton_nsec begin_at = blocking && draft->leased ? clock_now() : 0;
    bool recorded = recorder_on && draft->leased;
    baton_nsec call_at = recorded ? clock_now() : 0;
    cl_event event = NULL;
    cl_int code = issue_whole(draft, blocking, list->n_pass, list->n_pass ? list->pass : NULL,
                              ret_event || keeps || recorded ? &event : NULL);

    if (recorded && code == CL_SUCCESS)
        recorder_direct(draft, call_at, event);
    if (event && draft->kind == COMMAND_TASK)
        launch_task_seen(event);
    if (code != CL_SUCCESS || !keeps) {
        if (begin_at && code == CL_SUCCESS) {
            baton_nsec end_at = clock_now();
            issue_report(engine, begin_at, end_at);
            if (!list->n_pass && atomic_load_explicit(&engine->flight_any, memory_order_relaxed) == 0)
                issue_learn(engine, issue_bytes(draft), end_at - begin_at);
        }
        if (draft->leased)
            engine_leave(engine, predicted);
        if (event && ret_event)
            *ret_event = event;
        else if (event)
            target.clReleaseEvent(event);
        return code;
    }
    flight.event = event;
    if (ret_event) {
        *ret_event = event;
        target.clRetainEvent(event);
    }
    if (kernel) {
        flight.kernel = draft->u.launch.kernel;
        flight.items = launch_items(&draft->u.launch);
        atomic_fetch_add_explicit(&flight.kernel->refs, 1, memory_order_relaxed);
    }
    engine_flight_add(engine, &flight);
    return CL_SUCCESS;
}

cl_int submit(struct command *draft, cl_bool blocking, cl_uint n, const cl_event *waits, cl_event *ret_event)
{
    struct queue_record *queue = draft->queue;
    struct engine *engine = &queue->device->engines[draft->engine];
    bool launch = draft->kind == COMMAND_KERNEL || draft->kind == COMMAND_TASK;
    struct wait_list list;
    size_t bytes, chunk;
    int64_t predicted;
    bool direct;
    cl_int code;

    scan(queue, n, waits, &list);
    if (list.bad)
        return atomic_load(&queue->n_unissued) == 0 ? issue_whole(draft, blocking, n, waits, ret_event)
                                                    : validate_waits(queue, n, waits);
    direct = submit_idle(queue) && !list.pending && (!launch || launch_direct(draft));
    bytes = launch ? 0 : issue_bytes(draft);
    chunk = bytes && layer_chunking() ? issue_chunk(draft) : SIZE_MAX;
    if (direct && (bytes <= chunk || (blocking && validate_command(draft) == CL_SUCCESS))) {
        predicted = predict(draft);
        submit_job_begins();
        if (!spread_admits(draft, blocking))
            direct = false;
        else if (has_lease_to_wait_for(draft, blocking))
            engine_enter(engine, predicted);
        else if (draft->leased &&
                 (!engine_flight_room(engine, predicted) || !engine_try_enter(engine, predicted)))
            direct = false;
        if (direct && bytes > chunk) {
            code = cut_here(engine, draft, ret_event);
            engine_leave(engine, predicted);
            submit_waited();
            return code;
        }
        if (direct) {
            if (launch)
                launch_count_direct(draft);
            else if (bytes)
                launch_count(COUNTER_COPIES, 1);
            code = issue_now(engine, draft, blocking, &list, predicted, ret_event);
            if (blocking)
                submit_waited();
            return code;
        }
    }
    code = validate_command(draft);
    if (code == CL_SUCCESS)
        return submit_queued(draft, blocking, n, waits, ret_event);
    /* The driver's own answer, when asking it cannot overtake anything. */
    return atomic_load(&queue->n_unissued) == 0 && !list.pending
               ? issue_whole(draft, blocking, n, waits, ret_event)
               : code;
}
