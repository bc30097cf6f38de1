#include "daemon/cpus.h"

#include "daemon/points.h"
#include "daemon/regain.h"

bool cpus_ordered(const struct server *server)
{
    return server->profile->tokens && server->config.cpu_cluster && server->host.order &&
           (server->start.about & ABOUT_BOOSTS);
}

bool cpus_of_cluster(const struct server *server, unsigned cluster, struct core_set *ret_cores)
{
    struct core_set programs = claims_program_cores(server);
    unsigned c = sched_core_config(server->core)->cpu_cluster;
    unsigned seen = 0;

    *ret_cores = (struct core_set){{0}};
    for (unsigned core = 0; core < CORES_MAX; core++) {
        if (!core_set_has(&programs, core))
            continue;
        if (seen / c == cluster)
            core_set_add(ret_cores, core);
        seen++;
    }
    return server->claims.machine_known && core_set_count(ret_cores) == c;
}

void cpus_changed(struct server *server)
{
    server->ranks_changed = true;
}

/* ---- levels ---- */

struct cpu_place {
    struct peer *peer;
    struct sched_rank rank;
};

static bool takes_part(const struct peer *peer)
{
    return peer && peer->state == PEER_CLIENT && peer->admitted && peer->joined && peer->n_threads;
}

static struct sched_rank rank_of(const struct server *server, const struct peer *peer)
{
    if (sched_core_has_job(server->core, peer->slot))
        return sched_core_rank(server->core, sched_core_effective(server->core, peer->slot));
    return sched_core_rank_of(server->core, &(struct sched_event){.admitted = true,
                                                                  .no_deadline = peer->no_deadline,
                                                                  .priority = peer->priority,
                                                                  .deadline_at = points_next(server, peer)});
}

/* Is a before b? If both run with one rank, the job that owns the rank is first. */
static bool stands_before(const struct server *server, const struct cpu_place *a, const struct cpu_place *b)
{
    bool same = a->rank.seq == b->rank.seq && a->rank.key == b->rank.key && a->rank.tier == b->rank.tier;

    if (!same)
        return sched_rank_above(&a->rank, &b->rank);
    if (!sched_core_has_job(server->core, a->peer->slot) || !sched_core_has_job(server->core, b->peer->slot))
        return a->peer->slot < b->peer->slot;
    return sched_core_above(server->core, a->peer->slot, b->peer->slot);
}

static size_t sort_cluster(const struct server *server, unsigned cluster,
                           struct cpu_place ret_places[ADMISSION_TASKS])
{
    size_t n = 0;

    for (unsigned i = 0; i < server->config.clients && n < ADMISSION_TASKS; i++) {
        struct cpu_place place = {.peer = server->peers[i]};
        size_t at = n;

        if (!takes_part(place.peer) || place.peer->cpu_cluster != cluster)
            continue;
        place.rank = rank_of(server, place.peer);
        while (at > 0 && stands_before(server, &place, &ret_places[at - 1])) {
            ret_places[at] = ret_places[at - 1];
            at--;
        }
        ret_places[at] = place;
        n++;
    }
    return n;
}

/*
 * Gives all threads of the program its level. A thread that had none has run below all others and
 * may have delayed its job: the claims are lost. False: the host could not move every thread.
 */
static bool move(struct server *server, const struct peer *peer, const struct core_set *cores)
{
    int result = server->host.order(server->host.user, peer->who.pid, cores, peer->level);

    if (result != 0)
        regain_lose(server);
    return result >= 0;
}

static void set_level(struct server *server, struct peer *peer, unsigned level, const struct core_set *cores)
{
    if (peer->level == level)
        return;
    peer->level = level;
    peer->disordered = !move(server, peer, cores);
}

/*
 * May the program run only on a core that no ready job of its cluster wants? A donor whose job has
 * ended keeps its rank until the donation ends (C5). What its program computes then belongs to the
 * next job, and must not go before the donee, which has the same rank.
 */
static bool must_not_run(const struct server *server, const struct peer *peer)
{
    return peer->suspended || (peer->job == JOB_ENDING && sched_core_has_job(server->core, peer->slot));
}

static void order_cluster(struct server *server, unsigned cluster)
{
    unsigned levels = server->config.band_high - server->config.band_low + 1;
    struct cpu_place places[ADMISSION_TASKS];
    size_t n = sort_cluster(server, cluster, places);
    struct core_set cores;

    if (!cpus_of_cluster(server, cluster, &cores))
        return;
    for (size_t i = 0; i < n;
         /* raised programs first: a holder never waits for the program that lends it a rank */
         i++) {
        struct peer *peer = places[i].peer;
        bool room = i + 1 < levels;
        bool last = must_not_run(server, peer);

        set_level(server, peer, last || !room ? CPUS_LOWEST : levels - (unsigned)i, &cores);
        if (!room && !last)
            peer->disordered = true;
    }
}

void cpus_update(struct server *server)
{
    const struct sched_config *config = sched_core_config(server->core);

    if (!server->ranks_changed)
        return;
    server->ranks_changed = false;
    if (!cpus_ordered(server))
        return;
    for (unsigned i = 0; i < config->cpus / config->cpu_cluster; i++)
        order_cluster(server, i);
}

void cpus_renew(struct server *server, struct peer *peer)
{
    if (!cpus_ordered(server))
        return;
    if (!peer->admitted)
        cpus_restore(server, peer);
    peer->level = 0;
    cpus_changed(server);
    cpus_update(server);
}

static bool has_strangers(const struct server *server, const struct peer *peer)
{
    return server->host.strangers(server->host.user, peer->who.pid) > 0;
}

bool cpus_look(struct server *server)
{
    struct core_set cores;
    bool found = false;

    for (unsigned i = 0; cpus_ordered(server) && server->host.strangers && i < server->config.clients; i++) {
        struct peer *peer = server->peers[i];

        if (!takes_part(peer) || !peer->level || !cpus_of_cluster(server, peer->cpu_cluster, &cores))
            continue;
        peer->stranger = has_strangers(server, peer);
        if (!peer->stranger)
            continue;
        found = true;
        peer->disordered |= !move(server, peer, &cores);
        peer->stranger = has_strangers(server, peer);
    }
    if (found)
        regain_lose(server);
    return found;
}

void cpus_restore(struct server *server, struct peer *peer)
{
    struct core_set all = {{0}};

    if (!peer->level)
        return;
    peer->level = 0;
    peer->disordered = peer->stranger = false;
    (void)server->host.order(server->host.user, peer->who.pid, &all, 0);
}
