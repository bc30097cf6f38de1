/*
 * Reading topologies and batches: what is accepted reads back the same, what is wrong is rejected
 * where it stands.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "model/batch_file.h"
#include "model/topology.h"
#include "transfer/batch.h"

static void rejects(const char *text, unsigned line, unsigned column, const char *expected)
{
    struct topology topology;
    struct input_error error = {0};
    int result = topology_read("t.yaml", text, strlen(text), &topology, &error);

    ck_assert_int_eq(result, INPUT_REJECTED);
    ck_assert_msg(error.line == line && error.column == column, "%s: at %u:%u, expected %s, found %s", text,
                  error.line, error.column, error.expected, error.found);
    ck_assert_msg(strstr(error.expected, expected), "%s: expected '%s'", text, error.expected);
}

START_TEST(bad_bandwidths_are_rejected)
{
    rejects("links: [{from: A, to: B, gbps: 0}]", 1, 32, "above 0");
    rejects("links: [{from: A, to: B, gbps: -3}]", 1, 32, "above 0");
    rejects("links: [{from: A, to: B, gbps: .inf}]", 1, 32, "bandwidth");
    rejects("links: [{from: A, to: B, gbps: fast}]", 1, 32, "bandwidth");
    rejects("links: [{from: A, to: B}]", 1, 9, "gbps");
    rejects("links: [{from: A, to: B, gbps: 3, lowest_gbps: 4}]", 1, 48, "at most the bandwidth itself");
}
END_TEST

START_TEST(bad_sizes_and_cores_are_rejected)
{
    rejects("sizes: [{bytes: 4 MB, ratio: 1}, {bytes: 1 MB, ratio: 1}]\nlinks: [{from: A, to: B, gbps: 1}]",
            1, 34, "ascending order");
    rejects("sizes: [{bytes: 0, ratio: 1}]\nlinks: [{from: A, to: B, gbps: 1}]", 1, 17, "above 0");
    rejects("sizes: [{bytes: 1 MB, ratio: 0}]\nlinks: [{from: A, to: B, gbps: 1}]", 1, 30, "a ratio");
    rejects("sizes: [{bytes: 1 MB}]\nlinks: [{from: A, to: B, gbps: 1}]", 1, 9, "ratio");
    rejects("cores: 0\nlinks: [{from: A, to: B, gbps: 1}]", 1, 8, "cores");
}
END_TEST

START_TEST(cycles_are_rejected)
{
    rejects("links: [{from: A, to: A, gbps: 1}]", 1, 23, "cycle");
    rejects("links:\n- {from: A, to: B, gbps: 1}\n- {from: B, to: C, gbps: 1}\n- {from: C, to: A, gbps: 1}",
            2, 3, "without a cycle");
    rejects("links: [{from: A, to: B, gbps: 1}, {from: B, to: A, gbps: 1}]\nroutes: [[A, B, A]]", 2, 17,
            "cycle");
}
END_TEST

START_TEST(links_there_and_back_are_no_cycle)
{
    static const char *const text = "links: [{from: MEM0, to: B, gbps: 1}, {from: B, to: MEM0, gbps: 1}]";
    struct topology topology;
    struct input_error error;

    ck_assert_int_eq(topology_read("t", text, strlen(text), &topology, &error), 0);
    ck_assert(!topology.has_loop);
    topology_done(&topology);
}
END_TEST

START_TEST(a_gpu_may_have_a_link_to_itself)
{
    static const char *const text =
        "links: [{from: MEM0, to: GPU0, gbps: 1}, {from: GPU0, to: GPU0, gbps: 50}]\n"
        "gpus: [{node: GPU0, engines: 1}]";
    struct batch_stream stream = {.name = "within", .from = 1, .to = 1, .gpu = -1, .bytes = 100000000};
    struct topology topology;
    struct input_error error;
    struct batch_timeline timeline;
    struct batch batch;
    size_t unresolved;

    ck_assert_int_eq(topology_read("t", text, strlen(text), &topology, &error), 0);
    ck_assert(!topology.has_loop);
    ck_assert_int_eq(batch_resolve(&topology, &stream, 1, NULL, &batch, &unresolved), 0);
    ck_assert_uint_eq(batch.flows[0].n_links, 1);
    ck_assert_uint_eq(batch.flows[0].n_engines, 1);
    ck_assert_int_eq(batch_predict(&batch, &method_aligned, &timeline, NULL), 0);
    ck_assert_int_eq(timeline.total, 2000000); /* 100 MB at 50 GB/s */
    stream.from = stream.to = 0;
    ck_assert_int_eq(batch_resolve(&topology, &stream, 1, NULL, &batch, &unresolved), BATCH_NO_ROUTE);
    topology_done(&topology);
    rejects("links: [{from: MEM0, to: MEM0, gbps: 1}]", 1, 26, "cycle");
}
END_TEST

