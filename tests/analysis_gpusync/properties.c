/*
 * GPUSync on random sets (fixed seeds): what must hold whatever the set, and a naive oracle beside
 * the fast walk over requests.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gpusync/gpusync.h"
#include "analysis/gpusync/input/gpusync_configurations.h"
#include "base/random.h"
#include "harness.h"

#define MOST 24

static struct copy_cost in_table[] = {{4096, 28613}, {65536, 82812}, {1048576, 950000}};
static struct copy_cost out_table[] = {{4096, 28574}, {65536, 82188}, {1048576, 940000}};
static struct copy_cost peer_table[] = {{4096, 10617}, {1048576, 168000}};

static const struct overheads average = {.scheduler = 3200,
                                         .context_switch = 2000,
                                         .ipi = 1800,
                                         .event_latency = 3200,
                                         .tick = 2000,
                                         .tick_period = NSEC_PER_MS,
                                         .release = 4000,
                                         .cpmd = 4000,
                                         .syscall_in = 250,
                                         .syscall_out = 250,
                                         .gpu_top_half = 8010,
                                         .gpu_bottom_half = 66140,
                                         .copies = {in_table, out_table, peer_table},
                                         .n_copies = {3, 3, 2}};

struct lab {
    struct arena arena;
    struct gpusync_system systems[GPUSYNC_CONFIGURATIONS];
    struct gpusync_workspace *workspace;
    struct random_state random;
    struct gpusync_job jobs[MOST];
    size_t n;
};

static void open_lab(struct lab *lab, uint64_t seed)
{
    const struct gpusync_limits limits = {
        .tasks = MOST, .requests = (size_t)8 * MOST, .cpu_clusters = 12, .gpu_clusters = 8};

    arena_init(&lab->arena, 0);
    for (size_t c = 0; c < GPUSYNC_CONFIGURATIONS; c++) {
        struct platform platform;

        gpusync_configuration_platform(&gpusync_configurations()[c], &average, &platform);
        ck_assert_int_eq(gpusync_system_init(&platform, &lab->arena, &lab->systems[c]), 0);
    }
    ck_assert_int_eq(gpusync_workspace_new(&limits, &lab->workspace), 0);
    random_init(&lab->random, seed, 0);
}

static void close_lab(struct lab *lab)
{
    gpusync_workspace_free(lab->workspace);
    arena_done(&lab->arena);
}

/* Sizes, kernels and periods of all kinds, so that requests differ in length. */
static void draw(struct lab *lab, double most)
{
    struct random_state *random = &lab->random;

    lab->n = 1 + random_below(random, MOST);
    for (size_t i = 0; i < lab->n; i++) {
        double period = 33e3 + 300e3 * random_unit(random);
        double all = period * most * random_unit(random);
        double gpu = random_below(random, 3) ? all * random_unit(random) : 0;
        bool uses = gpu > 0;

        lab->jobs[i] = (struct gpusync_job){.period = period,
                                            .deadline = period * (0.8 + 0.4 * random_unit(random)),
                                            .cpu = all - gpu,
                                            .critical = uses ? 0.05 * (all - gpu) : 0,
                                            .kernel = gpu,
                                            .kernels = uses ? 1 + (uint32_t)random_below(random, 3) : 0,
                                            .bytes_in = uses ? random_between(random, 0, 5 << 20) : 0,
                                            .bytes_out = uses ? random_between(random, 0, 5 << 20) : 0,
                                            .state = uses ? random_between(random, 0, 3 << 20) : 0};
    }
}

static int analyse(struct lab *lab, size_t configuration, const struct gpusync_options *options)
{
    gpusync_load(lab->workspace, &lab->systems[configuration], lab->jobs, lab->n);
    return gpusync_analyse(lab->workspace, &lab->systems[configuration], options);
}

