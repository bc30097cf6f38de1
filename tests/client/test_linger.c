/*
 * When a hold lingers, and what that costs a waiting client: client/linger.h, by arithmetic and
 * against any program.
 */
#include "base/random.h"
#include "client/linger.h"
#include "harness.h"

#define US NSEC_PER_US

/*
 * One hold ends at `at`, the program is back after `away`: how long the hold would have lingered.
 */
static baton_nsec round_of(struct lingering *linger, baton_nsec at, baton_nsec away)
{
    baton_nsec wish = linger_for(linger, at);

    linger_back(linger, at + away);
    return wish;
}

START_TEST(a_program_that_was_back_soon_is_waited_for_a_little_longer_than_that)
{
    struct lingering linger = {0};

    ck_assert_int_eq(round_of(&linger, 1000 * US, 100 * US), 0);         /* never seen before */
    ck_assert_int_eq(round_of(&linger, 10000 * US, 200 * US), 250 * US); /* 2 x 100 + 50 */
    ck_assert_int_eq(round_of(&linger, 20000 * US, 200 * US), 250 * US); /* the shorter of 200 and 100 */
    ck_assert_int_eq(round_of(&linger, 30000 * US, 200 * US), 450 * US);
    ck_assert_int_eq(round_of(&linger, 40000 * US, 400 * US), 450 * US);
    ck_assert_int_eq(round_of(&linger, 50000 * US, 400 * US), 450 * US); /* the shorter of 400 and 200 */
    ck_assert_int_eq(round_of(&linger, 60000 * US, 700 * US), 850 * US);
    ck_assert_int_eq(round_of(&linger, 70000 * US, 700 * US), 850 * US);
    ck_assert_int_eq(round_of(&linger, 80000 * US, 700 * US), 1000 * US); /* not 1450: LINGER_MOST */
}
END_TEST

START_TEST(a_program_that_stays_away_is_not_waited_for)
{
    struct lingering linger = {0};

    for (int i = 1; i < 10; i++)
        ck_assert_int_eq(round_of(&linger, 10000 * US * i, 9000 * US), 0);
    ck_assert_int_eq(round_of(&linger, 200000 * US, LINGER_MOST + 1), 0);
    ck_assert_int_eq(round_of(&linger, 210000 * US, LINGER_MOST), 0);
    ck_assert_int_eq(round_of(&linger, 220000 * US, 9000 * US), LINGER_MOST); /* just within it, once */
}
END_TEST

/* Two copies in a row per job: every second time the program is back at once. */
START_TEST(of_two_times_away_the_shorter_is_expected)
{
    struct lingering linger = {0};

    (void)round_of(&linger, 1000 * US, 20 * US);
    (void)round_of(&linger, 1100 * US, 9000 * US);
    for (int i = 1; i < 10; i++) {
        ck_assert_int_eq(round_of(&linger, 10000 * US * i, 20 * US), 90 * US); /* 2 x 20 + 50 */
        ck_assert_int_eq(round_of(&linger, 10000 * US * i + 100 * US, 9000 * US), 90 * US);
    }
}
END_TEST

START_TEST(a_hold_that_ended_for_somebody_urgent_is_part_of_the_habit)
{
    struct lingering linger = {0};

    linger_left(&linger, 1000 * US);
    linger_back(&linger, 1100 * US);
    linger_back(&linger, 9000 * US); /* it is back already */
    ck_assert_int_eq(round_of(&linger, 20000 * US, 100 * US), 250 * US);
}
END_TEST

/*
 * Whatever the program does, waiting clients lose no more than a share of the time, and what was
 * saved up.
 */
START_TEST(lingering_costs_no_more_than_its_share)
{
    struct random_state random;

    random_init(&random, 7, 0);
    for (int history = 0; history < 200; history++) {
        struct lingering linger = {0};
        baton_nsec now_at = 1, lost = 0;
        int64_t habit = random_between(&random, 0, 1200);

        for (int i = 0; i < 500; i++) {
            baton_nsec away = (random_below(&random, 4) ? habit : random_between(&random, 0, 3000)) * US;
            baton_nsec wish = linger_for(&linger, now_at);

            ck_assert_int_le(wish, LINGER_MOST);
            lost += wish < away ? wish : away;
            now_at += away;
            linger_back(&linger, now_at);
            now_at += random_between(&random, 0, 100) * US;
            ck_assert_int_le(lost, LINGER_CREDIT + now_at / LINGER_SHARE);
        }
    }
}
END_TEST

HARNESS_MAIN("linger", 30, a_program_that_was_back_soon_is_waited_for_a_little_longer_than_that,
             a_program_that_stays_away_is_not_waited_for, of_two_times_away_the_shorter_is_expected,
             a_hold_that_ended_for_somebody_urgent_is_part_of_the_habit,
             lingering_costs_no_more_than_its_share)
