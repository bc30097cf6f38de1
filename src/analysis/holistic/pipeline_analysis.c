#include "analysis/holistic/pipeline_analysis.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The printed analysis supports one GPU or all of them, and only identical GPUs. */
static int check_printed(const struct pipeline *pipeline, const struct task_set *set,
                         struct input_error *ret_error)
{
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        const struct pipeline_task *task = &pipeline->tasks[i];
        const struct segment *segments = set->tasks[task->index].segments;

        for (size_t s = 0; s < task->n_options * task->n_stages; s++) {
            const struct stage *stage = &task->options[s / task->n_stages].stages[s % task->n_stages];
            const struct segment *segment = &segments[s % task->n_stages];

            if (stage->per_gpu)
                return input_reject(ret_error, "", segment->line, segment->column, "a length per GPU",
                                    "equal GPUs (model not met: the printed analysis knows no others)");
            if (stage->lanes != 1 && stage->lanes != pipeline->gpus)
                return input_reject(
                    ret_error, "", segment->line, segment->column, "another number",
                    "one GPU or all (model not met: the printed analysis knows no other mode)");
        }
    }
    return 0;
}

int pipeline_analysis_open(const struct task_set *set, bool printed, const struct pipeline_rules *rules,
                           struct pipeline_analysis *ret_analysis, struct input_error *ret_error)
{
    struct pipeline_analysis a = {0};
    size_t max_options = 1;
    int result;

    arena_init(&a.arena, 0);
    result = pipeline_build(set, rules, &a.arena, &a.pipeline, ret_error);
    if (!result && printed)
        result = check_printed(&a.pipeline, set, ret_error);
    if (result)
        goto fail;
    for (size_t i = 0; i < a.pipeline.n_tasks; i++) {
        if (a.pipeline.tasks[i].n_options > max_options)
            max_options = a.pipeline.tasks[i].n_options;
    }
    result = -ENOMEM;
    a.responses = arena_calloc(&a.arena, a.pipeline.n_tasks, sizeof a.responses[0]);
    if (printed)
        a.printed = holistic_printed_new(a.pipeline.n_tasks, a.pipeline.n_stages, max_options);
    else
        a.holistic = holistic_new(a.pipeline.n_tasks, a.pipeline.n_stages, max_options);
    if (!a.responses || (!a.printed && !a.holistic))
        goto fail;
    *ret_analysis = a;
    ret_analysis->test.class = printed ? &holistic_printed_class : &holistic_class;
    ret_analysis->test.state = printed ? (void *)a.printed : (void *)a.holistic;
    ret_analysis->test.pipeline = &ret_analysis->pipeline;
    ret_analysis->test.class->attach(ret_analysis->test.state, &ret_analysis->pipeline);
    return 0;
fail:
    pipeline_analysis_done(&a);
    return result;
}

void pipeline_analysis_done(struct pipeline_analysis *analysis)
{
    holistic_free(analysis->holistic);
    holistic_printed_free(analysis->printed);
    arena_done(&analysis->arena);
    *analysis = (struct pipeline_analysis){0};
}

/* Waiting time per unit, summed from the terms of the explanation. */
static int sound_waits(struct pipeline_analysis *a, size_t i, baton_nsec waits[])
{
    size_t max = (a->pipeline.tasks[i].n_stages + PIPELINE_UNITS) * (a->pipeline.n_tasks + 2);
    struct holistic_term *terms = calloc(max, sizeof *terms);
    size_t n = 0;
    size_t job;

    if (!terms)
        return -ENOMEM;
    if (holistic_explain(a->holistic, i, terms, max, &n, &job)) {
        for (size_t t = 0; t < n; t++) {
            if (terms[t].why != WHY_OWN)
                waits[terms[t].unit] += terms[t].amount;
        }
    }
    free(terms);
    return 0;
}

static void printed_waits(const struct pipeline_analysis *a, size_t i, unsigned char option,
                          baton_nsec waits[])
{
    const baton_nsec *delays = holistic_printed_delays(a->printed, i);
    const struct stage *stages = a->pipeline.tasks[i].options[option].stages;

    for (size_t p = 0; p < a->pipeline.tasks[i].n_stages; p++)
        waits[stages[p].unit] += delays[p] - stages[p].length;
}

/*
 * False when the response is no bound: beyond the period (sound), or stopped at the cap (printed).
 */
