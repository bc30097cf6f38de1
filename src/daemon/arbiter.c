/* Turns the clients' messages about leases, groups and jobs into events for the core. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "daemon/budgets.h"
#include "daemon/holds.h"
#include "daemon/lanes.h"
#include "daemon/regain.h"

static void release_job(struct server *server, struct peer *peer, baton_nsec deadline_at)
{
    holds_push(server, (struct sched_event){.kind = SCHED_JOB_RELEASE,
                                            .client = peer->slot,
                                            .job = peer->slot,
                                            .admitted = peer->admitted,
                                            .no_deadline = peer->no_deadline,
                                            .priority = peer->priority,
                                            .deadline_at = deadline_at});
}

static void join(struct server *server, struct peer *peer)
{
    holds_push(server, (struct sched_event){.kind = SCHED_CLIENT_JOIN,
                                            .client = peer->slot,
                                            .uses_gpu = true,
                                            .keeps_idle = !peer->exact});
    release_job(server, peer, NSEC_MAX);
    peer->joined = true;
}

void arbiter_join(struct server *server, struct peer *peer)
{
    peer->engaged = -1;
    /* with tokens, the client joins when its clusters are known (lanes.h) */
    if (!holds_tokens(server))
        join(server, peer);
    holds_run(server);
}

static void block(struct server *server, const struct engine_set *engines, enum sched_event_kind kind)
{
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        if (engine_set_has(engines, e))
            holds_push(server, (struct sched_event){.kind = kind, .engine = e});
    }
}

static struct engine_set engines_of(const struct server *server, unsigned device, uint32_t kind)
{
    struct engine_set engines = {0};
    bool one = server->devices[device].copy_engines == 1;

    if (kind == ENGINE_EXECUTION)
        engine_set_add(&engines, sched_execution_engine(server->core, device));
    else
        engines = sched_copy_engines(server->core, device,
                                     kind == ENGINE_COPY_IN || one ? DIRECTION_IN : DIRECTION_OUT);
    return engines;
}

/*
 * A process that lost its connection and came back declares every lease again. Until then the lost
 * connection keeps its engines. Each declaration replaces the hold of the lost connection on the
 * declared engines.
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
                holds_let_go(server, old, l);
            }
        }
    }
}

void arbiter_attach(struct server *server, struct peer *peer, const struct frame_attach *frame)
{
    struct frame refused = {.type = FRAME_REFUSED, .refused = {.index = frame->index}};
    struct frame managed = {.type = FRAME_MANAGED, .managed = {.index = frame->index}};
    struct hold *hold = &peer->holds[frame->index];
    unsigned device = 0;
    int result = device_find(server, frame->device, server->config.declare, &device);

    if (result < 0) {
        /* It goes on there as without batond; under tokens only if it had opened the GPU before. */
        peer->unmanaged = true;
        refused.refused.reason = (uint32_t)-result;
        peer_put(server, peer, &refused);
        peer_report(server, peer, REPORT_REFUSED, (uint64_t)-result);
        return;
    }
    if (holds_tokens(server))
        lanes_join(server, peer, device);
    hold->device = device;
    hold->kind = frame->engine;
    hold->engines = engines_of(server, device, frame->engine);
    hold->epoch = frame->epoch;
    hold->state = HOLD_FREE;
    if (frame->busy) {
        hold->state = HOLD_DECLARED;
        server->declared++;
        block(server, &hold->engines, SCHED_ENGINE_BLOCK);
    }
    take_over(server, peer, hold);
    if (holds_tokens(server) && (peer->hello.flags & HELLO_MANAGED))
        peer_put(server, peer, &managed);
    holds_run(server);
}

/*
 * A client that does not report its jobs would otherwise have one job for ever. `adaptive` would
 * take that job for a long one. Where ties go by release (G1), it would be ahead of all clients
 * that connected later.
 */
void arbiter_rejoin(struct server *server, struct peer *peer)
{
    if (peer->reports_jobs || peer->placed || holds_tokens(server))
        return; /* a placed job lasts until the client says that it has ended */
    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        if (holds_in_use(peer, i))
            return;
    }
    holds_push(server, (struct sched_event){.kind = SCHED_JOB_NEXT, .job = peer->slot});
}

void arbiter_request(struct server *server, struct peer *peer, uint32_t index, uint32_t epoch)
{
    struct hold *hold = &peer->holds[index];

    peer->requests++;
    if (hold->state == HOLD_HELD) /* only a faulty client asks for what it holds */
        holds_let_go(server, peer, index);
    if (hold->state == HOLD_DECLARED) {
        hold->state = HOLD_FREE;
        block(server, &hold->engines, SCHED_ENGINE_UNBLOCK);
    }
    hold->epoch = epoch;
    if (hold->state == HOLD_WAITING)
        return;
    arbiter_rejoin(server, peer);
    hold->state = HOLD_WAITING;
    holds_note(server, RECORD_REQUEST, peer, hold);
    holds_call_in_engines(server, &hold->engines);
    if (holds_tokens(server)) {
        peer->queue |= UINT32_C(1) << index;
        lanes_pump(server, peer);
    } else {
        holds_ask(server, peer, index);
    }
    holds_run(server);
}

