/* Statistics of jobs: response and occupying times, releases, percentiles. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "client/jobs.h"
#include "client/lease.h"
#include "client/session.h"
#include "harness.h"

#define MS NSEC_PER_MS

/* ---- jobs ---- */

START_TEST(response_is_release_to_completion_and_pending_is_what_was_not_occupied)
{
    struct jobs jobs;

    jobs_init(&jobs, 0, 0);
    jobs_begin(&jobs, 100 * MS);
    jobs_ran(&jobs, true, 101 * MS, 103 * MS);
    jobs_ran(&jobs, false, 104 * MS, 107 * MS);
    jobs_end(&jobs, 110 * MS);
    /* 110 - 100 = 10; 10 - (3 + 2) = 5 */
    ck_assert_int_eq(jobs.response_sum, 10 * MS);
    ck_assert_int_eq(jobs.compute_sum, 3 * MS);
    ck_assert_int_eq(jobs.copy_sum, 2 * MS);
    ck_assert_int_eq(jobs.pending_sum, 5 * MS);
    ck_assert_uint_eq(jobs.misses, 0);
    jobs_ran(&jobs, false, 120 * MS, 170 * MS); /* outside a job */
    jobs_end(&jobs, 200 * MS);                  /* none runs */
    ck_assert_uint_eq(jobs.n, 1);
    ck_assert_int_eq(jobs.compute_sum, 3 * MS);
    jobs_done(&jobs);
}
END_TEST

START_TEST(worst_values_begin_anew_and_those_of_all_jobs_stay)
{
    struct jobs jobs;

    jobs_init(&jobs, 0, 30 * MS);
    jobs_begin(&jobs, 0);
    jobs_end(&jobs, 50 * MS); /* 20 ms late */
    ck_assert_int_eq(jobs.worst.response, 50 * MS);
    ck_assert_int_eq(jobs.worst.tardiness, 20 * MS);
    jobs_reset_worst(&jobs);
    ck_assert_int_eq(jobs.worst.response, 0);
    ck_assert_int_eq(jobs.worst.tardiness, 0);
    jobs_begin(&jobs, 100 * MS);
    jobs_end(&jobs, 140 * MS); /* 10 ms late */
    ck_assert_int_eq(jobs.worst.response, 40 * MS);
    ck_assert_int_eq(jobs.worst.tardiness, 10 * MS);
    ck_assert_int_eq(jobs.response_max, 50 * MS);
    ck_assert_int_eq(jobs.tardiness_max, 20 * MS);
    ck_assert_uint_eq(jobs.n, 2);
    jobs_done(&jobs);
}
END_TEST

/*
 * Two shares and a copy side by side: kernels in [10, 14) and [12, 18), a copy in [16, 20), all
 * within a job of 30.
 */
START_TEST(engines_that_work_at_the_same_time_occupy_a_job_once)
{
    struct jobs jobs;

    jobs_init(&jobs, 0, 0);
    jobs_begin(&jobs, 0);
    jobs_ran(&jobs, false, 12 * MS, 18 * MS);
    jobs_ran(&jobs, false, 10 * MS, 14 * MS);
    jobs_ran(&jobs, true, 16 * MS, 20 * MS);
    jobs_end(&jobs, 30 * MS);
    ck_assert_int_eq(jobs.compute_sum, 8 * MS); /* [10, 18) */
    ck_assert_int_eq(jobs.copy_sum, 2 * MS);    /* [18, 20): no kernel runs */
    ck_assert_int_eq(jobs.pending_sum, 20 * MS);
    ck_assert_int_eq(jobs.response_sum, 30 * MS);
    jobs_begin(&jobs, 40 * MS);
    jobs_ran(&jobs, false, 35 * MS,
             42 * MS); /* began before its job, and a driver's clock says that it ends after it */
    jobs_ran(&jobs, true, 41 * MS, 60 * MS);
    jobs_end(&jobs, 45 * MS);
    ck_assert_int_eq(jobs.compute_sum, 8 * MS + 2 * MS);
    ck_assert_int_eq(jobs.copy_sum, 2 * MS + 3 * MS);
    ck_assert_int_eq(jobs.pending_sum, 20 * MS);
    jobs_done(&jobs);
}
END_TEST

