/*
 * The analyses as `baton analyze` calls them: over task-set files, with what they reject and why.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/cpu/fair_lateness.h"
#include "analysis/gpusync/gpusync.h"
#include "analysis/cpu/np_edf.h"
#include "harness.h"
#include "model/task_set.h"

static char message[800];

/* Runs the analysis over text; on rejection the message is left in `message`. */
static int run(const struct analysis *analysis, const char *text, struct analysis_result *ret_result)
{
    struct task_set set;
    struct input_error error;
    int r = task_set_read("test", text, strlen(text), &set, &error);

    if (r == 0) {
        r = analysis->run(&set, &(struct analysis_request){0}, ret_result, &error);
        task_set_done(&set);
    } else {
        r = -1000;
    }
    message[0] = 0;
    if (r != 0)
        (void)input_error_format(&error, message, sizeof message);
    return r;
}

static void rejects(const struct analysis *analysis, const char *text, const char *words)
{
    struct analysis_result result;

    int r = run(analysis, text, &result);

    ck_assert_msg(r == INPUT_REJECTED, "%d: %s", r, message);
    ck_assert_msg(strstr(message, words) != NULL, "%s", message);
}

/*
 * The set of PAPERS, "check": R = 120, 110, 270 on two CPUs; the second task's time is spread over
 * segments.
 */
static const char *const three_tasks =
    "platform: {cpus: 2, gpus: 1}\n"
    "tasks:\n"
    "  - {name: a, period_ms: 50, segments: [{cpu_ms: 50}]}\n"
    "  - {name: b, period_ms: 40, segments: [{cpu_ms: 5}, {copy_in_ms: 3}, {kernel_ms: 10}, {cpu_ms: 2}]}\n"
    "  - {name: c, period_ms: 200, segments: [{cpu_ms: 100}]}\n";

START_TEST(fair_lateness_sums_all_segments)
{
    struct analysis_result result;

    ck_assert_int_eq(run(&analysis_fair_lateness, three_tasks, &result), 0);
    ck_assert(result.schedulable && result.reason == NULL);
    ck_assert_int_eq(result.tasks[0].response, 120 * NSEC_PER_MS);
    ck_assert_int_eq(result.tasks[1].response, 110 * NSEC_PER_MS);
    ck_assert_int_eq(result.tasks[2].response, 270 * NSEC_PER_MS);
    ck_assert_int_eq(result.tasks[0].tardiness, 70 * NSEC_PER_MS);
    ck_assert(result.tasks[0].has_priority_point);
    ck_assert_int_eq(result.tasks[0].priority_point, 25 * NSEC_PER_MS);
    ck_assert_uint_eq(result.tasks[1].gpus, 1);
    arena_done(&result.arena);
}
END_TEST

/*
 * Clusters of one CPU: worst fit by decreasing utilisation puts a (1.0) alone and b, c (.5 each)
 * together: exactly full, bounded.
 */
START_TEST(fair_lateness_goes_cluster_by_cluster)
{
    char text[600];
    struct analysis_result result;

    (void)snprintf(text, sizeof text, "platform: {cpus: 2, cpu_cluster: 1, gpus: 1}%s",
                   strchr(three_tasks, '\n'));
    ck_assert_int_eq(run(&analysis_fair_lateness, text, &result), 0);
    ck_assert(result.schedulable);
    /* Alone on one CPU: y = 0, S = C = 50 = s: R = 50. */
    ck_assert_int_eq(result.tasks[0].response, 50 * NSEC_PER_MS);
    arena_done(&result.arena);
    (void)snprintf(text, sizeof text, "platform: {cpus: 1, gpus: 1}%s", strchr(three_tasks, '\n'));
    ck_assert_int_eq(run(&analysis_fair_lateness, text, &result), 0);
    ck_assert(!result.schedulable);
    ck_assert_ptr_nonnull(strstr(result.reason, "utilisation 2.000000 on 1 CPUs"));
    ck_assert_int_eq(result.tasks[1].response, ANALYSIS_UNBOUNDED);
    ck_assert_int_eq(result.tasks[1].tardiness, ANALYSIS_UNBOUNDED);
    arena_done(&result.arena);
}
END_TEST

