/*
 * Budgets: the engine time that the plan gives a job (`budget_ms`). The core charges holds and says
 * when a job has used more (SCHED_OVERRUN). Then no bound of the plan is claimed (rule `overrun`),
 * and config.overrun says what follows:
 *
 *   off       nothing. Without tokens the time is not measured, and leases may be kept
 *   demote    the core ranks the job below all others until it ends
 *   throttle  the job gives its engines back at its next border, and goes on with a new budget at
 *             its release plus a whole number of periods; under tokens its token goes back, too
 *   end       the host ends the process; its GPU work drains as after any death (X1). Under tokens
 *             a job that the program did not report is throttled instead: start-up, such as an
 *             upload of weights, is no job of the plan
 *
 * Without tokens a budget begins where the client says that a job begins.
 */
#ifndef DAEMON_BUDGETS_H
#define DAEMON_BUDGETS_H

#include "daemon/peer.h"

/* The client's entry in the plan in force, or NULL. */
const struct plan_task *budgets_task(const struct server *server, const struct peer *peer);
/* The deadline that the client announced, else its period, from the release; 0: neither. */
baton_nsec budgets_deadline(const struct peer *peer);
/* When the job with this deadline was released; now if it has none. */
baton_nsec budgets_release_at(const struct server *server, const struct peer *peer, baton_nsec deadline_at);

/* Without tokens: the client says that a job begins. */
void budgets_job_begins(struct server *server, struct peer *peer, baton_nsec deadline_at);
/* SCHED_OVERRUN: the job has used up its budget. */
void budgets_overrun(struct server *server, struct peer *peer);
/* Charges holders, and lets throttled jobs go on that are due. Arms the next look. */
void budgets_tick(struct server *server);
void budgets_arm(struct server *server);

#endif