/*
 * An oracle that marks every tick: spans of any engine, in any order, overlapping, some beyond the
 * job at either end.
 */
START_TEST(occupying_is_the_ticks_in_which_an_engine_works)
{
    size_t rounds = harness_scale(3000, 100000);
    struct random_state random;

    random_init(&random, 81, 0);
    for (size_t r = 0; r < rounds; r++) {
        unsigned char ticks[300] = {0};
        baton_nsec begin = 20 + (baton_nsec)random_below(&random, 50);
        baton_nsec end = begin + (baton_nsec)random_below(&random, 200);
        size_t n = random_below(&random, OCCUPIED_SPANS);
        baton_nsec compute = 0;
        baton_nsec copy = 0;
        struct jobs jobs;

        jobs_init(&jobs, 0, 0);
        jobs_begin(&jobs, begin);
        for (size_t i = 0; i < n; i++) {
            bool copies = random_below(&random, 2);
            baton_nsec from = (baton_nsec)random_below(&random, 280);
            baton_nsec to = from + (baton_nsec)random_below(&random, 20);

            jobs_ran(&jobs, copies, from, to);
            for (baton_nsec t = from; t < to; t++)
                ticks[t] |= copies ? 1 : 2;
        }
        jobs_end(&jobs, end);
        for (baton_nsec t = begin; t < end; t++) {
            compute += (ticks[t] & 2) != 0;
            copy += ticks[t] == 1;
        }
        ck_assert_int_eq(jobs.compute_sum, compute);
        ck_assert_int_eq(jobs.copy_sum, copy);
        ck_assert_int_eq(jobs.pending_sum, end - begin - compute - copy);
        jobs_done(&jobs);
    }
}
END_TEST

/*
 * More pieces than are remembered, on two engines in turn: 10,000 runs of 3 ticks every 5, reported
 * as they end.
 */
START_TEST(a_job_of_many_pieces_is_counted_to_the_end)
{
    struct jobs jobs;

    jobs_init(&jobs, 0, 0);
    jobs_begin(&jobs, 0);
    for (baton_nsec i = 0; i < 10000; i++)
        jobs_ran(&jobs, i % 2, 5 * i, 5 * i + 3);
    jobs_end(&jobs, 50000);
    ck_assert_int_eq(jobs.compute_sum, 15000);
    ck_assert_int_eq(jobs.copy_sum, 15000);
    ck_assert_int_eq(jobs.pending_sum, 20000);
    jobs_done(&jobs);
}
END_TEST

START_TEST(a_periodic_job_that_queued_behind_another_was_released_when_its_period_began)
{
    struct jobs jobs;

    jobs_init(&jobs, 10 * MS, 0);
    jobs_begin(&jobs, 1000 * MS);
    jobs_end(&jobs, 1004 * MS);
    jobs_begin(&jobs, 1012 * MS); /* nothing ran at 1010: released now; jitter |1012 - (1000 + 10)| = 2 */
    jobs_end(&jobs, 1025 * MS);   /* response 13 > 10: a miss by 3 */
    ck_assert_uint_eq(jobs.misses, 1);
    ck_assert_int_eq(jobs.response_max, 13 * MS);
    ck_assert_int_eq(jobs.tardiness_max, 3 * MS);
    ck_assert_int_eq(jobs.jitter_max, 2 * MS);
    jobs_begin(&jobs,
               1025 *
                   MS); /* the previous one ran at 1012 + 10 = 1022: this one queued behind it since then */
    jobs_end(&jobs, 1027 * MS); /* 1027 - 1022 = 5 */
    ck_assert_int_eq(jobs.response_sum, (4 + 13 + 5) * MS);
    /* jitter |1025 - (1012 + 10)| = 3 */
    ck_assert_int_eq(jobs.jitter_max, 3 * MS);
    jobs_begin(&jobs,
               1030 * MS); /* before 1025 + 10, where the miss had moved the period: back to the old one */
    jobs_end(&jobs, 1031 * MS);
    jobs_begin(&jobs, 1065 * MS); /* periods were left out, and nothing ran: released now */
    ck_assert_int_eq(jobs_deadline_at(&jobs), 1075 * MS);
    jobs_end(&jobs, 1066 * MS);
    ck_assert_int_eq(jobs.response_sum, (4 + 13 + 5 + 1 + 1) * MS);
    jobs_done(&jobs);
}
END_TEST

