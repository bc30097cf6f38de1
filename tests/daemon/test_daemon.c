/* The real batond and real processes: turns, boosts, traces. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "daemon_ask.h"
#include "harness.h"
#include "raw.h"
#include "wire/frame.h"
#include "wire/page.h"

/* ---- scheduling ---- */

START_TEST(an_engine_goes_from_one_process_to_the_other)
{
    struct fixture fixture;
    struct puppet a, b;

    fixture_start(&fixture, PLAIN, NULL);
    a = puppet_start(&fixture, "a", 50, DEVICE);
    b = puppet_start(&fixture, "b", 50, DEVICE);
    puppet_do(&a, PUPPET_BEGIN, 'B');
    puppet_do(&b, PUPPET_FREE, 'N');
    puppet_say(&b, PUPPET_BEGIN);
    puppet_silent(&fixture, &b); /* equal priority: a is not asked to yield */
    puppet_do(&a, PUPPET_YIELD, 'N');
    puppet_do(&a, PUPPET_END, 'E');
    ck_assert_int_eq(puppet_hear(&b, FIXTURE_LIMIT), 'B');
    puppet_do(&b, PUPPET_END, 'E');
    puppet_do(&b, PUPPET_FREE, 'B'); /* kept: no message */
    puppet_do(&b, PUPPET_END, 'E');
    puppet_do(&a, PUPPET_BEGIN, 'B'); /* an idle lease ends */
    puppet_do(&b, PUPPET_FREE, 'N');
    puppet_quit(&a);
    puppet_quit(&b);
    fixture_done(&fixture);
}
END_TEST

START_TEST(the_more_urgent_process_makes_the_other_yield)
{
    struct fixture fixture;
    struct puppet low, high;

    fixture_start(&fixture, PLAIN, NULL);
    low = puppet_start(&fixture, "low", 10, DEVICE);
    high = puppet_start(&fixture, "high", 80, DEVICE);
    puppet_do(&low, PUPPET_BEGIN, 'B');
    puppet_do(&high, PUPPET_ASK, 'A');
    for (char heard = 'N'; heard == 'N';) { /* the daemon sets YIELD soon */
        puppet_say(&low, PUPPET_YIELD);
        heard = puppet_hear(&low, FIXTURE_LIMIT);
        ck_assert_int_ne(heard, 0);
    }
    puppet_do(&high, PUPPET_WAIT, 'W');
    puppet_say(&low, PUPPET_WAIT); /* its next piece is queued behind */
    puppet_silent(&fixture, &low);
    puppet_do(&high, PUPPET_END, 'E');
    ck_assert_int_eq(puppet_hear(&low, FIXTURE_LIMIT), 'W');
    puppet_quit(&low);
    puppet_quit(&high);
    fixture_done(&fixture);
}
END_TEST

START_TEST(equals_are_served_in_the_order_in_which_they_ask)
{
    struct fixture fixture;
    struct puppet first, second;

    fixture_start(&fixture, PLAIN, NULL);
    first = puppet_start(&fixture, "first", 50, DEVICE);
    second = puppet_start(&fixture, "second", 50, DEVICE);
    puppet_do(&first, PUPPET_BEGIN, 'B');
    puppet_do(&second, PUPPET_ASK, 'A');
    puppet_do(&first, PUPPET_END, 'E');
    puppet_do(&second, PUPPET_WAIT, 'W');
    puppet_do(&first, PUPPET_ASK, 'A'); /* connected earlier, asks later: behind */
    puppet_say(&first, PUPPET_WAIT);
    puppet_silent(&fixture, &first);
    puppet_do(&second, PUPPET_YIELD, 'N');
    puppet_do(&second, PUPPET_END, 'E');
    ck_assert_int_eq(puppet_hear(&first, FIXTURE_LIMIT), 'W');
    puppet_quit(&first);
    puppet_quit(&second);
    fixture_done(&fixture);
}
END_TEST

static void count_call(void *user, struct lease *lease)
{
    (void)lease;
    (void)atomic_fetch_add((_Atomic unsigned *)user, 1);
}

static bool was_called(void *argument)
{
    return atomic_load((_Atomic unsigned *)argument) > 0;
}

