#include "world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lease.h"
#include "daemon/peer.h"

#define SETTLE (60 * NSEC_PER_MS)

static void fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct world *world, const char *format, ...)
{
    va_list arguments;

    if (world->failure[0])
        return;
    va_start(arguments, format);
    (void)vsnprintf(world->failure, sizeof world->failure, format, arguments);
    va_end(arguments);
}

static void say(const struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(const struct world *world, const char *format, ...)
{
    va_list arguments;

    if (!world->verbose)
        return;
    printf("%6llu %8.3f ms  ", (unsigned long long)world->step, nsec_to_ms(world->now_at));
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

static bool chance(struct world *world, unsigned in)
{
    return random_below(&world->random, in) == 0;
}

static const char *device_of(unsigned lease)
{
    return lease / 2 ? "test:1" : "test:0";
}

static unsigned engine_of(unsigned lease)
{
    return lease % 2 ? ENGINE_COPY_IN : ENGINE_EXECUTION;
}

/* With one bus, copies on both devices exclude each other (docs/protocols.md Q4). */
static bool conflict(const struct world *world, unsigned a, unsigned b)
{
    return a == b || (a % 2 && b % 2 && sched_profiles[world->config.profile].buses);
}

/* ---- channels ---- */

static size_t channel_put(struct channel *channel, const uint8_t *bytes, size_t n)
{
    size_t used = channel->end - channel->begin;
    size_t room = channel->room > used ? channel->room - used : 0;

    if (n > room)
        n = room;
    if (LINK_SIZE - channel->end < n) {
        memmove(channel->bytes, channel->bytes + channel->begin, used);
        channel->begin = 0;
        channel->end = used;
    }
    memcpy(channel->bytes + channel->end, bytes, n);
    channel->end += n;
    return n;
}

/* Some of what waits, at least one byte. */
static size_t some(struct world *world, size_t pending)
{
    return chance(world, 3) ? pending : 1 + random_below(&world->random, pending);
}

/* ---- hosts ---- */

static struct page *make_page(struct world *world)
{
    struct page *page = aligned_alloc(64, (sizeof *page + 63) / 64 * 64);

    if (!page || world->n_pages == sizeof world->pages / sizeof world->pages[0])
        abort();
    memset(page, 0, sizeof *page);
    world->pages[world->n_pages++] = page;
    return page;
}

static struct actor *actor_of_peer(struct world *world, unsigned peer)
{
    for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
        struct actor *actor = &world->actors[i];

        if (actor->link.open && !actor->link.server_gone && actor->link.peer == peer)
            return actor;
    }
    return NULL;
}

static int host_page_new(void *user, unsigned peer, struct page **ret_page)
{
    struct world *world = user;
    struct actor *actor = actor_of_peer(world, peer);

    *ret_page = make_page(world);
    if (actor)
        actor->link.page = *ret_page;
    return 0;
}

static void host_page_free(void *user, unsigned peer, struct page *page)
{
    (void)user;
    (void)peer;
    (void)page;
}

static void client_wake(void *user, lease_word *word)
{
    (void)user;
    (void)word;
}

/* Has everything that this client said reached the server? */
static bool heard(const struct actor *actor)
{
    const uint8_t *bytes;

    return actor->alive && actor->link.open && !actor->link.server_gone &&
           actor->protocol.state == PROTOCOL_ONLINE && actor->link.up.begin == actor->link.up.end &&
           outbox_pending(&actor->protocol.out, &bytes) == 0;
}

/*
 * The server grants: not beside work that began while passing through but has been declared since.
 */
static void server_wake(void *user, lease_word *word)
{
    struct world *world = user;

    for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
        const struct actor *other = &world->actors[i];

        for (unsigned l = 0; l < WORLD_LEASES; l++) {
            const struct page *page = other->link.page;
            const struct work *work = &other->work[l];

            if (work->use != USE_RUNNING || work->scheduled || !heard(other) || word == &page->leases[l].word)
                continue;
            world->seen.declared++;
            for (unsigned lease = 0; lease < WORLD_LEASES; lease++) {
                for (unsigned w = 0; w < WORLD_CLIENTS; w++) {
                    if (world->actors[w].link.page &&
                        word == &world->actors[w].link.page->leases[lease].word && conflict(world, l, lease))
                        fail(world, "client %u is granted lease %u beside what client %u declared", w, lease,
                             i);
                }
            }
        }
    }
}

static void host_boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    (void)user;
    (void)pid;
    (void)threads;
    (void)n;
    (void)priority;
}

static void host_report(void *user, const struct server_report *report)
{
    struct world *world = user;

    say(world, "daemon reports %d about slot %u (%llu)", (int)report->kind, report->peer,
        (unsigned long long)report->detail);
    if (report->kind == REPORT_BAD_FRAME || report->kind == REPORT_SLOW)
        fail(world, "an honest client was dropped (report %d)", (int)report->kind);
}

