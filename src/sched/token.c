/*
 * Tokens: the outer lock of the profile `gpusync`. This file has what all locks share: set-up,
 * clients that keep a GPU, grants. R2DGLP and FIFO k-exclusion are in r2dglp.c, CK-OMLP is in
 * ck_omlp.c. With rho = infinity every request is granted at once.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "sched/internal.h"

static unsigned ceil_div(unsigned a, unsigned b)
{
    return (a + b - 1) / b;
}

static int cluster_init(struct sched_core *core, struct token_cluster *cluster, unsigned index)
{
    const struct sched_config *config = &core->config;
    unsigned c = config->cpu_cluster;

    cluster->first_gpu = index * config->gpu_cluster;
    cluster->g = config->gpu_cluster;
    cluster->k = config->tokens_per_gpu * cluster->g;
    if (config->tokens_per_gpu == TOKENS_UNLIMITED)
        cluster->k = cluster->g;
    cluster->slots = c > cluster->k ? c : cluster->k;
    cluster->cap = ceil_div(cluster->slots, cluster->k);
    if (config->lock == LOCK_FIFO)
        cluster->slots = cluster->cap = UINT_MAX;
    cluster->queues = calloc(cluster->k, sizeof *cluster->queues);
    cluster->lengths = calloc(cluster->k, sizeof *cluster->lengths);
    cluster->incomplete = calloc(core->n_lanes, sizeof *cluster->incomplete);
    cluster->parked = calloc(core->n_lanes, sizeof *cluster->parked);
    cluster->free_tokens = calloc(cluster->g, sizeof *cluster->free_tokens);
    if (!cluster->queues || !cluster->lengths || !cluster->incomplete || !cluster->parked ||
        !cluster->free_tokens)
        return -ENOMEM;
    for (unsigned q = 0; q < cluster->k; q++) {
        cluster->queues[q] = calloc(core->n_lanes, sizeof *cluster->queues[q]);
        if (!cluster->queues[q])
            return -ENOMEM;
    }
    for (unsigned q = 0; q < cluster->g; q++)
        cluster->free_tokens[q] = config->tokens_per_gpu;
    return 0;
}

int token_new(struct sched_core *core)
{
    if (!core->profile->tokens)
        return 0;
    core->clusters = calloc(core->n_gpu_clusters + 1, sizeof *core->clusters);
    core->cpu_clusters = calloc(core->n_cpu_clusters, sizeof *core->cpu_clusters);
    if (!core->clusters || !core->cpu_clusters)
        return -ENOMEM;
    for (unsigned i = 0; i < core->n_gpu_clusters; i++) {
        if (cluster_init(core, &core->clusters[i], i))
            return -ENOMEM;
    }
    for (unsigned i = 0; i < core->n_cpu_clusters; i++) {
        core->cpu_clusters[i].jobs = calloc(core->config.jobs, sizeof *core->cpu_clusters[i].jobs);
        if (!core->cpu_clusters[i].jobs)
            return -ENOMEM;
    }
    return 0;
}

void token_free(struct sched_core *core)
{
    for (unsigned i = 0; core->clusters && i < core->n_gpu_clusters; i++) {
        struct token_cluster *cluster = &core->clusters[i];

        for (unsigned q = 0; cluster->queues && q < cluster->k; q++)
            free(cluster->queues[q]);
        free(cluster->queues);
        free(cluster->lengths);
        free(cluster->incomplete);
        free(cluster->parked);
        free(cluster->free_tokens);
    }
    for (unsigned i = 0; core->cpu_clusters && i < core->n_cpu_clusters; i++)
        free(core->cpu_clusters[i].jobs);
    free(core->clusters);
    free(core->cpu_clusters);
}

void token_reset(struct sched_core *core)
{
    for (unsigned i = 0; core->clusters && i < core->n_gpu_clusters; i++) {
        struct token_cluster *cluster = &core->clusters[i];

        cluster->n_clients = cluster->in_queues = cluster->n_incomplete = cluster->n_parked =
            cluster->n_donors = 0;
        for (unsigned q = 0; q < cluster->k; q++)
            cluster->lengths[q] = 0;
        for (unsigned q = 0; q < cluster->g; q++)
            cluster->free_tokens[q] = core->config.tokens_per_gpu;
    }
    for (unsigned i = 0; core->cpu_clusters && i < core->n_cpu_clusters; i++)
        core->cpu_clusters[i].n = 0;
}

struct token_cluster *token_cluster_of(struct sched_core *core, lane_id lane)
{
    return &core->clusters[core->lanes[lane].cluster];
}

bool token_allowed(const struct sched_core *core, lane_id lane, unsigned gpu)
{
    return !core->lanes[lane].token_gpus || core->lanes[lane].token_gpus >> gpu & 1;
}

bool token_ck(const struct sched_core *core)
{
    return core->profile->tokens && core->config.lock == LOCK_CK_OMLP &&
           core->config.tokens_per_gpu != TOKENS_UNLIMITED;
}

/* GPUs of the cluster that a client keeps for itself. */
static uint64_t taken_gpus(const struct sched_core *core, unsigned gpu_cluster)
{
    uint64_t taken = 0;

    for (client_id c = 0; c < core->config.clients; c++) {
        const struct client *client = &core->clients[c];

        if (client->used && client->uses_gpu && client->gpu_cluster == gpu_cluster &&
            client->own_gpu != SCHED_NO_GPU)
            taken |= UINT64_C(1) << client->own_gpu;
    }
    return taken;
}

