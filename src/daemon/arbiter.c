/*
 * Leases against the scheduling core. Requests become core events; decisions become lease words. Events that follow from
 * decisions wait in a queue, so that the core is never entered twice.
 *
 * The rule that keeps idle leases harmless (PROTOCOLS.md M3): before a request reaches the core, every lease that is held
 * on one of its engines is called in. An idle one is taken back on the spot; a busy one now carries WANTED and must say
 * when it is done. So whenever somebody waits in the core, the holder is flagged.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "daemon/peer.h"

static bool has_tokens(const struct server *server)
{
    return server->profile->tokens;
}

static unsigned lane_of(const struct server *server, unsigned index)
{
    return has_tokens(server) ? 0 : index;
}

static void push(struct server *server, struct sched_event event)
{
    assert(server->queue_n < SERVER_QUEUE);
    event.at = server->now_at;
    server->queue[(server->queue_begin + server->queue_n++) % SERVER_QUEUE] = event;
}

static void push_lane(struct server *server, const struct peer *peer, unsigned index,
                      enum sched_event_kind kind)
{
    push(server, (struct sched_event){
                     .kind = kind, .client = peer->slot, .job = peer->slot, .lane = lane_of(server, index)});
}

static uint32_t first_engine(const struct hold *hold)
{
    for (engine_id e = 0; e < SCHED_MAX_ENGINES; e++) {
        if (engine_set_has(&hold->engines, e))
            return e;
    }
    return UINT32_MAX;
}

uint32_t peer_engine(const struct peer *peer, unsigned lease)
{
    return peer->holds[lease].state == HOLD_UNUSED ? UINT32_MAX : first_engine(&peer->holds[lease]);
}

static void note(struct server *server, enum record_kind kind, const struct peer *peer,
                 const struct hold *hold)
{
    history_add(&server->history, server->now_at, kind, peer->client, first_engine(hold));
}

static void restore(struct server *server, struct peer *peer)
{
    if (!peer->boosted)
        return;
    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        if (peer->holds[i].state == HOLD_HELD && peer->holds[i].yield_at)
            return;
    }
    peer->boosted = false;
    server->host.boost(server->host.user, peer->who.pid, peer->threads, peer->n_threads, 0);
}

/* The hold is over, as far as our own books go. */
static void forget(struct server *server, struct peer *peer, unsigned index, enum hold_state next)
{
    struct hold *hold = &peer->holds[index];

    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        if (server->holders[e] == peer && server->holder_leases[e] == index)
            server->holders[e] = NULL;
    }
    hold->state = next;
    hold->yield_at = 0;
    hold->told = 0;
    hold->overdue = false;
    restore(server, peer);
}

static void token_pump(struct server *server, struct peer *peer);

static void let_go(struct server *server, struct peer *peer, unsigned index)
{
    forget(server, peer, index, HOLD_FREE);
    push_lane(server, peer, index, SCHED_ENGINE_RELEASE);
    if (peer->engaged == (int)index) {
        peer->engaged = -1;
        token_pump(server, peer);
    }
}

/*
 * A client whose work is in flight while its threads do something else asked to be told when somebody waits. Looked at after
 * the word was flagged; the client looks at the word after asking, so one of us sees it.
 */
static void tell_wanted(struct server *server, struct peer *peer, unsigned index, uint64_t flags)
{
    struct hold *hold = &peer->holds[index];
    struct frame frame = {.type = FRAME_YIELD};

    if (!(atomic_load(&peer->page->leases[index].tell) & PAGE_TELL_YIELD) || !(flags & ~hold->told))
        return;
    hold->told |= flags;
    frame.yield.index = index;
    frame.yield.epoch = hold->epoch;
    peer_put(server, peer, &frame);
}

/* Calls a held lease in; true: it is free now. */
static bool call_in(struct server *server, struct peer *peer, unsigned index, uint64_t flags)
{
    struct hold *hold = &peer->holds[index];

    switch (lease_word_call_in(&peer->page->leases[index].word, flags)) {
    case LEASE_CALLED_BUSY:
        tell_wanted(server, peer, index, flags);
        return false;
    case LEASE_CALLED_TAKEN:
        server->taken_back++;
        note(server, RECORD_TAKEN, peer, hold);
        break;
    case LEASE_CALLED_GONE: /* its RELEASE is under way and will find that we know */
        note(server, RECORD_RELEASE, peer, hold);
        break;
    }
    let_go(server, peer, index);
    return true;
}

