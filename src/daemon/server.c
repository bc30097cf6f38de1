#include "daemon/server.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/budgets.h"
#include "daemon/cpus.h"
#include "daemon/lanes.h"
#include "daemon/regain.h"

#define DRAIN_POLL (2 * NSEC_PER_MS) /* how often the lease words of a lost client are read */
/*
 * A process that cannot be watched counts as ended after this time. The same holds for a process
 * whose session thread has ended: its end would have been reported within this time.
 */
#define DRAIN_UNWATCHED NSEC_PER_SEC

/* ---- start and end ---- */

/*
 * The CPUs that programs run on; claims.c compares their number with the machine whenever a bound
 * is claimed.
 */
static unsigned program_cpus(const struct config *config)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (config->partitioned)
        return core_set_count(&config->program_cores);
    return online > 0 ? (unsigned)online : 1;
}

static int new_core(const struct config *config, struct sched_core **ret_core)
{
    const struct sched_profile *profile = &sched_profiles[config->profile];
    unsigned gpu_cluster = profile->tokens ? config->gpu_cluster : 1;
    unsigned cpus = program_cpus(config);
    unsigned cpu_cluster = profile->tokens && config->cpu_cluster ? config->cpu_cluster : cpus;
    struct sched_config core = {
        .profile = config->profile,
        .policy = config->policy,
        .lock = config->lock,
        .gpus = (config->devices + gpu_cluster - 1) / gpu_cluster * gpu_cluster,
        .copy_engines = config->copy_engines,
        .buses = config->buses,
        .gpu_cluster = gpu_cluster,
        .tokens_per_gpu = config->tokens_per_gpu,
        .cpus = cpus < cpu_cluster ? cpu_cluster : cpus / cpu_cluster * cpu_cluster,
        .cpu_cluster = cpu_cluster,
        .overrun = config->overrun == OVERRUN_DEMOTE     ? SCHED_OVERRUN_DEMOTE
                   : config->overrun == OVERRUN_THROTTLE ? SCHED_OVERRUN_THROTTLE
                                                         : SCHED_OVERRUN_TELL,
        .keep_gpu = profile->tokens,
        .clients = config->clients,
        .jobs = config->clients,
        .lanes = profile->tokens ? 1 : PAGE_LEASES + PEER_GROUPS,
    };

    return sched_core_new(&core, ret_core);
}

int server_new(const struct config *config, const struct server_host *host, const struct server_start *start,
               struct server **ret_server)
{
    struct server *server = calloc(1, sizeof *server);
    int result = -ENOMEM;

    if (!server)
        return -ENOMEM;
    server->config = *config;
    server->host = *host;
    server->start = *start;
    server->profile = &sched_profiles[config->profile];
    server->next_client = 1;
    server->settle_at = NSEC_MAX;
    server->timer_at = NSEC_MAX;
    server->claims.next_at = NSEC_MAX;
    server->now_at = start->now_at;
    server->peers = calloc(config->clients, sizeof(struct peer *));
    if (!server->peers)
        goto fail;
    result = new_core(&server->config, &server->core);
    if (result)
        goto fail;
    for (size_t i = 0; i < config->n_listed && result == 0; i++)
        result = server_add_device(server, config->listed[i].name, "configured");
    if (result)
        goto fail;
    if (start->settle && config->settle > 0) {
        arbiter_settle(server, false);
        server->settle_at = start->now_at + config->settle;
        server_arm(server, server->settle_at);
    }
    *ret_server = server;
    return 0;
fail:
    server_free(server);
    return result;
}

static void free_peer(struct server *server, struct peer *peer)
{
    admission_leave(server, peer);
    server->peers[peer->slot] = NULL;
    server->n_peers--;
    if (peer->page)
        server->host.page_free(server->host.user, peer->slot, peer->page);
    free(peer);
}

void server_free(struct server *server)
{
    if (!server)
        return;
    server->config.admission = ADMISSION_OFF; /* no task set is left to plan for */
    for (unsigned i = 0; server->peers && i < server->config.clients; i++) {
        struct peer *peer = server->peers[i];

        if (!peer)
            continue;
        if (peer->boosted)
            server->host.boost(server->host.user, peer->who.pid, peer->threads, peer->n_threads, 0);
        cpus_restore(server, peer);
        free_peer(server, peer);
    }
    if (server->has_plan)
        plan_done(&server->plan);
    if (server->admission.has_set)
        task_set_done(&server->admission.set);
    sched_core_free(server->core);
    free(server->peers);
    free(server);
}

/* ---- output ---- */

void peer_dirty(struct server *server, struct peer *peer)
{
    if (peer->dirty)
        return;
    peer->dirty = true;
    peer->next_dirty = server->dirty;
    server->dirty = peer;
}

