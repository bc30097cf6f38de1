/* GPUSync by hand: the arithmetic is in the comments. Times in us. */
#include <math.h>
#include <string.h>

#include "analysis/gpusync/gpusync.h"
#include "analysis/gpusync/input/gpusync_configurations.h"
#include "harness.h"

#define MIB (1 << 20)

struct bench {
    struct platform platform;
    struct copy_cost copies[COPY_DIRECTIONS][1];
    struct arena arena;
    struct gpusync_system system;
    struct gpusync_workspace *workspace;
};

/*
 * One node, one GPU cluster owned by all CPUs; copies of 1 MiB cost in, out, peer us; no other
 * overhead.
 */
static void set_up(struct bench *bench, unsigned cpus, unsigned gpus, unsigned tokens,
                   enum migration migration, double in, double out, double peer)
{
    const double cost[] = {in, out, peer};

    *bench = (struct bench){.platform = {.cpus = cpus,
                                         .cpu_cluster = cpus,
                                         .numa_nodes = 1,
                                         .gpus = gpus,
                                         .gpu_cluster = gpus,
                                         .copy_engines = 2,
                                         .tokens_per_gpu = tokens,
                                         .buses = 1,
                                         .migration = migration,
                                         .chunk_in = MIB,
                                         .chunk_out = MIB,
                                         .overheads = {.tick_period = NSEC_PER_MS}}};
    for (int d = 0; d < COPY_DIRECTIONS; d++) {
        bench->copies[d][0] = (struct copy_cost){.bytes = MIB, .cost = (baton_nsec)(cost[d] * 1000)};
        bench->platform.overheads.copies[d] = bench->copies[d];
        bench->platform.overheads.n_copies[d] = 1;
    }
}

static int analyse(struct bench *bench, const struct gpusync_job jobs[], size_t n,
                   const struct gpusync_options *options)
{
    const struct gpusync_limits limits = {
        .tasks = 16, .requests = 128, .cpu_clusters = 16, .gpu_clusters = 8};

    arena_init(&bench->arena, 0);
    ck_assert_int_eq(gpusync_system_init(&bench->platform, &bench->arena, &bench->system), 0);
    ck_assert_int_eq(gpusync_workspace_new(&limits, &bench->workspace), 0);
    gpusync_load(bench->workspace, &bench->system, jobs, n);
    return gpusync_analyse(bench->workspace, &bench->system, options);
}

static void tear_down(struct bench *bench)
{
    gpusync_workspace_free(bench->workspace);
    arena_done(&bench->arena);
}

#define NEAR(expected, found) ck_assert_double_eq_tol(found, expected, 1e-6)

/*
 * Two CPUs, one GPU, rho = 2; ticks of 100 us every ms: u_tick = 0.1, c_pre = 100/0.9 = 111.11.
 * Both tasks fit the tokens (n = k = 2). A: 9000 + 10000 on the GPU, behind B's kernel of 20000:
 * (19000 + 20000)/0.9 + 222.22 = 43555.56 when interrupts stretch blocking too. B: 9000 + 20000,
 * behind A's 10000: the same. y is 0 for both, U = 0.87, so no carry: s = (C_A + C_B)/2 = 43555.56,
 * R = s - C/2 + C = 65333.33. Without stretching C = 19000/0.9 + 222.22 + 20000 = 41333.33 for A,
 * 29000/.9 + 222.22 + 10000 = 42444.44.
 */
