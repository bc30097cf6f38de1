/*
 * What the analyses promise, the simulator tries to break: on random sets that an analysis accepts,
 * no simulated response exceeds its bound, under offsets searched for, sporadic gaps, short
 * executions, any tie order and any choice of GPUs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cpu/fair_lateness.h"
#include "analysis/gpusync/gpusync.h"
#include "analysis/gpusync/input/gpusync_task_set.h"
#include "analysis/holistic/pipeline_analysis.h"
#include "generate.h"
#include "harness.h"
#include "attack_costs.h"
#include "sim/search.h"

#define RUNS harness_scale(16, 24) /* per set */

/* How many sets to attack; a tenth under a sanitizer, which makes everything slower. */
static size_t sets(size_t normal, size_t soak)
{
    return harness_scale(harness_sanitized() ? normal / 10 : normal, soak);
}

struct tally {
    size_t sets, accepted, tasks, reached;
    size_t all_gpus, multi, sliced, several_gpus, unequal, any, chosen, fixed;
    uint64_t yields, inheritances, preemptions, jobs;
    unsigned max_ahead;
    double closest, sum; /* observed / bound */
    struct attack_tally costs;
};

static baton_nsec longest_period(const struct task_set *set)
{
    baton_nsec longest = 0;

    for (size_t i = 0; i < set->n_tasks; i++) {
        if (set->tasks[i].period > longest)
            longest = set->tasks[i].period;
    }
    return longest;
}

static void read_set(const struct generated *generated, struct task_set *ret_set)
{
    struct input_error error;

    ck_assert_msg(task_set_read("generated", generated->text, strlen(generated->text), ret_set, &error) == 0,
                  "generated:%u:%u: expected %s, found %s\n%s", error.line, error.column, error.expected,
                  error.found, generated->text);
}

/* Attacks one set; bounds by task in ns, negative: none. */
static void attack(const struct sim_options *options, const struct generated *generated,
                   const baton_nsec *bounds, uint64_t seed, struct tally *tally)
{
    const struct task_set *set = options->set;
    struct sim *sim = NULL;
    struct sim_search search;
    const char *reason = "";
    size_t task = 0;

    ck_assert_msg(sim_new(options, &sim, &reason, &task) == 0, "%s\n%s", reason, generated->text);
    ck_assert_int_eq(sim_search(sim, RUNS, 4 * longest_period(set), seed, &search), 0);
    for (size_t i = 0; i < set->n_tasks; i++) {
        double ratio = bounds[i] > 0 ? (double)search.tasks[i].max_response / (double)bounds[i] : 0;

        ck_assert_msg(bounds[i] < 0 || search.tasks[i].max_response <= bounds[i],
                      "seed %llu, task %zu: observed %.6f ms, bound %.6f ms\n%s", (unsigned long long)seed, i,
                      nsec_to_ms(search.tasks[i].max_response), nsec_to_ms(bounds[i]), generated->text);
        tally->tasks++;
        tally->reached += ratio > 0.9999;
        tally->sum += ratio;
        tally->closest = ratio > tally->closest ? ratio : tally->closest;
        tally->jobs += search.tasks[i].jobs;
        if (search.tasks[i].max_ahead > tally->max_ahead)
            tally->max_ahead = search.tasks[i].max_ahead;
    }
    tally->yields += search.yields;
    tally->inheritances += search.inheritances;
    tally->preemptions += search.preemptions;
    tally->accepted++;
    sim_search_done(&search);
    sim_free(sim);
}

static void print_tally(const char *name, const struct tally *tally)
{
    printf("%s: %zu sets, %zu accepted and attacked, %zu tasks, %llu jobs; observed / bound mean %.3f, "
           "largest %.4f, "
           "reached by %zu\n"
           "  tasks in multi mode %zu; sets with split kernels %zu, sliced %zu, several GPUs %zu, unequal "
           "%zu, any %zu, chosen %zu, fixed %zu; "
           "yields %llu, inheritances %llu, preemptions %llu, most critical sections ahead %u\n",
           name, tally->sets, tally->accepted, tally->tasks, (unsigned long long)tally->jobs,
           tally->sum / (double)(tally->tasks ? tally->tasks : 1), tally->closest, tally->reached,
           tally->all_gpus, tally->multi, tally->sliced, tally->several_gpus, tally->unequal, tally->any,
           tally->chosen, tally->fixed, (unsigned long long)tally->yields,
           (unsigned long long)tally->inheritances, (unsigned long long)tally->preemptions, tally->max_ahead);
}

/* Some jobs cost nearly all of C, and some wait behind others. */
static void check_costs(const struct attack_tally *costs)
{
    printf("  costs of %zu jobs: %zu waited behind c others, %zu above 0.99 C, most %.4f C\n", costs->jobs,
           costs->behind, costs->tight, costs->most);
    ck_assert_uint_gt(costs->behind, costs->jobs / 100);
    ck_assert_uint_gt(costs->tight, 0);
}

