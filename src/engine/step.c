#include "engine/step.h"

#include "base/clock.h"
#include "engine/graph.h"
#include "engine/pipe.h"
#include "engine/runtime.h"
#include "engine/worker.h"

/* How often a worker that waits for a decision looks for other work. */
#define DECIDE_POLL_NS (1 * NSEC_PER_MS)

enum { MAX_ISSUED = 64 };

_Thread_local struct step_thread step_thread;

/*
 * Under the graph's lock: may a thread that waits take this command? Native kernels and the end of
 * shared memory call the program, which may need a lock that the waiting thread holds. Commands
 * behind the last one are not waited for, and may take a second.
 */
static bool is_for(const struct helper_wait *wait, const struct command *command)
{
    if (!wait)
        return true;
    if (command->queue != wait->queue || command->calls_program)
        return false;
    if (!wait->last || command == wait->last)
        return true;
    if (!wait->queue->in_order)
        return false;
    list_for_each(at, &wait->queue->commands)
    {
        const struct command *other = list_entry(at, struct command, in_queue);
        if (other == command || other == wait->last)
            return other == command;
    }
    return false;
}

/* Under the graph's lock: the first command, if this thread may take it. */
static struct command *first_for(const struct helper_wait *wait, const struct list *commands)
{
    struct command *first =
        list_empty(commands) ? NULL : list_entry(commands->next, struct command, in_ready);

    return first && is_for(wait, first) ? first : NULL;
}

/* Under the graph's lock. */
bool step_has_work(const struct device_engine *engine)
{
    return !list_empty(&engine->ready) || !list_empty(&engine->issued) || engine->drain;
}

/*
 * Under the graph's lock, on a thread that helps: wakes the workers for what it will not do itself.
 */
void step_wake_workers(void)
{
    for (int kind = 0; step_thread.helping && kind < ENGINE_N; kind++) {
        struct device_engine *engine = &step_thread.helping->engines[kind];

        if (!engine->driven && step_has_work(engine)) {
            pthread_cond_signal(&engine->work);
            pthread_cond_signal(&engine->relief);
        }
    }
}

/* Under the graph's lock. */
static void park_if_left(struct device_engine *engine)
{
    while (engine->left && engine == step_thread.serving)
        pthread_cond_wait(&engine->work, &runtime.graph.lock);
}

void worker_came_back(void)
{
    if (!step_thread.serving)
        return;
    graph_lock();
    park_if_left(step_thread.serving);
    graph_unlock();
}

static void begin_call(struct device_engine *engine, const struct command *command)
{
    if (!command->calls_program)
        return;
    graph_lock();
    engine->calling++;
    pthread_cond_broadcast(&engine->work);
    graph_unlock();
}

static void end_call(struct device_engine *engine, const struct command *command)
{
    if (!command->calls_program)
        return;
    graph_lock();
    engine->calling--;
    park_if_left(engine);
    graph_unlock();
}

static void finish(struct device_engine *engine, struct command *command)
{
    int status = COMMAND_COMPLETE;

    if (command->last_mark) { /* no mark: other devices did all of it */
        begin_call(engine, command);
        status = command->ops->mark_wait(command->last_mark);
        end_call(engine, command);
        pipe_read_times(engine, command);
    }
    status = command->piece_status < 0 ? command->piece_status : status;
    if (command->leased)
        engine_exit(engine, command->engine, command->predicted);
    graph_complete(command, status);
}

/* Under the graph's lock. */
static struct command *next_issued(struct device_engine *engine, const struct helper_wait *wait)
{
    struct command *command = first_for(wait, &engine->issued);

    if (!command)
        return NULL;
    list_remove(&command->in_ready);
    engine->n_issued--;
    engine->issued_ns -= command->predicted;
    return command;
}

/*
 * On the thread that drives the engine: issued commands hold the lease until this thread finishes
 * them, and no other thread can.
 */
void worker_finish_issued(struct device_engine *engine)
{
    struct command *command;

    for (;;) {
        graph_lock();
        command = next_issued(engine, NULL);
        if (!command)
            step_wake_workers();
        graph_unlock();
        if (!command)
            return;
        finish(engine, command);
    }
}

/*
 * If a command is ready behind the one that ends, stays on the engine in between, if it may.
 * Leaving and coming back would let a program of lower priority begin a piece at every border of
 * two queued launches.
 */
static void stay_between(struct device_engine *engine)
{
    engine->stays = engine_try_stay(engine);
}

void step_end_stay(struct device_engine *engine)
{
    if (engine->stays)
        engine_exit(engine, engine->kind, ENGINE_STAY);
    engine->stays = false;
}

static void enter_for(struct device_engine *engine, const struct command *command)
{
    bool entered = engine_try_enter(engine, &command->policy, command->predicted);

    step_end_stay(engine);
    if (entered)
        return;
    worker_finish_issued(engine);
    engine_enter(engine, &command->policy, command->predicted);
}

/* Under the graph's lock. */
static bool take_drain(struct device_engine *engine)
{
    bool asked = engine->drain;

    engine->drain = false;
    return asked;
}

