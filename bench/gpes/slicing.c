/*
 * Fig. 5: what it costs to cut kernels; Fig. 7: what it costs to change from one program to
 * another.
 */
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "gpes.h"
#include "report/svg.h"

enum { SIZES = 4, COUNTS = 5 };

/* Of gpes_names. */
static const size_t program_sizes[GPES_PROGRAMS][SIZES] = {
    {128, 256, 384, 512},
    {256, 512, 1024, 2048},
    {64, 128, 256, 512},
    {8192, 16384, 65536, 131072},
    {16384, 65536, 131072, 262144},
    {128, 256, 512, 1024},
    {128, 256, 384, 512},
    {131072, 524288, 1048576, 4194304},
    {128, 256, 384, 512},
};
static const unsigned counts[COUNTS] = {2, 8, 32, 128, 400};

/*
 * One row of the table: by count, the pieces that a launch really had and the time against the
 * plain program's.
 */
struct row {
    double pieces[COUNTS + 1], ratio[COUNTS + 1]; /* the first is 1 piece: plain, 1.0; medians */
    struct gpes_range ratios[COUNTS];
    double plain_ms; /* the median of all plain runs */
};

/* Each run in pieces is compared with the plain ones before and after it: the speed wanders. */
static void measure_count(struct gpes *gpes, struct gpes_program program, double groups, size_t count,
                          struct row *row, double plains[])
{
    static const struct stage_how plain = {.realtime = true};
    struct stage_how sliced = {.baton = true, .stats = true, .realtime = true};
    unsigned jobs = gpes->quick ? 3 : 5;
    double ratios[GPES_ROUNDS];
    double before = gpes_kernel_ms(gpes, &plain, program, jobs, NULL);
    char slice[32];

    (void)snprintf(slice, sizeof slice, "%.0f", fmax(1, ceil(groups / counts[count])));
    sliced.slice = slice;
    for (size_t round = 0; round < gpes_rounds(gpes); round++) {
        struct stage_program run;
        double ms = gpes_kernel_ms(gpes, &sliced, program, jobs, &run);

        plains[round] = gpes_kernel_ms(gpes, &plain, program, jobs, NULL);
        row->pieces[count + 1] = fmax(1, stage_stat(&run, "pieces") / stage_stat(&run, "kernel_launches"));
        ratios[round] = ms / ((before + plains[round]) / 2);
        before = plains[round];
    }
    row->ratios[count] = gpes_range_of(ratios, gpes_rounds(gpes));
    row->ratio[count + 1] = row->ratios[count].median;
}

static void measure_row(struct gpes *gpes, struct gpes_program program, struct row *ret_row)
{
    double groups = gpes_groups(gpes, program);
    double plains[COUNTS * GPES_ROUNDS];
    size_t n = 0;

    ret_row->pieces[0] = ret_row->ratio[0] = 1;
    for (size_t i = 0; i < COUNTS; i++) {
        ret_row->pieces[i + 1] = ret_row->ratio[i + 1] = NAN;
        ret_row->ratios[i] = (struct gpes_range){NAN, NAN, NAN};
    }
    for (size_t i = 0; i < COUNTS; i += gpes->quick ? 2 : 1) {
        measure_count(gpes, program, groups, i, ret_row, plains + n);
        n += gpes_rounds(gpes);
    }
    ret_row->plain_ms = stage_quantile(plains, n, 0.5);
}

static void print_row(const struct gpes *gpes, struct gpes_program program, const struct row *row)
{
    printf("  %-10s %9zu %-7s %9.2g ", program.name, program.size, gpes->api->name, row->plain_ms);
    for (size_t i = 0; i < COUNTS; i++) {
        gpes_print_ratio(&row->ratios[i], 10);
        printf(" (%3.0f)", row->pieces[i + 1]);
    }
    printf("\n");
    (void)fflush(stdout);
}

static bool is_wanted(const struct gpes *gpes, size_t p)
{
    static const char *const few[] = {"mmul", "hotspot", "nn"};
    bool wanted = !gpes->quick;

    for (size_t i = 0; i < 3; i++)
        wanted = wanted || strcmp(gpes_names[p], few[i]) == 0;
    return wanted;
}

/* Those of one API. */
struct rows {
    struct row of[GPES_PROGRAMS][SIZES];
};