static int host_plan(void *user, const char *file, const char *text, size_t size)
{
    struct world *world = user;

    (void)file;
    (void)text;
    (void)size;
    if (chance(world, 8))
        return -EAGAIN;
    if (world->planning)
        fail(world, "a second question while one is under way");
    world->planning = true;
    return 0;
}

static int host_reload(void *user, char *ret_text, size_t size)
{
    (void)user;
    (void)ret_text;
    (void)size;
    return 0;
}

static struct page *client_page(void *user, size_t size)
{
    (void)size;
    return ((struct actor *)user)->link.page;
}

/* ---- the truth ---- */

/*
 * Somebody starts to run on an engine: nobody else may be there, except who runs without any
 * daemon's knowledge.
 */
static void check_begin(struct world *world, unsigned who, unsigned lease, bool scheduled)
{
    for (unsigned i = 0; i < WORLD_CLIENTS; i++) {
        const struct actor *other = &world->actors[i];

        for (unsigned l = 0; l < WORLD_LEASES; l++) {
            const struct work *work = &other->work[l];

            /* A batch schedules itself: its own copies share the bus. */
            if (i == who && (other->group >> l & other->group >> lease & 1))
                continue;
            if ((i == who && l == lease) || !other->alive || work->use != USE_RUNNING ||
                !conflict(world, l, lease))
                continue;
            if (!scheduled || !work->scheduled)
                world->seen.overlaps_passing++;
            else
                fail(world, "clients %u and %u both run on %s engine %u", who, i, device_of(lease),
                     engine_of(lease));
        }
    }
    for (unsigned i = 0; i < WORLD_REMAINS; i++) {
        for (unsigned l = 0; l < WORLD_LEASES; l++) {
            if (world->remains[i].there && world->remains[i].running[l] && conflict(world, l, lease) &&
                scheduled)
                fail(world, "client %u runs beside the undrained work of pid %d", who,
                     (int)world->remains[i].pid);
        }
    }
}

static void begin(struct world *world, unsigned who, unsigned lease)
{
    struct actor *actor = &world->actors[who];
    struct work *work = &actor->work[lease];
    bool scheduled = actor->protocol.state == PROTOCOL_ONLINE && !actor->protocol.leases[lease].declared;

    check_begin(world, who, lease, scheduled);
    say(world, "client %u begins on lease %u (%s)", who, lease, scheduled ? "scheduled" : "passing through");
    work->use = USE_RUNNING;
    work->scheduled = scheduled;
    work->generation = actor->protocol.generation;
    work->pieces = 1 + (unsigned)random_below(&world->random, 4);
    world->seen.begins++;
    actor->served++;
}

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

static void answer_question(struct world *world)
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

/*
 * `baton run --task` in the actor's process: asks on a connection of its own, which ends when it
 * becomes the program.
 */
static void reserve(struct world *world, unsigned who)
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

static void heed_plan(struct world *world, struct actor *actor)
{
    const struct frame_plan *plan = &actor->protocol.plan;
    struct frame taken = {.type = FRAME_TAKEN, .taken = {.serial = plan->serial}};

    if ((plan->flags & PLAN_EFFORT) && plan->priority)
        fail(world, "best effort with priority %u", plan->priority);
    world->seen.efforts += (plan->flags & PLAN_EFFORT) != 0;
    if (world->calm || !chance(world, 4)) /* some never come to a border */
        protocol_send(&actor->protocol, &taken);
}

/* Everybody has gone: no task has members left. */
static void check_tasks(struct world *world)
{
    const struct admission *admission = &world->server->admission;

    for (unsigned i = 0; i < admission->n; i++) {
        if (admission->entries[i].members)
            fail(world, "%s still has %u members", admission->entries[i].name, admission->entries[i].members);
    }
}

static void start_daemon(struct world *world, bool settle)
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

/*
 * What died before a restart and has not drained cannot be known to the next daemon: no process is
 * left to declare it.
 */
static void kill_daemon(struct world *world)
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

/* The server's end of a connection closes. */
static void server_sees_end(struct world *world, unsigned slot)
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

static void tick_daemon(struct world *world)
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

/* ---- clients ---- */

static void start_actor(struct world *world, unsigned who)
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

static void connect_actor(struct world *world, unsigned who)
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

static void kill_actor(struct world *world, unsigned who)
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

/* The GPU has drained what a killed process left, and the process is gone. */
static void drain_remains(struct world *world)
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

/*
 * Ends of connections that the server has not seen yet: of killed clients, and of those who have
 * reconnected.
 */
static void see_an_end(struct world *world)
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

static void client_sees_end(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];

    say(world, "client %u sees the end of its connection", who);
    actor->link.open = false;
    protocol_lost(&actor->protocol);
}

