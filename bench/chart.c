/*
 * Draws what a script measured: reads one JSON object from standard input and writes an SVG picture
 * to standard output.
 *
 * A line chart:
 *   {"title", "x_label", "y_label",
 *    "series": [{"name", "x": [...], "y": [...], "dashed", "steps", "colour"}]}
 * Bars in rows:
 *   {"title", "x_label", "rows": [names], "bars": [{"row", "begin", "end", "colour", "label"}]}
 * Several of these in one picture, two to a row:
 *   {"charts": [...]}
 *
 * Exit: 0 drawn, 2 the object is not one of these, 3 no memory.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/svg.h"

static _Noreturn void stop(int status, const char *what)
{
    fprintf(stderr, "chart: %s\n", what);
    exit(status);
}

static void *array_of(size_t n, size_t size)
{
    void *array = calloc(n ? n : 1, size);

    if (!array)
        stop(3, "no memory");
    return array;
}

/* Copied; freed when the program ends, like everything here. */
static double *numbers(const json_t *array, size_t n)
{
    double *values = array_of(n, sizeof *values);

    if (json_array_size(array) != n)
        stop(2, "x and y must be arrays of the same length");
    for (size_t i = 0; i < n; i++)
        values[i] = json_is_null(json_array_get(array, i)) ? NAN /* a gap */
                                                           : json_number_value(json_array_get(array, i));
    return values;
}

static const char *text(const json_t *object, const char *name)
{
    const char *value = json_string_value(json_object_get(object, name));

    return value ? value : "";
}

static void draw_lines(const json_t *object, const json_t *lines, FILE *out)
{
    size_t n = json_array_size(lines);
    struct svg_series *series = array_of(n, sizeof *series);
    const struct svg_chart chart = {.title = text(object, "title"),
                                    .x_label = text(object, "x_label"),
                                    .y_label = text(object, "y_label"),
                                    .series = series,
                                    .n_series = n};

    for (size_t i = 0; i < n; i++) {
        const json_t *line = json_array_get(lines, i);
        size_t points = json_array_size(json_object_get(line, "x"));
        series[i] = (struct svg_series){.name = text(line, "name"),
                                        .x = numbers(json_object_get(line, "x"), points),
                                        .y = numbers(json_object_get(line, "y"), points),
                                        .n = points,
                                        .colour = (size_t)json_integer_value(json_object_get(line, "colour")),
                                        .dashed = json_is_true(json_object_get(line, "dashed")),
                                        .steps = json_is_true(json_object_get(line, "steps"))};
    }
    svg_chart(&chart, out);
}

static void draw_rows(const json_t *object, const json_t *names, const json_t *bars, FILE *out)
{
    size_t n_rows = json_array_size(names);
    size_t n_bars = json_array_size(bars);
    const char **rows = array_of(n_rows, sizeof *rows);
    struct svg_bar *drawn = array_of(n_bars, sizeof *drawn);
    const struct svg_rows picture = {.title = text(object, "title"),
                                     .x_label = text(object, "x_label"),
                                     .row_names = rows,
                                     .n_rows = n_rows,
                                     .bars = drawn,
                                     .n_bars = n_bars};

    for (size_t i = 0; i < n_rows; i++) {
        rows[i] = json_string_value(json_array_get(names, i));
        if (!rows[i])
            stop(2, "rows must be names");
    }
    for (size_t i = 0; i < n_bars; i++) {
        const json_t *bar = json_array_get(bars, i);
        drawn[i] = (struct svg_bar){.row = (size_t)json_integer_value(json_object_get(bar, "row")),
                                    .begin = json_number_value(json_object_get(bar, "begin")),
                                    .end = json_number_value(json_object_get(bar, "end")),
                                    .colour = (size_t)json_integer_value(json_object_get(bar, "colour")),
                                    .label = text(bar, "label")};
        if (drawn[i].row >= n_rows)
            stop(2, "a bar's row is not there");
    }
    svg_rows(&picture, out);
}

static void draw_one(const json_t *object, FILE *out)
{
    if (json_is_array(json_object_get(object, "series")))
        draw_lines(object, json_object_get(object, "series"), out);
    else if (json_is_array(json_object_get(object, "rows")))
        draw_rows(object, json_object_get(object, "rows"), json_object_get(object, "bars"), out);
    else
        stop(2, "expected series, rows or charts");
}

/* A whole picture as text, and its size. */
static char *drawn(const json_t *object, double *ret_width, double *ret_height)
{
    char *picture = NULL;
    const char *size;
    size_t n;
    FILE *out = open_memstream(&picture, &n);

    if (!out)
        stop(3, "no memory");
    draw_one(object, out);
    if (fclose(out) || !(size = strstr(picture, "viewBox=\"0 0 ")) ||
        sscanf(size, "viewBox=\"0 0 %lf %lf", ret_width, ret_height) != 2)
        stop(3, "no picture");
    return picture;
}

/* Pictures in a picture: each <svg> gets its place in the outer one. */
static void draw_several(const json_t *charts)
{
    size_t n = json_array_size(charts);
    char **pictures = array_of(n, sizeof *pictures);
    double *widths = array_of(n, sizeof *widths);
    double *heights = array_of(n + 1, sizeof *heights); /* a last one of 0 */
    double width = 0;
    double height = 0;
    double y = 0;

    for (size_t i = 0; i < n; i++)
        pictures[i] = drawn(json_array_get(charts, i), &widths[i], &heights[i]);
    for (size_t i = 0; i < n; i += 2) {
        width = fmax(width, widths[i] + (i + 1 < n ? widths[i + 1] : 0));
        height += fmax(heights[i], heights[i + 1]);
    }
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\">\n",
           width, height, width, height);
    for (size_t i = 0; i < n; i++) {
        printf("<svg x=\"%g\" y=\"%g\" %s", i % 2 ? widths[i - 1] : 0, y, pictures[i] + strlen("<svg "));
        if (i % 2)
            y += fmax(heights[i - 1], heights[i]);
        free(pictures[i]);
    }
    printf("</svg>\n");
}

int main(void)
{
    json_error_t error;
    json_t *object = json_loadf(stdin, 0, &error);

    if (!object)
        stop(2, error.text);
    if (json_is_array(json_object_get(object, "charts")))
        draw_several(json_object_get(object, "charts"));
    else
        draw_one(object, stdout);
    return fflush(stdout) ? 3 : 0;
}
