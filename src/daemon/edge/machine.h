/* Looks at the machine's cores through /sys and /proc. */
#ifndef DAEMON_EDGE_MACHINE_H
#define DAEMON_EDGE_MACHINE_H

#include <sys/types.h>

#include "daemon/cores.h"
#include "daemon/rt_limit.h"

/*
 * root: "" for this machine; tests name a folder that holds `sys/` and `proc/` of their own. 0, or
 * -errno if the kernel does not tell which cores are online or allowed. A kernel that lists no
 * isolated cores has none.
 */
int machine_look(const char *root, struct machine *ret_machine);

/* The cores that a thread may run on. 0 or -errno. */
int machine_cores_of(pid_t tid, struct core_set *ret_cores);

/*
 * The real-time priority of a thread: 1 to 99 with SCHED_FIFO or SCHED_RR; 100 with SCHED_DEADLINE,
 * which is above these; 0: it has none; -errno.
 */
int machine_rank_of(pid_t tid);

/* How many threads of the process may run on these cores only. */
size_t machine_threads_on(pid_t pid, const struct core_set *cores);

/* Is any thread of the process real-time? */
bool machine_is_realtime(pid_t pid);

/*
 * The limits on real-time programs (daemon/rt_limit.h), and their number. pid 0: the machine's one.
 * Else those of the process's own group and of all groups around it, if the kernel has limits for
 * groups. These are RT_GROUP_SCHED with groups of version 1, mounted below /sys/fs/cgroup. A limit
 * that cannot be read counts as one that no program fits into.
 */
size_t machine_limits_of(const char *root, pid_t pid, struct rt_limit ret_limits[RT_LIMITS]);

#endif
