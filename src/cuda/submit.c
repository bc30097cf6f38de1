#include "cuda/submit.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cuda/cuda_kinds.h"
#include "cuda/engine_order.h"
#include "cuda/front.h"
#include "cuda/issue.h"
#include "cuda/mark.h"
#include "cuda/migrate/migrate.h"
#include "cuda/validate.h"
#include "engine/direct.h"
#include "engine/flight.h"
#include "engine/graph.h"
#include "engine/inferred_job.h"
#include "engine/meter.h"
#include "engine/runtime.h"

#define SHORT_NS (50 * NSEC_PER_US) /* of a launch whose time is not measured each time */

static void draft_call(struct cuda_command *ret_draft, const struct call *call, struct stream_record *stream)
{
    *ret_draft = (struct cuda_command){.base = {.queue = &stream->queue},
                                       .kind = COMMAND_CALL,
                                       .stream = stream,
                                       .on = stream,
                                       .call = *call};
    ret_draft->captured = stream_captures(stream);
    if (!ret_draft->captured)
        stream_name(stream, &ret_draft->call);
}

void submit_draft(struct cuda_command *ret_draft, const struct call *call, struct stream_record *stream)
{
    draft_call(ret_draft, call, stream);
    if (!ret_draft->captured)
        gates_pass(stream);
}

void submit_draft_own(struct cuda_command *ret_draft, unsigned index, struct stream_record *stream,
                      CUevent event)
{
    struct call call = {.entry = entry_at(index), .genuine = front_genuine(index)};

    call.args[call.entry->stream == 0] = (uint64_t)event;
    draft_call(ret_draft, &call, stream);
}

/* --- at once --- */

static void count(const struct cuda_command *draft)
{
    if (cuda_kind_of(draft)->launch)
        issue_count_whole(draft);
    else if (draft->base.bytes)
        runtime_count(COUNTER_COPIES, 1);
}

/*
 * Does the mark need times of its own? An event costs as much as an empty launch: short launches
 * have one only now and then, unless they are recorded. A process that has called names which no
 * table knows, or that captures, may do with its streams what cannot be seen.
 */
static bool needs_times(const struct cuda_command *draft)
{
    return !cuda_kind_of(draft)->launch || !draft->base.meter || draft->base.predicted > SHORT_NS ||
           recorder_on() || front_is_whole() || front_captures() || meter_is_due(draft->base.meter);
}

/* The driver took it and it is in flight: the engine is left when its mark is over. */
static void note_flight(struct cuda_command *draft, baton_nsec begin_at, bool timed)
{
    struct context_visit visit;
    struct mark *mark;

    if (timed) {
        context_visit_begin(draft->stream->context, &visit);
        mark = mark_record(draft->stream, begin_at);
        context_visit_end(&visit);
    } else {
        mark = mark_join(draft->stream, begin_at, draft->base.predicted);
    }
    if (!mark) {
        direct_leave(&draft->base);
        return;
    }
    if (recorder_on())
        recorder_direct(&draft->base, begin_at, mark);
    direct_in_flight(&draft->base, mark);
}

/*
 * The driver's call has returned when the work was over, and with it all that the stream had
 * before.
 */
static void note_end(struct cuda_command *draft, baton_nsec begin_at, uint64_t place)
{
    if (draft->synchronise || (cuda_kind_of(draft)->copy && draft->u.copy.direction == COPY_OUT))
        mark_passed(draft->stream->context, draft->stream, place);
    if (recorder_on())
        recorder_copy(draft->base.engine, draft->base.bytes, begin_at, clock_now());
    direct_over(&draft->base, begin_at, true);
}

/* The caller has entered the engine, if the command needs one. */
static CUresult call_now(struct cuda_command *draft)
{
    baton_nsec begin_at = draft->base.leased ? clock_now() : 0;
    bool timed = draft->base.leased && !draft->over_on_return && needs_times(draft);
    uint64_t place = 0;
    CUresult code;

    if (timed)
        mark_close(draft->stream); /* so that the time of what is before it is not counted */
    else if (draft->over_on_return)
        place = mark_place(draft->stream->context);
    code = issue_call(draft);
    if (!draft->base.leased)
        return code;
    if (code == CUDA_SUCCESS && draft->synchronise)
        code = cuda_front.genuine.cuStreamSynchronize(draft->stream->handle);
    if (code != CUDA_SUCCESS) {
        direct_leave(&draft->base);
        return code;
    }
    count(draft);
    if (draft->over_on_return)
        note_end(draft, begin_at, place);
    else
        note_flight(draft, begin_at, timed);
    return code;
}

