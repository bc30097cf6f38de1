#include "daemon/lanes.h"

#include "daemon/budgets.h"
#include "daemon/holds.h"
#include "daemon/points.h"
#include "daemon/releases.h"
#include "daemon/token_turns.h"

/* ---- joining ---- */

static unsigned clusters_of_gpus(const struct server *server)
{
    const struct sched_config *config = sched_core_config(server->core);

    return config->gpus / config->gpu_cluster;
}

static unsigned clusters_of_cpus(const struct server *server)
{
    const struct sched_config *config = sched_core_config(server->core);

    return config->cpus / config->cpu_cluster;
}

static unsigned gpu_cluster_of(const struct server *server, unsigned gpu)
{
    return gpu / sched_core_config(server->core)->gpu_cluster;
}

/* The GPUs of a cluster that exist. */
static uint64_t gpus_of_cluster(const struct server *server, unsigned cluster)
{
    unsigned g = sched_core_config(server->core)->gpu_cluster;
    uint64_t gpus = 0;

    for (unsigned q = cluster * g; q < (cluster + 1) * g && q < server->n_devices; q++)
        gpus |= UINT64_C(1) << q;
    return gpus;
}

/*
 * If the plan assigns clusters that do not exist, that is a difference (claims.c); the program runs
 * all the same.
 */
static unsigned planned_or_first(unsigned planned, unsigned n)
{
    return planned < n ? planned : 0;
}

static void push_join(struct server *server, struct peer *peer, bool uses_gpu)
{
    peer->joined = true;
    peer->uses_gpu = uses_gpu;
    holds_push(server, (struct sched_event){.kind = SCHED_CLIENT_JOIN,
                                            .client = peer->slot,
                                            .uses_gpu = uses_gpu,
                                            .gpu_cluster = peer->gpu_cluster,
                                            .cpu_cluster = peer->cpu_cluster,
                                            .keeps_idle = !peer->exact});
}

void lanes_join(struct server *server, struct peer *peer, unsigned gpu)
{
    if (peer->joined && (peer->uses_gpu || gpu == SCHED_NO_GPU))
        return;
    if (!peer->joined)
        peer->cpu_cluster = planned_or_first(peer->terms.cpu_cluster, clusters_of_cpus(server));
    if (peer->admitted)
        peer->gpu_cluster = planned_or_first(peer->terms.gpu_cluster, clusters_of_gpus(server));
    else if (gpu != SCHED_NO_GPU)
        peer->gpu_cluster = gpu_cluster_of(server, gpu);
    push_join(server, peer, gpu != SCHED_NO_GPU);
}

/* Between two jobs: has the plan moved the client to other clusters? */
static void join_again(struct server *server, struct peer *peer)
{
    unsigned gpu_cluster = planned_or_first(peer->terms.gpu_cluster, clusters_of_gpus(server));
    unsigned cpu_cluster = planned_or_first(peer->terms.cpu_cluster, clusters_of_cpus(server));

    if (!peer->admitted || peer->taken != peer->serial ||
        (gpu_cluster == peer->gpu_cluster && cpu_cluster == peer->cpu_cluster))
        return;
    holds_push(server, (struct sched_event){.kind = SCHED_CLIENT_LEAVE, .client = peer->slot});
    peer->gpu_cluster = gpu_cluster;
    peer->cpu_cluster = cpu_cluster;
    push_join(server, peer, peer->uses_gpu);
}

/* ---- jobs ---- */

static void release(struct server *server, struct peer *peer, baton_nsec deadline_at)
{
    const struct plan_task *task = budgets_task(server, peer);
    baton_nsec last_at = peer->release_at;

    lanes_join(server, peer, SCHED_NO_GPU);
    join_again(server, peer);
    peer->job = JOB_RUNS;
    peer->gpu_over = false;
    peer->next_begins = false;
    peer->throttled_until = 0;
    peer->deadline_at = deadline_at;
    peer->release_at = budgets_release_at(server, peer, deadline_at);
    peer->budget = task ? task->budget : 0;
    releases_check(server, peer, task, last_at);
    job_costs_begun(server, peer, points_of(server, peer, deadline_at));
    requests_begin(peer, task);
    holds_push(server, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                            .client = peer->slot,
                                            .job = peer->slot,
                                            .admitted = peer->admitted,
                                            .no_deadline = peer->no_deadline,
                                            .priority = peer->priority,
                                            .deadline_at = points_of(server, peer, deadline_at),
                                            .budget = peer->budget});
}

