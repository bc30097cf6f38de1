/*
 * The state of the engine in one process, its start and its end. A front calls runtime_init() once,
 * before any other function of this folder and before it has threads of its own.
 *
 *     front's initialisation: runtime_init(&ops)
 *     first device:           engine_device_init() opens the session with the daemon
 *     exit handler:           stop the front's issuers of commands; worker_announce_stop(); stop
 *                             the front's own threads; runtime_stop()
 *     forked child:           runtime_off() is true, and every entry point calls the driver only
 *
 * Locks, in the order in which they may be nested: the front's records -> graph.lock -> engine
 * locks (leaves). The session's lock may be taken under graph.lock. The recorder's lock and device
 * clocks' are leaves.
 */
#ifndef ENGINE_RUNTIME_H
#define ENGINE_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client/session.h"
#include "client/settings.h"
#include "engine/driver_ops.h"
#include "engine/engine_device.h"
#include "engine/recorder.h"

struct runtime {
    const struct driver_ops *ops; /* the following three: written once by runtime_init() */
    struct settings settings;
    bool queue_everything; /* tests: no command goes to the driver from the calling thread */

    /* a forked child, or the end of the process: only call the driver */
    atomic_bool passes;

    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        unsigned n_alive; /* submitted, not complete */
    } graph;

    struct engine_device *_Atomic devices;
    atomic_bool stopping; /* worker_announce_stop() */

    struct session *_Atomic session;
    atomic_bool refused;
    pthread_once_t session_once;
    atomic_uint exit_handlers;

    struct {                  /* the plan as the hot path reads it: without the session's lock */
        pthread_mutex_t lock; /* one writer at a time, so that the newest stays */
        atomic_bool slicing;
        atomic_bool saves_state, peer_copies, exact;
        atomic_llong piece, chunk_in, chunk_out;
        atomic_uint gpus;
        atomic_ullong gpu_set;
        atomic_uint number; /* of plans taken so far */
    } plan;

    struct {
        atomic_bool open;
        atomic_uint number;
    } job;

    struct recorder recorder;
};

extern struct runtime runtime;

/* Reads the settings from the environment. The table is borrowed for ever. */
void runtime_init(const struct driver_ops *ops);

struct session *runtime_open_session(void);

/*
 * The session with the daemon, opened when first needed: a program that only lists devices never
 * connects. NULL: no memory or no thread, or a daemon is required and absent (then
 * runtime_refused()).
 */
static inline struct session *runtime_session(void)
{
    struct session *known = atomic_load_explicit(&runtime.session, memory_order_acquire);

    return known ? known : runtime_open_session();
}
bool runtime_refused(void);

/* Adds to a counter, if there is a session. */
void runtime_count(enum session_counter counter, uint64_t n);

static inline bool runtime_off(void)
{
    return atomic_load_explicit(&runtime.passes, memory_order_relaxed);
}

/*
 * Registers the front's handler with atexit(): when a queue is made, and after each build. The
 * handler must run before the driver's own exit handlers and the destructors of its statics: a
 * running build of the front would lose the compiler. Handlers run in reverse order of
 * registration, and compilers make their statics when first used. So the handler is registered
 * again after every build, at most RUNTIME_EXIT_HANDLERS times: later builds make no new statics.
 */
void runtime_stop_at_exit(void (*handler)(void));
enum { RUNTIME_EXIT_HANDLERS = 64 };

/*
 * At exit, after worker_announce_stop(): joins the workers (patience: worker_stop_all()), writes
 * records and statistics; then runtime_off(). From then on no thread waits for a held-back command:
 * such commands never run.
 */
void runtime_stop(baton_nsec patience);

#endif
