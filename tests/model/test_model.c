#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "harness.h"
#include "model/document.h"
#include "model/plan.h"
#include "model/print.h"
#include "model/task_set.h"

#define PLATFORM      "platform: {cpus: 4, gpus: 4}\n"
#define TASK(rest)    PLATFORM "tasks:\n  - {name: a, period_ms: 10, segments: [{cpu_ms: 1}], " rest "}\n"
#define SEGMENT(text) PLATFORM "tasks:\n  - {name: a, period_ms: 10, segments: [" text "]}\n"

static int read_text(const char *text, struct task_set *ret_set, struct input_error *ret_error)
{
    return task_set_read("t.yaml", text, strlen(text), ret_set, ret_error);
}

/*
 * Every rejection names the place, and says what was expected and found there. The place is where
 * `@` stands in marked; it is taken out before reading.
 */
static void rejects(const char *marked, const char *expected, const char *found)
{
    const char *at = strchr(marked, '@');
    struct task_set set;
    struct input_error error;
    unsigned line = 1;
    unsigned column = 1;
    char text[1024];
    char shown[1024];

    ck_assert_ptr_nonnull(at);
    for (const char *c = marked; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    (void)snprintf(text, sizeof text, "%.*s%s", (int)(at - marked), marked, at + 1);
    ck_assert_msg(read_text(text, &set, &error) == INPUT_REJECTED, "accepted: %s", text);
    input_error_format(&error, shown, sizeof shown);
    ck_assert_msg(error.line == line && error.column == column, "%s\nwanted %u:%u", shown, line, column);
    ck_assert_msg(strstr(error.expected, expected) != NULL, "%s\nwanted expected ~ %s", shown, expected);
    ck_assert_msg(strstr(error.found, found) != NULL, "%s\nwanted found ~ %s", shown, found);
}

START_TEST(the_example_of_the_design_is_read_with_its_units)
{
    static const char text[] = "platform:\n"
                               "  cpus: 4\n"
                               "  gpus: 4\n"
                               "  tokens_per_gpu: inf\n"
                               "  chunk_in: 4 MiB\n"
                               "  chunk_out: 512 KiB\n"
                               "tasks:\n"
                               "  - name: detector\n"
                               "    period_ms: 33\n"
                               "    placement: [0, 1]\n"
                               "    segments:\n"
                               "      - {cpu_ms: 1.0, best_ms: 0.4}\n"
                               "      - {copy_in_ms: 0.8, multi_ms: 3.2, bytes: 2 MiB}\n"
                               "      - {kernel_ms: 9.0, multi_ms: [5, 4, 2.25], piece_ms: 0.5}\n"
                               "      - {copy_out_ms: 0.4, multi_ms: 1.6, bytes: 1 MB}\n"
                               "      - {cpu_ms: 0.5, multi_ms: 0.9}\n"
                               "    state: 0\n";
    struct task_set set;
    struct input_error error;
    const struct task *task;

    ck_assert_int_eq(read_text(text, &set, &error), 0);
    task = &set.tasks[0];
    ck_assert_uint_eq(set.platform.tokens_per_gpu, TOKENS_UNLIMITED);
    ck_assert_int_eq(set.platform.chunk_in, 4 << 20);
    ck_assert_int_eq(set.platform.chunk_out, 512 << 10);
    ck_assert_uint_eq(set.platform.cpu_cluster, 4);
    ck_assert_int_eq(task->period, 33000000);
    ck_assert_int_eq(task->deadline, 33000000);
    ck_assert_uint_eq(task->placement.gpus, 3);
    ck_assert_int_eq(task->segments[0].length, 1000000);
    ck_assert_int_eq(task->segments[0].best, 400000);
    ck_assert_int_eq(task->segments[1].bytes, 2 << 20);
    ck_assert_int_eq(task->segments[3].bytes, 1000000);
    ck_assert_int_eq(task->segments[2].piece, 500000);
    ck_assert_uint_eq(task->segments[2].gpus, 2);
    /* The list says 2, 3 and 4 GPUs; the single number says all four. */
    ck_assert_int_eq(segment_length_on(&task->segments[2], 1, 4), 9000000);
    ck_assert_int_eq(segment_length_on(&task->segments[2], 3, 4), 4000000);
    ck_assert_int_eq(segment_length_on(&task->segments[2], 4, 4), 2250000);
    ck_assert_int_eq(segment_length_on(&task->segments[1], 4, 4), 3200000);
    ck_assert_int_eq(segment_length_on(&task->segments[1], 3, 4), -1);
    ck_assert_int_eq(task_total(task), 11700000);
    task_set_done(&set);
}
END_TEST

START_TEST(pieces_and_lengths_per_gpu_are_read)
{
    struct task_set set;
    struct input_error error;
    const struct segment *segments;

    ck_assert_int_eq(
        read_text(SEGMENT("{kernel_ms: 1.2, pieces_ms: [0.5, 0.5, 0.2]}, {kind: copy_in, pieces_ms: [1, 2]}, "
                          "{per_gpu_ms: [4, 10, 4, 5], placement: any}, {pieces_per_gpu_ms: [[4], [5, 5], "
                          "[4], [4]], gpus: 2}"),
                  &set, &error),
        0);
    segments = set.tasks[0].segments;
    ck_assert_uint_eq(segments[0].pieces.n, 3);
    ck_assert_int_eq(segments[0].length, 1200000);
    ck_assert_int_eq(segments[1].kind, SEGMENT_COPY_IN);
    ck_assert_int_eq(segments[1].length, 3000000);
    ck_assert_int_eq(segments[2].length, 10000000);
    ck_assert_int_eq(segment_placement(&set.tasks[0], &segments[2]).kind, PLACEMENT_ANY);
    ck_assert_int_eq(segments[3].length, 10000000);
    ck_assert_uint_eq(segments[3].per_gpu[1].n, 2);
    ck_assert_uint_eq(segments[3].gpus, 2);
    task_set_done(&set);
}
END_TEST

START_TEST(json_is_yaml)
{
    struct task_set set;
    struct input_error error;

    ck_assert_int_eq(read_text("{\"platform\":{\"cpus\":2},\"tasks\":[{\"name\":\"a\",\"period_ms\":1.5,"
                               "\"segments\":[{\"cpu_ms\":0.000001}]}]}",
                               &set, &error),
                     0);
    ck_assert_int_eq(set.tasks[0].segments[0].length, 1);
    task_set_done(&set);
}
END_TEST

START_TEST(unknown_keys_and_wrong_types_are_rejected_where_they_stand)
{
    rejects("platform: {cpus: 4, @gpu: 1}\ntasks: []\n", "one of cpus", "gpu");
    rejects(TASK("@prio: 3"), "one of name", "prio");
    rejects("@- 1\n", "a mapping", "a list");
    rejects("platform: @3\ntasks: []\n", "a mapping", "3");
    rejects(PLATFORM "tasks: @{a: 1}\n", "a list of at least one task", "a mapping");
    rejects(PLATFORM "tasks: @[]\n", "at least one task", "a list");
    rejects("platform: {cpus: @\"4\"}\ntasks: []\n", "a whole number", "4");
    rejects("platform: {cpus: @4.5}\ntasks: []\n", "a whole number", "4.5");
    rejects("@tasks: []\n", "platform", "a mapping");
    rejects("@" PLATFORM, "tasks", "a mapping");
    rejects(SEGMENT("@3"), "a mapping", "3");
    rejects(SEGMENT("{cpu_ms: @[1]}"), "a time in ms", "a list");
    rejects(TASK("placement: [@4]"), "a GPU", "4");
    rejects(TASK("placement: [0, @0]"), "each GPU once", "0");
    rejects(TASK("placement: @fast"), "one of chosen, any", "fast");
}
END_TEST

START_TEST(periods_and_lengths_outside_the_possible_are_rejected)
{
    static const char *const bad[] = {"0",    "-5",   "1e400", ".inf", "-.inf", ".nan", "nan", "inf",
                                      "1e99", "0x10", "abc",   "",     "1 2",   "1e",   "--1", "1.2.3"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[256];

        (void)snprintf(text, sizeof text,
                       PLATFORM "tasks:\n  - name: a\n    period_ms:%s@%s\n    segments: [{cpu_ms: 1}]\n",
                       *bad[i] ? " " : "", bad[i]);
        /* An empty value stands where the next line's text would: after the colon. */
        rejects(text, "a period in ms", *bad[i] ? bad[i] : "nothing");
    }
    rejects(TASK("deadline_ms: @0"), "a deadline in ms", "0");
    rejects(SEGMENT("{cpu_ms: @-1}"), "at least 0", "-1");
    rejects(SEGMENT("{cpu_ms: 1, best_ms: @2}"), "no longer than the worst", "2");
    rejects(SEGMENT("{copy_in_ms: 1, bytes: @-3}"), "bytes", "-3");
    rejects(SEGMENT("{copy_in_ms: 1, bytes: @3 furlongs}"), "KiB", "3 furlongs");
    rejects(SEGMENT("{copy_in_ms: 1, bytes: @1e30}"), "bytes", "1e30");
    rejects(SEGMENT("{copy_in_ms: 1, bytes: @0.5}"), "whole bytes", "0.5");
}
END_TEST

START_TEST(segments_that_contradict_themselves_are_rejected)
{
    rejects(SEGMENT("@{}"), "one of cpu_ms", "a mapping");
    rejects(SEGMENT("@{cpu_ms: 1, kernel_ms: 2}"), "only one of", "a mapping");
    rejects(SEGMENT("{cpu_ms: 1, gpus: @2}"), "kernel segment only", "2");
    rejects(SEGMENT("{kernel_ms: 1, pieces_ms: @[0.5, 0.2]}"), "sum to kernel_ms", "a list");
    rejects(SEGMENT("{kernel_ms: @1, per_gpu_ms: [1, 1, 1, 1]}"), "either kernel_ms", "1");
    rejects(SEGMENT("{per_gpu_ms: @[1, 1]}"), "each of 4 GPUs", "a list");
    rejects(SEGMENT("{kernel_ms: 1, gpus: @5}"), "from 1 to 4", "5");
    rejects(SEGMENT("{kernel_ms: 1, placement: [0, 1], gpus: @3}"), "2, the number of GPUs", "3");
    rejects(SEGMENT("{kernel_ms: 1, multi_ms: @[1, 2, 3, 4]}"), "up to 4 GPUs", "a list");
    rejects("platform: {cpus: 1}\ntasks: [{name: a, period_ms: 1, segments: [@{kernel_ms: 1}]}]\n", "no GPU",
            "a mapping");
}
END_TEST

START_TEST(names_and_priorities_are_unique_and_priorities_are_all_or_none)
{
#define TWO(a, mark, b)                                                                                      \
    PLATFORM "tasks:\n  - {" a ", period_ms: 1, segments: [{cpu_ms: 1}]}\n  - " mark "{" b                   \
             ", period_ms: 1, segments: [{cpu_ms: 1}]}\n"
    rejects(TWO("name: a", "@", "name: a"), "each task name once", "a");
    rejects(TWO("name: a, priority: 5", "@", "name: b, priority: 5"), "no other task has", "a");
    rejects(TWO("name: a, priority: 5", "@", "name: b"), "every task or for none", "none here");
    rejects(TWO("name: a, priority: @100", "", "name: b"), "1 to 99", "100");
    rejects(TWO("name: a, @name: c", "", "name: b"), "each key once", "name");
#undef TWO
}
END_TEST

START_TEST(platforms_that_do_not_add_up_are_rejected)
{
    rejects("platform: {cpus: 4, cpu_cluster: @3}\ntasks: []\n", "divisor of 4", "3");
    rejects("platform: {cpus: 4, gpus: @65}\ntasks: []\n", "0 to 64", "65");
    rejects("platform: {cpus: 4, gpus: 4, gpu_cluster: 2, attach: @[[0]]}\ntasks: []\n", "2 GPU clusters",
            "a list");
    rejects("platform: {cpus: 4, gpus: 4, attach: [[@1]]}\ntasks: []\n", "0 to 0", "1");
    rejects("platform: {migration: @fly}\ntasks: []\n", "none, system", "fly");
    rejects("platform: {overheads: @absent.yaml}\ntasks: []\n", "No such file", "absent.yaml");
    rejects("platform: {overheads: {tick_period: @0}}\ntasks: []\n", "above 0", "0");
}
END_TEST

START_TEST(files_that_are_no_documents_are_rejected)
{
    char junk[512];
    struct task_set set;
    struct input_error error;
    struct random_state random;

    rejects("@", "a YAML mapping", "an empty file");
    rejects("@# only a comment\n", "a YAML mapping", "an empty file");
    rejects("a: [1, 2\n@", "YAML or JSON", "did not find expected");
    rejects("a: 1\n@---\nb: 2\n", "one document", "a second document");
    rejects("{@[1]: 2}", "a key", "a list");
    random_init(&random, 3, 0);
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof junk; i++)
            junk[i] = (char)random_below(&random, 256);
        ck_assert_int_eq(task_set_read("junk", junk, sizeof junk, &set, &error), INPUT_REJECTED);
        ck_assert_uint_ge(error.line, 1);
    }
}
END_TEST