static void call_in_engines(struct server *server, const struct engine_set *engines)
{
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        if (engine_set_has(engines, e) && server->holders[e])
            (void)call_in(server, server->holders[e], server->holder_leases[e], LEASE_FLAG_WANTED);
    }
}

/* ---- decisions ---- */

static unsigned decided_lease(const struct server *server, const struct peer *peer,
                              const struct sched_decision *decision)
{
    if (!has_tokens(server))
        return decision->lane;
    return peer->engaged < 0 ? 0 : (unsigned)peer->engaged;
}

static void grant(struct server *server, const struct sched_decision *decision)
{
    struct peer *peer = server->peers[decision->job];
    unsigned index = decided_lease(server, peer, decision);
    struct hold *hold = &peer->holds[index];
    struct page_lease *place = &peer->page->leases[index];
    struct frame frame = {.type = FRAME_GRANT, .grant = {.index = index}};
    uint64_t flags = peer->exact ? LEASE_FLAG_WANTED : 0;

    if (hold->state != HOLD_WAITING) /* withdrawn meanwhile; the core's copy of that is in the queue */
        return;
    hold->state = HOLD_HELD;
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        if (!engine_set_has(&hold->engines, e))
            continue;
        server->holders[e] = peer;
        server->holder_leases[e] = index;
        server->engines[e].grants++;
        if (sched_core_waiting(server->core, e) > 0)
            flags |= LEASE_FLAG_WANTED;
    }
    server->grants++;
    peer->grants++;
    note(server, RECORD_GRANT, peer, hold);
    lease_word_grant(&place->word, flags, server->start.generation, hold->epoch);
    server->host.wake(server->host.user, &place->word);
    if (atomic_load(&place->tell) & PAGE_TELL_GRANT) {
        frame.grant.epoch = hold->epoch;
        peer_put(server, peer, &frame);
    }
}

/* Boost first, then ask: otherwise the holder may be kept from its piece border by others (PROTOCOLS.md D3). */
static void ask_to_yield(struct server *server, const struct sched_decision *decision)
{
    struct peer *peer = server->peers[decision->job];
    unsigned index = decided_lease(server, peer, decision);
    struct hold *hold = &peer->holds[index];

    if (hold->state != HOLD_HELD || peer->state != PEER_CLIENT)
        return;
    if (peer->n_threads) {
        peer->boosted = true;
        server->host.boost(server->host.user, peer->who.pid, peer->threads, peer->n_threads, 99);
    }
    server->yields++;
    server->engines[decision->engine].yields++;
    peer->yields++;
    note(server, RECORD_YIELD, peer, hold);
    hold->yield_at = server->now_at;
    server_arm(server, server->now_at + server->config.overdue);
    (void)call_in(server, peer, index, LEASE_FLAGS);
}

static void carry_out(struct server *server, const struct sched_decision *decision)
{
    switch (decision->action) {
    case SCHED_GRANT:
        grant(server, decision);
        return;
    case SCHED_YIELD:
        ask_to_yield(server, decision);
        return;
    case SCHED_TOKEN:
        server->peers[decision->job]->token = TOKEN_OURS;
        token_pump(server, server->peers[decision->job]);
        return;
    default: /* EFF, SUSPEND, RESUME: Linux schedules the CPUs; boosting happens where somebody is asked to yield (D4) */
        return;
    }
}

/* A request that was not granted: whoever got its engines while it stood in our own queue must know that somebody waits. */
static void flag_holders(struct server *server, const struct sched_event *event)
{
    const struct peer *peer = server->peers[event->job];
    unsigned index = has_tokens(server) ? (unsigned)peer->engaged : event->lane;

    if (index < PAGE_LEASES && peer->holds[index].state == HOLD_WAITING)
        call_in_engines(server, &event->engines);
}

