/*
 * Preemption: how long an urgent kernel of 0.3 ms takes beside a hog, alone and under each profile
 * of batond, all in one run.
 *
 * usage: bench-preemption [cuda] [kernel] [copy] [throughput] [unwatched] [PERIOD]
 *   default: kernel copy throughput 10
 *
 * cuda        the same programs in CUDA, on the CPU device and the default stream, not OpenCL
 * kernel      a hog whose kernels take about a second
 * copy        a hog that copies 64 MiB there and back without end
 * throughput  what the hogs lose alone under Baton, against plain OpenCL or CUDA
 * unwatched   without the witness (below): all jobs are quiet
 * PERIOD      of the urgent program, in ms: each of its jobs costs the hog some time, told as well
 *
 * "hog kept" is what the hog did while the urgent program ran, as a part of what it does alone
 * under Baton in the time left to it. It also runs before and after: what it does alone in that
 * time is taken off. The speed of copies varies from second to second, so the same is told by its
 * statistics: 1 - (how long it waited - what it waits alone in that time - what the urgent program
 * occupied) / how long both ran. That leaves out what a copy loses to a cold cache. The witness
 * runs beside the hog in both cases, since it costs about 1 % of each core.
 *
 * "alone" and "Baton" take turns, so that both see the same noise of the machine. Times are
 * measured by the urgent program from its first OpenCL call to the last byte. Pending time is
 * GPES's: response - occupying, from --stats, the mean per job. Of quiet jobs it is the mean time
 * less the smallest occupying time of any row.
 *
 * In a virtual machine the host takes cores away (column "stolen"), most from those that are busy,
 * as they are beside a hog. The row "every core computes" shows what that does to the urgent
 * program alone. So every row is told twice: with all jobs, and with those during which no core
 * stood still (witness.h). Both are compared with the ceiling.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "stage.h"
#include "witness.h"

enum { ROUNDS = 5, MOST = 20000 };

#define PIECE_MS     0.5 /* what the layer aims at */
#define SLACK_MS     0.2
#define LESS_PENDING 90.0 /* % */
#define THROUGHPUT   0.97 /* of plain */

static struct stage stage;
static char urgent_steps[32], hog_steps[32];
static const char *urgent_period = "10"; /* ms */
static bool watched = true;
static double occupying_ms = INFINITY; /* what a job occupies, in the row where that is the least */

static struct stage_how URGENT = {
    .baton = true, .priority = 80, .name = "urgent", .stats = true, .realtime = true};
static const struct stage_how URGENT_PLAIN = {.realtime = true};
static struct stage_how HOG = {.baton = true, .priority = 10, .name = "hog", .stats = true};
static const struct stage_how HOG_PLAIN = {0};

/* The programs: argv[0] and what comes first, NULL-terminated. */
struct api {
    const char *name, *plain; /* of figures; of the row without Baton */
    const char *device;       /* --device */
    const char *urgent[3], *kernel_hog[3], *copy_hog[5];
};

static const struct api OPENCL = {"preempt",
                                  "plain OpenCL: Linux shares cores",
                                  NULL,
                                  {"examples/demo/urgent"},
                                  {"examples/demo/hog", "kernel"},
                                  {"examples/demo/hog", "copy"}};
static const struct api CUDA = {"preempt-cuda",
                                "plain CUDA: in order of arrival",
                                "cpu",
                                {"examples/demo/cuda-demo", "urgent"},
                                {"examples/demo/cuda-demo", "hog"},
                                {"examples/demo/cuda-demo", "hog", "--bytes", "67108864"}};
static const struct api *api = &OPENCL;

enum { MOST_WORDS = 16 };

/* The words of a command line: those of the table, then the others; both NULL-terminated. */
static const char *const *words(const char *ret_words[MOST_WORDS], const char *const first[],
                                const char *const then[])
{
    size_t n = 0;

    for (; *first && n + 1 < MOST_WORDS; first++)
        ret_words[n++] = *first;
    for (; *then && n + 1 < MOST_WORDS; then++)
        ret_words[n++] = *then;
    ret_words[n] = NULL;
    return ret_words;
}

static const char *const *hog_words(const char *kind)
{
    return strcmp(kind, "copy") == 0 ? api->copy_hog : api->kernel_hog;
}

