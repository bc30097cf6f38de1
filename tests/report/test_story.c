/* What a page tells of its inputs: made from small files, read back as text. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "report/story.h"

/* The page of one input with this text; the caller frees it. */
static char *page_of(const char *text)
{
    char folder[64];
    char path[96];
    char *html = NULL;
    size_t size = 0;
    struct story story = {0};
    struct input_error error;
    FILE *out;

    harness_folder(folder);
    (void)snprintf(path, sizeof path, "%s/input.json", folder);
    out = fopen(path, "we");
    ck_assert_ptr_nonnull(out);
    ck_assert_int_ge(fputs(text, out), 0);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_int_eq(story_add(&story, path, "input", &error), 0);
    out = open_memstream(&html, &size);
    story_write(&story, "test", out);
    ck_assert_int_eq(fclose(out), 0);
    story_done(&story);
    return html;
}

/* A trace with so many rows, one span of 1 ms on each, a job of its own task. */
static char *page_of_rows(unsigned rows)
{
    char *text = NULL;
    char *html;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)fputs("{\"traceEvents\": [{}", out);
    for (unsigned r = 0; r < rows; r++)
        (void)fprintf(
            out,
            ",{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"row-%u.\"}}"
            ",{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"dur\":1000,\"cat\":\"job\",\"name\":\"task-%u."
            "\"}",
            r, r, r, r, r);
    (void)fputs("]}", out);
    ck_assert_int_eq(fclose(out), 0);
    html = page_of(text);
    free(text);
    return html;
}

START_TEST(every_row_of_a_trace_is_drawn)
{
    char *html = page_of_rows(100);
    char name[32];

    for (unsigned r = 0; r < 100; r++) {
        (void)snprintf(name, sizeof name, "\"row-%u.\"", r);
        ck_assert_msg(strstr(html, name) != NULL, "%s", name);
    }
    ck_assert_ptr_null(strstr(html, "Not drawn"));
    free(html);
}
END_TEST

START_TEST(what_does_not_fit_is_said)
{
    char *html = page_of_rows(300); /* 300 - 256 = 44, with one span each */

    ck_assert_ptr_nonnull(strstr(html, "Not drawn: 44 of 300 rows, 44 of 300 spans and marks."));
    ck_assert_ptr_nonnull(strstr(html, "task-299.</tspan>")); /* every task has its histogram */
    free(html);
}
END_TEST

/* The cell of that column in the row of that task of the first table; the caller frees it. */
static char *cell_of(const char *html, const char *task, const char *column)
{
    char row[96];
    char label[96];
    const char *at;

    (void)snprintf(row, sizeof row, "</i>%s</td>", task);
    (void)snprintf(label, sizeof label, "data-label=\"%s\">", column);
    at = strstr(html, row);
    ck_assert_msg(at != NULL, "no row of %s", task);
    at = strstr(at, label);
    ck_assert_msg(at != NULL, "no column %s", column);
    at += strlen(label);
    return strndup(at, strcspn(at, "<"));
}

static void assert_cell(const char *html, const char *task, const char *column, const char *expected)
{
    char *cell = cell_of(html, task, column);

    ck_assert_str_eq(cell, expected);
    free(cell);
}

#define JOB(ts, dur, task)                                                                                   \
    "{\"ph\":\"X\",\"pid\":12,\"tid\":1000,\"ts\":" #ts ",\"dur\":" #dur ",\"cat\":\"job\",\"name\":\"" task \
    "\"}"

START_TEST(planning_is_no_job)
{
    char *html = page_of("{\"traceEvents\": ["
                         "{\"ph\":\"X\",\"pid\":2,\"tid\":0,\"ts\":0,\"dur\":100000,\"cat\":\"planning\","
                         "\"name\":\"camera\"}," JOB(7, 5000, "camera") "]}");

    assert_cell(html, "camera", "jobs", "1");
    assert_cell(html, "camera", "worst, ms", "5");
    free(html);
}
END_TEST

