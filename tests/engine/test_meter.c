#include "engine/meter.h"

#include "harness.h"

enum { ITEMS = 1000, US = 1000 };

static void measure(struct meter *meter, int times, int64_t us)
{
    for (int i = 0; i < times; i++)
        meter_measured(meter, ITEMS, us * US);
}

/* Nanoseconds that ITEMS are expected to take; the meter's fraction makes it off by one at most. */
static void ck_expects(const struct meter *meter, int64_t us)
{
    int64_t predicted = meter_predict(meter, ITEMS);

    ck_assert_int_ge(predicted, us * US - 1);
    ck_assert_int_le(predicted, us * US);
}

START_TEST(the_first_measurement_counts)
{
    struct meter meter = {0};

    ck_assert_int_eq(meter_predict(&meter, ITEMS), -1);
    measure(&meter, 1, 40);
    ck_expects(&meter, 40);
}
END_TEST

START_TEST(one_delay_of_the_machine_changes_nothing)
{
    struct meter meter = {0};

    measure(&meter, 3, 40);
    for (int i = 0; i < 10; i++) { /* the median of {40, 40, 4000} in any order is 40 */
        measure(&meter, 1, 4000);
        ck_expects(&meter, 40);
        measure(&meter, 2, 40);
        ck_expects(&meter, 40);
    }
}
END_TEST

START_TEST(two_longer_runs_are_the_kernel)
{
    struct meter meter = {0};

    measure(&meter, 3, 40);
    measure(&meter, 2, 4000);
    ck_expects(&meter, 4000);
}
END_TEST

START_TEST(it_shrinks_by_a_quarter_of_the_difference)
{
    struct meter meter = {0};

    measure(&meter, 3, 400);
    measure(&meter, 2, 200); /* the median is 400, then 200: (3 * 400 + 200) / 4 = 350 */
    ck_expects(&meter, 350);
    measure(&meter, 1, 200); /* (3 * 350 + 200) / 4 = 312.5 */
    ck_assert_int_le(meter_predict(&meter, ITEMS), 312500);
    ck_assert_int_ge(meter_predict(&meter, ITEMS), 312490);
}
END_TEST

START_TEST(a_first_run_that_was_a_mistake_is_forgotten)
{
    struct meter meter = {0};

    measure(&meter, 1, 4000); /* cold: a hundred times as long as later ones */
    measure(&meter, 3, 40);
    ck_expects(&meter, 40);
}
END_TEST

START_TEST(the_first_runs_and_one_of_64_are_measured)
{
    struct meter meter = {0};

    for (int i = 0; i < 4; i++) {
        ck_assert(meter_is_due(&meter));
        measure(&meter, 1, 40);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 63; i++)
            ck_assert(!meter_is_due(&meter));
        ck_assert(meter_is_due(&meter));
        measure(&meter, 1, 40);
    }
    for (int i = 0; i < 3; i++) { /* 3 * 17, then 4 * 17 - 1 >= 63 */
        ck_assert(!meter_is_due(&meter));
        meter_doubt(&meter);
    }
    ck_assert(!meter_is_due(&meter));
    meter_doubt(&meter);
    ck_assert(meter_is_due(&meter));
    measure(&meter, 1, 40);
    ck_assert(!meter_is_due(&meter));
}
END_TEST

HARNESS_MAIN("meter", 20, the_first_measurement_counts, one_delay_of_the_machine_changes_nothing,
             two_longer_runs_are_the_kernel, it_shrinks_by_a_quarter_of_the_difference,
             a_first_run_that_was_a_mistake_is_forgotten, the_first_runs_and_one_of_64_are_measured)
