/* baton measure: the overhead sets of this machine, as far as user space can measure them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"
#include "cli/subcommand.h"
#include "cli/measure/measure.h"
#include "cli/measure/copies.h"
#include "cli/measure/probes.h"

#define CACHE_SAMPLES 40
#define COPY_SAMPLES  100
#define MOST_SAMPLES  1000000

const char *const measure_conditions[MEASURE_CONDITIONS] = {"idle", "loaded", "loaded with copies"};
const size_t measure_cache_sizes[MEASURE_CACHE_SIZES] = {4 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20};
const size_t measure_copy_sizes[MEASURE_COPY_SIZES] = {4 << 10, 64 << 10, 256 << 10, 1 << 20};

struct measure_stats measure_stats(const struct measure_samples *samples)
{
    struct measure_stats stats = {0, 0};

    for (size_t i = 0; i < samples->n; i++) {
        stats.mean += samples->us[i] / (double)samples->n;
        stats.most = fmax(stats.most, samples->us[i]);
    }
    return stats;
}

static int room(struct measure_samples *samples, size_t n)
{
    samples->us = calloc(n ? n : 1, sizeof *samples->us);
    samples->n = n;
    return samples->us ? 0 : -ENOMEM;
}

static int measure_one(struct measurement *measurement, int condition, size_t n,
                       struct measured_device *device)
{
    struct measure_condition *here = &measurement->conditions[condition];
    int result = 0;

    for (int p = 0; p < PROBES && !result; p++) {
        result = room(&here->probes[p], n);
        if (!result)
            result = probe_run((enum probe)p, n, here->probes[p].us, &here->probes[p].n);
    }
    for (int i = 0; i < MEASURE_CACHE_SIZES && !result; i++) {
        result = room(&here->cache[i], CACHE_SAMPLES);
        if (!result)
            result = probe_cache(measure_cache_sizes[i], CACHE_SAMPLES, here->cache[i].us);
    }
    for (int out = 0; out < 2 && device; out++)
        for (int i = 0; i < MEASURE_COPY_SIZES && !result; i++) {
            result = room(&here->copies[out][i], COPY_SAMPLES);
            if (!result)
                result = measured_copies(device, out, measure_copy_sizes[i], COPY_SAMPLES,
                                         here->copies[out][i].us);
        }
    return result;
}

static int measure_all(struct measurement *measurement, size_t n)
{
    struct measured_device *device = measured_device_open();
    int result = 0;

    if (device)
        (void)snprintf(measurement->device, sizeof measurement->device, "%s", measured_device_name(device));
    for (int condition = 0; condition < MEASURE_CONDITIONS && !result; condition++) {
        struct probe_load *load = condition > 0 ? probe_load_start() : NULL;
        struct copy_load *copies = condition > 1 && device ? copy_load_start() : NULL;

        if ((condition > 0 && !load) || (condition > 1 && device && !copies))
            result = -EAGAIN;
        if (!result)
            result = measure_one(measurement, condition, n, device);
        copy_load_stop(copies);
        probe_load_stop(load);
    }
    measured_device_close(device);
    return result;
}

static void free_measurement(struct measurement *measurement)
{
    for (int c = 0; c < MEASURE_CONDITIONS; c++) {
        struct measure_condition *here = &measurement->conditions[c];

        for (int p = 0; p < PROBES; p++)
            free(here->probes[p].us);
        for (int i = 0; i < MEASURE_CACHE_SIZES; i++)
            free(here->cache[i].us);
        for (int i = 0; i < 2 * MEASURE_COPY_SIZES; i++)
            free(here->copies[i / MEASURE_COPY_SIZES][i % MEASURE_COPY_SIZES].us);
    }
    free(measurement);
}

static void print_table(const struct measurement *measurement)
{
    printf("%-24s", "us, mean / largest");
    for (int c = 0; c < MEASURE_CONDITIONS; c++)
        printf(" %22s", measure_conditions[c]);
    putchar('\n');
    for (int p = 0; p < PROBES; p++) {
        printf("%-24s", probe_names[p]);
        for (int c = 0; c < MEASURE_CONDITIONS; c++) {
            struct measure_stats stats = measure_stats(&measurement->conditions[c].probes[p]);

            printf("    %8.2f / %8.2f", stats.mean, stats.most);
        }
        putchar('\n');
    }
    for (int i = 0; i < MEASURE_CACHE_SIZES; i++) {
        printf("cache, %4zu KiB         ", measure_cache_sizes[i] >> 10);
        for (int c = 0; c < MEASURE_CONDITIONS; c++) {
            struct measure_stats stats = measure_stats(&measurement->conditions[c].cache[i]);

            printf("    %8.2f / %8.2f", stats.mean, stats.most);
        }
        putchar('\n');
    }
    for (int k = 0; k < 2 * MEASURE_COPY_SIZES && measurement->device[0]; k++) {
        printf("copy %-3s, %4zu KiB      ", k / MEASURE_COPY_SIZES ? "out" : "in",
               measure_copy_sizes[k % MEASURE_COPY_SIZES] >> 10);
        for (int c = 0; c < MEASURE_CONDITIONS; c++) {
            struct measure_stats stats = measure_stats(
                &measurement->conditions[c].copies[k / MEASURE_COPY_SIZES][k % MEASURE_COPY_SIZES]);

            printf("    %8.2f / %8.2f", stats.mean, stats.most);
        }
        putchar('\n');
    }
    measure_caveats(measurement, "", stdout);
}

/* Writes the output of writer to a file. */
static int write_with(void (*writer)(const struct measurement *measurement, FILE *out),
                      const struct measurement *measurement, const char *path)
{
    struct draft draft;
    int result = draft_begin(&draft);

    if (!result)
        writer(measurement, draft.out);
    return draft_finish(&draft, path, result);
}

static int run(const struct cli_args *args)
{
    const char *output = cli_value(args, "output", NULL);
    const char *page = cli_value(args, "report", NULL);
    long long samples = 2000;
    struct measurement *measurement;
    int result = cli_int(args, "samples", 10, MOST_SAMPLES, &samples);

    if (!result)
        result = cli_check_output(args, output);
    if (!result)
        result = cli_check_output(args, page);
    if (result)
        return result;
    measurement = calloc(1, sizeof *measurement);
    if (!measurement)
        return cli_fail_environment(args, -ENOMEM, "samples");
    measurement->real_time = probe_real_time();
    result = measure_all(measurement, (size_t)samples);
    if (result)
        result = cli_fail_environment(args, result, "a probe failed");
    if (!result && output && (result = write_with(measure_write_yaml, measurement, output)))
        result = cli_fail_environment(args, result, "%s", output);
    if (!result && page && (result = write_with(measure_write_page, measurement, page)))
        result = cli_fail_environment(args, result, "%s", page);
    if (!result && !(output && strcmp(output, "-") == 0))
        print_table(measurement);
    free_measurement(measurement);
    return result;
}

const struct cli_command command_measure = {
    .name = "measure",
    .summary = "measure this machine's overheads for analyses and studies",
    .arguments = "",
    .options = (const struct cli_option[]){{"output", 'o', "FILE", "write the four overhead sets (YAML)"},
                                           {"report", 0, "FILE", "write histograms and tails (HTML)"},
                                           {"samples", 0, "N", "of each latency (default 2000)"},
                                           {0}},
    .example = "baton measure -o overheads.yaml --report overheads.html",
    .run = run,
};
