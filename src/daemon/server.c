#include "daemon/server.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/peer.h"

#define DRAIN_POLL      (2 * NSEC_PER_MS) /* how often the words of a lost peer are looked at */
#define DRAIN_UNWATCHED NSEC_PER_SEC      /* a process that cannot be watched counts as ended after this */

/* ---- start and end ---- */

static int new_core(const struct config *config, struct sched_core **ret_core)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct sched_config core = {
        .profile = config->profile,
        .policy = config->policy,
        .lock = config->lock,
        .gpus = config->devices,
        .copy_engines = config->copy_engines,
        .buses = config->buses,
        .gpu_cluster = 1,
        .tokens_per_gpu = config->tokens_per_gpu,
        .cpus = cpus > 0 ? (unsigned)cpus : 1,
        .clients = config->clients,
        .jobs = config->clients,
        .lanes = sched_profiles[config->profile].tokens ? 1 : PAGE_LEASES,
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
    server->now_at = start->now_at;
    server->peers = calloc(config->clients, sizeof(struct peer *));
    if (!server->peers)
        goto fail;
    result = new_core(config, &server->core);
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
    for (unsigned i = 0; server->peers && i < server->config.clients; i++) {
        struct peer *peer = server->peers[i];

        if (!peer)
            continue;
        if (peer->boosted)
            server->host.boost(server->host.user, peer->who.pid, peer->threads, peer->n_threads, 0);
        free_peer(server, peer);
    }
    if (server->has_plan)
        plan_done(&server->plan);
    sched_core_free(server->core);
    free(server->peers);
    free(server);
}

/* ---- output ---- */

static void mark_dirty(struct server *server, struct peer *peer)
{
    if (peer->dirty)
        return;
    peer->dirty = true;
    peer->next_dirty = server->dirty;
    server->dirty = peer;
}

void peer_drop(struct server *server, struct peer *peer, enum server_report report, uint64_t detail)
{
    if (peer->drop || peer->state == PEER_DRAINING)
        return;
    peer->drop = true;
    server->drops++;
    server->host.report(server->host.user, report, peer->slot, detail);
    mark_dirty(server, peer);
}

