/* The log of a profiled program, line by line, and the task that a profile becomes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/profile/task.h"
#include "cli/profile/throttle.h"
#include "hand_log.h"
#include "harness.h"

START_TEST(a_record_reads_back_as_it_was_written)
{
    const struct job_record_command c = {7, ENGINE_COPY_OUT, 1, 2, 3, -4, 5, 6, 8, 9, 10, "small", "k"};
    const struct job_record_job j = {7, 11, 12, true, 3};
    struct job_record_command c2;
    struct job_record_job j2;
    char line[JOB_RECORD_LINE_SIZE], again[JOB_RECORD_LINE_SIZE];

    line[job_record_print_command(&c, line) - 1] = 0;
    ck_assert_int_eq(job_record_parse(line, &c2, &j2), JOB_RECORD_COMMAND);
    again[job_record_print_command(&c2, again) - 1] = 0;
    ck_assert_str_eq(line, again);
    ck_assert(c2.job == 7 && c2.engine == ENGINE_COPY_OUT && c2.call_at == 1 && c2.return_at == 2 &&
              c2.seen_at == 3 && c2.queued == -4 && c2.start == 5 && c2.end == 6 && c2.bytes == 8 &&
              c2.pieces == 9 && c2.longest_piece == 10 && strcmp(c2.why, "small") == 0 &&
              strcmp(c2.name, "k") == 0);
    line[job_record_print_job(&j, line) - 1] = 0;
    ck_assert_int_eq(job_record_parse(line, &c2, &j2), JOB_RECORD_JOB);
    ck_assert(j2.job == 7 && j2.begin_at == 11 && j2.end_at == 12 && j2.explicit_job && j2.commands == 3);
}
END_TEST

START_TEST(no_bytes_make_a_record_by_accident)
{
    static const char *const bad[] = {"",
                                      "c",
                                      "j 1 2 3",
                                      "j 0 1 2 0 1",
                                      "j 1 5 4 0 1",
                                      "j 1 1 2 2 1",
                                      "j 1 1 2 0 1 x",
                                      "c 1 3 0 0 0 0 0 0 0 1 0 - -",
                                      "c 1 0 0 0 0 5 4 0 0 1 0 - -",
                                      "c 1 0 0 0 0 0 0 0 0 0 0 - -",
                                      "c 1 0 0 0 0 0 0 0 0 1 0 - a b"};
    struct job_record_command c;
    struct job_record_job j;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(job_record_parse(bad[i], &c, &j) == -EINVAL, "accepted: %s", bad[i]);
}
END_TEST

START_TEST(a_name_cannot_end_its_line)
{
    const struct job_record_command c = {.job = 1, .pieces = 1, .name = "two words\nj 9 1 2 0 0"};
    char line[JOB_RECORD_LINE_SIZE];
    size_t n = job_record_print_command(&c, line);

    ck_assert_ptr_eq(strchr(line, '\n'), line + n - 1);
    ck_assert_ptr_nonnull(strstr(line, "two?words?j?9"));
}
END_TEST

/*
 * 950 of 1000 ms: a stop lasts 50 ms. Half of that, waited between two looks by a real-time thread,
 * is taken for one.
 */
START_TEST(waits_as_long_as_a_stop_of_real_time_threads_are_throttling)
{
    struct throttle throttle;

    throttle_init(&throttle, 950000, 1000000);
    ck_assert_int_eq(throttle.stop, 50000 * US);
    throttle_note(&throttle, 1, true, 70000 * US); /* before we looked */
    throttle_note(&throttle, 1, true, 80000 * US); /* 10 ms: a more urgent thread */
    ck_assert_int_eq(throttle.lost, 0);
    throttle_note(&throttle, 1, true, 121000 * US); /* 41 ms */
    ck_assert_int_eq(throttle.lost, 41000 * US);
    throttle_note(&throttle, 2, false, 0);
    throttle_note(&throttle, 2, false, 500000 * US); /* an ordinary thread waits as long as it has to */
    ck_assert_int_eq(throttle.lost, 41000 * US);
    throttle_init(&throttle, -1, 1000000); /* no limit: nothing is throttled */
    throttle_note(&throttle, 1, true, 0);
    throttle_note(&throttle, 1, true, 500000 * US);
    ck_assert_int_eq(throttle.lost, 0);
    throttle_init(&throttle, 950000, 1000000);
    for (pid_t thread = 1; thread <= 2 * THROTTLE_THREADS; thread++)
        throttle_note(&throttle, thread, true, 0); /* more than are watched */
    ck_assert_uint_eq(throttle.n, THROTTLE_THREADS);
    throttle_look(&throttle, getpid());
}
END_TEST

/* Prints the set and reads it again. */
static void round_trip(const struct task_set *set, struct task_set *ret_again)
{
    struct input_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    task_set_print(set, out);
    (void)fclose(out);
    ck_assert_msg(task_set_read("set.yaml", text, size, ret_again, &error) == 0, "%s\n%u:%u %s %s", text,
                  error.line, error.column, error.expected, error.found);
    free(text);
}

