#include "client/standing.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

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

void standing_init(struct standing *standing, bool realtime, unsigned priority)
{
    *standing = (struct standing){0};
    pthread_mutex_init(&standing->lock, NULL);
    if (realtime)
        standing->fifo = STANDING_LOW + (STANDING_HIGH - STANDING_LOW) * (int)priority / 99;
}

void standing_raise(struct standing *standing)
{
    struct sched_param old = {0};
    struct sched_param parameters = {0};
    int policy = sched_getscheduler(0);
    int kind = policy & ~SCHED_RESET_ON_FORK;

    /* SCHED_IDLE and SCHED_BATCH are somebody's wish, SCHED_FIFO, SCHED_RR and SCHED_DEADLINE are at least as much. */
    if (policy < 0 || kind != SCHED_OTHER || sched_getparam(0, &old) < 0)
        return;
    pthread_mutex_lock(&standing->lock);
    parameters.sched_priority = standing->fifo;
    if (standing->fifo && standing->n < STANDING_THREADS &&
        sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0) {
        standing->raised[standing->n].tid = gettid();
        standing->raised[standing->n].policy = policy;
        standing->raised[standing->n].priority = old.sched_priority;
        standing->n++;
    }
    pthread_mutex_unlock(&standing->lock);
}

static bool is_ours(pid_t tid)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/self/task/%d", (int)tid);
    return access(path, F_OK) == 0;
}

void standing_restore(struct standing *standing)
{
    pthread_mutex_lock(&standing->lock);
    standing->fifo = 0;
    while (standing->n > 0) {
        struct sched_param old;

        standing->n--;
        old.sched_priority = standing->raised[standing->n].priority;
        if (is_ours(standing->raised[standing->n].tid))
            (void)sched_setscheduler(standing->raised[standing->n].tid, standing->raised[standing->n].policy,
                                     &old);
    }
    pthread_mutex_unlock(&standing->lock);
}
