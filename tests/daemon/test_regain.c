/* A lost claim returns at an idle instant, and covers jobs that are released after it. */
#include <stdlib.h>
#include <string.h>

#include "claims_world.h"
#include "harness.h"

static struct server *server;
static unsigned eye, ear;        /* eye is the more urgent one */
static uint32_t used_by_clients; /* HELLO_USED: they count engine time themselves */

static void start_with(const struct plan *plan)
{
    struct config config = claims_plain_config();
    char *text = claims_text(plan);

    claims_world.settles = false;
    claims_world.ranks[0] = 20; /* more programs than cores: eye, ear, then the others */
    claims_world.ranks[1] = 10;
    claims_world.ranks[2] = 20; /* eye, when it is started anew */
    server = claims_start(&config);
    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    claims_give(server, text);
    eye = claims_join(server, "eye", HELLO_TASK, PERIOD);
    ear = claims_join(server, "ear", HELLO_TASK | used_by_clients, PERIOD);
    free(text);
}

static void start(void)
{
    struct plan plan = claims_good_plan();

    start_with(&plan);
}

START_TEST(a_delayed_job_that_is_pending_when_the_outsider_leaves_keeps_the_claim_away)
{
    unsigned outsider;
    baton_nsec release_at;

    start();
    claims_has_a_job(server, ear);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    outsider = claims_join(server, "hog", 0, 0);
    claims_expect_rules(server, RULE_OUTSIDER, RULE_OUTSIDER);
    release_at = claims_world.now_at;
    claims_job_begins(server, eye, release_at);
    (void)claims_dies(server, outsider);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    claims_say_late(server, eye, release_at, claims_tasks[0].bound);
    claims_job_ends(server, eye);
    ck_assert_uint_eq(claims_ask(server, QUERY_TASK, 0).about_task.exceeded, 1);
    ck_assert_uint_eq(claims_ask(server, QUERY_TASK, 0).about_task.unclaimed, 1);
    claims_expect_rules(server, RULE_IDLE,
                        RULE_IDLE); /* it ended after its next release, which may be pending */
    claims_has_a_job(server, ear);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

/* A claim cannot return before the pending job has ended, whatever else the clients say. */
START_TEST(the_system_is_not_asked_about_threads_before_a_claim_can_return)
{
    start();
    claims_has_a_job(server, ear);
    claims_job_begins(server, eye, claims_world.now_at);
    claims_disturb(server);
    claims_world.asked = 0;
    for (int i = 0; i < 10; i++) {
        claims_has_a_job(server, ear);
        claims_world.now_at += NSEC_PER_MS;
        server_tick(server, claims_world.now_at);
    }
    ck_assert_uint_eq(claims_world.asked, 0);
    claims_job_ends(server, eye);
    ck_assert_uint_gt(claims_world.asked, 0);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

/* No question was asked meanwhile. */
START_TEST(an_outsider_that_came_and_went_between_two_questions_is_remembered)
{
    start();
    claims_job_begins(server, eye, claims_world.now_at);
    claims_disturb(server);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    server_free(server);
}
END_TEST

/* What is below does not delay, but for a piece; what is above does. */
START_TEST(under_fixed_priorities_a_task_waits_for_itself_and_those_above)
{
    start();
    claims_job_begins(server, eye, claims_world.now_at);
    claims_job_begins(server, ear, claims_world.now_at);
    claims_disturb(server);
    claims_job_ends(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_IDLE);
    claims_job_begins(server, eye, claims_world.now_at);
    claims_job_ends(server, ear);
    claims_expect_rules(server, RULE_MET, RULE_IDLE);
    claims_job_ends(server, eye);
    claims_has_a_job(server, ear);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_MET);

    claims_job_begins(server, eye, claims_world.now_at);
    claims_disturb(server);
    claims_has_a_job(server, ear);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    server_free(server);
}
END_TEST

START_TEST(a_release_that_no_program_has_begun_yet_may_be_pending)
{
    start();
    claims_disturb(server);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE); /* no job was ever seen */
    claims_has_a_job(server, eye);
    claims_world.now_at += PERIOD - 1; /* the latest instant at which eye has no further release */
    claims_job_begins(server, ear, claims_world.now_at);
    claims_job_ends(server, ear);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    claims_disturb(server);
    claims_has_a_job(server, eye);
    claims_world.now_at += PERIOD; /* eye's next release is due */
    claims_disturb(server);
    claims_has_a_job(server, ear);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    server_free(server);
}
END_TEST

