/*
 * Thousands of histories of the whole protocol in one process. BATON_SEED=N runs history N alone
 * and prints it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "world.h"

#define STEPS 1500

/* Adds what one history saw to what all of them saw. */
static void add_seen(struct world_seen *all, const struct world_seen *one)
{
    uint64_t of_all[sizeof *all / sizeof(uint64_t)], of_one[sizeof *all / sizeof(uint64_t)];

    memcpy(of_all, all, sizeof of_all);
    memcpy(of_one, one, sizeof of_one);
    for (size_t i = 0; i < sizeof of_all / sizeof of_all[0]; i++)
        of_all[i] += of_one[i];
    memcpy(all, of_all, sizeof of_all);
}

static void print_seen(const struct world_seen *all, uint64_t n)
{
    printf("%" PRIu64 " histories: %" PRIu64 " begins (%" PRIu64 " without a message), %" PRIu64
           " yields, %" PRIu64 " kills, %" PRIu64 " restarts, %" PRIu64 " cuts\n",
           n, all->begins, all->fast_begins, all->yields, all->client_kills, all->daemon_kills, all->cuts);
    printf("%" PRIu64 " batches (%" PRIu64 " killed), %" PRIu64 " commands within them, %" PRIu64
           " outlived them; %" PRIu64 " placements, %" PRIu64 " plannings, %" PRIu64
           " terms of best effort\n",
           all->groups, all->group_kills, all->nested, all->outlived, all->placed, all->plans, all->efforts);
    printf("%" PRIu64 " commands left in flight, %" PRIu64 " of them never wanted by another client\n",
           all->flights, all->flights_kept);
}

/* The generator must reach what it is for. */
static void check_seen(const struct world_seen *all, uint64_t n)
{
    ck_assert_uint_gt(all->client_kills, n);
    ck_assert_uint_gt(all->daemon_kills, n / 4);
    ck_assert_uint_gt(all->cuts, n);
    ck_assert_uint_gt(all->begins, 20 * n);
    ck_assert_uint_gt(all->fast_begins, 2 * n);
    ck_assert_uint_gt(all->groups, 5 * n);
    ck_assert_uint_gt(all->nested, n);
    ck_assert_uint_gt(all->outlived, n / 4);
    ck_assert_uint_gt(all->followed, n);
    ck_assert_uint_gt(all->group_kills, n / 4);
    ck_assert_uint_gt(all->placed, n);
    ck_assert_uint_gt(all->plans, n);
    ck_assert_uint_gt(all->efforts, n);
    ck_assert_uint_gt(all->flights, n);
    ck_assert_uint_gt(all->flights_kept, 0);
}

static void run_histories(enum sched_profile_id profile, uint64_t first, uint64_t n)
{
    static struct world world;
    const char *only = getenv("BATON_SEED");
    struct world_seen all = {0};

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
        add_seen(&all, &world.seen);
    }
    print_seen(&all, n);
    if (only)
        return;
    check_seen(&all, n);
    if (sched_profiles[profile].pieces)
        ck_assert_uint_gt(all.yields, n);
}

START_TEST(engines_are_exclusive_and_nothing_is_lost_under_priority)
{
    run_histories(PROFILE_PRIORITY, 1, harness_scale(1000, 200000));
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
