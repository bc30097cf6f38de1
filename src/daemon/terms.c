/* What holds for a client: its priority under the user's ceiling, and what the plan says about it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/peer.h"

static unsigned clip(const struct server *server, const struct peer *peer, unsigned priority)
{
    struct config_user limits = config_user(&server->config, peer->who.uid, server->start.uid);

    return priority > limits.ceiling ? limits.ceiling : priority;
}

void peer_plan(struct server *server, struct peer *peer)
{
    const struct plan_task *task = server->has_plan ? plan_find(&server->plan, peer->hello.name) : NULL;
    bool adaptive = (peer->hello.flags & HELLO_ADAPTIVE) != 0 && !task;
    unsigned asked = task ? task->priority : adaptive ? 0 : peer->hello.priority;
    struct frame frame = {.type = FRAME_PLAN};

    peer->priority = clip(server, peer, asked);
    peer->exact = adaptive;
    frame.plan.priority = peer->priority;
    frame.plan.flags = (server->profile->pieces || server->profile->reserve ? PLAN_SLICING : 0) |
                       (adaptive ? PLAN_ADAPTIVE : 0) | (peer->priority < asked ? PLAN_CLIPPED : 0);
    if (task) {
        frame.plan.gpus = task->gpus;
        frame.plan.gpu_set = task->placement.kind == PLACEMENT_FIXED ? task->placement.gpus : 0;
        frame.plan.piece = (uint64_t)task->piece;
        frame.plan.chunk_in = (uint64_t)task->chunk_in;
        frame.plan.chunk_out = (uint64_t)task->chunk_out;
    }
    peer_put(server, peer, &frame);
}

void peer_plan_again(struct server *server, struct peer *peer)
{
    peer_plan(server, peer);
    if (peer->joined)
        arbiter_priority(server, peer, NSEC_MAX);
}

int server_set_plan(struct server *server, const struct plan *plan, const char *path, baton_nsec now_at)
{
    struct plan copy = {0};

    server->now_at = now_at;
    if (plan) {
        arena_init(&copy.arena, 0);
        copy.tasks = arena_calloc(&copy.arena, plan->n_tasks, sizeof *copy.tasks);
        if (!copy.tasks && plan->n_tasks) {
            arena_done(&copy.arena);
            return -ENOMEM;
        }
        copy.n_tasks = plan->n_tasks;
        for (size_t i = 0; i < plan->n_tasks; i++) {
            copy.tasks[i] = plan->tasks[i];
            copy.tasks[i].name = arena_strndup(&copy.arena, plan->tasks[i].name, strlen(plan->tasks[i].name));
            if (!copy.tasks[i].name) {
                arena_done(&copy.arena);
                return -ENOMEM;
            }
        }
    }
    if (server->has_plan)
        plan_done(&server->plan);
    server->plan = copy;
    server->has_plan = plan != NULL;
    (void)snprintf(server->plan_path, sizeof server->plan_path, "%s", plan ? path : "");
    for (unsigned i = 0; i < server->config.clients; i++) {
        if (server->peers[i] && server->peers[i]->state == PEER_CLIENT)
            peer_plan_again(server, server->peers[i]);
    }
    return 0;
}

void server_set_limits(struct server *server, const struct config *config, baton_nsec now_at)
{
    server->now_at = now_at;
    server->config.others = config->others;
    memcpy(server->config.users, config->users, sizeof server->config.users);
    server->config.n_users = config->n_users;
    server->config.overdue = config->overdue;
    server->reloads++;
    for (unsigned i = 0; i < server->config.clients; i++) {
        if (server->peers[i] && server->peers[i]->state == PEER_CLIENT)
            peer_plan_again(server, server->peers[i]);
    }
}