void lanes_rerank(struct server *server, struct peer *peer)
{
    holds_push(server, (struct sched_event){.kind = SCHED_JOB_PRIORITY,
                                            .job = peer->slot,
                                            .admitted = peer->admitted,
                                            .no_deadline = peer->no_deadline,
                                            .priority = peer->priority,
                                            .deadline_at = points_of(server, peer, peer->deadline_at)});
    holds_run(server);
}

void lanes_job_begins(struct server *server, struct peer *peer, baton_nsec deadline_at)
{
    peer->reported = true;
    if (peer->job == JOB_NONE) {
        release(server, peer, deadline_at);
        holds_run(server);
        /* the first request came before the client reported the job */
    } else if (peer->job == JOB_RUNS) {
        peer->deadline_at = deadline_at;
        peer->release_at = budgets_release_at(server, peer, deadline_at);
        job_costs_begun(server, peer, points_of(server, peer, deadline_at));
        lanes_rerank(server, peer);
    } else {
        peer->next_begins = true;
        peer->next_deadline_at = deadline_at;
    }
}

uint64_t lanes_flags(const struct server *server, const struct peer *peer)
{
    if (!holds_tokens(server))
        return 0;
    if (lanes_throttled(server, peer))
        return LEASE_FLAGS;
    return peer->queue || peer->job == JOB_OVER || peer->gpu_over || peer->turn_over ? LEASE_ASK_TURN : 0;
}

/* Tells the holder of the engaged lease what waits for it; an idle lease ends. */
static void call_engaged_in(struct server *server, struct peer *peer)
{
    uint64_t flags = lanes_flags(server, peer);

    if (flags && peer->engaged >= 0 && peer->holds[peer->engaged].state == HOLD_HELD)
        (void)holds_call_in(server, peer, (unsigned)peer->engaged, flags);
}

/* A token that is kept beyond the last GPU segment is held longer than the analysis counts. */
static void check_section(const struct server *server, struct peer *peer)
{
    const struct plan_task *task = budgets_task(server, peer);

    if (task && task->until_gpu && peer->token != PEER_TOKEN_NONE)
        peer->strayed = true;
}

void lanes_gpu_over(struct server *server, struct peer *peer)
{
    if (peer->job != JOB_RUNS || peer->next_begins)
        return;
    peer->gpu_over = true;
    peer->placing = false;
    lanes_pump(server, peer);
    holds_run(server);
}

void lanes_job_ends(struct server *server, struct peer *peer)
{
    peer->placing = false;
    if (peer->next_begins) {
        peer->next_begins = false; /* the next job is over already, and asked for nothing */
        return;
    }
    if (peer->job != JOB_RUNS)
        return;
    check_section(server, peer);
    peer->job = JOB_OVER;
    lanes_pump(server, peer);
    holds_run(server);
}

void lanes_job_ended(struct server *server, struct peer *peer)
{
    if (sched_core_has_job(server->core, peer->slot)) /* deferred: SCHED_ENDED follows */
        return;
    job_costs_ended(server, peer);
    peer->job = JOB_NONE;
    if (peer->state != PEER_CLIENT)
        return;
    if (peer->next_begins && !lanes_throttled(server, peer))
        release(server, peer, peer->next_deadline_at);
    lanes_pump(server, peer);
}

/* ---- tokens ---- */

bool lanes_throttled(const struct server *server, const struct peer *peer)
{
    return peer->throttled_until > server->now_at;
}

/* The wait for a token, or the time with it, ends now. */
static void note_token(struct server *server, const struct peer *peer, enum record_kind kind)
{
    history_add_span(&server->history,
                     &(struct trace_record){.at = (uint64_t)peer->token_at,
                                            .length = (uint64_t)(server->now_at - peer->token_at),
                                            .kind = kind,
                                            .client = peer->client,
                                            .engine = sched_execution_engine(server->core, peer->token_gpu)});
}

void lanes_left(struct server *server, const struct peer *peer)
{
    if (peer->token == PEER_TOKEN_OURS)
        note_token(server, peer, RECORD_TOKEN);
}

static void give_token_back(struct server *server, struct peer *peer)
{
    if (peer->token == PEER_TOKEN_NONE)
        return;
    if (peer->token == PEER_TOKEN_OURS)
        note_token(server, peer, RECORD_TOKEN);
    peer->token = PEER_TOKEN_NONE;
    peer->turn_over = false;
    holds_push(server,
               (struct sched_event){.kind = SCHED_TOKEN_RELEASE, .client = peer->slot, .job = peer->slot});
}

