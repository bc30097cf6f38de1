/* A bound is claimed only while every field that it rests on is what runs: profile priority. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claims_world.h"
#include "harness.h"
#include "model/defaults.h"

/* Another value that the field may have; NULL: this test does not know the field. */
static const char *other_value(const char *key)
{
    static const char *const values[][2] = {
        {"analysis", "gpusync"}, {"profile", "gpusync"},   {"policy", "edf"},
        {"lock", "r2dglp"},      {"donation", "cpus"},     {"tokens_per_gpu", "2"},
        {"cpus", "3"},           {"cpu_cluster", "1"},     {"gpus", "2"},
        {"gpu_cluster", "2"},    {"copy_engines", "1"},    {"buses", "2"},
        {"migration", "p2p"},    {"shared_memory", "yes"}, {"overheads", "0123456789abcdef"},
        {"name", "\"nose\""},    {"priority", "21"},       {"period_ms", "19"},
        {"deadline_ms", "19"},   {"placement", "any"},     {"piece_ms", "0.6"},
        {"chunk_in", "8192"},    {"chunk_out", "8192"},    {"bound_ms", "6"},
        {"cpu_cluster", "1"},    {"point_ms", "3"},        {"cost_ms", "4"},
        {"budget_ms", "5"},      {"token_until", "gpu"},   {"requests", "none"},
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (strcmp(values[i][0], key) == 0)
            return values[i][1];
    }
    return NULL;
}

/* The text with the value of one key replaced, the first after `from`. The caller frees it. */
static char *edited(const char *text, const char *from, const char *key)
{
    const char *value = other_value(key);
    char *copy = NULL;
    char look_for[64];
    const char *at;
    const char *end;

    ck_assert_msg(value, "the field %s is new: say which other value it may have", key);
    (void)snprintf(look_for, sizeof look_for, "%s: ", key);
    at = strstr(from, look_for);
    while (at && at > text && at[-1] != '\n' && at[-1] != ' ' && at[-1] != '{')
        at = strstr(at + 1, look_for);
    ck_assert_msg(at, "no %s in the plan", key);
    at += strlen(look_for);
    end = at + strcspn(at, ",}\n");
    ck_assert_int_ge(asprintf(&copy, "%.*s%s%s", (int)(at - text), text, value, end), 0);
    return copy;
}

START_TEST(a_plan_that_describes_what_runs_is_claimed)
{
    struct config config = claims_plain_config();
    struct server *server = claims_start(&config);
    struct plan plan = claims_good_plan();
    char *text = claims_text(&plan);
    struct frame frame;

    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    claims_give(server, text);
    (void)claims_join(server, "eye", HELLO_TASK, PERIOD);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    ck_assert(!claims_differs(server, "", "", &frame));
    ck_assert_int_eq(frame.type, FRAME_NOTHING);
    free(text);
    server_free(server);
}
END_TEST

/* The text was edited, so its seals do not fit: whatever the field. */
START_TEST(an_edited_field_takes_the_claim_away)
{
    struct config config = claims_plain_config();
    struct plan plan = claims_good_plan();
    char *text = claims_text(&plan);
    size_t n = PLAN_FIELDS + plan_n_task_fields;

    for (size_t i = 0; i < n; i++) {
        bool of_task = i >= PLAN_FIELDS;
        const char *key = of_task ? plan_task_fields[i - PLAN_FIELDS].key : plan_field_key(i);
        struct server *server = claims_start(&config);
        char *other = NULL;

        if (i == PLAN_CONDITIONS)
            ck_assert_int_ge(asprintf(&other, "conditions: [all is well]\n%s", text), 0);
        else if (i == PLAN_TASKS) /* without its last task */
            ck_assert_int_ge(asprintf(&other, "%.*s", (int)(strstr(text, "  - {name: \"ear\"") - text), text),
                             0);
        else
            other = edited(text, of_task ? strstr(text, "tasks:") : text, key);
        ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
        claims_give(server, other);
        if (of_task && strcmp(key, "name") == 0)
            claims_expect_unclaimed(server, key, "nose");
        else
            claims_expect_unclaimed(server, key, of_task ? "eye" : "");
        free(other);
        server_free(server);
    }
    free(text);
}
END_TEST

/* The plan was made for another system and fits its seals. */
START_TEST(each_field_of_the_basis_is_compared_with_what_runs)
{
    struct config config = claims_plain_config();

    for (size_t i = 0; i < PLAN_BASIS_FIELDS; i++) {
        struct plan plan = claims_good_plan();
        struct server *server = claims_start(&config);
        const char *value = other_value(plan_basis_keys[i]);
        struct frame frame;
        char *text;

        plan_basis_set(&plan.basis, (enum plan_basis_field)i, value);
        text = claims_text(&plan);
        ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
        claims_give(server, text);
        claims_expect_unclaimed(server, plan_basis_keys[i], "");
        frame = claims_ask(server, QUERY_DIFFERENCE, 0); /* the only one */
        ck_assert_str_eq(frame.about_difference.field, plan_basis_keys[i]);
        ck_assert_str_eq(frame.about_difference.planned, value);
        ck_assert_int_eq(claims_ask(server, QUERY_DIFFERENCE, 1).type, FRAME_NOTHING);
        free(text);
        server_free(server);
    }
}
END_TEST