unsigned token_own_gpu(struct sched_core *core, struct token_cluster *cluster, lane_id lane)
{
    struct client *client = &core->clients[core->jobs[job_of(core, lane)].client];
    unsigned home = core->lanes[lane].token_home;
    uint64_t taken;

    if (!core->config.keep_gpu || core->lanes[lane].token_gpus)
        return SCHED_NO_GPU;
    if (cluster->n_clients > cluster->g) {
        client->own_gpu = SCHED_NO_GPU; /* more clients than GPUs: they share from now on */
        return SCHED_NO_GPU;
    }
    if (client->own_gpu != SCHED_NO_GPU)
        return client->own_gpu;
    taken = taken_gpus(core, client->gpu_cluster);
    if (home != SCHED_NO_GPU && home >= cluster->first_gpu && home < cluster->first_gpu + cluster->g &&
        !(taken >> home & 1))
        return client->own_gpu = home;
    for (unsigned q = cluster->first_gpu; q < cluster->first_gpu + cluster->g; q++) {
        if (!(taken >> q & 1))
            return client->own_gpu = q;
    }
    return SCHED_NO_GPU;
}

void token_give(struct sched_core *core, lane_id id, unsigned gpu)
{
    core->lanes[id].token = TOKEN_HELD;
    core->lanes[id].gpu = gpu;
    core->token_granted[core->n_token_granted++] = id;
}

static baton_nsec unlimited_cost(const struct sched_core *core, const struct sched_lane *lane, unsigned gpu)
{
    return core->gpu_load[gpu] + (gpu == lane->token_home ? 0 : lane->migration);
}

/* rho = infinity: the least loaded GPU, by announced lengths. */
static void grant_unlimited(struct sched_core *core, struct token_cluster *cluster, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];
    unsigned best = token_own_gpu(core, cluster, id);
    bool own = best != SCHED_NO_GPU;

    for (unsigned q = cluster->first_gpu; !own && q < cluster->first_gpu + cluster->g; q++) {
        if (token_allowed(core, id, q) &&
            (best == SCHED_NO_GPU || unlimited_cost(core, lane, q) < unlimited_cost(core, lane, best)))
            best = q;
    }
    core->gpu_load[best] += lane->length + 1;
    token_give(core, id, best);
}

/*
 * The cluster of the request: that of its GPUs, else the client's. False: the GPUs are of several
 * clusters, or do not exist.
 */
static bool find_cluster(const struct sched_core *core, const struct sched_event *event,
                         unsigned *ret_cluster)
{
    unsigned g = core->config.gpu_cluster;
    uint64_t gpus = event->gpus;

    *ret_cluster = core->clients[core->jobs[event->job].client].gpu_cluster;
    if (!gpus)
        return true;
    *ret_cluster = (unsigned)__builtin_ctzll(gpus) / g;
    return (unsigned)(63 - __builtin_clzll(gpus)) / g == *ret_cluster && *ret_cluster < core->n_gpu_clusters;
}

/* The GPUs of the cluster that the request is limited to; 0: it takes any. */
static uint64_t limit_of(const struct token_cluster *cluster, uint64_t gpus)
{
    uint64_t all = (cluster->g == 64 ? UINT64_MAX : (UINT64_C(1) << cluster->g) - 1) << cluster->first_gpu;

    return (gpus & all) == all ? 0 : gpus;
}

