/*
 * Fair lateness: global scheduling by the priority points Y_i = D_i - (m-1)/m C_i on m identical
 * CPUs, and the response bounds that follow. This is GPUSync's CPU scheduler (Erickson, Anderson,
 * Ward, "Fair lateness scheduling"). Self-suspensions count as execution, so C_i is everything a
 * job does.
 *
 *   U_i = C_i/T_i       bounded iff sum U <= m and every C_i <= T_i
 *   y_i = Y_i - min Y   S_i = max(0, C_i (1 - y_i/T_i))       a_i = C_i - U_i C_i/m - S_i
 *   M(s) = sum S_i + (the ceil(U)-1 largest a_i + U_i s) - m s,   s = its root
 *   R_i = y_i + max(0, s - C_i/m) + C_i,  tardiness max(0, R_i - D_i)
 *
 * The functions serve hot loops: they allocate nothing. Any unit of time is fine as long as all
 * values use the same one.
 */
#ifndef ANALYSIS_FAIR_LATENESS_H
#define ANALYSIS_FAIR_LATENESS_H

#include <stddef.h>

#include "analysis/analysis.h"

/*
 * Tolerance when a sum of utilisations is compared with an integer: ten tasks of 1/10 fill one CPU
 * and must not exceed it.
 */
#define FAIR_LATENESS_TOLERANCE 1e-12

enum fair_lateness_answer {
    FAIR_LATENESS_BOUNDED = 0,
    FAIR_LATENESS_OVERUTILISED, /* sum U > m; takes precedence when some C > T too */
    FAIR_LATENESS_TOO_LONG,     /* some C > T */
};

/*
 * The tasks of one cluster, column by column, and room for the answers. The caller owns every
 * array; each has n entries.
 */
struct fair_lateness {
    size_t n;
    unsigned cpus; /* m >= 1 */
    const double *cost, *period, *deadline;
    double *point;       /* Y, always filled */
    double *response;    /* R, filled only when bounded */
    double *utilisation; /* U_i, always filled */
    double *slope, *key; /* scratch */
    size_t *chosen;      /* scratch */
    /* Answers: */
    double total; /* sum U */
    double s;     /* the root of M; filled only when bounded; 0 for an empty cluster */
};

/* Fills the answers; an enum fair_lateness_answer. */
int fair_lateness_bound(struct fair_lateness *cluster);

/* Only the answer and, when bounded, s: the decision without the n response times. */
int fair_lateness_decide(struct fair_lateness *cluster);

/*
 * Splits R - C of task i among the tasks that cause it, after fair_lateness_bound() or
 * fair_lateness_decide() answered bounded. R - C = y + max(0, s - C/m). The task with the earliest
 * point, *ret_earliest, causes y. s is a sum over tasks, (sum S_j + sum of the chosen a_j) / (m -
 * sum of the chosen U_j). The part of s beyond C/m is split among the other tasks in proportion to
 * their terms, in ret_parts[0 .. n); ret_parts[i] = 0. All entries are 0 when there is no other
 * task.
 */
void fair_lateness_parts(const struct fair_lateness *cluster, size_t i, size_t *ret_earliest,
                         double *ret_ahead, double ret_parts[]);

extern const struct analysis analysis_fair_lateness;

#endif
