#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "baton/job.h"
#include "baton/task.h"
#include "client/jobs.h"
#include "client/lease.h"
#include "client/session_private.h"
#include "client/settings.h"
#include "client/os_priority.h"
#include "base/random.h"
#include "wire/rank.h"
#include "harness.h"

#define MS NSEC_PER_MS

/* ---- settings ---- */

START_TEST(settings_take_what_baton_run_takes)
{
    struct settings settings;

    settings_init(&settings);
    ck_assert_int_eq(settings.slice, SETTING_AUTO);
    ck_assert_int_eq(settings_set(&settings, "priority", "80"), 0);
    ck_assert_int_eq(settings.priority, 80);
    ck_assert_int_eq(settings_set(&settings, "priority", "adaptive"), 0);
    ck_assert_int_eq(settings.priority, SETTING_PRIORITY_ADAPTIVE);
    ck_assert_int_eq(settings_set(&settings, "period", "33.5"), 0);
    ck_assert_int_eq(settings.period, 33500000);
    ck_assert_int_eq(settings_set(&settings, "slice", "off"), 0);
    ck_assert_int_eq(settings.slice, SETTING_OFF);
    ck_assert_int_eq(settings_set(&settings, "slice", "120"), 0);
    ck_assert_int_eq(settings.slice, 120);
    ck_assert_int_eq(settings_set(&settings, "chunk", "4KiB"), 0);
    ck_assert_int_eq(settings.chunk, 4096);
    ck_assert_int_eq(settings_set(&settings, "chunk", "2 MB"), 0);
    ck_assert_int_eq(settings.chunk, 2000000);
    ck_assert_int_eq(settings_set(&settings, "gpus", "all"), 0);
    ck_assert_int_eq(settings.gpus, SETTING_ALL);
    ck_assert_int_eq(settings_set(&settings, "require_daemon", "1"), 0);
    ck_assert(settings.require_daemon);
}
END_TEST

START_TEST(settings_refuse_nonsense_and_keep_what_they_had)
{
    static const struct {
        const char *name, *text;
    } bad[] = {{"priority", "0"},
               {"priority", "100"},
               {"priority", "-1"},
               {"priority", "8x"},
               {"priority", ""},
               {"period", "0"},
               {"period", "-3"},
               {"period", "nan"},
               {"period", "inf"},
               {"period", "1e99"},
               {"slice", "0"},
               {"slice", "some"},
               {"slice", "1.5"},
               {"chunk", "4Kb"},
               {"chunk", "-4"},
               {"chunk", "0"},
               {"gpus", "65"},
               {"gpus", "off"},
               {"require_daemon", "yes"},
               {"unheard", "1"}};
    struct settings settings;
    struct settings before;

    settings_init(&settings);
    before = settings;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(settings_set(&settings, bad[i].name, bad[i].text) == -EINVAL, "%s=%s", bad[i].name,
                      bad[i].text);
        ck_assert_mem_eq(&settings, &before, sizeof settings);
    }
}
END_TEST

START_TEST(a_bad_variable_is_named_and_the_rest_is_read)
{
    struct settings settings;
    const char *bad;

    (void)setenv("BATON_PRIORITY", "urgent", 1);
    (void)setenv("BATON_PERIOD", "10", 1);
    settings_from_environment(&settings, &bad);
    ck_assert_str_eq(bad, "BATON_PRIORITY");
    ck_assert_int_eq(settings.priority, SETTING_PRIORITY_UNSET);
    ck_assert_int_eq(settings.period, 10 * MS);
}
END_TEST

/* ---- what programs see ---- */

static struct session *open_alone(void)
{
    struct settings settings;
    struct session *session;

    settings_init(&settings);
    (void)snprintf(settings.socket, sizeof settings.socket, "/nonexistent/baton.sock");
    settings.deadline = 5 * MS;
    ck_assert_int_eq(session_open(&settings, NULL, &session), 0);
    return session;
}

