/*
 * Hogs (GPES, appendix and Fig. 12): how much longer a program's jobs take beside a program that
 * takes all it can get.
 *
 *   bench-hogs [large] [infi] [--rounds N]         default: both, 9 rounds
 *
 * large  one enormous grid after the other, almost nothing in each work-group
 * infi   endless submissions without ever waiting
 *
 * The figure is GPES's: time alone / time beside the hog, 1 being untouched; per victim the median
 * over the rounds. On a host with neighbours, one run of a victim whose time goes into memory
 * differs from the next by a third. So each run beside the hog has its own run alone, right before
 * or right after it in turns. There are three times as many runs under Baton, where a tenth
 * matters, as with the baselines. "alone" is under Baton. The victims' jobs take at least 20 ms
 * with at most four gaps. In a gap the program has nothing queued in the middle of a job, and the
 * hog may begin a piece.
 *
 * On PoCL's `basic` device kernels run in the program's own thread. There the settings mean:
 *
 *   two cores   plain OpenCL, free to use the machine: victim and hog have a core each. That is
 *               two devices, not one shared device.
 *   one core    plain OpenCL, both on one core: one device, which Linux divides by time. GPUs of
 *               GPES's kind cannot do that.
 *   fifo        batond in order of arrival, whole: what a GPU's driver does. The honest baseline.
 *   Baton       batond by priority, sliced.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "stage.h"

enum { MAX_ROUNDS = 60, MAX_JOBS = 4000, BASELINES_EVERY = 3 /* rounds */ };

#define FLOOR      0.90
#define GPES_RATIO 0.51

enum setting { ALONE, BATON, FIFO, TWO_CORES, ONE_CORE, SETTINGS };

static const char *const setting_names[] = {"alone", "Baton", "fifo", "plain, two cores", "plain, one core"};

/* Those of Fig. 12. The hog may come between at each change from copying to computing and back. */
static const struct victim {
    const char *name, *size;
} victims[] = {
    {"heartwall", "256"}, {"madd", "2048"}, {"mmul", "448"}, {"hotspot", "1024"}, {"nn", "8388608"}};

enum { VICTIMS = sizeof victims / sizeof victims[0] };

static const char JOBS[] = "9";

static const struct stage_how VICTIM[SETTINGS] = {
    [ALONE] = {.baton = true, .priority = 80, .realtime = true},
    [BATON] = {.baton = true, .priority = 80, .realtime = true},
    [FIFO] = {.baton = true, .priority = 80, .realtime = true},
    [TWO_CORES] = {.realtime = true},
    [ONE_CORE] = {.core = 1}, /* real-time, it would simply stop the hog: Linux is no GPU */
};
static const struct stage_how HOG[SETTINGS] = {
    [BATON] = {.baton = true, .priority = 10},
    [FIFO] = {.baton = true, .priority = 10},
    [ONE_CORE] = {.core = 1},
};

static struct stage stage;
static size_t n_rounds = 9;

/* Time alone / time beside the hog of one victim in one setting, a pair of runs each. */
struct ratios {
    double of[MAX_ROUNDS];
    size_t n;
};

/* What is known of one victim. */
struct outcome {
    double alone_ms[MAX_ROUNDS * SETTINGS]; /* medians of a run's jobs */
    size_t n_alone;
    struct ratios ratios[SETTINGS];
};

static double run_victim(const struct victim *victim, enum setting setting)
{
    struct stage_program program = {0};
    const char *argv[] = {"tests/workloads/workloads",
                          "--json",
                          "--unchecked",
                          "--period",
                          "1",
                          "--jobs",
                          JOBS,
                          "--size",
                          victim->size,
                          victim->name,
                          NULL};
    double ms[MAX_JOBS];
    size_t n;

    stage_run(&stage, &program, &VICTIM[setting], argv);
    n = stage_responses(&program, ms, MAX_JOBS);
    if (!n) {
        fprintf(stderr, "%s said nothing\n", victim->name);
        exit(3);
    }
    return stage_quantile(ms, n, 0.5);
}

static void start_hog(struct stage_program *hog, const struct stage_how *how, const char *kind)
{
    const char *argv[] = {"examples/demo/hog", kind, "--queued", "0", "--seconds", "600", NULL};

    stage_start(&stage, hog, how, argv);
    if (!stage_await(hog, "ready", 60000)) {
        fprintf(stderr, "the hog did not start\n");
        exit(3);
    }
}

static double run_alone(struct outcome *outcome, const struct victim *victim)
{
    double ms;

    stage_daemon_start(&stage, "priority", NULL);
    ms = run_victim(victim, ALONE);
    stage_daemon_stop(&stage);
    outcome->alone_ms[outcome->n_alone++] = ms;
    return ms;
}

