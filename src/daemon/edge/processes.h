/*
 * The machine's processes, one after the other, and their real-time threads. batond runs above all
 * programs, so that each call takes a bounded time: a few system calls, and a few more for each of
 * at most PROCESSES_THREADS threads.
 */
#ifndef DAEMON_EDGE_PROCESSES_H
#define DAEMON_EDGE_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "daemon/cores.h"
#include "daemon/foreign.h"

#define PROCESSES_THREADS 256 /* of one process; further ones are not looked at */

struct processes {
    int folder;                             /* /proc, or -1 */
    _Alignas(max_align_t) char bytes[1024]; /* directory entries that were read: about 30 */
    ssize_t n, at;
};

void processes_init(struct processes *processes);
void processes_done(struct processes *processes);

/* The next one; 0: there are no more, and the next call begins anew. */
pid_t processes_next(struct processes *processes);

/*
 * The most urgent real-time thread of the process among those that may run on one of these cores.
 * False: there is none, or it is the kernel's.
 */
bool processes_realtime(pid_t pid, const struct core_set *cores, struct realtime_thread *ret_thread);

#endif
