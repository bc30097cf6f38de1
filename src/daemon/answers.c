/*
 * Answers to `baton status` and `baton trace`, one frame per question. All users see the numbers of
 * all clients, as in ps; runs are shown to their own user only.
 */
#include <stdio.h>
#include <string.h>

#include "daemon/observe.h"
#include "daemon/regain.h"
#include "version.h"

static void text(char *ret_text, size_t size, const char *from)
{
    (void)snprintf(ret_text, size, "%s", from);
}

static void about_daemon(struct server *server, struct frame *frame)
{
    struct frame_about_daemon *about = &frame->about_daemon;

    frame->type = FRAME_ABOUT_DAEMON;
    about->pid = (uint32_t)server->start.pid;
    about->generation = server->start.generation;
    about->flags = server->start.about | (server->settle_at != NSEC_MAX ? ABOUT_SETTLING : 0);
    if (!server_has_realtime(server))
        about->flags &= ~ABOUT_AWAKE;
    for (unsigned i = 0; i < server->config.clients; i++)
        about->clients += server->peers[i] && server->peers[i]->page;
    about->devices = server->n_devices;
    about->reloads = server->reloads;
    about->started_at = (uint64_t)server->start.now_at;
    about->now_at = (uint64_t)server->now_at;
    about->grants = server->grants;
    about->yields = server->yields;
    about->leases_ended = server->leases_ended;
    about->drops = server->drops;
    about->late_yields = server->late_yields;
    text(about->version, sizeof about->version, BATON_VERSION);
    text(about->profile, sizeof about->profile, server->profile->name);
    text(about->policy, sizeof about->policy, sched_policies[server->config.policy].name);
    text(about->plan, sizeof about->plan, server->plan_path);
}

static bool about_device(struct server *server, uint32_t index, struct frame *frame)
{
    struct frame_about_device *about = &frame->about_device;
    const struct device *device;

    if (index >= server->n_devices)
        return false;
    device = &server->devices[index];
    frame->type = FRAME_ABOUT_DEVICE;
    about->index = index;
    about->copy_engines = device->copy_engines;
    about->bus = sched_bus_of_gpu(server->core, index);
    about->discovered = device->discovered;
    text(about->name, sizeof about->name, device->name);
    text(about->description, sizeof about->description, device->description);
    return true;
}

/* The core has room for more devices than there are. */
static bool engine_exists(const struct server *server, engine_id engine)
{
    unsigned gpu = sched_engine_gpu(server->core, engine);

    if (gpu != SCHED_NO_GPU)
        return gpu < server->n_devices;
    for (unsigned i = 0; i < server->n_devices; i++) {
        if (sched_bus_engine(server->core, sched_bus_of_gpu(server->core, i)) == engine)
            return true;
    }
    return false;
}

/* How long runs on that engine took, including runs of clients that have left. */
static uint64_t busy_of(const struct server *server, engine_id engine)
{
    uint64_t busy = server->tally.busy_ns[engine];

    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        for (unsigned l = 0; peer && peer->page && l < PAGE_LEASES; l++) {
            if (peer_engine(peer, l) == engine)
                busy += atomic_load_explicit(&peer->page->leases[l].busy_ns, memory_order_relaxed);
        }
    }
    return busy;
}

/* The first engine of a known device, from index on. */
static bool about_engine(struct server *server, uint32_t index, struct frame *frame)
{
    struct frame_about_engine *about = &frame->about_engine;
    unsigned gpu;
    const struct peer *holder;

    while (index < sched_engines(server->core) && !engine_exists(server, index))
        index++;
    if (index >= sched_engines(server->core))
        return false;
    gpu = sched_engine_gpu(server->core, index);
    holder = server->holders[index];
    frame->type = FRAME_ABOUT_ENGINE;
    about->index = index;
    about->device = gpu;
    if (holder) {
        about->holder = holder->client;
        about->holder_state =
            lease_word_state(atomic_load(&holder->page->leases[server->holder_leases[index]].word));
    }
    about->waiting = (uint32_t)sched_core_waiting(server->core, index);
    about->grants = server->engines[index].grants;
    about->yields = server->engines[index].yields;
    about->busy = busy_of(server, index);
    sched_engine_name(server->core, index, about->name, sizeof about->name);
    return true;
}

