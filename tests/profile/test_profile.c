#include <errno.h>
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/align.h"
#include "cli/profile/task.h"
#include "cli/profile/throttle.h"
#include "harness.h"

#define US NSEC_PER_US

/*
 * A log that is written by hand, command by command; times in microseconds from 0, driver clock =
 * ours + skew.
 */
struct log_text {
    char text[1 << 16];
    size_t used;
    int64_t skew; /* ns to add to our clock to get the driver's */
};

static void begin_log(struct log_text *log)
{
    memset(log, 0, sizeof *log);
    log->used = (size_t)snprintf(log->text, sizeof log->text, "%s", JOB_RECORD_HEADER);
}

static void command(struct log_text *log, uint32_t job, enum engine_kind engine, const char *name,
                    int64_t start_us, int64_t end_us)
{
    struct job_record_command c = {.job = job,
                                   .engine = engine,
                                   .call_at = start_us * US - 100,
                                   .return_at = end_us * US + 100,
                                   .seen_at = end_us * US + 100,
                                   .queued = start_us * US - 100 + log->skew,
                                   .start = start_us * US + log->skew,
                                   .end = end_us * US + log->skew,
                                   .bytes = engine == ENGINE_EXECUTION ? 0 : 4096,
                                   .pieces = 1};

    (void)snprintf(c.name, sizeof c.name, "%s", name);
    log->used += job_record_print_command(&c, log->text + log->used);
}

static void job(struct log_text *log, uint32_t number, int64_t begin_us, int64_t end_us, uint32_t commands)
{
    struct job_record_job j = {
        .job = number, .begin_at = begin_us * US, .end_at = end_us * US, .commands = commands};

    log->used += job_record_print_job(&j, log->text + log->used);
}

/*
 * In, kernel of so many microseconds, out; begins at begin_us with 10 us of CPU before each command
 * and after the last.
 */
static void frame(struct log_text *log, uint32_t number, int64_t begin_us, int64_t kernel_us)
{
    command(log, number, ENGINE_COPY_IN, "", begin_us + 10, begin_us + 15);
    command(log, number, ENGINE_EXECUTION, "blur", begin_us + 25, begin_us + 25 + kernel_us);
    command(log, number, ENGINE_COPY_OUT, "", begin_us + 35 + kernel_us, begin_us + 38 + kernel_us);
    job(log, number, begin_us, begin_us + 48 + kernel_us, 3);
}

static void align(const struct log_text *text, size_t warm, struct profile_log *log,
                  struct profile_task *task)
{
    ck_assert_int_eq(profile_log_read(text->text, text->used, log), 0);
    ck_assert_int_eq(profile_align(log, warm, task), 0);
}

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
 * Cut in one job into pieces of at most 40 us, whole in the other with 90: nobody can count on a
 * border before 90.
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

HARNESS_MAIN("profile", 20, a_record_reads_back_as_it_was_written, no_bytes_make_a_record_by_accident,
             a_name_cannot_end_its_line, waits_as_long_as_a_stop_of_real_time_threads_are_throttling,
             lengths_of_the_worst_job_are_those_of_one_job,
             segments_have_the_worst_best_and_mean_of_their_jobs,
             a_driver_with_another_clock_gives_the_same_segments,
             jobs_of_another_shape_are_counted_and_not_measured, a_crash_costs_the_last_job_and_nothing_else,
             a_job_that_lost_commands_is_incomplete, two_waits_per_period_are_one_job,
             a_regular_exception_is_not_taken_for_a_wait,
             overlapping_commands_make_a_longer_chain_never_a_shorter_one,
             a_piece_is_as_long_as_the_longest_stretch_without_a_border, too_few_jobs_are_told,
             a_profile_becomes_a_task_that_reads_back_with_its_confidence,
             a_profile_that_does_not_fit_its_task_is_refused_at_its_place)
