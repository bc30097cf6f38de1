#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "report/axis.h"
#include "report/palette.h"

void svg_text(const char *text, FILE *out)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            (void)fputs("&amp;", out);
            break;
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        case '"':
            (void)fputs("&quot;", out);
            break;
        default:
            /* XML has no way to write most control characters. */
            (void)fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
        }
    }
}

void svg_begin(double width, double height, const char *title, FILE *out)
{
    (void)fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" "
        "font-family=\"system-ui,sans-serif\" font-size=\"12\">\n"
        "<style>\n"
        ".bg{fill:#ffffff}.ink{fill:#22262b}.soft{fill:#5c6670}.grid{stroke:#dfe3e8;stroke-width:1}"
        ".axis{stroke:#5c6670;stroke-width:1}.bad{stroke:#c62828;stroke-width:2.5;fill:none}"
        ".mark{stroke:#5c6670;stroke-width:1.2;fill:none}.on{fill:#ffffff}\n"
        "@media (prefers-color-scheme:dark){.bg{fill:#15181c}.ink{fill:#e8eaed}.soft{fill:#a8b0b8}"
        ".grid{stroke:#2c3238}.axis,.mark{stroke:#a8b0b8}.bad{stroke:#ff6b6b}}\n"
        "</style>\n"
        "<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/>\n",
        width, height, width, height);
    if (title) {
        (void)fprintf(out, "<title>");
        svg_text(title, out);
        (void)fprintf(out,
                      "</title>\n<text class=\"ink\" x=\"%g\" y=\"24\" font-size=\"15\" font-weight=\"600\">",
                      16.0);
        svg_text(title, out);
        (void)fprintf(out, "</text>\n");
    }
}

static void draw_label(double x, double y, const char *anchor, const char *text, FILE *out)
{
    (void)fprintf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    svg_text(text, out);
    (void)fprintf(out, "</text>\n");
}

static void draw_number(double x, double y, const char *anchor, double value, FILE *out)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%.6g", fabs(value) < 1e-12 ? 0.0 : value);
    draw_label(x, y, anchor, text, out);
}

void svg_x_axis(const struct axis *x, const char *label, double top, double bottom, FILE *out)
{
    for (size_t i = 0; i < x->n_ticks; i++) {
        double at = axis_place(x, x->ticks[i]);

        (void)fprintf(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", at, at,
                      top, bottom);
        draw_number(at, bottom + 16, "middle", x->ticks[i], out);
    }
    (void)fprintf(out, "<line class=\"axis\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", x->from,
                  x->to, bottom, bottom);
    if (label)
        draw_label((x->from + x->to) / 2, bottom + 36, "middle", label, out);
}

void svg_y_axis(const struct axis *y, const char *label, double left, double right, FILE *out)
{
    for (size_t i = 0; i < y->n_ticks; i++) {
        double at = axis_place(y, y->ticks[i]);

        (void)fprintf(out, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", left,
                      right, at, at);
        draw_number(left - 6, at + 4, "end", y->ticks[i], out);
    }
    if (label) {
        double middle = (y->from + y->to) / 2;

        (void)fprintf(
            out, "<text class=\"soft\" text-anchor=\"middle\" transform=\"translate(16 %.1f) rotate(-90)\">",
            middle);
        svg_text(label, out);
        (void)fprintf(out, "</text>\n");
    }
}

static void range_of(const struct svg_chart *chart, bool of_y, double *low, double *high)
{
    bool positive_only = of_y ? chart->y_log : chart->x_log;

    *low = INFINITY;
    *high = -INFINITY;
    for (size_t s = 0; s < chart->n_series; s++) {
        for (size_t i = 0; i < chart->series[s].n; i++) {
            double value = of_y ? chart->series[s].y[i] : chart->series[s].x[i];

            if (!isfinite(value) || (positive_only && value <= 0))
                continue;
            *low = fmin(*low, value);
            *high = fmax(*high, value);
        }
    }
    if (of_y && !positive_only)
        *low = fmin(*low, 0);
}

static const char *colour_of(const struct svg_series *series, size_t place)
{
    return palette_colour(series->colour ? series->colour - 1 : place);
}

static void draw_series(const struct svg_series *series, const char *colour, const struct axis *x,
                        const struct axis *y, FILE *out)
{
    bool open = false;
    double last_y = 0;

    (void)fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s d=\"", colour,
                  series->dashed ? " stroke-dasharray=\"6 4\"" : "");
    for (size_t i = 0; i < series->n; i++) {
        double px;
        double py;

        if (!isfinite(series->y[i]) || !isfinite(series->x[i])) {
            open = false;
            continue;
        }
        px = axis_place(x, series->x[i]);
        py = axis_place(y, series->y[i]);
        if (open && series->steps)
            (void)fprintf(out, "L%.1f %.1f", px, last_y);
        (void)fprintf(out, "%c%.1f %.1f", open ? 'L' : 'M', px, py);
        open = true;
        last_y = py;
    }
    (void)fprintf(out, "\"/>\n");
    if (series->n > 40)
        return;
    for (size_t i = 0; i < series->n; i++) {
        if (isfinite(series->y[i]) && isfinite(series->x[i]))
            (void)fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.6\" fill=\"%s\"/>\n",
                          axis_place(x, series->x[i]), axis_place(y, series->y[i]), colour);
    }
}

