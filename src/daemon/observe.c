#include "daemon/observe.h"

#include <errno.h>

#include "daemon/cpus.h"
#include "daemon/holds.h"
#include "daemon/order.h"
#include "daemon/regain.h"
#include "daemon/releases.h"

#define QUIET NSEC_PER_SEC /* between two reports about one client */
/* a job may end after the clock of this turn was read; a later end is not believed */
#define AHEAD NSEC_PER_SEC

/* ---- observations ---- */

static uint64_t counter(const struct peer *peer, enum page_counter which)
{
    return atomic_load_explicit(&peer->page->counters[which], memory_order_relaxed);
}

/*
 * The numbers come from the program's own statistics, which measure each job once. What a client
 * writes concerns its own task only. Impossible values are cut to possible ones, such as a job
 * longer than the machine's uptime, or more misses than jobs.
 */
static void add(struct observation *seen, const struct peer *peer, baton_nsec now_at)
{
    uint64_t response = counter(peer, PAGE_COUNTER_RESPONSE_MAX_NS);
    uint64_t jobs = counter(peer, PAGE_COUNTER_JOBS);
    uint64_t misses = counter(peer, PAGE_COUNTER_MISSES);

    if (response > (uint64_t)now_at)
        response = (uint64_t)now_at;
    if ((baton_nsec)response > seen->response_max)
        seen->response_max = (baton_nsec)response;
    seen->jobs += jobs;
    seen->misses += misses < jobs ? misses : jobs;
}

struct observation observe_task(const struct server *server, const struct task_entry *entry)
{
    struct observation seen = {entry->response_max, entry->jobs, entry->misses};

    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        if (peer && peer->task == entry && peer->page)
            add(&seen, peer, server->now_at);
    }
    return seen;
}

void observe_departed(struct task_entry *entry, const struct peer *peer, baton_nsec now_at)
{
    struct observation seen = {entry->response_max, entry->jobs, entry->misses};

    if (!peer->page)
        return;
    add(&seen, peer, now_at);
    releases_depart(entry, peer);
    entry->response_max = seen.response_max;
    entry->jobs = seen.jobs;
    entry->misses = seen.misses;
}

/*
 * Why the job's bound was not claimed. A claim that returned after the job's release does not cover
 * the job.
 */
static enum model_rule rule_of_job(const struct server *server, const struct task_entry *entry,
                                   const struct frame_late *frame)
{
    uint32_t who;
    enum model_rule rule = observe_rule(server, entry, &who);

    if (rule == RULE_MET && !regain_covers(entry, (baton_nsec)frame->release_at))
        rule = RULE_IDLE;
    return rule;
}

/*
 * Counts the job for its task, and keeps it for the trace with the rule that was broken then, if
 * any.
 */
static void exceeded(struct server *server, struct peer *peer, const struct frame_late *frame)
{
    enum model_rule rule = RULE_NO_BOUND;

    if (peer->task) {
        claims_refresh(server);  /* the machine may have changed since the last look */
        (void)cpus_look(server); /* a thread that is not ordered may have delayed the job ... */
        releases_look(server);   /* ... and so may work that no bound counts ... */
        job_costs_look(server);  /* ... and a job that takes longer than was counted */
        rule = rule_of_job(server, peer->task, frame);
        peer->task->exceeded++;
        peer->task->unclaimed += rule != RULE_MET;
        /* an assumption is broken that batond does not check; or the job was too long real-time */
        if (rule == RULE_MET || server->claims.rt_period)
            regain_lose(server);
    }
    if (frame->end_at <= (uint64_t)server->now_at + AHEAD)
        history_add_exceeded(&server->history,
                             &(struct trace_record){.at = frame->release_at,
                                                    .length = frame->end_at - frame->release_at,
                                                    .client = peer->client,
                                                    .engine = rule,
                                                    .job = frame->number});
}

int observe_late(struct server *server, struct peer *peer, const struct frame_late *frame)
{
    uint64_t response = frame->end_at - frame->release_at;
    struct server_report report = {.kind = REPORT_LATE,
                                   .peer = peer->slot,
                                   .name = peer->hello.name,
                                   .detail = frame->flags,
                                   .response = (baton_nsec)response,
                                   .limit = (baton_nsec)frame->limit};

    if (!frame->flags || frame->flags & ~(LATE_MISSED | LATE_EXCEEDED) || frame->release_at > frame->end_at ||
        response <= frame->limit || response > INT64_MAX)
        return SERVER_DROP;
    server->late++;
    peer->late++;
    if (frame->flags & LATE_EXCEEDED)
        exceeded(server, peer, frame);
    if (server->now_at - peer->late_at < QUIET && peer->late_at)
        return 0;
    report.count = peer->late - peer->late_reported;
    peer->late_reported = peer->late;
    peer->late_at = server->now_at;
    server->host.report(server->host.user, &report);
    return 0;
}

