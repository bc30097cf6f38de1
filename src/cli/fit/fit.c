#include "cli/fit/fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/pipeline/pipeline.h"

int fit_draft_open(const struct task_set *set, struct fit_draft *ret_draft)
{
    struct fit_draft draft = {.set = *set};
    size_t n = 0;

    for (size_t i = 0; i < set->n_tasks; i++)
        n += set->tasks[i].n_segments;
    draft.tasks = calloc(set->n_tasks + 1, sizeof *draft.tasks);
    draft.segments = calloc(n + 1, sizeof *draft.segments);
    if (!draft.tasks || !draft.segments) {
        fit_draft_done(&draft);
        return -ENOMEM;
    }
    n = 0;
    for (size_t i = 0; i < set->n_tasks; i++) {
        draft.tasks[i] = set->tasks[i];
        draft.tasks[i].segments = draft.segments + n;
        memcpy(draft.segments + n, set->tasks[i].segments, set->tasks[i].n_segments * sizeof *draft.segments);
        n += set->tasks[i].n_segments;
    }
    draft.set.tasks = draft.tasks;
    *ret_draft = draft;
    return 0;
}

void fit_draft_done(struct fit_draft *draft)
{
    free(draft->tasks);
    free(draft->segments);
    *draft = (struct fit_draft){0};
}

bool fit_accepts(const struct fit_test *test, const struct task_set *set, struct fit *fit)
{
    struct analysis_result result;
    struct input_error error;
    bool accepted;

    if (fit->tests >= FIT_MAX_TESTS)
        return false;
    fit->tests++;
    if (test->run(test->user, set, &result, &error) != 0)
        return false;
    accepted = analysis_outcome(set, &result, NULL) == ANALYSIS_MET;
    analysis_result_done(&result);
    return accepted;
}

/* The task's bound in this set; ANALYSIS_UNBOUNDED also if the test rejects the set as input. */
static baton_nsec response_of(const struct fit_test *test, const struct task_set *set, size_t task,
                              struct fit *fit)
{
    struct analysis_result result;
    struct input_error error;
    baton_nsec response = ANALYSIS_UNBOUNDED;

    fit->tests++;
    if (test->run(test->user, set, &result, &error) == 0) {
        response = result.tasks[task].response;
        analysis_result_done(&result);
    }
    return response;
}

/* Sets explicit priorities in the present order, so that a longer deadline changes no order. */
static int keep_priorities(const struct task_set *set, struct fit_draft *draft)
{
    size_t *order = calloc(set->n_tasks + 1, sizeof *order);
    int result = order ? task_set_order(set, order) : -ENOMEM;

    for (size_t rank = 0; rank < set->n_tasks && !result; rank++)
        draft->tasks[order[rank]].priority = (unsigned)(set->n_tasks - rank);
    free(order);
    return result;
}

static int find_task(const struct task_set *set, const struct analysis_result *result, size_t *ret_task)
{
    size_t *order = calloc(set->n_tasks + 1, sizeof *order);
    int error = order ? task_set_order(set, order) : -ENOMEM;

    *ret_task = 0;
    for (size_t rank = set->n_tasks; rank-- > 0 && !error;) {
        const struct task_result *task = &result->tasks[order[rank]];

        if (!set->tasks[order[rank]].no_deadline &&
            (task->response == ANALYSIS_UNBOUNDED || task->response > set->tasks[order[rank]].deadline))
            *ret_task = order[rank];
    }
    free(order);
    return error;
}

/* Lengthens the task's period and deadline until it has a bound. */
static void stretch(const struct fit_test *test, struct fit_draft *draft, struct fit *fit)
{
    struct task *task = &draft->tasks[fit->task];

    fit->response = response_of(test, &draft->set, fit->task, fit);
    while (fit->response == ANALYSIS_UNBOUNDED && task->period <= PIPELINE_MAX_PERIOD / 2) {
        task->period *= 2;
        task->deadline = task->period;
        fit->response = response_of(test, &draft->set, fit->task, fit);
    }
}

/*
 * Truncates the task after its first segment, its second, and so on. The first bound that is too
 * late names the segment.
 */
static void find_segment(const struct fit_test *test, struct fit_draft *draft, baton_nsec deadline,
                         struct fit *fit)
{
    struct task *task = &draft->tasks[fit->task];
    size_t n = task->n_segments;

    fit->segment = n - 1;
    fit->finish = fit->response;
    for (size_t k = 1; k < n && fit->tests < FIT_MAX_TESTS / 2; k++) {
        baton_nsec finish;

        task->n_segments = k;
        finish = response_of(test, &draft->set, fit->task, fit);
        if (finish != ANALYSIS_UNBOUNDED && finish > deadline) {
            fit->segment = k - 1;
            fit->finish = finish;
            break;
        }
    }
    task->n_segments = n;
}

int fit_find(const struct fit_test *test, const struct task_set *set, const struct analysis_result *result,
             struct fit *ret_fit)
{
    struct fit fit = {.response = ANALYSIS_UNBOUNDED};
    struct input_error error;
    struct fit_draft draft;
    int status = find_task(set, result, &fit.task);

    if (!status)
        status = fit_draft_open(set, &draft);
    if (status)
        return status;
    status = keep_priorities(set, &draft);
    if (!status) {
        stretch(test, &draft, &fit);
        if (fit.response != ANALYSIS_UNBOUNDED)
            find_segment(test, &draft, set->tasks[fit.task].deadline, &fit);
        if (fit.response != ANALYSIS_UNBOUNDED && test->explain &&
            test->explain(test->user, &draft.set, fit.task, &fit.explanation, &error) != 0)
            /* the bound remains valid without its terms */
            fit.explanation = (struct analysis_explanation){0};
        status = fit_find_changes(test, set, &fit);
    }
    fit_draft_done(&draft);
    if (status)
        fit_done(&fit);
    else
        *ret_fit = fit;
    return status;
}

void fit_done(struct fit *fit)
{
    arena_done(&fit->explanation.arena);
    *fit = (struct fit){0};
}