START_TEST(brackets_by_the_megabyte_are_rejected_at_once)
{
    const size_t size = (size_t)100 << 20;
    char *text = malloc(size);
    struct task_set set;
    struct input_error error;

    ck_assert_ptr_nonnull(text);
    memset(text, '[', size);
    ck_assert_int_eq(task_set_read("deep", text, size, &set, &error), INPUT_REJECTED);
    ck_assert_str_eq(error.expected, "at most 32 levels");
    ck_assert_uint_eq(error.column, 33);
    free(text);
}
END_TEST

START_TEST(alias_bombs_are_rejected_at_the_first_anchor)
{
    rejects("a: @&a [x, x]\nb: &b [*a, *a]\n", "no anchors", "an anchor");
    rejects("a: @*a\n", "no aliases", "an alias");
    rejects("a: @&b 1\n", "no anchors", "an anchor");
}
END_TEST

static char *printed(const struct task_set *set)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    task_set_print(set, out);
    (void)fclose(out);
    return text;
}

START_TEST(what_is_printed_reads_back_to_the_same)
{
    static const char *const files[] = {"model/good/everything.yaml", "model/good/lengths.yaml",
                                        "model/good/overheads-inline.json", "../examples/robot.yaml"};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct task_set set;
        struct task_set again;
        struct input_error error;
        char *first;
        char *second;
        char shown[1024];
        int result = task_set_read_file(harness_data(files[i]), &set, &error);

        if (result == INPUT_REJECTED)
            input_error_format(&error, shown, sizeof shown);
        ck_assert_msg(result == 0, "%s", shown);
        first = printed(&set);
        result = task_set_read("printed", first, strlen(first), &again, &error);
        if (result == INPUT_REJECTED)
            input_error_format(&error, shown, sizeof shown);
        ck_assert_msg(result == 0, "%s\n%s", shown, first);
        second = printed(&again);
        ck_assert_str_eq(first, second);
        ck_assert_uint_eq(set.n_tasks, again.n_tasks);
        for (size_t t = 0; t < set.n_tasks; t++)
            ck_assert_int_eq(task_total(&set.tasks[t]), task_total(&again.tasks[t]));
        task_set_done(&set);
        task_set_done(&again);
        free(first);
        free(second);
    }
}
END_TEST

