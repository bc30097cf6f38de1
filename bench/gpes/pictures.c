#include <stdio.h>
#include <stdlib.h>

#include "gpes.h"
#include "report/axis.h"
#include "report/palette.h"
#include "report/svg.h"

static FILE *open_picture(const struct gpes *gpes, const char *name)
{
    char path[PATH_MAX];
    FILE *out;

    (void)snprintf(path, sizeof path, "%s/%s%s.svg", gpes->folder, name, gpes->api->suffix);
    out = fopen(path, "we");
    if (!out) {
        perror(path);
        exit(3);
    }
    return out;
}

static void close_picture(FILE *out)
{
    if (fclose(out) != 0) {
        perror("a picture");
        exit(3);
    }
}

void gpes_draw_curves(const struct gpes *gpes, const char *name, const char *title, const char *x_label,
                      const char *y_label, bool y_log, const struct svg_series *series, size_t n)
{
    const struct svg_chart chart = {.title = title,
                                    .x_label = x_label,
                                    .y_label = y_label,
                                    .x_log = true,
                                    .y_log = y_log,
                                    .series = series,
                                    .n_series = n};
    FILE *out = open_picture(gpes, name);

    svg_chart(&chart, out);
    close_picture(out);
}

static void draw_key(const char *const series[], size_t n, FILE *out)
{
    for (size_t i = 0; i < n; i++) {
        double x = 76 + 160 * (double)i;
        (void)fprintf(out,
                      "<rect x=\"%.0f\" y=\"38\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                      "<text class=\"ink\" x=\"%.0f\" y=\"48\">",
                      x, palette_colour(i), x + 18);
        svg_text(series[i], out);
        (void)fputs("</text>\n", out);
    }
}

void gpes_draw_bars(const struct gpes *gpes, const char *name, const char *title, const char *y_label,
                    const char *const groups[], size_t n_groups, const char *const series[], size_t n_series,
                    const double values[])
{
    enum { LEFT = 70, RIGHT = 740, TOP = 64, BOTTOM = 380 };
    double wide = (double)(RIGHT - LEFT) / (double)n_groups;
    double bar = wide * 0.8 / (double)n_series;
    double most = 0;
    FILE *out = open_picture(gpes, name);
    struct axis y;

    for (size_t i = 0; i < n_groups * n_series; i++)
        most = values[i] > most ? values[i] : most;
    axis_layout(&y, 0, most > 0 ? most : 1, false, BOTTOM, TOP, 6);
    svg_begin(760, 420, title, out);
    svg_y_axis(&y, y_label, LEFT, RIGHT, out);
    draw_key(series, n_series, out);
    for (size_t g = 0; g < n_groups; g++) {
        double x = LEFT + wide * ((double)g + 0.1);
        for (size_t s = 0; s < n_series; s++) {
            double value = values[g * n_series + s];
            double top = value > 0 ? axis_place(&y, value) : BOTTOM;
            (void)fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                          x + bar * (double)s, top, bar * 0.92, BOTTOM - top, palette_colour(s));
        }
        (void)fprintf(out, "<text class=\"ink\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x + wide * 0.4,
                      BOTTOM + 20);
        svg_text(groups[g], out);
        (void)fputs("</text>\n", out);
    }
    (void)fputs("</svg>\n", out);
    close_picture(out);
}
