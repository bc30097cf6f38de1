/*
 * How fast the study's analyses decide: fair lateness at n = 20, m = 6, and GPUSync over the 39
 * configurations of Table IV. Loading and partitioning are included. Task sets follow the paper's
 * generator (Sec. V) with the number of tasks given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cpu/fair_lateness.h"
#include "analysis/gpusync/gpusync.h"
#include "analysis/gpusync/input/gpusync_configurations.h"
#include "base/clock.h"
#include "base/random.h"
#include "figure.h"

#define SETS    400
#define REPEATS 7
#define TASKS   100

static struct gpusync_job jobs[SETS][TASKS];

/*
 * Copy costs of 4 kB and 1 MiB; what lies between is interpolated. Worst-case loaded (Table III)
 * and average loaded ones.
 */
struct cost {
    double small, chunk;
};

static struct copy_cost tables[2][2][COPY_DIRECTIONS][2];
static struct overheads overheads[2][2]; /* [worst][interleaved] */

static void make_overheads(void)
{
    static const struct cost costs[2][2][COPY_DIRECTIONS] = {
        {{{28.6, 950}, {28.6, 940}, {10.6, 168}}, {{30.3, 1378}, {30.2, 1363}, {10.6, 168}}},
        {{{54.4, 1181.3}, {54.5, 1214.3}, {15.6, 175.68}}, {{56.8, 1802.4}, {56.6, 1733.7}, {15.6, 175.68}}}};

    for (int worst = 0; worst < 2; worst++)
        for (int interleaved = 0; interleaved < 2; interleaved++) {
            struct overheads *set = &overheads[worst][interleaved];

            *set = (struct overheads){.scheduler = worst ? 19000 : 3200,
                                      .context_switch = worst ? 10000 : 2000,
                                      .ipi = worst ? 7000 : 1800,
                                      .event_latency = worst ? 16000 : 3200,
                                      .tick = worst ? 10000 : 2000,
                                      .tick_period = NSEC_PER_MS,
                                      .release = worst ? 19000 : 4000,
                                      .cpmd = worst ? 30000 : 4000,
                                      .syscall_in = worst ? 1500 : 250,
                                      .syscall_out = worst ? 1500 : 250,
                                      .gpu_top_half = worst ? 87190 : 8010,
                                      .gpu_bottom_half = worst ? 1000000 : 66140};
            for (int d = 0; d < COPY_DIRECTIONS; d++) {
                struct copy_cost *table = tables[worst][interleaved][d];

                table[0] = (struct copy_cost){4096, (baton_nsec)(costs[worst][interleaved][d].small * 1000)};
                table[1] =
                    (struct copy_cost){1 << 20, (baton_nsec)(costs[worst][interleaved][d].chunk * 1000)};
                set->copies[d] = table;
                set->n_copies[d] = 2;
            }
        }
}

static double between(struct random_state *random, double low, double high)
{
    return low + (high - low) * random_unit(random);
}

