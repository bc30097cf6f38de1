/* Hostile and unlucky clients: what they leave, call themselves and log. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/session.h"
#include "daemon_ask.h"
#include "harness.h"
#include "raw.h"
#include "wire/page.h"

static struct frame ask(struct raw *raw, enum query_what what, uint32_t index)
{
    struct frame query = {.type = FRAME_QUERY, .query = {.what = what, .index = index}};
    struct frame answer = {0};

    raw_send(raw, &query);
    do
        ck_assert_msg(raw_receive(raw, &answer), "the daemon hung up");
    while (answer.type < FRAME_ABOUT_DAEMON); /* grants and plans */
    return answer;
}

static void open_monitor(const struct fixture *fixture, struct raw *monitor)
{
    struct frame hello = {.type = FRAME_HELLO, .hello = {.version = FRAME_VERSION, .flags = HELLO_MONITOR}};
    struct frame welcome;

    *monitor = (struct raw){.fd = raw_connect(fixture), .page = -1};
    raw_send(monitor, &hello);
    ck_assert(raw_receive(monitor, &welcome));
}

/* Asks for the execution engine of DEVICE, and maps the page. */
static struct page *request(struct raw *raw)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.device = DEVICE}};
    struct frame wish = {.type = FRAME_REQUEST, .request = {.epoch = 1}};
    struct page *page = mmap(NULL, PAGE_SIZE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, raw->page, 0);

    ck_assert_ptr_ne(page, MAP_FAILED);
    raw_send(raw, &attach);
    raw_send(raw, &wish);
    (void)ask(raw, QUERY_DAEMON, 0); /* heard */
    return page;
}

static bool holds(const struct page *page)
{
    return lease_word_state(atomic_load(&page->leases[0].word)) == LEASE_STATE_BUSY;
}

/* ---- clients ---- */

static bool is_draining(void *monitor)
{
    struct frame answer = ask(monitor, QUERY_CLIENT, 0);

    return answer.type == FRAME_ABOUT_CLIENT && answer.about_client.state == CLIENT_DRAINING;
}

static bool nobody_is_there(void *monitor)
{
    return ask(monitor, QUERY_DAEMON, 0).about_daemon.clients == 0;
}

/* Holds the engine, loses its connection, says later that it is done, and lives on. */
static void leave_early(const struct fixture *fixture, int left)
{
    struct raw raw, monitor;
    struct frame welcome;
    struct page *page;

    open_monitor(fixture, &monitor);
    raw_open(fixture, &raw, &welcome);
    page = request(&raw);
    close(raw.fd);
    fixture_wait(is_draining, &monitor, "the daemon has noticed");
    atomic_store(&page->leases[0].word, lease_word_make(LEASE_STATE_NONE, 0, 0, 1));
    fixture_wait(nobody_is_there, &monitor, "its word is believed");
    raw_close(&monitor);
    (void)!write(left, "l", 1);
    pause();
}

START_TEST(who_left_before_its_process_ended_takes_nobody_along)
{
    struct fixture fixture;
    struct frame welcome;
    struct raw next;
    struct page *page;
    int left[2];
    pid_t early;
    char byte;

    fixture_start(&fixture, PLAIN, NULL);
    ck_assert_int_eq(pipe(left), 0);
    early = fork();
    if (early == 0)
        leave_early(&fixture, left[1]);
    ck_assert_int_eq(read(left[0], &byte, 1), 1);
    raw_open(&fixture, &next, &welcome); /* takes its place */
    page = request(&next);
    ck_assert(holds(page));
    kill(early, SIGKILL);
    waitpid(early, NULL, 0);
    for (unsigned i = 0; i < 3; i++) /* the daemon looks at the end of a process before it hears these */
        ck_assert_uint_eq(ask(&next, QUERY_ENGINE, 0).about_engine.holder, welcome.welcome.client);
    raw_close(&next);
    fixture_done(&fixture);
}
END_TEST