static void with_config(const struct config *config, const char *device, const char *field)
{
    struct plan plan = claims_good_plan();
    char *text = claims_text(&plan);
    struct server *server = claims_start(config);

    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    if (device)
        ck_assert_int_eq(server_add_device(server, device, "another"), 0);
    claims_give(server, text);
    claims_expect_unclaimed(server, field, "");
    free(text);
    server_free(server);
}

START_TEST(each_setting_that_bounds_rest_on_is_compared_with_the_plan)
{
    struct config config = claims_plain_config();

    config.profile = PROFILE_GPUSYNC;
    with_config(&config, NULL, "profile");
    with_config(&config, NULL, "lock");
    with_config(&config, NULL, "tokens_per_gpu");
    config = claims_plain_config();
    config.profile = PROFILE_PRIORITY_WHOLE;
    with_config(&config, NULL, "profile");
    with_config(&config, NULL, "analysis");
    config = claims_plain_config();
    config.policy = POLICY_EDF;
    with_config(&config, NULL, "policy");
    config.policy = POLICY_FAIR_LATENESS;
    with_config(&config, NULL, "policy");
    config.policy = POLICY_FIFO;
    with_config(&config, NULL, "policy");
    config = claims_plain_config();
    config.copy_engines = 1;
    with_config(&config, NULL, "copy_engines");
    config = claims_plain_config();
    config.buses = 2;
    with_config(&config, NULL, "buses");
    config = claims_plain_config();
    with_config(&config, "pci:0000:02:00.0", "gpus");
    with_config(&config, "pci:0000:02:00.0", "gpu_cluster");
}
END_TEST

START_TEST(a_plan_without_a_basis_is_read_and_claims_nothing)
{
    struct config config = claims_plain_config();
    struct server *server = claims_start(&config);
    struct frame frame;

    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    claims_give(
        server,
        "analysis: holistic\nprofile: priority\ntasks:\n  - {name: eye, priority: 20, bound_ms: 7}\n");
    claims_expect_unclaimed(server, "seal", "");
    ck_assert(claims_differs(server, "seal", "", &frame));
    ck_assert_ptr_nonnull(strstr(frame.about_difference.found, "does not say what its bounds rest on"));
    server_free(server);
}
END_TEST

/*
 * Kernels wait for the GPU that was chosen before the upload; the bound of `any` assumes the first
 * that is free.
 */
START_TEST(any_on_several_gpus_is_not_what_runs)
{
    struct config config = claims_plain_config();
    struct plan_task placed[2] = {claims_tasks[0], claims_tasks[1]};
    struct plan plan = claims_good_plan();
    struct server *server = claims_start(&config);
    char *text;

    placed[1].placement.kind = PLACEMENT_ANY;
    plan.tasks = placed;
    plan_basis_set(&plan.basis, BASIS_GPUS, "2");
    plan_basis_set(&plan.basis, BASIS_GPU_CLUSTER, "2");
    text = claims_text(&plan);
    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    ck_assert_int_eq(server_add_device(server, "pci:0000:02:00.0", "a GPU"), 0);
    claims_give(server, text);
    claims_expect_unclaimed(server, "placement", "ear");
    free(text);
    server_free(server);
}
END_TEST

/* What a file does not say means the same in a task set and in batond's configuration. */
START_TEST(task_sets_and_the_daemon_have_the_same_defaults)
{
    static const char text[] = "platform: {cpus: 1, gpus: 1}\n"
                               "tasks: [{name: a, period_ms: 1, segments: [{cpu_ms: 1}]}]\n";
    struct config config = claims_plain_config();
    struct input_error error;
    struct task_set set;

    ck_assert_int_eq(task_set_read("t", text, sizeof text - 1, &set, &error), 0);
    ck_assert_uint_eq(set.platform.copy_engines, config.copy_engines);
    ck_assert_uint_eq(set.platform.tokens_per_gpu, config.tokens_per_gpu);
    ck_assert_uint_eq(set.platform.buses, config.buses);
    ck_assert_str_eq(sched_profiles[config.profile].name, DEFAULT_PROFILE);
    ck_assert_str_eq(sched_locks[config.lock].name, DEFAULT_LOCK);
    task_set_done(&set);
}
END_TEST

/* The good plan with one task changed, sealed as it is. */
static void expect_task_unclaimed(struct plan_task changed, const char *field)
{
    struct config config = claims_plain_config();
    struct server *server = claims_start(&config);
    struct plan_task tasks[2] = {changed, claims_tasks[1]};
    struct plan plan = claims_good_plan();
    char *text;

    plan.tasks = tasks;
    text = claims_text(&plan);
    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    claims_give(server, text);
    claims_expect_unclaimed(server, field, "eye");
    free(text);
    server_free(server);
}

