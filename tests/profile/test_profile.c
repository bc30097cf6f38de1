/* The jobs of a profile: their common shape, and the lengths of their segments. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/task.h"
#include "hand_log.h"
#include "harness.h"

START_TEST(lengths_of_the_worst_job_are_those_of_one_job)
{
    static struct log_text text;
    struct profile_wish wish = {.name = "t", .period = 5000 * US, .of_worst_job = true};
    struct profile_log log;
    struct profile_task task;
    struct task_set set = {0};
    struct task made;

    begin_log(&text);
    frame(&text, 1, 0, 100);
    frame(&text, 2, 5000, 130);
    frame(&text, 3, 10000, 110);
    align(&text, 0, &log, &task);
    /* Steps of every frame but the kernel are equal (48 us in all): the worst job is the second. */
    ck_assert_int_eq(task.steps[3].in_worst, 130 * US);
    for (size_t i = 0; i < task.n_steps; i += 2)
        task.steps[i].worst = 25 * US; /* as if other jobs had had the longer pauses */
    arena_init(&set.arena, 0);
    ck_assert_int_eq(profile_task_make(&task, 1, &wish, &set.arena, &made), 0);
    ck_assert_int_eq(task_total(&made), task.worst); /* the job itself: 178 us */
    ck_assert_int_eq(made.profile->segments[0].worst, 25 * US);
    ck_assert_int_eq(made.profile->segments[0].in_worst_job, 10 * US);
    wish.of_worst_job = false;
    ck_assert_int_eq(profile_task_make(&task, 1, &wish, &set.arena, &made), 0);
    ck_assert_int_eq(task_total(&made), (138 + 4 * 25) * US); /* 5 + 130 + 3 of commands, and four pauses */
    /*
     * What others wait for is never told shorter: a whole kernel keeps its worst length in either
     * way.
     */
    task.steps[3].worst = 200 * US;
    wish.of_worst_job = true;
    ck_assert_int_eq(profile_task_make(&task, 1, &wish, &set.arena, &made), 0);
    ck_assert_int_eq(made.segments[3].length, 200 * US);
    arena_done(&set.arena);
    profile_task_done(&task);
    profile_log_done(&log);
}
END_TEST

/*
 * Kernels of 100, 130, 110 us after a first one of 900 that is left out: worst 130, best 100, mean
 * 340 / 3.
 */
START_TEST(segments_have_the_worst_best_and_mean_of_their_jobs)
{
    static const int64_t kernels[] = {900, 100, 130, 110};
    static struct log_text text;
    struct profile_log log;
    struct profile_task task;

    begin_log(&text);
    for (uint32_t i = 0; i < 4; i++)
        frame(&text, i + 1, i * 5000, kernels[i]);
    align(&text, 1, &log, &task);
    ck_assert_uint_eq(task.jobs, 3);
    ck_assert_uint_eq(task.n_steps, 7); /* cpu, in, cpu, kernel, cpu, out, cpu */
    ck_assert_int_eq(task.steps[3].kind, SEGMENT_KERNEL);
    ck_assert_str_eq(task.steps[3].kernel, "blur");
    ck_assert_int_eq(task.steps[3].worst, 130 * US);
    ck_assert_int_eq(task.steps[3].best, 100 * US);
    ck_assert_int_eq(task.steps[3].sum, 340 * US);
    for (size_t i = 0; i < 7; i += 2) {
        ck_assert_int_eq(task.steps[i].kind, SEGMENT_CPU);
        ck_assert_int_eq(task.steps[i].worst, 10 * US);
    }
    ck_assert_int_eq(task.steps[1].kind, SEGMENT_COPY_IN);
    ck_assert_int_eq(task.steps[1].worst, 5 * US);
    ck_assert_int_eq(task.steps[5].kind, SEGMENT_COPY_OUT);
    ck_assert_int_eq(task.steps[5].bytes, 4096);
    ck_assert_int_eq(task.worst, 178 * US); /* 48 + 130 */
    ck_assert_int_eq(task.first, 948 * US);
    ck_assert_int_eq(task.period, 5000 * US);
    ck_assert_int_eq(task.shortest, 5000 * US);
    profile_task_done(&task);
    profile_log_done(&log);
}
END_TEST