/*
 * The rewritten program is being built: no command of this process holds the engine meanwhile, and
 * commands in flight are reaped.
 */
static void await_decision(struct device_engine *engine, struct command *command)
{
    bool drain;

    if (command->ops->decided(command, 0))
        return;
    worker_finish_issued(engine);
    while (!command->ops->decided(command, clock_now() + DECIDE_POLL_NS)) {
        graph_lock();
        drain = take_drain(engine);
        graph_unlock();
        if (drain)
            flight_reap(engine, true);
    }
}

/*
 * The command may involve other devices and wait for their engines. Then this process may hold no
 * engine, also not by commands in flight.
 */
static int try_spread(struct device_engine *engine, struct command *command, bool *ret_done)
{
    baton_nsec begin_at;
    int code;

    worker_finish_issued(engine);
    step_end_stay(engine);
    flight_reap(engine, true);
    begin_at = recorder_on() ? clock_now() : 0;
    code = command->ops->issue_spread(engine, command, ret_done);
    if (recorder_on() && *ret_done && code == 0)
        recorder_spread(command, begin_at);
    return code;
}

static int enter_and_issue(struct device_engine *engine, struct command *command)
{
    int code;

    if (command->leased) {
        enter_for(engine, command);
        command_queue_works_on(command->queue, engine->kind);
    }
    command->issued_at = clock_now();
    graph_progress(command, COMMAND_RUNNING);
    begin_call(engine, command);
    code = pipe_issue(engine, command);
    end_call(engine, command);
    if (code != 0 && command->leased)
        engine_exit(engine, command->engine, command->predicted);
    return code;
}

/*
 * No engine is held while another one works: a command that other work precedes in the driver waits
 * for its end, and comes again.
 */
static bool waits_for_others(struct command *command)
{
    if (!command->leased || command->alone || !command->policy.online || !command->ops->add_wait)
        return false;
    graph_lock();
    command->n_waiting = 1; /* so that it stays here until the wait is added */
    graph_unlock();
    command->alone = command->ops->add_wait(command);
    if (command->alone) {
        graph_close(command);
        return true;
    }
    graph_lock();
    command->n_waiting = 0;
    graph_unlock();
    return false;
}

/* Gives one command to the driver; it is then in `issued`, or already complete. */
static void issue_one(struct device_engine *engine, struct command *command)
{
    bool done = false;
    int code = 0;

    if (command->failed_wait) {
        graph_complete(command, command->ops->inherited_failure);
        return;
    }
    policy_resolve(&command->policy);
    if (waits_for_others(command))
        return;
    graph_progress(command, COMMAND_SUBMITTED);
    if (!command->leased || !command->ops->decided(command, 0))
        step_end_stay(engine);
    await_decision(engine, command);
    if (command->ops->spreads && command->ops->spreads(command))
        code = try_spread(engine, command, &done);
    if (code == 0 && !done)
        code = enter_and_issue(engine, command);
    if (code != 0) {
        graph_complete(command, code);
        return;
    }
    graph_issued(command);
    graph_lock();
    list_append(&engine->issued, &command->in_ready);
    engine->n_issued++;
    engine->issued_ns += command->predicted;
    graph_unlock();
}

/* Under the graph's lock: the next command that may go to the driver now. */
static struct command *next_ready(struct device_engine *engine, const struct helper_wait *wait)
{
    struct command *command = first_for(wait, &engine->ready);

    if (!command || engine->n_issued >= MAX_ISSUED ||
        (engine->n_issued &&
         engine->issued_ns + command->predicted > engine_most_in_flight(&command->policy)))
        return NULL;
    list_remove(&command->in_ready);
    return command;
}

/* Under the graph's lock, which it unlocks: this thread drives the engine for one step. */
static void begin_step(struct device_engine *engine)
{
    engine->driven = true;
    step_thread.driving = engine;
    step_wake_workers();
    graph_unlock();
}

static void end_step(struct device_engine *engine)
{
    graph_lock();
    step_thread.driving = NULL;
    engine->driven = false;
    if (engine->stopping)
        pthread_cond_broadcast(&engine->work);
}

/*
 * Under the graph's lock, unlocked meanwhile: does the next step for the engine. False: there is
 * none for this thread.
 */
bool step_run(struct device_engine *engine, const struct helper_wait *wait)
{
    struct command *command;
    bool more;

    /* this thread ranks lower, and other threads of the program may wait for the step */
    if (engine->driven || (wait && step_thread.rank < engine->rank))
        return false;
    if ((command = next_ready(engine, wait))) {
        command->waited_for = wait && command == wait->last;
        begin_step(engine);
        issue_one(engine, command);
        step_end_stay(engine);
    } else if ((command = next_issued(engine, wait))) {
        more =
            /* program code may take long */
            first_for(wait, &engine->ready) && !command->callbacks;
        begin_step(engine);
        if (more && !engine->stays)
            stay_between(engine);
        finish(engine, command);
    } else if (!wait && take_drain(engine)) {
        begin_step(engine);
        flight_reap(engine, true);
    } else {
        return false;
    }
    end_step(engine);
    return true;
}
