#include "analysis/plan/planner.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/plan/plan_search.h"

#define GEMA_NODES 200 /* limit of the search for a start of GEMA */

const char *const plan_policy_names[] = {"gema", "local", "global", "single", NULL};

struct planner *planner_new(size_t max_tasks)
{
    struct planner *planner = calloc(1, sizeof *planner);

    if (!planner)
        return NULL;
    planner->responses = calloc(max_tasks + 1, sizeof planner->responses[0]);
    planner->trial = calloc(max_tasks + 1, sizeof planner->trial[0]);
    planner->tried = calloc((max_tasks + 1) * PIPELINE_MAX_OPTIONS, sizeof planner->tried[0]);
    planner->barred = calloc((max_tasks + 1) * PIPELINE_MAX_OPTIONS, sizeof planner->barred[0]);
    planner->out = calloc((max_tasks + 1) * PIPELINE_MAX_OPTIONS, sizeof planner->out[0]);
    planner->refuted = calloc((max_tasks + 1) * PIPELINE_MAX_OPTIONS, sizeof planner->refuted[0]);
    planner->left = calloc(max_tasks + 1, sizeof planner->left[0]);
    if (!planner->responses || !planner->trial || !planner->tried || !planner->barred || !planner->out ||
        !planner->refuted || !planner->left) {
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
    free(planner->barred);
    free(planner->out);
    free(planner->refuted);
    free(planner->left);
    free(planner);
}

/* Which options a policy, or a part of it, considers. */
enum option_choice {
    OPTIONS_ALL,
    OPTIONS_SINGLE, /* one GPU: as in the file, or assigned */
    OPTIONS_LOCAL,  /* the mode in which the task is shortest by itself, assigned or not */
    OPTIONS_PLAIN,  /* no assigned option, if there are others */
};

/* The shortest option; the first on ties. */
static size_t shortest(const struct pipeline_task *task)
{
    size_t best = 0;

    for (size_t o = 1; o < task->n_options; o++) {
        if (task->options[o].total < task->options[best].total)
            best = o;
    }
    return best;
}

/* Options that are not assigned precede the others. */
static size_t n_plain(const struct pipeline_task *task)
{
    size_t n = 0;

    while (n < task->n_options && !task->options[n].assigned)
        n++;
    return n;
}

static bool is_barred(const struct pipeline_task *task, size_t o, enum option_choice options)
{
    const struct pipeline_option *option = &task->options[o];
    size_t like = options == OPTIONS_LOCAL ? shortest(task) : 0;

    switch (options) {
    case OPTIONS_ALL:
        return option->dominated;
    case OPTIONS_PLAIN:
        return option->assigned && n_plain(task) > 0;
    default:
        return option->dominated || option->gpus != task->options[like].gpus ||
               (o != like && (!option->assigned ||
                              (options == OPTIONS_LOCAL && option->total > task->options[like].total)));
    }
}

static void think_of(struct planner *planner, const struct pipeline *pipeline, enum option_choice options)
{
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        for (size_t o = 0; o < pipeline->tasks[i].n_options; o++)
            planner_barred(planner, i)[o] = is_barred(&pipeline->tasks[i], o, options);
    }
}

bool planner_improves(struct planner *planner, const struct mode_test *test, const unsigned char choice[],
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

/* The best next step: *ret_task and *ret_option. False: every option has been taken. */
static bool find_step(struct planner *planner, const struct mode_test *test, unsigned char choice[],
                      struct mode_ratio *ret_best, size_t *ret_task, unsigned char *ret_option)
{
    const struct pipeline *pipeline = test->pipeline;
    struct gpu_cells cells;
    bool first = true;

    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        unsigned char before = choice[i];

        plan_search_cells(planner, pipeline, choice, pipeline->n_tasks, i, &cells);
        for (size_t o = 0; o < pipeline->tasks[i].n_options; o++) {
            if (planner->tried[i * PIPELINE_MAX_OPTIONS + o] || planner_barred(planner, i)[o] ||
                plan_symmetry_repeats(&cells, &pipeline->tasks[i], o))
                continue;
            choice[i] = (unsigned char)o;
            if (!planner_improves(planner, test, choice, first, ret_best))
                continue;
            first = false;
            *ret_task = i;
            *ret_option = (unsigned char)o;
        }
        choice[i] = before;
    }
    return !first;
}

/*
 * GEMA (Algorithm 1, line 19 read as M := M + {t*}), with more than two options. Every step tries
 * all options that their task has not taken yet. It takes the one with the least Z, ties to the
 * lowest task, then option. Each option is taken at most once, so the loop ends. With two options
 * per task it is the paper's algorithm. A trial stops as soon as some R/D is not below the best Z
 * so far, because it cannot win.
 */
