#include "engine/pipe.h"

#include <string.h>

#include "base/clock.h"
#include "client/lease.h"
#include "engine/meter.h"
#include "engine/policy.h"
#include "engine/runtime.h"
#include "engine/worker.h"

/* A planned piece of at least this length: the plan does not cut. */
#define PIPE_UNCUT_NS (60 * NSEC_PER_SEC)

enum { GROWTH = 8 }; /* a piece has at most this many times the units of the one before */

/* --- times --- */

/*
 * Pieces of an out-of-order queue may run in any order: the first need not begin first, nor the
 * last end last.
 */
static void widen(struct command *command, const struct mark_times *times)
{
    if (times->started && (!command->begun || times->started < command->begun))
        command->begun = times->started;
    if (times->ended > command->ended)
        command->ended = times->ended;
}

/*
 * Engine time is that of the pieces. A pause between two of them is none, however long the host
 * takes to issue the next one.
 */
static void count_piece(struct command *command, const struct mark_times *times)
{
    uint64_t from = times->started > command->used_until ? times->started : command->used_until;

    if (times->ended <= from)
        return;
    command->used += times->ended - from;
    command->used_until = times->ended;
}

/* Tells what was counted since the last call. */
static void tell_used(struct device_engine *engine, struct command *command)
{
    if (command->leased)
        engine_used(engine_of_kind(engine, command->engine), &command->queue->device->clock,
                    command->used_until, command->used);
    command->used = 0;
}

/*
 * The same for a piece that is over now, which is also part of the run since the engine was last
 * given away.
 */
static void widen_run(struct command *command, const struct mark_times *times)
{
    widen(command, times);
    if (!times->started || times->started < command->reported)
        return;
    command->run_pieces++;
    count_piece(command, times);
    if (!command->resumed || times->started < command->resumed)
        command->resumed = times->started;
}

void pipe_report_run(struct device_engine *engine, struct command *command)
{
    struct lease_work work = {.kernel = command->meter ? command->meter->name : NULL,
                              .size = command->meter ? command->items : command->bytes,
                              .pieces = command->run_pieces ? command->run_pieces : 1,
                              .counted = true};

    tell_used(engine, command);
    if (command->resumed)
        engine_report_driver(engine_of_kind(engine, command->engine), &command->queue->device->clock,
                             command->resumed, command->ended, &work);
    command->resumed = 0;
    command->run_pieces = 0;
    command->reported = command->ended;
}

void pipe_mark_times(struct command *command)
{
    const struct driver_ops *ops = command->ops;
    struct mark_times first, last;

    ops->mark_times(command->last_mark, &last);
    first = last;
    if (command->first_mark)
        ops->mark_times(command->first_mark, &first);
    ops->mark_queued(command->first_mark ? command->first_mark : command->last_mark, &first);
    widen(command, &first);
    widen_run(command, &last);
    command->times = (struct mark_times){.queued = first.queued,
                                         .submitted = first.submitted,
                                         .started = command->begun,
                                         .ended = command->ended + (uint64_t)command->lag};
    command->timed = first.queued && command->times.ended >= command->times.started;
}

/* The whole command teaches its meter, or the bandwidth of its engine, only if no piece did. */
static void measure_whole(struct device_engine *engine, struct command *command)
{
    int64_t ns = (int64_t)(command->times.ended - command->times.started);

    if (!command->first_mark)
        engine_learn_copy(engine_of_kind(engine, command->engine), command->bytes, ns);
    if (command->meter && command->leased && command->ops->ran_alone)
        command->ops->ran_alone(command->meter, command->items, ns);
    if (command->meter && !command->first_mark)
        meter_measured(command->meter, command->items, ns);
}

void pipe_read_times(struct device_engine *engine, struct command *command)
{
    baton_nsec waited = command->issued_at - command->queued_at;

    pipe_mark_times(command);
    if (!command->timed)
        return;
    if (recorder_on())
        recorder_queued(command);
    if (command->leased)
        pipe_report_run(engine, command);
    measure_whole(engine, command);
    /* The command was queued here before the driver saw it. */
    if (waited > 0 && command->times.queued > (uint64_t)waited)
        command->times.queued -= (uint64_t)waited;
    if (command->ops->finished)
        command->ops->finished(command);
}

int pipe_await(struct device_engine *engine, struct command *command)
{
    int status = command->ops->mark_wait(command->last_mark);

    status = command->piece_status < 0 ? command->piece_status : status;
    pipe_read_times(engine, command);
    return status;
}

/* --- pieces --- */

void pipe_begin(struct piece_pipe *pipe, struct device_engine *engine, struct command *command)
{
    *pipe = (struct piece_pipe){.engine = engine, .command = command};
    command->ops = command->queue->device->ops;
    if (!command->policy.session) /* a front may run pieces of a command that was never submitted */
        policy_resolve(&command->policy);
}

