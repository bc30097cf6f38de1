/* The real batond and real processes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/random.h"
#include "fixture.h"
#include "harness.h"
#include "raw.h"
#include "wire/frame.h"
#include "wire/page.h"

#define PLAIN  "probe: false\nrealtime: false\n"
#define DEVICE "test:0"

static char ask_online(struct puppet *puppet)
{
    puppet_say(puppet, PUPPET_ONLINE);
    return puppet_hear(puppet, FIXTURE_LIMIT);
}

static bool is_offline(void *argument)
{
    return ask_online(argument) == 'F';
}

static bool is_online(void *argument)
{
    return ask_online(argument) == 'O';
}

/* Does the daemon still serve? */
static void still_serves(const struct fixture *fixture)
{
    struct puppet puppet = puppet_start(fixture, "check", 50, "test:7");

    fixture_wait(is_online, &puppet, "a new client is welcomed");
    puppet_do(&puppet, PUPPET_BEGIN, 'B');
    puppet_do(&puppet, PUPPET_END, 'E');
    puppet_quit(&puppet);
}

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
    puppet_do(&a, PUPPET_BEGIN, 'B'); /* an idle lease is taken back */
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
        ck_assert(!lease_yield_asked(lease));
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

/* ---- kills ---- */

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

    fixture_start(&fixture, PLAIN "overdue_ms: 3600000\n", NULL);
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
     * What the holder runs since before the restart is respected although nobody granted it here.
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

/* ---- hostile ---- */

START_TEST(frames_cut_at_every_byte_and_random_bytes_hurt_nobody)
{
    struct frame frames[3] = {{.type = FRAME_HELLO, .hello = {.version = FRAME_VERSION, .name = "cut"}},
                              {.type = FRAME_ATTACH, .attach = {.device = DEVICE}},
                              {.type = FRAME_REQUEST, .request = {.epoch = 1}}};
    uint8_t bytes[3 * FRAME_MAX_SIZE];
    struct random_state random;
    struct fixture fixture;
    size_t n = 0;

    fixture_start(&fixture, PLAIN, NULL);
    for (size_t i = 0; i < 3; i++)
        n += frame_encode(&frames[i], bytes + n);
    for (size_t cut = 0; cut < n; cut++) {
        int fd = raw_connect(&fixture);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(send(fd, bytes, cut, MSG_NOSIGNAL), (ssize_t)cut);
        close(fd);
    }
    random_init(&random, 11, 0);
    for (unsigned i = 0; i < 300; i++) {
        uint8_t noise[256];
        int fd = raw_connect(&fixture);
        size_t at = random_below(&random, n);

        ck_assert_int_ge(fd, 0);
        for (size_t b = 0; b < sizeof noise; b++)
            noise[b] = (uint8_t)random_u64(&random);
        (void)!send(fd, bytes, at, MSG_NOSIGNAL); /* well so far ... */
        (void)!send(fd, noise, sizeof noise, MSG_NOSIGNAL);
        close(fd);
    }
    still_serves(&fixture);
    fixture_done(&fixture);
}
END_TEST

START_TEST(a_client_that_never_reads_is_dropped_and_the_others_are_served)
{
    struct frame query = {.type = FRAME_QUERY, .query = {.what = QUERY_DAEMON}};
    struct fixture fixture;
    struct frame welcome;
    struct raw raw;
    unsigned sent = 0;
    uint8_t bytes[FRAME_MAX_SIZE];
    size_t n = frame_encode(&query, bytes);

    fixture_start(&fixture, PLAIN, NULL);
    raw_open(&fixture, &raw, &welcome);
    /*
     * Answers are about 500 bytes: socket buffers of 200 KiB and the daemon's 16 KiB are full after
     * some hundreds.
     */
    while (sent < 100000 && send(raw.fd, bytes, n, MSG_NOSIGNAL) > 0)
        sent++;
    ck_assert_uint_lt(sent, 100000);
    still_serves(&fixture);
    raw_close(&raw);
    fixture_done(&fixture);
}
END_TEST

