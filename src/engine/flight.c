#include "engine/flight.h"

#include <time.h>

#include "base/clock.h"
#include "client/lease.h"
#include "engine/engine.h"
#include "engine/meter.h"
#include "engine/runtime.h"

#define ROOM_WAIT_NS (2 * NSEC_PER_MS) /* the longest wait of a call that must not block */
/* commands closer together than this are one run */
#define POLL_AWAKE_NS (50 * NSEC_PER_US) /* a sleeping thread wakes about that late */
#define POLL_NS       (20 * NSEC_PER_US)
#define RUN_SLACK_NS  (100 * NSEC_PER_US)

enum {
    REAPED = 64,        /* entries reaped at once: they are on the stack of a program's thread */
    TINY_COMMANDS = 64, /* if so many commands fill the ring, each is tiny */
    SPARE = 64,         /* places in the ring for threads that found room at the same moment */
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

static const struct driver_ops *ops_of(const struct flight *flight)
{
    return flight->device->ops;
}

static bool is_complete(const struct flight *flight)
{
    return ops_of(flight)->mark_status(flight->mark) <= COMMAND_COMPLETE;
}

/* How many of the oldest are complete, asking as few marks as possible. */
static unsigned count_complete(struct flight_ring *ring)
{
    unsigned least = 0, most = ring->n;
    const struct mark *newest;

    if (!ring->ordered) {
        while (least < most && is_complete(entry(ring, least)))
            least++;
        return least;
    }
    if (most == 0 || is_complete(entry(ring, most - 1)))
        return most;
    newest = entry(ring, most - 1)->mark;
    for (most--; most && entry(ring, most - 1)->mark == newest; most--)
        ;
    while (least < most) { /* the first `least` are complete, the one at `most` is not */
        unsigned middle = least + (most - least) / 2;

        if (is_complete(entry(ring, middle)))
            least = middle + 1;
        else
            most = middle;
    }
    return least;
}

/*
 * Removes the oldest n entries; returns the sum of their predicted times and their number of
 * commands.
 */
static int64_t pop(struct flight_ring *ring, unsigned n, struct flight ret_flights[], unsigned *ret_commands)
{
    unsigned commands = 0;
    int64_t ns = 0;

    for (unsigned i = 0; i < n; i++) {
        ret_flights[i] = *entry(ring, i);
        ns += ret_flights[i].predicted;
        commands += ret_flights[i].n_commands;
    }
    *ret_commands = commands;
    ring->n_commands -= commands;
    ring->ns -= ns;
    ring->first = (ring->first + n) % FLIGHT_ROOM;
    ring->n -= n;
    atomic_store_explicit(&ring->any, ring->n, memory_order_relaxed);
    return ns;
}

/* Is there room for a command of that predicted time? */
static bool has_room(const struct flight_ring *ring, const struct policy *policy, int64_t predicted)
{
    return ring->n == 0 ||
           (ring->n < FLIGHT_ROOM - SPARE && ring->ns + predicted <= engine_most_in_flight(policy));
}

/*
 * Is the ring's order still that of one driver's queue, with this command behind the others? Two
 * threads may note their commands in another order than the driver got them.
 */
static bool keeps_order(struct flight_ring *ring, const struct flight *flight)
{
    if (!flight->queue->in_order)
        return false;
    if (ring->n == 0) {
        ring->thread = pthread_self();
        return true;
    }
    return ring->ordered && entry(ring, 0)->queue_number == flight->queue->number &&
           pthread_equal(ring->thread, pthread_self());
}

/* The newest entry, if this command belongs to it; NULL: the command needs an entry of its own. */
static struct flight *same_entry(struct flight_ring *ring, const struct flight *flight)
{
    struct flight *newest = ring->n ? entry(ring, ring->n - 1) : NULL;

    return newest && newest->mark == flight->mark && newest->meter == flight->meter &&
                   newest->kind == flight->kind
               ? newest
               : NULL;
}

/* --- with no lock held --- */

/* Several commands in one run have a kernel's name only if it is the same for all. */
static struct lease_work work_of(unsigned n, const struct flight flights[])
{
    struct lease_work work = {.kernel = flights[0].meter ? flights[0].meter->name : NULL,
                              .counted = policy_tasked()};

