/*
 * Thousands of histories of the whole protocol in one process. BATON_SEED=N runs history N alone
 * and prints it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "world.h"

#define STEPS 1500

static void run_histories(enum sched_profile_id profile, uint64_t first, uint64_t n)
{
    static struct world world;
    const char *only = getenv("BATON_SEED");
    uint64_t kills = 0, restarts = 0, cuts = 0, yields = 0, fast = 0, begins = 0, groups = 0, nested = 0,
             outlived = 0, group_kills = 0, placed = 0, plans = 0, efforts = 0, followed = 0, flights = 0,
             kept = 0;

    world.verbose = only != NULL;
    if (only) {
        first = strtoull(only, NULL, 10);
        n = 1;
    }
    for (uint64_t seed = first; seed < first + n; seed++) {
        bool good = world_run(&world, seed, profile, STEPS);

        world_done(&world);
        ck_assert_msg(good, "history %" PRIu64 ", step %" PRIu64 ": %s (replay: BATON_SEED=%" PRIu64 ")",
                      seed, world.step, world.failure, seed);
        kills += world.seen.client_kills;
        restarts += world.seen.daemon_kills;
        cuts += world.seen.cuts;
        yields += world.seen.yields;
        fast += world.seen.fast_begins;
        begins += world.seen.begins;
        groups += world.seen.groups;
        nested += world.seen.nested;
        outlived += world.seen.outlived;
        followed += world.seen.followed;
        group_kills += world.seen.group_kills;
        placed += world.seen.placed;
        plans += world.seen.plans;
        efforts += world.seen.efforts;
        flights += world.seen.flights;
        kept += world.seen.flights_kept;
    }
    printf("%" PRIu64 " histories: %" PRIu64 " begins (%" PRIu64 " without a message), %" PRIu64
           " yields, %" PRIu64 " kills, %" PRIu64 " restarts, %" PRIu64 " cuts\n",
           n, begins, fast, yields, kills, restarts, cuts);
    printf("%" PRIu64 " batches (%" PRIu64 " killed), %" PRIu64 " commands within them, %" PRIu64
           " outlived them; %" PRIu64 " placements, %" PRIu64 " plannings, %" PRIu64
           " terms of best effort\n",
           groups, group_kills, nested, outlived, placed, plans, efforts);
    printf("%" PRIu64 " commands left in flight, %" PRIu64 " of them wanted by nobody to the end\n", flights,
           kept);
    if (only)
        return;
    /* The generator must reach what it is for. */
    ck_assert_uint_gt(kills, n);
    ck_assert_uint_gt(restarts, n / 4);
    ck_assert_uint_gt(cuts, n);
    ck_assert_uint_gt(begins, 20 * n);
    ck_assert_uint_gt(fast, 2 * n);
    ck_assert_uint_gt(groups, 5 * n);
    ck_assert_uint_gt(nested, n);
    ck_assert_uint_gt(outlived, n / 4);
    ck_assert_uint_gt(followed, n);
    ck_assert_uint_gt(group_kills, n / 4);
    ck_assert_uint_gt(placed, n);
    ck_assert_uint_gt(plans, n);
    ck_assert_uint_gt(efforts, n);
    ck_assert_uint_gt(flights, n);
    ck_assert_uint_gt(kept, 0);
    if (sched_profiles[profile].pieces)
        ck_assert_uint_gt(yields, n);
}

START_TEST(engines_are_exclusive_and_nothing_is_lost_under_priority)
{
    run_histories(PROFILE_PRIORITY, 1, harness_scale(2500, 200000));
}
END_TEST

START_TEST(engines_are_exclusive_and_nothing_is_lost_under_fifo)
{
    run_histories(PROFILE_FIFO, 1000001, harness_scale(600, 50000));
}
END_TEST

START_TEST(engines_are_exclusive_and_nothing_is_lost_under_priority_whole)
{
    run_histories(PROFILE_PRIORITY_WHOLE, 2000001, harness_scale(600, 50000));
}
END_TEST

HARNESS_MAIN("histories", 120, engines_are_exclusive_and_nothing_is_lost_under_priority,
             engines_are_exclusive_and_nothing_is_lost_under_fifo,
             engines_are_exclusive_and_nothing_is_lost_under_priority_whole)