static void about_leases(const struct server *server, const struct peer *peer,
                         struct frame_about_client *about)
{
    for (unsigned l = 0; l < PAGE_LEASES; l++) {
        uint32_t engine = peer_engine(peer, l);
        unsigned gpu = engine == UINT32_MAX ? SCHED_NO_GPU : sched_engine_gpu(server->core, engine);

        about->waiting += peer->holds[l].state == HOLD_WAITING;
        about->holding += engine != UINT32_MAX &&
                          lease_word_state(atomic_load(&peer->page->leases[l].word)) == LEASE_STATE_BUSY;
        if (gpu != SCHED_NO_GPU && engine == sched_execution_engine(server->core, gpu))
            about->busy += atomic_load_explicit(&peer->page->leases[l].busy_ns, memory_order_relaxed);
    }
}

/* The first client in a slot from index on. */
static bool about_client(struct server *server, uint32_t index, struct frame *frame)
{
    struct frame_about_client *about = &frame->about_client;
    const struct peer *peer = NULL;

    for (; index < server->config.clients; index++) {
        peer = server->peers[index];
        if (peer && peer->page)
            break;
    }
    if (index >= server->config.clients)
        return false;
    frame->type = FRAME_ABOUT_CLIENT;
    about->client = peer->client;
    about->pid = (uint32_t)peer->who.pid;
    about->uid = peer->who.uid;
    about->priority = peer->priority;
    about->asked_priority = peer->hello.priority;
    about->state = peer->state == PEER_DRAINING ? CLIENT_DRAINING : CLIENT_CONNECTED;
    about->next = index + 1;
    about->late_yields = peer->late_yields;
    about->since_at = (uint64_t)peer->since_at;
    about->requests = peer->requests;
    about->grants = peer->grants;
    about->yields = peer->yields;
    about->period = peer->hello.period;
    about->deadline = peer->hello.deadline;
    about_leases(server, peer, about);
    for (unsigned i = 0; i < PAGE_COUNTER_N; i++)
        about->counters[i] = atomic_load(&peer->page->counters[i]);
    memcpy(about->name, peer->hello.name, sizeof about->name);
    return true;
}

static bool about_departed(struct server *server, uint32_t index, struct frame *frame)
{
    uint64_t n =
        server->history.n_departed < HISTORY_DEPARTED ? server->history.n_departed : HISTORY_DEPARTED;
    const struct history_client *client = &server->history.departed[index % HISTORY_DEPARTED];

    if (index >= n)
        return false;
    frame->type = FRAME_ABOUT_CLIENT;
    frame->about_client.client = client->client;
    frame->about_client.pid = (uint32_t)client->pid;
    frame->about_client.uid = client->uid;
    frame->about_client.priority = client->priority;
    frame->about_client.period = client->period;
    frame->about_client.deadline = client->deadline;
    frame->about_client.state = CLIENT_DEPARTED;
    frame->about_client.next = index + 1;
    memcpy(frame->about_client.name, client->name, sizeof client->name);
    return true;
}

