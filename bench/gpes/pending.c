/*
 * Fig. 8 and 9: how long programs of high priority wait beside one that computes, or copies, all
 * the time.
 *
 * Pending time is response time minus the time that the program occupies the device; the latter is
 * its response alone, plain. As in the paper it is divided by the time that the other program's job
 * takes alone and uncut. The average is over the programs of a set.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "figure.h"
#include "gpes.h"
#include "report/svg.h"

enum { SETTINGS = 5, SIZES = 4, HIGH = 6, SETS = 3 };

/* How the low-priority program runs: under fifo, in so many parts, or as Baton cuts it. */
struct setting {
    const char *name, *profile;
    unsigned parts; /* 0: not said */
};

/* What the two figures differ in. */
struct experiment {
    const char *figure, *what, *x_label;
    struct setting settings[SETTINGS];
    struct gpes_program high[HIGH];
    struct {
        const char *letter, *name, *paper;
        size_t first, n; /* of high */
    } sets[SETS];
    size_t n_sets;
    size_t sizes[SIZES];
    size_t n_low; /* instances of the low-priority program */
    double (*alone_ms)(struct gpes *gpes, size_t size);
    /* Of the low-priority program, alone: blocks of a launch, or bytes of a copy. */
    double (*length)(struct gpes *gpes, size_t size);
    bool copies; /* parts are chunks, not pieces */
    void (*start)(struct gpes *gpes, struct stage_program *run, const struct stage_how *how, size_t size);
    double (*mega)(size_t size); /* the x axis: MB of the low-priority program */
};

/* The sizes of the low-priority program that are measured; *ret_n: how many. */
static const size_t *measured_sizes(const struct gpes *gpes, const struct experiment *experiment,
                                    size_t *ret_n)
{
    *ret_n = gpes->quick || gpes->largest ? 1 : SIZES;
    return gpes->largest ? experiment->sizes + SIZES - 1 : experiment->sizes;
}

/* The low-priority program, of one size. */
struct low {
    size_t size;
    double length;
};

static void run_point(struct gpes *gpes, const struct experiment *experiment, const struct low *of,
                      const struct setting *setting, const double alone[], double ret_pending[])
{
    static const struct stage_how high = {.baton = true, .priority = 80, .name = "high", .realtime = true};
    struct stage_how low = {
        .baton = true, .priority = 10, .name = "low", .quiet = true, .realtime = true, .humble = true};
    struct stage_program runs[2] = {0};
    double ms[GPES_MOST_JOBS];
    char part[32];

    (void)snprintf(part, sizeof part, "%.0f", ceil(of->length / (setting->parts ? setting->parts : 1)));
    if (setting->parts)
        *(experiment->copies ? &low.chunk : &low.slice) = part;
    stage_daemon_start(&gpes->stage, setting->profile, NULL);
    for (size_t i = 0; i < experiment->n_low; i++)
        experiment->start(gpes, &runs[i], &low, of->size);
    for (size_t i = 0; i < HIGH; i++) {
        size_t n = gpes_responses(gpes, &high, experiment->high[i], 37, gpes->quick ? 5 : 11, ms);
        ret_pending[i] = fmax(0, gpes_mean(ms, n) - alone[i]);
    }
    for (size_t i = 0; i < experiment->n_low; i++)
        (void)stage_end(&runs[i], SIGKILL);
    stage_daemon_stop(&gpes->stage);
}

/* What one API's programs waited. */
struct result {
    double points[SETTINGS][SIZES][HIGH], low_ms[SIZES];
};

