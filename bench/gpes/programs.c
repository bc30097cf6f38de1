#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpes.h"

static const char WORKLOADS[] = "tests/workloads/workloads";

double gpes_kernel_ms(struct gpes *gpes, const struct stage_how *how, struct gpes_program program,
                      unsigned jobs, struct stage_program *ret_run)
{
    struct stage_program run = {0};
    char size[32];
    char repeat[32];
    const char *argv[] = {WORKLOADS, "--times", "--unchecked", "--repeat",   repeat,
                          "--size",  size,      program.name,  (char *)NULL, NULL};

    (void)snprintf(size, sizeof size, "%zu", program.size);
    (void)snprintf(repeat, sizeof repeat, "%u", jobs);
    stage_run(&gpes->stage, &run, how, argv);
    if (ret_run)
        *ret_run = run;
    return stage_value(&run, "kernel_ms");
}

size_t gpes_responses(struct gpes *gpes, const struct stage_how *how, struct gpes_program program,
                      unsigned period_ms, unsigned jobs, double ret_ms[])
{
    struct stage_program run = {0};
    char size[32];
    char period[32];
    char count[32];
    const char *argv[] = {WORKLOADS, "--json", "--unchecked", "--period",   period, "--jobs",
                          count,     "--size", size,          program.name, NULL};

    (void)snprintf(size, sizeof size, "%zu", program.size);
    (void)snprintf(period, sizeof period, "%u", period_ms);
    (void)snprintf(count, sizeof count, "%u", jobs);
    stage_run(&gpes->stage, &run, how, argv);
    return stage_responses(&run, ret_ms, GPES_MOST_JOBS);
}

double gpes_mean(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return n ? sum / (double)n : NAN;
}

double gpes_alone_ms(struct gpes *gpes, struct gpes_program program)
{
    static const struct stage_how plain = {.realtime = true};
    double ms[GPES_MOST_JOBS];
    size_t n = gpes_responses(gpes, &plain, program, 10, gpes->quick ? 5 : 9, ms);

    return stage_quantile(ms, n, 0.5);
}

void gpes_start(struct gpes *gpes, struct stage_program *run, const struct stage_how *how,
                struct gpes_program program)
{
    char size[32];
    const char *argv[] = {WORKLOADS,   "--unchecked", "--repeat", "100000",     "--wait-for",
                          "/dev/null", "--size",      size,       program.name, NULL};

    (void)snprintf(size, sizeof size, "%zu", program.size);
    stage_start(&gpes->stage, run, how, argv);
    if (!stage_await(run, "ready", 60000)) {
        fprintf(stderr, "%s did not start\n", program.name);
        exit(3);
    }
}

double gpes_groups(struct gpes *gpes, struct gpes_program program)
{
    static const struct stage_how one = {.baton = true, .slice = "1", .stats = true};
    struct stage_program run;
    double pieces;

    (void)gpes_kernel_ms(gpes, &one, program, 1, &run);
    pieces = stage_stat(&run, "pieces") / stage_stat(&run, "kernel_launches");
    return pieces > 0 ? pieces : 0;
}