/* The curves of one API: all programs at size `last`, and mmul at all sizes. */
static void draw_rows(const struct gpes *gpes, const struct rows *rows, size_t last)
{
    struct svg_series series[GPES_PROGRAMS];
    char names[SIZES][32];
    size_t n = 0;

    for (size_t p = 0; p < GPES_PROGRAMS; p++)
        if (is_wanted(gpes, p)) {
            series[n] = (struct svg_series){.name = gpes_names[p],
                                            .x = rows->of[p][last].pieces,
                                            .y = rows->of[p][last].ratio,
                                            .n = COUNTS + 1};
            n++;
        }
    gpes_draw_curves(gpes, "fig5", "Fig. 5 (all programs, the largest size): cost of cutting",
                     "pieces a launch", "kernel time / plain", false, series, n);
    for (size_t s = 0; s < SIZES; s++) {
        (void)snprintf(names[s], sizeof names[s], "mmul %zu x %zu", program_sizes[0][s], program_sizes[0][s]);
        series[s] = (struct svg_series){
            .name = names[s], .x = rows->of[0][s].pieces, .y = rows->of[0][s].ratio, .n = COUNTS + 1};
    }
    if (!gpes->quick && !gpes->largest)
        gpes_draw_curves(gpes, "fig5-mmul", "Fig. 5: cost of cutting a matrix product", "pieces a launch",
                         "kernel time / plain", false, series, SIZES);
}

void gpes_slicing(struct gpes *gpes)
{
    static struct rows rows[GPES_APIS];
    size_t last = gpes->quick ? 2 : SIZES - 1;
    size_t first = gpes->largest ? last : gpes->quick ? 2 : 0;

    printf(
        "\nFig. 5: kernels cut into pieces, kernel time / plain OpenCL or CUDA, least to most of %zu rounds\n"
        "(-: reaches 1, not measurable; in brackets: pieces a launch really had)\n",
        gpes_rounds(gpes));
    printf("  %-10s %9s %-7s %9s ", "", "size", "", "plain ms");
    for (size_t i = 0; i < COUNTS; i++)
        printf(" %10u pcs.", counts[i]);
    printf("\n");
    stage_daemon_start(&gpes->stage, "priority", NULL);
    for (size_t p = 0; p < GPES_PROGRAMS; p++)
        for (size_t s = first; is_wanted(gpes, p) && s <= last; s++)
            for (size_t a = 0; a < gpes->n_apis; a++) {
                struct gpes_program program = {gpes_names[p], program_sizes[p][s]};

                gpes->api = gpes->apis[a];
                measure_row(gpes, program, &rows[a].of[p][s]);
                print_row(gpes, program, &rows[a].of[p][s]);
            }
    stage_daemon_stop(&gpes->stage);
    printf("  GPES: mmul 4096 x 4096 in 400 pieces 1.04; all programs below 1.05 with 120 or more groups a "
           "piece\n");
    for (size_t a = 0; a < gpes->n_apis; a++) {
        const struct gpes_range *mmul = &rows[a].of[0][last].ratios[COUNTS - 1];

        gpes->api = gpes->apis[a];
        figure_of(gpes->api->figures, "pieces", NULL, mmul->median, mmul->least, mmul->most);
        draw_rows(gpes, &rows[a], last);
    }
}

/* ---- Fig. 7 ---- */

enum { SWITCH_COUNTS = 8, MOST_WAITS = 4000 };

static const struct gpes_program switched = {"mmul", 512};

static bool is(const json_t *event, const char *name, const char *value)
{
    const char *text = json_string_value(json_object_get(event, name));

    return text && strcmp(text, value) == 0;
}

/* Is this the track of an engine that executes ("gpu0"; "gpu0 in" copies)? */
static bool is_executing(const json_t *all, const json_t *event)
{
    const json_t *tid = json_object_get(event, "tid");
    const json_t *track;
    const char *name;
    size_t i;

    json_array_foreach(all, i, track)
    {
        if (!is(track, "name", "thread_name") || !json_equal(tid, json_object_get(track, "tid")) ||
            !json_equal(json_object_get(event, "pid"), json_object_get(track, "pid")))
            continue;
        name = json_string_value(json_object_get(json_object_get(track, "args"), "name"));
        return name && strncmp(name, "gpu", 3) == 0 && !strchr(name, ' ');
    }
    return false;
}

/*
 * How long the urgent program waited for the engine that others hold too: the spans of batond's
 * record, us.
 */
