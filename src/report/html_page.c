#include "report/html_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/page_text.h"
#include "report/palette.h"
#include "report/svg.h"

void page_begin(struct html_page *page, FILE *out, const char *title, const char *subtitle)
{
    *page = (struct html_page){.out = out};
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

void page_section(struct html_page *page, const char *title, const char *text)
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

void page_subsection(struct html_page *page, const char *title)
{
    (void)fputs("<h3>", page->out);
    svg_text(title, page->out);
    (void)fputs("</h3>\n", page->out);
}

void page_note(struct html_page *page, const char *text)
{
    (void)fputs("<p class=\"note\">", page->out);
    svg_text(text, page->out);
    (void)fputs("</p>\n", page->out);
}

void page_number(double value, char ret_text[32])
{
    double size = fabs(value);
    int decimals = size >= 100 || value == round(value) ? 0
                   : size >= 10                         ? 1
                   : size >= 1                          ? 2
                   : size >= 0.01                       ? 3
                                                        : 4;

    (void)snprintf(ret_text, 32, size < 1e12 ? "%.*f" : "%.*g", size < 1e12 ? decimals : 3, value);
}

void page_end(struct html_page *page)
{
    if (page->timelines)
        (void)fprintf(page->out, "<script>\n%s</script>\n", page_script);
    (void)fputs("</main></body></html>\n", page->out);
}

static const char *tone_class(enum page_tone tone)
{
    return tone == PAGE_GOOD ? "good" : tone == PAGE_BAD ? "bad" : "";
}

void page_verdict(struct html_page *page, const char *text, enum page_tone tone)
{
    (void)fprintf(page->out, "<p class=\"verdict %s\">", tone_class(tone));
    svg_text(text, page->out);
    (void)fputs("</p>\n", page->out);
}

void page_figures_begin(struct html_page *page)
{
    (void)fputs("<div class=\"figures\">\n", page->out);
}

void page_figure(struct html_page *page, const char *value, const char *label, enum page_tone tone)
{
    (void)fprintf(page->out, "<div class=\"figure %s\"><b>", tone_class(tone));
    svg_text(value, page->out);
    (void)fputs("</b><span>", page->out);
    svg_text(label, page->out);
    (void)fputs("</span></div>\n", page->out);
}

void page_figures_end(struct html_page *page)
{
    (void)fputs("</div>\n", page->out);
}

/* Is this the head of a column of numbers? It is then aligned right, like its cells. */
static bool heads_numbers(const char *head)
{
    static const char *const counts[] = {"jobs",       "missed",           "times", "runs", "pieces",
                                         "work-items", "of its jobs' time"};
    size_t length = strlen(head);

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        if (strcmp(head, counts[i]) == 0)
            return true;
    }
    return length > 4 && strcmp(head + length - 4, ", ms") == 0;
}

void page_table_begin(struct html_page *page, const char *const head[], size_t n)
{
    page_table_begin_aligned(page, head, NULL, n);
}

void page_table_begin_aligned(struct html_page *page, const char *const head[], const bool numbers[],
                              size_t n)
{
    page->head = head;
    page->n_head = n;
    (void)fputs(n > 10 ? "<table class=\"many\"><thead><tr>" : "<table><thead><tr>", page->out);
    for (size_t i = 0; i < n; i++) {
        bool number = numbers ? numbers[i] : heads_numbers(head[i]);

        (void)fputs(number ? "<th class=\"number\">" : "<th>", page->out);
        svg_text(head[i], page->out);
        (void)fputs("</th>", page->out);
    }
    (void)fputs("</tr></thead><tbody>\n", page->out);
}

void page_row_begin(struct html_page *page)
{
    page->column = 0;
    (void)fputs("<tr>", page->out);
}

/* Opens a cell with its column's name, which is shown when the head is hidden. */
static void open_cell(struct html_page *page, const char *classes)
{
    (void)fprintf(page->out, "<td class=\"%s\"", classes);
    if (page->column < page->n_head) {
        (void)fputs(" data-label=\"", page->out);
        svg_text(page->head[page->column], page->out);
        (void)fputc('"', page->out);
    }
    (void)fputc('>', page->out);
    page->column++;
}

