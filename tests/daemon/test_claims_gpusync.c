/* A bound is claimed only while every field that it rests on is what runs: profile gpusync. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claims_world.h"
#include "harness.h"
#include "model/defaults.h"

START_TEST(a_bound_of_gpusync_is_claimed_when_all_that_it_rests_on_runs)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server = claims_gpusync_start(&config, &plan, &text);
    struct frame frame;

    (void)claims_join(server, "eye", HELLO_TASK, PERIOD);
    ck_assert(!claims_differs(server, "", "", &frame));
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* Every field of the basis, as in the test above for `priority`; the plan fits its seals. */
START_TEST(each_field_of_the_basis_of_gpusync_is_compared_with_what_runs)
{
    static const char *const others[PLAN_BASIS_FIELDS] = {[BASIS_POLICY] = "edf",
                                                          [BASIS_LOCK] = "ck-omlp",
                                                          [BASIS_DONATION] = "none",
                                                          [BASIS_TOKENS] = "3",
                                                          [BASIS_CPUS] = "6",
                                                          [BASIS_CPU_CLUSTER] = "4",
                                                          [BASIS_GPUS] = "6",
                                                          [BASIS_GPU_CLUSTER] = "4",
                                                          [BASIS_COPY_ENGINES] = "1",
                                                          [BASIS_BUSES] = "2",
                                                          [BASIS_MIGRATION] = "ondemand",
                                                          [BASIS_SHARED_MEMORY] = "yes",
                                                          [BASIS_OVERHEADS] = "0123456789abcdef"};

    for (size_t i = 0; i < PLAN_BASIS_FIELDS; i++) {
        struct config config = claims_gpusync_config();
        struct plan plan = claims_gpusync_plan();
        struct server *server;
        char *text;

        ck_assert_msg(others[i], "the field %s is new: say which other value it may have",
                      plan_basis_keys[i]);
        plan_basis_set(&plan.basis, (enum plan_basis_field)i, others[i]);
        server = claims_gpusync_start(&config, &plan, &text);
        claims_expect_unclaimed(server, plan_basis_keys[i], "");
        ck_assert_int_eq(claims_ask(server, QUERY_DIFFERENCE, 1).type, FRAME_NOTHING);
        free(text);
        server_free(server);
    }
}
END_TEST

static void gpusync_with(const struct config *config, const char *field)
{
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server = claims_gpusync_start(config, &plan, &text);

    (void)claims_join(server, "eye", HELLO_TASK, PERIOD);
    claims_expect_unclaimed(server, field, "");
    free(text);
    server_free(server);
}

START_TEST(each_setting_of_gpusync_is_compared_with_the_plan)
{
    struct config config = claims_gpusync_config();

    config.policy = POLICY_EDF;
    gpusync_with(&config, "policy");
    config = claims_gpusync_config();
    config.lock = LOCK_CK_OMLP;
    gpusync_with(&config, "lock");
    config = claims_gpusync_config();
    config.tokens_per_gpu = TOKENS_UNLIMITED;
    gpusync_with(&config, "tokens_per_gpu");
    config = claims_gpusync_config();
    config.gpu_cluster = 1;
    gpusync_with(&config, "gpu_cluster");
    config = claims_gpusync_config();
    config.cpu_cluster = 4;
    gpusync_with(&config, "cpu_cluster");
    config.cpu_cluster = 0; /* Linux orders the programs */
    gpusync_with(&config, "donation");
    config = claims_gpusync_config();
    config.migration = MIGRATION_ON_DEMAND;
    gpusync_with(&config, "migration");
    config.migration = MIGRATION_NONE;
    gpusync_with(&config, "migration");
    config = claims_gpusync_config();
    (void)snprintf(config.overheads_seal, sizeof config.overheads_seal, "0123456789abcdef");
    gpusync_with(&config, "overheads");
    config = claims_gpusync_config();
    config.program_cores = claims_cores("0-2");
    gpusync_with(&config, "cpus");
}
END_TEST