/* A deadline of 1 ms: the bar of 5 ms is cut off at 2 x 1.05 ms, that of 2 ms is not. */
START_TEST(a_bar_that_is_cut_off_says_where)
{
    char *html = page_of("{\"traceEvents\": [" JOB(0, 5000, "a") "," JOB(
        0, 2000, "b") "],"
                      "\"tasks\": [{\"name\":\"a\",\"deadline_ms\":1},"
                      "{\"name\":\"b\",\"deadline_ms\":1}]}");

    ck_assert_ptr_nonnull(strstr(html, "worst 5 ms, deadline 1 ms; the bar is cut off at 2.10 ms"));
    ck_assert_ptr_nonnull(strstr(html, "worst 2 ms, deadline 1 ms<"));
    free(html);
}
END_TEST

START_TEST(percentiles_are_those_of_a_programs_statistics)
{
    char *text = NULL;
    char *html;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)fputs("{\"traceEvents\": [{}", out);
    for (unsigned i = 1; i <= 100; i++) /* 1 to 100 ms; nearest rank: 0.5 x 100 = 50, 0.99 x 100 = 99 */
        (void)fprintf(out, ",{\"ph\":\"X\",\"ts\":0,\"dur\":%u000,\"cat\":\"job\",\"name\":\"a\"}", i);
    (void)fputs("]}", out);
    ck_assert_int_eq(fclose(out), 0);
    html = page_of(text);
    assert_cell(html, "a", "jobs", "100");
    assert_cell(html, "a", "p50, ms", "50");
    assert_cell(html, "a", "p99, ms", "99");
    assert_cell(html, "a", "worst, ms", "100");
    free(text);
    free(html);
}
END_TEST

START_TEST(the_questions_come_in_their_order)
{
    static const char *const questions[] = {"Did every deadline hold?", "How far from the bound?",
                                            "Which program waited for which?", "Where was the time?"};
    char *html = page_of("{\"traceEvents\": [" JOB(
        0, 5000,
        "a") ","
             "{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":0,\"dur\":10,\"cat\":\"queued\",\"name\":\"a\"}]}");
    const char *last = html;

    for (size_t i = 0; i < 4; i++) {
        const char *at = strstr(last, questions[i]);

        ck_assert_msg(at != NULL, "%s", questions[i]);
        last = at;
    }
    free(html);
}
END_TEST

/*
 * One wait of 4 ms on gpu0, from 10 to 14 ms. b holds the engine from 9 to 13 ms, c holds another
 * one all the time.
 */
START_TEST(a_wait_is_counted_against_the_holder)
{
    char *html = page_of(
        "{\"traceEvents\": ["
        "{\"ph\":\"M\",\"pid\":1,\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"gpu0\"}},"
        "{\"ph\":\"M\",\"pid\":2,\"tid\":2,\"name\":\"thread_name\",\"args\":{\"name\":\"gpu0\"}},"
        "{\"ph\":\"M\",\"pid\":3,\"tid\":3,\"name\":\"thread_name\",\"args\":{\"name\":\"gpu1\"}},"
        "{\"ph\":\"X\",\"pid\":9,\"tid\":9,\"ts\":10000,\"dur\":8000,\"cat\":\"job\",\"name\":\"a\"},"
        "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":10000,\"dur\":4000,\"cat\":\"queued\",\"name\":\"a\"},"
        "{\"ph\":\"X\",\"pid\":2,\"tid\":2,\"ts\":9000,\"dur\":4000,\"cat\":\"granted\",\"name\":\"b\"},"
        "{\"ph\":\"X\",\"pid\":3,\"tid\":3,\"ts\":0,\"dur\":40000,\"cat\":\"granted\",\"name\":\"c\"}]}");
    const char *table = strstr(html, "Which program waited for which?");
    char *end;

    ck_assert_ptr_nonnull(table);
    end = strstr(table, "</table>");
    ck_assert_ptr_nonnull(end);
    *end = 0;
    assert_cell(table, "b", "longest, ms", "3");
    assert_cell(table, "b", "of its jobs' time", "37.5 %"); /* 3 of 8 ms */
    ck_assert_ptr_null(strstr(table, "</i>c</td>"));
    free(html);
}
END_TEST

