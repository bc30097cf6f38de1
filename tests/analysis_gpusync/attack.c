/*
 * CPU clusters that share GPUs (CK-OMLP) under attack: the simulator, which runs the same lock core
 * as the daemon, searches for releases and execution times that exceed the bounds of `gpusync`.
 * Critical sections dominate here, so that token blocking and donation matter.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/cpu/fair_lateness.h"
#include "analysis/gpusync/gpusync.h"
#include "analysis/gpusync/input/gpusync_task_set.h"
#include "base/random.h"
#include "harness.h"
#include "sim/search.h"

#define MAX_TASKS 8
#define RUNS      60

struct tally {
    size_t sets, attacked, tasks, waited, missed_by_control;
    double sum, closest;
};

static double ms(double value)
{
    return value < 0.001 ? 0.001 : value;
}

/*
 * Two or three CPU clusters of one or two CPUs around one or two GPUs; mostly GPU tasks, three
 * quarters of a job in its critical section.
 */
static size_t generate(struct random_state *random, char *text, size_t size)
{
    unsigned cluster = 1 + (unsigned)random_below(random, 2);
    unsigned clusters = 2 + (unsigned)random_below(random, 2);
    unsigned gpus = 1 + (unsigned)random_below(random, 2);
    size_t tasks = 3 + random_below(random, MAX_TASKS - 2);
    double load = 0.1 + 0.5 * random_unit(random);
    size_t at =
        (size_t)snprintf(text, size,
                         "platform: {cpus: %u, cpu_cluster: %u, gpus: %u, gpu_cluster: %u, copy_engines: %u, "
                         "tokens_per_gpu: %u, attach: [[0, 1%s]]}\ntasks:\n",
                         cluster * clusters, cluster, gpus, gpus, 1 + (unsigned)random_below(random, 2),
                         1 + (unsigned)random_below(random, 2), clusters > 2 ? ", 2" : "");

    for (size_t i = 0; i < tasks; i++) {
        double period = 10 + 40 * random_unit(random);
        double work = period * load * (0.2 + 0.8 * random_unit(random)) * clusters * cluster / (double)tasks;

        at += (size_t)snprintf(text + at, size - at,
                               "  - {name: t%zu, period_ms: %.3f, segments: [{cpu_ms: %.3f}", i, period,
                               ms(work * 0.1));
        if (random_below(random, 5))
            at += (size_t)snprintf(
                text + at, size - at,
                ", {copy_in_ms: %.3f}, {cpu_ms: %.3f}, {kernel_ms: %.3f}, {copy_out_ms: %.3f}",
                ms(work * 0.1), ms(work * 0.05), ms(work * 0.5), ms(work * 0.1));
        at += (size_t)snprintf(text + at, size - at, ", {cpu_ms: %.3f}]}\n", ms(work * 0.1));
    }
    return at;
}

/* The bound of task i in its CPU cluster if no job ever waited for a token or a donee, ns. */
static baton_nsec without_tokens(const struct gpusync_workspace *workspace, size_t n, size_t i, unsigned cpus)
{
    double cost[MAX_TASKS + 1], period[MAX_TASKS + 1], deadline[MAX_TASKS + 1];
    double point[MAX_TASKS + 1], response[MAX_TASKS + 1], utilisation[MAX_TASKS + 1];
    double slope[MAX_TASKS + 1], key[MAX_TASKS + 1];
    size_t chosen[MAX_TASKS + 1];
    struct fair_lateness lateness = {.cpus = cpus,
                                     .cost = cost,
                                     .period = period,
                                     .deadline = deadline,
                                     .point = point,
                                     .response = response,
                                     .utilisation = utilisation,
                                     .slope = slope,
                                     .key = key,
                                     .chosen = chosen};
    size_t self = 0;

    for (size_t j = 0; j < n; j++) {
        if (workspace->terms[j].cpu_cluster != workspace->terms[i].cpu_cluster)
            continue;
        self = j == i ? lateness.n : self;
        cost[lateness.n] = workspace->terms[j].cost - workspace->terms[j].token_blocking;
        period[lateness.n] = deadline[lateness.n] = workspace->tasks[j].period;
        lateness.n++;
    }
    ck_assert_int_eq(fair_lateness_bound(&lateness), FAIR_LATENESS_BOUNDED);
    return (baton_nsec)(response[self] * 1000) + 1;
}

