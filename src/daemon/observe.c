#include "daemon/observe.h"

#include <string.h>

#define QUIET NSEC_PER_SEC /* between two reports about one client */

/* ---- what was seen ---- */

static uint64_t counter(const struct peer *peer, enum page_counter which)
{
    return atomic_load_explicit(&peer->page->counters[which], memory_order_relaxed);
}

/* A client writes its own counters: whatever it says concerns its own task only. */
static void add(struct observation *seen, const struct peer *peer)
{
    uint64_t response = counter(peer, PAGE_COUNTER_RESPONSE_MAX_NS);

    if (response > INT64_MAX)
        response = INT64_MAX;
    if ((baton_nsec)response > seen->response_max)
        seen->response_max = (baton_nsec)response;
    seen->jobs += counter(peer, PAGE_COUNTER_JOBS);
    seen->misses += counter(peer, PAGE_COUNTER_MISSES);
}

struct observation observe_task(const struct server *server, const struct task_entry *entry)
{
    struct observation seen = {entry->response_max, entry->jobs, entry->misses};

    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        if (peer && peer->task == entry && peer->page)
            add(&seen, peer);
    }
    return seen;
}

void observe_departed(struct task_entry *entry, const struct peer *peer)
{
    struct observation seen = {entry->response_max, entry->jobs, entry->misses};

    if (!peer->page)
        return;
    add(&seen, peer);
    entry->response_max = seen.response_max;
    entry->jobs = seen.jobs;
    entry->misses = seen.misses;
}

void observe_late(struct server *server, struct peer *peer, const struct frame_late *frame)
{
    struct server_report report = {.kind = REPORT_LATE,
                                   .peer = peer->slot,
                                   .name = peer->hello.name,
                                   .detail = frame->flags,
                                   .response = (baton_nsec)(frame->response & INT64_MAX),
                                   .limit = (baton_nsec)(frame->limit & INT64_MAX)};

    server->late++;
    peer->late++;
    if (frame->flags & LATE_EXCEEDED) {
        if (peer->task)
            peer->task->exceeded++;
        if (report.response <= server->now_at)
            history_add_span(&server->history, server->now_at - report.response, report.response,
                             RECORD_EXCEED, peer->client, frame->number);
    }
    if (server->now_at - peer->late_at < QUIET && peer->late_at)
        return;
    report.count = peer->late - peer->late_reported;
    peer->late_reported = peer->late;
    peer->late_at = server->now_at;
    server->host.report(server->host.user, &report);
}

/* ---- does the machine meet the model? ---- */

/* PoCL's devices are the cores that the programs run on. */
static bool is_this_cpu(const struct device *device)
{
    return strncmp(device->name, "portable-computing-language", 27) == 0 ||
           strncmp(device->name, "pocl", 4) == 0;
}

static enum model_rule machine_rule(const struct server *server, uint32_t *ret_who)
{
    if (!server->plan.profile || strcmp(server->plan.profile, server->profile->name) != 0)
        return RULE_PROFILE;
    if (!(server->start.about & ABOUT_BOOSTS))
        return RULE_REALTIME;
    for (unsigned i = 0; !server->config.partitioned && i < server->n_devices; i++) {
        if (is_this_cpu(&server->devices[i])) {
            *ret_who = i;
            return RULE_PARTITION;
        }
    }
    return server->admission.stale ? RULE_STALE : RULE_MET;
}

static bool ran_whole(const struct peer *peer)
{
    return counter(peer, PAGE_COUNTER_UNSLICED_BINARY) || counter(peer, PAGE_COUNTER_UNSLICED_REWRITE) ||
           counter(peer, PAGE_COUNTER_UNSLICED_WAITS) || counter(peer, PAGE_COUNTER_UNSLICED_OFF) ||
           counter(peer, PAGE_COUNTER_UNSLICED_OTHER);
}

/* Does it run where the plan says? `any` is more than the run time does: a request waits for one GPU. */
static bool is_placed(const struct server *server, const struct peer *peer, const struct plan_task *task)
{
    uint64_t there = server->n_devices < 64 ? (UINT64_C(1) << server->n_devices) - 1 : UINT64_MAX;

    switch (task->placement.kind) {
    case PLACEMENT_FIXED:
        return !peer->strayed && !(task->placement.gpus & ~there) &&
               (unsigned)__builtin_popcountll(task->placement.gpus) == task->gpus;
    case PLACEMENT_ANY:
        return server->n_devices < 2;
    default:
        return true;
    }
}

/* What one client does to the bounds. */
static enum model_rule client_rule(const struct server *server, const struct peer *peer)
{
    const struct plan_task *task =
        peer->task && !peer->best_effort ? plan_find(&server->plan, peer->task->name) : NULL;

    if (peer->taken != peer->serial)
        return RULE_CHANGING;
    if (!task)
        return RULE_OUTSIDER; /* above it interferes, below it blocks: the plan counts neither */
    if (peer->priority != task->priority)
        return RULE_CEILING;
    if (!is_placed(server, peer, task))
        return RULE_PLACEMENT;
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

enum model_rule observe_rule(const struct server *server, const struct task_entry *entry, uint32_t *ret_who)
{
    const struct plan_task *task = server->has_plan ? plan_find(&server->plan, entry->name) : NULL;
    enum model_rule rule;

    *ret_who = 0;
    if (!task || task->bound <= 0)
        return RULE_NO_BOUND;
    rule = machine_rule(server, ret_who);
    for (unsigned i = 0; rule == RULE_MET && i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        if (!peer || !peer->page)
            continue;
        rule = client_rule(server, peer);
        *ret_who = peer->client;
    }
    return rule == RULE_MET ? twice_rule(server, ret_who) : rule;
}
