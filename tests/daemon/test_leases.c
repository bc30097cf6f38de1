/*
 * Leases of one process against the real batond: the two directions of copying, which one lease
 * covers (client/lease.h), and what a holder is told and given while others wait.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "client/session.h"
#include "fixture.h"
#include "harness.h"

#define SOON FIXTURE_LIMIT

static const char config[] = "probe: false\nrealtime: false\ndevices: 1\nbuses: 1\n";

struct program {
    struct fixture fixture;
    struct session *session;
    struct lease *in, *out;
};

static bool is_online(void *argument)
{
    return session_online(*(struct session **)argument);
}

static bool is_offline(void *argument)
{
    return !is_online(argument);
}

/* A process with the leases for copies in both directions. */
static void program_start(struct program *program, const char *const extra[])
{
    struct settings settings;

    memset(program, 0, sizeof *program);
    fixture_start(&program->fixture, config, extra);
    settings = fixture_settings(&program->fixture, "program", 50);
    ck_assert_int_eq(session_open(&settings, NULL, &program->session), 0);
    ck_assert_int_eq(lease_open(program->session, "test:0", ENGINE_COPY_IN, &program->in), 0);
    ck_assert_int_eq(lease_open(program->session, "test:0", ENGINE_COPY_OUT, &program->out), 0);
}

static void program_stop(struct program *program)
{
    session_close(program->session);
    fixture_done(&program->fixture);
}

static void hold(struct lease *lease)
{
    int answer = lease_try_begin(lease);

    if (answer == LEASE_ASK)
        answer = lease_request(lease);
    if (answer == LEASE_ASK)
        answer = lease_wait(lease, clock_now() + SOON);
    ck_assert_int_eq(answer, LEASE_BEGUN);
}

START_TEST(one_lease_covers_both_directions_while_the_daemon_arbitrates_their_bus)
{
    struct program program;

    program_start(&program, NULL);
    ck_assert(lease_on_one_bus(program.out));
    fixture_kill_daemon(&program.fixture, SIGKILL);
    fixture_wait(is_offline, &program.session, "the daemon is missed");
    ck_assert(!lease_on_one_bus(program.out));
    fixture_restart(&program.fixture, NULL);
    fixture_wait(is_online, &program.session, "the next daemon is found");
    ck_assert(lease_on_one_bus(program.out));
    program_stop(&program);
}
END_TEST

START_TEST(each_direction_has_its_lease_where_buses_are_not_arbitrated)
{
    static const char *const gpusync[] = {"--profile", "gpusync", NULL};
    struct program program;

    program_start(&program, gpusync);
    ck_assert(session_online(program.session));
    ck_assert(!lease_on_one_bus(program.out));
    program_stop(&program);
}
END_TEST

/* A command of the batch must find the lease that the batch holds. */
START_TEST(a_batch_that_holds_the_lease_of_one_direction_is_found_there)
{
    struct lease_group group = {0};
    struct program program;

    program_start(&program, NULL);
    lease_group_add(&group, program.out);
    ck_assert_int_eq(lease_group_request(&group), LEASE_ASK);
    ck_assert_int_eq(lease_group_wait(&group, clock_now() + SOON), LEASE_BEGUN);
    ck_assert(!lease_on_one_bus(program.out));
    lease_group_end(&group);
    ck_assert(lease_on_one_bus(program.out));
    program_stop(&program);
}
END_TEST

/* The lease of the other direction is not held, but the bus is. */
START_TEST(a_hold_of_one_direction_gives_way_to_an_urgent_copy_in_the_other)
{
    struct program program;
    struct puppet urgent;

    program_start(&program, NULL);
    hold(program.in);
    urgent = puppet_start_on(&program.fixture, "urgent", 90, "test:0", ENGINE_COPY_OUT);
    puppet_do(&urgent, PUPPET_ASK, 'A');
    while (!(lease_flags(program.in) & LEASE_FLAG_YIELD))
        ;
    ck_assert_int_eq(lease_yield(program.in), LEASE_ASK);
    puppet_do(&urgent, PUPPET_WAIT, 'W');
    ck_assert_int_eq(lease_wait(program.in, clock_now()), LEASE_TIMEOUT);
    puppet_do(&urgent, PUPPET_END, 'E');
    ck_assert_int_eq(lease_wait(program.in, NSEC_MAX), LEASE_BEGUN);
    lease_end(program.in);
    puppet_quit(&urgent);
    program_stop(&program);
}
END_TEST

