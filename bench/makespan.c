/*
 * Makespan: iterations of the annealer against an evaluator that starts from scratch, and what a
 * proof costs. Times are of this machine; the ratios are measured within one run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "base/random.h"
#include "makespan/search/anneal.h"
#include "makespan/search/solve.h"
#include "makespan/search/starts.h"
#include "oracle.h"
#include "figure.h"

#define ROUNDS 5

static const char *const case_study = "5L9C2L9C";

static struct problem make_problem(struct kernel *kernel, unsigned warps, unsigned issue)
{
    struct input_error error;

    if (kernel_parse(case_study, strlen(case_study), "case study", kernel, &error))
        abort();
    return (struct problem){
        .units = kernel->units, .n = kernel->n, .warps = warps, .capacity = {1, 4, 1, 1}, .issue = issue};
}

static int by_value(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static void print(const char *what, double values[ROUNDS], const char *unit)
{
    qsort(values, ROUNDS, sizeof values[0], by_value);
    printf("%-52s %8.3f %s  (%.3f .. %.3f)\n", what, values[ROUNDS / 2], unit, values[0], values[ROUNDS - 1]);
}

/*
 * Millions of iterations per second of one thread that runs four instances. By the clock, and by
 * the processor time it got: that is what a core does that is not shared.
 */
static double anneal_rate(const struct problem *problem, enum anneal_move move, uint64_t seed, unsigned *best,
                          double *ret_per_cpu_second)
{
    struct anneal_settings settings = {
        .iterations = 100000, .instances = 4, .threads = 1, .temperature = 0.3, .move = move, .seed = seed};
    struct anneal_result result;
    baton_nsec began_at = clock_now();
    clock_t cpu_began_at = clock();
    double rate;

    if (anneal_run(problem, &settings, &result))
        abort();
    rate = (double)result.iterations / (double)(clock_now() - began_at) * 1e3;
    *ret_per_cpu_second = (double)result.iterations / (double)(clock() - cpu_began_at) * CLOCKS_PER_SEC / 1e6;
    *best = result.makespan > *best ? result.makespan : *best;
    anneal_result_done(&result);
    return rate;
}

/* Millions of evaluations per second from scratch, by the oracle of the tests. */
static double scratch_rate(const struct problem *problem)
{
    uint16_t *order = malloc(problem->n * problem->warps * sizeof order[0]);
    struct random_state random;
    baton_nsec began_at;
    double rate;
    unsigned n = 0;

    random_init(&random, 1, 1);
    if (!order || start_make(problem, START_RANDOM, &random, order))
        abort();
    began_at = clock_now();
    for (; n < 200; n++) {
        if (oracle_evaluate(problem, order, NULL) == 0)
            abort();
    }
    rate = (double)n / (double)(clock_now() - began_at) * 1e3;
    free(order);
    return rate;
}

static void bench_anneal(void)
{
    struct kernel kernel;
    struct problem problem = make_problem(&kernel, 16, 0);
    double reinsert[ROUNDS], reinsert_cpu[ROUNDS], swap[ROUNDS], swap_cpu[ROUNDS], scratch[ROUNDS],
        ratio[ROUNDS];
    unsigned best = 0, best_swap = 0;

    for (unsigned i = 0; i < ROUNDS; i++) {
        reinsert[i] = anneal_rate(&problem, ANNEAL_REINSERT, i, &best, &reinsert_cpu[i]);
        swap[i] = anneal_rate(&problem, ANNEAL_SWAP, i, &best_swap, &swap_cpu[i]);
        scratch[i] = scratch_rate(&problem);
        ratio[i] = reinsert[i] / scratch[i];
    }
    printf("%s, L=1 C=4, 16 warps, one thread\n", case_study);
    print("annealing, reinsert", reinsert, "M iterations/s");
    print("annealing, reinsert, by processor time", reinsert_cpu, "M iterations/s");
    print("annealing, swap, by processor time", swap_cpu, "M iterations/s");
    print("annealing, swap", swap, "M iterations/s");
    print("evaluation from scratch (the tests' oracle)", scratch, "M evaluations/s");
    print("annealing (reinsert) / from scratch", ratio, "x");
    figure_sorted("makespan-anneal", reinsert_cpu, ROUNDS);
    figure_sorted("makespan-anneal-ratio", ratio, ROUNDS);
    printf("best of %d x 0.4 M iterations: reinsert %u, swap %u (worst case 160)\n", ROUNDS, best, best_swap);
    kernel_done(&kernel);
}

static void bench_exact(unsigned warps, unsigned issue)
{
    struct kernel kernel;
    struct problem problem = make_problem(&kernel, warps, issue);
    struct solve_settings settings = {
        .method = SOLVE_EXACT, .memory = (size_t)1000 * 1000 * 1000, .anneal = {.seed = 1}};
    struct solve_result result;
    struct rusage usage;
    baton_nsec began_at = clock_now();
    double seconds;

    if (solve(&problem, &settings, &result))
        abort();
    seconds = (double)(clock_now() - began_at) / 1e9;
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("exact, %2u warps, %-9s %3u .. %3llu %-10s %7.2f s, %llu states searched, table %.1f M, peak so "
           "far %.0f MB\n",
           warps, issue ? "cap of 4:" : "no cap:", result.lower, (unsigned long long)result.upper,
           result.is_exact ? "(proven)" : "(not proven)", seconds, (unsigned long long)result.searched_states,
           (double)result.table_states / 1e6, (double)usage.ru_maxrss / 1e3);
    if (warps == 16 && result.is_exact)
        figure(issue ? "makespan-exact-capped" : "makespan-exact", seconds, seconds, seconds);
    solve_result_done(&result);
    kernel_done(&kernel);
}

int main(void)
{
    setlinebuf(stdout);
    bench_anneal();
    bench_exact(8, 0);
    bench_exact(8, 4);
    bench_exact(16, 4);
    bench_exact(16, 0);
    return 0;
}