START_TEST(names_are_one_line_of_text_whatever_a_client_calls_itself)
{
    static const struct {
        const char *said, *kept;
    } names[] = {
        {"a\nbatond: b\x1b[2J", "a?batond: b?[2J"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\xbc", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8e\xbc"},
        {"caf\xe9", "caf?"},
        {"\xc0\xaf\xed\xa0\x80\xc2\x9b\x7f", "????????"}, /* overlong, surrogate, terminal control */
        {"cut \xe2\x82", "cut ??"},
    };
    struct frame hello = {.type = FRAME_HELLO, .hello = {.version = FRAME_VERSION}};
    struct fixture fixture;
    struct raw monitor;

    fixture_start(&fixture, PLAIN, NULL);
    open_monitor(&fixture, &monitor);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct raw raw = {.fd = raw_connect(&fixture), .page = -1};
        struct frame answer;

        (void)snprintf(hello.hello.name, sizeof hello.hello.name, "%s", names[i].said);
        raw_send(&raw, &hello);
        ck_assert(raw_receive(&raw, &answer));
        answer = ask(&monitor, QUERY_CLIENT, 0);
        ck_assert_int_eq(answer.type, FRAME_ABOUT_CLIENT);
        ck_assert_str_eq(answer.about_client.name, names[i].kept);
        raw_close(&raw);
        fixture_wait(nobody_is_there, &monitor, "it has left");
    }
    raw_close(&monitor);
    fixture_done(&fixture);
}
END_TEST

/*
 * Newcomers that there is no room for stay where they are; the daemon does not ask for them without
 * end.
 */
START_TEST(a_daemon_out_of_descriptors_sleeps_and_serves_again)
{
    enum { NEWCOMERS = 40 };
    const struct rlimit few = {20, 20};
    struct fixture fixture;
    struct puppet puppet;
    int newcomers[NEWCOMERS];

    fixture_start(&fixture, PLAIN, NULL);
    ck_assert_int_eq(prlimit(fixture.daemon, RLIMIT_NOFILE, &few, NULL), 0);
    for (unsigned i = 0; i < NEWCOMERS; i++)
        newcomers[i] = raw_connect(&fixture);
    fixture_rests(fixture.daemon);
    for (unsigned i = 0; i < NEWCOMERS; i++)
        close(newcomers[i]);
    puppet = puppet_start(&fixture, "next", 50, DEVICE);
    puppet_do(&puppet, PUPPET_BEGIN, 'B');
    puppet_quit(&puppet);
    fixture_done(&fixture);
}
END_TEST

/* No process reads the log, and a client does nothing but what is worth a line. */
START_TEST(a_full_log_stops_nobody)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.index = 31, .device = "test:one-too-many"}};
    struct fixture fixture;
    struct frame answer;
    struct raw raw;
    char path[96];
    int log;

    fixture_start(&fixture, PLAIN, NULL); /* for the folder */
    fixture_kill_daemon(&fixture, SIGTERM);
    (void)snprintf(path, sizeof path, "%s/log", fixture.folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    log = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_ge(fcntl(log, F_SETPIPE_SZ, 4096), 0);
    ck_assert_int_eq(setenv("BATON_TEST_LOG", path, 1), 0);
    (void)!write(log, path, strlen(path)); /* the page is in use: there is no room for another */
    fixture_restart(&fixture, NULL);
    raw_open(&fixture, &raw, &answer);
    for (unsigned i = 0; i < 8; i++) {
        struct frame fill = {.type = FRAME_ATTACH, .attach = {.index = i}};

        (void)snprintf(fill.attach.device, sizeof fill.attach.device, "test:%u", i);
        raw_send(&raw, &fill);
    }
    for (unsigned i = 0; i < 200; i++) {
        raw_send(&raw, &attach);
        do
            ck_assert(raw_receive(&raw, &answer));
        while (answer.type != FRAME_REFUSED);
    }
    raw_close(&raw);
    fixture_done(&fixture);
}
END_TEST

static bool lines_are_few(const char *path)
{
    unsigned lines = 0;
    FILE *file = fopen(path, "r");
    int c;

    while (file && (c = fgetc(file)) != EOF)
        lines += c == '\n';
    if (file)
        (void)fclose(file);
    return lines < 40;
}