START_TEST(interrupts_stretch_blocking_in_the_sound_variant)
{
    struct bench bench;
    struct gpusync_options plain = gpusync_sound;
    const struct gpusync_job jobs[] = {
        {.period = 100000, .deadline = 100000, .cpu = 9000, .critical = 1000, .kernel = 10000, .kernels = 1},
        {.period = 100000, .deadline = 100000, .cpu = 9000, .critical = 1000, .kernel = 20000, .kernels = 1}};

    set_up(&bench, 2, 1, 2, MIGRATION_NONE, 1000, 1000, 500);
    bench.platform.overheads.tick = 100000;
    ck_assert_int_eq(analyse(&bench, jobs, 2, &gpusync_sound), GPUSYNC_BOUNDED);
    NEAR(20000, bench.workspace->terms[0].execution_blocking);
    NEAR(10000, bench.workspace->terms[1].execution_blocking);
    NEAR(392000.0 / 9, bench.workspace->terms[0].cost);
    NEAR(392000.0 / 9, bench.workspace->terms[1].cost);
    NEAR(588000.0 / 9, bench.workspace->terms[0].response);
    plain.dilate = false;
    ck_assert_int_eq(gpusync_analyse(bench.workspace, &bench.system, &plain), GPUSYNC_BOUNDED);
    NEAR(372000.0 / 9, bench.workspace->terms[0].cost);
    NEAR(382000.0 / 9, bench.workspace->terms[1].cost);
    tear_down(&bench);
}
END_TEST

/*
 * Three tasks, one GPU, rho = 3, equal periods: tif = 2 each. The first has one kernel; (rho - 1) x
 * 1 = 2 requests may be ahead. Without caps: the two longest of {10,10,5,5} ms = 20; a FIFO holds
 * one of each: 10 + 5 = 15.
 */
START_TEST(a_queue_holds_one_request_of_each_other_task)
{
    struct bench bench;
    struct gpusync_options loose = gpusync_sound;
    const struct gpusync_job jobs[] = {
        {.period = 200000, .deadline = 200000, .cpu = 1000, .kernel = 1000, .kernels = 1},
        {.period = 200000, .deadline = 200000, .cpu = 1000, .kernel = 10000, .kernels = 1},
        {.period = 200000, .deadline = 200000, .cpu = 1000, .kernel = 5000, .kernels = 1}};

    set_up(&bench, 4, 1, 3, MIGRATION_NONE, 1000, 1000, 500);
    ck_assert_int_eq(analyse(&bench, jobs, 3, &gpusync_sound), GPUSYNC_BOUNDED);
    NEAR(15000, bench.workspace->terms[0].execution_blocking);
    loose.tight = false;
    ck_assert_int_eq(gpusync_analyse(bench.workspace, &bench.system, &loose), GPUSYNC_BOUNDED);
    NEAR(20000, bench.workspace->terms[0].execution_blocking);
    tear_down(&bench);
}
END_TEST

/*
 * rho = 1, one GPU, three tasks on four CPUs: k = 1 < n = 3 <= c: N^TCX = floor(2/1) = 2. K =
 * kernels: 1, 10, 5 ms (no critical CPU time). Once each: the first waits 10 + 5 = 15 ms; uncapped,
 * tif = 2 lets the longest come twice: 20 ms.
 */
START_TEST(with_no_more_tasks_than_cpus_each_other_token_holder_blocks_once)
{
    struct bench bench;
    struct gpusync_options loose = gpusync_sound;
    const struct gpusync_job jobs[] = {
        {.period = 200000, .deadline = 200000, .cpu = 1000, .kernel = 1000, .kernels = 1},
        {.period = 200000, .deadline = 200000, .cpu = 1000, .kernel = 10000, .kernels = 1},
        {.period = 200000, .deadline = 200000, .cpu = 1000, .kernel = 5000, .kernels = 1}};

    set_up(&bench, 4, 1, 1, MIGRATION_NONE, 1000, 1000, 500);
    ck_assert_int_eq(analyse(&bench, jobs, 3, &gpusync_sound), GPUSYNC_BOUNDED);
    NEAR(2, bench.workspace->terms[0].token_sections);
    NEAR(15000, bench.workspace->terms[0].direct);
    NEAR(0, bench.workspace->terms[0].execution_blocking);
    loose.tight = false;
    ck_assert_int_eq(gpusync_analyse(bench.workspace, &bench.system, &loose), GPUSYNC_BOUNDED);
    NEAR(20000, bench.workspace->terms[0].direct);
    tear_down(&bench);
}
END_TEST

