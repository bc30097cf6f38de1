/* The real batond: clients and daemons that die, fork, exec and come back. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "daemon_ask.h"
#include "harness.h"
#include "raw.h"
#include "wire/frame.h"
#include "wire/page.h"

static bool is_offline(void *argument)
{
    return ask_online(argument) == 'F';
}

/* Brings the victim to a step, given as orders; '.' ends. */
static void bring_to(struct puppet *victim, const char *orders)
{
    for (; *orders; orders++) {
        puppet_say(victim, (enum puppet_order) * orders);
        if (*orders == PUPPET_WAIT) /* it sleeps in there */
            return;
        ck_assert_int_ne(puppet_hear(victim, FIXTURE_LIMIT), 0);
    }
}

/*
 * Nothing; asked; held; kept idle; asleep behind a holder; held and asked to yield; yielded and
 * waiting.
 */
static const char *const steps[] = {"", "a", "b", "be", "aw", "b", "b"};
enum { STEP_BEHIND_A_HOLDER = 4, STEP_ASKED_TO_YIELD = 5, STEP_YIELDED = 6, STEPS = 7 };

/*
 * Kills a client at the step; its engine must go to all the others. No timer is set in the daemon,
 * or none that goes off before the test gives up: it must learn of the death as it happens.
 */
static void kill_at_step(const struct fixture *fixture, int step)
{
    struct puppet victim = puppet_start(fixture, "victim", 20, DEVICE);
    struct puppet rival = puppet_start(fixture, "rival", 60, DEVICE);
    struct puppet next = puppet_start(fixture, "next", 40, DEVICE);

    if (step == STEP_BEHIND_A_HOLDER)
        puppet_do(&rival, PUPPET_BEGIN, 'B');
    bring_to(&victim, steps[step]);
    if (step >= STEP_ASKED_TO_YIELD)
        puppet_do(&rival, PUPPET_ASK, 'A');
    for (char heard = 'N'; step == STEP_YIELDED && heard == 'N'; heard = puppet_hear(&victim, FIXTURE_LIMIT))
        puppet_say(&victim, PUPPET_YIELD);
    fixture_rests(fixture->daemon);
    ck_assert_int_gt(fixture_timer(fixture->daemon), 2 * FIXTURE_LIMIT);
    puppet_kill(&victim);
    if (step == STEP_BEHIND_A_HOLDER)
        puppet_do(&rival, PUPPET_END, 'E');
    if (step >= STEP_ASKED_TO_YIELD) {
        puppet_do(&rival, PUPPET_WAIT, 'W');
        puppet_do(&rival, PUPPET_END, 'E');
    }
    puppet_do(&next, PUPPET_BEGIN, 'B');
    puppet_quit(&next);
    puppet_quit(&rival);
}

START_TEST(a_client_killed_at_any_step_gives_its_engine_back_at_once)
{
    struct fixture fixture;

    fixture_start(&fixture, PLAIN "late_yield_ms: 3600000\n", NULL);
    for (int step = 0; step < STEPS; step++)
        for (unsigned n = 0; n < 3; n++)
            kill_at_step(&fixture, step);
    fixture_done(&fixture);
}
END_TEST

static bool has_settled(void *argument)
{
    return fixture_timer(((const struct fixture *)argument)->daemon) == NSEC_MAX;
}

START_TEST(clients_go_on_without_the_daemon_and_come_back_to_the_next)
{
    struct fixture fixture;
    struct puppet holder, waiter, third;

    fixture_start(&fixture, PLAIN, NULL);
    holder = puppet_start(&fixture, "holder", 50, DEVICE);
    waiter = puppet_start(&fixture, "waiter", 50, DEVICE);
    third = puppet_start(&fixture, "third", 90, DEVICE);
    puppet_do(&holder, PUPPET_BEGIN, 'B');
    puppet_do(&waiter, PUPPET_ASK, 'A');
    fixture_kill_daemon(&fixture, SIGKILL);
    puppet_do(&waiter, PUPPET_WAIT, 'W'); /* goes on unscheduled */
    fixture_wait(is_offline, &third, "the third client notices");
    puppet_do(&third, PUPPET_FREE, 'B');
    puppet_do(&third, PUPPET_END, 'E');
    puppet_do(&waiter, PUPPET_END, 'E');

    fixture_restart(&fixture, NULL);
    fixture_wait(is_online, &holder, "the holder is back");
    fixture_wait(is_online, &waiter, "the waiter is back");
    fixture_wait(is_online, &third, "the third is back");
    /*
     * What the holder runs since before the restart is respected although this daemon did not grant
     * it.
     */
    puppet_say(&third, PUPPET_BEGIN);
    fixture_wait(has_settled, &fixture, "the daemon has settled");
    puppet_silent(&fixture, &third);
    puppet_do(&holder, PUPPET_END, 'E');
    ck_assert_int_eq(puppet_hear(&third, FIXTURE_LIMIT), 'B');
    puppet_quit(&holder);
    puppet_quit(&waiter);
    puppet_quit(&third);
    fixture_done(&fixture);
}
END_TEST

