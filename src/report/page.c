#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page_text.h"
#include "report/palette.h"
#include "report/svg.h"

void page_begin(struct page *page, FILE *out, const char *title, const char *subtitle)
{
    *page = (struct page){.out = out};
    (void)fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<link rel=\"icon\" href=\"data:,\">\n<title>",
                out);
    svg_text(title, out);
    (void)fprintf(out, "</title>\n<style>\n%s</style></head><body><main>\n<header><h1>", page_style);
    svg_text(title, out);
    (void)fputs("</h1><p>", out);
    svg_text(subtitle, out);
    (void)fputs("</p></header>\n", out);
}

void page_section(struct page *page, const char *title, const char *text)
{
    (void)fputs("<h2>", page->out);
    svg_text(title, page->out);
    (void)fputs("</h2>\n", page->out);
    if (text) {
        (void)fputs("<p>", page->out);
        svg_text(text, page->out);
        (void)fputs("</p>\n", page->out);
    }
}

void page_end(struct page *page)
{
    if (page->timelines)
        (void)fprintf(page->out, "<script>\n%s</script>\n", page_script);
    (void)fputs("</main></body></html>\n", page->out);
}

static const char *tone_class(enum page_tone tone)
{
    return tone == PAGE_GOOD ? "good" : tone == PAGE_BAD ? "bad" : "";
}

void page_figures_begin(struct page *page)
{
    (void)fputs("<div class=\"figures\">\n", page->out);
}

void page_figure(struct page *page, const char *value, const char *label, enum page_tone tone)
{
    (void)fprintf(page->out, "<div class=\"figure %s\"><b>", tone_class(tone));
    svg_text(value, page->out);
    (void)fputs("</b><span>", page->out);
    svg_text(label, page->out);
    (void)fputs("</span></div>\n", page->out);
}

void page_figures_end(struct page *page)
{
    (void)fputs("</div>\n", page->out);
}

void page_table_begin(struct page *page, const char *const head[], size_t n)
{
    (void)fputs("<div class=\"wide\"><table><thead><tr>", page->out);
    for (size_t i = 0; i < n; i++) {
        (void)fputs("<th>", page->out);
        svg_text(head[i], page->out);
        (void)fputs("</th>", page->out);
    }
    (void)fputs("</tr></thead><tbody>\n", page->out);
}

void page_row_begin(struct page *page)
{
    (void)fputs("<tr>", page->out);
}

void page_cell(struct page *page, const char *text, enum page_tone tone)
{
    char *end;
    bool number = (strtod(text, &end), end != text && (*end == 0 || *end == '%')) || strcmp(text, "-") == 0;

    (void)fprintf(page->out, "<td class=\"%s%s\">", number ? "number " : "", tone_class(tone));
    svg_text(text, page->out);
    (void)fputs("</td>", page->out);
}

void page_row_end(struct page *page)
{
    (void)fputs("</tr>\n", page->out);
}

void page_table_end(struct page *page)
{
    (void)fputs("</tbody></table></div>\n", page->out);
}

void page_picture_begin(struct page *page)
{
    (void)fputs("<figure class=\"wide\">\n", page->out);
}

void page_picture_end(struct page *page)
{
    (void)fputs("</figure>\n", page->out);
}

/* A string inside a script element: JSON, with < written so that no text can end the element. */
static void put_script_string(FILE *out, const char *text)
{
    (void)fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            (void)fprintf(out, "\\%c", c);
        else if (c < 0x20 || c == '<' || c == '>' || c == '&')
            (void)fprintf(out, "\\u%04x", c);
        else
            (void)fputc(c, out);
    }
    (void)fputc('"', out);
}

void page_timeline(struct page *page, const struct page_timeline *timeline)
{
    FILE *out = page->out;
    unsigned id = page->timelines++;

    (void)fprintf(out,
                  "<div class=\"timeline\" id=\"timeline%u\"><div class=\"tools\"><button data-zoom=\"0.5\" "
                  "aria-label=\"zoom in\">+"
                  "</button><button data-zoom=\"2\" aria-label=\"zoom out\">&minus;</button><button "
                  "data-zoom=\"0\">all</button>"
                  "<span class=\"tip\">drag to move, scroll to zoom</span></div><canvas></canvas>"
                  "<noscript>The timeline needs JavaScript; the tables below do not.</noscript>\n"
                  "<script type=\"application/json\">{\"rows\":[",
                  id);
    for (size_t i = 0; i < timeline->n_rows; i++) {
        (void)fputs(i ? "," : "", out);
        put_script_string(out, timeline->row_names[i]);
    }
    (void)fputs("],\"colours\":[", out);
    for (size_t i = 0; i < palette_size(); i++)
        (void)fprintf(out, "%s\"%s\"", i ? "," : "", palette_colour(i));
    (void)fputs("],\"spans\":[", out);
    for (size_t i = 0; i < timeline->n_spans; i++) {
        const struct page_span *span = &timeline->spans[i];

        (void)fprintf(out, "%s[%u,%.6f,%.6f,%zu,%d,", i ? ",\n" : "\n", span->row, span->begin_ms,
                      span->end_ms, span->colour % palette_size(), span->soft);
        put_script_string(out, span->task);
        (void)fputc(']', out);
    }
    (void)fputs("],\"events\":[", out);
    for (size_t i = 0; i < timeline->n_events; i++) {
        const struct page_event *event = &timeline->events[i];

        (void)fprintf(out, "%s[%u,%.6f,%d,", i ? ",\n" : "\n", event->row, event->at_ms, event->bad);
        put_script_string(out, event->text);
        (void)fputc(']', out);
    }
    (void)fputs("]}</script></div>\n", out);
}
