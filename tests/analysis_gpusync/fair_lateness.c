/*
 * Fair lateness against exact rational results (reference/README), against its definition solved by
 * bisection, and by hand.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cpu/fair_lateness.h"
#include "base/random.h"
#include "harness.h"

#define MOST 64

struct columns {
    double cost[MOST], period[MOST], deadline[MOST];
    double point[MOST], response[MOST], utilisation[MOST], slope[MOST], key[MOST];
    size_t chosen[MOST];
    struct fair_lateness cluster;
};

static int bound(struct columns *c, size_t n, unsigned cpus)
{
    c->cluster = (struct fair_lateness){.n = n,
                                        .cpus = cpus,
                                        .cost = c->cost,
                                        .period = c->period,
                                        .deadline = c->deadline,
                                        .point = c->point,
                                        .response = c->response,
                                        .utilisation = c->utilisation,
                                        .slope = c->slope,
                                        .key = c->key,
                                        .chosen = c->chosen};
    return fair_lateness_bound(&c->cluster);
}

static double at(const json_t *object, const char *list, size_t i)
{
    return json_number_value(json_array_get(json_object_get(object, list), i));
}

static void near(double expected, double found)
{
    ck_assert_double_eq_tol(expected, found, 1e-10 * (fabs(expected) + 1));
}

START_TEST(all_reference_sets_agree)
{
    json_t *file = json_load_file(harness_data("analysis_gpusync/reference/fair_lateness.json"), 0, NULL);
    size_t index;
    json_t *set;
    size_t bounded = 0;
    size_t unbounded = 0;

    ck_assert_ptr_nonnull(file);
    json_array_foreach(json_object_get(file, "sets"), index, set)
    {
        const json_t *tasks = json_object_get(set, "tasks");
        const json_t *exact = json_object_get(set, "exact");
        size_t n = json_array_size(tasks);
        struct columns c;
        int answer;

        for (size_t i = 0; i < n; i++) {
            const json_t *task = json_array_get(tasks, i);

            c.cost[i] = json_number_value(json_object_get(task, "C"));
            c.period[i] = json_number_value(json_object_get(task, "T"));
            c.deadline[i] = json_number_value(json_object_get(task, "D"));
        }
        answer = bound(&c, n, (unsigned)json_integer_value(json_object_get(set, "m")));
        near(json_number_value(json_object_get(set, "U")), c.cluster.total);
        if (strcmp(json_string_value(json_object_get(set, "verdict")), "bounded") != 0) {
            ck_assert_int_ne(answer, FAIR_LATENESS_BOUNDED);
            unbounded++;
            continue;
        }
        bounded++;
        ck_assert_int_eq(answer, FAIR_LATENESS_BOUNDED);
        near(json_number_value(json_object_get(exact, "s")), c.cluster.s);
        for (size_t i = 0; i < n; i++) {
            near(at(exact, "prio_pt", i), c.point[i]);
            near(at(exact, "R_clamped", i), c.response[i]);
            near(at(exact, "tardiness_clamped", i), fmax(0, c.response[i] - c.deadline[i]));
        }
    }
    ck_assert_uint_eq(bounded, 26);
    ck_assert_uint_eq(unbounded, 4);
    json_decref(file);
}
END_TEST

/*
 * m = 2; (50,50), (20,40), (100,200): Y = 50-25, 40-10, 200-50 = 25, 30, 150; y = 0, 5, 125; U = 1,
 * .5, .5, sum 2, so one largest. S = 50, 20(1-5/40) = 17.5, 100(1-125/200) = 37.5, sum 105. a =
 * 50-25-50 = -25, 20-5-17.5 = -2.5, 100-25-37.5 = 37.5. At s = 0 the largest is the third: s =
 * (105+37.5)/(2-.5) = 95; there -25+95 = 70 < 37.5+47.5 = 85: still the third. R = 0+(95-25)+50 =
 * 120, 5+(95-10)+20 = 110, 125+(95-50)+100 = 270.
 */
START_TEST(three_tasks_by_hand)
{
    struct columns c = {.cost = {50, 20, 100}, .period = {50, 40, 200}, .deadline = {50, 40, 200}};

    ck_assert_int_eq(bound(&c, 3, 2), FAIR_LATENESS_BOUNDED);
    near(95, c.cluster.s);
    near(25, c.point[0]);
    near(30, c.point[1]);
    near(150, c.point[2]);
    near(120, c.response[0]);
    near(110, c.response[1]);
    near(270, c.response[2]);
}
END_TEST

START_TEST(utilisation_above_the_cpus_wins_over_a_task_that_is_too_long)
{
    struct columns c = {.cost = {60, 50}, .period = {50, 50}, .deadline = {50, 50}};

    ck_assert_int_eq(bound(&c, 2, 2), FAIR_LATENESS_OVERUTILISED); /* 1.2 + 1 > 2 */
    ck_assert_int_eq(bound(&c, 2, 3), FAIR_LATENESS_TOO_LONG);     /* 60 > 50 */
    ck_assert_int_eq(bound(&c, 0, 3), FAIR_LATENESS_BOUNDED);
}
END_TEST

