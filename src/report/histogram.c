#include "report/histogram.h"

#include <math.h>

#include "report/html_page.h"
#include "report/palette.h"
#include "report/svg.h"

#define BINS     36
#define LEFT     12.0
#define RIGHT    328.0
#define TOP      58.0
#define BOTTOM   162.0
#define LABELS   36.0 /* the names of the limits stand above the bars, a row each */
#define ROW      14.0
#define ASCENT   9.0
#define FARTHEST 40 /* a limit beyond this many times the worst job is off the scale */
#define RED      "#c62828"
#define LEAST    3.0 /* height of the smallest bar */

struct scale {
    double low, high; /* ms, both above 0 */
};

/* The nearest of 1, 2, 5 times a power of ten that is not above the value (up: not below). */
static double round_to(double value, bool up)
{
    static const double steps[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(value) + 1e-9));
    double found = up ? 10 * power : power;

    for (size_t i = 0; i < 4; i++) {
        if (up && steps[i] * power >= value * (1 - 1e-9)) {
            found = steps[i] * power;
            break;
        }
        if (!up && steps[i] * power <= value * (1 + 1e-9))
            found = steps[i] * power;
    }
    return found;
}

static bool on_scale(double limit, double worst)
{
    return limit > 0 && limit <= FARTHEST * worst;
}

static struct scale scale_of(const struct histogram *histogram)
{
    double least = fmax(histogram->values_ms[0], 1e-6);
    double worst = fmax(histogram->values_ms[histogram->n - 1], 1e-6);
    double high = worst;
    struct scale scale;

    if (on_scale(histogram->deadline_ms, worst))
        high = fmax(high, histogram->deadline_ms);
    if (on_scale(histogram->bound_ms, worst))
        high = fmax(high, histogram->bound_ms);
    scale.low = round_to(least, false);
    scale.high = round_to(high * 1.02, true);
    if (scale.high <= scale.low * 1.5)
        scale.high = round_to(scale.low * 2, true);
    return scale;
}

static double share_of(const struct scale *scale, double value)
{
    return value <= scale->low ? 0 : log(value / scale->low) / log(scale->high / scale->low);
}

static double place(const struct scale *scale, double value)
{
    return LEFT + fmin(share_of(scale, value), 1) * (RIGHT - LEFT);
}

static void draw_axis(const struct scale *scale, FILE *out)
{
    double decades = log10(scale->high / scale->low);

    double at = scale->low;

    while (at <= scale->high * 1.001) {
        bool power = fabs(log10(at) - round(log10(at))) < 1e-6;

        (void)fprintf(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>\n",
                      place(scale, at), place(scale, at), TOP, BOTTOM + 4);
        if (decades <= 2.1 || power)
            (void)fprintf(
                out,
                "<text class=\"soft\" font-size=\"11\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\">%g</text>\n",
                place(scale, at), BOTTOM + 17,
                at < scale->low * 1.01    ? "start"
                : at > scale->high * 0.99 ? "end"
                                          : "middle",
                at);
        at = round_to(at * 1.01, true);
    }
    (void)fprintf(out, "<line class=\"axis\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.0f\" y2=\"%.0f\"/>\n", LEFT,
                  RIGHT, BOTTOM, BOTTOM);
}

static void draw_bar(double from, double width, double bottom, double height, const char *colour, FILE *out)
{
    (void)fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", from,
                  bottom - height, width, height, colour);
}

