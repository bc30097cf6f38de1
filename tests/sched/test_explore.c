/* Exhaustive exploration of small worlds: three clients and two GPUs for the engines, up to five clients for the token locks. */
#include <stdio.h>

#include "harness.h"
#include "world.h"

static struct engine_set set_of(unsigned bits)
{
    return (struct engine_set){{bits}};
}

/*
 * Two GPUs with one copy engine each and one bus: engines 0 = gpu0, 1 = its copies, 2 = gpu1, 3 = its copies, 4 = bus. The
 * menu: a kernel pinned to gpu0, one pinned to gpu1, one for any GPU, copies to either GPU, a batch over both GPUs.
 */
static struct world engines_world(enum sched_profile_id profile)
{
    return (struct world){
        .config = {.profile = profile,
                   .gpus = 2,
                   .copy_engines = 1,
                   .buses = 1,
                   .tokens_per_gpu = 1,
                   .cpus = 2,
                   .clients = 3,
                   .jobs = 3,
                   .lanes = 1},
        .clients = 3,
        .menu = {{set_of(1), false, false},
                 {set_of(4), false, false},
                 {set_of(5), true, false},
                 {set_of(2 | 16), false, false},
                 {set_of(8 | 16), false, false},
                 {set_of(1 | 4), false, true}},
        .n_menu = 6,
        .depth = 12,
        .max_states = 60000,
    };
}

static struct world tokens_world(enum sched_lock_id lock, unsigned clients, unsigned gpus, unsigned rho,
                                 unsigned c)
{
    return (struct world){
        .config = {.profile = PROFILE_GPUSYNC,
                   .lock = lock,
                   .gpus = gpus,
                   .copy_engines = 1,
                   .buses = 1,
                   .tokens_per_gpu = rho,
                   .cpus = c,
                   .clients = clients,
                   .jobs = clients,
                   .lanes = 1},
        .clients = clients,
        .depth = 40,
        .max_states = 40000,
    };
}

static struct world_report explore(const struct world *world)
{
    struct world_report report;

    world_explore(world, &report);
    printf("%zu states, %zu moves, depth %u; grants %zu, yields %zu, tokens %zu, donations %zu, parked %zu, "
           "groups %zu\n",
           report.states, report.moves, report.depth, report.grants, report.yields, report.tokens,
           report.donations, report.parked, report.groups_waited);
    ck_assert_msg(report.broken[0] == 0, "broken: %s", report.broken);
    ck_assert(report.states > 300);
    return report;
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
    world.depth = 9;
    explore(&world);
}
END_TEST

START_TEST(fifo_and_priority_whole_keep_their_order_and_never_ask_to_yield)
{
    for (int i = 0; i < 2; i++) {
        struct world world = engines_world(i ? PROFILE_FIFO : PROFILE_PRIORITY_WHOLE);
        struct world_report report;

        world.deaths = true;
        world.max_states = 30000;
        report = explore(&world);
        ck_assert_uint_eq(report.yields, 0);
        ck_assert_int_eq(report.effs == 0, i);
    }
}
END_TEST

START_TEST(gpusync_engines_are_fifo_groups_without_deadlock)
{
    struct world world = tokens_world(LOCK_R2DGLP, 3, 2, 2, 3);

    /* Execution engine or copy engine of either GPU, and the pair of copy engines for a peer-to-peer copy. */
    world.menu[0] = (struct world_request){set_of(1), false, false};
    world.menu[1] = (struct world_request){set_of(2), false, false};
    world.menu[2] = (struct world_request){set_of(4), false, false};
    world.menu[3] = (struct world_request){set_of(8), false, false};
    world.menu[4] = (struct world_request){set_of(2 | 8), false, false};
    world.n_menu = 5;
    world.deaths = true;
    world.depth = 12;
    ck_assert(explore(&world).groups_waited > 100);
}
END_TEST

START_TEST(gpusync_inheritance_follows_the_chains)
{
    struct world world = tokens_world(LOCK_R2DGLP, 4, 1, 2, 2);

    world.menu[0] = (struct world_request){set_of(1), false, false};
    world.menu[1] = (struct world_request){set_of(2), false, false};
    world.n_menu = 2;
    world.depth = 40;
    ck_assert(explore(&world).effs > 1000);
}
END_TEST

START_TEST(r2dglp_keeps_its_invariants_and_bound_in_all_interleavings)
{
    /* c = 2, k = 1: two slots, donors and parked requests; c = 3, k = 2: F = 3, CAP = 2; c = 1, k = 2: X2, k > c. */
    static const unsigned shape[][4] = {{5, 1, 1, 2}, {5, 2, 1, 3}, {5, 1, 2, 1}, {5, 2, 1, 4}};
    size_t donations = 0;
    size_t parked = 0;

    for (unsigned i = 0; i < sizeof shape / sizeof shape[0]; i++) {
        for (int deaths = 0; deaths < 2; deaths++) {
            struct world world =
                tokens_world(LOCK_R2DGLP, shape[i][0], shape[i][1], shape[i][2], shape[i][3]);
            struct world_report report;

            world.deaths = deaths;
            world.max_states = 20000;
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
    for (int deaths = 0; deaths < 2; deaths++) {
        struct world world = tokens_world(LOCK_CK_OMLP, 5, 1, 1, 4);
        struct world_report report;

        world.config.cpu_cluster = 2;
        world.config.sharing_cpus = 4;
        world.cpu_cluster[3] = world.cpu_cluster[4] = 1;
        world.deaths = deaths;
        report = explore(&world);
        ck_assert(report.donations > 100 && report.parked > 100);
    }
}
END_TEST

HARNESS_MAIN("explore", 60, priority_keeps_every_engine_rule_in_all_interleavings,
             priority_keeps_them_when_clients_die_and_engines_are_blocked,
             fifo_and_priority_whole_keep_their_order_and_never_ask_to_yield,
             gpusync_engines_are_fifo_groups_without_deadlock, gpusync_inheritance_follows_the_chains,
             r2dglp_keeps_its_invariants_and_bound_in_all_interleavings, fifo_k_exclusion_keeps_its_bound,
             ck_omlp_keeps_its_invariants_in_all_interleavings)