START_TEST(a_profile_becomes_a_task_that_reads_back_with_its_confidence)
{
    static struct log_text text;
    const struct profile_wish wish = {.name = "blurrer", .incomplete = 2};
    struct task_set set = {.platform = {.cpus = 1,
                                        .cpu_cluster = 1,
                                        .numa_nodes = 1,
                                        .gpus = 2,
                                        .gpu_cluster = 2,
                                        .copy_engines = 2,
                                        .tokens_per_gpu = 2,
                                        .buses = 1,
                                        .chunk_in = 1,
                                        .chunk_out = 1}};
    const char *name = NULL;
    struct task_set again;
    struct profile_log log;
    struct profile_task on[2];
    struct task task;

    begin_log(&text);
    for (uint32_t i = 0; i < 4; i++)
        frame(&text, i + 1, i * 5000, 100 + i);
    align(&text, 1, &log, &on[0]);
    ck_assert_int_eq(profile_align(&log, 1, &on[1]), 0);
    on[1].steps[3].worst = 60 * US; /* on two GPUs */
    arena_init(&set.arena, 0);
    ck_assert_int_eq(profile_task_make(on, 2, &wish, &set.arena, &task), 0);
    ck_assert_int_eq(profile_set_add(&set, &task, 1, true, &name), 0);
    ck_assert_int_eq(profile_set_add(&set, &task, 1, true, &name), 0); /* the same name again: replaced */
    ck_assert_int_eq(profile_set_add(&set, &task, 1, false, &name), -EEXIST);
    ck_assert_str_eq(name, "blurrer");
    round_trip(&set, &again);
    ck_assert_uint_eq(again.n_tasks, 1);
    ck_assert_int_eq(again.tasks[0].period, 5000 * US);
    ck_assert_uint_eq(again.tasks[0].n_segments, 7);
    ck_assert_int_eq(again.tasks[0].segments[3].length, 103 * US);
    ck_assert_int_eq(again.tasks[0].segments[3].best, 101 * US);
    ck_assert_int_eq(segment_length_on(&again.tasks[0].segments[3], 2, 2), 60 * US);
    ck_assert_int_eq(again.tasks[0].profile->jobs, 3);
    ck_assert_int_eq(again.tasks[0].profile->warm, 1);
    ck_assert_int_eq(again.tasks[0].profile->incomplete, 2);
    ck_assert(again.tasks[0].profile->period_inferred && !again.tasks[0].profile->explicit_boundaries);
    ck_assert_int_eq(again.tasks[0].profile->worst, 151 * US); /* 48 + 103 */
    ck_assert_str_eq(again.tasks[0].profile->segments[3].kernel, "blur");
    ck_assert_int_eq(again.tasks[0].profile->segments[3].mean, 102 * US);
    task_set_done(&again);
    arena_done(&set.arena);
    profile_task_done(&on[0]);
    profile_task_done(&on[1]);
    profile_log_done(&log);
}
END_TEST

START_TEST(a_profile_that_does_not_fit_its_task_is_refused_at_its_place)
{
    static const char head[] = "  - {name: a, period_ms: 10, segments: [{cpu_ms: 1}], profile: ";
    static const struct {
        const char *before, *from, *expected; /* the place is where `from` begins */
    } cases[] = {
        {"{jobs: 3, segments: ", "[{mean_ms: 1}, {mean_ms: 1}]}", "1 entries"},
        {"{jobs: ", "many}", "jobs"},
        {"{boundaries: ", "guessed}", "boundaries"},
        {"{response_ms: ", "{best: 2, mean: 1, worst: 3}}", "best <= mean"},
        {"{", "sure: yes}", "jobs"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        struct task_set set;
        struct input_error error;
        int n = snprintf(text, sizeof text, "platform: {cpus: 1}\ntasks:\n%s%s%s}\n", head, cases[i].before,
                         cases[i].from);

        ck_assert_int_eq(task_set_read("t.yaml", text, (size_t)n, &set, &error), INPUT_REJECTED);
        ck_assert_uint_eq(error.line, 3);
        ck_assert_uint_eq(error.column, strlen(head) + strlen(cases[i].before) + 1);
        ck_assert_msg(strstr(error.expected, cases[i].expected) != NULL, "%s", error.expected);
    }
}
END_TEST

HARNESS_MAIN("profile record", 20, a_record_reads_back_as_it_was_written, no_bytes_make_a_record_by_accident,
             a_name_cannot_end_its_line, waits_as_long_as_a_stop_of_real_time_threads_are_throttling,
             a_profile_becomes_a_task_that_reads_back_with_its_confidence,
             a_profile_that_does_not_fit_its_task_is_refused_at_its_place)
