#include "makespan/warp_step.h"

#include <string.h>

size_t step_shares(const struct problem *problem, const unsigned waiting[N_UNITS],
                   unsigned ret_shares[STEP_MAX_SHARES][N_UNITS])
{
    unsigned most[N_UNITS];
    unsigned sum = 0;
    size_t n = 0;

    for (size_t u = 0; u < N_UNITS; u++) {
        most[u] = waiting[u] < problem->capacity[u] ? waiting[u] : problem->capacity[u];
        sum += most[u];
    }
    if (problem->issue == 0 || sum <= problem->issue) {
        memcpy(ret_shares[0], most, sizeof most);
        return 1;
    }
    /* Three units are chosen freely, the fourth takes what the cap leaves. */
    for (unsigned l = 0; l <= most[UNIT_L]; l++) {
        for (unsigned c = 0; c <= most[UNIT_C]; c++) {
            for (unsigned s = 0; s <= most[UNIT_S]; s++) {
                unsigned three = l + c + s;

                if (three > problem->issue || problem->issue - three > most[UNIT_D])
                    continue;
                if (n == STEP_MAX_SHARES)
                    return 0;
                memcpy(ret_shares[n++], (unsigned[]){l, c, s, problem->issue - three}, sizeof ret_shares[0]);
            }
        }
    }
    return n;
}
