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
    const char *options[] = {"--bytes", bytes, "--jobs", "5", NULL};
    struct times times;

    (void)snprintf(bytes, sizeof bytes, "%u", mib << 20);
    gpes_run(gpes, &run, how, gpes->api->copies, options);
    times.ms[0] = stage_value(&run, "in_ms");
    times.ms[1] = stage_value(&run, "out_ms");
    return times;
}

/* What one API's copies took, by direction. */
struct result {
    struct gpes_range ratios[DIRECTIONS][SIZES][COUNTS];
    double ratio[DIRECTIONS][SIZES][COUNTS], plain_ms[DIRECTIONS][SIZES]; /* medians; means */
};

static size_t sizes_of(const struct gpes *gpes)
{
    return gpes->quick ? SIZES - 1 : SIZES;
}

static void measure(struct gpes *gpes, size_t s, size_t c, struct result *result)
{
    static const struct stage_how plain = {.realtime = true};
    char chunk[32];
    struct stage_how cut = {.baton = true, .chunk = chunk, .realtime = true};
    double ratios[DIRECTIONS][GPES_ROUNDS];
    size_t rounds = gpes_rounds(gpes);

    (void)snprintf(chunk, sizeof chunk, "%u", (sizes_mib[s] << 20) / counts[c]);
    for (size_t round = 0; round < rounds; round++) {
        struct times before = copy_ms(gpes, &plain, sizes_mib[s]);
        struct times with = copy_ms(gpes, &cut, sizes_mib[s]);
        struct times after = copy_ms(gpes, &plain, sizes_mib[s]);

        for (size_t d = 0; d < DIRECTIONS; d++) {
            ratios[d][round] = with.ms[d] / ((before.ms[d] + after.ms[d]) / 2);
            result->plain_ms[d][s] += (before.ms[d] + after.ms[d]) / 2 / COUNTS / (double)rounds;
        }
    }
    for (size_t d = 0; d < DIRECTIONS; d++) {
        result->ratios[d][s][c] = gpes_range_of(ratios[d], rounds);
        result->ratio[d][s][c] = result->ratios[d][s][c].median;
    }
}

static void print_table(const struct gpes *gpes, const char *title, const struct result results[], size_t d)
{
    printf("  %-22s %17s", title, "plain ms");
    for (size_t c = 0; c < COUNTS; c++)
        printf(" %5u chunks", counts[c]);
    printf("\n");
    for (size_t s = 0; s < sizes_of(gpes); s++) {
        for (size_t a = 0; a < gpes->n_apis; a++) {
            printf("  %19u MiB %-7s %9.2g", sizes_mib[s], gpes->apis[a]->name, results[a].plain_ms[d][s]);
            for (size_t c = 0; c < COUNTS; c++)
                gpes_print_ratio(&results[a].ratios[d][s][c], 12);
            printf("\n");
        }
    }
}

static void draw(const struct gpes *gpes, const struct result *result, size_t d)
{
    struct svg_series series[SIZES];
    char names[SIZES][32];
    double x[COUNTS];
    size_t n_sizes = sizes_of(gpes);
    const struct gpes_range *last = &result->ratios[d][n_sizes - 1][COUNTS - 1];

    figure_of(gpes->api->figures, "chunks", d ? "out" : "in", last->median, last->least, last->most);
    for (size_t c = 0; c < COUNTS; c++)
        x[c] = counts[c];
    for (size_t s = 0; s < n_sizes; s++) {
        (void)snprintf(names[s], sizeof names[s], "%u MiB", sizes_mib[s]);
        series[s] = (struct svg_series){.name = names[s], .x = x, .y = result->ratio[d][s], .n = COUNTS};
    }
    gpes_draw_curves(gpes, d ? "fig6b" : "fig6a",
                     d ? "Fig. 6 (b): chunks, device to host" : "Fig. 6 (a): chunks, host to device",
                     "chunks", "time / plain", false, series, n_sizes);
}

void gpes_chunks(struct gpes *gpes)
{
    static const char *const titles[] = {"host to device", "device to host"};
    static struct result results[GPES_APIS];

    stage_daemon_start(&gpes->stage, "priority", NULL);
    for (size_t s = 0; s < sizes_of(gpes); s++) {
        for (size_t a = 0; a < gpes->n_apis; a++) {
            gpes->api = gpes->apis[a];
            for (size_t c = 0; c < COUNTS; c++)
                measure(gpes, s, c, &results[a]);
        }
    }
    stage_daemon_stop(&gpes->stage);
    printf("\nFig. 6: copies cut into chunks, time / plain OpenCL or CUDA, least to most of %zu rounds\n"
           "(-: reaches 1, not measurable)\n",
           gpes_rounds(gpes));
    for (size_t d = 0; d < DIRECTIONS; d++) {
        print_table(gpes, titles[d], results, d);
        for (size_t a = 0; a < gpes->n_apis; a++) {
            gpes->api = gpes->apis[a];
            draw(gpes, &results[a], d);
        }
    }
    printf("  GPES: 512 MB to the host in 1024 chunks 1.07; up to 128 chunks \"reasonably small\" towards "
           "the device\n");
}
