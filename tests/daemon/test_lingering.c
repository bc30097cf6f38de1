/*
 * Holds that linger (client/linger.h) with the real batond: which clients wait for them, and how
 * they end. A hold lingers for less than a millisecond, so the tests say what the program's habit
 * is. Where something else than time is to end a hold, it begins to linger while this thread's
 * clock is a day ahead, and its alarm is a day away.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "client/session_private.h"
#include "fixture.h"
#include "harness.h"

#define SOON   FIXTURE_LIMIT
#define DEVICE "test:0"

static const char config[] = "probe: false\nrealtime: false\ndevices: 1\nbuses: 1\n";

static _Thread_local baton_nsec ahead; /* of this thread's clock */

baton_nsec clock_now(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * NSEC_PER_SEC + now.tv_nsec + ahead;
}

struct program {
    struct fixture fixture;
    struct session *session;
    struct lease *in, *out;
    struct puppet humble; /* less urgent; waits for the bus */
};

static void hold(struct lease *lease)
{
    int answer = lease_try_begin(lease);

    if (answer != LEASE_BEGUN)
        answer = lease_request(lease);
    if (answer != LEASE_BEGUN) {
        ck_assert_int_eq(answer, LEASE_ASK);
        ck_assert_int_eq(lease_wait(lease, clock_now() + SOON), LEASE_BEGUN);
    }
}

static void program_start(struct program *program, const char *const extra[])
{
    struct settings settings;

    fixture_start(&program->fixture, config, extra);
    settings = fixture_settings(&program->fixture, "program", 50);
    ck_assert_int_eq(session_open(&settings, NULL, &program->session), 0);
    ck_assert_int_eq(lease_open(program->session, DEVICE, ENGINE_COPY_IN, &program->in), 0);
    ck_assert_int_eq(lease_open(program->session, DEVICE, ENGINE_COPY_OUT, &program->out), 0);
    program->humble = puppet_start_on(&program->fixture, "humble", 10, DEVICE, ENGINE_COPY_OUT);
    fixture_heard(&program->fixture);
}

static void program_stop(struct program *program)
{
    session_close(program->session);
    fixture_done(&program->fixture);
}

/* What it does after each upload: back after 0.4 ms. */
static void expect_back(struct program *program)
{
    pthread_mutex_lock(&program->session->lock);
    program->in->linger[ENGINE_COPY_IN] = (struct lingering){.away = {400 * NSEC_PER_US, 400 * NSEC_PER_US}};
    pthread_mutex_unlock(&program->session->lock);
}

/* The hold of `in` ends. Does it linger? Then time does not end that. */
static bool ends_and_lingers(struct program *program)
{
    ahead = 24 * 3600 * NSEC_PER_SEC;
    lease_end(program->in);
    ahead = 0;
    return atomic_load(&program->in->lingers);
}

/* An upload ends soon: the humble one waits, and the program is expected back. */
static void upload(struct program *program)
{
    hold(program->in);
    puppet_do(&program->humble, PUPPET_ASK, 'A');
    fixture_heard(&program->fixture);
    ck_assert(lease_wanted(program->in));
    expect_back(program);
}

/* The humble one's turn comes and goes. */
static void humble_turn(struct program *program)
{
    puppet_do(&program->humble, PUPPET_WAIT, 'W');
    puppet_do(&program->humble, PUPPET_END, 'E');
}

static void linger_on(struct program *program)
{
    upload(program);
    ck_assert(ends_and_lingers(program));
}

START_TEST(the_copy_back_finds_the_bus_still_held)
{
    struct program program;

    program_start(&program, NULL);
    linger_on(&program);
    ck_assert_int_eq(lease_try_begin(program.in), LEASE_BEGUN);
    ck_assert_int_eq(puppet_hear(&program.humble, 0), 0);
    /* after a copy out it was never seen to come back soon */
    lease_end_as(program.in, ENGINE_COPY_OUT);
    humble_turn(&program);
    linger_on(&program);
    ck_assert_int_eq(lease_request(program.in), LEASE_BEGUN); /* also where it would wait */
    lease_end(program.in);
    humble_turn(&program);
    puppet_quit(&program.humble);
    program_stop(&program);
}
END_TEST

/* So that what lingering is worth can be measured. */
START_TEST(a_program_that_is_told_so_never_lingers)
{
    struct program program;

    ck_assert_int_eq(setenv("BATON_TEST_NO_LINGER", "1", 1), 0);
    program_start(&program, NULL);
    ck_assert_int_eq(unsetenv("BATON_TEST_NO_LINGER"), 0);
    upload(&program);
    ck_assert(!ends_and_lingers(&program));
    humble_turn(&program);
    puppet_quit(&program.humble);
    program_stop(&program);
}
END_TEST

/* More than any time that passes here could pay for. */
START_TEST(a_program_that_has_lingered_much_works_before_it_lingers_again)
{
    const baton_nsec much = NSEC_MAX / 2;
    struct program program;

    program_start(&program, NULL);
    pthread_mutex_lock(&program.session->lock);
    program.in->linger_credit.spent_of_work = much;
    pthread_mutex_unlock(&program.session->lock);
    upload(&program);
    ck_assert(!ends_and_lingers(&program));
    humble_turn(&program);
    lease_used(program.in, clock_now() - much, clock_now());
    linger_on(&program);
    ck_assert_int_eq(lease_try_begin(program.in), LEASE_BEGUN);
    lease_end_as(program.in, ENGINE_COPY_OUT);
    humble_turn(&program);
    puppet_quit(&program.humble);
    program_stop(&program);
}
END_TEST

