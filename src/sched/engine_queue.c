/*
 * Engine queues. One request of one lane:
 *
 *          ENGINE_REQUEST          granted: first eligible,         ENGINE_RELEASE
 *   NONE ------------------> WAITS --- all its engines free ---> HOLDS --------------> NONE
 *                             ^                                    |
 *                             +----- PIECE_DONE and overtaken -----+
 *   NONE <-- withdrawn, or the client is dead -- WAITS
 *
 * While its job is throttled, a request that would wait is PARKED: it is in no queue, and other
 * requests do not see it. With the job's next budget it is put into its queues.
 *
 * The profiles `priority` and `priority-whole` order a queue by rank, and equals by the engine time
 * that they were served. `gpusync` and `fifo` order it by arrival. A request stands in the queue of
 * every engine that it names. A group (E1) needs all of them, a one_of request (Q1) takes the first
 * free one.
 *
 * A request that reserves (E2: all of `gpusync`; elsewhere batches, M2) keeps the engines that it
 * waits for from the requests behind it. All queues follow one total order. So the first reserving
 * request gets its engines as their holders finish, and no deadlock is possible (E5).
 */
#include "sched/internal.h"

#include <string.h>

static bool engine_free_now(const struct engine *engine)
{
    return engine->holder == NO_LANE && !engine->blocked;
}

static bool reserves(const struct sched_core *core, lane_id lane)
{
    return core->profile->reserve || core->lanes[lane].batch;
}

bool engine_lane_before(const struct sched_core *core, lane_id a, lane_id b)
{
    if (core->profile->by_priority) {
        const struct job *x = &core->jobs[job_of(core, a)];
        const struct job *y = &core->jobs[job_of(core, b)];
        baton_nsec ahead = share_equals(core, x, y) ? share_ahead(&core->lanes[a], &core->lanes[b]) : 0;

        if (ahead)
            return ahead < 0;
        if (x != y && !share_equals(core, x, y))
            return job_above(x, y);
    }
    return core->lanes[a].seq < core->lanes[b].seq;
}

static void queue_insert(struct sched_core *core, engine_id id, lane_id lane)
{
    struct engine *engine = &core->engines[id];
    size_t i = engine->n;

    while (i > 0 && engine_lane_before(core, lane, engine->queue[i - 1])) {
        engine->queue[i] = engine->queue[i - 1];
        i--;
    }
    engine->queue[i] = lane;
    engine->n++;
    engine->paused += core->lanes[lane].started;
    engine_set_add(&core->touched, id);
}

static void queue_remove(struct sched_core *core, engine_id id, lane_id lane)
{
    struct engine *engine = &core->engines[id];
    size_t i = 0;

    while (engine->queue[i] != lane)
        i++;
    memmove(&engine->queue[i], &engine->queue[i + 1], (engine->n - i - 1) * sizeof *engine->queue);
    engine->n--;
    engine->paused -= core->lanes[lane].started;
    if (i < engine->at)
        engine->at--;
    engine_set_add(&core->touched, id);
}

static void forget_calls(struct sched_lane *lane)
{
    lane->yielding = lane->turned = false;
}

static void enqueue(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];

    core->pushes_changed = true;
    lane->state = ENGINE_WAITS;
    forget_calls(lane);
    share_enter(core, id);
    engine_set_each(core, &lane->engines, e) queue_insert(core, e, id);
    core->n_reserving += reserves(core, id);
}

static void dequeue(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];

    core->pushes_changed = true;
    engine_set_each(core, &lane->engines, e) queue_remove(core, e, id);
    core->n_reserving -= reserves(core, id);
}

/* Is the engine kept for a lane that precedes this one in its queue (E2)? */
static bool reserved_against(const struct sched_core *core, engine_id id, lane_id lane)
{
    const struct engine *engine = &core->engines[id];

    if (core->n_reserving == 0)
        return false;
    for (size_t i = 0; i < engine->n && engine->queue[i] != lane; i++) {
        if (reserves(core, engine->queue[i]))
            return true;
    }
    return false;
}