START_TEST(an_engine_that_is_used_outside_of_a_job_is_not_idle)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.engine = ENGINE_EXECUTION, .epoch = 1}};
    struct frame request = {.type = FRAME_REQUEST, .request = {.epoch = 2}};
    struct frame release = {.type = FRAME_RELEASE, .release = {.epoch = 2}};

    start();
    memcpy(attach.attach.device, GPU, sizeof GPU);
    claims_say(server, eye, &attach);
    claims_has_a_job(server, ear);
    claims_say(server, eye, &request);
    claims_disturb(server);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    claims_has_a_job(server, ear);
    claims_say(server, eye, &release);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

/* The GPU goes on with the work of a killed process, for longer than any piece of the plan. */
START_TEST(a_killed_program_whose_work_drains_ends_the_claim)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.engine = ENGINE_EXECUTION, .epoch = 1}};
    struct frame request = {.type = FRAME_REQUEST, .request = {.epoch = 2}};

    start();
    memcpy(attach.attach.device, GPU, sizeof GPU);
    claims_say(server, ear, &attach);
    claims_job_begins(server, eye, claims_world.now_at);
    claims_job_begins(server, ear, claims_world.now_at);
    claims_say(server, ear, &request);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    ck_assert(claims_dies(server, ear));
    claims_expect_rules(server, RULE_DRAINING, RULE_DRAINING);
    server_exited(server, ear, claims_world.now_at);
    ck_assert(!server_has(server, ear));
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    claims_job_ends(server, eye);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

/* A bound counts one piece of a less urgent task: a hold that lasts longer ends the claims. */
START_TEST(a_hold_that_outlasts_its_piece_ends_the_claims)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.epoch = 1}};
    struct frame request = {.type = FRAME_REQUEST, .request = {.epoch = 2}};
    struct frame release = {.type = FRAME_RELEASE, .release = {.epoch = 2}};
    const struct plan_task was = claims_tasks[1];

    used_by_clients = HELLO_USED; /* and ear has counted none */
    for (int i = 0; i < 4; i++) {
        bool copies = i & 1; /* no piece of a kernel: the engine time of a job */
        bool asked = i & 2;

        claims_tasks[1].piece = (copies ? 1 : 600) * NSEC_PER_MS;
        claims_tasks[1].budget = 600 * NSEC_PER_MS;
        attach.attach.engine = copies ? ENGINE_COPY_IN : ENGINE_EXECUTION;
        start();
        memcpy(attach.attach.device, GPU, sizeof GPU);
        claims_say(server, eye, &attach);
        claims_say(server, ear, &attach);
        claims_job_begins(server, ear, claims_world.now_at);
        claims_say(server, ear, &request);
        claims_job_begins(server, eye, claims_world.now_at);
        claims_say(server, eye, &request);
        claims_expect_rules(server, RULE_MET, RULE_MET); /* half a second later */
        if (asked)
            claims_expect_rules(server, RULE_LATE, RULE_LATE);
        else
            claims_world.now_at += NSEC_PER_SEC / 4;
        claims_say(server, ear, &release);
        claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
        claims_say(server, eye, &release);
        claims_job_ends(server, eye);
        claims_job_ends(server, ear);
        claims_world.now_at += PERIOD;
        claims_has_a_job(server, ear);
        claims_has_a_job(server, eye);
        claims_expect_rules(server, RULE_MET, RULE_MET);
        server_free(server);
    }
    claims_tasks[1] = was;
    used_by_clients = 0;
}
END_TEST

