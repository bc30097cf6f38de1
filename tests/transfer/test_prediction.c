/*
 * Predictions against the paper's own numbers: Table 2, sec. 2.4, and tests/transfer/reference.json
 * (sizes MB, ms, GB/s).
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "transfer/batch.h"
#include "transfer/throughput.h"

struct fixture {
    struct topology topology;
    struct batch_file file;
    struct batch batch;
};

static void load_text(struct fixture *fixture, const char *topology, const char *streams)
{
    struct input_error error = {0};
    size_t unresolved;

    ck_assert_int_eq(topology_read("topology", topology, strlen(topology), &fixture->topology, &error), 0);
    ck_assert_msg(batch_read("batch", streams, strlen(streams), &fixture->topology, &fixture->file, &error) ==
                      0,
                  "expected %s, found %s", error.expected, error.found);
    ck_assert_int_eq(batch_resolve(&fixture->topology, fixture->file.streams, fixture->file.n_streams, NULL,
                                   &fixture->batch, &unresolved),
                     0);
}

static void load_example(struct fixture *fixture, const char *topology, const char *batch)
{
    char path[4200];
    struct input_error error = {0};
    size_t unresolved;

    (void)snprintf(path, sizeof path, "%s/%s.yaml", harness_data("../examples/topologies"), topology);
    ck_assert_int_eq(topology_read_file(path, &fixture->topology, &error), 0);
    (void)snprintf(path, sizeof path, "%s/%s.yaml", harness_data("../examples/batches"), batch);
    ck_assert_int_eq(batch_read_file(path, &fixture->topology, &fixture->file, &error), 0);
    ck_assert_int_eq(batch_resolve(&fixture->topology, fixture->file.streams, fixture->file.n_streams, NULL,
                                   &fixture->batch, &unresolved),
                     0);
}

static void done(struct fixture *fixture)
{
    batch_file_done(&fixture->file);
    topology_done(&fixture->topology);
}

static double total_ms(const struct fixture *fixture, const struct batch_method *method)
{
    struct batch_timeline timeline;

    ck_assert_int_eq(batch_predict(&fixture->batch, method, &timeline, NULL), 0);
    return nsec_to_ms(timeline.total);
}

static double bound_ms(const struct fixture *fixture)
{
    baton_nsec bound;

    ck_assert_int_eq(batch_bound(&fixture->batch, &bound), 0);
    return nsec_to_ms(bound);
}

/* Table 2 prints per stream how long it takes from its start to the common end. */
static void check_table2(const char *topology, const char *batch, const double expected[], size_t n)
{
    struct batch_timeline timeline;
    struct fixture fixture;

    load_example(&fixture, topology, batch);
    ck_assert_int_eq(batch_predict(&fixture.batch, &method_aligned, &timeline, NULL), 0);
    ck_assert_uint_eq(timeline.n, n);
    for (size_t i = 0; i < n; i++) {
        ck_assert_double_eq_tol(nsec_to_ms(timeline.total - timeline.streams[i].copy_begin), expected[i],
                                0.02);
        ck_assert_int_eq(timeline.streams[i].kernel_end, timeline.total);
    }
    ck_assert_double_eq_tol(nsec_to_ms(timeline.total), expected[0], 0.02);
    done(&fixture);
}

START_TEST(table_2_is_predicted_to_a_fiftieth_of_a_millisecond)
{
    check_table2("nehalem", "nehalem-h2d", (const double[]){60.71, 38.46}, 2);
    check_table2("nehalem", "nehalem-d2h", (const double[]){91.69, 61.12}, 2);
    check_table2("sandy-bridge", "sandy-bridge-h2d", (const double[]){43.74, 32.25, 18.40, 15.60}, 4);
    check_table2("sandy-bridge", "sandy-bridge-d2h", (const double[]){34.11, 22.02, 8.59, 5.72}, 4);
}
END_TEST

/* Sec. 2.4: 128 MB / 2 GB/s + 12.8 = 76.8; time division 56.53 at best; the batch method 44.8. */
START_TEST(the_example_of_section_2_4_takes_what_the_paper_says)
{
    struct fixture fixture;

    load_example(&fixture, "paper-example", "paper-example");
    ck_assert_double_eq_tol(total_ms(&fixture, &method_bandwidth), 76.8, 1e-3);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_time_division), 56.5333, 1e-3);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 44.8, 1e-3);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_paced), 44.8, 1e-3);
    ck_assert_double_eq_tol(bound_ms(&fixture), 44.8, 1e-3);
    done(&fixture);
}
END_TEST

