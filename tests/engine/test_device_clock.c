#include "engine/device_clock.h"

#include <stdlib.h>

#include "harness.h"

#define MS NSEC_PER_MS
#define US NSEC_PER_US

START_TEST(the_quickest_look_tells_the_distance)
{
    struct device_clock clock;
    const uint64_t zero = 7000 * (uint64_t)NSEC_PER_SEC; /* the driver's clock when ours is 0 */

    device_clock_init(&clock);
    /* Ended at 10 ms, seen 3 ms later: all that is known is "not after 13". */
    ck_assert_int_eq(device_clock_end(&clock, zero + 10 * MS, 13 * MS), 13 * MS);
    /* Ended at 20 ms, seen 5 us later. */
    ck_assert_int_eq(device_clock_end(&clock, zero + 20 * MS, 20 * MS + 5 * US), 20 * MS + 5 * US);
    /* Ended at 30 ms, seen only at 40: the distance of before counts. */
    ck_assert_int_eq(device_clock_end(&clock, zero + 30 * MS, 40 * MS), 30 * MS + 5 * US);
}
END_TEST

START_TEST(a_driver_clock_behind_ours_works_too)
{
    struct device_clock clock;

    device_clock_init(&clock);
    ck_assert_int_eq(device_clock_end(&clock, 1 * MS, 500 * MS), 500 * MS);
    ck_assert_int_eq(device_clock_end(&clock, 2 * MS, 600 * MS), 501 * MS);
}
END_TEST

START_TEST(drift_is_followed_both_ways)
{
    for (int ppm = -400; ppm <= 400; ppm += 800) {
        struct device_clock clock;
        baton_nsec worst = 0;

        device_clock_init(&clock);
        for (int i = 1; i <= 10000; i++) { /* 100 s: the clocks end 40 ms apart */
            baton_nsec at = i * 10 * MS, lag = (i * 7 % 20 + 1) * US;
            uint64_t end = (uint64_t)(at + at / 1000000 * ppm);
            baton_nsec error = device_clock_end(&clock, end, at + lag) - at;

            ck_assert_int_le(error, lag); /* never in the future */
            worst = llabs(error) > worst ? llabs(error) : worst;
        }
        /*
         * Looks take 1 to 20 us and a quick one comes every 200 ms: 200 ms x 500 ppm = 100 us, +
         * 20.
         */
        ck_assert_int_le(worst, 120 * US);
    }
}
END_TEST

HARNESS_MAIN("device-clock", 20, the_quickest_look_tells_the_distance, a_driver_clock_behind_ours_works_too,
             drift_is_followed_both_ways)
