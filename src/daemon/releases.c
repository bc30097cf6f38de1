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

void releases_depart(struct task_entry *entry, const struct peer *peer)
{
    baton_nsec released_at = atomic_load_explicit(&peer->page->released_at, memory_order_relaxed);

    released_at = released_at > peer->release_at ? released_at : peer->release_at;
    if (released_at > entry->former_release_at)
        entry->former_release_at = released_at;
}

/*
 * The time from the last release of the task's former process to the first of this one, once it is
 * known; else NSEC_MAX. If several jobs have begun since the last look, the first may have come at
 * any time: 0.
 */
static baton_nsec apart_from_former(const struct peer *peer)
{
    struct task_entry *entry = peer->task;
    uint64_t mark = atomic_load_explicit(&peer->page->job_mark, memory_order_acquire);
    baton_nsec released_at = atomic_load_explicit(&peer->page->released_at, memory_order_relaxed);
    baton_nsec apart = released_at - entry->former_release_at;

    if (!entry->former_release_at || !mark)
        return NSEC_MAX;
    entry->former_release_at = 0;
    return mark > 2 || apart < 0 ? 0 : apart;
}

void releases_look(struct server *server)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *peer = server->peers[i];
        const struct plan_task *task = peer && peer->page && peer->task ? peer->task->planned : NULL;
        baton_nsec apart = task ? page_take_apart(peer->page) : NSEC_MAX;
        baton_nsec former = task ? apart_from_former(peer) : NSEC_MAX;

        apart = former < apart ? former : apart;
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
