/*
 * The served half: the server, clients that say by frames what their jobs do, and a machine that
 * runs CPU steps by level. Timers, their ranks at equal instants and the order in which decisions
 * take effect are those of the simulator (sim/sim.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/server.h"
#include "harness.h"
#include "mirror_private.h"
#include "wire/page.h"
#include "mirror_machine.h"

/* ---- the host ---- */

int page_new(void *user, unsigned peer, struct page **ret_page)
{
    struct machine_world *world = user;

    *ret_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    memset(*ret_page, 0, PAGE_SIZE_BYTES);
    world->clients[peer].page = *ret_page;
    return 0;
}

void page_free(void *user, unsigned peer, struct page *page)
{
    ((struct machine_world *)user)->clients[peer].page = NULL;
    free(page);
}

void wake(void *user, lease_word *word)
{
    (void)user, (void)word;
}

void boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    (void)user, (void)pid, (void)threads, (void)n, (void)priority;
}

void report(void *user, const struct server_report *what)
{
    (void)user, (void)what;
}

int machine(void *user, struct machine *ret_machine)
{
    const struct machine_world *world = user;

    *ret_machine = (struct machine){{{0}}, {{0}}, {{0}}};
    for (unsigned i = 0; i < world->model->config.cpus; i++) {
        core_set_add(&ret_machine->online, i);
        core_set_add(&ret_machine->allowed, i);
    }
    return 0;
}

int order(void *user, pid_t pid, const struct core_set *cores, unsigned level)
{
    struct machine_world *world = user;
    struct client *client = &world->clients[pid - FIRST_PID];
    unsigned c = world->model->config.cpu_cluster;

    for (unsigned i = 0; level && i < world->model->config.cpus; i++)
        ck_assert_int_eq(core_set_has(cores, i), i / c == client->model->cpu_cluster);
    client->level = level;
    world->moved = true;
    return 0;
}

void decided(void *user, const struct sched_decision *decision)
{
    struct machine_world *world = user;

    if (world->clients[decision->job].dead && !world->tokens)
        return; /* without tokens the core hears of a death when the last engine has drained */
    mirror_decided(&world->mirror->served, decision, world->now);
    if (decision->action == SCHED_GRANT || decision->action == SCHED_TOKEN ||
        decision->action == SCHED_ENDED) {
        ck_assert_uint_lt(world->n_todo, 4096);
        world->todo[(world->first + world->n_todo++) % 4096] = *decision;
    }
}

/*
 * ---- CPUs: in each cluster the c highest levels run; a job keeps its CPU as long as it runs ----
 */

static bool runnable(const struct machine_world *world, const struct client *client)
{
    return client->ready && (!world->tokens || client->level > 1);
}

static unsigned level_of(const struct machine_world *world, const struct client *client)
{
    return world->tokens ? client->level : client->model->priority;
}

static void stop(struct machine_world *world, size_t id)
{
    struct client *client = &world->clients[id];

    client->left -= world->now - client->running_at;
    timer_disarm(&world->timers, timer_cpu(world->model, id));
    client->cpu = NO_CPU;
}

void settle(struct machine_world *world)
{
    unsigned c = world->model->config.cpu_cluster;
    bool runs[MAX_TASKS] = {false};

    for (unsigned cluster = 0; cluster < world->model->n_clusters; cluster++) {
        for (unsigned place = 0; place < c; place++) {
            size_t best = MAX_TASKS;

            for (size_t i = 0; i < world->n; i++) {
                if (runs[i] || world->clients[i].model->cpu_cluster != cluster ||
                    !runnable(world, &world->clients[i]))
                    continue;
                if (best == MAX_TASKS ||
                    level_of(world, &world->clients[i]) > level_of(world, &world->clients[best]))
                    best = i;
            }
            if (best < MAX_TASKS)
                runs[best] = true;
        }
    }
    for (size_t i = 0; i < world->n; i++) {
        if (world->clients[i].cpu != NO_CPU && !runs[i])
            stop(world, i);
    }
    for (size_t i = 0; i < world->n; i++) {
        struct client *client = &world->clients[i];

        if (client->cpu != NO_CPU || !runs[i])
            continue;
        client->cpu = 0;
        client->running_at = world->now;
        timer_arm(&world->timers, timer_cpu(world->model, i), world->now + client->left);
    }
}

void cpu_leaves(struct machine_world *world, size_t id)
{
    if (!world->clients[id].ready)
        return;
    if (world->clients[id].cpu != NO_CPU)
        stop(world, id);
    world->clients[id].ready = false;
    settle(world);
}

/* ---- talking to the server ---- */

void step_done(struct machine_world *world, size_t id)
{
    world->clients[id].step++;
    begin_step(world, id);
}

static void granted(struct machine_world *world, const struct sched_decision *decision)
{
    struct client *client = &world->clients[decision->job];
    uint64_t word = atomic_load(&client->page->leases[client->lease].word);

    if (lease_word_state(word) != LEASE_STATE_BUSY || lease_word_epoch(word) != client->epoch)
        (void)snprintf(world->mirror->failure, sizeof world->mirror->failure,
                       "seed %llu: a grant that the lease word of t%u does not say",
                       (unsigned long long)world->mirror->seed, decision->job);
    client->holds = true;
    timer_arm(&world->timers, timer_lane(world->model, decision->job, 0),
              world->now + cut_piece(client->cut, client->piece));
}

static void carry_out(struct machine_world *world, const struct sched_decision *decision)
{
    struct client *client = &world->clients[decision->job];

    if (client->dead)
        return;
    if (decision->action == SCHED_GRANT) {
        granted(world, decision);
    } else if (decision->action == SCHED_TOKEN) {
        client->token_gpu = decision->gpu;
        if (client->placed != (int)decision->gpu)
            (void)snprintf(world->mirror->failure, sizeof world->mirror->failure,
                           "seed %llu: t%u was told GPU %d and has a token of %u",
                           (unsigned long long)world->mirror->seed, decision->job, client->placed,
                           decision->gpu);
        step_done(world, decision->job);
    } else {
        client->deferred = client->active = false;
        if (client->next_release_at < world->run->horizon)
            timer_arm(&world->timers, timer_release(world->model, decision->job),
                      client->next_release_at > world->now ? client->next_release_at : world->now);
    }
}

static void hear(struct machine_world *world)
{
    unsigned peer;
    bool drop;

    while (server_next_dirty(world->server, &peer, &drop)) {
        const uint8_t *bytes;
        struct frame frame;
        size_t n = server_pending(world->server, peer, &bytes);
        size_t used;

        ck_assert(!drop);
        for (size_t at = 0; at < n; at += used) {
            ck_assert_int_eq(frame_decode(bytes + at, n - at, &frame, &used), 0);
            if (frame.type == FRAME_PLACED)
                world->clients[peer].placed =
                    frame.placed.leases ? __builtin_ctz(frame.placed.leases) / ENGINE_N : -1;
        }
        server_sent(world->server, peer, n);
    }
}

void react(struct machine_world *world)
{
    hear(world);
    if (world->moved)
        settle(world);
    world->moved = false;
    if (world->busy)
        return;
    world->busy = true;
    while (world->n_todo) {
        struct sched_decision next = world->todo[world->first];

        world->first = (world->first + 1) % 4096;
        world->n_todo--;
        carry_out(world, &next);
    }
    world->busy = false;
    if (world->mirror->has_budgets && server_next_at(world->server) != NSEC_MAX)
        timer_arm(&world->timers, timer_budget(world->model), server_next_at(world->server));
}
