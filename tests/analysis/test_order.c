/*
 * Nothing depends on the order in which a file lists its tasks. Where an order is needed and the
 * file does not give one, ties are broken by the place in the file (docs/analysis.md, "Ties"):
 * deadlines here are different, or priorities are given.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/holistic/pipeline_analysis.h"
#include "analysis/plan/planner.h"
#include "base/random.h"
#include "harness.h"

#define MAX_TASKS 7

/* Lines of a task set; tasks can be printed in any order. */
struct draft {
    char platform[200];
    char tasks[MAX_TASKS][800];
    size_t n;
};

static double ms(struct random_state *random, double most)
{
    return (double)(1 + random_below(random, (uint64_t)(most * 1000))) / 1000;
}

static void draft_random(struct random_state *random, bool clusters, bool same_deadlines, struct draft *draft)
{
    draft->n = 2 + random_below(random, MAX_TASKS - 1);
    (void)snprintf(draft->platform, sizeof draft->platform,
                   "platform: {cpus: 4, gpus: 2, buses: 1%s}\ntasks:\n",
                   clusters ? ", cpu_cluster: 2, gpu_cluster: 1, tokens_per_gpu: 2" : "");
    for (size_t i = 0; i < draft->n; i++) {
        char *text = draft->tasks[i];
        size_t size = sizeof draft->tasks[i];
        int at = snprintf(text, size, "  - {name: t%zu, period_ms: %.3f, ", i,
                          same_deadlines ? 24 : 12 + 5 * (double)i + ms(random, 4));

        if (same_deadlines)
            at += snprintf(text + at, size - (size_t)at, "priority: %zu, ", 1 + i);
        at += snprintf(text + at, size - (size_t)at, "segments: [{cpu_ms: %.3f}", ms(random, 3));
        if (random_below(random, 4)) {
            double copy = ms(random, 1);
            double kernel = ms(random, 6);

            at += snprintf(text + at, size - (size_t)at,
                           ", {copy_in_ms: %.3f, multi_ms: %.3f}, {kernel_ms: %.3f, multi_ms: %.3f}", copy,
                           2 * copy, kernel, kernel * .6);
        }
        (void)snprintf(text + at, size - (size_t)at, ", {cpu_ms: %.3f}]}\n", ms(random, 2));
    }
}

