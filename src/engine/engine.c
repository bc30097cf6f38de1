#include "engine/engine.h"

#include <time.h>

#include "base/clock.h"
#include "client/lease.h"
#include "engine/policy.h"
#include "engine/runtime.h"
#include "wire/lease_word.h"

/* How often a worker that waits for a grant checks whether the process ends. */
#define GRANT_POLL_NS (50 * NSEC_PER_MS)

void engine_init(struct device_engine *engine, struct engine_device *device, enum engine_kind kind)
{
    engine->device = device;
    engine->kind = kind;
    engine->rank = ENGINE_NO_RANK;
    pthread_mutex_init(&engine->lock, NULL);
    pthread_cond_init(&engine->changed, NULL);
    pthread_cond_init(&engine->work, NULL);
    pthread_cond_init(&engine->relief, NULL);
    list_init(&engine->ready);
    list_init(&engine->issued);
    flight_init(engine);
}

/* --- the hold --- */

bool engine_border_asked(const struct device_engine *engine)
{
    uint64_t flags = engine->lease ? lease_flags(engine->lease) : 0;

    if (flags & LEASE_FLAG_YIELD)
        return true;
    return (flags & LEASE_FLAG_TURN) &&
           clock_now() - atomic_load_explicit(&engine->held_at, memory_order_relaxed) >= LEASE_TURN_NS;
}

bool engine_undisputed(struct device_engine *engine)
{
    bool held;

    pthread_mutex_lock(&engine->lock);
    held = engine->held;
    pthread_mutex_unlock(&engine->lock);
    return held && !engine_border_asked(engine);
}

/* 0: it is not used. */
static int64_t ahead(struct device_engine *engine)
{
    int64_t ns = 0;

    pthread_mutex_lock(&engine->lock);
    flight_reap_locked(engine, false);
    if (engine->users > 0)
        ns = engine->ahead_ns > 0 ? engine->ahead_ns : 1;
    pthread_mutex_unlock(&engine->lock);
    return ns;
}

int64_t engine_others_ahead(const struct device_engine *engine)
{
    int64_t ns = 0;

    for (struct engine_device *device = engine_devices(); device; device = device->next)
        for (int kind = 0; kind < ENGINE_N && device->engines == device->own; kind++)
            if (&device->own[kind] != engine)
                ns += ahead(&device->own[kind]);
    return ns;
}

/* Under the lock. */
static void hold(struct device_engine *engine, bool held)
{
    engine->held = held;
    if (held)
        atomic_store_explicit(&engine->held_at, clock_now(), memory_order_relaxed);
}

/* Under the lock: may a command of that length go to the driver beside the present ones? */
static bool has_room(const struct device_engine *engine, const struct policy *policy, int64_t ns)
{
    if (ns == ENGINE_STAY || engine->n_ahead == 0)
        return true;
    return !policy->exact && (!policy->tasked || engine->ahead_ns + ns <= engine_most_in_flight(policy));
}

/* Under the lock. */
static void come_in(struct device_engine *engine, int64_t ns)
{
    engine->users++;
    if (ns == ENGINE_STAY)
        return;
    engine->n_ahead++;
    engine->ahead_ns += ns;
}

/*
 * Under the lock: may one more command enter? Not when asked to yield, nor when the turn is over.
 * Only equals take turns: leaving for a less urgent client would let a piece of it run before each
 * command of a full pipeline. No analysis counts that.
 */
static bool open_to_more(const struct device_engine *engine, const struct policy *policy, int64_t ns)
{
    return engine->held && has_room(engine, policy, ns) && !engine_border_asked(engine);
}

/* Under the lock: begins the lease if that needs no message. */
static int try_begin(struct device_engine *engine)
{
    return engine->lease ? lease_try_begin(engine->lease) : LEASE_BEGUN;
}

bool engine_try_enter(struct device_engine *engine, const struct policy *policy, int64_t ns)
{
    bool entered;

    pthread_mutex_lock(&engine->lock);
    if (!engine->held && !engine->asking && try_begin(engine) == LEASE_BEGUN)
        hold(engine, true);
    entered = open_to_more(engine, policy, ns);
    if (entered)
        come_in(engine, ns);
    else if (engine->held && engine->users == 0) { /* asked to yield at the same moment */
        hold(engine, false);
        lease_end(engine->lease);
    }
    pthread_mutex_unlock(&engine->lock);
    return entered;
}

static const struct policy no_command; /* there is room for ENGINE_STAY under any policy */

bool engine_try_stay(struct device_engine *engine)
{
    return engine_try_enter(engine, &no_command, ENGINE_STAY);
}

/*
 * With the lock held and `asking` set, after a request: sleeps until the grant. False: the process
 * ends.
 */
static bool await_grant(struct device_engine *engine)
{
    int answer = LEASE_TIMEOUT;

    pthread_mutex_unlock(&engine->lock);
    while (answer == LEASE_TIMEOUT && !runtime_stopping())
        answer = lease_wait(engine->lease, clock_now() + GRANT_POLL_NS);
    pthread_mutex_lock(&engine->lock);
    engine->asking = false;
    hold(engine, answer == LEASE_BEGUN);
    pthread_cond_broadcast(&engine->changed);
    return engine->held;
}

struct timespec engine_deadline(long ns)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += ns;
    at.tv_sec += at.tv_nsec / NSEC_PER_SEC;
    at.tv_nsec %= NSEC_PER_SEC;
    return at;
}

/*
 * The lease is taken in this process, but not by this engine: a batch of libbaton holds it, and its
 * end does not signal. Unlocks and locks.
 */
static void await_batch(struct device_engine *engine)
{
    struct timespec until = engine_deadline(NSEC_PER_MS);

    pthread_cond_timedwait(&engine->changed, &engine->lock, &until);
}