START_TEST(a_ring_needs_given_routes_and_uses_only_them)
{
    static const char *const text =
        "links: [{from: MEM0, to: B, gbps: 1}, {from: B, to: C, gbps: 1}, {from: C, to: MEM0, gbps: 1}]\n"
        "routes: [[MEM0, B, C]]";
    struct topology topology;
    struct input_error error;
    struct found_route route;

    ck_assert_int_eq(topology_read("t", text, strlen(text), &topology, &error), 0);
    ck_assert(topology.has_loop);
    ck_assert_int_eq(topology_find_route(&topology, 0, 2, &route), 0);
    ck_assert_uint_eq(route.n_links, 2);
    ck_assert_int_eq(topology_find_route(&topology, 1, 2, &route), ROUTE_NONE);
    topology_done(&topology);
}
END_TEST

START_TEST(unknown_nodes_and_twice_the_same_are_rejected)
{
    rejects("links: [{from: A, to: B, gbps: 1}]\ngpus: [{node: GPU7}]", 2, 15, "a node that a link names");
    rejects("links: [{from: A, to: B, gbps: 1}]\nmemories: [MEM1]", 2, 12, "a node that a link names");
    rejects("links: [{from: A, to: B, gbps: 1}]\nroutes: [[A, C]]", 2, 14, "a node that a link names");
    rejects("links: [{from: A, to: B, gbps: 1}]\nroutes: [[B, A]]", 2, 14, "a link leads to from B");
    rejects("links: [{from: A, to: B, gbps: 1}, {from: A, to: B, gbps: 2}]", 1, 36, "one link from A to B");
    rejects("links: [{from: A, to: B, gbps: 1}]\nmeasured: [{transfers: [[B, A]], gbps: [1]}]", 2, 25,
            "one route");
    rejects("links: [{from: A, to: B, gbps: 1}]\nmeasured: [{transfers: [[A, B]], gbps: [1, 2]}]", 2, 40,
            "1 bandwidths");
    rejects("links: [{from: A, to: B, gbps: 1}]\nmeasured: [{transfers: [[A, B]], gbps: [0]}]", 2, 41,
            "above 0");
    rejects("links: []", 1, 8, "a list of links");
    rejects("{}", 1, 1, "links");
    rejects("links: [{from: GPU0, to: B, gbps: 1}]\ngpus: [{node: GPU0, engines: 3}]", 2, 30, "1 or 2");
    rejects("nodes: []\nlinks: []", 1, 1, "links");
}
END_TEST

static const char *const two_gpus = "links: [{from: MEM0, to: IOH0, gbps: 8}, {from: IOH0, to: GPU0, gbps: "
                                    "6}, {from: IOH0, to: GPU1, gbps: 6}]";

static void rejects_batch(const char *text, unsigned line, unsigned column, const char *expected)
{
    struct topology topology;
    struct batch_file batch;
    struct input_error error = {0};

    ck_assert_int_eq(topology_read("t", two_gpus, strlen(two_gpus), &topology, &error), 0);
    ck_assert_int_eq(batch_read("b", text, strlen(text), &topology, &batch, &error), INPUT_REJECTED);
    ck_assert_msg(error.line == line && error.column == column, "%s: at %u:%u, expected %s, found %s", text,
                  error.line, error.column, error.expected, error.found);
    ck_assert_msg(strstr(error.expected, expected), "%s: expected '%s'", text, error.expected);
    topology_done(&topology);
}