/*
 * The counterexample to equation (9): rho 3, g 2; lengths I 2, O 2, M 3 (us). Mine: two copies in.
 * One other task with, per job, one copy in, three out and one migration; tif = 2, so M 2, I 2, O
 * 6. (9): l = 1 chain of 5 removes both M: 3 + 3 + 2 + 2 + 2 = 12, then 2 x 2 = 4: 16. Equation
 * (6): all ten requests of the 2 x 5 places: 2 x 3 + 8 x 2 = 22. By migrations: n_t = min(2, 2) =
 * 2: also 22. Capped (at most two requests of that task): M M = 6.
 */
START_TEST(counting_migrations_closes_the_gap_of_equation_9)
{
    struct bench bench;
    struct gpusync_options options = {.sound = true, .peer = PEER_EQUATION_9};
    const struct gpusync_job jobs[] = {
        {.period = 1000, .deadline = 1000, .cpu = 1, .kernel = 1, .kernels = 1, .bytes_in = 2 * MIB},
        {.period = 1000,
         .deadline = 1000,
         .cpu = 1,
         .kernel = 1,
         .kernels = 1,
         .bytes_in = MIB,
         .bytes_out = 3 * MIB,
         .state = MIB},
        {.period = 1000, .deadline = 1000, .cpu = 1, .kernel = 1, .kernels = 1}};

    set_up(&bench, 4, 2, 3, MIGRATION_P2P, 2, 2, 3);
    ck_assert_int_eq(analyse(&bench, jobs, 3, &options), GPUSYNC_BOUNDED);
    NEAR(16, bench.workspace->terms[0].copy_blocking);
    options.peer = PEER_EQUATION_6;
    ck_assert_int_eq(gpusync_analyse(bench.workspace, &bench.system, &options), GPUSYNC_BOUNDED);
    NEAR(22, bench.workspace->terms[0].copy_blocking);
    options.peer = PEER_MIGRATIONS;
    ck_assert_int_eq(gpusync_analyse(bench.workspace, &bench.system, &options), GPUSYNC_BOUNDED);
    NEAR(22, bench.workspace->terms[0].copy_blocking);
    options.peer = PEER_CHAINS; /* IOOOM twice, or the fallback of 22 without glpk */
    ck_assert_int_eq(gpusync_analyse(bench.workspace, &bench.system, &options), GPUSYNC_BOUNDED);
    NEAR(22, bench.workspace->terms[0].copy_blocking);
    ck_assert_int_eq(gpusync_analyse(bench.workspace, &bench.system, &gpusync_sound), GPUSYNC_BOUNDED);
    NEAR(6, bench.workspace->terms[0].copy_blocking);
    tear_down(&bench);
}
END_TEST

