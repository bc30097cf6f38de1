/* What theory promises, on random sets with fixed seeds. */
#include <string.h>

#include "analysis/holistic/holistic.h"
#include "analysis/holistic/holistic_printed.h"
#include "analysis/plan/sensitivity.h"
#include "attack.h"
#include "harness.h"

static const unsigned char defaults[ATTACK_MAX_TASKS];

/* Responses, MODE_UNBOUNDED from the first task without a bound on. */
static void respond(struct holistic *h, const struct pipeline *pipeline, baton_nsec responses[])
{
    size_t n = pipeline->n_tasks;
    struct mode_run run = {.choice = defaults, .n_fixed = n, .n_run = n, .cap = 1};
    size_t ran;

    holistic_attach(h, pipeline);
    ran = holistic_class.run(h, &run, responses);
    for (size_t i = ran; i < n; i++)
        responses[i] = MODE_UNBOUNDED;
}

/* Makes something longer, or a period shorter. */
static void burden(struct pipeline *pipeline, struct random_state *random)
{
    struct pipeline_task *task = &pipeline->tasks[random_below(random, pipeline->n_tasks)];
    struct stage *stage = &task->options[0].stages[random_below(random, task->n_stages)];

    switch (random_below(random, 3)) {
    case 0:
        task->period--;
        task->deadline = task->period < task->deadline ? task->period : task->deadline;
        break;
    case 1:
        stage->best = 0;
        break;
    default:
        if (stage->per_gpu)
            break;
        stage->length++;
        /* One more in the last piece, or in all there is. */
        if (stage->last == stage->piece && !stage->sliced)
            stage->piece++;
        else if (stage->last == stage->piece)
            break;
        stage->last++;
        break;
    }
    pipeline_seal(pipeline);
}

START_TEST(more_work_never_lowers_a_bound)
{
    struct holistic *h = holistic_new(ATTACK_MAX_TASKS, 256, 1);
    struct random_state random;
    size_t worse = 0;
    size_t lost = 0;

    ck_assert(h != NULL);
    random_init(&random, 31, 0);
    for (size_t s = 0; s < harness_scale(20000, 500000); s++) {
        struct arena arena;
        struct pipeline pipeline;
        baton_nsec before[ATTACK_MAX_TASKS];
        baton_nsec after[ATTACK_MAX_TASKS];

        arena_init(&arena, 0);
        attack_random_set(&arena, &random, 1, &pipeline);
        respond(h, &pipeline, before);
        burden(&pipeline, &random);
        respond(h, &pipeline, after);
        for (size_t i = 0; i < pipeline.n_tasks; i++) {
            ck_assert_msg(after[i] >= before[i], "seed 31, set %zu, task %zu: %ld, then %ld", s, i,
                          (long)before[i], (long)after[i]);
            worse += after[i] > before[i] && after[i] < MODE_UNBOUNDED;
            lost += after[i] > before[i] && after[i] == MODE_UNBOUNDED;
        }
        arena_done(&arena);
    }
    ck_assert_uint_gt(worse, 100);
    ck_assert_uint_gt(lost, 100);
    holistic_free(h);
}
END_TEST

/* Utilisation: what is accepted fits on each unit; and no bound is below the task's own work. */
START_TEST(bounds_are_above_what_utilisation_demands)
{
    struct holistic *h = holistic_new(ATTACK_MAX_TASKS, 256, 1);
    struct random_state random;
    size_t accepted = 0;

    ck_assert(h != NULL);
    random_init(&random, 32, 0);
    for (size_t s = 0; s < 20000; s++) {
        struct arena arena;
        struct pipeline pipeline;
        baton_nsec responses[ATTACK_MAX_TASKS];
        double bus = 0;
        double cpu = 0;

        arena_init(&arena, 0);
        attack_random_set(&arena, &random, 1, &pipeline);
        respond(h, &pipeline, responses);
        for (size_t i = 0; i < pipeline.n_tasks; i++) {
            const struct pipeline_task *task = &pipeline.tasks[i];

            ck_assert_int_ge(responses[i], task->options[0].total);
            for (size_t p = 0; p < task->n_stages; p++) {
                const struct stage *stage = &task->options[0].stages[p];

                if (stage->unit != UNIT_GPU)
                    *(stage->unit == UNIT_BUS ? &bus : &cpu) += (double)stage->length / (double)task->period;
            }
        }
        if (responses[pipeline.n_tasks - 1] < MODE_UNBOUNDED) {
            accepted++;
            ck_assert_double_le(bus, 1 + 1e-9);
            ck_assert_double_le(cpu, pipeline.cpus + 1e-9);
        }
        arena_done(&arena);
    }
    ck_assert_uint_gt(accepted, 2000);
    holistic_free(h);
}
END_TEST

/*
 * One CPU and one stage per task: no jitter, no blocking, no carry-in. Then both analyses are the
 * classical response-time analysis and must agree with it (Joseph and Pandya).
 */