void svg_chart(const struct svg_chart *chart, FILE *out)
{
    const double left = 70;
    const double right = 560;
    const double top = 44;
    const double bottom = 384;
    struct axis x;
    struct axis y;
    double low;
    double high;

    range_of(chart, false, &low, &high);
    axis_layout(&x, low, high, chart->x_log, left, right, 8);
    range_of(chart, true, &low, &high);
    if (chart->has_y_range) {
        low = chart->y_low;
        high = chart->y_high;
    }
    axis_layout(&y, low, high, chart->y_log, bottom, top, 6);
    svg_begin(760, 440, chart->title, out);
    svg_x_axis(&x, chart->x_label, top, bottom, out);
    svg_y_axis(&y, chart->y_label, left, right, out);
    for (size_t s = 0; s < chart->n_series; s++) {
        double at = top + 10 + (double)s * 18;

        draw_series(&chart->series[s], colour_of(&chart->series[s], s), &x, &y, out);
        if (!chart->series[s].name || at > 430)
            continue;
        (void)fprintf(out,
                      "<line x1=\"%g\" x2=\"%g\" y1=\"%g\" y2=\"%g\" stroke=\"%s\" stroke-width=\"3\"%s/>\n",
                      right + 16, right + 38, at, at, colour_of(&chart->series[s], s),
                      chart->series[s].dashed ? " stroke-dasharray=\"6 4\"" : "");
        draw_label(right + 44, at + 4, "start", chart->series[s].name, out);
    }
    (void)fprintf(out, "</svg>\n");
}

static void draw_bar(const struct svg_bar *bar, const struct axis *x, double y, double height, FILE *out)
{
    double from = axis_place(x, bar->begin);
    double width = fmax(axis_place(x, bar->end) - from, 0.6);

    (void)fprintf(
        out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" rx=\"2\" fill=\"%s\"%s><title>",
        from, y, width, height, palette_colour(bar->colour), bar->hatched ? " fill-opacity=\"0.28\"" : "");
    svg_text(bar->label ? bar->label : "", out);
    (void)fprintf(out, " %.6g to %.6g</title></rect>\n", bar->begin, bar->end);
    if (bar->label && (double)strlen(bar->label) * 7 + 6 < width) {
        (void)fprintf(out,
                      "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" font-size=\"11\">",
                      bar->hatched ? "ink" : "on", from + width / 2, y + height / 2 + 4);
        svg_text(bar->label, out);
        (void)fprintf(out, "</text>\n");
    }
}

static void draw_mark(const struct svg_mark *mark, const struct axis *x, double y, double height, FILE *out)
{
    double at = axis_place(x, mark->at);

    if (mark->bad)
        (void)fprintf(out, "<path class=\"bad\" d=\"M%.1f %.1fl10 10m-10 0l10 -10\">", at - 5,
                      y + height / 2 - 5);
    else
        (void)fprintf(out, "<path class=\"mark\" d=\"M%.1f %.1fv%.1fm-3 4l3 -4l3 4\">", at, y + height,
                      -height - 4);
    (void)fprintf(out, "<title>");
    svg_text(mark->label ? mark->label : "", out);
    (void)fprintf(out, " %.6g</title></path>\n", mark->at);
}

void svg_rows(const struct svg_rows *rows, FILE *out)
{
    const double pitch = 34;
    const double height = 22;
    const double top = 48;
    double bottom = top + (double)rows->n_rows * pitch;
    double left = 60;
    double low = INFINITY;
    double high = -INFINITY;
    struct axis x;

    for (size_t r = 0; r < rows->n_rows; r++)
        left = fmax(left, fmin(24 + (double)strlen(rows->row_names[r]) * 7, 240));
    for (size_t i = 0; i < rows->n_bars; i++) {
        low = fmin(low, rows->bars[i].begin);
        high = fmax(high, rows->bars[i].end);
    }
    for (size_t i = 0; i < rows->n_marks; i++) {
        low = fmin(low, rows->marks[i].at);
        high = fmax(high, rows->marks[i].at);
    }
    axis_layout(&x, low, high, false, left, 940, 10);
    svg_begin(960, bottom + 48, rows->title, out);
    svg_x_axis(&x, rows->x_label, top - 6, bottom, out);
    for (size_t r = 0; r < rows->n_rows; r++)
        draw_label(left - 8, top + (double)r * pitch + height / 2 + 5, "end", rows->row_names[r], out);
    for (size_t i = 0; i < rows->n_bars; i++)
        draw_bar(&rows->bars[i], &x, top + (double)rows->bars[i].row * pitch, height, out);
    for (size_t i = 0; i < rows->n_marks; i++)
        draw_mark(&rows->marks[i], &x, top + (double)rows->marks[i].row * pitch, height, out);
    (void)fprintf(out, "</svg>\n");
}
