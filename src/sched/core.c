#include "sched/core.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/internal.h"

struct sched_decision *core_decide(struct sched_core *core, enum sched_action action, job_id job)
{
    struct sched_decision *decision = &core->decisions[core->n_decisions++];

    decision->action = action;
    decision->job = job;
    decision->lane = 0;
    return decision;
}

/* ---- start and end ---- */

static int config_complete(struct sched_config *config)
{
    uint64_t engines = (uint64_t)config->gpus * (1 + config->copy_engines) + config->buses;

    if (!config->clients || !config->jobs || !config->lanes || config->gpus > PLATFORM_MAX_GPUS ||
        config->buses > SCHED_MAX_BUSES || engines > SCHED_MAX_ENGINES ||
        (config->gpus && (config->copy_engines < 1 || config->copy_engines > 2)) ||
        (uint64_t)config->jobs * config->lanes >= NO_LANE || config->profile >= SCHED_PROFILES ||
        config->policy >= SCHED_POLICIES || config->lock >= SCHED_LOCKS)
        return -EINVAL;
    if (!config->cpus)
        config->cpus = 1;
    if (!config->cpu_cluster)
        config->cpu_cluster = config->cpus;
    if (!config->gpu_cluster)
        config->gpu_cluster = config->gpus ? config->gpus : 1;
    if (!config->sharing_cpus)
        config->sharing_cpus = config->cpu_cluster;
    if (config->cpus % config->cpu_cluster || config->gpus % config->gpu_cluster)
        return -EINVAL;
    return 0;
}

static int allocate(struct sched_core *core)
{
    size_t jobs = core->config.jobs;
    size_t lanes = core->n_lanes;

    core->clients = calloc(core->config.clients, sizeof *core->clients);
    core->jobs = calloc(jobs, sizeof *core->jobs);
    core->lanes = calloc(lanes, sizeof *core->lanes);
    core->engines = calloc(core->n_engines + 1, sizeof *core->engines);
    core->gpu_load = calloc(core->config.gpus + 1, sizeof *core->gpu_load);
    core->granted = calloc(core->n_engines + 1, sizeof *core->granted);
    core->token_granted = calloc(lanes, sizeof *core->token_granted);
    core->best = calloc(jobs, sizeof *core->best);
    core->reached = calloc(jobs, sizeof *core->reached);
    core->reached_before = calloc(jobs, sizeof *core->reached_before);
    core->reached_in = calloc(jobs, sizeof *core->reached_in);
    /*
     * The most decisions of one event. Per job: EFF, OVERRUN, SUSPEND or RESUME, ENDED, PLACED. Per
     * lane: a token. Per engine: a grant, a call and the call of a throttled holder.
     */
    core->decisions = calloc(6 * jobs + lanes + 3 * (size_t)core->n_engines + 2, sizeof *core->decisions);
    if (!core->clients || !core->jobs || !core->lanes || !core->engines || !core->gpu_load ||
        !core->granted || !core->token_granted || !core->best || !core->decisions || !core->reached ||
        !core->reached_before || !core->reached_in)
        return -ENOMEM;
    for (engine_id e = 0; e < core->n_engines; e++) {
        core->engines[e].holder = NO_LANE;
        core->engines[e].queue = calloc(lanes, sizeof *core->engines[e].queue);
        if (!core->engines[e].queue)
            return -ENOMEM;
    }
    return token_new(core);
}

int sched_core_new(const struct sched_config *config, struct sched_core **ret_core)
{
    struct sched_core *core = calloc(1, sizeof *core);
    int result;

    if (!core)
        return -ENOMEM;
    core->config = *config;
    result = config_complete(&core->config);
    if (result == 0) {
        core->profile = &sched_profiles[core->config.profile];
        core->engines_per_gpu = 1 + core->config.copy_engines;
        core->n_engines = core->config.gpus * core->engines_per_gpu + core->config.buses;
        core->n_words = (core->n_engines + 63) / 64;
        core->n_lanes = core->config.jobs * core->config.lanes;
        core->n_gpu_clusters = core->config.gpus / core->config.gpu_cluster;
        core->n_cpu_clusters = core->config.cpus / core->config.cpu_cluster;
        result = allocate(core);
    }
    if (result) {
        sched_core_free(core);
        return result;
    }
    *ret_core = core;
    return 0;
}