static double run_beside(const struct victim *victim, enum setting setting, const char *kind)
{
    static const char *const profiles[SETTINGS] = {[BATON] = "priority", [FIFO] = "fifo"};
    struct stage_program hog = {0};
    double ms;

    if (profiles[setting])
        stage_daemon_start(&stage, profiles[setting], NULL);
    start_hog(&hog, &HOG[setting], kind);
    ms = run_victim(victim, setting);
    if (stage_end(&hog, SIGTERM) != 0 || stage_value(&hog, "wrong") != 0) {
        fprintf(stderr, "the hog failed or computed wrong results\n");
        exit(3);
    }
    stage_daemon_stop(&stage);
    return ms;
}

static void run_pair(struct outcome *outcome, const struct victim *victim, enum setting setting,
                     const char *kind)
{
    struct ratios *ratios = &outcome->ratios[setting];
    double alone = NAN;
    double beside;

    if (ratios->n % 2 == 0)
        alone = run_alone(outcome, victim);
    beside = run_beside(victim, setting, kind);
    if (isnan(alone))
        alone = run_alone(outcome, victim);
    ratios->of[ratios->n++] = alone / beside;
}

/* Sorts the ratios too: the least comes first. */
static double median_of(struct ratios *ratios)
{
    return stage_quantile(ratios->of, ratios->n, 0.5);
}

static void bench_hog(const char *kind, const char *what)
{
    static struct outcome outcomes[VICTIMS];
    double least = INFINITY;
    double most = 0;
    char claim[64];
    double sum = 0;

    memset(outcomes, 0, sizeof outcomes);
    printf(
        "Beside %s: time alone / time beside the hog, median [least, most] of %zu pairs of runs of %s jobs "
        "(the baselines: %zu)\n",
        what, n_rounds, JOBS, (n_rounds + BASELINES_EVERY - 1) / BASELINES_EVERY);
    printf("  %-10s %9s", "", "alone, ms");
    for (int setting = BATON; setting < SETTINGS; setting++)
        printf("   %-20s", setting_names[setting]);
    printf("\n");
    for (size_t round = 0; round < n_rounds; round++)
        for (size_t v = 0; v < VICTIMS; v++)
            for (int setting = BATON; setting < SETTINGS; setting++)
                if (setting == BATON || round % BASELINES_EVERY == 0)
                    run_pair(&outcomes[v], &victims[v], (enum setting)setting, kind);
    for (size_t v = 0; v < VICTIMS; v++) {
        struct outcome *outcome = &outcomes[v];
        double baton = median_of(&outcome->ratios[BATON]);
        printf("  %-10s %9.1f", victims[v].name, stage_quantile(outcome->alone_ms, outcome->n_alone, 0.5));
        for (int setting = BATON; setting < SETTINGS; setting++) {
            struct ratios *ratios = &outcome->ratios[setting];
            double median = median_of(ratios);
            printf("   %.2f [%.2f, %.2f]   ", median, ratios->of[0], ratios->of[ratios->n - 1]);
        }
        printf("\n");
        least = fmin(least, baton);
        most = fmax(most, baton);
        sum += baton;
    }
    (void)snprintf(claim, sizeof claim, "time alone / time beside %s, the worst victim", kind);
    stage_claim(claim, least, true, FLOOR, "");
    figure_of("hogs", kind, "worst", least, least, most);
    printf("  mean over the victims %.2f; GPES %.2f, its baseline 0.10 beside LARGE and never done beside "
           "INFI\n\n",
           sum / VICTIMS, GPES_RATIO);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    bool large = false;
    bool infi = false;

    for (int i = 1; i < argc; i++) {
        large = large || strcmp(argv[i], "large") == 0;
        infi = infi || strcmp(argv[i], "infi") == 0;
        if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            n_rounds = strtoul(argv[++i], NULL, 10);
    }
    if (n_rounds < 1 || n_rounds > MAX_ROUNDS) {
        fprintf(stderr, "bench-hogs: --rounds: expected 1 to %d\n", MAX_ROUNDS);
        return 2;
    }
    stage_open(&stage, "basic");
    if (!stage.realtime)
        printf("SCHED_FIFO is not permitted: the operating system's noise is in every row.\n");
    if (large || !infi)
        bench_hog("large", "LARGE, one enormous grid after the other");
    if (infi || !large)
        bench_hog("infi", "INFI, endless submissions");
    stage_close(&stage);
    return 0;
}
