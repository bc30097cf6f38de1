/*
 * The printed analysis and the four policies against independently computed values
 * (data/gema.json).
 */
#include "analysis/holistic/holistic_printed.h"
#include "analysis/plan/planner.h"
#include "harness.h"
#include "pipeline_json.h"

struct fixture {
    json_t *root;
    struct holistic_printed *printed;
    struct planner *planner;
};

static void set_up(struct fixture *fixture)
{
    fixture->root = pipeline_json_load("gema.json");
    fixture->printed = holistic_printed_new(64, 2048, 2);
    fixture->planner = planner_new(64);
    ck_assert(fixture->printed && fixture->planner);
}

static void tear_down(struct fixture *fixture)
{
    planner_free(fixture->planner);
    holistic_printed_free(fixture->printed);
    json_decref(fixture->root);
}

static void responses_of(struct fixture *fixture, const struct pipeline *pipeline,
                         const unsigned char choice[], baton_nsec responses[])
{
    struct mode_run run = {
        .choice = choice, .n_fixed = pipeline->n_tasks, .n_run = pipeline->n_tasks, .cap = PRINTED_CAP};

    holistic_printed_attach(fixture->printed, pipeline);
    ck_assert_uint_eq(holistic_printed_class.run(fixture->printed, &run, responses), pipeline->n_tasks);
}

static void expect_policy(struct fixture *fixture, const json_t *entry, const struct pipeline *pipeline,
                          enum plan_policy policy)
{
    const char *name = plan_policy_names[policy];
    const json_t *expected = json_object_get(entry, name);
    struct mode_test test = {&holistic_printed_class, fixture->printed, pipeline};
    struct plan_outcome outcome;
    unsigned char choice[64];
    baton_nsec responses[64];

    holistic_printed_attach(fixture->printed, pipeline);
    planner_choose(fixture->planner, &test, policy, 0, choice, &outcome);
    ck_assert(outcome.complete);
    ck_assert_msg(outcome.schedulable == json_is_true(json_object_get(expected, "schedulable")),
                  "case %lld, %s", json_integer_value(json_object_get(entry, "id")), name);
    responses_of(fixture, pipeline, choice, responses);
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        if (json_object_get(expected, "multi"))
            ck_assert_int_eq(choice[i], pipeline_json_at(expected, "multi", i));
        if (json_object_get(expected, "R"))
            ck_assert_int_eq(responses[i], pipeline_json_at(expected, "R", i));
        if (outcome.schedulable)
            ck_assert_int_le(responses[i], pipeline->tasks[i].deadline);
    }
}

START_TEST(every_policy_decides_as_the_reference)
{
    struct fixture fixture;
    size_t index;
    const json_t *entry;

    set_up(&fixture);
    json_array_foreach(json_object_get(fixture.root, "cases"), index, entry)
    {
        struct arena arena;
        struct pipeline pipeline;

        arena_init(&arena, 0);
        pipeline_json_gema(entry, &arena, &pipeline);
        for (int policy = 0; plan_policy_names[policy]; policy++)
            expect_policy(&fixture, entry, &pipeline, (enum plan_policy)policy);
        arena_done(&arena);
    }
    ck_assert_uint_eq(index, 16);
    tear_down(&fixture);
}
END_TEST

START_TEST(every_delay_is_that_of_the_reference)
{
    struct fixture fixture;
    size_t index;
    const json_t *entry;

    set_up(&fixture);
    json_array_foreach(json_object_get(fixture.root, "cases"), index, entry)
    {
        const json_t *gema = json_object_get(entry, "gema");
        struct arena arena;
        struct pipeline pipeline;
        unsigned char choice[64];
        baton_nsec responses[64];

        arena_init(&arena, 0);
        pipeline_json_gema(entry, &arena, &pipeline);
        for (size_t i = 0; i < pipeline.n_tasks; i++)
            choice[i] = (unsigned char)pipeline_json_at(gema, "multi", i);
        responses_of(&fixture, &pipeline, choice, responses);
        for (size_t i = 0; i < pipeline.n_tasks; i++) {
            const json_t *w = json_array_get(json_object_get(gema, "w"), i);

            for (size_t p = 0; p < pipeline.tasks[i].n_stages; p++)
                ck_assert_int_eq(holistic_printed_delays(fixture.printed, i)[p],
                                 json_integer_value(json_array_get(w, p)));
        }
        arena_done(&arena);
    }
    tear_down(&fixture);
}
END_TEST

HARNESS_MAIN("gema_reference", 20, every_policy_decides_as_the_reference,
             every_delay_is_that_of_the_reference)
