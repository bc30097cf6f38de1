/*
 * Random interconnects and batches. Max-min rates are checked by their definition. Every method's
 * timeline is replayed by an independent simulator that knows only links and engines. No method
 * beats the bound.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "harness.h"
#include "transfer/batch.h"
#include "transfer/throughput.h"

struct random_case {
    struct topology topology;
    struct batch_stream streams[BATCH_MAX_STREAMS];
    size_t n;
    struct batch batch;
};

/* One memory, one or two hubs, up to six GPUs with one or two engines; links both ways. */
static void make_topology(struct random_state *random, struct topology *ret_topology)
{
    char text[8192];
    size_t gpus = 1 + random_below(random, 6);
    size_t hubs = 1 + random_below(random, 2);
    size_t at = (size_t)snprintf(text, sizeof text, "setup_ms: %g\ngpus:\n", random_unit(random));
    struct input_error error;

    if (random_below(random, 2)) /* the speed of a command depends on its size */
        at = (size_t)snprintf(
            text, sizeof text,
            "sizes: [{bytes: 1 MB, ratio: %.3f}, {bytes: 8 MB, ratio: %.3f}, {bytes: 100 MB, ratio: "
            "%.3f}]\ngpus:\n",
            0.2 + random_unit(random), 0.2 + random_unit(random), 0.2 + random_unit(random));
    for (size_t g = 0; g < gpus; g++)
        at += (size_t)snprintf(text + at, sizeof text - at, "  - {node: GPU%zu, engines: %d}\n", g,
                               (int)random_between(random, 1, 2));
    at += (size_t)snprintf(text + at, sizeof text - at, "links:\n");
    for (size_t h = 0; h < hubs; h++)
        at += (size_t)snprintf(
            text + at, sizeof text - at,
            "  - {from: MEM0, to: H%zu, gbps: %.3f}\n  - {from: H%zu, to: MEM0, gbps: %.3f}\n", h,
            1 + 11 * random_unit(random), h, 1 + 11 * random_unit(random));
    for (size_t g = 0; g < gpus; g++) {
        size_t hub = random_below(random, hubs);

        at += (size_t)snprintf(
            text + at, sizeof text - at,
            "  - {from: H%zu, to: GPU%zu, gbps: %.3f}\n  - {from: GPU%zu, to: H%zu, gbps: %.3f}\n", hub, g,
            1 + 8 * random_unit(random), g, hub, 1 + 8 * random_unit(random));
    }
    ck_assert_int_eq(topology_read("random", text, at, ret_topology, &error), 0);
}

static void make_case(uint64_t seed, struct random_case *ret_case)
{
    struct random_state random;
    struct topology *topology = &ret_case->topology;
    int memory;
    size_t unresolved;

    random_init(&random, seed, 5);
    make_topology(&random, topology);
    memory = topology_node(topology, "MEM0");
    ret_case->n = 1 + random_below(&random, 6);
    for (size_t i = 0; i < ret_case->n; i++) {
        struct batch_stream *stream = &ret_case->streams[i];
        int gpu;

        do
            gpu = (int)random_below(&random, topology->n_nodes);
        while (topology->nodes[gpu].role != ROLE_GPU);
        *stream = (struct batch_stream){.name = "s", .from = memory, .to = gpu, .gpu = -1};
        stream->bytes = random_between(&random, 1000000, 200000000);
        switch (random_below(&random, 5)) {
        case 0: /* down */
            stream->from = gpu;
            stream->to = memory;
            break;
        case 1: /* kernel alone */
            stream->bytes = 0;
            stream->from = stream->to = -1;
            stream->gpu = gpu;
            stream->kernel = random_between(&random, 1, 30 * NSEC_PER_MS);
            break;
        case 2: /* up alone */
            break;
        default:
            stream->gpu = gpu;
            stream->kernel = random_between(&random, 1, 30 * NSEC_PER_MS);
        }
    }
    ck_assert_int_eq(
        batch_resolve(topology, ret_case->streams, ret_case->n, NULL, &ret_case->batch, &unresolved), 0);
}

/*
 * Every flow crosses a full link on which no flow is faster, and no link carries more than it can.
 */
