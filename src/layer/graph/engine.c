#include "layer/graph/engine.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/lease.h"
#include "layer/graph/graph.h"
#include "layer/graph/issue.h"
#include "layer/graph/launch.h"
#include "layer/layer.h"
#include "layer/objects.h"
#include "layer/graph/recorder.h"
#include "layer/spread/spread.h"

#define GRANT_POLL_NS                                                                                        \
    (50 * NSEC_PER_MS) /* how often a worker that waits for a grant looks whether the process ends */

#define TWIN_POLL_NS (1 * NSEC_PER_MS) /* how often a worker that waits for a build looks for other duties */

enum { MAX_ISSUED = 64 };

static atomic_bool stopping;

void engine_init(struct engine *engine, struct device_record *device, enum engine_kind kind)
{
    engine->device = device;
    engine->kind = kind;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->changed, NULL);
    pthread_cond_init(&engine->work, NULL);
    list_init(&engine->ready);
    list_init(&engine->issued);
}

struct engine *engine_other_way(struct engine *engine)
{
    if (engine->kind == ENGINE_EXECUTION)
        return NULL;
    return &engine->device->engines[engine->kind == ENGINE_COPY_IN ? ENGINE_COPY_OUT : ENGINE_COPY_IN];
}

/* --- the hold --- */

bool engine_yield_asked(const struct engine *engine)
{
    return engine->lease && lease_yield_asked(engine->lease);
}

/* Under the lock. */
static void hold(struct engine *engine, bool held)
{
    engine->held = held;
    engine->turn_at = 0;
}

/*
 * Under the lock: may one more come in? Not when asked to yield, nor when our turn is over. Only equals take turns: to leave
 * for somebody less urgent would let a piece of theirs in before each command of a full pipeline, and no analysis counts that.
 */
static bool open_to_more(struct engine *engine)
{
    baton_nsec now_at;

    if (!engine->held || engine_yield_asked(engine))
        return false;
    if (engine->users == 0 || !engine->lease || !lease_turn_asked(engine->lease))
        return true;
    now_at = clock_now();
    if (!engine->turn_at)
        engine->turn_at = now_at;
    return now_at - engine->turn_at < ENGINE_TURN_NS;
}

bool engine_try_enter(struct engine *engine)
{
    bool entered;

    pthread_mutex_lock(&engine->lock);
    if (!engine->held && !engine->asking)
        hold(engine, !engine->lease || lease_try_begin(engine->lease) == LEASE_BEGUN);
    entered = open_to_more(engine);
    if (entered)
        engine->users++;
    else if (engine->held && engine->users == 0) { /* asked to yield in the same moment */
        hold(engine, false);
        lease_end(engine->lease);
    }
    pthread_mutex_unlock(&engine->lock);
    return entered;
}

/* With the lock held and `asking` set, after a request: sleeps until granted. False: the process ends. */
static bool await_grant(struct engine *engine)
{
    int answer = LEASE_TIMEOUT;

    pthread_mutex_unlock(&engine->lock);
    while (answer == LEASE_TIMEOUT && !atomic_load(&stopping))
        answer = lease_wait(engine->lease, clock_now() + GRANT_POLL_NS);
    pthread_mutex_lock(&engine->lock);
    engine->asking = false;
    hold(engine, answer == LEASE_BEGUN);
    pthread_cond_broadcast(&engine->changed);
    return engine->held;
}

/*
 * The lease is taken in this process, but not by this engine: the copies of the other direction ride on it, or a batch of libbaton
 * does. What the other direction has in flight is seen to its end here, since nobody else may come to do so; its end signals, but may come
 * before we sleep, and nobody tells us of the end of a batch. Unlocks and locks.
 */