START_TEST(a_hold_outlives_the_daemon_and_keeps_other_threads_out)
{
    struct program program;

    program_start(&program, NULL);
    hold(program.in);
    fixture_kill_daemon(&program.fixture, SIGKILL);
    fixture_wait(is_offline, &program.session, "the daemon is missed");
    ck_assert_int_eq(lease_try_begin(program.in), LEASE_TAKEN);
    ck_assert_int_eq(lease_request(program.in), LEASE_TAKEN);
    fixture_restart(&program.fixture, NULL);
    fixture_wait(is_online, &program.session, "the next daemon is found");
    ck_assert_int_eq(lease_try_begin(program.in), LEASE_TAKEN);
    ck_assert_int_eq(lease_request(program.in), LEASE_TAKEN);
    lease_end(program.in);
    hold(program.in);
    lease_end(program.in);
    hold(program.out);
    lease_end(program.out);
    program_stop(&program);
}
END_TEST

START_TEST(a_batch_waits_for_a_command_of_its_own_process)
{
    struct lease_group group = {0};
    struct program program;

    program_start(&program, NULL);
    lease_group_add(&group, program.in);
    hold(program.in);
    ck_assert_int_eq(lease_group_request(&group), LEASE_TAKEN);
    ck_assert(lease_wanted(program.in)); /* the command is told */
    fixture_kill_daemon(&program.fixture, SIGKILL);
    fixture_wait(is_offline, &program.session, "the daemon is missed");
    ck_assert_int_eq(lease_group_request(&group), LEASE_TAKEN);
    lease_end(program.in);
    ck_assert_int_eq(lease_group_request(&group), LEASE_BEGUN);
    lease_group_end(&group);
    hold(program.in);
    lease_end(program.in);
    program_stop(&program);
}
END_TEST

/* ---- what a holder hears ---- */

static void count_yields(void *user, struct lease *lease)
{
    (void)lease;
    (void)atomic_fetch_add((atomic_uint *)user, 1);
}

static bool was_counted_twice(void *argument)
{
    return atomic_load((atomic_uint *)argument) >= 2;
}

START_TEST(a_reaper_is_told_once_that_somebody_waits_and_once_that_it_is_urgent)
{
    atomic_uint yields = 0;
    struct session_listener listener = {.on_yield = count_yields, .user = &yields};
    struct fixture fixture;
    struct settings settings;
    struct session *session;
    struct lease *lease;
    struct puppet waiters[3];
    struct puppet urgent;

    fixture_start(&fixture, config, NULL);
    settings = fixture_settings(&fixture, "holder", 80);
    ck_assert_int_eq(session_open(&settings, &listener, &session), 0);
    ck_assert_int_eq(lease_open(session, "test:0", ENGINE_EXECUTION, &lease), 0);
    ck_assert_int_eq(lease_request(lease), LEASE_ASK);
    ck_assert_int_eq(lease_wait(lease, clock_now() + SOON), LEASE_BEGUN);
    lease_arm_reaper(lease, true);
    for (unsigned i = 0; i < 3; i++) {
        waiters[i] = puppet_start(&fixture, "waiter", 10, "test:0");
        puppet_do(&waiters[i], PUPPET_ASK, 'A');
        fixture_heard(&fixture);
    }
    urgent = puppet_start(&fixture, "urgent", 90, "test:0");
    puppet_do(&urgent, PUPPET_ASK, 'A');
    fixture_wait(was_counted_twice, &yields, "both are told");
    fixture_heard(&fixture);
    ck_assert_uint_eq(atomic_load(&yields), 2);
    for (unsigned i = 0; i < 3; i++)
        puppet_kill(&waiters[i]);
    puppet_kill(&urgent);
    session_close(session);
    fixture_done(&fixture);
}
END_TEST

static bool is_fifo(void *unused)
{
    (void)unused;
    return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
}

static bool is_ordinary(void *unused)
{
    return !is_fifo(unused);
}

