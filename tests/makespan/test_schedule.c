/* Strings, schedules, starts: the paper's figures, and the evaluator against the oracle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "harness.h"
#include "makespan/search/bound.h"
#include "makespan/schedule.h"
#include "makespan/search/starts.h"
#include "makespan/search/walk.h"
#include "oracle.h"

static struct kernel parse(const char *text)
{
    struct kernel kernel;
    struct input_error error;

    ck_assert_int_eq(kernel_parse(text, strlen(text), "test", &kernel, &error), 0);
    return kernel;
}

/* Evaluates "1 1 2 ..." and compares with the cycles of the figure, both from 1. */
static void expect_cycles(const char *string, const char *order_text, const char *cycles_text)
{
    struct kernel kernel = parse(string);
    struct problem problem = {.units = kernel.units, .n = kernel.n, .capacity = {1, 1, 1, 1}};
    struct input_error error;
    uint16_t *order;
    uint32_t cycles[64];
    char text[256] = "";
    unsigned makespan;

    ck_assert_int_eq(schedule_parse(order_text, kernel.n, &order, &problem.warps, &error), 0);
    ck_assert_int_eq(schedule_evaluate(&problem, order, cycles, &makespan), 0);
    for (size_t i = 0; i < kernel.n * problem.warps; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), i ? " %u" : "%u", cycles[i] + 1);
    ck_assert_str_eq(text, cycles_text);
    free(order);
    kernel_done(&kernel);
}

START_TEST(figure_2_and_its_warp_cycle_string)
{
    /* Sec. VII prints the cycle string of string (2). */
    expect_cycles("LCL", "1 1 2 2 3 3 4 1 4 2 3 4", "1 2 2 3 3 4 4 5 5 6 7 8");
}
END_TEST

START_TEST(figure_5_and_its_equivalent_string)
{
    /*
     * Fig. 5: warp 1 in 1 2 4, warp 2 in 2 3 5, warp 3 in 3 4 6, warp 4 in 7 8 9; both strings of
     * sec. IV.
     */
    expect_cycles("LCL", "1 1 2 2 3 3 1 2 3 4 4 4", "1 2 2 3 3 4 4 5 6 7 8 9");
    expect_cycles("LCL", "1 2 1 3 2 3 1 2 3 4 4 4", "1 2 2 3 3 4 4 5 6 7 8 9");
}
END_TEST

START_TEST(figure_6_is_the_fixed_priority_start)
{
    struct kernel kernel = parse("LCCL");
    struct problem problem = {.units = kernel.units, .n = 4, .warps = 3, .capacity = {1, 1, 1, 1}};
    uint16_t order[12];

    ck_assert_int_eq(start_make(&problem, START_FIXED_PRIORITY, NULL, order), 0);
    for (size_t i = 0; i < 12; i++)
        ck_assert_uint_eq(order[i], i / 4);
    /* Warp 1: 1 2 3 4; warp 2: 2 4 5 6; warp 3: 3 6 7 8. */
    expect_cycles("LCCL", "1 1 1 1 2 2 2 2 3 3 3 3", "1 2 3 4 2 4 5 6 3 6 7 8");
    kernel_done(&kernel);
}
END_TEST

START_TEST(figure_7_is_the_most_pending_start)
{
    /*
     * By cycle, in the order of the list: 1 | 2 1 | 3 2 | 1 | 3 1 | 2 | 3 2 | 3 (list after cycle
     * 2: 3 2 1, as the text says).
     */
    static const uint16_t expected[12] = {0, 1, 0, 2, 1, 0, 2, 0, 1, 2, 1, 2};
    struct kernel kernel = parse("LCCL");
    struct problem problem = {.units = kernel.units, .n = 4, .warps = 3, .capacity = {1, 1, 1, 1}};
    uint16_t order[12];

    ck_assert_int_eq(start_make(&problem, START_MOST_PENDING, NULL, order), 0);
    for (size_t i = 0; i < 12; i++)
        ck_assert_uint_eq(order[i], expected[i]);
    kernel_done(&kernel);
}
END_TEST

START_TEST(round_robin_takes_turns)
{
    struct kernel kernel = parse("LC");
    struct problem problem = {.units = kernel.units, .n = 2, .warps = 3, .capacity = {1, 1, 1, 1}};
    uint16_t order[6];

    ck_assert_int_eq(start_make(&problem, START_ROUND_ROBIN, NULL, order), 0);
    for (size_t i = 0; i < 6; i++)
        ck_assert_uint_eq(order[i], i % 3);
    kernel_done(&kernel);
}
END_TEST

