/*
 * Non-preemptive EDF on one processor (Jeffay, Stanat and Martel, "On non-preemptive scheduling of
 * periodic and sporadic tasks", RTSS 1991). Sporadic tasks with deadline = period, in order of
 * period, meet every deadline if and only if
 *   (1) sum C_i/T_i <= 1, and
 *   (2) for every i > 1 and every T_1 < L < T_i:  L >= C_i + sum_{j<i} floor((L-1)/T_j) C_j.
 * Time is discrete; the tick is a nanosecond. Both conditions are decided exactly. They are
 * reported separately because a published set passes the first alone (Batch, Table 1).
 */
#ifndef ANALYSIS_NP_EDF_H
#define ANALYSIS_NP_EDF_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/analysis.h"

struct np_edf_task {
    baton_nsec cost, period; /* 0 <= cost, 0 < period */
};

struct np_edf_result {
    bool utilisation_holds; /* condition 1 */
    bool blocking_holds;    /* condition 2 */
    double utilisation;     /* for reports */
    /* Where condition 2 fails first; valid only if it fails: */
    size_t task;       /* index into the tasks given */
    baton_nsec window; /* L */
    baton_nsec demand; /* the right-hand side, > L */
};

/* order is scratch for n indices; on return it holds the tasks by period, ties by index. */
void np_edf_test(const struct np_edf_task tasks[], size_t n, size_t order[],
                 struct np_edf_result *ret_result);

extern const struct analysis analysis_np_edf;

#endif
