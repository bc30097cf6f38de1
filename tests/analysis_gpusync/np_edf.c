/*
 * Jeffay, Stanat and Martel's conditions: by hand, and against the definition checked at every
 * window.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/cpu/np_edf.h"
#include "base/random.h"
#include "harness.h"

#define MOST 8

static struct np_edf_result test_of(const struct np_edf_task tasks[], size_t n)
{
    size_t order[MOST];
    struct np_edf_result result;

    np_edf_test(tasks, n, order, &result);
    return result;
}

/*
 * (1,3), (2,5): 1/3 + 2/5 = 11/15. i = 2, 3 < L < 5: L = 4: 2 + floor(3/3) 1 = 3 <= 4. Both hold.
 * (1,3), (4,5): 1/3 + 4/5 > 1; L = 4: 4 + 1 = 5 > 4. Both fail. (1,3), (4,12): 1/3 + 1/3 = 2/3
 * holds; L = 4: 4 + 1 = 5 > 4 fails, as at L = 10: 4 + 3 = 7 it does not. Only the second fails.
 * (1,2), (1,3), (1,6): exactly 1 holds; i = 2: no L in (2, 3); i = 3: L = 3: 1+1+0 = 2; L = 4:
 * 1+1+1 = 3; L = 5: 1+2+1 = 4. Holds. (1,2), (1,3), (1,5): 31/30 > 1; i = 3: L = 3: 2, L = 4: 3.
 * Only the first fails.
 */
START_TEST(each_condition_is_reported_for_itself)
{
    const struct np_edf_task sets[][3] = {{{1, 3}, {2, 5}},
                                          {{1, 3}, {4, 5}},
                                          {{1, 3}, {4, 12}},
                                          {{1, 2}, {1, 3}, {1, 6}},
                                          {{1, 2}, {1, 3}, {1, 5}}};
    const size_t n[] = {2, 2, 2, 3, 3};
    const bool first[] = {true, false, true, true, false};
    const bool second[] = {true, false, false, true, true};

    for (size_t k = 0; k < 5; k++) {
        struct np_edf_result result = test_of(sets[k], n[k]);

        ck_assert_msg(result.utilisation_holds == first[k], "set %zu, condition 1", k);
        ck_assert_msg(result.blocking_holds == second[k], "set %zu, condition 2", k);
    }
    ck_assert_uint_eq(test_of(sets[2], 2).task, 1);
    ck_assert_int_gt(test_of(sets[2], 2).demand, test_of(sets[2], 2).window);
}
END_TEST

/*
 * Thousands of tasks of different prime-like periods: no common denominator in any word, and still
 * never accepted above 1.
 */
START_TEST(utilisation_is_exact_or_rounded_up)
{
    const struct np_edf_task exact[] = {
        {333333333333, 999999999999}, {333333333333, 999999999999}, {333333333333, 999999999999}};
    struct np_edf_task above[] = {
        {499999999979, 999999999959}, {249999999981, 499999999957}, {1, 2000000000000000000}};
    struct np_edf_result result = test_of(exact, 3);

    ck_assert(result.utilisation_holds);
    /*
     * 499999999979/999999999959 = .5 - 5e-13..., 249999999981/499999999957 = .5 + 5e-12...: above 1
     * by 4.5e-12.
     */
    result = test_of(above, 3);
    ck_assert(!result.utilisation_holds);
    above[1].cost = 249999999970; /* .5 - 1.7e-11: below 1 */
    ck_assert(test_of(above, 3).utilisation_holds);
}
END_TEST

/* The conditions as printed, window by window. */
static bool holds_everywhere(const struct np_edf_task sorted[], size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (baton_nsec window = sorted[0].period + 1; window < sorted[i].period; window++) {
            baton_nsec demand = sorted[i].cost;

            for (size_t j = 0; j < i; j++)
                demand += (window - 1) / sorted[j].period * sorted[j].cost;
            if (window < demand)
                return false;
        }
    return true;
}

static bool at_most_one(const struct np_edf_task tasks[], size_t n)
{
    baton_nsec product = 1;
    baton_nsec sum = 0;

    for (size_t i = 0; i < n; i++)
        product *= tasks[i].period;
    for (size_t i = 0; i < n; i++)
        sum += product / tasks[i].period * tasks[i].cost;
    return sum <= product;
}

START_TEST(random_sets_agree_with_the_definition)
{
    struct random_state random;
    size_t seen[2][2] = {{0}};

    random_init(&random, 21, 0);
    for (size_t k = 0; k < harness_scale(50000, 5000000); k++) {
        struct np_edf_task tasks[MOST] = {{0}};
        size_t n = 1 + random_below(&random, 6);
        struct np_edf_result result;

        for (size_t i = 0; i < n; i++) {
            size_t at = i;
            struct np_edf_task task = {.period = random_between(&random, 2, 60)};

            task.cost = random_between(&random, 0, 1 + 2 * task.period / (baton_nsec)n);
            for (; at > 0 && tasks[at - 1].period > task.period; at--)
                tasks[at] = tasks[at - 1];
            tasks[at] = task;
        }
        result = test_of(tasks, n);
        ck_assert(result.utilisation_holds == at_most_one(tasks, n));
        ck_assert(result.blocking_holds == holds_everywhere(tasks, n));
        seen[result.utilisation_holds][result.blocking_holds]++;
        for (size_t i = 0; i < n / 2; i++) { /* order does not matter */
            struct np_edf_task swap = tasks[i];

            tasks[i] = tasks[n - 1 - i];
            tasks[n - 1 - i] = swap;
        }
        ck_assert(test_of(tasks, n).blocking_holds == result.blocking_holds);
        if (result.blocking_holds && result.utilisation_holds)
            continue;
        tasks[random_below(&random, n)].cost++; /* more work never makes a rejected set acceptable */
        ck_assert(!(test_of(tasks, n).blocking_holds && test_of(tasks, n).utilisation_holds));
    }
    for (int first = 0; first < 2; first++)
        for (int second = 0; second < 2; second++)
            ck_assert_uint_gt(seen[first][second], 100);
}
END_TEST

START_TEST(periods_a_billion_apart_are_decided_at_once)
{
    const struct np_edf_task tasks[] = {{400, 1000}, {500, 3600000000000}, {100, 3500000000000}};

    /* i = 3: L = 1001: 500 + 400 = 900; and so on, since 0.4 L + 600 <= L from L = 1000. */
    ck_assert(test_of(tasks, 3).blocking_holds);
}
END_TEST

HARNESS_MAIN("np-edf", 60, each_condition_is_reported_for_itself, utilisation_is_exact_or_rounded_up,
             random_sets_agree_with_the_definition, periods_a_billion_apart_are_decided_at_once)
