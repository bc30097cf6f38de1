#include "engine/inferred_job.h"

#include "base/clock.h"
#include "engine/flight.h"
#include "engine/graph.h"
#include "engine/runtime.h"

void inferred_job_begin(void)
{
    struct session *session;
    bool closed = false;

    if (!atomic_compare_exchange_strong(&runtime.job.open, &closed, true))
        return;
    atomic_fetch_add(&runtime.job.number, 1);
    session = runtime_session();
    if (session)
        session_job_begin(session, false, clock_now());
}

void inferred_job_waited(void)
{
    const struct driver_ops *ops;
    struct session *session;

    for (struct engine_device *device = engine_devices(); device; device = device->next)
        for (int kind = 0; kind < ENGINE_N; kind++) {
            flight_reap(&device->engines[kind], false);
            if (flight_any(&device->engines[kind]))
                return;
        }
    if (!atomic_load_explicit(&runtime.job.open, memory_order_relaxed) || !graph_idle())
        return;
    session = runtime_session();
    if (session) {
        session_job_ending(session, false);
        session_job_end(session, false, clock_now());
    }
    for (unsigned i = 0; (ops = runtime_front(i)); i++)
        if (ops->job_over)
            ops->job_over();
    atomic_store(&runtime.job.open, false);
}

unsigned inferred_job_number(void)
{
    return atomic_load(&runtime.job.number);
}