static size_t read_waits(struct gpes *gpes, double ret_us[])
{
    char path[192];
    struct stage_program trace = {0};
    const char *argv[] = {"baton", "trace", "-o", path, NULL};
    static const struct stage_how plain = {.quiet = true};
    const json_t *event;
    const json_t *events;
    size_t n = 0;
    size_t i;
    json_t *all;

    (void)snprintf(path, sizeof path, "%s/trace.json", gpes->stage.folder);
    stage_run(&gpes->stage, &trace, &plain, argv);
    all = json_load_file(path, 0, NULL);
    events = json_object_get(all, "traceEvents");
    json_array_foreach(events, i, event)
    {
        if (n < MOST_WAITS && is(event, "cat", "queued") && is(event, "name", "urgent") &&
            is_executing(events, event))
            ret_us[n++] = json_number_value(json_object_get(event, "dur"));
    }
    json_decref(all);
    return n;
}

/* The curves of one API. */
struct switches {
    double pieces[SWITCH_COUNTS], least[SWITCH_COUNTS], median[SWITCH_COUNTS], half[SWITCH_COUNTS];
    size_t n;
};

static void measure_switch(struct gpes *gpes, unsigned pieces, double groups, double alone,
                           struct switches *switches)
{
    static const struct stage_how urgent = {
        .baton = true, .priority = 80, .name = "urgent", .realtime = true};
    static double waits[MOST_WAITS];
    struct stage_how hog = {
        .baton = true, .priority = 10, .name = "mmul", .quiet = true, .realtime = true, .humble = true};
    const char *options[] = {"--steps", "100", "--period", "7", "--seconds", gpes->quick ? "1" : "2", NULL};
    struct stage_program run = {0};
    struct stage_program job = {0};
    size_t i = switches->n;
    size_t n;
    char slice[32];

    (void)snprintf(slice, sizeof slice, "%.0f", fmax(1, ceil(groups / pieces)));
    hog.slice = slice;
    stage_daemon_start(&gpes->stage, "priority", NULL);
    gpes_start(gpes, &run, &hog, switched);
    gpes_run(gpes, &job, &urgent, gpes->api->urgent, options);
    n = read_waits(gpes, waits);
    (void)stage_end(&run, SIGKILL);
    stage_daemon_stop(&gpes->stage);
    if (!n)
        return;
    switches->pieces[i] = pieces;
    switches->half[i] = 1e3 * alone / pieces / 2;
    switches->least[i] = stage_quantile(waits, n, 0.05);
    switches->median[i] = stage_quantile(waits, n, 0.5);
    printf("  %-7s %8u %12.2g %12.2g %12.2g %12.2g %8zu\n", gpes->api->name, pieces, 2e-3 * switches->half[i],
           switches->least[i] / 1e3, switches->median[i] / 1e3, stage_quantile(waits, n, 0.95) / 1e3, n);
    (void)fflush(stdout);
    switches->n++;
}

void gpes_switch(struct gpes *gpes)
{
    static const unsigned pieces[SWITCH_COUNTS] = {1, 4, 10, 25, 50, 100, 200, 400};

    printf("\nFig. 7: what a switch costs: the urgent program's wait for the engine beside mmul %zu\n",
           switched.size);
    printf("  %-7s %8s %12s %12s %12s %12s %8s\n", "", "pieces", "a piece, ms", "p5, ms", "median, ms",
           "p95, ms", "waits");
    for (size_t a = 0; a < gpes->n_apis; a++) {
        struct switches switches = {.n = 0};
        double alone;
        double groups;

        gpes->api = gpes->apis[a];
        alone = gpes_alone_ms(gpes, switched);
        stage_daemon_start(&gpes->stage, "priority", NULL);
        groups = gpes_groups(gpes, switched);
        stage_daemon_stop(&gpes->stage);
        for (size_t i = 0; i < SWITCH_COUNTS; i += gpes->quick ? 3 : 1)
            measure_switch(gpes, pieces[i], groups, alone, &switches);
        gpes_draw_curves(
            gpes, "fig7", "Fig. 7: from the urgent program's request to its turn",
            "pieces of the other's kernel", "us", true,
            (struct svg_series[]){
                {.name = "median", .x = switches.pieces, .y = switches.median, .n = switches.n},
                {.name = "p5: the switch itself", .x = switches.pieces, .y = switches.least, .n = switches.n},
                {.name = "half a piece",
                 .x = switches.pieces,
                 .y = switches.half,
                 .n = switches.n,
                 .dashed = true},
            },
            3);
    }
    printf("  GPES: up to 600 us of switching for a run of mmul, no longer growing from 50 pieces on\n");
}
