/*
 * Blocking under the clustered k-exclusion O(m) locking protocol (Brandenburg and Anderson; GPUSync
 * App. B). M CPUs in clusters of c share k replicas. Priority donation keeps at most c requests of
 * each cluster incomplete. Three bounds follow:
 *   direct:   each request waits for at most ceil(M/k) - 1 others: at most c of them from one
 *             cluster (c - 1 from its own), and from one task at most one per own request and
 *             tif(i,j) N_j in total;
 *   span:     direct blocking of one request plus the request itself: how long a donor waits for
 *             its donee;
 *   donation: a job donates at most once, at its release. Its donee is a task of its cluster with
 *             a priority point at or after its own; the longest span counts.
 * For hot loops: no allocation.
 */
#ifndef ANALYSIS_BLOCKING_CK_OMLP_H
#define ANALYSIS_BLOCKING_CK_OMLP_H

#include <stddef.h>
#include <stdint.h>

struct ck_omlp {
    const uint32_t *by_length; /* the tasks that use the resource, longest request first */
    size_t n;
    double cpus;  /* c */
    double ahead; /* ceil(M/k) - 1 */
    /* By task: */
    const uint32_t *cluster;
    /*
     * How long a job may be pending: the larger of its response bound and its period (GPUSync (2)).
     */
    const double *horizon;
    const double *period, *r; /* r: response bound */
    const double *length;     /* of one request */
    const double *requests;   /* per job; NULL: 1 each */
    double *taken;            /* by cluster, all 0 between calls: scratch */
};

/*
 * Longest direct blocking of a job of task i that makes `requests` requests. Adds each task's part
 * to shares unless shares is NULL.
 */
double ck_omlp_direct(const struct ck_omlp *lock, size_t i, double requests, double shares[]);

/*
 * Longest span over tasks[0..n) of one cluster, without i, with a point at or after i's. The span
 * of a task without requests is 0.
 */
double ck_omlp_donation(const uint32_t tasks[], size_t n, size_t i, const double point[],
                        const double span[]);

#endif