static void generate(struct random_state *random, struct gpusync_job set[], size_t n)
{
    static const double kernels[3][2] = {{0.1, 0.25}, {0.25, 0.75}, {0.75, 0.95}};
    static const int64_t data[3] = {256 << 10, 2 << 20, 8 << 20};
    static const double share[3] = {1.0 / 3, 2.0 / 3, 1};
    bool light = random_below(random, 2);
    bool slow = random_below(random, 2);
    size_t kernel = random_below(random, 3);
    int64_t bytes = data[random_below(random, 3)];
    int64_t state = bytes * (int64_t)random_below(random, 3) / 2;
    size_t with_gpu = (size_t)(share[random_below(random, 3)] * (double)n + 0.5);

    for (size_t i = 0; i < n; i++) {
        double period = slow ? between(random, 200e3, 1000e3) : between(random, 33e3, 100e3);
        double all = period * (light ? between(random, 0.01, 0.1) : between(random, 0.1, 0.4));
        double gpu = i < with_gpu ? all * between(random, kernels[kernel][0], kernels[kernel][1]) : 0;

        set[i] = (struct gpusync_job){.period = period,
                                      .deadline = period,
                                      .cpu = all - gpu,
                                      .critical = i < with_gpu ? 0.05 * (all - gpu) : 0,
                                      .kernel = gpu,
                                      .kernels = i < with_gpu,
                                      .bytes_in = i < with_gpu ? bytes / 2 : 0,
                                      .bytes_out = i < with_gpu ? bytes / 2 : 0,
                                      .state = i < with_gpu ? state : 0};
    }
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static void report(const char *what, double values[REPEATS], const char *unit, const char *rest)
{
    qsort(values, REPEATS, sizeof values[0], compare);
    (void)printf("%-44s %9.3f %s (%.3f .. %.3f)%s\n", what, values[REPEATS / 2], unit, values[0],
                 values[REPEATS - 1], rest);
    if (strcmp(what, "fair lateness, n = 20, m = 6") == 0)
        figure_sorted("fair-lateness", values, REPEATS);
    else if (strcmp(what, "gpusync, n = 20, decision only") == 0)
        figure_sorted("gpusync-decision", values, REPEATS);
}

static void bench_configurations(struct gpusync_workspace *workspace, size_t n,
                                 const struct gpusync_options *options, const char *name)
{
    const struct gpusync_configuration *configurations = gpusync_configurations();
    static struct gpusync_system systems[2][GPUSYNC_CONFIGURATIONS];
    struct random_state random;
    struct arena arena;
    double times[REPEATS];
    bool alike[GPUSYNC_CONFIGURATIONS] = {false};
    size_t accepted = 0;
    size_t rounds = 0;
    char rest[80];

    arena_init(&arena, 0);
    for (int worst = 0; worst < 2; worst++)
        for (size_t c = 0; c < GPUSYNC_CONFIGURATIONS; c++) {
            struct platform platform;

            gpusync_configuration_platform(&configurations[c],
                                           &overheads[worst][configurations[c].cpu == 'G'], &platform);
            if (gpusync_system_init(&platform, &arena, &systems[worst][c]) != 0)
                exit(EXIT_FAILURE);
        }
    for (size_t c = 1; c < GPUSYNC_CONFIGURATIONS; c++)
        alike[c] = gpusync_loads_alike(&systems[0][c - 1], &systems[0][c]) &&
                   gpusync_loads_alike(&systems[1][c - 1], &systems[1][c]);
    random_init(&random, 4, n);
    for (size_t s = 0; s < SETS; s++)
        generate(&random, jobs[s], n);
    for (size_t repeat = 0; repeat < REPEATS; repeat++) {
        baton_nsec begin = clock_now();

        accepted = rounds = 0;
        for (size_t s = 0; s < SETS; s++)
            for (size_t c = 0; c < GPUSYNC_CONFIGURATIONS; c++) {
                const struct gpusync_system *system = &systems[s % 2][c];

                if (c == 0 || !alike[c]) /* what a load depends on is the same for most neighbours */
                    gpusync_load(workspace, system, jobs[s], n);
                accepted += gpusync_analyse(workspace, system, options) == GPUSYNC_BOUNDED;
                rounds += workspace->rounds;
            }
        times[repeat] = (double)(clock_now() - begin) / 1000 / (SETS * GPUSYNC_CONFIGURATIONS);
    }
    arena_done(&arena);
    (void)snprintf(rest, sizeof rest, "  accepted %.3f, rounds %.2f",
                   (double)accepted / (SETS * GPUSYNC_CONFIGURATIONS),
                   (double)rounds / (SETS * GPUSYNC_CONFIGURATIONS));
    report(name, times, "us a set", rest);
}

static void bench_fair_lateness(size_t n, unsigned cpus)
{
    static double column[9][TASKS];
    static size_t chosen[TASKS];
    static double cost[SETS][TASKS];
    static double period[SETS][TASKS];
    struct random_state random;
    double times[REPEATS];
    size_t bounded = 0;
    char name[60];
    char rest[60];

    random_init(&random, 5, n);
    for (size_t s = 0; s < SETS; s++)
        for (size_t i = 0; i < n; i++) {
            period[s][i] = between(&random, 33e3, 100e3);
            cost[s][i] = period[s][i] * between(&random, 0.2, 1) * 1.5 * cpus / (double)n;
        }
    for (size_t repeat = 0; repeat < REPEATS; repeat++) {
        baton_nsec begin = clock_now();

        bounded = 0;
        for (size_t round = 0; round < 100; round++)
            for (size_t s = 0; s < SETS; s++) {
                struct fair_lateness cluster = {.n = n,
                                                .cpus = cpus,
                                                .cost = cost[s],
                                                .period = period[s],
                                                .deadline = period[s],
                                                .point = column[0],
                                                .response = column[1],
                                                .utilisation = column[2],
                                                .slope = column[3],
                                                .key = column[4],
                                                .chosen = chosen};

                bounded += fair_lateness_bound(&cluster) == FAIR_LATENESS_BOUNDED;
            }
        times[repeat] = 100.0 * SETS / ((double)(clock_now() - begin) / NSEC_PER_SEC) / 1000;
    }
    (void)snprintf(name, sizeof name, "fair lateness, n = %zu, m = %u", n, cpus);
    (void)snprintf(rest, sizeof rest, "  bounded %.3f", (double)bounded / (100.0 * SETS));
    report(name, times, "thousand sets/s", rest);
}

int main(void)
{
    const struct gpusync_limits limits = {
        .tasks = TASKS, .requests = (size_t)8 * TASKS, .cpu_clusters = 12, .gpu_clusters = 8};
    static const size_t sizes[] = {20, 92};
    struct gpusync_workspace *workspace;

    make_overheads();
    bench_fair_lateness(20, 6);
    bench_fair_lateness(92, 12);
    if (gpusync_workspace_new(&limits, &workspace) != 0)
        return EXIT_FAILURE;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        struct gpusync_options decide = gpusync_sound;
        char name[60];

        decide.decide = true;
        (void)snprintf(name, sizeof name, "gpusync, n = %zu, decision only", sizes[k]);
        bench_configurations(workspace, sizes[k], &decide, name);
        (void)snprintf(name, sizeof name, "gpusync, n = %zu, all terms", sizes[k]);
        bench_configurations(workspace, sizes[k], &gpusync_sound, name);
        (void)snprintf(name, sizeof name, "gpusync-printed, n = %zu, all terms", sizes[k]);
        bench_configurations(workspace, sizes[k], &gpusync_printed, name);
    }
    gpusync_workspace_free(workspace);
    return EXIT_SUCCESS;
}