START_TEST(stats_are_one_object_with_every_key)
{
    static const char *const keys[] = {"kernel_launches",
                                       "pieces",
                                       "unsliced",
                                       "copies",
                                       "chunks",
                                       "split_launches",
                                       "merged_bytes",
                                       "yields",
                                       "response_ms",
                                       "occupying_ms",
                                       "compute_occupying_ms",
                                       "copy_occupying_ms",
                                       "pending_ms",
                                       "jobs",
                                       "p50",
                                       "p99",
                                       "max",
                                       "jitter_ms",
                                       "tardiness_ms",
                                       "misses"};
    struct session *session = open_alone();
    char folder[64];
    char path[80];
    char *text;
    size_t size;

    harness_folder(folder);
    (void)snprintf(path, sizeof path, "%s/stats", folder);
    session_count(session, COUNTER_PIECES, 3);
    session_count(session, COUNTER_UNSLICED_BINARY, 2);
    session_job_begin(session, false, 100 * MS);
    session_job_end(session, false, 110 * MS);
    ck_assert_int_eq(session_write_stats(session, path), 0);
    ck_assert_int_eq(file_read(path, 1 << 16, &text, &size), 0);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char quoted[64];

        (void)snprintf(quoted, sizeof quoted, "\"%s\":", keys[i]);
        ck_assert_msg(strstr(text, quoted) != NULL, "%s in %s", quoted, text);
    }
    ck_assert_ptr_nonnull(strstr(text, "\"pieces\": 3"));
    ck_assert_ptr_nonnull(strstr(text, "\"unsliced\": {\"binary\": 2}"));
    ck_assert_ptr_nonnull(strstr(text, "\"misses\": 1")); /* 10 ms > 5 ms */
    ck_assert_ptr_nonnull(strstr(text, "\"tardiness_ms\": 5.0"));
    free(text);
    ck_assert_int_lt(session_write_stats(session, "/nonexistent/folder/stats"), 0);
    session_close(session);
}
END_TEST

START_TEST(the_priority_with_the_system_becomes_that_of_the_program)
{
    int given = getpriority(PRIO_PROCESS, 0); /* the test may run under nice(1), and may not go back */
    int nice = given < 7 ? 7 : given;

    ck_assert_uint_eq(os_priority_of(SCHED_FIFO, 50, 0), 50);
    ck_assert_uint_eq(os_priority_of(SCHED_RR, 1, -20), 1);
    ck_assert_uint_eq(os_priority_of(SCHED_OTHER, 0, 0), 20);
    ck_assert_uint_eq(os_priority_of(SCHED_OTHER, 0, -20), 40);
    ck_assert_uint_eq(os_priority_of(SCHED_BATCH, 0, 19), 1);
    ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, nice), 0);
    ck_assert_uint_eq(os_priority_own(), 20 - (unsigned)nice);
}
END_TEST

static bool realtime_permitted(void)
{
    struct sched_param parameters = {.sched_priority = OS_PRIORITY_HIGH};
    bool permitted = sched_setscheduler(0, SCHED_FIFO, &parameters) == 0;

    parameters.sched_priority = 0;
    (void)sched_setscheduler(0, SCHED_OTHER, &parameters);
    return permitted;
}

START_TEST(a_real_time_client_stands_in_the_band_until_it_leaves)
{
    bool permitted = realtime_permitted();
    struct sched_param parameters = {0};
    struct settings settings;
    struct session *session;

    settings_init(&settings);
    (void)snprintf(settings.socket, sizeof settings.socket, "/nonexistent/baton.sock");
    settings.priority = 99;
    ck_assert_int_eq(session_open(&settings, NULL, &session), 0);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER); /* no period, no deadline */
    session_close(session);
    settings.period = 33 * MS;
    ck_assert_int_eq(session_open(&settings, NULL, &session), 0);
    if (permitted) {
        ck_assert_int_eq(sched_getscheduler(0), SCHED_FIFO | SCHED_RESET_ON_FORK);
        ck_assert_int_eq(sched_getparam(0, &parameters), 0);
        ck_assert_int_eq(parameters.sched_priority, 14); /* beneath the plan: 10 + (40 - 10) x 16 / 99 */
    }
    session_close(session);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
}
END_TEST

