/*
 *  baton plan: modes, placements and priorities for a task set, as a table, an object, or a plan
 *  file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/holistic/pipeline_analysis.h"
#include "analysis/plan/planner.h"
#include "analysis/plan/sensitivity.h"
#include "base/draft.h"
#include "cli/analysis_report.h"
#include "cli/fit/fit_report.h"
#include "cli/task_lengths.h"
#include "model/plan.h"

#define MAX_NODES 200000 /* of a search: half a minute at 20 tasks, then "not decided" */

/* The decision, independent of the analysis. By task of the set. */
struct plan_decision {
    struct analysis_result result;
    struct placement *placements;
    baton_nsec *pieces;  /* longest kernel piece; 0: whole */
    baton_nsec *engines; /* engine time of the stages as the choice has them; 0: not known */
    const char *mixed;   /* a task with kernels of several placements, borrowed; NULL: none */
    struct plan_outcome outcome;
    struct analysis_explanation explanation;
    struct fit fit; /* tests > 0: the findings of --explain about a set that does not fit */
    json_t *scale;
};

static void decision_done(struct plan_decision *decision)
{
    json_decref(decision->scale);
    fit_done(&decision->fit);
    arena_done(&decision->explanation.arena);
    analysis_result_done(&decision->result);
    free(decision->placements);
    free(decision->pieces);
    free(decision->engines);
}

/* The questions of --explain and --scale about the choice; args NULL: none. */
static int question(const struct cli_args *args, const struct task_set *set, struct pipeline_analysis *a,
                    const unsigned char choice[], struct plan_decision *decision)
{
    const char *explain = args ? cli_value(args, "explain", NULL) : NULL;
    int result = 0;

    for (size_t i = 0; explain && i < set->n_tasks && !result; i++) {
        if (strcmp(set->tasks[i].name, explain) == 0)
            result = pipeline_analysis_explain(a, i, &decision->explanation);
    }
    if (!result && args && cli_has(args, "scale")) {
        uint32_t factor = 0;

        result = sensitivity_factor(&a->test, choice, &factor);
        decision->scale =
            json_pack("{s:s, s:f}", "what", "times", "factor", (double)factor / SENSITIVITY_ONE);
    }
    return result;
}

/* holistic and holistic-printed: the planner chooses among the options of each task. */
static int decide_modes(const struct cli_args *args, const struct task_set *set, bool printed,
                        enum plan_policy policy, struct plan_decision *ret_decision,
                        struct input_error *ret_error)
{
    struct pipeline_rules rules = {.every_number = !printed, .assign = !printed, .whole = printed};
    struct pipeline_analysis a;
    struct planner *planner = planner_new(set->n_tasks);
    unsigned char *choice = calloc(set->n_tasks + 1, 1);
    int result = planner && choice ? pipeline_analysis_open(set, printed, &rules, &a, ret_error) : -ENOMEM;

    if (result)
        goto out;
    planner_choose(planner, &a.test, policy, MAX_NODES, choice, &ret_decision->outcome);
    result = pipeline_analysis_result(&a, choice, &ret_decision->result);
    for (size_t i = 0; i < a.pipeline.n_tasks && !result; i++) {
        const struct pipeline_task *task = &a.pipeline.tasks[i];
        const struct pipeline_option *option = &task->options[choice[i]];

        ret_decision->placements[task->index] = option->placement;
        if (option->mixed)
            ret_decision->mixed = task->name;
        for (size_t p = 0; p < task->n_stages; p++) {
            if (option->stages[p].unit != UNIT_CPU)
                ret_decision->engines[task->index] +=
                    option->stages[p].length * (baton_nsec)option->stages[p].lanes;
            if (option->stages[p].unit == UNIT_GPU && option->stages[p].sliced &&
                option->stages[p].piece > ret_decision->pieces[task->index])
                ret_decision->pieces[task->index] = option->stages[p].piece;
        }
    }
    if (!result)
        result = question(args, set, &a, choice, ret_decision);
    pipeline_analysis_done(&a);
out:
    planner_free(planner);
    free(choice);
    return result;
}

