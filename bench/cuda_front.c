/*
 * What the CUDA front costs on the CPU device, connected and uncontended. cuda-load (cuda_load.c)
 * runs twice at a time, plain and under `baton run`. Both are asked for single samples in turns, so
 * that they meet the same machine. There are several pairs, since processes differ too.
 *
 *   bench-cuda-front [control] [launch] [pipeline] [in] [out] [product]
 *     default: all but control
 *
 * "added" is the median over the pairs of (median with - median plain), with the least and the
 * greatest pair. On a busy machine it says little. "quickest" compares the quickest samples of all
 * pairs, since other work only adds to a time. "processor" compares the median of the processor
 * time of the whole process, which other work hardly changes. With `control` both of a pair are
 * plain: what is added then is the method's own error.
 *
 * Preemption beside hogs: `bench-preemption cuda`. Rewriting of modules: bench-cut. Needs the
 * source folder as working directory.
 */
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "stage.h"

enum { MOST_PAIRS = 15, MOST_SAMPLES = 64, WARM = 3 };

#define KERNELS "tests/cuda_conformance/kernels.ptx"
#define PRODUCT "tests/workloads/cuda/mmul.ptx"

/* One row: what is added to a sample, and what may be. */
struct row {
    const char *title, *what, *figure;
    const char *slice; /* --slice; NULL: automatic */
    bool percent;
    int pairs, samples;
    double most; /* microseconds or percent */
};

struct child {
    pid_t pid;
    int in, out;
};

static struct stage stage;

/* --- children --- */

static void become(const struct row *row, bool baton)
{
    char load[PATH_MAX + 64], program[PATH_MAX + 16];
    const char *argv[20] = {0};
    int n = 0;

    (void)snprintf(load, sizeof load, "%s/tests/cuda_front/cuda-load", stage.build);
    (void)snprintf(program, sizeof program, "%s/baton", stage.build);
    if (baton) {
        argv[n++] = program;
        argv[n++] = "run";
        argv[n++] = "--device";
        argv[n++] = "cpu";
        if (row->slice) {
            argv[n++] = "--slice";
            argv[n++] = row->slice;
        }
        argv[n++] = "--";
    }
    argv[n++] = load;
    argv[n++] = KERNELS;
    argv[n++] = "serve";
    argv[n++] = row->what;
    argv[n] = PRODUCT;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)execv(argv[0], (char *const *)(unsigned long)argv);
    _exit(127);
}

static struct child start(const struct row *row, bool baton)
{
    struct child child = {0};
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        exit(3);
    (void)fflush(NULL);
    child.pid = fork();
    if (child.pid == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        become(row, baton);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    child.in = in[1];
    child.out = out[0];
    return child;
}

static void end(struct child *child)
{
    int status = 0;

    (void)close(child->in);
    (void)close(child->out);
    if (child->pid > 0)
        (void)waitpid(child->pid, &status, 0);
}

enum { WALL, PROCESSOR, CLOCKS };

static void ask(const struct child *child, double ret_us[CLOCKS])
{
    if (write(child->in, "", 1) != 1 ||
        read(child->out, ret_us, CLOCKS * sizeof *ret_us) != CLOCKS * sizeof *ret_us) {
        fprintf(stderr, "bench-cuda-front: a program did not answer\n");
        exit(3);
    }
}

/* --- rows --- */

/* Medians of one pair's samples, plain and with Baton; least: the quickest of all pairs so far. */
static void measure_pair(const struct row *row, bool control, int pair, double ret_medians[CLOCKS][2],
                         double least[2])
{
    struct child children[2] = {start(row, false), start(row, !control)};
    static double us[CLOCKS][2][MOST_SAMPLES];

    for (int i = -WARM; i < row->samples; i++) {
        for (int j = 0; j < 2; j++) {
            int which = (i + WARM + pair + j) % 2; /* they take turns at going first */
            double sample[CLOCKS];

            ask(&children[which], sample);
            for (int clock = 0; clock < CLOCKS && i >= 0; clock++)
                us[clock][which][i] = sample[clock];
        }
    }
    for (int j = 0; j < 2; j++) {
        end(&children[j]);
        for (int clock = 0; clock < CLOCKS; clock++)
            ret_medians[clock][j] = stage_quantile(us[clock][j], (size_t)row->samples, 0.5);
        least[j] = fmin(least[j], us[WALL][j][0]);
    }
}

static double added_by(const struct row *row, double plain, double with)
{
    return row->percent ? 100 * (with / plain - 1) : with - plain;
}

static void measure(const struct row *row, bool control)
{
    double both[2][MOST_PAIRS], added[CLOCKS][MOST_PAIRS], least[2] = {INFINITY, INFINITY};
    const char *unit = row->percent ? "%" : "us", *verdict = "NOT met";
    size_t n = (size_t)row->pairs;
    double quickest;

    for (size_t i = 0; i < n; i++) {
        double medians[CLOCKS][2];

        measure_pair(row, control, (int)i, medians, least);
        for (int j = 0; j < 2; j++)
            both[j][i] = medians[WALL][j];
        for (int clock = 0; clock < CLOCKS; clock++)
            added[clock][i] = added_by(row, medians[clock][0], medians[clock][1]);
    }
    quickest = added_by(row, least[0], least[1]);
    for (int clock = 0; clock < CLOCKS; clock++)
        (void)stage_quantile(added[clock], n, 0.5);
    if (added[WALL][n / 2] <= row->most)
        verdict = "met";
    else if (quickest <= row->most)
        verdict = "met by the quickest only";
    printf("%-25s %10.2f us %10.2f us  %+8.2f %s [%+.2f, %+.2f]  quickest %+.2f %s  processor %+.2f %s "
           "[%+.2f, %+.2f]  asked: at most %+.0f %s, %s\n",
           row->title, stage_quantile(both[0], n, 0.5), stage_quantile(both[1], n, 0.5), added[WALL][n / 2],
           unit, added[WALL][0], added[WALL][n - 1], quickest, unit, added[PROCESSOR][n / 2], unit,
           added[PROCESSOR][0], added[PROCESSOR][n - 1], row->most, unit, verdict);
    figure_sorted(row->figure, added[WALL], n);
    (void)fflush(stdout);
}

static bool wanted(int argc, char **argv, const char *what)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], what) == 0)
            return true;
    return argc == 1;
}

int main(int argc, char **argv)
{
    static const struct row rows[] = {
        {"synchronous empty launch", "launch", "cuda-front-sync", NULL, false, 15, 40, 2},
        {"pipelined empty launch", "pipeline", "cuda-front-pipelined", NULL, false, 15, 40, 1},
        {"16 MiB to the device", "in", "cuda-front-in", NULL, true, 9, 40, 2},
        {"16 MiB from the device", "out", "cuda-front-out", NULL, true, 9, 40, 2},
        {"a product in 400 pieces", "product", "cuda-front-pieces", "1", true, 9, 6, 4},
    };
    bool control = argc > 1 && wanted(argc, argv, "control"), any = false;
    char engines[128];

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        any = any || (argc > 1 && wanted(argc, argv, rows[i].what));
    stage_open(&stage, "basic");
    (void)snprintf(engines, sizeof engines, "%s/engines", stage.folder);
    setenv("BATON_CUDA_CPU_ENGINES", engines, 1);
    stage_daemon_start(&stage, "priority", NULL);
    printf("%-25s %13s %13s  added: the median of pairs [least, greatest]\n", "", "plain",
           control ? "plain again" : "Baton");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!any || wanted(argc, argv, rows[i].what))
            measure(&rows[i], control);
    stage_close(&stage);
    return 0;
}
