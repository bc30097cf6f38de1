/*
 * A task's jobs must be released a period of the plan apart. Sessions of libbaton with scripted
 * instants write the pages of batond's server.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claims_world.h"
#include "client/session_private.h"
#include "harness.h"

static struct server *server;
static struct session *programs[2]; /* eye, the more urgent one, and ear */
static unsigned peers[2];
static int64_t warm; /* jobs of every program that joins which are not counted */

/* The program's session, with the page that the server gave it. period: as the program declares. */
static void join(unsigned program, baton_nsec period)
{
    static const char *const names[] = {"eye", "ear"};
    struct settings settings;

    settings_init(&settings);
    (void)snprintf(settings.socket, sizeof settings.socket, "/nonexistent/baton.sock");
    settings.period = period;
    settings.warm = warm;
    ck_assert_int_eq(session_open(&settings, NULL, &programs[program]), 0);
    peers[program] = claims_join(server, names[program], HELLO_TASK, period);
    atomic_store(&programs[program]->protocol.page, claims_world.pages[peers[program]]);
}

/* period: of the plan. */
static void start_with(baton_nsec period, baton_nsec declared)
{
    struct config config = claims_plain_config();
    struct plan_task tasks[2] = {claims_tasks[0], claims_tasks[1]};
    struct plan plan = claims_good_plan();
    char *text;

    tasks[0].period = tasks[1].period = tasks[0].deadline = tasks[1].deadline = period;
    plan.tasks = tasks;
    text = claims_text(&plan);
    claims_world.settles = false;
    claims_world.ranks[0] = 20;
    claims_world.ranks[1] = 10;
    claims_world.ranks[2] = 20; /* eye, when it is started anew */
    server = claims_start(&config);
    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    claims_give(server, text);
    free(text);
    join(0, declared);
    join(1, declared);
}

static void start(void)
{
    start_with(PERIOD, PERIOD);
}

static void finish(void)
{
    for (unsigned i = 0; i < 2; i++) {
        atomic_store(&programs[i]->protocol.page, NULL);
        session_close(programs[i]);
    }
    server_free(server);
}

static void job(unsigned program, bool explicit_job, baton_nsec at)
{
    session_job_begin(programs[program], explicit_job, at);
    session_job_end(programs[program], explicit_job, at + NSEC_PER_MS);
}

static unsigned times_reported(void)
{
    unsigned n = 0;

    for (const char *at = claims_world.logged; (at = strstr(at, "early\n")); at++)
        n++;
    return n;
}

START_TEST(the_least_time_between_releases_is_taken_once)
{
    static _Alignas(64) struct page page;

    page_init(&page, 1, 1);
    ck_assert_int_eq(page_take_apart(&page), NSEC_MAX);
    page_note_apart(&page, 20);
    page_note_apart(&page, 19);
    page_note_apart(&page, 21);
    ck_assert_int_eq(page_take_apart(&page), 19);
    ck_assert_int_eq(page_take_apart(&page), NSEC_MAX);
    page_note_apart(&page, 5);
    page_note_apart(&page, PAGE_NO_JOB);
    ck_assert_int_eq(page_take_apart(&page), PAGE_NO_JOB);
    page_note_apart(&page, 20);
    ck_assert_int_eq(page_take_apart(&page), 20);
}
END_TEST

START_TEST(jobs_that_are_a_period_apart_keep_the_claims)
{
    for (unsigned explicit_job = 0; explicit_job < 2; explicit_job++) {
        start();
        for (int i = 0; i < 5; i++)
            job(0, explicit_job, NSEC_PER_SEC + i * PERIOD);
        claims_expect_rules(server, RULE_MET, RULE_MET);
        ck_assert_uint_eq(times_reported(), 0);
        finish();
    }
}
END_TEST

/* The work of an early job of ear may delay a job of eye by more than a piece on the CPUs. */
START_TEST(a_job_that_comes_before_its_period_ends_all_claims)
{
    for (unsigned program = 0; program < 2; program++) {
        for (unsigned explicit_job = 0; explicit_job < 2; explicit_job++) {
            start();
            job(program, explicit_job, NSEC_PER_SEC);
            job(program, explicit_job, NSEC_PER_SEC + PERIOD);
            claims_expect_rules(server, RULE_MET, RULE_MET);
            job(program, explicit_job, NSEC_PER_SEC + 2 * PERIOD - 1);
            claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
            ck_assert_uint_eq(times_reported(), 1);
            finish();
        }
    }
}
END_TEST