/* Other analyses support one mode only: every kernel on one GPU, placed as in the file. */
static int decide_single(const struct task_set *set, const struct analysis *analysis,
                         struct plan_decision *ret_decision, struct input_error *ret_error)
{
    struct analysis_request request = {0};

    for (size_t i = 0; i < set->n_tasks; i++)
        ret_decision->placements[i] = set->tasks[i].placement;
    ret_decision->outcome.complete = true;
    return analysis->run(set, &request, &ret_decision->result, ret_error);
}

/* ---- why a set does not fit ---- */

static int decision_open(const struct task_set *set, struct plan_decision *ret_decision)
{
    *ret_decision = (struct plan_decision){0};
    ret_decision->placements = calloc(set->n_tasks + 1, sizeof *ret_decision->placements);
    ret_decision->pieces = calloc(set->n_tasks + 1, sizeof *ret_decision->pieces);
    ret_decision->engines = calloc(set->n_tasks + 1, sizeof *ret_decision->engines);
    return ret_decision->placements && ret_decision->pieces && ret_decision->engines ? 0 : -ENOMEM;
}

/* What the planner tries again over a changed set. */
struct plan_trial {
    const struct analysis *analysis;
    enum plan_policy policy;
};

static int try_plan(void *user, const struct task_set *set, struct analysis_result *ret_result,
                    struct input_error *ret_error)
{
    const struct plan_trial *trial = user;
    struct plan_decision decision;
    int result = decision_open(set, &decision);

    if (!result)
        result = decide_modes(NULL, set, trial->analysis->printed, trial->policy, &decision, ret_error);
    if (!result) {
        *ret_result = decision.result;
        decision.result = (struct analysis_result){0};
    }
    decision_done(&decision);
    return result;
}

/* The bound's terms with every kernel on one GPU, placed as in the file. */
static int try_explain(void *user, const struct task_set *set, size_t task,
                       struct analysis_explanation *ret_explanation, struct input_error *ret_error)
{
    const struct plan_trial *trial = user;
    struct analysis_request request = {0};

    return trial->analysis->explain(set, &request, task, ret_explanation, ret_error);
}

static int find_fit(const struct cli_args *args, const struct task_set *set, const struct analysis *analysis,
                    enum plan_policy policy, struct plan_decision *decision)
{
    struct plan_trial trial = {analysis, policy};
    struct fit_test test = {.user = &trial, .run = try_plan, .explain = try_explain, .splits = true};

    if (!cli_has(args, "explain") || decision->result.schedulable)
        return 0;
    return fit_find(&test, set, &decision->result, &decision->fit);
}

/*
 * Chunk size in bytes as the analysis counts it: the platform's if copies are cut by bytes, or
 * state moves with the job. 0: copies run whole.
 */
static int64_t chunk_of(const struct task_set *set, const struct task *task, enum segment_kind kind)
{
    int64_t chunk = kind == SEGMENT_COPY_IN ? set->platform.chunk_in : set->platform.chunk_out;
    bool moves = task->state > 0 && set->platform.migration != MIGRATION_NONE;
    int64_t least = moves ? chunk : 0;

    for (size_t s = 0; s < task->n_segments; s++) {
        const struct segment *segment = &task->segments[s];
        baton_nsec piece = segment_piece(&set->platform, segment);
        int64_t bytes = chunk;

        if (segment->kind != kind || piece == 0 || segment->length == 0)
            continue;
        if ((segment->piece || segment->pieces.n) && segment->bytes > 0)
            bytes = (int64_t)((double)segment->bytes * ((double)piece / (double)segment->length));
        if (least == 0 || bytes < least)
            least = bytes > 0 ? bytes : 1;
    }
    return least;
}