void peer_put(struct server *server, struct peer *peer, const struct frame *frame)
{
    if (peer->state == PEER_DRAINING || peer->drop)
        return;
    if (outbox_put(&peer->out, frame) < 0)
        peer_drop(server, peer, REPORT_SLOW, 0);
    else
        mark_dirty(server, peer);
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

/* ---- devices ---- */

int server_add_device(struct server *server, const char *name, const char *description)
{
    unsigned index = 0;
    struct device *device;

    if (!device_name_valid(name))
        return -EINVAL;
    if (device_find(server, name, false, &index) == 0) {
        device = &server->devices[index];
    } else {
        if (server->n_devices == server->config.devices)
            return -ENOSPC;
        device = &server->devices[server->n_devices++];
        memcpy(device->name, name, strlen(name) + 1);
        device->copy_engines = server->config.copy_engines;
        for (size_t i = 0; i < server->config.n_listed; i++) {
            if (strcmp(server->config.listed[i].name, name) == 0) {
                device->copy_engines = server->config.listed[i].copy_engines;
                device->drain = server->config.listed[i].drain;
            }
        }
        if (device->copy_engines > server->config.copy_engines)
            device->copy_engines = server->config.copy_engines;
    }
    device->discovered = strcmp(description, "configured") != 0 && strcmp(description, "declared") != 0;
    (void)snprintf(device->description, sizeof device->description, "%s", description);
    return 0;
}

int device_find(struct server *server, const char *name, bool declare, unsigned *ret_device)
{
    for (unsigned i = 0; i < server->n_devices; i++) {
        if (strcmp(server->devices[i].name, name) == 0) {
            *ret_device = i;
            return 0;
        }
    }
    if (!declare)
        return -ENODEV;
    if (server_add_device(server, name, "declared") < 0)
        return -ENOSPC;
    *ret_device = server->n_devices - 1;
    return 0;
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
    if (slot == server->config.clients || peers_of(server, who->uid) >= limits.clients)
        return SERVER_BUSY;
    peer = calloc(1, sizeof *peer);
    if (!peer)
        return -ENOMEM;
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

unsigned server_peers(const struct server *server)
{
    return server->n_peers;
}

static void depart(struct server *server, struct peer *peer)
{
    struct history_client kept = {peer->client, peer->who.pid, peer->who.uid, peer->priority, ""};
    struct history_engines engines;

    for (unsigned i = 0; i < PAGE_LEASES; i++)
        engines.of_lease[i] = peer_engine(peer, i);
    memcpy(kept.name, peer->hello.name, sizeof kept.name);
    history_keep(&server->history, &kept, peer->page, &engines);
    history_add(&server->history, server->now_at, RECORD_LEAVE, peer->client, 0);
}

/* Takes back what can be taken back; frees the peer once nothing is left. True: it lives on. */
static bool try_to_end(struct server *server, struct peer *peer)
{
    if (!arbiter_leave(server, peer)) {
        server_arm(server, server->now_at + DRAIN_POLL);
        return true;
    }
    if (peer->connected)
        return true;
    if (peer->page)
        depart(server, peer);
    undirty(server, peer);
    free_peer(server, peer);
    return false;
}

bool server_lost(struct server *server, unsigned slot, baton_nsec now_at)
{
    struct peer *peer = server->peers[slot];

    server->now_at = now_at;
    peer->connected = false;
    peer->state = PEER_DRAINING;
    if (!peer->exited)
        peer->drain_at = now_at;
    if (peer->boosted) {
        peer->boosted = false;
        server->host.boost(server->host.user, peer->who.pid, peer->threads, peer->n_threads, 0);
    }
    if (!peer->page) {
        undirty(server, peer);
        free_peer(server, peer);
        return false;
    }
    return try_to_end(server, peer);
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
}

/* ---- what holds for a client ---- */

static unsigned clip(const struct server *server, const struct peer *peer, unsigned priority)
{
    struct config_user limits = config_user(&server->config, peer->who.uid, server->start.uid);

    return priority > limits.ceiling ? limits.ceiling : priority;
}

void peer_plan(struct server *server, struct peer *peer)
{
    const struct plan_task *task = server->has_plan ? plan_find(&server->plan, peer->hello.name) : NULL;
    bool adaptive = (peer->hello.flags & HELLO_ADAPTIVE) != 0 && !task;
    unsigned asked = task ? task->priority : adaptive ? 0 : peer->hello.priority;
    struct frame frame = {.type = FRAME_PLAN};

    peer->priority = clip(server, peer, asked);
    peer->exact = adaptive;
    frame.plan.priority = peer->priority;
    frame.plan.flags = (server->profile->pieces || server->profile->reserve ? PLAN_SLICING : 0) |
                       (adaptive ? PLAN_ADAPTIVE : 0) | (peer->priority < asked ? PLAN_CLIPPED : 0);
    if (task) {
        frame.plan.gpus = task->gpus;
        frame.plan.gpu_set = task->placement.kind == PLACEMENT_FIXED ? task->placement.gpus : 0;
        frame.plan.piece = (uint64_t)task->piece;
        frame.plan.chunk_in = (uint64_t)task->chunk_in;
        frame.plan.chunk_out = (uint64_t)task->chunk_out;
    }
    peer_put(server, peer, &frame);
}

static void plan_again(struct server *server, struct peer *peer)
{
    peer_plan(server, peer);
    if (peer->joined)
        arbiter_priority(server, peer, NSEC_MAX);
}

int server_set_plan(struct server *server, const struct plan *plan, const char *path, baton_nsec now_at)
{
    struct plan copy = {0};

    server->now_at = now_at;
    if (plan) {
        arena_init(&copy.arena, 0);
        copy.tasks = arena_calloc(&copy.arena, plan->n_tasks, sizeof *copy.tasks);
        if (!copy.tasks && plan->n_tasks) {
            arena_done(&copy.arena);
            return -ENOMEM;
        }
        copy.n_tasks = plan->n_tasks;
        for (size_t i = 0; i < plan->n_tasks; i++) {
            copy.tasks[i] = plan->tasks[i];
            copy.tasks[i].name = arena_strndup(&copy.arena, plan->tasks[i].name, strlen(plan->tasks[i].name));
            if (!copy.tasks[i].name) {
                arena_done(&copy.arena);
                return -ENOMEM;
            }
        }
    }
    if (server->has_plan)
        plan_done(&server->plan);
    server->plan = copy;
    server->has_plan = plan != NULL;
    (void)snprintf(server->plan_path, sizeof server->plan_path, "%s", plan ? path : "");
    for (unsigned i = 0; i < server->config.clients; i++) {
        if (server->peers[i] && server->peers[i]->state == PEER_CLIENT)
            plan_again(server, server->peers[i]);
    }
    return 0;
}

void server_set_limits(struct server *server, const struct config *config, baton_nsec now_at)
{
    server->now_at = now_at;
    server->config.others = config->others;
    memcpy(server->config.users, config->users, sizeof server->config.users);
    server->config.n_users = config->n_users;
    server->config.overdue = config->overdue;
    server->reloads++;
    for (unsigned i = 0; i < server->config.clients; i++) {
        if (server->peers[i] && server->peers[i]->state == PEER_CLIENT)
            plan_again(server, server->peers[i]);
    }
}

/* ---- frames ---- */

static bool reports_jobs(const struct server *server, const struct peer *peer)
{
    return server->profile->tokens || server->config.policy == POLICY_EDF ||
           server->config.policy == POLICY_FAIR_LATENESS || (peer->hello.flags & HELLO_ADAPTIVE);
}

bool same_session(const struct peer *a, const struct peer *b)
{
    return a != b && a->page && b->page && a->who.pid == b->who.pid && a->who.uid == b->who.uid &&
           a->hello.key == b->hello.key;
}

/* Connections that this session had before: nothing more is granted to them, and what they hold waits for declarations. */
static void replace_earlier(struct server *server, struct peer *peer)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *old = server->peers[i];

        if (!old || !same_session(peer, old) || old->state == PEER_DRAINING)
            continue;
        old->state = PEER_DRAINING;
        old->drain_at = server->now_at;
        old->drop = true;
        mark_dirty(server, old);
        if (!arbiter_leave(server, old))
            server_arm(server, server->now_at + DRAIN_POLL);
    }
}