START_TEST(printed_and_sound_agree_with_the_classical_analysis_on_one_cpu)
{
    struct holistic *h = holistic_new(8, 8, 1);
    struct holistic_printed *printed = holistic_printed_new(8, 8, 1);
    const size_t ones[] = {1, 1, 1, 1, 1};
    struct random_state random;

    ck_assert(h && printed);
    random_init(&random, 33, 0);
    for (size_t s = 0; s < 20000; s++) {
        struct mode_run run = {.choice = defaults, .n_fixed = 5, .n_run = 5, .cap = PRINTED_CAP};
        struct pipeline pipeline;
        struct arena arena;
        baton_nsec sound[5];
        baton_nsec as_printed[5];
        baton_nsec period = 5;
        bool bounded = true;

        arena_init(&arena, 0);
        ck_assert_int_eq(pipeline_allocate(&arena, 5, ones, ones, &pipeline), 0);
        for (size_t i = 0; i < 5; i++) {
            baton_nsec length = 1 + (baton_nsec)random_below(&random, 6);

            period += (baton_nsec)random_below(&random, 12);
            pipeline.tasks[i].period = pipeline.tasks[i].deadline = period;
            pipeline.tasks[i].options[0].stages[0] = (struct stage){
                .unit = UNIT_CPU, .length = length, .piece = length, .last = length, .lanes = 1};
        }
        pipeline_seal(&pipeline);
        respond(h, &pipeline, sound);
        holistic_printed_attach(printed, &pipeline);
        ck_assert_uint_eq(holistic_printed_class.run(printed, &run, as_printed), 5);
        for (size_t i = 0; i < 5 && bounded; i++) {
            baton_nsec own = pipeline.tasks[i].options[0].total;
            baton_nsec r;
            baton_nsec next = own;

            do {
                r = next;
                next = own;
                for (size_t k = 0; k < i; k++)
                    next += (r + pipeline.tasks[k].period - 1) / pipeline.tasks[k].period *
                            pipeline.tasks[k].options[0].total;
            } while (next > r && next <= pipeline.tasks[i].period);
            bounded = next <= pipeline.tasks[i].period;
            if (bounded) {
                ck_assert_int_eq(sound[i], r);
                ck_assert_int_eq(as_printed[i], r);
            } else {
                ck_assert_int_eq(sound[i], MODE_UNBOUNDED);
            }
        }
        arena_done(&arena);
    }
    holistic_free(h);
    holistic_printed_free(printed);
}
END_TEST

/* The terms of an explanation sum up to the bound. */
START_TEST(explanations_add_up)
{
    struct holistic *h = holistic_new(ATTACK_MAX_TASKS, 256, 1);
    struct random_state random;
    size_t explained = 0;
    size_t jobs = 0;

    ck_assert(h != NULL);
    random_init(&random, 34, 0);
    for (size_t s = 0; s < 5000; s++) {
        struct arena arena;
        struct pipeline pipeline;
        baton_nsec responses[ATTACK_MAX_TASKS];
        struct holistic_term terms[512];

        arena_init(&arena, 0);
        attack_random_set(&arena, &random, 1, &pipeline);
        respond(h, &pipeline, responses);
        for (size_t i = 0; i < pipeline.n_tasks && responses[i] < MODE_UNBOUNDED; i++) {
            baton_nsec sum = 0;
            size_t n;
            size_t job;

            ck_assert(holistic_explain(h, i, terms, 512, &n, &job));
            for (size_t t = 0; t < n; t++) {
                sum += terms[t].amount;
                ck_assert_int_gt(terms[t].amount, 0);
                ck_assert(terms[t].why != WHY_INTERFERENCE || terms[t].cause < i);
                ck_assert(terms[t].why != WHY_BLOCKING || terms[t].cause > i);
            }
            ck_assert_msg(sum == responses[i], "seed 34, set %zu, task %zu: %ld of %ld explained", s, i,
                          (long)sum, (long)responses[i]);
            explained++;
            jobs += job > 0;
        }
        arena_done(&arena);
    }
    ck_assert_uint_gt(explained, 1000);
    ck_assert_uint_gt(jobs, 50);
    holistic_free(h);
}
END_TEST

/*
 * One task of 10 every 100 on one CPU: ten times its execution fits exactly; its period can shrink
 * to 10.
 */
START_TEST(sensitivity_finds_the_edge)
{
    const size_t one[] = {1};
    struct holistic *h = holistic_new(1, 1, 2);
    struct pipeline pipeline;
    struct mode_test test = {&holistic_class, h, &pipeline};
    struct arena arena;
    baton_nsec period;
    uint32_t factor;

    ck_assert(h != NULL);
    arena_init(&arena, 0);
    ck_assert_int_eq(pipeline_allocate(&arena, 1, one, one, &pipeline), 0);
    pipeline.tasks[0].period = pipeline.tasks[0].deadline = 100;
    pipeline.tasks[0].options[0].stages[0] =
        (struct stage){.unit = UNIT_CPU, .length = 10, .piece = 10, .last = 10, .lanes = 1};
    pipeline_seal(&pipeline);
    holistic_attach(h, &pipeline);
    ck_assert_int_eq(sensitivity_factor(&test, defaults, &factor), 0);
    ck_assert_uint_eq(factor, 10 * SENSITIVITY_ONE);
    ck_assert_int_eq(sensitivity_period(&test, defaults, 0, &period), 0);
    ck_assert_int_eq(period, 10);
    arena_done(&arena);
    holistic_free(h);
}
END_TEST

HARNESS_MAIN("properties", 60, more_work_never_lowers_a_bound, bounds_are_above_what_utilisation_demands,
             printed_and_sound_agree_with_the_classical_analysis_on_one_cpu, explanations_add_up,
             sensitivity_finds_the_edge)