START_TEST(the_timelines_of_section_2_4_match_the_reference)
{
    json_error_t problem;
    json_t *reference = json_load_file(harness_data("transfer/reference.json"), 0, &problem);
    json_t *example = json_object_get(reference, "example");
    json_t *forward = json_object_get(example, "batch_forward");
    json_t *slots = json_object_get(example, "time_division_timeline");
    struct batch_timeline timeline;
    struct fixture fixture;

    ck_assert_ptr_nonnull(reference);
    load_example(&fixture, "paper-example", "paper-example");
    batch_predict(&fixture.batch, &method_aligned, &timeline, NULL);
    ck_assert_uint_eq(json_array_size(forward), 4);
    for (size_t i = 0; i < json_array_size(forward); i++) {
        json_t *row = json_array_get(forward, i);

        ck_assert_double_eq_tol(nsec_to_ms(timeline.streams[i].copy_begin),
                                json_number_value(json_array_get(row, 0)), 1e-3);
        ck_assert_double_eq_tol(nsec_to_ms(timeline.streams[i].copy_end),
                                json_number_value(json_array_get(row, 1)), 1e-3);
        ck_assert_double_eq_tol(nsec_to_ms(timeline.streams[i].kernel_end),
                                json_number_value(json_array_get(row, 2)), 1e-3);
    }
    batch_predict(&fixture.batch, &method_time_division, &timeline, NULL);
    for (size_t k = 0; k < json_array_size(slots); k++) {
        json_t *row = json_array_get(slots, k);
        size_t i = (size_t)json_integer_value(json_array_get(row, 0));

        ck_assert_double_eq_tol(nsec_to_ms(timeline.streams[i].copy_begin),
                                json_number_value(json_array_get(row, 1)), 1e-3);
        ck_assert_double_eq_tol(nsec_to_ms(timeline.streams[i].kernel_end),
                                json_number_value(json_array_get(row, 3)), 1e-3);
    }
    json_decref(reference);
    done(&fixture);
}
END_TEST

#define FOUR_GPUS                                                                                            \
    "links: [{from: MEM0, to: IOH0, gbps: 8}, {from: IOH0, to: GPU0, gbps: 6}, {from: IOH0, to: GPU1, "      \
    "gbps: 6}, {from: IOH0, to: GPU2, gbps: 6}, {from: IOH0, to: GPU3, gbps: 6}]\n"

/* PAPERS: 600 + 3 x 66.67 MB over 8 / 6 GB/s: 122.2 ms aligned, 100.0 ms paced: 800 MB / 8 GB/s. */
START_TEST(aligning_is_not_optimal_and_pacing_is)
{
    struct fixture fixture;

    load_text(&fixture, FOUR_GPUS,
              "streams: [{from: MEM0, to: GPU0, bytes: 600 MB}, {from: MEM0, to: GPU1, bytes: 66666667}, "
              "{from: MEM0, to: GPU2, bytes: 66666667}, {from: MEM0, to: GPU3, bytes: 66666667}]");
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 122.2222, 1e-3);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_paced), 100.0, 1e-3);
    ck_assert_double_eq_tol(bound_ms(&fixture), 100.0, 1e-3);
    done(&fixture);
}
END_TEST

/*
 * PAPERS: 2 x (128 MB + 12.8 ms) at 6 GB/s: merged 68.27, in flow-shop order 2 x 21.333 + 12.8 =
 * 55.467.
 */
START_TEST(two_streams_on_one_gpu_keep_flow_shop_order)
{
    static const struct batch_method *const methods[] = {&method_aligned, &method_paced,
                                                         &method_time_division};
    struct fixture fixture;

    load_text(&fixture, "links: [{from: MEM0, to: GPU0, gbps: 6}]",
              "streams: [{from: MEM0, to: GPU0, bytes: 128 MB, kernel_ms: 12.8}, {from: MEM0, to: GPU0, "
              "bytes: 128 MB, kernel_ms: 12.8}]");
    for (size_t i = 0; i < 3; i++)
        ck_assert_double_eq_tol(total_ms(&fixture, methods[i]), 55.4667, 1e-3);
    ck_assert_double_eq_tol(bound_ms(&fixture), 55.4667, 1e-3);
    done(&fixture);
}
END_TEST

/*
 * Johnson: copies 10, 40 ms and kernels 40, 10 ms. The short copy first: 10 + 40 overlaps the copy
 * of 40, then 10: 60 ms. The other order would take 40 + 10 and 50 + 40 = 90 ms.
 */
