#include "daemon/edge/pins.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/edge/threads.h"

enum { PASSES = 8 }; /* over a program that starts threads all the time */

void pins_init(struct pins *pins, unsigned low)
{
    *pins = (struct pins){.low = low};
}

static size_t find(const struct pins *pins, pid_t pid, pid_t tid)
{
    size_t at = 0;

    while (at < pins->n && (pins->pinned[at].tid != tid || pins->pinned[at].pid != pid))
        at++;
    return at;
}

/* Remembers the thread's policy and priority; 0 with its place in the table. */
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
    pins->pinned[at].given_priority = 0;
    pins->n++;
    return 0;
}

static void put_back(struct pins *pins, size_t at)
{
    struct sched_param parameters = {.sched_priority = pins->pinned[at].priority};
    pid_t tid = pins->pinned[at].tid;

    if (thread_belongs(pins->pinned[at].pid, tid)) {
        (void)sched_setscheduler(tid, pins->pinned[at].policy, &parameters);
        (void)sched_setaffinity(tid, sizeof pins->pinned[at].cores, &pins->pinned[at].cores);
    }
    pins->pinned[at] = pins->pinned[--pins->n];
}

/*
 * Does the thread still have the policy, priority and cores that it was given? So does one that has
 * ended.
 */
static bool is_unchanged(const struct pins *pins, size_t at)
{
    struct sched_param parameters = {0};
    pid_t tid = pins->pinned[at].tid;
    cpu_set_t cores;

    if (!pins->pinned[at].given_priority || !thread_belongs(pins->pinned[at].pid, tid))
        return true;
    CPU_ZERO(&cores);
    return sched_getscheduler(tid) == (SCHED_FIFO | SCHED_RESET_ON_FORK) &&
           sched_getparam(tid, &parameters) == 0 &&
           parameters.sched_priority == pins->pinned[at].given_priority &&
           sched_getaffinity(tid, sizeof cores, &cores) == 0 &&
           CPU_EQUAL(&cores, &pins->pinned[at].given_cores);
}

static size_t changed_threads(const struct pins *pins, pid_t pid)
{
    size_t n = 0;

    for (size_t i = 0; i < pins->n; i++)
        n += pins->pinned[i].pid == pid && !is_unchanged(pins, i);
    return n;
}

static int order_one(struct pins *pins, pid_t pid, pid_t tid, const cpu_set_t *cores, int priority)
{
    struct sched_param parameters = {.sched_priority = priority};
    size_t at;
    int result;

    if (!thread_belongs(pid, tid))
        return 0; /* the thread has ended */
    result = remember(pins, pid, tid, &at);
    if (result)
        return result;
    if (sched_setaffinity(tid, sizeof *cores, cores) < 0 ||
        sched_setscheduler(tid, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) < 0)
        return errno == ESRCH ? 0 : -errno;
    pins->pinned[at].given_priority = priority;
    pins->pinned[at].given_cores = *cores;
    return 0;
}

static DIR *open_threads(pid_t pid)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return opendir(path);
}

static size_t known_threads(const struct pins *pins, pid_t pid)
{
    size_t n = 0;

    for (size_t i = 0; i < pins->n; i++)
        n += pins->pinned[i].pid == pid;
    return n;
}

/* Threads that have ended are forgotten. */
static void forget_ended(struct pins *pins, pid_t pid)
{
    for (size_t i = pins->n; i > 0; i--) {
        if (pins->pinned[i - 1].pid == pid && !thread_belongs(pid, pins->pinned[i - 1].tid))
            pins->pinned[i - 1] = pins->pinned[--pins->n];
    }
}

/* Orders the threads that are listed now; *ret_fresh of them for the first time. */
static int order_listed(struct pins *pins, pid_t pid, const cpu_set_t *cores, int priority, size_t *ret_fresh)
{
    DIR *folder = open_threads(pid);
    int result = 0;

    *ret_fresh = 0;
    if (!folder)
        return errno == ENOENT ? 0 : -errno; /* the process has ended */
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        int one;

        if (tid <= 0)
            continue;
        *ret_fresh += find(pins, pid, tid) == pins->n;
        one = order_one(pins, pid, tid, cores, priority);
        result = result ? result : one;
    }
    (void)closedir(folder);
    return result;
}

/* As many as there are links without the two of each folder; 0: the process has ended. */
static size_t count_threads(pid_t pid)
{
    struct stat about;
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return stat(path, &about) == 0 && about.st_nlink > 2 ? (size_t)about.st_nlink - 2 : 0;
}

/*
 * The usual case, without reading a folder: all threads are known and live. False: some thread has
 * started or ended, or could not be moved.
 */
static bool order_known(struct pins *pins, pid_t pid, const cpu_set_t *cores, int priority)
{
    size_t known = known_threads(pins, pid);

    if (known == 0 || count_threads(pid) != known)
        return false;
    for (size_t i = 0; i < pins->n; i++) {
        if (pins->pinned[i].pid == pid && (!thread_belongs(pid, pins->pinned[i].tid) ||
                                           order_one(pins, pid, pins->pinned[i].tid, cores, priority) != 0))
            return false;
    }
    return true;
}

size_t pins_strangers(const struct pins *pins, pid_t pid)
{
    size_t n = changed_threads(pins, pid), known = 0;
    DIR *folder;

    for (size_t i = 0; i < pins->n; i++)
        known += pins->pinned[i].pid == pid && thread_belongs(pid, pins->pinned[i].tid);
    if (known == 0 || count_threads(pid) == known)
        return n;
    folder = open_threads(pid);
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        n += tid > 0 && find(pins, pid, tid) == pins->n;
    }
    if (folder)
        (void)closedir(folder);
    return n;
}

int pins_order(struct pins *pins, pid_t pid, const struct core_set *cores, unsigned level)
{
    size_t fresh = 1, found = changed_threads(pins, pid);
    cpu_set_t set;
    int result = 0;

    if (!level) {
        for (size_t i = pins->n; i > 0; i--) {
            if (pins->pinned[i - 1].pid == pid)
                put_back(pins, i - 1);
        }
        return 0;
    }
    CPU_ZERO(&set);
    for (unsigned core = 0; core < CORES_MAX && core < CPU_SETSIZE; core++) {
        if (core_set_has(cores, core))
            CPU_SET(core, &set);
    }
    if (order_known(pins, pid, &set, (int)(pins->low + level - 1)))
        return (int)found;
    forget_ended(pins, pid);
    /* a thread may start another one while the list is read: again, until there is no new one */
    for (int pass = 0; pass < PASSES && fresh > 0 && !result; pass++) {
        result = order_listed(pins, pid, &set, (int)(pins->low + level - 1), &fresh);
        found += fresh;
    }
    return result ? result : known_threads(pins, pid) == 0 ? -ESRCH : fresh > 0 ? -EAGAIN : (int)found;
}

void pins_done(struct pins *pins)
{
    while (pins->n > 0)
        put_back(pins, pins->n - 1);
}