static bool about_task(struct server *server, uint32_t index, struct frame *frame)
{
    struct frame_about_task *about = &frame->about_task;
    const struct task_entry *entry = &server->admission.entries[index % ADMISSION_TASKS];
    const struct plan_task *task;
    struct observation seen;

    if (index >= server->admission.n)
        return false;
    claims_refresh(server);
    regain_follow_all(server);
    task = server->has_plan ? plan_find(&server->plan, entry->name) : NULL;
    seen = observe_task(server, entry);
    frame->type = FRAME_ABOUT_TASK;
    about->index = index;
    about->state = admission_present(server, entry) ? entry->decision.verdict : VERDICT_UNKNOWN;
    about->reason = entry->decision.reason;
    about->members = entry->members;
    about->rule = observe_rule(server, entry, &about->who);
    if (task) {
        about->planned = 1;
        about->priority = task->priority;
        about->gpus = task->gpus;
        about->gpu_cluster = task->gpu_cluster;
        about->cpu_cluster = task->cpu_cluster;
        about->bound = task->bound > 0 ? (uint64_t)task->bound : 0;
    }
    if (entry->in_set >= 0)
        about->deadline = server->admission.set.tasks[entry->in_set].no_deadline
                              ? 0
                              : (uint64_t)server->admission.set.tasks[entry->in_set].deadline;
    about->response_max = (uint64_t)seen.response_max;
    about->jobs = seen.jobs;
    about->misses = seen.misses;
    about->exceeded = entry->exceeded;
    about->unclaimed = entry->unclaimed < UINT32_MAX ? (uint32_t)entry->unclaimed : UINT32_MAX;
    about->cause_response = (uint64_t)entry->decision.response;
    about->cause_limit = (uint64_t)entry->decision.limit;
    about->cost = (uint64_t)entry->decision.cost;
    text(about->name, sizeof about->name, entry->name);
    text(about->cause, sizeof about->cause, entry->decision.cause);
    return true;
}

static bool about_difference(struct server *server, uint32_t index, struct frame *frame)
{
    struct frame_about_difference *about = &frame->about_difference;
    const struct difference *difference;

    claims_refresh(server);
    if (index >= server->claims.n)
        return false;
    difference = &server->claims.differences[index];
    frame->type = FRAME_ABOUT_DIFFERENCE;
    about->index = index;
    text(about->field, sizeof about->field, difference->field);
    text(about->task, sizeof about->task, difference->task);
    text(about->planned, sizeof about->planned, difference->planned);
    text(about->found, sizeof about->found, difference->found);
    return true;
}

static void about_admission(struct server *server, struct frame *frame)
{
    struct frame_about_admission *about = &frame->about_admission;
    const struct admission *admission = &server->admission;

    frame->type = FRAME_ABOUT_ADMISSION;
    about->mode = admission->has_set ? server->config.admission : ADMISSION_OFF;
    about->planning = admission->planning;
    for (unsigned i = 0; i < server->config.clients; i++) {
        const struct peer *peer = server->peers[i];

        about->pending += peer && peer->state == PEER_CLIENT && peer->taken != peer->serial;
    }
    about->stale = admission->stale;
    about->plans = admission->plans;
    about->failures = admission->failures;
    about->rejected = admission->rejected;
    about->cost_last = (uint64_t)admission->cost_last;
    about->cost_max = (uint64_t)admission->cost_max;
    about->late = server->late;
    about->conditions = server->has_plan ? server->plan.n_conditions : 0;
    text(about->tasks, sizeof about->tasks, admission->path);
}

static bool sees_all(const struct server *server, const struct peer *peer)
{
    return peer->who.uid == 0 || peer->who.uid == server->start.uid;
}

static bool runs_of_peer(struct server *server, const struct peer *asks, const struct frame_query *query,
                         struct frame *frame)
{
    struct peer *peer = query->index < server->config.clients ? server->peers[query->index] : NULL;
    struct history_engines engines;

    if (!peer || !peer->page || (!sees_all(server, asks) && asks->who.uid != peer->who.uid))
        return false;
    for (unsigned i = 0; i < PAGE_LEASES; i++)
        engines.of_lease[i] = peer_engine(peer, i);
    frame->trace.n = (uint32_t)history_read_page(peer->page, peer->client, &engines, &frame->trace.cursor,
                                                 frame->trace.records, 32, &frame->trace.lost);
    return frame->trace.n > 0;
}

static bool about_notice(struct server *server, const struct peer *asks, const struct frame_query *query,
                         struct frame *frame)
{
    const struct peer *peer = query->index < server->config.clients ? server->peers[query->index] : NULL;
    const struct peer_notice *notice;