START_TEST(who_does_not_come_back_gives_the_bus_away)
{
    struct program program;

    program_start(&program, NULL);
    for (int i = 0; i < 50; i++) {
        upload(&program);
        lease_end(program.in);
        humble_turn(&program); /* time ends it: nothing else happens here */
    }
    puppet_quit(&program.humble);
    program_stop(&program);
}
END_TEST

START_TEST(an_equal_or_better_one_is_not_made_to_wait)
{
    static const int priorities[2] = {50, 90};
    struct program program;

    program_start(&program, NULL);
    for (unsigned i = 0; i < 2; i++) {
        struct puppet other =
            puppet_start_on(&program.fixture, "other", priorities[i], DEVICE, ENGINE_COPY_OUT);

        hold(program.in); /* it waits before the end: no lingering */
        puppet_do(&other, PUPPET_ASK, 'A');
        fixture_heard(&program.fixture);
        expect_back(&program);
        ck_assert(!ends_and_lingers(&program));
        puppet_do(&other, PUPPET_WAIT, 'W');
        puppet_do(&other, PUPPET_END, 'E');
        linger_on(&program); /* it comes meanwhile: the end of it */
        puppet_do(&other, PUPPET_BEGIN, 'B');
        puppet_do(&other, PUPPET_END, 'E');
        humble_turn(&program);
        puppet_quit(&other);
    }
    puppet_quit(&program.humble);
    program_stop(&program);
}
END_TEST

START_TEST(a_batch_of_the_same_program_does_not_wait_for_it)
{
    struct program program;
    struct lease_group group = {0};

    program_start(&program, NULL);
    lease_group_add(&group, program.in);
    linger_on(&program);
    ck_assert_int_eq(lease_group_request(&group), LEASE_ASK);
    humble_turn(&program); /* the bus was free for a moment */
    ck_assert_int_eq(lease_group_wait(&group, clock_now() + SOON), LEASE_BEGUN);
    lease_group_end(&group);
    puppet_quit(&program.humble);
    program_stop(&program);
}
END_TEST

static bool is_online(void *argument)
{
    return session_online(*(struct session **)argument);
}

static bool is_offline(void *argument)
{
    return !is_online(argument);
}

START_TEST(it_does_not_outlive_the_daemon)
{
    struct program program;

    program_start(&program, NULL);
    for (int next = 0; next < 2; next++) {
        linger_on(&program);
        fixture_kill_daemon(&program.fixture, SIGKILL);
        fixture_wait(is_offline, &program.session, "the daemon is missed");
        if (!next) { /* back while there is none */
            hold(program.in);
            lease_end(program.in);
        }
        puppet_kill(&program.humble);
        fixture_restart(&program.fixture, NULL);
        fixture_wait(is_online, &program.session, "the next daemon is found");
        program.humble = puppet_start_on(&program.fixture, "humble", 10, DEVICE, ENGINE_COPY_OUT);
        puppet_do(&program.humble, PUPPET_BEGIN, 'B'); /* though the clock stands still */
        puppet_do(&program.humble, PUPPET_END, 'E');
        hold(program.in);
        lease_end(program.in);
    }
    puppet_quit(&program.humble);
    program_stop(&program);
}
END_TEST

static void never_lingers(const char *const extra[])
{
    struct program program;

    program_start(&program, extra);
    for (int i = 0; i < 20; i++) {
        upload(&program);
        ck_assert(!ends_and_lingers(&program));
        humble_turn(&program);
    }
    puppet_quit(&program.humble);
    program_stop(&program);
}

/* No analysis counts it, and without pieces there is nothing to gain by it. */
START_TEST(no_hold_lingers_where_a_plan_holds_or_nobody_is_preempted)
{
    const char *const whole[] = {"--profile", "priority-whole", NULL};
    char folder[64], path[96];
    const char *const plan[] = {"--plan", path, NULL};
    FILE *file;

    never_lingers(whole);
    harness_folder(folder);
    (void)snprintf(path, sizeof path, "%s/plan.yaml", folder);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    (void)fputs("analysis: holistic\nprofile: priority\ntasks:\n  - {name: eye, priority: 70}\n", file);
    ck_assert_int_eq(fclose(file), 0);
    never_lingers(plan);
}
END_TEST

HARNESS_MAIN("lingering", 60, the_copy_back_finds_the_bus_still_held, a_program_that_is_told_so_never_lingers,
             a_program_that_has_lingered_much_works_before_it_lingers_again,
             who_does_not_come_back_gives_the_bus_away, an_equal_or_better_one_is_not_made_to_wait,
             a_batch_of_the_same_program_does_not_wait_for_it, it_does_not_outlive_the_daemon,
             no_hold_lingers_where_a_plan_holds_or_nobody_is_preempted)