START_TEST(an_armed_reaper_hears_of_any_waiter_before_and_after)
{
    static _Atomic unsigned calls;
    struct session_listener listener = {.on_yield = count_call, .user = &calls};
    struct settings settings;
    struct fixture fixture;
    struct session *session;
    struct lease *lease;
    struct puppet humble;

    fixture_start(&fixture, PLAIN, NULL);
    settings = fixture_settings(&fixture, "busy", 90);
    ck_assert_int_eq(session_open(&settings, &listener, &session), 0);
    ck_assert_int_eq(lease_open(session, DEVICE, ENGINE_EXECUTION, &lease), 0);
    humble = puppet_start(&fixture, "humble", 1, DEVICE);
    for (unsigned round = 0; round < 2; round++) {
        (void)lease_request(lease);
        (void)lease_wait(lease, NSEC_MAX);
        atomic_store(&calls, 0);
        if (round == 0) /* the waiter comes after */
            lease_arm_reaper(lease, true);
        puppet_do(&humble, PUPPET_ASK, 'A');
        if (round == 1) { /* the waiter was there before */
            while (!lease_wanted(lease))
                sched_yield();
            lease_arm_reaper(lease, true);
        }
        fixture_wait(was_called, &calls, "on_yield is called although the waiter is less urgent");
        ck_assert(!(lease_flags(lease) & LEASE_FLAG_YIELD));
        lease_arm_reaper(lease, false);
        lease_end(lease);
        puppet_do(&humble, PUPPET_WAIT, 'W');
        puppet_do(&humble, PUPPET_END, 'E');
    }
    puppet_quit(&humble);
    session_close(session);
    fixture_done(&fixture);
}
END_TEST

START_TEST(under_fifo_nobody_is_asked_to_yield)
{
    static const char *const extra[] = {"--profile", "fifo", NULL};
    struct fixture fixture;
    struct puppet low, high;

    fixture_start(&fixture, PLAIN, extra);
    low = puppet_start(&fixture, "low", 10, DEVICE);
    high = puppet_start(&fixture, "high", 80, DEVICE);
    puppet_do(&low, PUPPET_BEGIN, 'B');
    puppet_say(&high, PUPPET_BEGIN);
    puppet_silent(&fixture, &high);
    puppet_do(&low, PUPPET_YIELD, 'N');
    puppet_do(&low, PUPPET_END, 'E');
    ck_assert_int_eq(puppet_hear(&high, FIXTURE_LIMIT), 'B');
    puppet_quit(&low);
    puppet_quit(&high);
    fixture_done(&fixture);
}
END_TEST

START_TEST(under_gpusync_a_token_is_kept_until_the_job_ends)
{
    static const char *const extra[] = {"--profile", "gpusync", NULL};
    struct fixture fixture;
    struct puppet a, b;

    fixture_start(&fixture, PLAIN "tokens_per_gpu: 1\n", extra);
    a = puppet_start(&fixture, "a", 50, DEVICE);
    b = puppet_start(&fixture, "b", 60, DEVICE);
    puppet_do(&a, PUPPET_JOB_BEGIN, 'J');
    puppet_do(&a, PUPPET_BEGIN, 'B');
    puppet_do(&a, PUPPET_END, 'E');
    puppet_do(&b, PUPPET_JOB_BEGIN, 'J');
    puppet_say(&b, PUPPET_BEGIN); /* the engine is idle, but the GPU's only token is a's */
    puppet_silent(&fixture, &b);
    puppet_do(&a, PUPPET_BEGIN, 'B'); /* a's job goes on meanwhile */
    puppet_do(&a, PUPPET_END, 'E');
    puppet_silent(&fixture, &b);
    puppet_do(&a, PUPPET_JOB_END, 'K');
    ck_assert_int_eq(puppet_hear(&b, FIXTURE_LIMIT), 'B');
    puppet_kill(&b); /* its token comes back too */
    puppet_do(&a, PUPPET_JOB_BEGIN, 'J');
    puppet_do(&a, PUPPET_BEGIN, 'B');
    puppet_quit(&a);
    fixture_done(&fixture);
}
END_TEST

