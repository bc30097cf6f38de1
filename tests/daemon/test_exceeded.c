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

static uint32_t rule_of(uint32_t task)
{
    struct frame answer = claims_ask(server, QUERY_TASK, task);

    ck_assert_int_eq(answer.type, FRAME_ABOUT_TASK);
    return answer.about_task.rule;
}

static void expect(enum model_rule of_eye, enum model_rule of_ear)
{
    ck_assert_uint_eq(rule_of(0), of_eye);
    ck_assert_uint_eq(rule_of(1), of_ear);
}

static void has_a_job(unsigned peer)
{
    claims_job_begins(server, peer, claims_world.now_at);
    claims_job_ends(server, peer);
}

/* A program outside of the plan comes and goes. */
static void disturb(void)
{
    unsigned outsider = claims_join(server, "hog", 0, 0);

    (void)claims_dies(server, outsider);
    ck_assert(!server_has(server, outsider));
}

static void say_late(unsigned peer, baton_nsec release_at, baton_nsec limit)
{
    struct frame late = {.type = FRAME_LATE,
                         .late = {.flags = LATE_EXCEEDED,
                                  .release_at = (uint64_t)release_at,
                                  .end_at = (uint64_t)(release_at + limit + 1),
                                  .limit = (uint64_t)limit}};

    claims_say(server, peer, &late);
}

START_TEST(a_job_that_was_released_before_the_return_is_not_covered)
{
    baton_nsec before_at;
    struct frame about;

    start();
    before_at = claims_world.now_at;
    claims_job_begins(server, eye, before_at);
    claims_job_begins(server, ear, before_at);
    disturb();
    claims_world.now_at += NSEC_PER_MS;
    claims_job_ends(server, ear);
    claims_job_ends(server, eye); /* an idle instant */
    say_late(eye, before_at, claims_tasks[0].bound);
    say_late(eye, claims_world.now_at, claims_tasks[0].bound); /* in the event of the return */
    about = claims_ask(server, QUERY_TASK, 0);
    ck_assert_uint_eq(about.about_task.rule, RULE_MET);
    say_late(eye, before_at, claims_tasks[0].bound); /* reported when the claim was back */
    about = claims_ask(server, QUERY_TASK, 0);
    ck_assert_uint_eq(about.about_task.exceeded, 3);
    ck_assert_uint_eq(about.about_task.unclaimed, 3);
    say_late(eye, claims_world.now_at, claims_tasks[0].bound);
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
    has_a_job(eye);
    claims_job_begins(server, ear, claims_world.now_at);
    expect(RULE_MET, RULE_MET);
    claims_world.now_at += PERIOD;
    has_a_job(eye);
    say_late(eye, claims_world.now_at, claims_tasks[0].bound);
    expect(RULE_MET, RULE_IDLE); /* eye is idle, and above ear */
    claims_job_ends(server, ear);
    has_a_job(ear);
    has_a_job(eye);
    expect(RULE_MET, RULE_MET);
    claims_job_begins(server, ear, claims_world.now_at);
    say_late(eye, before_at, claims_tasks[0].bound); /* it was not claimed */
    expect(RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

HARNESS_MAIN("exceeded", 30, a_job_that_was_released_before_the_return_is_not_covered,
             a_job_beyond_its_claimed_bound_ends_the_claims)