START_TEST(np_edf_names_both_conditions)
{
    struct analysis_result result;

    /* (1,3), (4,12): 2/3, but in a window of 4 ms and less than a tick the demand is 5 ms. */
    ck_assert_int_eq(run(&analysis_np_edf,
                         "platform: {cpus: 1, gpus: 0}\ntasks:\n"
                         "  - {name: short, period_ms: 3, segments: [{cpu_ms: 1}]}\n"
                         "  - {name: long, period_ms: 12, segments: [{cpu_ms: 4}]}\n",
                         &result),
                     0);
    ck_assert(!result.schedulable);
    ck_assert_ptr_nonnull(strstr(result.reason, "condition 1 holds (utilisation 0.666667"));
    ck_assert_ptr_nonnull(strstr(result.reason, "condition 2 fails for long"));
    arena_done(&result.arena);
    ck_assert_int_eq(run(&analysis_np_edf,
                         "platform: {cpus: 1, gpus: 0}\ntasks:\n"
                         "  - {name: short, period_ms: 3, segments: [{cpu_ms: 1}]}\n"
                         "  - {name: long, period_ms: 5, segments: [{cpu_ms: 2}]}\n",
                         &result),
                     0);
    ck_assert(result.schedulable);
    ck_assert_int_eq(result.tasks[1].response, 5 * NSEC_PER_MS);
    arena_done(&result.arena);
    rejects(&analysis_np_edf,
            "platform: {cpus: 1, gpus: 0}\ntasks:\n"
            "  - {name: short, period_ms: 3, deadline_ms: 2, segments: [{cpu_ms: 1}]}\n",
            "a deadline equal to the period");
}
END_TEST

/*
 * Set 61, no overheads, so stretching changes nothing: responses of the reference
 * (values_sound_tight.json) in us, rounded up to ns.
 */
START_TEST(gpusync_answers_in_the_units_of_the_result)
{
    struct task_set set;
    struct input_error error;
    struct analysis_result result;

    ck_assert_int_eq(
        task_set_read_file(harness_data("analysis_gpusync/reference/sets/61.json"), &set, &error), 0);
    ck_assert_int_eq(analysis_gpusync.run(&set, NULL, &result, &error), 0);
    ck_assert(result.schedulable);
    ck_assert_int_eq(result.shape, BLOCKING_LOCKS);
    ck_assert_int_eq(result.tasks[0].response, 150971811);
    ck_assert_int_eq(result.tasks[0].blocking[2], 10000000);
    ck_assert_int_eq(result.tasks[0].blocking[3], 2000000);
    ck_assert_int_eq(result.tasks[0].blocking[0], 25000000);
    ck_assert_int_eq(result.tasks[1].response, 100971811);
    ck_assert_int_eq(result.tasks[1].blocking[2], 10000000);
    ck_assert_int_eq(result.tasks[1].blocking[3], 3000000);
    ck_assert_int_eq(result.tasks[1].blocking[0], 25000000);
    ck_assert_int_eq(result.tasks[2].response, 250971811);
    ck_assert_int_eq(result.tasks[2].blocking[2], 5000000);
    ck_assert_int_eq(result.tasks[2].blocking[3], 4000000);
    ck_assert_int_eq(result.tasks[2].blocking[0], 20000000);
    task_set_done(&set);
    arena_done(&result.arena);
}
END_TEST

/*
 * Two tasks, two CPUs, one token, no overheads: each waits for one critical section of the other. C
 * = 5 + 10 + 4 and 2 + 4 + 10 ms; the points are 100 - C/2 ms.
 */