/* The rows of one set of programs over one API, and their picture. */
static void print_set(const struct gpes *gpes, const struct experiment *experiment, size_t set,
                      const struct result *result)
{
    static double x[SIZES], y[SETTINGS][SIZES];
    const double *low_ms = result->low_ms;
    struct svg_series series[SETTINGS];
    char name[32];
    char title[96];
    size_t n_sizes;
    const size_t *sizes = measured_sizes(gpes, experiment, &n_sizes);
    double less;

    printf("  %-6s %-22s", gpes->api->name, "MB (ms alone)");
    for (size_t s = 0; s < n_sizes; s++) {
        x[s] = experiment->mega(sizes[s]);
        printf(" %8.3g (%6.2g)", x[s], low_ms[s]);
    }
    printf("\n");
    for (size_t k = 0; k < SETTINGS; k++) {
        printf("  %-6s %-22s", gpes->api->name, experiment->settings[k].name);
        for (size_t s = 0; s < n_sizes; s++) {
            y[k][s] = gpes_mean(result->points[k][s] + experiment->sets[set].first, experiment->sets[set].n) /
                      low_ms[s];
            printf(" %17.1g", y[k][s]);
        }
        less = 100 * (1 - y[k][n_sizes - 1] / y[0][n_sizes - 1]);
        printf("   last against fifo: %.0f %% less\n", floor(less));
        if (k == SETTINGS - 1) /* by Baton's own choice of pieces and chunks */
            figure_of(gpes->api->figures, experiment->figure, experiment->sets[set].letter, less, less, less);
        series[k] =
            (struct svg_series){.name = experiment->settings[k].name, .x = x, .y = y[k], .n = n_sizes};
    }
    (void)snprintf(name, sizeof name, "%s%s", experiment->figure, experiment->sets[set].letter);
    (void)snprintf(title, sizeof title, "Fig. %s (%s): %s beside %s", experiment->figure + 3,
                   experiment->sets[set].letter, experiment->sets[set].name, experiment->what);
    gpes_draw_curves(gpes, name, title, experiment->x_label, "pending time / the other's job alone", false,
                     series, SETTINGS);
}

static void measure(struct gpes *gpes, const struct experiment *experiment, struct result *result)
{
    double alone[HIGH];
    size_t n_sizes;
    const size_t *sizes = measured_sizes(gpes, experiment, &n_sizes);

    for (size_t i = 0; i < HIGH; i++)
        alone[i] = gpes_alone_ms(gpes, experiment->high[i]);
    for (size_t s = 0; s < n_sizes; s++) {
        struct low low = {sizes[s], experiment->length(gpes, sizes[s])};

        result->low_ms[s] = experiment->alone_ms(gpes, sizes[s]);
        for (size_t k = 0; k < SETTINGS; k++)
            run_point(gpes, experiment, &low, &experiment->settings[k], alone, result->points[k][s]);
    }
}

static void run_experiment(struct gpes *gpes, const struct experiment *experiment)
{
    static struct result results[GPES_APIS];

    for (size_t a = 0; a < gpes->n_apis; a++) {
        gpes->api = gpes->apis[a];
        measure(gpes, experiment, &results[a]);
    }
    printf("\nFig. %s: pending time beside %s, divided by the other's job alone (one run, so one digit)\n",
           experiment->figure + 3, experiment->what);
    for (size_t set = 0; set < experiment->n_sets; set++) {
        printf("  (%s) %s; first the other program\n", experiment->sets[set].letter,
               experiment->sets[set].name);
        for (size_t a = 0; a < gpes->n_apis; a++) {
            gpes->api = gpes->apis[a];
            print_set(gpes, experiment, set, &results[a]);
        }
        printf("  GPES: %s\n", experiment->sets[set].paper);
    }
    (void)fflush(stdout);
}

/* ---- Fig. 8: two instances of mmul ---- */

static double mmul_alone(struct gpes *gpes, size_t size)
{
    return gpes_alone_ms(gpes, (struct gpes_program){"mmul", size});
}

/*
 * The program that counts blocks has no priority. Beside an endless program that has one it would
 * never end.
 */
static double mmul_blocks(struct gpes *gpes, size_t size)
{
    double blocks;

    stage_daemon_start(&gpes->stage, "priority", NULL);
    blocks = gpes_groups(gpes, (struct gpes_program){"mmul", size});
    stage_daemon_stop(&gpes->stage);
    return blocks;
}

static void mmul_start(struct gpes *gpes, struct stage_program *run, const struct stage_how *how, size_t size)
{
    gpes_start(gpes, run, how, (struct gpes_program){"mmul", size});
}

