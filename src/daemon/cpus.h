/*
 * The CPUs under a profile with tokens and `cpu_cluster:`. Programs of the plan are pinned to the
 * cores of their CPU cluster and run under SCHED_FIFO. This file decides which level each one has;
 * the host carries it out.
 *
 * In each cluster programs stand in the order of their jobs' effective ranks: base rank by the
 * policy, lent ranks as the core decides (SCHED_EFF). The first has the highest level of the band,
 * the next one the level below it, and so on. A donor that must stand still (SCHED_SUSPEND) has the
 * lowest level: it runs only on a core that no ready job of its cluster wants. Between two jobs a
 * program has the rank of its next job if that comes one period after the last, so that its release
 * is noticed in time.
 *
 * A program that the host could not move, or more programs in a cluster than levels, has
 * `disordered` set: no bound is claimed then.
 */
#ifndef DAEMON_CPUS_H
#define DAEMON_CPUS_H

#include "daemon/peer.h"

/* Does this daemon order programs on the CPUs? */
bool cpus_ordered(const struct server *server);

/*
 * The cores of a cluster: the program cores in ascending order, so many for each cluster; false:
 * there are not enough.
 */
bool cpus_of_cluster(const struct server *server, unsigned cluster, struct core_set *ret_cores);

/* Ranks have changed: levels follow before the next grant. */
void cpus_changed(struct server *server);
void cpus_update(struct server *server); /* if they have */

/* A thread was named, or the plan moved the program. */
void cpus_renew(struct server *server, struct peer *peer);
/* The program leaves the plan, or the daemon: it is what it was before. */
void cpus_restore(struct server *server, struct peer *peer);

#endif