START_TEST(the_stream_with_the_short_copy_goes_first)
{
    struct fixture fixture;

    load_text(&fixture, "links: [{from: MEM0, to: GPU0, gbps: 1}]",
              "streams: [{from: MEM0, to: GPU0, bytes: 40 MB, kernel_ms: 10}, {from: MEM0, to: GPU0, bytes: "
              "10 MB, kernel_ms: 40}]");
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 60, 1e-3);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_paced), 60, 1e-3);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_time_division), 60, 1e-3);
    ck_assert_double_eq_tol(bound_ms(&fixture), 60, 1e-3);
    done(&fixture);
}
END_TEST

START_TEST(a_stream_may_be_only_a_kernel_or_only_a_copy)
{
    struct batch_timeline timeline;
    struct fixture fixture;

    load_text(&fixture, "links: [{from: MEM0, to: GPU0, gbps: 1}, {from: GPU0, to: MEM0, gbps: 1}]",
              "streams: [{to: GPU0, kernel_ms: 30}, {from: GPU0, to: MEM0, bytes: 20 MB}]");
    for (size_t m = 0; batch_methods[m]; m++) {
        const struct stream_times *kernel = &timeline.streams[0];
        const struct stream_times *copy = &timeline.streams[1];

        ck_assert_int_eq(batch_predict(&fixture.batch, batch_methods[m], &timeline, NULL), 0);
        ck_assert_double_eq_tol(nsec_to_ms(timeline.total), 30, 1e-3);
        ck_assert_int_eq(kernel->copy_begin, kernel->kernel_begin);
        ck_assert_int_eq(kernel->copy_end, kernel->kernel_begin);
        ck_assert_double_eq_tol(nsec_to_ms(kernel->kernel_end - kernel->kernel_begin), 30, 1e-3);
        ck_assert_int_eq(copy->kernel_end, copy->copy_end);
        ck_assert_double_ge(nsec_to_ms(copy->copy_end - copy->copy_begin), 20 - 1e-3);
    }
    done(&fixture);
}
END_TEST

/*
 * Up and down at 1 GB/s, 20 MB each: together on two engines 20 ms, one after the other on one
 * engine 40 ms.
 */
START_TEST(one_dma_engine_serves_both_directions_in_turn)
{
    static const char *const batch =
        "streams: [{from: MEM0, to: GPU0, bytes: 20 MB}, {from: GPU0, to: MEM0, bytes: 20 MB}]";
    struct fixture fixture;

    load_text(&fixture, "links: [{from: MEM0, to: GPU0, gbps: 1}, {from: GPU0, to: MEM0, gbps: 1}]", batch);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 20, 1e-3);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_paced), 20, 1e-3);
    done(&fixture);
    load_text(&fixture,
              "gpus: [{node: GPU0, engines: 1}]\nlinks: [{from: MEM0, to: GPU0, gbps: 1}, {from: GPU0, to: "
              "MEM0, gbps: 1}]",
              batch);
    for (size_t m = 0; batch_methods[m]; m++)
        ck_assert_double_eq_tol(total_ms(&fixture, batch_methods[m]), 40, 1e-3);
    ck_assert_double_eq_tol(bound_ms(&fixture), 40, 1e-3);
    done(&fixture);
}
END_TEST

/*
 * GPU0 and GPU1 are on different hubs, so a copy between them is staged in MEM0. That is one flow
 * over both legs at the slower 2 GB/s, plus one staging piece of 1 MiB: (100 MB + 1 MiB) / 2 GB/s =
 * 50.524 ms.
 */
START_TEST(a_peer_copy_across_hubs_is_one_staged_flow)
{
    struct fixture fixture;

    load_text(&fixture,
              "links: [{from: GPU0, to: IOH0, gbps: 4}, {from: IOH0, to: MEM0, gbps: 4}, {from: MEM0, to: "
              "IOH1, gbps: 4}, {from: IOH1, to: GPU1, gbps: 2}]",
              "streams: [{from: GPU0, to: GPU1, bytes: 100 MB}]");
    ck_assert_int_eq(fixture.batch.flows[0].stage, topology_node(&fixture.topology, "MEM0"));
    ck_assert_uint_eq(fixture.batch.flows[0].n_links, 4);
    ck_assert_uint_eq(fixture.batch.flows[0].n_engines, 2);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), (100e6 + 1048576) / 2e9 * 1e3, 1e-3);
    done(&fixture);
}
END_TEST