/* ---- bytes ---- */

static void carry_up(struct world *world, unsigned who)
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

static void carry_down(struct world *world, unsigned who)
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

/* ---- what programs do ---- */

static void want(struct world *world, unsigned who, unsigned lease)
{
    struct actor *actor = &world->actors[who];
    struct work *work = &actor->work[lease];
    uint64_t seen;

    if (world->calm)
        return;
    if (chance(world, 2) && lease_word_begin(actor->protocol.leases[lease].word, &seen)) {
        world->seen.fast_begins++;
        begin(world, who, lease);
        return;
    }
    switch (protocol_request(&actor->protocol, lease)) {
    case LEASE_BEGUN:
        begin(world, who, lease);
        break;
    case LEASE_ASK:
        work->use = USE_ASKED;
        work->asked_at_step = world->step;
        break;
    default:
        fail(world, "client %u cannot ask for lease %u although it neither runs nor asks", who, lease);
    }
}

/*
 * The program does something else while its command runs, and comes back when it is called, or when
 * it likes. As lease_arm_reaper(): the word is looked at after `tell` was set.
 */
static void fly(struct world *world, unsigned who, unsigned lease)
{
    struct actor *actor = &world->actors[who];
    struct work *work = &actor->work[lease];

    work->flying = true;
    world->seen.flights++;
    protocol_tell(&actor->protocol, lease, PAGE_TELL_YIELD, true);
    work->told = atomic_load(actor->protocol.leases[lease].word) & LEASE_FLAGS;
}

static bool lands(struct world *world, unsigned who, unsigned lease)
{
    struct actor *actor = &world->actors[who];
    struct work *work = &actor->work[lease];

    if (!work->told && (world->calm || !chance(world, 40)))
        return false;
    work->flying = false;
    protocol_tell(&actor->protocol, lease, PAGE_TELL_YIELD, false);
    return true;
}

static void run_piece(struct world *world, unsigned who, unsigned lease)
{
    struct actor *actor = &world->actors[who];
    struct work *work = &actor->work[lease];
    lease_word *word = actor->protocol.leases[lease].word;

    if (work->flying && !lands(world, who, lease))
        return;
    if (work->pieces > 1) {
        work->pieces--;
        if (!(atomic_load(word) & LEASE_FLAG_YIELD))
            return;
        world->seen.yields++;
        if (protocol_yield(&actor->protocol, lease) == LEASE_ASK) {
            work->use = USE_ASKED;
            work->asked_at_step = world->step;
        }
        return;
    }
    if (!(atomic_load(word) & (LEASE_FLAG_YIELD | LEASE_FLAG_TURN)) && !world->calm && chance(world, 4)) {
        world->seen.followed++;
        work->pieces = 1 + (unsigned)random_below(&world->random, 3); /* the next command, in the same hold */
        return;
    }
    if (!world->calm && chance(world, 4)) {
        fly(world, who, lease);
        return;
    }
    say(world, "client %u ends on lease %u", who, lease);
    work->use = USE_NOTHING;
    if (!lease_word_keep(word))
        protocol_end(&actor->protocol, lease);
}

/* ---- batches: several leases in one request ---- */

static void want_group(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];
    uint32_t leases = 1 + (uint32_t)random_below(&world->random, (1u << WORLD_LEASES) - 1);
    bool taken = false;
    int answer = protocol_group_request(&actor->protocol, leases);

    for (unsigned l = 0; l < WORLD_LEASES; l++)
        taken |= (leases >> l & 1) && actor->work[l].use != USE_NOTHING;
    if ((answer == LEASE_TAKEN) != taken)
        fail(world, "client %u asks for the group %x and is answered %d", who, leases, answer);
    if (answer == LEASE_TAKEN) {
        for (unsigned l = 0; l < WORLD_LEASES; l++) /* as lease_group_request() calls the reaper */
            actor->work[l].told |= leases >> l & 1;
        return;
    }
    say(world, "client %u asks for the group %x", who, leases);
    actor->group = leases;
    actor->group_runs = false;
    for (unsigned l = 0; l < WORLD_LEASES; l++) {
        if (leases >> l & 1) {
            actor->work[l].use = USE_ASKED;
            actor->work[l].asked_at_step = world->step;
        }
    }
}

static void end_group(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];
    uint32_t kept = protocol_group_end(&actor->protocol, actor->group);

    say(world, "client %u ends the group %x, %x outlive it", who, actor->group, kept);
    for (unsigned l = 0; l < WORLD_LEASES; l++) {
        struct work *work = &actor->work[l];

        if (!(actor->group >> l & 1))
            continue;
        if ((kept >> l & 1) != work->nested)
            fail(world, "client %u: the group's end mistakes who is in lease %u", who, l);
        world->seen.outlived += work->nested;
        work->use = work->nested ? USE_RUNNING : USE_NOTHING;
        work->nested = false;
    }
    actor->group = 0;
}