START_TEST(threads_of_a_real_time_client_follow_its_rank)
{
    struct sched_param parameters = {0};
    struct os_priority threads;

    if (!realtime_permitted())
        return;
    os_priority_init(&threads, true, rank_level(false, 99));
    os_priority_raise(&threads);
    os_priority_set(&threads, rank_level(true, 10)); /* the least of a plan with ten tasks */
    ck_assert_int_eq(sched_getparam(0, &parameters), 0);
    ck_assert_int_eq(parameters.sched_priority, 17); /* 10 + 30 x 25 / 99; others have 14 at most */
    os_priority_restore(&threads);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
    os_priority_set(&threads, rank_level(true, 99)); /* no longer a real-time client */
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
}
END_TEST

START_TEST(a_thread_that_is_real_time_already_stays_as_it_is)
{
    struct sched_param parameters = {.sched_priority = 5};
    struct settings settings;
    struct session *session;

    if (!realtime_permitted())
        return;
    settings_init(&settings);
    (void)snprintf(settings.socket, sizeof settings.socket, "/nonexistent/baton.sock");
    settings.period = 33 * MS;
    ck_assert_int_eq(sched_setscheduler(0, SCHED_RR, &parameters), 0);
    ck_assert_int_eq(session_open(&settings, NULL, &session), 0);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_RR);
    session_close(session);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_RR);
}
END_TEST

struct job_thread {
    struct session *session;
    bool explicit_job, named;
    int policy;
};

static void *begin_a_job(void *argument)
{
    struct job_thread *thread = argument;

    session_job_begin(thread->session, thread->explicit_job, clock_now());
    thread->named = session_has_thread(thread->session, gettid());
    thread->policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    session_job_end(thread->session, thread->explicit_job, clock_now());
    return NULL;
}

/* Threads that neither opened the session nor made a queue, one after the other. */
START_TEST(the_thread_of_a_job_has_the_rank_of_the_program)
{
    bool permitted = realtime_permitted();
    struct job_thread thread = {0};
    struct settings settings;
    pthread_t handle;

    settings_init(&settings);
    (void)snprintf(settings.socket, sizeof settings.socket, "/nonexistent/baton.sock");
    settings.period = 33 * MS;
    ck_assert_int_eq(session_open(&settings, NULL, &thread.session), 0);
    for (int i = 0; i < 2 * SESSION_THREADS; i++) {
        thread.explicit_job = i > 0;
        ck_assert_int_eq(pthread_create(&handle, NULL, begin_a_job, &thread), 0);
        (void)pthread_join(handle, NULL);
        ck_assert(thread.named);
        ck_assert_int_eq(thread.policy, permitted ? SCHED_FIFO : SCHED_OTHER);
    }
    session_close(thread.session);
}
END_TEST

/* The exit status of a real-time client without privileges but with a limit that permits it. */
static int raise_and_restore(void)
{
    const struct rlimit permitted = {OS_PRIORITY_HIGH, OS_PRIORITY_HIGH};
    struct os_priority threads;

    if (setrlimit(RLIMIT_RTPRIO, &permitted) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
        return 0; /* cannot be tried here */
    os_priority_init(&threads, true, 50);
    os_priority_raise(&threads);
    if ((sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) != SCHED_FIFO)
        return 0;
    os_priority_restore(&threads);
    return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER ? 0 : 1;
}

START_TEST(a_real_time_client_without_privileges_is_put_back_too)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0)
        _exit(raise_and_restore());
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(explicit_jobs_silence_inferred_ones)
{
    struct session *session = open_alone();

    session_job_begin(session, false, 0); /* an upload that the program does before its jobs */
    session_job_end(session, false, 8 * MS);
    session_job_begin(session, false, 9 * MS);
    session_job_begin(session, true, 10 * MS); /* the program speaks: the inferred ones were none */
    ck_assert_uint_eq(session_counter(session, COUNTER_JOBS), 0);
    session_job_begin(session, false, 11 * MS);
    session_job_end(session, false, 12 * MS);
    session_job_end(session, true, 13 * MS);
    ck_assert_uint_eq(session_counter(session, COUNTER_JOBS), 1);
    ck_assert_uint_eq(session_counter(session, COUNTER_RESPONSE_NS), 3 * MS);
    ck_assert_uint_eq(session_counter(session, COUNTER_RESPONSE_MAX_NS), 3 * MS);
    ck_assert_uint_eq(session_counter(session, COUNTER_MISSES), 0);
    session_close(session);
}
END_TEST

