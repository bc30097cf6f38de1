/* A bound is claimed only while every field that it rests on is what runs: profile gpusync. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claims_world.h"
#include "harness.h"
#include "model/defaults.h"

/* ---- gpusync: four GPUs in two clusters, four cores in two clusters, tokens by R2DGLP ---- */

static struct plan_task gpusync_tasks[2];

static struct plan gpusync_plan(void)
{
    struct plan plan = claims_good_plan();

    plan.analysis = plan.profile = "gpusync";
    for (unsigned i = 0; i < 2; i++) {
        gpusync_tasks[i] = claims_tasks[i];
        gpusync_tasks[i].gpu_cluster = gpusync_tasks[i].cpu_cluster = i;
        gpusync_tasks[i].has_point = true;
        gpusync_tasks[i].point = PERIOD / 2;
        gpusync_tasks[i].budget = PERIOD / 4;
        gpusync_tasks[i].requests.said = true;
        plan_requests_add(&gpusync_tasks[i].requests, REQUEST_EXECUTION, NSEC_PER_MS, 2);
    }
    plan.tasks = gpusync_tasks;
    plan_basis_set(&plan.basis, BASIS_POLICY, "fair-lateness");
    plan_basis_set(&plan.basis, BASIS_LOCK, "r2dglp");
    plan_basis_set(&plan.basis, BASIS_DONATION, "cpus");
    plan_basis_set(&plan.basis, BASIS_TOKENS, "2");
    plan_basis_set(&plan.basis, BASIS_CPUS, "4");
    plan_basis_set(&plan.basis, BASIS_CPU_CLUSTER, "2");
    plan_basis_set(&plan.basis, BASIS_GPUS, "4");
    plan_basis_set(&plan.basis, BASIS_GPU_CLUSTER, "2");
    plan_basis_set(&plan.basis, BASIS_MIGRATION, "system");
    return plan;
}

static struct config gpusync_config(void)
{
    struct config config = claims_plain_config();

    config.profile = PROFILE_GPUSYNC;
    config.policy = POLICY_FAIR_LATENESS;
    config.gpu_cluster = 2;
    config.cpu_cluster = 2;
    config.migration = MIGRATION_SYSTEM;
    config.partitioned = true;
    config.device_cores = claims_cores("4");
    config.program_cores = claims_cores("0-3");
    claims_world.cores = (struct machine){claims_cores("0-4"), claims_cores("0-3"), claims_cores("4")};
    claims_world.of_program = claims_cores("0-1");
    return config;
}

/* The text is freed by the caller. */
static struct server *gpusync_start(const struct config *config, const struct plan *plan, char **ret_text)
{
    static const char *const gpus[] = {GPU, "pci:0000:02:00.0", "pci:0000:03:00.0", "pci:0000:04:00.0"};
    struct server *server = claims_start(config);

    *ret_text = claims_text(plan);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_int_eq(server_add_device(server, gpus[i], "a GPU"), 0);
    claims_give(server, *ret_text);
    return server;
}

static void names_a_thread(struct server *server, unsigned peer, uint32_t tid)
{
    claims_say(server, peer, &(struct frame){.type = FRAME_THREAD, .thread = {.tid = tid}});
}

static void has_a_job(struct server *server, unsigned peer)
{
    claims_job_begins(server, peer, claims_world.now_at);
    claims_job_ends(server, peer);
}

/* A program of the plan whose threads are ordered, and whose first job was released a period ago. */
static unsigned join_ordered(struct server *server, const char *name)
{
    unsigned peer = claims_join(server, name, HELLO_TASK, PERIOD);

    names_a_thread(server, peer, 1);
    has_a_job(server, peer);
    claims_world.now_at += PERIOD;
    return peer;
}

START_TEST(a_bound_of_gpusync_is_claimed_when_all_that_it_rests_on_runs)
{
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server = gpusync_start(&config, &plan, &text);
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
        struct config config = gpusync_config();
        struct plan plan = gpusync_plan();
        struct server *server;
        char *text;

        ck_assert_msg(others[i], "the field %s is new: say which other value it may have",
                      plan_basis_keys[i]);
        plan_basis_set(&plan.basis, (enum plan_basis_field)i, others[i]);
        server = gpusync_start(&config, &plan, &text);
        claims_expect_unclaimed(server, plan_basis_keys[i], "");
        ck_assert_int_eq(claims_ask(server, QUERY_DIFFERENCE, 1).type, FRAME_NOTHING);
        free(text);
        server_free(server);
    }
}
END_TEST

