#include "daemon/holds.h"

#include <assert.h>

#include "daemon/budgets.h"
#include "daemon/cpus.h"
#include "daemon/lanes.h"
#include "daemon/regain.h"
#include "wire/rank.h"

_Static_assert(LEASE_TURN_NS == SCHED_TURN_NS, "client and core agree on what a turn is (Q6)");

bool holds_tokens(const struct server *server)
{
    return server->profile->tokens;
}

static unsigned lane_of(const struct server *server, const struct peer *peer, unsigned index)
{
    unsigned group = peer->holds[index].group;

    if (holds_tokens(server))
        return 0;
    return group ? PAGE_LEASES + group - 1 : index;
}

/* The first lease on a lane; PAGE_LEASES: none, the group was released meanwhile. */
static unsigned lease_of(const struct server *server, const struct peer *peer, unsigned lane)
{
    unsigned index = 0;

    if (holds_tokens(server))
        return peer->engaged < 0 ? 0 : (unsigned)peer->engaged;
    if (lane < PAGE_LEASES)
        return lane;
    while (index < PAGE_LEASES && peer->holds[index].group != lane - PAGE_LEASES + 1)
        index++;
    return index;
}

void holds_push(struct server *server, struct sched_event event)
{
    assert(server->queue_n < SERVER_QUEUE);
    event.at = server->now_at;
    server->queue[(server->queue_begin + server->queue_n++) % SERVER_QUEUE] = event;
}

void holds_push_lane(struct server *server, const struct peer *peer, unsigned index,
                     enum sched_event_kind kind)
{
    holds_push(server, (struct sched_event){.kind = kind,
                                            .client = peer->slot,
                                            .job = peer->slot,
                                            .lane = lane_of(server, peer, index)});
}

static uint32_t first_engine(const struct hold *hold)
{
    for (engine_id e = 0; e < SCHED_MAX_ENGINES; e++) {
        if (engine_set_has(&hold->engines, e))
            return e;
    }
    return UINT32_MAX;
}

bool holds_in_use(const struct peer *peer, unsigned index)
{
    const struct hold *hold = &peer->holds[index];

    return hold->state == HOLD_WAITING ||
           (hold->state == HOLD_HELD &&
            lease_word_state(atomic_load(&peer->page->leases[index].word)) == LEASE_STATE_BUSY);
}

uint32_t peer_engine(const struct peer *peer, unsigned lease)
{
    return peer->holds[lease].state == HOLD_UNUSED ? UINT32_MAX : first_engine(&peer->holds[lease]);
}

void holds_note(struct server *server, enum record_kind kind, const struct peer *peer,
                const struct hold *hold)
{
    history_add(&server->history, server->now_at, kind, peer->client, first_engine(hold));
}

void holds_restore(struct server *server, struct peer *peer)
{
    if (!peer->boosted)
        return;
    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        const struct hold *hold = &peer->holds[i];

        if (hold->state == HOLD_HELD && hold->yield_at && !hold->yields_late)
            return;
    }
    peer->boosted = 0;
    server->host.boost(server->host.user, peer->who.pid, peer->threads, peer->n_threads, 0);
}

bool holds_outlasts(const struct server *server, const struct peer *peer, unsigned index)
{
    const struct hold *hold = &peer->holds[index];
    const struct plan_task *task =
        hold->state == HOLD_HELD && hold->yield_at && peer->task ? peer->task->planned : NULL;
    baton_nsec limit = task ? task->budget : 0;

    if (task && task->piece && hold->kind == ENGINE_EXECUTION)
        limit = task->piece;
    return limit > 0 && !holds_tokens(server) && server->now_at - hold->yield_at > limit;
}

/* The hold is over in the daemon's own records. */
void holds_forget(struct server *server, struct peer *peer, unsigned index, enum hold_state next)
{
    struct hold *hold = &peer->holds[index];

    if (hold->state == HOLD_HELD && holds_tokens(server))
        requests_released(server, peer, index);
    if (holds_outlasts(server, peer, index))
        regain_lose_until_idle(server);
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        if (server->holders[e] == peer && server->holder_leases[e] == index)
            server->holders[e] = NULL;
    }
    hold->state = next;
    hold->yield_at = 0;
    hold->told = 0;
    hold->yields_late = false;
    holds_restore(server, peer);
}