/* On another GPU: the call returns when its work is over there. */
static CUresult call_away(struct cuda_command *draft)
{
    baton_nsec begin_at = clock_now();
    struct context_visit visit;
    CUresult code;

    context_visit_begin(draft->on->context, &visit);
    code = migrate_await(draft, issue_call(draft));
    context_visit_end(&visit);
    if (code != CUDA_SUCCESS) {
        direct_leave(&draft->base);
        return code;
    }
    count(draft);
    if (recorder_on())
        recorder_copy(draft->base.engine, draft->base.bytes, begin_at, clock_now());
    direct_over(&draft->base, begin_at, true);
    return code;
}

/* A call whose result is seen has waited for what it enqueued. */
static CUresult returned(struct cuda_command *draft, bool blocking, CUresult code)
{
    CUresult late = CUDA_SUCCESS;

    migrate_leave(draft);
    if (!blocking)
        return code;
    inferred_job_waited();
    if (code == CUDA_SUCCESS)
        late = context_take_late(draft->stream->context);
    return late != CUDA_SUCCESS ? late : code;
}

CUresult submit_at_once(struct cuda_command *draft, bool blocking)
{
    stream_wait_turn(draft->stream);
    if (!draft->base.runs_on)
        command_resolve(&draft->base);
    draft->base.predicted = issue_predict(draft);
    if (engine_order_changes(draft) && (blocking || !front_is_whole()))
        (void)engine_order_over(draft, true);
    (void)direct_enter(&draft->base, true);
    return returned(draft, blocking, migrate_is_away(draft) ? call_away(draft) : call_now(draft));
}

/* --- held back --- */

/* What its arguments point at; false: no memory. */
static bool adopt_arguments(struct cuda_command *command, const struct submit_copied *copied)
{
    const struct cuda_kind *kind = cuda_kind_of(command);

    if (!copied || !copied->memory)
        return !kind->adopt || kind->adopt(command);
    command->owned = malloc(copied->size ? copied->size : 1);
    if (!command->owned)
        return false;
    memcpy(command->owned, copied->memory, copied->size);
    command->call.args[copied->argument] = (uint64_t)command->owned;
    if (kind->copy)
        command->u.copy.from = (CUdeviceptr)command->owned;
    return true;
}

/* The command's memory: the struct, then what its arguments point at. */
struct cuda_command *submit_adopt(const struct cuda_command *draft, const struct submit_copied *copied)
{
    struct cuda_command *command = malloc(sizeof *command);

    if (!command)
        return NULL;
    *command = *draft;
    if (!adopt_arguments(command, copied)) {
        free(command);
        return NULL;
    }
    command_init(&command->base);
    stream_keep(command->stream);
    if (cuda_kind_of(command)->keep)
        cuda_kind_of(command)->keep(command);
    return command;
}

/*
 * One command at a time, so that a command waits for earlier ones only. Two threads could otherwise
 * have a command of the legacy stream and one of a blocking stream wait for each other.
 */
void submit_open_locked(struct cuda_command *command)
{
    graph_open(&command->base);
    stream_add_waits(command->stream, &command->base);
}

void submit_enter(struct cuda_command *command)
{
    pthread_mutex_lock(&cuda_front.order);
    submit_open_locked(command);
    pthread_mutex_unlock(&cuda_front.order);
}

void submit_to_graph(struct cuda_command *command)
{
    void (*enter)(struct cuda_command *) = cuda_kind_of(command)->enter;
    bool first = engine_order_changes(command) && stream_unhindered(command->stream);

    if (recorder_on() && command->base.leased)
        command->base.job = recorder_enter();
    (enter ? enter : submit_enter)(command);
    if (first) /* else the engine asks when the command's turn comes */
        command->base.alone = engine_order_add_wait(&command->base);
    graph_close(&command->base);
}

/*
 * A launch that is short enough to wait for others before it, while no other program wants the
 * engine.
 */
static bool is_short(const struct cuda_command *command)
{
    return cuda_kind_of(command)->launch &&
           command->base.predicted <= pipe_piece_ns(&command->base.policy) / 4;
}

/*
 * Back-pressure. Short launches go back to the driver's own queue as soon as that overtakes
 * nothing.
 */
static void slow_down(const struct cuda_command *draft)
{
    if (is_short(draft) && engine_undisputed(draft->base.runs_on))
        graph_catch_up(draft->base.queue);
    else
        graph_throttle(draft->base.queue);
}

static CUresult hold_back(struct cuda_command *draft, bool blocking, const struct submit_copied *copied)
{
    struct cuda_command *command = submit_adopt(draft, copied);
    CUresult code = CUDA_SUCCESS;
    int status;

    if (!command)
        return submit_at_once(draft, blocking);
    command->reported = blocking;
    submit_to_graph(command);
    if (blocking) {
        status = graph_wait(&command->base);
        code = command->result;
        if (code == CUDA_SUCCESS && status < 0)
            code = runtime_off() ? CUDA_ERROR_DEINITIALIZED : (CUresult)-status;
    } else {
        slow_down(draft); /* a worker may be changing the command */
    }
    command_unref(&command->base);
    return returned(draft, blocking, code);
}