START_TEST(deciding_early_gives_the_verdict_of_the_whole_analysis)
{
    struct lab lab;
    size_t accepted = 0;
    size_t sets = harness_scale(300, 30000);

    open_lab(&lab, 41);
    for (size_t k = 0; k < sets; k++) {
        draw(&lab, k % 2 ? 0.3 : 1);
        for (size_t c = 0; c < GPUSYNC_CONFIGURATIONS; c++)
            for (int sound = 0; sound < 2; sound++) {
                struct gpusync_options options = sound ? gpusync_sound : gpusync_printed;
                bool whole = analyse(&lab, c, &options) == GPUSYNC_BOUNDED;

                options.decide = true;
                ck_assert_int_eq(analyse(&lab, c, &options) == GPUSYNC_BOUNDED, whole);
                accepted += whole;
            }
    }
    ck_assert_uint_gt(accepted, sets * GPUSYNC_CONFIGURATIONS / 10);
    ck_assert_uint_lt(accepted, sets * GPUSYNC_CONFIGURATIONS * 19 / 10);
    close_lab(&lab);
}
END_TEST

START_TEST(results_do_not_depend_on_the_order_of_tasks)
{
    struct lab lab;

    open_lab(&lab, 42);
    for (size_t k = 0; k < harness_scale(150, 15000); k++) {
        draw(&lab, 0.35);
        for (size_t c = 0; c < GPUSYNC_CONFIGURATIONS; c++) {
            double response[MOST];
            int answer = analyse(&lab, c, &gpusync_sound);

            for (size_t i = 0; i < lab.n; i++)
                response[i] = lab.workspace->terms[i].response;
            for (size_t i = 0; i < lab.n / 2; i++) {
                struct gpusync_job swap = lab.jobs[i];

                lab.jobs[i] = lab.jobs[lab.n - 1 - i];
                lab.jobs[lab.n - 1 - i] = swap;
            }
            ck_assert_int_eq(analyse(&lab, c, &gpusync_sound), answer);
            for (size_t i = 0; answer == GPUSYNC_BOUNDED && i < lab.n; i++)
                ck_assert_double_eq_tol(lab.workspace->terms[lab.n - 1 - i].response, response[i],
                                        1e-9 * response[i]);
        }
    }
    close_lab(&lab);
}
END_TEST

START_TEST(bounds_are_above_what_a_job_does_and_utilisations_add_up)
{
    struct lab lab;

    open_lab(&lab, 43);
    for (size_t k = 0; k < harness_scale(200, 20000); k++) {
        double total = 0;

        draw(&lab, 0.7);
        for (size_t i = 0; i < lab.n; i++)
            total += (lab.jobs[i].cpu + lab.jobs[i].kernel) / lab.jobs[i].period;
        for (size_t c = 0; c < GPUSYNC_CONFIGURATIONS; c++) {
            int answer = analyse(&lab, c, &gpusync_sound);
            double sum = 0;

            for (unsigned x = 0; x < lab.systems[c].cpu_clusters; x++)
                sum += lab.workspace->clusters[x].total;
            ck_assert(sum >= total);
            if (total > 12)
                ck_assert_int_ne(answer, GPUSYNC_BOUNDED);
            for (size_t i = 0; answer == GPUSYNC_BOUNDED && i < lab.n; i++) {
                const struct gpusync_terms *terms = &lab.workspace->terms[i];

                ck_assert(terms->response >= lab.jobs[i].cpu + lab.jobs[i].kernel + terms->xmit);
                ck_assert(terms->response >= terms->cost);
                ck_assert(terms->r >= terms->response && terms->r >= lab.jobs[i].period);
                ck_assert(terms->blocking >= 0);
            }
        }
    }
    close_lab(&lab);
}
END_TEST

/*
 * With one CPU and one GPU cluster there is nothing to partition, and in the first round r = p
 * whatever the lengths: blocking and C then only grow with the work. (Over rounds, fair-lateness
 * bounds need not be monotone: the points move with C.)
 */
