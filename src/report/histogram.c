#include "report/histogram.h"

#include <math.h>

#include "report/axis.h"
#include "report/palette.h"
#include "report/svg.h"

#define BINS 60

static void draw_limit(const struct axis *x, double value, const char *name, const char *colour,
                       double label_y, FILE *out)
{
    double at;

    if (value < 0)
        return;
    at = axis_place(x, value);
    (void)fprintf(out,
                  "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"36\" y2=\"180\" stroke=\"%s\" stroke-width=\"2\" "
                  "stroke-dasharray=\"5 3\"/>\n",
                  at, at, colour);
    /* To the right of its line, where there is room: the bars are to the left. */
    (void)fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%.0f\" text-anchor=\"%s\">%s %.3f ms</text>\n",
                  at < 600 ? at + 5 : at - 5, label_y, at < 600 ? "start" : "end", name, value);
}

void histogram_draw(const struct histogram *histogram, FILE *out)
{
    const double bottom = 180;
    double high = fmax(histogram->deadline_ms, histogram->bound_ms);
    size_t counts[BINS] = {0};
    size_t most = 1;
    struct axis x;
    struct axis y;

    for (size_t i = 0; i < histogram->n; i++)
        high = fmax(high, histogram->values_ms[i]);
    axis_layout(&x, 0, high > 0 ? high : 1, false, 60, 740, 8);
    for (size_t i = 0; i < histogram->n; i++) {
        double share = (histogram->values_ms[i] - x.low) / (x.high - x.low);
        size_t bin = share <= 0 ? 0 : share >= 1 ? BINS - 1 : (size_t)(share * BINS);

        counts[bin]++;
        most = counts[bin] > most ? counts[bin] : most;
    }
    axis_layout(&y, 0, (double)most, false, bottom, 40, 4);
    svg_begin(760, 220, histogram->title, out);
    svg_x_axis(&x, "response time, ms", 40, bottom, out);
    svg_y_axis(&y, "jobs", 60, 740, out);
    for (size_t b = 0; b < BINS; b++) {
        double top = axis_place(&y, (double)counts[b]);

        if (counts[b])
            (void)fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                          60 + (double)b * 680 / BINS, fmin(top, bottom - 1.5), 680.0 / BINS - 1,
                          fmax(bottom - top, 1.5), palette_colour(0));
    }
    draw_limit(&x, histogram->deadline_ms, "deadline", "#d6494f", 50, out);
    draw_limit(&x, histogram->bound_ms, histogram->unclaimed ? "bound, not claimed," : "bound",
               histogram->unclaimed ? "#8a8f98" : "#2a9d6f", 66, out);
    (void)fputs("</svg>\n", out);
}
