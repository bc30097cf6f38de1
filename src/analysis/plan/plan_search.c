/*
 * GLOBAL by branch and bound: options are fixed in priority order, the most urgent task first. The
 * tasks 0 .. d of a node are fixed. Every node knows which options of the other tasks are *left*.
 * Three tests take options out. They refute the node when a task has none left:
 *
 *     (1) run: the response of a task i <= d with the options of 0 .. i as fixed. Less urgent fixed
 *         tasks block as chosen. Tasks > d block with the elementwise least over the options left
 *         (the longest piece on the bus, on each GPU, of each lane).
 *     (2) own: the response of a task t > d in each of its options. A task between d and t that is
 *         not fixed interferes with one load per unit. The load has the least total length over its
 *         options left, without jitter or carry-in. If the response is too long, the option is out.
 *     (3) blocking: with one option alone left to t, is (1) or (2) too long for a task i < t (in
 *         all options left to it)? Then that option is out. Asked for the task fixed last, and at
 *         the root for all pairs.
 *
 * Taking options out makes the least over the others larger, so all tests are repeated until
 * nothing changes.
 *
 * Claim: every schedulable completion of a node has only options that are left. So a node with a
 * task that has none left has no such completion.
 *
 * Proof. By induction over the options in the order in which they are taken out. Let a schedulable
 * completion have only options left so far. As shown below, the response of i in it (of t, in its
 * option of the completion) is at least the value of the test. So that value is at most the
 * deadline, and the test takes out no option of the completion. In (3), if the completion has t in
 * that option, it is one of those with that option alone left. (If an iteration stops early, a node
 * takes an iterate below the least fixed point, a leaf a point above it. Both only strengthen the
 * inequality.)
 *
 * A response is a composition of least fixed points of functions that never decrease in their
 * parameters. The parameters are blocking lengths, each load's length, jitter and span, and the
 * more urgent tasks' finish bounds, which are responses themselves. Sums, minima, maxima, top-k
 * sums, SHARE (a minimum of such, see holistic_share.c), floor and ceiling of those, NC and CI are
 * all non-decreasing. So is the least fixed point of a non-decreasing function in its parameters. A
 * response beyond the cap counts as infinite, which keeps the order.
 *
 * In priority order: the first task differs between node and completion only in the blocking. That
 * is least elementwise in the node, because the k-th longest of a union of lists is monotone in
 * each list. Each further task sees finish bounds of more urgent tasks that are not larger, and
 * blocking that is not larger.
 *
 * In (2) a task that is not fixed interferes in the completion with stages p of total length at
 * least the demand of its unit. Then sum_p NC_p(x) >= NC(x) of one load of length sum_p C_p without
 * jitter, because NC grows with jitter and sum_p min(C_p, z) >= min(sum_p C_p, z). Extras are >= 0.
 * A demand is at most the period, so it has no extra itself. Every stage counts at least once on
 * each GPU where the demand counts. Gap terms are >= 0.
 *
 * If work is spread over all GPUs (SHARE), the demand is one item with the work of all lanes. The
 * completion has one item per lane with at least that sum. One item instead of several with the
 * same sum never raises SHARE. Take the set E that is best for the several items. If no lane is in
 * E, the same E serves for the one item. If j >= 1 lanes are in E, exchange them for the one item.
 * Then E has j - 1 items fewer. What is outside E is not more, and it is divided by j - 1 units
 * more.
 *
 * For the printed test sum_p ceil((J_p + w) / T) alpha_p >= ceil(w / T) sum_p alpha_p. The weights
 * for unequal GPUs are the same for all options. QED
 *
 * Of options that a renaming of GPUs turns into each other (plan_symmetry.h), a node looks at the
 * first only. Options that are barred count as out from the beginning.
 *
 * tests/analysis/test_planner.c compares with all choices.
 */
#include "analysis/plan/plan_search.h"

#include <stdint.h>
#include <string.h>

static bool *options_of(const struct planner *planner, size_t t)
{
    return planner->out + t * PIPELINE_MAX_OPTIONS;
}