/* No event came between the early job and the report of the job that it delayed. */
START_TEST(a_job_that_was_delayed_by_an_early_one_was_not_claimed)
{
    struct frame late = {.type = FRAME_LATE, .late = {.flags = LATE_EXCEEDED, .limit = 9 * NSEC_PER_MS}};
    struct frame about;

    start();
    claims_expect_rules(server, RULE_MET, RULE_MET);
    late.late.release_at = (uint64_t)claims_world.now_at;
    late.late.end_at = late.late.release_at + late.late.limit + 1;
    claims_say(server, peers[1], &late);
    ck_assert_uint_eq(claims_ask(server, QUERY_TASK, 1).about_task.unclaimed, 0);
    claims_world.now_at += PERIOD;
    for (unsigned i = 0; i < 2; i++)
        job(i, true, claims_world.now_at);
    claims_expect_rules(server, RULE_MET, RULE_MET); /* the late job had ended the claims */
    late.late.release_at = (uint64_t)claims_world.now_at;
    late.late.end_at = late.late.release_at + late.late.limit + 1;
    job(0, true, claims_world.now_at);
    job(0, true, claims_world.now_at + PERIOD / 2);
    claims_say(server, peers[1], &late);
    about = claims_ask(server, QUERY_TASK, 1);
    ck_assert_uint_eq(about.about_task.exceeded, 2);
    ck_assert_uint_eq(about.about_task.unclaimed, 1);
    finish();
}
END_TEST

/*
 * The program was stopped before it could begin its jobs. They come at once, and no bound of
 * another task counts that.
 */
START_TEST(a_job_that_begins_later_than_its_bound_ends_the_claims_at_once)
{
    const baton_nsec bound = 7 * NSEC_PER_MS;
    baton_nsec release_at;

    start();
    atomic_store(&programs[0]->bound, (uint64_t)bound);
    release_at = claims_world.now_at;
    for (int late = 0; late < 2; late++) {
        release_at += 2 * PERIOD;
        ck_assert_int_eq(session_job_begin_released(programs[0], release_at, release_at + bound + late), 0);
        claims_expect_rules(server, late ? RULE_IDLE : RULE_MET, late ? RULE_IDLE : RULE_MET);
        session_job_end(programs[0], true, release_at + bound + late);
    }
    ck_assert_uint_eq(times_reported(), 1);
    finish();
}
END_TEST

/* A core went since the last look at the machine, which is less than a second old. */
START_TEST(a_job_on_a_machine_that_changed_was_not_claimed)
{
    struct frame late = {.type = FRAME_LATE, .late = {.flags = LATE_EXCEEDED, .limit = 9 * NSEC_PER_MS}};
    struct frame about;

    start();
    claims_expect_rules(server, RULE_MET, RULE_MET);
    late.late.release_at = (uint64_t)claims_world.now_at;
    late.late.end_at = late.late.release_at + late.late.limit + 1;
    claims_world.now_at += NSEC_PER_SEC / 10;
    claims_world.cores.online = claims_cores("0");
    claims_say(server, peers[1], &late);
    claims_world.cores.online = claims_cores("0-1");
    about = claims_ask(server, QUERY_TASK, 1);
    ck_assert_uint_eq(about.about_task.exceeded, 1);
    ck_assert_uint_eq(about.about_task.unclaimed, 1);
    finish();
}
END_TEST