START_TEST(without_a_daemon_a_required_one_is_an_error_and_a_wished_one_is_not)
{
    struct fixture fixture = {.socket = "/tmp/baton-test-nobody-listens-here"};
    struct settings settings = fixture_settings(&fixture, "lonely", 50);
    struct session *session = NULL;
    struct lease *lease;

    settings.require_daemon = true;
    ck_assert_int_eq(session_open(&settings, NULL, &session), -ECONNREFUSED);
    settings.require_daemon = false;
    ck_assert_int_eq(session_open(&settings, NULL, &session), 0);
    ck_assert(!session_online(session));
    ck_assert_int_eq(lease_open(session, DEVICE, ENGINE_EXECUTION, &lease), 0);
    ck_assert_int_eq(lease_try_begin(lease), LEASE_BEGUN);
    ck_assert_int_eq(lease_try_begin(lease), LEASE_TAKEN); /* still exclusive inside the process */
    lease_end(lease);
    session_close(session);
}
END_TEST

START_TEST(a_forked_child_passes_through_and_leaves_the_parent_alone)
{
    struct fixture fixture;
    struct settings settings;
    struct session *session;
    struct lease *lease;
    int status = -1;
    pid_t child;

    fixture_start(&fixture, PLAIN, NULL);
    settings = fixture_settings(&fixture, "parent", 50);
    ck_assert_int_eq(session_open(&settings, NULL, &session), 0);
    ck_assert_int_eq(lease_open(session, DEVICE, ENGINE_EXECUTION, &lease), 0);
    ck_assert_int_eq(lease_request(lease), LEASE_ASK);
    ck_assert_int_eq(lease_wait(lease, NSEC_MAX), LEASE_BEGUN);
    child = fork();
    if (child == 0) {
        bool good = session_forked(session) && !session_online(session) &&
                    lease_try_begin(lease) == LEASE_BEGUN && lease_request(lease) == LEASE_BEGUN &&
                    lease_wait(lease, NSEC_MAX) == LEASE_BEGUN;

        lease_end(lease);
        session_close(session);
        _exit(good ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ck_assert(session_online(session));
    ck_assert_int_eq(lease_try_begin(lease), LEASE_TAKEN); /* the child ended nothing of ours */
    lease_end(lease);
    ck_assert_int_eq(lease_try_begin(lease), LEASE_BEGUN);
    session_close(session);
    fixture_done(&fixture);
}
END_TEST

START_TEST(a_client_that_becomes_another_program_gives_its_engine_back)
{
    struct fixture fixture;
    struct puppet holder, other;

    fixture_start(&fixture, PLAIN, NULL);
    holder = puppet_start(&fixture, "holder", 50, DEVICE);
    other = puppet_start(&fixture, "other", 50, DEVICE);
    puppet_do(&holder, PUPPET_BEGIN, 'B');
    puppet_say(&other, PUPPET_BEGIN);
    puppet_silent(&fixture, &other);
    puppet_say(&holder, PUPPET_EXEC);
    ck_assert_int_eq(puppet_hear(&other, FIXTURE_LIMIT), 'B');
    ck_assert_int_eq(kill(holder.pid, 0), 0); /* it lives */
    puppet_do(&other, PUPPET_END, 'E');
    puppet_kill(&holder);
    puppet_quit(&other);
    fixture_done(&fixture);
}
END_TEST

START_TEST(a_client_whose_child_kept_the_socket_is_gone_when_it_dies)
{
    struct fixture fixture;
    struct puppet next;
    int hold[2];
    pid_t child;

    fixture_start(&fixture, PLAIN, NULL);
    ck_assert_int_eq(pipe(hold), 0);
    /* A process that opens a session, takes the engine, forks a child that stays, and dies. */
    child = fork();
    if (child == 0) {
        struct settings settings = fixture_settings(&fixture, "victim", 50);
        struct session *session;
        struct lease *lease;

        if (session_open(&settings, NULL, &session) < 0 ||
            lease_open(session, DEVICE, ENGINE_EXECUTION, &lease) < 0)
            _exit(1);
        (void)lease_request(lease);
        (void)lease_wait(lease, NSEC_MAX);
        if (fork() == 0) {
            char c;

            close(hold[1]);
            (void)!read(hold[0], &c, 1); /* until the test ends */
            _exit(0);
        }
        _exit(0);
    }
    (void)waitpid(child, NULL, 0);
    next = puppet_start(&fixture, "next", 50, DEVICE);
    puppet_do(&next, PUPPET_BEGIN, 'B');
    puppet_quit(&next);
    close(hold[0]);
    close(hold[1]);
    fixture_done(&fixture);
}
END_TEST

static bool answers(void *argument)
{
    const struct fixture *fixture = argument;
    const char *build = getenv("BATON_BUILD");
    char command[4096];

    (void)snprintf(command, sizeof command, "'%s/baton' status --socket '%s' >/dev/null 2>&1",
                   build ? build : "build", fixture->socket);
    return system(command) == 0; /* NOLINT(cert-env33-c): a fixed command of ours */
}

/* Starts the fixture's next daemon, which can write no file, and ends it once it listens. */
static void run_daemon_on_a_full_disk(struct fixture *fixture)
{
    const struct rlimit none = {0, 0};
    const char *build = getenv("BATON_BUILD");
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/batond", build ? build : "build");
    fixture->daemon = fork();
    if (fixture->daemon == 0) {
        (void)signal(SIGXFSZ, SIG_IGN);
        (void)setrlimit(RLIMIT_FSIZE, &none);
        (void)execl(path, "batond", "--foreground", "--socket", fixture->socket, NULL);
        _exit(127);
    }
    fixture_wait(answers, fixture, "batond answers");
    fixture_kill_daemon(fixture, SIGTERM);
}

static void expect_lock(const struct fixture *fixture, const char *expected)
{
    char path[sizeof fixture->socket + 8];
    char *text;
    size_t n;

    (void)snprintf(path, sizeof path, "%s.lock", fixture->socket);
    ck_assert_int_eq(file_read(path, 1000, &text, &n), 0);
    ck_assert_str_eq(text, expected);
    free(text);
}

/* Clients know a daemon by its generation; the state says whether clients may come back. */
START_TEST(a_daemon_that_cannot_write_its_lock_leaves_that_of_its_predecessor)
{
    struct fixture fixture;

    fixture_start(&fixture, PLAIN, NULL);
    fixture_kill_daemon(&fixture, SIGKILL);
    fixture_restart(&fixture, NULL);
    fixture_kill_daemon(&fixture, SIGKILL);
    expect_lock(&fixture, "batond generation 2 not ended\n");
    run_daemon_on_a_full_disk(&fixture);
    expect_lock(&fixture, "batond generation 2 not ended\n");
    fixture_restart(&fixture, NULL);
    expect_lock(&fixture, "batond generation 3 not ended\n");
    fixture_done(&fixture);
    expect_lock(&fixture, "batond generation 3 ended\n");
}
END_TEST

HARNESS_MAIN("deaths", 60, a_client_killed_at_any_step_gives_its_engine_back_at_once,
             a_daemon_that_cannot_write_its_lock_leaves_that_of_its_predecessor,
             clients_go_on_without_the_daemon_and_come_back_to_the_next,
             without_a_daemon_a_required_one_is_an_error_and_a_wished_one_is_not,
             a_forked_child_passes_through_and_leaves_the_parent_alone,
             a_client_whose_child_kept_the_socket_is_gone_when_it_dies,
             a_client_that_becomes_another_program_gives_its_engine_back)