START_TEST(a_page_belongs_to_one_client_and_cannot_be_shrunk)
{
    struct fixture fixture;
    struct frame welcome;
    struct stat first, second;
    struct raw a, b;

    fixture_start(&fixture, PLAIN, NULL);
    raw_open(&fixture, &a, &welcome);
    ck_assert_uint_eq(welcome.welcome.page_size, PAGE_SIZE_BYTES);
    raw_open(&fixture, &b, &welcome);
    ck_assert_int_ge(a.page, 0);
    ck_assert_int_ge(b.page, 0);
    ck_assert_int_eq(fstat(a.page, &first), 0);
    ck_assert_int_eq(fstat(b.page, &second), 0);
    ck_assert(first.st_ino != second.st_ino);
    ck_assert_int_eq(ftruncate(a.page, 0), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(ftruncate(a.page, 1 << 20), -1);
    ck_assert_int_eq(fcntl(a.page, F_ADD_SEALS, F_SEAL_WRITE), -1);
    still_serves(&fixture);
    raw_close(&a);
    raw_close(&b);
    fixture_done(&fixture);
}
END_TEST

START_TEST(another_version_is_told_which_one_is_spoken)
{
    struct frame hello = {.type = FRAME_HELLO, .hello = {.version = 77}};
    struct fixture fixture;
    struct frame answer;
    struct raw raw = {.page = -1};

    fixture_start(&fixture, PLAIN, NULL);
    raw.fd = raw_connect(&fixture);
    raw_send(&raw, &hello);
    ck_assert(raw_receive(&raw, &answer));
    ck_assert_int_eq(answer.type, FRAME_ERROR);
    ck_assert_str_eq(answer.error.text, "expected protocol version 4, found 77");
    ck_assert(!raw_receive(&raw, &answer));
    raw_close(&raw);
    fixture_done(&fixture);
}
END_TEST

START_TEST(a_client_that_never_yields_is_reported_and_harms_no_other_engine)
{
    struct frame hello = {.type = FRAME_HELLO, .hello = {.version = FRAME_VERSION, .flags = HELLO_MONITOR}};
    struct frame query = {.type = FRAME_QUERY, .query = {.what = QUERY_DAEMON}};
    struct fixture fixture;
    struct puppet hog, urgent, other;
    struct raw monitor = {.page = -1};
    struct frame answer;
    baton_nsec until_at;

    fixture_start(&fixture, PLAIN "overdue_ms: 50\n", NULL);
    hog = puppet_start(&fixture, "hog", 10, DEVICE);
    urgent = puppet_start(&fixture, "urgent", 80, DEVICE);
    other = puppet_start(&fixture, "other", 20, "test:1");
    puppet_do(&hog, PUPPET_BEGIN, 'B');
    puppet_do(&urgent, PUPPET_ASK, 'A');
    puppet_do(&other, PUPPET_BEGIN, 'B');
    puppet_do(&other, PUPPET_END, 'E');
    monitor.fd = raw_connect(&fixture);
    raw_send(&monitor, &hello);
    ck_assert(raw_receive(&monitor, &answer));
    until_at = clock_now() + FIXTURE_LIMIT;
    do {
        ck_assert(clock_now() < until_at);
        raw_send(&monitor, &query);
        ck_assert(raw_receive(&monitor, &answer));
    } while (answer.about_daemon.overdue == 0);
    ck_assert_uint_eq(answer.about_daemon.overdue, 1);
    puppet_kill(&hog);
    puppet_do(&urgent, PUPPET_WAIT, 'W');
    raw_close(&monitor);
    puppet_quit(&urgent);
    puppet_quit(&other);
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
     * All of them are served: whoever has begun ends, whoever waits is killed in every tenth case.
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

static unsigned planned_priority(const struct fixture *fixture, int asked)
{
    struct settings settings = fixture_settings(fixture, "ceiling", asked);
    struct session_plan plan = {0};
    struct session *session;
    baton_nsec until_at = clock_now() + FIXTURE_LIMIT;

    ck_assert_int_eq(session_open(&settings, NULL, &session), 0);
    while (plan.priority == 0 && clock_now() < until_at)
        session_plan(session, &plan);
    session_close(session);
    return plan.priority;
}

START_TEST(nobody_gets_more_than_their_ceiling)
{
    struct fixture fixture;
    char config[256];

    (void)snprintf(config, sizeof config, PLAIN "users:\n  - {user: %u, ceiling: 40, clients: 3}\n",
                   (unsigned)getuid());
    fixture_start(&fixture, config, NULL);
    ck_assert_uint_eq(planned_priority(&fixture, 80), 40);
    ck_assert_uint_eq(planned_priority(&fixture, 30), 30);
    fixture_done(&fixture);
}
END_TEST

START_TEST(a_ceiling_decides_who_is_more_urgent)
{
    struct fixture fixture;
    struct puppet greedy, modest;
    char config[256];

    (void)snprintf(config, sizeof config, PLAIN "users:\n  - {user: %u, ceiling: 40}\n", (unsigned)getuid());
    fixture_start(&fixture, config, NULL);
    modest = puppet_start(&fixture, "modest", 40, DEVICE);
    greedy = puppet_start(&fixture, "greedy", 99, DEVICE);
    puppet_do(&modest, PUPPET_BEGIN, 'B');
    puppet_do(&greedy, PUPPET_ASK, 'A');
    puppet_say(&greedy, PUPPET_WAIT);
    puppet_silent(&fixture, &greedy);
    puppet_do(&modest, PUPPET_YIELD, 'N'); /* 40 does not preempt 40 */
    puppet_do(&modest, PUPPET_END, 'E');
    ck_assert_int_eq(puppet_hear(&greedy, FIXTURE_LIMIT), 'W');
    puppet_quit(&modest);
    puppet_quit(&greedy);
    fixture_done(&fixture);
}
END_TEST

START_TEST(a_user_gets_no_more_connections_than_the_quota)
{
    struct fixture fixture;
    struct raw raws[3];
    struct frame frame;
    char config[256];
    int fd;
    uint8_t byte;

    (void)snprintf(config, sizeof config, PLAIN "users:\n  - {user: %u, clients: 3}\n", (unsigned)getuid());
    fixture_start(&fixture, config, NULL);
    /*
     * The connection with which the fixture saw that batond listens has been closed, perhaps not
     * yet noticed: wait for it.
     */
    for (unsigned i = 0; i < 3; i++) {
        do {
            raws[i].fd = -1;
            raw_open(&fixture, &raws[i], &frame);
            if (frame.type == FRAME_ERROR)
                raw_close(&raws[i]);
        } while (frame.type == FRAME_ERROR);
    }
    fd = raw_connect(&fixture);
    ck_assert_int_ge(fd, 0);
    while (recv(fd, &byte, 1, 0) > 0)
        ; /* told, and hung up on */
    close(fd);
    for (unsigned i = 0; i < 3; i++)
        raw_close(&raws[i]);
    still_serves(&fixture);
    fixture_done(&fixture);
}
END_TEST

/* ---- permissions ---- */

/* Connects as another user; 0 or errno. */
static int connect_as(const struct fixture *fixture, uid_t uid)
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        int fd;

        if (setresuid(uid, uid, uid) < 0)
            _exit(200);
        fd = raw_connect(fixture);
        _exit(fd < 0 ? -fd : 0);
    }
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(the_socket_is_private_unless_it_is_shared)
{
    static const char *const shared[] = {"--shared", NULL};
    struct fixture fixture;
    struct stat status;

    fixture_start(&fixture, PLAIN, NULL);
    ck_assert_int_eq(stat(fixture.socket, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0600);
    ck_assert_int_eq(chmod(fixture.folder, 0755), 0);
    if (getuid() == 0)
        ck_assert_int_eq(connect_as(&fixture, 65534), EACCES);
    fixture_done(&fixture);

    fixture_start(&fixture, PLAIN, shared);
    ck_assert_int_eq(stat(fixture.socket, &status), 0);
    ck_assert_uint_eq(status.st_mode & 07777, 0666);
    ck_assert_int_eq(chmod(fixture.folder, 0755), 0);
    if (getuid() == 0)
        ck_assert_int_eq(connect_as(&fixture, 65534), 0);
    fixture_done(&fixture);
}
END_TEST

START_TEST(only_one_daemon_listens_on_a_socket)
{
    struct fixture fixture;
    const char *build = getenv("BATON_BUILD");
    char command[512];

    fixture_start(&fixture, PLAIN, NULL);
    (void)snprintf(command, sizeof command, "'%s/batond' --foreground --socket %s --config %s 2>/dev/null",
                   build ? build : "build", fixture.socket, fixture.config);
    ck_assert_int_eq(WEXITSTATUS(system(command)), 3);
    still_serves(&fixture);
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
    fixture_kill_daemon(&fixture, SIGTERM); /* everybody is what they were before */
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

/* ---- the plan ---- */

START_TEST(a_plan_sets_priorities_and_can_be_changed_without_a_restart)
{
    static const char one[] =
        "analysis: holistic\nprofile: priority\ntasks:\n  - {name: ceiling, priority: 70, piece_ms: 0.5}\n";
    static const char two[] =
        "analysis: holistic\nprofile: priority\ntasks:\n  - {name: ceiling, priority: 20}\n";
    struct fixture fixture = {0};
    char config[256];
    char path[96];

    fixture_start(&fixture, PLAIN, NULL);
    (void)snprintf(path, sizeof path, "%s/plan.yaml", fixture.folder);
    ck_assert_int_eq(file_write_atomic(path, one, sizeof one - 1), 0);
    (void)snprintf(config, sizeof config, PLAIN "plan: %s\n", path);
    ck_assert_int_eq(file_write_atomic(fixture.config, config, strlen(config)), 0);
    ck_assert_uint_eq(planned_priority(&fixture, 33), 33); /* not read yet */
    (void)kill(fixture.daemon, SIGHUP);
    for (baton_nsec until_at = clock_now() + FIXTURE_LIMIT; planned_priority(&fixture, 33) != 70;)
        ck_assert(clock_now() < until_at);
    ck_assert_int_eq(file_write_atomic(path, "tasks: nonsense\n", 16), 0);
    (void)kill(fixture.daemon, SIGHUP);
    ck_assert_uint_eq(planned_priority(&fixture, 33), 70); /* a bad plan changes nothing */
    ck_assert_int_eq(file_write_atomic(path, two, sizeof two - 1), 0);
    (void)kill(fixture.daemon, SIGHUP);
    for (baton_nsec until_at = clock_now() + FIXTURE_LIMIT; planned_priority(&fixture, 33) != 20;)
        ck_assert(clock_now() < until_at);
    fixture_done(&fixture);
}
END_TEST

HARNESS_MAIN("daemon", 60, an_engine_goes_from_one_process_to_the_other,
             the_more_urgent_process_makes_the_other_yield, equals_are_served_in_the_order_in_which_they_ask,
             an_armed_reaper_hears_of_any_waiter_before_and_after, under_fifo_nobody_is_asked_to_yield,
             under_gpusync_a_token_is_kept_until_the_job_ends, an_adaptive_client_gives_way_to_shorter_ones,
             a_client_killed_at_any_step_gives_its_engine_back_at_once,
             clients_go_on_without_the_daemon_and_come_back_to_the_next,
             without_a_daemon_a_required_one_is_an_error_and_a_wished_one_is_not,
             a_forked_child_passes_through_and_leaves_the_parent_alone,
             a_client_whose_child_kept_the_socket_is_gone_when_it_dies,
             a_client_that_becomes_another_program_gives_its_engine_back,
             frames_cut_at_every_byte_and_random_bytes_hurt_nobody,
             a_client_that_never_reads_is_dropped_and_the_others_are_served,
             a_page_belongs_to_one_client_and_cannot_be_shrunk, another_version_is_told_which_one_is_spoken,
             a_client_that_never_yields_is_reported_and_harms_no_other_engine, two_hundred_clients_take_turns,
             nobody_gets_more_than_their_ceiling, a_ceiling_decides_who_is_more_urgent,
             a_user_gets_no_more_connections_than_the_quota, the_socket_is_private_unless_it_is_shared,
             only_one_daemon_listens_on_a_socket, an_idle_daemon_sleeps_without_a_timer,
             a_holder_is_boosted_when_asked_to_yield_and_restored_when_it_has,
             what_ran_can_be_traced_also_after_the_program_has_left,
             a_plan_sets_priorities_and_can_be_changed_without_a_restart)