/*
 * As examples/demo/urgent.c: five jobs back to back touch memory, then a release every 10 ms,
 * counted from their end.
 */
START_TEST(an_earlier_phase_of_a_program_does_not_lengthen_its_responses)
{
    struct jobs jobs;

    jobs_init(&jobs, 10 * MS, 5 * MS);
    for (int i = 0; i < 5; i++) {
        jobs_begin(&jobs, 3 * i * MS);
        jobs_end(&jobs, 3 * (i + 1) * MS);
    }
    for (int i = 0; i < 159;
         i++) { /* 15 + 10, + 20, ...: not on the grid of 12, where the last one above began */
        jobs_begin(&jobs, (25 + 10 * i) * MS);
        jobs_end(&jobs, (25 + 10 * i + 3) * MS);
    }
    ck_assert_uint_eq(jobs.n, 164);
    ck_assert_int_eq(jobs.response_max, 3 * MS);
    ck_assert_uint_eq(jobs.misses, 0);
    jobs_done(&jobs);
}
END_TEST

/*
 * sleep(period) after each wake-up, which takes 0.05 ms: the distance from any grid grows without
 * limit, no job is late.
 */
START_TEST(a_program_whose_period_drifts_is_not_late)
{
    struct jobs jobs;

    jobs_init(&jobs, 10 * MS, 5 * MS);
    for (int i = 0; i < 1000; i++) {
        baton_nsec at = i * (10 * MS + MS / 20);

        jobs_begin(&jobs, at);
        jobs_end(&jobs, at + 2 * MS);
    }
    ck_assert_int_eq(jobs.response_max, 2 * MS);
    ck_assert_uint_eq(jobs.misses, 0);
    ck_assert_int_eq(jobs.jitter_max, MS / 20);
    jobs_done(&jobs);
}
END_TEST

START_TEST(a_release_that_the_program_says_counts)
{
    struct jobs jobs;

    jobs_init(&jobs, 10 * MS, 0);
    ck_assert_int_eq(jobs_begin_released(&jobs, 100 * MS, 104 * MS), 0); /* woken 4 late */
    ck_assert_int_eq(jobs_deadline_at(&jobs), 110 * MS);
    jobs_end(&jobs, 112 * MS); /* 112 - 100 = 12: late by 2 */
    ck_assert_int_eq(jobs.response_max, 12 * MS);
    ck_assert_int_eq(jobs.tardiness_max, 2 * MS);
    ck_assert_int_eq(jobs_begin_released(&jobs, 99 * MS, 112 * MS), -EINVAL);  /* before the previous one */
    ck_assert_int_eq(jobs_begin_released(&jobs, 113 * MS, 112 * MS), -EINVAL); /* not yet */
    ck_assert_int_eq(jobs_begin_released(&jobs, -1, 112 * MS), -EINVAL);
    ck_assert(!jobs.running);
    jobs_begin(&jobs,
               112 * MS); /* without a word: the period that began at 100 + 10, while the previous one ran */
    jobs_end(&jobs, 113 * MS);
    ck_assert_int_eq(jobs.response_sum, (12 + 3) * MS);
    jobs_done(&jobs);
}
END_TEST

