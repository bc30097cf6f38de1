/* Processes that batond knows and does not schedule end the claims for as long as they run. */
#include <stdlib.h>
#include <string.h>

#include "claims_world.h"
#include "daemon/peer.h"
#include "harness.h"

enum { EYE = 4711, OTHER }; /* process ids, in the order in which clients join */

static struct server *server;
static unsigned eye;
static char *text;

static void start(void)
{
    struct config config = claims_plain_config();
    struct plan plan = claims_good_plan();

    server = claims_start(&config);
    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    text = claims_text(&plan);
    claims_give(server, text);
    eye = claims_join(server, "eye", HELLO_TASK, PERIOD);
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
}

static void stop(void)
{
    free(text);
    server_free(server);
}

/* What broke the rule is over: claims return with the next job that is done in time. */
static void expect_return(void)
{
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
}

static void refuse(pid_t pid)
{
    unsigned limit = server->config.clients;
    unsigned slot;

    server->config.clients = 1;
    ck_assert_int_eq(server_accept(server, &(struct credentials){.pid = pid}, claims_world.now_at, &slot),
                     SERVER_BUSY);
    server->config.clients = limit;
}

START_TEST(a_process_whose_connection_was_refused_ends_the_claim_until_it_has_ended)
{
    start();
    refuse(OTHER);
    ck_assert_int_eq(claims_rule(server), RULE_OUTSIDER);
    ck_assert_ptr_nonnull(strstr(claims_world.logged, "turned away\n"));
    refuse(OTHER); /* it tries again */
    refuse(OTHER + 1);
    server_unscheduled_ended(server, 0, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_OUTSIDER);
    server_unscheduled_ended(server, 1, claims_world.now_at);
    expect_return();
    stop();
}
END_TEST

/* From then on its rules are those of a client. */
START_TEST(a_process_that_is_let_in_later_is_a_client)
{
    unsigned ear;

    start();
    refuse(OTHER);
    claims_world.now_at += NSEC_PER_MS;
    ear = claims_join(server, "ear", HELLO_TASK, PERIOD);
    claims_has_a_job(server, ear);
    expect_return();
    (void)server_lost(server, ear, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_OUTSIDER); /* it still runs */
    stop();
}
END_TEST

static void drop(unsigned peer, struct frame frame)
{
    uint8_t bytes[FRAME_MAX_SIZE];

    ck_assert_int_eq(server_receive(server, peer, bytes, frame_encode(&frame, bytes), claims_world.now_at),
                     SERVER_DROP);
    (void)server_lost(server, peer, claims_world.now_at);
}

/* It holds nothing, so that its slot is free at once, and goes on as without batond. */
START_TEST(a_client_that_is_dropped_ends_the_claim_until_its_process_has_ended)
{
    start();
    drop(eye, (struct frame){.type = FRAME_WELCOME});
    ck_assert(!server_has(server, eye));
    ck_assert_int_eq(claims_rule(server), RULE_OUTSIDER);
    server_unscheduled_ended(server, 0, claims_world.now_at);
    eye = claims_join(server, "eye", HELLO_TASK, PERIOD);
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    stop();
}
END_TEST

/*
 * A program closes descriptors that it does not know, Baton's among them. Until its session has
 * noticed and has connected again, its commands go on as without batond.
 */
START_TEST(a_client_that_loses_its_connection_ends_the_claim_while_its_process_runs)
{
    unsigned ear;

    start();
    ear = claims_join(server, "ear", HELLO_TASK, PERIOD);
    claims_has_a_job(server, ear);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    (void)server_lost(server, ear, claims_world.now_at);
    ck_assert(!server_has(server, ear));
    ck_assert_int_eq(claims_rule(server), RULE_OUTSIDER);
    server_unscheduled_ended(server, 0, claims_world.now_at);
    expect_return();
    stop();
}
END_TEST

START_TEST(a_client_that_leaves_in_order_ends_no_claim)
{
    struct frame goodbye = {.type = FRAME_GOODBYE};

    start();
    drop(claims_join(server, "ear", HELLO_TASK, PERIOD), goodbye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    (void)claims_dies(server, claims_join(server, "ear", HELLO_TASK, PERIOD));
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    stop();
}
END_TEST

START_TEST(a_program_of_another_version_ends_the_claim_and_a_command_does_not)
{
    static const uint32_t flags[] = {HELLO_MONITOR, 0};

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        struct frame hello = {.type = FRAME_HELLO,
                              .hello = {.version = FRAME_VERSION + 1, .flags = flags[i]}};
        unsigned peer;

        start();
        ck_assert_int_eq(
            server_accept(server, &(struct credentials){.pid = OTHER}, claims_world.now_at, &peer), 0);
        drop(peer, hello);
        ck_assert_int_eq(claims_rule(server), flags[i] ? RULE_MET : RULE_OUTSIDER);
        stop();
    }
}
END_TEST

/* The process of a client ends: nothing of it runs unscheduled. */
START_TEST(a_process_that_has_ended_is_not_counted)
{
    unsigned other;

    start();
    other = claims_join(server, "ear", HELLO_TASK, PERIOD);
    server_exited(server, other, claims_world.now_at);
    (void)server_lost(server, other, claims_world.now_at);
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    stop();
}
END_TEST

START_TEST(more_processes_than_can_be_watched_end_the_claims_for_good)
{
    start();
    for (unsigned i = 0; i <= UNSCHEDULED_MAX; i++)
        refuse((pid_t)(OTHER + i));
    for (unsigned i = 0; i < UNSCHEDULED_MAX; i++)
        server_unscheduled_ended(server, i, claims_world.now_at);
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_OUTSIDER);
    stop();
}
END_TEST

HARNESS_MAIN("unscheduled", 30, a_process_whose_connection_was_refused_ends_the_claim_until_it_has_ended,
             a_process_that_is_let_in_later_is_a_client,
             a_client_that_is_dropped_ends_the_claim_until_its_process_has_ended,
             a_client_that_loses_its_connection_ends_the_claim_while_its_process_runs,
             a_client_that_leaves_in_order_ends_no_claim,
             a_program_of_another_version_ends_the_claim_and_a_command_does_not,
             a_process_that_has_ended_is_not_counted,
             more_processes_than_can_be_watched_end_the_claims_for_good)
