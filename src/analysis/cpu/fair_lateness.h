/*
 * Fair lateness: global scheduling by the priority points Y_i = D_i - (m-1)/m C_i on m identical CPUs, and the response
 * bounds that follow from them (GPUSync's CPU scheduler; Erickson, Anderson, Ward, "Fair lateness scheduling"). Self-suspensions
 * count as execution, so C_i is everything a job does.
 *
 *   U_i = C_i/T_i       bounded iff sum U <= m and every C_i <= T_i
 *   y_i = Y_i - min Y   S_i = max(0, C_i (1 - y_i/T_i))       a_i = C_i - U_i C_i/m - S_i
 *   M(s) = sum S_i + (the ceil(U)-1 largest a_i + U_i s) - m s,   s = its root
 *   R_i = y_i + max(0, s - C_i/m) + C_i,  tardiness max(0, R_i - D_i)
 *
 * The functions here are for hot loops: no allocation, any unit of time as long as it is one.
 */
#ifndef ANALYSIS_FAIR_LATENESS_H
#define ANALYSIS_FAIR_LATENESS_H

#include <stddef.h>

#include "analysis/analysis.h"

/* Sums of utilisations are compared with integers up to this: ten tasks of 1/10 fill one CPU, they do not exceed it. */
#define FAIR_LATENESS_TOLERANCE 1e-12

enum fair_lateness_answer {
    FAIR_LATENESS_BOUNDED = 0,
    FAIR_LATENESS_OVERUTILISED, /* sum U > m; wins when both hold */
    FAIR_LATENESS_TOO_LONG,     /* some C > T */
};

/* One cluster's tasks, column by column, and where the answers go; everything is the caller's and n long. */
struct fair_lateness {
    size_t n;
    unsigned cpus; /* m >= 1 */
    const double *cost, *period, *deadline;
    double *point;       /* Y, filled whatever the answer */
    double *response;    /* R, filled only when bounded */
    double *utilisation; /* U_i, filled whatever the answer */
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
 * Whose work R - C of task i is, after fair_lateness_bound() (or decide) answered bounded: R - C = y + max(0, s - C/m). y is owed to the task with
 * the earliest point, *ret_earliest. s is a sum over tasks, (sum S_j + sum of the chosen a_j) / (m - sum of the chosen U_j): what is
 * beyond C/m is split among the others in proportion to their parts of it, ret_parts[0 .. n), [i] = 0. All 0: there are no others.
 */
void fair_lateness_parts(const struct fair_lateness *cluster, size_t i, size_t *ret_earliest,
                         double *ret_ahead, double ret_parts[]);

extern const struct analysis analysis_fair_lateness;

#endif
