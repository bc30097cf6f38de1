/*
 * When a lost claim returns. While a rule of the model is broken, no bound is claimed (observe.h).
 * Once all rules hold again, a job that was delayed before may still be pending, late, and in the
 * way of others. So a claim returns at an idle instant, and covers jobs that are released after it.
 *
 * An instant t is idle for a set of tasks if, for each of their clients,
 * - no job is pending, no engine is held or waited for, and under tokens no token either;
 * - the client has begun a job, and the last one was released less than the task's period before t.
 * The second condition excludes jobs that are released but not yet begun, because releases of a
 * task are at least a period apart.
 *
 * Claim: after an instant at which all rules hold and that is idle for all tasks, the bounds hold.
 * From t on, the system is one that starts at t. There is no work, engines and tokens are free, and
 * budgets are whole. Every release is at or after t, and releases of a task are a period apart.
 * Both analyses bound every job of such a system. Under tokens that rests on nothing but the costs
 * of jobs, which are checked (daemon/job_costs.h). Under fixed priorities it rests on execution
 * times, and on programs that do not sleep when they could run; only budgets and long delays of a
 * begin are checked (daemon/budgets.h, daemon/releases.h). []
 *
 * Under fixed priorities without tokens (`holistic`), t need only be idle for the task and those
 * above it. The bounds of these tasks depend on a less urgent task only through the longest piece
 * that it may have started. How many of its jobs are pending, and how late they are, does not
 * matter. So a task without a deadline, which is below all others, need never be idle there.
 *
 * If Linux limits real-time programs, an idle instant must follow another one by a period of that
 * limit. All tasks with a bound must be idle then (rt_limit.h).
 *
 * A system that is never idle never regains its claims: rule `idle`.
 */
#ifndef DAEMON_REGAIN_H
#define DAEMON_REGAIN_H

#include <stdbool.h>

#include "base/nsec.h"

#define REGAIN_EVERY (2 * NSEC_PER_MS) /* between looks for an idle instant, besides every event */

struct server;
struct task_entry;

/* What the claims rested on is broken, or was: no task's bound is claimed until an idle instant. */
void regain_lose(struct server *server);
/*
 * The same for what does not let a program run in real time for longer than jobs are pending
 * (rt_limit.h). Then the first idle instant suffices.
 */
void regain_lose_until_idle(struct server *server);

/*
 * After every event: loses the claims if a rule is broken, else looks for an idle instant if claims
 * are lost. Rules whose check asks the operating system are checked only after claims_check(), and
 * before a claim returns; so are threads that started meanwhile (daemon/cpus.h).
 */
void regain_follow(struct server *server);
/* The same with all rules, before a claim is reported. */
void regain_follow_all(struct server *server);

/* Does the claim of this task cover a job that was released at this instant and ended by now? */
bool regain_covers(const struct task_entry *entry, baton_nsec release_at);

#endif