void engine_enter(struct device_engine *engine, const struct policy *policy, int64_t ns)
{
    pthread_mutex_lock(&engine->lock);
    while (!open_to_more(engine, policy, ns) && !runtime_stopping()) {
        bool room = has_room(engine, policy, ns);
        int answer;
        /* unused here, wanted by another client */
        if (room && engine->held && engine->users == 0) {
            hold(engine, false);
            lease_end(engine->lease);
        }
        if (engine->flight.n &&
            (engine->held || !room)) { /* commands in flight hold the lease and take the room */
            flight_reap_locked(engine, true);
            continue;
        }
        if (engine->held || engine->asking || !room) {
            /* left, granted, or a command is in flight */
            pthread_cond_wait(&engine->changed, &engine->lock);
            continue;
        }
        answer = try_begin(engine);
        if (answer != LEASE_BEGUN)
            answer = lease_request(engine->lease);
        if (answer == LEASE_BEGUN) {
            hold(engine, true);
        } else if (answer == LEASE_ASK) {
            engine->asking = true;
            if (await_grant(engine))
                /*
                 * entered: at least one piece runs, even if a yield is asked for at the same moment
                 */
                break;
        } else {
            await_batch(engine);
        }
    }
    come_in(engine, ns);
    pthread_mutex_unlock(&engine->lock);
}

void engine_enter_alone(struct device_engine *engine)
{
    struct policy policy;

    policy_resolve(&policy);
    engine_enter(engine, &policy, ENGINE_ALONE);
}

void engine_exit_locked(struct device_engine *engine, enum engine_kind kind, unsigned n, int64_t ns)
{
    engine->users -= n;
    if (ns != ENGINE_STAY) {
        engine->n_ahead -= n;
        engine->ahead_ns -= ns;
        if (policy_tasked())
            pthread_cond_broadcast(&engine->changed); /* there is room */
    }
    if (engine->users == 0 && engine->held) {
        hold(engine, false);
        if (engine->lease)
            lease_end_as(engine->lease, kind);
        pthread_cond_broadcast(&engine->changed);
    }
}

void engine_exit(struct device_engine *engine, enum engine_kind kind, int64_t ns)
{
    pthread_mutex_lock(&engine->lock);
    engine_exit_locked(engine, kind, 1, ns);
    pthread_mutex_unlock(&engine->lock);
}

bool engine_is_calm(const struct device_engine *engine)
{
    const baton_nsec calm = 10 * NSEC_PER_SEC;
    baton_nsec at = atomic_load_explicit(&engine->yielded_at, memory_order_relaxed);

    /* a profile records pieces and a plan counts them */
    return !recorder_on() && !policy_tasked() && (!at || clock_now() - at >= calm);
}

int64_t engine_chunk_ns(const struct device_engine *engine)
{
    return engine_is_calm(engine) ? 6 * ENGINE_PIECE_NS : ENGINE_PIECE_NS / 2;
}

/* The command at the border keeps its room. */
void engine_yield(struct device_engine *engine)
{
    atomic_store_explicit(&engine->yielded_at, clock_now(), memory_order_relaxed);
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
    engine_exit_locked(engine, engine->kind, 1, ENGINE_STAY);
    pthread_mutex_unlock(&engine->lock);
    flight_reap(engine, true);
    engine_enter(engine, &no_command, ENGINE_STAY);
}

/* --- copies, reports --- */

struct device_engine *engine_of_kind(const struct device_engine *engine, enum engine_kind kind)
{
    return &engine->device->own[kind];
}

enum { COPY_TEACHES = 512 << 10 }; /* bytes; smaller copies are mostly overhead */

void engine_learn_copy(struct device_engine *engine, size_t bytes, int64_t ns)
{
    long long old = atomic_load_explicit(&engine->bytes_per_ms, memory_order_relaxed), fresh;

    if (bytes < COPY_TEACHES || ns <= 0 || engine->kind == ENGINE_EXECUTION)
        return;
    fresh = (long long)((double)bytes * (double)NSEC_PER_MS / (double)ns);
    /*
     * Falls by a quarter at most: one slow chunk may be a delay of the machine, three in a row are
     * the bus.
     */
    if (fresh < old)
        fresh = fresh > old / 4 * 3 ? fresh : old / 4 * 3;
    else if (old)
        fresh = (old * 3 + fresh) / 4;
    atomic_store_explicit(&engine->bytes_per_ms, fresh, memory_order_relaxed);
}

int64_t engine_predict_copy(const struct device_engine *engine, size_t bytes)
{
    int64_t per_ms = atomic_load_explicit(&engine->bytes_per_ms, memory_order_relaxed);

    return (int64_t)((double)bytes / (double)(per_ms > 0 ? per_ms : 4000000) * 1e6);
}

void engine_report(struct device_engine *engine, baton_nsec begin_at, baton_nsec end_at,
                   const struct lease_work *work)
{
    if (engine->lease)
        lease_ran(engine->lease, begin_at, end_at, work);
}

void engine_used(struct device_engine *engine, struct device_clock *clock, uint64_t ended, uint64_t length)
{
    baton_nsec end_at;

    if (!engine->lease || !length)
        return;
    end_at = device_clock_end(clock, ended, clock_now());
    lease_used(engine->lease, end_at - (baton_nsec)length, end_at);
}

void engine_report_driver(struct device_engine *engine, struct device_clock *clock, uint64_t started,
                          uint64_t ended, const struct lease_work *work)
{
    baton_nsec end_at;

    if (!engine->lease || ended < started)
        return;
    end_at = device_clock_end(clock, ended, clock_now());
    lease_ran(engine->lease, end_at - (baton_nsec)(ended - started), end_at, work);
}
