/*
 * Real-time programs that batond does not schedule, on the cores of the plan's programs. No
 * analysis counts them. One whose real-time priority is not below that of some program of the plan
 * is a difference to the plan (daemon/claims.h).
 *
 * Once a second batond looks at the next FOREIGN_A_LOOK processes of the machine, so that a look
 * takes about as long however many there are. It looks at what it has found again with every
 * comparison.
 *
 * A program can go unseen: for as long as a round takes (a second for each FOREIGN_A_LOOK
 * processes); if it lives for a shorter time, or is real-time for a shorter time; and if batond is
 * in a PID namespace that the program is not in. Threads of the kernel are not counted. What they
 * do is overhead of the machine, like interrupts, and no priority keeps it away.
 */
#ifndef DAEMON_FOREIGN_H
#define DAEMON_FOREIGN_H

#include <sys/types.h>

#include "base/nsec.h"

#define FOREIGN_A_LOOK 64
#define FOREIGN_KEPT   8 /* programs; each one ends the claims */

/* The most urgent real-time thread of a process. */
struct realtime_thread {
    int rank; /* 1 to 99; 100: SCHED_DEADLINE */
    char name[32];
};

struct foreign {
    pid_t found[FOREIGN_KEPT]; /* n of them */
    unsigned n;
    baton_nsec look_at; /* when the next look is due */
};

struct server;

/*
 * Looks on if that is due, and names each program that was found and is still there. Part of
 * claims_check(), when the machine is known.
 */
void foreign_compare(struct server *server);

#endif
