/* Grids and barriers: every bound against exhaustion, and what must never fall. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "grid_oracle.h"
#include "harness.h"
#include "makespan/search/bound.h"
#include "makespan/search/grid.h"
#include "makespan/search/solve.h"

#define MEMORY ((size_t)200 << 20)
#define STATES 200000

/* A case as src/makespan sees it. */
struct subject {
    struct kernel kernel;
    struct parts parts;
    struct problem problem; /* of one multiprocessor */
    struct grid grid;
};

static struct subject subject_of(const struct grid_case *grid)
{
    struct subject subject = {.grid = {.resident = grid->resident,
                                       .multiprocessors = grid->multiprocessors,
                                       .groups = grid->groups}};
    struct input_error error;

    ck_assert_int_eq(kernel_parse(grid->string, strlen(grid->string), "test", &subject.kernel, &error), 0);
    ck_assert_int_eq(parts_split(&subject.kernel, &subject.parts), 0);
    subject.problem = (struct problem){.units = subject.parts.units,
                                       .n = subject.parts.n,
                                       .warps = grid->warps * grid->resident,
                                       .issue = grid->issue};
    memcpy(subject.problem.capacity, grid->capacity, sizeof grid->capacity);
    return subject;
}

static void subject_done(struct subject *subject)
{
    kernel_done(&subject->kernel);
    parts_done(&subject->parts);
}

/* The same multiprocessor with as many groups as it holds, which all start together. */
static unsigned worst_round(const struct grid_case *grid)
{
    struct grid_case round = *grid;

    round.multiprocessors = 1;
    round.groups = grid->resident;
    return grid_worst(&round, STATES);
}

static void print_case(const struct grid_case *grid, const char *what, unsigned long long found)
{
    printf("%s L=%u C=%u S=%u D=%u issue %u, %u warps a group, %u resident, %u multiprocessors, %u groups: "
           "%s %llu\n",
           grid->string, grid->capacity[0], grid->capacity[1], grid->capacity[2], grid->capacity[3],
           grid->issue, grid->warps, grid->resident, grid->multiprocessors, grid->groups, what, found);
}

/* Small enough to be explored in a fraction of a millisecond. */
static struct grid_case random_grid(struct random_state *random)
{
    struct grid_case grid = {0};
    unsigned n, kinds = random_below(random, 3) ? 2 : 3;
    size_t at = 0;

    grid.multiprocessors = random_below(random, 4) ? 1 : 2;
    grid.resident =
        random_below(random, 5) ? 2 + (unsigned)random_below(random, 3 - grid.multiprocessors) : 1;
    grid.warps = grid.multiprocessors * grid.resident <= 3 ? (unsigned)random_between(random, 1, 2) : 1;
    grid.groups = (unsigned)random_between(random, 1, grid.multiprocessors * grid.resident + 4);
    n = (unsigned)random_between(random, 1, grid.multiprocessors * grid.resident * grid.warps > 3 ? 4 : 6);
    for (unsigned i = 0; i < n; i++) {
        grid.string[at++] = "LCSD"[random_below(random, kinds)];
        if (i + 1 < n && random_below(random, 5) == 0)
            grid.string[at++] = '/';
    }
    for (unsigned u = 0; u < 4; u++)
        grid.capacity[u] = random_below(random, 3) ? 1 : (unsigned)random_between(random, 2, 4);
    grid.issue = random_below(random, 3) ? 0 : (unsigned)random_between(random, 1, 3);
    grid.skips = random_below(random, 4) == 0;
    return grid;
}

