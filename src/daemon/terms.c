/*
 * The terms of a client: its place in the plan, or else its priority under the user's ceiling. A
 * change is sent with a number and comes into force when the client takes it, between two jobs.
 * R10: no bound covers a request whose priority changes while it waits. A lower ceiling comes into
 * force at once.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/budgets.h"
#include "daemon/cpus.h"
#include "daemon/regain.h"

#define UNCUT_NS    ((uint64_t)3600 * NSEC_PER_SEC) /* no kernel takes longer ... */
#define UNCUT_BYTES (UINT64_C(1) << 40)             /* ... and no copy is larger */

/* Ceilings limit programs outside the plan: the administrator makes the plan. */
static unsigned clip(const struct server *server, const struct peer *peer, unsigned priority)
{
    struct config_user limits = config_user(&server->config, peer->who.uid, server->start.uid);

    return priority > limits.ceiling ? limits.ceiling : priority;
}

/* Has the analysis, or another user's claim, denied this client its task's place in the plan? */
static bool is_best_effort(const struct server *server, const struct peer *peer)
{
    return peer->foreign ||
           (admission_applies(server, peer->task) && peer->task->decision.verdict != VERDICT_ADMITTED);
}

/*
 * A hold may linger only when no plan is in force, because no analysis accounts for it. A policy
 * that ranks programs by engine time also forbids it: held time must be used time.
 */
static bool may_linger(const struct server *server, bool adaptive)
{
    return server->profile->pieces && !server->has_plan && !adaptive;
}

/*
 * Does the policy choose its rank? Yes if the client asked for that, or has neither a priority nor
 * deadlines.
 */
static bool is_adaptive(const struct server *server, const struct peer *peer)
{
    return (peer->hello.flags & HELLO_ADAPTIVE) ||
           (server->config.policy == POLICY_ADAPTIVE && (peer->hello.flags & HELLO_NICE));
}

/*
 * Under tokens a job runs on the one GPU of its token. The client asks which; if the plan leaves no
 * choice, it asks once. A program outside the plan stays in the cluster of the GPU that it opens.
 */
static void place_by_tokens(const struct server *server, struct frame_plan *plan)
{
    bool fixed;

    if ((plan->flags & PLAN_TASK) && server->config.gpu_cluster == 1 && plan->gpu_cluster < PLATFORM_MAX_GPUS)
        plan->gpu_set = UINT64_C(1) << plan->gpu_cluster;
    fixed = plan->gpu_set && (plan->gpu_set & (plan->gpu_set - 1)) == 0;

    plan->gpus = fixed || server->config.gpu_cluster > 1 ? 1 : 0;
    plan->gpu_set = fixed ? plan->gpu_set : 0;
    /* every piece is a request, so what the plan counts as one piece is not cut */
    if (plan->flags & PLAN_TASK) {
        plan->piece = plan->piece ? plan->piece : UNCUT_NS;
        plan->chunk_in = plan->chunk_in ? plan->chunk_in : UNCUT_BYTES;
        plan->chunk_out = plan->chunk_out ? plan->chunk_out : UNCUT_BYTES;
        plan->flags |= PLAN_EXACT;
    }
    if (server->config.gpu_cluster > 1 && server->config.migration == MIGRATION_SYSTEM)
        plan->flags |= PLAN_SAVES;
    if (server->config.gpu_cluster > 1 && server->config.migration == MIGRATION_P2P)
        plan->flags |= PLAN_PEERS;
    plan->flags |= (plan->flags & PLAN_TASK) && cpus_ordered(server) ? PLAN_CPUS : 0;
}

static struct frame_plan terms_of(const struct server *server, const struct peer *peer)
{
    bool best_effort = is_best_effort(server, peer);
    const struct plan_task *task =
        server->has_plan && !best_effort ? plan_find(&server->plan, peer->hello.name) : NULL;
    bool adaptive = is_adaptive(server, peer) && !task && !best_effort;
    unsigned asked = task ? task->priority : adaptive || best_effort ? 0 : peer->hello.priority;
    struct frame_plan plan = {.priority = task ? asked : clip(server, peer, asked)};

