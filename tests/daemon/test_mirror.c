/*
 * What is simulated is what runs: random scripts of jobs, for every profile, token lock, policy and
 * organisation into clusters, with deaths, go through the simulator and through batond's server,
 * and both decide the same at the same instants.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "mirror.h"

#define SCRIPTS 10000

START_TEST(the_simulator_and_the_daemon_decide_alike)
{
    size_t tokens = 0, inherited = 0, suspended = 0, yields = 0, ended = 0, died = 0, peers = 0,
           completed = 0;
    size_t overruns[SCHED_OVERRUN_THROTTLE + 1] = {0};
    size_t by_lock[SCHED_LOCKS + 1] = {0}, by_profile[SCHED_PROFILES] = {0};
    const char *only = getenv("MIRROR_SEED");
    uint64_t from = only ? strtoull(only, NULL, 10) : 1;
    uint64_t to = only ? from : SCRIPTS;

    for (uint64_t seed = from; seed <= to; seed++) {
        struct mirror mirror;
        bool same = mirror_run(&mirror, seed);

        ck_assert_msg(same, "%s\nreplay: MIRROR_SEED=%llu\n%s", mirror.failure, (unsigned long long)seed,
                      mirror.text);
        tokens += mirror.tokens;
        inherited += mirror.inherited;
        suspended += mirror.suspended;
        yields += mirror.yields;
        ended += mirror.ended;
        died += mirror.died;
        peers += mirror.peer_copies;
        completed += mirror.completed;
        if (mirror.profile != PROFILE_GPUSYNC)
            overruns[mirror.overrun] += mirror.overruns;
        by_profile[mirror.profile]++;
        if (mirror.profile == PROFILE_GPUSYNC)
            by_lock[mirror.lock]++;
        mirror_done(&mirror);
    }
    if (only)
        return;
    ck_assert_uint_gt(completed, 10 * SCRIPTS);
    ck_assert_uint_gt(tokens, SCRIPTS);
    ck_assert_uint_gt(inherited, SCRIPTS);
    ck_assert_uint_gt(suspended, 100);
    ck_assert_uint_gt(yields, SCRIPTS);
    ck_assert_uint_gt(ended, 20);
    ck_assert_uint_gt(died, 1000);
    ck_assert_uint_gt(peers, 100);
    for (unsigned i = 0; i <= SCHED_OVERRUN_THROTTLE; i++)
        ck_assert_uint_gt(overruns[i], 500);
    for (unsigned i = 0; i <= SCHED_LOCKS; i++)
        ck_assert_uint_gt(by_lock[i], 500);
    for (unsigned i = 0; i < SCHED_PROFILES; i++)
        ck_assert_uint_gt(by_profile[i], 500);
}
END_TEST

HARNESS_MAIN("mirror", 120, the_simulator_and_the_daemon_decide_alike)