void peer_report(struct server *server, const struct peer *peer, enum report_kind kind, uint64_t detail)
{
    struct server_report report = {
        .kind = kind, .peer = peer ? peer->slot : 0, .detail = detail, .name = peer ? peer->hello.name : ""};

    server->host.report(server->host.user, &report);
}

void peer_drop(struct server *server, struct peer *peer, enum report_kind report, uint64_t detail)
{
    if (peer->drop || peer->state == PEER_DRAINING)
        return;
    peer->drop = true;
    server->drops++;
    peer_report(server, peer, report, detail);
    if (peer->state != PEER_MONITOR && !peer->exited)
        unscheduled_add(server, peer->who.pid, peer->client);
    peer_dirty(server, peer);
}

void peer_put(struct server *server, struct peer *peer, const struct frame *frame)
{
    if (peer->state == PEER_DRAINING || peer->drop)
        return;
    if (outbox_put(&peer->out, frame) < 0)
        peer_drop(server, peer, REPORT_SLOW, 0);
    else
        peer_dirty(server, peer);
}

size_t server_pending(const struct server *server, unsigned slot, const uint8_t **ret_bytes)
{
    return outbox_pending(&server->peers[slot]->out, ret_bytes);
}

void server_sent(struct server *server, unsigned slot, size_t n)
{
    outbox_drop(&server->peers[slot]->out, n);
}

bool server_next_dirty(struct server *server, unsigned *ret_peer, bool *ret_drop)
{
    struct peer *peer = server->dirty;

    if (!peer)
        return false;
    server->dirty = peer->next_dirty;
    peer->dirty = false;
    *ret_peer = peer->slot;
    *ret_drop = peer->drop;
    return true;
}

static void undirty(struct server *server, struct peer *peer)
{
    for (struct peer **at = &server->dirty; *at; at = &(*at)->next_dirty) {
        if (*at == peer) {
            *at = peer->next_dirty;
            break;
        }
    }
    peer->dirty = false;
}

void server_arm(struct server *server, baton_nsec at)
{
    if (at < server->timer_at)
        server->timer_at = at;
}

/* ---- peers come and go ---- */

static unsigned peers_of(const struct server *server, uid_t uid)
{
    unsigned n = 0;

    for (unsigned i = 0; i < server->config.clients; i++)
        n += server->peers[i] && server->peers[i]->who.uid == uid;
    return n;
}

int server_accept(struct server *server, const struct credentials *who, baton_nsec now_at, unsigned *ret_peer)
{
    struct config_user limits = config_user(&server->config, who->uid, server->start.uid);
    struct peer *peer;
    unsigned slot = 0;

    server->now_at = now_at;
    while (slot < server->config.clients && server->peers[slot])
        slot++;
    if (slot == server->config.clients || peers_of(server, who->uid) >= limits.clients) {
        server_refused(server, who, EUSERS, now_at);
        return SERVER_BUSY;
    }
    peer = calloc(1, sizeof *peer);
    if (!peer) {
        server_refused(server, who, ENOMEM, now_at);
        return -ENOMEM;
    }
    peer->slot = slot;
    peer->state = PEER_GREETING;
    peer->connected = true;
    peer->who = *who;
    peer->since_at = now_at;
    peer->client = server->next_client++;
    peer->engaged = -1;
    outbox_init(&peer->in);
    outbox_init(&peer->out);
    server->peers[slot] = peer;
    server->n_peers++;
    *ret_peer = slot;
    return 0;
}

bool server_has(const struct server *server, unsigned slot)
{
    return server->peers[slot] != NULL;
}

bool server_has_job(const struct server *server, unsigned slot)
{
    return sched_core_has_job(server->core, slot);
}

unsigned server_peers(const struct server *server)
{
    return server->n_peers;
}

static void depart(struct server *server, struct peer *peer)
{
    struct history_client kept = {.client = peer->client,
                                  .pid = peer->who.pid,
                                  .uid = peer->who.uid,
                                  .priority = peer->priority,
                                  .period = peer->hello.period,
                                  .deadline = peer->hello.deadline};
    struct history_engines engines;

    for (unsigned i = 0; i < PAGE_LEASES; i++)
        engines.of_lease[i] = peer_engine(peer, i);
    memcpy(kept.name, peer->hello.name, sizeof kept.name);
    history_keep(&server->history, &kept, peer->page, &engines);
    if (peer->page)
        tally_keep(&server->tally, peer->hello.name, peer->page, &engines);
    history_add(&server->history, server->now_at, RECORD_LEAVE, peer->client, 0);
}

/*
 * The session has ended but its process lives. Either the process is about to end, which is
 * reported, or it has executed another program, which is not. Then the former program's GPU work is
 * gone.
 */
