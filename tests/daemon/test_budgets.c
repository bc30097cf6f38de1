/*
 * Jobs past their budget under the profile `priority` (daemon/budgets.h): 5 ms of engine time in 20
 * ms. tests/daemon/test_lanes.c has the same under tokens.
 */
#include "harness.h"
#include "lanes_scene.h"

#define MS NSEC_PER_MS

static void plan_budget(void)
{
    struct plan_task task = {.name = "greedy",
                             .priority = 50,
                             .gpus = 1,
                             .bound = 10 * MS,
                             .period = 20 * MS,
                             .deadline = 20 * MS,
                             .budget = 5 * MS};
    struct plan plan = {.analysis = "holistic", .profile = "priority", .tasks = &task, .n_tasks = 1};

    ck_assert_int_eq(server_set_plan(scene.server, &plan, "plan", scene.now), 0);
}

/* Its job has used 6 ms of 5; a program outside of the plan has waited since the first. */
static void run_past_budget(enum overrun_mode overrun)
{
    scene_start_priority(overrun);
    plan_budget();
    scene_connect_client(0, "greedy", 20);
    scene_connect_client(1, "other", 0);
    scene_job(0, JOB_SAID, NOW + 20 * MS);
    scene_ask(0, EXECUTION(0));
    ck_assert(scene_has(0, EXECUTION(0)));
    scene_wait_until(NOW + 1 * MS);
    scene_ask(1, EXECUTION(0));
    scene_wait_until(NOW + 5 * MS);
    ck_assert(!scene_has(1, EXECUTION(0)));
    ck_assert(!scene_is_asked_to_yield(0, EXECUTION(0)));
    ck_assert_uint_eq(scene.overruns, 0);
    scene_wait_until(NOW + 6 * MS);
    ck_assert_uint_eq(scene.overruns, overrun != OVERRUN_OFF);
    ck_assert_uint_eq(scene.server->peers[0]->overruns, overrun != OVERRUN_OFF); /* rule `overrun` */
}

START_TEST(a_demoted_job_gives_way_to_programs_outside_of_the_plan_until_it_ends)
{
    run_past_budget(OVERRUN_DEMOTE);
    ck_assert(scene_is_asked_to_yield(0, EXECUTION(0)));
    ck_assert(!scene_has(1, EXECUTION(0))); /* never by force */
    scene_give(0, EXECUTION(0), true);
    ck_assert(scene_has(1, EXECUTION(0)));
    ck_assert(!scene_has(0, EXECUTION(0)));
    scene_give(1, EXECUTION(0), true);
    ck_assert(scene_has(1, EXECUTION(0))); /* the other one goes on */
    scene_give(1, EXECUTION(0), false);
    ck_assert(scene_has(0, EXECUTION(0)));
    scene_give(0, EXECUTION(0), false);
    scene_job(0, JOB_ENDS, 0);
    scene_job(0, JOB_SAID, NOW + 40 * MS); /* the next job has its rank and its budget */
    scene_ask(1, EXECUTION(0));
    scene_ask(0, EXECUTION(0));
    ck_assert(scene_is_asked_to_yield(1, EXECUTION(0)));
    scene_give(1, EXECUTION(0), true);
    ck_assert(scene_has(0, EXECUTION(0)));
    server_free(scene.server);
}
END_TEST

START_TEST(a_throttled_job_has_its_budget_in_each_period)
{
    run_past_budget(OVERRUN_THROTTLE);
    ck_assert(scene_is_asked_to_yield(0, EXECUTION(0)));
    scene_give(0, EXECUTION(0), true); /* after 6 ms: 1 of the next 5 is used */
    ck_assert(!scene_has(0, EXECUTION(0)));
    ck_assert(scene_has(1, EXECUTION(0)));
    scene_give(1, EXECUTION(0), false);
    ck_assert(!scene_has(0, EXECUTION(0))); /* a free engine does not help it */
    scene_ask(0, EXECUTION(1));             /* nor another one */
    ck_assert(!scene_has(0, EXECUTION(1)));
    scene_wait_until(NOW + 19 * MS);
    ck_assert(!scene_has(0, EXECUTION(0)));
    scene_wait_until(NOW + 20 * MS);
    ck_assert(scene_has(0, EXECUTION(0)));
    ck_assert(scene_has(0, EXECUTION(1)));
    scene_give(0, EXECUTION(1), false);
    scene_wait_until(NOW + 24 * MS);
    ck_assert_uint_eq(scene.overruns, 1);
    scene_wait_until(NOW + 25 * MS);
    ck_assert_uint_eq(scene.overruns, 2);
    server_free(scene.server);
}
END_TEST

