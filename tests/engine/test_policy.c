/*
 * Policy is resolved once per launch: a plan that comes between a command's resolution and its
 * entry changes nothing for that command.
 */
#include <stdlib.h>

#include "engine/direct.h"
#include "engine/engine_device.h"
#include "engine/runtime.h"
#include "harness.h"
#include "scripted_mark.h"

static struct engine_device device;
static struct command_queue queue;

/* A draft of 0.3 ms, resolved now. */
static struct command draft_now(void)
{
    struct command draft = {
        .queue = &queue, .engine = ENGINE_EXECUTION, .leased = true, .predicted = 300 * NSEC_PER_US};

    command_resolve(&draft);
    return draft;
}

/* A program of a plan with long pieces: 1 ms of work may be in the driver. */
static void begin(void)
{
    ck_assert_int_eq(setenv("BATON_SOCKET", "/nonexistent/baton.sock", 1), 0);
    ck_assert_int_eq(setenv("BATON_TASK", "eye", 1), 0);
    runtime_init(&ops);
    engine_device_init(&device, &ops, "pci:0000:01:00.0", NULL);
    command_queue_init(&queue, &device, true);
    atomic_store(&runtime.plan.piece, NSEC_PER_SEC);
}

START_TEST(a_command_beside_others_enters_by_its_own_plan)
{
    struct command before[3], after;

    begin();
    for (int i = 0; i < 3; i++)
        before[i] = draft_now();
    ck_assert(direct_enter(&before[0], false));
    atomic_store(&runtime.plan.exact, true); /* one command at a time */
    after = draft_now();
    ck_assert(direct_enter(&before[1], false));
    ck_assert(!direct_enter(&after, false));
    atomic_store(&runtime.plan.exact, false);
    atomic_store(&runtime.plan.piece, 700 * NSEC_PER_US); /* two of 0.3 ms, and no third */
    after = draft_now();
    ck_assert(!direct_enter(&after, false));
    ck_assert(direct_enter(&before[2], false));
}
END_TEST

START_TEST(the_ring_has_room_by_the_plan_of_the_command)
{
    static struct mark running = {.status = COMMAND_RUNNING};
    struct command before[2], after;

    begin();
    before[0] = draft_now();
    before[1] = draft_now();
    ck_assert(direct_enter(&before[0], false));
    direct_in_flight(&before[0], &running);
    atomic_store(&runtime.plan.piece, 400 * NSEC_PER_US);
    after = draft_now();
    ck_assert(!direct_enter(&after, false));
    ck_assert(direct_enter(&before[1], false));
    direct_in_flight(&before[1], &running);
}
END_TEST

HARNESS_MAIN("engine-policy", 60, a_command_beside_others_enters_by_its_own_plan,
             the_ring_has_room_by_the_plan_of_the_command)
