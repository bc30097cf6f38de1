#include "daemon/unscheduled.h"

#include <errno.h>

#include "daemon/peer.h"
#include "daemon/regain.h"

static unsigned find(const struct server *server, pid_t pid)
{
    unsigned at = 0;

    while (at < UNSCHEDULED_MAX && server->unscheduled.processes[at].pid != pid)
        at++;
    return at;
}

void unscheduled_add(struct server *server, pid_t pid, uint32_t client)
{
    struct unscheduled *all = &server->unscheduled;
    unsigned at = pid > 0 ? find(server, pid) : UNSCHEDULED_MAX;
    bool known = at < UNSCHEDULED_MAX;
    int result = 0;

    regain_lose(server);
    if (!known)
        at = find(server, 0);
    if (!known && pid > 0 && at < UNSCHEDULED_MAX && server->host.watch)
        result = server->host.watch(server->host.user, pid, at);
    if (result == -ESRCH)
        return; /* it has ended */
    if (result < 0 || pid <= 0 || at == UNSCHEDULED_MAX) {
        all->unwatched = client;
        return;
    }
    all->processes[at].pid = pid;
    all->processes[at].client = client;
    all->processes[at].since_at = server->now_at;
}

/* Has the process connected again since it was left alone? */
static bool is_back(const struct server *server, pid_t pid, baton_nsec since_at)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        if (peer && peer->state == PEER_CLIENT && peer->who.pid == pid && peer->since_at >= since_at)
            return true;
    }
    return false;
}

bool unscheduled_runs(const struct server *server, uint32_t *ret_client)
{
    const struct unscheduled *all = &server->unscheduled;

    for (unsigned i = 0; i < UNSCHEDULED_MAX; i++) {
        if (!all->processes[i].pid || is_back(server, all->processes[i].pid, all->processes[i].since_at))
            continue;
        *ret_client = all->processes[i].client;
        return true;
    }
    if (all->unwatched)
        *ret_client = all->unwatched;
    return all->unwatched != 0;
}

void server_unscheduled_ended(struct server *server, unsigned process, baton_nsec now_at)
{
    server->now_at = now_at;
    server->unscheduled.processes[process].pid = 0;
    regain_follow(server);
}

void server_refused(struct server *server, const struct credentials *who, int error, baton_nsec now_at)
{
    uint32_t client = server->next_client++;
    struct server_report report = {
        .kind = REPORT_TURNED_AWAY, .detail = (uint64_t)error, .count = (uint64_t)who->pid, .limit = client};

    server->now_at = now_at;
    server->host.report(server->host.user, &report);
    unscheduled_add(server, who->pid, client);
}