/* Another lease of the same group, or PAGE_LEASES. */
static unsigned companion(const struct peer *peer, unsigned index)
{
    unsigned other = 0;

    if (!peer->holds[index].group)
        return PAGE_LEASES;
    while (other < PAGE_LEASES && (other == index || peer->holds[other].group != peer->holds[index].group))
        other++;
    return other;
}

void holds_let_go(struct server *server, struct peer *peer, unsigned index)
{
    unsigned other = companion(peer, index);

    holds_forget(server, peer, index, HOLD_FREE);
    /* the core knows the group as one request, until its last lease goes */
    if (other < PAGE_LEASES) {
        peer->holds[index].group = 0;
        if (peer->engaged == (int)index)
            peer->engaged = (int)other;
        return;
    }
    holds_push_lane(server, peer, index, SCHED_ENGINE_RELEASE);
    peer->holds[index].group = 0;
    if (peer->engaged == (int)index) {
        peer->engaged = -1;
        lanes_pump(server, peer);
    }
}

/*
 * A client with work in flight may sleep, and then asks to be told when another client waits. The
 * daemon sets the flag, then reads the request; the client writes the request, then reads the
 * flag. So at least one side sees the other.
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
bool holds_call_in(struct server *server, struct peer *peer, unsigned index, uint64_t flags)
{
    struct hold *hold = &peer->holds[index];

    switch (lease_word_call_in(&peer->page->leases[index].word, flags)) {
    case LEASE_CALLED_BUSY:
        tell_wanted(server, peer, index, flags);
        return false;
    case LEASE_CALLED_TAKEN:
        server->leases_ended++;
        holds_note(server, RECORD_TAKEN, peer, hold);
        break;
    case LEASE_CALLED_GONE: /* its RELEASE is under way and will find the hold over */
        holds_note(server, RECORD_RELEASE, peer, hold);
        break;
    }
    holds_let_go(server, peer, index);
    return true;
}

void holds_call_in_engines(struct server *server, const struct engine_set *engines)
{
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        if (engine_set_has(engines, e) && server->holders[e])
            (void)holds_call_in(server, server->holders[e], server->holder_leases[e], LEASE_FLAG_WANTED);
    }
}

/* ---- decisions ---- */

static void grant_lease(struct server *server, struct peer *peer, unsigned index)
{
    struct hold *hold = &peer->holds[index];
    struct page_lease *place = &peer->page->leases[index];
    /* a lease that is kept, idle, may be charged to the job's budget, and its use is not counted */
    bool charged = peer->budget && !budgets_told(server, peer);
    bool kept = !peer->exact && !hold->group && !charged && !peer->counted.said;
    uint64_t flags = (kept ? 0 : LEASE_FLAG_WANTED) | lanes_flags(server, peer);

    hold->state = HOLD_HELD;
    if (engine_set_has(&hold->engines, sched_execution_engine(server->core, hold->device))) {
        peer->strayed |= peer->gpu_set && !(peer->gpu_set >> hold->device & 1);
        claims_computes(server, peer, hold->device);
    }
    for (engine_id e = 0; e < sched_engines(server->core); e++) {
        if (!engine_set_has(&hold->engines, e))
            continue;
        server->holders[e] = peer;
        server->holder_leases[e] = index;
        server->engines[e].grants++;
        if (sched_core_waiting(server->core, e) > 0)
            flags |= LEASE_FLAG_WANTED;
    }
    holds_note(server, RECORD_GRANT, peer, hold);
    lease_word_grant(&place->word, flags, server->start.generation, hold->epoch);
    server->host.wake(server->host.user, &place->word);
}

