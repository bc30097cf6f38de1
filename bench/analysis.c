/*
 * How fast pipelines are analysed and planned: sets per second of the simulation of GPU-SPARC Sec.
 * IV-D (4 CPUs, one bus, 4 GPUs), and how long GLOBAL takes on 20 tasks. Medians over rounds, with
 * the spread; one core.
 */
#include <stdio.h>
#include <stdlib.h>

#include "analysis/holistic/holistic.h"
#include "analysis/holistic/holistic_printed.h"
#include "analysis/plan/planner.h"
#include "base/clock.h"
#include "study/gema_generator.h"
#include "figure.h"

#define ROUNDS 7

struct bench {
    struct holistic *sound;
    struct holistic_printed *printed;
    struct planner *planner;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median, and how far the others lie around it. */
static void print_rate(const char *name, double rates[ROUNDS])
{
    qsort(rates, ROUNDS, sizeof rates[0], by_value);
    printf("%-44s %10.0f sets/s  (%.0f .. %.0f)\n", name, rates[ROUNDS / 2], rates[0], rates[ROUNDS - 1]);
}

static const char *const placement_names[] = {"any", "chosen", "any or chosen"};

/* Runs the policies on `sets` sets per round, attaching included and generating excluded. */
static void measure(struct bench *bench, bool printed, enum gema_placement placement, double target,
                    const enum plan_policy policies[], size_t n_policies, size_t sets)
{
    struct gema_parameters parameters;
    struct gema_generator *generator;
    struct random_state random;
    double rates[ROUNDS];
    char name[128];

    gema_parameters_default(&parameters);
    parameters.placement = placement;
    generator = gema_generator_new(&parameters);
    if (!generator)
        return;
    random_init(&random, 1, 1);
    for (size_t round = 0; round < ROUNDS; round++) {
        baton_nsec spent = 0;

        for (size_t s = 0; s < sets; s++) {
            const struct pipeline *pipeline = gema_generate(generator, &random, target);
            struct mode_test test = {printed ? &holistic_printed_class : &holistic_class,
                                     printed ? (void *)bench->printed : (void *)bench->sound, pipeline};
            unsigned char choice[GEMA_MAX_TASKS];
            struct plan_outcome outcome;
            baton_nsec begin_at = clock_now();

            test.class->attach(test.state, pipeline);
            for (size_t p = 0; p < n_policies; p++)
                planner_choose(bench->planner, &test, policies[p], 0, choice, &outcome);
            spent += clock_now() - begin_at;
        }
        rates[round] = (double)sets * 1e9 / (double)spent;
    }
    (void)snprintf(name, sizeof name, "%s, %s, %s, U_G %.1f", printed ? "printed" : "sound",
                   n_policies == 3 ? "single + local + gema" : plan_policy_names[policies[0]],
                   placement_names[placement], target);
    print_rate(name, rates);
    if (printed && n_policies == 3)
        figure_sorted("analysis-printed", rates, ROUNDS);
    gema_generator_free(generator);
}

/* GLOBAL on sets of 20 tasks, each to its answer: the distribution of the time of one set. */
static void measure_global(struct bench *bench, bool printed, enum gema_placement placement, double target,
                           size_t sets)
{
    struct gema_parameters parameters;
    struct gema_generator *generator;
    struct random_state random;
    double *times = calloc(sets, sizeof *times);
    uint64_t most_nodes = 0;
    size_t yes = 0;
    char at[16];

    gema_parameters_default(&parameters);
    parameters.n_tasks = 20;
    parameters.placement = placement;
    generator = gema_generator_new(&parameters);
    random_init(&random, 2, 2);
    for (size_t s = 0; s < sets && generator && times; s++) {
        struct mode_test test = {printed ? &holistic_printed_class : &holistic_class,
                                 printed ? (void *)bench->printed : (void *)bench->sound,
                                 gema_generate(generator, &random, target)};
        unsigned char choice[GEMA_MAX_TASKS];
        struct plan_outcome outcome;
        baton_nsec begin_at = clock_now();

        test.class->attach(test.state, test.pipeline);
        planner_choose(bench->planner, &test, POLICY_GLOBAL, 0, choice, &outcome);
        times[s] = (double)(clock_now() - begin_at) / 1e6;
        yes += outcome.schedulable;
        most_nodes = outcome.nodes > most_nodes ? outcome.nodes : most_nodes;
    }
    if (times && generator) {
        qsort(times, sets, sizeof times[0], by_value);
        printf("%s, global, 20 tasks, %s, U_G %.1f: median %.2f ms, 95 %% %.2f ms, longest %.1f ms, at most "
               "%llu nodes; %zu of %zu schedulable\n",
               printed ? "printed" : "sound", placement_names[placement], target, times[sets / 2],
               times[sets * 95 / 100], times[sets - 1], (unsigned long long)most_nodes, yes, sets);
        (void)snprintf(at, sizeof at, "%.0f", 10 * target);
        figure_of("global",
                  printed                  ? "printed"
                  : placement == GEMA_PAID ? "paid"
                                           : "sound",
                  at, times[sets / 2], times[0], times[sets * 95 / 100]);
    }
    gema_generator_free(generator);
    free(times);
}

int main(void)
{
    static const enum plan_policy three[] = {POLICY_SINGLE, POLICY_LOCAL, POLICY_GEMA};
    static const enum plan_policy gema[] = {POLICY_GEMA};
    static const enum plan_policy global[] = {POLICY_GLOBAL};
    size_t stages = (size_t)GEMA_MAX_TASKS * GEMA_MAX_STAGES;
    struct bench bench = {.sound = holistic_new(GEMA_MAX_TASKS, stages, 3),
                          .printed = holistic_printed_new(GEMA_MAX_TASKS, stages, 3),
                          .planner = planner_new(GEMA_MAX_TASKS)};

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (bench.sound && bench.printed && bench.planner) {
        measure(&bench, true, GEMA_ANY, 0.8, three, 3, 20000);
        measure(&bench, true, GEMA_ANY, 0.8, global, 1, 20000);
        measure(&bench, false, GEMA_ANY, 0.8, three, 3, 5000);
        measure(&bench, false, GEMA_ANY, 0.8, global, 1, 5000);
        measure(&bench, false, GEMA_PAID, 0.8, gema, 1, 500);
        measure(&bench, false, GEMA_PAID, 0.8, global, 1, 500);
        measure_global(&bench, true, GEMA_ANY, 0.4, 200);
        measure_global(&bench, true, GEMA_ANY, 0.8, 200);
        measure_global(&bench, true, GEMA_ANY, 1.2, 200);
        measure_global(&bench, false, GEMA_ANY, 0.8, 200);
        measure_global(&bench, false, GEMA_ANY, 1.2, 50);
        measure_global(&bench, false, GEMA_PAID, 0.8, 20);
    }
    planner_free(bench.planner);
    holistic_printed_free(bench.printed);
    holistic_free(bench.sound);
    return 0;
}
