/*
 * Threads of programs that batond orders on the CPUs (daemon/cpus.h). All threads of a process,
 * named by the program or not, are pinned to the cores of its cluster. They run under SCHED_FIFO at
 * a level of the band. Each thread's earlier policy is remembered. It is restored when the program
 * leaves the plan, when the program ends, and when the daemon ends.
 *
 * A thread that starts later inherits the cores, but not the level. SCHED_RESET_ON_FORK is set so
 * that programs started by an ordered thread are not real-time. Until pins_strangers() finds the
 * new thread, it runs below all ordered threads and delays only its own program. pins_strangers()
 * also finds threads that the program has given another policy, priority or cores since.
 */
#ifndef DAEMON_PINS_H
#define DAEMON_PINS_H

#include <sched.h>
#include <stddef.h>
#include <sys/types.h>

#include "daemon/cores.h"

#define PINS_THREADS 512 /* of all programs together */

struct pins {
    unsigned low; /* the SCHED_FIFO priority of level 1 */
    struct {
        pid_t pid, tid;
        int policy, priority;
        cpu_set_t cores;
        /* as ordered; priority 0: not yet */
        int given_priority;
        cpu_set_t given_cores;
    } pinned[PINS_THREADS];
    size_t n;
};

void pins_init(struct pins *pins, unsigned low);

/*
 * Moves every thread of the process. Level 0: restores them; cores are not read. Answers 0, or > 0:
 * so many threads were not ordered before, or not as batond had ordered them. -errno of the first
 * thread that could not be moved; -ENOSPC: too many threads.
 */
int pins_order(struct pins *pins, pid_t pid, const struct core_set *cores, unsigned level);

/*
 * How many threads of an ordered process are not as its last pins_order() left them: they started
 * after it, or have changed. Costs four system calls a thread.
 */
size_t pins_strangers(const struct pins *pins, pid_t pid);

/* Restores all threads. */
void pins_done(struct pins *pins);

#endif