static int receive_hello(struct server *server, struct peer *peer, const struct frame_hello *hello)
{
    struct frame frame = {.type = FRAME_WELCOME};
    struct frame error = {.type = FRAME_ERROR, .error = {.reason = EPROTONOSUPPORT}};

    if (hello->version != FRAME_VERSION) {
        (void)snprintf(error.error.text, sizeof error.error.text, "expected protocol version %u, found %u",
                       FRAME_VERSION, hello->version);
        peer_put(server, peer, &error);
        return SERVER_DROP;
    }
    if (hello->priority > 99)
        return SERVER_DROP;
    peer->hello = *hello;
    frame.welcome.version = FRAME_VERSION;
    frame.welcome.generation = server->start.generation;
    frame.welcome.client = peer->client;
    if (hello->flags & HELLO_MONITOR) {
        peer->state = PEER_MONITOR;
        peer_put(server, peer, &frame);
        return 0;
    }
    if (server->host.page_new(server->host.user, peer->slot, &peer->page) < 0)
        return SERVER_DROP;
    page_init(peer->page, server->start.generation, peer->client);
    peer->state = PEER_CLIENT;
    frame.welcome.page_size = PAGE_SIZE_BYTES;
    peer->reports_jobs = reports_jobs(server, peer);
    frame.welcome.flags = peer->reports_jobs ? WELCOME_JOBS : 0;
    peer_put(server, peer, &frame);
    peer_plan(server, peer);
    history_add(&server->history, server->now_at, RECORD_JOIN, peer->client, 0);
    replace_earlier(server, peer);
    arbiter_join(server, peer);
    return 0;
}

static void receive_thread(struct peer *peer, uint32_t tid)
{
    for (size_t i = 0; i < peer->n_threads; i++) {
        if (peer->threads[i] == (pid_t)tid)
            return;
    }
    if (peer->n_threads < PEER_MAX_THREADS && tid > 0 && tid <= INT32_MAX)
        peer->threads[peer->n_threads++] = (pid_t)tid;
}

/* Only the daemon's own user and root may change what holds for everybody. */
static void receive_reload(struct server *server, struct peer *peer)
{
    struct frame frame = {.type = FRAME_DONE};

    if (peer->who.uid != server->start.uid && peer->who.uid != 0) {
        frame.done.reason = EPERM;
        (void)snprintf(frame.done.text, sizeof frame.done.text, "only the daemon's own user may");
    } else {
        int result = server->host.reload(server->host.user, frame.done.text, sizeof frame.done.text);

        frame.done.reason = (uint32_t)(result < 0 ? -result : result);
    }
    peer_put(server, peer, &frame);
}

