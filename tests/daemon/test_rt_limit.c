/*
 * Linux's limit on real-time programs: a bound is claimed only if the programs of the plan cannot
 * reach it, and only once what ran before cannot matter.
 */
#include <stdlib.h>
#include <string.h>

#include "claims_world.h"
#include "daemon/rt_limit.h"
#include "harness.h"

#define SECOND NSEC_PER_SEC
#define MS     NSEC_PER_MS

/*
 * In a second at most ceil(1007 / 20) = 51 jobs of eye are pending for 7 ms each, and
 * ceil(1009 / 20) = 51 jobs of ear for 9 ms each: 51 * 7 + 51 * 9 = 816 ms.
 */
#define DEMAND (816 * MS)

static struct server *server;
static char *text;

static void start_with(const struct plan *plan)
{
    struct config config = claims_plain_config();

    text = claims_text(plan);
    server = claims_start(&config);
    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    claims_give(server, text);
}

static void done(void)
{
    server_free(server);
    free(text);
}

/* After two seconds without a job; a question takes a quarter of one. */
static enum model_rule rule_later(void)
{
    for (int i = 0; i < 8; i++)
        (void)claims_rule(server);
    return claims_rule(server);
}

/* D(w) by trying each offset of the first pending job, in steps of 1 ms. */
static baton_nsec naive_demand(const struct plan_task *task, baton_nsec window)
{
    baton_nsec most = 0;

    for (baton_nsec first = -task->bound + MS; first < task->period; first += MS) {
        baton_nsec sum = 0;

        for (baton_nsec at = first; at < window; at += task->period) {
            baton_nsec begin = at < 0 ? 0 : at;
            baton_nsec end = at + task->bound < window ? at + task->bound : window;

            sum += end - begin;
        }
        most = sum > most ? sum : most;
    }
    return most < window ? most : window;
}

START_TEST(demand_is_never_below_what_jobs_can_be_pending)
{
    for (int period = 1; period <= 40; period += 3) {
        for (int bound = 1; bound <= 60; bound += 7) {
            struct plan_task task = {.period = period * MS, .bound = bound * MS};
            const struct plan plan = {.tasks = &task, .n_tasks = 1};

            for (int window = 1; window <= 100; window += 9)
                ck_assert_int_ge(rt_demand(&plan, -1, window * MS), naive_demand(&task, window * MS));
        }
    }
}
END_TEST

START_TEST(demand_is_of_the_cluster_and_at_most_the_window)
{
    struct plan plan = claims_good_plan();
    struct plan_task tasks[3] = {claims_tasks[0], claims_tasks[1], claims_tasks[0]};

    ck_assert_int_eq(rt_demand(&plan, -1, SECOND), DEMAND);
    ck_assert_int_eq(rt_demand(&plan, 0, SECOND), DEMAND);
    ck_assert_int_eq(rt_demand(&plan, 1, SECOND), 0);
    tasks[1].cpu_cluster = 1;
    tasks[2].bound = -1; /* no bound, so it is not counted: rt_limit_compare() asks if it is real-time */
    plan.tasks = tasks;
    plan.n_tasks = 3;
    ck_assert_int_eq(rt_demand(&plan, 0, SECOND), 51 * 7 * MS);
    ck_assert_int_eq(rt_demand(&plan, 1, SECOND), 51 * 9 * MS);
    tasks[0].bound = SECOND;
    ck_assert_int_eq(rt_demand(&plan, 0, SECOND), SECOND);
    tasks[0].period = 0;
    tasks[0].bound = 1;
    ck_assert_int_eq(rt_demand(&plan, 0, SECOND), SECOND);
}
END_TEST

