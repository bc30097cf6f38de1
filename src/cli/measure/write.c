#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/draft.h"
#include "cli/measure/measure.h"
#include "report/html_page.h"
#include "report/svg.h"

#define TAIL_POINTS 200
#define BINS        40

/* GPUSync's published interrupt halves (Sec. IV): mean and largest. */
static const double top_half[2] = {8.01, 87.19};
static const double bottom_half[2] = {66.14, 1000};

void measure_caveats(const struct measurement *measurement, const char *prefix, FILE *out)
{
    (void)fprintf(
        out,
        "%sGPU interrupt halves cannot be seen from user space: the sets hold the published values of "
        "another "
        "machine (8.01 / 87.19 and 66.14 / 1000 us).\n"
        "%sThe tick's period is taken as 1 ms; tick and release are the interruptions of a running thread.\n"
        "%sThe inter-processor interrupt is the whole wake-up on another CPU, so it is counted generously.\n"
        "%sLocal and interleaved memory are not distinguished: one set serves every CPU organisation.\n",
        prefix, prefix, prefix, prefix);
    if (!measurement->real_time)
        (void)fprintf(
            out,
            "%sWithout the permission for real-time priorities the probes competed with everything else: "
            "loaded values are those of a time-sharing scheduler.\n",
            prefix);
    if (!measurement->device[0])
        (void)fprintf(out, "%sNo OpenCL device: copies are missing and cost nothing in these sets.\n",
                      prefix);
    else
        (void)fprintf(out, "%sCopies are those of %s; peer-to-peer is taken as out and in again.\n", prefix,
                      measurement->device);
}

static double value_of(const struct measure_samples *samples, bool worst)
{
    struct measure_stats stats = measure_stats(samples);

    return worst ? stats.most : stats.mean;
}

static void write_copies(const struct measure_condition *here, bool worst, FILE *out)
{
    (void)fputs("      copies:\n", out);
    for (size_t i = 0; i < MEASURE_COPY_SIZES; i++) {
        double in = value_of(&here->copies[0][i], worst);
        double back = value_of(&here->copies[1][i], worst);

        (void)fprintf(out,
                      "        - {direction: in, bytes: %zu, us: %.3f}\n        - {direction: out, bytes: "
                      "%zu, us: %.3f}\n"
                      "        - {direction: p2p, bytes: %zu, us: %.3f}\n",
                      measure_copy_sizes[i], in, measure_copy_sizes[i], back, measure_copy_sizes[i],
                      in + back);
    }
}

static void write_set(const struct measurement *measurement, bool worst, bool loaded, FILE *out)
{
    const struct measure_condition *here = &measurement->conditions[loaded ? 2 : 0];
    const struct measure_samples *probes = here->probes;
    double call = value_of(&probes[PROBE_SYSCALL], worst) / 2;

    (void)fprintf(out, "  - name: %s/%s\n    worst_case: %s\n    loaded: %s\n    all:\n", worst ? "WC" : "AC",
                  loaded ? "L" : "I", worst ? "true" : "false", loaded ? "true" : "false");
    (void)fprintf(
        out,
        "      scheduler: %.3f\n      context_switch: %.3f\n      ipi: %.3f\n      event_latency: %.3f\n"
        "      tick: %.3f\n      tick_period: 1000\n      release: %.3f\n      cpmd: %.3f\n"
        "      syscall_in: %.3f\n      syscall_out: %.3f\n      gpu_top_half: %.2f\n      gpu_bottom_half: "
        "%.2f\n",
        value_of(&probes[PROBE_SCHEDULER], worst), value_of(&probes[PROBE_SWITCH], worst),
        value_of(&probes[PROBE_WAKE], worst), value_of(&probes[PROBE_TIMER], worst),
        value_of(&probes[PROBE_GAP], worst), value_of(&probes[PROBE_GAP], worst),
        value_of(&here->cache[0], worst), call, call, top_half[worst], bottom_half[worst]);
    if (measurement->device[0])
        write_copies(here, worst, out);
}