static void await_others_of_process(struct engine *engine)
{
    struct engine *other = engine_other_way(engine);
    struct timespec until;

    if (other && atomic_load_explicit(&other->flight_any, memory_order_relaxed)) {
        pthread_mutex_unlock(&engine->lock);
        engine_flight_reap(other, true);
        pthread_mutex_lock(&engine->lock);
        return;
    }

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += NSEC_PER_MS;
    if (until.tv_nsec >= NSEC_PER_SEC) {
        until.tv_nsec -= NSEC_PER_SEC;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&engine->changed, &engine->lock, &until);
}

void engine_enter(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    while (!open_to_more(engine) && !atomic_load(&stopping)) {
        int answer;
        if (engine->held && engine->users == 0) { /* kept by nobody, wanted by somebody else */
            hold(engine, false);
            lease_end(engine->lease);
        }
        if (engine->held && engine->flight_n) { /* to be left: what is in flight holds the lease */
            pthread_mutex_unlock(&engine->lock);
            engine_flight_reap(engine, true);
            pthread_mutex_lock(&engine->lock);
            continue;
        }
        if (engine->held || engine->asking) {
            pthread_cond_wait(&engine->changed, &engine->lock); /* left, granted, or something is in flight */
            continue;
        }
        answer = engine->lease ? lease_try_begin(engine->lease) : LEASE_BEGUN;
        if (answer != LEASE_BEGUN)
            answer = lease_request(engine->lease, 0);
        if (answer == LEASE_BEGUN) {
            hold(engine, true);
        } else if (answer == LEASE_ASK) {
            engine->asking = true;
            if (await_grant(engine))
                break; /* ours, even if another one is asked for in the same moment: at least one piece */
        } else {
            await_others_of_process(engine);
        }
    }
    engine->users++;
    pthread_mutex_unlock(&engine->lock);
}

/* Under the lock. */
static void leave_locked(struct engine *engine, unsigned n)
{
    engine->users -= n;
    if (engine->users == 0 && engine->held) {
        hold(engine, false);
        if (engine->lease)
            lease_end(engine->lease);
        pthread_cond_broadcast(&engine->changed);
        if (engine_other_way(engine))
            pthread_cond_broadcast(&engine_other_way(engine)->changed);
    }
}

void engine_leave(struct engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    leave_locked(engine, 1);
    pthread_mutex_unlock(&engine->lock);
}

int64_t engine_chunk_ns(const struct engine *engine)
{
    const baton_nsec calm = 10 * NSEC_PER_SEC; /* nobody asked for so long: nobody will */
    baton_nsec at = atomic_load_explicit(&engine->gave_way_at, memory_order_relaxed);

    if (recorder_on || layer_tasked()) /* what a profile sees and a plan counts: always short */
        return ENGINE_PIECE_NS / 2;
    return at && clock_now() - at < calm ? ENGINE_PIECE_NS / 2 : 4 * ENGINE_PIECE_NS;
}

static void finish_issued(struct engine *engine);

void engine_give_way(struct engine *engine)
{
    atomic_store_explicit(&engine->gave_way_at, clock_now(), memory_order_relaxed);
    if (engine->started && pthread_equal(engine->thread, pthread_self()))
        finish_issued(engine);
    pthread_mutex_lock(&engine->lock);
    if (engine->users == 1 && engine->held && engine->lease) {
        hold(engine, false);
        if (lease_yield(engine->lease, 0) == LEASE_BEGUN) {
            hold(engine, true);
        } else {
            engine->asking = true;
            (void)await_grant(engine);
        }
        pthread_mutex_unlock(&engine->lock);
        return;
    }
    leave_locked(engine, 1);
    pthread_mutex_unlock(&engine->lock);
    engine_flight_reap(engine, true);
    engine_enter(engine);
}

/* --- direct commands in flight --- */

/*
 * How much may be in flight, by prediction: what somebody more urgent waits for. The analysis counts that as the longest piece of a less urgent task (B,
 * docs/analysis.md), so a program of the plan has no more; where the plan cuts nothing of it, one command at a time.
 */
static int64_t most_in_flight(void)
{
    int64_t most = 2 * ENGINE_PIECE_NS;

    return layer_tasked() && layer_piece() < most ? layer_piece() : most;
}