static void count_kinds(struct tally *tally, const struct generated *generated)
{
    tally->multi += generated->multi;
    for (unsigned i = 0; i < generated->tasks; i++)
        tally->all_gpus += generated->all_gpus[i];
    tally->sliced += generated->sliced;
    tally->several_gpus += generated->gpus > 1;
    tally->unequal += generated->unequal;
    tally->any += generated->any;
    tally->chosen += generated->chosen;
    tally->fixed += generated->fixed;
}

/* One random set against an analysis that takes whole task sets. */
static void try_analysis(const struct analysis *analysis, const struct generated *generated,
                         enum sched_policy_id policy, uint64_t seed, struct tally *tally)
{
    struct task_set set;
    unsigned gpus[16];
    struct analysis_request request = {.gpus = gpus};
    struct analysis_result result;
    struct input_error error;
    baton_nsec bounds[16] = {0};
    baton_nsec points[16] = {0};
    struct sim_options options = {
        .set = &set, .multi = true, .profile = PROFILE_PRIORITY, .policy = policy, .points = points};

    for (unsigned i = 0; i < 16; i++)
        gpus[i] = generated->all_gpus[i] ? generated->gpus : 1;
    read_set(generated, &set);
    ck_assert_msg(analysis->run(&set, &request, &result, &error) == 0, "%s: expected %s, found %s\n%s",
                  analysis->name, error.expected, error.found, generated->text);
    tally->sets++;
    if (result.schedulable) {
        for (size_t i = 0; i < set.n_tasks; i++) {
            bounds[i] = result.tasks[i].response;
            points[i] = result.tasks[i].priority_point;
        }
        count_kinds(tally, generated);
        attack(&options, generated, bounds, seed, tally);
    }
    analysis_result_done(&result);
    task_set_done(&set);
}

START_TEST(no_simulated_response_exceeds_the_holistic_bound)
{
    size_t wanted = sets(2000, 100000);
    struct tally tally = {0};
    struct random_state random;
    struct generated generated;

    for (uint64_t seed = 1; tally.accepted < wanted; seed++) {
        random_init(&random, seed, 1);
        generate_pipelines(&random, &generated);
        try_analysis(&analysis_holistic, &generated, POLICY_FIXED, seed, &tally);
        ck_assert_uint_lt(seed, wanted * 20);
    }
    print_tally("holistic", &tally);
    ck_assert(tally.all_gpus > wanted / 5 && tally.multi > wanted / 10 && tally.sliced > wanted / 10 &&
              tally.several_gpus > wanted / 4);
    ck_assert(tally.any > wanted / 10 && tally.chosen > wanted / 10 && tally.fixed > wanted / 10);
    ck_assert(tally.yields > 10 * wanted && tally.preemptions > wanted && tally.unequal > wanted / 50);
    ck_assert(tally.closest > 0.99); /* the attack is strong: bounds are all but reached */
}
END_TEST

START_TEST(no_simulated_response_exceeds_the_fair_lateness_bound)
{
    size_t wanted = sets(400, 20000);
    struct tally tally = {0};
    struct random_state random;
    struct generated generated;

    for (uint64_t seed = 1; tally.accepted < wanted; seed++) {
        random_init(&random, seed, 2);
        generate_cpu_sets(&random, &generated);
        try_analysis(&analysis_fair_lateness, &generated, POLICY_FAIR_LATENESS, seed, &tally);
        ck_assert_uint_lt(seed, wanted * 20);
    }
    print_tally("fair-lateness", &tally);
    ck_assert(tally.preemptions > wanted);
}
END_TEST