#define MARK(ts, category)                                                                                   \
    ",{\"ph\":\"i\",\"pid\":12,\"tid\":1000,\"ts\":" #ts ",\"cat\":\"" category                              \
    "\",\"name\":\"x\",\"args\":{\"task\":\"camera\"}}"

START_TEST(a_bound_that_is_not_claimed_is_not_broken)
{
    char *html = page_of("{\"traceEvents\": [" JOB(0, 5000, "camera") MARK(
        5000, "unclaimed") "],\"tasks\":[{\"name\":\"camera\",\"deadline_ms\":10,\"bound_ms\":4}]}");
    char *claimed = page_of(
        "{\"traceEvents\": [" JOB(0, 5000, "camera") "],\"tasks\":[{\"name\":\"camera\",\"deadline_ms\":"
                                                     "10,\"bound_ms\":4,\"bound_claimed\":true}]}");

    assert_cell(html, "camera", "bound, ms", "(4)");
    assert_cell(html, "camera", "verdict", "every deadline met, 50 % to spare; its bound is not claimed");
    ck_assert_ptr_null(strstr(html, "<td class=\"bad\""));
    ck_assert_ptr_null(strstr(html, "verdict bad"));
    ck_assert_ptr_nonnull(strstr(html, "Yes: all 1 jobs"));
    assert_cell(claimed, "camera", "bound, ms", "4");
    assert_cell(claimed, "camera", "verdict",
                "every deadline met, 50 % to spare; exceeded its claimed bound");
    ck_assert_ptr_nonnull(strstr(claimed, "<td class=\"bad\""));
    free(html);
    free(claimed);
}
END_TEST

START_TEST(what_the_trace_has_forgotten_is_said)
{
    char *html = page_of("{\"traceEvents\": [" JOB(0, 5000, "camera") MARK(
        5000,
        "miss") "],\"overwritten\":77,\"tasks\":[{\"name\":\"camera\",\"deadline_ms\":4,\"misses\":3}]}");
    char *whole = page_of("{\"traceEvents\": [" JOB(0, 5000, "camera") MARK(
        5000,
        "miss") "],\"overwritten\":0,\"tasks\":[{\"name\":\"camera\",\"deadline_ms\":4,\"misses\":1}]}");
    char *one = page_of("{\"traceEvents\": [" JOB(0, 5000, "camera") MARK(
        5000,
        "miss") "],\"overwritten\":0,\"tasks\":[{\"name\":\"camera\",\"deadline_ms\":4,\"misses\":2}]}");

    ck_assert_ptr_nonnull(strstr(html, "2 more deadlines were missed before this trace begins."));
    ck_assert_ptr_nonnull(strstr(html, "forgotten 77 older records"));
    ck_assert_ptr_nonnull(strstr(one, "1 more deadline was missed before this trace begins."));
    ck_assert_ptr_null(strstr(whole, "more deadline"));
    ck_assert_ptr_null(strstr(whole, "forgotten"));
    free(html);
    free(whole);
    free(one);
}
END_TEST