/* "12.3", "(12.3)", "4 %", "-". */
static bool reads_as_number(const char *text)
{
    char *end;

    text += *text == '(';
    (void)strtod(text, &end);
    return strcmp(text, "-") == 0 ||
           (end != text && (*end == 0 || *end == '%' || *end == ')' || strcmp(end, " %") == 0));
}

void page_cell(struct html_page *page, const char *text, enum page_tone tone)
{
    char classes[32];

    (void)snprintf(classes, sizeof classes, "%s%s", reads_as_number(text) ? "number " : "", tone_class(tone));
    open_cell(page, classes);
    svg_text(text, page->out);
    (void)fputs("</td>", page->out);
}

static void put_chip(struct html_page *page, size_t colour)
{
    (void)fprintf(page->out, "<i class=\"chip\" style=\"background:%s\"></i>", palette_colour(colour));
}

void page_name_cell(struct html_page *page, const char *name, size_t colour)
{
    open_cell(page, "name");
    put_chip(page, colour);
    svg_text(name, page->out);
    (void)fputs("</td>", page->out);
}

void page_row_end(struct html_page *page)
{
    (void)fputs("</tr>\n", page->out);
}

void page_table_end(struct html_page *page)
{
    page->head = NULL;
    page->n_head = 0;
    (void)fputs("</tbody></table>\n", page->out);
}

void page_picture_begin(struct html_page *page)
{
    (void)fputs("<figure>\n", page->out);
}

void page_picture_end(struct html_page *page)
{
    (void)fputs("</figure>\n", page->out);
}

void page_grid_begin(struct html_page *page)
{
    (void)fputs("<div class=\"multiples\">\n", page->out);
}

void page_grid_end(struct html_page *page)
{
    (void)fputs("</div>\n", page->out);
}

/* ---- bars ---- */

static const char *style_class(enum page_style style)
{
    static const char *const names[] = {"run", "wait", "hold", "job", "faint"};

    return names[style];
}

void page_bar(struct html_page *page, const struct page_bar *bar)
{
    static const char *const kinds[] = {"deadline", "bound", "unclaimed"};
    FILE *out = page->out;

    (void)fputs("<div class=\"bar\"><b>", out);
    if (bar->colour != PAGE_NO_COLOUR)
        put_chip(page, bar->colour);
    svg_text(bar->name, out);
    (void)fputs("</b><div class=\"track\">", out);
    for (size_t i = 0; i < bar->n_segments; i++) {
        const struct page_segment *segment = &bar->segments[i];

        (void)fprintf(out, "<i class=\"%s\" style=\"width:%.3f%%;--c:%s\" title=\"",
                      style_class(segment->style), 100 * fmin(fmax(segment->share, 0), 1),
                      segment->bad ? "var(--bad)" : palette_colour(segment->colour));
        svg_text(segment->title, out);
        (void)fputs("\"></i>", out);
    }
    for (size_t i = 0; i < bar->n_ticks; i++) {
        (void)fprintf(out, "<u class=\"%s\" style=\"left:%.3f%%\" title=\"", kinds[bar->ticks[i].kind],
                      100 * fmin(fmax(bar->ticks[i].at, 0), 1));
        svg_text(bar->ticks[i].title, out);
        (void)fputs("\"></u>", out);
    }
    (void)fputs("</div><span>", out);
    svg_text(bar->caption, out);
    (void)fputs("</span></div>\n", out);
}

/* ---- the timeline ---- */

/* A string inside a script element: JSON, with < escaped so that no text can end the element. */
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

static void put_legend(struct html_page *page, const struct page_timeline *timeline)
{
    static const struct {
        enum page_style style;
        const char *words;
    } styles[] = {{PAGE_RUN, "runs"}, {PAGE_WAIT, "waits"}, {PAGE_HOLD, "holds"}, {PAGE_JOB, "a job"}};

    (void)fputs("<div class=\"legend\">", page->out);
    for (size_t i = 0; i < timeline->n_programs; i++) {
        if (!timeline->programs[i].used)
            continue;
        (void)fputs("<span>", page->out);
        put_chip(page, i);
        svg_text(timeline->programs[i].name, page->out);
        (void)fputs("</span>", page->out);
    }
    (void)fputs("<em></em>", page->out);
    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++)
        (void)fprintf(page->out, "<span><i class=\"key %s\" style=\"--c:var(--soft)\"></i>%s</span>",
                      style_class(styles[i].style), styles[i].words);
    (void)fputs("<span><i class=\"key asked\"></i>asked to yield</span>"
                "<span><i class=\"key missed\">&times;</i>missed</span></div>\n",
                page->out);
}

