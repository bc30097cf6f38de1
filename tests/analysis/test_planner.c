/* Policies against brute force, and the simulation of Sec. IV-D against its reference. */
#include "analysis/holistic/holistic.h"
#include "analysis/holistic/holistic_printed.h"
#include "analysis/plan/plan_search.h"
#include "analysis/plan/planner.h"
#include "attack.h"
#include "harness.h"
#include "study/gema_experiment.h"
#include "study/gema_generator.h"

static bool meets(const struct mode_test *test, const unsigned char choice[])
{
    size_t n = test->pipeline->n_tasks;
    struct mode_run run = {.choice = choice, .n_fixed = n, .n_run = n, .cap = 1, .until_miss = true};
    baton_nsec responses[GEMA_MAX_TASKS];

    return test->class->run(test->state, &run, responses) == n &&
           responses[n - 1] <= test->pipeline->tasks[n - 1].deadline;
}

/*
 * Is there a schedulable choice at all? Tries every one on a test without memory of earlier runs.
 */
static bool brute_force(const struct mode_test *test)
{
    unsigned char choice[GEMA_MAX_TASKS] = {0};
    size_t n = test->pipeline->n_tasks;
    size_t i;

    do {
        test->class->attach(test->state, test->pipeline);
        if (meets(test, choice))
            return true;
        for (i = 0; i < n && ++choice[i] == test->pipeline->tasks[i].n_options; i++)
            choice[i] = 0;
    } while (i < n);
    return false;
}

/*
 * GLOBAL, and its search alone (GEMA finds most that there is to find, and would hide what the
 * search loses), against all choices. Answers whether there is one.
 */
static bool compare_set(struct planner *planner, const struct mode_test *test, size_t number)
{
    struct plan_outcome outcome = {.complete = true};
    unsigned char choice[GEMA_MAX_TASKS];
    bool exists = brute_force(test);
    bool found;

    test->class->attach(test->state, test->pipeline);
    planner_choose(planner, test, POLICY_GLOBAL, 0, choice, &outcome);
    ck_assert(outcome.complete);
    ck_assert_msg(outcome.schedulable == exists, "set %zu: %d, but %d by trying all", number,
                  outcome.schedulable, exists);
    found = !plan_search_hopeless(planner, test) && plan_search(planner, test, 0, choice);
    plan_search_end(planner, test);
    ck_assert_msg(found == exists, "set %zu: the search says %d, but %d by trying all", number, found,
                  exists);
    test->class->attach(test->state, test->pipeline);
    if (exists)
        ck_assert(meets(test, choice));
    planner_choose(planner, test, POLICY_GEMA, 0, choice, &outcome);
    ck_assert(!outcome.schedulable || exists);
    return exists;
}

/* `sets` sets of the paper's generator with n tasks; both answers must occur. */
static void compare_with_all(const struct mode_test_class *class, void *state, enum gema_placement placement,
                             size_t n_tasks, double target, size_t sets)
{
    struct gema_parameters parameters;
    struct gema_generator *generator;
    struct planner *planner = planner_new(GEMA_MAX_TASKS);
    struct random_state random;
    size_t yes = 0;

    gema_parameters_default(&parameters);
    parameters.placement = placement;
    parameters.n_tasks = n_tasks;
    generator = gema_generator_new(&parameters);
    ck_assert(generator && planner);
    random_init(&random, 11, n_tasks);
    for (size_t s = 0; s < sets; s++) {
        struct mode_test test = {class, state, gema_generate(generator, &random, target)};

        yes += compare_set(planner, &test, s);
    }
    ck_assert_uint_gt(yes, 0);
    ck_assert_uint_lt(yes, sets);
    planner_free(planner);
    gema_generator_free(generator);
}

START_TEST(global_finds_a_printed_choice_exactly_when_there_is_one)
{
    struct holistic_printed *printed = holistic_printed_new(GEMA_MAX_TASKS, 2000, 2);

    compare_with_all(&holistic_printed_class, printed, GEMA_ANY, 4, 0.8, harness_scale(150, 20000));
    compare_with_all(&holistic_printed_class, printed, GEMA_ANY, 8, 0.8, harness_scale(40, 4000));
    holistic_printed_free(printed);
}
END_TEST

START_TEST(global_finds_a_sound_choice_exactly_when_there_is_one)
{
    struct holistic *sound = holistic_new(GEMA_MAX_TASKS, 2000, 3);

    compare_with_all(&holistic_class, sound, GEMA_CHOSEN, 4, 0.8, harness_scale(60, 5000));
    compare_with_all(&holistic_class, sound, GEMA_PAID, 4, 1.2, harness_scale(20, 2000));
    holistic_free(sound);
}
END_TEST

/*
 * Pinned, sliced, split and unequal kernels, the options of a task without any relation to each
 * other.
 */