bool engine_flight_room(struct engine *engine, int64_t predicted)
{
    int64_t most = most_in_flight();
    bool room;

    if (atomic_load_explicit(&engine->flight_any, memory_order_relaxed) == 0)
        return true;
    pthread_mutex_lock(&engine->lock);
    room = engine->flight_n < ENGINE_FLIGHT / 2 && engine->flight_ns + predicted <= most / 2;
    pthread_mutex_unlock(&engine->lock);
    if (room) /* looking at events costs more than remembering them: only when it may matter */
        return true;
    engine_flight_reap(engine, false);
    pthread_mutex_lock(&engine->lock);
    room =
        engine->flight_n == 0 || (engine->flight_n < ENGINE_FLIGHT && engine->flight_ns + predicted <= most);
    pthread_mutex_unlock(&engine->lock);
    return room;
}

void engine_flight_add(struct engine *engine, const struct engine_flight *flight)
{
    bool first;

    pthread_mutex_lock(&engine->lock);
    while (engine->flight_n == ENGINE_FLIGHT) { /* other threads filled it since there was room */
        pthread_mutex_unlock(&engine->lock);
        engine_flight_reap(engine, true);
        pthread_mutex_lock(&engine->lock);
    }
    first = engine->flight_n == 0;
    engine->flight_ordered =
        flight->in_order &&
        (first || (engine->flight_ordered && engine->flight[engine->flight_first].queue == flight->queue));
    engine->flight[(engine->flight_first + engine->flight_n) % ENGINE_FLIGHT] = *flight;
    engine->flight_n++;
    engine->flight_ns += flight->predicted;
    atomic_store_explicit(&engine->flight_any, engine->flight_n, memory_order_relaxed);
    if (first)
        pthread_cond_broadcast(&engine->changed); /* whoever waits for us to leave must now reap */
    pthread_mutex_unlock(&engine->lock);
    if (first && engine->lease)
        lease_arm_reaper(engine->lease, true);
}

static bool is_complete(cl_event event)
{
    cl_int status = CL_COMPLETE;

    target.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status <= CL_COMPLETE;
}

/* Under the lock: how many of the oldest are complete, asking as few events as possible. */
static unsigned count_complete(const struct engine *engine)
{
    unsigned n = 0;

    if (engine->flight_ordered && engine->flight_n > 1 &&
        is_complete(engine->flight[(engine->flight_first + engine->flight_n - 1) % ENGINE_FLIGHT].event))
        return engine->flight_n;
    while (n < engine->flight_n &&
           is_complete(engine->flight[(engine->flight_first + n) % ENGINE_FLIGHT].event))
        n++;
    return n;
}

static void pop(struct engine *engine, unsigned n, struct engine_flight ret_flights[])
{
    for (unsigned i = 0; i < n; i++) {
        ret_flights[i] = engine->flight[(engine->flight_first + i) % ENGINE_FLIGHT];
        engine->flight_ns -= ret_flights[i].predicted;
    }
    engine->flight_first = (engine->flight_first + n) % ENGINE_FLIGHT;
    engine->flight_n -= n;
    atomic_store_explicit(&engine->flight_any, engine->flight_n, memory_order_relaxed);
}

/* With no lock held: measures, and gives the references back. */
static void dispose(struct engine *engine, unsigned n, const struct engine_flight flights[])
{
    issue_measure_run(engine, n, flights);
    for (unsigned i = 0; i < n; i++) {
        target.clReleaseEvent(flights[i].event);
        if (flights[i].kernel)
            kernel_unref(flights[i].kernel);
    }
}