/* Alone on its GPU it is throttled as well. */
START_TEST(a_throttled_job_gives_way_to_no_job_in_particular)
{
    scene_start_priority(OVERRUN_THROTTLE);
    plan_budget();
    scene_connect_client(0, "greedy", 20);
    scene_job(0, JOB_SAID, NOW + 20 * MS);
    scene_ask(0, EXECUTION(2));
    scene_wait_until(NOW + 6 * MS);
    ck_assert(scene_is_asked_to_yield(0, EXECUTION(2)));
    scene_give(0, EXECUTION(2), true);
    ck_assert(!scene_has(0, EXECUTION(2)));
    scene_job(0, JOB_ENDS, 0); /* refused while it waits: the job goes on */
    scene_job(0, JOB_SAID, NOW + 30 * MS);
    ck_assert(scene_has(0, EXECUTION(2))); /* a new job, a new budget */
    server_free(scene.server);
}
END_TEST

/* The kernel of the other program waits until the GPU has drained: nothing of it is touched. */
START_TEST(an_ended_job_gives_its_gpu_back_when_it_has_drained)
{
    run_past_budget(OVERRUN_END);
    ck_assert_int_eq(scene.ended, 0);
    ck_assert(!scene_has(1, EXECUTION(0)));
    (void)server_lost(scene.server, 0, scene.now);
    scene_hear();
    ck_assert(!scene_has(1, EXECUTION(0)));
    server_exited(scene.server, 0, scene.now);
    scene_hear();
    ck_assert(scene_has(1, EXECUTION(0)));
    server_free(scene.server);
}
END_TEST

START_TEST(engine_time_that_is_not_limited_is_not_measured)
{
    run_past_budget(OVERRUN_OFF);
    ck_assert(!scene_is_asked_to_yield(0, EXECUTION(0)));
    server_free(scene.server);
}
END_TEST

/* A throttled job that dies leaves nothing behind. */
START_TEST(a_throttled_job_may_die)
{
    run_past_budget(OVERRUN_THROTTLE);
    scene_give(0, EXECUTION(0), true);
    scene_give(1, EXECUTION(0), false);
    (void)server_lost(scene.server, 0, scene.now); /* it holds nothing, so it is forgotten at once */
    scene_hear();
    scene_wait_until(NOW + 40 * MS);
    scene_ask(1, EXECUTION(0));
    ck_assert(scene_has(1, EXECUTION(0)));
    server_free(scene.server);
}
END_TEST

START_TEST(what_is_not_configured_follows_the_profile)
{
    scene_start_priority(OVERRUN_BY_PROFILE);
    ck_assert_int_eq(scene.server->config.overrun, OVERRUN_OFF);
    server_free(scene.server);
    scene_start(1, 1, OVERRUN_BY_PROFILE);
    ck_assert_int_eq(scene.server->config.overrun, OVERRUN_DEMOTE);
    server_free(scene.server);
}
END_TEST

HARNESS_MAIN("budgets", 30, what_is_not_configured_follows_the_profile,
             a_demoted_job_gives_way_to_programs_outside_of_the_plan_until_it_ends,
             a_throttled_job_has_its_budget_in_each_period, a_throttled_job_gives_way_to_no_job_in_particular,
             an_ended_job_gives_its_gpu_back_when_it_has_drained,
             engine_time_that_is_not_limited_is_not_measured, a_throttled_job_may_die)