START_TEST(short_and_long_strings_are_the_same)
{
    struct kernel a = parse("5L9C2L9C");
    struct kernel b = parse("LLLLL CCCCCCCCC LL CCCCCCCCC");
    char *text = kernel_format(b.units, b.n);

    ck_assert_uint_eq(a.n, 25);
    ck_assert_uint_eq(b.n, 25);
    ck_assert_mem_eq(a.units, b.units, 25);
    ck_assert_str_eq(text, "5L9C2L9C");
    free(text);
    kernel_done(&a);
    kernel_done(&b);
}
END_TEST

START_TEST(barriers_are_read_printed_and_kept_by_normalisation)
{
    /* Before the first instruction, behind another one and at the end they change nothing. */
    struct kernel kernel = parse("/2L/ /C/CS/");
    struct kernel_timing timing = {.latency = {[UNIT_L] = 3, [UNIT_C] = 2}};
    unsigned capacity[N_UNITS] = {1, 4, 1, 1};
    double weights[N_UNITS];
    struct kernel normal;
    struct input_error error;
    char *text = kernel_format(kernel.units, kernel.n);

    ck_assert_uint_eq(kernel.n, 5);
    ck_assert_str_eq(text, "2L/C/CS/");
    free(text);
    ck_assert_int_eq(kernel_normalise(&kernel, &timing, capacity, &normal, &error), 0);
    text = kernel_format(normal.units, normal.n);
    ck_assert_str_eq(text, "6L/2C/2CS/");
    kernel_weights(&timing, capacity, weights);
    ck_assert_double_eq(weights[UNIT_L], 3);   /* 3 cycles on the only unit */
    ck_assert_double_eq(weights[UNIT_C], 0.5); /* 2 cycles on one of four */
    free(text);
    kernel_done(&kernel);
    kernel_done(&normal);
}
END_TEST

START_TEST(bad_strings_are_rejected_where_they_are_bad)
{
    static const struct {
        const char *text;
        unsigned column;
    } bad[] = {{"", 1},          {"  ", 3}, {"LXC", 2}, {"L0C", 2}, {"LC5", 4}, {"9999999999999999999L", 1},
               {"L1048576C", 2}, {"l", 1},  {"/", 2},   {"L2/C", 3}};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct kernel kernel;
        struct input_error error;

        ck_assert_int_eq(kernel_parse(bad[i].text, strlen(bad[i].text), "s", &kernel, &error),
                         INPUT_REJECTED);
        ck_assert_uint_eq(error.column, bad[i].column);
    }
}
END_TEST

START_TEST(normalisation_is_that_of_section_III_E)
{
    /*
     * "16 type-U units, latency 4, warp size 32: each U is replaced by (32/16) 4 = 8 Us, and
     * sigma_U = 1."
     */
    struct kernel kernel = parse("LSC");
    struct kernel_timing timing = {
        .latency = {[UNIT_S] = 4}, .count = {[UNIT_S] = 16, [UNIT_C] = 192}, .warp_size = 32};
    unsigned capacity[N_UNITS] = {1, 1, 1, 1};
    struct kernel normal;
    struct input_error error;
    char *text;

    ck_assert_int_eq(kernel_normalise(&kernel, &timing, capacity, &normal, &error), 0);
    text = kernel_format(normal.units, normal.n);
    ck_assert_str_eq(text, "L8SC");
    ck_assert_uint_eq(capacity[UNIT_S], 1);
    ck_assert_uint_eq(capacity[UNIT_C], 6); /* 192 / 32 */
    free(text);
    kernel_done(&kernel);
    kernel_done(&normal);
}
END_TEST

START_TEST(cheap_bound_is_the_formula_of_its_proof)
{
    struct kernel kernel = parse("5L9C2L9C");
    struct problem problem = {.units = kernel.units, .n = 25, .warps = 16, .capacity = {1, 4, 1, 1}};

    ck_assert_uint_eq(bound_cheap(&problem), 25 + 15 * 7 + 15 * 18 / 4); /* 25 + 105 + 67 */
    problem.issue = 2; /* C shares the pool: 105 + (270 + 0) / 2 */
    ck_assert_uint_eq(bound_cheap(&problem), 25 + 105 + 135);
    problem.warps = 1;
    ck_assert_uint_eq(bound_cheap(&problem), 25);
    kernel_done(&kernel);
}
END_TEST

/* A random kernel on a random machine, and a random string for it. */
static struct problem random_problem(struct random_state *random, uint8_t units[], size_t most,
                                     unsigned warps)
{
    struct problem problem = {.units = units, .n = (size_t)random_between(random, 1, (int64_t)most)};

    problem.warps = (unsigned)random_between(random, 1, warps);
    for (size_t i = 0; i < problem.n; i++)
        units[i] = (uint8_t)random_below(random, i && random_below(random, 2) ? N_UNITS : 2);
    for (size_t u = 0; u < N_UNITS; u++)
        problem.capacity[u] = (unsigned)random_between(random, 1, random_below(random, 4) ? 4 : 9);
    problem.issue = random_below(random, 2) ? (unsigned)random_between(random, 1, 6) : 0;
    return problem;
}

