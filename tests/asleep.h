/*
 * Waits until another thread of this process is in a call that waits: for tests of what happens
 * meanwhile. A program includes it once.
 */
#ifndef TESTS_ASLEEP_H
#define TESTS_ASLEEP_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#define ASLEEP_COMPUTES 200000000ULL /* ns */
#define ASLEEP_TURNS    100

/* How often a sleeping thread was switched away; -1: it does not sleep. */
static inline long long asleep_switches(pid_t thread)
{
    long long n, sum = 0;
    char path[64], text[128], state = '?';
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    file = fopen(path, "r");
    while (file && fgets(text, sizeof text, file)) {
        (void)sscanf(text, "State: %c", &state);
        if (sscanf(text, "voluntary_ctxt_switches: %lld", &n) == 1 ||
            sscanf(text, "nonvoluntary_ctxt_switches: %lld", &n) == 1)
            sum += n;
    }
    if (file)
        (void)fclose(file);
    return state == 'S' ? sum : -1;
}

/* ns that the thread has computed. */
static inline unsigned long long asleep_computed(pid_t thread)
{
    unsigned long long computed = 0;
    char path[64];
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", (int)thread);
    file = fopen(path, "r");
    if (file) {
        (void)!fscanf(file, "%llu", &computed);
        (void)fclose(file);
    }
    return computed;
}

/*
 * Returns when the thread sleeps and goes on doing so. A driver may wait in another way: the thread
 * has computed for ASLEEP_COMPUTES from now on, or was found asleep ASLEEP_TURNS times. A thread
 * that has no processor does none of this.
 */
static inline void await_asleep(pid_t thread)
{
    const struct timespec moment = {0, 1000000};
    unsigned long long begin = asleep_computed(thread);
    long long before = -1, after = asleep_switches(thread);
    int turns = 0;

    while ((after < 0 || after != before) && turns < ASLEEP_TURNS &&
           asleep_computed(thread) - begin < ASLEEP_COMPUTES) {
        (void)nanosleep(&moment, NULL);
        before = after;
        after = asleep_switches(thread);
        turns += after >= 0;
    }
}

#endif