static void ask_for_token(struct server *server, struct peer *peer, uint64_t gpus, unsigned home,
                          baton_nsec migration)
{
    uint64_t cluster = gpus_of_cluster(server, gpu_cluster_of(server, (unsigned)__builtin_ctzll(gpus)));

    peer->token = PEER_TOKEN_ASKED;
    peer->token_gpus = gpus & cluster;
    token_turns_began(server, peer);
    holds_push(server, (struct sched_event){.kind = SCHED_TOKEN_REQUEST,
                                            .job = peer->slot,
                                            .n = 1,
                                            .gpus = gpus & cluster,
                                            .home = home,
                                            .migration = migration,
                                            .cost = peer->place_work});
}

/* Does this copy move the job's state from another GPU of the token's cluster? */
static bool is_peer_copy(const struct server *server, const struct peer *peer, unsigned lease)
{
    const struct hold *hold = &peer->holds[lease];

    return !hold->group && hold->device != peer->token_gpu &&
           gpu_cluster_of(server, hold->device) == gpu_cluster_of(server, peer->token_gpu) &&
           !engine_set_has(&hold->engines, sched_execution_engine(server->core, hold->device));
}

/* Does the analysis count copies from one GPU of a cluster to another? */
static bool moves_between_gpus(const struct server *server)
{
    return server->config.migration == MIGRATION_ON_DEMAND || server->config.migration == MIGRATION_P2P;
}

struct engine_set lanes_engines(const struct server *server, const struct peer *peer, unsigned lease,
                                struct engine_set engines)
{
    if (is_peer_copy(server, peer, lease))
        engine_set_add(&engines, sched_copy_engine(server->core, peer->token_gpu, DIRECTION_IN));
    return engines;
}

/*
 * The next waiting lease that the token covers, or -1. The leases take turns: each waits for at
 * most one request of each other lease.
 */
static int next_lease(const struct server *server, const struct peer *peer)
{
    int copy = -1;

    for (unsigned i = 1; i <= PAGE_LEASES; i++) {
        unsigned lease = (peer->last_engaged + i) % PAGE_LEASES;

        if (!(peer->queue >> lease & 1))
            continue;
        if (peer->holds[lease].device == peer->token_gpu || peer->holds[lease].group)
            return (int)lease;
        if (copy < 0 && is_peer_copy(server, peer, lease))
            copy = (int)lease;
    }
    return copy;
}

/* The job holds nothing any more: it ends. */
static void end_job(struct server *server, struct peer *peer)
{
    give_token_back(server, peer);
    peer->job = JOB_ENDING;
    holds_push(server, (struct sched_event){.kind = SCHED_JOB_DONE, .client = peer->slot, .job = peer->slot});
}

/*
 * A throttled job yields at its border. One period later the rest of it becomes a job of the
 * core with a budget of its own.
 */
static void throttle(struct server *server, struct peer *peer)
{
    peer->next_begins = true;
    peer->next_deadline_at = peer->deadline_at;
    end_job(server, peer);
}

static void ask_for_engine(struct server *server, struct peer *peer)
{
    int next = next_lease(server, peer);

    if (next < 0) { /* every waiting lease wants an engine of another GPU */
        unsigned device = peer->holds[__builtin_ctz(peer->queue)].device;

        peer->strayed = true;
        give_token_back(server, peer);
        ask_for_token(server, peer, UINT64_C(1) << device, device, 0);
        return;
    }
    if (is_peer_copy(server, peer, (unsigned)next) && !moves_between_gpus(server))
        peer->strayed = true;
    peer->engaged = next;
    peer->last_engaged = (unsigned)next;
    peer->queue &= ~(UINT32_C(1) << next);
    requests_asked(server, peer, (unsigned)next);
    holds_ask(server, peer, (unsigned)next);
}