/* Every job's time from its first call, over all rounds of one setting. */
struct sample {
    double ms[MOST];
    size_t n;
    double quiet_ms[MOST]; /* those of them during which no core stood still */
    size_t n_quiet;
    double pending_ms; /* sum over jobs */
    double jobs;
    double compute_ms, copy_ms; /* sums: what it occupied of the engines */
    struct stage_cpu cpu;       /* while it ran */
};

static void read_list(struct sample *sample, const struct stage_program *program)
{
    char line[512];
    FILE *file = fopen(program->output, "re");

    while (file && sample->n < MOST && fgets(line, sizeof line, file)) {
        char *end;
        double ms;
        baton_nsec begin_at;

        (void)strtod(line, &end);
        if (end == line || *end != ' ')
            continue;
        ms = strtod(end, &end);
        begin_at = (baton_nsec)(strtod(end, NULL) * NSEC_PER_MS);
        sample->ms[sample->n++] = ms;
        if (!witness_saw(begin_at, begin_at + (baton_nsec)(ms * NSEC_PER_MS)))
            sample->quiet_ms[sample->n_quiet++] = ms;
    }
    if (file)
        (void)fclose(file);
}

static void run_urgent(struct sample *sample, const struct stage_how *how, const char *seconds)
{
    struct stage_program program = {0};
    const char *const options[] = {"--steps",   urgent_steps, "--period", urgent_period,
                                   "--seconds", seconds,      "--list",   NULL};
    const char *argv[MOST_WORDS];
    struct stage_cpu before = stage_cpu(), after;
    double pending;

    if (watched)
        (void)witness_begin();
    stage_run(&stage, &program, how, words(argv, api->urgent, options));
    witness_end();
    after = stage_cpu();
    sample->cpu.stolen += after.stolen - before.stolen;
    sample->cpu.all += after.all - before.all;
    read_list(sample, &program);
    pending = stage_stat(&program, "pending_ms");
    if (!isnan(pending)) {
        double jobs = stage_stat(&program, "jobs.n");

        sample->pending_ms += pending;
        sample->jobs += jobs;
        sample->compute_ms += stage_stat(&program, "compute_occupying_ms");
        sample->copy_ms += stage_stat(&program, "copy_occupying_ms");
        occupying_ms = fmin(occupying_ms, stage_stat(&program, "occupying_ms") / jobs);
    }
}

static void start_hog(struct stage_program *hog, const struct stage_how *how, const char *kind)
{
    const char *const options[] = {"--steps", hog_steps, "--seconds", "600", NULL};
    const char *argv[MOST_WORDS];

    stage_start(&stage, hog, how, words(argv, hog_words(kind), options));
    if (!stage_await(hog, "ready", 60000)) {
        fprintf(stderr, "the hog did not start\n");
        exit(3);
    }
}

static double end_hog(struct stage_program *hog)
{
    if (stage_end(hog, SIGTERM) != 0 || stage_value(hog, "wrong") != 0) {
        fprintf(stderr, "the hog failed or computed wrong results\n");
        exit(3);
    }
    return stage_value(hog, "per_second");
}

static double pending_of(const struct sample *sample)
{
    return sample->pending_ms / sample->jobs;
}

static double quiet_pending_of(const struct sample *sample)
{
    double sum = 0;

    for (size_t i = 0; i < sample->n_quiet; i++)
        sum += sample->quiet_ms[i];
    return sum / (double)sample->n_quiet - occupying_ms;
}

static void print_ms(double ms)
{
    if (isnan(ms)) /* no such job, or it is not counted */
        printf(" %8s", "-");
    else
        printf(" %8.3f", ms);
}

static void print_row(const char *title, struct sample *sample, double per_second)
{
    double p50 = stage_quantile(sample->ms, sample->n, 0.5);
    double p99 = stage_quantile(sample->ms, sample->n, 0.99);
    double most = stage_quantile(sample->ms, sample->n, 1.0);

    printf("  %-32s %6zu", title, sample->n);
    print_ms(p50);
    print_ms(p99);
    print_ms(most);
    print_ms(pending_of(sample));
    printf("  %6zu", sample->n_quiet);
    print_ms(stage_quantile(sample->quiet_ms, sample->n_quiet, 0.99));
    print_ms(stage_quantile(sample->quiet_ms, sample->n_quiet, 1.0));
    print_ms(quiet_pending_of(sample));
    printf(" %6.1f %%", 100 * sample->cpu.stolen / sample->cpu.all);
    if (!isnan(per_second))
        printf(" %8.3f", per_second);
    printf("\n");
    (void)fflush(stdout);
}

