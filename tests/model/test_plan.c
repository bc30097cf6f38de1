/* Plans: printed and read back, edited, contradicting. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "model/plan.h"
#include "model/print.h"

START_TEST(a_plan_reads_back_what_it_prints)
{
    static const char text[] =
        "analysis: holistic\nprofile: priority\ntasks:\n"
        "  - {name: detector, priority: 80, gpus: 1, placement: chosen, gpu_cluster: 0, cpu_cluster: 0,\n"
        "     piece_ms: 0.5, chunk_in: 4 MiB, chunk_out: 512 KiB, cost_ms: 9.25, bound_ms: 21.4}\n"
        "  - {name: \"odd \\\" name\", priority: 7, placement: [1, 3], gpus: 2, bound_ms: null}\n";
    struct plan plan;
    struct plan again;
    struct input_error error;
    char *shown = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&shown, &size);

    ck_assert_int_eq(plan_read("p.yaml", text, strlen(text), &plan, &error), 0);
    ck_assert_int_eq(plan_find(&plan, "detector")->bound, 21400000);
    plan_print(&plan, out);
    (void)fclose(out);
    ck_assert_int_eq(plan_read("p2.yaml", shown, size, &again, &error), 0);
    ck_assert_str_eq(again.tasks[1].name, "odd \" name");
    ck_assert_int_eq(again.tasks[1].bound, -1);
    ck_assert_uint_eq(again.tasks[1].placement.gpus, 10);
    ck_assert_int_eq(again.tasks[0].chunk_out, 512 << 10);
    ck_assert_int_eq(again.tasks[0].cost, 9250000);
    ck_assert_int_eq(again.tasks[1].cost, 0);
    ck_assert_ptr_null(plan_find(&again, "nobody"));
    plan_done(&plan);
    plan_done(&again);
    free(shown);
}
END_TEST

/* Reads the text, with `from` replaced by `to` once where it is found. */
static struct plan read_edited(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    struct input_error error;
    struct plan plan;
    char *other = NULL;

    ck_assert_ptr_nonnull(at);
    ck_assert_int_ge(asprintf(&other, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)), 0);
    ck_assert_int_eq(plan_read("p.yaml", other, strlen(other), &plan, &error), 0);
    free(other);
    return plan;
}

START_TEST(a_sealed_plan_knows_which_field_was_edited)
{
    struct plan_task task = {.name = "eye", .priority = 7, .gpus = 1, .piece = 500000, .bound = 3000000};
    struct plan plan = {
        .analysis = "holistic", .profile = "priority", .tasks = &task, .n_tasks = 1, .sealed = true};
    static char *text;
    static size_t size;
    FILE *out = open_memstream(&text, &size);
    struct plan read;

    plan_basis_set_count(&plan.basis, BASIS_GPUS, 2);
    plan_basis_set_tokens(&plan.basis, TOKENS_UNLIMITED);
    plan_basis_set(&plan.basis, BASIS_POLICY, "fixed");
    plan_print(&plan, out);
    (void)fclose(out);
    read = read_edited(text, "gpus: 2", "gpus: 2"); /* nothing */
    ck_assert(read.sealed && !read.changed && !read.tasks[0].changed);
    ck_assert_str_eq(read.basis.values[BASIS_TOKENS], "inf");
    ck_assert_str_eq(read.basis.values[BASIS_POLICY], "fixed");
    plan_done(&read);
    read = read_edited(text, "gpus: 2", "gpus: 3");
    ck_assert_uint_eq(read.changed, UINT64_C(1) << (PLAN_BASIS + BASIS_GPUS));
    plan_done(&read);
    read = read_edited(text, "piece_ms: 0.5", "piece_ms: 0.50"); /* the same */
    ck_assert_uint_eq(read.tasks[0].changed, 0);
    plan_done(&read);
    read = read_edited(text, "piece_ms: 0.5", "piece_ms: 5");
    ck_assert_uint_eq(read.changed, 0);
    ck_assert(read.sealed && read.tasks[0].changed);
    ck_assert_str_eq(plan_task_fields[__builtin_ctzll(read.tasks[0].changed)].key, "piece_ms");
    plan_done(&read);
    read = read_edited(text, "seal:", "# seal:"); /* without the plan's seal */
    ck_assert(!read.sealed);
    plan_done(&read);
    free(text);
}
END_TEST

START_TEST(plans_with_doubled_priorities_are_rejected)
{
    static const char text[] = "analysis: holistic\nprofile: priority\ntasks:\n  - {name: a, priority: 8}\n  "
                               "- {name: b, priority: 8}\n";
    struct plan plan;
    struct input_error error;

    ck_assert_int_eq(plan_read("p.yaml", text, strlen(text), &plan, &error), INPUT_REJECTED);
    ck_assert_uint_eq(error.line, 5);
    ck_assert_str_eq(error.found, "8");
}
END_TEST

HARNESS_MAIN("plan", 30, a_plan_reads_back_what_it_prints, a_sealed_plan_knows_which_field_was_edited,
             plans_with_doubled_priorities_are_rejected)
