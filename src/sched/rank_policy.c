/*
 * How jobs are ranked, and what happens to a job that uses more engine time than its budget.
 *
 * A rank is a tier and a key, a smaller one is more urgent (G1). It is fixed from the release of a
 * job on, except that an overrun may demote the job. The policy chooses the key. `adaptive` gives
 * all jobs without a priority one key, so they are equals (share.c). Among them shorter jobs go
 * first, because they need less engine time (GPES).
 */
#include "sched/internal.h"

#define KEY_NO_PRIORITY    INT64_C(100) /* behind priority 1, whose key is 99 */
#define ADAPTIVE_SMOOTHING 4            /* a job weighs a quarter in its client's average */

static int64_t fixed_key(const struct job *job)
{
    return job->priority ? KEY_NO_PRIORITY - job->priority : KEY_NO_PRIORITY;
}

/* Y = D - (c-1)/c C, as an instant (GPUSync Sec. III, fair lateness). */
static int64_t fair_lateness_key(const struct sched_core *core, const struct job *job)
{
    baton_nsec c = core->config.cpu_cluster;

    if (job->deadline_at == NSEC_MAX)
        return NSEC_MAX;
    return job->deadline_at - (job->cost / c * (c - 1) + job->cost % c * (c - 1) / c);
}

static int64_t key_of(const struct sched_core *core, const struct job *job)
{
    switch (core->config.policy) {
    case POLICY_EDF:
        return job->deadline_at;
    case POLICY_FAIR_LATENESS:
        return fair_lateness_key(core, job);
    case POLICY_FIFO:
        return 0;
    case POLICY_ADAPTIVE:
    case POLICY_FIXED:
    default:
        return fixed_key(job);
    }
}

static enum tier tier_of(const struct sched_core *core, const struct job *job)
{
    bool demoted = job->overrun && core->config.overrun == SCHED_OVERRUN_DEMOTE;

    if (job->admitted && !job->no_deadline)
        return demoted ? TIER_DEMOTED : TIER_ADMITTED;
    if (demoted)
        return TIER_LAST;
    return job->admitted ? TIER_BACKGROUND : TIER_OTHERS;
}

void policy_rank(struct sched_core *core, job_id id)
{
    struct job *job = &core->jobs[id];

    job->tier = tier_of(core, job);
    job->key = key_of(core, job);
}

struct sched_rank sched_core_rank(const struct sched_core *core, job_id id)
{
    const struct job *job = &core->jobs[id];

    return (struct sched_rank){job->tier, job->key, job->seq};
}

struct sched_rank sched_core_rank_of(const struct sched_core *core, const struct sched_event *event)
{
    const struct job job = {.admitted = event->admitted,
                            .no_deadline = event->no_deadline,
                            .priority = event->priority,
                            .deadline_at = event->deadline_at,
                            .cost = event->cost};

    return (struct sched_rank){tier_of(core, &job), key_of(core, &job), core->seq + 1};
}

/* The part of the job's engine time that tells how long it needs its engines. */
static baton_nsec needed(const struct sched_core *core, const struct job *job)
{
    return core->clients[job->client].keeps_idle ? job->contended : job->spent;
}

baton_nsec policy_length(const struct sched_core *core, const struct job *job, baton_nsec since_charged)
{
    const struct client *client = &core->clients[job->client];
    baton_nsec expected = client->has_average ? client->average : 0;
    baton_nsec seen = needed(core, job) + (client->keeps_idle ? 0 : since_charged);

    return expected > seen ? expected : seen;
}

/* The first instant after now at which the job gets a new budget. */
static baton_nsec next_budget_at(const struct sched_core *core, const struct job *job)
{
    baton_nsec since = core->at > job->release_at ? core->at - job->release_at : 0;

    return job->release_at + (since / job->period + 1) * job->period;
}

/* Engine time that uses the budget: what the client has told, or else the time of the holds. */
static baton_nsec used(const struct job *job)
{
    return job->told ? job->reported : job->spent;
}

static baton_nsec left_of(const struct job *job)
{
    return job->budget_from + job->budget - used(job);
}

/* The holds of the job so far belong to its last budget. */
static void charge_holds(struct sched_core *core, job_id id)
{
    for (unsigned l = 0; l < core->config.lanes; l++) {
        lane_id lane = lane_of(core, id, l);

        if (core->lanes[lane].state == ENGINE_HOLDS)
            policy_charge(core, lane);
    }
}