static int dispatch_client(struct server *server, struct peer *peer, const struct frame *frame)
{
    switch (frame->type) {
    case FRAME_ATTACH:
        if (frame->attach.index >= PAGE_LEASES || frame->attach.engine >= FRAME_ENGINES ||
            peer->holds[frame->attach.index].state != HOLD_UNUSED || !device_name_valid(frame->attach.device))
            return SERVER_DROP;
        arbiter_attach(server, peer, &frame->attach);
        return 0;
    case FRAME_REQUEST:
        if (frame->request.index >= PAGE_LEASES)
            return SERVER_DROP;
        if (peer->holds[frame->request.index].state !=
            HOLD_UNUSED) /* else: refused, the answer is under way */
            arbiter_request(server, peer, frame->request.index, frame->request.epoch);
        return 0;
    case FRAME_RELEASE:
        if (frame->release.index >= PAGE_LEASES)
            return SERVER_DROP;
        if (peer->holds[frame->release.index].state != HOLD_UNUSED)
            arbiter_release(server, peer, &frame->release);
        return 0;
    case FRAME_PRIORITY:
        if (frame->priority.priority < 1 || frame->priority.priority > 99)
            return SERVER_DROP;
        peer->hello.priority = frame->priority.priority;
        peer->hello.flags &= ~HELLO_ADAPTIVE;
        plan_again(server, peer);
        return 0;
    case FRAME_THREAD:
        receive_thread(peer, frame->thread.tid);
        return 0;
    case FRAME_JOB:
        arbiter_job(server, peer, &frame->job);
        return 0;
    default:
        return SERVER_DROP;
    }
}

static int dispatch(struct server *server, struct peer *peer, const struct frame *frame)
{
    if (peer->state == PEER_GREETING)
        return frame->type == FRAME_HELLO ? receive_hello(server, peer, &frame->hello) : SERVER_DROP;
    switch (frame->type) {
    case FRAME_GOODBYE:
        peer->finished = true;
        peer->drop = true;
        mark_dirty(server, peer);
        return 0;
    case FRAME_QUERY:
        answer_query(server, peer, &frame->query);
        return 0;
    case FRAME_RELOAD:
        receive_reload(server, peer);
        return 0;
    default:
        return peer->state == PEER_CLIENT ? dispatch_client(server, peer, frame) : SERVER_DROP;
    }
}

int server_receive(struct server *server, unsigned slot, const uint8_t *bytes, size_t n, baton_nsec now_at)
{
    struct peer *peer = server->peers[slot];

    server->now_at = now_at;
    while (n > 0 && !peer->drop) {
        size_t taken = outbox_append(&peer->in, bytes, n);
        int result = 0;

        bytes += taken;
        n -= taken;
        while (!peer->drop && result == 0) {
            const uint8_t *waiting;
            size_t pending = outbox_pending(&peer->in, &waiting);
            struct frame frame;
            size_t used;

            result = frame_decode(waiting, pending, &frame, &used);
            if (result == FRAME_PARTIAL)
                break;
            if (result == 0) {
                outbox_drop(&peer->in, used);
                result = dispatch(server, peer, &frame);
            }
            if (result)
                peer_drop(server, peer, REPORT_BAD_FRAME, 0);
        }
    }
    return peer->drop ? SERVER_DROP : 0;
}

/* ---- time ---- */

baton_nsec server_next_at(const struct server *server)
{
    return server->timer_at;
}

static void tick_draining(struct server *server, struct peer *peer)
{
    if (!peer->exited && peer->who.pid <= 0 && server->now_at - peer->drain_at >= DRAIN_UNWATCHED) {
        peer->exited = true;
        server->host.report(server->host.user, REPORT_UNDRAINED, peer->slot, 0);
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
        server->host.report(server->host.user, REPORT_SETTLED, 0, server->declared);
    } else if (server->settle_at != NSEC_MAX) {
        server_arm(server, server->settle_at);
    }
    for (unsigned i = 0; i < server->config.clients; i++) {
        if (server->peers[i] && server->peers[i]->state == PEER_DRAINING)
            tick_draining(server, server->peers[i]);
    }
    arbiter_tick(server);
}

bool server_engine_free(const struct server *server, const char *device, unsigned engine)
{
    for (unsigned i = 0; i < server->n_devices; i++) {
        if (strcmp(server->devices[i].name, device) == 0) {
            engine_id id =
                engine == FRAME_ENGINE_EXECUTION
                    ? sched_execution_engine(server->core, i)
                    : sched_copy_engine(server->core, i, engine == FRAME_ENGINE_COPY_IN ? COPY_IN : COPY_OUT);
            unsigned lane;

            return sched_core_holder(server->core, id, &lane) == SCHED_NO_JOB;
        }
    }
    return true;
}
