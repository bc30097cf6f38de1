/*
 * Linux's limit on real-time programs. In each period P (sched_rt_period_us, usually a second) the
 * real-time threads of a core may run for Q (sched_rt_runtime_us, usually 950 ms). Then Linux stops
 * them until the period ends. No analysis counts that, so a bound is claimed only if the programs
 * of the plan cannot reach the limit. In a kernel with RT_GROUP_SCHED each group of processes has
 * such a limit, too.
 *
 * What Linux does on each core: `used` grows while a real-time thread runs there. Each time a
 * period ends, used = max(0, used - Q). The core stops its real-time threads when a tick finds used
 * > Q, until used <= Q. A tick (at most RT_TICK) may come late.
 *
 * Demand. A program of the plan runs only while it has a job pending. A thread that was raised
 * because a more urgent program waits runs while that program has one. So in a window of length w
 * the real-time threads of a core run no longer than jobs of the plan are pending in it. That holds
 * for any number of threads of a program, whether they compute or wait busily. Let the responses of
 * task i be at most R_i, and its releases T_i apart. A job that is pending in the window is
 * released less than R_i before it, or in it. There are at most ceil((w + R_i) / T_i) such jobs,
 * hence
 *
 *     D(w) = sum over i of min(w, ceil((w + R_i) / T_i) R_i).
 *
 * Claim: let jobs be pending no longer than their bounds since an instant s, with D(P) + RT_TICK <=
 * Q. Then from s + P on no thread is stopped. Proof. Threads are stopped while used > Q, so used <=
 * Q + RT_TICK at the first end of a period after s, and used <= RT_TICK after it. In each later
 * period real-time threads run for at most D(P) <= Q - RT_TICK, so used <= Q throughout, and at
 * most RT_TICK after its end. []
 *
 * So under a limit claims return only at an idle instant that follows another one by P, if no job
 * was late in between (daemon/regain.h). The bounds hold up to the first instant at which a thread
 * is stopped, and there is none.
 *
 * Not counted, like all work that no analysis counts: batond itself, and real-time programs and
 * interrupt threads outside of the plan. Nor are programs that are not real-time, for which Linux
 * 6.12 and later stop real-time threads (fair server), whatever the limit. With RT_RUNTIME_SHARE,
 * which is off since Linux 5.10, a core lends its runtime to others; then the claim above does not
 * hold.
 */
#ifndef DAEMON_RT_LIMIT_H
#define DAEMON_RT_LIMIT_H

#include <stdbool.h>

#include "base/nsec.h"

struct rt_limit {
    baton_nsec runtime, period; /* Q and P; period 0: no limit */
};

#define RT_LIMITS 8                  /* of a process: one for each group around it */
#define RT_TICK   (10 * NSEC_PER_MS) /* the longest of Linux (HZ=100) */

struct plan;
struct server;

/*
 * D(window) of the tasks with a bound, at most the window. cluster: only those of this CPU cluster;
 * -1: all.
 */
baton_nsec rt_demand(const struct plan *plan, int cluster, baton_nsec window);

/* Can programs with this demand in a period never reach the limit? */
bool rt_limit_leaves(const struct rt_limit *limit, baton_nsec demand);

/*
 * Compares the limits of the machine and of the groups of the plan's programs with the plan (part
 * of claims_check()). Sets claims.rt_period. True: a limit is new, or another one.
 */
bool rt_limit_compare(struct server *server);

#endif
