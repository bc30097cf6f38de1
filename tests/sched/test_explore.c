/*
 * Exhaustive exploration of small worlds: three clients and two GPUs for the engines, up to five
 * clients for the token locks.
 */
#include <stdio.h>

#include "harness.h"
#include "worlds.h"

/*
 * Every reachable state, or so many; under a sanitizer, which is there for the memory and not for
 * the rules, only the first ones.
 */
static struct world_report explore_some(struct world *world, size_t most)
{
    struct world_report report;

    world->max_states = harness_sanitized() ? 20000 : most;
    world_explore(world, &report);
    printf(
        "%zu states, %zu moves, depth %u%s; grants %zu, yields %zu, tokens %zu, donations %zu, parked %zu, "
        "groups %zu\n",
        report.states, report.moves, report.depth, report.complete ? ", all" : "", report.grants,
        report.yields, report.tokens, report.donations, report.parked, report.groups_waited);
    ck_assert_msg(report.broken[0] == 0, "broken: %s", report.broken);
    ck_assert(report.complete || harness_sanitized() || most);
    ck_assert(report.states > 300);
    return report;
}

static struct world_report explore(struct world *world)
{
    return explore_some(world, 0);
}

START_TEST(priority_keeps_every_engine_rule_in_all_interleavings)
{
    struct world world = engines_world(PROFILE_PRIORITY);
    struct world_report report = explore(&world);

    ck_assert(report.yields > 1000 && report.effs > 1000 && report.groups_waited > 1000);
}
END_TEST

START_TEST(priority_keeps_them_when_clients_die_and_engines_are_blocked)
{
    struct world world = engines_world(PROFILE_PRIORITY);

    world.deaths = world.blocks = true;
    explore(&world);
}
END_TEST

START_TEST(fifo_and_priority_whole_keep_their_order_and_never_ask_to_yield)
{
    for (int i = 0; i < 2; i++) {
        struct world world = engines_world(i ? PROFILE_FIFO : PROFILE_PRIORITY_WHOLE);
        struct world_report report;

        world.deaths = true;
        report = explore(&world);
        ck_assert_uint_eq(report.yields, 0);
        ck_assert(report.turns > 1000);
        ck_assert_int_eq(report.effs == 0, i);
    }
}
END_TEST

START_TEST(equals_take_turns_and_none_waits_longer_than_the_bound)
{
    struct world world = equals_world(1);
    struct world_report report = explore(&world);

    ck_assert(report.turns > 1000 && report.yields > 100);
    ck_assert(report.most_waited >= 3 || harness_sanitized()); /* of 6: it gets to where the bound matters */
}
END_TEST

START_TEST(equals_keep_every_engine_rule_with_copies_and_batches)
{
    /* Their states are in the millions: those that are nearest to the start. */
    for (unsigned kind = 2; kind <= 3; kind++) {
        struct world world = equals_world(kind);

        ck_assert(explore_some(&world, 300000).groups_waited > 1000);
    }
}
END_TEST

START_TEST(gpusync_engines_are_fifo_groups_without_deadlock)
{
    struct world world = tokens_world(LOCK_R2DGLP, 3, 2, 2, 3);

    /*
     * Execution engine or copy engine of either GPU, and the pair of copy engines for a
     * peer-to-peer copy.
     */
    world.menu[0] = (struct world_request){set_of(1), false, false};
    world.menu[1] = (struct world_request){set_of(2), false, false};
    world.menu[2] = (struct world_request){set_of(4), false, false};
    world.menu[3] = (struct world_request){set_of(8), false, false};
    world.menu[4] = (struct world_request){set_of(2 | 8), false, false};
    world.n_menu = 5;
    world.deaths = true;
    ck_assert(explore(&world).groups_waited > 100);
}
END_TEST

START_TEST(gpusync_inheritance_follows_the_chains)
{
    struct world world = tokens_world(LOCK_R2DGLP, 4, 1, 2, 2);

    world.menu[0] = (struct world_request){set_of(1), false, false};
    world.menu[1] = (struct world_request){set_of(2), false, false};
    world.n_menu = 2;
    ck_assert(explore(&world).effs > 1000);
}
END_TEST

START_TEST(r2dglp_keeps_its_invariants_and_bound_in_all_interleavings)
{
    /*
     * c = 2, k = 1: two slots, donors and parked requests; c = 3, k = 2: F = 3, CAP = 2; c = 1, k =
     * 2: X2, k > c.
     */
    static const unsigned shape[][4] = {{5, 1, 1, 2}, {5, 2, 1, 3}, {5, 1, 2, 1}, {5, 2, 1, 4}};
    size_t donations = 0;
    size_t parked = 0;

    for (unsigned i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        for (int deaths = 0; deaths < 2; deaths++) {
            struct world world =
                tokens_world(LOCK_R2DGLP, shape[i][0], shape[i][1], shape[i][2], shape[i][3]);
            struct world_report report;

            world.deaths = deaths;
            report = explore(&world);
            donations += report.donations;
            parked += report.parked;
        }
    }
    ck_assert(donations > 1000 && parked > 1000);
}
END_TEST

START_TEST(fifo_k_exclusion_keeps_its_bound)
{
    struct world world = tokens_world(LOCK_FIFO, 5, 2, 1, 2);

    ck_assert_uint_eq(explore(&world).donations, 0);
}
END_TEST

START_TEST(ck_omlp_keeps_its_invariants_in_all_interleavings)
{
    /* Two CPU clusters share one GPU: of two CPUs each, and of one each. */
    for (unsigned i = 0; i < 4; i++) {
        struct world world = tokens_world(LOCK_CK_OMLP, 5, 1, 1, i < 2 ? 4 : 2);
        struct world_report report;

        world.config.cpu_cluster = i < 2 ? 2 : 1;
        world.config.sharing_cpus = i < 2 ? 4 : 2;
        world.cpu_cluster[3] = world.cpu_cluster[4] = 1;
        world.deaths = i % 2;
        report = explore(&world);
        ck_assert(report.donations > 100 && report.parked > 100);
    }
}
END_TEST

HARNESS_MAIN("explore", 120, priority_keeps_every_engine_rule_in_all_interleavings,
             priority_keeps_them_when_clients_die_and_engines_are_blocked,
             fifo_and_priority_whole_keep_their_order_and_never_ask_to_yield,
             equals_take_turns_and_none_waits_longer_than_the_bound,
             equals_keep_every_engine_rule_with_copies_and_batches,
             gpusync_engines_are_fifo_groups_without_deadlock, gpusync_inheritance_follows_the_chains,
             r2dglp_keeps_its_invariants_and_bound_in_all_interleavings, fifo_k_exclusion_keeps_its_bound,
             ck_omlp_keeps_its_invariants_in_all_interleavings)