START_TEST(more_work_never_turns_a_first_round_reject_into_an_accept)
{
    struct lab lab;
    size_t rejected = 0;

    open_lab(&lab, 44);
    for (size_t k = 0; k < harness_scale(3000, 300000); k++) {
        size_t c = GPUSYNC_CONFIGURATIONS - 1 - random_below(&lab.random, 3); /* (G,G,*) */
        size_t i;

        draw(&lab, 0.5);
        if (analyse(&lab, c, &gpusync_sound) == GPUSYNC_BOUNDED || lab.workspace->rounds > 1)
            continue;
        rejected++;
        i = random_below(&lab.random, lab.n);
        lab.jobs[i].cpu *= 1 + random_unit(&lab.random);
        if (lab.jobs[i].kernels > 0) {
            lab.jobs[i].kernel *= 1 + random_unit(&lab.random);
            lab.jobs[i].bytes_in += random_between(&lab.random, 0, 3 << 20);
        }
        ck_assert_int_ne(analyse(&lab, c, &gpusync_sound), GPUSYNC_BOUNDED);
    }
    ck_assert_uint_gt(rejected, 100);
    close_lab(&lab);
}
END_TEST

static int larger_first(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left < right) - (left > right);
}

/* Chunks of one copy, one by one. */
static size_t chunks(const struct gpusync_system *system, enum copy_direction direction, int64_t bytes,
                     double lengths[])
{
    size_t n = 0;

    for (; bytes > 0; bytes -= 1 << 20)
        lengths[n++] = gpusync_copy_cost(system, direction, bytes < 1 << 20 ? bytes : 1 << 20);
    return n;
}

/* Requests of one job in one queue: 'K' kernels, 'I' in, 'O' out, 'A' all copies. */
static size_t requests_of(const struct gpusync_system *system, const struct gpusync_job *job, char queue,
                          double lengths[])
{
    bool through = system->migration == MIGRATION_SYSTEM;
    bool peer = system->migration == MIGRATION_P2P;
    size_t n = 0;

    for (uint32_t k = 0; queue == 'K' && k < job->kernels; k++)
        lengths[n++] = job->kernel / job->kernels;
    if (job->kernels == 0 || queue == 'K')
        return n;
    if (queue != 'O') {
        n += chunks(system, DIRECTION_IN, job->bytes_in, lengths + n);
        n += chunks(system, DIRECTION_IN, through ? job->state : 0, lengths + n);
    }
    if (queue != 'I') {
        n += chunks(system, DIRECTION_OUT, job->bytes_out, lengths + n);
        n += chunks(system, DIRECTION_OUT, through ? job->state : 0, lengths + n);
    }
    if (queue == 'A')
        n += chunks(system, DIRECTION_P2P, peer ? job->state : 0, lengths + n);
    return n;
}

/*
 * The budget longest of all others' requests, spelled out one by one; at most my number of each
 * other task if capped.
 */
static double spelled_out(const struct lab *lab, const struct gpusync_system *system, size_t i, char queue,
                          double per_request, double per_chain, bool capped)
{
    static double all[1 << 20];
    double one[512];
    const struct gpusync_terms *mine = &lab->workspace->terms[i];
    size_t own = requests_of(system, &lab->jobs[i], queue, one);
    size_t n = 0;
    double migrations = 0;
    double budget;
    double sum = 0;

    for (size_t j = 0; j < lab->n; j++) {
        const struct gpusync_terms *other = &lab->workspace->terms[j];
        size_t first = n;
        size_t count;

        if (j == i || lab->jobs[j].kernels == 0 || other->gpu_cluster != mine->gpu_cluster)
            continue;
        count = requests_of(system, &lab->jobs[j], queue, one);
        qsort(one, count, sizeof one[0], larger_first);
        double jobs = ceil((fmax(lab->jobs[i].period, mine->r) + other->r) / lab->jobs[j].period);
        migrations += jobs * (double)((lab->jobs[j].state + (1 << 20) - 1) >> 20);
        for (size_t k = 0; k < count; k++)
            for (size_t job = 0; job < (size_t)jobs; job++)
                if (!capped || n - first < own)
                    all[n++] = one[k] + mine->engines * system->bottom_half +
                               3 * (2 * (system->scheduler + system->context_switch) + system->ipi) +
                               system->syscall_in + system->syscall_out;
    }
    budget = per_request * (double)own;
    if (queue == 'A') {
        double pulls = (double)((lab->jobs[i].state + (1 << 20) - 1) >> 20);
        double chains = pulls + fmin((double)own - pulls, migrations);

        budget = per_chain * chains + per_request * ((double)own - chains);
    }
    qsort(all, n, sizeof all[0], larger_first);
    for (size_t k = 0; k < n && (double)k < budget; k++)
        sum += all[k];
    return sum;
}