START_TEST(a_peer_copy_below_one_hub_is_not_staged)
{
    struct fixture fixture;

    load_text(&fixture,
              "links: [{from: GPU0, to: IOH0, gbps: 4}, {from: IOH0, to: GPU1, gbps: 2}, {from: IOH0, to: "
              "MEM0, gbps: 1}, {from: MEM0, to: IOH0, gbps: 1}]",
              "streams: [{from: GPU0, to: GPU1, bytes: 100 MB}]");
    ck_assert_int_eq(fixture.batch.flows[0].stage, -1);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 50, 1e-3);
    done(&fixture);
}
END_TEST

/*
 * Alone 6 GB/s each way by the graph, 5 and 4 when both: 20 MB up 4 ms, 20 MB down 5 ms.
 * Aligned, backwards both begin at 0.
 */
START_TEST(the_look_up_table_overrides_the_graph_for_its_combination_only)
{
    struct fixture fixture;
    double rates[2];

    load_text(&fixture,
              "links: [{from: MEM0, to: GPU0, gbps: 6}, {from: GPU0, to: MEM0, gbps: 6}]\n"
              "measured: [{transfers: [[GPU0, MEM0], [MEM0, GPU0]], gbps: [4, 5], lowest_gbps: [2, 3]}]",
              "streams: [{from: MEM0, to: GPU0, bytes: 20 MB}, {from: GPU0, to: MEM0, bytes: 20 MB}]");
    throughput_rates(&fixture.batch, (const size_t[]){0, 1}, 2, rates);
    ck_assert_double_eq(rates[0], 5);
    ck_assert_double_eq(rates[1], 4);
    throughput_rates(&fixture.batch, (const size_t[]){1}, 1, rates);
    ck_assert_double_eq(rates[0], 6);
    throughput_graph(&fixture.batch, (const size_t[]){0, 1}, 2, rates);
    ck_assert_double_eq(rates[0], 6);
    /*
     * Both until 4 ms, when 16 of the 20 MB down are done; the rest at 6 GB/s: 4 + 4/6 = 4.667 ms.
     */
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 4.6667, 1e-3);
    ck_assert_double_le(bound_ms(&fixture), 4.6667);
    /* Sums of both directions are limited to the measured 9 GB/s: 40 MB / 9 = 4.444 ms. */
    ck_assert_double_eq_tol(total_ms(&fixture, &method_paced), 4.4444, 1e-3);
    done(&fixture);
}
END_TEST

/*
 * 8 GB/s usually, 4 at worst: 80 MB take 10 and 20 ms; with 25 % margin 25 ms, and the set-up of 1
 * ms 1.25.
 */
START_TEST(worst_cases_use_the_lowest_bandwidths_and_the_margin)
{
    struct fixture fixture;
    size_t unresolved;

    load_text(&fixture, "setup_ms: 1\nlinks: [{from: MEM0, to: GPU0, gbps: 8, lowest_gbps: 4}]",
              "streams: [{from: MEM0, to: GPU0, bytes: 80 MB}]");
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 11, 1e-3);
    ck_assert_double_eq_tol(bound_ms(&fixture), 11, 1e-3);
    batch_resolve(&fixture.topology, fixture.file.streams, 1, &(struct batch_options){.worst_case = true},
                  &fixture.batch, &unresolved);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 21, 1e-3);
    batch_resolve(&fixture.topology, fixture.file.streams, 1,
                  &(struct batch_options){.worst_case = true, .margin = 0.25}, &fixture.batch, &unresolved);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 26.25, 1e-3);
    done(&fixture);
}
END_TEST

/*
 * Chunks (625 kB, then, by the rule, 610304 bytes) at half the speed. Copies of methods that cut
 * them take twice as long, others do not; the kernel stays.
 */
START_TEST(methods_that_pace_are_slower_by_the_speed_of_their_chunks)
{
    static struct pacing pacing;
    struct batch_timeline timeline;
    struct fixture fixture;

    load_text(&fixture,
              "sizes: [{bytes: 4 MiB, ratio: 0.5}, {bytes: 8 MiB, ratio: 1}]\nlinks: [{from: MEM0, to: GPU0, "
              "gbps: 2}]",
              "streams: [{from: MEM0, to: GPU0, bytes: 20 MB, kernel_ms: 5}]");
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 15, 1e-3);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_time_division), 15, 1e-3);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_bandwidth), 25, 1e-3);
    ck_assert_double_eq_tol(total_ms(&fixture, &method_paced), 25, 1e-3);
    ck_assert_double_eq_tol(bound_ms(&fixture), 15, 1e-3);
    batch_predict(&fixture.batch, &method_paced, &timeline, &pacing);
    ck_assert_double_eq_tol(pacing.rate[0][0], 1, 1e-6);
    done(&fixture);
}
END_TEST

