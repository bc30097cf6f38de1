#include "daemon/edge/boost.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/edge/threads.h"
#include "wire/frame.h"

void boost_init(struct boost *boost, unsigned low, unsigned high, bool wanted, uint32_t *ret_about)
{
    struct sched_param parameters = {.sched_priority = (int)high + 1};
    struct rlimit limit = {0};
    int flags = MCL_CURRENT;

    *boost = (struct boost){.low = low, .high = high};
    *ret_about = 0;
    if (!wanted)
        return;
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0) {
        boost->permitted = true;
        *ret_about |= ABOUT_REALTIME | ABOUT_BOOSTS;
    }
    /*
     * With a limit on locked memory, locking future pages too would make later clients' pages fail.
     */
    if (geteuid() == 0 || (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY))
        flags |= MCL_FUTURE;
    if (mlockall(flags) == 0)
        *ret_about |= ABOUT_LOCKED;
}

static void raise_one(struct boost *boost, pid_t pid, pid_t tid, int priority)
{
    struct sched_param old = {0};
    struct sched_param parameters = {.sched_priority = priority};
    int policy = sched_getscheduler(tid);
    size_t at = 0;

    while (at < boost->n && (boost->raised[at].tid != tid || boost->raised[at].pid != pid))
        at++;
    if (at == BOOST_THREADS || policy < 0 || sched_getparam(tid, &old) < 0 || !thread_belongs(pid, tid))
        return;
    if ((policy & ~SCHED_RESET_ON_FORK) == SCHED_DEADLINE)
        return;
    if (at == boost->n) {
        if ((policy & ~SCHED_RESET_ON_FORK) == SCHED_FIFO && old.sched_priority >= priority)
            return;
        boost->raised[at].pid = pid;
        boost->raised[at].tid = tid;
        boost->raised[at].policy = policy;
        boost->raised[at].priority = old.sched_priority;
    }
    if (sched_setscheduler(tid, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0 && at == boost->n)
        boost->n++;
}

/* The number of a thread that has ended may belong to another thread now. */
static void restore_at(struct boost *boost, size_t at)
{
    struct sched_param old = {.sched_priority = boost->raised[at].priority};

    if (thread_belongs(boost->raised[at].pid, boost->raised[at].tid))
        (void)sched_setscheduler(boost->raised[at].tid, boost->raised[at].policy, &old);
    boost->raised[at] = boost->raised[--boost->n];
}

void boost_threads(struct boost *boost, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    int mapped = (int)(boost->low + (boost->high - boost->low) * priority / 99);

    if (!boost->permitted)
        return;
    for (size_t i = 0; i < n; i++) {
        if (priority) {
            raise_one(boost, pid, threads[i], mapped);
            continue;
        }
        for (size_t at = 0; at < boost->n; at++) {
            if (boost->raised[at].tid == threads[i] && boost->raised[at].pid == pid) {
                restore_at(boost, at);
                break;
            }
        }
    }
}

void boost_done(struct boost *boost)
{
    while (boost->n > 0)
        restore_at(boost, boost->n - 1);
}

void boost_leave(const struct boost *boost)
{
    struct sched_param parameters = {0};

    if (boost->permitted)
        (void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameters);
}