/* Takes an option out until undo(). False: it was the last option of its task. */
static bool refute(struct planner *planner, const struct mode_test *test, size_t t, size_t option)
{
    options_of(planner, t)[option] = true;
    planner->refuted[planner->n_refuted++] = t * PIPELINE_MAX_OPTIONS + option;
    planner->doubtful = t;
    if (--planner->left[t] == 0)
        return false;
    (void)test->class->narrow(test->state, t, options_of(planner, t));
    return true;
}

/* Restores all options taken out since n_refuted was `mark`. */
static void undo(struct planner *planner, const struct mode_test *test, size_t mark)
{
    while (planner->n_refuted > mark) {
        size_t at = planner->refuted[--planner->n_refuted];
        size_t t = at / PIPELINE_MAX_OPTIONS;

        planner->out[at] = false;
        planner->left[t]++;
        (void)test->class->narrow(test->state, t, options_of(planner, t));
    }
}

static bool hopeful(struct planner *planner, const struct mode_test *test, const struct mode_run *run,
                    size_t t, size_t option)
{
    planner->outcome->tests++;
    return test->class->hopeful(test->state, run, t, (unsigned char)option);
}

/* Test (2) on every remaining option of t. Answers the number taken out, or -1 if none survives. */
static int filter_own(struct planner *planner, const struct mode_test *test, const struct mode_run *run,
                      size_t t)
{
    int out = 0;

    for (size_t o = 0; o < test->pipeline->tasks[t].n_options; o++) {
        if (options_of(planner, t)[o] || hopeful(planner, test, run, t, o))
            continue;
        if (!refute(planner, test, t, o))
            return -1;
        out++;
    }
    return out;
}

/* Does some option of task i survive test (2)? If i is fixed, does its own? */
static bool any_hope(struct planner *planner, const struct mode_test *test, const struct mode_run *run,
                     size_t i)
{
    if (i < run->n_fixed)
        return hopeful(planner, test, run, i, run->choice[i]);
    for (size_t o = 0; o < test->pipeline->tasks[i].n_options; o++) {
        if (!options_of(planner, i)[o] && hopeful(planner, test, run, i, o))
            return true;
    }
    return false;
}

/* Test (3): takes out options of t that block task i for too long. Answers as filter_own. */
static int filter_blocking(struct planner *planner, const struct mode_test *test, const struct mode_run *run,
                           size_t t, size_t i)
{
    size_t n_options = test->pipeline->tasks[t].n_options;
    int out = 0;

    for (size_t o = 0; o < n_options && planner->left[t] > 1; o++) {
        bool alone[PIPELINE_MAX_OPTIONS];
        bool survives;

        if (options_of(planner, t)[o])
            continue;
        memset(alone, true, n_options);
        alone[o] = false;
        survives = !test->class->narrow(test->state, t, alone) || any_hope(planner, test, run, i);
        (void)test->class->narrow(test->state, t, options_of(planner, t));
        if (survives)
            continue;
        if (!refute(planner, test, t, o))
            return -1;
        out++;
    }
    return out;
}

/* Tests (2) and (3) once on all tasks that are not fixed. Answers as filter_own. */
static int filter(struct planner *planner, const struct mode_test *test, const struct mode_run *run)
{
    size_t n = test->pipeline->n_tasks;
    size_t doubtful = planner->doubtful;
    int out = 0;

    /* The task that refuted the last node is the likeliest to refute this one. */
    for (size_t step = run->n_fixed; step <= n; step++) {
        size_t t = step == run->n_fixed ? doubtful : step - 1;
        int more;

        if (t < run->n_fixed || t >= n || (step > run->n_fixed && t == doubtful))
            continue;
        more = filter_own(planner, test, run, t);
        if (more < 0)
            return -1;
        out += more;
    }
    /* Which task can the others newly block? The task fixed last; at the root, every task. */
    for (size_t i = run->n_fixed ? run->n_fixed - 1 : 0; i < (run->n_fixed ? run->n_fixed : n); i++) {
        for (size_t t = i + 1; t < n; t++) {
            int more = filter_blocking(planner, test, run, t, i);

            if (more < 0)
                return -1;
            out += more;
        }
    }
    return out;
}

/*
 * Is the node with the first n_fixed options of trial refuted? If not, options that are part of no
 * schedulable completion are out.
 */
