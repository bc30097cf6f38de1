/*
 * The bounds of the token locks, in time: no request is pi-blocked for longer than its bound of
 * critical sections.
 */
#include <stdio.h>

#include "blocking.h"
#include "harness.h"

static void attack(const struct blocking_shape *shape, size_t seeds)
{
    unsigned worst = 0;
    struct blocking_report report = {0};

    for (uint64_t seed = 1; seed <= seeds; seed++) {
        blocking_measure(shape, seed, 400, 5, &report);
        ck_assert_msg(report.worst <= report.bound,
                      "n %u, c %u, g %u, rho %u, seed %llu: blocked %u steps, bound %u", shape->tasks,
                      shape->cpus, shape->gpus, shape->rho, (unsigned long long)seed, report.worst,
                      report.bound);
        ck_assert_uint_le(report.max_ahead, report.ahead_bound);
        worst = report.worst > worst ? report.worst : worst;
    }
    printf("n %u, c %u, g %u, rho %u: worst %u of %u steps\n", shape->tasks, shape->cpus, shape->gpus,
           shape->rho, worst, report.bound);
}

START_TEST(r2dglp_never_blocks_longer_than_its_bound)
{
    /* n <= k: 0; k < n <= c: floor((n-1)/k); n > c: 2 ceil(c/k) - 1. */
    static const struct blocking_shape shapes[] = {
        {4, 2, 2, 2, LOCK_R2DGLP},  {3, 4, 1, 1, LOCK_R2DGLP},  {6, 6, 2, 1, LOCK_R2DGLP},
        {6, 2, 1, 1, LOCK_R2DGLP},  {8, 4, 2, 1, LOCK_R2DGLP},  {8, 3, 2, 1, LOCK_R2DGLP},
        {10, 4, 1, 2, LOCK_R2DGLP}, {12, 2, 3, 1, LOCK_R2DGLP}, {9, 4, 1, 1, LOCK_R2DGLP}};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        attack(&shapes[i], harness_scale(150, 20000));
}
END_TEST

START_TEST(fifo_k_exclusion_never_blocks_longer_than_its_bound)
{
    static const struct blocking_shape shapes[] = {
        {6, 2, 1, 1, LOCK_FIFO}, {8, 4, 2, 1, LOCK_FIFO}, {9, 3, 1, 2, LOCK_FIFO}};

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        attack(&shapes[i], harness_scale(150, 20000));
}
END_TEST

HARNESS_MAIN("token blocking", 60, r2dglp_never_blocks_longer_than_its_bound,
             fifo_k_exclusion_never_blocks_longer_than_its_bound)
