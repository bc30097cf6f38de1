/* The daemon of a world: its tasks, its start and its end. */
#include "world_private.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the daemon ---- */

/*
 * ---- admission: three of the actors are tasks, and the planner answers when and as it likes ----
 */

static void give_tasks(struct world *world)
{
    static const char text[] = "platform: {cpus: 2, gpus: 2}\ntasks:\n"
                               "  - {name: actor0, period_ms: 10, segments: [{kernel_ms: 1}]}\n"
                               "  - {name: actor1, period_ms: 20, segments: [{kernel_ms: 1}]}\n"
                               "  - {name: actor2, period_ms: 30, segments: [{kernel_ms: 1}]}\n";
    struct input_error error;
    struct task_set set;

    if (task_set_read("tasks", text, sizeof text - 1, &set, &error) != 0 ||
        server_set_tasks(world->server, &set, "tasks", world->now_at) != 0)
        abort();
}

void answer_question(struct world *world)
{
    static const char plan[] = "analysis: holistic\nprofile: priority\ntasks:\n"
                               "  - {name: actor0, priority: 30, piece_ms: 0.5, bound_ms: 5}\n"
                               "  - {name: actor1, priority: 20, bound_ms: 6}\n"
                               "  - {name: actor2, priority: 10, bound_ms: 7}\n";
    static const char object[] =
        "{\"analysis\": \"holistic\", \"schedulable\": false, \"tasks\": [{\"name\": "
        "\"actor2\", \"response_ms\": null, \"deadline_ms\": 30.0}]}";
    struct planning planning = {.object = object,
                                .object_size = sizeof object - 1,
                                .plan = plan,
                                .plan_size = sizeof plan - 1,
                                .cost = NSEC_PER_MS};

    if (!world->planning || !world->server)
        return;
    world->planning = false;
    world->seen.plans++;
    switch (world->calm ? 0 : random_below(&world->random, 6)) {
    case 0:
    case 1:
        break;
    case 2:
    case 3:
        planning.status = 1;
        break;
    case 4: /* cut somewhere */
        planning.plan_size = random_below(&world->random, sizeof plan);
        planning.object_size = random_below(&world->random, sizeof object);
        planning.status = (int)random_below(&world->random, 3) - 1;
        break;
    default:
        planning.late = true;
        planning.status = -1;
        break;
    }
    server_planned(world->server, &planning, world->now_at);
}

void reserve(struct world *world, unsigned who)
{
    struct frame hello = {.type = FRAME_HELLO,
                          .hello = {.version = FRAME_VERSION, .flags = HELLO_MONITOR, .name = "baton"}};
    struct frame admit = {.type = FRAME_ADMIT};
    struct credentials credentials = {world->actors[who].pid, 1000, 1000, false};
    uint8_t bytes[FRAME_MAX_SIZE];
    unsigned slot;

    if (!world->server || server_accept(world->server, &credentials, world->now_at, &slot) != 0)
        return;
    world->slots[slot] = (struct slot){true, true, world->actors[who].pid};
    (void)snprintf(admit.admit.task, sizeof admit.admit.task, "actor%u", who);
    (void)server_receive(world->server, slot, bytes, frame_encode(&hello, bytes), world->now_at);
    (void)server_receive(world->server, slot, bytes, frame_encode(&admit, bytes), world->now_at);
    say(world, "client %u reserves its task by slot %u", who, slot);
}

void heed_plan(struct world *world, struct actor *actor)
{
    const struct frame_plan *plan = &actor->protocol.plan;
    struct frame taken = {.type = FRAME_TAKEN, .taken = {.serial = plan->serial}};

    if ((plan->flags & PLAN_EFFORT) && plan->priority)
        fail(world, "best effort with priority %u", plan->priority);
    world->seen.efforts += (plan->flags & PLAN_EFFORT) != 0;
    if (world->calm || !chance(world, 4)) /* some never come to a border */
        protocol_send(&actor->protocol, &taken);
}

void check_tasks(struct world *world)
{
    const struct admission *admission = &world->server->admission;

    for (unsigned i = 0; i < admission->n; i++) {
        if (admission->entries[i].members)
            fail(world, "%s still has %u members", admission->entries[i].name, admission->entries[i].members);
    }
}

void start_daemon(struct world *world, bool settle)
{
    struct server_host host = {.user = world,
                               .page_new = host_page_new,
                               .page_free = host_page_free,
                               .wake = server_wake,
                               .boost = host_boost,
                               .report = host_report,
                               .reload = host_reload,
                               .plan = host_plan};
    struct server_start start = {
        .generation = ++world->generation, .pid = 1, .uid = 1000, .settle = settle, .now_at = world->now_at};

    if (server_new(&world->config, &host, &start, &world->server) != 0)
        abort();
    memset(world->slots, 0, sizeof world->slots);
    world->planning = false;
    give_tasks(world);
    say(world, "daemon %u starts%s", world->generation, settle ? " and settles" : "");
}

void kill_daemon(struct world *world)
{
    say(world, "daemon dies");
    server_free(world->server);
    world->server = NULL;
    world->seen.daemon_kills++;
    world->restart_at = world->now_at + random_between(&world->random, 0, 40) * NSEC_PER_MS;
    for (unsigned i = 0; i < WORLD_CLIENTS; i++)
        world->actors[i].link.server_gone = true;
    memset(world->remains, 0, sizeof world->remains);
    memset(world->slots, 0, sizeof world->slots);
}

void server_sees_end(struct world *world, unsigned slot)
{
    say(world, "the daemon sees the end of slot %u", slot);
    world->slots[slot].unseen = false;
    world->slots[slot].used = server_lost(world->server, slot, world->now_at);
    for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
        struct link *link = &world->actors[i].link;

        if (link->open && !link->server_gone && link->peer == slot)
            link->server_gone = true;
    }
}

void tick_daemon(struct world *world)
{
    unsigned slot;
    bool drop;

    world->now_at += random_between(&world->random, 0, 3) * NSEC_PER_MS / 2;
    if (!world->server) {
        if (world->now_at >= world->restart_at)
            start_daemon(world, true);
        return;
    }
    if (server_next_at(world->server) <= world->now_at)
        server_tick(world->server, world->now_at);
    while (server_next_dirty(world->server, &slot, &drop)) {
        if (drop)
            server_sees_end(world, slot);
    }
    for (unsigned i = 0; i < WORLD_SLOTS; i++) {
        if (world->slots[i].used && !server_has(world->server, i))
            world->slots[i].used = false;
    }
}