static bool refuted(struct planner *planner, const struct mode_test *test, size_t n_fixed)
{
    const struct pipeline *pipeline = test->pipeline;
    struct mode_run run = {
        .choice = planner->trial, .n_fixed = n_fixed, .n_run = n_fixed, .cap = 1, .until_miss = true};
    int out;

    planner->outcome->nodes++;
    do {
        if (n_fixed > 0) {
            size_t ran = test->class->run(test->state, &run, planner->responses);

            planner->outcome->tests++;
            if (ran < n_fixed || planner->responses[n_fixed - 1] > pipeline->tasks[n_fixed - 1].deadline)
                return true;
        }
        out = filter(planner, test, &run);
    } while (out > 0);
    return out < 0;
}

void plan_search_cells(const struct planner *planner, const struct pipeline *pipeline,
                       const unsigned char choice[], size_t n, size_t but, struct gpu_cells *ret_cells)
{
    *ret_cells = planner->cells;
    for (size_t i = 0; i < n; i++) {
        const struct pipeline_option *option = &pipeline->tasks[i].options[choice[i]];

        if (i != but && option->assigned)
            plan_symmetry_assign(ret_cells, option->placement.gpus);
    }
}

bool plan_search_verdict(struct planner *planner, const struct mode_test *test, const unsigned char choice[],
                         unsigned cap)
{
    size_t n = test->pipeline->n_tasks;
    struct mode_run run = {.choice = choice, .n_fixed = n, .n_run = n, .cap = cap, .until_miss = true};
    size_t ran = test->class->run(test->state, &run, planner->responses);

    planner->outcome->tests++;
    return ran == n && (n == 0 || planner->responses[n - 1] <= test->pipeline->tasks[n - 1].deadline);
}

/* Depth first; n_fixed grows by one per level. True: trial is schedulable. */
static bool descend(struct planner *planner, const struct mode_test *test, size_t n_fixed)
{
    const struct pipeline *pipeline = test->pipeline;
    size_t mark = planner->n_refuted;
    struct gpu_cells cells;

    if (planner->max_nodes && planner->outcome->nodes >= planner->max_nodes) {
        planner->outcome->complete = false;
        return false;
    }
    if (!refuted(planner, test, n_fixed)) {
        if (n_fixed == pipeline->n_tasks)
            return true;
        plan_search_cells(planner, pipeline, planner->trial, n_fixed, SIZE_MAX, &cells);
        for (size_t o = 0; o < pipeline->tasks[n_fixed].n_options; o++) {
            if (options_of(planner, n_fixed)[o] ||
                plan_symmetry_repeats(&cells, &pipeline->tasks[n_fixed], o))
                continue;
            planner->trial[n_fixed] = (unsigned char)o;
            if (descend(planner, test, n_fixed + 1))
                return true;
        }
    }
    undo(planner, test, mark);
    return false;
}

bool plan_search_hopeless(struct planner *planner, const struct mode_test *test)
{
    const struct pipeline *pipeline = test->pipeline;

    for (size_t t = 0; t < pipeline->n_tasks; t++) {
        planner->left[t] = pipeline->tasks[t].n_options;
        memset(options_of(planner, t), 0, pipeline->tasks[t].n_options);
    }
    planner->n_refuted = 0;
    for (size_t t = 0; t < pipeline->n_tasks; t++) {
        for (size_t o = 0; o < pipeline->tasks[t].n_options; o++) {
            if (planner_barred(planner, t)[o])
                (void)refute(planner, test, t, o); /* never the last one */
        }
    }
    planner->doubtful = pipeline->n_tasks;
    return refuted(planner, test, 0);
}

void plan_search_end(struct planner *planner, const struct mode_test *test)
{
    undo(planner, test, 0);
}

bool plan_search(struct planner *planner, const struct mode_test *test, uint64_t max_nodes,
                 unsigned char ret_choice[])
{
    planner->max_nodes = max_nodes ? planner->outcome->nodes + max_nodes : 0;
    if (!descend(planner, test, 0))
        return false;
    memcpy(ret_choice, planner->trial, test->pipeline->n_tasks);
    return true;
}
