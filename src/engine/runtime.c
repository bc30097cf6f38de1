#include "engine/runtime.h"

#include <errno.h>
#include <stdlib.h>

#include "client/join.h"
#include "client/lease.h"
#include "engine/graph.h"
#include "engine/inferred_job.h"
#include "engine/worker.h"

struct runtime runtime = {
    .graph = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
    .devices_lock = PTHREAD_MUTEX_INITIALIZER,
    .session_once = PTHREAD_ONCE_INIT,
    .init_once = PTHREAD_ONCE_INIT,
    .plan.lock = PTHREAD_MUTEX_INITIALIZER,
    .recorder = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1},
};

static void take_plan(struct session *from)
{
    struct session_plan now;

    pthread_mutex_lock(&runtime.plan.lock);
    session_plan(from, &now);
    atomic_store(&runtime.plan.slicing, now.slicing);
    atomic_store(&runtime.plan.piece, now.piece);
    atomic_store(&runtime.plan.chunk_in, now.chunk_in);
    atomic_store(&runtime.plan.chunk_out, now.chunk_out);
    atomic_store(&runtime.plan.saves_state, now.saves_state);
    atomic_store(&runtime.plan.peer_copies, now.peer_copies);
    atomic_store(&runtime.plan.exact, now.exact);
    atomic_store(&runtime.plan.gpus, now.gpus);
    atomic_store(&runtime.plan.gpu_set, now.gpu_set);
    atomic_fetch_add(&runtime.plan.number, 1);
    pthread_mutex_unlock(&runtime.plan.lock);
}

static void on_plan(void *user, const struct session_plan *unused)
{
    struct session *known = atomic_load(&runtime.session);

    (void)user;
    (void)unused;
    if (known)
        take_plan(known);
}

/* On the session's thread: has the worker of that engine wait for the commands in flight. */
static void on_yield(void *user, struct lease *lease)
{
    (void)user;
    for (struct engine_device *device = engine_devices(); device; device = device->next)
        for (int kind = 0; kind < ENGINE_N; kind++)
            if (device->engines[kind].lease == lease)
                worker_drain(&device->engines[kind]);
}

/* On the program's thread. */
static void on_job_ending(void *user)
{
    const struct driver_ops *ops;

    (void)user;
    for (unsigned i = 0; (ops = runtime_front(i)); i++)
        if (ops->job_ending)
            ops->job_ending();
}

static void open_session(void)
{
    struct session_listener listener = {.on_yield = on_yield,
                                        .on_refused = engine_device_on_refused,
                                        .on_plan = on_plan,
                                        .on_explicit_job = inferred_job_on_explicit,
                                        .on_job_ending = on_job_ending};
    struct session *opened = NULL;
    int code;

    listener.on_job = recorder_on() ? recorder_on_job : NULL;
    code = session_open(&runtime.settings, &listener, &opened);
    if (code == -ECONNREFUSED)
        atomic_store(&runtime.refused, true);
    atomic_store(&runtime.session, code == 0 ? opened : NULL);
    if (code == 0)
        take_plan(opened);
    join_offer(code == 0 ? opened : NULL);
}

struct session *runtime_open_session(void)
{
    pthread_once(&runtime.session_once, open_session);
    return atomic_load_explicit(&runtime.session, memory_order_acquire);
}

bool runtime_refused(void)
{
    (void)runtime_session();
    return atomic_load(&runtime.refused);
}

void runtime_count(enum session_counter counter, uint64_t n)
{
    struct session *session = runtime_session();

    if (session)
        session_count(session, counter, n);
}

/* No front has begun: the child is a program of its own, with a session of its own. */
static void begin_again(void)
{
    static const pthread_once_t never = PTHREAD_ONCE_INIT;

    pthread_mutex_init(&runtime.plan.lock, NULL);
    runtime.session_once = never;
    atomic_store(&runtime.session, NULL);
    atomic_store(&runtime.refused, false);
    if (recorder_on())
        recorder_init();
}

static void in_child(void)
{
    graph_init(); /* another thread of the parent may have held its lock */
    if (runtime_front(0))
        atomic_store(&runtime.passes, true);
    else
        begin_again();
}

static void init(void)
{
    const char *bad;

    settings_from_environment(&runtime.settings, &bad);
    runtime.queue_everything = getenv("BATON_TEST_QUEUE") != NULL;
    recorder_init();
    graph_init();
    (void)pthread_atfork(NULL, NULL, in_child);
}

void runtime_init(const struct driver_ops *ops)
{
    pthread_once(&runtime.init_once, init);
    for (unsigned i = 0; ops && i < RUNTIME_FRONTS; i++) {
        const struct driver_ops *none = NULL;

        if (atomic_compare_exchange_strong(&runtime.fronts[i], &none, ops) || none == ops)
            break;
    }
}

void runtime_stop_at_exit(const struct driver_ops *ops)
{
    unsigned i = 0;

    while (ops && i < RUNTIME_FRONTS - 1 && runtime_front(i) != ops)
        i++;
    if (!ops || atomic_fetch_add(&runtime.exit_handlers[i], 1) < RUNTIME_EXIT_HANDLERS)
        (void)atexit(runtime_stop);
}

/* Several handlers are registered; the first to run does the work. */
void runtime_stop(void)
{
    struct session *known = atomic_load(&runtime.session);
    const struct driver_ops *ops;

    if (runtime_off())
        return;
    for (unsigned i = 0; (ops = runtime_front(i)); i++)
        if (ops->stop_issuers)
            ops->stop_issuers();
    worker_announce_stop();
    for (unsigned i = 0; (ops = runtime_front(i)); i++)
        if (ops->stop_threads)
            ops->stop_threads();
    worker_stop_all();
    recorder_stop();
    if (known && runtime.settings.stats[0])
        (void)session_write_stats(known, runtime.settings.stats);
    if (known)
        session_restore_threads(known);
    /* later calls of other handlers go straight to the driver */
    atomic_store(&runtime.passes, true);
    graph_lock();
    graph_wake_locked();
    graph_unlock();
    for (unsigned i = 0; (ops = runtime_front(i)); i++)
        if (ops->stopped)
            ops->stopped();
}
