#include "worlds.h"

struct engine_set set_of(unsigned bits)
{
    return (struct engine_set){{bits}};
}

/*
 * Two GPUs with one copy engine each and one bus: engines 0 = gpu0, 1 = its copies, 2 = gpu1, 3 =
 * its copies, 4 = bus. The menu: a kernel pinned to gpu0, one pinned to gpu1, one for any GPU,
 * copies to either GPU, a batch over both GPUs.
 */
struct world engines_world(enum sched_profile_id profile)
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
    };
}

/*
 * One GPU: engines 0 = gpu0, 1 = its copies, 2 = bus. The menu: a kernel; a copy, or a batch over
 * everything.
 */
struct world equals_world(unsigned kind)
{
    struct world world = engines_world(PROFILE_PRIORITY);

    world.config.gpus = 1;
    world.equals = true;
    world.bounded = kind < 3;
    world.menu[1] = (struct world_request){set_of(2 | 4), false, false};
    if (kind == 3)
        world.menu[1] = (struct world_request){set_of(1 | 2 | 4), false, true};
    world.n_menu = kind == 1 ? 1 : 2;
    return world;
}

struct world tokens_world(enum sched_lock_id lock, unsigned clients, unsigned gpus, unsigned rho, unsigned c)
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
    };
}