START_TEST(an_adaptive_client_gives_way_to_shorter_ones)
{
    struct timespec some = {0, 30 * 1000 * 1000};
    struct fixture fixture;
    struct puppet hog, quick;

    fixture_start(&fixture, PLAIN, NULL);
    hog = puppet_start(&fixture, "hog", SETTING_PRIORITY_ADAPTIVE, DEVICE);
    quick = puppet_start(&fixture, "quick", SETTING_PRIORITY_ADAPTIVE, DEVICE);
    puppet_do(&hog, PUPPET_JOB_BEGIN, 'J');
    puppet_do(&hog, PUPPET_BEGIN, 'B');
    nanosleep(&some, NULL); /* uses the engine for 30 ms, which the daemon learns at the end */
    puppet_do(&hog, PUPPET_END, 'E');
    puppet_do(&hog, PUPPET_JOB_END, 'K');
    puppet_do(&hog, PUPPET_JOB_BEGIN, 'J');
    puppet_do(&hog, PUPPET_BEGIN, 'B');
    puppet_do(&quick, PUPPET_JOB_BEGIN, 'J');
    puppet_do(&quick, PUPPET_ASK, 'A');
    for (char heard = 'N'; heard == 'N';) {
        puppet_say(&hog, PUPPET_YIELD);
        heard = puppet_hear(&hog, FIXTURE_LIMIT);
        ck_assert_int_ne(heard, 0);
    }
    puppet_do(&quick, PUPPET_WAIT, 'W');
    puppet_quit(&quick);
    puppet_quit(&hog);
    fixture_done(&fixture);
}
END_TEST

/* ---- many, and limits ---- */

START_TEST(two_hundred_clients_take_turns)
{
    enum { CLIENTS = 200 };
    static struct puppet puppets[CLIENTS];
    struct fixture fixture;

    fixture_start(&fixture, PLAIN, NULL);
    for (unsigned i = 0; i < CLIENTS; i++)
        puppets[i] = puppet_start(&fixture, "many", 1 + (int)(i % 99), i % 2 ? DEVICE : "test:1");
    for (unsigned i = 0; i < CLIENTS; i++)
        puppet_say(&puppets[i], PUPPET_BEGIN);
    /*
     * All of them are served: a client that has begun ends, a waiting one is killed in every tenth
     * case.
     */
    for (unsigned i = 0; i < CLIENTS; i++) {
        bool killed = i % 10 == 9;

        if (killed) {
            puppet_kill(&puppets[i]);
            puppets[i].pid = 0;
        } else {
            puppet_say(&puppets[i], PUPPET_END);
        }
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (!puppets[i].pid)
            continue;
        ck_assert_int_eq(puppet_hear(&puppets[i], FIXTURE_LIMIT), 'B');
        ck_assert_int_eq(puppet_hear(&puppets[i], FIXTURE_LIMIT), 'E');
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (puppets[i].pid)
            puppet_quit(&puppets[i]);
    }
    fixture_done(&fixture);
}
END_TEST

START_TEST(an_idle_daemon_sleeps_without_a_timer)
{
    struct fixture fixture;
    struct puppet a, b;

    fixture_start(&fixture, PLAIN, NULL);
    a = puppet_start(&fixture, "a", 50, DEVICE);
    b = puppet_start(&fixture, "b", 50, DEVICE);
    puppet_do(&a, PUPPET_BEGIN, 'B'); /* one holds, none waits */
    fixture_rests(fixture.daemon);
    ck_assert_int_eq(fixture_timer(fixture.daemon), NSEC_MAX);
    puppet_quit(&a);
    puppet_quit(&b);
    fixture_done(&fixture);
}
END_TEST

/* ---- real-time priority ---- */