/* What the overhead set says that so many bytes cost in chunks; 0: it says nothing. */
static baton_nsec chunks_cost(const struct platform *platform, enum copy_direction direction, int64_t bytes)
{
    int64_t chunk = direction == DIRECTION_OUT ? platform->chunk_out : platform->chunk_in;
    const struct overheads *overheads = &platform->overheads;

    if (!platform->has_overheads || overheads->n_copies[direction] == 0)
        return 0;
    return bytes / chunk * overheads_copy_cost(overheads, direction, chunk) +
           overheads_copy_cost(overheads, direction, bytes % chunk);
}

/* Engine time for the state of one job; -1: the overhead set does not say what copies cost. */
static baton_nsec state_cost(const struct platform *platform, const struct task *task)
{
    baton_nsec in, out;

    if (task->state <= 0 || platform->migration == MIGRATION_NONE || platform->gpu_cluster == 1)
        return 0;
    in = chunks_cost(platform, platform->migration == MIGRATION_P2P ? DIRECTION_P2P : DIRECTION_IN,
                     task->state);
    out = platform->migration == MIGRATION_P2P ? 0 : chunks_cost(platform, DIRECTION_OUT, task->state);
    return in > 0 && (out > 0 || platform->migration == MIGRATION_P2P) ? in + out : -1;
}

static baton_nsec segment_cost(const struct platform *platform, const struct segment *segment, unsigned gpus)
{
    enum copy_direction direction = segment->kind == SEGMENT_COPY_IN ? DIRECTION_IN : DIRECTION_OUT;
    baton_nsec cost = 0;

    if (segment->kind == SEGMENT_COPY_IN || segment->kind == SEGMENT_COPY_OUT)
        cost = chunks_cost(platform, direction, segment->bytes);
    return cost > 0 ? cost : segment_length_on(segment, gpus, platform->gpus);
}

/*
 * Engine time of one job, copies and state at what the overhead set says; no less than `counted`,
 * which the analysis counts. 0: no limit is known.
 */
static baton_nsec budget_of(const struct task_set *set, const struct task *task, unsigned gpus,
                            baton_nsec counted)
{
    baton_nsec sum = state_cost(&set->platform, task);

    if (sum < 0)
        return 0;
    for (size_t i = 0; i < task->n_segments; i++) {
        baton_nsec length = segment_cost(&set->platform, &task->segments[i], gpus);

        if (task->segments[i].kind == SEGMENT_CPU)
            continue;
        if (length < 0)
            return 0;
        sum += length * (gpus > 1 ? (baton_nsec)gpus : 1);
    }
    return sum > counted ? sum : counted;
}

static int fill_plan(const struct task_set *set, const struct analysis *analysis,
                     const struct plan_decision *decision, struct plan *ret_plan)
{
    struct plan plan = {.analysis = analysis->name,
                        .profile = analysis->profile ? analysis->profile : "priority",
                        .n_tasks = set->n_tasks,
                        .conditions = set->conditions,
                        .n_conditions = set->n_conditions};
    size_t *order;
    unsigned step = set->n_tasks < 10 ? 10 : 99 / (unsigned)set->n_tasks;

    if (analysis->basis) {
        analysis->basis(set, &plan.basis);
        plan.sealed = true;
    }
    arena_init(&plan.arena, 0);
    plan.tasks = arena_calloc(&plan.arena, set->n_tasks, sizeof plan.tasks[0]);
    order = arena_calloc(&plan.arena, set->n_tasks, sizeof *order);
    if (!plan.tasks || !order || task_set_order(set, order)) {
        arena_done(&plan.arena);
        return -ENOMEM;
    }
    for (size_t rank = 0; rank < set->n_tasks; rank++) {
        const struct task *task = &set->tasks[order[rank]];
        const struct task_result *result = &decision->result.tasks[order[rank]];

        plan.tasks[rank] = (struct plan_task){
            .name = task->name,
            .priority = task->priority ? task->priority : step * (unsigned)(set->n_tasks - rank),
            .period = task->period,
            .deadline = task->deadline,
            .gpus = result->gpus,
            .placement = decision->placements[order[rank]],
            .cpu_cluster = result->cpu_cluster,
            .gpu_cluster = result->gpu_cluster,
            .piece = decision->pieces[order[rank]],
            .chunk_in = chunk_of(set, task, SEGMENT_COPY_IN),
            .chunk_out = chunk_of(set, task, SEGMENT_COPY_OUT),
            /*
             * A bound is claimed only if a profile enforces its assumptions and the plan can
             * express the placement of every kernel.
             */
            .bound = analysis->profile && !decision->mixed && !task->no_deadline ? result->response : -1,
            .has_point = result->has_priority_point && analysis->profile,
            .point = result->has_priority_point && analysis->profile ? result->priority_point : 0,
            .cost = analysis->profile ? result->cost : 0,
            .budget = budget_of(set, task, result->gpus, decision->engines[order[rank]]),
            .requests = result->requests,
            .until_gpu = task->n_segments && task->segments[task->n_segments - 1].kind == SEGMENT_CPU,
            .no_deadline = task->no_deadline,
        };
    }
    *ret_plan = plan;
    return 0;
}