static void attack(const struct task_set *set, const struct gpusync_workspace *workspace, const char *text,
                   uint64_t seed, struct tally *tally)
{
    struct plan_task tasks[MAX_TASKS + 1];
    struct plan plan = {.analysis = "gpusync", .profile = "gpusync", .tasks = tasks, .n_tasks = set->n_tasks};
    baton_nsec points[MAX_TASKS + 1];
    struct sim_options options = {.set = set,
                                  .plan = &plan,
                                  .profile = PROFILE_GPUSYNC,
                                  .policy = POLICY_FAIR_LATENESS,
                                  .lock = SCHED_LOCKS,
                                  .points = points};
    const char *reason = "";
    struct sim_search search;
    struct sim *sim = NULL;
    size_t refused;

    for (size_t i = 0; i < set->n_tasks; i++) {
        const struct gpusync_terms *terms = &workspace->terms[i];

        tasks[i] = (struct plan_task){.name = set->tasks[i].name,
                                      .priority = (unsigned)(50 - i),
                                      .gpus = 1,
                                      .cpu_cluster = terms->cpu_cluster,
                                      .bound = -1};
        points[i] = (baton_nsec)(terms->point * 1000);
    }
    ck_assert_msg(sim_new(&options, &sim, &reason, &refused) == 0, "%s\n%s", reason, text);
    ck_assert_int_eq(sim_search(sim, RUNS, 200 * NSEC_PER_MS, seed, &search), 0);
    for (size_t i = 0; i < set->n_tasks; i++) {
        baton_nsec bound = (baton_nsec)(workspace->terms[i].response * 1000) + 1;
        double ratio = (double)search.tasks[i].max_response / (double)bound;

        ck_assert_msg(search.tasks[i].max_response <= bound,
                      "seed %llu, task %zu: observed %.6f ms, bound %.6f ms\n%s", (unsigned long long)seed, i,
                      nsec_to_ms(search.tasks[i].max_response), nsec_to_ms(bound), text);
        tally->tasks++;
        tally->waited += workspace->terms[i].token_blocking > 0;
        tally->sum += ratio;
        tally->closest = ratio > tally->closest ? ratio : tally->closest;
        tally->missed_by_control += search.tasks[i].max_response >
                                    without_tokens(workspace, set->n_tasks, i, set->platform.cpu_cluster);
    }
    tally->attacked++;
    sim_search_done(&search);
    sim_free(sim);
}

static void try_set(uint64_t seed, struct tally *tally)
{
    char text[4096];
    struct gpusync_workspace *workspace;
    struct gpusync_limits limits;
    struct gpusync_system system;
    struct random_state random;
    struct input_error error;
    struct task_set set;
    struct arena arena;
    size_t size;

    random_init(&random, seed, 51);
    size = generate(&random, text, sizeof text);
    ck_assert_msg(task_set_read("generated", text, size, &set, &error) == 0, "expected %s, found %s\n%s",
                  error.expected, error.found, text);
    arena_init(&arena, 0);
    limits = gpusync_task_set_limits(&set);
    ck_assert_int_eq(gpusync_system_init(&set.platform, &arena, &system), 0);
    ck_assert(system.shared);
    ck_assert_int_eq(gpusync_workspace_new(&limits, &workspace), 0);
    ck_assert_int_eq(gpusync_task_set_load(workspace, &system, &set, &error), 0);
    tally->sets++;
    if (gpusync_analyse(workspace, &system, &gpusync_sound) == GPUSYNC_BOUNDED)
        attack(&set, workspace, text, seed, tally);
    gpusync_workspace_free(workspace);
    arena_done(&arena);
    task_set_done(&set);
}

START_TEST(clusters_that_share_gpus_never_exceed_their_bounds)
{
    size_t wanted = harness_scale(300, 20000);
    struct tally tally = {0};

    for (uint64_t seed = 1; tally.attacked < wanted; seed++)
        try_set(seed, &tally);
    printf("CK-OMLP: %zu sets, %zu accepted and attacked, %zu tasks; observed / bound mean %.3f, largest "
           "%.3f; without "
           "token blocking and donation %zu bounds would have been exceeded\n",
           tally.sets, tally.attacked, tally.tasks, tally.sum / (double)tally.tasks, tally.closest,
           tally.missed_by_control);
    ck_assert_uint_gt(tally.waited, tally.tasks / 2);
    ck_assert_uint_lt(tally.attacked, tally.sets);
    /* An attack without teeth would prove nothing. */
    ck_assert_uint_gt(tally.missed_by_control, 0);
}
END_TEST

HARNESS_MAIN("gpusync under attack", 60, clusters_that_share_gpus_never_exceed_their_bounds)
