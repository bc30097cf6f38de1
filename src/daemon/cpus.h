/*
 * The CPUs under a profile with tokens and `cpu_cluster:`. The plan's programs are pinned to the
 * cores of their CPU cluster and run under SCHED_FIFO. This file decides which level each one has;
 * the host carries it out.
 *
 * In each cluster programs stand in the order of their jobs' effective ranks: base rank by the
 * policy, lent ranks as the core decides (SCHED_EFF). The first has the highest level of the band,
 * the next one the level below it, and so on. A donor that must not run (SCHED_SUSPEND, until
 * SCHED_RESUME or SCHED_ENDED) has the lowest level. So has a donor whose job is over and waits for
 * the end of its donation (C5). At that level a donor runs only on a core that no ready job of its
 * cluster wants. Between two jobs a program has the rank that its next job has if it comes one
 * period of the plan after the last. So the program notices its release in time, whatever period it
 * announces.
 *
 * If the host cannot move a program, or a cluster has more programs than levels, `disordered` is
 * set and no bound is claimed.
 *
 * A thread has its own policy until batond orders it for the first time. That happens with the
 * first order of its program, with a change of the program's level, or with a look for new threads.
 * Until then it runs below all ordered threads and may delay its job. So whichever way finds the
 * thread, the claims are lost until an idle instant (daemon/regain.h).
 */
#ifndef DAEMON_CPUS_H
#define DAEMON_CPUS_H

#include "daemon/peer.h"

#define CPUS_LOWEST 1u /* the level of donors that must not run */

/* Does this daemon order programs on the CPUs? */
bool cpus_ordered(const struct server *server);

/*
 * The cores of a cluster: the program cores in ascending order, the same number for each cluster.
 * False: there are not enough.
 */
bool cpus_of_cluster(const struct server *server, unsigned cluster, struct core_set *ret_cores);

/* Ranks have changed: levels must follow before the next grant. */
void cpus_changed(struct server *server);
void cpus_update(struct server *server); /* does nothing unless ranks have changed */

/* A thread was named, or the plan moved the program. */
void cpus_renew(struct server *server, struct peer *peer);
/* Looks for threads that have started meanwhile, and orders them. True: there was one. */
bool cpus_look(struct server *server);
/* The program leaves the plan or the daemon: its threads get back their earlier policy. */
void cpus_restore(struct server *server, struct peer *peer);

#endif
