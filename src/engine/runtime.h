/*
 * The state of the engine in one process, its start and its end. All fronts that a program uses
 * share it: one session, one graph, one recorder. Each front calls runtime_init() once, before any
 * other function of this folder and before it has threads of its own.
 *
 *     front's initialisation: runtime_init(&ops)
 *     first device:           engine_device_init() opens the session with the daemon
 *     exit handler:           stops the fronts' issuers of commands, all waits for grants, the
 *                             fronts' own threads and the workers, in this order; writes records
 *                             and statistics
 *     forked child:           runtime_off() is true, and every entry point calls the driver only;
 *                             if no front had begun, the child begins as any program
 *
 * Locks, in the order in which they may be nested: the front's records -> graph.lock -> an engine's
 * lock -> the session's lock. devices_lock and plan.lock come before the session's lock too. Under
 * an engine's lock and the recorder's lock the engine asks the driver about marks (driver_ops.h).
 * The locks of device clocks are leaves.
 */
#ifndef ENGINE_RUNTIME_H
#define ENGINE_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "client/session.h"
#include "client/settings.h"
#include "engine/command_queue.h"
#include "engine/driver_ops.h"
#include "engine/engine_device.h"
#include "engine/recorder.h"

enum { RUNTIME_FRONTS = 2 }; /* OpenCL and CUDA */

struct runtime {
    const struct driver_ops *_Atomic fronts[RUNTIME_FRONTS]; /* in the order of their beginning; then NULL */
    struct settings settings; /* the following two: written by the first runtime_init() */
    bool queue_everything;    /* tests: no command goes to the driver from the calling thread */

    /* a forked child, or the end of the process: only call the driver */
    atomic_bool passes;

    struct {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        unsigned n_alive; /* submitted, not complete */
    } graph;

    atomic_uint_least64_t n_queues; /* made so far */

    struct engine_device *_Atomic devices;
    pthread_mutex_t devices_lock; /* one device is made at a time */
    atomic_bool stopping;         /* worker_announce_stop() */

    struct session *_Atomic session;
    atomic_bool refused;
    pthread_once_t session_once;
    pthread_once_t init_once;
    atomic_uint exit_handlers[RUNTIME_FRONTS];

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
        atomic_uint state; /* engine/inferred_job.h */
        atomic_uint number;
    } job;

    struct recorder recorder;
};

extern struct runtime runtime;

/*
 * The first call reads the settings from the environment. The table is borrowed for ever; NULL: no
 * front begins, and only the session is wanted.
 */
void runtime_init(const struct driver_ops *ops);

/* The fronts that have begun, from index 0 on; NULL: there are no more. */
static inline const struct driver_ops *runtime_front(unsigned index)
{
    return index < RUNTIME_FRONTS ? atomic_load_explicit(&runtime.fronts[index], memory_order_acquire) : NULL;
}

struct session *runtime_open_session(void);

/*
 * The session with the daemon, opened when first needed: a program that only lists devices never
 * connects. NULL: no memory, no thread, or a required daemon is absent (then runtime_refused()).
 */
static inline struct session *runtime_session(void)
{
    struct session *known = atomic_load_explicit(&runtime.session, memory_order_acquire);

    return known ? known : runtime_open_session();
}
bool runtime_refused(void);

/* Adds to a counter, if there is a session. */
void runtime_count(enum session_counter counter, uint64_t n);

/* --- what every launch asks; policy.h, recorder.h and pipe.h have the rest --- */

/* automatic: is it done if no number was given? */
static inline bool runtime_cutting(int64_t setting, bool automatic)
{
    return setting == SETTING_AUTO ? automatic : setting > 0;
}

/* Is the program a task of the plan? A setting, which never changes. */
static inline bool policy_tasked(void)
{
    return runtime.settings.task[0] != 0;
}

/* policy_resolve() without a call. */
static inline void runtime_policy(struct policy *ret_policy)
{
    struct session *session = runtime_session();
    bool online = session && session_online(session);
    bool automatic = online && atomic_load_explicit(&runtime.plan.slicing, memory_order_relaxed);

    *ret_policy = (struct policy){
        .session = session,
        .online = online,
        .slicing = runtime_cutting(runtime.settings.slice, automatic),
        .chunking = runtime_cutting(runtime.settings.chunk, automatic),
        .tasked = policy_tasked(),
        .exact = atomic_load_explicit(&runtime.plan.exact, memory_order_relaxed),
        .piece = atomic_load_explicit(&runtime.plan.piece, memory_order_relaxed),
    };
}

/*
 * Decides for a draft, or for a command that never was one, which engine and policy it has. Its
 * queue and kind are filled in. graph_open() does this where the front has not.
 */
static inline void command_resolve(struct command *command)
{
    command->runs_on = engine_device_for(command->queue->device, command->engine);
    command->ops = command->queue->device->ops;
    runtime_policy(&command->policy);
}

static inline bool recorder_on(void)
{
    return runtime.recorder.on;
}

/* The process ends (worker_announce_stop()): waits for grants end, pieces at their next border. */
static inline bool runtime_stopping(void)
{
    return atomic_load_explicit(&runtime.stopping, memory_order_relaxed);
}

static inline bool runtime_off(void)
{
    return atomic_load_explicit(&runtime.passes, memory_order_relaxed);
}

/*
 * Registers the exit handler with atexit(): when a queue is made, and after each build.
 *
 * The handler must run before the driver's own exit handlers and the destructors of its statics.
 * Otherwise a running build of the front would lose the compiler. Handlers run in reverse order of
 * registration, and compilers make their statics when first used. So the handler is registered
 * again after every build, at most RUNTIME_EXIT_HANDLERS times per front: later builds make no new
 * statics.
 *
 * ops: the front whose driver has registered handlers; NULL: none.
 */
void runtime_stop_at_exit(const struct driver_ops *ops);
enum { RUNTIME_EXIT_HANDLERS = 64 };

/*
 * What the exit handler does, once; then runtime_off() is true. From then on no thread waits for a
 * held-back command: such commands never run, and their handles end with a failure.
 */
void runtime_stop(void);

#endif
