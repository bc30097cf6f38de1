/* The moves of a world: what happens to its jobs and clients, and what must hold after it. */
#include "explorer.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Following the decisions. */

static bool broke(struct explorer *explorer, const char *rule, unsigned job)
{
    (void)snprintf(explorer->report->broken, sizeof explorer->report->broken, "%s (job %u)", rule, job);
    return false;
}

static bool overlap(const struct engine_set *a, const struct engine_set *b)
{
    return (a->bits[0] & b->bits[0]) != 0;
}

static bool follow_grant(struct explorer *explorer, const struct sched_event *event,
                         const struct sched_decision *d)
{
    struct mirror_lane *lane = &explorer->mirror.lanes[d->job];
    bool goes_on = event->kind == SCHED_PIECE_DONE && event->job == d->job;

    if (lane->state != ENGINE_WAITS && !goes_on)
        return broke(explorer, "granted without having asked", d->job);
    if (lane->state == ENGINE_WAITS && lane->request.one_of) {
        if ((d->engines.bits[0] & ~lane->request.engines.bits[0]) ||
            __builtin_popcountll(d->engines.bits[0]) != 1)
            return broke(explorer, "one_of granted another set", d->job);
    } else if (d->engines.bits[0] != lane->request.engines.bits[0]) {
        return broke(explorer, "another set granted than asked for", d->job);
    }
    for (unsigned c = 0; c < explorer->world->clients; c++) {
        const struct mirror_lane *other = &explorer->mirror.lanes[c];

        if (c != d->job && other->state == ENGINE_HOLDS && overlap(&other->request.engines, &d->engines))
            return broke(explorer, "mutual exclusion", d->job);
    }
    lane->state = ENGINE_HOLDS;
    lane->request.engines = d->engines;
    lane->request.one_of = false;
    lane->asked_to_yield = lane->turned = lane->ran = false;
    lane->waited = 0;
    /* A batch, and any piece where pieces are not scheduled, goes on, whichever job waits (M2). */
    lane->granted_now = !goes_on || (!lane->request.batch &&
                                     (explorer->core->profile->pieces || explorer->core->profile->reserve));
    explorer->report->grants++;
    return true;
}

static bool follow_token(struct explorer *explorer, const struct sched_decision *d)
{
    struct mirror_lane *lane = &explorer->mirror.lanes[d->job];

    if (!lane->wants_token)
        return broke(explorer, "a token for nobody", d->job);
    if (d->ahead > sched_core_token_bound(explorer->core, 0) && !explorer->mirror.any_death)
        return broke(explorer, "more critical sections ahead than the bound", d->job);
    lane->wants_token = false;
    lane->has_token = lane->token_now = true;
    lane->gpu = d->gpu;
    explorer->report->tokens++;
    return true;
}

static bool follow(struct explorer *explorer, const struct sched_event *event, const struct sched_decision *d)
{
    struct mirror *mirror = &explorer->mirror;

    if (d->action != SCHED_ENDED && (!mirror->released[d->job] || mirror->dead[d->job]))
        return broke(explorer, "a decision about a job that is not there", d->job);
    switch (d->action) {
    case SCHED_GRANT:
        return follow_grant(explorer, event, d);
    case SCHED_TOKEN:
        return follow_token(explorer, d);
    case SCHED_YIELD:
        if (mirror->lanes[d->job].state != ENGINE_HOLDS || mirror->lanes[d->job].asked_to_yield)
            return broke(explorer, "asked to yield twice, or without holding", d->job);
        mirror->lanes[d->job].asked_to_yield = true;
        explorer->report->yields++;
        return true;
    case SCHED_TURN:
        if (mirror->lanes[d->job].state != ENGINE_HOLDS || mirror->lanes[d->job].turned)
            return broke(explorer, "told of an equal twice, or without holding", d->job);
        if (explorer->core->profile->by_priority && explorer->core->profile->pieces &&
            !explorer->world->equals)
            return broke(explorer, "a turn although no two are equal (Q6)", d->job);
        mirror->lanes[d->job].turned = true;
        explorer->report->turns++;
        return true;
    case SCHED_EFF:
        mirror->as[d->job] = d->as;
        explorer->report->effs++;
        return true;
    case SCHED_SUSPEND:
    case SCHED_RESUME:
        mirror->suspended[d->job] = d->action == SCHED_SUSPEND;
        return true;
    case SCHED_ENDED:
        if (!mirror->ended[d->job])
            return broke(explorer, "a job ended that was not done", d->job);
        mirror->ended[d->job] = mirror->released[d->job] = mirror->suspended[d->job] = false;
        return true;
    default:
        return broke(explorer, "a decision nobody expects", d->job);
    }
}