START_TEST(a_client_cannot_fill_the_log)
{
    struct fixture fixture;
    char path[96];

    fixture_start(&fixture, PLAIN, NULL);
    fixture_kill_daemon(&fixture, SIGTERM);
    (void)snprintf(path, sizeof path, "%s/log", fixture.folder);
    ck_assert_int_eq(setenv("BATON_TEST_LOG", path, 1), 0);
    fixture_restart(&fixture, NULL);
    for (unsigned i = 0; i < 300; i++) {
        struct raw raw = {.fd = raw_connect(&fixture), .page = -1};
        struct frame answer;

        (void)!send(raw.fd, "this is no message at all", 25, MSG_NOSIGNAL);
        ck_assert(!raw_receive(&raw, &answer));
        raw_close(&raw);
    }
    ck_assert(lines_are_few(path));
    fixture_done(&fixture);
}
END_TEST

/* ---- real-time priority ---- */

static bool is_fifo(void *puppet)
{
    return (sched_getscheduler(((struct puppet *)puppet)->pid) & ~SCHED_RESET_ON_FORK) == SCHED_FIFO;
}

static bool is_ordinary(void *puppet)
{
    return (sched_getscheduler(((struct puppet *)puppet)->pid) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER;
}

struct boosted {
    struct raw monitor;
    struct puppet holder, urgent;
    bool seen; /* it had the priority when it was looked at */
};

static bool is_boosted_or_late(void *argument)
{
    struct boosted *boosted = argument;

    boosted->seen = is_fifo(&boosted->holder);
    return boosted->seen || ask(&boosted->monitor, QUERY_DAEMON, 0).about_daemon.late_yields > 0;
}

/*
 * A holder that is asked to yield, and is late after so long; false: without boosts, as there is
 * no permission.
 */
static bool boosted_holder(struct fixture *fixture, unsigned late_ms, struct boosted *ret_boosted)
{
    char config[64];

    (void)snprintf(config, sizeof config, "probe: false\nlate_yield_ms: %u\n", late_ms);
    fixture_start(fixture, config, NULL);
    open_monitor(fixture, &ret_boosted->monitor);
    ret_boosted->holder = puppet_start(fixture, "holder", 10, DEVICE);
    ret_boosted->urgent = puppet_start(fixture, "urgent", 80, DEVICE);
    if ((sched_getscheduler(fixture->daemon) & ~SCHED_RESET_ON_FORK) != SCHED_FIFO)
        return false;
    puppet_do(&ret_boosted->holder, PUPPET_REGISTER, 'G');
    puppet_do(&ret_boosted->holder, PUPPET_BEGIN, 'B');
    puppet_do(&ret_boosted->urgent, PUPPET_ASK, 'A');
    fixture_wait(is_boosted_or_late, ret_boosted, "the holder is boosted");
    return true;
}

static void boosted_done(struct fixture *fixture, struct boosted *boosted)
{
    puppet_kill(&boosted->holder);
    puppet_kill(&boosted->urgent);
    raw_close(&boosted->monitor);
    fixture_done(fixture);
}

START_TEST(what_a_killed_daemon_raised_is_put_back)
{
    struct fixture fixture;
    struct boosted boosted;

    if (boosted_holder(&fixture, 600000, &boosted)) {
        ck_assert(boosted.seen);
        fixture_kill_daemon(&fixture, SIGKILL);
        fixture_wait(is_ordinary, &boosted.holder, "the holder is what it was");
    }
    boosted_done(&fixture, &boosted);
}
END_TEST

/* A boost that has ended before it is seen shows nothing: then the next one may last longer. */
START_TEST(who_never_gives_way_is_not_boosted_for_ever)
{
    bool shown = false;

    for (unsigned late_ms = 500; !shown && late_ms <= 50000; late_ms *= 10) {
        struct fixture fixture;
        struct boosted boosted;
        bool permitted = boosted_holder(&fixture, late_ms, &boosted);

        shown = !permitted || boosted.seen;
        if (permitted)
            fixture_wait(is_ordinary, &boosted.holder, "the boost has ended");
        boosted_done(&fixture, &boosted);
    }
    ck_assert(shown);
}
END_TEST

HARNESS_MAIN("hostile", 60, who_left_before_its_process_ended_takes_nobody_along,
             names_are_one_line_of_text_whatever_a_client_calls_itself,
             a_daemon_out_of_descriptors_sleeps_and_serves_again, a_full_log_stops_nobody,
             a_client_cannot_fill_the_log, what_a_killed_daemon_raised_is_put_back,
             who_never_gives_way_is_not_boosted_for_ever)
