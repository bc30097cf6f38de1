#include "client/join.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "client/client_process.h"
#include "client/session_private.h"

void join_offer(struct session *session)
{
    atomic_store(&client_process.offered, session);
}

static int job_begin(void)
{
    struct session *session = atomic_load(&client_process.offered);

    if (!session)
        return -ENOTCONN;
    session_job_begin(session, true, clock_now());
    return 0;
}

static int job_begin_at(int64_t release_ns)
{
    struct session *session = atomic_load(&client_process.offered);

    return session ? session_job_begin_released(session, release_ns, clock_now()) : -ENOTCONN;
}

static int job_end(void)
{
    struct session *session = atomic_load(&client_process.offered);

    if (!session)
        return -ENOTCONN;
    session_job_ending(session, true);
    session_job_end(session, true, clock_now());
    return 0;
}

static int job_gpu_done(void)
{
    struct session *session = atomic_load(&client_process.offered);

    if (!session)
        return -ENOTCONN;
    session_job_gpu_done(session);
    return 0;
}

static int job_report(struct baton_job_report *ret_report)
{
    struct session *session = atomic_load(&client_process.offered);
    const struct jobs *jobs;

    if (!session)
        return -ENOTCONN;
    if (session_forked(session))
        return -ECHILD;
    jobs = &session->jobs;
    pthread_mutex_lock(&session->jobs_lock);
    *ret_report = (struct baton_job_report){
        .jobs = jobs->n,
        .misses = jobs->misses,
        .response_p50 = jobs_percentile(jobs, 500),
        .response_p99 = jobs_percentile(jobs, 990),
        .response_max = jobs->response_max,
        .response_sum = jobs->response_sum,
        .pending_sum = jobs->pending_sum,
        .compute_occupying_sum = jobs->compute_sum,
        .copy_occupying_sum = jobs->copy_sum,
        .jitter_max = jobs->jitter_max,
        .tardiness_max = jobs->tardiness_max,
    };
    pthread_mutex_unlock(&session->jobs_lock);
    return 0;
}

static int group_take(const struct lease_group_engine engines[], size_t n, struct lease_group *ret_group)
{
    return lease_group_take(atomic_load(&client_process.offered), engines, n, ret_group);
}

static void name_device(uintptr_t device, char name[DEVICE_NAME_SIZE])
{
    session_name_device(atomic_load(&client_process.offered), device, name);
}

const struct join_hooks join_hooks = {.version = JOIN_VERSION,
                                      .job_begin = job_begin,
                                      .job_begin_at = job_begin_at,
                                      .job_gpu_done = job_gpu_done,
                                      .job_end = job_end,
                                      .job_report = job_report,
                                      .group_take = group_take,
                                      .group_end = lease_group_end,
                                      .name_device = name_device};
