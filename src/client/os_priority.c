#include "client/os_priority.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "wire/rank.h"

unsigned os_priority_of(int policy, int realtime_priority, int nice_value)
{
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        return (unsigned)realtime_priority;
    return (unsigned)(20 - nice_value);
}

unsigned os_priority_own(void)
{
    struct sched_param parameters = {0};
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    int nice_value;

    (void)sched_getparam(0, &parameters);
    errno = 0;
    nice_value = getpriority(PRIO_PROCESS, 0);
    return os_priority_of(policy, parameters.sched_priority, errno ? 0 : nice_value);
}

int os_priority_rank(void)
{
    struct sched_param parameters = {0};
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;

    if (policy == SCHED_DEADLINE)
        return 100;
    if (policy == SCHED_IDLE)
        return -1;
    (void)sched_getparam(0, &parameters);
    return parameters.sched_priority;
}

static bool is_ours(pid_t tid)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/self/task/%d", (int)tid);
    return access(path, F_OK) == 0;
}

/* Makes room in a full list: forgets the threads that have ended. Answers how many are left. */
static size_t make_room(struct os_priority_thread *list, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (n < OS_PRIORITY_THREADS || is_ours(list[i].tid))
            list[kept++] = list[i];
    }
    return kept;
}

static int fifo_of(unsigned level)
{
    return OS_PRIORITY_LOW + (OS_PRIORITY_HIGH - OS_PRIORITY_LOW) * (int)level / (int)RANK_LEVELS;
}

void os_priority_init(struct os_priority *threads, bool realtime, unsigned level)
{
    *threads = (struct os_priority){0};
    pthread_mutex_init(&threads->lock, NULL);
    if (realtime)
        threads->fifo = fifo_of(level);
}

void os_priority_set(struct os_priority *threads, unsigned level)
{
    struct sched_param parameters = {.sched_priority = fifo_of(level)};

    pthread_mutex_lock(&threads->lock);
    if (threads->fifo && (threads->left || threads->fifo != parameters.sched_priority)) {
        threads->left = false;
        threads->fifo = parameters.sched_priority;
        for (size_t i = 0; i < threads->n; i++) {
            if (is_ours(threads->raised[i].tid))
                (void)sched_setscheduler(threads->raised[i].tid, SCHED_FIFO | SCHED_RESET_ON_FORK,
                                         &parameters);
        }
    }
    pthread_mutex_unlock(&threads->lock);
}

void os_priority_leave(struct os_priority *threads)
{
    pthread_mutex_lock(&threads->lock);
    threads->left = true;
    pthread_mutex_unlock(&threads->lock);
}

void os_priority_raise(struct os_priority *threads)
{
    struct sched_param old = {0};
    struct sched_param parameters = {0};
    int policy = sched_getscheduler(0);
    int kind = policy & ~SCHED_RESET_ON_FORK;

    /*
     * A user chose SCHED_IDLE or SCHED_BATCH deliberately. SCHED_FIFO, SCHED_RR and SCHED_DEADLINE
     * already rank at least as high.
     */
    if (policy < 0 || kind != SCHED_OTHER || sched_getparam(0, &old) < 0)
        return;
    pthread_mutex_lock(&threads->lock);
    parameters.sched_priority = threads->fifo;
    threads->n = make_room(threads->raised, threads->n);
    if (threads->fifo && !threads->left && threads->n < OS_PRIORITY_THREADS &&
        sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0) {
        threads->raised[threads->n].tid = gettid();
        threads->raised[threads->n].policy = policy;
        threads->raised[threads->n].priority = old.sched_priority;
        threads->n++;
    }
    pthread_mutex_unlock(&threads->lock);
}

/*
 * Only a privileged thread may clear SCHED_RESET_ON_FORK. For others the flag stays, and the policy
 * and priority are restored.
 */
static void put_back(const struct os_priority_thread *thread)
{
    struct sched_param old = {.sched_priority = thread->priority};

    if (is_ours(thread->tid) && sched_setscheduler(thread->tid, thread->policy, &old) < 0)
        (void)sched_setscheduler(thread->tid, thread->policy | SCHED_RESET_ON_FORK, &old);
}

void os_priority_restore(struct os_priority *threads)
{
    pthread_mutex_lock(&threads->lock);
    threads->fifo = 0;
    while (threads->n > 0)
        put_back(&threads->raised[--threads->n]);
    pthread_mutex_unlock(&threads->lock);
}

static bool look_at(pid_t tid, struct os_priority_thread *ret_thread)
{
    struct sched_param parameters = {0};
    int policy = sched_getscheduler(tid);

    *ret_thread = (struct os_priority_thread){.tid = tid, .policy = policy};
    if (policy < 0 || sched_getparam(tid, &parameters) < 0 ||
        sched_getaffinity(tid, sizeof ret_thread->cores, &ret_thread->cores) < 0)
        return false;
    ret_thread->priority = parameters.sched_priority;
    return true;
}

void os_priority_name(struct os_priority *threads, pid_t tid)
{
    pthread_mutex_lock(&threads->lock);
    threads->n_named = make_room(threads->named, threads->n_named);
    if (threads->n_named < OS_PRIORITY_THREADS && look_at(tid, &threads->named[threads->n_named]))
        threads->n_named++;
    pthread_mutex_unlock(&threads->lock);
}

void os_priority_abandoned(struct os_priority *threads)
{
    pthread_mutex_lock(&threads->lock);
    for (size_t i = 0; i < threads->n_named; i++) {
        const struct os_priority_thread *was = &threads->named[i];
        struct os_priority_thread is;

        if (look_at(was->tid, &is) && is.policy == (SCHED_FIFO | SCHED_RESET_ON_FORK) &&
            (was->policy != is.policy || was->priority != is.priority)) {
            put_back(was);
            (void)sched_setaffinity(was->tid, sizeof was->cores, &was->cores);
        }
    }
    pthread_mutex_unlock(&threads->lock);
}
