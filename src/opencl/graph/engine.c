#include "opencl/graph/engine.h"

#include "base/clock.h"
#include "client/lease.h"
#include "opencl/graph/issue.h"
#include "opencl/graph/recorder.h"
#include "opencl/graph/widening.h"
#include "opencl/graph/worker.h"
#include "opencl/layer.h"
#include "opencl/objects.h"
#include "wire/lease_word.h"

#define GRANT_POLL_NS                                                                                        \
    (50 * NSEC_PER_MS) /* how often a worker that waits for a grant looks whether the process ends */

#define ROOM_WAIT_NS (2 * NSEC_PER_MS) /* at most, of a call that must not block */

enum {
    REAPED = 64, /* at once: they stand on the stack of a program's thread */
    SPARE = 64,  /* places in the ring for threads that found room in the same moment */
};

void engine_init(struct engine *engine, struct device_record *device, enum engine_kind kind)
{
    engine->device = device;
    engine->kind = kind;
    engine->rank = ENGINE_NO_RANK;
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

bool engine_border_asked(const struct engine *engine)
{
    if (!engine->lease)
        return false;
    if (lease_yield_asked(engine->lease))
        return true;
    return lease_turn_asked(engine->lease) &&
           clock_now() - atomic_load_explicit(&engine->held_at, memory_order_relaxed) >= LEASE_TURN_NS;
}

/* Under the lock. */
static void hold(struct engine *engine, bool held)
{
    engine->held = held;
    if (held)
        atomic_store_explicit(&engine->held_at, clock_now(), memory_order_relaxed);
}

/*
 * What somebody more urgent waits for. The analysis counts that as the longest piece of a less urgent task (B, docs/analysis.md), so a program of the plan has
 * no more; where the plan cuts nothing of it, one command at a time.
 */
int64_t engine_most_in_flight(void)
{
    int64_t most = 2 * ENGINE_PIECE_NS;

    return layer_tasked() && layer_piece() < most ? layer_piece() : most;
}

/* Under the lock: may a command of that length go to the driver beside those that are there? */
static bool has_room(const struct engine *engine, int64_t ns)
{
    return ns == ENGINE_STAY || engine->n_ahead == 0 || !layer_tasked() ||
           engine->ahead_ns + ns <= engine_most_in_flight();
}

/* Under the lock. */
static void come_in(struct engine *engine, int64_t ns)
{
    engine->users++;
    if (ns == ENGINE_STAY)
        return;
    engine->n_ahead++;
    engine->ahead_ns += ns;
}

/*
 * Under the lock: may one more come in? Not when asked to yield, nor when our turn is over. Only equals take turns: to leave
 * for somebody less urgent would let a piece of theirs in before each command of a full pipeline, and no analysis counts that.
 */
static bool open_to_more(const struct engine *engine, int64_t ns)
{
    return engine->held && has_room(engine, ns) && !engine_border_asked(engine);
}

static void settle(struct engine *engine, bool wait);

/*
 * Under the lock, which it may unlock and lock: begins the lease if that needs no message. The copies of the other direction may have it: those that have ended and
 * that nobody has looked at, or, if the caller waits, those that are under way now. To ask the daemon for what this very process holds would take
 * two messages. Those that others begin meanwhile are not waited for here: they are told to take turns.
 */
static int try_begin(struct engine *engine, bool wait)
{
    struct engine *other = engine_other_way(engine);
    int answer = engine->lease ? lease_try_begin(engine->lease) : LEASE_BEGUN;

    if (answer == LEASE_BEGUN || !other ||
        atomic_load_explicit(&other->flight_any, memory_order_relaxed) == 0)
        return answer;
    pthread_mutex_unlock(&engine->lock);
    settle(other, wait);
    pthread_mutex_lock(&engine->lock);
    return engine->held || engine->asking ? LEASE_TAKEN : lease_try_begin(engine->lease);
}

bool engine_try_enter(struct engine *engine, int64_t ns)
{
    bool entered;

    pthread_mutex_lock(&engine->lock);
    if (!engine->held && !engine->asking && try_begin(engine, false) == LEASE_BEGUN)
        hold(engine, true);
    entered = open_to_more(engine, ns);
    if (entered)
        come_in(engine, ns);
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
    while (answer == LEASE_TIMEOUT && !worker_stopping())
        answer = lease_wait(engine->lease, clock_now() + GRANT_POLL_NS);
    pthread_mutex_lock(&engine->lock);
    engine->asking = false;
    hold(engine, answer == LEASE_BEGUN);
    pthread_cond_broadcast(&engine->changed);
    return engine->held;
}

/* For pthread_cond_timedwait, whose clock is not ours. ns: less than a second. */
static struct timespec in_a_moment(long ns)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += ns;
    at.tv_sec += at.tv_nsec / NSEC_PER_SEC;
    at.tv_nsec %= NSEC_PER_SEC;
    return at;
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

    until = in_a_moment(NSEC_PER_MS);
    pthread_cond_timedwait(&engine->changed, &engine->lock, &until);
}