START_TEST(rates_are_max_min_fair)
{
    size_t shared = 0;

    for (uint64_t seed = 1; seed <= harness_scale(2000, 200000); seed++) {
        struct random_case it;
        size_t active[BATCH_MAX_STREAMS];
        double rates[BATCH_MAX_STREAMS];
        double load[TOPOLOGY_MAX_LINKS] = {0};
        double fastest[TOPOLOGY_MAX_LINKS] = {0};
        size_t n = 0;

        make_case(seed, &it);
        for (size_t i = 0; i < it.n; i++) {
            if (it.batch.flows[i].bytes > 0)
                active[n++] = i;
        }
        throughput_rates(&it.batch, active, n, rates);
        for (size_t k = 0; k < n; k++) {
            const struct batch_flow *flow = &it.batch.flows[active[k]];

            for (size_t l = 0; l < flow->n_links; l++) {
                load[flow->links[l]] += rates[k];
                fastest[flow->links[l]] = fmax(fastest[flow->links[l]], rates[k]);
            }
            shared += n > 1 && rates[k] < flow->alone - 1e-9;
        }
        for (size_t k = 0; k < n; k++) {
            const struct batch_flow *flow = &it.batch.flows[active[k]];
            bool has_bottleneck = false;

            for (size_t l = 0; l < flow->n_links; l++) {
                unsigned link = flow->links[l];
                double capacity = it.topology.links[link].gbps;

                ck_assert_msg(load[link] <= capacity * (1 + 1e-9), "seed %llu", (unsigned long long)seed);
                has_bottleneck = has_bottleneck || (load[link] >= capacity * (1 - 1e-9) &&
                                                    rates[k] >= fastest[link] * (1 - 1e-9));
            }
            ck_assert_msg(has_bottleneck, "seed %llu: flow %zu", (unsigned long long)seed, active[k]);
        }
        topology_done(&it.topology);
    }
    ck_assert_uint_gt(shared, 500);
}
END_TEST

static void check_kernels(const struct random_case *it, const struct batch_timeline *timeline, uint64_t seed)
{
    for (size_t i = 0; i < it->n; i++) {
        const struct stream_times *a = &timeline->streams[i];

        ck_assert_msg(a->copy_begin >= 0 && a->copy_begin <= a->copy_end &&
                          a->copy_end <= a->kernel_begin + 2 && a->kernel_begin <= a->kernel_end &&
                          a->kernel_end <= timeline->total + 2,
                      "seed %llu: stream %zu", (unsigned long long)seed, i);
        if (it->streams[i].kernel > 0)
            ck_assert_int_le(llabs(a->kernel_end - a->kernel_begin - it->streams[i].kernel), 2);
        for (size_t k = 0; k < i; k++) {
            const struct stream_times *b = &timeline->streams[k];

            if (it->streams[i].kernel > 0 && it->streams[k].kernel > 0 &&
                it->streams[i].gpu == it->streams[k].gpu)
                ck_assert_msg(a->kernel_end <= b->kernel_begin + 2 || b->kernel_end <= a->kernel_begin + 2,
                              "seed %llu: kernels overlap", (unsigned long long)seed);
        }
    }
}

/*
 * Replays forward in time: at the timeline's copy_begin each copy starts, the bus shares itself
 * out, and each must end at copy_end.
 */
static void replay_aligned(const struct random_case *it, const struct batch_timeline *timeline, uint64_t seed)
{
    double left[BATCH_MAX_STREAMS];
    double now = 0;

    for (size_t i = 0; i < it->n; i++)
        left[i] =
            (double)it->streams[i].bytes / topology_size_ratio(&it->topology, (double)it->streams[i].bytes);
    for (;;) {
        size_t active[BATCH_MAX_STREAMS];
        double rates[BATCH_MAX_STREAMS];
        double next = INFINITY;
        size_t n = 0;

        for (size_t i = 0; i < it->n; i++) {
            double begin = (double)timeline->streams[i].copy_begin;

            if (left[i] > 0 && begin <= now + 1)
                active[n++] = i;
            else if (left[i] > 0)
                next = fmin(next, begin);
        }
        if (n == 0 && isinf(next))
            return;
        if (n > 0)
            throughput_rates(&it->batch, active, n, rates);
        for (size_t k = 0; k < n; k++)
            next = fmin(next, now + left[active[k]] / rates[k]);
        for (size_t k = 0; k < n; k++) {
            left[active[k]] -= rates[k] * (next - now);
            if (left[active[k]] > 64) /* bytes: what rounding to nanoseconds leaves */
                continue;
            left[active[k]] = 0;
            ck_assert_msg(fabs(next - (double)timeline->streams[active[k]].copy_end) < 200,
                          "seed %llu: copy %zu ends at %f, predicted %lld", (unsigned long long)seed,
                          active[k], next, (long long)timeline->streams[active[k]].copy_end);
        }
        now = next;
    }
}

