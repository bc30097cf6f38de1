/*
 * One engine of a device as this process uses it. It has the hold on its lease, the commands in the
 * driver, and the commands in flight that program threads issued directly (flight.h). Its worker
 * has the queued commands (worker.h).
 *
 * The process holds the lease as a whole; `users` counts the commands and threads on the engine.
 * When the daemon asks to yield, no new user enters, and the last user to leave gives the lease
 * back. The same happens when an equal waits and the hold has lasted for a turn (LEASE_TURN_NS).
 * Without turns, the equals of a program that keeps its pipeline full would wait for ever.
 *
 * A thread that enters passes the policy and the predicted length of its command. A program of the
 * plan has no more work in the driver than the plan counts, over all its threads. A command that
 * does not fit waits, or goes to the worker.
 *
 * All functions: any thread, no engine lock held; only engine_enter() and engine_yield() block.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/list.h"
#include "base/nsec.h"
#include "engine/command.h"
#include "engine/flight.h"
#include "wire/engine_kind.h"

struct device_clock;
struct engine_device;
struct lease;
struct lease_work;

#define ENGINE_PIECE_NS (500 * NSEC_PER_US) /* about how long a piece of a kernel runs */
#define ENGINE_NO_RANK  INT_MAX
#define ENGINE_ANY_RANK INT_MIN
/* a command of unknown length: in a program of the plan, alone */
#define ENGINE_ALONE (2 * ENGINE_PIECE_NS)
#define ENGINE_STAY  INT64_C(-1) /* no command: only to keep the engine */

struct device_engine {
    struct engine_device *device; /* the device that owns it */
    enum engine_kind kind;
    struct lease *lease; /* NULL: no session, always free */

    pthread_mutex_t lock; /* guards the following; before the session's lock */
    pthread_cond_t changed;
    unsigned users;
    bool held, asking;
    unsigned n_ahead; /* commands of those users, and their predicted time */
    int64_t ahead_ns;
    /* when this hold began: a turn is counted from there; readable without the lock */
    atomic_llong held_at;
    struct flight_ring flight;

    /* runtime.graph.lock */
    struct list ready, issued;
    int64_t issued_ns;
    unsigned n_issued;
    bool drain; /* the daemon wants the lease: wait for the ring */
    bool started, stopping;
    bool gone;        /* the worker has ended */
    unsigned calling; /* it runs program code, which may not return */
    bool left;        /* the process ends without the worker, which must touch nothing from now on */
    bool driven;      /* a thread does a step for the engine: the worker, or a helping thread (worker.h) */
    struct command_callback *called; /* callbacks that are left to the worker */
    pthread_cond_t work;
    pthread_t thread;
    bool relieved;  /* there is a relief, which works while the worker is in program code (worker.h) */
    bool relieving; /* it does a step */
    pthread_cond_t relief;
    pthread_t relief_thread;
    /*
     * the worker's rank at its start (client/os_priority.h). ENGINE_NO_RANK: not started;
     * ENGINE_ANY_RANK: it could not be started
     */
    int rank;
    /* the driving thread stays on the engine between queued commands */
    bool stays;

    atomic_llong bytes_per_ms; /* measured copy bandwidth; 0: unknown */
    atomic_llong yielded_at;   /* when a more urgent client last wanted the engine; 0: never */
};

void engine_init(struct device_engine *engine, struct engine_device *device, enum engine_kind kind);

/*
 * The most work in the driver that a more urgent client must wait for. The analysis counts the
 * longest piece of a less urgent task (B, docs/analysis.md), so a program of the plan has no more.
 * If the plan cuts none of its commands, it has one command at a time.
 */
static inline int64_t engine_most_in_flight(const struct policy *policy)
{
    int64_t most = 2 * ENGINE_PIECE_NS;

    return policy->tasked && policy->piece < most ? policy->piece : most;
}

/*
 * Enters without waiting: false if another client has the lease, or the lease must be given back.
 */
bool engine_try_enter(struct device_engine *engine, const struct policy *policy, int64_t ns);
/* The same without a command, to keep the engine: engine_exit() with ENGINE_STAY. */
bool engine_try_stay(struct device_engine *engine);
/* Enters; waits for the grant and for room. */
void engine_enter(struct device_engine *engine, const struct policy *policy, int64_t ns);
/* The same for driver calls of Baton's own, of unknown length: engine_exit() with ENGINE_ALONE. */
void engine_enter_alone(struct device_engine *engine);
/*
 * Leaves. kind: of the command, on which the time until the program is back depends
 * (client/linger.h). ns: the value at the entry.
 */
void engine_exit(struct device_engine *engine, enum engine_kind kind, int64_t ns);
/* Under the lock: n users leave; kind is that of the last one, ns the sum of their values. */
void engine_exit_locked(struct device_engine *engine, enum engine_kind kind, unsigned n, int64_t ns);

/*
 * Must the engine be left at the next border, because the daemon asks to yield or the turn is over?
 * Three atomic loads when no client waits.
 */
bool engine_border_asked(const struct device_engine *engine);
/* Does the process hold the engine, and no client ask for it? */
bool engine_undisputed(struct device_engine *engine);
/*
 * Predicted time in ns of the commands that the process has on other engines, of any device; 0:
 * there are none. Leaves engines for commands in flight that are over.
 */
int64_t engine_others_ahead(const struct device_engine *engine);
/*
 * Between two pieces, with nothing of this thread in flight (worker_finish_issued()): yields and
 * waits until it may go on.
 */
void engine_yield(struct device_engine *engine);

/*
 * Is no request expected that is more urgent? None came for ten seconds, and no plan or profile
 * counts what is in flight.
 */
bool engine_is_calm(const struct device_engine *engine);

/*
 * How long a chunk of a copy should take. Each border costs about 20 us, and a more urgent client
 * waits for two chunks. So chunks are long only while the engine is calm.
 */
int64_t engine_chunk_ns(const struct device_engine *engine);

/*
 * The engine of the same device for this kind. Bandwidths and reports are those of a direction,
 * also while one engine runs the copies of both.
 */
struct device_engine *engine_of_kind(const struct device_engine *engine, enum engine_kind kind);

/* Copies: expected nanoseconds, and one measurement. */
int64_t engine_predict_copy(const struct device_engine *engine, size_t bytes);
void engine_learn_copy(struct device_engine *engine, size_t bytes, int64_t ns);

/*
 * An instant for pthread_cond_timedwait(), which uses CLOCK_REALTIME. ns: from now, less than a
 * second.
 */
struct timespec engine_deadline(long ns);

/* One run on the engine in CLOCK_MONOTONIC, for the trace and the occupying times. */
void engine_report(struct device_engine *engine, baton_nsec begin_at, baton_nsec end_at,
                   const struct lease_work *work);
/*
 * The driver has worked for `length` on a command of the running job (lease_used()), until `ended`
 * in its clock.
 */
void engine_used(struct device_engine *engine, struct device_clock *clock, uint64_t ended, uint64_t length);
/* The same as engine_report(), with times of a driver's clock. */
void engine_report_driver(struct device_engine *engine, struct device_clock *clock, uint64_t started,
                          uint64_t ended, const struct lease_work *work);

#endif