START_TEST(evaluator_agrees_with_the_oracle_on_random_strings)
{
    struct random_state random;
    size_t wide = 0, capped = 0;

    random_init(&random, 7, 0);
    for (size_t i = 0; i < harness_scale(400, 20000); i++) {
        uint8_t units[24];
        struct problem problem = random_problem(&random, units, 24, 12);
        uint16_t order[24 * 12];
        uint32_t cycles[24 * 12], expected[24 * 12];
        unsigned makespan;

        ck_assert_int_eq(start_make(&problem, (enum start)random_below(&random, N_STARTS), &random, order),
                         0);
        ck_assert_int_eq(schedule_evaluate(&problem, order, cycles, &makespan), 0);
        ck_assert_uint_eq(makespan, oracle_evaluate(&problem, order, expected));
        ck_assert_mem_eq(cycles, expected, problem.n * problem.warps * sizeof cycles[0]);
        ck_assert_uint_le(makespan, bound_cheap(&problem));
        ck_assert(oracle_is_work_conserving(&problem, order, cycles));
        wide += problem.capacity[0] > SLOTS_LEVELS;
        capped += problem.issue > 0;
    }
    ck_assert_uint_gt(wide, 10);
    ck_assert_uint_gt(capped, 100);
}
END_TEST

START_TEST(walks_know_their_makespans_after_every_move)
{
    struct random_state random;
    size_t rejected = 0, shared = 0;

    random_init(&random, 11, 0);
    for (size_t i = 0; i < harness_scale(40, 2000); i++) {
        uint8_t units[20];
        struct problem problem = random_problem(&random, units, 20, 10);
        size_t n = problem.n * problem.warps;
        size_t n_walks = 1 + random_below(&random, SLOTS_LANES);
        uint16_t order[200], now[200];
        struct walk *walks[SLOTS_LANES];

        for (size_t w = 0; w < n_walks; w++) {
            ck_assert_int_eq(start_make(&problem, START_RANDOM, &random, order), 0);
            walks[w] = walk_new(&problem, order);
            ck_assert_ptr_nonnull(walks[w]);
        }
        for (size_t move = 0; move < 100; move++) {
            struct walk *left[SLOTS_LANES];
            size_t n_left = n_walks;

            for (size_t w = 0; w < n_walks; w++) {
                size_t from = random_below(&random, n), to = random_below(&random, n);

                if (random_below(&random, 2))
                    walk_try_reinsert(walks[w], from, to);
                else
                    walk_try_swap(walks[w], from, to);
                left[w] = walks[w];
            }
            while (n_left > 0) {
                size_t still = 0;

                shared += n_left == SLOTS_LANES;
                walk_go_on(left, n_left);
                for (size_t w = 0; w < n_left; w++) {
                    if (!walk_is_evaluated(left[w]))
                        left[still++] = left[w];
                }
                n_left = still;
            }
            for (size_t w = 0; w < n_walks; w++) {
                walk_order(walks[w], now);
                ck_assert_uint_eq(walk_tried(walks[w]), oracle_evaluate(&problem, now, NULL));
                if (random_below(&random, 2)) {
                    walk_accept(walks[w]);
                } else {
                    walk_reject(walks[w]);
                    rejected++;
                }
                walk_order(walks[w], now);
                ck_assert_uint_eq(walk_makespan(walks[w]), oracle_evaluate(&problem, now, NULL));
            }
        }
        for (size_t w = 0; w < n_walks; w++)
            walk_free(walks[w]);
    }
    ck_assert_uint_gt(rejected, 100);
    ck_assert_uint_gt(shared, 100);
}
END_TEST

START_TEST(a_string_must_have_each_warp_once_per_instruction)
{
    static const char *const bad[] = {"",      "1 1",    "1 2 1 2 1", "0 0 0", "1 1 1 3 3 3",
                                      "1 1 x", "-1 1 1", "5000 1 1"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint16_t *order = NULL;
        unsigned warps;
        struct input_error error;

        ck_assert_int_eq(schedule_parse(bad[i], 3, &order, &warps, &error), INPUT_REJECTED);
        ck_assert_ptr_null(order);
    }
}
END_TEST

HARNESS_MAIN("makespan schedule", 60, figure_2_and_its_warp_cycle_string, figure_5_and_its_equivalent_string,
             figure_6_is_the_fixed_priority_start, figure_7_is_the_most_pending_start,
             round_robin_takes_turns, short_and_long_strings_are_the_same,
             barriers_are_read_printed_and_kept_by_normalisation, bad_strings_are_rejected_where_they_are_bad,
             normalisation_is_that_of_section_III_E, cheap_bound_is_the_formula_of_its_proof,
             evaluator_agrees_with_the_oracle_on_random_strings, walks_know_their_makespans_after_every_move,
             a_string_must_have_each_warp_once_per_instruction)