START_TEST(tasks_of_gpusync_need_points_costs_and_clusters_that_are_there)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    struct server *server;
    char *text;

    claims_gpusync_tasks[1].has_point = false;
    server = claims_gpusync_start(&config, &plan, &text);
    claims_expect_unclaimed(server, "policy", "");
    free(text);
    server_free(server);
    plan = claims_gpusync_plan();
    claims_gpusync_tasks[1].cpu_cluster = 2;
    server = claims_gpusync_start(&config, &plan, &text);
    claims_expect_unclaimed(server, "cpu_cluster", "ear");
    free(text);
    server_free(server);
    plan = claims_gpusync_plan();
    claims_gpusync_tasks[1].gpu_cluster = 2;
    server = claims_gpusync_start(&config, &plan, &text);
    claims_expect_unclaimed(server, "gpu_cluster", "ear");
    free(text);
    server_free(server);
    plan = claims_gpusync_plan();
    claims_gpusync_tasks[1].requests.said = false;
    server = claims_gpusync_start(&config, &plan, &text);
    claims_expect_unclaimed(server, "requests", "ear");
    free(text);
    server_free(server);
    plan = claims_gpusync_plan();
    claims_gpusync_tasks[1].cost = 0;
    server = claims_gpusync_start(&config, &plan, &text);
    claims_expect_unclaimed(server, "cost_ms", "ear");
    free(text);
    server_free(server);
}
END_TEST

/*
 * The machine: a program that batond may not move, or that may run elsewhere; one that does not say
 * where its jobs begin.
 */
START_TEST(programs_of_gpusync_must_be_where_the_model_has_them)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server = claims_gpusync_start(&config, &plan, &text);
    unsigned eye;

    claims_world.order_answer = -1;
    eye = claims_join(server, "eye", HELLO_TASK, PERIOD);
    ck_assert_int_eq(claims_rule(server), RULE_MET); /* it does nothing yet */
    claims_job_begins(server, eye, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_ORDER); /* it has named no thread */
    claims_names_thread(server, eye, 4711);
    ck_assert_int_eq(claims_rule(server), RULE_ORDER);
    claims_world.order_answer = 0;
    claims_names_thread(server, eye, 4712);
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_job_ends(server, eye);
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_world.of_program = claims_cores("0-3");
    ck_assert_int_eq(claims_rule(server), RULE_AFFINITY);
    claims_world.of_program = claims_cores("0-1");
    claims_say(server, eye, &(struct frame){.type = FRAME_JOB, .job = {.what = JOB_INFERRED, .number = 2}});
    ck_assert_int_eq(claims_rule(server), RULE_JOBS);
    free(text);
    server_free(server);
}
END_TEST

/* Under `system` no analysis counts a copy from one GPU to another. */
START_TEST(a_program_that_strays_ends_the_claim)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.engine = ENGINE_EXECUTION}};
    struct frame moved = {.type = FRAME_MOVED, .moved = {.from = 0, .to = 1, .bytes = 1, .length = 1}};
    char *text;
    struct server *server = claims_gpusync_start(&config, &plan, &text);
    unsigned eye = claims_join_ordered(server, "eye");

    for (unsigned gpu = 0; gpu < 2; gpu++) {
        attach.attach.index = gpu;
        (void)snprintf(attach.attach.device, sizeof attach.attach.device, "pci:0000:0%u:00.0", gpu + 1);
        claims_say(server, eye, &attach);
    }
    claims_has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_say(server, eye, &moved);
    ck_assert_int_eq(claims_rule(server), RULE_PLACEMENT);
    free(text);
    server_free(server);
}
END_TEST

/*
 * Under tokens every task depends on every other one, so that each must be idle: a job of either
 * priority keeps both claims away, and so does the end of a job that the core has not seen.
 */
