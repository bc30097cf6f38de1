/*
 * What lingering is worth (docs/leases.md, "Lingering"): the time of three shapes of jobs of a
 * program of priority 80, every 20 ms, beside a program of priority 10 that takes all it can get.
 *
 * usage: bench-lingering [--rounds N] [--seconds S]          default: 8 rounds of 3 seconds
 *
 * The program runs with and without lingering (BATON_TEST_NO_LINGER) in turns, beside the same
 * other program. A row is the median time of its jobs without over that with lingering: the median,
 * least and most of the rounds. In every second round the order is the other one.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "stage.h"

enum { MOST_ROUNDS = 60, STEPS = 32 };

static struct stage stage;
static char copying_steps[STEPS], short_steps[STEPS], hog_steps[STEPS];

static const struct stage_how PLAIN = {.realtime = true};
static const struct stage_how URGENT = {.baton = true, .priority = 80, .realtime = true};
static const struct stage_how HOG = {.baton = true, .priority = 10};

static const struct shape {
    const char *figure, *what;
    const char *program, *kind; /* kind NULL: none */
    const char *steps;
    const char *hog;
} shapes[] = {
    {"lingering-copies", "copy 4 KiB in, kernel of 0.3 ms, copy out; beside copies of 64 MiB",
     "examples/demo/urgent", NULL, copying_steps, "copy"},
    {"lingering-waited", "20 kernels of 0.1 ms, each waited for; beside kernels of 1 s",
     "bench/lingering-job", "waited", short_steps, "kernel"},
    {"lingering-queued", "20 kernels of 0.1 ms, queued at once; beside kernels of 1 s", "bench/lingering-job",
     "queued", short_steps, "kernel"},
};

enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void calibrate(char ret_steps[STEPS], const char *program, const char *kind, const char *ms)
{
    const char *argv[] = {program, kind ? kind : "--calibrate", kind ? "--calibrate" : ms, kind ? ms : NULL,
                          NULL};
    struct stage_program run = {0};
    FILE *file;

    stage_run(&stage, &run, &PLAIN, argv);
    file = fopen(run.output, "re");
    if (!file || !fgets(ret_steps, STEPS, file)) {
        fprintf(stderr, "%s did not calibrate\n", program);
        exit(3);
    }
    (void)fclose(file);
    ret_steps[strcspn(ret_steps, "\n")] = '\0';
}

/* The median of the times of its jobs, ms. */
static double run_jobs(const struct shape *shape, const char *seconds, bool lingers)
{
    const char *argv[9] = {shape->program, shape->kind};
    const char *const options[] = {"--steps", shape->steps, "--period", "20", "--seconds", seconds, NULL};
    struct stage_program run = {0};
    double ms;

    memcpy(argv + (shape->kind ? 2 : 1), options, sizeof options);
    if (!lingers)
        (void)setenv("BATON_TEST_NO_LINGER", "1", 1);
    stage_run(&stage, &run, &URGENT, argv);
    (void)unsetenv("BATON_TEST_NO_LINGER");
    ms = stage_value(&run, "call_p50_ms");
    if (!(ms > 0)) {
        fprintf(stderr, "%s said nothing\n", shape->program);
        exit(3);
    }
    return ms;
}

static void bench_shape(const struct shape *shape, size_t rounds, const char *seconds)
{
    const char *argv[] = {"examples/demo/hog", shape->hog, "--steps", hog_steps, "--seconds", "3600", NULL};
    struct stage_program hog = {0};
    double ratios[MOST_ROUNDS], median;

    stage_daemon_start(&stage, "priority", NULL);
    stage_start(&stage, &hog, &HOG, argv);
    if (!stage_await(&hog, "ready", 60000)) {
        fprintf(stderr, "the hog did not start\n");
        exit(3);
    }
    for (size_t round = 0; round < rounds; round++) {
        double ms[2]; /* without, with */

        for (size_t turn = 0; turn < 2; turn++) {
            bool lingers = (turn + round) % 2 != 0;

            ms[lingers] = run_jobs(shape, seconds, lingers);
        }
        ratios[round] = ms[0] / ms[1];
    }
    if (stage_end(&hog, SIGTERM) != 0 || stage_value(&hog, "wrong") != 0) {
        fprintf(stderr, "the hog failed or computed wrong results\n");
        exit(3);
    }
    stage_daemon_stop(&stage);
    median = stage_quantile(ratios, rounds, 0.5); /* and they are sorted now */
    printf("  %-66s %.2f [%.2f, %.2f]\n", shape->what, median, ratios[0], ratios[rounds - 1]);
    figure_sorted(shape->figure, ratios, rounds);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *seconds = "3";
    size_t rounds = 8;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0)
            seconds = argv[i + 1];
    }
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "bench-lingering: --rounds: expected 1 to %d\n", MOST_ROUNDS);
        return 2;
    }
    stage_open(&stage, "basic");
    calibrate(copying_steps, "examples/demo/urgent", NULL, "0.3");
    calibrate(short_steps, "bench/lingering-job", NULL, "0.1");
    calibrate(hog_steps, "examples/demo/hog", "kernel", "1000");
    if (!stage.realtime)
        printf("SCHED_FIFO is not permitted: the operating system's noise is in every row.\n");
    printf("Time without lingering / time with it, median [least, most] of %zu rounds of %s s:\n", rounds,
           seconds);
    for (size_t i = 0; i < SHAPES; i++)
        bench_shape(&shapes[i], rounds, seconds);
    stage_close(&stage);
    return 0;
}
