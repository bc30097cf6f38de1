/* What batond's server answers a client that declares an engine (ATTACH). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/config.h"
#include "daemon/server.h"
#include "harness.h"

static int page_new(void *user, unsigned peer, struct page **ret_page)
{
    (void)user;
    (void)peer;
    *ret_page = aligned_alloc(64, PAGE_SIZE_BYTES);
    return *ret_page ? 0 : -ENOMEM;
}

static void page_free(void *user, unsigned peer, struct page *page)
{
    (void)user;
    (void)peer;
    free(page);
}

static void wake(void *user, lease_word *word)
{
    (void)user;
    (void)word;
}

static void report(void *user, const struct server_report *what)
{
    (void)user;
    (void)what;
}

static struct server *start(enum sched_profile_id profile, bool declare, unsigned devices)
{
    const struct server_host host = {
        .page_new = page_new, .page_free = page_free, .wake = wake, .report = report};
    const struct server_start begin = {.generation = 1, .pid = 1, .now_at = NSEC_PER_SEC};
    static struct config config;
    struct server *server = NULL;

    config_init(&config);
    config.profile = profile;
    config.policy = profile == PROFILE_GPUSYNC ? POLICY_EDF : POLICY_FIXED;
    config.declare = declare;
    config.devices = devices;
    ck_assert_int_eq(server_new(&config, &host, &begin, &server), 0);
    ck_assert_int_eq(server_add_device(server, "test:0", "configured"), 0);
    return server;
}

/* Says it; the answer is the last frame of that type, type 0: there was none. */
static struct frame ask(struct server *server, const struct frame *frame, enum frame_type type)
{
    uint8_t bytes[FRAME_MAX_SIZE];
    struct frame answer, found = {0};
    const uint8_t *waiting;
    size_t n, used;

    ck_assert_int_eq(server_receive(server, 0, bytes, frame_encode(frame, bytes), NSEC_PER_SEC), 0);
    while ((n = server_pending(server, 0, &waiting)) > 0) {
        ck_assert_int_eq(frame_decode(waiting, n, &answer, &used), 0);
        if (answer.type == type)
            found = answer;
        server_sent(server, 0, used);
    }
    return found;
}

static void join(struct server *server, uint32_t flags)
{
    const struct credentials who = {.pid = 4711, .uid = 1000, .gid = 1000};
    const struct frame hello = {.type = FRAME_HELLO,
                                .hello = {.version = FRAME_VERSION, .key = 1, .flags = flags}};
    unsigned peer;

    ck_assert_int_eq(server_accept(server, &who, NSEC_PER_SEC, &peer), 0);
    ck_assert_uint_eq(peer, 0);
    ck_assert_uint_eq(ask(server, &hello, FRAME_WELCOME).type, FRAME_WELCOME);
}

static struct frame attach(struct server *server, uint32_t index, const char *device, enum frame_type type)
{
    struct frame frame = {.type = FRAME_ATTACH, .attach = {.index = index}};

    (void)snprintf(frame.attach.device, sizeof frame.attach.device, "%s", device);
    return ask(server, &frame, type);
}

START_TEST(under_tokens_a_client_learns_which_engines_are_managed)
{
    struct server *server = start(PROFILE_GPUSYNC, true, 2);
    struct frame answer;

    join(server, HELLO_MANAGED);
    answer = attach(server, 3, "test:0", FRAME_MANAGED);
    ck_assert_uint_eq(answer.type, FRAME_MANAGED);
    ck_assert_uint_eq(answer.managed.index, 3);
    answer = attach(server, 4, "test:1", FRAME_MANAGED); /* declared, the second of two */
    ck_assert_uint_eq(answer.managed.index, 4);
    answer = attach(server, 5, "test:2", FRAME_REFUSED);
    ck_assert_uint_eq(answer.type, FRAME_REFUSED);
    ck_assert_uint_eq(answer.refused.index, 5);
    ck_assert_uint_eq(answer.refused.reason, ENOSPC);
    server_free(server);
}
END_TEST

START_TEST(a_device_that_may_not_be_declared_has_its_own_reason)
{
    struct server *server = start(PROFILE_GPUSYNC, false, 2);

    join(server, HELLO_MANAGED);
    ck_assert_uint_eq(attach(server, 0, "test:1", FRAME_REFUSED).refused.reason, ENODEV);
    server_free(server);
}
END_TEST

START_TEST(a_client_that_knows_no_such_answer_gets_none)
{
    struct server *server = start(PROFILE_GPUSYNC, true, 1);

    join(server, 0);
    ck_assert_uint_eq(attach(server, 0, "test:0", FRAME_MANAGED).type, 0);
    ck_assert_uint_eq(attach(server, 1, "test:1", FRAME_REFUSED).type, FRAME_REFUSED);
    server_free(server);
}
END_TEST

/* Unmanaged work is allowed there, and no client waits for the answer. */
START_TEST(without_tokens_clients_are_told_of_refusals_only)
{
    struct server *server = start(PROFILE_PRIORITY, true, 1);

    join(server, HELLO_MANAGED);
    ck_assert_uint_eq(attach(server, 0, "test:0", FRAME_MANAGED).type, 0);
    ck_assert_uint_eq(attach(server, 1, "test:1", FRAME_REFUSED).type, FRAME_REFUSED);
    server_free(server);
}
END_TEST

HARNESS_MAIN("attach", 10, under_tokens_a_client_learns_which_engines_are_managed,
             a_device_that_may_not_be_declared_has_its_own_reason,
             a_client_that_knows_no_such_answer_gets_none, without_tokens_clients_are_told_of_refusals_only)