START_TEST(durations_print_exactly)
{
    static const struct {
        baton_nsec value, unit;
        const char *text;
    } cases[] = {{1500000, NSEC_PER_MS, "1.5"},
                 {1, NSEC_PER_MS, "0.000001"},
                 {0, NSEC_PER_MS, "0"},
                 {-2500, NSEC_PER_US, "-2.5"},
                 {33000000, NSEC_PER_MS, "33"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64] = "";
        FILE *out = fmemopen(text, sizeof text, "w");

        print_duration(cases[i].value, cases[i].unit, out);
        (void)fclose(out);
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

START_TEST(tasks_are_ordered_by_priority_or_else_by_deadline_then_index)
{
    struct task_set set;
    struct input_error error;
    size_t order[3];

#define THREE(a, b, c)                                                                                       \
    PLATFORM "tasks:\n  - {name: a, period_ms: 9, segments: [{cpu_ms: 1}], " a "}\n"                         \
             "  - {name: b, period_ms: 9, segments: [{cpu_ms: 1}], " b "}\n"                                 \
             "  - {name: c, period_ms: 9, segments: [{cpu_ms: 1}], " c "}\n"
    ck_assert_int_eq(read_text(THREE("deadline_ms: 9", "deadline_ms: 5", "deadline_ms: 9"), &set, &error), 0);
    ck_assert_int_eq(task_set_order(&set, order), 0);
    ck_assert(order[0] == 1 && order[1] == 0 && order[2] == 2);
    task_set_done(&set);
    ck_assert_int_eq(read_text(THREE("priority: 1", "priority: 50", "priority: 99"), &set, &error), 0);
    ck_assert_int_eq(task_set_order(&set, order), 0);
    ck_assert(order[0] == 2 && order[1] == 1 && order[2] == 0);
    task_set_done(&set);
#undef THREE
}
END_TEST

START_TEST(copies_cost_linearly_between_entries_and_proportionally_beyond)
{
    /* in: 4096 bytes 10 us, 8192 bytes 14 us. Half-way 12; below 10; twice the largest 28. */
    struct task_set set;
    struct input_error error;
    const struct overheads *overheads;

    ck_assert_int_eq(read_text("platform: {overheads: {copies: [{direction: in, bytes: 8192, us: 14}, "
                               "{direction: in, bytes: 4 KiB, us: 10}]}}\n"
                               "tasks: [{name: a, period_ms: 1, segments: [{cpu_ms: 1}]}]\n",
                               &set, &error),
                     0);
    overheads = &set.platform.overheads;
    ck_assert_int_eq(overheads_copy_cost(overheads, DIRECTION_IN, 6144), 12000);
    ck_assert_int_eq(overheads_copy_cost(overheads, DIRECTION_IN, 1), 10000);
    ck_assert_int_eq(overheads_copy_cost(overheads, DIRECTION_IN, 16384), 28000);
    ck_assert_int_eq(overheads_copy_cost(overheads, DIRECTION_IN, 0), 0);
    ck_assert_int_eq(overheads_copy_cost(overheads, DIRECTION_OUT, 4096), 0);
    task_set_done(&set);
}
END_TEST

/* Which CPU clusters own a GPU cluster, as digits and letters: "0", "23", ... */
static const char *owners(const struct platform *platform, unsigned gpu_cluster)
{
    static char text[32];
    size_t n = 0;

    for (unsigned x = 0; x < platform_cpu_clusters(platform); x++) {
        if (platform_owns(platform, x, gpu_cluster))
            text[n++] = "0123456789ab"[x];
    }
    text[n] = 0;
    return text;
}

/* The machine of GPUSync's Fig. 4: two nodes, each of six CPUs and four GPUs. */
START_TEST(gpus_belong_to_the_cpus_of_their_node)
{
    struct platform platform = {.cpus = 12, .numa_nodes = 2, .gpus = 8, .cpu_cluster = 6, .gpu_cluster = 1};
    unsigned one = 1;
    struct cluster_list attach[] = {{&one, 1}};

    ck_assert_str_eq(owners(&platform, 3), "0"); /* a CPU cluster per node, a cluster per GPU */
    ck_assert_str_eq(owners(&platform, 4), "1");
    platform.cpu_cluster = 1; /* six CPU clusters, four GPU clusters a node: two of each six own none */
    ck_assert_str_eq(owners(&platform, 3), "3");
    ck_assert_str_eq(owners(&platform, 4), "6");
    ck_assert_str_eq(owners(&platform, 7), "9");
    platform.gpu_cluster = 2; /* two GPU clusters a node: three CPU clusters each */
    ck_assert_str_eq(owners(&platform, 1), "345");
    ck_assert_str_eq(owners(&platform, 2), "678");
    platform.gpu_cluster = 8; /* spans the nodes */
    ck_assert_str_eq(owners(&platform, 0), "0123456789ab");
    platform.attach = attach; /* what the file says goes before the rule */
    ck_assert_str_eq(owners(&platform, 0), "1");
}
END_TEST

HARNESS_MAIN(
    "model", 30, the_example_of_the_design_is_read_with_its_units, pieces_and_lengths_per_gpu_are_read,
    json_is_yaml, unknown_keys_and_wrong_types_are_rejected_where_they_stand,
    periods_and_lengths_outside_the_possible_are_rejected, segments_that_contradict_themselves_are_rejected,
    names_and_priorities_are_unique_and_priorities_are_all_or_none, platforms_that_do_not_add_up_are_rejected,
    files_that_are_no_documents_are_rejected, brackets_by_the_megabyte_are_rejected_at_once,
    alias_bombs_are_rejected_at_the_first_anchor, what_is_printed_reads_back_to_the_same,
    durations_print_exactly, tasks_are_ordered_by_priority_or_else_by_deadline_then_index,
    copies_cost_linearly_between_entries_and_proportionally_beyond, gpus_belong_to_the_cpus_of_their_node)
