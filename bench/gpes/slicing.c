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

enum { PROGRAMS = 9, SIZES = 4, COUNTS = 5 };

static const struct {
    const char *name;
    size_t sizes[SIZES];
} programs[PROGRAMS] = {
    {"mmul", {128, 256, 384, 512}},          {"madd", {256, 512, 1024, 2048}},
    {"heartwall", {64, 128, 256, 512}},      {"backprop", {8192, 16384, 65536, 131072}},
    {"bfs", {16384, 65536, 131072, 262144}}, {"hotspot", {128, 256, 512, 1024}},
    {"lud", {128, 256, 384, 512}},           {"nn", {131072, 524288, 1048576, 4194304}},
    {"srad", {128, 256, 384, 512}},
};
static const unsigned counts[COUNTS] = {2, 8, 32, 128, 400};

/*
 * One row of the table: by count, the pieces that a launch really had and the time against plain
 * OpenCL.
 */
struct row {
    double pieces[COUNTS + 1], ratio[COUNTS + 1]; /* the first is 1 piece: plain, 1.0 */
    double plain_ms;
};

static void measure_row(struct gpes *gpes, struct gpes_program program, struct row *ret_row)
{
    static const struct stage_how plain = {.realtime = true};
    struct stage_how sliced = {.baton = true, .stats = true, .realtime = true};
    unsigned jobs = gpes->quick ? 3 : 7;
    double groups = gpes_groups(gpes, program);
    double plains[COUNTS];
    double before;
    double ms;
    size_t n = 0;
    char slice[32];

    ret_row->pieces[0] = ret_row->ratio[0] = 1;
    for (size_t i = 0; i < COUNTS; i++)
        ret_row->pieces[i + 1] = ret_row->ratio[i + 1] = NAN;
    before = gpes_kernel_ms(gpes, &plain, program, jobs, NULL);
    for (size_t i = 0; i < COUNTS; i += gpes->quick ? 2 : 1) {
        struct stage_program run;
        (void)snprintf(slice, sizeof slice, "%.0f", fmax(1, ceil(groups / counts[i])));
        sliced.slice = slice;
        ms = gpes_kernel_ms(gpes, &sliced, program, jobs, &run);
        plains[n] = gpes_kernel_ms(gpes, &plain, program, jobs, NULL);
        ret_row->pieces[i + 1] = fmax(1, stage_stat(&run, "pieces") / stage_stat(&run, "kernel_launches"));
        /* Between two plain runs: compared with both, as the machine's speed wanders. */
        ret_row->ratio[i + 1] = ms / ((before + plains[n]) / 2);
        before = plains[n++];
    }
    ret_row->plain_ms = stage_quantile(plains, n, 0.5);
}

static void print_row(const char *name, size_t size, const struct row *row)
{
    printf("  %-10s %9zu %9.2f ", name, size, row->plain_ms);
    for (size_t i = 1; i <= COUNTS; i++)
        printf("  %5.3f (%3.0f)", row->ratio[i], row->pieces[i]);
    printf("\n");
    (void)fflush(stdout);
}

void gpes_slicing(struct gpes *gpes)
{
    static struct row rows[PROGRAMS][SIZES];
    struct svg_series series[PROGRAMS];
    char names[PROGRAMS][32];
    static const char *const few[] = {"mmul", "hotspot", "nn"};
    size_t n_series = 0;

    printf("\nFig. 5: kernels cut into pieces, kernel time / plain OpenCL (in brackets: pieces a launch "
           "really had)\n");
    printf("  %-10s %9s %9s ", "", "size", "plain ms");
    for (size_t i = 0; i < COUNTS; i++)
        printf("  %6u pcs. ", counts[i]);
    printf("\n");
    stage_daemon_start(&gpes->stage, "priority", NULL);
    for (size_t p = 0; p < PROGRAMS; p++) {
        bool wanted = !gpes->quick;
        for (size_t i = 0; i < 3; i++)
            wanted = wanted || strcmp(programs[p].name, few[i]) == 0;
        for (size_t s = gpes->quick ? 2 : 0; wanted && s < (gpes->quick ? 3 : SIZES); s++) {
            struct gpes_program program = {programs[p].name, programs[p].sizes[s]};
            measure_row(gpes, program, &rows[p][s]);
            print_row(program.name, program.size, &rows[p][s]);
            if (strcmp(program.name, "mmul") == 0 && s == (gpes->quick ? 2 : SIZES - 1))
                figure("gpes-pieces", rows[p][s].ratio[COUNTS], rows[p][s].ratio[COUNTS],
                       rows[p][s].ratio[COUNTS]);
        }
        if (wanted)
            series[n_series++] = (struct svg_series){.name = programs[p].name,
                                                     .x = rows[p][gpes->quick ? 2 : SIZES - 1].pieces,
                                                     .y = rows[p][gpes->quick ? 2 : SIZES - 1].ratio,
                                                     .n = COUNTS + 1};
    }
    stage_daemon_stop(&gpes->stage);
    printf("  GPES: mmul 4096 x 4096 in 400 pieces 1.04; all programs below 1.05 with 120 or more groups a "
           "piece\n");
    gpes_draw_curves(gpes, "fig5", "Fig. 5 (all programs, the largest size): cost of cutting",
                     "pieces a launch", "kernel time / plain OpenCL", false, series, n_series);
    if (gpes->quick)
        return;
    for (size_t s = 0; s < SIZES; s++) {
        (void)snprintf(names[s], sizeof names[s], "mmul %zu x %zu", programs[0].sizes[s],
                       programs[0].sizes[s]);
        series[s] = (struct svg_series){
            .name = names[s], .x = rows[0][s].pieces, .y = rows[0][s].ratio, .n = COUNTS + 1};
    }
    gpes_draw_curves(gpes, "fig5-mmul", "Fig. 5: cost of cutting a matrix product", "pieces a launch",
                     "kernel time / plain OpenCL", false, series, SIZES);
}

