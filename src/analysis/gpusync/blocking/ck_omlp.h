/*
 * Blocking under the clustered k-exclusion O(m) locking protocol (Brandenburg and Anderson; GPUSync App. B): M CPUs in
 * clusters of c share k replicas. Priority donation keeps at most c requests of each cluster incomplete, so
 *   direct:   each request waits for at most ceil(M/k) - 1 others; from one cluster at most c of them (c - 1 from its own), from
 *             one task at most one per request of mine and tif(i,j) N_j in all;
 *   span:     direct for one request plus the request itself: how long a donor waits for its donee;
 *   donation: a job donates at most once, at its release: the longest span of a task of its cluster whose priority point is
 *             not before its own.
 * For hot loops: no allocation.
 */
#ifndef ANALYSIS_CK_OMLP_H
#define ANALYSIS_CK_OMLP_H

#include <stddef.h>
#include <stdint.h>

struct ck_omlp {
    const uint32_t *by_length; /* the tasks that use the resource, longest request first */
    size_t n;
    double cpus;  /* c */
    double ahead; /* ceil(M/k) - 1 */
    /* By task: */
    const uint32_t *cluster;
    /* How long a job may be pending: its response bound, or its period if longer (GPUSync (2)). */
    const double *horizon;
    const double *period, *r; /* r: response bound */
    const double *length;     /* of one request */
    const double *requests;   /* a job; NULL: 1 each */
    double *taken;            /* by cluster, all 0 between calls: scratch */
};

/* Longest direct blocking of a job of i that makes so many requests. Adds each task's part to shares, unless NULL. */
double ck_omlp_direct(const struct ck_omlp *lock, size_t i, double requests, double shares[]);

/* Longest span over tasks[0..n) but i, of one cluster, with point >= i's; a task without requests has span 0. */
double ck_omlp_donation(const uint32_t tasks[], size_t n, size_t i, const double point[],
                        const double span[]);

#endif