START_TEST(a_declared_warm_up_counts_nowhere)
{
    struct jobs jobs;

    jobs_init(&jobs, 10 * MS, 0);
    jobs_warm_up(&jobs, 2);
    ck_assert(!jobs_counting(&jobs));
    jobs_begin(&jobs, 0); /* builds a kernel: 50 > 10, and no miss */
    jobs_ran(&jobs, false, 5 * MS, 45 * MS);
    jobs_end(&jobs, 50 * MS);
    jobs_begin(&jobs, 50 * MS);
    jobs_end(&jobs, 57 * MS);
    ck_assert(jobs_counting(&jobs));
    ck_assert_uint_eq(jobs.n, 0);
    ck_assert_int_eq(jobs_percentile(&jobs, 990), 0);
    jobs_begin(&jobs, 70 * MS); /* the first that counts: no jitter, as nothing stands before it */
    jobs_ran(&jobs, false, 71 * MS, 72 * MS);
    jobs_end(&jobs, 73 * MS);
    ck_assert_uint_eq(jobs.n, 1);
    ck_assert_uint_eq(jobs.misses, 0);
    ck_assert_int_eq(jobs.response_sum, 3 * MS);
    ck_assert_int_eq(jobs.response_max, 3 * MS);
    ck_assert_int_eq(jobs.compute_sum, 1 * MS);
    ck_assert_int_eq(jobs.pending_sum, 2 * MS);
    ck_assert_int_eq(jobs.jitter_max, 0);
    ck_assert_int_eq(jobs.tardiness_max, 0);
    ck_assert_int_eq(jobs_percentile(&jobs, 990), 3 * MS);
    jobs_done(&jobs);
}
END_TEST

START_TEST(a_stall_is_one_miss_and_not_a_debt)
{
    struct jobs jobs;

    jobs_init(&jobs, 10 * MS, 0);
    jobs_begin(&jobs, 1000 * MS);
    jobs_end(&jobs, 1093 * MS); /* 93 - 10: late by 83 */
    ck_assert_uint_eq(jobs.misses, 1);
    ck_assert_int_eq(jobs.tardiness_max, 83 * MS);
    jobs_begin(&jobs, 1093 * MS); /* queued behind it since 1090; those of 1010 to 1080 were skipped */
    jobs_end(&jobs, 1096 * MS);
    ck_assert_int_eq(jobs.response_sum, (93 + 6) * MS);
    for (int i = 0; i < 5; i++) { /* then on the program's own timer again */
        jobs_begin(&jobs, (1100 + i * 10) * MS);
        jobs_end(&jobs, (1102 + i * 10) * MS);
    }
    ck_assert_uint_eq(jobs.misses, 1);
    ck_assert_int_eq(jobs.response_sum, (93 + 6 + 5 * 2) * MS);
    jobs_done(&jobs);
}
END_TEST

/*
 * The program's timer fires at 1000 + 20 k, wake-ups take 0.02 to 0.1 ms, and a job that takes 45
 * ms leaves two releases out.
 */
START_TEST(a_program_that_leaves_releases_out_is_not_early)
{
    struct jobs jobs;

    jobs_init(&jobs, 20 * MS, 100 * MS);
    jobs_begin(&jobs, 1000 * MS + MS / 10); /* 0.1 late */
    jobs_end(&jobs, 1045 * MS);
    jobs_begin(&jobs,
               1060 * MS + MS / 50); /* 0.02 late: 59.92 after the previous begin, 15.02 after its end */
    jobs_end(&jobs, 1105 * MS);
    ck_assert_int_eq(jobs.response_sum, 44 * MS + MS * 9 / 10 + 44 * MS + MS * 49 / 50);
    jobs_begin(&jobs, 1120 * MS + MS / 10); /* later than 60 after the previous one: released now as well */
    jobs_end(&jobs, 1165 * MS);
    jobs_begin(&jobs, 1165 * MS + MS / 10); /* at once: queued since 1120.1 + 40 */
    jobs_end(&jobs, 1170 * MS);
    ck_assert_int_eq(jobs.response_sum, 44 * MS + MS * 9 / 10 + 44 * MS + MS * 49 / 50 + 44 * MS +
                                            MS * 9 / 10 + 9 * MS + MS * 9 / 10);
    jobs_done(&jobs);
}
END_TEST