void sched_core_free(struct sched_core *core)
{
    if (!core)
        return;
    token_free(core);
    for (engine_id e = 0; core->engines && e < core->n_engines; e++)
        free(core->engines[e].queue);
    free(core->decisions);
    free(core->best);
    free(core->reached);
    free(core->reached_before);
    free(core->reached_in);
    free(core->token_granted);
    free(core->granted);
    free(core->gpu_load);
    free(core->engines);
    free(core->lanes);
    free(core->jobs);
    free(core->clients);
    free(core);
}

void sched_core_reset(struct sched_core *core)
{
    memset(core->clients, 0, core->config.clients * sizeof *core->clients);
    memset(core->jobs, 0, core->config.jobs * sizeof *core->jobs);
    memset(core->lanes, 0, core->n_lanes * sizeof *core->lanes);
    memset(core->gpu_load, 0, core->config.gpus * sizeof *core->gpu_load);
    for (engine_id e = 0; e < core->n_engines; e++) {
        core->engines[e].holder = NO_LANE;
        core->engines[e].blocked = core->engines[e].paused = 0;
        core->engines[e].n = 0;
    }
    token_reset(core);
    memset(core->reached_in, 0, core->config.jobs * sizeof *core->reached_in);
    core->n_reached = 0;
    core->n_reserving = 0;
    core->seq = 0;
    core->at = 0;
}

/* ---- clients ---- */

static int client_join(struct sched_core *core, const struct sched_event *event)
{
    struct client *client = &core->clients[event->client];

    if ((event->uses_gpu && event->gpu_cluster >= core->n_gpu_clusters) ||
        event->cpu_cluster >= core->n_cpu_clusters)
        return SCHED_REFUSED;
    if (client->used) {
        if (client->dead || client->uses_gpu || !event->uses_gpu)
            return SCHED_REFUSED;
        client->uses_gpu = true;
        client->gpu_cluster = event->gpu_cluster;
        if (core->clusters)
            core->clusters[client->gpu_cluster].n_clients++;
        return 0;
    }
    *client = (struct client){
        .used = true,
        .uses_gpu = event->uses_gpu,
        .gpu_cluster = event->uses_gpu ? event->gpu_cluster : 0,
        .cpu_cluster = event->cpu_cluster,
        .own_gpu = SCHED_NO_GPU,
        .keeps_idle = event->keeps_idle,
    };
    if (client->uses_gpu && core->clusters)
        core->clusters[client->gpu_cluster].n_clients++;
    return 0;
}

static void client_forget(struct sched_core *core, client_id id)
{
    struct client *client = &core->clients[id];

    if (client->uses_gpu && core->clusters)
        core->clusters[client->gpu_cluster].n_clients--;
    client->used = false;
}

static int client_leave(struct sched_core *core, const struct sched_event *event)
{
    const struct client *client = &core->clients[event->client];

    if (!client->used || client->dead || client->jobs)
        return SCHED_REFUSED;
    client_forget(core, event->client);
    return 0;
}

/* A job of a dead client: its waiting requests are dropped, what it holds stays held (X1). */
static void job_dies(struct sched_core *core, job_id id)
{
    struct job *job = &core->jobs[id];

    for (unsigned l = 0; l < core->config.lanes; l++) {
        lane_id lane = lane_of(core, id, l);

        if (core->lanes[lane].state == ENGINE_WAITS || core->lanes[lane].state == ENGINE_PARKED)
            engine_leave(core, lane);
        if (core->lanes[lane].token != TOKEN_NONE && core->lanes[lane].token != TOKEN_HELD)
            token_leave(core, lane);
    }
    place_forget(core, id);
    if (token_ck(core))
        ck_job_died(core, id);
    else if (job->engaged == 0 && job->tokens == 0)
        core_end_job(core, id);
}

static int client_gone(struct sched_core *core, const struct sched_event *event)
{
    struct client *client = &core->clients[event->client];

    if (!client->used || client->dead)
        return SCHED_REFUSED;
    client->dead = true;
    core->died = core->pushes_changed = true;
    for (job_id j = 0; j < core->config.jobs; j++) {
        if (core->jobs[j].used && core->jobs[j].client == event->client)
            core->jobs[j].dead = true;
    }
    for (job_id j = 0; j < core->config.jobs; j++) {
        if (core->jobs[j].used && core->jobs[j].client == event->client)
            job_dies(core, j);
    }
    return 0;
}