void lanes_pump(struct server *server, struct peer *peer)
{
    if (!holds_tokens(server) || peer->state != PEER_CLIENT)
        return;
    if (peer->engaged >= 0) {
        call_engaged_in(server, peer);
        return;
    }
    if (peer->job == JOB_OVER)
        end_job(server, peer);
    else if (peer->job == JOB_RUNS && lanes_throttled(server, peer))
        throttle(server, peer);
    if (peer->job == JOB_RUNS && peer->gpu_over) {
        give_token_back(server, peer);
        /* a second critical section, which the analysis does not count, begins */
        peer->strayed |= peer->queue != 0;
        peer->gpu_over = peer->queue == 0;
    }
    if (peer->job == JOB_RUNS && peer->turn_over) {
        peer->strayed = true;
        give_token_back(server, peer);
    }
    if (peer->job == JOB_ENDING || !peer->queue || lanes_throttled(server, peer))
        return;
    if (peer->job == JOB_NONE)
        release(server, peer, NSEC_MAX); /* the program does not report its jobs */
    if (peer->token == PEER_TOKEN_NONE) {
        unsigned device = peer->holds[__builtin_ctz(peer->queue)].device;

        /* the analysis lets the lock choose among all GPUs of the cluster */
        peer->strayed |= peer->admitted && server->config.gpu_cluster > 1 && !peer->gpu_set;
        ask_for_token(server, peer, UINT64_C(1) << device, device, 0);
    } else if (peer->token == PEER_TOKEN_OURS) {
        ask_for_engine(server, peer);
    }
}

/* ---- which GPU ---- */

static void answer_placing(struct server *server, struct peer *peer)
{
    struct frame answer = {.type = FRAME_PLACED, .placed = {.number = peer->place_number}};
    uint64_t gpu = UINT64_C(1) << peer->token_gpu;

    if (!peer->placing)
        return;
    peer->placing = false;
    peer->placed = gpu & peer->place_gpus;
    for (unsigned i = 0; i < PAGE_LEASES && peer->placed && !answer.placed.leases; i++) {
        if ((peer->place_leases >> i & 1) && peer->holds[i].state != HOLD_UNUSED &&
            peer->holds[i].device == peer->token_gpu)
            answer.placed.leases = UINT32_C(1) << i;
    }
    if (peer->place_home != peer->token_gpu)
        answer.placed.migration = (uint64_t)peer->place_migration;
    peer_put(server, peer, &answer);
}

void lanes_token_granted(struct server *server, struct peer *peer, unsigned gpu)
{
    peer->token = PEER_TOKEN_OURS;
    peer->token_gpu = gpu;
    note_token(server, peer, RECORD_TOKEN_WAIT);
    token_turns_began(server, peer);
    answer_placing(server, peer);
    lanes_pump(server, peer);
}

void lanes_place(struct server *server, struct peer *peer, const struct frame_place *frame, uint64_t gpus)
{
    uint64_t all, cluster;

    if (peer->job == JOB_NONE)
        release(server, peer, NSEC_MAX); /* the plan may have moved the client */
    all = gpus_of_cluster(server, peer->gpu_cluster);
    cluster = gpus & all;
    peer->place_number = frame->number;
    peer->place_leases = frame->leases;
    peer->place_gpus = cluster ? cluster : gpus;
    peer->placing = true;
    /* the analysis lets the lock choose among all GPUs of the cluster, and no others */
    peer->strayed |= peer->admitted && !peer->gpu_set && peer->place_gpus != all;
    if (peer->token == PEER_TOKEN_OURS && (peer->place_gpus >> peer->token_gpu & 1)) {
        answer_placing(server, peer);
    } else if (peer->token == PEER_TOKEN_NONE && peer->job == JOB_RUNS && peer->place_gpus) {
        ask_for_token(server, peer, peer->place_gpus, peer->place_home, peer->place_migration);
    } else if (peer->token != PEER_TOKEN_ASKED || !peer->place_gpus) {
        peer->place_gpus = 0; /* not now, or none of these GPUs: the client goes on where it is */
        answer_placing(server, peer);
    }
    holds_run(server);
}

/* ---- budgets ---- */

void lanes_throttle(struct server *server, struct peer *peer)
{
    baton_nsec period = budgets_period(server, peer);
    baton_nsec since = server->now_at > peer->release_at ? server->now_at - peer->release_at : 0;

    peer->throttled_until = peer->release_at + (since / period + 1) * period;
    server_arm(server, peer->throttled_until);
    call_engaged_in(server, peer);
}

void lanes_go_on(struct server *server, struct peer *peer)
{
    if (!peer->throttled_until)
        return;
    if (lanes_throttled(server, peer)) {
        server_arm(server, peer->throttled_until);
        return;
    }
    peer->throttled_until = 0;
    if (peer->job == JOB_NONE && peer->next_begins)
        release(server, peer, peer->next_deadline_at);
    lanes_pump(server, peer);
}