START_TEST(no_execution_of_100000_small_grids_exceeds_the_bound)
{
    struct random_state random;
    size_t beyond_rounds = 0, attained = 0, waiting = 0, shared = 0, barriers = 0;
    size_t n = harness_sanitized() ? 10000 : 100000; /* a sanitizer looks for something else, and is slow */

    random_init(&random, 19, 0);
    for (size_t i = 0; i < n; i++) {
        struct grid_case grid = random_grid(&random);
        struct subject subject = subject_of(&grid);
        unsigned round = worst_round(&grid);
        unsigned worst = grid_worst(&grid, STATES);
        unsigned places = grid.multiprocessors * grid.resident;
        uint64_t bound = grid_bound(&subject.problem, &subject.grid, round);

        ck_assert_uint_gt(round, 0);
        ck_assert_uint_gt(worst, 0);
        if (worst > bound)
            print_case(&grid, "reached", worst);
        ck_assert_uint_le(worst, bound);
        beyond_rounds += worst > (grid.groups + places - 1) / places * round;
        attained += worst == bound;
        waiting += grid.groups > places;
        shared += grid.resident > 1 && grid.multiprocessors > 1 && grid.groups > places;
        barriers += strchr(grid.string, '/') != NULL;
        subject_done(&subject);
    }
    /*
     * The generator reaches what is interesting: grids that last longer than their rounds, and
     * bounds that are attained.
     */
    ck_assert_uint_gt(beyond_rounds, n / 250);
    ck_assert_uint_gt(attained, n / 3);
    ck_assert_uint_gt(waiting, n / 2);
    ck_assert_uint_gt(shared, n / 20);
    ck_assert_uint_gt(barriers, n / 5);
}
END_TEST

START_TEST(a_group_that_starts_late_makes_a_grid_longer_than_its_rounds)
{
    /*
     * Two warps of SLS that start together take 4 cycles at most: S, then S beside L, then L beside
     * S, then S. Four groups of one warp, two at a time, are two rounds: 8 cycles. But 9 are
     * reachable: a warp that starts beside one in its middle is out of step.
     */
    struct grid_case grid = {.string = "SLS",
                             .capacity = {1, 1, 1, 1},
                             .warps = 1,
                             .resident = 2,
                             .multiprocessors = 1,
                             .groups = 4};
    struct subject subject = subject_of(&grid);

    ck_assert_uint_eq(worst_round(&grid), 4);
    ck_assert_uint_eq(grid_worst(&grid, STATES), 9);
    /* Two chains of 3, and the work of 4 - 2 other warps: 6 + 2 x 3. */
    ck_assert_uint_eq(grid_bound(&subject.problem, &subject.grid, 4), 12);
    /* All at once, or one at a time: nothing starts late. */
    subject.grid.groups = 2;
    ck_assert_uint_eq(grid_bound(&subject.problem, &subject.grid, 4), 4);
    subject.grid = (struct grid){.resident = 1, .multiprocessors = 3, .groups = 7};
    ck_assert_uint_eq(grid_bound(&subject.problem, &subject.grid, 4), 12);
    subject_done(&subject);
}
END_TEST

static struct solve_result solve_with(const struct subject *subject, enum solve_method method)
{
    struct solve_settings settings = {
        .method = method,
        .memory = MEMORY,
        .anneal = {.iterations = 200, .instances = 4, .threads = 1, .temperature = 0.3, .seed = 1}};
    struct solve_result result;

    ck_assert_int_eq(
        solve_parts(&subject->problem, &subject->parts, subject->grid.resident, &settings, &result), 0);
    return result;
}

START_TEST(a_barrier_makes_a_kernel_longer)
{
    /*
     * CCC/LLC, 4 warps, one unit each. Before the barrier 4 x 3 cycles of C. After it 4 x 2 cycles
     * of L and the last warp's C: 9. Without the barrier the L of one warp runs beside the C of
     * another: 18.
     */
    struct grid_case grid = {.string = "CCC/LLC",
                             .capacity = {1, 1, 1, 1},
                             .warps = 4,
                             .resident = 1,
                             .multiprocessors = 1,
                             .groups = 1};
    struct subject subject = subject_of(&grid);
    struct solve_result result = solve_with(&subject, SOLVE_AUTO);

    ck_assert_uint_eq(grid_worst(&grid, STATES), 12 + 9);
    ck_assert(result.is_exact);
    ck_assert_uint_eq(result.lower, 12 + 9);
    ck_assert_uint_eq(result.n_parts, 2);
    ck_assert_uint_eq(result.parts[0].upper, 12);
    ck_assert_uint_eq(result.parts[1].upper, 9);
    solve_result_done(&result);
    subject_done(&subject);
    (void)snprintf(grid.string, sizeof grid.string, "CCCLLC");
    ck_assert_uint_eq(grid_worst(&grid, STATES), 18);
}
END_TEST

