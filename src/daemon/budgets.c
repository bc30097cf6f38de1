#include "daemon/budgets.h"

#include "daemon/holds.h"
#include "daemon/lanes.h"
#include "daemon/token_turns.h"

const struct plan_task *budgets_task(const struct server *server, const struct peer *peer)
{
    return peer->admitted && server->has_plan ? plan_find(&server->plan, peer->hello.name) : NULL;
}

baton_nsec budgets_deadline(const struct peer *peer)
{
    return (baton_nsec)(peer->hello.deadline ? peer->hello.deadline : peer->hello.period);
}

baton_nsec budgets_period(const struct server *server, const struct peer *peer)
{
    const struct plan_task *task = budgets_task(server, peer);
    baton_nsec announced = (baton_nsec)peer->hello.period;

    return task && task->period > announced ? task->period : announced;
}

baton_nsec budgets_release_at(const struct server *server, const struct peer *peer, baton_nsec deadline_at)
{
    return deadline_at == NSEC_MAX || !budgets_deadline(peer) ? server->now_at
                                                              : deadline_at - budgets_deadline(peer);
}

/* Is engine time measured? Under tokens always: requests are counted, too. */
static bool measures(const struct server *server)
{
    return server->has_plan && (holds_tokens(server) || server->config.overrun != OVERRUN_OFF);
}

bool budgets_begin(const struct server *server, const struct peer *peer, const struct plan_task *task)
{
    return task && task->budget && peer->hello.period && server->config.overrun != OVERRUN_OFF;
}

bool budgets_told(const struct server *server, const struct peer *peer)
{
    return !holds_tokens(server) && (peer->hello.flags & HELLO_USED);
}

static bool in_use(const struct peer *peer)
{
    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        if (holds_in_use(peer, i))
            return true;
    }
    return false;
}

/* Holds that a client keeps idle would use its budget, if it does not count engine time itself. */
static void call_in_kept(struct server *server, struct peer *peer)
{
    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        if (peer->holds[i].state == HOLD_HELD && !peer->holds[i].group)
            (void)holds_call_in(server, peer, i, LEASE_FLAG_WANTED);
    }
}

void budgets_job_begins(struct server *server, struct peer *peer, baton_nsec deadline_at)
{
    const struct plan_task *task = measures(server) ? budgets_task(server, peer) : NULL;
    baton_nsec budget = task ? task->budget : 0;

    if (!budget && !peer->budget)
        return;
    if (!peer->budget && !budgets_told(server, peer))
        call_in_kept(server, peer);
    peer->budget = budget;
    peer->release_at = budgets_release_at(server, peer, deadline_at);
    holds_push(server, (struct sched_event){.kind = SCHED_JOB_BUDGET,
                                            .job = peer->slot,
                                            .budget = budget,
                                            .told = budgets_told(server, peer),
                                            .carry = in_use(peer),
                                            .period = budgets_period(server, peer),
                                            .release_at = peer->release_at});
}

/* Between two jobs there is nothing to look at, unless commands of the last one still run. */
void budgets_job_ends(struct server *server, struct peer *peer)
{
    if (peer->budget && budgets_told(server, peer) && !in_use(peer))
        holds_push(server, (struct sched_event){.kind = SCHED_JOB_BUDGET, .job = peer->slot, .told = true});
}

/* The engine time of its present job, by its own count. */
static baton_nsec counted(const struct peer *peer)
{
    uint64_t used = atomic_load_explicit(&peer->page->used_ns, memory_order_relaxed);

    return used < NSEC_MAX ? (baton_nsec)used : NSEC_MAX;
}

void budgets_look(struct server *server, const struct peer *peer)
{
    if (!peer->joined || !peer->budget || !budgets_told(server, peer) || peer->state != PEER_CLIENT)
        return;
    holds_push(server,
               (struct sched_event){.kind = SCHED_JOB_USED, .job = peer->slot, .used = counted(peer)});
}

/* Programs of a plan with tokens report their jobs. What comes before the first is start-up. */
static bool is_start_up(const struct server *server, const struct peer *peer)
{
    return holds_tokens(server) && (peer->inferred || !peer->reported);
}

void budgets_overrun(struct server *server, struct peer *peer)
{
    enum overrun_mode mode = server->config.overrun;

    peer->overruns++;
    peer_report(server, peer, REPORT_OVERRUN, (uint64_t)peer->budget);
    if (mode == OVERRUN_END && is_start_up(server, peer))
        mode = OVERRUN_THROTTLE;
    if (mode == OVERRUN_THROTTLE && holds_tokens(server) && budgets_period(server, peer))
        lanes_throttle(server, peer);
    else if (mode == OVERRUN_END && server->host.end)
        server->host.end(server->host.user, peer->slot);
}

void budgets_tick(struct server *server)
{
    for (unsigned i = 0; measures(server) && i < server->config.clients; i++) {
        if (!server->peers[i])
            continue;
        budgets_look(server, server->peers[i]);
        holds_run(server);
    }
    for (unsigned i = 0; holds_tokens(server) && i < server->config.clients; i++) {
        if (!server->peers[i])
            continue;
        lanes_go_on(server, server->peers[i]);
        holds_run(server);
    }
    if (holds_tokens(server))
        token_turns_tick(server);
    if (measures(server) || holds_tokens(server))
        holds_push(server, (struct sched_event){.kind = SCHED_TICK});
    holds_run(server);
}

void budgets_arm(struct server *server)
{
    baton_nsec next = measures(server) ? sched_core_next_tick(server->core, server->now_at) : NSEC_MAX;

    if (next != NSEC_MAX)
        server_arm(server, server->now_at + next);
}
