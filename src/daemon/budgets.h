/*
 * Budgets: the engine time that the plan gives a job (`budget_ms`). Without a plan there is none.
 *
 * Without tokens the client counts the engine time of its commands as the driver reports it, piece
 * by piece, in its page (HELLO_USED). So a pause of the client while it holds an engine costs no
 * budget. Such pauses are a wait for a core, a message, or the host's work between two pieces. The
 * daemon reads the page at each release of an engine and at the instants that the core names, and
 * tells the core. Under tokens the core charges holds, because the analysis of GPUSync bounds how
 * long an engine is held. A hold that lasts too long must end the claims, whatever the driver did
 * in it. The engine time of a client that does not count is the time of its holds, too.
 *
 * The core says when a job has used more (SCHED_OVERRUN). Then no bound of the plan is claimed
 * (rule `overrun`), and config.overrun says what follows:
 *
 *   off       nothing. Without tokens the time is not measured
 *   demote    the default: the core ranks the job below all tasks with a deadline until it ends
 *   throttle  the job gives its engines back at its next border, and goes on with a new budget at
 *             its release plus a whole number of periods; under tokens its token goes back, too
 *   end       the host ends the process; its GPU work drains as after any death (X1). Under tokens
 *             a job that the program did not report is throttled instead: start-up, such as an
 *             upload of weights, is no job of the plan
 *
 * Without tokens a budget begins where the client says that a job begins. A program with a period
 * does so if its task has a budget (PLAN_JOBS). Commands of one job may still run, or wait for
 * their engine, when the next one begins. Then the rest of the last budget is added to the next.
 */
#ifndef DAEMON_BUDGETS_H
#define DAEMON_BUDGETS_H

#include "daemon/peer.h"

/* The client's entry in the plan in force, or NULL. */
const struct plan_task *budgets_task(const struct server *server, const struct peer *peer);
/* The deadline that the client announced, else its period, from the release; 0: neither. */
baton_nsec budgets_deadline(const struct peer *peer);
/*
 * The time between two budgets of a job: the longer of the plan's period and the program's; 0:
 * neither has one.
 */
baton_nsec budgets_period(const struct server *server, const struct peer *peer);
/* When the job with this deadline was released; now if it has none. */
baton_nsec budgets_release_at(const struct server *server, const struct peer *peer, baton_nsec deadline_at);

/* Does the client of this task (NULL: none) report its jobs, because they have budgets? */
bool budgets_begin(const struct server *server, const struct peer *peer, const struct plan_task *task);
/* Does the client's own count of engine time decide? */
bool budgets_told(const struct server *server, const struct peer *peer);
/* Without tokens: the client says that a job begins, or that it ends. */
void budgets_job_begins(struct server *server, struct peer *peer, baton_nsec deadline_at);
void budgets_job_ends(struct server *server, struct peer *peer);
/* Tells the core the engine time that the client has counted. The caller runs holds_run(). */
void budgets_look(struct server *server, const struct peer *peer);
/* SCHED_OVERRUN: the job has used up its budget. */
void budgets_overrun(struct server *server, struct peer *peer);
/* Charges holders, and lets throttled jobs go on that are due. Arms the next look. */
void budgets_tick(struct server *server);
void budgets_arm(struct server *server);

#endif