static void reap_locked(struct engine *engine, bool wait);

void engine_enter(struct engine *engine, int64_t ns)
{
    pthread_mutex_lock(&engine->lock);
    while (!open_to_more(engine, ns) && !worker_stopping()) {
        bool room = has_room(engine, ns);
        int answer;
        if (room && engine->held && engine->users == 0) { /* kept by nobody, wanted by somebody else */
            hold(engine, false);
            lease_end(engine->lease);
        }
        if (engine->flight_n &&
            (engine->held || !room)) { /* what is in flight holds the lease, and takes the room */
            reap_locked(engine, true);
            continue;
        }
        if (engine->held || engine->asking || !room) {
            pthread_cond_wait(&engine->changed, &engine->lock); /* left, granted, or something is in flight */
            continue;
        }
        answer = try_begin(engine, true);
        if (answer != LEASE_BEGUN && (engine->held || engine->asking))
            continue;
        if (answer != LEASE_BEGUN)
            answer = lease_request(engine->lease);
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
    come_in(engine, ns);
    pthread_mutex_unlock(&engine->lock);
}

/* Under the lock: n leave, whose commands were predicted to take so long together. */
static void leave_locked(struct engine *engine, unsigned n, int64_t ns)
{
    engine->users -= n;
    if (ns != ENGINE_STAY) {
        engine->n_ahead -= n;
        engine->ahead_ns -= ns;
        if (layer_tasked())
            pthread_cond_broadcast(&engine->changed); /* there is room */
    }
    if (engine->users == 0 && engine->held) {
        hold(engine, false);
        if (engine->lease)
            lease_end(engine->lease);
        pthread_cond_broadcast(&engine->changed);
        if (engine_other_way(engine))
            pthread_cond_broadcast(&engine_other_way(engine)->changed);
    }
}

void engine_leave(struct engine *engine, int64_t ns)
{
    pthread_mutex_lock(&engine->lock);
    leave_locked(engine, 1, ns);
    pthread_mutex_unlock(&engine->lock);
}

int64_t engine_chunk_ns(const struct engine *engine)
{
    const baton_nsec calm = 10 * NSEC_PER_SEC; /* nobody asked for so long: nobody will */
    baton_nsec at = atomic_load_explicit(&engine->gave_way_at, memory_order_relaxed);

    if (recorder_on || layer_tasked()) /* what a profile sees and a plan counts: always short */
        return ENGINE_PIECE_NS / 2;
    return at && clock_now() - at < calm ? ENGINE_PIECE_NS / 2 : 6 * ENGINE_PIECE_NS;
}

/* The command that is at a border keeps its room. */
void engine_give_way(struct engine *engine)
{
    atomic_store_explicit(&engine->gave_way_at, clock_now(), memory_order_relaxed);
    if (worker_drives(engine))
        worker_finish_issued(engine);
    pthread_mutex_lock(&engine->lock);
    if (engine->users == 1 && engine->held && engine->lease) {
        hold(engine, false);
        if (lease_yield(engine->lease) == LEASE_BEGUN) {
            hold(engine, true);
        } else {
            engine->asking = true;
            (void)await_grant(engine);
        }
        pthread_mutex_unlock(&engine->lock);
        return;
    }
    leave_locked(engine, 1, ENGINE_STAY);
    pthread_mutex_unlock(&engine->lock);
    engine_flight_reap(engine, true);
    engine_enter(engine, ENGINE_STAY);
}

/* --- direct commands in flight --- */

static bool is_complete(cl_event event)
{
    cl_int status = CL_COMPLETE;

    target.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    return status <= CL_COMPLETE;
}

static bool flight_complete(const struct engine *engine, unsigned index)
{
    return is_complete(engine->flight[(engine->flight_first + index) % ENGINE_FLIGHT].event);
}

/* Under the lock: how many of the oldest are complete, asking as few events as possible. */
static unsigned count_complete(const struct engine *engine)
{
    unsigned least = 0, most = engine->flight_n;

    if (!engine->flight_ordered) {
        while (least < most && flight_complete(engine, least))
            least++;
        return least;
    }
    if (most == 0 || flight_complete(engine, most - 1))
        return most;
    for (most--; least < most;) { /* the first `least` are, the one at `most` is not */
        unsigned middle = least + (most - least) / 2;

        if (flight_complete(engine, middle))
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

/* Under the lock; what they were predicted to take together. */
static int64_t pop(struct engine *engine, unsigned n, struct engine_flight ret_flights[])
{
    int64_t ns = 0;

    for (unsigned i = 0; i < n; i++) {
        ret_flights[i] = engine->flight[(engine->flight_first + i) % ENGINE_FLIGHT];
        ns += ret_flights[i].predicted;
    }
    engine->flight_ns -= ns;
    engine->flight_first = (engine->flight_first + n) % ENGINE_FLIGHT;
    engine->flight_n -= n;
    atomic_store_explicit(&engine->flight_any, engine->flight_n, memory_order_relaxed);
    return ns;
}

/* With no lock held: measures, and gives the references back. */
static void dispose(struct engine *engine, unsigned n, const struct engine_flight flights[])
{
    issue_measure_run(engine, n, flights);
    for (unsigned i = 0; i < n; i++) {
        widening_over(flights[i].event);
        target.clReleaseEvent(flights[i].event);
        if (flights[i].kernel)
            kernel_unref(flights[i].kernel);
    }
}

/* Under the lock, which it unlocks and locks. */
static void await_flight(struct engine *engine, unsigned index)
{
    cl_event event = engine->flight[(engine->flight_first + index) % ENGINE_FLIGHT].event;

    target.clRetainEvent(event);
    pthread_mutex_unlock(&engine->lock);
    target.clWaitForEvents(1, &event);
    target.clReleaseEvent(event);
    pthread_mutex_lock(&engine->lock);
}

/* Under the lock, which it unlocks and locks. */
static void reap_locked(struct engine *engine, bool wait)
{
    struct engine_flight done[REAPED];
    unsigned n;

    while (engine->flight_n) {
        n = count_complete(engine);
        n = n < REAPED ? n : REAPED;
        if (n) {
            leave_locked(engine, n, pop(engine, n, done));
            pthread_mutex_unlock(&engine->lock);
            dispose(engine, n, done);
            pthread_mutex_lock(&engine->lock);
        } else if (wait) {
            await_flight(engine, 0);
        }
        if (!wait && n < REAPED)
            break;
    }
}

/* Leaves for completed ones; wait: and for those that are in flight now. */
static void settle(struct engine *engine, bool wait)
{
    pthread_mutex_lock(&engine->lock);
    if (wait && engine->flight_n)
        await_flight(engine, engine->flight_n - 1);
    reap_locked(engine, false);
    pthread_mutex_unlock(&engine->lock);
}

void engine_flight_reap(struct engine *engine, bool wait)
{
    if (atomic_load_explicit(&engine->flight_any, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&engine->lock);
    reap_locked(engine, wait);
    pthread_mutex_unlock(&engine->lock);
}

/* Under the lock: for as many, and as much by prediction? */
static bool flight_fits(const struct engine *engine, int64_t predicted)
{
    return engine->flight_n == 0 || (engine->flight_n < ENGINE_FLIGHT - SPARE &&
                                     engine->flight_ns + predicted <= engine_most_in_flight());
}

static void CL_CALLBACK on_flight_end(cl_event event, cl_int status, void *data)
{
    struct engine *engine = data;

    (void)event;
    (void)status;
    pthread_mutex_lock(&engine->lock);
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
}

/*
 * Under the lock, which it unlocks and locks: gives the older half of the ring a moment to end. Not for ever: the caller may be a callback
 * that the driver needs back before it goes on, or have a lock that such a callback wants.
 */
static void await_half(struct engine *engine)
{
    cl_event event = engine->flight[(engine->flight_first + engine->flight_n / 2) % ENGINE_FLIGHT].event;
    struct timespec until = in_a_moment(ROOM_WAIT_NS);
    cl_command_queue queue = NULL;
    int result = 0;

    target.clRetainEvent(event);
    pthread_mutex_unlock(&engine->lock);
    target.clGetEventInfo(event, CL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL);
    if (queue)
        target.clFlush(queue);
    (void)target.clSetEventCallback(event, CL_COMPLETE, on_flight_end, engine);
    pthread_mutex_lock(&engine->lock);
    while (result == 0 && !is_complete(event))
        result = pthread_cond_timedwait(&engine->changed, &engine->lock, &until);
    pthread_mutex_unlock(&engine->lock);
    target.clReleaseEvent(event);
    pthread_mutex_lock(&engine->lock);
}

bool engine_flight_room(struct engine *engine, int64_t predicted)
{
    bool room;

    if (atomic_load_explicit(&engine->flight_any, memory_order_relaxed) == 0)
        return true;
    pthread_mutex_lock(&engine->lock);
    room = flight_fits(engine, predicted);
    if (!room) { /* looking at events costs more than remembering them: only when it matters */
        reap_locked(engine, false);
        /* So many, so they are tiny: to wait for some is quicker than to send the next one through the worker. */
        if (engine->flight_n >= ENGINE_FLIGHT / 2) {
            await_half(engine);
            reap_locked(engine, false);
        }
        room = flight_fits(engine, predicted);
    }
    pthread_mutex_unlock(&engine->lock);
    return room;
}

void engine_flight_add(struct engine *engine, const struct engine_flight *flight)
{
    bool first;

    pthread_mutex_lock(&engine->lock);
    while (engine->flight_n == ENGINE_FLIGHT) /* other threads filled it since there was room */
        reap_locked(engine, true);
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