static void measure_pace(struct piece_pipe *pipe, const struct mark_times *times, size_t items)
{
    uint64_t from = times->started > pipe->ended ? times->started : pipe->ended;

    if (items && times->ended > from)
        meter_measured(&pipe->pace, items, (int64_t)(times->ended - from));
    pipe->ended = times->ended;
}

/* A piece is over: its failure fails the command, its length teaches the next piece. */
static void end_piece(struct piece_pipe *pipe, struct mark *mark, size_t items, int status)
{
    struct command *command = pipe->command;
    const struct driver_ops *ops = command->ops;
    struct mark_times times;

    if (status < 0)
        command->piece_status = status;
    ops->mark_times(mark, &times);
    widen_run(command, &times);
    tell_used(pipe->engine, command);
    if (items && times.started && times.ended >= times.started) {
        measure_pace(pipe, &times, items);
        if (command->meter)
            meter_measured(command->meter, items, (int64_t)(times.ended - times.started));
        else /* by chunk: the whole also counts the time in which the engine was given away */
            engine_learn_copy(engine_of_kind(pipe->engine, command->engine), items,
                              (int64_t)(times.ended - times.started));
    }
    if (recorder_on() && times.ended >= times.started)
        recorder_piece(command, (int64_t)(times.ended - times.started));
    if (ops->mark_over)
        ops->mark_over(mark);
    ops->mark_drop(mark);
}

/* The n oldest. The youngest of them is waited for first, so that this thread wakes up once. */
static void end_earlier(struct piece_pipe *pipe, unsigned n)
{
    const struct driver_ops *ops = pipe->command->ops;
    int youngest = n ? ops->mark_wait(pipe->earlier[n - 1].mark) : 0;

    for (unsigned i = 0; i < n; i++) {
        struct mark *mark = pipe->earlier[i].mark;

        end_piece(pipe, mark, pipe->earlier[i].items, i + 1 < n ? ops->mark_wait(mark) : youngest);
    }
    pipe->n_earlier -= n;
    memmove(pipe->earlier, pipe->earlier + n, pipe->n_earlier * sizeof *pipe->earlier);
}

void pipe_report(struct piece_pipe *pipe)
{
    struct command *command = pipe->command;
    struct mark_times times;

    end_earlier(pipe, pipe->n_earlier);
    if (command->last_mark) {
        (void)command->ops->mark_wait(command->last_mark);
        command->ops->mark_times(command->last_mark, &times);
        widen_run(command, &times);
    }
    pipe_report_run(pipe->engine, command);
}

void pipe_add(struct piece_pipe *pipe, struct mark *mark, size_t items)
{
    struct command *command = pipe->command;

    if (!command->first_mark) {
        command->first_mark = mark;
        command->ops->mark_keep(mark);
    }
    if (pipe->n_earlier == PIPE_EARLIER)
        end_earlier(pipe, 1);
    if (command->last_mark)
        pipe->earlier[pipe->n_earlier++] = (struct pipe_piece){command->last_mark, pipe->items};
    command->last_mark = mark;
    pipe->items = items;
}

void pipe_finish(struct piece_pipe *pipe)
{
    /*
     * If the caller blocks until completion, do not also wait for the earlier pieces: waking a
     * waiter between pieces stalls some drivers.
     */
    if (pipe->command->waited_for && pipe->command->last_mark)
        (void)pipe->command->ops->mark_wait(pipe->command->last_mark);
    end_earlier(pipe, pipe->n_earlier);
}

void pipe_abandon(struct piece_pipe *pipe)
{
    struct command *command = pipe->command;

    for (unsigned i = 0; i < pipe->n_earlier; i++)
        pipe->earlier[i].items = 0;
    end_earlier(pipe, pipe->n_earlier);
    if (command->last_mark)
        end_piece(pipe, command->last_mark, 0, command->ops->mark_wait(command->last_mark));
    command->last_mark = NULL;
}

/* The units that fill a piece's time, as measured; 0: unknown. */
static double fitting_units(const struct piece_cut *cut, const struct command *command)
{
    int64_t many = cut->by_time ? meter_predict(command->meter, METER_SCALE * cut->unit_items) : 0;

    return many > 0 ? (double)pipe_piece_ns(&command->policy) * METER_SCALE / (double)many : 0;
}

/* The units of the next piece: as many as fill a piece's time by the measurements. */
static uint64_t next_step(const struct piece_cut *cut, double fits)
{
    if (fits <= 0)
        return cut->step;
    if (fits > (double)cut->step * GROWTH)
        fits = (double)cut->step * GROWTH;
    if (fits < (double)cut->least)
        return cut->least;
    return fits < (double)UINT32_MAX ? (uint64_t)fits : UINT32_MAX;
}