static bool may_start_all(const struct sched_core *core, lane_id id)
{
    engine_set_each(core, &core->lanes[id].engines, e)
    {
        if (!engine_free_now(&core->engines[e]) || reserved_against(core, e, id))
            return false;
    }
    return true;
}

/*
 * The best free engine for a one_of request: at home, then one where no lane waits to resume, then
 * the lowest (A2).
 */
static engine_id choose_engine(const struct sched_core *core, lane_id id)
{
    const struct sched_lane *lane = &core->lanes[id];
    engine_id best = SCHED_NO_ENGINE;
    unsigned best_cost = 3;

    engine_set_each(core, &lane->engines, e)
    {
        unsigned cost = sched_engine_gpu(core, e) == lane->home ? 0 : core->engines[e].paused ? 2 : 1;

        if (cost < best_cost && engine_free_now(&core->engines[e]) && !reserved_against(core, e, id)) {
            best = e;
            best_cost = cost;
        }
    }
    return best;
}

static void take(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];

    engine_set_each(core, &lane->engines, e)
    {
        core->engines[e].holder = id;
        engine_set_add(&core->touched, e);
    }
    lane->state = ENGINE_HOLDS;
    forget_calls(lane);
    lane->charged_at = lane->share.charged_at = core->at;
    lane->share.contended = false;
    core->granted[core->n_granted++] = id;
}

/* Grants the waiting lane if the rules allow it now. */
static bool try_start(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];

    if (core->jobs[job_of(core, id)].dead)
        return false;
    if (lane->one_of) {
        engine_id target = choose_engine(core, id);

        if (target == SCHED_NO_ENGINE)
            return false;
        dequeue(core, id);
        lane->engines = (struct engine_set){0};
        engine_set_add(&lane->engines, target);
        lane->one_of = false; /* a kernel that has started stays on its engine (Q3) */
    } else {
        if (!may_start_all(core, id))
            return false;
        dequeue(core, id);
    }
    take(core, id);
    return true;
}

/*
 * Q1: offers the free engines among these to the lanes that wait for them, in one order over all
 * these engines.
 */
static void dispatch(struct sched_core *core, const struct engine_set *freed)
{
    engine_set_each(core, freed, e) core->engines[e].at = 0;
    for (;;) {
        lane_id best = NO_LANE;
        engine_id from = SCHED_NO_ENGINE;

        engine_set_each(core, freed, e)
        {
            const struct engine *engine = &core->engines[e];

            if (!engine_free_now(engine) || engine->at >= engine->n)
                continue;
            if (best == NO_LANE || engine_lane_before(core, engine->queue[engine->at], best)) {
                best = engine->queue[engine->at];
                from = e;
            }
        }
        if (best == NO_LANE)
            return;
        core->engines[from].at++;
        (void)try_start(core, best);
    }
}

static bool set_is_empty(const struct sched_core *core, const struct engine_set *set)
{
    uint64_t any = 0;

    for (unsigned w = 0; w < core->n_words; w++)
        any |= set->bits[w];
    return any == 0;
}

/* Does the set name an engine that does not exist? */
static bool names_unknown(const struct sched_core *core, const struct engine_set *set)
{
    for (unsigned w = 0; w < SCHED_MAX_ENGINES / 64; w++) {
        unsigned known = core->n_engines > 64 * w ? core->n_engines - 64 * w : 0;

        if (known < 64 && set->bits[w] >> known)
            return true;
    }
    return false;
}

/*
 * E3: under a token a lane may ask for its execution engine, its copy engine, or its copy engine
 * and a peer's.
 */