/* GPUSync through its direct interface, which says to which clusters it assigned each task. */
static void try_gpusync(const struct generated *generated, uint64_t seed, struct tally *tally)
{
    struct task_set set;
    struct arena arena;
    struct gpusync_system system;
    struct gpusync_workspace *workspace;
    struct gpusync_limits limits;
    struct input_error error;
    struct plan_task tasks[16];
    struct plan plan = {.analysis = "gpusync", .profile = "gpusync", .tasks = tasks};
    baton_nsec bounds[16] = {0};
    baton_nsec points[16] = {0};
    baton_nsec costs[16] = {0};
    unsigned clusters[16] = {0};
    const struct attack_limits limits_of_jobs = {points, costs, clusters};
    struct sim_options options = {.set = &set,
                                  .plan = &plan,
                                  .profile = PROFILE_GPUSYNC,
                                  .policy = POLICY_FAIR_LATENESS,
                                  .lock = SCHED_LOCKS,
                                  .points = points};

    read_set(generated, &set);
    arena_init(&arena, 0);
    limits = gpusync_task_set_limits(&set);
    ck_assert_int_eq(gpusync_system_init(&set.platform, &arena, &system), 0);
    ck_assert_int_eq(gpusync_workspace_new(&limits, &workspace), 0);
    ck_assert_msg(gpusync_task_set_load(workspace, &system, &set, &error) == 0, "expected %s, found %s\n%s",
                  error.expected, error.found, generated->text);
    tally->sets++;
    plan.n_tasks = set.n_tasks;
    if (gpusync_analyse(workspace, &system, &gpusync_sound) == GPUSYNC_BOUNDED) {
        for (size_t i = 0; i < set.n_tasks; i++) {
            const struct gpusync_terms *terms = &workspace->terms[i];

            tasks[i] = (struct plan_task){.name = set.tasks[i].name,
                                          .priority = (unsigned)(50 - i),
                                          .gpus = 1,
                                          .cpu_cluster = terms->cpu_cluster,
                                          .gpu_cluster =
                                              terms->gpu_cluster == GPUSYNC_NOWHERE ? 0 : terms->gpu_cluster,
                                          .bound = -1};
            bounds[i] = (baton_nsec)(terms->response * 1000) + 1;
            points[i] = (baton_nsec)(terms->point * 1000);
            costs[i] = (baton_nsec)(terms->cost * 1000) + 1;
            clusters[i] = terms->cpu_cluster;
        }
        count_kinds(tally, generated);
        attack(&options, generated, bounds, seed, tally);
        attack_costs(&options, &limits_of_jobs, generated->text, seed, &tally->costs);
    }
    gpusync_workspace_free(workspace);
    arena_done(&arena);
    task_set_done(&set);
}

START_TEST(no_simulated_response_exceeds_the_gpusync_bound_under_r2dglp)
{
    size_t wanted = sets(400, 20000);
    struct tally tally = {0};
    struct random_state random;
    struct generated generated;

    for (uint64_t seed = 1; tally.accepted < wanted; seed++) {
        random_init(&random, seed, 3);
        generate_critical_sections(&random, false, &generated);
        try_gpusync(&generated, seed, &tally);
        ck_assert_uint_lt(seed, wanted * 20);
    }
    print_tally("gpusync, R2DGLP", &tally);
    check_costs(&tally.costs);
    ck_assert(tally.inheritances > wanted && tally.max_ahead >= 2);
}
END_TEST

START_TEST(no_simulated_response_exceeds_the_gpusync_bound_under_ck_omlp)
{
    size_t wanted = sets(400, 20000);
    struct tally tally = {0};
    struct random_state random;
    struct generated generated;

    for (uint64_t seed = 1; tally.accepted < wanted; seed++) {
        random_init(&random, seed, 4);
        generate_critical_sections(&random, true, &generated);
        try_gpusync(&generated, seed, &tally);
        ck_assert_uint_lt(seed, wanted * 20);
    }
    print_tally("gpusync, CK-OMLP", &tally);
    check_costs(&tally.costs);
    ck_assert(tally.inheritances > 0 && tally.max_ahead >= 1);
}
END_TEST

START_TEST(the_printed_holistic_bound_is_exceeded_by_some_accepted_set)
{
    size_t broken = 0;

    for (uint64_t seed = 1; seed <= 3000 && broken == 0; seed++) {
        struct random_state random;
        struct generated generated;
        struct task_set set;
        struct analysis_request request = {0};
        struct analysis_result result;
        struct input_error error;
        struct sim_options options = {.set = &set, .profile = PROFILE_PRIORITY_WHOLE};
        struct sim *sim = NULL;
        struct sim_search search;
        const char *reason = "";
        size_t task;

        random_init(&random, seed, 1);
        generate_pipelines(&random, &generated);
        read_set(&generated, &set);
        if (analysis_holistic_printed.run(&set, &request, &result, &error) != 0) {
            task_set_done(&set);
            continue;
        }
        if (result.schedulable) {
            ck_assert_int_eq(sim_new(&options, &sim, &reason, &task), 0);
            ck_assert_int_eq(sim_search(sim, RUNS, 4 * longest_period(&set), seed, &search), 0);
            for (size_t i = 0; i < set.n_tasks; i++)
                broken += search.tasks[i].max_response > result.tasks[i].response;
            sim_search_done(&search);
            sim_free(sim);
        }
        analysis_result_done(&result);
        task_set_done(&set);
    }
    /*
     * The attack is strong enough to show what the papers' formula misses; if it were not, the
     * tests above would mean little.
     */
    ck_assert_uint_gt(broken, 0);
}
END_TEST

HARNESS_MAIN("bounds", 240, no_simulated_response_exceeds_the_holistic_bound,
             no_simulated_response_exceeds_the_fair_lateness_bound,
             no_simulated_response_exceeds_the_gpusync_bound_under_r2dglp,
             no_simulated_response_exceeds_the_gpusync_bound_under_ck_omlp,
             the_printed_holistic_bound_is_exceeded_by_some_accepted_set)
