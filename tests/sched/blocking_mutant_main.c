/*
 * With the published donor rule instead of R5(b) some request is blocked for longer than the bound:
 * exits 0 when that shows.
 */
#include <stdio.h>
#include <stdlib.h>

#include "blocking.h"

int main(void)
{
    static const struct blocking_shape shapes[] = {{6, 2, 1, 1, LOCK_R2DGLP},  {8, 4, 2, 1, LOCK_R2DGLP},
                                                   {8, 3, 2, 1, LOCK_R2DGLP},  {9, 4, 1, 1, LOCK_R2DGLP},
                                                   {10, 4, 1, 2, LOCK_R2DGLP}, {12, 3, 1, 1, LOCK_R2DGLP},
                                                   {16, 6, 2, 1, LOCK_R2DGLP}};

    for (uint64_t seed = 1; seed <= 4000; seed++) {
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            struct blocking_report report;

            blocking_measure(&shapes[i], seed, 400, 5, &report);
            if (report.worst > report.bound) {
                printf("caught at seed %llu: blocked %u steps, bound %u\n", (unsigned long long)seed,
                       report.worst, report.bound);
                return EXIT_SUCCESS;
            }
        }
    }
    printf("survived\n");
    return EXIT_FAILURE;
}
