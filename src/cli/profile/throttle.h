/*
 * Real-time throttling. Linux stops SCHED_FIFO and SCHED_RR threads for the rest of each second
 * after they have run for 950 ms of it (kernel.sched_rt_runtime_us). Such a stop falls into some
 * segment and looks like its worst case. A real-time thread that is ready but does not run waits
 * for a more urgent thread, or is throttled. A wait of about the length of a stop counts as a stop.
 *
 * The decision is pure code over (thread, real-time or not, time waited so far); throttle_look()
 * feeds it from /proc.
 */
#ifndef CLI_PROFILE_THROTTLE_H
#define CLI_PROFILE_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/nsec.h"

#define THROTTLE_THREADS 64 /* that are watched; further ones are ignored */

struct throttle {
    baton_nsec stop; /* how long Linux stops real-time threads each time; 0: never */
    baton_nsec lost; /* found so far */
    struct {
        pid_t thread;
        baton_nsec waited;
    } seen[THROTTLE_THREADS];
    size_t n;
};

/* The machine's limits, in microseconds as /proc/sys/kernel has them; runtime -1: none. */
void throttle_init(struct throttle *throttle, long runtime_us, long period_us);
/* The same from /proc. */
void throttle_open(struct throttle *throttle);

/* This thread has been ready without running for `waited` in total. */
void throttle_note(struct throttle *throttle, pid_t thread, bool realtime, baton_nsec waited);

/* Notes every thread of the process. Call it at least once per second. */
void throttle_look(struct throttle *throttle, pid_t process);

#endif