    plan.flags = (server->profile->pieces || server->profile->reserve ? PLAN_SLICING : 0) |
                 (adaptive ? PLAN_ADAPTIVE : 0) | (task ? PLAN_TASK : 0) | (best_effort ? PLAN_EFFORT : 0) |
                 (may_linger(server, adaptive) ? PLAN_LINGER : 0) |
                 (budgets_begin(server, peer, task) ? PLAN_JOBS : 0);
    if (task) {
        plan.gpus = task->gpus;
        plan.gpu_cluster = task->gpu_cluster;
        plan.cpu_cluster = task->cpu_cluster;
        plan.gpu_set = task->placement.kind == PLACEMENT_FIXED ? task->placement.gpus : 0;
        plan.piece = (uint64_t)task->piece;
        plan.chunk_in = (uint64_t)task->chunk_in;
        plan.chunk_out = (uint64_t)task->chunk_out;
        plan.bound = task->bound > 0 ? (uint64_t)task->bound : 0;
    }
    if (server->profile->tokens)
        place_by_tokens(server, &plan);
    return plan;
}

static void come_into_force(struct server *server, struct peer *peer, const struct frame_plan *plan)
{
    bool was_admitted = peer->admitted;
    const struct plan_task *task;

    peer->priority = plan->priority;
    peer->exact = (plan->flags & PLAN_ADAPTIVE) && (peer->hello.flags & HELLO_ADAPTIVE);
    peer->admitted = (plan->flags & PLAN_TASK) != 0;
    task = budgets_task(server, peer);
    peer->no_deadline = task && task->no_deadline;
    peer->best_effort = (plan->flags & PLAN_EFFORT) != 0;
    peer->reports_jobs = peer->welcomed_jobs || (plan->flags & PLAN_JOBS);
    peer->taken = plan->serial;
    peer->strayed = peer->strayed && peer->gpu_set == plan->gpu_set;
    peer->gpu_set = plan->gpu_set;
    cpus_changed(server);
    if (was_admitted != peer->admitted)
        cpus_renew(server, peer);
}

static void send_terms(struct server *server, struct peer *peer, struct frame_plan plan, bool at_border)
{
    struct frame frame = {.type = FRAME_PLAN};

    plan.serial = ++peer->serial;
    peer->terms = plan;
    frame.plan = plan;
    frame.plan.flags |= at_border ? PLAN_BORDER : 0;
    peer_put(server, peer, &frame);
}

void peer_plan(struct server *server, struct peer *peer)
{
    send_terms(server, peer, terms_of(server, peer), false);
    come_into_force(server, peer, &peer->terms);
}

void peer_plan_now(struct server *server, struct peer *peer)
{
    peer_plan(server, peer);
    if (peer->joined)
        arbiter_priority(server, peer, NSEC_MAX);
}

/* The terms as the client sees them. */
static bool same_terms(const struct frame_plan *a, const struct frame_plan *b)
{
    uint8_t bytes[2][FRAME_MAX_SIZE];
    struct frame frame = {.type = FRAME_PLAN, .plan = *a};
    size_t size = frame_encode(&frame, bytes[0]);

    frame.plan = *b;
    frame.plan.serial = a->serial;
    (void)frame_encode(&frame, bytes[1]);
    return memcmp(bytes[0], bytes[1], size) == 0;
}

void peer_plan_again(struct server *server, struct peer *peer)
{
    struct frame_plan plan = terms_of(server, peer);

    if (!same_terms(&plan, &peer->terms))
        send_terms(server, peer, plan, true);
}

void peer_taken(struct server *server, struct peer *peer, uint32_t serial)
{
    if (serial != peer->serial || serial == peer->taken)
        return; /* the client took older terms; the newest are under way */
    come_into_force(server, peer, &peer->terms);
    if (peer->joined)
        arbiter_priority(server, peer, NSEC_MAX);
}

/* ---- plans and limits ---- */

