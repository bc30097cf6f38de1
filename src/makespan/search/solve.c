#include "makespan/search/solve.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "makespan/search/beam.h"
#include "makespan/search/bound.h"
#include "makespan/search/exact.h"
#include "makespan/search/refine.h"
#include "makespan/schedule.h"

/* states to enter when looking for a long schedule rather than for a proof */
#define DIVE_EFFORT    20000
#define PROOF_EFFORT   300000 /* states to enter before a tighter table is worth its time */
#define NARROW_BEAM    100
#define WIDE_BEAM      1000
#define REFINE_LEAST   ((size_t)4 << 20) /* a refined table of this size is always worth trying */
#define REFINE_MOST_BY 4                 /* else it may be this many times the first one */

struct solver {
    const struct problem *problem;
    const struct solve_settings *settings;
    struct solve_result *result;
    uint16_t *order; /* owned; scratch, n * W */
    struct relax relax;
    bool has_table;
};

/* Evaluates solver->order and keeps it if it is the longest so far. */
static int offer(struct solver *solver, unsigned *ret_makespan)
{
    size_t size = solver->problem->n * solver->problem->warps * sizeof solver->order[0];
    unsigned makespan;
    int result = schedule_evaluate(solver->problem, solver->order, NULL, &makespan);

    if (result)
        return result;
    if (makespan > solver->result->lower) {
        solver->result->lower = makespan;
        memcpy(solver->result->witness, solver->order, size);
    }
    if (ret_makespan)
        *ret_makespan = makespan;
    return 0;
}

static bool is_solved(const struct solver *solver)
{
    assert(solver->result->lower <= solver->result->upper);
    return solver->result->lower == solver->result->upper;
}

static void lower_upper(struct solver *solver, uint64_t upper)
{
    if (upper < solver->result->upper)
        solver->result->upper = upper;
}

static int try_starts(struct solver *solver)
{
    for (size_t i = 0; i < START_RANDOM; i++) {
        int result = start_make(solver->problem, (enum start)i, NULL, solver->order);

        if (result == 0)
            result = offer(solver, &solver->result->starts[i]);
        if (result)
            return result;
    }
    return 0;
}

/*
 * Builds the table and takes its bound. If it cannot be built, sets result->stop and continues
 * without it.
 */
static int make_table(struct solver *solver, const uint8_t cuts[], size_t memory)
{
    struct relax_settings limits = {.memory = memory, .until_at = solver->settings->until_at};
    int result;

    /* The table is used after it is built, so half of the time is kept for that. */
    if (limits.until_at)
        limits.until_at -= (limits.until_at - clock_now()) / 2;
    result = relax_build(solver->problem, cuts, &limits, &solver->relax);

    if (result < 0)
        return result;
    if (result == RELAX_TIMED_OUT) {
        solver->result->stop = SOLVE_TIME;
    } else if (result == RELAX_TOO_LARGE) {
        bool any = relax_size(solver->problem, cuts) != SIZE_MAX;

        solver->result->stop = any ? SOLVE_MEMORY : SOLVE_SIZE;
    } else {
        solver->has_table = true;
        solver->result->table_states = solver->relax.n_states;
        lower_upper(solver, relax_start(&solver->relax));
    }
    return 0;
}

static int try_beam(struct solver *solver, size_t width)
{
    int result;

    if (is_solved(solver))
        return 0;
    result = beam_run(solver->problem, solver->has_table ? &solver->relax : NULL, width,
                      solver->settings->anneal.seed, solver->settings->until_at, solver->order);
    if (result == BEAM_TIMED_OUT) {
        solver->result->stop = SOLVE_TIME;
        return 0;
    }
    return result ? result : offer(solver, NULL);
}

static int try_anneal(struct solver *solver)
{
    struct anneal_settings settings = solver->settings->anneal;
    struct solve_result *answer = solver->result;
    int result;

    if (is_solved(solver) && solver->settings->method != SOLVE_ANNEAL)
        return 0;
    settings.until_at = solver->settings->until_at;
    settings.enough = answer->upper <= UINT32_MAX ? (unsigned)answer->upper : 0;
    result = anneal_run(solver->problem, &settings, &answer->anneal);
    if (result)
        return result;
    memcpy(solver->order, answer->anneal.order,
           solver->problem->n * solver->problem->warps * sizeof solver->order[0]);
    if (answer->anneal.timed_out)
        answer->stop = SOLVE_TIME;
    return offer(solver, NULL);
}

/*
 * One target. 0: the interval got narrower, or the effort was spent; 1: a limit ended it; -errno.
 */
static int try_target(struct solver *solver, struct exact *exact, const struct state_space *space,
                      state_id path[], unsigned target, uint64_t effort)
{
    size_t n;
    int result = exact_search(exact, target, effort, solver->settings->until_at, path, &n);

    switch (result) {
    case 0:
        result = state_path_order(space, path, n, solver->order);
        return result ? result : offer(solver, NULL);
    case EXACT_NONE:
        lower_upper(solver, target - 1);
        return 0;
    case EXACT_OUT_OF_EFFORT:
        return 0;
    case EXACT_OUT_OF_TIME:
        solver->result->stop = SOLVE_TIME;
        return 1;
    default:
        solver->result->stop = SOLVE_MEMORY;
        return 1;
    }
}