void engine_flight_reap(struct engine *engine, bool wait)
{
    struct engine_flight done[ENGINE_FLIGHT];
    unsigned n;

    if (atomic_load_explicit(&engine->flight_any, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&engine->lock);
    while (engine->flight_n) {
        n = count_complete(engine);
        if (n) {
            pop(engine, n, done);
            leave_locked(engine, n);
            pthread_mutex_unlock(&engine->lock);
            dispose(engine, n, done);
            pthread_mutex_lock(&engine->lock);
        } else if (wait) {
            cl_event event = engine->flight[engine->flight_first].event;
            target.clRetainEvent(event);
            pthread_mutex_unlock(&engine->lock);
            target.clWaitForEvents(1, &event);
            target.clReleaseEvent(event);
            pthread_mutex_lock(&engine->lock);
        }
        if (!wait)
            break;
    }
    pthread_mutex_unlock(&engine->lock);
}

/* --- the worker --- */

static void finish(struct engine *engine, struct command *command)
{
    cl_int status = CL_COMPLETE;

    if (command->driver_event) { /* none: other devices did it all */
        target.clWaitForEvents(1, &command->driver_event);
        target.clGetEventInfo(command->driver_event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                              &status, NULL);
        issue_read_times(engine, command);
    }
    status = command->piece_status < 0 ? command->piece_status : status;
    if (command->leased)
        engine_leave(engine);
    graph_complete(command, status > CL_COMPLETE ? CL_COMPLETE : status);
}

/* Under graph_lock. */
static struct command *next_issued(struct engine *engine)
{
    struct command *command;

    if (list_empty(&engine->issued))
        return NULL;
    command = list_entry(engine->issued.next, struct command, in_ready);
    list_remove(&command->in_ready);
    engine->n_issued--;
    engine->issued_ns -= command->predicted;
    return command;
}

/* On the worker: its own issued commands hold the lease until it finishes them; nobody else can end that. */
static void finish_issued(struct engine *engine)
{
    struct command *command;

    for (;;) {
        pthread_mutex_lock(&graph_lock);
        command = next_issued(engine);
        pthread_mutex_unlock(&graph_lock);
        if (!command)
            return;
        finish(engine, command);
    }
}

/*
 * A command is ready behind the one that ends: stays on the engine in between, if it may. To leave and come back would let a
 * program of lower priority begin a piece at every border of two queued launches.
 */
static void carry_over(struct engine *engine)
{
    engine->carried = engine_try_enter(engine);
}

static void drop_carried(struct engine *engine)
{
    if (engine->carried)
        engine_leave(engine);
    engine->carried = false;
}

static void enter_for_worker(struct engine *engine)
{
    bool entered = engine_try_enter(engine);

    drop_carried(engine);
    if (entered)
        return;
    finish_issued(engine);
    engine_enter(engine);
}

/* Under graph_lock. */
static bool take_drain(struct engine *engine)
{
    bool asked = engine->drain;

    engine->drain = false;
    return asked;
}

/* The rewritten program is being built: nothing of ours holds the engine meanwhile, and what program threads gave the driver is reaped. */
static void await_twin(struct engine *engine, const struct command *command)
{
    bool drain;

    if (launch_decided(command, 0))
        return;
    finish_issued(engine);
    while (!launch_decided(command, clock_now() + TWIN_POLL_NS)) {
        pthread_mutex_lock(&graph_lock);
        drain = take_drain(engine);
        pthread_mutex_unlock(&graph_lock);
        if (drain)
            engine_flight_reap(engine, true);
    }
}

/* Gives one command to the driver; it is then in `issued`, or already complete. */
static void issue_one(struct engine *engine, struct command *command)
{
    cl_int code = CL_SUCCESS;
    baton_nsec begin_at;
    bool done = false;

    if (command->failed_wait) {
        graph_complete(command, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        return;
    }
    graph_progress(command, CL_SUBMITTED);
    if (!command->leased || !launch_decided(command, 0))
        drop_carried(engine);
    await_twin(engine, command);
    if (spread_concerns(command)) {
        /* It may wait for engines of other devices: then none may be held, and what is in flight here holds this one. */
        finish_issued(engine);
        drop_carried(engine);
        engine_flight_reap(engine, true);
        begin_at = recorder_on ? clock_now() : 0;
        code = spread_issue(engine, command, &done);
        if (recorder_on && done && code == CL_SUCCESS)
            recorder_spread(command, begin_at);
    }
    if (code == CL_SUCCESS && !done) {
        if (command->leased)
            enter_for_worker(engine);
        command->issued_at = clock_now();
        graph_progress(command, CL_RUNNING);
        code = issue_command(engine, command);
        if (code != CL_SUCCESS && command->leased)
            engine_leave(engine);
    }
    if (code != CL_SUCCESS) {
        graph_complete(command, code);
        return;
    }
    graph_issued(command);
    pthread_mutex_lock(&graph_lock);
    list_append(&engine->issued, &command->in_ready);
    engine->n_issued++;
    engine->issued_ns += command->predicted;
    pthread_mutex_unlock(&graph_lock);
}

/* Under graph_lock: the next command that may go to the driver now. */
static struct command *next_ready(struct engine *engine)
{
    struct command *command;

    if (list_empty(&engine->ready))
        return NULL;
    command = list_entry(engine->ready.next, struct command, in_ready);
    if (engine->n_issued >= MAX_ISSUED ||
        (engine->n_issued && engine->issued_ns + command->predicted > most_in_flight()))
        return NULL;
    list_remove(&command->in_ready);
    return command;
}

static void *run_worker(void *argument)
{
    struct engine *engine = argument;
    struct command *command;
    struct session *session = layer_session();
    bool more;

    if (session)
        session_register_thread(session, gettid());
    pthread_mutex_lock(&graph_lock);
    while (!engine->stopping) {
        if ((command = next_ready(engine))) {
            pthread_mutex_unlock(&graph_lock);
            issue_one(engine, command);
            drop_carried(engine);
        } else if ((command = next_issued(engine))) {
            more =
                !list_empty(&engine->ready) && !command->callbacks; /* the program's code may take its time */
            pthread_mutex_unlock(&graph_lock);
            if (more && !engine->carried)
                carry_over(engine);
            finish(engine, command);
        } else if (take_drain(engine)) {
            pthread_mutex_unlock(&graph_lock);
            engine_flight_reap(engine, true);
        } else {
            pthread_cond_wait(&engine->work, &graph_lock);
            continue;
        }
        pthread_mutex_lock(&graph_lock);
    }
    pthread_mutex_unlock(&graph_lock);
    drop_carried(engine);
    return NULL;
}

/* Under graph_lock. */
static void start(struct engine *engine)
{
    sigset_t all, old;

    if (engine->started || engine->stopping)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    engine->started = pthread_create(&engine->thread, NULL, run_worker, engine) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void engine_ready(struct engine *engine, struct command *command)
{
    list_append(&engine->ready, &command->in_ready);
    start(engine);
    pthread_cond_signal(&engine->work);
}

void engine_drain(struct engine *engine)
{
    pthread_mutex_lock(&graph_lock);
    engine->drain = true;
    start(engine);
    pthread_cond_signal(&engine->work);
    pthread_mutex_unlock(&graph_lock);
}

bool engine_stopping(const struct engine *engine)
{
    (void)engine;
    return atomic_load_explicit(&stopping, memory_order_relaxed);
}

void engine_stop_all(void)
{
    atomic_store(&stopping, true);
    spread_stop();
    for (struct device_record *device = device_records(); device; device = device->next)
        for (int kind = 0; kind < ENGINE_N && device->engines == device->own; kind++) {
            struct engine *engine = &device->own[kind];
            bool started;
            pthread_mutex_lock(&graph_lock);
            engine->stopping = true;
            started = engine->started;
            pthread_cond_broadcast(&engine->work);
            pthread_mutex_unlock(&graph_lock);
            pthread_mutex_lock(&engine->lock);
            pthread_cond_broadcast(&engine->changed);
            pthread_mutex_unlock(&engine->lock);
            if (started && !pthread_equal(engine->thread, pthread_self()))
                pthread_join(engine->thread, NULL);
        }
}