static int copy_plan(const struct plan *plan, struct plan *ret_copy)
{
    struct plan copy = {.n_tasks = plan->n_tasks,
                        .n_conditions = plan->n_conditions,
                        .basis = plan->basis,
                        .sealed = plan->sealed,
                        .changed = plan->changed};
    bool whole;

    arena_init(&copy.arena, 0);
    copy.tasks = arena_calloc(&copy.arena, plan->n_tasks, sizeof *copy.tasks);
    copy.conditions = arena_calloc(&copy.arena, plan->n_conditions, sizeof *copy.conditions);
    copy.profile = arena_strndup(&copy.arena, plan->profile, strlen(plan->profile));
    copy.analysis = arena_strndup(&copy.arena, plan->analysis, strlen(plan->analysis));
    whole = (copy.tasks || !plan->n_tasks) && (copy.conditions || !plan->n_conditions) && copy.profile &&
            copy.analysis;
    for (size_t i = 0; i < plan->n_conditions && whole; i++) {
        copy.conditions[i] = arena_strndup(&copy.arena, plan->conditions[i], strlen(plan->conditions[i]));
        whole = copy.conditions[i] != NULL;
    }
    for (size_t i = 0; i < plan->n_tasks && whole; i++) {
        copy.tasks[i] = plan->tasks[i];
        copy.tasks[i].name = arena_strndup(&copy.arena, plan->tasks[i].name, strlen(plan->tasks[i].name));
        whole = copy.tasks[i].name != NULL;
    }
    if (!whole) {
        arena_done(&copy.arena);
        return -ENOMEM;
    }
    *ret_copy = copy;
    return 0;
}

int server_set_plan(struct server *server, const struct plan *plan, const char *path, baton_nsec now_at)
{
    struct plan copy = {0};

    server->now_at = now_at;
    for (size_t i = 0; plan && i < plan->n_tasks; i++) {
        if (!admission_find(server, plan->tasks[i].name, true))
            return -ENOSPC;
    }
    if (plan && copy_plan(plan, &copy) < 0)
        return -ENOMEM;
    if (server->has_plan)
        plan_done(&server->plan);
    server->plan = copy;
    server->has_plan = server->plan_admits = plan != NULL;
    (void)snprintf(server->plan_path, sizeof server->plan_path, "%s", plan ? path : "");
    for (unsigned i = 0; i < server->admission.n; i++)
        server->admission.entries[i].planned =
            plan ? plan_find(&server->plan, server->admission.entries[i].name) : NULL;
    cpus_changed(server);        /* ranks follow from its periods and points */
    server->claims.none = false; /* bounds of another plan */
    regain_lose(server);
    claims_check(server);
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *peer = server->peers[i];

        if (!peer || peer->state != PEER_CLIENT)
            continue;
        if (!peer->task && !peer->foreign) /* this plan may be the first to name the task */
            admission_hello(server, peer);
        peer_plan_again(server, peer);
    }
    cpus_update(server);
    regain_follow(server);
    return 0;
}

/*
 * The owners of tasks have changed: a client loses its task, or gets one that was another user's.
 */
static void claim_again(struct server *server, struct peer *peer)
{
    bool may = config_may_run(&server->config, peer->who.uid, peer->hello.name);

    if (peer->task && !may) {
        admission_leave(server, peer);
        peer->foreign = true;
    } else if (peer->foreign && may) {
        peer->foreign = false;
        admission_hello(server, peer);
    }
}

void server_set_limits(struct server *server, const struct config *config, baton_nsec now_at)
{
    server->now_at = now_at;
    server->config.others = config->others;
    memcpy(server->config.users, config->users, sizeof server->config.users);
    server->config.n_users = config->n_users;
    memcpy(server->config.claims, config->claims, sizeof server->config.claims);
    server->config.n_claims = config->n_claims;
    server->config.late_yield = config->late_yield;
    server->config.admission = config->admission;
    server->reloads++;
    for (unsigned i = 0; i < server->config.clients; i++) {
        struct peer *peer = server->peers[i];

        if (!peer || peer->state != PEER_CLIENT)
            continue;
        claim_again(server, peer);
        if (!peer->admitted && clip(server, peer, peer->priority) < peer->priority)
            peer_plan_now(server, peer);
        else
            peer_plan_again(server, peer);
    }
    arbiter_tick(server); /* arms the timer for holders that were asked to yield before */
    regain_follow(server);
}