static void run_queue(struct server *server)
{
    while (server->queue_n > 0) {
        struct sched_event event = server->queue[server->queue_begin];
        const struct sched_decision *decisions;
        size_t n;

        server->queue_begin = (server->queue_begin + 1) % SERVER_QUEUE;
        server->queue_n--;
        if (sched_core_handle(server->core, &event, &decisions, &n) != 0)
            continue;
        for (size_t i = 0; i < n; i++)
            carry_out(server, &decisions[i]);
        if (event.kind == SCHED_ENGINE_REQUEST)
            flag_holders(server, &event);
    }
}

/* ---- tokens (profile `gpusync`): one lane per client, so its engine requests go one after the other ---- */

static void ask_engines(struct server *server, struct peer *peer, unsigned index)
{
    push(server, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                      .job = peer->slot,
                                      .lane = lane_of(server, index),
                                      .home = SCHED_NO_GPU,
                                      .engines = peer->holds[index].engines});
}

static void token_pump(struct server *server, struct peer *peer)
{
    if (!has_tokens(server) || peer->state != PEER_CLIENT)
        return;
    if (peer->engaged < 0 && peer->job_over && peer->token == TOKEN_OURS) {
        push_lane(server, peer, 0, SCHED_TOKEN_RELEASE);
        peer->token = TOKEN_NONE;
    }
    if (peer->engaged < 0)
        peer->job_over = false;
    if (!peer->queue)
        return;
    if (peer->token == TOKEN_NONE) {
        peer->token = TOKEN_ASKED;
        push(server, (struct sched_event){
                         .kind = SCHED_TOKEN_REQUEST, .job = peer->slot, .n = 1, .home = SCHED_NO_GPU});
        return;
    }
    if (peer->token == TOKEN_OURS && peer->engaged < 0) {
        peer->engaged = __builtin_ctz(peer->queue);
        peer->queue &= peer->queue - 1;
        ask_engines(server, peer, (unsigned)peer->engaged);
    } else if (peer->engaged >= 0 && peer->holds[peer->engaged].state == HOLD_HELD) {
        (void)call_in(server, peer, (unsigned)peer->engaged, LEASE_FLAG_WANTED);
    }
}

/* ---- what clients say ---- */

static void release_job(struct server *server, struct peer *peer, baton_nsec deadline_at)
{
    push(server, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                      .client = peer->slot,
                                      .job = peer->slot,
                                      .priority = peer->priority,
                                      .deadline_at = deadline_at});
}

static void join(struct server *server, struct peer *peer, unsigned gpu_cluster)
{
    push(server,
         (struct sched_event){
             .kind = SCHED_CLIENT_JOIN, .client = peer->slot, .uses_gpu = true, .gpu_cluster = gpu_cluster});
    release_job(server, peer, NSEC_MAX);
    peer->joined = true;
}

void arbiter_join(struct server *server, struct peer *peer)
{
    peer->engaged = -1;
    if (!has_tokens(server)) /* with tokens the first device decides about the cluster */
        join(server, peer, 0);
    run_queue(server);
}

static void block(struct server *server, const struct engine_set *engines, enum sched_event_kind kind)
{
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        if (engine_set_has(engines, e))
            push(server, (struct sched_event){.kind = kind, .engine = e});
    }
}

static struct engine_set engines_of(const struct server *server, unsigned device, uint32_t kind)
{
    struct engine_set engines = {0};
    bool one = server->devices[device].copy_engines == 1;

    if (kind == FRAME_ENGINE_EXECUTION)
        engine_set_add(&engines, sched_execution_engine(server->core, device));
    else
        engines = sched_copy_engines(server->core, device,
                                     kind == FRAME_ENGINE_COPY_IN || one ? COPY_IN : COPY_OUT);
    return engines;
}

/*
 * A process that lost its connection and came back declares every lease anew. Each declaration takes the place of what was
 * kept for the lost connection on those engines; until here that one kept them.
 */
static void take_over(struct server *server, const struct peer *peer, const struct hold *declared)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *old = server->peers[i];

        for (unsigned l = 0; old && same_session(peer, old) && l < PAGE_LEASES; l++) {
            struct hold *hold = &old->holds[l];

            if (memcmp(&hold->engines, &declared->engines, sizeof hold->engines) != 0)
                continue;
            if (hold->state == HOLD_DECLARED) {
                hold->state = HOLD_FREE;
                block(server, &hold->engines, SCHED_ENGINE_UNBLOCK);
            } else if (hold->state == HOLD_HELD) {
                let_go(server, old, l);
            }
        }
    }
}