static bool may_be_another(const struct peer *peer)
{
    return !peer->connected && !peer->exited && peer->page && page_orphaned(peer->page);
}

/*
 * The connection ends, but neither the session nor its process: its commands go on as without
 * batond until it connects again. A dropped client is known already.
 */
static bool goes_on_alone(const struct peer *peer)
{
    return peer->state == PEER_CLIENT && !peer->drop && !peer->exited && !page_orphaned(peer->page);
}

/* Ends every hold that can end now; frees the peer once none is left. True: the peer stays. */
static bool try_to_end(struct server *server, struct peer *peer)
{
    if (!arbiter_leave(server, peer)) {
        server_arm(server, server->now_at + DRAIN_POLL);
        return true;
    }
    if (may_be_another(peer))
        server_arm(server, server->now_at + DRAIN_POLL);
    if (peer->connected || (peer->reserves && !peer->exited))
        return true;
    regain_follow(server); /* the page may say more than at the last event */
    if (peer->page)
        depart(server, peer);
    undirty(server, peer);
    free_peer(server, peer);
    return false;
}

bool server_lost(struct server *server, unsigned slot, baton_nsec now_at)
{
    struct peer *peer = server->peers[slot];
    bool stays;

    server->now_at = now_at;
    if (goes_on_alone(peer))
        unscheduled_add(server, peer->who.pid, peer->client);
    server->n_realtime -= peer->realtime;
    peer->realtime = false;
    peer->connected = false;
    peer->state = PEER_DRAINING;
    if (!peer->exited)
        peer->drain_at = now_at;
    if (peer->boosted) {
        peer->boosted = 0;
        server->host.boost(server->host.user, peer->who.pid, peer->threads, peer->n_threads, 0);
    }
    cpus_restore(server, peer);
    if (peer->reserves && peer->who.unwatched)
        peer->exited = true;
    stays = try_to_end(server, peer);
    regain_follow(server);
    return stays;
}

void server_exited(struct server *server, unsigned slot, baton_nsec now_at)
{
    struct peer *peer = server->peers[slot];

    server->now_at = now_at;
    peer->exited = true;
    peer->drain_at = now_at;
    if (peer->state == PEER_DRAINING)
        (void)try_to_end(server, peer);
    else
        peer_drop(server, peer, REPORT_UNDRAINED, 1);
    regain_follow(server);
}

bool server_has_realtime(const struct server *server)
{
    return server->n_realtime > 0;
}

bool same_session(const struct peer *a, const struct peer *b)
{
    return a != b && a->page && b->page && a->who.pid == b->who.pid && a->who.uid == b->who.uid &&
           a->hello.key == b->hello.key;
}

/*
 * Earlier connections of this session: nothing more is granted to them, and their holds wait for
 * declarations.
 */
void peer_replace_earlier(struct server *server, struct peer *peer)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *old = server->peers[i];

        if (!old || !same_session(peer, old) || old->state == PEER_DRAINING)
            continue;
        old->state = PEER_DRAINING;
        old->drain_at = server->now_at;
        old->drop = true;
        peer_dirty(server, old);
        if (!arbiter_leave(server, old))
            server_arm(server, server->now_at + DRAIN_POLL);
    }
}

/* ---- time ---- */

baton_nsec server_next_at(const struct server *server)
{
    return server->timer_at;
}

static void tick_draining(struct server *server, struct peer *peer)
{
    if (may_be_another(peer) && server->now_at - peer->drain_at >= DRAIN_UNWATCHED) {
        peer->exited = true;
        peer->drain_at = server->now_at;
    }
    if (!peer->exited && peer->who.unwatched && server->now_at - peer->drain_at >= DRAIN_UNWATCHED) {
        peer->exited = true;
        peer_report(server, peer, REPORT_UNDRAINED, 0);
    }
    (void)try_to_end(server, peer);
}

void server_tick(struct server *server, baton_nsec now_at)
{
    server->now_at = now_at;
    if (now_at < server->timer_at)
        return;
    server->timer_at = NSEC_MAX;
    if (server->settle_at <= now_at) {
        server->settle_at = NSEC_MAX;
        arbiter_settle(server, true);
        peer_report(server, NULL, REPORT_SETTLED, server->declared);
        claims_check(server);
    } else if (server->settle_at != NSEC_MAX) {
        server_arm(server, server->settle_at);
    }
    for (unsigned i = 0; i < server->config.clients; i++) {
        if (server->peers[i] && server->peers[i]->state == PEER_DRAINING)
            tick_draining(server, server->peers[i]);
    }
    claims_tick(server);
    budgets_tick(server);
    arbiter_tick(server);
    regain_follow(server);
}