/* The machine's limit, then that of the programs' group. */
START_TEST(a_plan_that_can_reach_the_limit_is_not_claimed)
{
    struct plan plan = claims_good_plan();

    for (int i = 0; i < 2; i++) {
        struct rt_limit *limit = i ? &claims_world.group_limit : &claims_world.limit;
        const char *field = i ? "cpu.rt_runtime_us" : "sched_rt_runtime_us";
        struct frame frame;

        *limit = (struct rt_limit){.runtime = DEMAND + RT_TICK - 1, .period = SECOND};
        start_with(&plan);
        if (i)
            (void)claims_join(server, "eye", HELLO_TASK, PERIOD);
        claims_expect_unclaimed(server, field, i ? "eye" : "");
        ck_assert(claims_differs(server, field, i ? "eye" : "", &frame));
        ck_assert_str_eq(frame.about_difference.planned, "up to 816 of 1000 ms of a core");
        limit->runtime = 0;
        ck_assert_int_eq(rule_later(), RULE_BASIS);
        *limit = (struct rt_limit){0}; /* -1: no limit */
        ck_assert_int_ne(rule_later(), RULE_BASIS);
        *limit = (struct rt_limit){.runtime = DEMAND + RT_TICK, .period = SECOND};
        ck_assert_int_ne(rule_later(), RULE_BASIS);
        *limit = (struct rt_limit){0};
        done();
    }
}
END_TEST

START_TEST(a_task_at_any_rate_may_not_be_real_time_under_a_limit)
{
    struct plan_task tasks[2] = {claims_tasks[0], claims_tasks[1]};
    struct plan plan = claims_good_plan();

    tasks[1].no_deadline = true;
    tasks[1].deadline = 0;
    tasks[1].bound = -1;
    plan.tasks = tasks;
    claims_world.realtime = true;
    claims_world.limit = (struct rt_limit){.runtime = 950 * MS, .period = SECOND};
    start_with(&plan);
    ck_assert_int_eq(rule_later(), RULE_MET);
    (void)claims_join(server, "ear", HELLO_TASK, PERIOD);
    claims_expect_unclaimed(server, "sched_rt_runtime_us", "");
    claims_world.realtime = false;
    ck_assert_int_ne(claims_rule(server), RULE_BASIS);
    claims_world.realtime = true;
    claims_world.limit = (struct rt_limit){0};
    ck_assert_int_ne(claims_rule(server), RULE_BASIS);
    done();
    claims_world.realtime = false;
}
END_TEST

/*
 * What ran before an idle instant may have used up the limit of the present period: claims return
 * at an idle instant a period later.
 */
START_TEST(claims_return_a_period_of_the_limit_after_an_idle_instant)
{
    struct plan plan = claims_good_plan();
    unsigned eye;
    baton_nsec begin_at;

    claims_world.limit = (struct rt_limit){.runtime = 950 * MS, .period = SECOND};
    start_with(&plan);
    begin_at = claims_world.now_at;
    while (claims_rule(server) == RULE_IDLE)
        ck_assert_int_lt(claims_world.now_at, begin_at + 10 * SECOND);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    ck_assert_int_gt(claims_world.now_at, begin_at + SECOND);
    eye = claims_join(server, "eye", HELLO_TASK, PERIOD);
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    /* a late job may have been real-time all the time, whether its bound was claimed or not */
    claims_say(server, eye,
               &(struct frame){.type = FRAME_LATE,
                               .late = {.flags = LATE_EXCEEDED,
                                        .release_at = (uint64_t)claims_world.now_at - 8 * MS,
                                        .end_at = (uint64_t)claims_world.now_at,
                                        .limit = 7 * MS}});
    begin_at = claims_world.now_at;
    while (claims_world.now_at <= begin_at + SECOND) {
        claims_has_a_job(server, eye);
        ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    }
    claims_has_a_job(server, eye); /* ends, and batond looks within its period */
    server_tick(server, claims_world.now_at += 2 * MS);
    server_tick(server, claims_world.now_at += 2 * MS);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_world.limit.runtime += MS; /* another limit: how much of it is used is unknown */
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    done();
    claims_world.limit = (struct rt_limit){0};
}
END_TEST

HARNESS_MAIN("limit on real-time programs", 30, demand_is_never_below_what_jobs_can_be_pending,
             demand_is_of_the_cluster_and_at_most_the_window, a_plan_that_can_reach_the_limit_is_not_claimed,
             a_task_at_any_rate_may_not_be_real_time_under_a_limit,
             claims_return_a_period_of_the_limit_after_an_idle_instant)
