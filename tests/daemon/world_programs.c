/* What the programs of a world do, batches included. */
#include "world_private.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void act(struct world *world, unsigned who)
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