/* A command that the batch consists of, as an interposed driver would make it known. */
static void run_nested(struct world *world, unsigned who, unsigned lease)
{
    struct actor *actor = &world->actors[who];
    struct work *work = &actor->work[lease];

    if (work->nested) {
        protocol_end(&actor->protocol, lease);
        work->nested = false;
        return;
    }
    if (protocol_request(&actor->protocol, lease) != LEASE_BEGUN)
        fail(world, "client %u waits for lease %u that its own batch holds", who, lease);
    work->nested = true;
    world->seen.nested++;
}

static void act_group(struct world *world, unsigned who, unsigned lease)
{
    struct actor *actor = &world->actors[who];
    unsigned waiting;

    if (!actor->group_runs) {
        if (!protocol_group_granted(&actor->protocol, actor->group, &waiting))
            return;
        actor->group_runs = true;
        actor->group_pieces = 1 + (unsigned)random_below(&world->random, 6);
        world->seen.groups++;
        for (unsigned l = 0; l < WORLD_LEASES; l++) {
            if (actor->group >> l & 1)
                begin(world, who, l);
        }
    } else if (--actor->group_pieces == 0) {
        end_group(world, who);
    } else if (actor->group >> lease & 1) {
        run_nested(world, who, lease);
    }
}

/* Asks which GPU, or says that data was moved. */
static void ask_place(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];
    struct frame frame = {.type = FRAME_PLACE};

    if (chance(world, 4)) {
        frame = (struct frame){.type = FRAME_MOVED,
                               .moved = {.from = (uint32_t)random_below(&world->random, WORLD_LEASES + 1),
                                         .to = (uint32_t)random_below(&world->random, WORLD_LEASES),
                                         .bytes = random_below(&world->random, 1 << 30),
                                         .length = random_below(&world->random, NSEC_PER_SEC)}};
        protocol_send(&actor->protocol, &frame);
        return;
    }
    actor->placing = (struct frame_place){.number = actor->placing.number + 1,
                                          .n = (uint32_t)random_below(&world->random, WORLD_DEVICES + 1),
                                          .leases = (uint32_t)random_below(&world->random, 1 << WORLD_LEASES),
                                          .home = (uint32_t)random_below(&world->random, WORLD_LEASES + 1),
                                          .bytes = random_below(&world->random, 1 << 30),
                                          .work = random_below(&world->random, NSEC_PER_SEC)};
    frame.place = actor->placing;
    protocol_send(&actor->protocol, &frame);
}

/* One of the leases that were named per GPU, as many as were asked for; or none. */
static void check_place(struct world *world, unsigned who)
{
    const struct frame_place *asked = &world->actors[who].placing;
    const struct frame_placed *placed = &world->actors[who].protocol.placed;
    uint32_t devices = 0;

    if (placed->number != asked->number || !placed->leases)
        return;
    world->seen.placed++;
    for (unsigned l = 0; l < WORLD_LEASES; l++) {
        if (placed->leases >> l & 1)
            devices |= UINT32_C(1) << (device_of(l)[5] - '0');
    }
    if ((placed->leases & ~asked->leases) || (unsigned)__builtin_popcount(placed->leases) != asked->n ||
        __builtin_popcount(devices) != (int)asked->n)
        fail(world, "client %u asked for %u of %x and was given %x", who, asked->n, asked->leases,
             placed->leases);
}

static void act(struct world *world, unsigned who)
{
    struct actor *actor = &world->actors[who];
    unsigned lease = (unsigned)random_below(&world->random, WORLD_LEASES);
    struct protocol_event event;

    while (protocol_event(&actor->protocol, &event)) {
        if (event.kind == PROTOCOL_PLACED)
            check_place(world, who);
        if (event.kind == PROTOCOL_PLANNED)
            heed_plan(world, actor);
        if (event.kind == PROTOCOL_YIELD)
            actor->work[event.lease].told = true;
    }
    if (!world->calm && chance(world, 12))
        ask_place(world, who);
    if (!actor->group && !world->calm && chance(world, 8)) {
        want_group(world, who);
        return;
    }
    if (actor->group && (chance(world, 2) || (actor->group >> lease & 1))) {
        act_group(world, who, lease);
        return;
    }
    switch (actor->work[lease].use) {
    case USE_NOTHING:
        want(world, who, lease);
        break;
    case USE_ASKED:
        if (protocol_granted(&actor->protocol, lease))
            begin(world, who, lease);
        break;
    case USE_RUNNING:
        run_piece(world, who, lease);
        break;
    }
    if (actor->protocol.broken)
        fail(world, "client %u's outbox overflowed", who);
}

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

static void step(struct world *world)
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

/* A command in flight that nobody wants ended may stay. */
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
