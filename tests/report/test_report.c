#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "report/axis.h"
#include "report/histogram.h"
#include "report/palette.h"
#include "report/svg.h"
#include "report/trace.h"

static char *written(void (*write)(FILE *out))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    write(out);
    (void)fclose(out);
    return text;
}

START_TEST(ticks_are_round_and_cover_the_data)
{
    struct axis axis;

    /*
     * 0 .. 97 in about 8 steps: 97 / 8 = 12.1, the next of 1, 2, 5 x 10^k is 20: 0, 20, ..., 100.
     */
    axis_layout(&axis, 0, 97, false, 0, 100, 8);
    ck_assert_uint_eq(axis.n_ticks, 6);
    ck_assert_double_eq_tol(axis.ticks[1], 20, 1e-9);
    ck_assert_double_eq_tol(axis.high, 100, 1e-9);
    ck_assert_double_eq_tol(axis_place(&axis, 50), 50, 1e-9);
    axis_layout(&axis, 0.02, 350, true, 0, 5, 8);
    ck_assert_double_eq_tol(axis.low, 0.01, 1e-12);
    ck_assert_double_eq_tol(axis.high, 1000, 1e-9);
    ck_assert_double_eq_tol(axis_place(&axis, 1), 2, 1e-9);
}
END_TEST

START_TEST(an_axis_survives_empty_constant_and_infinite_data)
{
    static const double cases[][2] = {{INFINITY, -INFINITY}, {5, 5},   {0, 0},
                                      {-INFINITY, INFINITY}, {-3, -3}, {NAN, NAN}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int log = 0; log < 2; log++) {
            struct axis axis;

            axis_layout(&axis, cases[i][0], cases[i][1], log, 0, 100, 6);
            ck_assert(isfinite(axis.low) && isfinite(axis.high) && axis.low < axis.high);
            ck_assert_uint_ge(axis.n_ticks, 2);
        }
    }
}
END_TEST

static void hostile_chart(FILE *out)
{
    static const double x[] = {0, 1, 2, 3};
    static const double y[] = {1, NAN, INFINITY, 2};
    const struct svg_series series[] = {{.name = "<a & \"b\">", .x = x, .y = y, .n = 4, .steps = true},
                                        {.name = NULL}};

    svg_chart(&(struct svg_chart){.title = "</svg><script>", .x_label = "x", .series = series, .n_series = 2},
              out);
}

START_TEST(text_in_a_picture_is_escaped_and_nan_breaks_the_line)
{
    char *text = written(hostile_chart);

    ck_assert_ptr_null(strstr(text, "<script>"));
    ck_assert_ptr_nonnull(strstr(text, "&lt;a &amp; &quot;b&quot;&gt;"));
    ck_assert_ptr_null(strstr(text, "nan"));
    ck_assert_ptr_null(strstr(text, "inf"));
    ck_assert_str_eq(text + strlen(text) - 7, "</svg>\n");
    free(text);
}
END_TEST

static void small_trace(FILE *out)
{
    struct trace_writer writer;

    trace_begin(&writer, out);
    trace_row(&writer, 1, "engines", 0, "gpu0 \"fast\"");
    trace_span(&writer, 1, 0, TRACE_RUNNING, "det\\ector", "piece 1", 1500, 4000);
    trace_mark(&writer, 1, 0, TRACE_MISS, "detector", NULL, -1);
    trace_arrow(&writer, 7, 1, 0, 0, 1, 0, 4000);
    trace_end(&writer);
}

START_TEST(a_trace_is_json_with_microseconds_to_the_nanosecond)
{
    char *text = written(small_trace);
    json_error_t error;
    json_t *trace = json_loads(text, 0, &error);
    json_t *events;
    json_t *span = NULL;
    size_t i;
    json_t *event;

    ck_assert_msg(trace != NULL, "%s\n%s", error.text, text);
    events = json_object_get(trace, "traceEvents");
    json_array_foreach(events, i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "ph")), "X") == 0)
            span = event;
    }
    ck_assert_ptr_nonnull(span);
    ck_assert_double_eq_tol(json_number_value(json_object_get(span, "ts")), 1.5, 1e-9);
    ck_assert_double_eq_tol(json_number_value(json_object_get(span, "dur")), 2.5, 1e-9);
    ck_assert_str_eq(json_string_value(json_object_get(span, "name")), "det\\ector");
    ck_assert_str_eq(json_string_value(json_object_get(span, "cat")), "running");
    ck_assert_uint_eq(json_array_size(events), 7);
    json_decref(trace);
    free(text);
}
END_TEST