static void measure_baseline(struct sample *sample, const char *profile, const char *kind, const char *title)
{
    struct stage_program hog = {0};

    stage_daemon_start(&stage, profile, NULL);
    start_hog(&hog, &HOG, kind);
    run_urgent(sample, &URGENT, "5");
    print_row(title, sample, end_hog(&hog));
    stage_daemon_stop(&stage);
}

/* The three settings that are compared, one after the other, again and again. */
struct rounds {
    struct sample alone, busy, beside;
    double rate, kept[ROUNDS]; /* of the hog: rounds a second; of its rate alone and what was left to it */
    double counted[ROUNDS];    /* the same by how long it waited */
    double lost_us[ROUNDS];    /* how long it waited in vain per urgent job */
};

static const char BESIDE[] = "5"; /* seconds: of the urgent program beside the hog, of the hog alone */

struct alone {
    double rounds, waits_ms; /* of the hog in a second; it waits between its calls and the engine */
};

static void run_hog_alone(struct alone *ret_alone, const char *kind)
{
    const char *const options[] = {"--steps", hog_steps, "--seconds", BESIDE, NULL};
    const char *argv[MOST_WORDS];
    struct stage_program hog = {0};

    if (watched)
        (void)witness_begin();
    stage_run(&stage, &hog, &HOG, words(argv, hog_words(kind), options));
    witness_end();
    *ret_alone = (struct alone){stage_value(&hog, "per_second"),
                                stage_stat(&hog, "pending_ms") / stage_value(&hog, "seconds")};
}

/* What the urgent program occupied so far of the engines that such a hog uses. */
static double occupied_ms(const struct sample *sample, const char *kind)
{
    return strcmp(kind, "copy") == 0 ? sample->copy_ms : sample->compute_ms;
}

/* The hog's run has just ended; used_ms: what the urgent program occupied beside it. */
static double kept_of(const struct stage_program *hog, double alone, double used_ms)
{
    double rounds = stage_value(hog, "rounds"), shared = strtod(BESIDE, NULL);
    double unshared = stage_value(hog, "seconds") - shared;

    return (rounds - alone * unshared) / (alone * (shared - used_ms / 1e3));
}

static void run_rounds(struct rounds *rounds, const char *kind)
{
    memset(rounds, 0, sizeof *rounds);
    for (int i = 0; i < ROUNDS; i++) {
        struct stage_program hog = {0};
        struct alone alone;
        double before_ms, used_ms, lost_ms, jobs_before;

        run_urgent(&rounds->alone, &URGENT, "3");
        stage_spinners(true);
        run_urgent(&rounds->busy, &URGENT, "3");
        stage_spinners(false);
        run_hog_alone(&alone, kind);
        start_hog(&hog, &HOG, kind);
        before_ms = occupied_ms(&rounds->beside, kind);
        jobs_before = rounds->beside.jobs;
        run_urgent(&rounds->beside, &URGENT, BESIDE);
        rounds->rate += end_hog(&hog) / ROUNDS;
        used_ms = occupied_ms(&rounds->beside, kind) - before_ms;
        rounds->kept[i] = kept_of(&hog, alone.rounds, used_ms);
        lost_ms = stage_stat(&hog, "pending_ms") - alone.waits_ms * stage_value(&hog, "seconds") - used_ms;
        rounds->counted[i] = 1 - lost_ms / (strtod(BESIDE, NULL) * 1e3);
        rounds->lost_us[i] = 1e3 * lost_ms / (rounds->beside.jobs - jobs_before);
    }
}

static void claim_kept(const char *kind, const char *by, const char *figure, double kept[])
{
    char claim[128];

    (void)stage_quantile(kept, ROUNDS, 0.5); /* sorts them */
    (void)snprintf(claim, sizeof claim, "what the %s hog kept of what was left to it, by %s (%.3f to %.3f)",
                   kind, by, kept[0], kept[ROUNDS - 1]);
    stage_claim(claim, kept[ROUNDS / 2], true, THROUGHPUT, "");
    figure_of(api->name, kind, figure, kept[ROUNDS / 2], kept[0], kept[ROUNDS - 1]);
}

