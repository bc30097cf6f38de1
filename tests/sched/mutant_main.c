/*
 * Explores small worlds with one rule of the core broken (tests/sched/mutants): exits 0 and names
 * the rule when the exploration notices, 1 when the mutant survives.
 */
#include <stdio.h>
#include <stdlib.h>

#include "worlds.h"

static int try_world(struct world world)
{
    struct world_report report;

    world.max_states = world.equals ? 0 : 30000;
    world_explore(&world, &report);
    if (report.broken[0])
        printf("caught after %zu states: %s\n", report.states, report.broken);
    return report.broken[0] != 0;
}

static int try_tokens(bool deaths)
{
    static const unsigned shapes[][4] = {{5, 1, 1, 2}, {5, 2, 1, 3}, {5, 1, 2, 1}, {4, 1, 2, 2}};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct world world =
            tokens_world(LOCK_R2DGLP, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);

        world.deaths = deaths;
        if (i == 3) {
            world.menu[0] = (struct world_request){set_of(1), false, false};
            world.menu[1] = (struct world_request){set_of(2), false, false};
            world.n_menu = 2;
        }
        if (try_world(world))
            return 1;
    }
    return 0;
}

/* Two CPU clusters share one GPU: of two CPUs each, and of one each. */
static int try_ck(bool deaths)
{
    for (unsigned c = 2; c > 0; c--) {
        struct world world = tokens_world(LOCK_CK_OMLP, 5, 1, 1, 2 * c);

        world.config.cpu_cluster = c;
        world.config.sharing_cpus = 2 * c;
        world.cpu_cluster[3] = world.cpu_cluster[4] = 1;
        world.deaths = deaths;
        if (try_world(world))
            return 1;
    }
    return 0;
}

int main(void)
{
    if (try_world(equals_world(1)))
        return EXIT_SUCCESS;
    for (int deaths = 0; deaths < 2; deaths++) {
        struct world engines = engines_world(PROFILE_PRIORITY);

        engines.deaths = deaths;
        if (try_world(engines) || try_tokens(deaths) || try_ck(deaths))
            return EXIT_SUCCESS;
    }
    printf("survived\n");
    return EXIT_FAILURE;
}