START_TEST(misses_are_told_in_groups)
{
    char *text = NULL;
    char *html;
    const char *table;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    /* 100 misses, 20 ms apart from 1 s on, then one at 9 s: two groups. */
    (void)fputs("{\"traceEvents\": [" JOB(0, 10000000, "camera"), out);
    for (unsigned i = 0; i < 101; i++)
        (void)fprintf(out,
                      ",{\"ph\":\"i\",\"pid\":1,\"tid\":1,\"ts\":%u,\"cat\":\"miss\",\"name\":\"miss\","
                      "\"args\":{\"task\":"
                      "\"camera\",\"detail\":\"%u.500 ms late\"}}",
                      i < 100 ? 1000000 + i * 20000 : 9000000, i % 7);
    (void)fputs("],\"tasks\":[{\"name\":\"camera\",\"deadline_ms\":20}]}", out);
    ck_assert_int_eq(fclose(out), 0);
    html = page_of(text);
    ck_assert_ptr_nonnull(strstr(html, "No: 101 of 1 jobs"));
    table = strstr(html, "What was late, in groups");
    ck_assert_ptr_nonnull(table);
    assert_cell(table, "camera", "jobs", "100");
    assert_cell(table, "camera", "when", "1000 to 2980 ms"); /* 1000 + 99 x 20 */
    assert_cell(table, "camera", "latest by, ms", "6.50");
    table = strstr(strstr(table, "</tr>"), "</i>camera") ? strstr(table, "2980 ms") : NULL;
    ck_assert_ptr_nonnull(table);
    assert_cell(table, "camera", "jobs", "1");
    assert_cell(table, "camera", "when", "9000 ms");
    free(text);
    free(html);
}
END_TEST

#define STATUS(claimed, observed, broken)                                                                    \
    "{\"engines\": [{\"name\": \"gpu0\", \"holder\": null, \"lease\": \"none\"}], \"clients\": [],"          \
    " \"tasks\": [{\"name\": \"a\", \"deadline_ms\": 50.0, \"bound_ms\": 10.0, \"bound_claimed\": " claimed  \
    ", \"observed_ms\": " observed                                                                           \
    ", \"misses\": 0, \"bound_exceeded\": 3, \"claimed_bound_exceeded\": " broken "}]}"

START_TEST(a_status_judges_only_what_is_claimed)
{
    char *unclaimed = page_of(STATUS("false", "20.0", "0"));
    char *claimed = page_of(STATUS("true", "20.0", "2"));
    char *late = page_of(STATUS("false", "60.0", "0"));
    char *regained = page_of(STATUS("true", "20.0", "0")); /* these jobs ran before the claim returned */

    ck_assert_ptr_nonnull(strstr(unclaimed, "(10)"));
    ck_assert_ptr_null(strstr(unclaimed, " bad\" data-label"));
    ck_assert_ptr_null(strstr(claimed, "(10)"));
    ck_assert_ptr_nonnull(strstr(claimed, "<td class=\"number bad\" data-label=\"observed, ms\">20</td>"));
    ck_assert_ptr_nonnull(
        strstr(claimed, "<td class=\"number bad\" data-label=\"claimed bound exceeded\">2</td>"));
    ck_assert_ptr_nonnull(
        strstr(late, "<td class=\"number bad\" data-label=\"observed, ms\">60</td>")); /* past its deadline */
    ck_assert_ptr_null(strstr(regained, " bad\" data-label"));
    free(regained);
    free(unclaimed);
    free(claimed);
    free(late);
}
END_TEST

START_TEST(a_free_engine_has_no_unbounded_holder)
{
    char *status = page_of(STATUS("true", "null", "0"));
    char *analysis =
        page_of("{\"analysis\": \"holistic\", \"tasks\": [{\"name\": \"a\", \"response_ms\": null}]}");

    ck_assert_ptr_null(strstr(status, "unbounded"));
    ck_assert_ptr_nonnull(strstr(status, ">free</td>"));
    ck_assert_ptr_nonnull(strstr(analysis, "bad\" data-label=\"response, ms\">unbounded</td>"));
    free(status);
    free(analysis);
}
END_TEST

HARNESS_MAIN("story", 20, every_row_of_a_trace_is_drawn, what_does_not_fit_is_said, planning_is_no_job,
             a_bar_that_is_cut_off_says_where, percentiles_are_those_of_a_programs_statistics,
             the_questions_come_in_their_order, a_wait_is_counted_against_the_holder,
             a_bound_that_is_not_claimed_is_not_broken, what_the_trace_has_forgotten_is_said,
             misses_are_told_in_groups, a_status_judges_only_what_is_claimed,
             a_free_engine_has_no_unbounded_holder)