    for (unsigned i = 0; i < n; i++) {
        work.size += flights[i].items;
        work.pieces += flights[i].n_commands;
        if (flights[i].meter != flights[0].meter)
            work.kernel = NULL;
    }
    return work;
}

static void report(struct device_engine *engine, unsigned n, const struct flight flights[], uint64_t started,
                   uint64_t ended)
{
    struct lease_work work = work_of(n, flights);

    engine_report_driver(engine, &flights[0].device->clock, started, ended, &work);
}

static void learn(const struct flight *flight, int64_t ns)
{
    if (!flight->meter)
        return;
    meter_measured(flight->meter, flight->items, ns);
    if (ops_of(flight)->ran_alone)
        ops_of(flight)->ran_alone(flight->meter, flight->items, ns);
}

/*
 * Commands that took longer than expected, or paused in between. The commands of one mark are a
 * separate run. If a mark's times say nothing about its single commands, the run is assumed to be
 * as long as expected. The next commands of these kernels are then measured.
 */
static void report_apart(struct device_engine *engine, unsigned n, const struct flight flights[])
{
    struct mark_times times;
    unsigned last;

    for (unsigned i = 0; i < n; i = last) {
        int64_t expected = 0;

        times = (struct mark_times){0};
        ops_of(&flights[i])->mark_times(flights[i].mark, &times);
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
 * Engine time of the commands, without the pauses between them: a job of a plan has a budget of it.
 * If a mark's times say nothing about its single commands, there may be pauses in it: it counts no
 * more than expected.
 */
static void count_used(struct device_engine *engine, unsigned n, const struct flight flights[])
{
    uint64_t until = 0;
    unsigned last;

    for (unsigned i = 0; i < n; i = last) {
        struct mark_times times = {0};
        uint64_t expected = 0, length, from;

        ops_of(&flights[i])->mark_times(flights[i].mark, &times);
        for (last = i; last < n && flights[last].mark == flights[i].mark; last++)
            expected += (uint64_t)flights[last].predicted;
        from = times.started > until ? times.started : until;
        if (!times.started || times.ended <= from)
            continue;
        length = times.ended - from;
        length = times.shared && length > expected ? expected : length;
        engine_used(engine, &flights[0].device->clock, times.ended, length);
        until = times.ended;
    }
}

/*
 * Reports complete commands of one kind and device, oldest first. Commands close together are one
 * run, from the start of the first to the end of the last. The length of the last one is learnt.
 */
static void measure_run(struct device_engine *engine, unsigned n, const struct flight flights[])
{
    const struct flight *last = &flights[n - 1];
    const struct driver_ops *ops = ops_of(last);
    struct mark_times first, newest = {0};
    int64_t expected = 0;

    ops->mark_times(last->mark, &newest);
    first = newest;
    if (n > 1 && flights[0].mark != last->mark)
        ops->mark_times(flights[0].mark, &first);
    if (!first.started || !newest.started || newest.started < first.started || newest.ended < newest.started)
        return;
    if (policy_tasked())
        count_used(engine, n, flights);
    if (!newest.shared)
        learn(last, (int64_t)(newest.ended - newest.started));
    for (unsigned i = 0; i < n; i++)
        expected += flights[i].predicted;
    if ((int64_t)(newest.ended - first.started) <= 2 * expected + RUN_SLACK_NS)
        report(engine, n, flights, first.started, newest.ended);
    else
        report_apart(engine, n, flights);
}

/*
 * Copies in both directions may be in one ring, and commands of both APIs. Each direction has its
 * own reports, and each API its own clock.
 */
static void measure_all(struct device_engine *engine, unsigned n, const struct flight flights[])
{
    for (unsigned first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && flights[end].kind == flights[first].kind &&
                              flights[end].device == flights[first].device;)
            end++;
        measure_run(engine_of_kind(engine, flights[first].kind), end - first, flights + first);
    }
}

static void dispose(struct device_engine *engine, unsigned n, const struct flight flights[])
{
    measure_all(engine, n, flights);
    for (unsigned i = 0; i < n; i++) {
        const struct driver_ops *ops = ops_of(&flights[i]);

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
    const struct flight flight = *entry(&engine->flight, index);
    const struct driver_ops *ops = ops_of(&flight);

    ops->mark_keep(flight.mark);
    pthread_mutex_unlock(&engine->lock);
    (void)ops->mark_wait(flight.mark);
    ops->mark_drop(flight.mark);
    pthread_mutex_lock(&engine->lock);
}

void flight_reap_locked(struct device_engine *engine, bool wait)
{
    struct flight done[REAPED];
    unsigned n, commands;
    int64_t ns;

    while (engine->flight.n) {
        n = count_complete(&engine->flight);
        n = n < REAPED ? n : REAPED;
        if (n) {
            ns = pop(&engine->flight, n, done, &commands);
            engine_exit_locked(engine, done[n - 1].kind, commands, ns);
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

/* With no lock held: polls a driver that cannot notify. */
static void poll_mark(const struct flight *flight)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    baton_nsec begin_at = clock_now(), waited = 0;

    while (!is_complete(flight) && waited < ROOM_WAIT_NS) {
        if (waited > POLL_AWAKE_NS)
            (void)nanosleep(&pause, NULL);
        waited = clock_now() - begin_at;
    }
}

/*
 * Waits a moment for the older half of the ring. The wait is bounded, for one of three reasons. The
 * caller may be a callback that the driver needs back. It may hold a lock that such a callback
 * needs. Or a running kernel may wait for what it does next.
 */
static void await_half(struct device_engine *engine)
{
    const struct flight flight = *entry(&engine->flight, engine->flight.n / 2);
    const struct driver_ops *ops = ops_of(&flight);
    struct timespec until = engine_deadline(ROOM_WAIT_NS);
    int result = 0;
    bool notified;

    ops->mark_keep(flight.mark);
    pthread_mutex_unlock(&engine->lock);
    ops->mark_flush(flight.mark);
    notified = ops->mark_notify(flight.mark, &engine->flight.listener);
    if (!notified)
        poll_mark(&flight);
    pthread_mutex_lock(&engine->lock);
    while (notified && result == 0 && !is_complete(&flight))
        result = pthread_cond_timedwait(&engine->changed, &engine->lock, &until);
    pthread_mutex_unlock(&engine->lock);
    ops->mark_drop(flight.mark);
    pthread_mutex_lock(&engine->lock);
}

/* Gives half of the ring a moment to end. Answers whether there is room then. */
static bool make_room(struct device_engine *engine, const struct policy *policy, int64_t predicted)
{
    if (engine->flight.n)
        await_half(engine);
    flight_reap_locked(engine, false);
    return has_room(&engine->flight, policy, predicted);
}

/* --- called from other files --- */

void flight_reap(struct device_engine *engine, bool wait)
{
    if (!flight_any(engine))
        return;
    pthread_mutex_lock(&engine->lock);
    flight_reap_locked(engine, wait);
    pthread_mutex_unlock(&engine->lock);
}

bool flight_room(struct device_engine *engine, const struct policy *policy, int64_t predicted)
{
    bool room;

    if (!flight_any(engine))
        return true;
    pthread_mutex_lock(&engine->lock);
    room = has_room(&engine->flight, policy, predicted);
    if (!room) { /* querying marks costs more than keeping them: only when room is needed */
        flight_reap_locked(engine, false);
        /*
         * So many commands in a full ring must be tiny. Waiting for some is faster than a hop
         * through the worker.
         */
        room = has_room(&engine->flight, policy, predicted);
        if (!room && engine->flight.n_commands >= TINY_COMMANDS)
            room = make_room(engine, policy, predicted);
    }
    pthread_mutex_unlock(&engine->lock);
    return room;
}

bool flight_make_room(struct device_engine *engine, const struct policy *policy, int64_t predicted)
{
    bool room;

    pthread_mutex_lock(&engine->lock);
    room = make_room(engine, policy, predicted);
    pthread_mutex_unlock(&engine->lock);
    return room;
}

void flight_add(struct device_engine *engine, const struct flight *flight)
{
    struct flight_ring *ring = &engine->flight;
    struct flight *same;
    bool first;

    pthread_mutex_lock(&engine->lock);
    ring->ns += flight->predicted;
    ring->n_commands++;
    same = same_entry(ring, flight);
    if (same) {
        same->predicted += flight->predicted;
        same->items += flight->items;
        same->n_commands++;
        pthread_mutex_unlock(&engine->lock);
        ops_of(flight)->mark_drop(flight->mark); /* the entry has a reference */
        return;
    }
    if (flight->meter)
        ops_of(flight)->meter_keep(flight->meter);
    while (ring->n == FLIGHT_ROOM) /* other threads filled it since there was room */
        flight_reap_locked(engine, true);
    first = ring->n == 0;
    ring->ordered = keeps_order(ring, flight);
    *entry(ring, ring->n) = *flight;
    entry(ring, ring->n)->queue_number = flight->queue->number;
    entry(ring, ring->n)->n_commands = 1;
    ring->n++;
    atomic_store_explicit(&ring->any, ring->n, memory_order_relaxed);
    if (first)
        /* a thread that waits until this user leaves must now reap */
        pthread_cond_broadcast(&engine->changed);
    pthread_mutex_unlock(&engine->lock);
    if (first && engine->lease)
        lease_arm_reaper(engine->lease, true);
}

/* NULL: none of the queue's commands is in the ring, or all of them are over. */
static struct mark *newest_of(struct device_engine *engine, const struct command_queue *queue)
{
    struct mark *mark = NULL;

    pthread_mutex_lock(&engine->lock);
    flight_reap_locked(engine, false);
    for (unsigned i = engine->flight.n; i > 0 && !mark; i--) {
        const struct flight *flight = entry(&engine->flight, i - 1);

        if (flight->queue_number != queue->number)
            continue;
        if (is_complete(flight))
            break;
        mark = flight->mark;
        ops_of(flight)->mark_keep(mark);
    }
    pthread_mutex_unlock(&engine->lock);
    return mark;
}

struct mark *flight_elsewhere(const struct device_engine *engine, const struct command_queue *queue)
{
    struct mark *mark = NULL;

    for (struct engine_device *device = engine_devices(); device && !mark; device = device->next)
        for (int kind = 0; kind < ENGINE_N && device->engines == device->own && !mark; kind++)
            if (&device->own[kind] != engine)
                mark = newest_of(&device->own[kind], queue);
    return mark;
}