START_TEST(ten_tenths_fill_one_cpu_exactly)
{
    struct columns c;

    for (size_t i = 0; i < 10; i++) {
        c.cost[i] = 0.1;
        c.period[i] = c.deadline[i] = 1;
    }
    ck_assert_int_eq(bound(&c, 10, 1), FAIR_LATENESS_BOUNDED);
    /* All y are 0 and S = C: s = sum C / 1 = 1, R = 1 - .1 + .1 */
    near(1, c.response[0]);
    c.cost[3] = 0.1001;
    ck_assert_int_eq(bound(&c, 10, 1), FAIR_LATENESS_OVERUTILISED);
}
END_TEST

static int larger_first(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left < right) - (left > right);
}

/* M(s) straight from its definition. */
static double excess(const struct columns *c, size_t n, unsigned m, double s)
{
    double values[MOST] = {0};
    double lowest = INFINITY;
    double total = 0;
    double sum = 0;
    size_t most;

    for (size_t i = 0; i < n; i++)
        lowest = fmin(lowest, c->deadline[i] - (m - 1.0) / m * c->cost[i]);
    for (size_t i = 0; i < n; i++) {
        double u = c->cost[i] / c->period[i];
        double y = c->deadline[i] - (m - 1.0) / m * c->cost[i] - lowest;
        double carried = fmax(0, c->cost[i] * (1 - y / c->period[i]));

        total += u;
        sum += carried;
        values[i] = c->cost[i] - u * c->cost[i] / m - carried + u * s;
    }
    most = (size_t)ceil(total) - 1;
    qsort(values, n, sizeof values[0], larger_first);
    for (size_t k = 0; k < most && k < n; k++)
        sum += values[k];
    return sum - m * s;
}

static void random_columns(struct random_state *random, struct columns *c, size_t n, double most)
{
    for (size_t i = 0; i < n; i++) {
        c->period[i] = 10 + 990 * random_unit(random);
        c->cost[i] = c->period[i] * most * random_unit(random);
        c->deadline[i] = c->period[i] * (0.3 + 1.4 * random_unit(random));
    }
}

START_TEST(the_root_is_the_one_that_bisection_finds)
{
    struct random_state random;
    size_t sets = harness_scale(20000, 2000000);
    size_t bounded = 0;

    random_init(&random, 11, 0);
    for (size_t k = 0; k < sets; k++) {
        struct columns c;
        size_t n = 1 + random_below(&random, 30);
        unsigned m = 1 + (unsigned)random_below(&random, 12);
        double low = 0;
        double high = 1e9;

        random_columns(&random, &c, n, fmin(1, 1.8 * m / (double)n));
        if (bound(&c, n, m) != FAIR_LATENESS_BOUNDED)
            continue;
        bounded++;
        for (int step = 0; step < 120; step++) {
            double middle = (low + high) / 2;

            if (excess(&c, n, m, middle) > 0)
                low = middle;
            else
                high = middle;
        }
        ck_assert_msg(fabs(high - c.cluster.s) <= 1e-7 * (1 + high), "set %zu: %.12g %.12g", k, high,
                      c.cluster.s);
    }
    ck_assert_uint_gt(bounded, sets / 2);
    ck_assert_uint_lt(bounded, sets);
}
END_TEST

START_TEST(more_work_never_turns_a_reject_into_an_accept)
{
    struct random_state random;
    size_t sets = harness_scale(20000, 2000000);
    size_t rejected = 0;

    random_init(&random, 12, 0);
    for (size_t k = 0; k < sets; k++) {
        struct columns c;
        size_t n = 1 + random_below(&random, 20);
        unsigned m = 1 + (unsigned)random_below(&random, 6);

        random_columns(&random, &c, n, fmin(1.05, 2.2 * m / (double)n));
        if (bound(&c, n, m) == FAIR_LATENESS_BOUNDED) {
            for (size_t i = 0; i < n; i++)
                ck_assert(c.response[i] >= c.cost[i]);
            continue;
        }
        rejected++;
        c.cost[random_below(&random, n)] *= 1 + random_unit(&random);
        ck_assert_int_ne(bound(&c, n, m), FAIR_LATENESS_BOUNDED);
    }
    ck_assert_uint_gt(rejected, sets / 20);
}
END_TEST

START_TEST(results_do_not_depend_on_the_order_of_tasks)
{
    struct random_state random;

    random_init(&random, 13, 0);
    for (size_t k = 0; k < harness_scale(5000, 500000); k++) {
        struct columns c;
        struct columns turned;
        size_t n = 2 + random_below(&random, 20);
        unsigned m = 1 + (unsigned)random_below(&random, 6);
        int answer;

        random_columns(&random, &c, n, fmin(1, 1.6 * m / (double)n));
        for (size_t i = 0; i < n; i++) {
            turned.cost[i] = c.cost[n - 1 - i];
            turned.period[i] = c.period[n - 1 - i];
            turned.deadline[i] = c.deadline[n - 1 - i];
        }
        answer = bound(&c, n, m);
        ck_assert_int_eq(bound(&turned, n, m), answer);
        for (size_t i = 0; answer == FAIR_LATENESS_BOUNDED && i < n; i++)
            near(c.response[i], turned.response[n - 1 - i]);
    }
}
END_TEST

HARNESS_MAIN("fair lateness", 60, all_reference_sets_agree, three_tasks_by_hand,
             utilisation_above_the_cpus_wins_over_a_task_that_is_too_long, ten_tenths_fill_one_cpu_exactly,
             the_root_is_the_one_that_bisection_finds, more_work_never_turns_a_reject_into_an_accept,
             results_do_not_depend_on_the_order_of_tasks)