static bool allowed_under_token(const struct sched_core *core, const struct sched_lane *lane,
                                const struct sched_event *event)
{
    unsigned executions = 0;
    unsigned copies = 0;
    unsigned own = 0;

    if (lane->token != TOKEN_HELD || event->one_of)
        return false;
    if (event->batch)
        return true;
    engine_set_each(core, &event->engines, e)
    {
        unsigned gpu = sched_engine_gpu(core, e);

        if (gpu == SCHED_NO_GPU)
            return false;
        own += gpu == lane->gpu;
        if (e == sched_execution_engine(core, gpu))
            executions++;
        else
            copies++;
    }
    return own == 1 && (executions ? executions == 1 && copies == 0 : copies <= 2);
}

int engine_request(struct sched_core *core, const struct sched_event *event)
{
    lane_id id = lane_of(core, event->job, event->lane);
    struct sched_lane *lane = &core->lanes[id];

    if (lane->state != ENGINE_NONE || set_is_empty(core, &event->engines))
        return SCHED_REFUSED;
    if (names_unknown(core, &event->engines))
        return SCHED_REFUSED;
    if (core->profile->tokens && !allowed_under_token(core, lane, event))
        return SCHED_REFUSED;
    engine_set_each(core, &event->engines, e)
    {
        if (event->one_of && (event->batch || sched_engine_gpu(core, e) == SCHED_NO_GPU ||
                              e != sched_execution_engine(core, sched_engine_gpu(core, e))))
            return SCHED_REFUSED;
    }
    lane->engines = event->engines;
    lane->one_of = event->one_of;
    lane->batch = event->batch;
    lane->home = event->home;
    lane->started = false;
    lane->seq = core->seq;
    core->jobs[event->job].engaged++;
    if (core->jobs[event->job].throttled_until) {
        lane->state = ENGINE_PARKED;
        return 0;
    }
    enqueue(core, id);
    dispatch(core, &event->engines);
    return 0;
}

/*
 * May the lane simply go on? Yes if no lane that waits for its engines precedes it, and none of
 * them is blocked.
 */
static bool may_go_on(const struct sched_core *core, lane_id id)
{
    engine_set_each(core, &core->lanes[id].engines, e)
    {
        const struct engine *engine = &core->engines[e];

        if (engine->blocked || (engine->n && engine_lane_before(core, engine->queue[0], id)))
            return false;
    }
    return true;
}

/* At a border: the lane's engines go to others. */
static void park(struct sched_core *core, lane_id id, const struct engine_set *held)
{
    core->pushes_changed = true;
    engine_set_each(core, held, e)
    {
        core->engines[e].holder = NO_LANE;
        engine_set_add(&core->touched, e);
    }
    core->lanes[id].state = ENGINE_PARKED;
    forget_calls(&core->lanes[id]);
    dispatch(core, held);
}

int engine_piece_done(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];
    const struct job *job = &core->jobs[job_of(core, id)];
    struct engine_set held = lane->engines;

    if (lane->state != ENGINE_HOLDS)
        return SCHED_REFUSED;
    policy_charge(core, id);
    share_leave(core, id);
    lane->started = true;
    /*
     * Under FIFO, and among equals, every piece is a request of its own, behind the requests that
     * came before.
     */
    if (core->profile->reserve || share_equals(core, job, job))
        lane->seq = core->seq;
    if (job->throttled_until && !lane->batch) {
        park(core, id, &held);
        return 0;
    }
    if (lane->batch || (!core->profile->pieces && !core->profile->reserve) || may_go_on(core, id)) {
        forget_calls(lane);
        core->granted[core->n_granted++] = id;
        engine_set_each(core, &held, e) engine_set_add(&core->touched, e);
        return 0;
    }
    /* Q3: the next piece is queued in this same step, before another lane is granted. */
    engine_set_each(core, &held, e) core->engines[e].holder = NO_LANE;
    enqueue(core, id);
    dispatch(core, &held);
    return 0;
}

