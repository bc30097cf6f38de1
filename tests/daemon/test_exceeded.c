/* Jobs beyond their bound: which ones count against a claim, and what becomes of the claims. */
#include <stdlib.h>

#include "claims_world.h"
#include "harness.h"

static struct server *server;
static unsigned eye, ear; /* eye is the more urgent one */

static void start(void)
{
    struct config config = claims_plain_config();
    struct plan plan = claims_good_plan();
    char *text = claims_text(&plan);

    claims_world.settles = false;
    claims_world.ranks[0] = 20; /* more programs than cores: eye, ear, then the others */
    claims_world.ranks[1] = 10;
    server = claims_start(&config);
    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    claims_give(server, text);
    eye = claims_join(server, "eye", HELLO_TASK, PERIOD);
    ear = claims_join(server, "ear", HELLO_TASK, PERIOD);
    free(text);
}

START_TEST(a_job_that_was_released_before_the_return_is_not_covered)
{
    baton_nsec before_at;
    struct frame about;

    start();
    before_at = claims_world.now_at;
    claims_job_begins(server, eye, before_at);
    claims_job_begins(server, ear, before_at);
    claims_disturb(server);
    claims_world.now_at += NSEC_PER_MS;
    claims_job_ends(server, ear);
    claims_job_ends(server, eye); /* an idle instant */
    claims_say_late(server, eye, before_at, claims_tasks[0].bound);
    claims_say_late(server, eye, claims_world.now_at, claims_tasks[0].bound); /* in the event of the return */
    about = claims_ask(server, QUERY_TASK, 0);
    ck_assert_uint_eq(about.about_task.rule, RULE_MET);
    claims_say_late(server, eye, before_at, claims_tasks[0].bound); /* reported when the claim was back */
    about = claims_ask(server, QUERY_TASK, 0);
    ck_assert_uint_eq(about.about_task.exceeded, 3);
    ck_assert_uint_eq(about.about_task.unclaimed, 3);
    claims_say_late(server, eye, claims_world.now_at, claims_tasks[0].bound);
    about = claims_ask(server, QUERY_TASK, 0);
    ck_assert_uint_eq(about.about_task.exceeded, 4);
    ck_assert_uint_eq(about.about_task.unclaimed, 3);
    server_free(server);
}
END_TEST

/* Something that batond does not know delayed it, and may delay ear, whose job is pending. */
START_TEST(a_job_beyond_its_claimed_bound_ends_the_claims)
{
    baton_nsec before_at;

    start();
    before_at = claims_world.now_at;
    claims_world.now_at += PERIOD / 2;
    claims_has_a_job(server, eye);
    claims_job_begins(server, ear, claims_world.now_at);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    claims_world.now_at += PERIOD;
    claims_has_a_job(server, eye);
    claims_say_late(server, eye, claims_world.now_at, claims_tasks[0].bound);
    claims_expect_rules(server, RULE_MET, RULE_IDLE); /* eye is idle, and above ear */
    claims_job_ends(server, ear);
    claims_has_a_job(server, ear);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    claims_job_begins(server, ear, claims_world.now_at);
    claims_say_late(server, eye, before_at, claims_tasks[0].bound); /* it was not claimed */
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

HARNESS_MAIN("exceeded", 30, a_job_that_was_released_before_the_return_is_not_covered,
             a_job_beyond_its_claimed_bound_ends_the_claims)