void measure_write_yaml(const struct measurement *measurement, FILE *out)
{
    (void)fputs("# Overheads of this machine in microseconds, by `baton measure`. AC average, WC largest "
                "observed; I idle, L loaded with "
                "copies.\n",
                out);
    measure_caveats(measurement, "# ", out);
    (void)fputs("# Cache-related delay by working set (mean / largest, loaded with copies):", out);
    for (size_t i = 0; i < MEASURE_CACHE_SIZES; i++) {
        struct measure_stats stats = measure_stats(&measurement->conditions[2].cache[i]);

        (void)fprintf(out, " %zu KiB %.2f / %.2f;", measure_cache_sizes[i] >> 10, stats.mean, stats.most);
    }
    (void)fputs("\nsets:\n", out);
    for (int worst = 0; worst < 2; worst++)
        for (int loaded = 0; loaded < 2; loaded++)
            write_set(measurement, worst, loaded, out);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* How many samples are longer than x, on a logarithmic scale (as in the paper's Fig. 10). */
static void draw_tail(const struct measurement *measurement, int probe, FILE *out)
{
    double x[MEASURE_CONDITIONS][TAIL_POINTS];
    double y[MEASURE_CONDITIONS][TAIL_POINTS];
    struct svg_series series[MEASURE_CONDITIONS];
    struct svg_chart chart = {.title = probe_names[probe],
                              .x_label = "us",
                              .y_label = "part of the samples that is longer",
                              .x_log = true,
                              .y_log = true,
                              .series = series};

    for (int c = 0; c < MEASURE_CONDITIONS; c++) {
        const struct measure_samples *samples = &measurement->conditions[c].probes[probe];
        size_t n = samples->n < TAIL_POINTS ? samples->n : TAIL_POINTS;

        if (n < 2)
            continue;
        qsort(samples->us, samples->n, sizeof samples->us[0], ascending);
        for (size_t i = 0; i < n; i++) { /* denser towards the end of the tail */
            double left = pow((double)samples->n, 1 - (double)i / (double)(n - 1));
            size_t at = samples->n - (size_t)fmax(1, left);

            x[c][i] = fmax(samples->us[at], 1e-3);
            y[c][i] = (double)(samples->n - at) / (double)samples->n;
        }
        series[chart.n_series++] =
            (struct svg_series){.name = measure_conditions[c], .x = x[c], .y = y[c], .n = n};
    }
    if (chart.n_series)
        svg_chart(&chart, out);
}

/* Counts per bin up to the 99.5th percentile of the worst condition; the tail shows the rest. */
static void draw_histogram(const struct measurement *measurement, int probe, FILE *out)
{
    double x[BINS];
    double y[MEASURE_CONDITIONS][BINS];
    struct svg_series series[MEASURE_CONDITIONS];
    struct svg_chart chart = {.title = probe_names[probe],
                              .x_label = "us (99.5 % of the samples)",
                              .y_label = "samples",
                              .series = series};
    double high = 0;

    for (int c = 0; c < MEASURE_CONDITIONS; c++) {
        const struct measure_samples *samples = &measurement->conditions[c].probes[probe];

        if (samples->n == 0)
            continue;
        qsort(samples->us, samples->n, sizeof samples->us[0], ascending);
        high = fmax(high, samples->us[(size_t)(0.995 * (double)(samples->n - 1))]);
    }
    if (high <= 0)
        return;
    for (int i = 0; i < BINS; i++)
        x[i] = high * (i + 0.5) / BINS;
    for (int c = 0; c < MEASURE_CONDITIONS; c++) {
        const struct measure_samples *samples = &measurement->conditions[c].probes[probe];

        memset(y[c], 0, sizeof y[c]);
        for (size_t i = 0; i < samples->n; i++)
            if (samples->us[i] < high)
                y[c][(size_t)(samples->us[i] / high * BINS)]++;
        series[chart.n_series++] =
            (struct svg_series){.name = measure_conditions[c], .x = x, .y = y[c], .n = BINS, .steps = true};
    }
    svg_chart(&chart, out);
}

void measure_write_page(const struct measurement *measurement, FILE *out)
{
    struct html_page page;
    struct draft draft;
    char *caveats = NULL;
    size_t size;
    int result = draft_begin(&draft);

    page_begin(&page, out, "Overheads of this machine", "by baton measure");
    if (!result)
        measure_caveats(measurement, "", draft.out);
    if (draft_take(&draft, result, &caveats, &size) == 0)
        page_section(&page, "What cannot be seen", caveats);
    free(caveats);
    for (int p = 0; p < PROBES; p++) {
        page_section(&page, probe_names[p], NULL);
        page_picture_begin(&page);
        draw_histogram(measurement, p, out);
        page_picture_end(&page);
        page_picture_begin(&page);
        draw_tail(measurement, p, out);
        page_picture_end(&page);
    }
    page_end(&page);
}