START_TEST(a_driver_with_another_clock_gives_the_same_segments)
{
    static struct log_text text;
    static const int64_t skews[] = {0, -220 * NSEC_PER_MS, 7 * NSEC_PER_SEC, INT64_C(1) << 60};

    for (size_t s = 0; s < sizeof skews / sizeof skews[0]; s++) {
        struct profile_log log;
        struct profile_task task;

        begin_log(&text);
        text.skew = skews[s];
        for (uint32_t i = 0; i < 3; i++)
            frame(&text, i + 1, 10 * (int64_t)NSEC_PER_MS / US * 100 + i * 5000, 100);
        align(&text, 0, &log, &task);
        for (size_t i = 0; i < 7; i += 2)
            ck_assert_msg(llabs(task.steps[i].worst - 10 * US) <= 1, "skew %zu step %zu: %lld", s, i,
                          (long long)task.steps[i].worst);
        profile_task_done(&task);
        profile_log_done(&log);
    }
}
END_TEST

START_TEST(jobs_of_another_shape_are_counted_and_not_measured)
{
    static struct log_text text;
    struct profile_log log;
    struct profile_task task;

    begin_log(&text);
    for (uint32_t i = 0; i < 9; i++)
        frame(&text, i + 1, i * 5000, 100);
    command(&text, 10, ENGINE_EXECUTION, "keyframe", 45010, 49000);
    job(&text, 10, 45000, 49010, 1);
    align(&text, 0, &log, &task);
    ck_assert_uint_eq(task.jobs, 9);
    ck_assert_uint_eq(task.other_shapes, 1);
    ck_assert_int_eq(task.other_longest, 4010 * US);
    ck_assert_int_eq(task.steps[3].worst, 100 * US);
    profile_task_done(&task);
    profile_log_done(&log);
}
END_TEST

START_TEST(a_crash_costs_the_last_job_and_nothing_else)
{
    static struct log_text text;
    size_t whole;

    begin_log(&text);
    for (uint32_t i = 0; i < 3; i++)
        frame(&text, i + 1, i * 5000, 100);
    whole = text.used;
    frame(&text, 4, 20000, 100);
    for (size_t cut = whole; cut < text.used; cut++) { /* every byte of the last job */
        struct profile_log log;

        ck_assert_int_eq(profile_log_read(text.text, cut, &log), 0);
        ck_assert_uint_eq(log.n_jobs, 3);
        profile_log_done(&log);
    }
}
END_TEST

START_TEST(a_job_that_lost_commands_is_incomplete)
{
    static struct log_text text;
    struct profile_log log;

    begin_log(&text);
    frame(&text, 1, 0, 100);
    command(&text, 2, ENGINE_EXECUTION, "blur", 5010, 5020);
    job(&text, 2, 5000, 5030, 3);
    ck_assert_int_eq(profile_log_read(text.text, text.used, &log), 0);
    ck_assert_uint_eq(log.n_jobs, 1);
    ck_assert_uint_eq(log.incomplete, 1);
    profile_log_done(&log);
    ck_assert_int_eq(profile_log_read("nonsense\n", 9, &log), -EPROTO);
}
END_TEST

/*
 * Every 5 ms the program waits for a copy, 10 us later for a kernel: two inferred jobs, one job of
 * the program.
 */
START_TEST(two_waits_per_period_are_one_job)
{
    static struct log_text text;
    struct profile_log log;
    struct profile_task task;

    begin_log(&text);
    for (uint32_t i = 0; i < 10; i++) {
        int64_t at = i * 5000;

        command(&text, 2 * i + 1, ENGINE_COPY_IN, "", at + 5, at + 10);
        job(&text, 2 * i + 1, at, at + 20, 1);
        command(&text, 2 * i + 2, ENGINE_EXECUTION, "blur", at + 40, at + 90);
        job(&text, 2 * i + 2, at + 30, at + 100, 1);
    }
    align(&text, 0, &log, &task);
    ck_assert_uint_eq(task.waits, 2);
    ck_assert_uint_eq(task.jobs, 10);
    ck_assert_int_eq(task.period, 5000 * US);
    ck_assert_int_eq(task.worst, 100 * US);
    ck_assert_int_eq(task.steps[2].worst,
                     30 * US); /* from the copy's end at 10 to the kernel's start at 40 */
    profile_task_done(&task);
    profile_log_done(&log);
}
END_TEST

