/*
 * `fair-lateness` over a task-set file. Tasks go to CPU clusters by worst fit in order of
 * decreasing utilisation; each cluster is then tested by itself.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/cpu/fair_lateness.h"
#include "analysis/cpu/plain_cost.h"

/* By task, in us. */
struct columns {
    double *cost, *period, *deadline, *utilisation;
    size_t *cluster, *order;
};

static int compare_utilisations(const void *a, const void *b, void *context)
{
    const double *utilisation = context;
    size_t left = *(const size_t *)a;
    size_t right = *(const size_t *)b;

    if (utilisation[left] > utilisation[right])
        return -1;
    if (utilisation[left] < utilisation[right])
        return 1;
    return left < right ? -1 : 1;
}

static int fill(const struct task_set *set, const struct analysis_request *request, struct columns *columns,
                struct input_error *ret_error)
{
    for (size_t i = 0; i < set->n_tasks; i++) {
        baton_nsec cost;
        int r = plain_cost(set, i, request, &cost, ret_error);

        if (r != 0)
            return r;
        columns->cost[i] = (double)cost / (double)NSEC_PER_US;
        columns->period[i] = (double)set->tasks[i].period / (double)NSEC_PER_US;
        columns->deadline[i] = (double)set->tasks[i].deadline / (double)NSEC_PER_US;
        columns->utilisation[i] = columns->cost[i] / columns->period[i];
        columns->order[i] = i;
    }
    return 0;
}

static void assign(struct columns *columns, size_t n, double load[], size_t clusters)
{
    qsort_r(columns->order, n, sizeof columns->order[0], compare_utilisations, columns->utilisation);
    for (size_t k = 0; k < n; k++) {
        size_t i = columns->order[k];
        size_t best = 0;

        for (size_t x = 1; x < clusters; x++)
            best = load[x] < load[best] ? x : best;
        columns->cluster[i] = best;
        load[best] += columns->utilisation[i];
    }
}

/* The task to explain (`--explain`) and where its terms go. */
struct cluster_question {
    size_t task;
    /* its arena is initialised; filled where the task is bounded */
    struct analysis_explanation *explanation;
};

/* Splits R of the question's task, members[self] of the cluster, by cause. 0 or -ENOMEM. */
static int explain_response(const struct cluster_question *question, const struct fair_lateness *lateness,
                            const size_t members[], size_t self)
{
    struct analysis_explanation *e = question->explanation;
    double *parts = arena_calloc(&e->arena, lateness->n, sizeof parts[0]);
    baton_nsec given = 0;
    size_t earliest;
    double ahead;

    e->terms = arena_calloc(&e->arena, lateness->n + 2, sizeof e->terms[0]);
    if (!parts || !e->terms)
        return -ENOMEM;
    fair_lateness_parts(lateness, self, &earliest, &ahead, parts);
    for (size_t k = 0; k <= lateness->n; k++) {
        bool behind = k == lateness->n;
        struct analysis_term term = {.where = behind ? "CPU, behind earlier priority points" : "CPU",
                                     .why = "from",
                                     .segment = ANALYSIS_JOB,
                                     .cause = members[behind ? earliest : k],
                                     .amount = (baton_nsec)((behind ? ahead : parts[k]) * NSEC_PER_US)};

        if (term.amount > 0 && term.cause != question->task)
            e->terms[e->n_terms++] = term;
    }
    for (size_t t = 0; t < e->n_terms; t++)
        given += e->terms[t].amount;
    /* The rest, including rounding. */
    e->terms[e->n_terms++] = (struct analysis_term){.where = "CPU",
                                                    .why = "own",
                                                    .segment = ANALYSIS_JOB,
                                                    .cause = question->task,
                                                    .amount = plain_nsec(lateness->response[self]) - given};
    e->bounded = true;
    return 0;
}

/*
 * Tests one cluster and publishes its results. members and the arrays of lateness have room for all
 * tasks.
 */
static int test_cluster(const struct columns *columns, size_t n, size_t x, struct fair_lateness *lateness,
                        double *room, size_t members[], const struct cluster_question *question,
                        struct analysis_result *result)
{
    double *cost = room;
    double *period = room + n;
    double *deadline = room + 2 * n;
    size_t count = 0;
    int answer;
    int r = 0;