void arbiter_attach(struct server *server, struct peer *peer, const struct frame_attach *frame)
{
    struct frame refused = {.type = FRAME_REFUSED, .refused = {.index = frame->index}};
    struct hold *hold = &peer->holds[frame->index];
    unsigned device = 0;
    int result = device_find(server, frame->device, server->config.declare, &device);

    if (result == 0 && has_tokens(server)) {
        if (!peer->joined)
            join(server, peer, device);
        for (unsigned i = 0; i < PAGE_LEASES && result == 0; i++) {
            if (peer->holds[i].state != HOLD_UNUSED && peer->holds[i].device != device)
                result = -EXDEV; /* one GPU cluster per client, and a cluster is one GPU */
        }
    }
    if (result < 0) {
        refused.refused.reason = (uint32_t)-result;
        peer_put(server, peer, &refused);
        server->host.report(server->host.user, REPORT_REFUSED, peer->slot, (uint64_t)-result);
        return;
    }
    hold->device = device;
    hold->engines = engines_of(server, device, frame->engine);
    hold->epoch = frame->epoch;
    hold->state = HOLD_FREE;
    if (frame->busy) {
        hold->state = HOLD_DECLARED;
        server->declared++;
        block(server, &hold->engines, SCHED_ENGINE_BLOCK);
    }
    take_over(server, peer, hold);
    run_queue(server);
}

/*
 * Equals are served in the order in which they ask (G1: ties go by arrival). A client that does not report its jobs would otherwise
 * have one job for ever, and the one that connected first would be ahead of all its equals for good.
 */
static void rejoin_queue(struct server *server, struct peer *peer)
{
    if (peer->reports_jobs || has_tokens(server))
        return;
    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        if (peer->holds[i].state == HOLD_WAITING || peer->holds[i].state == HOLD_HELD)
            return;
    }
    push(server, (struct sched_event){.kind = SCHED_JOB_DONE, .job = peer->slot});
    release_job(server, peer, NSEC_MAX);
}

void arbiter_request(struct server *server, struct peer *peer, uint32_t index, uint32_t epoch)
{
    struct hold *hold = &peer->holds[index];

    peer->requests++;
    if (hold->state == HOLD_HELD) /* only a confused client asks for what it holds */
        let_go(server, peer, index);
    if (hold->state == HOLD_DECLARED) {
        hold->state = HOLD_FREE;
        block(server, &hold->engines, SCHED_ENGINE_UNBLOCK);
    }
    hold->epoch = epoch;
    if (hold->state == HOLD_WAITING)
        return;
    rejoin_queue(server, peer);
    hold->state = HOLD_WAITING;
    note(server, RECORD_REQUEST, peer, hold);
    call_in_engines(server, &hold->engines);
    if (has_tokens(server)) {
        peer->queue |= UINT32_C(1) << index;
        token_pump(server, peer);
    } else {
        ask_engines(server, peer, index);
    }
    run_queue(server);
}

void arbiter_release(struct server *server, struct peer *peer, const struct frame_release *frame)
{
    struct hold *hold = &peer->holds[frame->index];
    bool ours = (hold->state == HOLD_HELD || hold->state == HOLD_DECLARED) && hold->epoch == frame->epoch;

    if (ours && hold->state == HOLD_HELD && frame->next) {
        /* Q3: the next piece is queued in the same step. */
        note(server, RECORD_RELEASE, peer, hold);
        forget(server, peer, frame->index, HOLD_WAITING);
        hold->epoch = frame->next;
        peer->requests++;
        note(server, RECORD_REQUEST, peer, hold);
        push_lane(server, peer, frame->index, SCHED_PIECE_DONE);
        run_queue(server);
        return;
    }
    if (ours && hold->state == HOLD_HELD) {
        note(server, RECORD_RELEASE, peer, hold);
        let_go(server, peer, frame->index);
    } else if (ours) {
        hold->state = HOLD_FREE;
        block(server, &hold->engines, SCHED_ENGINE_UNBLOCK);
    }
    if (frame->next)
        arbiter_request(server, peer, frame->index, frame->next);
    else
        run_queue(server);
}