/* The ceiling of the 99th percentile, for all jobs or for those that no standstill touched. */
static void claim_p99(const char *kind, const char *whose, const char *figure, double beside_ms[],
                      size_t n_beside, double alone_ms[], size_t n_alone)
{
    double p99 = stage_quantile(beside_ms, n_beside, 0.99);
    double limit = stage_quantile(alone_ms, n_alone, 0.99) + 2 * PIECE_MS + SLACK_MS;
    char claim[128];

    (void)snprintf(claim, sizeof claim, "p99 of %s beside the %s hog against p99 alone + 2 pieces + %.1f ms",
                   whose, kind, SLACK_MS);
    stage_claim(claim, p99, false, limit, " ms");
    (void)snprintf(claim, sizeof claim, "%sp99", figure);
    figure_of(api->name, kind, claim, p99, stage_quantile(beside_ms, n_beside, 0.95),
              stage_quantile(beside_ms, n_beside, 1.0));
    (void)snprintf(claim, sizeof claim, "%slimit", figure);
    figure_of(api->name, kind, claim, limit, limit, limit);
    (void)snprintf(claim, sizeof claim, "%sratio", figure);
    figure_of(api->name, kind, claim, p99 / limit, p99 / limit, p99 / limit);
}

static void claim_pending(const char *kind, const char *whose, const char *profile, const char *figure,
                          double beside_ms, double other_ms)
{
    double less = 100 * (1 - beside_ms / other_ms);
    char claim[128];

    if (isnan(less)) /* no quiet job: they took seconds */
        return;
    (void)snprintf(claim, sizeof claim, "pending time of %s beside the %s hog, less than with %s by", whose,
                   kind, profile);
    stage_claim(claim, less, true, LESS_PENDING, " %");
    figure_of(api->name, kind, figure, less, less, less);
}

static void bench_hog(const char *kind, const char *what)
{
    static struct sample plain, fifo, whole;
    static struct rounds all;
    struct stage_program hog = {0};

    memset(&plain, 0, sizeof plain);
    memset(&fifo, 0, sizeof fifo);
    memset(&whole, 0, sizeof whole);
    printf("An urgent 0.3 ms kernel beside %s; ms from the first call\n", what);
    printf("  %-32s %6s %8s %8s %8s %8s  %6s %8s %8s %8s %8s %8s\n", "", "jobs", "p50", "p99", "max",
           "pending", "quiet", "p99", "max", "pending", "stolen", "hog/s");
    stage_daemon_start(&stage, "priority", NULL);
    run_rounds(&all, kind);
    stage_daemon_stop(&stage);
    print_row("alone, under Baton", &all.alone, NAN);
    print_row("alone, and every core computes", &all.busy, NAN);
    print_row("Baton: priority, sliced", &all.beside, all.rate);
    start_hog(&hog, &HOG_PLAIN, kind);
    run_urgent(&plain, &URGENT_PLAIN, "3");
    print_row(api->plain, &plain, end_hog(&hog));
    measure_baseline(&fifo, "fifo", kind, "fifo: in order of arrival, whole");
    measure_baseline(&whole, "priority-whole", kind, "priority-whole");

    claim_p99(kind, "all jobs", "", all.beside.ms, all.beside.n, all.alone.ms, all.alone.n);
    claim_p99(kind, "quiet jobs", "quiet-", all.beside.quiet_ms, all.beside.n_quiet, all.alone.quiet_ms,
              all.alone.n_quiet);
    claim_pending(kind, "all jobs", "fifo", "fifo", pending_of(&all.beside), pending_of(&fifo));
    claim_pending(kind, "quiet jobs", "fifo", "quiet-fifo", quiet_pending_of(&all.beside),
                  quiet_pending_of(&fifo));
    claim_pending(kind, "all jobs", "priority-whole", "whole", pending_of(&all.beside), pending_of(&whole));
    claim_pending(kind, "quiet jobs", "priority-whole", "quiet-whole", quiet_pending_of(&all.beside),
                  quiet_pending_of(&whole));
    claim_kept(kind, "its rate", "kept", all.kept);
    claim_kept(kind, "how long it waited", "counted", all.counted);
    (void)stage_quantile(all.lost_us, ROUNDS, 0.5);
    printf("  an urgent job every %s ms costs the %s hog %.0f us beyond what it occupies (%.0f to %.0f)\n\n",
           urgent_period, kind, all.lost_us[ROUNDS / 2], all.lost_us[0], all.lost_us[ROUNDS - 1]);
}