static void grant(struct server *server, const struct sched_decision *decision)
{
    struct peer *peer = server->peers[decision->job];
    unsigned index = lease_of(server, peer, decision->lane);
    unsigned group;

    /* Withdrawn meanwhile; the core's release event is in the queue. */
    if (index == PAGE_LEASES || peer->holds[index].state != HOLD_WAITING)
        return;
    server->grants++;
    peer->grants++;
    group = peer->holds[index].group;
    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        if (i == index || (group && peer->holds[i].group == group))
            grant_lease(server, peer, i);
    }
    /*
     * A copy from another GPU also holds the job's own copy engine, so a request for that engine
     * calls this lease in.
     */
    for (engine_id e = 0; !group && e < sched_engines(server->core); e++) {
        if (engine_set_has(&decision->engines, e) && !server->holders[e]) {
            server->holders[e] = peer;
            server->holder_leases[e] = index;
        }
    }
    if (holds_tokens(server))
        requests_granted(server, peer, index, &decision->engines);
}

/*
 * Raises the holder's threads for a waiting client. For a task of the plan they go to the top of
 * the band. No other CPU work may delay a border that the analysis counts. For any other program
 * they go to that program's own level, which is below every task of the plan.
 */
static void boost(struct server *server, struct peer *peer, const struct peer *waiter)
{
    unsigned level = !waiter ? 1 : waiter->admitted ? RANK_LEVELS : rank_level(false, waiter->priority);

    level = level ? level : 1;
    if (!peer->n_threads || level <= peer->boosted || (peer->admitted && cpus_ordered(server)))
        return;
    peer->boosted = level;
    server->host.boost(server->host.user, peer->who.pid, peer->threads, peer->n_threads, level);
}

/* Boosts first, then asks: otherwise other programs may keep the holder from its border. */
static void ask_to_yield(struct server *server, const struct sched_decision *decision)
{
    struct peer *peer = server->peers[decision->job];
    unsigned index = lease_of(server, peer, decision->lane);
    struct hold *hold = &peer->holds[index % PAGE_LEASES];

    if (index == PAGE_LEASES || hold->state != HOLD_HELD || peer->state != PEER_CLIENT)
        return;
    if (decision->as != decision->job) /* a job past its budget is not raised for itself */
        boost(server, peer, server->peers[decision->as]);
    server->yields++;
    server->engines[decision->engine].yields++;
    peer->yields++;
    holds_note(server, RECORD_YIELD, peer, hold);
    if (!hold->yield_at) /* a second client that waits gives no new time */
        hold->yield_at = server->now_at;
    server_arm(server, server->now_at + server->config.late_yield);
    (void)holds_call_in(server, peer, index, LEASE_FLAGS);
}

/* An equal waits: work that the holder may begin without asking ends with its turn (Q6). */
static void ask_for_turn(struct server *server, const struct sched_decision *decision)
{
    struct peer *peer = server->peers[decision->job];
    unsigned index = lease_of(server, peer, decision->lane);

    if (index < PAGE_LEASES && peer->holds[index].state == HOLD_HELD && peer->state == PEER_CLIENT)
        (void)holds_call_in(server, peer, index, LEASE_ASK_TURN);
}

/*
 * A job runs with another job's priority, or with its own again. With ordered CPUs, levels follow
 * before anything is granted. Otherwise a holder that was asked to yield is raised for a more
 * urgent waiting client. Under tokens, so is every job that another job waits for (G4).
 */