START_TEST(a_new_period_may_start_at_a_miss)
{
    struct jobs jobs;

    jobs_init(&jobs, 10 * MS, 0);
    jobs_begin(&jobs, 0);
    jobs_end(&jobs, 13 * MS);   /* late by 3 */
    jobs_begin(&jobs, 13 * MS); /* queued since 10: 17 - 10 = 7 */
    jobs_end(&jobs, 17 * MS);
    jobs_begin(&jobs, 23 * MS); /* the program counts from the miss: on time */
    jobs_end(&jobs, 27 * MS);
    ck_assert_uint_eq(jobs.misses, 1);
    ck_assert_int_eq(jobs.response_sum, (13 + 7 + 4) * MS);
    jobs_done(&jobs);
}
END_TEST

START_TEST(percentiles_are_nearest_ranks)
{
    struct jobs jobs;

    jobs_init(&jobs, 0, 0);
    ck_assert_int_eq(jobs_percentile(&jobs, 500), 0);
    for (int i = 1; i <= 1000; i++) { /* responses 1..1000 ms, in an order that is not sorted */
        jobs_begin(&jobs, 0);
        jobs_end(&jobs, (i * 7 % 1000 + 1) * MS);
    }
    ck_assert_int_eq(jobs_percentile(&jobs, 500), 500 * MS);
    ck_assert_int_eq(jobs_percentile(&jobs, 990), 990 * MS);
    ck_assert_int_eq(jobs_percentile(&jobs, 1000), 1000 * MS);
    jobs_done(&jobs);
}
END_TEST

START_TEST(a_rank_between_two_jobs_is_the_later_one)
{
    struct jobs jobs;

    jobs_init(&jobs, 0, 0);
    for (int i = 1; i <= 7; i++) {
        jobs_begin(&jobs, 0);
        jobs_end(&jobs, i * MS);
    }
    ck_assert_int_eq(jobs_percentile(&jobs, 500), 4 * MS); /* 0.5 x 7 = 3.5 */
    ck_assert_int_eq(jobs_percentile(&jobs, 990), 7 * MS); /* 0.99 x 7 = 6.93 */
    jobs_done(&jobs);
}
END_TEST

START_TEST(only_the_last_jobs_are_kept_for_percentiles)
{
    struct jobs jobs;

    jobs_init(&jobs, 0, 0);
    for (int i = 0; i < 2 * JOBS_KEPT; i++) {
        jobs_begin(&jobs, 0);
        jobs_end(&jobs, i < JOBS_KEPT ? 900 * MS : 3 * MS);
    }
    ck_assert_int_eq(jobs_percentile(&jobs, 1000), 3 * MS);
    ck_assert_int_eq(jobs.response_max, 900 * MS);
    ck_assert_uint_eq(jobs.n, 2 * JOBS_KEPT);
    jobs_done(&jobs);
}
END_TEST

HARNESS_MAIN("job statistics", 20, response_is_release_to_completion_and_pending_is_what_was_not_occupied,
             worst_values_begin_anew_and_those_of_all_jobs_stay,
             engines_that_work_at_the_same_time_occupy_a_job_once,
             occupying_is_the_ticks_in_which_an_engine_works, a_job_of_many_pieces_is_counted_to_the_end,
             a_periodic_job_that_queued_behind_another_was_released_when_its_period_began,
             an_earlier_phase_of_a_program_does_not_lengthen_its_responses,
             a_program_whose_period_drifts_is_not_late, a_release_that_the_program_says_counts,
             a_declared_warm_up_counts_nowhere, a_stall_is_one_miss_and_not_a_debt,
             a_program_that_leaves_releases_out_is_not_early, a_new_period_may_start_at_a_miss,
             percentiles_are_nearest_ranks, a_rank_between_two_jobs_is_the_later_one,
             only_the_last_jobs_are_kept_for_percentiles)
