#include "analysis/plan/planner.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/plan/plan_search.h"

const char *const plan_policy_names[] = {"gema", "local", "global", "single", NULL};

struct planner *planner_new(size_t max_tasks)
{
    struct planner *planner = calloc(1, sizeof *planner);

    if (!planner)
        return NULL;
    planner->responses = calloc(max_tasks + 1, sizeof planner->responses[0]);
    planner->trial = calloc(max_tasks + 1, sizeof planner->trial[0]);
    planner->tried = calloc((max_tasks + 1) * PIPELINE_MAX_OPTIONS, sizeof planner->tried[0]);
    planner->out = calloc((max_tasks + 1) * PIPELINE_MAX_OPTIONS, sizeof planner->out[0]);
    planner->refuted = calloc((max_tasks + 1) * PIPELINE_MAX_OPTIONS, sizeof planner->refuted[0]);
    planner->left = calloc(max_tasks + 1, sizeof planner->left[0]);
    if (!planner->responses || !planner->trial || !planner->tried || !planner->out || !planner->refuted ||
        !planner->left) {
        planner_free(planner);
        return NULL;
    }
    return planner;
}

void planner_free(struct planner *planner)
{
    if (!planner)
        return;
    free(planner->responses);
    free(planner->trial);
    free(planner->tried);
    free(planner->out);
    free(planner->refuted);
    free(planner->left);
    free(planner);
}

/* Is every deadline met under the choice? */
static bool verdict(struct planner *planner, const struct mode_test *test, const unsigned char choice[],
                    unsigned cap)
{
    size_t n = test->pipeline->n_tasks;
    struct mode_run run = {.choice = choice, .n_fixed = n, .n_run = n, .cap = cap, .until_miss = true};
    size_t ran = test->class->run(test->state, &run, planner->responses);

    planner->outcome->tests++;
    return ran == n && (n == 0 || planner->responses[n - 1] <= test->pipeline->tasks[n - 1].deadline);
}

static void choose_local(const struct pipeline *pipeline, unsigned char ret_choice[])
{
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        const struct pipeline_task *task = &pipeline->tasks[i];

        ret_choice[i] = 0;
        for (size_t o = 1; o < task->n_options; o++) {
            if (task->options[o].total < task->options[ret_choice[i]].total)
                ret_choice[i] = (unsigned char)o;
        }
    }
}

/* Z = max R/D under the choice, if it is below *best; then *best is it. */
static bool improves(struct planner *planner, const struct mode_test *test, const unsigned char choice[],
                     bool first, struct mode_ratio *best)
{
    const struct pipeline *pipeline = test->pipeline;
    struct mode_run run = {.choice = choice,
                           .n_fixed = pipeline->n_tasks,
                           .n_run = pipeline->n_tasks,
                           .cap = PLANNER_CAP,
                           .limit = first ? NULL : best};
    struct mode_ratio worst = {0, 1};
    size_t ran = test->class->run(test->state, &run, planner->responses);

    planner->outcome->tests++;
    for (size_t i = 0; i < ran; i++) {
        struct mode_ratio ratio = {planner->responses[i], pipeline->tasks[i].deadline};

        if (mode_ratio_compare(ratio, worst) > 0)
            worst = ratio;
    }
    if (!first && mode_ratio_compare(worst, *best) >= 0)
        return false;
    *best = worst;
    return true;
}

/*
 * GEMA (Algorithm 1, line 19 read as M := M + {t*}), with more than two options: every step tries all options that were not yet taken by
 * their task and takes the one with the least Z, ties to the lowest task, then option. Each option is taken at most once,
 * so it ends; with two options per task it is the paper's algorithm. A trial is cut as soon as some R/D is not below the
 * best Z so far: it could not win.
 */
static bool climb(struct planner *planner, const struct mode_test *test, unsigned char choice[])
{
    const struct pipeline *pipeline = test->pipeline;

    if (verdict(planner, test, choice, PLANNER_CAP))
        return true;
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        memset(&planner->tried[i * PIPELINE_MAX_OPTIONS], 0, pipeline->tasks[i].n_options);
        planner->tried[i * PIPELINE_MAX_OPTIONS + choice[i]] = true;
    }
    for (;;) {
        struct mode_ratio best = {0, 1};
        size_t best_task = pipeline->n_tasks;
        unsigned char best_option = 0;

        for (size_t i = 0; i < pipeline->n_tasks; i++) {
            unsigned char before = choice[i];

            for (size_t o = 0; o < pipeline->tasks[i].n_options; o++) {
                if (planner->tried[i * PIPELINE_MAX_OPTIONS + o])
                    continue;
                choice[i] = (unsigned char)o;
                if (improves(planner, test, choice, best_task == pipeline->n_tasks, &best)) {
                    best_task = i;
                    best_option = (unsigned char)o;
                }
            }
            choice[i] = before;
        }
        if (best_task == pipeline->n_tasks)
            return false;
        choice[best_task] = best_option;
        planner->tried[best_task * PIPELINE_MAX_OPTIONS + best_option] = true;
        if (best.response <= best.deadline)
            return true;
    }
}

/*
 * The paper's start is every task in single mode. With two options per task that is all there is to it; with more, the way from there can be
 * a dead end, and it is tried again from every task in its option 1, 2, ... (its last where it has fewer).
 */
static bool choose_gema(struct planner *planner, const struct mode_test *test, unsigned char choice[])
{
    const struct pipeline *pipeline = test->pipeline;
    size_t most_options = 0;

    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        if (pipeline->tasks[i].n_options > most_options)
            most_options = pipeline->tasks[i].n_options;
    }
    memset(choice, 0, pipeline->n_tasks);
    if (climb(planner, test, choice))
        return true;
    for (size_t start = 1; start < most_options && most_options > 2; start++) {
        for (size_t i = 0; i < pipeline->n_tasks; i++)
            choice[i] =
                (unsigned char)(start < pipeline->tasks[i].n_options ? start
                                                                     : pipeline->tasks[i].n_options - 1);
        if (climb(planner, test, choice))
            return true;
    }
    return false;
}

void planner_choose(struct planner *planner, const struct mode_test *test, enum plan_policy policy,
                    uint64_t max_nodes, unsigned char ret_choice[], struct plan_outcome *ret_outcome)
{
    *ret_outcome = (struct plan_outcome){.complete = true};
    planner->outcome = ret_outcome;
    switch (policy) {
    case POLICY_GEMA:
        ret_outcome->schedulable = choose_gema(planner, test, ret_choice);
        break;
    case POLICY_LOCAL:
        choose_local(test->pipeline, ret_choice);
        ret_outcome->schedulable = verdict(planner, test, ret_choice, 1);
        break;
    case POLICY_SINGLE:
        memset(ret_choice, 0, test->pipeline->n_tasks);
        ret_outcome->schedulable = verdict(planner, test, ret_choice, 1);
        break;
    case POLICY_GLOBAL:
        /* Where the root of the search is not refuted, GEMA finds most that there is to find; then the search begins. */
        memset(ret_choice, 0, test->pipeline->n_tasks);
        ret_outcome->schedulable =
            !plan_search_hopeless(planner, test) &&
            (choose_gema(planner, test, ret_choice) || plan_search(planner, test, max_nodes, ret_choice));
        plan_search_end(planner, test);
        break;
    }
}
