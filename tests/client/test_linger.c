/*
 * When a hold lingers, and what that costs a waiting client: client/linger.h, by arithmetic and
 * against any program.
 */
#include "base/random.h"
#include "client/linger.h"
#include "harness.h"

#define US NSEC_PER_US

struct program {
    struct lingering linger;
    struct linger_credit credit;
};

/*
 * It works for `worked`, its hold ends at `at`, and it is back after `away`: how long the hold
 * would have lingered.
 */
static baton_nsec worked_round_of(struct program *program, baton_nsec worked, baton_nsec at, baton_nsec away)
{
    baton_nsec wish;

    linger_grow(&program->credit, at, worked);
    wish = linger_for(&program->linger, &program->credit, at);
    linger_back(&program->linger, &program->credit, at + away);
    return wish;
}

/* The same for a program that works so long that only time and habit count. */
static baton_nsec round_of(struct program *program, baton_nsec at, baton_nsec away)
{
    return worked_round_of(program, NSEC_PER_SEC, at, away);
}

START_TEST(a_program_that_was_back_soon_is_waited_for_a_little_longer_than_that)
{
    struct program program = {0};

    ck_assert_int_eq(round_of(&program, 1000 * US, 100 * US), 0);         /* never seen before */
    ck_assert_int_eq(round_of(&program, 10000 * US, 200 * US), 250 * US); /* 2 x 100 + 50 */
    ck_assert_int_eq(round_of(&program, 20000 * US, 200 * US), 250 * US); /* the shorter of 200 and 100 */
    ck_assert_int_eq(round_of(&program, 30000 * US, 200 * US), 450 * US);
    ck_assert_int_eq(round_of(&program, 40000 * US, 400 * US), 450 * US);
    ck_assert_int_eq(round_of(&program, 50000 * US, 400 * US), 450 * US); /* the shorter of 400 and 200 */
    ck_assert_int_eq(round_of(&program, 60000 * US, 700 * US), 850 * US);
    ck_assert_int_eq(round_of(&program, 70000 * US, 700 * US), 850 * US);
    ck_assert_int_eq(round_of(&program, 80000 * US, 700 * US), 1000 * US); /* not 1450: LINGER_MOST */
}
END_TEST

START_TEST(a_program_that_stays_away_is_not_waited_for)
{
    struct program program = {0};

    for (int i = 1; i < 10; i++)
        ck_assert_int_eq(round_of(&program, 10000 * US * i, 9000 * US), 0);
    ck_assert_int_eq(round_of(&program, 200000 * US, LINGER_MOST + 1), 0);
    ck_assert_int_eq(round_of(&program, 210000 * US, LINGER_MOST), 0);
    ck_assert_int_eq(round_of(&program, 220000 * US, 9000 * US), LINGER_MOST); /* just within it, once */
}
END_TEST

/* Two copies in a row per job: every second time the program is back at once. */
START_TEST(of_two_times_away_the_shorter_is_expected)
{
    struct program program = {0};

    (void)round_of(&program, 1000 * US, 20 * US);
    (void)round_of(&program, 1100 * US, 9000 * US);
    for (int i = 1; i < 10; i++) {
        ck_assert_int_eq(round_of(&program, 10000 * US * i, 20 * US), 90 * US); /* 2 x 20 + 50 */
        ck_assert_int_eq(round_of(&program, 10000 * US * i + 100 * US, 9000 * US), 90 * US);
    }
}
END_TEST

START_TEST(a_hold_that_ended_for_somebody_urgent_is_part_of_the_habit)
{
    struct program program = {0};

    linger_left(&program.linger, 1000 * US);
    linger_back(&program.linger, &program.credit, 1100 * US);
    linger_back(&program.linger, &program.credit, 9000 * US); /* it is back already */
    ck_assert_int_eq(round_of(&program, 20000 * US, 100 * US), 250 * US);
}
END_TEST

/*
 * Every 10 ms a copy of 10 us, then a kernel of 300 us. Per job 166 us of credit grow: the copy,
 * and 10 ms / 64. In the long run that pays for 166 of 300 waits of 300 us, and the saved 4 ms for
 * 13 more.
 */
START_TEST(small_copies_do_not_keep_the_bus_for_long)
{
    struct program program = {0};
    int waits = 0;

    for (int i = 0; i < 1000; i++) {
        baton_nsec wish = worked_round_of(&program, 10 * US, (i + 1) * 10000 * US, 300 * US);

        ck_assert(wish == 0 || wish == 650 * US); /* 2 x 300 + 50 */
        waits += wish > 0;
    }
    /* 1000 x 166 / 300 = 553 */
    ck_assert_int_ge(waits, 553);
    ck_assert_int_le(waits, 553 + 14);
}
END_TEST

/* Kernels of 100 us, each waited for, with 100 us between them. */
START_TEST(a_program_lingers_as_long_as_it_works)
{
    struct program program = {0};
    int waits = 0;

    for (int i = 0; i < 1000; i++)
        waits += worked_round_of(&program, 100 * US, (i + 1) * 1000 * US, 100 * US) > 0;
    ck_assert_int_eq(waits, 999); /* all but the first, when nothing was known */
}
END_TEST

/*
 * Whatever the program does, waiting clients lose no more than a share of the time, and no more
 * than what it works plus a small share, and what was saved up.
 */
START_TEST(lingering_costs_no_more_than_its_shares)
{
    struct random_state random;

    random_init(&random, 7, 0);
    for (int history = 0; history < 200; history++) {
        struct lingering linger[2] = {0};
        struct linger_credit credit = {0};
        baton_nsec now_at = 1, lost = 0, works = 0;
        int64_t habit = random_between(&random, 0, 1200);
        int64_t load = random_between(&random, 0, 300);

        for (int i = 0; i < 500; i++) {
            baton_nsec away = (random_below(&random, 4) ? habit : random_between(&random, 0, 3000)) * US;
            baton_nsec worked = random_between(&random, 0, load) * US;
            struct lingering *ends = &linger[random_below(&random, 2)];
            baton_nsec wish;

            now_at += worked;
            works += worked;
            linger_grow(&credit, now_at, worked);
            wish = linger_for(ends, &credit, now_at);
            ck_assert_int_le(wish, LINGER_MOST);
            lost += wish < away ? wish : away;
            now_at += away;
            for (int kind = 0; kind < 2; kind++)
                linger_back(&linger[kind], &credit, now_at);
            ck_assert_int_le(lost, LINGER_CREDIT + now_at / LINGER_SHARE);
            ck_assert_int_le(lost, LINGER_CREDIT + now_at / LINGER_SPARE + works);
        }
    }
}
END_TEST

HARNESS_MAIN("linger", 30, a_program_that_was_back_soon_is_waited_for_a_little_longer_than_that,
             a_program_that_stays_away_is_not_waited_for, of_two_times_away_the_shorter_is_expected,
             a_hold_that_ended_for_somebody_urgent_is_part_of_the_habit,
             small_copies_do_not_keep_the_bus_for_long, a_program_lingers_as_long_as_it_works,
             lingering_costs_no_more_than_its_shares)