START_TEST(the_cost_of_a_job_has_its_work_and_its_waits)
{
    static const char text[] = "platform: {cpus: 2, gpus: 1, copy_engines: 1, tokens_per_gpu: 1}\ntasks:\n"
                               "  - {name: a, period_ms: 100, segments: [{cpu_ms: 5}, {kernel_ms: 10}]}\n"
                               "  - {name: b, period_ms: 100, segments: [{cpu_ms: 2}, {kernel_ms: 4}]}\n";
    struct analysis_result result;

    ck_assert_int_eq(run(&analysis_gpusync, text, &result), 0);
    ck_assert(result.schedulable);
    ck_assert_int_eq(result.tasks[0].cost, 19 * NSEC_PER_MS);
    ck_assert_int_eq(result.tasks[1].cost, 16 * NSEC_PER_MS);
    ck_assert_int_eq(result.tasks[0].priority_point, 90500 * NSEC_PER_US);
    ck_assert_int_eq(result.tasks[1].priority_point, 92000 * NSEC_PER_US);
    arena_done(&result.arena);
}
END_TEST

#define GPU_TASK(name, more)                                                                                 \
    "  - {name: " name ", period_ms: 100, " more "segments: [{cpu_ms: 1}, {kernel_ms: 10}, {cpu_ms: 1}]}\n"

START_TEST(gpusync_rejects_what_it_does_not_cover)
{
    rejects(&analysis_gpusync, "platform: {cpus: 1, gpus: 2}\ntasks:\n" GPU_TASK("a", "state: 1 MiB, "),
            "migration: system, p2p or ondemand");
    rejects(&analysis_gpusync,
            "platform: {cpus: 1, gpus: 2, migration: p2p}\ntasks:\n" GPU_TASK("a", "state: 1 MiB, "),
            "copy costs");
    rejects(&analysis_gpusync,
            "platform: {cpus: 1, gpus: 2}\ntasks:\n" GPU_TASK("a", "placement: [0], ") GPU_TASK("b", ""),
            "a GPU of its own");
    rejects(&analysis_gpusync,
            "platform: {cpus: 1, gpus: 2}\ntasks:\n"
            "  - {name: a, period_ms: 100, segments: [{kernel_ms: 10, gpus: 2}]}\n",
            "kernels on one GPU");
}
END_TEST

/*
 * Two tasks in a cluster of two GPUs. Chosen at dispatch, both may meet on one GPU (rho = 2): each
 * waits for the other's 10 ms. Pinned to a GPU each, neither does; and state stays where it is.
 */
START_TEST(pinned_tasks_do_not_wait_for_each_other)
{
    struct analysis_result result;

    ck_assert_int_eq(run(&analysis_gpusync,
                         "platform: {cpus: 2, gpus: 2, tokens_per_gpu: 2}\ntasks:\n" GPU_TASK("a", "")
                             GPU_TASK("b", ""),
                         &result),
                     0);
    ck_assert_int_eq(result.tasks[0].blocking[2], 10 * NSEC_PER_MS);
    arena_done(&result.arena);
    ck_assert_int_eq(run(&analysis_gpusync,
                         "platform: {cpus: 2, gpus: 2, tokens_per_gpu: 2}\ntasks:\n" GPU_TASK(
                             "a", "placement: [0], state: 1 MiB, ") GPU_TASK("b", "placement: [1], "),
                         &result),
                     0);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 4; k++)
            ck_assert_int_eq(result.tasks[i].blocking[k], 0);
    arena_done(&result.arena);
}
END_TEST

/*
 * Sizes without copy costs: the time given, in chunks (4 MiB in chunks of 1 MiB: four requests of 2
 * ms). rho = 2, equal periods, tif 2: a (one chunk) waits for one of b's: 2 ms. Without a size b's
 * copy is one request of 8 ms.
 */
START_TEST(copies_without_costs_take_the_time_given)
{
    static const char *const sizes[] = {"bytes: 4 MiB", "best_ms: 1"};
    static const baton_nsec expected[] = {2 * NSEC_PER_MS, 8 * NSEC_PER_MS};

    for (size_t k = 0; k < 2; k++) {
        char text[600];
        struct analysis_result result;

        (void)snprintf(
            text, sizeof text,
            "platform: {cpus: 2, gpus: 1, tokens_per_gpu: 2, chunk_in: 1 MiB}\ntasks:\n"
            "  - {name: a, period_ms: 100, segments: [{copy_in_ms: 1, bytes: 1 MiB}, {kernel_ms: 1}]}\n"
            "  - {name: b, period_ms: 100, segments: [{copy_in_ms: 8, %s}, {kernel_ms: 1}]}\n",
            sizes[k]);
        ck_assert_int_eq(run(&analysis_gpusync, text, &result), 0);
        ck_assert_int_eq(result.tasks[0].blocking[3], expected[k]);
        arena_done(&result.arena);
    }
}
END_TEST

