#include "engine/inferred_job.h"

#include "base/clock.h"
#include "engine/flight.h"
#include "engine/graph.h"
#include "engine/runtime.h"

void inferred_job_begin(void)
{
    unsigned before = atomic_fetch_or(&runtime.job.state, INFERRED_JOB_OPEN);
    struct session *session;

    if (before == INFERRED_JOB_OPEN)
        return;
    if (!(before & INFERRED_JOB_OPEN))
        atomic_fetch_add(&runtime.job.number, 1);
    session = runtime_session();
    if (session)
        session_job_begin(session, false, clock_now());
}

void inferred_job_on_explicit(void *user, bool begins)
{
    (void)user;
    if (begins)
        atomic_fetch_and(&runtime.job.state, ~INFERRED_JOB_OUTSIDE);
    else
        atomic_fetch_or(&runtime.job.state, INFERRED_JOB_OUTSIDE);
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
    if (!(atomic_load_explicit(&runtime.job.state, memory_order_relaxed) & INFERRED_JOB_OPEN) ||
        !graph_idle())
        return;
    session = runtime_session();
    if (session) {
        session_job_ending(session, false);
        session_job_end(session, false, clock_now());
    }
    for (unsigned i = 0; (ops = runtime_front(i)); i++)
        if (ops->job_over)
            ops->job_over();
    atomic_fetch_and(&runtime.job.state, ~INFERRED_JOB_OPEN);
}

unsigned inferred_job_number(void)
{
    return atomic_load(&runtime.job.number);
}
