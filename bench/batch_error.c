/*
 * How far predictions are from what is measured on this machine (Verner et al., sec. 4.3), over
 * batches of many kinds.
 *
 *   bench-batch-error [--topology FILE] [--batches N] [--every N] [--repeat N] [--seed N]
 *                     [--method NAME]
 *
 * Two OpenCL devices are calibrated by `baton batch calibrate`, unless a file is given. This is
 * done at the beginning and again after every N batches (default 3), so that no single calibration
 * decides. N random batches (default 9) of each class are executed by `baton batch run`. The
 * classes take turns, so that all see the same noise of the machine. A batch has 2 to 4 streams of
 * 1 to 64 MiB, spread over both devices. A class is where they go, and whether kernels of 1 to 20
 * ms run as well: after copies to a device, beside copies from it. The error is |measured -
 * predicted| / measured of a single run. Printed are its median and spread over all runs of a
 * class, and how much longer than predicted a run was, with its sign. The same runs follow once
 * more, by their largest copy.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "figure.h"
#include "stage.h"

enum { MAX_BATCHES = 200, MAX_RUNS = 20000, STREAMS = 4 };

#define LEAST_MIB 1.0
#define MOST_MIB  64.0

enum { CLASSES = 6, BANDS = 3 };

static const struct kind {
    const char *name;
    bool in, out, kernels;
} kinds[CLASSES] = {
    {"in", true, false, false},          {"out", false, true, false},
    {"both ways", true, true, false},    {"in, kernels", true, false, true},
    {"out, kernels", false, true, true}, {"both ways, kernels", true, true, true},
};

static const struct band {
    const char *name;
    double below; /* MiB: the largest copy of the batch */
} bands[BANDS] = {{"largest copy below 8 MiB", 8}, {"8 to 24 MiB", 24}, {"24 to 64 MiB", INFINITY}};

/* Errors of single runs, percent. */
struct sample {
    double absolute[MAX_RUNS], longer[MAX_RUNS];
    size_t n;
};

static struct stage stage;
static struct sample by_class[CLASSES], by_band[BANDS], all;

/* Writes a random batch of this kind; answers the largest copy in MiB. */
static double write_batch(const struct kind *kind, struct random_state *random, const char *path)
{
    FILE *out = fopen(path, "w");
    size_t n = (size_t)random_between(random, 2, STREAMS);
    double largest = 0;

    if (!out) {
        perror(path);
        exit(3);
    }
    (void)fputs("streams:\n", out);
    for (size_t i = 0; i < n; i++) {
        bool goes_out = kind->in && kind->out ? i % 2 == 1 : kind->out;
        size_t gpu = (kind->in && kind->out ? i / 2 + random_below(random, 2) : i) % 2;
        double mib = LEAST_MIB * pow(MOST_MIB / LEAST_MIB, random_unit(random));
        long long bytes = (long long)(mib * (1 << 20));
        double kernel_ms = 1 + 19 * random_unit(random);

        largest = fmax(largest, mib);
        (void)fprintf(out, "  - {from: %s%zu, to: %s%zu, bytes: %lld", goes_out ? "GPU" : "MEM",
                      goes_out ? gpu : 0, goes_out ? "MEM" : "GPU", goes_out ? 0 : gpu, bytes);
        (void)fprintf(out, kind->kernels && !goes_out ? ", kernel_ms: %.3f}\n" : "}\n", kernel_ms);
        if (kind->kernels && goes_out && !kind->in && i == 0)
            (void)fprintf(out, "  - {to: GPU%zu, kernel_ms: %.3f}\n", gpu, kernel_ms);
    }
    if (fclose(out)) {
        perror(path);
        exit(3);
    }
    return largest;
}

static void note(struct sample *sample, double predicted, double measured)
{
    if (sample->n == MAX_RUNS)
        return;
    sample->absolute[sample->n] = 100 * fabs(measured - predicted) / measured;
    sample->longer[sample->n++] = 100 * (measured - predicted) / predicted;
}