/* Withdraws a waiting request. */
static void withdraw(struct server *server, struct peer *peer, unsigned index)
{
    peer->queue &= ~(UINT32_C(1) << index);
    if (!holds_tokens(server) || peer->engaged == (int)index)
        holds_let_go(server, peer, index);
    peer->holds[index].state = HOLD_FREE;
    peer->holds[index].group = 0;
}

/* A number that no group of the client has. */
static unsigned unused_group(const struct peer *peer)
{
    uint64_t used = 0;

    for (unsigned i = 0; i < PAGE_LEASES; i++)
        used |= UINT64_C(1) << peer->holds[i].group;
    return (unsigned)__builtin_ctzll(~(used | 1));
}

/* The client holds none of these engines: forgets the holds. */
static void give_up(struct server *server, struct peer *peer, unsigned index)
{
    struct hold *hold = &peer->holds[index];

    if (hold->state == HOLD_HELD) {
        holds_note(server, RECORD_RELEASE, peer, hold);
        holds_let_go(server, peer, index);
    } else if (hold->state == HOLD_DECLARED) {
        hold->state = HOLD_FREE;
        block(server, &hold->engines, SCHED_ENGINE_UNBLOCK);
        /* only a faulty client asks for what it already waits for */
    } else if (hold->state == HOLD_WAITING) {
        withdraw(server, peer, index);
    }
}

void arbiter_group(struct server *server, struct peer *peer, const struct frame_group *frame)
{
    struct engine_set engines;
    uint32_t members = 0;
    unsigned group;
    unsigned first;

    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        /* A refused request needs nothing more here; its answer is already queued. */
        if (!(frame->leases >> i & 1) || peer->holds[i].state == HOLD_UNUSED)
            continue;
        members |= UINT32_C(1) << i;
        give_up(server, peer, i);
    }
    if (!members)
        return;
    peer->requests++;
    arbiter_rejoin(server, peer);
    group = unused_group(peer);
    assert(group <= PEER_GROUPS); /* each other group has a lease of its own, so a number is left */
    for (uint32_t rest = members; rest; rest &= rest - 1) {
        struct hold *hold = &peer->holds[__builtin_ctz(rest)];

        hold->state = HOLD_WAITING;
        hold->epoch = frame->epoch;
        hold->group = group;
        holds_note(server, RECORD_REQUEST, peer, hold);
    }
    first = (unsigned)__builtin_ctz(members);
    engines = holds_wanted(server, peer, first);
    holds_call_in_engines(server, &engines);
    if (holds_tokens(server)) {
        peer->queue |= UINT32_C(1) << first;
        lanes_pump(server, peer);
    } else {
        holds_ask(server, peer, first);
    }
    holds_run(server);
}

void arbiter_group_release(struct server *server, struct peer *peer, const struct frame_group_release *frame)
{
    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        const struct hold *hold = &peer->holds[i];

        if ((frame->leases >> i & 1) && hold->epoch == frame->epoch &&
            (hold->state == HOLD_HELD || hold->state == HOLD_DECLARED))
            give_up(server, peer, i);
    }
    holds_run(server);
}

void arbiter_release(struct server *server, struct peer *peer, const struct frame_release *frame)
{
    struct hold *hold = &peer->holds[frame->index];
    bool ours = (hold->state == HOLD_HELD || hold->state == HOLD_DECLARED) && hold->epoch == frame->epoch;

    budgets_look(server, peer);
    /* other requests of the client, which wait in the daemon's queue, go first */
    if (ours && hold->state == HOLD_HELD && frame->next && !hold->group && !peer->queue &&
        !lanes_throttled(server, peer)) {
        /* Q3: the next piece is queued in the same step. */
        holds_note(server, RECORD_RELEASE, peer, hold);
        holds_forget(server, peer, frame->index, HOLD_WAITING);
        hold->epoch = frame->next;
        peer->requests++;
        if (holds_tokens(server))
            requests_asked(server, peer, frame->index);
        holds_note(server, RECORD_REQUEST, peer, hold);
        holds_push_lane(server, peer, frame->index, SCHED_PIECE_DONE);
        holds_run(server);
        return;
    }
    if (ours)
        give_up(server, peer, frame->index);
    if (frame->next)
        arbiter_request(server, peer, frame->index, frame->next);
    else
        holds_run(server);
}

void arbiter_priority(struct server *server, struct peer *peer, baton_nsec deadline_at)
{
    if (holds_tokens(server)) {
        lanes_rerank(server, peer);
        return;
    }
    holds_push(server, (struct sched_event){.kind = SCHED_JOB_PRIORITY,
                                            .job = peer->slot,
                                            .admitted = peer->admitted,
                                            .no_deadline = peer->no_deadline,
                                            .priority = peer->priority,
                                            .deadline_at = deadline_at});
    holds_run(server);
}