/* One multiprocessor, `resident` groups that start together, at least one barrier in the string. */
static struct grid_case random_barriers(struct random_state *random, unsigned resident)
{
    struct grid_case grid = {.resident = resident, .multiprocessors = 1, .groups = resident};
    unsigned n = (unsigned)random_between(random, 2, resident > 1 ? 5 : 6);
    size_t at = 0, barrier = 1 + random_below(random, n - 1);

    for (unsigned i = 0; i < n; i++) {
        if (i && (i == barrier || random_below(random, 4) == 0))
            grid.string[at++] = '/';
        grid.string[at++] = "LCSD"[random_below(random, random_below(random, 3) ? 2 : 4)];
    }
    for (unsigned u = 0; u < 4; u++)
        grid.capacity[u] = (unsigned)random_between(random, 1, 3);
    grid.issue = random_below(random, 2) ? (unsigned)random_between(random, 1, 4) : 0;
    grid.warps = (unsigned)random_between(random, 1, resident > 1 ? 2 : 5);
    return grid;
}

/*
 * The answer brackets what exhaustion finds, and its witness is an execution that lasts as long as
 * it says.
 */
static void expect_bracket(const struct subject *subject, const struct grid_case *grid,
                           const struct solve_result *result, unsigned worst)
{
    uint32_t cycles[GRID_MOST_STEPS * GRID_MOST_WARPS];
    unsigned makespan;

    if (result->lower > worst || result->upper < worst)
        print_case(grid, "worst", worst);
    ck_assert_uint_le(result->lower, worst);
    ck_assert_uint_ge(result->upper, worst);
    ck_assert_int_eq(result->is_exact, result->lower == result->upper);
    ck_assert_int_eq(parts_evaluate(&subject->problem, &subject->parts, grid->resident, result->witness,
                                    cycles, &makespan),
                     0);
    ck_assert_uint_eq(makespan, result->lower);
    ck_assert(grid_is_execution(grid, result->witness, cycles));
}

START_TEST(the_sum_of_the_parts_is_the_worst_case_of_one_group)
{
    struct random_state random;
    size_t beyond = 0, below = 0;

    random_init(&random, 23, 0);
    for (size_t i = 0; i < harness_scale(400, 10000); i++) {
        struct grid_case grid = random_barriers(&random, 1);
        struct grid_case without = grid;
        struct subject subject = subject_of(&grid);
        unsigned worst = grid_worst(&grid, STATES);
        size_t n = 0;

        for (const char *at = grid.string; *at; at++) {
            if (*at != '/')
                without.string[n++] = *at;
        }
        without.string[n] = 0;
        for (enum solve_method method = SOLVE_AUTO; method <= SOLVE_BOUND; method++) {
            struct solve_result result = solve_with(&subject, method);

            expect_bracket(&subject, &grid, &result, worst);
            if (method == SOLVE_EXACT || method == SOLVE_AUTO)
                ck_assert(result.is_exact);
            solve_result_done(&result);
        }
        beyond += worst > grid_worst(&without, STATES);
        below += worst < grid_worst(&without, STATES);
        subject_done(&subject);
    }
    /* A string without its barriers is neither an upper nor a lower bound. */
    ck_assert_uint_gt(beyond, 50);
    ck_assert_uint_gt(below, 5);
}
END_TEST

START_TEST(barriers_of_several_groups_stay_within_the_interval)
{
    struct random_state random;
    size_t unlike_one = 0;

    random_init(&random, 29, 0);
    for (size_t i = 0; i < harness_scale(600, 10000); i++) {
        struct grid_case grid = random_barriers(&random, 2 + (unsigned)random_below(&random, 2));
        struct grid_case one = grid;
        struct subject subject = subject_of(&grid);
        unsigned worst = grid_worst(&grid, STATES);
        struct solve_result result = solve_with(&subject, SOLVE_AUTO);

        expect_bracket(&subject, &grid, &result, worst);
        one.warps = grid.warps * grid.resident;
        one.resident = one.groups = 1;
        unlike_one += worst != grid_worst(&one, STATES);
        solve_result_done(&result);
        subject_done(&subject);
    }
    ck_assert_uint_gt(unlike_one, 50); /* so the sum of the parts would be wrong here */
}
END_TEST

