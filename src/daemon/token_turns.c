#include "daemon/token_turns.h"

#include "daemon/holds.h"
#include "daemon/lanes.h"

void token_turns_began(struct server *server, struct peer *peer)
{
    peer->token_at = server->now_at;
    peer->turn_over = false;
    server_arm(server, server->now_at + TOKEN_TURN_NS);
}

/* When the first of the jobs that wait for this token began to wait; NSEC_MAX: none does. */
static baton_nsec waited_since(const struct server *server, const struct peer *holder)
{
    baton_nsec since_at = NSEC_MAX;

    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        if (peer && peer->state == PEER_CLIENT && peer->token == PEER_TOKEN_ASKED &&
            (peer->token_gpus >> holder->token_gpu & 1) && peer->token_at < since_at)
            since_at = peer->token_at;
    }
    return since_at;
}

/* Does the analysis count the whole job as one critical section? */
static bool keeps_token(const struct server *server, const struct peer *peer)
{
    return peer->reported && !peer->inferred && (peer->admitted || !server->has_plan);
}

void token_turns_tick(struct server *server)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *holder = server->peers[i];
        baton_nsec at;

        if (!holder || holder->state != PEER_CLIENT || holder->token != PEER_TOKEN_OURS ||
            holder->turn_over || keeps_token(server, holder))
            continue;
        at = waited_since(server, holder);
        if (at == NSEC_MAX)
            continue;
        at = (at > holder->token_at ? at : holder->token_at) + TOKEN_TURN_NS;
        if (at > server->now_at) {
            server_arm(server, at);
            continue;
        }
        holder->turn_over = true;
        lanes_pump(server, holder);
        holds_run(server);
    }
}