/* ---- does the machine meet the model? ---- */

static enum model_rule machine_rule(const struct server *server, uint32_t *ret_who)
{
    if (server->claims.n > 0)
        return RULE_BASIS;
    if (!(server->start.about & ABOUT_BOOSTS))
        return RULE_REALTIME;
    for (unsigned i = 0; !server->config.partitioned && i < server->n_devices; i++) {
        if (claims_is_this_cpu(server->devices[i].name)) {
            *ret_who = i;
            return RULE_PARTITION;
        }
    }
    return server->admission.stale ? RULE_STALE : RULE_MET;
}

static bool ran_whole(const struct peer *peer)
{
    static const enum page_counter whole[] = {
        PAGE_COUNTER_UNSLICED_BINARY, PAGE_COUNTER_UNSLICED_REWRITE,   PAGE_COUNTER_UNSLICED_DRIVER,
        PAGE_COUNTER_UNSLICED_WAITS,  PAGE_COUNTER_UNSLICED_CONSTRUCT, PAGE_COUNTER_UNSLICED_FEW,
        PAGE_COUNTER_UNSLICED_SHAPE,  PAGE_COUNTER_UNSLICED_OFF,       PAGE_COUNTER_UNSLICED_OTHER};

    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (counter(peer, whole[i]))
            return true;
    return false;
}

/*
 * A device that is a core works in threads of its programs (PoCL, the CPU device of CUDA). In a
 * partition each program has a thread on the devices' cores for each such device that it uses.
 * Without one, its kernels take the cores of the programs.
 */
static bool has_device_threads(const struct server *server, const struct peer *peer)
{
    uint64_t devices = 0;
    unsigned n;

    for (unsigned i = 0; i < PAGE_LEASES; i++) {
        const struct hold *hold = &peer->holds[i];

        if (hold->state != HOLD_UNUSED && hold->device < server->n_devices &&
            claims_is_this_cpu(server->devices[hold->device].name))
            devices |= UINT64_C(1) << hold->device;
    }
    n = (unsigned)__builtin_popcountll(devices);
    return !server->config.partitioned || n == 0 ||
           (server->host.threads_on &&
            server->host.threads_on(server->host.user, peer->who.pid, &server->config.device_cores) >= n);
}

/* May the thread run on all of these cores; only: and on no others? 0, 1 or -errno. */
static int has_cores(const struct server *server, const struct peer *peer, pid_t tid,
                     const struct core_set *cores, bool only)
{
    struct core_set its;
    struct core_set missing;
    struct core_set more;
    int result =
        server->host.cores_of ? server->host.cores_of(server->host.user, peer->who.pid, tid, &its) : -ENOSYS;

    if (result < 0)
        return result;
    missing = core_set_without(cores, &its);
    more = core_set_without(&its, cores);
    return core_set_count(&missing) == 0 && (!only || core_set_count(&more) == 0);
}

/*
 * May the client's threads run on all cores that the model gives programs, and, in a partition, on
 * no device core? These are its main thread and those that it has named.
 */
static bool has_the_cores(const struct server *server, const struct peer *peer)
{
    struct core_set cores = claims_program_cores(server);
    bool only = (cpus_ordered(server) && cpus_of_cluster(server, peer->cpu_cluster, &cores)) ||
                server->config.partitioned;
    bool has = has_cores(server, peer, peer->who.pid, &cores, only) > 0;

    for (size_t i = 0; has && i < peer->n_threads; i++) {
        int result = has_cores(server, peer, peer->threads[i], &cores, only);

        has = result > 0 || result == -ESRCH; /* it has ended */
    }
    return has && has_device_threads(server, peer);
}

/*
 * Does the client run where the plan assigns it? `any` promises more than the run time does: a
 * request waits for one GPU.
 */