static void read_draft(const struct draft *draft, const size_t order[], struct task_set *ret_set)
{
    char text[8000];
    struct input_error error;
    size_t at = (size_t)snprintf(text, sizeof text, "%s", draft->platform);

    for (size_t i = 0; i < draft->n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s", draft->tasks[order[i]]);
    ck_assert_msg(task_set_read("draft", text, at, ret_set, &error) == 0, "%u:%u: expected %s, found %s",
                  error.line, error.column, error.expected, error.found);
}

static void shuffle(struct random_state *random, size_t order[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 1; i--) {
        size_t j = random_below(random, i);
        size_t kept = order[i - 1];

        order[i - 1] = order[j];
        order[j] = kept;
    }
}

/*
 * What doubles lose when they are added in another order is below a nanosecond; a result is rounded
 * up.
 */
static void same_time(baton_nsec a, baton_nsec b, const char *analysis, size_t set)
{
    ck_assert_msg(llabs(a - b) <= 1, "%s, set %zu: %lld here, %lld there", analysis, set, (long long)a,
                  (long long)b);
}

/* An explanation adds up to the bound, whatever the analysis. */
static void explained(const struct analysis *analysis, const struct task_set *set,
                      const struct analysis_result *result, size_t task)
{
    struct analysis_request request = {0};
    struct analysis_explanation e;
    struct input_error error;
    baton_nsec sum = 0;

    if (!analysis->explain)
        return;
    ck_assert_int_eq(analysis->explain(set, &request, task, &e, &error), 0);
    ck_assert_msg(e.bounded || !result->schedulable, "%s", analysis->name);
    for (size_t t = 0; t < e.n_terms; t++) {
        ck_assert_int_ge(e.terms[t].amount, 0);
        sum += e.terms[t].amount;
    }
    if (e.bounded)
        ck_assert_int_eq(sum, result->tasks[task].response);
    arena_done(&e.arena);
}

static bool compare(const struct analysis *analysis, const struct draft *draft, const size_t order[],
                    size_t number)
{
    static const size_t straight[MAX_TASKS] = {0, 1, 2, 3, 4, 5, 6};
    struct analysis_request request = {0};
    struct analysis_result a;
    struct analysis_result b;
    struct input_error error;
    struct task_set first;
    struct task_set second;
    bool schedulable;
    int r;

    read_draft(draft, straight, &first);
    read_draft(draft, order, &second);
    r = analysis->run(&first, &request, &a, &error);
    ck_assert_msg(r == 0, "%s: expected %s, found %s", analysis->name, error.expected, error.found);
    ck_assert_int_eq(analysis->run(&second, &request, &b, &error), 0);
    schedulable = a.schedulable;
    ck_assert_msg(a.schedulable == b.schedulable, "%s, set %zu", analysis->name, number);
    for (size_t i = 0; i < draft->n; i++) {
        same_time(a.tasks[order[i]].response, b.tasks[i].response, analysis->name, number);
        for (size_t part = 0; part < 4 && a.shape != BLOCKING_NONE; part++)
            same_time(a.tasks[order[i]].blocking[part], b.tasks[i].blocking[part], analysis->name, number);
        if (a.tasks[order[i]].has_priority_point)
            same_time(a.tasks[order[i]].priority_point, b.tasks[i].priority_point, analysis->name, number);
    }
    explained(analysis, &first, &a, number % draft->n);
    analysis_result_done(&a);
    analysis_result_done(&b);
    task_set_done(&first);
    task_set_done(&second);
    return schedulable;
}

static void compare_all(bool same_deadlines)
{
    size_t sets = harness_scale(150, 5000);
    size_t rejecting = 0;

    for (size_t k = 0; analyses[k]; k++) {
        bool clusters = strncmp(analyses[k]->name, "holistic", 8) != 0;
        struct random_state random;
        size_t yes = 0;

        random_init(&random, 41, k);
        for (size_t s = 0; s < sets; s++) {
            struct draft draft;
            size_t order[MAX_TASKS];

            draft_random(&random, clusters, same_deadlines, &draft);
            shuffle(&random, order, draft.n);
            yes += compare(analyses[k], &draft, order, s);
        }
        ck_assert_msg(yes > 0, "%s accepted none", analyses[k]->name);
        rejecting += yes < sets;
    }
    /* Fair lateness and the locks bound what merely fits; those that know deadlines reject some. */
    ck_assert_uint_ge(rejecting, 3);
}

START_TEST(bounds_do_not_depend_on_the_order_of_tasks)
{
    compare_all(false);
}
END_TEST

START_TEST(with_priorities_equal_deadlines_do_not_matter_either)
{
    compare_all(true);
}
END_TEST

/* The choice for every task, by its name, and the verdict. */
static bool choose(const struct draft *draft, const size_t order[], bool printed, enum plan_policy policy,
                   unsigned char ret_choice[])
{
    struct pipeline_rules rules = {.every_number = !printed, .choose_placement = !printed};
    struct planner *planner = planner_new(MAX_TASKS);
    struct pipeline_analysis analysis;
    unsigned char choice[MAX_TASKS];
    struct plan_outcome outcome;
    struct input_error error;
    struct task_set set;

    read_draft(draft, order, &set);
    ck_assert(planner != NULL);
    ck_assert_int_eq(pipeline_analysis_open(&set, printed, &rules, &analysis, &error), 0);
    planner_choose(planner, &analysis.test, policy, 0, choice, &outcome);
    for (size_t i = 0; i < draft->n; i++)
        ret_choice[order[analysis.pipeline.tasks[i].index]] = choice[i];
    pipeline_analysis_done(&analysis);
    planner_free(planner);
    task_set_done(&set);
    return outcome.schedulable;
}

START_TEST(plans_do_not_depend_on_the_order_of_tasks)
{
    static const size_t straight[MAX_TASKS] = {0, 1, 2, 3, 4, 5, 6};
    size_t sets = harness_scale(150, 5000);
    struct random_state random;
    size_t yes = 0;

    random_init(&random, 42, 0);
    for (size_t s = 0; s < sets; s++) {
        struct draft draft;
        size_t order[MAX_TASKS];

        draft_random(&random, false, s % 2, &draft);
        shuffle(&random, order, draft.n);
        for (int policy = 0; plan_policy_names[policy]; policy++) {
            for (int printed = 0; printed < 2; printed++) {
                unsigned char a[MAX_TASKS];
                unsigned char b[MAX_TASKS];
                bool schedulable = choose(&draft, straight, printed, (enum plan_policy)policy, a);

                ck_assert_msg(choose(&draft, order, printed, (enum plan_policy)policy, b) == schedulable,
                              "set %zu, %s", s, plan_policy_names[policy]);
                ck_assert_msg(memcmp(a, b, draft.n) == 0, "set %zu, %s: other choices", s,
                              plan_policy_names[policy]);
                yes += schedulable;
            }
        }
    }
    ck_assert_uint_gt(yes, 0);
    ck_assert_uint_lt(yes, sets * 8);
}
END_TEST

/*
 * The rule for ties. Two tasks on one CPU, 1 and 2 ms every 10 without priorities: the one listed
 * first is the more urgent. So its response is its own time, the other's 1 + 2 = 3.
 */
START_TEST(of_equal_deadlines_the_first_in_the_file_is_the_more_urgent)
{
    static const char *const texts[] = {
        "platform: {cpus: 1, gpus: 0}\ntasks:\n  - {name: a, period_ms: 10, segments: [{cpu_ms: 1}]}\n"
        "  - {name: b, period_ms: 10, segments: [{cpu_ms: 2}]}\n",
        "platform: {cpus: 1, gpus: 0}\ntasks:\n  - {name: b, period_ms: 10, segments: [{cpu_ms: 2}]}\n"
        "  - {name: a, period_ms: 10, segments: [{cpu_ms: 1}]}\n"};

    for (size_t i = 0; i < 2; i++) {
        struct analysis_request request = {0};
        struct analysis_result result;
        struct input_error error;
        struct task_set set;

        ck_assert_int_eq(task_set_read("ties", texts[i], strlen(texts[i]), &set, &error), 0);
        ck_assert_int_eq(analysis_find("holistic")->run(&set, &request, &result, &error), 0);
        ck_assert_int_eq(result.tasks[0].response, (baton_nsec)(i + 1) * NSEC_PER_MS);
        ck_assert_int_eq(result.tasks[1].response, 3 * NSEC_PER_MS);
        analysis_result_done(&result);
        task_set_done(&set);
    }
}
END_TEST

HARNESS_MAIN("order of tasks", 60, bounds_do_not_depend_on_the_order_of_tasks,
             with_priorities_equal_deadlines_do_not_matter_either, plans_do_not_depend_on_the_order_of_tasks,
             of_equal_deadlines_the_first_in_the_file_is_the_more_urgent)
