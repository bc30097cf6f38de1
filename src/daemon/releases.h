/*
 * The releases of a task against its period in the plan. Every analysis counts jobs that are
 * released a period apart. A job that comes earlier is work that no bound counts. So are GPU
 * commands outside of jobs, and in warm-up jobs (`--warm`), which have neither budget nor response.
 * The claims are lost until an idle instant (daemon/regain.h). After it, releases are a period
 * apart again.
 *
 * Every analysis takes a job for one that is ready at its release. A program may be stopped, or
 * sleep, before it begins a job whose release it states. Then its jobs come in a burst, and delay
 * others by more than was counted. A job that begins when its bound has passed loses the claims,
 * too. Under tokens the cost of the job shows any such time (daemon/job_costs.h).
 *
 * A program that does not state its releases (baton_job_begin_at()) is released when it begins. The
 * client notes the times between its releases in its page, with or without JOB frames. A note does
 * not wait in a socket: batond takes all notes before it judges a job that exceeded its bound.
 *
 * Under tokens batond also compares the jobs in its core. A command may be submitted within a job
 * and reach its engine after the end of that job. It then needs a token of its own, like a job, and
 * only batond sees that.
 */
#ifndef DAEMON_RELEASES_H
#define DAEMON_RELEASES_H

#include "base/nsec.h"

struct peer;
struct plan_task;
struct server;
struct task_entry;

/* Takes what the clients have noted in their pages. Call it before a claim is relied on. */
void releases_look(struct server *server);

/* The client leaves its task: the first job of the next process is compared with its last one. */
void releases_depart(struct task_entry *entry, const struct peer *peer);

/*
 * Under tokens: a job is released at peer->release_at. task: its entry in the plan, or NULL;
 * last_at: the release of the client's last job, 0: there was none.
 */
void releases_check(struct server *server, struct peer *peer, const struct plan_task *task,
                    baton_nsec last_at);

#endif
