/* The real batond: broken frames, quotas, ceilings, sockets, plans. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

/* Does the daemon still serve? */
static void still_serves(const struct fixture *fixture)
{
    struct puppet puppet = puppet_start(fixture, "check", 50, "test:7");

    fixture_wait(is_online, &puppet, "a new client is welcomed");
    puppet_do(&puppet, PUPPET_BEGIN, 'B');
    puppet_do(&puppet, PUPPET_END, 'E');
    puppet_quit(&puppet);
}

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

    fixture_start(&fixture, PLAIN "late_yield_ms: 50\n", NULL);
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
    } while (answer.about_daemon.late_yields == 0);
    ck_assert_uint_eq(answer.about_daemon.late_yields, 1);
    puppet_kill(&hog);
    puppet_do(&urgent, PUPPET_WAIT, 'W');
    raw_close(&monitor);
    puppet_quit(&urgent);
    puppet_quit(&other);
    fixture_done(&fixture);
}
END_TEST

static unsigned planned_priority(const struct fixture *fixture, int asked)
{
    struct settings settings = fixture_settings(fixture, "ceiling", asked);
    struct session_plan plan = {0};
    struct session *session;
    baton_nsec until_at = clock_now() + FIXTURE_LIMIT;

    ck_assert_int_eq(fixture_session(&settings, &session), 0);
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

HARNESS_MAIN("access", 60, frames_cut_at_every_byte_and_random_bytes_hurt_nobody,
             a_client_that_never_reads_is_dropped_and_the_others_are_served,
             a_page_belongs_to_one_client_and_cannot_be_shrunk, another_version_is_told_which_one_is_spoken,
             a_client_that_never_yields_is_reported_and_harms_no_other_engine,
             nobody_gets_more_than_their_ceiling, a_ceiling_decides_who_is_more_urgent,
             a_user_gets_no_more_connections_than_the_quota, the_socket_is_private_unless_it_is_shared,
             only_one_daemon_listens_on_a_socket, a_plan_sets_priorities_and_can_be_changed_without_a_restart)