static void gpusync_with(const struct config *config, const char *field)
{
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server = gpusync_start(config, &plan, &text);

    (void)claims_join(server, "eye", HELLO_TASK, PERIOD);
    claims_expect_unclaimed(server, field, "");
    free(text);
    server_free(server);
}

START_TEST(each_setting_of_gpusync_is_compared_with_the_plan)
{
    struct config config = gpusync_config();

    config.policy = POLICY_EDF;
    gpusync_with(&config, "policy");
    config = gpusync_config();
    config.lock = LOCK_CK_OMLP;
    gpusync_with(&config, "lock");
    config = gpusync_config();
    config.tokens_per_gpu = TOKENS_UNLIMITED;
    gpusync_with(&config, "tokens_per_gpu");
    config = gpusync_config();
    config.gpu_cluster = 1;
    gpusync_with(&config, "gpu_cluster");
    config = gpusync_config();
    config.cpu_cluster = 4;
    gpusync_with(&config, "cpu_cluster");
    config.cpu_cluster = 0; /* Linux orders the programs */
    gpusync_with(&config, "donation");
    config = gpusync_config();
    config.migration = MIGRATION_ON_DEMAND;
    gpusync_with(&config, "migration");
    config.migration = MIGRATION_NONE;
    gpusync_with(&config, "migration");
    config = gpusync_config();
    (void)snprintf(config.overheads_seal, sizeof config.overheads_seal, "0123456789abcdef");
    gpusync_with(&config, "overheads");
    config = gpusync_config();
    config.program_cores = claims_cores("0-2");
    gpusync_with(&config, "cpus");
}
END_TEST

