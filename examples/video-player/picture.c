/*
 * usage: picture TITLE NAME=FILE...
 *
 * Draws lists of `player --list`: when each frame was shown after its release, on a logarithmic
 * scale. The SVG goes to standard output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/svg.h"

enum { MOST_LISTS = 8, MOST_FRAMES = 10000 };

static double seconds[MOST_LISTS + 1][MOST_FRAMES], response[MOST_LISTS + 1][MOST_FRAMES];

static size_t read_list(const char *path, double x[], double y[])
{
    char line[512];
    size_t n = 0;
    FILE *file = fopen(path, "re");

    while (file && n < MOST_FRAMES && fgets(line, sizeof line, file)) {
        char *end;
        x[n] = strtod(line, &end) / 1e3;
        if (end != line && *end == ' ')
            y[n++] = strtod(end, NULL);
    }
    if (file)
        (void)fclose(file);
    return n;
}

int main(int argc, char **argv)
{
    struct svg_series series[MOST_LISTS + 1];
    struct svg_chart chart = {.title = argc > 1 ? argv[1] : "",
                              .x_label = "release of the frame, s",
                              .y_label = "shown after, ms",
                              .y_log = true,
                              .series = series};
    double period = 1e3 / 30;
    double last = 0;

    for (int i = 2; i < argc && chart.n_series < MOST_LISTS; i++) {
        size_t s = chart.n_series;
        char *equals = strchr(argv[i], '=');
        size_t n;
        if (!equals) {
            fprintf(stderr, "picture: %s: expected NAME=FILE\n", argv[i]);
            return 2;
        }
        *equals = '\0';
        n = read_list(equals + 1, seconds[s], response[s]);
        if (n) {
            series[chart.n_series++] =
                (struct svg_series){.name = argv[i], .x = seconds[s], .y = response[s], .n = n};
            last = seconds[s][n - 1] > last ? seconds[s][n - 1] : last;
        }
    }
    seconds[MOST_LISTS][1] = last;
    response[MOST_LISTS][0] = response[MOST_LISTS][1] = period;
    series[chart.n_series++] = (struct svg_series){
        .name = "next release", .x = seconds[MOST_LISTS], .y = response[MOST_LISTS], .n = 2, .dashed = true};
    svg_chart(&chart, stdout);
    return 0;
}