static void run_batch(const char *topology, const char *batch, const char *method, const char *repeat,
                      struct sample *kind, struct sample *band)
{
    const char *argv[] = {"baton", "batch",    "run",  (char *)topology, (char *)batch, "--method",
                          method,  "--repeat", repeat, "--json",         NULL};
    struct stage_program program = {0};
    json_t *answer;
    json_t *runs;

    stage_run(&stage, &program, &(struct stage_how){0}, argv);
    answer = json_load_file(program.output, 0, NULL);
    runs = json_object_get(answer, "runs_ms");
    for (size_t r = 0; r < json_array_size(runs); r++) {
        double predicted = json_number_value(json_object_get(answer, "predicted_ms"));
        double measured = json_number_value(json_array_get(runs, r));

        note(kind, predicted, measured);
        note(band, predicted, measured);
        note(&all, predicted, measured);
    }
    json_decref(answer);
}

static void print_sample(const char *name, const char *figure_name, struct sample *sample)
{
    double median;
    double low;
    double high;

    if (sample->n == 0)
        return;
    median = stage_quantile(sample->absolute, sample->n, 0.5);
    low = stage_quantile(sample->absolute, sample->n, 0.1);
    high = stage_quantile(sample->absolute, sample->n, 0.9);
    printf("%-26s %5zu %8.1f%% [%5.1f, %5.1f] %+10.1f%% [%+6.1f, %+6.1f]\n", name, sample->n, median, low,
           high, stage_quantile(sample->longer, sample->n, 0.5),
           stage_quantile(sample->longer, sample->n, 0.1), stage_quantile(sample->longer, sample->n, 0.9));
    if (figure_name)
        figure(figure_name, median, low, high);
}

static void calibrate(const char *path)
{
    const char *argv[] = {"baton", "batch", "calibrate", "-o", path, "--devices", "2", NULL};
    struct stage_program program = {0};

    stage_run(&stage, &program, &(struct stage_how){.quiet = true}, argv);
}

int main(int argc, char *argv[])
{
    const char *given = NULL;
    const char *method = "aligned";
    const char *repeat = "5";
    long batches = 9;
    long every = 3;
    uint64_t seed = 1;
    char topology[128];
    char batch[128];

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--topology") == 0)
            given = argv[i + 1];
        else if (strcmp(argv[i], "--batches") == 0)
            batches = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--every") == 0)
            every = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--repeat") == 0)
            repeat = argv[i + 1];
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--method") == 0)
            method = argv[i + 1];
    }
    stage_open(&stage, "basic basic");
    (void)snprintf(topology, sizeof topology, "%s/topology.yaml", stage.folder);
    (void)snprintf(batch, sizeof batch, "%s/batch.yaml", stage.folder);
    for (long b = 0; b < batches && b < MAX_BATCHES; b++) {
        if (!given && (b == 0 || (every > 0 && b % every == 0)))
            calibrate(topology);
        for (size_t k = 0; k < CLASSES; k++) {
            struct random_state random;
            double largest;
            size_t band = 0;

            random_init(&random, seed, (uint64_t)b * CLASSES + k);
            largest = write_batch(&kinds[k], &random, batch);
            while (largest >= bands[band].below)
                band++;
            run_batch(given ? given : topology, batch, method, repeat, &by_class[k], &by_band[band]);
        }
    }
    printf("%s, %ld batches of each class, %s runs each, seed %llu\n", method, batches, repeat,
           (unsigned long long)seed);
    printf("%-26s %5s %9s %14s %11s %16s\n", "class", "runs", "error", "[p10, p90]", "longer", "[p10, p90]");
    for (size_t k = 0; k < CLASSES; k++)
        print_sample(kinds[k].name, NULL, &by_class[k]);
    for (size_t k = 0; k < BANDS; k++)
        print_sample(bands[k].name, NULL, &by_band[k]);
    print_sample("all", "batch-error", &all);
    stage_close(&stage);
    return EXIT_SUCCESS;
}
