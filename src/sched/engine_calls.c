/* What the holder of an engine is told about the requests that wait for it: YIELD and TURN. */
#include "sched/internal.h"

/*
 * Q6: an equal waits. A holder that always has more work never releases its engines by itself, so
 * it takes turns with the equal. Where the order is arrival, the waiting request came before any
 * request that the holder makes next.
 */
static bool claims_turn(const struct sched_core *core, lane_id waiter, lane_id holder)
{
    return !core->profile->by_priority ||
           rank_compare(&core->jobs[job_of(core, holder)], &core->jobs[job_of(core, waiter)]) >= 0;
}

/*
 * Must the holder yield at the next border? Yes to a lane above it (Q2), and to an equal that it
 * is a turn ahead of (Q6).
 */
static bool claims_border(const struct sched_core *core, lane_id waiter, lane_id holder)
{
    const struct job *x = &core->jobs[job_of(core, waiter)];
    const struct job *y = &core->jobs[job_of(core, holder)];

    if (!share_equals(core, x, y))
        return engine_lane_before(core, waiter, holder);
    return x->client != y->client && share_ahead(&core->lanes[holder], &core->lanes[waiter]) >= SCHED_TURN_NS;
}

/*
 * What the holder must be told about the head of the queue, and has not been told since its grant.
 */
static bool call_for(const struct sched_core *core, const struct engine *engine, enum sched_action *ret_call)
{
    const struct sched_lane *lane = &core->lanes[engine->holder];

    if (core->jobs[job_of(core, engine->holder)].dead || lane->yielding || lane->batch)
        return false;
    /*
     * Where engines are FIFO and every piece is a request of its own, the waiting lane comes before
     * the holder's next piece.
     */
    if (core->profile->reserve ||
        (core->profile->pieces && claims_border(core, engine->queue[0], engine->holder))) {
        *ret_call = SCHED_YIELD;
        return true;
    }
    *ret_call = SCHED_TURN;
    return !lane->turned && claims_turn(core, engine->queue[0], engine->holder);
}

/*
 * Q2: if the head of its queue outranks the holder of a touched engine, the holder is asked to
 * yield, once per grant. Q6 likewise.
 */
void engine_emit_calls(struct sched_core *core)
{
    engine_set_each(core, &core->touched, e)
    {
        const struct engine *engine = &core->engines[e];
        struct sched_decision *decision;
        enum sched_action call;
        struct sched_lane *lane;

        if (engine->holder == NO_LANE || engine->n == 0 || !call_for(core, engine, &call))
            continue;
        lane = &core->lanes[engine->holder];
        lane->turned = true; /* a lane that yields at a border needs no turn */
        lane->yielding |= call == SCHED_YIELD;
        decision = core_decide(core, call, job_of(core, engine->holder));
        decision->lane = engine->holder % core->config.lanes;
        decision->engine = e;
        decision->as = job_of(core, engine->queue[0]);
    }
}