static double mmul_mega(size_t size)
{
    return 3.0 * (double)(size * size) * sizeof(float) / 1e6;
}

void gpes_kernels(struct gpes *gpes)
{
    static const struct experiment fig8 = {
        .figure = "fig8",
        .what = "two mmul",
        .x_label = "MB of each mmul",
        .settings = {{"fifo", "fifo", 0},
                     {"2 pieces", "priority", 2},
                     {"8 pieces", "priority", 8},
                     {"32 pieces", "priority", 32},
                     {"Baton: by time", "priority", 0}},
        .high = {{"madd", 512},
                 {"bfs", 16384},
                 {"nn", 262144},
                 {"backprop", 8192},
                 {"heartwall", 32},
                 {"lud", 128}},
        .sets = {{"a", "single kernels: madd, bfs, nn", "Gdev 0.98, 32 pieces less than 0.05 at 100 MB", 0,
                  3},
                 {"b", "dependent kernels: backprop, heartwall, lud", "Gdev 2.0, 2 pieces 1.2 at 100 MB", 3,
                  3}},
        .n_sets = 2,
        .sizes = {256, 384, 448, 512},
        .n_low = 2,
        .alone_ms = mmul_alone,
        .length = mmul_blocks,
        .start = mmul_start,
        .mega = mmul_mega,
    };

    run_experiment(gpes, &fig8);
}

/* ---- Fig. 9: copies there and back ---- */

static double copies_alone(struct gpes *gpes, size_t size)
{
    static const struct stage_how plain = {.realtime = true};
    struct stage_program run = {0};
    char bytes[32];
    const char *options[] = {"--bytes", bytes, "--seconds", "0.7", NULL};

    (void)snprintf(bytes, sizeof bytes, "%zu", size);
    gpes_run(gpes, &run, &plain, gpes->api->copy_hog, options);
    return 1e3 / stage_value(&run, "per_second");
}

static double copies_bytes(struct gpes *gpes, size_t size)
{
    (void)gpes;
    return (double)size;
}

static void copies_start(struct gpes *gpes, struct stage_program *run, const struct stage_how *how,
                         size_t size)
{
    char bytes[32];
    const char *options[] = {"--bytes", bytes, "--seconds", "600", NULL};

    (void)snprintf(bytes, sizeof bytes, "%zu", size);
    gpes_begin(gpes, run, how, gpes->api->copy_hog, options);
    if (!stage_await(run, "ready", 60000)) {
        fprintf(stderr, "the copying program did not start\n");
        exit(3);
    }
}

static double copies_mega(size_t size)
{
    return (double)size / 1e6;
}

void gpes_copies(struct gpes *gpes)
{
    static const struct experiment fig9 = {
        .figure = "fig9",
        .what = "endless copies",
        .x_label = "MB copied there and back",
        .settings = {{"fifo", "fifo", 0},
                     {"4 chunks", "priority", 4},
                     {"32 chunks", "priority", 32},
                     {"256 chunks", "priority", 256},
                     {"Baton: its defaults", "priority", 0}},
        .high = {{"mmul", 192},
                 {"lud", 192},
                 {"heartwall", 32},
                 {"nn", 1048576},
                 {"backprop", 65536},
                 {"bfs", 65536}},
        .sets = {{"a", "computing: mmul, lud, heartwall", "Gdev 0.63, 256 chunks 0.25 at 512 MB", 0, 3},
                 {"b", "copying: nn, backprop, bfs", "more than (a), still far below Gdev", 3, 3},
                 {"c", "mixed: all six", "between the two", 0, 6}},
        .n_sets = 3,
        .sizes = {(size_t)64 << 20, (size_t)128 << 20, (size_t)256 << 20, (size_t)512 << 20},
        .n_low = 1,
        .alone_ms = copies_alone,
        .length = copies_bytes,
        .copies = true,
        .start = copies_start,
        .mega = copies_mega,
    };

    run_experiment(gpes, &fig9);
}