/* Under an exact plan: would another piece of cut->step units exceed one planned piece? */
static bool is_planned_border(const struct piece_pipe *pipe, const struct piece_cut *cut, double fits)
{
    const struct policy *policy = &pipe->command->policy;
    double planned = (double)cut->step; /* of a copy every piece is a planned one */

    if (cut->by_time && policy->piece >= PIPE_UNCUT_NS)
        return false;
    if (cut->by_time) /* never measured: the length of the hold counts */
        planned = fits <= 0 ? 0 : fits * ((double)policy->piece / (double)pipe_piece_ns(policy));
    return (double)pipe->held_units + (double)cut->step > planned;
}

/* How long a piece takes. Of unknown length, it is taken for a long one. */
static int64_t expected(const struct piece_pipe *pipe, size_t items)
{
    int64_t ns = items ? meter_predict(&pipe->pace, items) : -1;

    return ns >= 0 ? ns : 2 * ENGINE_PIECE_NS;
}

/* Is there room for another piece like the newest, behind all that are in flight? */
static bool has_room(const struct piece_pipe *pipe)
{
    int64_t all = 2 * expected(pipe, pipe->items);

    for (unsigned i = 0; i < pipe->n_earlier; i++)
        all += expected(pipe, pipe->earlier[i].items);
    return pipe->n_earlier < PIPE_EARLIER && all <= 2 * ENGINE_PIECE_NS;
}

/*
 * Before each piece: only the newest may be in flight, or of a kernel while the engine is calm, as
 * many as there is room for. If there is none, the older half ends.
 */
static void make_room(struct piece_pipe *pipe)
{
    if (!pipe->command->meter || !engine_is_calm(pipe->engine))
        end_earlier(pipe, pipe->n_earlier);
    else if (pipe->n_earlier && !has_room(pipe))
        end_earlier(pipe, (pipe->n_earlier + 2) / 2);
}

/*
 * Before each piece: makes room, and yields if asked. Under an exact plan the engine is given away
 * at planned borders only, and nothing is in flight across one.
 */
static void take_turn(struct piece_pipe *pipe, const struct piece_cut *cut)
{
    bool exact = pipe->command->policy.exact;
    double fits = exact ? fitting_units(cut, pipe->command) : 0;

    make_room(pipe);
    if (exact) {
        if (!is_planned_border(pipe, cut, fits))
            return;
        pipe->held_units = 0;
        if (pipe->command->last_mark)
            (void)pipe->command->ops->mark_wait(pipe->command->last_mark);
    }
    if (!pipe->command->leased || !engine_border_asked(pipe->engine))
        return;
    pipe_report(pipe);
    if (worker_drives(pipe->engine))
        worker_finish_issued(pipe->engine);
    engine_yield(pipe->engine);
}

static int issue_piece(struct piece_pipe *pipe, struct piece_cut *cut, struct piece_source *source)
{
    uint64_t begin = source->begin, limit = source->end;
    struct mark *mark = NULL;
    int code;

    limit = limit - begin > cut->step ? begin + cut->step : limit;
    code = pipe->command->ops->issue_range(pipe->command, cut, begin, limit, &source->begin, &mark);
    if (code != 0)
        return code;
    pipe_add(pipe, mark, (size_t)(source->begin - begin) * cut->unit_items);
    pipe->held_units += source->begin - begin;
    policy_count(&pipe->command->policy, cut->counter, 1);
    return 0;
}

int pipe_run(struct piece_pipe *pipe, struct piece_cut *cut, struct piece_source source)
{
    const struct driver_ops *ops = pipe->command->ops;
    int code = 0;

    while ((source.begin < source.end || source.more) && code == 0) {
        double fits;

        if (!cut->to_the_end && runtime_stopping())
            return ops->inherited_failure;
        take_turn(pipe, cut);
        fits = fitting_units(cut, pipe->command);
        cut->step = next_step(cut, fits);
        if (ops->bend_step)
            cut->step = ops->bend_step(pipe->command, cut, cut->step, fits, source.end - source.begin);
        if (source.begin == source.end && !source.more(source.user, cut->step, &source.begin, &source.end))
            break;
        code = issue_piece(pipe, cut, &source);
    }
    return code;
}

int pipe_issue(struct device_engine *engine, struct command *command)
{
    struct mark *mark = NULL;
    struct piece_pipe pipe;
    int code;

    pipe_begin(&pipe, engine, command);
    code = command->ops->issue(&pipe, command, &mark);
    if (mark)
        command->last_mark = mark;
    if (code != 0)
        pipe_abandon(&pipe);
    else
        pipe_finish(&pipe);
    return code;
}
