#include "daemon/edge/pins.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

void pins_init(struct pins *pins, unsigned low)
{
    *pins = (struct pins){.low = low};
}

/* Signal 0 sends nothing. EPERM also proves that the thread exists. */
static bool belongs(pid_t pid, pid_t tid)
{
    return tgkill(pid, tid, 0) == 0 || errno == EPERM;
}

static size_t find(const struct pins *pins, pid_t pid, pid_t tid)
{
    size_t at = 0;

    while (at < pins->n && (pins->pinned[at].tid != tid || pins->pinned[at].pid != pid))
        at++;
    return at;
}

/* Remembers the thread's standing; 0 with its place in the table. */
static int remember(struct pins *pins, pid_t pid, pid_t tid, size_t *ret_at)
{
    size_t at = find(pins, pid, tid);
    struct sched_param parameters = {0};
    int policy;

    *ret_at = at;
    if (at < pins->n)
        return 0;
    if (at == PINS_THREADS)
        return -ENOSPC;
    policy = sched_getscheduler(tid);
    if (policy < 0 || sched_getparam(tid, &parameters) < 0 ||
        sched_getaffinity(tid, sizeof pins->pinned[at].cores, &pins->pinned[at].cores) < 0)
        return -errno;
    if ((policy & ~SCHED_RESET_ON_FORK) == SCHED_DEADLINE)
        return -EINVAL; /* the kernel ranks such a thread above the whole band */
    pins->pinned[at].pid = pid;
    pins->pinned[at].tid = tid;
    pins->pinned[at].policy = policy;
    pins->pinned[at].priority = parameters.sched_priority;
    pins->n++;
    return 0;
}

static void put_back(struct pins *pins, size_t at)
{
    struct sched_param parameters = {.sched_priority = pins->pinned[at].priority};
    pid_t tid = pins->pinned[at].tid;

    if (belongs(pins->pinned[at].pid, tid)) {
        (void)sched_setscheduler(tid, pins->pinned[at].policy, &parameters);
        (void)sched_setaffinity(tid, sizeof pins->pinned[at].cores, &pins->pinned[at].cores);
    }
    pins->pinned[at] = pins->pinned[--pins->n];
}

static int order_one(struct pins *pins, pid_t pid, pid_t tid, const cpu_set_t *cores, int priority)
{
    struct sched_param parameters = {.sched_priority = priority};
    size_t at;
    int result;

    if (!belongs(pid, tid))
        return 0; /* the thread has ended */
    result = remember(pins, pid, tid, &at);
    if (result)
        return result;
    if (sched_setaffinity(tid, sizeof *cores, cores) < 0 ||
        sched_setscheduler(tid, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) < 0)
        return errno == ESRCH ? 0 : -errno;
    return 0;
}

int pins_order(struct pins *pins, pid_t pid, const pid_t *threads, size_t n, const struct core_set *cores,
               unsigned level)
{
    cpu_set_t set;
    int result = 0;

    CPU_ZERO(&set);
    for (unsigned core = 0; core < CORES_MAX && core < CPU_SETSIZE; core++) {
        if (core_set_has(cores, core))
            CPU_SET(core, &set);
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = find(pins, pid, threads[i]);

        if (level) {
            int one = order_one(pins, pid, threads[i], &set, (int)(pins->low + level - 1));

            result = result ? result : one;
        } else if (at < pins->n) {
            put_back(pins, at);
        }
    }
    return result;
}

void pins_done(struct pins *pins)
{
    while (pins->n > 0)
        put_back(pins, pins->n - 1);
}
