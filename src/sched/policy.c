/*
 * How jobs are ranked, and what happens to one that uses more engine time than it was given.
 *
 * A key is one number, the smaller the more urgent; ties go to the earlier release (G1). It is fixed from the release of
 * a job on, with two exceptions: an overrun that costs the priority, and `adaptive`, which looks at a job without a priority again at
 * each of its piece borders, so that an endless first job does not count as short for ever (GPES).
 */
#include "sched/internal.h"

#define KEY_NO_PRIORITY    INT64_C(100) /* behind priority 1, whose key is 99 */
#define KEY_DEMOTED        INT64_MAX
#define ADAPTIVE_SHORTEST  (100 * NSEC_PER_US)
#define ADAPTIVE_SMOOTHING 4 /* a job weighs a quarter in its client's average */

/* Jobs that differ by less than a factor of two count as equal, so that noise reorders nothing. */
static int64_t adaptive_level(baton_nsec engine_time)
{
    int64_t level = 0;

    for (baton_nsec limit = ADAPTIVE_SHORTEST; engine_time > limit && level < 40; limit *= 2)
        level++;
    return level;
}

static int64_t fixed_key(const struct job *job)
{
    return job->priority ? KEY_NO_PRIORITY - job->priority : KEY_NO_PRIORITY;
}

static int64_t adaptive_key(const struct sched_core *core, const struct job *job)
{
    const struct client *client = &core->clients[job->client];
    baton_nsec expected = client->has_average ? client->average : 0;

    if (job->priority)
        return fixed_key(job);
    return KEY_NO_PRIORITY + adaptive_level(expected > job->spent ? expected : job->spent);
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
    if (job->overrun && core->config.demote_overruns)
        return KEY_DEMOTED;
    switch (core->config.policy) {
    case POLICY_EDF:
        return job->deadline_at;
    case POLICY_FAIR_LATENESS:
        return fair_lateness_key(core, job);
    case POLICY_FIFO:
        return 0;
    case POLICY_ADAPTIVE:
        return adaptive_key(core, job);
    case POLICY_FIXED:
    default:
        return fixed_key(job);
    }
}

/*
 * Does `a` stand above `b` by what is known for certain, so that `b` has no claim to a turn beside it? Release order is none, and
 * neither are the levels of `adaptive`: they are guesses, and the guess about a job that holds on to its engine is not even
 * revised before it lets go.
 */
bool policy_outranks(const struct sched_core *core, const struct job *a, const struct job *b)
{
    if (core->config.policy == POLICY_ADAPTIVE && !a->priority && !b->priority)
        return false;
    return a->key < b->key;
}

void policy_rank(struct sched_core *core, job_id id)
{
    core->jobs[id].key = key_of(core, &core->jobs[id]);
}

static void rank_again(struct sched_core *core, job_id id)
{
    struct job *job = &core->jobs[id];
    int64_t key = key_of(core, job);

    if (key == job->key)
        return;
    job->key = key;
    engine_rerank(core, id);
    token_rerank(core, id);
}

void policy_charge(struct sched_core *core, lane_id lane)
{
    job_id id = job_of(core, lane);
    struct job *job = &core->jobs[id];

    job->spent += core->at - core->lanes[lane].charged_at;
    core->lanes[lane].charged_at = core->at;
    if (job->budget && job->spent > job->budget && !job->overrun) {
        job->overrun = true;
        core_decide(core, SCHED_OVERRUN, id);
        rank_again(core, id);
    } else if (core->config.policy == POLICY_ADAPTIVE && !job->priority) {
        rank_again(core, id);
    }
}

void policy_job_done(struct sched_core *core, job_id id)
{
    struct client *client = &core->clients[core->jobs[id].client];
    baton_nsec spent = core->jobs[id].spent;

    client->average =
        client->has_average ? client->average + (spent - client->average) / ADAPTIVE_SMOOTHING : spent;
    client->has_average = true;
}

void policy_tick(struct sched_core *core)
{
    for (engine_id e = 0; e < core->n_engines; e++) {
        lane_id holder = core->engines[e].holder;

        if (holder != NO_LANE)
            policy_charge(core, holder);
    }
}

baton_nsec sched_core_used(const struct sched_core *core, job_id job)
{
    return core->jobs[job].spent;
}

baton_nsec sched_core_next_overrun(const struct sched_core *core, baton_nsec at)
{
    baton_nsec next = NSEC_MAX;

    for (engine_id e = 0; e < core->n_engines; e++) {
        lane_id holder = core->engines[e].holder;
        const struct job *job;
        baton_nsec left;

        if (holder == NO_LANE)
            continue;
        job = &core->jobs[job_of(core, holder)];
        if (!job->budget || job->overrun)
            continue;
        /* Several lanes may run at once: each uses the budget up, so share what is left among them. */
        left = (job->budget - job->spent - (at - core->lanes[holder].charged_at)) /
                   (job->engaged ? job->engaged : 1) +
               1;
        if (left < 1)
            left = 1;
        if (left < next)
            next = left;
    }
    return next;
}