/* What the event itself changes in the mirror, before the decisions. */
static void apply(struct explorer *explorer, const struct sched_event *event)
{
    struct mirror *mirror = &explorer->mirror;
    struct mirror_lane *lane = &mirror->lanes[event->job];

    switch (event->kind) {
    case SCHED_JOB_RELEASE:
        mirror->released[event->job] = true;
        mirror->as[event->job] = event->job;
        break;
    case SCHED_JOB_DONE:
        mirror->ended[event->job] = explorer->core->jobs[event->job].used;
        mirror->released[event->job] = mirror->ended[event->job];
        break;
    case SCHED_ENGINE_REQUEST:
        lane->state = ENGINE_WAITS;
        lane->request = (struct world_request){event->engines, event->one_of, event->batch};
        lane->order = mirror->next_order++;
        break;
    case SCHED_PIECE_DONE:
        lane->state = ENGINE_WAITS;
        if (explorer->core->profile->reserve)
            lane->order = mirror->next_order++;
        break;
    case SCHED_ENGINE_RELEASE:
        lane->state = ENGINE_NONE;
        break;
    case SCHED_TOKEN_REQUEST:
        lane->wants_token = true;
        break;
    case SCHED_TOKEN_RELEASE:
        mirror->any_death |= lane->wants_token;
        lane->has_token = lane->wants_token = false;
        break;
    case SCHED_TICK:
        for (unsigned c = 0; c < explorer->world->clients; c++) {
            struct mirror_lane *each = &mirror->lanes[c];

            each->ran |= each->state == ENGINE_HOLDS;
            each->waited += each->state == ENGINE_WAITS;
            if (each->waited > explorer->report->most_waited)
                explorer->report->most_waited = each->waited;
        }
        break;
    case SCHED_ENGINE_BLOCK:
        mirror->blocked++;
        break;
    case SCHED_ENGINE_UNBLOCK:
        mirror->blocked--;
        break;
    default:
        break;
    }
}

static void apply_to_client(struct explorer *explorer, const struct sched_event *event)
{
    struct mirror *mirror = &explorer->mirror;
    struct mirror_lane *lane = &mirror->lanes[event->client];

    if (event->kind == SCHED_CLIENT_JOIN) {
        mirror->joined[event->client] = true;
    } else if (event->kind == SCHED_CLIENT_GONE) {
        mirror->dead[event->client] = mirror->any_death = true;
        mirror->ended[event->client] = false;
        lane->wants_token = false;
        if (lane->state == ENGINE_WAITS)
            lane->state = ENGINE_NONE;
    } else if (event->kind == SCHED_CLIENT_DRAINED) {
        mirror->joined[event->client] = mirror->dead[event->client] = mirror->released[event->client] = false;
        mirror->suspended[event->client] = false;
        lane->state = ENGINE_NONE;
        lane->has_token = false;
    }
}

/* One move. False when a rule broke. */
static bool play(struct explorer *explorer, const struct sched_event *event)
{
    const struct sched_decision *decisions;
    size_t n;
    int result = sched_core_handle(explorer->core, event, &decisions, &n);

    if (result)
        return broke(explorer, "a legal event was refused", event->job);
    explorer->report->moves++;
    if (event->kind <= SCHED_CLIENT_DRAINED)
        apply_to_client(explorer, event);
    else
        apply(explorer, event);
    for (size_t i = 0; i < n; i++) {
        if (!follow(explorer, event, &decisions[i]))
            return false;
    }
    return world_check(explorer->world, explorer->core, &explorer->mirror, explorer->report->broken,
                       sizeof explorer->report->broken);
}

