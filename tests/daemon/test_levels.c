/*
 * Levels on the CPUs between two jobs: a program has the rank of its next job, released a period of
 * the plan after the last one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "claims_world.h"
#include "harness.h"

enum { EYE, EAR, TASKS };

static struct server *server;
static unsigned peers[TASKS];
static baton_nsec announced[TASKS];

/* The plan of both tasks, which are in one cluster; eye_period: of eye. */
static char *plan_text(baton_nsec eye_period)
{
    struct plan plan = claims_gpusync_plan();

    claims_gpusync_tasks[EAR].cpu_cluster = claims_gpusync_tasks[EAR].gpu_cluster = 0;
    claims_gpusync_tasks[EYE].period = eye_period;
    return claims_text(&plan);
}

static void begin(unsigned task, baton_nsec release_at)
{
    struct frame frame = {.type = FRAME_JOB, .job = {.what = JOB_SAID}};

    frame.job.deadline_at = (uint64_t)(release_at + announced[task]);
    claims_say(server, peers[task], &frame);
}

static void end(unsigned task)
{
    claims_say(server, peers[task], &(struct frame){.type = FRAME_JOB, .job = {.what = JOB_ENDS}});
}

/* Both programs have had a job, released now. */
static void start(baton_nsec eye_period, baton_nsec eye_announces)
{
    static const char *const names[TASKS] = {"eye", "ear"};
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;

    config.gpu_cluster = 4;
    server = claims_gpusync_start(&config, &plan, &text);
    free(text);
    text = plan_text(eye_period);
    claims_give(server, text);
    free(text);
    announced[EYE] = eye_announces;
    announced[EAR] = PERIOD;
    for (unsigned i = 0; i < TASKS; i++) {
        peers[i] = claims_join(server, names[i], HELLO_TASK, announced[i]);
        claims_names_thread(server, peers[i], i + 1);
    }
    for (unsigned i = 0; i < TASKS; i++) {
        begin(i, claims_world.now_at);
        end(i);
    }
}

static bool eye_is_above(void)
{
    return claims_world.levels[EYE] > claims_world.levels[EAR];
}

/* The next job of eye may be released a period after the last one. A job of ear comes later. */
START_TEST(a_program_that_announces_a_longer_period_has_the_rank_of_the_plans)
{
    static const baton_nsec announces[] = {PERIOD, PERIOD + 1, 10 * PERIOD};

    for (size_t i = 0; i < sizeof announces / sizeof *announces; i++) {
        baton_nsec last_at;

        start(PERIOD, announces[i]);
        last_at = claims_world.now_at;
        claims_world.now_at = last_at + PERIOD - 1;
        begin(EAR, claims_world.now_at);
        ck_assert(!eye_is_above());
        end(EAR);
        claims_world.now_at = last_at + 3 * PERIOD / 2;
        begin(EAR, claims_world.now_at);
        ck_assert_msg(eye_is_above(), "period %lld", (long long)announces[i]);
        begin(EYE, last_at + PERIOD);
        ck_assert(eye_is_above());
        server_free(server);
    }
}
END_TEST

/* Nothing else happens between the plan and the release that it permits. */
START_TEST(a_plan_that_comes_into_force_between_two_jobs_ranks_the_next_one)
{
    baton_nsec last_at;
    char *text;

    start(4 * PERIOD, 4 * PERIOD);
    last_at = claims_world.now_at;
    claims_world.now_at = last_at + 3 * PERIOD / 2;
    begin(EAR, claims_world.now_at);
    ck_assert(!eye_is_above());
    text = plan_text(PERIOD);
    claims_give(server, text);
    ck_assert(eye_is_above());
    free(text);
    server_free(server);
}
END_TEST

/* A thread of eye asks for an engine before the frame of the thread that begins the job comes. */
START_TEST(a_request_that_comes_before_its_job_does_not_change_the_release)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.index = 0, .engine = ENGINE_EXECUTION}};
    baton_nsec release_at;

    start(PERIOD, PERIOD);
    (void)snprintf(attach.attach.device, sizeof attach.attach.device, "%s", GPU);
    claims_say(server, peers[EYE], &attach);
    release_at = claims_world.now_at + PERIOD;
    claims_world.now_at = release_at + PERIOD / 2;
    claims_say(server, peers[EYE], &(struct frame){.type = FRAME_REQUEST, .request = {.epoch = 1}});
    begin(EYE, release_at);
    claims_world.pages[peers[EYE]]->leases[0].word = 0;
    claims_say(server, peers[EYE], &(struct frame){.type = FRAME_RELEASE, .release = {.epoch = 1}});
    end(EYE);
    claims_world.now_at = release_at + 5 * PERIOD / 4;
    begin(EAR, claims_world.now_at);
    ck_assert(eye_is_above());
    server_free(server);
}
END_TEST

