#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpes.h"

enum { MOST_WORDS = 20 };

const struct gpes_api gpes_opencl = {.name = "OpenCL",
                                     .figures = "gpes",
                                     .suffix = "",
                                     .workloads = {"tests/workloads/workloads"},
                                     .copies = {"bench/gpes/copies"},
                                     .urgent = {"examples/demo/urgent"},
                                     .copy_hog = {"examples/demo/hog", "copy"}};
const struct gpes_api gpes_cuda = {.name = "CUDA",
                                   .figures = "gpes-cuda",
                                   .suffix = "-cuda",
                                   .device = "cpu",
                                   .workloads = {"tests/workloads/workloads-cuda"},
                                   .copies = {"bench/gpes/copies-cuda"},
                                   .urgent = {"examples/demo/cuda-demo", "urgent"},
                                   .copy_hog = {"examples/demo/cuda-demo", "hog"}};

const char *const gpes_names[GPES_PROGRAMS] = {"mmul",    "madd", "heartwall", "backprop", "bfs",
                                               "hotspot", "lud",  "nn",        "srad"};

void gpes_begin(struct gpes *gpes, struct stage_program *run, const struct stage_how *how,
                const char *const program[], const char *const options[])
{
    const char *argv[MOST_WORDS + 1] = {0};
    struct stage_how there = *how;
    size_t n = 0;

    for (; *program && n < MOST_WORDS; program++)
        argv[n++] = *program;
    for (; *options && n < MOST_WORDS; options++)
        argv[n++] = *options;
    there.device = gpes->api->device;
    stage_start(&gpes->stage, run, &there, argv);
}

void gpes_run(struct gpes *gpes, struct stage_program *run, const struct stage_how *how,
              const char *const program[], const char *const options[])
{
    int status;

    gpes_begin(gpes, run, how, program, options);
    status = stage_end(run, 0);
    if (status) {
        fprintf(stderr, "%s ended with status %d\n", program[0], status);
        exit(3);
    }
}

double gpes_kernel_ms(struct gpes *gpes, const struct stage_how *how, struct gpes_program program,
                      unsigned jobs, struct stage_program *ret_run)
{
    struct stage_program run = {0};
    char size[32];
    char repeat[32];
    const char *options[] = {"--times", "--unchecked", "--repeat",   repeat,
                             "--size",  size,          program.name, (char *)NULL};

    (void)snprintf(size, sizeof size, "%zu", program.size);
    (void)snprintf(repeat, sizeof repeat, "%u", jobs);
    gpes_run(gpes, &run, how, gpes->api->workloads, options);
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
    const char *options[] = {"--json", "--unchecked", "--period", period,       "--jobs",
                             count,    "--size",      size,       program.name, NULL};

    (void)snprintf(size, sizeof size, "%zu", program.size);
    (void)snprintf(period, sizeof period, "%u", period_ms);
    (void)snprintf(count, sizeof count, "%u", jobs);
    gpes_run(gpes, &run, how, gpes->api->workloads, options);
    return stage_responses(&run, ret_ms, GPES_MOST_JOBS);
}

double gpes_mean(const double *values, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return n ? sum / (double)n : NAN;
}

size_t gpes_rounds(const struct gpes *gpes)
{
    return gpes->quick ? 2 : GPES_ROUNDS;
}

struct gpes_range gpes_range_of(double values[], size_t n)
{
    double median = stage_quantile(values, n, 0.5); /* sorts them */

    return (struct gpes_range){values[0], median, values[n - 1]};
}

void gpes_print_ratio(const struct gpes_range *ratio, int width)
{
    char text[64];

    if (ratio->most < 10)
        (void)snprintf(text, sizeof text, "%.1f to %.1f", ratio->least, ratio->most);
    else
        (void)snprintf(text, sizeof text, "%.0f to %.0f", ratio->least, ratio->most);
    printf(" %*s", width, ratio->least >= 1.05 ? text : "-");
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
    const char *options[] = {"--unchecked", "--repeat", "100000",     "--wait-for", "/dev/null",
                             "--size",      size,       program.name, NULL};

    (void)snprintf(size, sizeof size, "%zu", program.size);
    gpes_begin(gpes, run, how, gpes->api->workloads, options);
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