/*
 * The holder was asked to yield and goes on. The program that waited is killed and started anew:
 * all tasks above the holder are idle then.
 */
START_TEST(a_holder_that_does_not_yield_in_time_ends_the_claims_until_it_does)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.engine = ENGINE_EXECUTION, .epoch = 1}};
    struct frame request = {.type = FRAME_REQUEST, .request = {.epoch = 2}};
    struct frame release = {.type = FRAME_RELEASE, .release = {.epoch = 2}};
    baton_nsec asked_at;

    start();
    memcpy(attach.attach.device, GPU, sizeof GPU);
    claims_say(server, eye, &attach);
    claims_say(server, ear, &attach);
    claims_job_begins(server, ear, claims_world.now_at);
    claims_say(server, ear, &request);
    claims_job_begins(server, eye, claims_world.now_at);
    claims_say(server, eye, &request);
    asked_at = claims_world.now_at;
    claims_expect_rules(server, RULE_MET, RULE_MET);
    claims_world.now_at = asked_at + NSEC_PER_SEC - 1;
    server_tick(server, claims_world.now_at);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_tick(server, claims_world.now_at); /* half a second later */
    claims_expect_rules(server, RULE_LATE, RULE_LATE);
    (void)claims_dies(server, eye);
    eye = claims_join(server, "eye", HELLO_TASK, PERIOD);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_LATE, RULE_LATE);
    claims_say(server, ear, &release);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_IDLE);
    claims_job_ends(server, ear);
    claims_has_a_job(server, ear);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

/* It holds two engines to its end, longer than any piece, and is never asked to yield. */
START_TEST(a_batch_within_a_job_ends_the_claims_until_it_is_over)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.engine = ENGINE_EXECUTION, .epoch = 1}};
    struct frame request = {.type = FRAME_REQUEST, .request = {.epoch = 2}};
    struct frame release = {.type = FRAME_RELEASE, .release = {.epoch = 2}};
    struct frame batch = {.type = FRAME_GROUP, .group = {.leases = 3, .epoch = 3}};
    struct frame over = {.type = FRAME_GROUP_RELEASE, .group_release = {.leases = 1, .epoch = 3}};

    start();
    memcpy(attach.attach.device, GPU, sizeof GPU);
    claims_say(server, eye, &attach);
    claims_say(server, ear, &attach);
    attach.attach.index = 1;
    attach.attach.engine = ENGINE_COPY_IN;
    claims_say(server, ear, &attach);
    claims_has_a_job(server, eye);
    claims_job_begins(server, eye, claims_world.now_at);
    claims_say(server, eye, &request);
    claims_job_begins(server, ear, claims_world.now_at);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    claims_say(server, ear, &batch);
    claims_expect_rules(server, RULE_BATCH, RULE_BATCH); /* it waits, and keeps the copy engine from others */
    claims_say(server, eye, &release);
    claims_job_ends(server, eye);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_BATCH, RULE_BATCH); /* all tasks above are idle */
    claims_say(server, ear, &over);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_BATCH, RULE_BATCH); /* it still holds the copy engine */
    over.group_release.leases = 2;
    claims_say(server, ear, &over);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_IDLE);
    claims_job_ends(server, ear);
    claims_has_a_job(server, ear);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

/* Its jobs ran before this daemon knew the program, and one of them may be pending. */
START_TEST(a_program_that_comes_back_to_the_daemon_ends_the_claim)
{
    start();
    (void)claims_dies(server, ear);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET,
                        RULE_MET); /* a program that leaves between two jobs breaks no rule */
    ear = claims_join(server, "ear", HELLO_TASK | HELLO_BEGAN, PERIOD);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_IDLE);
    claims_has_a_job(server, ear);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

