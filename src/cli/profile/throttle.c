#include "cli/profile/throttle.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

void throttle_init(struct throttle *throttle, long runtime_us, long period_us)
{
    *throttle = (struct throttle){0};
    if (runtime_us >= 0 && runtime_us < period_us)
        throttle->stop = (baton_nsec)(period_us - runtime_us) * NSEC_PER_US;
}

static long read_limit(const char *path)
{
    long value = -1;
    FILE *from = fopen(path, "re");

    if (!from)
        return -1;
    if (fscanf(from, "%ld", &value) != 1) /* NOLINT(cert-err34-c): the kernel writes a number */
        value = -1;
    (void)fclose(from);
    return value;
}

void throttle_open(struct throttle *throttle)
{
    throttle_init(throttle, read_limit("/proc/sys/kernel/sched_rt_runtime_us"),
                  read_limit("/proc/sys/kernel/sched_rt_period_us"));
}

void throttle_note(struct throttle *throttle, pid_t thread, bool realtime, baton_nsec waited)
{
    size_t i = 0;

    while (i < throttle->n && throttle->seen[i].thread != thread)
        i++;
    if (i == THROTTLE_THREADS)
        return;
    /* how long it waited before is unknown: it may not have been real-time then */
    if (i == throttle->n) {
        throttle->seen[throttle->n++].thread = thread;
    } else if (realtime && throttle->stop && waited - throttle->seen[i].waited >= throttle->stop / 2) {
        throttle->lost += waited - throttle->seen[i].waited;
    }
    throttle->seen[i].waited = waited;
}

static bool is_realtime(pid_t thread)
{
    int policy = sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK;

    return policy == SCHED_FIFO || policy == SCHED_RR;
}

void throttle_look(struct throttle *throttle, pid_t process)
{
    char path[320];
    struct dirent *entry;
    DIR *threads;

    if (!throttle->stop)
        return;
    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    threads = opendir(path);
    while (threads && (entry = readdir(threads))) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        unsigned long long ran;
        unsigned long long waited;
        FILE *from;

        (void)snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)process, (int)thread);
        from = thread > 0 ? fopen(path, "re") : NULL;
        if (!from)
            continue;
        if (fscanf(from, "%llu %llu", &ran, &waited) == 2) /* NOLINT(cert-err34-c): as above */
            throttle_note(throttle, thread, is_realtime(thread), (baton_nsec)waited);
        (void)fclose(from);
    }
    if (threads)
        (void)closedir(threads);
}