/* Once a client reports jobs, only reported jobs count. */
static void job_is(struct server *server, struct peer *peer, bool inferred)
{
    if (peer->inferred != inferred) {
        peer->strayed = peer->strayed && !holds_tokens(server);
        peer->overruns = peer->excesses = 0;
    }
    peer->inferred = inferred;
}

void arbiter_job(struct server *server, struct peer *peer, const struct frame_job *frame)
{
    baton_nsec deadline_at =
        frame->deadline_at && frame->deadline_at < NSEC_MAX / 2 ? (baton_nsec)frame->deadline_at : NSEC_MAX;

    if (frame->what == JOB_INFERRED || frame->what == JOB_SAID)
        job_is(server, peer, frame->what == JOB_INFERRED);
    else if (frame->what == JOB_ENDS)
        budgets_look(server, peer);
    if (holds_tokens(server)) {
        if (frame->what == JOB_ENDS)
            lanes_job_ends(server, peer);
        else if (frame->what == JOB_GPU_OVER)
            lanes_gpu_over(server, peer);
        else
            lanes_job_begins(server, peer, deadline_at);
        return;
    }
    if (!peer->joined || frame->what == JOB_GPU_OVER)
        return;
    if (frame->what != JOB_ENDS) {
        budgets_job_begins(server, peer, deadline_at);
        arbiter_priority(server, peer, deadline_at);
        return;
    }
    peer->placed = 0;
    budgets_job_ends(server, peer);
    /* The core refuses to end a job that still holds something; then the job goes on. */
    holds_push(server, (struct sched_event){.kind = SCHED_JOB_DONE, .job = peer->slot});
    release_job(server, peer, NSEC_MAX);
    holds_run(server);
}

/*
 * Has the GPU finished the work of this hold? The lease is called in, not merely read. A live
 * process that has not yet noticed its lost connection must not begin again on an idle word.
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

    /*
     * X1: waiting requests go at once; what the client holds stays with the dead job. Elsewhere
     * lanes drain one by one, so the core is told of each.
     */
    if (holds_tokens(server) && peer->joined && !peer->gone) {
        peer->gone = true;
        if (sched_core_has_job(server->core, peer->slot))
            regain_lose(server); /* no analysis counts what the locks do without the job (R8, C7) */
        holds_push(server, (struct sched_event){.kind = SCHED_CLIENT_GONE, .client = peer->slot});
    } else if (peer->placed) { /* the work that it announced will not come */
        peer->placed = 0;
        holds_push(server, (struct sched_event){.kind = SCHED_PLACE, .job = peer->slot});
    }

    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        struct hold *hold = &peer->holds[i];

        if (hold->state == HOLD_WAITING) {
            withdraw(server, peer, i);
        } else if (hold->state == HOLD_HELD && drained(server, peer, i)) {
            holds_note(server, RECORD_RELEASE, peer, hold);
            holds_let_go(server, peer, i);
        } else if (hold->state == HOLD_DECLARED && drained(server, peer, i)) {
            hold->state = HOLD_FREE;
            block(server, &hold->engines, SCHED_ENGINE_UNBLOCK);
        }
        left |= hold->state == HOLD_HELD || hold->state == HOLD_DECLARED;
    }
    holds_run(server);
    if (left)
        return false;
    if (peer->joined) {
        lanes_left(server, peer);
        if (!peer->gone)
            holds_push(server, (struct sched_event){.kind = SCHED_CLIENT_GONE, .client = peer->slot});
        holds_push(server, (struct sched_event){.kind = SCHED_CLIENT_DRAINED, .client = peer->slot});
        peer->joined = false;
        holds_run(server);
    }
    return true;
}

void arbiter_settle(struct server *server, bool settled)
{
    struct engine_set all = {0};

    for (engine_id e = 0; e < sched_engines(server->core); e++)
        engine_set_add(&all, e);
    block(server, &all, settled ? SCHED_ENGINE_UNBLOCK : SCHED_ENGINE_BLOCK);
    holds_run(server);
}

/*
 * Reports holders that do not yield in time, and arms the next look. Until such a hold is over,
 * no bound is claimed (RULE_LATE).
 */
void arbiter_tick(struct server *server)
{
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        struct peer *peer = server->holders[e];
        struct hold *hold = peer ? &peer->holds[server->holder_leases[e]] : NULL;

        if (!hold || !hold->yield_at || hold->yields_late)
            continue;
        if (server->now_at - hold->yield_at < server->config.late_yield) {
            server_arm(server, hold->yield_at + server->config.late_yield);
            continue;
        }
        hold->yields_late = true;
        /* A boost lasts until the next border is due, not for ever. */
        holds_restore(server, peer);
        peer->late_yields++;
        server->late_yields++;
        holds_note(server, RECORD_LATE_YIELD, peer, hold);
        peer_report(server, peer, REPORT_LATE_YIELD, e);
    }
}
