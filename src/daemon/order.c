#include "daemon/order.h"

#include <limits.h>

#include "daemon/cpus.h"
#include "daemon/peer.h"
#include "wire/rank.h"

struct ranked_peer {
    const struct peer *peer;
    unsigned planned; /* its priority in the plan */
    int least, most;  /* the real-time priorities of its threads with Linux */
    int working;      /* the least of those that work for its jobs */
};

/*
 * Of its main thread, and of those that it has named and that have not ended. Named threads work
 * for its jobs; without any the main thread does.
 */
static void rank_threads(const struct server *server, struct ranked_peer *ranked)
{
    const struct peer *peer = ranked->peer;
    const pid_t pid = peer->who.pid;
    int working = INT_MAX;

    if (!server->host.rank_of)
        return;
    ranked->least = ranked->most = server->host.rank_of(server->host.user, pid, pid);
    for (size_t i = 0; i < peer->n_threads; i++) {
        int rank = server->host.rank_of(server->host.user, pid, peer->threads[i]);

        if (rank >= 0 && rank < working)
            working = rank;
        if (rank > ranked->most)
            ranked->most = rank;
    }
    ranked->working = working < INT_MAX ? working : ranked->least;
    ranked->least = working < ranked->least ? working : ranked->least;
}

/*
 * The clients of the plan. A client that is boosted while it yields does not show its own
 * priority.
 */
static size_t ranked_clients(const struct server *server, struct ranked_peer ret_ranked[ADMISSION_TASKS])
{
    size_t n = 0;

    for (unsigned i = 0; i < server->config.clients && n < ADMISSION_TASKS; i++) {
        const struct peer *peer = server->peers[i];
        const struct plan_task *task =
            peer && peer->page && peer->task && !peer->best_effort && !peer->boosted ? peer->task->planned
                                                                                     : NULL;

        if (!task)
            continue;
        ret_ranked[n] = (struct ranked_peer){.peer = peer, .planned = task->priority};
        rank_threads(server, &ret_ranked[n++]);
    }
    return n;
}

/* Does some thread of a program that has jobs not have the level that the order gives it? */
static bool is_disordered(const struct peer *peer)
{
    bool unordered = peer->state == PEER_CLIENT && peer->admitted && peer->joined && !peer->level;

    return unordered || peer->disordered || peer->stranger;
}

/*
 * The lowest real-time priority that batond has given to a program of the plan, donors that must
 * not run apart.
 */
static int lowest_given(const struct server *server)
{
    unsigned lowest = RANK_LEVELS + 1;

    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        if (peer && peer->level > CPUS_LOWEST && peer->level < lowest)
            lowest = peer->level;
    }
    return lowest > RANK_LEVELS ? INT_MAX : (int)(server->config.band_low + lowest - CPUS_LOWEST);
}

/*
 * batond orders the CPUs. A program that it has not ordered yet, because it has had no job, must
 * not run before those that it has.
 */
static enum model_rule ordered_rule(const struct server *server, bool all, uint32_t *ret_who)
{
    int lowest = lowest_given(server);

    for (unsigned i = 0; i < server->config.clients; i++) {
        struct ranked_peer ranked = {.peer = server->peers[i]};

        if (!ranked.peer || !ranked.peer->page)
            continue;
        *ret_who = ranked.peer->client;
        if (is_disordered(ranked.peer))
            return RULE_ORDER;
        if (all && !ranked.peer->level)
            rank_threads(server, &ranked);
        if (ranked.most >= lowest)
            return RULE_ORDER;
    }
    return RULE_MET;
}

/* Do other programs of the machine, real-time or not, share cores with the program's jobs? */
static bool shares_cores(const struct ranked_peer *ranked)
{
    return !ranked->peer->task->planned->no_deadline && ranked->working < 1;
}

/*
 * Linux orders the CPUs. Each program with deadlines needs a real-time priority. None may have a
 * higher one than a more urgent program. With more programs than cores the more urgent one needs a
 * higher one (R3).
 */
static enum model_rule linux_rule(const struct server *server, uint32_t *ret_who)
{
    struct core_set cores = claims_program_cores(server);
    struct ranked_peer ranked[ADMISSION_TASKS];
    unsigned clients = 0;
    bool enough; /* cores for all programs */
    size_t n;

    for (unsigned i = 0; i < server->config.clients; i++)
        clients += server->peers[i] && server->peers[i]->page;
    enough = clients <= core_set_count(&cores);
    n = ranked_clients(server, ranked);
    for (size_t i = 0; i < n; i++) {
        *ret_who = ranked[i].peer->client;
        if (shares_cores(&ranked[i]))
            return RULE_ORDER;
        for (size_t j = 0; j < n; j++) {
            if (ranked[j].planned < ranked[i].planned && ranked[j].most + !enough > ranked[i].least)
                return RULE_ORDER;
        }
    }
    return RULE_MET;
}

enum model_rule order_rule(const struct server *server, bool all, uint32_t *ret_who)
{
    if (cpus_ordered(server))
        return ordered_rule(server, all, ret_who);
    return all ? linux_rule(server, ret_who) : RULE_MET;
}

int order_lowest(const struct server *server)
{
    struct ranked_peer ranked[ADMISSION_TASKS];
    int lowest = INT_MAX;
    size_t n;

    if (cpus_ordered(server))
        return lowest_given(server);
    n = ranked_clients(server, ranked);
    for (size_t i = 0; i < n; i++)
        lowest = ranked[i].least < lowest ? ranked[i].least : lowest;
    return lowest;
}
