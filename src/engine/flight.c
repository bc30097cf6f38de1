#include "engine/flight.h"

#include <time.h>

#include "client/lease.h"
#include "engine/engine.h"
#include "engine/meter.h"
#include "engine/runtime.h"

#define ROOM_WAIT_NS (2 * NSEC_PER_MS) /* the longest wait of a call that must not block */
/* commands closer together than this are one run */
#define RUN_SLACK_NS (100 * NSEC_PER_US)

enum {
    REAPED = 64, /* at once: they are on the stack of a program's thread */
    SPARE = 64,  /* places in the ring for threads that found room at the same moment */
};

static void on_mark(struct mark_listener *listener, int status)
{
    struct device_engine *engine = list_entry(listener, struct device_engine, flight.listener);

    (void)status;
    pthread_mutex_lock(&engine->lock);
    pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
}

void flight_init(struct device_engine *engine)
{
    engine->flight.listener.run = on_mark;
}

bool flight_any(const struct device_engine *engine)
{
    return atomic_load_explicit(&engine->flight.any, memory_order_relaxed) != 0;
}

/* --- under the engine's lock --- */

static struct flight *entry(struct flight_ring *ring, unsigned index)
{
    return &ring->entries[(ring->first + index) % FLIGHT_ROOM];
}

static bool is_complete(struct mark *mark)
{
    return runtime.ops->mark_status(mark) <= COMMAND_COMPLETE;
}

