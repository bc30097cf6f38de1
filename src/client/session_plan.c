/*
 * The plan of a session: the newest from the daemon, and the one in force. A plan marked
 * PLAN_BORDER comes into force between two jobs. If no job runs, that is at once; else right after
 * the running job, on the session's thread. Then the daemon is told, and changes the priority.
 */
#include "client/session_private.h"
#include "wire/rank.h"

void session_plan_take(struct session *session)
{
    struct frame frame = {.type = FRAME_TAKEN};
    struct session_plan plan;

    pthread_mutex_lock(&session->lock);
    session->plan = session->protocol.plan;
    atomic_store(&session->bound, session->plan.bound);
    frame.taken.serial = session->plan.serial;
    protocol_send(&session->protocol, &frame);
    session_flush(session);
    pthread_mutex_unlock(&session->lock);
    session_plan(session, &plan);
    if (session->plan.flags & PLAN_CPUS)
        os_priority_leave(&session->os_priority);
    else
        os_priority_set(&session->os_priority, rank_level(session->plan.flags & PLAN_TASK, plan.priority));
    if (session->listener.on_plan)
        session->listener.on_plan(session->listener.user, &plan);
}

void session_plan_came(struct session *session)
{
    bool border;
    bool waits;

    pthread_mutex_lock(&session->lock);
    border = (session->protocol.plan.flags & PLAN_BORDER) != 0;
    pthread_mutex_unlock(&session->lock);
    pthread_mutex_lock(&session->jobs_lock);
    waits = border && session->jobs.running;
    session->plan_waits = waits;
    pthread_mutex_unlock(&session->jobs_lock);
    if (!waits)
        session_plan_take(session);
}

void session_plan_border(struct session *session)
{
    if (!session->plan_waits)
        return;
    session->plan_waits = false;
    atomic_store(&session->plan_due, true);
    session_wake(session);
}

void session_plan(const struct session *session, struct session_plan *ret_plan)
{
    struct session *mutable = (struct session *)session;
    struct frame_plan plan = {.flags = PLAN_SLICING};

    if (!session_forked(session)) {
        pthread_mutex_lock(&mutable->lock);
        /* A plan without PLAN_BORDER is in force as soon as it arrives. */
        plan = session->protocol.plan.flags & PLAN_BORDER ? session->plan : session->protocol.plan;
        pthread_mutex_unlock(&mutable->lock);
    }
    *ret_plan = (struct session_plan){
        .priority = plan.priority,
        .gpus = plan.gpus,
        .gpu_set = plan.gpu_set,
        .gpu_cluster = plan.gpu_cluster,
        .cpu_cluster = plan.cpu_cluster,
        .piece = (baton_nsec)plan.piece,
        .chunk_in = (int64_t)plan.chunk_in,
        .chunk_out = (int64_t)plan.chunk_out,
        .bound = (baton_nsec)plan.bound,
        .slicing = (plan.flags & PLAN_SLICING) != 0,
        .best_effort = (plan.flags & PLAN_EFFORT) != 0,
        .saves_state = (plan.flags & PLAN_SAVES) != 0,
        .peer_copies = (plan.flags & PLAN_PEERS) != 0,
        .exact = (plan.flags & PLAN_EXACT) != 0,
    };
}