START_TEST(every_task_of_gpusync_must_be_idle_before_a_claim_returns)
{
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    char *text;
    struct server *server;
    unsigned peers[2];
    unsigned outsider;

    claims_gpusync_tasks[1].cpu_cluster = 0; /* both may run on the cores that the machine shows */
    server = claims_gpusync_start(&config, &plan, &text);
    peers[0] = claims_join_ordered(server, "eye");
    peers[1] = claims_join_ordered(server, "ear");
    for (unsigned late = 0; late < 2; late++) {
        outsider = claims_join(server, "hog", 0, 0);
        claims_job_begins(server, peers[late], claims_world.now_at);
        (void)claims_dies(server, outsider);
        claims_job_begins(server, peers[!late], claims_world.now_at);
        claims_job_ends(server, peers[!late]);
        for (uint32_t i = 0; i < 2; i++)
            ck_assert_uint_eq(claims_ask(server, QUERY_TASK, i).about_task.rule, RULE_IDLE);
        claims_job_ends(server, peers[late]);
        claims_job_begins(server, peers[0], claims_world.now_at);
        claims_job_begins(server, peers[1], claims_world.now_at);
        claims_world.pages[peers[0]]->job_mark++; /* its page is ahead of its frame */
        claims_job_ends(server, peers[1]);
        ck_assert_uint_eq(claims_ask(server, QUERY_TASK, 0).about_task.rule, RULE_IDLE);
        claims_say(server, peers[0], &(struct frame){.type = FRAME_JOB, .job = {.what = JOB_ENDS}});
        claims_job_begins(server, peers[0], claims_world.now_at);
        claims_job_begins(server, peers[1], claims_world.now_at);
        claims_job_ends(server, peers[0]);
        claims_job_ends(server, peers[1]);
        for (uint32_t i = 0; i < 2; i++)
            ck_assert_uint_eq(claims_ask(server, QUERY_TASK, i).about_task.rule, RULE_MET);
    }
    free(text);
    server_free(server);
}
END_TEST

/* The plan counts requests of a millisecond; each claims_rule() takes a quarter of a second. */
START_TEST(a_request_that_lasts_longer_than_was_counted_ends_the_claims_while_it_lasts)
{
    struct frame attach = {.type = FRAME_ATTACH, .attach = {.device = GPU, .epoch = 1}};
    struct frame request = {.type = FRAME_REQUEST, .request = {.epoch = 2}};
    struct config config = claims_gpusync_config();
    struct plan plan = claims_gpusync_plan();
    struct server *server;
    unsigned peers[2];
    char *text;

    config.gpu_cluster = 1;
    config.overrun = OVERRUN_OFF; /* or the budget of the job would end the claims, too */
    plan_basis_set(&plan.basis, BASIS_GPU_CLUSTER, "1");
    plan_basis_set(&plan.basis, BASIS_MIGRATION, "none");
    claims_gpusync_tasks[1].cpu_cluster = claims_gpusync_tasks[1].gpu_cluster = 0;
    claims_gpusync_tasks[0].budget = claims_gpusync_tasks[1].budget = 0;
    server = claims_gpusync_start(&config, &plan, &text);
    for (unsigned i = 0; i < 2; i++) {
        peers[i] = claims_join_ordered(server, i ? "ear" : "eye");
        claims_say(server, peers[i], &attach);
    }
    claims_has_a_job(server, peers[0]);
    claims_has_a_job(server, peers[1]);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_job_begins(server, peers[0], claims_world.now_at);
    claims_job_begins(server, peers[1], claims_world.now_at);
    claims_say(server, peers[1], &request);
    ck_assert_int_eq(claims_rule(server), RULE_MET); /* no job waits for it */
    claims_say(server, peers[0], &request);
    ck_assert_int_eq(claims_rule(server), RULE_REQUESTS);
    free(text);
    server_free(server);
}
END_TEST

HARNESS_MAIN("claims gpusync", 30,
             a_request_that_lasts_longer_than_was_counted_ends_the_claims_while_it_lasts,
             every_task_of_gpusync_must_be_idle_before_a_claim_returns,
             a_bound_of_gpusync_is_claimed_when_all_that_it_rests_on_runs,
             each_field_of_the_basis_of_gpusync_is_compared_with_what_runs,
             each_setting_of_gpusync_is_compared_with_the_plan,
             tasks_of_gpusync_need_points_costs_and_clusters_that_are_there,
             programs_of_gpusync_must_be_where_the_model_has_them, a_program_that_strays_ends_the_claim)
