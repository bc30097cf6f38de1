/* Threads and jobs that are not as the analysis of gpusync has them end the claims. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "claims_world.h"
#include "harness.h"

/* A thread that started behind batond's back runs below all others: its program's jobs are late. */
START_TEST(a_thread_that_is_not_ordered_ends_the_claim_until_it_is)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server = claims_gpusync_start(&config, &plan, &text);
    unsigned eye = claims_join_ordered(server, "eye");

    claims_job_begins(server, eye, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_world.strangers = 1;
    ck_assert_int_eq(claims_rule(server), RULE_ORDER);
    claims_world.strangers = 0;
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_job_ends(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_IDLE); /* its next job is due, and may have been released */
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* batond has found a thread and ordered it: no further look, a second later, is awaited. */
START_TEST(a_thread_that_is_ordered_when_it_is_found_ends_the_claim_until_an_idle_instant)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server = claims_gpusync_start(&config, &plan, &text);
    unsigned eye = claims_join_ordered(server, "eye");

    claims_job_begins(server, eye, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_world.adopts = true;
    claims_world.strangers = 1;
    ck_assert_int_eq(claims_rule(server), RULE_IDLE); /* the thread has delayed a job that is pending */
    claims_job_ends(server, eye);
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* No look was due since the thread started. */
START_TEST(a_thread_that_is_not_ordered_at_an_idle_instant_keeps_the_claim_away)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server = claims_gpusync_start(&config, &plan, &text);
    unsigned eye = claims_join_ordered(server, "eye");

    claims_job_begins(server, eye, claims_world.now_at);
    (void)claims_dies(server, claims_join(server, "hog", 0, 0));
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_job_ends(server, eye);
    claims_job_begins(server, eye, claims_world.now_at);
    claims_world.adopts = true;
    claims_world.strangers = 1;
    claims_job_ends(server, eye);
    ck_assert_uint_eq(claims_world.strangers, 0);
    claims_world.now_at += PERIOD;
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* A job of ear goes before that of eye: this finds the thread, before any look does. */
START_TEST(a_thread_that_a_change_of_the_order_finds_ends_the_claim)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server;
    unsigned eye, ear;

    claims_gpusync_tasks[1].cpu_cluster = 0;
    server = claims_gpusync_start(&config, &plan, &text);
    eye = claims_join_ordered(server, "eye");
    ear = claims_join_ordered(server, "ear");
    claims_has_a_job(server, eye);
    claims_has_a_job(server, ear);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_job_begins(server, eye, claims_world.now_at);
    claims_world.adopts = true;
    claims_world.strangers = 1;
    claims_job_begins(server, ear, claims_world.now_at);
    claims_say(server, ear,
               &(struct frame){.type = FRAME_JOB,
                               .job = {.what = JOB_SAID, .deadline_at = (uint64_t)claims_world.now_at}});
    ck_assert_uint_eq(claims_world.strangers, 0);
    for (uint32_t i = 0; i < 2; i++)
        ck_assert_uint_eq(claims_ask(server, QUERY_TASK, i).about_task.rule, RULE_IDLE);
    claims_job_ends(server, eye);
    claims_job_ends(server, ear);
    claims_has_a_job(server, eye);
    claims_has_a_job(server, ear);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* Until its first job a program has its own policy with Linux: it noticed its release late. */
START_TEST(a_program_that_is_ordered_with_its_first_job_ends_the_claim)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server;
    unsigned eye, ear;

    claims_gpusync_tasks[1].cpu_cluster = 0;
    server = claims_gpusync_start(&config, &plan, &text);
    eye = claims_join_ordered(server, "eye");
    claims_has_a_job(server, eye);
    ear = claims_join(server, "ear", HELLO_TASK, PERIOD);
    claims_names_thread(server, ear, 2);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_job_begins(server, ear, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_job_ends(server, ear);
    claims_has_a_job(server, eye);
    claims_has_a_job(server, ear);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* Neither a look nor a change of the order came between the start of the thread and the report. */
START_TEST(a_late_job_with_a_thread_that_is_not_ordered_was_not_claimed)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server = claims_gpusync_start(&config, &plan, &text);
    unsigned eye = claims_join_ordered(server, "eye");
    struct frame late = {.type = FRAME_LATE, .late = {.flags = LATE_EXCEEDED}};
    struct frame about;

    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_job_begins(server, eye, claims_world.now_at);
    late.late.limit = (uint64_t)claims_gpusync_tasks[0].bound;
    late.late.release_at = (uint64_t)claims_world.now_at;
    late.late.end_at = late.late.release_at + late.late.limit + 1;
    claims_say(server, eye, &late);
    claims_job_ends(server, eye);
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET); /* the late job had ended the claim */
    claims_job_begins(server, eye, claims_world.now_at);
    late.late.release_at = (uint64_t)claims_world.now_at;
    late.late.end_at = late.late.release_at + late.late.limit + 1;
    claims_world.adopts = true;
    claims_world.strangers = 1;
    claims_say(server, eye, &late);
    about = claims_ask(server, QUERY_TASK, 0);
    ck_assert_uint_eq(about.about_task.exceeded, 2);
    ck_assert_uint_eq(about.about_task.unclaimed, 1); /* the second one */
    free(text);
    server_free(server);
}
END_TEST

/* The declared period is the plan's, and the jobs come faster: no bound counts that many. */
START_TEST(a_job_that_comes_before_its_period_ends_the_claim)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server = claims_gpusync_start(&config, &plan, &text);
    unsigned eye = claims_join_ordered(server, "eye");
    baton_nsec release_at;

    release_at = claims_world.now_at;
    claims_has_a_job(server, eye);
    claims_world.now_at = release_at + PERIOD;
    claims_job_begins(server, eye, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_MET); /* a period after the last */
    claims_job_ends(server, eye);
    release_at = claims_world.now_at;
    claims_job_begins(server, eye, release_at);
    claims_job_ends(server, eye);
    claims_world.now_at = release_at + PERIOD - 1;
    claims_job_begins(server, eye, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    ck_assert_ptr_nonnull(strstr(claims_world.logged, "early\n"));
    free(text);
    server_free(server);
}
END_TEST

/*
 * No analysis counts what the locks do after the death of a job: a donor may be lost, and another
 * job lends its rank instead.
 */
START_TEST(a_program_that_dies_within_a_job_ends_the_claims)
{
    for (int pending = 0; pending < 2; pending++) {
        struct config config = claims_gpusync_config();
        struct plan plan = claims_gpusync_plan();
        char *text;
        struct server *server;
        unsigned eye, ear;

        claims_gpusync_tasks[1].cpu_cluster = 0;
        server = claims_gpusync_start(&config, &plan, &text);
        eye = claims_join_ordered(server, "eye");
        ear = claims_join_ordered(server, "ear");
        claims_has_a_job(server, eye);
        claims_has_a_job(server, ear);
        ck_assert_int_eq(claims_rule(server), RULE_MET);
        claims_job_begins(server, ear, claims_world.now_at);
        if (pending)
            claims_job_begins(server, eye, claims_world.now_at);
        (void)claims_dies(server, eye);
        ck_assert_uint_eq(claims_ask(server, QUERY_TASK, 1).about_task.rule, pending ? RULE_IDLE : RULE_MET);
        claims_job_ends(server, ear);
        claims_has_a_job(server, ear);
        ck_assert_uint_eq(claims_ask(server, QUERY_TASK, 1).about_task.rule, RULE_MET);
        free(text);
        server_free(server);
    }
}
END_TEST

/*
 * eye runs at the top of the band (10 to 40). ear has had no job and has used no GPU, so batond has
 * not ordered it. It starts with a real-time priority of its own.
 */
START_TEST(a_program_that_starts_above_an_ordered_one_ends_the_claim)
{
    static const struct {
        int rank, of_thread;
        enum model_rule rule;
    } cases[] = {{0, 0, RULE_MET},    {39, 39, RULE_MET},    {40, 0, RULE_ORDER},
                 {0, 40, RULE_ORDER}, {-ESRCH, 0, RULE_MET}, {0, 100, RULE_ORDER}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config = claims_gpusync_config();
        struct plan plan = claims_gpusync_plan();
        char *text;
        struct server *server = claims_gpusync_start(&config, &plan, &text);
        unsigned eye = claims_join_ordered(server, "eye");

        claims_has_a_job(server, eye);
        ck_assert_uint_eq(claims_world.levels[0], 31);
        ck_assert_int_eq(claims_rule(server), RULE_MET);
        claims_world.ranks[1] = cases[i].rank;
        claims_world.thread_ranks[2] = cases[i].of_thread;
        claims_names_thread(server, claims_join(server, "ear", HELLO_TASK, PERIOD), 2);
        ck_assert_msg(claims_rule(server) == cases[i].rule, "case %zu", i);
        free(text);
        server_free(server);
    }
}
END_TEST

HARNESS_MAIN("claims threads", 30, a_thread_that_is_not_ordered_ends_the_claim_until_it_is,
             a_thread_that_is_ordered_when_it_is_found_ends_the_claim_until_an_idle_instant,
             a_thread_that_is_not_ordered_at_an_idle_instant_keeps_the_claim_away,
             a_thread_that_a_change_of_the_order_finds_ends_the_claim,
             a_program_that_is_ordered_with_its_first_job_ends_the_claim,
             a_late_job_with_a_thread_that_is_not_ordered_was_not_claimed,
             a_job_that_comes_before_its_period_ends_the_claim,
             a_program_that_dies_within_a_job_ends_the_claims,
             a_program_that_starts_above_an_ordered_one_ends_the_claim)
