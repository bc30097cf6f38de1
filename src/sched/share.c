/*
 * How equals share engines (Q6). Equals are jobs of the same rank outside the plan. Tasks of the
 * plan have unique priorities; where two of them tie, release order decides. The least served equal
 * goes first, measured by engine time:
 *
 *   tag    What a client has been served among equals. It grows by the engine time of the client's
 *          holds, but only while an equal of another client waits for one of the engines. So time
 *          on an engine that no equal wants is free, and so is an engine that is kept unused.
 *   level  max(tag, the lowest level among its equals when the request came). The lowest level
 *          never falls while an equal holds or waits.
 *
 * Consider a request that comes while equals hold or await its engines. With L the lowest level
 * among them and T = SCHED_TURN_NS, the request gets
 *
 *   tag = served so far, but at least L - T and at most L + the client's last hold;
 *   tag = L if the client never met an equal before
 *
 * The lower limit is what an absent client can save up, the upper limit is the debt that it keeps.
 * The smallest tag goes first, ties by arrival. A holder leaves after a turn of T, at the next
 * border (SCHED_TURN). A holder that is T or more ahead of the first waiting equal leaves at the
 * very next border (SCHED_YIELD).
 *
 * Bound. Let X be the longest time between two borders, and n the number of equals that contend for
 * one engine. A hold lasts at most T + X while an equal waits, so a request's tag is at most
 * L + T + X. All tags beside it are at least L - T, now and later, since the lowest level never
 * falls. An equal is granted before the request only while its tag is not larger. So each equal
 * gets at most (L + T + X) - (L - T) + (T + X) = 3 T + 2 X of engine time before the request. The
 * request waits for at most (n - 1)(3 T + 2 X), and for the jobs that outrank it. `adaptive` (Q8)
 * adds the length of a job to its tag, SCHED_LEAD_NS at most, and allows as much more debt. The
 * first term is then (n - 1)(3 T + 2 X + 2 SCHED_LEAD_NS).
 */
#include "sched/internal.h"

static baton_nsec least(baton_nsec a, baton_nsec b)
{
    return a < b ? a : b;
}

static baton_nsec most(baton_nsec a, baton_nsec b)
{
    return a > b ? a : b;
}

/* Do jobs of this rank share engines by time? */
static bool shares(const struct sched_core *core, const struct job *job)
{
    return core->profile->by_priority && core->config.policy != POLICY_FIFO && job->tier >= TIER_OTHERS;
}

bool share_equals(const struct sched_core *core, const struct job *a, const struct job *b)
{
    return shares(core, a) && rank_compare(a, b) == 0;
}

baton_nsec share_ahead(const struct sched_lane *lane, const struct sched_lane *other)
{
    return lane->share.tag + lane->share.lead - (other->share.tag + other->share.lead);
}

/* Is the other lane an equal of another client? */
static bool rivals(const struct sched_core *core, lane_id a, lane_id b)
{
    const struct job *x = &core->jobs[job_of(core, a)];
    const struct job *y = &core->jobs[job_of(core, b)];

    return x->client != y->client && share_equals(core, x, y);
}

/*
 * Q8: short jobs first, among jobs of equal priority. If a client does not report its jobs, their
 * begins and ends are a guess. So the lead of such a job is at most one turn.
 */
static baton_nsec lead_of(const struct sched_core *core, lane_id id)
{
    const struct sched_lane *lane = &core->lanes[id];
    const struct job *job = &core->jobs[job_of(core, id)];
    baton_nsec held = lane->state == ENGINE_HOLDS ? core->at - lane->charged_at : 0;

    if (core->config.policy != POLICY_ADAPTIVE || job->priority)
        return 0;
    return least(policy_length(core, job, held),
                 core->clients[job->client].keeps_idle ? SCHED_TURN_NS : SCHED_LEAD_NS);
}

void share_charge(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];
    struct job *job = &core->jobs[job_of(core, id)];
    struct client *client = &core->clients[job->client];
    baton_nsec time = core->at - lane->share.charged_at;

    lane->share.charged_at = core->at;
    if (!shares(core, job))
        return;
    if (lane->share.contended) {
        lane->share.tag += time;
        lane->share.served += time;
        job->contended += time;
        client->served += time;
        client->has_shared = true;
    }
    lane->share.lead = lead_of(core, id);
}

/*
 * The lowest level among the equals that hold or await one of the lane's engines; NSEC_MAX: there
 * are none.
 */
static baton_nsec lowest_level(struct sched_core *core, lane_id id)
{
    baton_nsec lowest = NSEC_MAX;

    engine_set_each(core, &core->lanes[id].engines, e)
    {
        const struct engine *engine = &core->engines[e];

        if (engine->holder != NO_LANE && rivals(core, id, engine->holder)) {
            const struct share *holder = &core->lanes[engine->holder].share;

            share_charge(core, engine->holder);
            lowest = least(lowest, most(holder->tag, holder->level));
        }
        for (size_t i = 0; i < engine->n; i++) {
            const struct share *waiter = &core->lanes[engine->queue[i]].share;

            if (rivals(core, id, engine->queue[i]))
                lowest = least(lowest, most(waiter->tag, waiter->level));
        }
    }
    return lowest;
}

/*
 * How much more than the least served client this client may have been served, by this rule alone.
 */
static baton_nsec most_debt(const struct sched_core *core, const struct client *client)
{
    return client->last + (core->config.policy == POLICY_ADAPTIVE ? SCHED_LEAD_NS : 0);
}

void share_enter(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];
    struct client *client = &core->clients[core->jobs[job_of(core, id)].client];
    baton_nsec lowest;

    lane->share = (struct share){.charged_at = core->at};
    if (!shares(core, &core->jobs[job_of(core, id)]))
        return;
    lowest = lowest_level(core, id);
    if (lowest != NSEC_MAX) {
        if (!client->has_shared)
            client->served = lowest;
        client->served =
            least(most(client->served, lowest - SCHED_TURN_NS), lowest + most_debt(core, client));
        client->has_shared = true;
    }
    lane->share.tag = client->served;
    lane->share.level = lowest == NSEC_MAX ? client->served : most(client->served, lowest);
    lane->share.lead = lead_of(core, id);
}

void share_leave(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];

    share_charge(core, id);
    if (lane->share.served)
        core->clients[core->jobs[job_of(core, id)].client].last = lane->share.served;
    lane->share.served = 0;
}

static bool is_contended(const struct sched_core *core, lane_id id)
{
    engine_set_each(core, &core->lanes[id].engines, e)
    {
        const struct engine *engine = &core->engines[e];

        for (size_t i = 0; i < engine->n; i++) {
            if (rivals(core, id, engine->queue[i]))
                return true;
        }
    }
    return false;
}

void share_update(struct sched_core *core)
{
    engine_set_each(core, &core->touched, e)
    {
        lane_id holder = core->engines[e].holder;

        if (holder == NO_LANE || !shares(core, &core->jobs[job_of(core, holder)]))
            continue;
        share_charge(core, holder);
        core->lanes[holder].share.contended = is_contended(core, holder);
    }
}