/* Fig. 4 and Table IV: which CPU clusters own which GPUs, M, and the protocol. */
START_TEST(the_39_configurations_are_those_of_the_paper)
{
    const struct gpusync_configuration *configurations = gpusync_configurations();
    const struct overheads none = {.tick_period = NSEC_PER_MS};
    size_t by_cpu[128] = {0};

    for (size_t c = 0; c < GPUSYNC_CONFIGURATIONS; c++) {
        const struct gpusync_configuration *one = &configurations[c];
        struct platform platform;
        struct gpusync_system system;
        struct arena arena;
        bool shared = (one->cpu == 'P' && one->gpu != 'P') || (one->cpu == 'C' && one->gpu == 'G');
        unsigned sharing = one->cpu == 'G' || one->gpu == 'G' ? 12
                           : one->cpu == 'C'                  ? 6
                           : one->gpu == 'C'                  ? 3
                                                              : 1;

        for (size_t d = 0; d < c; d++)
            ck_assert_str_ne(one->name, configurations[d].name);
        by_cpu[(unsigned char)one->cpu]++;
        arena_init(&arena, 0);
        gpusync_configuration_platform(one, &none, &platform);
        ck_assert_int_eq(gpusync_system_init(&platform, &arena, &system), 0);
        ck_assert_uint_eq(system.cpu_clusters * system.cluster_cpus, 12);
        ck_assert_uint_eq(system.gpu_clusters * system.cluster_gpus, 8);
        ck_assert_int_eq(system.shared, shared);
        for (unsigned q = 0; q < system.gpu_clusters; q++)
            ck_assert_uint_eq(gpusync_sharing_cpus(&system, q), sharing);
        if (one->cpu == 'P' && one->gpu == 'P')
            for (unsigned q = 0; q < 8; q++) /* CPUs 0-3 and 6-9; 4, 5, 10 and 11 own none */
                ck_assert_uint_eq(system.owners[q].clusters[0], q < 4 ? q : q + 2);
        if (one->cpu == 'C' && one->gpu == 'C')
            for (unsigned q = 0; q < 4; q++)
                ck_assert_uint_eq(system.owners[q].clusters[0], q / 2);
        arena_done(&arena);
    }
    ck_assert_uint_eq(by_cpu['P'], 13);
    ck_assert_uint_eq(by_cpu['C'], 13);
    ck_assert_uint_eq(by_cpu['G'], 13);
}
END_TEST

/*
 * Between entries linear, below the smallest its cost, above the largest proportional; chunks: full
 * ones, then the rest.
 */
START_TEST(copies_cost_what_the_table_says)
{
    struct copy_cost in[] = {{1000, 10000}, {2000, 30000}};
    struct platform platform = {.cpus = 1,
                                .cpu_cluster = 1,
                                .numa_nodes = 1,
                                .gpus = 1,
                                .gpu_cluster = 1,
                                .copy_engines = 2,
                                .tokens_per_gpu = 1,
                                .chunk_in = 2000,
                                .chunk_out = 2000,
                                .overheads = {.tick_period = NSEC_PER_MS, .copies = {in}, .n_copies = {2}}};
    const struct gpusync_limits limits = {.tasks = 1, .requests = 8, .cpu_clusters = 1, .gpu_clusters = 1};
    const struct gpusync_job job = {
        .period = 1000, .deadline = 1000, .kernel = 1, .kernels = 1, .bytes_in = 5500};
    struct gpusync_system system;
    struct gpusync_workspace *workspace;
    struct arena arena;

    arena_init(&arena, 0);
    ck_assert_int_eq(gpusync_system_init(&platform, &arena, &system), 0);
    NEAR(0, gpusync_copy_cost(&system, DIRECTION_IN, 0));
    NEAR(10, gpusync_copy_cost(&system, DIRECTION_IN, 1));
    NEAR(10, gpusync_copy_cost(&system, DIRECTION_IN, 1000));
    NEAR(20, gpusync_copy_cost(&system, DIRECTION_IN, 1500));
    NEAR(45, gpusync_copy_cost(&system, DIRECTION_IN, 3000));
    NEAR(0, gpusync_copy_cost(&system, DIRECTION_OUT, 1000));
    ck_assert_int_eq(gpusync_workspace_new(&limits, &workspace), 0);
    gpusync_load(workspace, &system, &job, 1);
    NEAR(3, workspace->tasks[0].count[OPERATION_IN]);
    NEAR(30 + 30 + 20, workspace->tasks[0].length[OPERATION_IN]);
    gpusync_workspace_free(workspace);
    arena_done(&arena);
}
END_TEST

HARNESS_MAIN("gpusync by hand", 20, interrupts_stretch_blocking_in_the_sound_variant,
             a_queue_holds_one_request_of_each_other_task,
             with_no_more_tasks_than_cpus_each_other_token_holder_blocks_once,
             counting_migrations_closes_the_gap_of_equation_9, the_39_configurations_are_those_of_the_paper,
             copies_cost_what_the_table_says)
