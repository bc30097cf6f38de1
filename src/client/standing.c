#include "client/standing.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "wire/rank.h"

unsigned standing_priority(int policy, int realtime_priority, int nice_value)
{
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        return (unsigned)realtime_priority;
    return (unsigned)(20 - nice_value);
}

unsigned standing_own(void)
{
    struct sched_param parameters = {0};
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    int nice_value;

    (void)sched_getparam(0, &parameters);
    errno = 0;
    nice_value = getpriority(PRIO_PROCESS, 0);
    return standing_priority(policy, parameters.sched_priority, errno ? 0 : nice_value);
}

int standing_rank(void)
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

static int fifo_of(unsigned level)
{
    return STANDING_LOW + (STANDING_HIGH - STANDING_LOW) * (int)level / (int)RANK_LEVELS;
}

void standing_init(struct standing *standing, bool realtime, unsigned level)
{
    *standing = (struct standing){0};
    pthread_mutex_init(&standing->lock, NULL);
    if (realtime)
        standing->fifo = fifo_of(level);
}

void standing_set(struct standing *standing, unsigned level)
{
    struct sched_param parameters = {.sched_priority = fifo_of(level)};

    pthread_mutex_lock(&standing->lock);
    if (standing->fifo && (standing->left || standing->fifo != parameters.sched_priority)) {
        standing->left = false;
        standing->fifo = parameters.sched_priority;
        for (size_t i = 0; i < standing->n; i++) {
            if (is_ours(standing->raised[i].tid))
                (void)sched_setscheduler(standing->raised[i].tid, SCHED_FIFO | SCHED_RESET_ON_FORK,
                                         &parameters);
        }
    }
    pthread_mutex_unlock(&standing->lock);
}

void standing_leave(struct standing *standing)
{
    pthread_mutex_lock(&standing->lock);
    standing->left = true;
    pthread_mutex_unlock(&standing->lock);
}

void standing_raise(struct standing *standing)
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
    pthread_mutex_lock(&standing->lock);
    parameters.sched_priority = standing->fifo;
    if (standing->fifo && !standing->left && standing->n < STANDING_THREADS &&
        sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0) {
        standing->raised[standing->n].tid = gettid();
        standing->raised[standing->n].policy = policy;
        standing->raised[standing->n].priority = old.sched_priority;
        standing->n++;
    }
    pthread_mutex_unlock(&standing->lock);
}

/*
 * Only a privileged thread may clear SCHED_RESET_ON_FORK. For others the flag stays, and the policy
 * and priority are restored.
 */
static void put_back(const struct standing_thread *thread)
{
    struct sched_param old = {.sched_priority = thread->priority};

    if (is_ours(thread->tid) && sched_setscheduler(thread->tid, thread->policy, &old) < 0)
        (void)sched_setscheduler(thread->tid, thread->policy | SCHED_RESET_ON_FORK, &old);
}

void standing_restore(struct standing *standing)
{
    pthread_mutex_lock(&standing->lock);
    standing->fifo = 0;
    while (standing->n > 0)
        put_back(&standing->raised[--standing->n]);
    pthread_mutex_unlock(&standing->lock);
}

static bool look_at(pid_t tid, struct standing_thread *ret_thread)
{
    struct sched_param parameters = {0};
    int policy = sched_getscheduler(tid);

    *ret_thread = (struct standing_thread){.tid = tid, .policy = policy};
    if (policy < 0 || sched_getparam(tid, &parameters) < 0 ||
        sched_getaffinity(tid, sizeof ret_thread->cores, &ret_thread->cores) < 0)
        return false;
    ret_thread->priority = parameters.sched_priority;
    return true;
}

void standing_name(struct standing *standing, pid_t tid)
{
    pthread_mutex_lock(&standing->lock);
    if (standing->n_named < STANDING_THREADS && look_at(tid, &standing->named[standing->n_named]))
        standing->n_named++;
    pthread_mutex_unlock(&standing->lock);
}

void standing_abandoned(struct standing *standing)
{
    pthread_mutex_lock(&standing->lock);
    for (size_t i = 0; i < standing->n_named; i++) {
        const struct standing_thread *was = &standing->named[i];
        struct standing_thread is;

        if (look_at(was->tid, &is) && is.policy == (SCHED_FIFO | SCHED_RESET_ON_FORK) &&
            (was->policy != is.policy || was->priority != is.priority)) {
            put_back(was);
            (void)sched_setaffinity(was->tid, sizeof was->cores, &was->cores);
        }
    }
    pthread_mutex_unlock(&standing->lock);
}
