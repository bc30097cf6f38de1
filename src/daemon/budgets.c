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

void budgets_job_begins(struct server *server, struct peer *peer, baton_nsec deadline_at)
{
    const struct plan_task *task = measures(server) ? budgets_task(server, peer) : NULL;
    baton_nsec budget = task ? task->budget : 0;

    if (!budget && !peer->budget)
        return;
    peer->budget = budget;
    peer->release_at = budgets_release_at(server, peer, deadline_at);
    holds_push(server, (struct sched_event){.kind = SCHED_JOB_BUDGET,
                                            .job = peer->slot,
                                            .budget = budget,
                                            .period = (baton_nsec)peer->hello.period,
                                            .release_at = peer->release_at});
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
    if (mode == OVERRUN_THROTTLE && holds_tokens(server) && peer->hello.period)
        lanes_throttle(server, peer);
    else if (mode == OVERRUN_END && server->host.end)
        server->host.end(server->host.user, peer->slot);
}

void budgets_tick(struct server *server)
{
    for (unsigned i = 0; holds_tokens(server) && i < server->config.clients; i++) {
        if (server->peers[i])
            lanes_go_on(server, server->peers[i]);
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
