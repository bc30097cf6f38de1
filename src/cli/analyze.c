/* baton analyze: response-time bounds of a task set, and their causes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/holistic/pipeline_analysis.h"
#include "analysis/plan/sensitivity.h"
#include "cli/analysis_report.h"
#include "cli/fit/fit_report.h"
#include "cli/task_lengths.h"

/* --mode multi: all GPUs for every task that may use them; fixed placements stay. */
static void modes_of(const struct task_set *set, bool multi, unsigned gpus[])
{
    for (size_t i = 0; i < set->n_tasks; i++) {
        const struct task *task = &set->tasks[i];
        bool free_kernel = false;

        for (size_t s = 0; s < task->n_segments; s++)
            free_kernel |= task->segments[s].kind == SEGMENT_KERNEL &&
                           segment_placement(task, &task->segments[s]).kind != PLACEMENT_FIXED;
        gpus[i] = multi && free_kernel && set->platform.gpus ? set->platform.gpus : 1;
    }
}

/* --scale: the largest factor on execution times, or the shortest period of one task. */
static int find_scale(const struct cli_args *args, const struct task_set *set,
                      const struct analysis *analysis, const unsigned gpus[], json_t **ret_scale,
                      struct input_error *ret_error)
{
    const char *what = cli_value(args, "scale", "times");
    struct pipeline_rules rules = {.gpus = gpus, .whole = analysis->printed};
    struct pipeline_analysis a;
    unsigned char *choice = calloc(set->n_tasks + 1, 1);
    baton_nsec period = 0;
    uint32_t factor = 0;
    size_t task = 0;
    int result;

    if (!choice)
        return -ENOMEM;
    result = pipeline_analysis_open(set, analysis->printed, &rules, &a, ret_error);
    if (result) {
        free(choice);
        return result;
    }
    if (strcmp(what, "times") == 0) {
        result = sensitivity_factor(&a.test, choice, &factor);
        *ret_scale = json_pack("{s:s, s:f}", "what", "times", "factor", (double)factor / SENSITIVITY_ONE);
    } else {
        for (size_t i = 0; i < set->n_tasks; i++) {
            if (strcmp(set->tasks[i].name, what) == 0)
                task = i;
        }
        result = sensitivity_period(&a.test, choice, pipeline_analysis_rank(&a, task), &period);
        *ret_scale = json_pack("{s:s, s:o}", "what", what, "period_ms", report_ms(period));
    }
    pipeline_analysis_done(&a);
    free(choice);
    return result ? result : *ret_scale ? 0 : -ENOMEM;
}

static void print_scale(const json_t *scale)
{
    const json_t *factor = json_object_get(scale, "factor");
    const json_t *period = json_object_get(scale, "period_ms");

    if (factor && json_real_value(factor) > 0)
        printf("\nEvery deadline is met up to %.4f times these execution times.\n", json_real_value(factor));
    else if (factor)
        printf("\nNo factor on the execution times makes this schedulable.\n");
    else if (json_is_real(period))
        printf("\nEvery deadline is met down to a period of %.6g ms for %s.\n", json_real_value(period),
               json_string_value(json_object_get(scale, "what")));
    else
        printf("\nNot schedulable at the present period of %s.\n",
               json_string_value(json_object_get(scale, "what")));
}

/* Rejects questions that this analysis or this set cannot answer. */
static int check_questions(const struct cli_args *args, const struct task_set *set,
                           const struct analysis *analysis, size_t *ret_explained)
{
    const char *explain = cli_value(args, "explain", NULL);
    const char *scale = cli_value(args, "scale", NULL);
    size_t ignored;
    int status = report_check_deadlines(args, set, analysis);

    if (status)
        return status;
    if (explain && !analysis->explain)
        return cli_fail_usage(args, "%s explains nothing", analysis->name);
    if (scale && !analysis->modes)
        return cli_fail_usage(args, "--scale needs --analysis holistic or holistic-printed");
    if (explain)
        status = report_find_task(args, set, explain, ret_explained);
    if (!status && scale && strcmp(scale, "times") != 0)
        status = report_find_task(args, set, scale, &ignored);
    return status;
}

/* ---- why a set does not fit ---- */

struct trial {
    const struct analysis *analysis;
    bool multi;
};

/* The analysis of a changed set, in the same mode. */
static int try_set(void *user, const struct task_set *set, struct analysis_result *ret_result,
                   struct input_error *ret_error)
{
    const struct trial *trial = user;
    unsigned *gpus = calloc(set->n_tasks + 1, sizeof *gpus);
    struct analysis_request request = {.gpus = gpus};
    int result = -ENOMEM;

    if (gpus) {
        modes_of(set, trial->multi, gpus);
        result = trial->analysis->run(set, &request, ret_result, ret_error);
    }
    free(gpus);
    return result;
}

