/* worst_rate() against every set of transfers that can be under way together. */
#include <stdio.h>

#include "base/random.h"
#include "harness.h"
#include "transfer/throughput.h"
#include "transfer/worst.h"

/*
 * A tree: MEM0 and MEM1 on a hub each, the hubs joined, two GPUs behind each. Bandwidths are from 1
 * to 12, and a table has two measured pairs.
 */
static void random_topology(struct random_state *random, struct topology *ret_topology)
{
    static const char *const edges[][2] = {{"MEM0", "H0"}, {"MEM1", "H1"}, {"H0", "H1"},  {"H0", "GPU0"},
                                           {"H0", "GPU1"}, {"H1", "GPU2"}, {"H1", "GPU3"}};
    struct input_error error;
    char text[4096];
    size_t at = (size_t)snprintf(text, sizeof text, "links:\n");

    for (size_t i = 0; i < 2 * sizeof edges / sizeof edges[0]; i++) {
        const char *const *edge = edges[i / 2];

        at += (size_t)snprintf(text + at, sizeof text - at, "  - {from: %s, to: %s, gbps: %d}\n", edge[i % 2],
                               edge[1 - i % 2], 1 + (int)random_below(random, 12));
    }
    (void)snprintf(text + at, sizeof text - at,
                   "measured:\n  - {transfers: [[MEM0, GPU0], [MEM0, GPU1]], gbps: [%d, %d]}\n",
                   1 + (int)random_below(random, 4), 1 + (int)random_below(random, 4));
    ck_assert_msg(topology_read("tree", text, strlen(text), ret_topology, &error) == 0,
                  "%s: expected %s, found %s", text, error.expected, error.found);
}

START_TEST(no_set_of_transfers_is_slower_and_some_are_as_slow)
{
    static const char *const ends[] = {"MEM0", "MEM1", "GPU0", "GPU1", "GPU2", "GPU3"};
    static const struct batch_options options = {.worst_case = true};
    struct random_state random;
    size_t reached = 0;
    size_t asked = 0;

    random_init(&random, 31, 0);
    for (size_t round = 0; round < harness_scale(300, 20000); round++) {
        struct topology topology;
        struct batch_stream streams[7];
        size_t owner[7];
        size_t n = 1 + random_below(&random, 7);
        size_t unresolved;
        static struct batch batch;

        random_topology(&random, &topology);
        for (size_t i = 0; i < n; i++) {
            bool in = random_below(&random, 2);
            int memory = topology_node(&topology, ends[random_below(&random, 2)]);
            int gpu = topology_node(&topology, ends[2 + random_below(&random, 4)]);

            streams[i] = (struct batch_stream){
                .name = "s", .from = in ? memory : gpu, .to = in ? gpu : memory, .bytes = 1 << 20, .gpu = -1};
            owner[i] = random_below(&random, 4);
        }
        ck_assert_int_eq(batch_resolve(&topology, streams, n, &options, &batch, &unresolved), 0);
        for (size_t self = 0; self < n; self++) {
            double worst = worst_rate(&batch, self, owner);
            double slowest = 1e9;

            for (unsigned set = 0; set < 1u << n; set++) {
                size_t active[7];
                double rates[7];
                size_t m = 0;
                unsigned owners = 0;
                bool fits = set >> self & 1;

                for (size_t i = 0; i < n; i++) {
                    if (!(set >> i & 1))
                        continue;
                    fits = fits && !(owners >> owner[i] & 1);
                    owners |= 1u << owner[i];
                    active[m++] = i;
                }
                if (!fits)
                    continue;
                throughput_rates(&batch, active, m, rates);
                for (size_t i = 0; i < m; i++) {
                    if (active[i] == self && rates[i] < slowest)
                        slowest = rates[i];
                }
            }
            ck_assert_double_ge(slowest, worst * (1 - 1e-9));
            reached += slowest <= worst * (1 + 1e-9);
            asked++;
        }
        topology_done(&topology);
    }
    ck_assert_uint_gt(reached, asked / 2);
    ck_assert_uint_lt(reached, asked);
}
END_TEST

HARNESS_MAIN("worst rate", 60, no_set_of_transfers_is_slower_and_some_are_as_slow)
