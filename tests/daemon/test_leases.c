/* Leases of one process against the real batond: the two directions of copying, of which one rides on the other (client/lease.h). */
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "client/session.h"
#include "fixture.h"
#include "harness.h"

#define SOON (2 * NSEC_PER_SEC)

static const char config[] = "probe: false\nrealtime: false\ndevices: 1\nbuses: 1\n";

struct program {
    struct fixture fixture;
    struct session *session;
    struct lease *in, *out;
    struct lease *granted; /* by on_grant */
};

static void on_grant(void *user, struct lease *lease)
{
    struct program *program = user;

    __atomic_store_n(&program->granted, lease, __ATOMIC_SEQ_CST);
}

static bool was_granted(void *argument)
{
    const struct program *program = argument;

    return __atomic_load_n(&program->granted, __ATOMIC_SEQ_CST) != NULL;
}

static bool is_online(void *argument)
{
    return session_online(*(struct session **)argument);
}

static bool is_offline(void *argument)
{
    return !is_online(argument);
}

/* A process that keeps the lease for copies to the device idle, as after its first upload. */
static void program_start(struct program *program)
{
    struct session_listener listener = {.on_grant = on_grant, .user = program};
    struct settings settings;

    memset(program, 0, sizeof *program);
    fixture_start(&program->fixture, config, NULL);
    settings = fixture_settings(&program->fixture, "program", 50);
    ck_assert_int_eq(session_open(&settings, &listener, &program->session), 0);
    ck_assert_int_eq(lease_open(program->session, "test:0", LEASE_COPY_IN, &program->in), 0);
    ck_assert_int_eq(lease_open(program->session, "test:0", LEASE_COPY_OUT, &program->out), 0);
    ck_assert_int_eq(lease_request(program->in, 0), LEASE_ASK);
    ck_assert_int_eq(lease_wait(program->in, clock_now() + SOON), LEASE_BEGUN);
    lease_end(program->in);
}

static void program_stop(struct program *program)
{
    session_close(program->session);
    fixture_done(&program->fixture);
}

/* Nobody holds anything any more: each direction can be had, one after the other. */
static void both_are_free(struct program *program)
{
    struct lease *const both[] = {program->in, program->out, program->in};

    for (unsigned i = 0; i < 3; i++) {
        int answer = lease_try_begin(both[i]);

        if (answer == LEASE_ASK)
            answer = lease_request(both[i], 0);
        if (answer == LEASE_ASK)
            answer = lease_wait(both[i], clock_now() + SOON);
        ck_assert_int_eq(answer, LEASE_BEGUN);
        lease_end(both[i]);
    }
}

START_TEST(a_copy_back_rides_on_the_lease_of_the_upload)
{
    struct program program;

    program_start(&program);
    ck_assert_int_eq(lease_try_begin(program.out), LEASE_BEGUN);
    lease_end(program.out);
    both_are_free(&program);
    program_stop(&program);
}
END_TEST

START_TEST(a_rider_keeps_other_threads_out_of_both_directions)
{
    struct program program;

    program_start(&program);
    ck_assert_int_eq(lease_try_begin(program.out), LEASE_BEGUN);
    ck_assert_int_eq(lease_try_begin(program.in), LEASE_TAKEN);
    ck_assert_int_eq(lease_request(program.in, 0), LEASE_TAKEN);
    ck_assert_int_eq(lease_try_begin(program.out), LEASE_TAKEN);
    ck_assert_int_eq(lease_request(program.out, 0), LEASE_TAKEN);
    lease_end(program.out);
    both_are_free(&program);
    program_stop(&program);
}
END_TEST

START_TEST(a_rider_outlives_the_daemon_and_comes_back_to_the_next)
{
    struct program program;

    program_start(&program);
    ck_assert_int_eq(lease_try_begin(program.out), LEASE_BEGUN);
    fixture_kill_daemon(&program.fixture, SIGKILL);
    fixture_wait(is_offline, &program.session, "the daemon is missed");
    ck_assert_int_eq(lease_try_begin(program.out), LEASE_TAKEN);
    ck_assert_int_eq(lease_request(program.out, 0), LEASE_TAKEN);
    ck_assert_int_eq(lease_try_begin(program.in), LEASE_TAKEN);
    fixture_restart(&program.fixture, NULL);
    fixture_wait(is_online, &program.session, "the next daemon is found");
    ck_assert_int_eq(lease_try_begin(program.out), LEASE_TAKEN);
    lease_end(program.out);
    both_are_free(&program);
    program_stop(&program);
}
END_TEST

START_TEST(a_rider_that_ends_without_a_daemon_leaves_both_directions_free)
{
    struct program program;

    program_start(&program);
    ck_assert_int_eq(lease_try_begin(program.out), LEASE_BEGUN);
    fixture_kill_daemon(&program.fixture, SIGKILL);
    fixture_wait(is_offline, &program.session, "the daemon is missed");
    lease_end(program.out);
    both_are_free(&program);
    program_stop(&program);
}
END_TEST

START_TEST(a_batch_waits_for_the_rider_of_any_of_its_leases)
{
    struct program program;
    struct lease_group group = {0};

    program_start(&program);
    lease_group_add(&group, program.out);
    ck_assert_int_eq(lease_try_begin(program.out), LEASE_BEGUN);
    ck_assert_int_eq(lease_group_request(&group), LEASE_TAKEN);
    ck_assert(lease_wanted(program.out)); /* the rider is told */
    fixture_kill_daemon(&program.fixture, SIGKILL);
    fixture_wait(is_offline, &program.session, "the daemon is missed");
    ck_assert_int_eq(lease_group_request(&group), LEASE_TAKEN);
    lease_end(program.out);
    ck_assert_int_eq(lease_group_request(&group), LEASE_BEGUN);
    lease_group_end(&group);
    both_are_free(&program);
    program_stop(&program);
}
END_TEST

START_TEST(a_rider_that_gave_way_hears_of_its_own_grant)
{
    struct program program;
    struct puppet urgent;

    program_start(&program);
    ck_assert_int_eq(lease_try_begin(program.out), LEASE_BEGUN);
    urgent = puppet_start_on(&program.fixture, "urgent", 90, "test:0", LEASE_COPY_OUT);
    puppet_do(&urgent, PUPPET_ASK, 'A');
    while (!lease_yield_asked(program.out))
        ;
    ck_assert_int_eq(lease_yield(program.out, LEASE_NOTIFY), LEASE_ASK);
    puppet_do(&urgent, PUPPET_WAIT, 'W');
    ck_assert(!was_granted(&program));
    puppet_do(&urgent, PUPPET_END, 'E');
    fixture_wait(was_granted, &program, "granted again");
    ck_assert_ptr_eq(program.granted, program.out);
    lease_end(program.out);
    puppet_quit(&urgent);
    both_are_free(&program);
    program_stop(&program);
}
END_TEST

HARNESS_MAIN("leases", 30, a_copy_back_rides_on_the_lease_of_the_upload,
             a_rider_keeps_other_threads_out_of_both_directions,
             a_rider_outlives_the_daemon_and_comes_back_to_the_next,
             a_rider_that_ends_without_a_daemon_leaves_both_directions_free,
             a_batch_waits_for_the_rider_of_any_of_its_leases, a_rider_that_gave_way_hears_of_its_own_grant)