/* ---- Fig. 7 ---- */

enum { SWITCH_COUNTS = 8, MOST_WAITS = 4000 };

static bool is(const json_t *event, const char *name, const char *value)
{
    const char *text = json_string_value(json_object_get(event, name));

    return text && strcmp(text, value) == 0;
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
    size_t n = 0;
    size_t i;
    json_t *all;

    (void)snprintf(path, sizeof path, "%s/trace.json", gpes->stage.folder);
    stage_run(&gpes->stage, &trace, &plain, argv);
    all = json_load_file(path, 0, NULL);
    json_array_foreach(json_object_get(all, "traceEvents"), i, event)
    {
        if (n < MOST_WAITS && is(event, "cat", "queued") && is(event, "name", "urgent") &&
            json_integer_value(json_object_get(event, "tid")) == 0)
            ret_us[n++] = json_number_value(json_object_get(event, "dur"));
    }
    json_decref(all);
    return n;
}

void gpes_switch(struct gpes *gpes)
{
    static const unsigned pieces[SWITCH_COUNTS] = {1, 4, 10, 25, 50, 100, 200, 400};
    static const struct stage_how urgent = {
        .baton = true, .priority = 80, .name = "urgent", .realtime = true};
    static const struct gpes_program low = {"mmul", 512};
    static double waits[MOST_WAITS];
    struct stage_how hog = {
        .baton = true, .priority = 10, .name = "mmul", .quiet = true, .realtime = true, .humble = true};
    const char *argv[] = {"examples/demo/urgent",  "--steps", "100", "--period", "7", "--seconds",
                          gpes->quick ? "1" : "2", NULL};
    double x[SWITCH_COUNTS];
    double least[SWITCH_COUNTS];
    double median[SWITCH_COUNTS];
    double half[SWITCH_COUNTS];
    double alone = gpes_alone_ms(gpes, low);
    double groups;
    size_t n_points = 0;
    char slice[32];

    stage_daemon_start(&gpes->stage, "priority", NULL);
    groups = gpes_groups(gpes, low);
    stage_daemon_stop(&gpes->stage);
    printf(
        "\nFig. 7: what a switch costs: the urgent program's wait for the engine beside mmul %zu (%.1f ms)\n",
        low.size, alone);
    printf("  %8s %12s %12s %12s %12s %8s\n", "pieces", "a piece, us", "p5, us", "median, us", "p95, us",
           "waits");
    for (size_t i = 0; i < SWITCH_COUNTS; i += gpes->quick ? 3 : 1) {
        struct stage_program run = {0};
        struct stage_program job = {0};
        size_t n;
        (void)snprintf(slice, sizeof slice, "%.0f", fmax(1, ceil(groups / pieces[i])));
        hog.slice = slice;
        stage_daemon_start(&gpes->stage, "priority", NULL);
        gpes_start(gpes, &run, &hog, low);
        stage_run(&gpes->stage, &job, &urgent, argv);
        n = read_waits(gpes, waits);
        (void)stage_end(&run, SIGKILL);
        stage_daemon_stop(&gpes->stage);
        if (!n)
            continue;
        x[n_points] = pieces[i];
        half[n_points] = 1e3 * alone / pieces[i] / 2;
        least[n_points] = stage_quantile(waits, n, 0.05);
        median[n_points] = stage_quantile(waits, n, 0.5);
        printf("  %8u %12.0f %12.0f %12.0f %12.0f %8zu\n", pieces[i], 2 * half[n_points], least[n_points],
               median[n_points], stage_quantile(waits, n, 0.95), n);
        (void)fflush(stdout);
        n_points++;
    }
    printf("  GPES: up to 600 us of switching for a run of mmul, no longer growing from 50 pieces on\n");
    gpes_draw_curves(gpes, "fig7", "Fig. 7: from the urgent program's request to its turn",
                     "pieces of the other's kernel", "us", true,
                     (struct svg_series[]){
                         {.name = "median", .x = x, .y = median, .n = n_points},
                         {.name = "p5: the switch itself", .x = x, .y = least, .n = n_points},
                         {.name = "half a piece", .x = x, .y = half, .n = n_points, .dashed = true},
                     },
                     3);
}
