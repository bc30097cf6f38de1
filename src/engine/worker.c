#include "engine/worker.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/lease.h"
#include "client/session.h"
#include "client/os_priority.h"
#include "engine/graph.h"
#include "engine/runtime.h"
#include "engine/step.h"

/*
 * Under the graph's lock, unlocked meanwhile: runs the callbacks that are due. They may take long;
 * a thread that waits for the engine's commands drives the engine meanwhile. If the daemon asks for
 * the lease, another thread does (worker_drain()).
 */
static bool run_called(struct device_engine *engine)
{
    struct command_callback *due = engine->called;
    bool keeps = step_has_work(engine);

    if (!due)
        return false;
    engine->called = NULL;
    if (keeps)
        graph_wake_locked();
    engine->calling++;
    if (engine->stopping)
        pthread_cond_broadcast(&engine->work);
    graph_unlock();
    if (keeps && engine->lease)
        lease_arm_reaper(engine->lease, true);
    graph_run_callbacks(due);
    graph_lock();
    engine->calling--;
    return true;
}

static void *run_worker(void *argument)
{
    struct device_engine *engine = argument;
    struct session *session = runtime_session();

    if (session)
        session_register_thread(session, gettid());
    step_thread.serving = engine;
    graph_lock();
    engine->rank = os_priority_rank();
    while (!engine->left && (!engine->stopping || engine->called))
        if (!run_called(engine) && !step_run(engine, NULL))
            pthread_cond_wait(&engine->work, &runtime.graph.lock);
    engine->gone = true;
    pthread_cond_broadcast(&engine->work);
    graph_unlock();
    return NULL;
}

/* In the worker's place, while it is in program code. */
static void *run_relief(void *argument)
{
    struct device_engine *engine = argument;
    struct session *session = runtime_session();

    if (session)
        session_register_thread(session, gettid());
    graph_lock();
    while (!engine->stopping) {
        bool stepped;

        engine->relieving = true;
        stepped = engine->calling && step_run(engine, NULL);
        engine->relieving = false;
        if (stepped)
            continue;
        if (step_has_work(engine)) /* the worker is back */
            pthread_cond_signal(&engine->work);
        pthread_cond_wait(&engine->relief, &runtime.graph.lock);
    }
    graph_unlock();
    return NULL;
}

/* Without the program's signals. */
static bool create(pthread_t *thread, void *(*run)(void *), struct device_engine *engine)
{
    sigset_t all, old;
    bool created;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    created = pthread_create(thread, NULL, run, engine) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return created;
}

/* Under the graph's lock. If no thread can be had, any thread that waits may drive the engine. */
static void start(struct device_engine *engine)
{
    if (engine->started || engine->stopping)
        return;
    engine->started = create(&engine->thread, run_worker, engine);
    if (!engine->started)
        engine->rank = ENGINE_ANY_RANK;
}

void worker_ready(struct device_engine *engine, struct command *command)
{
    list_append(&engine->ready, &command->in_ready);
    start(engine);
    /* otherwise this thread may take the command, or wakes the worker */
    if (step_thread.helping != engine->device)
        pthread_cond_signal(&engine->work);
    if (engine->calling || !engine->started) { /* the worker cannot take it now */
        graph_wake_locked();
        pthread_cond_signal(&engine->relief);
    }
}

bool worker_drives(const struct device_engine *engine)
{
    return step_thread.driving == engine;
}

bool worker_call(struct device_engine *engine, struct command_callback *due)
{
    struct command_callback **tail;
    bool taken;

    if (!step_thread.driving)
        return false;
    graph_lock();
    taken = engine->started && !engine->gone;
    if (taken) {
        for (tail = &engine->called; *tail; tail = &(*tail)->next)
            ;
        *tail = due;
        pthread_cond_signal(&engine->work);
    }
    graph_unlock();
    return taken;
}

/*
 * The daemon must be able to boost a holder, if there is a daemon. A program's thread does not wait
 * for other devices.
 */
static bool may_help(const struct driver_ops *ops)
{
    struct session *session = runtime_session();

    if (step_thread.driving || runtime_stopping() || (ops->spread_idle && !ops->spread_idle()))
        return false;
    if (!step_thread.registered && session && session_online(session)) {
        step_thread.registered = session_has_thread(session, gettid());
        if (!step_thread.registered)
            return false;
    }
    if (!step_thread.helping)
        step_thread.rank = os_priority_rank();
    return true;
}

