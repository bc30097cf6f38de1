/*
 * Which job runs with the priority of which other job (G4). With engine queues by priority, a
 * holder runs with the best priority among the jobs that wait for one of its engines. Under
 * `gpusync` every waiting request pushes exactly one other request:
 *
 *     waits for engines -> the first in the queue of one engine that it does not head (E4)
 *     in an FQ, not its head -> the head of that FQ
 *     donor -> its donee
 *     parked, ready or running -> none
 *
 * and a job runs with the best priority among the jobs whose chains reach it. Chains are acyclic:
 * all queues follow the order of events. Under CK-OMLP a donee runs with its donor's priority, and
 * holders need no more than that (P1).
 */
#include "sched/internal.h"

static void tell(struct sched_core *core, job_id id, job_id as)
{
    struct job *job = &core->jobs[id];

    if (job->as == as)
        return;
    job->as = as;
    if (!job->dead)
        core_decide(core, SCHED_EFF, id)->as = as;
}

/* The best of the job and the jobs that wait for what its lanes hold. */
static job_id pushed_by_queues(const struct sched_core *core, job_id id)
{
    job_id best = id;

    if (core->jobs[id].engaged == 0)
        return id;
    for (unsigned l = 0; l < core->config.lanes; l++) {
        const struct sched_lane *lane = &core->lanes[lane_of(core, id, l)];

        if (lane->state != ENGINE_HOLDS)
            continue;
        engine_set_each(core, &lane->engines, e)
        {
            const struct engine *engine = &core->engines[e];

            if (engine->n && job_above(&core->jobs[job_of(core, engine->queue[0])], &core->jobs[best]))
                best = job_of(core, engine->queue[0]);
        }
    }
    return best;
}

static void update_by_queues(struct sched_core *core, job_id left)
{
    if (left != SCHED_NO_JOB && core->jobs[left].used)
        tell(core, left, pushed_by_queues(core, left));
    engine_set_each(core, &core->touched, e)
    {
        lane_id holder = core->engines[e].holder;

        if (holder != NO_LANE)
            tell(core, job_of(core, holder), pushed_by_queues(core, job_of(core, holder)));
    }
}

/* next(w) of G4. */
static lane_id pushes(const struct sched_core *core, lane_id id)
{
    const struct sched_lane *lane = &core->lanes[id];

    if (lane->state == ENGINE_WAITS) {
        engine_set_each(core, &lane->engines, e)
        {
            const struct engine *engine = &core->engines[e];

            if (engine->holder != NO_LANE)
                return engine->holder;
            if (engine->queue[0] != id)
                return engine->queue[0];
        }
        return NO_LANE; /* it heads all its queues, so an engine is blocked */
    }
    if (lane->token == TOKEN_DONOR)
        return lane->donee;
    if (lane->token == TOKEN_QUEUED)
        return core->clusters[lane->cluster].queues[lane->queue][0];
    return NO_LANE;
}

/* Follows the chain of a waiting lane, and notes its job for every job that the chain reaches. */
static void push_chain(struct sched_core *core, lane_id waiter)
{
    const struct job *pusher = &core->jobs[job_of(core, waiter)];

    for (lane_id at = pushes(core, waiter); at != NO_LANE; at = pushes(core, at)) {
        job_id job = job_of(core, at);

        if (core->reached_in[job] != core->seq) {
            core->reached_in[job] = core->seq;
            core->best[job] = job;
            core->reached[core->n_reached++] = job;
        }
        if (job_above(pusher, &core->jobs[core->best[job]]))
            core->best[job] = job_of(core, waiter);
    }
}

/* Every waiting lane is in a queue: of an engine, of tokens, or among the donors. */
static void push_all(struct sched_core *core)
{
    for (engine_id e = 0; e < core->n_engines; e++) {
        for (size_t i = 0; i < core->engines[e].n; i++)
            push_chain(core, core->engines[e].queue[i]);
    }
    for (unsigned c = 0; c < core->n_gpu_clusters; c++) {
        const struct token_cluster *cluster = &core->clusters[c];

        for (unsigned q = 0; q < cluster->k; q++) {
            for (unsigned i = 1; i < cluster->lengths[q]; i++)
                push_chain(core, cluster->queues[q][i]);
        }
        for (unsigned i = 0; cluster->n_donors && i < cluster->n_incomplete; i++) {
            if (core->lanes[cluster->incomplete[i]].token == TOKEN_DONOR)
                push_chain(core, cluster->incomplete[i]);
        }
    }
}

/*
 * Reports to the jobs that a chain reaches now, and to those that one reached before and none
 * reaches now.
 */
static void update_by_chains(struct sched_core *core)
{
    size_t n_before = core->n_reached;
    job_id *before = core->reached;

    core->reached = core->reached_before;
    core->reached_before = before;
    core->n_reached = 0;
    push_all(core);
    for (size_t i = 0; i < n_before; i++) {
        if (core->reached_in[before[i]] != core->seq && core->jobs[before[i]].used)
            tell(core, before[i], before[i]);
    }
    for (size_t i = 0; i < core->n_reached; i++) {
        if (core->jobs[core->reached[i]].used)
            tell(core, core->reached[i], core->best[core->reached[i]]);
    }
}

void inherit_update(struct sched_core *core, job_id left)
{
    if (!core->profile->inherit)
        return;
    if (!core->profile->tokens) {
        update_by_queues(core, left);
    } else if (token_ck(core)) {
        for (job_id j = 0; j < core->config.jobs; j++) {
            if (core->jobs[j].used)
                tell(core, j, core->jobs[j].ck_donor == SCHED_NO_JOB ? j : core->jobs[j].ck_donor);
        }
    } else if (core->pushes_changed) {
        update_by_chains(core);
    }
}

job_id sched_core_effective(const struct sched_core *core, job_id job)
{
    return core->jobs[job].as;
}
