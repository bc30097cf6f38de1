/* Looks at the machine's cores through /sys and /proc. */
#ifndef DAEMON_EDGE_MACHINE_H
#define DAEMON_EDGE_MACHINE_H

#include <sys/types.h>

#include "daemon/cores.h"

/*
 * root: "" for this machine; tests name a folder that holds `sys/` and `proc/` of their own. 0, or
 * -errno if the kernel does not tell which cores are online or allowed. A kernel that lists no
 * isolated cores has none.
 */
int machine_look(const char *root, struct machine *ret_machine);

/* The cores that the main thread of a process may run on. 0 or -errno. */
int machine_cores_of(pid_t pid, struct core_set *ret_cores);

/*
 * The real-time priority (SCHED_FIFO, SCHED_RR) of the main thread of a process; 0: it has none;
 * -errno.
 */
int machine_rank_of(pid_t pid);

#endif