static bool is_bounded(const struct pipeline_analysis *a, size_t i)
{
    const struct pipeline_task *task = &a->pipeline.tasks[i];

    if (a->holistic)
        return a->responses[i] <= task->period;
    for (size_t p = 0; p < task->n_stages; p++) {
        if (holistic_printed_delays(a->printed, i)[p] >= PRINTED_CAP * task->deadline)
            return false;
    }
    return true;
}

static int fill_task(struct pipeline_analysis *a, size_t i, unsigned char option, bool bounded,
                     struct task_result *ret)
{
    const struct pipeline_task *task = &a->pipeline.tasks[i];
    baton_nsec waits[4] = {0};
    int result = 0;

    *ret = (struct task_result){
        .gpus = task->options[option].gpus,
        .response = ANALYSIS_UNBOUNDED,
        .tardiness = ANALYSIS_UNBOUNDED,
        .blocking = {-1, -1, -1, -1},
    };
    if (!bounded)
        return 0;
    ret->response = a->responses[i];
    ret->tardiness = ret->response > task->deadline ? ret->response - task->deadline : 0;
    if (a->holistic)
        result = sound_waits(a, i, waits);
    else
        printed_waits(a, i, option, waits);
    memcpy(ret->blocking, waits, sizeof waits);
    return result;
}

int pipeline_analysis_result(struct pipeline_analysis *a, const unsigned char choice[],
                             struct analysis_result *ret_result)
{
    size_t n = a->pipeline.n_tasks;
    struct mode_run run = {.choice = choice, .n_fixed = n, .n_run = n, .cap = a->holistic ? 1 : PRINTED_CAP};
    struct analysis_result r = {.shape = BLOCKING_UNITS, .n_tasks = n, .schedulable = true};
    size_t ran = a->test.class->run(a->test.state, &run, a->responses);
    bool bounded = true;
    int result = 0;

    arena_init(&r.arena, 0);
    r.tasks = arena_calloc(&r.arena, n, sizeof r.tasks[0]);
    if (!r.tasks)
        return -ENOMEM;
    for (size_t i = 0; i < n && !result; i++) {
        const struct pipeline_task *task = &a->pipeline.tasks[i];
        bool its = !task->no_deadline && i < ran && (bounded || a->printed) && is_bounded(a, i);
        bool met = its && a->responses[i] <= task->deadline;

        result = fill_task(a, i, choice[i], its, &r.tasks[task->index]);
        if (!met && !task->no_deadline && r.schedulable) {
            char text[200];

            (void)snprintf(text, sizeof text,
                           its ? "%s may miss its deadline" : "no bound for %s nor for less urgent tasks",
                           task->name ? task->name : "a task");
            r.reason = arena_strndup(&r.arena, text, strlen(text));
            r.schedulable = false;
        }
        bounded = bounded && (its || task->no_deadline);
    }
    if (result)
        arena_done(&r.arena);
    else
        *ret_result = r;
    return result;
}

size_t pipeline_analysis_rank(const struct pipeline_analysis *a, size_t task)
{
    size_t rank = 0;

    while (rank < a->pipeline.n_tasks && a->pipeline.tasks[rank].index != task)
        rank++;
    return rank;
}

int pipeline_analysis_explain(struct pipeline_analysis *a, size_t task,
                              struct analysis_explanation *ret_explanation)
{
    static const char *const units[] = {"cpu", "bus", "gpu"};
    static const char *const whys[] = {"own", "from", "blocking by", "self"};
    size_t i = pipeline_analysis_rank(a, task);
    size_t max = (a->pipeline.tasks[i].n_stages + PIPELINE_UNITS) * (a->pipeline.n_tasks + 2);
    struct analysis_explanation e = {0};
    struct holistic_term *terms;
    size_t job;

    arena_init(&e.arena, 0);
    terms = arena_calloc(&e.arena, max, sizeof *terms);
    e.terms = arena_calloc(&e.arena, max, sizeof *e.terms);
    if (!terms || !e.terms) {
        arena_done(&e.arena);
        return -ENOMEM;
    }
    e.bounded = !a->pipeline.tasks[i].no_deadline && a->responses[i] <= a->pipeline.tasks[i].period &&
                holistic_explain(a->holistic, i, terms, max, &e.n_terms, &job);
    for (size_t t = 0; t < e.n_terms; t++)
        e.terms[t] = (struct analysis_term){
            .where = units[terms[t].unit],
            .why = whys[terms[t].why],
            .segment = terms[t].stage == HOLISTIC_JOB ? ANALYSIS_JOB : terms[t].stage,
            .cause = a->pipeline.tasks[terms[t].cause].index,
            .amount = terms[t].amount,
        };
    *ret_explanation = e;
    return 0;
}