int token_request(struct sched_core *core, const struct sched_event *event)
{
    unsigned n = event->n ? event->n : 1;
    struct token_cluster *cluster;
    unsigned index;

    if (!core->profile->tokens || !core->clients[core->jobs[event->job].client].uses_gpu ||
        n > core->config.lanes - event->lane || (n > 1 && token_ck(core)) ||
        !find_cluster(core, event, &index))
        return SCHED_REFUSED;
    for (unsigned l = event->lane; l < event->lane + n; l++) {
        if (core->lanes[lane_of(core, event->job, l)].token != TOKEN_NONE)
            return SCHED_REFUSED;
    }
    if (token_ck(core) && core->jobs[event->job].tokens)
        return SCHED_REFUSED;
    core->pushes_changed = true;
    cluster = &core->clusters[index];
    for (unsigned l = event->lane; l < event->lane + n; l++) {
        lane_id id = lane_of(core, event->job, l);
        struct sched_lane *lane = &core->lanes[id];

        lane->ahead = 0;
        /* M1: one event, but its sub-jobs are ordered among themselves */
        lane->token_seq = core->seq++;
        lane->cluster = index;
        lane->token_gpus = limit_of(cluster, event->gpus);
        lane->token_home = event->home;
        lane->migration = event->migration;
        lane->length = event->cost;
        lane->donor = lane->donee = NO_LANE;
        core->jobs[event->job].tokens++;
        if (core->config.tokens_per_gpu == TOKENS_UNLIMITED)
            grant_unlimited(core, cluster, id);
        else if (core->config.lock == LOCK_CK_OMLP)
            ck_request(core, cluster, id);
        else
            r2dglp_request(core, cluster, id);
    }
    return 0;
}

void token_leave(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];
    struct token_cluster *cluster;

    if (!core->profile->tokens || lane->token == TOKEN_NONE)
        return;
    core->pushes_changed = true;
    cluster = token_cluster_of(core, id);
    if (core->config.tokens_per_gpu == TOKENS_UNLIMITED)
        core->gpu_load[lane->gpu] -= lane->length + 1;
    else if (core->config.lock == LOCK_CK_OMLP)
        ck_leave(core, cluster, id);
    else
        r2dglp_leave(core, cluster, id);
    lane->token = TOKEN_NONE;
    core->jobs[job_of(core, id)].tokens--;
}

void token_rerank(struct sched_core *core, job_id job)
{
    if (!core->profile->tokens)
        return;
    core->pushes_changed = true;
    if (token_ck(core)) {
        ck_rerank(core, job);
        return;
    }
    for (unsigned l = 0; l < core->config.lanes; l++) {
        lane_id id = lane_of(core, job, l);

        if (core->lanes[id].token != TOKEN_NONE && core->config.tokens_per_gpu != TOKENS_UNLIMITED)
            r2dglp_rerank(core, token_cluster_of(core, id), id);
    }
}

void token_emit_grants(struct sched_core *core)
{
    for (size_t i = 0; i < core->n_token_granted; i++) {
        lane_id id = core->token_granted[i];
        struct sched_decision *decision;

        if (core->jobs[job_of(core, id)].dead || core->lanes[id].token != TOKEN_HELD)
            continue;
        decision = core_decide(core, SCHED_TOKEN, job_of(core, id));
        decision->lane = id % core->config.lanes;
        decision->gpu = core->lanes[id].gpu;
        decision->ahead = core->lanes[id].ahead;
    }
}

unsigned sched_core_token_bound(const struct sched_core *core, unsigned gpu_cluster)
{
    const struct token_cluster *cluster;
    unsigned n;
    unsigned c = core->config.cpu_cluster;

    if (!core->profile->tokens || core->config.tokens_per_gpu == TOKENS_UNLIMITED ||
        gpu_cluster >= core->n_gpu_clusters)
        return 0;
    cluster = &core->clusters[gpu_cluster];
    n = cluster->n_clients;
    if (token_ck(core))
        return ceil_div(core->config.sharing_cpus, cluster->k) - 1;
    if (n <= cluster->k)
        return 0;
    if (core->config.lock == LOCK_FIFO || n <= c)
        return (n - 1) / cluster->k;
    return 2 * ceil_div(c, cluster->k) - 1;
}