/* 1 ms to 100 ms: the axis has two decades, so a bin is 2 / 36 of a decade wide. */
static const double spread[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 9, 100};

static void draw_spread(FILE *out)
{
    histogram_draw(
        &(struct histogram){
            .name = "<a>", .values_ms = spread, .n = 11, .deadline_ms = 50, .bound_ms = 20, .claimed = false},
        out);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (size_t i = 0; text[i]; i++)
        n += strncmp(text + i, what, strlen(what)) == 0;
    return n;
}

START_TEST(a_histogram_shows_body_and_tail)
{
    char *text = written(draw_spread);

    /*
     * Body of nine jobs over the whole height 162 - 58. One job each at 9 ms and 100 ms at least 3
     * high; only the last is late.
     */
    ck_assert_ptr_nonnull(strstr(text, "height=\"104.0\""));
    ck_assert_uint_eq(count(text, "fill=\"#c62828\""), 1);
    ck_assert_uint_eq(count(text, palette_colour(0)), 2);
    /* The names of the limits stand above the bars, whose highest begins at 162 - 104 = 58. */
    ck_assert_uint_eq(count(text, "y=\"36\" text-anchor"), 1);
    ck_assert_uint_eq(count(text, "y=\"50\" text-anchor"), 1);
    ck_assert_ptr_nonnull(strstr(text, "deadline 50"));
    ck_assert_ptr_nonnull(strstr(text, "bound 20 (not claimed)"));
    ck_assert_ptr_nonnull(strstr(text, "&lt;a&gt;"));
    ck_assert_ptr_null(strstr(text, "nan"));
    free(text);
}
END_TEST

static void draw_far(FILE *out)
{
    static const double zeros[] = {0, 0};

    histogram_draw(
        &(struct histogram){
            .name = "a", .values_ms = spread, .n = 1, .deadline_ms = 100000, .bound_ms = 2, .claimed = true},
        out);
    histogram_draw(
        &(struct histogram){.name = "b", .values_ms = zeros, .n = 2, .deadline_ms = -1, .bound_ms = -1}, out);
}

START_TEST(a_limit_far_away_is_named_at_the_edge_and_zeros_are_drawn)
{
    char *text = written(draw_far);

    ck_assert_ptr_nonnull(strstr(text, "deadline 100000 \xe2\x86\x92"));
    ck_assert_ptr_nonnull(strstr(text, "bound 2<"));
    ck_assert_ptr_null(strstr(text, "nan"));
    ck_assert_ptr_null(strstr(text, "inf"));
    free(text);
}
END_TEST

START_TEST(no_program_is_red)
{
    for (size_t i = 0; i < palette_size(); i++) {
        unsigned rgb = (unsigned)strtoul(palette_colour(i) + 1, NULL, 16);
        int red = (int)(rgb >> 16);
        int green = (int)(rgb >> 8 & 255);
        int blue = (int)(rgb & 255);

        /* Red is a colour whose red part is more than twice each of the others. */
        ck_assert_msg(red < 2 * green || red < 2 * blue, "%s", palette_colour(i));
    }
}
END_TEST

HARNESS_MAIN("report", 10, ticks_are_round_and_cover_the_data,
             an_axis_survives_empty_constant_and_infinite_data,
             text_in_a_picture_is_escaped_and_nan_breaks_the_line,
             a_trace_is_json_with_microseconds_to_the_nanosecond, a_histogram_shows_body_and_tail,
             a_limit_far_away_is_named_at_the_edge_and_zeros_are_drawn, no_program_is_red)