/* A task that is started anew all the time would have more jobs than its period allows. */
START_TEST(the_first_job_of_a_process_must_be_a_period_after_the_last_of_the_former_one)
{
    for (int early = 0; early < 2; early++) {
        baton_nsec released_at;

        start();
        released_at = claims_world.now_at;
        job(1, true, released_at);
        job(0, true, released_at);
        claims_expect_rules(server, RULE_MET, RULE_MET);
        atomic_store(&programs[0]->protocol.page, NULL);
        session_close(programs[0]);
        (void)claims_dies(server, peers[0]);
        join(0, PERIOD);
        claims_expect_rules(server, RULE_MET, RULE_MET);
        session_job_begin(programs[0], true, released_at + PERIOD - early);
        claims_expect_rules(server, early ? RULE_IDLE : RULE_MET, early ? RULE_IDLE : RULE_MET);
        session_job_end(programs[0], true, released_at + 2 * PERIOD);
        ck_assert_uint_eq(times_reported(), (unsigned)early);
        finish();
    }
}
END_TEST

START_TEST(an_early_job_keeps_the_claims_away_until_it_has_ended)
{
    start();
    job(1, true, claims_world.now_at);
    job(0, true, claims_world.now_at - PERIOD / 2);
    session_job_begin(programs[0], true, claims_world.now_at);
    server_look(server, claims_world.now_at);
    ck_assert_uint_eq(times_reported(), 1);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    session_job_end(programs[0], true, claims_world.now_at);
    job(0, true, claims_world.now_at); /* its next one, in time, with an idle instant behind it */
    job(1, true, claims_world.now_at);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    finish();
}
END_TEST

/* Warm-up jobs have no budget and no response: no bound counts what they do. */
START_TEST(claims_begin_after_the_warm_up)
{
    warm = 2;
    start();
    warm = 0;
    for (int i = 0; i < 2; i++) {
        job(1, true, claims_world.now_at);
        session_job_begin(programs[0], true, claims_world.now_at);
        claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
        session_job_end(programs[0], true, claims_world.now_at);
    }
    job(1, true, claims_world.now_at);
    job(0, true, claims_world.now_at);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    finish();
}
END_TEST

START_TEST(a_stated_release_counts_and_not_the_begin)
{
    start();
    ck_assert_int_eq(session_job_begin_released(programs[0], NSEC_PER_SEC, NSEC_PER_SEC + NSEC_PER_MS), 0);
    session_job_end(programs[0], true, NSEC_PER_SEC + 2 * NSEC_PER_MS);
    ck_assert_int_eq(
        session_job_begin_released(programs[0], NSEC_PER_SEC + PERIOD, NSEC_PER_SEC + PERIOD + 1), 0);
    session_job_end(programs[0], true, NSEC_PER_SEC + PERIOD + NSEC_PER_MS);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    finish();
}
END_TEST

/* A timer of 20 ms, and wake-ups that take up to 0.15 ms. */
START_TEST(a_planned_period_below_that_of_the_timer_allows_for_jitter)
{
    static const baton_nsec planned[] = {PERIOD - PERIOD / 100, PERIOD};

    for (unsigned exact = 0; exact < 2; exact++) {
        for (unsigned own = 0; own < 2; own++) { /* the period that the program declares: the plan's, 20 ms */
            start_with(planned[exact], own ? PERIOD : planned[exact]);
            for (int i = 0; i < 50; i++)
                job(0, false, NSEC_PER_SEC + i * PERIOD + i * 37 % 16 * NSEC_PER_MS / 100);
            claims_expect_rules(server, exact ? RULE_IDLE : RULE_MET, exact ? RULE_IDLE : RULE_MET);
            finish();
        }
    }
}
END_TEST

START_TEST(commands_between_two_explicit_jobs_end_the_claims_until_a_job_has_ended)
{
    start();
    session_job_begin(programs[0], true, claims_world.now_at);
    session_job_begin(programs[0], false, claims_world.now_at); /* commands of the job */
    session_job_end(programs[0], true, claims_world.now_at);
    job(1, true, claims_world.now_at);
    server_look(server, claims_world.now_at);
    ck_assert_uint_eq(times_reported(), 0);
    session_job_begin(programs[0], false, claims_world.now_at);
    server_look(server, claims_world.now_at); /* no job is running, and the commands are pending */
    ck_assert_uint_eq(times_reported(), 1);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    job(1, true, claims_world.now_at);
    job(0, true, claims_world.now_at);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    finish();
}
END_TEST