static int client_drained(struct sched_core *core, const struct sched_event *event)
{
    if (!core->clients[event->client].used || !core->clients[event->client].dead)
        return SCHED_REFUSED;
    core->died = core->pushes_changed = true;
    for (job_id j = 0; j < core->config.jobs; j++) {
        if (!core->jobs[j].used || core->jobs[j].client != event->client)
            continue;
        for (unsigned l = 0; l < core->config.lanes; l++) {
            engine_leave(core, lane_of(core, j, l));
            token_leave(core, lane_of(core, j, l));
        }
        core_end_job(core, j);
    }
    client_forget(core, event->client);
    return 0;
}

/* ---- jobs ---- */

static int job_release(struct sched_core *core, const struct sched_event *event)
{
    struct job *job = &core->jobs[event->job];

    if (event->client >= core->config.clients)
        return SCHED_FULL;
    if (job->used || !core->clients[event->client].used || core->clients[event->client].dead ||
        event->priority > 99 || event->cost < 0 || event->budget < 0 || event->period < 0)
        return SCHED_REFUSED;
    *job = (struct job){
        .used = true,
        .client = event->client,
        .admitted = event->admitted,
        .no_deadline = event->no_deadline,
        .priority = event->priority,
        .deadline_at = event->deadline_at,
        .cost = event->cost,
        .budget = event->budget,
        .period = event->period,
        .release_at = event->release_at,
        .told = event->told,
        .seq = core->seq,
        .as = event->job,
        .ck_donor = SCHED_NO_JOB,
        .ck_donee = SCHED_NO_JOB,
        .ck_lane = NO_LANE,
    };
    policy_rank(core, event->job);
    core->clients[event->client].jobs++;
    if (token_ck(core))
        ck_job_released(core, event->job);
    return 0;
}

static int job_priority(struct sched_core *core, const struct sched_event *event)
{
    struct job *job = &core->jobs[event->job];

    if (event->priority > 99)
        return SCHED_REFUSED;
    job->admitted = event->admitted;
    job->no_deadline = event->no_deadline;
    job->priority = event->priority;
    job->deadline_at = event->deadline_at;
    policy_rank(core, event->job);
    engine_rerank(core, event->job);
    token_rerank(core, event->job);
    return 0;
}

/* Donations and queue places belong to one job, so under a token lock clients report job ends. */
static int job_next(struct sched_core *core, const struct sched_event *event)
{
    struct job *job = &core->jobs[event->job];

    if (core->profile->tokens)
        return SCHED_REFUSED;
    for (unsigned l = 0; l < core->config.lanes; l++) {
        lane_id lane = lane_of(core, event->job, l);

        if (core->lanes[lane].state == ENGINE_HOLDS) {
            policy_charge(core, lane);
            share_charge(core, lane);
        }
    }
    policy_job_done(core, event->job);
    job->spent = job->contended = 0;
    policy_budget(core, &(struct sched_event){.job = event->job,
                                              .budget = job->budget,
                                              .told = job->told,
                                              .period = job->period,
                                              .release_at = job->release_at});
    job->seq = core->seq;
    policy_rank(core, event->job);
    engine_rerank(core, event->job);
    return 0;
}

void core_end_job(struct sched_core *core, job_id id)
{
    struct job *job = &core->jobs[id];

    assert(job->engaged == 0 && job->tokens == 0);
    place_forget(core, id);
    if (token_ck(core))
        ck_forget(core, id);
    if (!job->dead)
        policy_job_done(core, id);
    core->clients[job->client].jobs--;
    job->used = false;
}

static int job_done(struct sched_core *core, const struct sched_event *event)
{
    struct job *job = &core->jobs[event->job];

    if (job->engaged || job->tokens || job->ck_ended)
        return SCHED_REFUSED;
    if (token_ck(core) && !ck_job_done(core, event->job))
        return 0;
    core_end_job(core, event->job);
    return 0;
}

/* ---- events ---- */