/*
 * A full pipeline of short launches: to wait until the driver has done some is quicker than to send
 * the next one through the worker.
 */
static bool enter_after_others(struct cuda_command *draft)
{
    struct device_engine *engine = draft->base.runs_on;

    return is_short(draft) && flight_any(engine) && !engine_border_asked(engine) &&
           flight_make_room(engine, &draft->base.policy, draft->base.predicted) &&
           direct_enter(&draft->base, false);
}

/* A call that blocks waits for other engines first, also if its copy is then cut. */
static bool goes_direct(struct cuda_command *draft, bool blocking)
{
    bool first = !runtime.queue_everything && !migrate_is_away(draft) && stream_unhindered(draft->stream);
    bool cut = first && issue_wants_cut(draft);

    if (!first || (cut && !blocking) || (engine_order_changes(draft) && !engine_order_over(draft, blocking)))
        return false;
    return !cut && (direct_enter(&draft->base, blocking) || enter_after_others(draft));
}

/* The job's GPU is known, and the command points to it. */
static CUresult enter_job(struct cuda_command *draft)
{
    CUresult code = CUDA_SUCCESS;

    inferred_job_begins();
    if (migrate_on())
        code = migrate_enter(draft);
    command_resolve(&draft->base);
    if (migrate_is_away(draft))
        draft->base.runs_on = engine_device_for(&draft->on->context->device->base, draft->base.engine);
    return code;
}

CUresult submit(struct cuda_command *draft, bool blocking, const struct submit_copied *copied)
{
    CUresult code = CUDA_SUCCESS;

    if (draft->captured) {
        code = call_invoke(&draft->call);
    } else {
        if (draft->base.leased)
            code = enter_job(draft);
        else
            command_resolve(&draft->base);
        draft->base.predicted = issue_predict(draft);
        if (code != CUDA_SUCCESS)
            inferred_job_waited();
        else if (front_is_whole() || draft->at_once)
            code = submit_at_once(draft, blocking);
        else if (goes_direct(draft, blocking))
            code = returned(draft, blocking, call_now(draft));
        else if (!validate_command(draft))
            code = submit_at_once(draft, blocking);
        else
            code = hold_back(draft, blocking, copied);
    }
    migrate_leave(draft);
    stream_drop(draft->stream);
    return code;
}

/* --- fences --- */

/*
 * The node behind a command that waits for the host: what follows in the stream waits for its end.
 */
static bool submit_fence(struct stream_record *stream, struct mark *mark)
{
    struct cuda_command draft = {.base = {.queue = &stream->queue, .next_at_end = true},
                                 .kind = COMMAND_FENCE,
                                 .stream = stream,
                                 .on = stream};
    struct cuda_command *command = submit_adopt(&draft, NULL);

    if (!command)
        return false;
    graph_open(&command->base);
    graph_wait_mark(&command->base, mark);
    graph_close(&command->base);
    command_unref(&command->base);
    return true;
}

static CUresult call_fenced(struct cuda_command *draft, struct mark *mark)
{
    struct context_visit visit;
    CUresult code = call_invoke(&draft->call);

    if (code != CUDA_SUCCESS)
        return code;
    context_visit_begin(draft->stream->context, &visit);
    mark_fence_arm(mark, draft->stream);
    context_visit_end(&visit);
    if (!submit_fence(draft->stream, mark))
        (void)mark_wait(mark);
    return code;
}

static CUresult hold_fenced(struct cuda_command *draft, const struct submit_copied *copied, struct mark *mark)
{
    struct cuda_command *command = submit_adopt(draft, copied);

    if (!command) {
        stream_wait_turn(draft->stream);
        return call_fenced(draft, mark);
    }
    mark_keep(mark);
    command->fence = mark;
    submit_to_graph(command);
    if (!submit_fence(draft->stream, mark))
        (void)mark_wait(mark);
    command_unref(&command->base);
    return CUDA_SUCCESS;
}

CUresult submit_fenced(struct cuda_command *draft, const struct submit_copied *copied)
{
    struct stream_record *stream = draft->stream;
    struct mark *mark = NULL;
    CUresult code;

    if (!draft->captured && !front_is_whole())
        mark = mark_fence(stream);
    if (!mark) {
        if (!draft->captured)
            stream_wait_turn(stream);
        code = call_invoke(&draft->call);
    } else if (!runtime.queue_everything && stream_unhindered(stream)) {
        code = call_fenced(draft, mark);
    } else if (!validate_command(draft)) {
        stream_wait_turn(stream);
        code = call_fenced(draft, mark);
    } else {
        code = hold_fenced(draft, copied, mark);
    }
    mark_drop(mark);
    stream_drop(stream);
    return code;
}