/* Those of a batch begin no job. */
START_TEST(commands_that_begin_no_job_end_the_claims_unless_a_job_runs)
{
    const struct lease_group_engine engine = {.device = GPU, .engine = ENGINE_EXECUTION};
    struct lease_group groups[2];

    start();
    session_job_begin(programs[0], false, NSEC_PER_SEC);
    ck_assert_int_eq(lease_group_take(programs[0], &engine, 1, &groups[0]), LEASE_GROUP_PASSED);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    ck_assert_int_eq(lease_group_take(programs[1], &engine, 1, &groups[1]), LEASE_GROUP_PASSED);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    lease_group_end(&groups[0]);
    lease_group_end(&groups[1]);
    finish();
}
END_TEST

/* Inferred jobs count, although the statistics forget them. */
START_TEST(the_first_explicit_job_must_be_a_period_after_an_inferred_one)
{
    start();
    job(0, false, NSEC_PER_SEC);
    ck_assert_int_lt(session_job_begin_released(programs[0], NSEC_PER_SEC + PERIOD, NSEC_PER_SEC), 0);
    job(0, true, NSEC_PER_SEC + PERIOD);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    job(1, false, NSEC_PER_SEC);
    job(1, true, NSEC_PER_SEC + PERIOD / 2);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    finish();
}
END_TEST

/* Jobs that began between HELLO and WELCOME. */
START_TEST(what_came_before_the_page_is_noted_in_it)
{
    start();
    atomic_store(&programs[0]->protocol.page, NULL);
    job(0, true, NSEC_PER_SEC);
    job(0, true, NSEC_PER_SEC + PERIOD / 2);
    claims_expect_rules(server, RULE_MET, RULE_MET);
    atomic_store(&programs[0]->protocol.page, claims_world.pages[peers[0]]);
    session_publish_job(programs[0]);
    claims_expect_rules(server, RULE_IDLE, RULE_IDLE);
    finish();
}
END_TEST

/* A client may write anything: it ends claims, as by any other broken rule, and nothing else. */
START_TEST(no_value_in_the_page_does_more_than_end_the_claims)
{
    static const struct {
        baton_nsec apart;
        bool claimed;
    } values[] = {{INT64_MIN, false},  {-2, false},    {PAGE_NO_JOB, false}, {0, false},
                  {PERIOD - 1, false}, {PERIOD, true}, {NSEC_MAX - 1, true}, {NSEC_MAX, true}};

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        enum model_rule rule = values[i].claimed ? RULE_MET : RULE_IDLE;

        start();
        atomic_store(&claims_world.pages[peers[0]]->apart, values[i].apart);
        claims_expect_rules(server, rule, rule);
        ck_assert_uint_eq(times_reported(), !values[i].claimed);
        for (int again = 0; again < 3; again++) { /* the log does not grow */
            atomic_store(&claims_world.pages[peers[0]]->apart, values[i].apart);
            server_look(server, claims_world.now_at += NSEC_PER_MS);
        }
        ck_assert_uint_le(times_reported(), 1);
        finish();
    }
}
END_TEST

HARNESS_MAIN("releases", 30, the_least_time_between_releases_is_taken_once,
             jobs_that_are_a_period_apart_keep_the_claims, a_job_that_comes_before_its_period_ends_all_claims,
             a_job_that_was_delayed_by_an_early_one_was_not_claimed,
             a_job_that_begins_later_than_its_bound_ends_the_claims_at_once,
             a_job_on_a_machine_that_changed_was_not_claimed,
             the_first_job_of_a_process_must_be_a_period_after_the_last_of_the_former_one,
             an_early_job_keeps_the_claims_away_until_it_has_ended, claims_begin_after_the_warm_up,
             a_stated_release_counts_and_not_the_begin,
             a_planned_period_below_that_of_the_timer_allows_for_jitter,
             commands_between_two_explicit_jobs_end_the_claims_until_a_job_has_ended,
             commands_that_begin_no_job_end_the_claims_unless_a_job_runs,
             the_first_explicit_job_must_be_a_period_after_an_inferred_one,
             what_came_before_the_page_is_noted_in_it, no_value_in_the_page_does_more_than_end_the_claims)