/* How many of the oldest are complete, asking as few marks as possible. */
static unsigned count_complete(struct flight_ring *ring)
{
    unsigned least = 0, most = ring->n;
    const struct mark *newest;

    if (!ring->ordered) {
        while (least < most && is_complete(entry(ring, least)->mark))
            least++;
        return least;
    }
    if (most == 0 || is_complete(entry(ring, most - 1)->mark))
        return most;
    newest = entry(ring, most - 1)->mark;
    for (most--; most && entry(ring, most - 1)->mark == newest; most--)
        ;
    while (least < most) { /* the first `least` are complete, the one at `most` is not */
        unsigned middle = least + (most - least) / 2;

        if (is_complete(entry(ring, middle)->mark))
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

/* Takes the oldest out; returns the sum of their predicted times. */
static int64_t pop(struct flight_ring *ring, unsigned n, struct flight ret_flights[])
{
    int64_t ns = 0;

    for (unsigned i = 0; i < n; i++) {
        ret_flights[i] = *entry(ring, i);
        ns += ret_flights[i].predicted;
    }
    ring->ns -= ns;
    ring->first = (ring->first + n) % FLIGHT_ROOM;
    ring->n -= n;
    atomic_store_explicit(&ring->any, ring->n, memory_order_relaxed);
    return ns;
}

/* Is there room for that many commands of that predicted time? */
static bool has_room(const struct flight_ring *ring, int64_t predicted)
{
    return ring->n == 0 || (ring->n < FLIGHT_ROOM - SPARE && ring->ns + predicted <= engine_most_in_flight());
}

/* --- with no lock held --- */

/* Several commands in one run have a kernel's name only if it is the same for all. */
static struct lease_work work_of(unsigned n, const struct flight flights[])
{
    struct lease_work work = {.kernel = flights[0].meter ? flights[0].meter->name : NULL, .pieces = n};

    for (unsigned i = 0; i < n; i++) {
        work.size += flights[i].items;
        if (flights[i].meter != flights[0].meter)
            work.kernel = NULL;
    }
    return work;
}

static void report(struct device_engine *engine, unsigned n, const struct flight flights[], uint64_t started,
                   uint64_t ended)
{
    struct lease_work work = work_of(n, flights);

    engine_report_driver(engine, started, ended, &work);
}

static void learn(const struct flight *flight, int64_t ns)
{
    if (!flight->meter)
        return;
    meter_measured(flight->meter, flight->items, ns);
    if (runtime.ops->ran_alone)
        runtime.ops->ran_alone(flight->meter, flight->items, ns);
}

/*
 * Commands that took longer than expected, or paused in between. One mark's commands are a run of
 * its own. If a mark's times say nothing about its single commands, the run is as long as expected,
 * and the next commands of these kernels are measured.
 */
static void report_apart(struct device_engine *engine, unsigned n, const struct flight flights[])
{
    struct mark_times times;
    unsigned last;

    for (unsigned i = 0; i < n; i = last) {
        int64_t expected = 0;

        times = (struct mark_times){0};
        runtime.ops->mark_times(flights[i].mark, &times);
        for (last = i; last < n && flights[last].mark == flights[i].mark; last++) {
            expected += flights[last].predicted;
            if (times.shared && flights[last].meter)
                meter_doubt(flights[last].meter);
        }
        if (times.shared && times.ended > times.started + (uint64_t)expected)
            times.ended = times.started + (uint64_t)expected;
        report(engine, last - i, &flights[i], times.started, times.ended);
    }
}

/*
 * Reports complete commands of one kind, oldest first. Commands close together are one run, from
 * the start of the first to the end of the last. The length of the last one is learnt.
 */
static void measure_run(struct device_engine *engine, unsigned n, const struct flight flights[])
{
    const struct driver_ops *ops = runtime.ops;
    const struct flight *last = &flights[n - 1];
    struct mark_times first, newest = {0};
    int64_t expected = 0;

    ops->mark_times(last->mark, &newest);
    first = newest;
    if (n > 1 && flights[0].mark != last->mark)
        ops->mark_times(flights[0].mark, &first);
    if (!first.started || !newest.started || newest.started < first.started || newest.ended < newest.started)
        return;
    if (!newest.shared)
        learn(last, (int64_t)(newest.ended - newest.started));
    for (unsigned i = 0; i < n; i++)
        expected += flights[i].predicted;
    if ((int64_t)(newest.ended - first.started) <= 2 * expected + RUN_SLACK_NS)
        report(engine, n, flights, first.started, newest.ended);
    else
        report_apart(engine, n, flights);
}

/* Copies in both directions may be in one ring; each direction has its own reports. */
static void measure_all(struct device_engine *engine, unsigned n, const struct flight flights[])
{
    for (unsigned first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && flights[end].kind == flights[first].kind;)
            end++;
        measure_run(engine_of_kind(engine, flights[first].kind), end - first, flights + first);
    }
}

static void dispose(struct device_engine *engine, unsigned n, const struct flight flights[])
{
    const struct driver_ops *ops = runtime.ops;

    measure_all(engine, n, flights);
    for (unsigned i = 0; i < n; i++) {
        if (ops->mark_over)
            ops->mark_over(flights[i].mark);
        ops->mark_drop(flights[i].mark);
        if (flights[i].meter)
            ops->meter_drop(flights[i].meter);
    }
}

/* --- under the engine's lock, which these unlock and lock --- */

static void await_entry(struct device_engine *engine, unsigned index)
{
    struct mark *mark = entry(&engine->flight, index)->mark;

    runtime.ops->mark_keep(mark);
    pthread_mutex_unlock(&engine->lock);
    (void)runtime.ops->mark_wait(mark);
    runtime.ops->mark_drop(mark);
    pthread_mutex_lock(&engine->lock);
}

void flight_reap_locked(struct device_engine *engine, bool wait)
{
    struct flight done[REAPED];
    unsigned n;

    while (engine->flight.n) {
        n = count_complete(&engine->flight);
        n = n < REAPED ? n : REAPED;
        if (n) {
            int64_t ns = pop(&engine->flight, n, done);

            engine_exit_locked(engine, done[n - 1].kind, n, ns);
            pthread_mutex_unlock(&engine->lock);
            dispose(engine, n, done);
            pthread_mutex_lock(&engine->lock);
        } else if (wait) {
            await_entry(engine, 0);
        }
        if (!wait && n < REAPED)
            break;
    }
}

/*
 * Waits a moment for the older half of the ring. The wait is bounded: the caller may be a callback
 * that the driver needs back, or hold a lock that such a callback needs.
 */
static void await_half(struct device_engine *engine)
{
    const struct driver_ops *ops = runtime.ops;
    struct mark *mark = entry(&engine->flight, engine->flight.n / 2)->mark;
    struct timespec until = engine_deadline(ROOM_WAIT_NS);
    int result = 0;

    ops->mark_keep(mark);
    pthread_mutex_unlock(&engine->lock);
    ops->mark_flush(mark);
    /* a driver that cannot notify calls no program code, so waiting blocks no callback */
    if (!ops->mark_notify(mark, &engine->flight.listener))
        (void)ops->mark_wait(mark);
    pthread_mutex_lock(&engine->lock);
    while (result == 0 && !is_complete(mark))
        result = pthread_cond_timedwait(&engine->changed, &engine->lock, &until);
    pthread_mutex_unlock(&engine->lock);
    ops->mark_drop(mark);
    pthread_mutex_lock(&engine->lock);
}

/* --- called from other files --- */

void flight_settle(struct device_engine *engine, bool wait)
{
    pthread_mutex_lock(&engine->lock);
    if (wait && engine->flight.n)
        await_entry(engine, engine->flight.n - 1);
    flight_reap_locked(engine, false);
    pthread_mutex_unlock(&engine->lock);
}

void flight_reap(struct device_engine *engine, bool wait)
{
    if (!flight_any(engine))
        return;
    pthread_mutex_lock(&engine->lock);
    flight_reap_locked(engine, wait);
    pthread_mutex_unlock(&engine->lock);
}

bool flight_room(struct device_engine *engine, int64_t predicted)
{
    bool room;

    if (!flight_any(engine))
        return true;
    pthread_mutex_lock(&engine->lock);
    room = has_room(&engine->flight, predicted);
    if (!room) { /* querying marks costs more than keeping them: only when room is needed */
        flight_reap_locked(engine, false);
        /*
         * That many commands must be tiny: waiting for some is faster than sending the next one
         * through the worker.
         */
        if (engine->flight.n >= FLIGHT_ROOM / 2) {
            await_half(engine);
            flight_reap_locked(engine, false);
        }
        room = has_room(&engine->flight, predicted);
    }
    pthread_mutex_unlock(&engine->lock);
    return room;
}

void flight_add(struct device_engine *engine, const struct flight *flight)
{
    struct flight_ring *ring = &engine->flight;
    bool first;

    pthread_mutex_lock(&engine->lock);
    while (ring->n == FLIGHT_ROOM) /* other threads filled it since there was room */
        flight_reap_locked(engine, true);
    first = ring->n == 0;
    ring->ordered =
        flight->queue->in_order && (first || (ring->ordered && entry(ring, 0)->queue == flight->queue));
    *entry(ring, ring->n) = *flight;
    ring->n++;
    ring->ns += flight->predicted;
    atomic_store_explicit(&ring->any, ring->n, memory_order_relaxed);
    if (first)
        /* a thread that waits for this one to leave must now reap */
        pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    if (first && engine->lease)
        lease_arm_reaper(engine->lease, true);
}