    if (!peer || query->cursor >= peer->n_notices ||
        (!sees_all(server, asks) && asks->who.uid != peer->who.uid))
        return false;
    notice = &peer->notices[query->cursor];
    frame->type = FRAME_ABOUT_NOTICE;
    frame->about_notice.client = peer->client;
    frame->about_notice.notice = notice->said.notice;
    frame->about_notice.at = (uint64_t)notice->at;
    memcpy(frame->about_notice.kernel, notice->said.kernel, sizeof frame->about_notice.kernel);
    memcpy(frame->about_notice.detail, notice->said.detail, sizeof frame->about_notice.detail);
    return true;
}

/* The name of a kernel, for users that may see the runs of the kernel. */
static bool about_kernel(struct server *server, const struct peer *asks, const struct frame_query *query,
                         struct frame *frame)
{
    uid_t uid = sees_all(server, asks) ? (uid_t)-1 : asks->who.uid;
    const struct peer *peer = query->index < server->config.clients ? server->peers[query->index] : NULL;
    const struct history_kernel *kept;
    char name[PAGE_KERNEL] = "";

    if (query->what == QUERY_OLD_KERNEL) {
        if (query->cursor == 0 || query->cursor > server->history.n_kernels)
            return false;
        kept = history_kernel(&server->history, uid, query->cursor);
        if (kept)
            memcpy(name, kept->name, sizeof name);
    } else if (!peer || !peer->page || (uid != (uid_t)-1 && uid != peer->who.uid) ||
               query->cursor > PAGE_KERNELS || !page_kernel_name(peer->page, (uint32_t)query->cursor, name)) {
        return false;
    }
    frame->type = FRAME_ABOUT_KERNEL;
    frame->about_kernel.number = (uint32_t)query->cursor;
    text(frame->about_kernel.name, sizeof frame->about_kernel.name, name);
    return true;
}

static bool trace(struct server *server, const struct peer *asks, const struct frame_query *query,
                  struct frame *frame)
{
    uid_t uid = sees_all(server, asks) ? (uid_t)-1 : asks->who.uid;

    frame->type = FRAME_TRACE;
    frame->trace.cursor = query->cursor;
    if (query->what == QUERY_RUNS)
        return runs_of_peer(server, asks, query, frame);
    if (query->what == QUERY_TRACE)
        frame->trace.n = (uint32_t)history_read(&server->history, &frame->trace.cursor, frame->trace.records,
                                                32, &frame->trace.lost);
    else
        frame->trace.n = (uint32_t)history_read_runs(&server->history, uid, &frame->trace.cursor,
                                                     frame->trace.records, 32, &frame->trace.lost);
    return frame->trace.n > 0;
}

void answer_query(struct server *server, struct peer *peer, const struct frame_query *query)
{
    struct frame frame = {0};
    bool found = false;

    switch (query->what) {
    case QUERY_DAEMON:
        about_daemon(server, &frame);
        found = true;
        break;
    case QUERY_DEVICE:
        found = about_device(server, query->index, &frame);
        break;
    case QUERY_ENGINE:
        found = about_engine(server, query->index, &frame);
        break;
    case QUERY_CLIENT:
        found = about_client(server, query->index, &frame);
        break;
    case QUERY_TASK:
        found = about_task(server, query->index, &frame);
        break;
    case QUERY_ADMISSION:
        about_admission(server, &frame);
        found = true;
        break;
    case QUERY_DIFFERENCE:
        found = about_difference(server, query->index, &frame);
        break;
    case QUERY_DEPARTED:
        found = about_departed(server, query->index, &frame);
        break;
    case QUERY_NOTICE:
        found = about_notice(server, peer, query, &frame);
        break;
    case QUERY_KERNEL:
    case QUERY_OLD_KERNEL:
        found = about_kernel(server, peer, query, &frame);
        break;
    case QUERY_TRACE:
    case QUERY_RUNS:
    case QUERY_OLD_RUNS:
        found = trace(server, peer, query, &frame);
        break;
    default:
        break;
    }
    if (!found) {
        memset(&frame, 0, sizeof frame);
        frame.type = FRAME_NOTHING;
        frame.nothing.what = query->what;
    }
    peer_put(server, peer, &frame);
}
