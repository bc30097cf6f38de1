/* The faults of a world, and the calm after them. */
#include "world_private.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- faults ---- */

static void misfortune(struct world *world)
{
    unsigned who = (unsigned)random_below(&world->random, WORLD_CLIENTS);
    struct actor *actor = &world->actors[who];

    switch (random_below(&world->random, 12)) {
    case 0:
        if (world->server)
            kill_daemon(world);
        break;
    case 1:
    case 2:
    case 3:
    case 4:
        if (actor->alive)
            kill_actor(world, who);
        break;
    case 5:
    case 6: /* the client gives its connection up, without the server knowing */
        if (actor->alive && actor->link.open) {
            world->seen.cuts++;
            client_sees_end(world, who);
        }
        break;
    case 7: /* the server gives it up, without the client knowing */
        if (actor->alive && actor->link.open && !actor->link.server_gone) {
            world->seen.cuts++;
            server_sees_end(world, actor->link.peer);
        }
        break;
    default:
        break;
    }
}

void step(struct world *world)
{
    unsigned who = (unsigned)random_below(&world->random, WORLD_CLIENTS);
    struct actor *actor = &world->actors[who];

    world->step++;
    if (!world->calm && chance(world, 40))
        misfortune(world);
    if (chance(world, 4))
        tick_daemon(world);
    if (chance(world, 4))
        drain_remains(world);
    if (chance(world, 6))
        answer_question(world);
    see_an_end(world);
    if (!actor->alive) {
        if (!world->calm && chance(world, 4))
            start_actor(world, who);
        if (actor->alive && who < 4 && chance(world, 2))
            reserve(world, who);
        return;
    }
    if (actor->link.open && actor->link.server_gone && chance(world, 3)) {
        client_sees_end(world, who);
        return;
    }
    if (!actor->link.open && world->server && chance(world, 3))
        connect_actor(world, who);
    if (actor->link.open) {
        if (world->server)
            carry_up(world, who);
        carry_down(world, who);
    }
    act(world, who);
}

/* ---- the calm after: everything asked for is granted, everything is given back ---- */

/* A command in flight that no client wants ended may stay. */
static bool is_over(const struct work *work)
{
    return work->use == USE_NOTHING || (work->flying && !work->told);
}

static bool busy_anywhere(const struct world *world)
{
    for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
        for (unsigned l = 0; l < WORLD_LEASES; l++) {
            if (world->actors[i].alive && !is_over(&world->actors[i].work[l]))
                return true;
        }
    }
    return false;
}

static void calm_down(struct world *world)
{
    world->calm = true;
    for (unsigned i = 0; i < 60000 && busy_anywhere(world) && !world->failure[0]; i++)
        step(world);
    for (unsigned i = 0; i < WORLD_CLIENTS && !world->failure[0]; i++) {
        const struct actor *actor = &world->actors[i];

        for (unsigned l = 0; l < WORLD_LEASES && actor->alive; l++) {
            world->seen.flights_kept += actor->work[l].flying;
            if (!is_over(&actor->work[l]))
                fail(world,
                     "client %u (slot %u, state %d) never got lease %u asked at step %llu: word %llx, epoch "
                     "%u",
                     i, actor->link.peer, (int)actor->protocol.state, l,
                     (unsigned long long)actor->work[l].asked_at_step,
                     (unsigned long long)atomic_load(actor->protocol.leases[l].word),
                     actor->protocol.leases[l].epoch);
        }
    }
    if (world->failure[0])
        return;
    for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
        if (world->actors[i].alive)
            kill_actor(world, i);
    }
    for (unsigned i = 0; i < 60000 && (!world->server || server_peers(world->server) > 0); i++)
        step(world);
    if (!world->server || server_peers(world->server) > 0)
        fail(world, "a slot was never given back");
    else
        check_tasks(world);
    for (unsigned l = 0; l < WORLD_LEASES && world->server && !world->failure[0]; l++) {
        if (!server_engine_free(world->server, device_of(l), engine_of(l)))
            fail(world, "%s engine %u is still held after everybody has gone", device_of(l), engine_of(l));
    }
}

bool world_run(struct world *world, uint64_t seed, enum sched_profile_id profile, unsigned steps)
{
    bool verbose = world->verbose;

    memset(world, 0, sizeof *world);
    world->verbose = verbose;
    random_init(&world->random, seed, 1);
    world->now_at = NSEC_PER_SEC;
    world->next_pid = 100;
    config_init(&world->config);
    world->config.profile = profile;
    world->config.clients = WORLD_SLOTS;
    world->config.devices = WORLD_DEVICES;
    world->config.settle = SETTLE;
    world->config.admission = (enum admission_mode)random_below(&world->random, 3);
    start_daemon(world, false);
    for (unsigned i = 0; i < WORLD_CLIENTS; i++)
        start_actor(world, i);
    for (unsigned i = 0; i < steps && !world->failure[0]; i++)
        step(world);
    if (!world->failure[0])
        calm_down(world);
    return !world->failure[0];
}

void world_done(struct world *world)
{
    server_free(world->server);
    for (size_t i = 0; i < world->n_pages; i++)
        free(world->pages[i]);
}