/*
 * Searches for long schedules from the bound downwards, then proves from the longest known one
 * upwards. effort: for each target; 0: no limit.
 */
static int search(struct solver *solver, const struct state_space *space, uint64_t effort)
{
    struct solve_result *answer = solver->result;
    size_t used = solver->relax.n_states * solver->relax.value_size;
    struct exact *exact = exact_new(&solver->relax, space, solver->settings->memory - used);
    state_id *path = calloc(relax_start(&solver->relax) + 2, sizeof path[0]);
    int result = exact && path ? 0 : -ENOMEM;

    for (unsigned target = (unsigned)answer->upper; result == 0 && target > answer->lower; target--)
        result = try_target(solver, exact, space, path, target, DIVE_EFFORT);
    for (uint64_t gap = UINT64_MAX;
         result == 0 && !is_solved(solver) && answer->upper - answer->lower < gap;) {
        gap = answer->upper - answer->lower;
        result = try_target(solver, exact, space, path, answer->lower + 1, effort);
    }
    if (exact)
        answer->searched_states += exact_entered(exact);
    exact_free(exact);
    free(path);
    return result;
}

/* Replaces the table by a tighter one if there is one that fits. */
static int refine(struct solver *solver)
{
    size_t first = solver->relax.n_states * solver->relax.value_size;
    size_t most = REFINE_MOST_BY * first > REFINE_LEAST ? REFINE_MOST_BY * first : REFINE_LEAST;
    uint8_t *cuts = calloc(solver->problem->n, 1);
    struct relax coarse = solver->relax;
    int result;

    if (!cuts)
        return -ENOMEM;
    most = most > solver->settings->memory / 2 ? solver->settings->memory / 2 : most;
    result = refine_cuts(solver->problem, most, solver->settings->until_at, cuts);
    if (result == 0) {
        relax_done(&coarse);
        solver->has_table = false;
        result = make_table(solver, cuts, most);
    }
    free(cuts);
    return result == REFINE_NONE ? 0 : result;
}

static int prove(struct solver *solver)
{
    struct state_space space;
    int result;

    if (is_solved(solver) || !solver->has_table)
        return 0;
    result = state_space_init(solver->problem, &space);
    if (result == STATE_SPACE_TOO_LARGE) {
        solver->result->stop = SOLVE_SIZE;
        return 0;
    }
    if (result)
        return result;
    result = search(solver, &space, PROOF_EFFORT);
    if (result == 0 && !is_solved(solver))
        result = refine(solver);
    if (result == 0 && !is_solved(solver) && solver->has_table)
        result = search(solver, &space, 0);
    state_space_done(&space);
    return result > 0 ? 0 : result;
}

static int run(struct solver *solver)
{
    enum solve_method method = solver->settings->method;
    int result = try_starts(solver);

    if (result || method == SOLVE_ANNEAL)
        return result ? result : try_anneal(solver);
    if (!is_solved(solver))
        result = make_table(solver, NULL, solver->settings->memory / 4 * 3);
    if (solver->has_table)
        solver->result->relaxed = relax_start(&solver->relax);
    if (result || method == SOLVE_BOUND)
        return result;
    result = try_beam(solver, NARROW_BEAM);
    if (result == 0 && method == SOLVE_BEAM)
        result = try_beam(solver, WIDE_BEAM);
    if (result || method == SOLVE_BEAM)
        return result;
    result = prove(solver);
    if (result == 0 && method == SOLVE_AUTO &&
        (!solver->settings->until_at || clock_now() < solver->settings->until_at))
        result = try_anneal(solver);
    return result;
}

int solve(const struct problem *problem, const struct solve_settings *settings,
          struct solve_result *ret_result)
{
    struct solve_result answer = {.cheap = bound_cheap(problem), .upper = bound_cheap(problem)};
    struct solver solver = {.problem = problem, .settings = settings, .result = &answer};
    size_t length = problem->n * problem->warps;
    int result = -ENOMEM;

    solver.order = calloc(length, sizeof solver.order[0]);
    answer.witness = calloc(length, sizeof answer.witness[0]);
    if (solver.order && answer.witness)
        result = run(&solver);
    free(solver.order);
    if (solver.has_table)
        relax_done(&solver.relax);
    if (result) {
        solve_result_done(&answer);
        return result;
    }
    answer.is_exact = answer.lower == answer.upper;
    if (answer.is_exact)
        answer.stop = SOLVE_NOT_STOPPED;
    *ret_result = answer;
    return 0;
}

void solve_result_done(struct solve_result *result)
{
    free(result->witness);
    free(result->parts);
    anneal_result_done(&result->anneal);
    result->witness = NULL;
    result->parts = NULL;
}