/* The third program inherits the rank of the first until the engine goes from one to the other. */
START_TEST(levels_follow_the_ranks_before_an_engine_is_granted)
{
    enum { FIRST, SECOND, THIRD, N };
    static const char *const names[N] = {"first", "second", "third"};
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.index = 0, .engine = ENGINE_EXECUTION}};
    struct plan_task tasks[N];
    unsigned clients[N];
    char *text;

    for (unsigned i = 0; i < N; i++) {
        tasks[i] = claims_gpusync_tasks[0];
        tasks[i].name = names[i];
        tasks[i].priority = 20 + i;
    }
    plan.tasks = tasks;
    plan.n_tasks = N;
    server = claims_gpusync_start(&config, &plan, &text);
    (void)snprintf(attach.attach.device, sizeof attach.attach.device, "%s", GPU);
    for (unsigned i = 0; i < N; i++) {
        clients[i] = claims_join_ordered(server, names[i]);
        claims_say(server, clients[i], &attach);
    }
    for (unsigned i = 0; i < N; i++) {
        uint64_t deadline_at = (uint64_t)(claims_world.now_at + (i + 1) * PERIOD);

        claims_say(server, clients[i],
                   &(struct frame){.type = FRAME_JOB, .job = {.what = JOB_SAID, .deadline_at = deadline_at}});
    }
    claims_say(server, clients[THIRD], &(struct frame){.type = FRAME_REQUEST, .request = {.epoch = 1}});
    ck_assert_uint_lt(claims_world.levels[THIRD], claims_world.levels[SECOND]);
    claims_say(server, clients[FIRST], &(struct frame){.type = FRAME_REQUEST, .request = {.epoch = 1}});
    ck_assert_uint_gt(claims_world.levels[THIRD], claims_world.levels[SECOND]);
    ck_assert_uint_gt(claims_world.levels[FIRST], claims_world.levels[THIRD]);
    claims_world.pages[clients[THIRD]]->leases[0].word = 0;
    claims_say(server, clients[THIRD], &(struct frame){.type = FRAME_RELEASE, .release = {.epoch = 1}});
    ck_assert_uint_eq(lease_word_state(claims_world.pages[clients[FIRST]]->leases[0].word), LEASE_STATE_BUSY);
    ck_assert_uint_lt(claims_world.levels_at_grant[THIRD], claims_world.levels_at_grant[SECOND]);
    free(text);
    server_free(server);
}
END_TEST

/* A donor that must not run has the lowest level, and no job may have it, too. */
START_TEST(a_cluster_with_no_level_to_spare_has_no_claims)
{
    for (unsigned levels = 2; levels <= 3; levels++) {
        struct config config = claims_gpusync_config();
        struct plan plan = claims_gpusync_plan();
        char *text;

        claims_gpusync_tasks[EAR].cpu_cluster = claims_gpusync_tasks[EAR].gpu_cluster = 0;
        config.band_low = config.band_high - levels + 1;
        server = claims_gpusync_start(&config, &plan, &text);
        for (unsigned i = 0; i < TASKS; i++) {
            peers[i] = claims_join(server, claims_gpusync_tasks[i].name, HELLO_TASK, PERIOD);
            claims_names_thread(server, peers[i], i + 1);
        }
        for (unsigned i = 0; i < TASKS; i++)
            claims_has_a_job(server, peers[i]);
        ck_assert_int_eq(claims_rule(server) == RULE_ORDER, levels == 2);
        (void)claims_dies(server, peers[EAR]);
        ck_assert_int_ne(claims_rule(server), RULE_ORDER);
        free(text);
        server_free(server);
    }
}
END_TEST

START_TEST(a_program_that_leaves_the_plan_gets_its_own_policy_back)
{
    struct plan plan;
    char *text;

    start(PERIOD, PERIOD);
    ck_assert_uint_gt(claims_world.levels[EYE], 0);
    plan = claims_gpusync_plan();
    plan.tasks = &claims_gpusync_tasks[EAR];
    plan.n_tasks = 1;
    text = claims_text(&plan);
    claims_give(server, text);
    claims_say(server, peers[EYE], &(struct frame){.type = FRAME_TAKEN, .taken = {.serial = 2}});
    ck_assert_uint_eq(claims_world.levels[EYE], 0);
    ck_assert_uint_gt(claims_world.levels[EAR], 0);
    free(text);
    server_free(server);
}
END_TEST

HARNESS_MAIN("levels", 30, a_program_that_announces_a_longer_period_has_the_rank_of_the_plans,
             a_plan_that_comes_into_force_between_two_jobs_ranks_the_next_one,
             a_request_that_comes_before_its_job_does_not_change_the_release,
             levels_follow_the_ranks_before_an_engine_is_granted,
             a_cluster_with_no_level_to_spare_has_no_claims,
             a_program_that_leaves_the_plan_gets_its_own_policy_back)
