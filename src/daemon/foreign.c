#include "daemon/foreign.h"

#include <stdio.h>

#include "daemon/cpus.h"
#include "daemon/order.h"
#include "daemon/peer.h"

/*
 * Is it batond, or a program whose threads other rules are about? Those rules are not about a
 * process that only asks, such as `baton top`, nor about one that has not said what it is. Where
 * batond orders the CPUs, they are about all threads of a program that has a level.
 */
static bool is_known(const struct server *server, pid_t pid)
{
    bool known = pid == server->start.pid;

    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        known =
            known || (peer && peer->page && peer->who.pid == pid && (!cpus_ordered(server) || peer->level));
    }
    return known;
}

/* Does some thread of this process go before a program of the plan? */
static bool interferes(const struct server *server, pid_t pid, int lowest, struct realtime_thread *ret_thread)
{
    struct core_set cores = claims_program_cores(server);

    return !is_known(server, pid) && server->host.realtime_of(server->host.user, pid, &cores, ret_thread) &&
           ret_thread->rank >= lowest;
}

static bool is_found(const struct foreign *foreign, pid_t pid)
{
    unsigned at = 0;

    while (at < foreign->n && foreign->found[at] != pid)
        at++;
    return at < foreign->n;
}

static void look(struct server *server, int lowest)
{
    struct foreign *foreign = &server->foreign;
    struct realtime_thread thread;

    for (unsigned i = 0; i < FOREIGN_A_LOOK; i++) {
        pid_t pid = server->host.next_process(server->host.user);

        if (pid == 0)
            return;
        if (foreign->n < FOREIGN_KEPT && !is_found(foreign, pid) && interferes(server, pid, lowest, &thread))
            foreign->found[foreign->n++] = pid;
    }
}

/* Names those that were found; forgets those that do not interfere any more. */
static void name(struct server *server, int lowest)
{
    struct foreign *foreign = &server->foreign;
    unsigned kept = 0;

    for (unsigned i = 0; i < foreign->n; i++) {
        pid_t pid = foreign->found[i];
        struct realtime_thread thread;
        char here[96];

        if (!interferes(server, pid, lowest, &thread))
            continue;
        foreign->found[kept++] = pid;
        (void)snprintf(here, sizeof here, "%s (process %d, real-time priority %d) may run there, too",
                       thread.name, (int)pid, thread.rank);
        claims_add(server, "", "cpus", "no other real-time program", here);
    }
    foreign->n = kept;
}

void foreign_compare(struct server *server)
{
    struct foreign *foreign = &server->foreign;
    bool due = server->now_at >= foreign->look_at;
    int lowest;

    if (!server->host.next_process || !server->claims.machine_known || (!due && !foreign->n))
        return;
    lowest = order_lowest(server);
    if (due) {
        foreign->look_at = server->now_at + CLAIMS_EVERY;
        look(server, lowest);
    }
    name(server, lowest);
}