    for (size_t i = 0; i < n; i++)
        if (columns->cluster[i] == x) {
            cost[count] = columns->cost[i];
            period[count] = columns->period[i];
            deadline[count] = columns->deadline[i];
            members[count++] = i;
        }
    lateness->n = count;
    lateness->cost = cost;
    lateness->period = period;
    lateness->deadline = deadline;
    answer = fair_lateness_bound(lateness);
    for (size_t k = 0; k < count; k++) {
        struct task_result *task = &result->tasks[members[k]];
        double late = lateness->response[k] - deadline[k];

        task->cpu_cluster = (unsigned)x;
        task->has_priority_point = true;
        task->priority_point = plain_nsec(lateness->point[k]);
        task->response = answer ? ANALYSIS_UNBOUNDED : plain_nsec(lateness->response[k]);
        task->tardiness = answer ? ANALYSIS_UNBOUNDED : plain_nsec(late > 0 ? late : 0);
        if (!answer && question && question->task == members[k])
            r = explain_response(question, lateness, members, k);
    }
    if (answer == 0)
        return r;
    result->schedulable = false;
    if (!result->reason)
        result->reason =
            answer == FAIR_LATENESS_OVERUTILISED
                ? plain_reason(
                      result, "CPU cluster %zu has utilisation %.6f on %u CPUs: response times are unbounded",
                      x, lateness->total, lateness->cpus)
                : plain_reason(result,
                               "a task of CPU cluster %zu needs more than its period: response "
                               "times are unbounded",
                               x);
    return 0;
}

static int test_all(const struct task_set *set, const struct analysis_request *request,
                    const struct cluster_question *question, struct analysis_result *result,
                    struct input_error *ret_error)
{
    size_t n = set->n_tasks;
    size_t clusters = platform_cpu_clusters(&set->platform);
    double *room = arena_calloc(&result->arena, 12 * n + clusters, sizeof room[0]);
    size_t *indices = arena_calloc(&result->arena, 4 * n + 1, sizeof indices[0]);
    struct columns columns;
    struct fair_lateness lateness = {.cpus = set->platform.cpu_cluster};
    int r;

    if (!room || !indices)
        return -ENOMEM;
    columns = (struct columns){.cost = room,
                               .period = room + n,
                               .deadline = room + 2 * n,
                               .utilisation = room + 3 * n,
                               .cluster = indices,
                               .order = indices + n};
    lateness.point = room + 4 * n;
    lateness.response = room + 5 * n;
    lateness.utilisation = room + 6 * n;
    lateness.slope = room + 7 * n;
    lateness.key = room + 8 * n;
    lateness.chosen = indices + 2 * n;
    r = fill(set, request, &columns, ret_error);
    if (r != 0)
        return r;
    assign(&columns, n, room + 12 * n, clusters);
    for (size_t x = 0; x < clusters && r == 0; x++)
        r = test_cluster(&columns, n, x, &lateness, room + 9 * n, indices + 3 * n, question, result);
    return r;
}

static int ask(const struct task_set *set, const struct analysis_request *request,
               const struct cluster_question *question, struct analysis_result *ret_result,
               struct input_error *ret_error)
{
    struct analysis_result result;
    int r = plain_result(set, request, &result);

    if (r < 0)
        return r;
    result.schedulable = true;
    r = test_all(set, request, question, &result, ret_error);
    if (r != 0) {
        arena_done(&result.arena);
        return r;
    }
    *ret_result = result;
    return 0;
}

static int run(const struct task_set *set, const struct analysis_request *request,
               struct analysis_result *ret_result, struct input_error *ret_error)
{
    return ask(set, request, NULL, ret_result, ret_error);
}

static int explain(const struct task_set *set, const struct analysis_request *request, size_t task,
                   struct analysis_explanation *ret_explanation, struct input_error *ret_error)
{
    struct analysis_explanation explanation = {0};
    struct cluster_question question = {task, &explanation};
    struct analysis_result result;
    int r;

    arena_init(&explanation.arena, 0);
    r = ask(set, request, &question, &result, ret_error);
    if (r != 0) {
        arena_done(&explanation.arena);
        return r;
    }
    analysis_result_done(&result);
    *ret_explanation = explanation;
    return 0;
}

const struct analysis analysis_fair_lateness = {
    .name = "fair-lateness",
    .summary = "response and tardiness bounds of clustered fair-lateness scheduling (as used by GPUSync)",
    .run = run,
    .explain = explain,
};
