/*
 * Jobs past their budget under the profile `priority` (daemon/budgets.h): 5 ms of engine time in 20
 * ms. tests/daemon/test_lanes.c has the same under tokens.
 */
#include "harness.h"
#include "lanes_scene.h"

#define MS NSEC_PER_MS

static void plan_budget(void)
{
    struct plan_task tasks[] = {{.name = "greedy",
                                 .priority = 50,
                                 .gpus = 1,
                                 .bound = 10 * MS,
                                 .period = 20 * MS,
                                 .deadline = 20 * MS,
                                 .budget = 5 * MS},
                                {.name = "mate", .priority = 20, .period = 20 * MS, .deadline = 20 * MS},
                                {.name = "background", .priority = 10, .no_deadline = true}};
    struct plan plan = {.analysis = "holistic", .profile = "priority", .tasks = tasks, .n_tasks = 3};

    ck_assert_int_eq(server_set_plan(scene.server, &plan, "plan", scene.now), 0);
}

/* Its job has used 6 ms of 5; the other program has waited since the first. */
static void run_past_budget_beside(enum overrun_mode overrun, const char *other)
{
    scene_start_priority(overrun);
    plan_budget();
    scene_connect_client(0, "greedy", 20);
    scene_connect_client(1, other, 0);
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

static void run_past_budget(enum overrun_mode overrun)
{
    run_past_budget_beside(overrun, "other");
}

START_TEST(a_demoted_job_gives_way_to_every_task_with_a_deadline_until_it_ends)
{
    run_past_budget_beside(OVERRUN_DEMOTE, "mate");
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

/* Its frame is late, but the programs that it would wait for have no deadline. */
START_TEST(a_demoted_job_does_not_wait_for_programs_without_a_deadline)
{
    static const char *const others[] = {"background", "other"};

    for (size_t i = 0; i < 2; i++) {
        run_past_budget_beside(OVERRUN_DEMOTE, others[i]);
        ck_assert(!scene_is_asked_to_yield(0, EXECUTION(0)));
        scene_give(0, EXECUTION(0), true);
        ck_assert(scene_has(0, EXECUTION(0)));
        scene_give(0, EXECUTION(0), false);
        ck_assert(scene_has(1, EXECUTION(0)));
        scene_ask(0, EXECUTION(0));
        ck_assert(scene_is_asked_to_yield(1, EXECUTION(0)));
        server_free(scene.server);
    }
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

/*
 * A program may announce any period and any release: its budget still comes once in a period of the
 * plan, and the instant is not searched for.
 */
START_TEST(a_budget_comes_once_in_a_period_of_the_plan)
{
    for (int tokens = 0; tokens < 2; tokens++) {
        if (tokens)
            scene_start(1, 1, OVERRUN_THROTTLE);
        else
            scene_start_priority(OVERRUN_THROTTLE);
        plan_budget();
        scene_connect_client(0, "greedy", 20);
        scene.server->peers[0]->hello.period = 1;
        scene.server->peers[0]->hello.deadline = (uint64_t)(20 * MS);
        scene_job(0, JOB_SAID, 40 * MS); /* released many periods before now */
        scene_ask(0, EXECUTION(0));
        scene_wait_until(NOW + 6 * MS);
        ck_assert(scene_is_asked_to_yield(0, EXECUTION(0)));
        scene_give(0, EXECUTION(0), true);
        scene_wait_until(NOW + 20 * MS - 1);
        ck_assert(!scene_has(0, EXECUTION(0)));
        scene_wait_until(NOW + 20 * MS);
        ck_assert(scene_has(0, EXECUTION(0)));
        server_free(scene.server);
    }
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

/* ---- clients that count their engine time ---- */

START_TEST(a_plan_demotes_unless_another_choice_is_configured)
{
    struct config config;

    config_init(&config);
    ck_assert_int_eq(config.overrun, OVERRUN_DEMOTE); /* whatever the profile */
}
END_TEST

/* Three clients: a task above, the task with a budget of 5 ms, a task below. */
enum { URGENT, GREEDY, OTHER };

static void start_counting(enum overrun_mode overrun, bool planned)
{
    struct plan_task tasks[] = {
        {.name = "urgent", .priority = 60, .gpus = 1, .bound = -1, .period = 20 * MS},
        {.name = "greedy", .priority = 50, .gpus = 1, .bound = -1, .period = 100 * MS, .budget = 5 * MS},
        {.name = "mate", .priority = 20, .gpus = 1, .bound = -1, .period = 100 * MS}};
    struct plan plan = {.analysis = "holistic", .profile = "priority", .tasks = tasks, .n_tasks = 3};

    scene_start_priority(overrun);
    if (planned)
        ck_assert_int_eq(server_set_plan(scene.server, &plan, "plan", scene.now), 0);
    scene_connect_counting(URGENT, "urgent", 20);
    scene_connect_counting(GREEDY, "greedy", 100);
    scene_connect_counting(OTHER, "mate", 0);
}

/* The urgent task takes the engine at the holder's border and gives it back after a millisecond. */
static void preempt(void)
{
    scene_ask(URGENT, EXECUTION(0));
    ck_assert(scene_is_asked_to_yield(GREEDY, EXECUTION(0)));
    scene_give(GREEDY, EXECUTION(0), true);
    ck_assert(scene_has(URGENT, EXECUTION(0)));
    scene_wait_until(scene.now + 1 * MS);
    scene_give(URGENT, EXECUTION(0), false);
    ck_assert(scene_has(GREEDY, EXECUTION(0))); /* not the other program, which waits, too */
}

/*
 * 20 pieces of 0.25 ms are 5 ms of engine time, the whole budget. The client pauses for 0.75 ms
 * before each piece, so that it holds the engine for 20 ms. It is preempted after every second
 * piece.
 */
static void run_within_budget(void)
{
    scene_job(GREEDY, JOB_SAID, NOW + 100 * MS);
    scene_ask(GREEDY, EXECUTION(0));
    scene_ask(OTHER, EXECUTION(0));
    for (unsigned piece = 0; piece < 20; piece++) {
        scene_wait_until(scene.now + 1 * MS);
        scene_use(GREEDY, MS / 4);
        if (piece % 2)
            preempt();
        ck_assert(scene_has(GREEDY, EXECUTION(0)));
        ck_assert(!scene_is_asked_to_yield(GREEDY, EXECUTION(0)));
    }
    scene_wait_until(scene.now + 10 * MS); /* it is not scheduled by Linux before it gives back */
    ck_assert(!scene_is_asked_to_yield(GREEDY, EXECUTION(0)));
    ck_assert_uint_eq(scene.overruns, 0);
    ck_assert_uint_eq(scene.server->peers[GREEDY]->overruns, 0);
}

START_TEST(a_job_within_its_budget_is_not_demoted_however_long_it_holds)
{
    start_counting(OVERRUN_DEMOTE, true);
    run_within_budget();
    scene_give(GREEDY, EXECUTION(0), false);
    ck_assert(scene_has(OTHER, EXECUTION(0)));
    scene_job(GREEDY, JOB_ENDS, 0);
    ck_assert_uint_eq(scene.overruns, 0);
    server_free(scene.server);
}
END_TEST

/* The same job with one piece more. No event comes: batond looks by itself. */
START_TEST(a_job_past_its_budget_is_demoted)
{
    start_counting(OVERRUN_DEMOTE, true);
    run_within_budget();
    scene_use(GREEDY, 1);
    scene_wait_until(scene.now + 2 * SCHED_LOOK_NS);
    ck_assert_uint_eq(scene.overruns, 1);
    ck_assert(scene_is_asked_to_yield(GREEDY, EXECUTION(0)));
    scene_give(GREEDY, EXECUTION(0), true);
    ck_assert(scene_has(OTHER, EXECUTION(0)));
    server_free(scene.server);
}
END_TEST

/* A border tells more than the clock: what has just ended is counted before anything is granted. */
START_TEST(engine_time_is_looked_at_before_a_border_is_granted_again)
{
    start_counting(OVERRUN_DEMOTE, true);
    scene_job(GREEDY, JOB_SAID, NOW + 100 * MS);
    scene_ask(GREEDY, EXECUTION(0));
    scene_ask(OTHER, EXECUTION(0));
    scene_use(GREEDY, 5 * MS + 1);
    scene_give(GREEDY, EXECUTION(0), true);
    ck_assert_uint_eq(scene.overruns, 1);
    ck_assert(scene_has(OTHER, EXECUTION(0)));
    server_free(scene.server);
}
END_TEST

START_TEST(without_a_plan_no_job_is_demoted_or_reported)
{
    start_counting(OVERRUN_DEMOTE, false);
    ck_assert_uint_eq(scene.server->peers[GREEDY]->terms.flags & PLAN_JOBS, 0);
    ck_assert(!scene.server->peers[GREEDY]->reports_jobs);
    scene_job(GREEDY, JOB_SAID, NOW + 100 * MS);
    scene_ask(GREEDY, EXECUTION(0));
    scene_use(GREEDY, 90 * MS);
    scene_wait_until(NOW + 90 * MS);
    scene_give(GREEDY, EXECUTION(0), true);
    ck_assert(scene_has(GREEDY, EXECUTION(0)));
    ck_assert_uint_eq(scene.overruns, 0);
    server_free(scene.server);
}
END_TEST

/*
 * Jobs are reported where they have budgets: of the task that has one, unless it is switched off.
 */
START_TEST(a_configured_choice_replaces_the_default)
{
    static const enum overrun_mode modes[] = {OVERRUN_OFF, OVERRUN_THROTTLE, OVERRUN_END};

    for (unsigned i = 0; i < 3; i++) {
        bool off = modes[i] == OVERRUN_OFF;

        start_counting(modes[i], true);
        ck_assert_uint_eq((scene.server->peers[GREEDY]->terms.flags & PLAN_JOBS) != 0, !off);
        ck_assert_uint_eq(scene.server->peers[URGENT]->terms.flags & PLAN_JOBS, 0);
        run_within_budget();
        scene_use(GREEDY, 1 * MS);
        scene_wait_until(scene.now + 2 * SCHED_LOOK_NS);
        ck_assert_uint_eq(scene.overruns, !off);
        ck_assert_uint_eq(scene_is_asked_to_yield(GREEDY, EXECUTION(0)), modes[i] == OVERRUN_THROTTLE);
        ck_assert_int_eq(scene.ended, modes[i] == OVERRUN_END ? GREEDY : -1);
        server_free(scene.server);
    }
}
END_TEST

/*
 * A kernel of the last job has 3 of its 5 ms left when the next job begins. It ends, and the next
 * job uses its own 5 ms: 8 ms in all, and not one more.
 */
START_TEST(a_command_that_runs_into_the_next_job_brings_its_budget_along)
{
    start_counting(OVERRUN_DEMOTE, true);
    scene_job(GREEDY, JOB_SAID, NOW + 100 * MS);
    scene_ask(GREEDY, EXECUTION(0));
    scene_wait_until(NOW + 2 * MS);
    scene_use(GREEDY, 2 * MS);
    scene_job(GREEDY, JOB_ENDS, 0);
    scene_job(GREEDY, JOB_SAID, NOW + 200 * MS);
    scene_use(GREEDY, 8 * MS);
    scene_wait_until(NOW + 20 * MS);
    ck_assert_uint_eq(scene.overruns, 0);
    scene_use(GREEDY, 1);
    scene_wait_until(NOW + 22 * MS);
    ck_assert_uint_eq(scene.overruns, 1);
    server_free(scene.server);
}
END_TEST

/* A lease that is kept idle between jobs brings nothing along, and batond need not look. */
START_TEST(an_idle_lease_brings_no_budget_along)
{
    start_counting(OVERRUN_DEMOTE, true);
    scene_job(GREEDY, JOB_SAID, NOW + 100 * MS);
    scene_ask(GREEDY, EXECUTION(0));
    scene_use(GREEDY, 2 * MS);
    scene_wait_until(NOW + 2 * MS);
    scene_end(GREEDY, EXECUTION(0));
    ck_assert_int_eq(lease_word_state(atomic_load(&scene.pages[GREEDY]->leases[EXECUTION(0)].word)),
                     LEASE_STATE_IDLE);
    scene_job(GREEDY, JOB_ENDS, 0);
    scene_wait_until(NOW + 90 * MS);
    ck_assert_int_eq(sched_core_next_tick(scene.server->core, scene.now), NSEC_MAX);
    scene_job(GREEDY, JOB_SAID, NOW + 200 * MS);
    scene_use(GREEDY, 5 * MS + 1);
    scene_wait_until(NOW + 100 * MS);
    ck_assert_uint_eq(scene.overruns, 1);
    server_free(scene.server);
}
END_TEST

/*
 * A client that does not count has kept a lease since its start: it does not use the first budget.
 */
START_TEST(a_lease_kept_since_start_up_is_not_charged)
{
    scene_start_priority(OVERRUN_DEMOTE);
    plan_budget();
    scene_connect_client(0, "greedy", 20);
    scene_ask(0, EXECUTION(0));
    scene_end(0, EXECUTION(0));
    scene_job(0, JOB_SAID, NOW + 20 * MS);
    scene_wait_until(NOW + 15 * MS);
    ck_assert_uint_eq(scene.overruns, 0);
    server_free(scene.server);
}
END_TEST

/*
 * Under tokens a program outside of the plan says that a job begins, and sleeps with the token. A
 * task of the plan does not wait for it for ever. Another task would.
 */
START_TEST(a_program_outside_of_the_plan_cannot_keep_a_token)
{
    static const struct {
        const char *holder, *waiter;
        bool planned, keeps;
    } cases[] = {
        {"other", "greedy", true, false}, {"greedy", "other", true, true}, {"other", "greedy", false, true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene_start(1, 1, OVERRUN_DEMOTE);
        if (cases[i].planned)
            plan_budget();
        scene_connect_client(0, cases[i].holder, 20);
        scene_connect_client(1, cases[i].waiter, 20);
        scene_job(0, JOB_SAID, NOW + 20 * MS);
        scene_ask(0, EXECUTION(0));
        scene_job(1, JOB_SAID, NOW + 20 * MS);
        scene_ask(1, EXECUTION(0));
        scene_wait_until(NOW + 200 * MS);
        ck_assert(!scene_has(1, EXECUTION(0))); /* the engine is never taken */
        scene_give(0, EXECUTION(0), false);
        scene_wait_until(NOW + 400 * MS);
        ck_assert_int_eq(scene_has(1, EXECUTION(0)), !cases[i].keeps);
        scene_job(0, JOB_ENDS, 0);
        ck_assert(scene_has(1, EXECUTION(0)));
        server_free(scene.server);
    }
}
END_TEST

HARNESS_MAIN("budgets", 30, a_program_outside_of_the_plan_cannot_keep_a_token,
             a_plan_demotes_unless_another_choice_is_configured,
             a_job_within_its_budget_is_not_demoted_however_long_it_holds, a_job_past_its_budget_is_demoted,
             engine_time_is_looked_at_before_a_border_is_granted_again,
             without_a_plan_no_job_is_demoted_or_reported, a_configured_choice_replaces_the_default,
             a_command_that_runs_into_the_next_job_brings_its_budget_along,
             an_idle_lease_brings_no_budget_along, a_lease_kept_since_start_up_is_not_charged,
             a_demoted_job_gives_way_to_every_task_with_a_deadline_until_it_ends,
             a_demoted_job_does_not_wait_for_programs_without_a_deadline,
             a_throttled_job_has_its_budget_in_each_period, a_throttled_job_gives_way_to_no_job_in_particular,
             a_budget_comes_once_in_a_period_of_the_plan, an_ended_job_gives_its_gpu_back_when_it_has_drained,
             engine_time_that_is_not_limited_is_not_measured, a_throttled_job_may_die)
