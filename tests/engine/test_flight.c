/*
 * Commands in flight whose notes are in another order than the commands. Two threads give one
 * in-order queue a command each, and the first thread is slower to note its command.
 */
#include <pthread.h>
#include <stdlib.h>

#include "engine/command_queue.h"
#include "engine/direct.h"
#include "engine/engine_device.h"
#include "engine/runtime.h"
#include "harness.h"
#include "scripted_mark.h"

static struct engine_device device;
static struct command_queue queue;
static struct command draft = {
    .queue = &queue, .engine = ENGINE_EXECUTION, .leased = true, .predicted = 1000};
static struct mark older = {.status = COMMAND_RUNNING}, newer = {.status = COMMAND_QUEUED};

static void begin(void)
{
    ck_assert_int_eq(setenv("BATON_SOCKET", "/nonexistent/baton.sock", 1), 0);
    runtime_init(&ops);
    engine_device_init(&device, &ops, "pci:0000:01:00.0", NULL);
    command_queue_init(&queue, &device, true);
    command_resolve(&draft);
}

static void *note(void *mark)
{
    direct_in_flight(&draft, mark);
    return NULL;
}

static void note_elsewhere(struct mark *mark)
{
    pthread_t other;

    ck_assert_int_eq(pthread_create(&other, NULL, note, mark), 0);
    ck_assert_int_eq(pthread_join(other, NULL), 0);
}

static unsigned in_flight(void)
{
    flight_reap(draft.runs_on, false);
    return draft.runs_on->flight.n;
}

START_TEST(a_command_that_still_runs_keeps_the_engine)
{
    begin();
    ck_assert(direct_enter(&draft, false));
    ck_assert(direct_enter(&draft, false));
    note_elsewhere(&newer);
    note(&older);
    older.status = COMMAND_COMPLETE;
    ck_assert_uint_eq(in_flight(), 2);
    ck_assert(draft.runs_on->held);
    newer.status = COMMAND_COMPLETE;
    ck_assert_uint_eq(in_flight(), 0);
    ck_assert(!draft.runs_on->held);
}
END_TEST

HARNESS_MAIN("engine-flight", 60, a_command_that_still_runs_keeps_the_engine)