/* Frame, frame, frame, key frame at a steady pace: four jobs, not one. */
START_TEST(a_regular_exception_is_not_taken_for_a_wait)
{
    static struct log_text text;
    struct profile_log log;
    struct profile_task task;

    begin_log(&text);
    for (uint32_t i = 0; i < 40; i++) {
        int64_t at = i * 5000;

        command(&text, i + 1, ENGINE_EXECUTION, i % 4 == 3 ? "key" : "frame", at + 10, at + 110);
        job(&text, i + 1, at, at + 120, 1);
    }
    align(&text, 0, &log, &task);
    ck_assert_uint_eq(task.waits, 1);
    ck_assert_uint_eq(task.jobs, 30);
    ck_assert_uint_eq(task.other_shapes, 10);
    profile_task_done(&task);
    profile_log_done(&log);
}
END_TEST

START_TEST(overlapping_commands_make_a_longer_chain_never_a_shorter_one)
{
    static struct log_text text;
    struct profile_log log;
    struct profile_task task;
    baton_nsec chain = 0;

    begin_log(&text);
    command(&text, 1, ENGINE_EXECUTION, "a", 10, 60);
    command(&text, 1, ENGINE_COPY_IN, "", 30, 80); /* 30 us beside the kernel */
    job(&text, 1, 0, 90, 2);
    align(&text, 0, &log, &task);
    for (size_t i = 0; i < task.n_steps; i++)
        chain += task.steps[i].worst;
    ck_assert_int_eq(chain, 120 * US); /* 10 + 50 + 0 + 50 + 10 */
    ck_assert_int_eq(task.worst, 90 * US);
    ck_assert_uint_eq(task.overlaps, 1);
    profile_task_done(&task);
    profile_log_done(&log);
}
END_TEST

/*
 * Cut in one job into pieces of at most 40 us, whole in the other with 90: no analysis can count
 * on a border before 90.
 */
START_TEST(a_piece_is_as_long_as_the_longest_stretch_without_a_border)
{
    static struct log_text text;
    struct profile_log log;
    struct profile_task task;

    begin_log(&text);
    command(&text, 1, ENGINE_EXECUTION, "a", 10, 110);
    job(&text, 1, 0, 120, 1);
    command(&text, 2, ENGINE_EXECUTION, "a", 5010, 5100);
    job(&text, 2, 5000, 5110, 1);
    ck_assert_int_eq(profile_log_read(text.text, text.used, &log), 0);
    log.jobs[0].commands[0].pieces = 3;
    log.jobs[0].commands[0].longest_piece = 40 * US;
    ck_assert_int_eq(profile_align(&log, 0, &task), 0);
    ck_assert_int_eq(task.steps[1].piece, 90 * US);
    profile_task_done(&task);
    profile_log_done(&log);
}
END_TEST

START_TEST(too_few_jobs_are_told)
{
    static struct log_text text;
    struct profile_log log;
    struct profile_task task;

    begin_log(&text);
    frame(&text, 1, 0, 100);
    ck_assert_int_eq(profile_log_read(text.text, text.used, &log), 0);
    ck_assert_int_eq(profile_align(&log, 1, &task), -ENODATA);
    ck_assert_int_eq(profile_align(&log, 0, &task), 0);
    ck_assert_int_eq(task.period, 0);
    profile_task_done(&task);
    profile_log_done(&log);
}
END_TEST

HARNESS_MAIN("profile", 20, lengths_of_the_worst_job_are_those_of_one_job,
             segments_have_the_worst_best_and_mean_of_their_jobs,
             a_driver_with_another_clock_gives_the_same_segments,
             jobs_of_another_shape_are_counted_and_not_measured, a_crash_costs_the_last_job_and_nothing_else,
             a_job_that_lost_commands_is_incomplete, two_waits_per_period_are_one_job,
             a_regular_exception_is_not_taken_for_a_wait,
             overlapping_commands_make_a_longer_chain_never_a_shorter_one,
             a_piece_is_as_long_as_the_longest_stretch_without_a_border, too_few_jobs_are_told)
