#include "daemon/job_costs.h"

#include "daemon/budgets.h"
#include "daemon/cpus.h"
#include "daemon/regain.h"

/*
 * Two jobs are out of order only if the one that ends first begins last. So there is little to do:
 * no more than one job of a task is pending at a time.
 */
static void sort(baton_nsec begins[], size_t n)
{
    for (size_t i = 1; i < n; i++) {
        baton_nsec begin_at = begins[i];
        size_t at = i;

        while (at > 0 && begins[at - 1] > begin_at) {
            begins[at] = begins[at - 1];
            at--;
        }
        begins[at] = begin_at;
    }
}

baton_nsec job_costs_outside(baton_nsec from_at, baton_nsec until, baton_nsec begins[],
                             const baton_nsec ends[], size_t n, unsigned cpus)
{
    baton_nsec outside = 0;
    baton_nsec at = from_at;
    size_t begun = 0;
    size_t ended = 0;

    sort(begins, n);
    while (at < until) {
        baton_nsec next = until;

        while (begun < n && begins[begun] <= at)
            begun++;
        while (ended < n && ends[ended] <= at)
            ended++;
        if (begun < n && begins[begun] < next)
            next = begins[begun];
        if (ended < n && ends[ended] < next)
            next = ends[ended];
        if (begun - ended < cpus)
            outside += next - at;
        at = next;
    }
    return outside;
}

static bool is_before(const struct job_span *a, const struct job_span *b)
{
    return a->point_at != b->point_at ? a->point_at < b->point_at : a->number < b->number;
}

static bool is_pending(const struct peer *peer)
{
    return peer && peer->admitted && peer->span.to_at == NSEC_MAX;
}

/* Adds the part of the other's span that lies in the job's, up to now, if the other goes first. */
static size_t add(struct job_costs *costs, size_t n, const struct job_span *job, const struct job_span *other,
                  baton_nsec now_at)
{
    baton_nsec begin_at = other->from_at > job->from_at ? other->from_at : job->from_at;
    baton_nsec end_at = other->to_at < now_at ? other->to_at : now_at;

    if (other->cpu_cluster != job->cpu_cluster || begin_at >= end_at || !is_before(other, job))
        return n;
    costs->begins[n] = begin_at;
    costs->ends[n] = end_at;
    return n + 1;
}

baton_nsec job_costs_so_far(struct server *server, const struct peer *peer)
{
    const struct job_span *job = &peer->span;
    struct job_costs *costs = &server->job_costs;
    uint64_t first = costs->n_ended;
    uint64_t oldest = costs->n_ended > JOB_COSTS_KEPT ? costs->n_ended - JOB_COSTS_KEPT : 0;
    size_t n = 0;

    while (first > oldest && costs->ended[(first - 1) % JOB_COSTS_KEPT].to_at > job->from_at)
        first--;
    for (uint64_t i = first; i < costs->n_ended; i++)
        n = add(costs, n, job, &costs->ended[i % JOB_COSTS_KEPT], server->now_at);
    for (unsigned i = 0; i < server->config.clients && i < JOB_COSTS_PENDING; i++) {
        if (is_pending(server->peers[i]))
            n = add(costs, n, job, &server->peers[i]->span, server->now_at);
    }
    return job_costs_outside(job->from_at, server->now_at, costs->begins, costs->ends, n,
                             sched_core_config(server->core)->cpu_cluster);
}

/* Loses the claims if the peer's job, up to now, costs more than the plan has for it. */
static void check(struct server *server, struct peer *peer)
{
    const struct plan_task *task = cpus_ordered(server) ? budgets_task(server, peer) : NULL;
    struct server_report report = {.kind = REPORT_COST, .peer = peer->slot, .name = peer->hello.name};

    if (!task || !task->cost || server->now_at - peer->span.from_at <= task->cost)
        return;
    report.response = job_costs_so_far(server, peer);
    report.limit = task->cost;
    if (report.response <= report.limit)
        return;
    if (!server->claims.none && !peer->costly++)
        server->host.report(server->host.user, &report);
    regain_lose(server);
}

void job_costs_begun(struct server *server, struct peer *peer, baton_nsec point_at)
{
    bool waited = peer->job_ended_at > peer->release_at; /* for the task's last job */

    peer->span = (struct job_span){.from_at = waited ? peer->job_ended_at : peer->release_at,
                                   .to_at = NSEC_MAX,
                                   .point_at = point_at,
                                   .number = server->job_costs.n_begun++,
                                   .cpu_cluster = peer->cpu_cluster};
    check(server, peer);
}

void job_costs_ended(struct server *server, struct peer *peer)
{
    struct job_costs *costs = &server->job_costs;

    check(server, peer);
    peer->span.to_at = peer->job_ended_at = server->now_at;
    if (peer->admitted)
        costs->ended[costs->n_ended++ % JOB_COSTS_KEPT] = peer->span;
}

void job_costs_look(struct server *server)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        if (is_pending(server->peers[i]))
            check(server, server->peers[i]);
    }
}