/* X1 and after: when all have died and drained, nothing is left anywhere. */
static bool all_returned(struct explorer *explorer)
{
    struct sched_core *core = explorer->core;
    bool clean = core->n_reserving == 0;

    for (unsigned pass = 0; pass < 2; pass++) {
        for (client_id c = 0; c < explorer->world->clients; c++) {
            struct sched_event event = {.kind = pass ? SCHED_CLIENT_DRAINED : SCHED_CLIENT_GONE, .client = c};

            if (!explorer->mirror.joined[c] || (pass == 0 && explorer->mirror.dead[c]))
                continue;
            if (!play(explorer, &event))
                return false;
        }
    }
    clean = core->n_reserving == 0;
    for (engine_id e = 0; e < core->n_engines; e++)
        clean &=
            core->engines[e].holder == NO_LANE && core->engines[e].n == 0 && core->engines[e].paused == 0;
    for (unsigned i = 0; core->clusters && i < core->n_gpu_clusters; i++) {
        const struct token_cluster *cluster = &core->clusters[i];

        clean &= cluster->in_queues == 0 && cluster->n_incomplete == 0 && cluster->n_parked == 0 &&
                 cluster->n_donors == 0 && cluster->n_clients == 0;
        for (unsigned g = 0; g < cluster->g; g++)
            clean &= cluster->free_tokens[g] == core->config.tokens_per_gpu;
    }
    for (unsigned i = 0; core->cpu_clusters && i < core->n_cpu_clusters; i++)
        clean &= core->cpu_clusters[i].n == 0;
    for (job_id j = 0; j < core->config.jobs; j++)
        clean &= !core->jobs[j].used;
    return clean || broke(explorer, "not everything was returned after all died", 0);
}

/* The moves of one client in this state. */

#define MAX_MOVES 16

static size_t lane_moves(const struct explorer *explorer, unsigned c, struct sched_event moves[])
{
    const struct mirror_lane *lane = &explorer->mirror.lanes[c];
    const struct world *world = explorer->world;
    bool tokens = explorer->core->profile->tokens;
    size_t n = 0;

    if (lane->state == ENGINE_HOLDS)
        moves[n++] = (struct sched_event){.kind = SCHED_PIECE_DONE, .job = c};
    if (lane->state != ENGINE_NONE) {
        moves[n++] = (struct sched_event){.kind = SCHED_ENGINE_RELEASE, .job = c};
        return n;
    }
    if (tokens && lane->wants_token && !world->deaths)
        return n; /* withdrawing counts as a death (R9) */
    if (tokens && !lane->has_token) {
        moves[n++] =
            (struct sched_event){.kind = lane->wants_token ? SCHED_TOKEN_RELEASE : SCHED_TOKEN_REQUEST,
                                 .job = c,
                                 .home = SCHED_NO_GPU};
    } else {
        for (unsigned m = 0; m < world->n_menu; m++) {
            const struct world_request *request = &world->menu[m];

            if (tokens &&
                !engine_set_has(&request->engines, sched_execution_engine(explorer->core, lane->gpu)) &&
                !engine_set_has(&request->engines,
                                sched_copy_engine(explorer->core, lane->gpu, DIRECTION_IN)))
                continue;
            moves[n++] = (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                              .job = c,
                                              .engines = request->engines,
                                              .one_of = request->one_of,
                                              .batch = request->batch,
                                              .home = SCHED_NO_GPU};
        }
        if (tokens)
            moves[n++] = (struct sched_event){.kind = SCHED_TOKEN_RELEASE, .job = c};
    }
    if (!lane->has_token && !lane->wants_token)
        moves[n++] = (struct sched_event){.kind = SCHED_JOB_DONE, .job = c};
    return n;
}

static size_t client_moves(const struct explorer *explorer, unsigned c, struct sched_event moves[])
{
    const struct mirror *mirror = &explorer->mirror;
    size_t n = 0;

    if (!mirror->joined[c]) {
        moves[n++] = (struct sched_event){.kind = SCHED_CLIENT_JOIN,
                                          .client = c,
                                          .uses_gpu = true,
                                          .cpu_cluster = explorer->world->cpu_cluster[c]};
        return n;
    }
    if (mirror->dead[c]) {
        moves[n++] = (struct sched_event){.kind = SCHED_CLIENT_DRAINED, .client = c};
        return n;
    }
    if (!mirror->released[c])
        moves[n++] = (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                          .client = c,
                                          .job = c,
                                          .priority = explorer->world->equals ? 50 : 90 - 10 * c,
                                          .deadline_at = NSEC_MAX};
    else if (!mirror->ended[c])
        n += lane_moves(explorer, c, moves + n);
    if (explorer->world->deaths)
        moves[n++] = (struct sched_event){.kind = SCHED_CLIENT_GONE, .client = c};
    return n;
}