static void draw_bars(const struct histogram *histogram, const struct scale *scale, FILE *out)
{
    size_t counts[BINS] = {0};
    size_t late[BINS] = {0};
    size_t most = 1;
    double width = (RIGHT - LEFT) / BINS;

    for (size_t i = 0; i < histogram->n; i++) {
        double value = histogram->values_ms[i];
        double share = share_of(scale, value);
        size_t bin = share >= 1 ? BINS - 1 : (size_t)(share * BINS);

        counts[bin]++;
        late[bin] += histogram->deadline_ms >= 0 && value > histogram->deadline_ms;
        most = counts[bin] > most ? counts[bin] : most;
    }
    for (size_t b = 0; b < BINS; b++) {
        size_t good = counts[b] - late[b];
        double from = LEFT + (double)b * width;
        double high = good ? fmax((double)good / (double)most * (BOTTOM - TOP), LEAST) : 0;

        if (good)
            draw_bar(from, width - 1, BOTTOM, high, palette_colour(histogram->colour), out);
        if (late[b])
            draw_bar(from, width - 1, BOTTOM - high,
                     fmax((double)late[b] / (double)most * (BOTTOM - TOP), LEAST), RED, out);
    }
}

/*
 * A dashed line with its name, on the side that has room. Off the scale only the name is drawn, at
 * the edge. The margin of the letters hides the other limit's line.
 */
static void draw_limit(const struct scale *scale, double limit, bool shown, const char *name,
                       const char *note, const char *stroke, double label_y, FILE *out)
{
    double at = place(scale, limit);
    char text[32];

    if (limit < 0)
        return;
    page_number(limit, text);
    if (shown)
        (void)fprintf(
            out,
            "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\" style=\"stroke-width:1.6;"
            "stroke-dasharray:5 3%s\"/>\n",
            at, at, label_y - ASCENT, BOTTOM, stroke);
    (void)fprintf(out,
                  "<text class=\"soft\" font-size=\"11\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\" "
                  "style=\"paint-order:stroke;stroke:var(--bg);stroke-width:4px\">%s %s%s%s</text>\n",
                  !shown     ? RIGHT
                  : at < 190 ? at + 4
                             : at - 4,
                  label_y, shown && at < 190 ? "start" : "end", name, text, note,
                  shown ? "" : " \xe2\x86\x92");
}

static void draw_text(const struct histogram *histogram, FILE *out)
{
    const double *values = histogram->values_ms;
    char p50[32];
    char p99[32];
    char worst[32];

    page_number(values[(histogram->n * 500 + 999) / 1000 - 1], p50);
    page_number(values[(histogram->n * 990 + 999) / 1000 - 1], p99);
    page_number(values[histogram->n - 1], worst);
    (void)fprintf(out, "<text x=\"%.0f\" y=\"20\" class=\"ink\" font-size=\"14\"><tspan font-weight=\"600\">",
                  LEFT);
    svg_text(histogram->name, out);
    (void)fprintf(out, "</tspan><tspan class=\"soft\" font-size=\"12\" dx=\"8\">%zu job%s</tspan></text>\n",
                  histogram->n, histogram->n == 1 ? "" : "s");
    (void)fprintf(
        out,
        "<text x=\"%.0f\" y=\"198\" class=\"soft\" font-size=\"12\">p50 <tspan class=\"ink\">%s</tspan>  p99 "
        "<tspan class=\"ink\">%s</tspan>  worst <tspan class=\"ink\">%s</tspan> ms</text>\n",
        LEFT, p50, p99, worst);
}

void histogram_draw(const struct histogram *histogram, FILE *out)
{
    struct scale scale = scale_of(histogram);
    double worst = histogram->values_ms[histogram->n - 1];

    svg_begin(HISTOGRAM_WIDTH, HISTOGRAM_HEIGHT, NULL, out);
    draw_axis(&scale, out);
    draw_bars(histogram, &scale, out);
    draw_text(histogram, out);
    draw_limit(&scale, histogram->deadline_ms, on_scale(histogram->deadline_ms, worst), "deadline", "", "",
               LABELS, out);
    draw_limit(&scale, histogram->bound_ms, on_scale(histogram->bound_ms, worst), "bound",
               histogram->claimed ? "" : " (not claimed)",
               histogram->claimed ? ";stroke:#2a9d6f" : ";opacity:.6", LABELS + ROW, out);
    (void)fputs("</svg>\n", out);
}