void policy_budget(struct sched_core *core, const struct sched_event *event)
{
    struct job *job = &core->jobs[event->job];
    baton_nsec carried;
    bool reranked, unparked;

    charge_holds(core, event->job);
    unparked = job->throttled_until != 0;
    reranked = job->overrun && core->config.overrun == SCHED_OVERRUN_DEMOTE;
    carried = event->carry && job->budget && left_of(job) > 0 ? left_of(job) : 0;
    job->budget = event->budget;
    job->period = event->period;
    job->release_at = event->release_at;
    job->told = event->told;
    job->reported = 0;
    job->budget_from = used(job) + carried;
    job->overrun = false;
    job->throttled_until = 0;
    if (reranked) {
        policy_rank(core, event->job);
        engine_rerank(core, event->job);
        token_rerank(core, event->job);
    }
    if (unparked)
        engine_unpark(core, event->job);
}

static void check_budget(struct sched_core *core, job_id id)
{
    struct job *job = &core->jobs[id];

    if (!job->budget || left_of(job) >= 0 || job->overrun || job->dead)
        return;
    job->overrun = true;
    core_decide(core, SCHED_OVERRUN, id);
    if (core->config.overrun == SCHED_OVERRUN_THROTTLE && !core->profile->tokens && job->period > 0) {
        job->throttled_until = next_budget_at(core, job);
        core->throttled = true;
        return;
    }
    policy_rank(core, id);
    engine_rerank(core, id);
    token_rerank(core, id);
}

void policy_charge(struct sched_core *core, lane_id lane)
{
    job_id id = job_of(core, lane);

    core->jobs[id].spent += core->at - core->lanes[lane].charged_at;
    core->lanes[lane].charged_at = core->at;
    check_budget(core, id);
}

void policy_told(struct sched_core *core, const struct sched_event *event)
{
    struct job *job = &core->jobs[event->job];

    if (!job->told || event->used <= job->reported)
        return;
    job->reported = event->used;
    check_budget(core, event->job);
}

void policy_job_done(struct sched_core *core, job_id id)
{
    struct client *client = &core->clients[core->jobs[id].client];
    baton_nsec length = needed(core, &core->jobs[id]);

    if (client->keeps_idle && length == 0)
        return; /* no equal waited, so the time tells nothing */
    client->average =
        client->has_average ? client->average + (length - client->average) / ADAPTIVE_SMOOTHING : length;
    client->has_average = true;
}

/* What the job used beyond its last budget counts in the next one. */
static void next_budget(struct sched_core *core, job_id id)
{
    struct job *job = &core->jobs[id];

    job->budget_from += job->budget;
    if (left_of(job) < 0) {
        job->throttled_until = next_budget_at(core, job);
        return;
    }
    job->overrun = false;
    job->throttled_until = 0;
    engine_unpark(core, id);
}

void policy_tick(struct sched_core *core)
{
    for (engine_id e = 0; e < core->n_engines; e++) {
        lane_id holder = core->engines[e].holder;

        if (holder != NO_LANE)
            policy_charge(core, holder);
    }
    for (job_id id = 0; id < core->config.jobs; id++) {
        struct job *job = &core->jobs[id];

        if (job->used && !job->dead && job->throttled_until && job->throttled_until <= core->at)
            next_budget(core, id);
    }
}

baton_nsec sched_core_used(const struct sched_core *core, job_id job)
{
    return core->jobs[job].spent;
}

/* How long the job may go on before its budget is to be looked at, with this lane as a holder. */
static baton_nsec until_look(const struct sched_core *core, const struct job *job, lane_id holder,
                             baton_nsec at)
{
    baton_nsec unseen = job->told ? 0 : at - core->lanes[holder].charged_at;
    baton_nsec least = job->told ? SCHED_LOOK_NS : 1;
    /* Several lanes may run at once, and each uses the budget: divide what is left among them. */
    baton_nsec left = (left_of(job) - unseen) / (job->engaged ? job->engaged : 1) + 1;

    return left < least ? least : left;
}

baton_nsec sched_core_next_tick(const struct sched_core *core, baton_nsec at)
{
    baton_nsec next = NSEC_MAX;

    for (engine_id e = 0; e < core->n_engines; e++) {
        lane_id holder = core->engines[e].holder;
        const struct job *job;
        baton_nsec left;

        if (holder == NO_LANE)
            continue;
        job = &core->jobs[job_of(core, holder)];
        if (!job->budget || job->overrun || job->dead)
            continue;
        left = until_look(core, job, holder, at);
        if (left < next)
            next = left;
    }
    for (job_id id = 0; id < core->config.jobs; id++) {
        const struct job *job = &core->jobs[id];
        baton_nsec left = job->throttled_until > at ? job->throttled_until - at : 0;

        if (job->used && !job->dead && job->throttled_until && left < next)
            next = left;
    }
    return next;
}