START_TEST(engine_blocking_is_that_of_all_requests_spelled_out)
{
    static struct lab lab;
    size_t compared = 0;

    open_lab(&lab, 45);
    for (size_t k = 0; k < harness_scale(60, 6000); k++) {
        size_t c = random_below(&lab.random, GPUSYNC_CONFIGURATIONS);
        const struct gpusync_system *system = &lab.systems[c];
        struct gpusync_options options = gpusync_sound;

        options.tight = k % 2;
        draw(&lab, 0.15);
        if (analyse(&lab, c, &options) != GPUSYNC_BOUNDED)
            continue;
        for (size_t i = 0; i < lab.n; i++) {
            const struct gpusync_terms *terms = &lab.workspace->terms[i];
            double alone = terms->tokens - 1;
            double anywhere = terms->tokens * system->cluster_gpus - 1;
            double copies;

            if (lab.jobs[i].kernels == 0)
                continue;
            if (system->shared) {
                alone = fmin(alone, gpusync_sharing_cpus(system, terms->gpu_cluster) - 1);
                anywhere = fmin(anywhere, gpusync_sharing_cpus(system, terms->gpu_cluster) - 1);
            }
            if (system->migration == MIGRATION_P2P)
                copies = spelled_out(&lab, system, i, 'A', alone, anywhere, options.tight);
            else
                copies = spelled_out(&lab, system, i, 'I', alone, 0, options.tight) +
                         spelled_out(&lab, system, i, 'O', alone, 0, options.tight);
            ck_assert_double_eq_tol(terms->copy_blocking, copies, 1e-9 * (1 + copies));
            copies = spelled_out(&lab, system, i, 'K', alone, 0, options.tight);
            ck_assert_double_eq_tol(terms->execution_blocking, copies, 1e-9 * (1 + copies));
            compared++;
        }
    }
    ck_assert_uint_gt(compared, 100);
    close_lab(&lab);
}
END_TEST

/* Same r (one round), same partition (one CPU cluster): each refinement only lowers blocking. */
START_TEST(tighter_options_never_raise_blocking)
{
    static const enum gpusync_peer_bound peers[] = {PEER_CHAINS, PEER_MIGRATIONS, PEER_EQUATION_6};
    struct lab lab;
    size_t compared = 0;
    size_t lower = 0;

    open_lab(&lab, 46);
    for (size_t k = 0; k < harness_scale(60, 3000); k++) {
        size_t c = 33 + random_below(&lab.random, 3); /* (G,C^P2P,*) */
        double before[MOST] = {0};

        draw(&lab, 0.05);
        for (int capped = 1; capped >= 0; capped--)
            for (size_t p = 0; p < 3; p++) {
                struct gpusync_options options = gpusync_sound;

                options.tight = capped;
                options.peer = peers[p];
                if (analyse(&lab, c, &options) != GPUSYNC_BOUNDED || lab.workspace->rounds > 1)
                    goto next;
                for (size_t i = 0; i < lab.n; i++) {
                    double copy = lab.workspace->terms[i].copy_blocking;

                    if (p > 0) {
                        ck_assert(copy >= before[i] - 1e-6);
                        lower += copy > before[i] + 1e-6;
                    }
                    before[i] = copy;
                    compared++;
                }
            }
    next:;
    }
    ck_assert_uint_gt(compared, 500);
    ck_assert_uint_gt(lower, 10);
    close_lab(&lab);
}
END_TEST

HARNESS_MAIN("gpusync properties", 60, deciding_early_gives_the_verdict_of_the_whole_analysis,
             results_do_not_depend_on_the_order_of_tasks,
             bounds_are_above_what_a_job_does_and_utilisations_add_up,
             more_work_never_turns_a_first_round_reject_into_an_accept,
             engine_blocking_is_that_of_all_requests_spelled_out, tighter_options_never_raise_blocking)