static int try_explain(void *user, const struct task_set *set, size_t task,
                       struct analysis_explanation *ret_explanation, struct input_error *ret_error)
{
    const struct trial *trial = user;
    unsigned *gpus = calloc(set->n_tasks + 1, sizeof *gpus);
    struct analysis_request request = {.gpus = gpus};
    int result = -ENOMEM;

    if (gpus) {
        modes_of(set, trial->multi, gpus);
        result = trial->analysis->explain(set, &request, task, ret_explanation, ret_error);
    }
    free(gpus);
    return result;
}

/* Fills *ret_fit if the set does not fit and --explain is given. */
static int find_fit(const struct cli_args *args, const struct task_set *set, const struct analysis *analysis,
                    const struct analysis_result *result, struct fit *ret_fit)
{
    struct trial trial = {analysis, strcmp(cli_value(args, "mode", "single"), "multi") == 0};
    struct fit_test test = {.user = &trial, .run = try_set, .explain = try_explain, .splits = trial.multi};

    if (!cli_has(args, "explain") || analysis_outcome(set, result, NULL) == ANALYSIS_MET)
        return 0;
    return fit_find(&test, set, result, ret_fit);
}

static int answer(const struct cli_args *args, const struct task_set *set, const struct analysis *analysis,
                  const unsigned gpus[], size_t explained)
{
    struct analysis_request request = {.gpus = gpus};
    struct analysis_explanation explanation = {0};
    struct analysis_result result;
    struct input_error error = {0};
    struct fit fit = {0};
    json_t *scale = NULL;
    int status = analysis->run(set, &request, &result, &error);

    if (status)
        return report_input_result(args, status, args->positional[0], &error);
    if (cli_has(args, "explain"))
        status = analysis->explain(set, &request, explained, &explanation, &error);
    if (!status)
        status = find_fit(args, set, analysis, &result, &fit);
    if (!status && cli_has(args, "scale"))
        status = find_scale(args, set, analysis, gpus, &scale, &error);
    if (status) {
        status = report_input_result(args, status, args->positional[0], &error);
    } else if (cli_has(args, "json")) {
        json_t *object = report_json(set, analysis, &result);

        if (cli_has(args, "explain"))
            json_object_set_new(object, "explain", report_explanation_json(set, &explanation));
        if (fit.tests)
            json_object_set_new(object, "fit", fit_json(set, &fit));
        if (scale)
            json_object_set(object, "scale", scale);
        status = report_print(args, object, report_status(set, &result));
    } else if (report_table(set, analysis, &result, NULL)) {
        status = cli_fail_environment(args, -ENOMEM, "table");
    } else {
        if (cli_has(args, "explain"))
            fit_explain(set, explained, &result, &explanation, &fit);
        else if (analysis->explain)
            fit_hint(set, &result);
        if (scale)
            print_scale(scale);
        status = report_status(set, &result);
    }
    json_decref(scale);
    fit_done(&fit);
    arena_done(&explanation.arena);
    analysis_result_done(&result);
    return status;
}

static int run(const struct cli_args *args)
{
    const struct analysis *analysis = report_find_analysis(args);
    struct task_set set;
    unsigned *gpus;
    size_t mode = 0;
    size_t explained = 0;
    int status;

    if (!analysis)
        return CLI_USAGE;
    if (cli_has(args, "mode") && (status = cli_choice(args, "mode", &mode)))
        return status;
    status = task_lengths_read(args, args->positional[0], !analysis->one_copy, &set);
    if (status)
        return status;
    gpus = calloc(set.n_tasks + 1, sizeof *gpus);
    if (!gpus) {
        task_set_done(&set);
        return cli_fail_environment(args, -ENOMEM, "%s", args->positional[0]);
    }
    modes_of(&set, mode == 1, gpus);
    status = check_questions(args, &set, analysis, &explained);
    if (!status)
        status = answer(args, &set, analysis, gpus, explained);
    free(gpus);
    task_set_done(&set);
    return status;
}

static const struct cli_option options[] = {
    {"analysis", 0, "NAME",
     "holistic (default), holistic-printed, fair-lateness, gpusync, gpusync-chains, gpusync-printed, np-edf"},
    {"mode", 0, "single|multi", "kernels on one GPU (default), or on all of them"},
    {"explain", 0, "TASK",
     "every term of this task's bound with its cause; where the set does not fit, why, and what would make "
     "it fit"},
    {"worst", 0, "segments|job",
     "count measured tasks by the worst of each segment, or by their worst job; default as the file does"},
    {"scale", 0, "times|TASK", "the largest factor on execution times, or the shortest period of TASK"},
    {"json", 0, NULL, "print one JSON object"},
    {0},
};

const struct cli_command command_analyze = {
    .name = "analyze",
    .summary = "bound response times, and say whether every deadline is met",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .example = "baton analyze --explain detector examples/robot.yaml",
    .run = run,
};