START_TEST(any_order_of_warps_becomes_an_execution_with_its_barriers)
{
    struct random_state random;

    random_init(&random, 31, 0);
    for (size_t i = 0; i < harness_scale(1000, 50000); i++) {
        struct grid_case grid = random_barriers(&random, 1 + (unsigned)random_below(&random, 3));
        struct subject subject = subject_of(&grid);
        uint16_t order[GRID_MOST_STEPS * GRID_MOST_WARPS];
        uint32_t cycles[GRID_MOST_STEPS * GRID_MOST_WARPS];
        unsigned makespan, last = 0;

        ck_assert_int_eq(start_make(&subject.problem, START_RANDOM, &random, order), 0);
        ck_assert_int_eq(
            parts_evaluate(&subject.problem, &subject.parts, grid.resident, order, cycles, &makespan), 0);
        ck_assert(grid_is_execution(&grid, order, cycles));
        for (size_t j = 0; j < subject.problem.n * subject.problem.warps; j++)
            last = cycles[j] + 1 > last ? cycles[j] + 1 : last;
        ck_assert_uint_eq(makespan, last);
        subject_done(&subject);
    }
}
END_TEST

START_TEST(the_bound_of_task_sets_holds_for_warps_that_leave_out_instructions)
{
    struct random_state random;
    size_t anomalies = 0, tight = 0, plain_is_wrong = 0;

    random_init(&random, 41, 0);
    for (size_t i = 0; i < harness_scale(3000, 50000); i++) {
        const struct relax_settings settings = {.memory = MEMORY};
        struct grid_case grid = random_barriers(&random, random_below(&random, 3) ? 1 : 2);
        struct subject subject = subject_of(&grid);
        unsigned whole = grid_worst(&grid, STATES), worst;
        struct solve_result result = solve_with(&subject, SOLVE_BOUND);
        struct solve_bound bound;

        grid.skips = true;
        worst = grid_worst(&grid, STATES);
        ck_assert_int_eq(solve_bound(&subject.problem, &subject.parts, grid.resident, &settings, &bound), 0);
        ck_assert_uint_gt(worst, 0);
        if (worst > bound.upper)
            print_case(&grid, "with omissions", worst);
        ck_assert_uint_le(worst, bound.upper);
        ck_assert_uint_le(bound.upper, bound_cheap(&subject.problem));
        anomalies += worst > whole;
        tight += bound.upper < bound_cheap(&subject.problem);
        plain_is_wrong += result.upper < worst;
        solve_result_done(&result);
        subject_done(&subject);
    }
    /* To leave out work can take longer, and then a bound for the whole string is too low. */
    ck_assert_uint_gt(anomalies, 20);
    ck_assert_uint_gt(plain_is_wrong, 5);
    ck_assert_uint_gt(tight, 500);
}
END_TEST

START_TEST(a_relaxed_run_longer_than_the_cheap_bound_does_not_wrap)
{
    /*
     * Two warps, four S and four C at a time, at most five in all. The cheap bound is below 256, so
     * values are bytes; a relaxed run of these is longer than that. One warp alone takes as many
     * cycles as it has instructions.
     */
    static const char *const strings[] = {"150S45C", "160S40C", "155S42C", "3C180L"};

    for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
        struct grid_case grid = {.capacity = {4, 4, 4, 1}, .issue = 5, .warps = 2, .resident = 1};
        struct subject subject;
        struct solve_result result;

        (void)snprintf(grid.string, sizeof grid.string, "%s", strings[i]);
        subject = subject_of(&grid);
        result = solve_with(&subject, SOLVE_BOUND);
        ck_assert_uint_lt(bound_cheap(&subject.problem), 256);
        ck_assert_uint_ge(result.lower, subject.problem.n);
        ck_assert_uint_ge(result.upper, result.lower);
        ck_assert_uint_le(result.upper, bound_cheap(&subject.problem));
        solve_result_done(&result);
        subject_done(&subject);
    }
}
END_TEST