static int lane_event(struct sched_core *core, const struct sched_event *event)
{
    lane_id lane = lane_of(core, event->job, event->lane);
    const struct sched_lane *state = &core->lanes[lane];

    switch (event->kind) {
    case SCHED_TOKEN_REQUEST:
        return token_request(core, event);
    case SCHED_TOKEN_RELEASE:
        /* G3: the token is the outer lock. */
        if (state->token == TOKEN_NONE || state->state != ENGINE_NONE)
            return SCHED_REFUSED;
        token_leave(core, lane);
        return 0;
    case SCHED_ENGINE_REQUEST:
        return engine_request(core, event);
    case SCHED_PIECE_DONE:
        return engine_piece_done(core, lane);
    case SCHED_ENGINE_RELEASE:
    default:
        if (state->state == ENGINE_NONE)
            return SCHED_REFUSED;
        engine_leave(core, lane);
        return 0;
    }
}

static int job_event(struct sched_core *core, const struct sched_event *event)
{
    if (event->job >= core->config.jobs)
        return SCHED_FULL;
    if (event->kind == SCHED_JOB_RELEASE)
        return job_release(core, event);
    if (!core->jobs[event->job].used || core->jobs[event->job].dead || core->jobs[event->job].ck_ended)
        return SCHED_REFUSED;
    switch (event->kind) {
    case SCHED_JOB_PRIORITY:
        return job_priority(core, event);
    case SCHED_JOB_BUDGET:
        if (event->budget < 0 || event->period < 0)
            return SCHED_REFUSED;
        policy_budget(core, event);
        return 0;
    case SCHED_JOB_USED:
        policy_told(core, event);
        return 0;
    case SCHED_JOB_NEXT:
        return job_next(core, event);
    case SCHED_JOB_DONE:
        return job_done(core, event);
    case SCHED_PLACE:
        return place_job(core, event);
    default:
        return event->lane < core->config.lanes ? lane_event(core, event) : SCHED_FULL;
    }
}

static int client_event(struct sched_core *core, const struct sched_event *event)
{
    if (event->client >= core->config.clients)
        return SCHED_FULL;
    switch (event->kind) {
    case SCHED_CLIENT_JOIN:
        return client_join(core, event);
    case SCHED_CLIENT_LEAVE:
        return client_leave(core, event);
    case SCHED_CLIENT_GONE:
        return client_gone(core, event);
    default:
        return client_drained(core, event);
    }
}

static int engine_event(struct sched_core *core, const struct sched_event *event)
{
    if (event->engine >= core->n_engines)
        return SCHED_REFUSED;
    if (event->kind == SCHED_ENGINE_UNBLOCK)
        return engine_unblock(core, event->engine);
    engine_block(core, event->engine);
    return 0;
}

static int handle(struct sched_core *core, const struct sched_event *event)
{
    switch (event->kind) {
    case SCHED_CLIENT_JOIN:
    case SCHED_CLIENT_LEAVE:
    case SCHED_CLIENT_GONE:
    case SCHED_CLIENT_DRAINED:
        return client_event(core, event);
    case SCHED_ENGINE_BLOCK:
    case SCHED_ENGINE_UNBLOCK:
        return engine_event(core, event);
    case SCHED_TICK:
        policy_tick(core);
        return 0;
    case SCHED_EVENT_KINDS:
        return SCHED_REFUSED;
    default:
        return job_event(core, event);
    }
}

int sched_core_handle(struct sched_core *core, const struct sched_event *event,
                      const struct sched_decision **ret_decisions, size_t *ret_n)
{
    bool ck = token_ck(core);
    job_id left =
        event->kind >= SCHED_JOB_RELEASE && event->kind <= SCHED_ENGINE_RELEASE ? event->job : SCHED_NO_JOB;
    int result;

    if (event->at < core->at)
        return SCHED_REFUSED;
    core->at = event->at;
    core->seq++;
    core->n_decisions = core->n_granted = core->n_token_granted = 0;
    for (unsigned w = 0; w < core->n_words; w++)
        core->touched.bits[w] = 0;
    core->died = core->pushes_changed = core->throttled = false;
    result = handle(core, event);
    if (result)
        return result;
    if (core->throttled)
        engine_throttle(core);
    if (ck)
        ck_recheck(core);
    inherit_update(core, left);
    if (ck)
        ck_emit_suspensions(core);
    token_emit_grants(core);
    engine_emit_grants(core);
    share_update(core);
    engine_emit_calls(core);
    *ret_decisions = core->decisions;
    *ret_n = core->n_decisions;
    return 0;
}