/* A thread that started behind batond's back runs below all others: its program's jobs are late. */
START_TEST(a_thread_that_is_not_ordered_ends_the_claim_until_it_is)
{
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server = gpusync_start(&config, &plan, &text);
    unsigned eye = join_ordered(server, "eye");

    claims_job_begins(server, eye, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_world.strangers = 1;
    ck_assert_int_eq(claims_rule(server), RULE_ORDER);
    claims_world.strangers = 0;
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_job_ends(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_IDLE); /* its next job is due, and may have been released */
    has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* batond has found a thread and ordered it: no further look, a second later, is awaited. */
START_TEST(a_thread_that_is_ordered_when_it_is_found_ends_the_claim_until_an_idle_instant)
{
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server = gpusync_start(&config, &plan, &text);
    unsigned eye = join_ordered(server, "eye");

    claims_job_begins(server, eye, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_world.adopts = true;
    claims_world.strangers = 1;
    ck_assert_int_eq(claims_rule(server), RULE_IDLE); /* the thread has delayed a job that is pending */
    claims_job_ends(server, eye);
    has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* No look was due since the thread started. */
START_TEST(a_thread_that_is_not_ordered_at_an_idle_instant_keeps_the_claim_away)
{
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server = gpusync_start(&config, &plan, &text);
    unsigned eye = join_ordered(server, "eye");

    claims_job_begins(server, eye, claims_world.now_at);
    (void)server_lost(server, claims_join(server, "hog", 0, 0), claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_job_ends(server, eye);
    claims_job_begins(server, eye, claims_world.now_at);
    claims_world.adopts = true;
    claims_world.strangers = 1;
    claims_job_ends(server, eye);
    ck_assert_uint_eq(claims_world.strangers, 0);
    claims_world.now_at += PERIOD;
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* A job of ear goes before that of eye: this finds the thread, before any look does. */
START_TEST(a_thread_that_a_change_of_the_order_finds_ends_the_claim)
{
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server;
    unsigned eye, ear;

    gpusync_tasks[1].cpu_cluster = 0;
    server = gpusync_start(&config, &plan, &text);
    eye = join_ordered(server, "eye");
    ear = join_ordered(server, "ear");
    has_a_job(server, eye);
    has_a_job(server, ear);
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
    has_a_job(server, eye);
    has_a_job(server, ear);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* Until its first job a program has its own policy with Linux: it noticed its release late. */
START_TEST(a_program_that_is_ordered_with_its_first_job_ends_the_claim)
{
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server;
    unsigned eye, ear;

    gpusync_tasks[1].cpu_cluster = 0;
    server = gpusync_start(&config, &plan, &text);
    eye = join_ordered(server, "eye");
    has_a_job(server, eye);
    ear = claims_join(server, "ear", HELLO_TASK, PERIOD);
    names_a_thread(server, ear, 2);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_job_begins(server, ear, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_job_ends(server, ear);
    has_a_job(server, eye);
    has_a_job(server, ear);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

/* Neither a look nor a change of the order came between the start of the thread and the report. */
START_TEST(a_late_job_with_a_thread_that_is_not_ordered_was_not_claimed)
{
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server = gpusync_start(&config, &plan, &text);
    unsigned eye = join_ordered(server, "eye");
    struct frame late = {.type = FRAME_LATE, .late = {.flags = LATE_EXCEEDED}};
    struct frame about;

    has_a_job(server, eye);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    claims_job_begins(server, eye, claims_world.now_at);
    late.late.limit = (uint64_t)gpusync_tasks[0].bound;
    late.late.release_at = (uint64_t)claims_world.now_at;
    late.late.end_at = late.late.release_at + late.late.limit + 1;
    claims_say(server, eye, &late);
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
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server = gpusync_start(&config, &plan, &text);
    unsigned eye = join_ordered(server, "eye");
    baton_nsec release_at;

    release_at = claims_world.now_at;
    has_a_job(server, eye);
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

START_TEST(tasks_of_gpusync_need_points_and_clusters_that_are_there)
{
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    struct server *server;
    char *text;

    gpusync_tasks[1].has_point = false;
    server = gpusync_start(&config, &plan, &text);
    claims_expect_unclaimed(server, "policy", "");
    free(text);
    server_free(server);
    plan = gpusync_plan();
    gpusync_tasks[1].cpu_cluster = 2;
    server = gpusync_start(&config, &plan, &text);
    claims_expect_unclaimed(server, "cpu_cluster", "ear");
    free(text);
    server_free(server);
    plan = gpusync_plan();
    gpusync_tasks[1].gpu_cluster = 2;
    server = gpusync_start(&config, &plan, &text);
    claims_expect_unclaimed(server, "gpu_cluster", "ear");
    free(text);
    server_free(server);
    plan = gpusync_plan();
    gpusync_tasks[1].requests.said = false;
    server = gpusync_start(&config, &plan, &text);
    claims_expect_unclaimed(server, "requests", "ear");
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
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server = gpusync_start(&config, &plan, &text);
    unsigned eye;

    claims_world.order_answer = -1;
    eye = claims_join(server, "eye", HELLO_TASK, PERIOD);
    ck_assert_int_eq(claims_rule(server), RULE_MET); /* it does nothing yet */
    claims_job_begins(server, eye, claims_world.now_at);
    ck_assert_int_eq(claims_rule(server), RULE_ORDER); /* it has named no thread */
    names_a_thread(server, eye, 4711);
    ck_assert_int_eq(claims_rule(server), RULE_ORDER);
    claims_world.order_answer = 0;
    names_a_thread(server, eye, 4712);
    ck_assert_int_eq(claims_rule(server), RULE_IDLE);
    claims_job_ends(server, eye);
    has_a_job(server, eye);
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

/*
 * Under tokens every task depends on every other one, so that each must be idle: a job of either
 * priority keeps both claims away, and so does the end of a job that the core has not seen.
 */
START_TEST(every_task_of_gpusync_must_be_idle_before_a_claim_returns)
{
    struct config config = gpusync_config();
    struct plan plan = gpusync_plan();
    char *text;
    struct server *server;
    unsigned peers[2];
    unsigned outsider;

    gpusync_tasks[1].cpu_cluster = 0; /* both may run on the cores that the machine shows */
    server = gpusync_start(&config, &plan, &text);
    peers[0] = join_ordered(server, "eye");
    peers[1] = join_ordered(server, "ear");
    for (unsigned late = 0; late < 2; late++) {
        outsider = claims_join(server, "hog", 0, 0);
        claims_job_begins(server, peers[late], claims_world.now_at);
        (void)server_lost(server, outsider, claims_world.now_at);
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

HARNESS_MAIN("claims gpusync", 30, every_task_of_gpusync_must_be_idle_before_a_claim_returns,
             a_bound_of_gpusync_is_claimed_when_all_that_it_rests_on_runs,
             each_field_of_the_basis_of_gpusync_is_compared_with_what_runs,
             each_setting_of_gpusync_is_compared_with_the_plan,
             tasks_of_gpusync_need_points_and_clusters_that_are_there,
             a_thread_that_is_not_ordered_ends_the_claim_until_it_is,
             a_thread_that_is_ordered_when_it_is_found_ends_the_claim_until_an_idle_instant,
             a_thread_that_is_not_ordered_at_an_idle_instant_keeps_the_claim_away,
             a_thread_that_a_change_of_the_order_finds_ends_the_claim,
             a_program_that_is_ordered_with_its_first_job_ends_the_claim,
             a_late_job_with_a_thread_that_is_not_ordered_was_not_claimed,
             a_job_that_comes_before_its_period_ends_the_claim,
             programs_of_gpusync_must_be_where_the_model_has_them)