/*
 * Opens the pipeline with the modes of the request and fills the result of its only choice. The
 * caller closes it.
 */
static int open_request(const struct task_set *set, bool printed, const struct analysis_request *request,
                        struct pipeline_analysis *ret_analysis, struct analysis_result *ret_result,
                        struct input_error *ret_error)
{
    struct pipeline_rules rules = {.whole = printed};
    unsigned char *choice = calloc(set->n_tasks + 1, 1);
    unsigned *gpus = calloc(set->n_tasks + 1, sizeof *gpus);
    int result = -ENOMEM;

    if (!choice || !gpus)
        goto out;
    for (size_t i = 0; i < set->n_tasks; i++)
        gpus[i] = request && request->gpus ? request->gpus[i] : 1;
    rules.gpus = gpus;
    result = pipeline_analysis_open(set, printed, &rules, ret_analysis, ret_error);
    if (result)
        goto out;
    result = pipeline_analysis_result(ret_analysis, choice, ret_result);
    if (result)
        pipeline_analysis_done(ret_analysis);
out:
    free(choice);
    free(gpus);
    return result;
}

static int run(const struct task_set *set, bool printed, const struct analysis_request *request,
               struct analysis_result *ret_result, struct input_error *ret_error)
{
    struct pipeline_analysis a;
    int result = open_request(set, printed, request, &a, ret_result, ret_error);

    if (!result)
        pipeline_analysis_done(&a);
    return result;
}

static int explain_sound(const struct task_set *set, const struct analysis_request *request, size_t task,
                         struct analysis_explanation *ret_explanation, struct input_error *ret_error)
{
    struct pipeline_analysis a;
    struct analysis_result ignored;
    int result = open_request(set, false, request, &a, &ignored, ret_error);

    if (result)
        return result;
    result = pipeline_analysis_explain(&a, task, ret_explanation);
    analysis_result_done(&ignored);
    pipeline_analysis_done(&a);
    return result;
}

static int run_sound(const struct task_set *set, const struct analysis_request *request,
                     struct analysis_result *ret_result, struct input_error *ret_error)
{
    return run(set, false, request, ret_result, ret_error);
}

static int run_printed(const struct task_set *set, const struct analysis_request *request,
                       struct analysis_result *ret_result, struct input_error *ret_error)
{
    return run(set, true, request, ret_result, ret_error);
}

/*
 * Fixed priorities without tokens; all CPUs are one cluster and all GPUs are one (pipeline_build()
 * rejects other layouts). Lengths cover the overheads. State never moves: a task that keeps state
 * has one GPU.
 */
static void basis_sound(const struct task_set *set, struct plan_basis *ret_basis)
{
    *ret_basis = (struct plan_basis){0};
    plan_basis_set_machine(ret_basis, &set->platform);
    plan_basis_set(ret_basis, BASIS_POLICY, "fixed");
    plan_basis_set(ret_basis, BASIS_LOCK, "none");
    plan_basis_set(ret_basis, BASIS_DONATION, "none");
    plan_basis_set_tokens(ret_basis, TOKENS_UNLIMITED);
    plan_basis_set(ret_basis, BASIS_MIGRATION, migration_name(MIGRATION_NONE));
    plan_basis_set(ret_basis, BASIS_SHARED_MEMORY,
                   set->platform.shared_memory && set->platform.gpus > 1 ? "yes" : "no");
    plan_basis_set(ret_basis, BASIS_OVERHEADS, "none");
}

const struct analysis analysis_holistic = {
    .name = "holistic",
    .summary =
        "pipelines of CPU, bus and GPU stages under fixed priorities, sound (after GPU-SPARC Sec. IV-B)",
    .profile = "priority",
    .modes = true,
    .one_copy = true,
    .run = run_sound,
    .basis = basis_sound,
    .explain = explain_sound,
};

const struct analysis analysis_holistic_printed = {
    .name = "holistic-printed",
    .summary = "the same exactly as GPU-SPARC prints it; unsound, for comparison only",
    .profile = NULL,
    .modes = true,
    .printed = true,
    .one_copy = true,
    .run = run_printed,
};