/* batond reads this before a claim returns (daemon/regain.h). */
START_TEST(the_page_says_whether_a_job_is_pending_and_when_it_was_released)
{
    static _Alignas(64) struct page page;
    struct session *session = open_alone();

    atomic_store(&session->protocol.page, &page);
    session_job_begin(session, false, 9 * MS);
    ck_assert_uint_eq(page.job_mark % 2, 1);
    ck_assert_int_eq(page.released_at, 9 * MS);
    ck_assert_int_eq(session_job_begin_released(session, 10 * MS, 12 * MS), 0); /* in its place */
    ck_assert_uint_eq(page.job_mark, 3);
    ck_assert_int_eq(page.released_at, 10 * MS);
    session_job_end(session, true, 13 * MS);
    ck_assert_uint_eq(page.job_mark, 4);
    ck_assert_int_lt(session_job_begin_released(session, 20 * MS, 15 * MS), 0);
    ck_assert_uint_eq(page.job_mark, 4); /* no job: it is refused */
    ck_assert_int_eq(session_job_begin_released(session, 15 * MS, 15 * MS), 0);
    memset(&page, 0, sizeof page); /* that of another daemon */
    session_publish_job(session);
    ck_assert_uint_eq(page.job_mark, 5);
    ck_assert_int_eq(page.released_at, 15 * MS);
    atomic_store(&session->protocol.page, NULL);
    session_close(session);
}
END_TEST

/* What batond compares with a budget (daemon/budgets.h). */
START_TEST(the_page_counts_the_engine_time_of_the_present_job)
{
    static _Alignas(64) struct page page;
    struct session *session = open_alone();
    struct lease_work counted = {.counted = true};
    struct lease *lease;

    ck_assert_int_eq(lease_open(session, "test:0", ENGINE_EXECUTION, &lease), 0);
    atomic_store(&session->protocol.page, &page);
    jobs_warm_up(&session->jobs, 1);
    session_job_begin(session, true, 1 * MS);
    lease_used(lease, 1 * MS, 2 * MS);
    ck_assert_uint_eq(page.used_ns, 0); /* warm-up: the plan does not provide for it */
    session_job_end(session, true, 3 * MS);
    session_job_begin(session, true, 10 * MS);
    lease_used(lease, 7 * MS, 9 * MS); /* seen late: the last job used it */
    ck_assert_uint_eq(page.used_ns, 0);
    lease_used(lease, 8 * MS, 11 * MS); /* the last job's, into this one */
    ck_assert_uint_eq(page.used_ns, 1 * MS);
    lease_used(lease, 12 * MS, 14 * MS);
    lease_ran(lease, 12 * MS, 14 * MS, &counted); /* the trace's record of the same */
    lease_ran(lease, 14 * MS, 15 * MS, NULL);
    ck_assert_uint_eq(page.used_ns, 4 * MS);
    session_job_end(session, true, 16 * MS);
    lease_used(lease, 16 * MS, 17 * MS);
    ck_assert_uint_eq(page.used_ns, 4 * MS);
    session_job_begin(session, true, 20 * MS);
    ck_assert_uint_eq(page.used_ns, 0);
    atomic_store(&session->protocol.page, NULL);
    session_close(session);
}
END_TEST