static int write_plan(const struct cli_args *args, const struct task_set *set,
                      const struct analysis *analysis, const struct plan_decision *decision)
{
    const char *path = cli_value(args, "output", NULL);
    struct plan plan;
    struct draft draft;
    int result;

    if (!path)
        return 0;
    if (!decision->result.schedulable) {
        (void)fprintf(stderr, "baton plan: not schedulable, so %s is not written\n", path);
        return 0;
    }
    if (decision->mixed)
        (void)fprintf(stderr,
                      "baton plan: kernels of %s have several placements and a plan has one for each task, "
                      "so %s claims no bound\n",
                      decision->mixed, path);
    result = fill_plan(set, analysis, decision, &plan);
    if (result)
        return cli_fail_environment(args, result, "%s", path);
    result = draft_begin(&draft);
    if (!result)
        plan_print(&plan, draft.out);
    result = draft_finish(&draft, path, result);
    arena_done(&plan.arena);
    if (!result && strcmp(path, "-") != 0) {
        (void)fprintf(stderr, "%s: %zu task%s; next: baton load ", path, set->n_tasks,
                      set->n_tasks == 1 ? "" : "s");
        cli_print_word(path);
        (void)fputs(", then baton run --task ", stderr);
        cli_print_word(set->tasks[0].name);
        (void)fputs(" -- COMMAND\n", stderr);
    }
    return result ? cli_fail_environment(args, result, "%s", path) : 0;
}

/* Does --explain answer about the planner's choice, and not only about the analysis? */
static bool explains_choice(const struct analysis *analysis)
{
    return analysis->modes && analysis->explain;
}

static int report(const struct cli_args *args, const struct task_set *set, const struct analysis *analysis,
                  enum plan_policy policy, const struct plan_decision *d)
{
    const char *explain = cli_value(args, "explain", NULL);
    int status = report_status(set, &d->result);

    if (cli_has(args, "json")) {
        json_t *object = report_json(set, analysis, &d->result);

        report_json_placements(set, d->placements, object);
        json_object_set_new(object, "policy", json_string(plan_policy_names[policy]));
        if (explain)
            json_object_set_new(object, "explain", report_explanation_json(set, &d->explanation));
        if (d->fit.tests)
            json_object_set_new(object, "fit", fit_json(set, &d->fit));
        if (d->scale)
            json_object_set(object, "scale", d->scale);
        return report_print(args, object, status);
    }
    /* The plan itself is on standard output. */
    if (d->result.schedulable && strcmp(cli_value(args, "output", ""), "-") == 0)
        return status;
    if (report_table(set, analysis, &d->result, d->placements))
        return cli_fail_environment(args, -ENOMEM, "table");
    if (!d->outcome.complete)
        printf("The search was stopped after %llu nodes: there may be a schedulable choice.\n",
               (unsigned long long)d->outcome.nodes);
    if (!explain && explains_choice(analysis))
        fit_hint(set, &d->result);
    for (size_t i = 0; explain && i < set->n_tasks; i++) {
        if (strcmp(set->tasks[i].name, explain) == 0)
            fit_explain(set, i, &d->result, &d->explanation, &d->fit);
    }
    if (d->scale)
        printf("\nEvery deadline is met up to %.4f times these execution times.\n",
               json_real_value(json_object_get(d->scale, "factor")));
    return status;
}