static void inherit(struct server *server, const struct sched_decision *decision)
{
    struct peer *peer = server->peers[decision->job];

    cpus_changed(server);
    if (cpus_ordered(server) && peer->admitted)
        return;
    if (decision->as != decision->job && (peer->boosted || holds_tokens(server)))
        boost(server, peer, server->peers[decision->as]);
    else if (decision->as == decision->job && holds_tokens(server))
        holds_restore(server, peer);
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
    case SCHED_TURN:
        ask_for_turn(server, decision);
        return;
    case SCHED_TOKEN:
        lanes_token_granted(server, server->peers[decision->job], decision->gpu);
        return;
    case SCHED_ENDED:
        server->peers[decision->job]->suspended = false;
        cpus_changed(server);
        lanes_job_ended(server, server->peers[decision->job]);
        return;
    case SCHED_OVERRUN:
        cpus_changed(server); /* a demoted job stands behind others there, too */
        budgets_overrun(server, server->peers[decision->job]);
        return;
    case SCHED_PLACED:
        server->peers[decision->job]->placed = decision->gpus;
        return;
    case SCHED_EFF:
        inherit(server, decision);
        return;
    case SCHED_SUSPEND:
    case SCHED_RESUME:
        server->peers[decision->job]->suspended = decision->action == SCHED_SUSPEND;
        cpus_changed(server);
        return;
    default:
        return;
    }
}

/*
 * A request was not granted. A client that got its engines while the request was in the daemon's
 * queue must learn that a client waits.
 */
static void flag_holders(struct server *server, const struct sched_event *event)
{
    const struct peer *peer = server->peers[event->job];
    unsigned index = lease_of(server, peer, event->lane);

    if (index >= PAGE_LEASES || peer->holds[index].state != HOLD_WAITING)
        return;
    if (holds_tokens(server))
        requests_waits(server, peer, &event->engines);
    holds_call_in_engines(server, &event->engines);
}

void holds_run(struct server *server)
{
    while (server->queue_n > 0) {
        struct sched_event event = server->queue[server->queue_begin];
        const struct sched_decision *decisions;
        size_t n;

        server->queue_begin = (server->queue_begin + 1) % SERVER_QUEUE;
        server->queue_n--;
        if (sched_core_handle(server->core, &event, &decisions, &n) != 0)
            continue;
        if (event.kind == SCHED_JOB_RELEASE || event.kind == SCHED_JOB_DONE ||
            event.kind == SCHED_JOB_PRIORITY || event.kind == SCHED_CLIENT_JOIN)
            cpus_changed(server);
        for (size_t i = 0; i < n; i++) {
            if (server->host.decided)
                server->host.decided(server->host.user, &decisions[i]);
            if (decisions[i].action == SCHED_GRANT || decisions[i].action == SCHED_TOKEN)
                cpus_update(server); /* raise first, then grant */
            carry_out(server, &decisions[i]);
        }
        if (event.kind == SCHED_ENGINE_REQUEST)
            flag_holders(server, &event);
        if (event.kind == SCHED_JOB_DONE && holds_tokens(server) && server->peers[event.job])
            lanes_job_ended(server, server->peers[event.job]);
    }
    cpus_update(server);
    budgets_arm(server);
}

/*
 * The engines that the request of this lease, or of its group, names. M2 adds the bus of every
 * copy, also where the profile does not arbitrate buses.
 */
struct engine_set holds_wanted(const struct server *server, const struct peer *peer, unsigned index)
{
    struct engine_set engines = peer->holds[index].engines;
    unsigned group = peer->holds[index].group;

    for (unsigned i = 0; group && i < PAGE_LEASES; i++) {
        const struct hold *hold = &peer->holds[i];

        if (hold->group != group)
            continue;
        for (unsigned w = 0; w < SCHED_MAX_ENGINES / 64; w++)
            engines.bits[w] |= hold->engines.bits[w];
        if (!engine_set_has(&hold->engines, sched_execution_engine(server->core, hold->device)))
            engine_set_add(&engines,
                           sched_bus_engine(server->core, sched_bus_of_gpu(server->core, hold->device)));
    }
    return engines;
}

void holds_ask(struct server *server, struct peer *peer, unsigned index)
{
    struct engine_set engines = holds_wanted(server, peer, index);

    if (holds_tokens(server))
        engines = lanes_engines(server, peer, index, engines);
    holds_push(server, (struct sched_event){.kind = SCHED_ENGINE_REQUEST,
                                            .job = peer->slot,
                                            .lane = lane_of(server, peer, index),
                                            .home = SCHED_NO_GPU,
                                            .batch = peer->holds[index].group != 0,
                                            .engines = engines});
}