START_TEST(more_warps_never_have_a_smaller_bound)
{
    struct random_state random;
    size_t cheap = 0, tight = 0;

    random_init(&random, 37, 0);
    for (size_t i = 0; i < harness_scale(150, 3000); i++) {
        /* Limits that some of the tables exceed, by memory or by effort. */
        const struct relax_settings limits = {.memory = (size_t)1 << random_between(&random, 8, 18),
                                              .effort = (uint64_t)1 << random_between(&random, 8, 18)};
        struct grid_case grid = random_barriers(&random, random_below(&random, 3) ? 1 : 2);
        struct subject subject;
        uint64_t before = 0, grid_before = 0;

        subject = subject_of(&grid);
        subject.grid.groups = 1 + random_below(&random, 20);
        subject.grid.multiprocessors = 1 + random_below(&random, 3);
        for (unsigned warps = 1; warps <= 24; warps++) {
            struct solve_bound bound;
            uint64_t cycles;

            subject.problem.warps = warps * subject.grid.resident;
            ck_assert_int_eq(
                solve_bound(&subject.problem, &subject.parts, subject.grid.resident, &limits, &bound), 0);
            cycles = grid_bound(&subject.problem, &subject.grid, bound.upper);
            ck_assert_uint_ge(bound.upper, before);
            ck_assert_uint_ge(cycles, grid_before);
            ck_assert_uint_le(bound.upper, bound_cheap(&subject.problem));
            before = bound.upper;
            grid_before = cycles;
            cheap += bound.is_cheap;
            tight += bound.upper < bound_cheap(&subject.problem);
        }
        subject_done(&subject);
    }
    ck_assert_uint_gt(cheap, 200);
    ck_assert_uint_gt(tight, 200);
}
END_TEST

START_TEST(a_limit_on_effort_depends_on_the_problem_alone_and_is_kept_within_a_row)
{
    /*
     * 64 segments and wide units: a row of this table has very many ways on, so that a limit per
     * row would not hold.
     */
    char string[129];
    struct kernel kernel;
    struct input_error error;
    struct problem problem = {.warps = 255, .capacity = {16, 16, 16, 16}, .issue = 24};
    struct relax relax;
    int answer;

    for (size_t i = 0; i < 64; i++)
        string[i] = "LC"[i % 2];
    ck_assert_int_eq(kernel_parse(string, 64, "test", &kernel, &error), 0);
    problem.units = kernel.units;
    problem.n = kernel.n;
    ck_assert_int_eq(
        relax_build(&problem, NULL, &(struct relax_settings){.memory = MEMORY, .effort = 100000}, &relax),
        RELAX_TOO_LARGE);
    /* Few warps: small enough for the memory, too much for the effort; twice the same. */
    problem.warps = 5;
    for (size_t i = 0; i < 2; i++) {
        answer =
            relax_build(&problem, NULL, &(struct relax_settings){.memory = MEMORY, .effort = 100000}, &relax);
        ck_assert_int_eq(answer, RELAX_OUT_OF_EFFORT);
    }
    problem.warps = 2;
    ck_assert_int_eq(
        relax_build(&problem, NULL, &(struct relax_settings){.memory = MEMORY, .effort = 100000}, &relax), 0);
    relax_done(&relax);
    kernel_done(&kernel);
}
END_TEST

HARNESS_MAIN("makespan grid", 120, no_execution_of_100000_small_grids_exceeds_the_bound,
             a_group_that_starts_late_makes_a_grid_longer_than_its_rounds, a_barrier_makes_a_kernel_longer,
             the_sum_of_the_parts_is_the_worst_case_of_one_group,
             barriers_of_several_groups_stay_within_the_interval,
             any_order_of_warps_becomes_an_execution_with_its_barriers,
             the_bound_of_task_sets_holds_for_warps_that_leave_out_instructions,
             a_relaxed_run_longer_than_the_cheap_bound_does_not_wrap, more_warps_never_have_a_smaller_bound,
             a_limit_on_effort_depends_on_the_problem_alone_and_is_kept_within_a_row)
