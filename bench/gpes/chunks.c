/* Fig. 6: what it costs to cut copies, per direction. */
#include <stdio.h>

#include "figure.h"
#include "gpes.h"
#include "report/svg.h"

enum { SIZES = 4, COUNTS = 6, DIRECTIONS = 2 };

static const unsigned counts[COUNTS] = {1, 4, 32, 128, 256, 1024};
static const unsigned sizes_mib[SIZES] = {1, 8, 64, 512};

struct times {
    double ms[DIRECTIONS];
};

static struct times copy_ms(struct gpes *gpes, const struct stage_how *how, unsigned mib)
{
    struct stage_program run = {0};
    char bytes[32];
    const char *argv[] = {"bench/gpes/copies", "--bytes", bytes, "--jobs", gpes->quick ? "5" : "9", NULL};
    struct times times;

    (void)snprintf(bytes, sizeof bytes, "%u", mib << 20);
    stage_run(&gpes->stage, &run, how, argv);
    times.ms[0] = stage_value(&run, "in_ms");
    times.ms[1] = stage_value(&run, "out_ms");
    return times;
}

static void print_table(const struct gpes *gpes, const char *title, double ratio[SIZES][COUNTS],
                        const double plain[])
{
    printf("  %-22s %9s", title, "plain ms");
    for (size_t c = 0; c < COUNTS; c++)
        printf(" %5u chunks", counts[c]);
    printf("\n");
    for (size_t s = 0; s < (gpes->quick ? SIZES - 1 : SIZES); s++) {
        printf("  %19u MiB %9.3f", sizes_mib[s], plain[s]);
        for (size_t c = 0; c < COUNTS; c++)
            printf(" %12.3f", ratio[s][c]);
        printf("\n");
    }
}

void gpes_chunks(struct gpes *gpes)
{
    static const char *const titles[] = {"host to device", "device to host"};
    static const struct stage_how plain = {.realtime = true};
    static double ratio[DIRECTIONS][SIZES][COUNTS], whole[DIRECTIONS][SIZES];
    double x[COUNTS];
    size_t n_sizes = gpes->quick ? SIZES - 1 : SIZES;
    struct svg_series series[SIZES];
    char names[SIZES][32];
    char chunk[32];

    stage_daemon_start(&gpes->stage, "priority", NULL);
    for (size_t s = 0; s < n_sizes; s++) {
        for (size_t c = 0; c < COUNTS; c++) {
            struct stage_how cut = {.baton = true, .chunk = chunk, .realtime = true};
            struct times before = copy_ms(gpes, &plain, sizes_mib[s]);
            struct times with;
            struct times after;
            (void)snprintf(chunk, sizeof chunk, "%u", (sizes_mib[s] << 20) / counts[c]);
            with = copy_ms(gpes, &cut, sizes_mib[s]);
            after = copy_ms(gpes, &plain, sizes_mib[s]);
            for (size_t d = 0; d < DIRECTIONS; d++) {
                ratio[d][s][c] = with.ms[d] / ((before.ms[d] + after.ms[d]) / 2);
                whole[d][s] += (before.ms[d] + after.ms[d]) / 2 / COUNTS;
            }
        }
    }
    stage_daemon_stop(&gpes->stage);
    printf("\nFig. 6: copies cut into chunks, time / plain OpenCL\n");
    for (size_t c = 0; c < COUNTS; c++)
        x[c] = counts[c];
    for (size_t d = 0; d < DIRECTIONS; d++) {
        double last = ratio[d][n_sizes - 1][COUNTS - 1];

        print_table(gpes, titles[d], ratio[d], whole[d]);
        figure(d ? "gpes-chunks-out" : "gpes-chunks-in", last, last, last);
        for (size_t s = 0; s < n_sizes; s++) {
            (void)snprintf(names[s], sizeof names[s], "%u MiB", sizes_mib[s]);
            series[s] = (struct svg_series){.name = names[s], .x = x, .y = ratio[d][s], .n = COUNTS};
        }
        gpes_draw_curves(gpes, d ? "fig6b" : "fig6a",
                         d ? "Fig. 6 (b): chunks, device to host" : "Fig. 6 (a): chunks, host to device",
                         "chunks", "time / plain OpenCL", false, series, n_sizes);
    }
    printf("  GPES: 512 MB to the host in 1024 chunks 1.07; up to 128 chunks \"reasonably small\" towards "
           "the device\n");
}
