/*
 * Copies in both directions of one device, as the engine runs them under the real batond. They run
 * on one engine with one lease while the daemon arbitrates their bus, and on two otherwise.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/fixture.h"
#include "engine/command_queue.h"
#include "engine/direct.h"
#include "engine/engine_device.h"
#include "engine/runtime.h"
#include "harness.h"

#define DEVICE "test:0"

static const char config[] = "probe: false\nrealtime: false\ndevices: 1\nbuses: 1\n";

struct program {
    struct fixture fixture;
    struct engine_device device;
    struct command_queue queue;
};

static const struct driver_ops no_driver;

static void program_start(struct program *program, const char *const extra[])
{
    memset(program, 0, sizeof *program);
    fixture_start(&program->fixture, config, extra);
    ck_assert_int_eq(setenv("BATON_SOCKET", program->fixture.socket, 1), 0);
    ck_assert_int_eq(setenv("BATON_PRIORITY", "50", 1), 0);
    runtime_init(&no_driver);
    engine_device_init(&program->device, &no_driver, DEVICE, NULL);
    command_queue_init(&program->queue, &program->device, true);
    ck_assert_ptr_nonnull(program->device.own[ENGINE_COPY_OUT].lease);
}

static void program_stop(struct program *program)
{
    session_close(runtime_session());
    fixture_done(&program->fixture);
}

static struct command copy(struct program *program, enum engine_kind kind)
{
    struct command draft = {
        .queue = &program->queue, .engine = kind, .leased = true, .bytes = 4096, .predicted = 1000};

    command_resolve(&draft);
    return draft;
}

static bool is_online(void *unused)
{
    (void)unused;
    return session_online(runtime_session());
}

static bool is_offline(void *unused)
{
    return !is_online(unused);
}

START_TEST(a_copy_back_begins_on_the_lease_of_the_upload_without_a_message)
{
    struct program program;
    struct command in, out;

    program_start(&program, NULL);
    in = copy(&program, ENGINE_COPY_IN);
    out = copy(&program, ENGINE_COPY_OUT);
    ck_assert_ptr_eq(out.runs_on, in.runs_on);
    ck_assert(direct_enter(&in, true));
    direct_leave(&in);
    for (int i = 0; i < 1000; i++) { /* a thread that does not block never asks the daemon */
        ck_assert(direct_enter(i % 2 ? &in : &out, false));
        direct_leave(i % 2 ? &in : &out);
    }
    program_stop(&program);
}
END_TEST

START_TEST(copies_in_both_directions_hold_the_bus_against_another_client)
{
    struct program program;
    struct puppet other;
    struct command in, out;

    program_start(&program, NULL);
    in = copy(&program, ENGINE_COPY_IN);
    out = copy(&program, ENGINE_COPY_OUT);
    other = puppet_start_on(&program.fixture, "other", 90, DEVICE, ENGINE_COPY_OUT);
    ck_assert(direct_enter(&in, true));
    ck_assert(direct_enter(&out, false)); /* within the hold of the first */
    puppet_do(&other, PUPPET_ASK, 'A');
    while (!engine_border_asked(in.runs_on))
        ;
    direct_leave(&in);
    fixture_heard(&program.fixture);
    ck_assert_int_eq(puppet_hear(&other, 0), 0);
    ck_assert(!direct_enter(&in, false)); /* no newcomer: the hold is about to end */
    direct_leave(&out);
    puppet_do(&other, PUPPET_WAIT, 'W');
    ck_assert(!direct_enter(&in, false));
    ck_assert(!direct_enter(&out, false));
    puppet_do(&other, PUPPET_END, 'E');
    ck_assert(direct_enter(&out, true));
    direct_leave(&out);
    puppet_quit(&other);
    program_stop(&program);
}
END_TEST

/* A command keeps the engine that it entered, whatever the daemon that comes meanwhile. */
START_TEST(a_copy_that_outlives_its_daemon_leaves_the_engine_that_it_entered)
{
    struct program program;
    struct command before, without, after;

    program_start(&program, NULL);
    before = copy(&program, ENGINE_COPY_OUT);
    ck_assert(direct_enter(&before, true));
    fixture_kill_daemon(&program.fixture, SIGKILL);
    fixture_wait(is_offline, NULL, "the daemon is missed");
    without = copy(&program, ENGINE_COPY_OUT);
    ck_assert_ptr_eq(without.runs_on, &program.device.own[ENGINE_COPY_OUT]);
    ck_assert(direct_enter(&without, false)); /* free, without a daemon */
    fixture_restart(&program.fixture, NULL);
    fixture_wait(is_online, NULL, "the next daemon is found");
    after = copy(&program, ENGINE_COPY_OUT);
    ck_assert_ptr_eq(after.runs_on, before.runs_on);
    direct_leave(&without);
    direct_leave(&before);
    ck_assert(direct_enter(&after, true));
    direct_leave(&after);
    program_stop(&program);
}
END_TEST

START_TEST(each_direction_has_its_own_engine_where_buses_are_not_arbitrated)
{
    static const char *const gpusync[] = {"--profile", "gpusync", NULL};
    struct program program;
    struct command in, out;

    program_start(&program, gpusync);
    in = copy(&program, ENGINE_COPY_IN);
    out = copy(&program, ENGINE_COPY_OUT);
    ck_assert(session_online(runtime_session()));
    ck_assert_ptr_eq(in.runs_on, &program.device.own[ENGINE_COPY_IN]);
    ck_assert_ptr_eq(out.runs_on, &program.device.own[ENGINE_COPY_OUT]);
    program_stop(&program);
}
END_TEST

HARNESS_MAIN("engine-one-bus", 60, a_copy_back_begins_on_the_lease_of_the_upload_without_a_message,
             copies_in_both_directions_hold_the_bus_against_another_client,
             a_copy_that_outlives_its_daemon_leaves_the_engine_that_it_entered,
             each_direction_has_its_own_engine_where_buses_are_not_arbitrated)