/* Rejects questions that this analysis or this set cannot answer. */
static int check_questions(const struct cli_args *args, const struct task_set *set,
                           const struct analysis *analysis, enum plan_policy policy)
{
    const char *explain = cli_value(args, "explain", NULL);
    size_t ignored;
    int status = report_check_deadlines(args, set, analysis);

    if (status)
        return status;
    if (cli_has(args, "json") && strcmp(cli_value(args, "output", ""), "-") == 0)
        return cli_fail_usage(args, "--json and -o - both write to standard output; give one of them");
    if (!analysis->modes && cli_has(args, "policy") && policy != POLICY_SINGLE)
        return cli_fail_usage(args, "%s has no multi-GPU mode; use --policy single", analysis->name);
    if (cli_has(args, "explain") && !explains_choice(analysis))
        return cli_fail_usage(args, "--explain needs --analysis holistic");
    if (cli_has(args, "scale") && !analysis->modes)
        return cli_fail_usage(args, "--scale needs --analysis holistic or holistic-printed");
    if (cli_has(args, "output") && set->n_tasks > 99)
        return cli_fail_usage(args, "a plan has priorities for at most 99 tasks");
    return explain ? report_find_task(args, set, explain, &ignored) : 0;
}

static int plan_file(const struct cli_args *args, enum plan_policy policy)
{
    const struct analysis *analysis = report_find_analysis(args);
    const char *path = args->positional[0];
    struct input_error error = {0};
    struct plan_decision decision;
    struct task_set set;
    int status;

    if (!analysis)
        return CLI_USAGE;
    status = task_lengths_read(args, path, !analysis->one_copy, &set);
    if (status)
        return status;
    status = decision_open(&set, &decision);
    if (!status && (status = check_questions(args, &set, analysis, policy)))
        goto out;
    if (!status && analysis->modes)
        status = decide_modes(args, &set, analysis->printed, policy, &decision, &error);
    else if (!status)
        status = decide_single(&set, analysis, &decision, &error);
    if (!status)
        status = find_fit(args, &set, analysis, policy, &decision);
    if (status) {
        status = report_input_result(args, status, path, &error);
        goto out;
    }
    status = write_plan(args, &set, analysis, &decision);
    if (!status)
        status = report(args, &set, analysis, analysis->modes ? policy : POLICY_SINGLE, &decision);
out:
    decision_done(&decision);
    task_set_done(&set);
    return status;
}

static int run(const struct cli_args *args)
{
    size_t policy = POLICY_GEMA;
    int status = cli_has(args, "policy") ? cli_choice(args, "policy", &policy) : 0;

    return status ? status : plan_file(args, (enum plan_policy)policy);
}

static const struct cli_option options[] = {
    {"policy", 0, "gema|local|global|single", "how modes and GPUs are chosen (default gema)"},
    {"analysis", 0, "NAME", "whose bounds count (default holistic); `baton analyze --help` names them"},
    {"output", 'o', "PLAN", "write the plan here, unless the set is not schedulable"},
    {"explain", 0, "TASK",
     "every term of this task's bound with its cause; where the set does not fit, why, and what would make "
     "it fit"},
    {"worst", 0, "segments|job",
     "count measured tasks by the worst of each segment, or by their worst job; default as the file does"},
    {"scale", 0, NULL, "the largest factor on execution times that is still schedulable with these modes"},
    {"json", 0, NULL, "print one JSON object"},
    {0},
};

const struct cli_command command_plan = {
    .name = "plan",
    .summary = "choose how many GPUs each task uses, and which, so that every deadline is met",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .options = options,
    .example = "baton plan examples/robot.yaml -o robot.plan",
    .run = run,
};
