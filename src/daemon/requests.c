#include "daemon/requests.h"

#include "daemon/holds.h"
#include "daemon/peer.h"

bool request_tally_made(struct request_tally *tally, const struct plan_requests *counted,
                        enum plan_request_kind kind)
{
    return ++tally->made[kind] <= plan_requests_count(counted, kind);
}

bool request_tally_lasted(struct request_tally *tally, const struct plan_requests *counted,
                          enum plan_request_kind kind, baton_nsec length)
{
    const struct plan_request_lengths *lengths = &counted->kinds[kind];
    unsigned as_long = 0; /* counted requests that are longer than lengths->of[i] */
    bool within = true;

    for (unsigned i = 0; i < lengths->n; i++) {
        if (length > lengths->of[i].length && ++tally->longer[kind][i] > as_long)
            within = false;
        as_long += lengths->of[i].count;
    }
    return within;
}

void requests_begin(struct peer *peer, const struct plan_task *task)
{
    peer->counted = task ? task->requests : (struct plan_requests){0};
    peer->tally = (struct request_tally){0};
}

/* A copy between GPUs is a request for the copy engines of both. */
static enum plan_request_kind kind_of(const struct peer *peer, const struct hold *hold)
{
    if (hold->kind == ENGINE_EXECUTION)
        return REQUEST_EXECUTION;
    if (hold->device != peer->token_gpu)
        return REQUEST_PEER;
    return hold->kind == ENGINE_COPY_IN ? REQUEST_COPY_IN : REQUEST_COPY_OUT;
}

/* length 0: too many requests. One report for a client: further jobs tell nothing new. */
static void excess(struct server *server, struct peer *peer, enum plan_request_kind kind, baton_nsec length)
{
    struct server_report report = {.kind = REPORT_REQUESTS,
                                   .peer = peer->slot,
                                   .name = peer->hello.name,
                                   .detail = kind,
                                   .count = plan_requests_count(&peer->counted, kind),
                                   .response = length};

    if (!peer->excesses++)
        server->host.report(server->host.user, &report);
}

void requests_asked(struct server *server, struct peer *peer, unsigned lease)
{
    const struct hold *hold = &peer->holds[lease];
    enum plan_request_kind kind = kind_of(peer, hold);

    if (!peer->counted.said)
        return;
    /* a group holds engines together that the analysis counts one at a time */
    if (!request_tally_made(&peer->tally, &peer->counted, kind) || hold->group)
        excess(server, peer, kind, 0);
}

void requests_granted(struct server *server, struct peer *peer, unsigned lease,
                      const struct engine_set *engines)
{
    peer->holds[lease].contended_at = 0;
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        if (engine_set_has(engines, e) && sched_core_waiting(server->core, e) > 0)
            peer->holds[lease].contended_at = server->now_at;
    }
}

void requests_waits(struct server *server, const struct peer *peer, const struct engine_set *engines)
{
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        struct peer *holder = engine_set_has(engines, e) ? server->holders[e] : NULL;

        if (holder && holder != peer && !holder->holds[server->holder_leases[e]].contended_at)
            holder->holds[server->holder_leases[e]].contended_at = server->now_at;
    }
}

void requests_released(struct server *server, struct peer *peer, unsigned lease)
{
    struct hold *hold = &peer->holds[lease];
    baton_nsec length = hold->contended_at ? server->now_at - hold->contended_at : 0;
    enum plan_request_kind kind = kind_of(peer, hold);

    hold->contended_at = 0;
    if (length > 0 && peer->counted.said && peer->state == PEER_CLIENT &&
        !request_tally_lasted(&peer->tally, &peer->counted, kind, length))
        excess(server, peer, kind, length);
}

bool requests_outlast(const struct server *server, const struct peer *peer)
{
    bool outlast = false;

    for (unsigned i = 0; peer->counted.said && i < PAGE_LEASES; i++) {
        const struct hold *hold = &peer->holds[i];
        struct request_tally tally = peer->tally; /* the request is not over */

        if (hold->state == HOLD_HELD && hold->contended_at)
            outlast |= !request_tally_lasted(&tally, &peer->counted, kind_of(peer, hold),
                                             server->now_at - hold->contended_at);
    }
    return outlast;
}