/* This very thread is the holder's: it opened the session. */
START_TEST(a_holder_stays_boosted_until_the_last_engine_that_somebody_waits_for_is_given_back)
{
    static const char *const devices[2] = {"test:0", "test:1"};
    struct fixture fixture;
    struct settings settings;
    struct session *session;
    struct lease *leases[2];
    struct puppet urgent[2];

    fixture_start(&fixture, "probe: false\nband: [10, 40]\ndevices: 2\n", NULL);
    settings = fixture_settings(&fixture, "holder", 10);
    ck_assert_int_eq(session_open(&settings, NULL, &session), 0);
    if ((sched_getscheduler(fixture.daemon) & ~SCHED_RESET_ON_FORK) != SCHED_FIFO) {
        printf("no permission for SCHED_FIFO: nothing is boosted here\n");
        session_close(session);
        fixture_done(&fixture);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(lease_open(session, devices[i], ENGINE_EXECUTION, &leases[i]), 0);
        ck_assert_int_eq(lease_request(leases[i]), LEASE_ASK);
        ck_assert_int_eq(lease_wait(leases[i], clock_now() + SOON), LEASE_BEGUN);
        urgent[i] = puppet_start(&fixture, "urgent", 80, devices[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        puppet_do(&urgent[i], PUPPET_ASK, 'A');
        fixture_heard(&fixture);
        ck_assert(lease_flags(leases[i]) & LEASE_FLAG_YIELD);
    }
    fixture_wait(is_fifo, NULL, "the holder is boosted");
    lease_end(leases[0]);
    puppet_do(&urgent[0], PUPPET_WAIT, 'W'); /* the daemon knows that it is given back */
    ck_assert(is_fifo(NULL));
    lease_end(leases[1]);
    fixture_wait(is_ordinary, NULL, "the holder is restored");
    for (unsigned i = 0; i < 2; i++)
        puppet_kill(&urgent[i]);
    session_close(session);
    fixture_done(&fixture);
}
END_TEST

static _Thread_local unsigned
    looks; /* of this thread at the clock: a waiter that is awake looks again and again */

baton_nsec clock_now(void)
{
    struct timespec now;

    looks++;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

enum { AWAKE_LOOKS = 50 };

/* Does this thread stay awake while it waits for a moment? */
static bool waits_awake(struct lease *lease)
{
    unsigned before = looks;

    ck_assert_int_eq(lease_wait(lease, clock_now() + NSEC_PER_MS), LEASE_TIMEOUT);
    return looks - before >= AWAKE_LOOKS;
}

static bool has_waited_awake(void *lease)
{
    return waits_awake(lease);
}

START_TEST(a_real_time_waiter_stays_awake_unless_the_engine_needs_a_core)
{
    struct sched_param parameters = {.sched_priority = 1};
    struct program program;
    struct puppet holder;
    cpu_set_t cores;

    program_start(&program, NULL);
    holder = puppet_start_on(&program.fixture, "holder", 90, "test:0", ENGINE_COPY_IN);
    puppet_do(&holder, PUPPET_BEGIN, 'B');
    ck_assert_int_eq(lease_request(program.in), LEASE_ASK);
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) == 0 &&
        sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) > 1) {
        /* The machine may be away for as long as it would be awake. */
        fixture_wait(has_waited_awake, program.in, "a real-time waiter stays awake");
    } else {
        printf("no permission for SCHED_FIFO, or one core: no thread stays awake here\n");
    }
    lease_on_cores(program.in);
    for (unsigned i = 0; i < 10; i++)
        ck_assert(!waits_awake(program.in));
    puppet_do(&holder, PUPPET_END, 'E');
    ck_assert_int_eq(lease_wait(program.in, clock_now() + SOON), LEASE_BEGUN);
    lease_end(program.in);
    puppet_quit(&holder);
    program_stop(&program);
}
END_TEST

HARNESS_MAIN("leases", 30, one_lease_covers_both_directions_while_the_daemon_arbitrates_their_bus,
             each_direction_has_its_lease_where_buses_are_not_arbitrated,
             a_batch_that_holds_the_lease_of_one_direction_is_found_there,
             a_hold_of_one_direction_gives_way_to_an_urgent_copy_in_the_other,
             a_hold_outlives_the_daemon_and_keeps_other_threads_out,
             a_batch_waits_for_a_command_of_its_own_process,
             a_reaper_is_told_once_that_somebody_waits_and_once_that_it_is_urgent,
             a_holder_stays_boosted_until_the_last_engine_that_somebody_waits_for_is_given_back,
             a_real_time_waiter_stays_awake_unless_the_engine_needs_a_core)