/*
 * Pairs of runs, plain and under Baton, so that a slow minute of the machine hits both. One pair
 * may be off by a fifth on a busy host, so there are many. The median is told with where it would
 * lie in 19 of 20 repetitions. That is between the order statistics sqrt(pairs) to either side, two
 * deviations of a fair coin.
 */
static void bench_throughput(const char *kind, const char *seconds, int pairs)
{
    enum { MOST_PAIRS = 64 };
    double ratio[MOST_PAIRS];
    int aside = (int)sqrt(pairs);
    char claim[96];

    for (int i = 0; i < pairs; i++) {
        double rate[2] = {0};
        for (int which = 0; which < 2; which++) {
            int baton = (which + i) % 2; /* take turns at going first */
            struct stage_program hog = {0};
            const char *const options[] = {"--steps", hog_steps, "--seconds", seconds, NULL};
            const char *argv[MOST_WORDS];

            stage_run(&stage, &hog, baton ? &HOG : &HOG_PLAIN, words(argv, hog_words(kind), options));
            rate[baton] = stage_value(&hog, "per_second");
        }
        ratio[i] = rate[1] / rate[0];
    }
    (void)stage_quantile(ratio, (size_t)pairs, 0.5);
    printf("  %-8s hog alone: throughput under Baton / plain, median of %d pairs  %.4f (%.4f to %.4f)   "
           "[%.4f, %.4f]\n",
           kind, pairs, ratio[pairs / 2], ratio[pairs / 2 - aside], ratio[pairs / 2 + aside], ratio[0],
           ratio[pairs - 1]);
    (void)snprintf(claim, sizeof claim, "throughput of the %s hog alone under Baton / plain", kind);
    stage_claim(claim, ratio[pairs / 2], true, THROUGHPUT, "");
    figure_of(api->name, kind, "throughput", ratio[pairs / 2], ratio[0], ratio[pairs - 1]);
    (void)fflush(stdout);
}

static void calibrate(char *ret_steps, size_t size, const char *const program[], const char *ms)
{
    const char *const options[] = {"--calibrate", ms, NULL};
    struct stage_program run = {0};
    const char *argv[MOST_WORDS];
    FILE *file;

    stage_run(&stage, &run, &HOG_PLAIN, words(argv, program, options));
    file = fopen(run.output, "re");
    if (!file || !fgets(ret_steps, (int)size, file)) {
        fprintf(stderr, "%s did not calibrate\n", program[0]);
        exit(3);
    }
    (void)fclose(file);
    ret_steps[strcspn(ret_steps, "\n")] = '\0';
}

static bool said(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return true;
    return false;
}

static bool wanted(int argc, char **argv, const char *part)
{
    return said(argc, argv, part) ||
           !(said(argc, argv, "kernel") || said(argc, argv, "copy") || said(argc, argv, "throughput"));
}

static void use_cuda(void)
{
    char engines[128];

    api = &CUDA;
    URGENT.device = HOG.device = CUDA.device;
    (void)snprintf(engines, sizeof engines, "%s/engines", stage.folder);
    setenv("BATON_CUDA_CPU_ENGINES", engines, 1);
    printf("CUDA on the CPU device. PoCL's device has no PCI address: there is no row for an OpenCL hog.\n");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (atoi(argv[i]) > 0)
            urgent_period = argv[i];
    watched = !said(argc, argv, "unwatched");
    stage_open(&stage, "basic");
    if (said(argc, argv, "cuda"))
        use_cuda();
    calibrate(urgent_steps, sizeof urgent_steps, api->urgent, "0.3");
    calibrate(hog_steps, sizeof hog_steps, api->kernel_hog, "1000");
    if (!stage.realtime)
        printf("SCHED_FIFO is not permitted: the operating system's noise is in every row.\n");
    if (wanted(argc, argv, "kernel"))
        bench_hog("kernel", "a hog whose kernels take a second");
    if (wanted(argc, argv, "copy"))
        bench_hog("copy", "a hog that copies 64 MiB there and back");
    if (wanted(argc, argv, "throughput")) {
        stage_daemon_start(&stage, "priority", NULL);
        bench_throughput("kernel", "2.5", 15);
        bench_throughput("copy", "0.8", 41);
    }
    stage_close(&stage);
    return 0;
}