START_TEST(tasks_that_the_run_time_cannot_keep_to_are_not_claimed)
{
    struct plan_task clusters = claims_tasks[0], gpus = claims_tasks[0], endless = claims_tasks[0];

    clusters.cpu_cluster = 1;
    expect_task_unclaimed(clusters, "cpu_cluster");
    gpus.gpu_cluster = 1;
    expect_task_unclaimed(gpus, "gpu_cluster");
    endless.period = endless.deadline = 0;
    expect_task_unclaimed(endless, "period_ms");
}
END_TEST

/* Two GPUs, one with two copy engines and one with one: neither 1 nor 2 is what runs. */
START_TEST(copy_engines_that_differ_between_gpus_are_no_basis)
{
    for (unsigned planned = 1; planned <= 2; planned++) {
        struct config config = claims_plain_config();
        struct plan plan = claims_good_plan();
        struct server *server;
        struct frame frame;
        char *text;

        config.copy_engines = 2;
        config.listed[0] = (struct config_device){.name = "pci:0000:02:00.0", .copy_engines = 1};
        config.n_listed = 1;
        server = claims_start(&config);
        plan_basis_set(&plan.basis, BASIS_GPUS, "2");
        plan_basis_set(&plan.basis, BASIS_GPU_CLUSTER, "2");
        plan_basis_set_count(&plan.basis, BASIS_COPY_ENGINES, planned);
        text = claims_text(&plan);
        ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
        ck_assert_int_eq(server_add_device(server, "pci:0000:02:00.0", "another"), 0);
        claims_give(server, text);
        claims_expect_unclaimed(server, "copy_engines", "");
        ck_assert(claims_differs(server, "copy_engines", "", &frame));
        ck_assert_str_eq(frame.about_difference.found, "1 or 2");
        free(text);
        server_free(server);
    }
}
END_TEST

START_TEST(nothing_is_claimed_of_a_machine_that_does_not_say_its_cores)
{
    struct config config = claims_plain_config();
    struct server *server = claims_start(&config);
    struct plan plan = claims_good_plan();
    char *text = claims_text(&plan);

    claims_world.hidden = true;
    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    claims_give(server, text);
    claims_expect_unclaimed(server, "cpus", "");
    claims_expect_unclaimed(server, "cpu_cluster", "");
    free(text);
    server_free(server);
}
END_TEST

START_TEST(nothing_is_claimed_before_a_daemon_has_settled)
{
    struct config config = claims_plain_config();
    struct plan plan = claims_good_plan();
    char *text = claims_text(&plan);
    struct server *server;

    claims_world.settles = true;
    server = claims_start(&config);
    ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
    claims_give(server, text);
    claims_expect_unclaimed(server, "settle_ms", "");
    claims_world.now_at += 10 * NSEC_PER_SEC;
    server_tick(server, claims_world.now_at);
    (void)claims_join(server, "eye", HELLO_TASK, PERIOD);
    ck_assert_int_eq(claims_rule(server), RULE_MET);
    free(text);
    server_free(server);
}
END_TEST

START_TEST(a_plan_without_bounds_needs_no_looks_for_an_idle_instant)
{
    for (int bounds = 0; bounds < 2; bounds++) {
        struct config config = claims_plain_config();
        struct plan plan = claims_good_plan();
        const baton_nsec was[] = {claims_tasks[0].bound, claims_tasks[1].bound};
        struct server *server;
        char *text;

        if (!bounds)
            claims_tasks[0].bound = claims_tasks[1].bound = -1;
        text = claims_text(&plan);
        server = claims_start(&config);
        ck_assert_int_eq(server_add_device(server, GPU, "a GPU"), 0);
        claims_give(server, text);
        claims_job_begins(server, claims_join(server, "eye", HELLO_TASK, PERIOD), claims_world.now_at);
        /* claims are lost while the job of eye runs */
        (void)claims_dies(server, claims_join(server, "hog", 0, 0));
        claims_world.now_at = server_next_at(server);
        server_tick(server, claims_world.now_at);
        ck_assert_int_eq(server_next_at(server) - claims_world.now_at < CLAIMS_EVERY / 2, bounds);
        claims_tasks[0].bound = was[0];
        claims_tasks[1].bound = was[1];
        free(text);
        server_free(server);
    }
}
END_TEST

HARNESS_MAIN("claims", 30, a_plan_that_describes_what_runs_is_claimed, an_edited_field_takes_the_claim_away,
             each_field_of_the_basis_is_compared_with_what_runs,
             each_setting_that_bounds_rest_on_is_compared_with_the_plan,
             a_plan_without_a_basis_is_read_and_claims_nothing, any_on_several_gpus_is_not_what_runs,
             task_sets_and_the_daemon_have_the_same_defaults,
             tasks_that_the_run_time_cannot_keep_to_are_not_claimed,
             copy_engines_that_differ_between_gpus_are_no_basis,
             nothing_is_claimed_of_a_machine_that_does_not_say_its_cores,
             nothing_is_claimed_before_a_daemon_has_settled,
             a_plan_without_bounds_needs_no_looks_for_an_idle_instant)
