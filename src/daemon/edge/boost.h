/*
 * Real-time priorities: the daemon's own, and those of clients that hold what other clients wait
 * for. Every change is remembered and undone: at release, when the client leaves, and when the
 * daemon ends.
 */
#ifndef DAEMON_BOOST_H
#define DAEMON_BOOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BOOST_THREADS 512 /* boosted at one time, over all clients */

struct boost {
    unsigned low, high; /* SCHED_FIFO band */
    bool permitted;
    struct {
        pid_t pid, tid;
        int policy, priority;
    } raised[BOOST_THREADS];
    size_t n;
};

/*
 * Puts this process above the band and locks its memory; *ret_about gets ABOUT_REALTIME,
 * ABOUT_LOCKED, ABOUT_BOOSTS for what worked. wanted false: tries nothing.
 */
void boost_init(struct boost *boost, unsigned low, unsigned high, bool wanted, uint32_t *ret_about);

/*
 * Raises those of these threads that belong to the process; priority 1..99 is mapped into the band.
 * 0: restores them.
 */
void boost_threads(struct boost *boost, pid_t pid, const pid_t *threads, size_t n, unsigned priority);

/* Restores all threads. */
void boost_done(struct boost *boost);

/* This process is not real-time from now on. The last thing that it does. */
void boost_leave(const struct boost *boost);

#endif
