#include "daemon/releases.h"

#include "daemon/peer.h"
#include "daemon/regain.h"

/* Work of the client is not counted. The first one that ends a claim is reported. */
static void lose(struct server *server, struct peer *peer, const struct plan_task *task, baton_nsec apart)
{
    struct server_report report = {.kind = REPORT_EARLY,
                                   .peer = peer->slot,
                                   .name = peer->hello.name,
                                   .response = apart,
                                   .limit = task->period};

    if (!server->claims.none && !peer->early++)
        server->host.report(server->host.user, &report);
    regain_lose(server);
}

void releases_look(struct server *server)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *peer = server->peers[i];
        const struct plan_task *task = peer && peer->page && peer->task ? peer->task->planned : NULL;
        baton_nsec apart = task ? page_take_apart(peer->page) : NSEC_MAX;

        if (task && !task->no_deadline && apart < task->period)
            lose(server, peer, task, apart);
    }
}

void releases_check(struct server *server, struct peer *peer, const struct plan_task *task,
                    baton_nsec last_at)
{
    baton_nsec apart = peer->release_at - last_at;

    if (task && !task->no_deadline && last_at != 0 && apart < task->period)
        lose(server, peer, task, apart > 0 ? apart : 0);
}
