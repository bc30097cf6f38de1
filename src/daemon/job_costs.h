/*
 * The cost of a job against the one that the analysis counts (`cost_ms` of the plan). Under tokens
 * with ordered CPUs only; every CPU cluster by itself, with c CPUs.
 *
 * Fair lateness takes a job that waits or sleeps for one that computes. So it rests on one number
 * of a job, its cost: the time in which the job is pending and fewer than c pending jobs have an
 * earlier priority point. It does not matter what the job does then. It may compute, use a GPU,
 * wait for a token, an engine or a core, or sleep: all of that is part of C.
 *
 * A job is pending from its release to its end, but not before the task's last job has ended.
 * batond learns of a release when the job begins. So the time between the two counts as well, for
 * example that of a program that was stopped before it could begin. A program that sleeps then, or
 * within its job, has a higher cost. It delays others by no more than that.
 *
 * Claim: let t be an idle instant (daemon/regain.h), let releases of a task be a period apart, and
 * let no job that is released after t have a higher cost than its task in the plan. Then no bound
 * is exceeded. Proof. Give the CPUs at every instant to the pending jobs with the c earliest
 * points. That is a schedule by global priority points of jobs that need their costs. It starts
 * empty at t, and in it no job needs more than C. Fair lateness bounds every such schedule. A job
 * that stays pending beyond its cost, because c others have earlier points, can be taken for one
 * that needs a little more. So the bound covers it up to its end. []
 *
 * The jobs that batond knows are such a schedule by themselves. A job that it does not know yet can
 * only take time from them, so that their costs are too high. So a job is beyond its bound only
 * after some cost was exceeded. batond computes the costs before it counts such a job against a
 * claim (observe.c), and the claims are lost by then.
 *
 * A system that is as the analysis has it keeps its claims: tests/sim/test_bounds.c compares the
 * costs of simulated jobs with C, which many of them reach.
 */
#ifndef DAEMON_JOB_COSTS_H
#define DAEMON_JOB_COSTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/nsec.h"

/*
 * Jobs that have ended and are kept. If more end while another job is pending, its cost is too
 * high, and a claim may be lost without need.
 */
#define JOB_COSTS_KEPT    4096
#define JOB_COSTS_PENDING 512 /* most clients that are counted at a time */

/* When a job is, or was, pending. */
struct job_span {
    baton_nsec from_at, to_at; /* to_at NSEC_MAX: it is pending */
    baton_nsec point_at;       /* its priority point */
    uint64_t number;           /* of jobs with one point the first released goes first */
    unsigned cpu_cluster;
};

struct job_costs {
    struct job_span ended[JOB_COSTS_KEPT]; /* a ring, by to_at */
    uint64_t n_ended, n_begun;             /* ever */
    /* of the present computation */
    baton_nsec begins[JOB_COSTS_KEPT + JOB_COSTS_PENDING], ends[JOB_COSTS_KEPT + JOB_COSTS_PENDING];
};

struct peer;
struct server;

/*
 * The time in [from_at, until) at which fewer than `cpus` of the n intervals [begins[i], ends[i])
 * are under way. They lie in [from_at, until); ends[] ascends, and begins[] is sorted by the call.
 */
baton_nsec job_costs_outside(baton_nsec from_at, baton_nsec until, baton_nsec begins[],
                             const baton_nsec ends[], size_t n, unsigned cpus);

/*
 * The peer's job is known from now on, or known better: it was released at peer->release_at, and
 * has this point.
 */
void job_costs_begun(struct server *server, struct peer *peer, baton_nsec point_at);
/* What its job, which is pending, costs up to now. */
baton_nsec job_costs_so_far(struct server *server, const struct peer *peer);
/* The core has ended the job. */
void job_costs_ended(struct server *server, struct peer *peer);
/* Loses the claims if a pending job has a higher cost by now than the plan has for it. */
void job_costs_look(struct server *server);

#endif
