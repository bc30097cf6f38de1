#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "makespan/search/bound.h"
#include "makespan/search/solve.h"

/* Answers of several parts being added up. */
struct part_sum {
    const struct problem *problem;
    const struct parts *parts;
    struct solve_result *result;
    size_t *index; /* owned; [n_parts]: the place of a distinct part in result->parts */
    bool has_table;
};

/* How often each distinct part occurs. */
static void count_parts(struct part_sum *sum)
{
    for (size_t p = 0; p < sum->parts->n_parts; p++) {
        size_t like = sum->parts->like[p];

        if (like == p) {
            sum->index[p] = sum->result->n_parts;
            sum->result->parts[sum->result->n_parts++] = (struct solve_part){.part = p};
        }
        sum->result->parts[sum->index[like]].times++;
    }
}

/* Puts the part's witness into every place of the whole where the part occurs. */
static void place_witness(struct part_sum *sum, size_t part, const uint16_t witness[])
{
    size_t warps = sum->problem->warps;

    for (size_t p = part; p < sum->parts->n_parts; p++) {
        size_t begin = sum->parts->begin[p];

        if (sum->parts->like[p] == part)
            memcpy(sum->result->witness + begin * warps, witness,
                   (sum->parts->begin[p + 1] - begin) * warps * sizeof witness[0]);
    }
}

static void add(struct part_sum *sum, struct solve_part *part, const struct solve_result *answer)
{
    struct solve_result *whole = sum->result;
    unsigned times = (unsigned)part->times;

    part->lower = answer->lower;
    part->upper = answer->upper;
    whole->lower += times * answer->lower;
    whole->upper += times * answer->upper;
    whole->cheap += times * answer->cheap;
    for (size_t i = 0; i < START_RANDOM; i++)
        whole->starts[i] += times * answer->starts[i];
    whole->relaxed += times * (answer->relaxed ? answer->relaxed : (unsigned)answer->cheap);
    sum->has_table = sum->has_table || answer->relaxed;
    if (!whole->stop)
        whole->stop = answer->stop;
    whole->anneal.iterations += answer->anneal.iterations;
    whole->table_states += answer->table_states;
    whole->searched_states += answer->searched_states;
    place_witness(sum, part->part, answer->witness);
}

static int add_all(struct part_sum *sum, const struct solve_settings *settings)
{
    struct solve_result *whole = sum->result;
    int result = 0;

    count_parts(sum);
    for (size_t i = 0; i < whole->n_parts && result == 0; i++) {
        struct problem problem = parts_problem(sum->parts, whole->parts[i].part, sum->problem);
        struct solve_settings share = *settings;
        struct solve_result answer;

        if (settings->until_at) {
            baton_nsec now = clock_now();

            share.until_at = now + (settings->until_at - now) / (baton_nsec)(whole->n_parts - i);
        }
        result = solve(&problem, &share, &answer);
        if (result)
            break;
        add(sum, &whole->parts[i], &answer);
        solve_result_done(&answer);
    }
    if (!sum->has_table)
        whole->relaxed = 0;
    whole->is_exact = whole->lower == whole->upper;
    return result;
}

/* Several groups: the longest of the templates, and the cheap bound. */
static int try_templates(const struct problem *problem, const struct parts *parts, unsigned groups,
                         struct solve_result *answer)
{
    uint16_t *order = calloc(problem->n * problem->warps, sizeof order[0]);
    int result = order ? 0 : -ENOMEM;

    for (size_t i = 0; i < START_RANDOM && result == 0; i++) {
        result = start_make(problem, (enum start)i, NULL, order);
        if (result == 0)
            result = parts_evaluate(problem, parts, groups, order, NULL, &answer->starts[i]);
        if (result == 0 && answer->starts[i] > answer->lower) {
            answer->lower = answer->starts[i];
            memcpy(answer->witness, order, problem->n * problem->warps * sizeof order[0]);
        }
    }
    free(order);
    answer->upper = answer->cheap = bound_cheap(problem);
    answer->is_exact = answer->lower == answer->upper;
    answer->stop = answer->is_exact ? SOLVE_NOT_STOPPED : SOLVE_GROUPS;
    return result;
}

int solve_parts(const struct problem *problem, const struct parts *parts, unsigned groups,
                const struct solve_settings *settings, struct solve_result *ret_result)
{
    struct solve_result answer = {0};
    struct part_sum sum = {.problem = problem, .parts = parts, .result = &answer};
    int result = -ENOMEM;

    if (parts->n_parts == 1)
        return solve(problem, settings, ret_result);
    answer.witness = calloc(problem->n * problem->warps, sizeof answer.witness[0]);
    if (groups > 1) {
        if (answer.witness)
            result = try_templates(problem, parts, groups, &answer);
    } else {
        answer.parts = calloc(parts->n_distinct, sizeof answer.parts[0]);
        sum.index = calloc(parts->n_parts, sizeof sum.index[0]);
        if (answer.witness && answer.parts && sum.index)
            result = add_all(&sum, settings);
        free(sum.index);
    }
    if (result) {
        solve_result_done(&answer);
        return result;
    }
    *ret_result = answer;
    return 0;
}

/* One part: the cheap bound, or the table's if it can be made and is lower. */
static int bound_part(const struct problem *problem, const struct relax_settings *settings,
                      struct solve_bound *ret_bound)
{
    struct relax relax;
    int result;

    *ret_bound = (struct solve_bound){.upper = bound_cheap(problem)};
    if (problem->warps == 1)
        return 0; /* a single warp never waits, so the cheap bound is its length */
    result = relax_build(problem, NULL, settings, &relax);
    if (result < 0)
        return result;
    ret_bound->is_cheap = result > 0;
    if (result == 0) {
        if (relax_start(&relax) < ret_bound->upper)
            ret_bound->upper = relax_start(&relax);
        relax_done(&relax);
    }
    return 0;
}

int solve_bound(const struct problem *problem, const struct parts *parts, unsigned groups,
                const struct relax_settings *settings, struct solve_bound *ret_bound)
{
    struct relax_settings share = *settings;
    struct solve_bound bound = {0};
    uint64_t *upper;

    if (groups > 1 && parts->n_parts > 1) {
        *ret_bound = (struct solve_bound){.upper = bound_cheap(problem)};
        return 0;
    }
    upper = calloc(parts->n_parts, sizeof upper[0]);
    if (!upper)
        return -ENOMEM;
    share.skips = true;
    if (settings->effort)
        share.effort = settings->effort / parts->n_distinct + 1;
    for (size_t p = 0; p < parts->n_parts; p++) {
        if (parts->like[p] == p) {
            struct problem part = parts_problem(parts, p, problem);
            struct solve_bound answer;
            int result = bound_part(&part, &share, &answer);

            if (result) {
                free(upper);
                return result;
            }
            upper[p] = answer.upper;
            bound.is_cheap = bound.is_cheap || answer.is_cheap;
        }
        bound.upper += upper[parts->like[p]];
    }
    free(upper);
    *ret_bound = bound;
    return 0;
}
