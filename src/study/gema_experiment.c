#include "study/gema_experiment.h"

#include <errno.h>

#include "analysis/holistic/holistic.h"
#include "analysis/holistic/holistic_printed.h"
#include "study/gema_generator.h"

#define MAX_NODES 200000 /* of one GLOBAL search; never reached at the sizes of the paper */

struct gema_bench {
    struct gema_generator *any, *placed;
    struct holistic *sound;
    struct holistic_printed *printed;
    struct planner *planner;
};

static int open_bench(double dependent, struct gema_bench *ret_bench)
{
    size_t stages = (size_t)GEMA_MAX_TASKS * GEMA_MAX_STAGES;
    struct gema_parameters parameters;

    gema_parameters_default(&parameters);
    parameters.dependent = dependent;
    parameters.placement = GEMA_ANY;
    ret_bench->any = gema_generator_new(&parameters);
    parameters.placement = GEMA_PAID;
    ret_bench->placed = gema_generator_new(&parameters);
    ret_bench->sound = holistic_new(GEMA_MAX_TASKS, stages, 3);
    ret_bench->printed = holistic_printed_new(GEMA_MAX_TASKS, stages, 3);
    ret_bench->planner = planner_new(GEMA_MAX_TASKS);
    return ret_bench->any && ret_bench->placed && ret_bench->sound && ret_bench->printed && ret_bench->planner
               ? 0
               : -ENOMEM;
}

static void close_bench(struct gema_bench *bench)
{
    planner_free(bench->planner);
    holistic_printed_free(bench->printed);
    holistic_free(bench->sound);
    gema_generator_free(bench->placed);
    gema_generator_free(bench->any);
}

static void count(struct gema_bench *bench, const struct mode_test *test, size_t schedulable[])
{
    static const enum plan_policy others[] = {POLICY_SINGLE, POLICY_LOCAL, POLICY_GEMA};
    unsigned char choice[GEMA_MAX_TASKS];
    struct plan_outcome outcome;

    test->class->attach(test->state, test->pipeline);
    planner_choose(bench->planner, test, POLICY_GLOBAL, MAX_NODES, choice, &outcome);
    /* If the exact answer is no, no policy answers yes. */
    if (outcome.complete && !outcome.schedulable)
        return;
    schedulable[POLICY_GLOBAL] += outcome.schedulable;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        planner_choose(bench->planner, test, others[i], MAX_NODES, choice, &outcome);
        schedulable[others[i]] += outcome.schedulable;
    }
}

int gema_experiment(double utilisation, double dependent, size_t sets, uint64_t seed, uint64_t stream,
                    struct gema_point *ret_point)
{
    struct gema_point point = {.utilisation = utilisation, .dependent = dependent, .sets = sets};
    struct random_state any;
    struct random_state placed;
    struct gema_bench bench;
    int result = open_bench(dependent, &bench);

    /* Two generators that draw the same numbers: the same sets with different options. */
    random_init(&any, seed, stream);
    random_init(&placed, seed, stream);
    for (size_t i = 0; i < sets && !result; i++) {
        const struct pipeline *one = gema_generate(bench.any, &any, utilisation);
        const struct pipeline *other = gema_generate(bench.placed, &placed, utilisation);

        count(&bench, &(struct mode_test){&holistic_printed_class, bench.printed, one},
              point.schedulable[CURVE_PRINTED]);
        count(&bench, &(struct mode_test){&holistic_class, bench.sound, one}, point.schedulable[CURVE_SOUND]);
        count(&bench, &(struct mode_test){&holistic_class, bench.sound, other},
              point.schedulable[CURVE_SOUND_PLACED]);
    }
    close_bench(&bench);
    if (!result)
        *ret_point = point;
    return result;
}