/* A new state is kept for the next layer; from it, the end of all jobs is tried too. */
static bool visit(struct explorer *explorer)
{
    unsigned char bytes[SNAPSHOT_LIMIT];
    size_t size;

    make_canonical(explorer);
    size = save(explorer, bytes);
    assert(size <= sizeof bytes);
    if (!seen_add(&explorer->seen, hash_bytes(bytes, size)))
        return true;
    explorer->report->states++;
    explorer->snapshot_size = size;
    list_add(&explorer->next, bytes, size);
    return all_returned(explorer);
}

/*
 * May time pass? Jobs that ran for a turn and know that an equal waits must leave first, but for
 * batches.
 */
static bool may_tick(const struct explorer *explorer)
{
    for (unsigned c = 0; c < explorer->world->clients; c++) {
        const struct mirror_lane *lane = &explorer->mirror.lanes[c];

        if (lane->state == ENGINE_HOLDS && !explorer->mirror.dead[c] && !lane->request.batch &&
            (lane->asked_to_yield || (lane->turned && lane->ran)))
            return false;
    }
    return explorer->world->equals;
}

static size_t world_moves(const struct explorer *explorer, struct sched_event moves[])
{
    size_t n = 0;

    if (explorer->world->blocks)
        moves[n++] = (struct sched_event){
            .kind = explorer->mirror.blocked ? SCHED_ENGINE_UNBLOCK : SCHED_ENGINE_BLOCK, .engine = 0};
    if (may_tick(explorer))
        moves[n++] = (struct sched_event){.kind = SCHED_TICK, .at = SCHED_TURN_NS};
    return n;
}

static bool expand(struct explorer *explorer, const unsigned char *state)
{
    struct sched_event moves[MAX_MOVES];

    for (unsigned c = 0; c <= explorer->world->clients; c++) {
        size_t n = 0;

        load(explorer, state);
        if (c < explorer->world->clients)
            n = client_moves(explorer, c, moves);
        else
            n = world_moves(explorer, moves);
        for (size_t i = 0; i < n; i++) {
            load(explorer, state);
            if (!play(explorer, &moves[i]) || !visit(explorer))
                return false;
        }
    }
    return true;
}

static void count_waits(struct explorer *explorer)
{
    for (unsigned c = 0; c < explorer->world->clients; c++) {
        explorer->report->donations +=
            explorer->core->lanes[c].token == TOKEN_DONOR ||
            (explorer->core->jobs[c].used && explorer->core->profile->tokens &&
             explorer->core->config.lock == LOCK_CK_OMLP && explorer->core->jobs[c].ck_donee != SCHED_NO_JOB);
        explorer->report->parked += explorer->core->lanes[c].token == TOKEN_PARKED;
        explorer->report->groups_waited +=
            explorer->mirror.lanes[c].state == ENGINE_WAITS && !explorer->mirror.lanes[c].request.one_of &&
            __builtin_popcountll(explorer->mirror.lanes[c].request.engines.bits[0]) > 1;
    }
}

void world_explore(const struct world *world, struct world_report *ret_report)
{
    struct explorer explorer = {.world = world, .core = world_core(world), .report = ret_report};
    size_t max_states = world->max_states ? world->max_states : SIZE_MAX;
    bool good = true;

    *ret_report = (struct world_report){0};
    for (client_id c = 0; c < world->clients; c++) {
        struct sched_event join = {
            .kind = SCHED_CLIENT_JOIN, .client = c, .uses_gpu = true, .cpu_cluster = world->cpu_cluster[c]};

        good = good && play(&explorer, &join);
    }
    good = good && visit(&explorer);
    while (good && explorer.next.n && ret_report->states < max_states) {
        struct snapshot_list layer = explorer.next;

        explorer.next = (struct snapshot_list){0};
        ret_report->depth++;
        for (size_t i = 0; good && i < layer.n && ret_report->states < max_states; i++) {
            good = expand(&explorer, layer.bytes + i * explorer.snapshot_size);
            load(&explorer, layer.bytes + i * explorer.snapshot_size);
            count_waits(&explorer);
        }
        free(layer.bytes);
    }
    ret_report->complete = good && ret_report->states < max_states;
    free(explorer.next.bytes);
    free(explorer.seen.slots);
    sched_core_free(explorer.core);
}