/* It may be a batch, and it is not asked to yield: its engine is blocked until its release. */
START_TEST(a_hold_from_before_the_connection_ends_the_claims_until_it_is_over)
{
    struct frame attach = {.type = FRAME_ATTACH,
                           .attach = {.engine = ENGINE_EXECUTION, .epoch = 1, .busy = 1}};
    struct frame release = {.type = FRAME_RELEASE, .release = {.epoch = 1}};

    start();
    memcpy(attach.attach.device, GPU, sizeof GPU);
    (void)claims_dies(server, ear);
    ear = claims_join(server, "ear", HELLO_TASK | HELLO_BEGAN, PERIOD);
    claims_say(server, ear, &attach);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_DRAINING, RULE_DRAINING);
    claims_say(server, ear, &release);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_IDLE);
    claims_has_a_job(server, ear);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

/* Kernels that a program ran whole are in its page, whether or not an event followed. */
START_TEST(what_a_program_did_last_is_seen_when_it_leaves)
{
    start();
    claims_job_begins(server, ear, claims_world.now_at);
    claims_world.pages[eye]->counters[PAGE_COUNTER_UNSLICED_DRIVER] = 1;
    (void)claims_dies(server, eye);
    ck_assert(!server_has(server, eye));
    claims_expect_rules(server, RULE_MET, RULE_IDLE); /* no job of eye is left */
    server_free(server);
}
END_TEST

/* A task without a deadline is below all others, and always has work. */
START_TEST(a_task_without_a_deadline_need_not_be_idle)
{
    struct plan_task tasks[2] = {claims_tasks[0], claims_tasks[1]};
    struct plan plan = claims_good_plan();

    tasks[1].no_deadline = true;
    tasks[1].period = tasks[1].deadline = 0;
    tasks[1].bound = -1;
    plan.tasks = tasks;
    start_with(&plan);
    claims_job_begins(server, ear, claims_world.now_at);
    claims_disturb(server);
    claims_has_a_job(server, eye);
    claims_expect_rules(server, RULE_MET, RULE_NO_BOUND);
    server_tick(server, claims_world.now_at += NSEC_PER_SEC);
    ck_assert_int_gt(server_next_at(server), claims_world.now_at + PERIOD); /* nothing is looked for */
    server_free(server);
}
END_TEST

/* No event comes at an idle instant: batond looks again by itself. */
START_TEST(batond_looks_for_an_idle_instant_by_itself)
{
    start();
    claims_job_begins(server, eye, claims_world.now_at);
    claims_job_begins(server, ear, claims_world.now_at);
    claims_disturb(server);
    claims_world.pages[eye]->job_mark++;
    claims_world.pages[ear]->job_mark++;
    ck_assert_int_lt(server_next_at(server), claims_world.now_at + PERIOD / 2);
    claims_world.now_at = server_next_at(server);
    server_tick(server, claims_world.now_at);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    server_free(server);
}
END_TEST

HARNESS_MAIN("regain", 30, the_system_is_not_asked_about_threads_before_a_claim_can_return,
             a_delayed_job_that_is_pending_when_the_outsider_leaves_keeps_the_claim_away,
             an_outsider_that_came_and_went_between_two_questions_is_remembered,
             under_fixed_priorities_a_task_waits_for_itself_and_those_above,
             a_release_that_no_program_has_begun_yet_may_be_pending,
             an_engine_that_is_used_outside_of_a_job_is_not_idle,
             a_killed_program_whose_work_drains_ends_the_claim,
             a_hold_that_outlasts_its_piece_ends_the_claims,
             a_holder_that_does_not_yield_in_time_ends_the_claims_until_it_does,
             a_batch_within_a_job_ends_the_claims_until_it_is_over,
             a_program_that_comes_back_to_the_daemon_ends_the_claim,
             a_hold_from_before_the_connection_ends_the_claims_until_it_is_over,
             what_a_program_did_last_is_seen_when_it_leaves, a_task_without_a_deadline_need_not_be_idle,
             batond_looks_for_an_idle_instant_by_itself)