static bool is_placed(const struct server *server, const struct peer *peer, const struct plan_task *task)
{
    uint64_t there = server->n_devices < 64 ? (UINT64_C(1) << server->n_devices) - 1 : UINT64_MAX;

    if (peer->unmanaged || (server->profile->tokens && peer->strayed))
        return false;
    switch (task->placement.kind) {
    case PLACEMENT_FIXED:
        return !peer->strayed && !(task->placement.gpus & ~there) &&
               (unsigned)__builtin_popcountll(task->placement.gpus) == task->gpus;
    case PLACEMENT_ANY:
        return server->n_devices < 2 || server->profile->tokens;
    default:
        return true;
    }
}

/*
 * No analysis counts how long the work of a process that has gone holds an engine. Nor does any
 * count work from before the client's connection, which is not asked to yield.
 */
static bool drains(const struct peer *peer)
{
    bool holds = false;

    for (unsigned i = 0; i < PAGE_LEASES; i++)
        holds = holds || peer->holds[i].state == HOLD_DECLARED ||
                (peer->state == PEER_DRAINING && peer->holds[i].state == HOLD_HELD);
    return holds;
}

static bool yields_late(const struct server *server, const struct peer *peer)
{
    bool late = false;

    for (unsigned i = 0; i < PAGE_LEASES; i++)
        late = late || peer->holds[i].yields_late || holds_outlasts(server, peer, i);
    return late;
}

/*
 * A batch keeps its engines to its end, and is never asked to yield. While it waits, it keeps free
 * engines from less urgent requests. No analysis counts either.
 */
static bool has_batch(const struct peer *peer)
{
    bool has = false;

    for (unsigned i = 0; i < PAGE_LEASES; i++)
        has = has || peer->holds[i].group != 0;
    return has;
}

/* The rule that one client breaks, if any. all: the operating system is asked, too. */
static enum model_rule client_rule(const struct server *server, const struct peer *peer, bool all)
{
    const struct plan_task *task = peer->task && !peer->best_effort ? peer->task->planned : NULL;

    if (peer->taken != peer->serial)
        return RULE_CHANGING;
    /* a client above the task interferes, one below it blocks: the plan counts neither */
    if (!task)
        return RULE_OUTSIDER;
    if (peer->priority != task->priority)
        return RULE_CEILING;
    if (!task->no_deadline && peer->hello.period < (uint64_t)task->period)
        return RULE_PERIOD;
    if (peer->hello.flags & HELLO_OWN)
        return RULE_OWN;
    if (all && !has_the_cores(server, peer))
        return RULE_AFFINITY;
    if (!is_placed(server, peer, task))
        return RULE_PLACEMENT;
    if (server->profile->tokens && peer->inferred)
        return RULE_JOBS;
    if (peer->overruns)
        return RULE_OVERRUN;
    if (peer->excesses || requests_outlast(server, peer))
        return RULE_REQUESTS;
    if (drains(peer))
        return RULE_DRAINING;
    if (yields_late(server, peer))
        return RULE_LATE;
    if (has_batch(peer))
        return RULE_BATCH;
    return task->piece && ran_whole(peer) ? RULE_WHOLE : RULE_MET;
}

static enum model_rule twice_rule(const struct server *server, uint32_t *ret_who)
{
    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        for (unsigned j = 0; peer && peer->task && peer->page && j < i; j++) {
            if (server->peers[j] && server->peers[j]->task == peer->task && server->peers[j]->page) {
                *ret_who = peer->client;
                return RULE_TWICE;
            }
        }
    }
    return RULE_MET;
}

enum model_rule observe_model(const struct server *server, bool all, uint32_t *ret_who)
{
    enum model_rule rule = machine_rule(server, ret_who);

    for (unsigned i = 0; rule == RULE_MET && i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        if (!peer || !peer->page)
            continue;
        rule = client_rule(server, peer, all);
        *ret_who = peer->client;
    }
    if (rule == RULE_MET && unscheduled_runs(server, ret_who))
        rule = RULE_OUTSIDER;
    if (rule == RULE_MET)
        rule = twice_rule(server, ret_who);
    return rule == RULE_MET ? order_rule(server, all, ret_who) : rule;
}

enum model_rule observe_rule(const struct server *server, const struct task_entry *entry, uint32_t *ret_who)
{
    enum model_rule rule;

    *ret_who = 0;
    if (!server->has_plan || !entry->planned || entry->planned->bound <= 0)
        return RULE_NO_BOUND;
    rule = observe_model(server, true, ret_who);
    return rule == RULE_MET && !entry->claimed ? RULE_IDLE : rule;
}
