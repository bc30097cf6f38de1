/* The clients of a world, and the bytes between them and the daemon. */
#include "world_private.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- clients ---- */

void start_actor(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];
    struct protocol_host host = {actor, client_page, client_wake};
    struct frame_hello hello = {.priority = who + 1};
    unsigned index;

    memset(actor, 0, sizeof *actor);
    actor->alive = true;
    actor->pid = world->next_pid++;
    actor->private_page = make_page(world);
    (void)snprintf(hello.name, sizeof hello.name, "actor%u", who);
    protocol_init(&actor->protocol, &hello, actor->private_page, &host);
    for (unsigned l = 0; l < WORLD_LEASES; l++)
        (void)protocol_attach(&actor->protocol, device_of(l), engine_of(l), &index);
}

void connect_actor(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];
    struct link *link = &actor->link;
    struct credentials credentials = {actor->pid, 1000, 1000, false};

    memset(link, 0, sizeof *link);
    link->up.room = 200 + random_below(&world->random, 4000);
    link->down.room = 200 + random_below(&world->random, 4000);
    if (server_accept(world->server, &credentials, world->now_at, &link->peer) != 0) {
        fail(world, "client %u is not accepted", who);
        return;
    }
    link->open = true;
    world->slots[link->peer] = (struct slot){true, true, actor->pid};
    protocol_connected(&actor->protocol);
    say(world, "client %u connects as slot %u", who, link->peer);
}

void kill_actor(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];
    bool known = false;
    unsigned at = 0;

    say(world, "client %u (pid %d) is killed", who, (int)actor->pid);
    world->seen.client_kills++;
    world->seen.group_kills += actor->group != 0;
    for (unsigned i = 0; i < WORLD_SLOTS; i++)
        known |= world->slots[i].used && world->slots[i].pid == actor->pid;
    while (world->remains[at].there)
        at++;
    if (at >= WORLD_REMAINS - 1)
        abort();
    /*
     * What this daemon neither granted nor was told of it cannot respect: no process is left to
     * declare it.
     */
    world->remains[at].there = world->server && known;
    world->remains[at].pid = actor->pid;
    for (unsigned l = 0; l < WORLD_LEASES; l++)
        world->remains[at].running[l] = known && actor->work[l].use == USE_RUNNING &&
                                        actor->work[l].scheduled &&
                                        (actor->work[l].generation == world->generation || heard(actor));
    actor->alive = false;
    actor->link.open = false;
}

void drain_remains(struct world *world)
{
    struct remains *remains = &world->remains[random_below(&world->random, WORLD_REMAINS)];

    if (!remains->there)
        return;
    say(world, "the work of pid %d has drained", (int)remains->pid);
    remains->there = false;
    for (unsigned i = 0; i < WORLD_SLOTS; i++) {
        if (world->slots[i].used && world->slots[i].pid == remains->pid && server_has(world->server, i))
            server_exited(world->server, i, world->now_at);
    }
}

void see_an_end(struct world *world)
{
    unsigned slot = (unsigned)random_below(&world->random, WORLD_SLOTS);

    if (!world->server || !world->slots[slot].used || !world->slots[slot].unseen)
        return;
    for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
        const struct actor *actor = &world->actors[i];

        if (actor->alive && actor->link.open && !actor->link.server_gone && actor->link.peer == slot)
            return;
    }
    server_sees_end(world, slot);
}

void client_sees_end(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];

    say(world, "client %u sees the end of its connection", who);
    actor->link.open = false;
    protocol_lost(&actor->protocol);
}

/* ---- bytes ---- */

void carry_up(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];
    const uint8_t *bytes;
    size_t pending = outbox_pending(&actor->protocol.out, &bytes);
    struct channel *up = &actor->link.up;

    if (pending && chance(world, 2))
        outbox_drop(&actor->protocol.out, channel_put(up, bytes, some(world, pending)));
    if (up->end > up->begin && !actor->link.server_gone && chance(world, 2)) {
        size_t n = some(world, up->end - up->begin);

        (void)server_receive(world->server, actor->link.peer, up->bytes + up->begin, n, world->now_at);
        up->begin += n;
    }
}

void carry_down(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];
    struct channel *down = &actor->link.down;
    const uint8_t *bytes;

    if (!actor->link.server_gone && chance(world, 2)) {
        size_t pending = server_pending(world->server, actor->link.peer, &bytes);

        if (pending)
            server_sent(world->server, actor->link.peer, channel_put(down, bytes, some(world, pending)));
    }
    if (down->end > down->begin && chance(world, 2)) {
        size_t n = some(world, down->end - down->begin);

        if (protocol_receive(&actor->protocol, down->bytes + down->begin, n) < 0)
            fail(world, "client %u rejects what the daemon sent", who);
        down->begin += n;
    }
}
