/*
 * The sound holistic analysis against an independent implementation (data/sound.json): every bound
 * at least what was observed in simulation, and at most the bound given there; also stage by stage.
 */
#include "analysis/holistic/holistic.h"
#include "harness.h"
#include "pipeline_json.h"

static const unsigned char single[64];

static void run_case(struct holistic *h, const struct pipeline *pipeline, baton_nsec responses[])
{
    struct mode_run run = {
        .choice = single, .n_fixed = pipeline->n_tasks, .n_run = pipeline->n_tasks, .cap = 1};

    holistic_attach(h, pipeline);
    ck_assert_uint_eq(holistic_class.run(h, &run, responses), pipeline->n_tasks);
}

START_TEST(no_bound_is_below_an_observed_response_or_above_the_reference)
{
    json_t *root = pipeline_json_load("sound.json");
    struct holistic *h = holistic_new(64, 1024, 1);
    size_t index;
    const json_t *entry;

    ck_assert(h != NULL);
    json_array_foreach(json_object_get(root, "cases"), index, entry)
    {
        long long id = json_integer_value(json_object_get(entry, "id"));
        struct arena arena;
        struct pipeline pipeline;
        baton_nsec responses[64];

        arena_init(&arena, 0);
        pipeline_json_sound(entry, &arena, &pipeline);
        run_case(h, &pipeline, responses);
        for (size_t i = 0; i < pipeline.n_tasks; i++) {
            baton_nsec observed = pipeline_json_at(entry, "observed", i);
            baton_nsec reference = pipeline_json_at(entry, "R_sound", i);

            ck_assert_msg(responses[i] >= observed, "case %lld task %zu: %ld < observed %ld", id, i,
                          (long)responses[i], (long)observed);
            ck_assert_msg(responses[i] <= reference, "case %lld task %zu: %ld > reference %ld", id, i,
                          (long)responses[i], (long)reference);
        }
        arena_done(&arena);
    }
    holistic_free(h);
    json_decref(root);
}
END_TEST

START_TEST(stage_delays_and_finishes_are_at_most_those_of_the_reference)
{
    json_t *root = pipeline_json_load("sound.json");
    struct holistic *h = holistic_new(64, 1024, 1);
    size_t index;
    const json_t *entry;

    ck_assert(h != NULL);
    json_array_foreach(json_object_get(root, "cases"), index, entry)
    {
        long long id = json_integer_value(json_object_get(entry, "id"));
        struct arena arena;
        struct pipeline pipeline;
        baton_nsec responses[64];

        arena_init(&arena, 0);
        pipeline_json_sound(entry, &arena, &pipeline);
        run_case(h, &pipeline, responses);
        for (size_t i = 0; i < pipeline.n_tasks; i++) {
            const json_t *w = json_array_get(json_object_get(entry, "w"), i);
            const json_t *f = json_array_get(json_object_get(entry, "F"), i);

            for (size_t p = 0; p < pipeline.tasks[i].n_stages; p++) {
                long long delay = json_integer_value(json_array_get(w, p));
                long long finish = json_integer_value(json_array_get(f, p));

                ck_assert_msg(holistic_delays(h, i)[p] <= delay, "case %lld w[%zu][%zu]: %ld > %lld", id, i,
                              p, (long)holistic_delays(h, i)[p], delay);
                ck_assert_msg(holistic_finishes(h, i)[p] <= finish, "case %lld F[%zu][%zu]: %ld > %lld", id,
                              i, p, (long)holistic_finishes(h, i)[p], finish);
            }
        }
        arena_done(&arena);
    }
    holistic_free(h);
    json_decref(root);
}
END_TEST

HARNESS_MAIN("sound_reference", 20, no_bound_is_below_an_observed_response_or_above_the_reference,
             stage_delays_and_finishes_are_at_most_those_of_the_reference)