static bool is_fifo(void *argument)
{
    return (sched_getscheduler(((struct puppet *)argument)->pid) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
}

static bool is_ordinary(void *argument)
{
    return (sched_getscheduler(((struct puppet *)argument)->pid) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER;
}

START_TEST(a_holder_is_boosted_when_asked_to_yield_and_restored_when_it_has)
{
    struct fixture fixture;
    struct puppet holder, urgent;

    fixture_start(&fixture, "probe: false\nband: [10, 40]\n", NULL);
    holder = puppet_start(&fixture, "holder", 10, DEVICE); /* welcomed: the daemon knows its priority */
    urgent = puppet_start(&fixture, "urgent", 80, DEVICE);
    if ((sched_getscheduler(fixture.daemon) & ~SCHED_RESET_ON_FORK) != SCHED_FIFO) {
        printf("no permission for SCHED_FIFO: the order alone is tested\n");
        puppet_quit(&holder);
        puppet_quit(&urgent);
        fixture_done(&fixture);
        return;
    }
    puppet_do(&holder, PUPPET_REGISTER, 'G');
    for (unsigned round = 0; round < 2; round++) {
        puppet_do(&holder, PUPPET_BEGIN, 'B');
        ck_assert(is_ordinary(&holder));
        puppet_do(&urgent, PUPPET_ASK, 'A');
        fixture_wait(is_fifo, &holder, "the holder is boosted");
        if (round == 0) {
            puppet_do(&holder, PUPPET_END, 'E');
            fixture_wait(is_ordinary, &holder, "the holder is restored");
            puppet_do(&urgent, PUPPET_WAIT, 'W');
            puppet_do(&urgent, PUPPET_END, 'E');
        }
    }
    fixture_kill_daemon(&fixture, SIGTERM); /* every thread is what it was before */
    ck_assert(is_ordinary(&holder));
    puppet_kill(&holder);
    puppet_kill(&urgent);
    fixture_done(&fixture);
}
END_TEST

/* ---- the trace ---- */

START_TEST(what_ran_can_be_traced_also_after_the_program_has_left)
{
    const char *build = getenv("BATON_BUILD");
    struct fixture fixture;
    struct puppet gone, here;
    char command[512];
    char path[96];
    char *text;
    size_t size;

    fixture_start(&fixture, PLAIN, NULL);
    gone = puppet_start(&fixture, "goner", 10, DEVICE);
    here = puppet_start(&fixture, "stayer", 80, DEVICE);
    puppet_do(&gone, PUPPET_JOB_BEGIN, 'J');
    puppet_do(&gone, PUPPET_BEGIN, 'B');
    puppet_do(&gone, PUPPET_RAN, 'R');
    puppet_do(&here, PUPPET_ASK, 'A');
    for (char heard = 'N'; heard == 'N'; heard = puppet_hear(&gone, FIXTURE_LIMIT))
        puppet_say(&gone, PUPPET_YIELD);
    puppet_do(&here, PUPPET_WAIT, 'W');
    puppet_do(&here, PUPPET_RAN, 'R');
    puppet_do(&here, PUPPET_END, 'E');
    puppet_do(&gone, PUPPET_WAIT, 'W');
    puppet_do(&gone, PUPPET_END, 'E');
    puppet_do(&gone, PUPPET_JOB_END, 'K');
    puppet_quit(&gone);
    (void)snprintf(path, sizeof path, "%s/trace.json", fixture.folder);
    (void)snprintf(command, sizeof command, "'%s/baton' trace --socket %s -o %s 2>/dev/null",
                   build ? build : "build", fixture.socket, path);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(file_read(path, 1 << 22, &text, &size), 0);
    ck_assert_ptr_nonnull(strstr(text, "goner"));
    ck_assert_ptr_nonnull(strstr(text, "stayer"));
    ck_assert_ptr_nonnull(strstr(text, "\"cat\":\"running\""));
    ck_assert_ptr_nonnull(strstr(text, "\"cat\":\"queued\""));
    ck_assert_ptr_nonnull(strstr(text, "\"cat\":\"granted\""));
    ck_assert_ptr_nonnull(strstr(text, "\"cat\":\"yield\""));
    ck_assert_ptr_nonnull(strstr(text, "\"cat\":\"job\""));
    free(text);
    puppet_quit(&here);
    fixture_done(&fixture);
}
END_TEST

HARNESS_MAIN("daemon", 60, an_engine_goes_from_one_process_to_the_other,
             the_more_urgent_process_makes_the_other_yield, equals_are_served_in_the_order_in_which_they_ask,
             an_armed_reaper_hears_of_any_waiter_before_and_after, under_fifo_nobody_is_asked_to_yield,
             under_gpusync_a_token_is_kept_until_the_job_ends, an_adaptive_client_gives_way_to_shorter_ones,
             two_hundred_clients_take_turns, an_idle_daemon_sleeps_without_a_timer,
             a_holder_is_boosted_when_asked_to_yield_and_restored_when_it_has,
             what_ran_can_be_traced_also_after_the_program_has_left)
