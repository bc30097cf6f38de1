/*
 * The releases of a task against its period in the plan. Every analysis counts jobs that are
 * released a period apart. A job that comes earlier is work that no bound counts: the claims are
 * lost until an idle instant (daemon/regain.h), after which releases are a period apart again.
 *
 * The instants are those that the client reports with its jobs. A program that does not state its
 * releases (baton_job_begin_at()) is released when it begins. GPU commands between two jobs are a
 * job of their own, which is released with the first of them.
 */
#ifndef DAEMON_RELEASES_H
#define DAEMON_RELEASES_H

#include "base/nsec.h"

struct peer;
struct plan_task;
struct server;

/*
 * A job is released at peer->release_at. task: its entry in the plan, or NULL; last_at: the release
 * of the client's last job, 0: there was none. The first job of a client that ends a claim is
 * reported.
 */
void releases_check(struct server *server, struct peer *peer, const struct plan_task *task,
                    baton_nsec last_at);

#endif