void engine_leave(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];
    struct engine_set freed = lane->engines;

    if (lane->state == ENGINE_NONE)
        return;
    core->pushes_changed = true;
    if (lane->state == ENGINE_PARKED) {
        freed = (struct engine_set){0};
    } else if (lane->state == ENGINE_WAITS) {
        dequeue(core, id);
    } else {
        policy_charge(core, id);
        share_leave(core, id);
        engine_set_each(core, &freed, e)
        {
            core->engines[e].holder = NO_LANE;
            engine_set_add(&core->touched, e);
        }
    }
    lane->state = ENGINE_NONE;
    forget_calls(lane);
    lane->batch = false;
    core->jobs[job_of(core, id)].engaged--;
    dispatch(core, &freed);
}

void engine_block(struct sched_core *core, engine_id engine)
{
    core->engines[engine].blocked++;
}

int engine_unblock(struct sched_core *core, engine_id engine)
{
    struct engine_set freed = {0};

    if (core->engines[engine].blocked == 0)
        return SCHED_REFUSED;
    if (--core->engines[engine].blocked == 0) {
        engine_set_add(&freed, engine);
        dispatch(core, &freed);
    }
    return 0;
}

void engine_rerank(struct sched_core *core, job_id job)
{
    for (unsigned l = 0; l < core->config.lanes; l++) {
        lane_id id = lane_of(core, job, l);
        struct sched_lane *lane = &core->lanes[id];
        bool yielding = lane->yielding;

        if (lane->state == ENGINE_NONE)
            continue;
        engine_set_each(core, &lane->engines, e) engine_set_add(&core->touched, e);
        if (lane->state != ENGINE_WAITS)
            continue;
        dequeue(core, id);
        enqueue(core, id);
        lane->yielding = yielding;
        dispatch(core, &lane->engines);
    }
}

static void throttle_lane(struct sched_core *core, lane_id id)
{
    struct sched_lane *lane = &core->lanes[id];
    struct sched_decision *decision;

    if (lane->state == ENGINE_WAITS) {
        dequeue(core, id);
        lane->state = ENGINE_PARKED;
        forget_calls(lane);
        dispatch(core, &lane->engines);
    }
    if (lane->state != ENGINE_HOLDS || lane->yielding || lane->batch)
        return;
    lane->yielding = lane->turned = true;
    decision = core_decide(core, SCHED_YIELD, job_of(core, id));
    decision->lane = id % core->config.lanes;
    decision->as = job_of(core, id);
    decision->engine = SCHED_NO_ENGINE;
    engine_set_each(core, &lane->engines, e) decision->engine = e;
}

void engine_throttle(struct sched_core *core)
{
    for (job_id j = 0; j < core->config.jobs; j++) {
        for (unsigned l = 0; core->jobs[j].used && core->jobs[j].throttled_until && l < core->config.lanes;
             l++)
            throttle_lane(core, lane_of(core, j, l));
    }
}

void engine_unpark(struct sched_core *core, job_id job)
{
    for (unsigned l = 0; l < core->config.lanes; l++) {
        lane_id id = lane_of(core, job, l);

        if (core->lanes[id].state != ENGINE_PARKED)
            continue;
        core->lanes[id].seq = core->seq;
        enqueue(core, id);
        dispatch(core, &core->lanes[id].engines);
    }
}

void engine_emit_grants(struct sched_core *core)
{
    for (size_t i = 0; i < core->n_granted; i++) {
        const struct sched_lane *lane = &core->lanes[core->granted[i]];
        struct sched_decision *decision;

        if (lane->state != ENGINE_HOLDS)
            continue;
        decision = core_decide(core, SCHED_GRANT, job_of(core, core->granted[i]));
        decision->lane = core->granted[i] % core->config.lanes;
        decision->engines = lane->engines;
        decision->engine = SCHED_NO_ENGINE;
        decision->gpu = SCHED_NO_GPU;
        engine_set_each(core, &lane->engines, e)
        {
            if (decision->engine == SCHED_NO_ENGINE) {
                decision->engine = e;
                decision->gpu = sched_engine_gpu(core, e);
            }
        }
    }
}
