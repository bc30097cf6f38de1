#include "client/join.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "client/session_private.h"

static struct session *_Atomic offered;

void join_offer(struct session *session)
{
    atomic_store(&offered, session);
}

static int job_begin(void)
{
    struct session *session = atomic_load(&offered);

    if (!session)
        return -ENOTCONN;
    session_job_begin(session, true, clock_now());
    return 0;
}

static int job_end(void)
{
    struct session *session = atomic_load(&offered);

    if (!session)
        return -ENOTCONN;
    session_job_end(session, true, clock_now());
    return 0;
}

static int job_report(struct baton_job_report *ret_report)
{
    struct session *session = atomic_load(&offered);
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

const struct join_hooks join_hooks = {JOIN_VERSION, job_begin, job_end, job_report};