START_TEST(bad_batches_are_rejected)
{
    rejects_batch("streams: [{from: MEM0, to: GPU9, bytes: 1}]", 1, 28, "a node of the topology");
    rejects_batch("streams: [{from: GPU0, to: MEM0, bytes: 1}]", 1, 11, "a route from GPU0 to MEM0");
    rejects_batch("streams: [{from: MEM0, to: IOH0, bytes: 1}]", 1, 28, "a memory or a GPU");
    rejects_batch("streams: [{from: MEM0, to: GPU0}]", 1, 11, "bytes");
    rejects_batch("streams: [{to: GPU0}]", 1, 11, "bytes");
    rejects_batch("streams: [{to: MEM0, kernel_ms: 1}]", 1, 16, "a GPU that runs the kernel");
    rejects_batch("streams: [{from: MEM0, to: GPU0, bytes: -1}]", 1, 41, "size");
    rejects_batch("streams: [{from: MEM0, to: GPU0, bytes: 1 furlong}]", 1, 41, "size");
    rejects_batch("streams: [{from: MEM0, to: GPU0, bytes: 1, kernel_ms: -2}]", 1, 55, "length");
    rejects_batch("streams: []", 1, 10, "a list of streams");
    rejects_batch("streams: [7]", 1, 11, "mapping");
    rejects_batch("[]", 1, 1, "mapping");
}
END_TEST

START_TEST(two_equally_short_routes_are_ambiguous_unless_one_is_given)
{
    static const char *const links =
        "links: [{from: MEM0, to: A, gbps: 1}, {from: MEM0, to: B, gbps: 2}, {from: A, "
        "to: GPU0, gbps: 1}, {from: B, to: GPU0, gbps: 1}]\n";
    struct topology topology;
    struct input_error error;
    struct found_route route;
    char with_route[512];

    ck_assert_int_eq(topology_read("t", links, strlen(links), &topology, &error), 0);
    ck_assert_int_eq(topology_find_route(&topology, (unsigned)topology_node(&topology, "MEM0"),
                                         (unsigned)topology_node(&topology, "GPU0"), &route),
                     ROUTE_AMBIGUOUS);
    topology_done(&topology);
    (void)snprintf(with_route, sizeof with_route, "%sroutes: [[MEM0, B, GPU0]]", links);
    ck_assert_int_eq(topology_read("t", with_route, strlen(with_route), &topology, &error), 0);
    ck_assert_int_eq(topology_find_route(&topology, (unsigned)topology_node(&topology, "MEM0"),
                                         (unsigned)topology_node(&topology, "GPU0"), &route),
                     0);
    ck_assert_uint_eq(route.links[0], 1);
    topology_done(&topology);
}
END_TEST

START_TEST(every_key_is_read)
{
    static const char *const text =
        "origin: 'from a \"table\", fitted'\nsetup_ms: 0.25\ncores: 2\nsizes: [{bytes: 1 MB, ratio: 0.5}, "
        "{bytes: 20 MB, ratio: 1.25}]\n"
        "gpus: [{node: GPU0, engines: 1, device: 3}, {node: 'card: 1'}]\nmemories: [host]\n"
        "links: [{from: host, to: GPU0, gbps: 6.0323, lowest_gbps: 5.5}, {from: GPU0, to: host, gbps: 4}, "
        "{from: host, to: 'card: 1', gbps: 3}]\nroutes: [[GPU0, host]]\n"
        "measured: [{transfers: [[host, 'card: 1'], [GPU0, host]], gbps: [2.5, 1.25], lowest_gbps: [2, "
        "1]}]\n";
    struct topology topology;
    struct input_error error;

    ck_assert_int_eq(topology_read("t", text, strlen(text), &topology, &error), 0);
    ck_assert_int_eq(topology.setup, 250000);
    ck_assert_int_eq(topology.nodes[topology_node(&topology, "GPU0")].device, 3);
    ck_assert_int_eq(topology.nodes[topology_node(&topology, "card: 1")].device, 1);
    ck_assert_uint_eq(topology.n_table, 1);
    ck_assert_double_eq(topology.table[0].gbps[0], 2.5);
    ck_assert_uint_eq(topology.cores, 2);
    ck_assert_str_eq(topology.origin, "from a \"table\", fitted");
    ck_assert_uint_eq(topology.n_sizes, 2);
    ck_assert_double_eq(topology.sizes[1].ratio, 1.25);
    topology_done(&topology);
}
END_TEST

HARNESS_MAIN("transfer files", 20, bad_bandwidths_are_rejected, bad_sizes_and_cores_are_rejected,
             cycles_are_rejected, links_there_and_back_are_no_cycle, a_gpu_may_have_a_link_to_itself,
             a_ring_needs_given_routes_and_uses_only_them, unknown_nodes_and_twice_the_same_are_rejected,
             bad_batches_are_rejected, two_equally_short_routes_are_ambiguous_unless_one_is_given,
             every_key_is_read)