/*
 * 4 MiB lie half way between 1 and 16 MiB on a logarithmic scale: 0.75 of 1 GB/s. Beyond the ends
 * the last ratio holds.
 */
START_TEST(a_command_is_as_fast_as_its_size_says)
{
    struct fixture fixture;

    load_text(&fixture,
              "sizes: [{bytes: 1 MiB, ratio: 0.5}, {bytes: 16 MiB, ratio: 1}]\nlinks: [{from: MEM0, to: "
              "GPU0, gbps: 1}]",
              "streams: [{from: MEM0, to: GPU0, bytes: 4 MiB}]");
    ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), 4.194304 / 0.75, 1e-5);
    ck_assert_double_eq_tol(topology_size_ratio(&fixture.topology, 1000), 0.5, 1e-12);
    ck_assert_double_eq_tol(topology_size_ratio(&fixture.topology, 1e9), 1, 1e-12);
    ck_assert_double_eq_tol(topology_lowest_ratio(&fixture.topology), 0.5, 1e-12);
    done(&fixture);
}
END_TEST

/*
 * One core for a kernel of 10 ms on GPU0 and a copy of 5 MB at 1 GB/s to GPU1. One after the other
 * takes 15 ms. Two cores: 10 ms. So with two copies of 5 ms: 10 ms and 5. Three copies of 5 ms to
 * three GPUs with a link each: 15 ms on one core, 10 on two.
 */
START_TEST(no_more_is_under_way_than_there_are_cores)
{
    static const char links[] = "links: [{from: MEM0, to: GPU0, gbps: 1}, {from: MEM0, to: GPU1, gbps: 1}, "
                                "{from: MEM0, to: GPU2, gbps: 1}]";
    static const char three[] =
        "streams: [{from: MEM0, to: GPU0, bytes: 5 MB}, {from: MEM0, to: GPU1, bytes: 5 MB}, "
        "{from: MEM0, to: GPU2, bytes: 5 MB}]";
    static const double expected_copies[] = {10, 5};
    static const double expected_three[] = {15, 10};
    static const char one_of_each[] =
        "streams: [{to: GPU0, kernel_ms: 10}, {from: MEM0, to: GPU1, bytes: 5 MB}]";
    static const char copies[] =
        "streams: [{from: MEM0, to: GPU0, bytes: 5 MB}, {from: MEM0, to: GPU1, bytes: 5 MB}]";
    static const double expected[] = {15, 10};
    struct fixture fixture;

    for (int cores = 1; cores <= 2; cores++) {
        char text[200];

        (void)snprintf(text, sizeof text, "cores: %d\n%s", cores, links);
        load_text(&fixture, text, one_of_each);
        ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), expected[cores - 1], 1e-5);
        ck_assert_double_eq_tol(bound_ms(&fixture), 10, 1e-5);
        done(&fixture);
        load_text(&fixture, text, copies);
        ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), expected_copies[cores - 1], 1e-5);
        done(&fixture);
        load_text(&fixture, text, three);
        ck_assert_double_eq_tol(total_ms(&fixture, &method_aligned), expected_three[cores - 1], 1e-5);
        done(&fixture);
    }
}
END_TEST

HARNESS_MAIN("transfer prediction", 20, table_2_is_predicted_to_a_fiftieth_of_a_millisecond,
             the_example_of_section_2_4_takes_what_the_paper_says,
             the_timelines_of_section_2_4_match_the_reference, aligning_is_not_optimal_and_pacing_is,
             two_streams_on_one_gpu_keep_flow_shop_order, the_stream_with_the_short_copy_goes_first,
             a_stream_may_be_only_a_kernel_or_only_a_copy, one_dma_engine_serves_both_directions_in_turn,
             a_peer_copy_across_hubs_is_one_staged_flow, a_peer_copy_below_one_hub_is_not_staged,
             the_look_up_table_overrides_the_graph_for_its_combination_only,
             worst_cases_use_the_lowest_bandwidths_and_the_margin,
             methods_that_pace_are_slower_by_the_speed_of_their_chunks, a_command_is_as_fast_as_its_size_says,
             no_more_is_under_way_than_there_are_cores)