static bool climb(struct planner *planner, const struct mode_test *test, unsigned char choice[])
{
    const struct pipeline *pipeline = test->pipeline;
    struct mode_ratio best = {0, 1};
    unsigned char option = 0;
    size_t task = 0;

    if (plan_search_verdict(planner, test, choice, PLANNER_CAP))
        return true;
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        memset(&planner->tried[i * PIPELINE_MAX_OPTIONS], 0, pipeline->tasks[i].n_options);
        planner->tried[i * PIPELINE_MAX_OPTIONS + choice[i]] = true;
    }
    while (find_step(planner, test, choice, &best, &task, &option)) {
        choice[task] = option;
        planner->tried[task * PIPELINE_MAX_OPTIONS + option] = true;
        if (best.response <= best.deadline)
            return true;
    }
    return false;
}

/*
 * The paper starts with every task in single mode. With two options per task that start suffices.
 * With more options the steps from there can fail, so further attempts start with every task in its
 * option 1, 2, ... (its last if it has fewer). A task that has only assigned options starts with
 * its first.
 */
static bool climb_plain(struct planner *planner, const struct mode_test *test, unsigned char choice[])
{
    const struct pipeline *pipeline = test->pipeline;
    size_t most_options = 1;

    think_of(planner, pipeline, OPTIONS_PLAIN);
    for (size_t i = 0; i < pipeline->n_tasks; i++) {
        if (n_plain(&pipeline->tasks[i]) > most_options)
            most_options = n_plain(&pipeline->tasks[i]);
    }
    for (size_t start = 0; start < (most_options > 2 ? most_options : 1); start++) {
        for (size_t i = 0; i < pipeline->n_tasks; i++) {
            size_t n = n_plain(&pipeline->tasks[i]);

            choice[i] = (unsigned char)(start < n ? start : n ? n - 1 : 0);
        }
        if (climb(planner, test, choice))
            return true;
    }
    return false;
}

/*
 * When GPUs are assigned, GEMA starts with every task on one GPU, as SINGLE finds it within a small
 * node limit. Steps from there change modes and GPUs alike. The second attempt starts with tasks
 * that fill one GPU after the other. The paper's start without assigned GPUs comes last, so that
 * assigning never loses a set.
 */
static bool choose_gema(struct planner *planner, const struct mode_test *test, unsigned char choice[])
{
    const struct pipeline *pipeline = test->pipeline;

    if (planner->assigns) {
        think_of(planner, pipeline, OPTIONS_SINGLE);
        if (planner_place(planner, test, GEMA_NODES, choice))
            return true;
        planner->outcome->complete = true; /* GEMA makes no claim of completeness */
        think_of(planner, pipeline, OPTIONS_ALL);
        if (climb(planner, test, choice))
            return true;
        think_of(planner, pipeline, OPTIONS_SINGLE);
        (void)planner_fit(planner, test, true, choice);
        think_of(planner, pipeline, OPTIONS_ALL);
        if (climb(planner, test, choice))
            return true;
    }
    if (!climb_plain(planner, test, choice))
        return false;
    planner_settle(planner, test, choice);
    return true;
}

/*
 * Exact. Unless the root of the search is refuted, GEMA runs first, because it finds most
 * schedulable choices; then the search begins.
 */
static bool choose_global(struct planner *planner, const struct mode_test *test, uint64_t max_nodes,
                          unsigned char choice[])
{
    bool hopeless;
    bool found;

    memset(choice, 0, test->pipeline->n_tasks);
    think_of(planner, test->pipeline, OPTIONS_ALL);
    hopeless = plan_search_hopeless(planner, test);
    plan_search_end(planner, test);
    if (hopeless || choose_gema(planner, test, choice))
        return !hopeless;
    think_of(planner, test->pipeline, OPTIONS_ALL);
    found = !plan_search_hopeless(planner, test) && plan_search(planner, test, max_nodes, choice);
    plan_search_end(planner, test);
    return found;
}

void planner_choose(struct planner *planner, const struct mode_test *test, enum plan_policy policy,
                    uint64_t max_nodes, unsigned char ret_choice[], struct plan_outcome *ret_outcome)
{
    const struct pipeline *pipeline = test->pipeline;

    *ret_outcome = (struct plan_outcome){.complete = true};
    planner->outcome = ret_outcome;
    planner->assigns = false;
    for (size_t i = 0; i < pipeline->n_tasks; i++)
        planner->assigns |= n_plain(&pipeline->tasks[i]) < pipeline->tasks[i].n_options;
    plan_symmetry_begin(pipeline, &planner->cells);
    switch (policy) {
    case POLICY_GEMA:
        ret_outcome->schedulable = choose_gema(planner, test, ret_choice);
        break;
    case POLICY_LOCAL:
    case POLICY_SINGLE:
        think_of(planner, pipeline, policy == POLICY_LOCAL ? OPTIONS_LOCAL : OPTIONS_SINGLE);
        ret_outcome->schedulable = planner_place(planner, test, max_nodes, ret_choice);
        break;
    case POLICY_GLOBAL:
        ret_outcome->schedulable = choose_global(planner, test, max_nodes, ret_choice);
        break;
    }
}