bool worker_help(const struct command_queue *queue, const struct command *last)
{
    const struct helper_wait wait = {queue, last};

    if (may_help(queue->device->ops)) {
        step_thread.helping = queue->device;
        for (int kind = 0; kind < ENGINE_N; kind++)
            if (step_run(&queue->device->engines[kind], &wait))
                return true;
    }
    worker_help_ends();
    return false;
}

void worker_help_ends(void)
{
    step_wake_workers();
    step_thread.helping = NULL;
}

void worker_drain(struct device_engine *engine)
{
    graph_lock();
    engine->drain = true;
    start(engine);
    pthread_cond_signal(&engine->work);
    if (engine->calling && !engine->relieved && !engine->stopping)
        engine->relieved = create(&engine->relief_thread, run_relief, engine);
    pthread_cond_signal(&engine->relief);
    graph_unlock();
}

/* Under the graph's lock: from now on no thread begins a step. */
static void announce_to(struct device_engine *engine)
{
    engine->stopping = true;
    pthread_cond_broadcast(&engine->work);
    pthread_cond_broadcast(&engine->relief);
}

/*
 * Waits until no thread works for the engine, or the time is over (NULL: no limit). Ends early if a
 * thread is in the program's code, which may never come back, and no other thread does a step.
 */
static void stop(struct device_engine *engine, const struct timespec *until)
{
    bool others; /* threads other than the calling thread */
    bool relieved;
    int result = 0;

    graph_lock();
    while ((others = (engine->started && !engine->gone && engine != step_thread.serving) ||
                     (engine->driven && !worker_drives(engine))) &&
           engine->calling <= engine->relieving && result == 0)
        result = until ? pthread_cond_timedwait(&engine->work, &runtime.graph.lock, until)
                       : pthread_cond_wait(&engine->work, &runtime.graph.lock);
    engine->left = others;
    relieved = engine->relieved;
    engine->relieved = false;
    if (others && engine->started) {
        (void)pthread_detach(engine->thread); /* it may still end before the process does */
        engine->started = false;
    }
    graph_unlock();
    if (relieved && others)
        (void)pthread_detach(engine->relief_thread);
    if (others)
        return;
    if (relieved)
        pthread_join(engine->relief_thread, NULL);
    if (engine->started && engine != step_thread.serving)
        pthread_join(engine->thread, NULL);
    if (!worker_drives(engine))
        step_end_stay(engine);
}

void worker_announce_stop(void)
{
    atomic_store(&runtime.stopping, true);
}

/* The shortest limit of the fronts whose devices share the engines; 0: none has one. */
static baton_nsec patience_with(const struct engine_device *owner)
{
    baton_nsec least = 0;

    for (const struct engine_device *device = engine_devices(); device; device = device->next) {
        baton_nsec limit = device->engines == owner->own ? device->ops->exit_patience : 0;

        if (limit && (!least || limit < least))
            least = limit;
    }
    return least;
}

static void stop_device(struct engine_device *device, baton_nsec begin_at)
{
    baton_nsec patience = patience_with(device), spent = clock_now() - begin_at;
    struct timespec until = engine_deadline(patience > spent ? (long)(patience - spent) : 0);

    for (int kind = 0; kind < ENGINE_N; kind++)
        stop(&device->own[kind], patience ? &until : NULL);
}

/*
 * All engines stop before the first one is waited for. A worker that wakes meanwhile must not begin
 * to wait for a kernel that never ends.
 */
void worker_stop_all(void)
{
    baton_nsec begin_at = clock_now();

    for (struct engine_device *device = engine_devices(); device; device = device->next)
        for (int kind = 0; kind < ENGINE_N && device->engines == device->own; kind++) {
            struct device_engine *engine = &device->own[kind];

            graph_lock();
            announce_to(engine);
            graph_unlock();
            pthread_mutex_lock(&engine->lock);
            pthread_cond_broadcast(&engine->changed);
            pthread_mutex_unlock(&engine->lock);
        }
    for (struct engine_device *device = engine_devices(); device; device = device->next)
        if (device->engines == device->own)
            stop_device(device, begin_at);
}