/*
 * Every bounded reference set and task: the terms sum up to the response, and what is waited for
 * matches the blocking reported.
 */
START_TEST(explanations_add_up_to_the_bound)
{
    static const char *const ids[] = {"01", "10", "13", "19", "25", "28", "35", "46",
                                      "52", "53", "55", "61", "62", "64", "67"};
    static const struct analysis *const entries[] = {&analysis_gpusync, &analysis_gpusync_printed};
    static const char *const places[] = {"GPU token", "request it donates its priority to",
                                         "execution engine", "copy engines"};
    size_t explained = 0;
    size_t blocked = 0;

    for (size_t k = 0; k < 2 * sizeof ids / sizeof ids[0]; k++) {
        const struct analysis *analysis = entries[k % 2];
        struct task_set set;
        struct input_error error;
        struct analysis_result result;
        char name[80];

        (void)snprintf(name, sizeof name, "analysis_gpusync/reference/sets/%s.json", ids[k / 2]);
        ck_assert_int_eq(task_set_read_file(harness_data(name), &set, &error), 0);
        ck_assert_int_eq(analysis->run(&set, NULL, &result, &error), 0);
        for (size_t i = 0; i < set.n_tasks; i++) {
            struct analysis_explanation e;
            baton_nsec sum = 0;
            baton_nsec by_place[4] = {0};

            ck_assert_int_eq(analysis->explain(&set, NULL, i, &e, &error), 0);
            ck_assert_int_eq(e.bounded, result.schedulable);
            for (size_t t = 0; t < e.n_terms; t++) {
                sum += e.terms[t].amount;
                ck_assert_int_gt(e.terms[t].amount, 0);
                ck_assert_uint_lt(e.terms[t].cause, set.n_tasks);
                for (size_t p = 0; p < 4; p++)
                    if (strcmp(e.terms[t].where, places[p]) == 0)
                        by_place[p] += e.terms[t].amount;
            }
            if (e.bounded) {
                explained++;
                ck_assert_int_eq(sum, result.tasks[i].response);
                ck_assert_str_eq(e.terms[e.n_terms - 1].why, "own");
                ck_assert_int_ge(e.terms[e.n_terms - 1].amount, task_total(&set.tasks[i]));
                for (size_t p = 0; p < 4; p++) { /* each term is cut to whole ns */
                    ck_assert(by_place[p] <= result.tasks[i].blocking[p] + 1);
                    ck_assert(by_place[p] + (baton_nsec)set.n_tasks + 1 >= result.tasks[i].blocking[p]);
                    blocked += by_place[p] > 0;
                }
            }
            arena_done(&e.arena);
        }
        arena_done(&result.arena);
        task_set_done(&set);
    }
    ck_assert_uint_gt(explained, 100);
    ck_assert_uint_gt(blocked, 100);
}
END_TEST

START_TEST(only_sound_analyses_name_a_profile)
{
    ck_assert_str_eq(analysis_gpusync.profile, "gpusync");
    ck_assert_str_eq(analysis_gpusync_chains.profile, "gpusync");
    ck_assert_ptr_null(analysis_gpusync_printed.profile);
    ck_assert_ptr_null(analysis_fair_lateness.profile);
    ck_assert_ptr_null(analysis_np_edf.profile);
}
END_TEST

HARNESS_MAIN("analysis entries", 20, fair_lateness_sums_all_segments, fair_lateness_goes_cluster_by_cluster,
             np_edf_names_both_conditions, gpusync_answers_in_the_units_of_the_result,
             the_cost_of_a_job_has_its_work_and_its_waits, gpusync_rejects_what_it_does_not_cover,
             pinned_tasks_do_not_wait_for_each_other, copies_without_costs_take_the_time_given,
             explanations_add_up_to_the_bound, only_sound_analyses_name_a_profile)
