#include "daemon/points.h"

#include "daemon/budgets.h"

baton_nsec points_of(const struct server *server, const struct peer *peer, baton_nsec deadline_at)
{
    const struct plan_task *task = budgets_task(server, peer);

    if (!task || !task->has_point || deadline_at == NSEC_MAX || !budgets_deadline(peer) ||
        !(server->config.policy == POLICY_FAIR_LATENESS ||
          (server->config.policy == POLICY_EDF && task->point == task->deadline)))
        return deadline_at;
    return deadline_at - budgets_deadline(peer) + task->point;
}

/*
 * The least time between two releases: the plan's period. A program may announce a longer one. A
 * shorter one breaks the rule `period`.
 */
static baton_nsec least_period(const struct server *server, const struct peer *peer)
{
    const struct plan_task *task = budgets_task(server, peer);
    baton_nsec announced = (baton_nsec)peer->hello.period;

    return task && task->period > 0 && (task->period < announced || !announced) ? task->period : announced;
}

baton_nsec points_next(const struct server *server, const struct peer *peer)
{
    baton_nsec release_at = peer->release_at ? peer->release_at + least_period(server, peer) : server->now_at;

    return budgets_deadline(peer) ? points_of(server, peer, release_at + budgets_deadline(peer)) : NSEC_MAX;
}
