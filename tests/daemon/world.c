#include "world.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lease.h"
#include "daemon/peer.h"
#include "world_private.h"

void fail(struct world *world, const char *format, ...)
{
    va_list arguments;

    if (world->failure[0])
        return;
    va_start(arguments, format);
    (void)vsnprintf(world->failure, sizeof world->failure, format, arguments);
    va_end(arguments);
}

void say(const struct world *world, const char *format, ...)
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

bool chance(struct world *world, unsigned in)
{
    return random_below(&world->random, in) == 0;
}

const char *device_of(unsigned lease)
{
    return lease / 2 ? "test:1" : "test:0";
}

unsigned engine_of(unsigned lease)
{
    return lease % 2 ? ENGINE_COPY_IN : ENGINE_EXECUTION;
}

/* With one bus, copies on both devices exclude each other (docs/protocols.md Q4). */
static bool conflict(const struct world *world, unsigned a, unsigned b)
{
    return a == b || (a % 2 && b % 2 && sched_profiles[world->config.profile].buses);
}

/* ---- channels ---- */

size_t channel_put(struct channel *channel, const uint8_t *bytes, size_t n)
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

size_t some(struct world *world, size_t pending)
{
    return chance(world, 3) ? pending : 1 + random_below(&world->random, pending);
}

/* ---- hosts ---- */

struct page *make_page(struct world *world)
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

int host_page_new(void *user, unsigned peer, struct page **ret_page)
{
    struct world *world = user;
    struct actor *actor = actor_of_peer(world, peer);

    *ret_page = make_page(world);
    if (actor)
        actor->link.page = *ret_page;
    return 0;
}

void host_page_free(void *user, unsigned peer, struct page *page)
{
    (void)user;
    (void)peer;
    (void)page;
}

void client_wake(void *user, lease_word *word)
{
    (void)user;
    (void)word;
}

bool heard(const struct actor *actor)
{
    const uint8_t *bytes;

    return actor->alive && actor->link.open && !actor->link.server_gone &&
           actor->protocol.state == PROTOCOL_ONLINE && actor->link.up.begin == actor->link.up.end &&
           outbox_pending(&actor->protocol.out, &bytes) == 0;
}

void server_wake(void *user, lease_word *word)
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

void host_boost(void *user, pid_t pid, const pid_t *threads, size_t n, unsigned priority)
{
    (void)user;
    (void)pid;
    (void)threads;
    (void)n;
    (void)priority;
}

void host_report(void *user, const struct server_report *report)
{
    struct world *world = user;

    say(world, "daemon reports %d about slot %u (%llu)", (int)report->kind, report->peer,
        (unsigned long long)report->detail);
    if (report->kind == REPORT_BAD_FRAME || report->kind == REPORT_SLOW)
        fail(world, "an honest client was dropped (report %d)", (int)report->kind);
}

int host_plan(void *user, const char *file, const char *text, size_t size)
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

int host_reload(void *user, char *ret_text, size_t size)
{
    (void)user;
    (void)ret_text;
    (void)size;
    return 0;
}

struct page *client_page(void *user, size_t size)
{
    (void)size;
    return ((struct actor *)user)->link.page;
}

/* ---- the truth ---- */

/*
 * A client starts to run on an engine: no other may be there, except one that runs without any
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

void begin(struct world *world, unsigned who, unsigned lease)
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