START_TEST(global_is_exact_on_every_kind_of_kernel)
{
    struct holistic *sound = holistic_new(ATTACK_MAX_TASKS, 200, 3);
    struct planner *planner = planner_new(ATTACK_MAX_TASKS);
    size_t sets = harness_scale(1500, 100000);
    struct random_state random;
    size_t yes = 0;

    random_init(&random, 13, 0);
    for (size_t s = 0; s < sets; s++) {
        struct arena arena;
        struct pipeline pipeline;
        struct mode_test test = {&holistic_class, sound, &pipeline};

        arena_init(&arena, 0);
        attack_random_set(&arena, &random, 1 + random_below(&random, 3), &pipeline);
        yes += compare_set(planner, &test, s);
        arena_done(&arena);
    }
    ck_assert_uint_gt(yes, sets / 10);
    ck_assert_uint_lt(yes, sets - sets / 10);
    planner_free(planner);
    holistic_free(sound);
}
END_TEST

/*
 * What is kept from earlier runs must not show: any order of choices gives what a fresh test gives.
 */
START_TEST(results_do_not_depend_on_earlier_runs)
{
    struct holistic *kept = holistic_new(GEMA_MAX_TASKS, 2000, 3);
    struct holistic *fresh = holistic_new(GEMA_MAX_TASKS, 2000, 3);
    struct gema_parameters parameters;
    struct gema_generator *generator;
    struct random_state random;

    gema_parameters_default(&parameters);
    parameters.placement = GEMA_PAID;
    generator = gema_generator_new(&parameters);
    ck_assert(kept && fresh && generator);
    random_init(&random, 12, 0);
    for (size_t s = 0; s < 40; s++) {
        const struct pipeline *pipeline = gema_generate(generator, &random, 1.2);
        size_t n = pipeline->n_tasks;

        holistic_attach(kept, pipeline);
        for (size_t trial = 0; trial < 30; trial++) {
            unsigned char choice[GEMA_MAX_TASKS];
            size_t part = 1 + random_below(&random, n);
            struct mode_run run = {.choice = choice, .n_fixed = n, .n_run = n, .cap = 20};
            struct mode_run partial = {
                .choice = choice, .n_fixed = part, .n_run = part, .cap = 1, .until_miss = true};
            baton_nsec a[GEMA_MAX_TASKS];
            baton_nsec b[GEMA_MAX_TASKS];

            for (size_t i = 0; i < n; i++)
                choice[i] = (unsigned char)random_below(&random, 3);
            /* What a search does in between. */
            if (random_below(&random, 2))
                (void)holistic_class.run(kept, &partial, a);
            if (random_below(&random, 2) && part < n)
                (void)holistic_class.hopeful(kept, &partial, part + random_below(&random, n - part), 0);
            ck_assert_uint_eq(holistic_class.run(kept, &run, a), n);
            holistic_attach(fresh, pipeline);
            ck_assert_uint_eq(holistic_class.run(fresh, &run, b), n);
            for (size_t i = 0; i < n; i++)
                ck_assert_int_eq(a[i], b[i]);
        }
    }
    gema_generator_free(generator);
    holistic_free(kept);
    holistic_free(fresh);
}
END_TEST

/*
 * The reference of 20,000 sets as printed, with a generator of its own: within 2.5 points (1,500
 * sets here: one sigma is 1.3).
 */
START_TEST(the_printed_experiment_comes_out_as_the_reference)
{
    static const double targets[] = {0.4, 0.8, 1.2};
    static const double single[] = {.597, .164, .001};
    static const double local[] = {.881, .517, .180};
    static const double gema[] = {.895, .614, .213};
    static const double global[] = {.895, .614, .214};
    size_t sets = harness_scale(1500, 20000);

    for (size_t i = 0; i < 3; i++) {
        struct gema_point point = {0};
        const size_t *printed = point.schedulable[CURVE_PRINTED];
        const size_t *sound = point.schedulable[CURVE_SOUND];
        const size_t *placed = point.schedulable[CURVE_SOUND_PLACED];

        ck_assert_int_eq(gema_experiment(targets[i], 0, sets, 3, i, &point), 0);
        ck_assert_double_eq_tol((double)printed[POLICY_SINGLE] / (double)sets, single[i], .04);
        ck_assert_double_eq_tol((double)printed[POLICY_LOCAL] / (double)sets, local[i], .04);
        ck_assert_double_eq_tol((double)printed[POLICY_GEMA] / (double)sets, gema[i], .04);
        ck_assert_double_eq_tol((double)printed[POLICY_GLOBAL] / (double)sets, global[i], .04);
        /* The paper: GEMA loses at most 1.4 %. */
        ck_assert_double_ge((double)printed[POLICY_GEMA], 0.986 * (double)printed[POLICY_GLOBAL]);
        ck_assert_double_ge((double)sound[POLICY_GEMA], 0.986 * (double)sound[POLICY_GLOBAL]);
        ck_assert_double_ge((double)placed[POLICY_GEMA], 0.986 * (double)placed[POLICY_GLOBAL]);
        /* The sound analysis accepts more, and paying for replicated uploads costs some of that. */
        for (int policy = 0; policy < GEMA_POLICIES; policy++)
            ck_assert_uint_ge(sound[policy], printed[policy]);
        ck_assert_uint_le(placed[POLICY_GLOBAL], sound[POLICY_GLOBAL]);
    }
}
END_TEST

HARNESS_MAIN("planner", 60, global_finds_a_printed_choice_exactly_when_there_is_one,
             global_finds_a_sound_choice_exactly_when_there_is_one, global_is_exact_on_every_kind_of_kernel,
             results_do_not_depend_on_earlier_runs, the_printed_experiment_comes_out_as_the_reference)