START_TEST(aligned_timelines_come_true_when_replayed_forward)
{
    for (uint64_t seed = 1; seed <= harness_scale(2000, 200000); seed++) {
        struct batch_timeline timeline;
        struct random_case it;

        make_case(seed, &it);
        batch_predict(&it.batch, &method_aligned, &timeline, NULL);
        check_kernels(&it, &timeline, seed);
        replay_aligned(&it, &timeline, seed);
        topology_done(&it.topology);
    }
}
END_TEST

/*
 * A paced plan moves all bytes before the kernel, never beyond a link's capacity or an engine's
 * time.
 */
static void check_pacing(const struct random_case *it, const struct batch_timeline *timeline,
                         const struct pacing *pacing, uint64_t seed)
{
    double moved[BATCH_MAX_STREAMS] = {0};
    double begin = it->batch.setup;

    for (size_t k = 0; k < pacing->n_steps; k++) {
        double load[TOPOLOGY_MAX_LINKS] = {0};
        double busy[2 * TOPOLOGY_MAX_NODES] = {0};

        for (size_t i = 0; i < it->n; i++) {
            const struct batch_flow *flow = &it->batch.flows[i];
            double bytes = (double)it->streams[i].bytes;
            double chunk = fmin(bytes, (double)batch_chunk_bytes((size_t)it->streams[i].bytes));
            double rate = pacing->rate[k][i];

            moved[i] += rate * (pacing->end[k] - begin);
            rate /=
                bytes > 0 ? topology_size_ratio(&it->topology, chunk) : 1; /* as links and engines count */
            ck_assert(rate == 0 || pacing->end[k] <= (double)timeline->streams[i].copy_end + 2);
            for (size_t l = 0; l < flow->n_links; l++)
                load[flow->links[l]] += rate;
            for (size_t e = 0; e < flow->n_engines; e++)
                busy[flow->engines[e]] += rate / flow->alone;
        }
        for (size_t l = 0; l < it->topology.n_links; l++)
            ck_assert_msg(load[l] <= it->topology.links[l].gbps * (1 + 1e-6), "seed %llu",
                          (unsigned long long)seed);
        for (size_t e = 0; e < 2 * it->topology.n_nodes; e++)
            ck_assert_msg(busy[e] <= 1 + 1e-6, "seed %llu", (unsigned long long)seed);
        begin = pacing->end[k];
    }
    for (size_t i = 0; i < it->n; i++)
        ck_assert_msg(moved[i] >= (double)it->streams[i].bytes * (1 - 1e-6) - 1,
                      "seed %llu: stream %zu moved %f", (unsigned long long)seed, i, moved[i]);
}

START_TEST(no_method_beats_the_bound_and_paced_beats_aligned)
{
    static struct pacing pacing;
    size_t strictly = 0;
    double worst = 1;

    for (uint64_t seed = 1; seed <= harness_scale(1500, 100000); seed++) {
        baton_nsec total[4] = {0};
        baton_nsec bound;
        struct random_case it;

        make_case(seed, &it);
        ck_assert_int_eq(batch_bound(&it.batch, &bound), 0);
        for (size_t m = 0; batch_methods[m]; m++) {
            struct batch_timeline timeline;

            ck_assert_int_eq(batch_predict(&it.batch, batch_methods[m], &timeline, &pacing), 0);
            check_kernels(&it, &timeline, seed);
            if (batch_methods[m] == &method_paced)
                check_pacing(&it, &timeline, &pacing, seed);
            total[m] = timeline.total;
            ck_assert_msg(total[m] >= bound - 10, "seed %llu: %s takes %lld, bound %lld",
                          (unsigned long long)seed, batch_methods[m]->name, (long long)total[m],
                          (long long)bound);
        }
        /* Chunks may be slower than whole copies. */
        ck_assert_msg(it.topology.n_sizes > 0 || total[1] <= total[0] + 10,
                      "seed %llu: paced %lld, aligned %lld", (unsigned long long)seed, (long long)total[1],
                      (long long)total[0]);
        strictly += (double)total[1] < 0.99 * (double)total[0];
        worst = fmax(worst, (double)total[0] / (double)total[1]);
        topology_done(&it.topology);
    }
    ck_assert_uint_gt(strictly, 50); /* the generator reaches the interesting side */
    ck_assert_double_gt(worst, 1.1);
}
END_TEST

HARNESS_MAIN("transfer properties", 60, rates_are_max_min_fair,
             aligned_timelines_come_true_when_replayed_forward,
             no_method_beats_the_bound_and_paced_beats_aligned)
