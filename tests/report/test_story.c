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
    ck_assert_ptr_nonnull(strstr(html, "<b>300</b><span>jobs</span>"));
    ck_assert_ptr_nonnull(strstr(html, "task-299.: 1 jobs")); /* every task has its histogram */
    free(html);
}
END_TEST

START_TEST(planning_is_no_job)
{
    char *html = page_of(
        "{\"traceEvents\": ["
        "{\"ph\":\"X\",\"pid\":2,\"tid\":0,\"ts\":0,\"dur\":100000,\"cat\":\"planning\",\"name\":\"camera\"},"
        "{\"ph\":\"X\",\"pid\":12,\"tid\":1000,\"ts\":7,\"dur\":5000,\"cat\":\"job\",\"name\":\"camera\"}]}");

    ck_assert_ptr_nonnull(strstr(html, "<b>1</b><span>jobs</span>"));
    ck_assert_ptr_nonnull(strstr(html, "camera: 1 jobs, median 5.000, p99 5.000, worst 5.000 ms"));
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
    ck_assert_ptr_nonnull(strstr(html, "a: 100 jobs, median 50.000, p99 99.000, worst 100.000 ms"));
    free(text);
    free(html);
}
END_TEST

START_TEST(a_bound_that_is_not_claimed_is_not_broken)
{
    char *html = page_of(
        "{\"traceEvents\": ["
        "{\"ph\":\"X\",\"pid\":12,\"tid\":1000,\"ts\":0,\"dur\":5000,\"cat\":\"job\",\"name\":\"camera\"},"
        "{\"ph\":\"i\",\"pid\":12,\"tid\":1000,\"ts\":5000,\"cat\":\"unclaimed\",\"name\":\"unclaimed\"}]}");

    ck_assert_ptr_nonnull(strstr(html, "figure good\"><b>0</b><span>claimed bounds exceeded"));
    ck_assert_ptr_nonnull(strstr(html, "<b>1</b><span>jobs above a bound that is not claimed"));
    ck_assert_ptr_null(strstr(html, "figure bad"));
    ck_assert_ptr_nonnull(strstr(html, "None: every deadline was met"));
    free(html);
}
END_TEST

#define STATUS(claimed, observed)                                                                            \
    "{\"engines\": [{\"name\": \"gpu0\", \"holder\": null, \"lease\": \"none\"}], \"clients\": [],"          \
    " \"tasks\": [{\"name\": \"a\", \"deadline_ms\": 50.0, \"bound_ms\": 10.0, \"bound_claimed\": " claimed  \
    ", \"observed_ms\": " observed ", \"misses\": 0, \"bound_exceeded\": 3}]}"

START_TEST(a_status_judges_only_what_is_claimed)
{
    char *unclaimed = page_of(STATUS("false", "20.0"));
    char *claimed = page_of(STATUS("true", "20.0"));
    char *late = page_of(STATUS("false", "60.0"));

    ck_assert_ptr_nonnull(strstr(unclaimed, "(10)"));
    ck_assert_ptr_null(strstr(unclaimed, "bad\">"));
    ck_assert_ptr_null(strstr(claimed, "(10)"));
    ck_assert_ptr_nonnull(strstr(claimed, "<td class=\"number bad\">20</td>"));
    ck_assert_ptr_nonnull(strstr(claimed, "<td class=\"number bad\">3</td>"));
    ck_assert_ptr_nonnull(strstr(late, "<td class=\"number bad\">60</td>")); /* past its deadline */
    free(unclaimed);
    free(claimed);
    free(late);
}
END_TEST

START_TEST(a_free_engine_has_no_unbounded_holder)
{
    char *status = page_of(STATUS("true", "null"));
    char *analysis =
        page_of("{\"analysis\": \"holistic\", \"tasks\": [{\"name\": \"a\", \"response_ms\": null}]}");

    ck_assert_ptr_null(strstr(status, "unbounded"));
    ck_assert_ptr_nonnull(strstr(status, ">free</td>"));
    ck_assert_ptr_nonnull(strstr(analysis, "bad\">unbounded</td>"));
    free(status);
    free(analysis);
}
END_TEST

HARNESS_MAIN("story", 20, every_row_of_a_trace_is_drawn, what_does_not_fit_is_said, planning_is_no_job,
             percentiles_are_those_of_a_programs_statistics, a_bound_that_is_not_claimed_is_not_broken,
             a_status_judges_only_what_is_claimed, a_free_engine_has_no_unbounded_holder)