/*
 * Labels repeat thousands of times, so each is written once and spans refer to its number. Answers
 * the number.
 */
static size_t label_of(const char **labels, size_t *n, const char *label)
{
    for (size_t i = *n; i > 0; i--) {
        if (labels[i - 1] == label || strcmp(labels[i - 1], label) == 0)
            return i - 1;
    }
    labels[*n] = label;
    return (*n)++;
}

static void put_spans(FILE *out, const struct page_timeline *timeline)
{
    const char **labels = calloc(timeline->n_spans + 1, sizeof *labels);
    size_t n = 0;

    (void)fputs("],\"spans\":[", out);
    for (size_t i = 0; i < timeline->n_spans && labels; i++) {
        const struct page_span *span = &timeline->spans[i];

        (void)fprintf(out, "%s[%u,%.4f,%.4f,%zu,%d,%zu,%llu,%llu,%d]", i ? ",\n" : "\n", span->row,
                      span->begin_ms, span->end_ms, span->program, (int)span->style,
                      label_of(labels, &n, span->label), (unsigned long long)span->pieces,
                      (unsigned long long)span->size, span->bytes);
    }
    (void)fputs("],\"labels\":[", out);
    for (size_t i = 0; i < n; i++) {
        (void)fputs(i ? "," : "", out);
        put_script_string(out, labels[i]);
    }
    free(labels);
}

static void put_data(FILE *out, const struct page_timeline *timeline)
{
    (void)fprintf(out, "<script type=\"application/json\">{\"focus\":[%.4f,%.4f],\"rows\":[",
                  timeline->focus_from_ms, timeline->focus_to_ms);
    for (size_t i = 0; i < timeline->n_rows; i++) {
        (void)fputs(i ? ",[" : "[", out);
        put_script_string(out, timeline->rows[i].name);
        (void)fprintf(out, ",%d]", timeline->rows[i].engine);
    }
    (void)fputs("],\"programs\":[", out);
    for (size_t i = 0; i < timeline->n_programs; i++) {
        (void)fputs(i ? ",[" : "[", out);
        put_script_string(out, timeline->programs[i].name);
        (void)fprintf(out, ",\"%s\"]", palette_colour(i));
    }
    put_spans(out, timeline);
    (void)fputs("],\"events\":[", out);
    for (size_t i = 0; i < timeline->n_events; i++) {
        const struct page_event *event = &timeline->events[i];

        (void)fprintf(out, "%s[%u,%.4f,%d,", i ? ",\n" : "\n", event->row, event->at_ms, event->bad);
        put_script_string(out, event->text);
        (void)fputc(']', out);
    }
    (void)fputs("]}</script>", out);
}

void page_timeline(struct html_page *page, const struct page_timeline *timeline)
{
    (void)fprintf(page->out, "<div class=\"timeline\" id=\"timeline%u\">", page->timelines++);
    put_legend(page, timeline);
    (void)fputs(
        "<canvas class=\"overview\" aria-label=\"the whole trace; drag to choose what is shown "
        "below\"></canvas>"
        "<div class=\"tools\"><button data-zoom=\"0.5\" aria-label=\"zoom in\">+</button>"
        "<button data-zoom=\"2\" aria-label=\"zoom out\">&minus;</button><button data-zoom=\"0\">all</button>"
        "<button data-zoom=\"-1\">start view</button>"
        "<span class=\"tip\">drag to move, scroll or pinch to zoom, point at a bar to read it</span></div>"
        "<canvas class=\"rows\"></canvas>"
        "<noscript>The timeline needs JavaScript; the tables do not.</noscript>\n",
        page->out);
    put_data(page->out, timeline);
    (void)fputs("</div>\n", page->out);
}
