#include "daemon/rt_limit.h"

#include <stdio.h>

#include "base/fingerprint.h"
#include "daemon/cpus.h"
#include "daemon/peer.h"

/* ---- demand ---- */

/* How long jobs of the task are pending in a window. */
static baton_nsec pending_in(const struct plan_task *task, baton_nsec window)
{
    baton_nsec jobs;

    if (task->period <= 0)
        return window;
    if (window > NSEC_MAX - task->bound - task->period)
        return window;
    jobs = (window + task->bound + task->period - 1) / task->period;
    return task->bound == 0 || jobs <= window / task->bound ? jobs * task->bound : window;
}

baton_nsec rt_demand(const struct plan *plan, int cluster, baton_nsec window)
{
    baton_nsec sum = 0;

    for (size_t i = 0; i < plan->n_tasks; i++) {
        const struct plan_task *task = &plan->tasks[i];

        if (task->bound >= 0 && (cluster < 0 || task->cpu_cluster == (unsigned)cluster))
            sum += pending_in(task, window);
        if (sum >= window)
            return window;
    }
    return sum;
}

bool rt_limit_leaves(const struct rt_limit *limit, baton_nsec demand)
{
    return limit->period == 0 || demand <= limit->runtime - RT_TICK;
}

/* ---- what runs ---- */

/* The clusters of CPUs that the server orders, or one for all of them. */
static unsigned clusters(const struct server *server)
{
    const struct sched_config *core = sched_core_config(server->core);

    return cpus_ordered(server) ? core->cpus / core->cpu_cluster : 1;
}

/* A task that may compute at any rate, and whose program is real-time; NULL: there is none. */
static const char *unbounded_task(const struct server *server)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];
        const struct plan_task *task = peer && peer->page && peer->task ? peer->task->planned : NULL;

        if (task && task->bound < 0 &&
            (cpus_ordered(server) || !server->host.is_realtime ||
             server->host.is_realtime(server->host.user, peer->who.pid)))
            return task->name;
    }
    return NULL;
}

/*
 * Names what the limit may stop. task: the program in whose group the limit is, "": the machine's.
 */
static void compare_limit(struct server *server, const struct rt_limit *limit, const char *task)
{
    const char *field = task[0] ? "cpu.rt_runtime_us" : "sched_rt_runtime_us";
    const char *endless = unbounded_task(server);
    baton_nsec demand = 0;
    char need[64];
    char left[96];

    for (unsigned i = 0; i < clusters(server); i++) {
        baton_nsec of_cluster = rt_demand(&server->plan, cpus_ordered(server) ? (int)i : -1, limit->period);

        demand = of_cluster > demand ? of_cluster : demand;
    }
    if (rt_limit_leaves(limit, demand) && !endless)
        return;
    if (endless && rt_limit_leaves(limit, demand))
        (void)snprintf(need, sizeof need, "%.40s may need all of a core", endless);
    else
        (void)snprintf(need, sizeof need, "up to %.0f of %.0f ms of a core", nsec_to_ms(demand),
                       nsec_to_ms(limit->period));
    (void)snprintf(left, sizeof left, "%.0f ms, then Linux stops real-time programs; -1 is no limit",
                   nsec_to_ms(limit->runtime));
    claims_add(server, task, field, need, left);
}

/* The limits that were found: a sum over those that differ. */
struct found_limits {
    struct rt_limit limits[RT_LIMITS];
    size_t n;
    uint64_t print;
};

static void note(struct found_limits *found, const struct rt_limit *limit)
{
    for (size_t i = 0; i < found->n; i++) {
        if (found->limits[i].runtime == limit->runtime && found->limits[i].period == limit->period)
            return;
    }
    if (found->n < RT_LIMITS)
        found->limits[found->n++] = *limit;
    found->print += fingerprint(FINGERPRINT_START, limit, sizeof *limit);
}

static void consider_all(struct server *server, pid_t pid, const char *task, struct found_limits *found)
{
    struct claims *claims = &server->claims;
    struct rt_limit limits[RT_LIMITS];
    size_t n = server->host.limits_of(server->host.user, pid, limits);

    for (size_t i = 0; i < n; i++) {
        if (limits[i].period == 0)
            continue;
        compare_limit(server, &limits[i], task);
        note(found, &limits[i]);
        if (limits[i].period > claims->rt_period)
            claims->rt_period = limits[i].period;
    }
}

bool rt_limit_compare(struct server *server)
{
    struct claims *claims = &server->claims;
    struct found_limits found = {0};
    uint64_t before = claims->rt_limits;

    claims->rt_period = 0;
    if (!server->host.limits_of)
        return false;
    consider_all(server, 0, "", &found);
    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        if (peer && peer->page && peer->task)
            consider_all(server, peer->who.pid, peer->task->name, &found);
    }
    claims->rt_limits = found.print;
    return found.print && before != found.print;
}