void arbiter_priority(struct server *server, struct peer *peer, baton_nsec deadline_at)
{
    push(server, (struct sched_event){.kind = SCHED_JOB_PRIORITY,
                                      .job = peer->slot,
                                      .priority = peer->priority,
                                      .deadline_at = deadline_at});
    run_queue(server);
}

void arbiter_job(struct server *server, struct peer *peer, const struct frame_job *frame)
{
    baton_nsec deadline_at =
        frame->deadline_at && frame->deadline_at < NSEC_MAX ? (baton_nsec)frame->deadline_at : NSEC_MAX;

    if (!peer->joined)
        return;
    if (frame->begins) {
        arbiter_priority(server, peer, deadline_at);
        return;
    }
    if (has_tokens(server)) {
        peer->job_over = true;
        if (peer->engaged >= 0 && peer->holds[peer->engaged].state == HOLD_HELD)
            (void)call_in(server, peer, (unsigned)peer->engaged, LEASE_FLAG_WANTED);
        token_pump(server, peer);
    }
    /* The core refuses to end a job that still holds something; then it simply goes on as one job. */
    push(server, (struct sched_event){.kind = SCHED_JOB_DONE, .job = peer->slot});
    release_job(server, peer, NSEC_MAX);
    run_queue(server);
}

/*
 * Is the GPU done with what this hold stood for? The word is called in, not merely read: a process that lives on and has not
 * noticed yet that it was dropped must not begin again on an idle word that we have stopped believing in.
 */
static bool drained(const struct server *server, const struct peer *peer, unsigned index)
{
    const struct hold *hold = &peer->holds[index];

    if (peer->finished)
        return true;
    if (peer->exited)
        return server->now_at >= peer->drain_at + server->devices[hold->device].drain;
    return lease_word_call_in(&peer->page->leases[index].word, LEASE_FLAGS) != LEASE_CALLED_BUSY;
}

bool arbiter_leave(struct server *server, struct peer *peer)
{
    bool left = false;

    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        struct hold *hold = &peer->holds[i];

        if (hold->state == HOLD_WAITING) {
            peer->queue &= ~(UINT32_C(1) << i);
            if (!has_tokens(server) || peer->engaged == (int)i)
                let_go(server, peer, i);
            hold->state = HOLD_FREE;
        } else if (hold->state == HOLD_HELD && drained(server, peer, i)) {
            note(server, RECORD_RELEASE, peer, hold);
            let_go(server, peer, i);
        } else if (hold->state == HOLD_DECLARED && drained(server, peer, i)) {
            hold->state = HOLD_FREE;
            block(server, &hold->engines, SCHED_ENGINE_UNBLOCK);
        }
        left |= hold->state == HOLD_HELD || hold->state == HOLD_DECLARED;
    }
    run_queue(server);
    if (left)
        return false;
    if (peer->joined) {
        push(server, (struct sched_event){.kind = SCHED_CLIENT_GONE, .client = peer->slot});
        push(server, (struct sched_event){.kind = SCHED_CLIENT_DRAINED, .client = peer->slot});
        peer->joined = false;
        run_queue(server);
    }
    return true;
}

void arbiter_settle(struct server *server, bool settled)
{
    struct engine_set all = {0};

    for (engine_id e = 0; e < sched_engines(server->core); e++)
        engine_set_add(&all, e);
    block(server, &all, settled ? SCHED_ENGINE_UNBLOCK : SCHED_ENGINE_BLOCK);
    run_queue(server);
}

/* Reports holders that do not give way, and arms the next look. */
void arbiter_tick(struct server *server)
{
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        struct peer *peer = server->holders[e];
        struct hold *hold = peer ? &peer->holds[server->holder_leases[e]] : NULL;

        if (!hold || !hold->yield_at || hold->overdue)
            continue;
        if (server->now_at - hold->yield_at < server->config.overdue) {
            server_arm(server, hold->yield_at + server->config.overdue);
            continue;
        }
        hold->overdue = true;
        peer->overdue++;
        server->overdue++;
        note(server, RECORD_OVERDUE, peer, hold);
        server->host.report(server->host.user, REPORT_OVERDUE, peer->slot, e);
    }
}
