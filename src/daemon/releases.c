#include "daemon/releases.h"

#include "daemon/peer.h"
#include "daemon/regain.h"

void releases_check(struct server *server, struct peer *peer, const struct plan_task *task,
                    baton_nsec last_at)
{
    baton_nsec apart = peer->release_at - last_at;
    struct server_report report = {.kind = REPORT_EARLY,
                                   .peer = peer->slot,
                                   .name = peer->hello.name,
                                   .response = apart,
                                   .limit = task ? task->period : 0};

    if (!task || task->no_deadline || last_at == 0 || apart >= task->period)
        return;
    if (!server->claims.none && !peer->early++)
        server->host.report(server->host.user, &report);
    regain_lose(server);
}