START_TEST(the_public_calls_keep_statistics_without_layer_and_daemon)
{
    struct baton_job_report report = {.size = sizeof report};

    (void)setenv("BATON_SOCKET", "/nonexistent/baton.sock", 1);
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_int_eq(baton_job_begin(), 0);
        ck_assert_int_eq(baton_job_end(), 0);
    }
    ck_assert_int_eq(baton_job_begin_at(INT64_MAX), -EINVAL);
    ck_assert_int_eq(baton_job_report(&report), 0);
    ck_assert_uint_eq(report.jobs, 5);
    ck_assert_int_ge(report.response_max, report.response_p50);
    report.size = 8; /* not set, or of a version that never was */
    ck_assert_int_eq(baton_job_report(&report), -EINVAL);
}
END_TEST

/* Two handles: jobs of one do not count for the other, also where they overlap. */
START_TEST(task_handles_keep_statistics_of_their_own)
{
    struct baton_task_options options = {.size = sizeof options, .name = "a", .deadline_ns = 1};
    struct baton_task_report report = {.size = sizeof report};
    struct baton_task *a = NULL;
    struct baton_task *b = NULL;
    int64_t now = clock_now();

    ck_assert_int_eq(baton_task_open(&options, &a), 0);
    options.name = "b";
    options.deadline_ns = INT64_MAX / 4;
    options.warm = 1;
    ck_assert_int_eq(baton_task_open(&options, &b), 0);
    ck_assert_str_eq(baton_task_name(b), "b");
    ck_assert_int_eq(baton_task_begin_at(a, now - 50 * MS), 0); /* released 50 ms ago: at least that */
    ck_assert_int_eq(baton_task_begin(b), 0);
    ck_assert_int_eq(baton_task_end(a), 0);
    ck_assert_int_eq(baton_task_end(b), 0); /* warm-up */
    ck_assert_int_eq(baton_task_begin(b), 0);
    ck_assert_int_eq(baton_task_end(b), 0);
    ck_assert_int_eq(baton_task_report(a, &report), 0);
    ck_assert_uint_eq(report.jobs, 1);
    ck_assert_uint_eq(report.misses, 1);
    ck_assert_int_ge(report.response_max, 50 * MS);
    ck_assert_int_eq(report.response_sum, report.response_max);
    ck_assert_int_eq(baton_task_report(b, &report), 0);
    ck_assert_uint_eq(report.jobs, 1);
    ck_assert_uint_eq(report.misses, 0);
    ck_assert_int_eq(baton_task_begin_at(b, INT64_MAX), -EINVAL); /* in the future */
    report.size = 8;
    ck_assert_int_eq(baton_task_report(b, &report), -EINVAL);
    baton_task_close(a);
    baton_task_close(b);
    baton_task_close(NULL);
    options.size = 0;
    ck_assert_int_eq(baton_task_open(&options, &a), -EINVAL);
    options = (struct baton_task_options){.size = sizeof options, .name = ""};
    ck_assert_int_eq(baton_task_open(&options, &a), -EINVAL);
}
END_TEST

HARNESS_MAIN("client", 30, task_handles_keep_statistics_of_their_own, settings_take_what_baton_run_takes,
             settings_refuse_nonsense_and_keep_what_they_had, a_bad_variable_is_named_and_the_rest_is_read,
             stats_are_one_object_with_every_key, the_priority_with_the_system_becomes_that_of_the_program,
             threads_of_a_real_time_client_follow_its_rank,
             a_real_time_client_stands_in_the_band_until_it_leaves,
             a_thread_that_is_real_time_already_stays_as_it_is,
             the_thread_of_a_job_has_the_rank_of_the_program,
             a_real_time_client_without_privileges_is_put_back_too, explicit_jobs_silence_inferred_ones,
             the_page_says_whether_a_job_is_pending_and_when_it_was_released,
             the_page_counts_the_engine_time_of_the_present_job,
             the_public_calls_keep_statistics_without_layer_and_daemon)
